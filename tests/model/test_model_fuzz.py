"""Hostile files: every mutant of a valid file is refused in our words or loads into a sound model."""

import os
import subprocess
import sys
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import safetensors
from reference.model_bytes import seal, take_apart
from reference.model_mutants import mutants

from textmill.errors import ModelFileError
from textmill.model import Model, check_fitted, describe, load

TESTS = Path(__file__).parents[1]


@pytest.fixture
def originals(examples, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # thousands of saves, none of which must outlive a crash
    for name, model in examples.items():
        model.save(tmp_path / name)
    return [(tmp_path / name).read_bytes() for name in examples]


def attempt(action, path):
    """What the action returns, or None when it says in one line what is wrong with the file."""
    try:
        return action()
    except ModelFileError as fault:
        message = str(fault)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) < 1000
    return None


def outcome(data, path, number):
    """'refused', 'found late', 'not what was saved' or 'loaded', once every promise about such a file was checked."""
    path.write_bytes(data)
    model = attempt(lambda: load(path), path)
    if model is None:
        return "refused"
    assert isinstance(model, Model)
    safetensors.deserialize(data)  # whatever we accept, the library of the format accepts
    describe(path)
    if attempt(lambda: model.verify() or model, path) is None:
        with pytest.raises(ModelFileError):
            load(path, verify=True)
        with pytest.raises(ModelFileError):
            use(model)
        return "found late"
    use(model)
    if attempt(lambda: load(path, verify=True), path) is None:
        header, description, body = take_apart(data)
        assert seal(header, description, body) != description
        return "not what was saved"
    if number % 10 == 0:  # a sound model is saved, and then as canonical as any
        first, second = path.with_suffix(".1"), path.with_suffix(".2")
        model.save(first)
        load(first, verify=True).save(second)
        assert first.read_bytes() == second.read_bytes()
    return "loaded"


def use(model):
    """Follow every index and read every string, as kernels would."""
    check_fitted(model)
    if type(model).__name__ == "Words":
        model.terms.to_list()
    if type(model).__name__ == "Everything":
        model.terms_.to_list()
        model.weights_[:, model.columns_]
        model.finals_[model.arcs_.source], model.finals_[model.arcs_.target]
        np.add.reduceat(np.append(model.columns_, 0), model.rows_)
        for part in (model.words_, model.words, model.inner):
            if isinstance(part, Model) and part.__sklearn_is_fitted__():
                use(part)


def fuzz(originals, count, seed, path):
    outcomes = Counter(outcome(data, path, n) for n, data in enumerate(mutants(originals, count, seed)))
    assert outcomes["refused"] > 0.5 * count
    assert outcomes["loaded"] > 0.02 * count
    assert outcomes["found late"] > 0.01 * count
    assert outcomes["not what was saved"] > 0.01 * count


def test_mutants_are_refused_or_sound(originals, tmp_path):
    fuzz(originals, 2_000, 1, tmp_path / "mutant.mill")


@pytest.mark.slow
def test_a_hundred_thousand_mutants_are_refused_or_sound(originals, tmp_path):
    for seed in range(2, 12):
        fuzz(originals, 10_000, seed, tmp_path / "mutant.mill")


def test_unchanged_files_are_loaded(originals, tmp_path):
    assert {outcome(data, tmp_path / "m.mill", 0) for data in originals} == {"loaded"}


def test_mutants_take_little_memory(originals, tmp_path):
    path = tmp_path / "mutant.mill"
    tracemalloc.start()
    try:
        for data in mutants(originals, 300, 99):
            path.write_bytes(data)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            attempt(lambda: load(path, verify=True), path)
            assert tracemalloc.get_traced_memory()[1] - before < 2_000_000 + 50 * len(data)
    finally:
        tracemalloc.stop()


HOSTILE = """
import sys
sys.path.insert(0, sys.argv[1])
import json, resource
import numpy as np
from reference import toy_models
from reference.model_bytes import compact, put_together, take_apart, with_header
toy_models.install()
import textmill.model as m
from textmill.errors import ModelFileError
path, scale = sys.argv[2], float(sys.argv[3])
line = toy_models.Line(); line.weights_ = np.ones(4); line.save(path)
header, description, body = take_apart(open(path, "rb").read())
bayes = toy_models.Bayes().fit(np.ones((2, 1)), ["a", "b"]); bayes.save(path)
bayes_header, bayes_description, _ = take_apart(open(path, "rb").read())

def claims(shape, size):
    lie = {"weights_": {"dtype": "F64", "shape": shape, "data_offsets": [0, size]}}
    return put_together(lie, description, body)

n = 300_000                                            # one endless label and many empty ones
offsets = np.full(n + 1, 4_000_000, "<i8"); offsets[0] = 0
labels = np.full(4_000_000, 97, np.uint8).tobytes()
parts, at, entries = [], 0, {}
for name, dtype, shape, data in [
    ("classes_.offsets", "I64", [n + 1], offsets.tobytes()),
    ("document_counts_", "F64", [n], bytes(8 * n)),
    ("word_counts_", "F64", [n, 0], b""),
    ("classes_.bytes", "U8", [4_000_000], labels),
]:
    entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
    at += len(data); parts.append(data)

files = {
    "huge shape": claims([2**60], 2**63 - 1),
    "huge shape, right size": claims([2**59], 2**62),
    "header of brackets": with_header("{\\"a\\":[" + "[]," * int(3_300_000 * scale), b""),
    "header of objects": with_header("{\\"a\\":[" + "{}," * int(3_300_000 * scale) + "{}]}", b""),
    "header of strings": with_header("{\\"a\\":[" + "\\"ab\\"," * int(1_990_000 * scale) + "1]}", b""),
    "header of arrays": with_header("{" + ",".join(f'"a{i}":[]' for i in range(int(700_000 * scale))) + "}", b""),
    "header too long": with_header("{\\"a\\":\\"" + "x" * 10_000_000 + "\\"}", b""),
    "description of lists": put_together(
        header, description | {"parameters": {"x": [[]] * int(1_600_000 * scale)}}, body
    ),
    "deep": with_header("[" * 9_000_000, b""),
    "uneven labels": put_together(entries, bayes_description, b"".join(parts)),
}
files["deep"] = files["deep"][:8] + b"{" + files["deep"][9:]
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + int(600_000_000 * scale),) * 2)
for name, data in files.items():
    open(path, "wb").write(data)
    try:
        found = m.load(path, verify=True)
        print(name, "-> loaded", found.classes_.dtype)
    except ModelFileError as fault:
        print(name, "-> refused")
with open(path, "wb") as file:                         # a valid header over a sparse terabyte
    size = 2**40
    file.write(claims([size // 8], size)[: -len(body)])
    file.truncate(file.tell() + size)
try:
    m.load(path)
except ModelFileError as fault:
    print("terabyte -> refused", "cannot be mapped" in str(fault))
"""


def neither_crash_nor_fill_the_memory(path, scale):
    command = [sys.executable, "-c", HOSTILE, str(TESTS), str(path), str(scale)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    verdicts = done.stdout.splitlines()
    assert verdicts.pop() == "terabyte -> refused True"
    assert verdicts.pop() == "uneven labels -> loaded object"
    assert len(verdicts) == 9
    assert all(verdict.endswith("-> refused") for verdict in verdicts)


def test_hostile_files_neither_crash_nor_fill_the_memory(tmp_path):
    neither_crash_nor_fill_the_memory(tmp_path / "h.mill", 0.25)


@pytest.mark.slow
def test_hostile_files_of_full_size_neither_crash_nor_fill_the_memory(tmp_path):
    neither_crash_nor_fill_the_memory(tmp_path / "h.mill", 1.0)

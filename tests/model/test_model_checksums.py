"""Checksums: whatever bit of a file is flipped, it is noticed, and the message says where."""

import json
import random
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from reference.all_models import EXAMPLES, public_models
from reference.model_bytes import compact, put_together, take_apart

from textmill.errors import ModelFileError
from textmill.model import Saved, checksums, describe, load
from textmill.model.checksums import array_checksums, header_checksum
from textmill.model.file import write

FILES = Path(__file__).parents[1] / "files" / "model"
FLIPS = 200


def bitwise_crc32(data):
    """CRC-32 bit by bit, from the polynomial of RFC 1952."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0xEDB88320 if register & 1 else 0)
    return f"{register ^ 0xFFFFFFFF:08x}"


@given(arrays_of.arrays(arrays_of.scalar_dtypes(), arrays_of.array_shapes(min_dims=0, min_side=0)))
def test_the_checksum_of_an_array_is_that_of_its_bytes_in_the_file(array):
    stored = array.astype(array.dtype.newbyteorder("<"))
    assert array_checksums({"a": array})["a"] == bitwise_crc32(stored.tobytes())
    if array.ndim:
        assert array_checksums({"a": array[::-1]})["a"] == bitwise_crc32(stored[::-1].tobytes())
    assert array_checksums({"a": array.T})["a"] == bitwise_crc32(stored.T.tobytes())


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_many_large_arrays_have_the_same_checksums_on_any_number_of_threads(jobs, monkeypatch):
    monkeypatch.setattr(checksums, "effective_jobs", lambda n_jobs: jobs)
    arrays = {f"a{n}": np.arange(n, n + 100_000) for n in range(7)}
    assert array_checksums(arrays) == {name: f"{zlib.crc32(array.tobytes()):08x}" for name, array in arrays.items()}


@given(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=3), st.integers(0, 9))
def test_the_checksum_of_a_header_covers_description_types_and_shapes(description, extent):
    sealed = header_checksum(description, {"a": ("float64", (extent,))})
    covered = compact({"arrays": {"a": ["float64", [extent]]}, "description": description})
    assert sealed == bitwise_crc32(covered.encode())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of every public kind of model, small enough to be read thousands of times."""
    folder = tmp_path_factory.mktemp("models")
    for name, example in EXAMPLES.items():
        example().save(folder / f"{name}.mill")
    return folder


def test_there_is_a_file_of_every_public_kind_of_model(files):
    held, facts = set(), [describe(path) for path in files.iterdir()]
    while facts:
        one = facts.pop()
        held.add(one["class"])
        facts += filter(None, one["parts"].values())
    assert public_models() <= held, "reference/all_models.py needs an example of a new kind of model"


def callables(path):
    """Functions for the parameters that a file cannot hold."""
    return {
        name: lambda *_: None
        for name, value in describe(path)["parameters"].items()
        if str(value).startswith("<callable")
    }


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_every_flipped_bit_is_found_and_its_array_named(kind, files, tmp_path):
    original = files / f"{kind}.mill"
    data = original.read_bytes()
    functions = callables(original)
    load(original, verify=True, **functions)
    header, _, body = take_apart(data)
    begin = len(data) - len(body)
    owners = {name: range(*entry["data_offsets"]) for name, entry in header.items()}
    rng = random.Random(f"flips in {kind}")
    path = tmp_path / "flipped.mill"
    for number in range(FLIPS):
        inside = number % 2 and len(body)  # half of the bits in the arrays, however long the header is
        at = rng.randrange(begin, len(data)) if inside else rng.randrange(len(data))
        flipped = bytearray(data)
        flipped[at] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(ModelFileError) as fault:
            load(path, verify=True, **functions)
        message = str(fault.value)
        assert message.startswith(f"{path}: ")
        if at >= begin:
            (owner,) = [name for name, place in owners.items() if at - begin in place]
            assert f"array '{owner}' is not what was saved: its checksum differs; the file is damaged" in message
            with pytest.raises(ModelFileError, match="is not what was saved"):
                describe(path, verify=True)
            describe(path)  # opening looks at the header only
        else:
            with pytest.raises(ModelFileError):  # the header is checked without being asked
                describe(path)


@pytest.mark.parametrize("kind", sorted(EXAMPLES.keys() - {"hashed"}))  # which has a function of the caller
def test_saving_what_was_loaded_gives_the_same_bytes(kind, files, tmp_path):
    original = files / f"{kind}.mill"
    load(original).save(tmp_path / "again.mill")
    assert (tmp_path / "again.mill").read_bytes() == original.read_bytes()


def test_every_single_bit_of_a_header_counts(toys, tmp_path):
    data = (FILES / "good-words.mill").read_bytes()
    begin = len(data) - len(take_apart(data)[2])
    path = tmp_path / "m.mill"
    for at in range(begin):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[at] ^= 1 << bit
            path.write_bytes(flipped)
            with pytest.raises(ModelFileError):
                load(path)


def test_values_that_are_valid_but_not_those_saved_are_found_only_by_verify(toys, tmp_path):
    path = tmp_path / "m.mill"
    toys.Words(["rye", "oats"], [3, 1]).save(path)
    header, description, body = take_apart(path.read_bytes())
    at = header["counts"]["data_offsets"][0]
    path.write_bytes(put_together(header, description, body[:at] + b"\x07" + body[at + 1 :], sealed=False))
    assert load(path).counts.tolist() == [7, 1]
    with pytest.raises(ModelFileError, match=f"{path}: array 'counts' is not what was saved"):
        load(path, verify=True)


def test_arrays_of_models_inside_are_named_with_their_model(examples, tmp_path):
    path = tmp_path / "m.mill"
    examples["everything"].save(path)
    header, _, body = take_apart(path.read_bytes())
    data = bytearray(path.read_bytes())
    data[len(data) - len(body) + header["part/inner/part/words/terms.bytes"]["data_offsets"][0]] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"array 'part/inner/part/words/terms\.bytes' is not what was saved"):
        load(path, verify=True)


def test_two_arrays_that_changed_places_are_found(toys, tmp_path):
    model = toys.Bayes().fit(np.array([[2.0], [1.0]]), ["a", "b"])
    model.save(tmp_path / "m.mill")
    header, description, body = take_apart((tmp_path / "m.mill").read_bytes())
    one, two = header["word_counts_"], header["document_counts_"]
    one["data_offsets"], two["data_offsets"] = two["data_offsets"], one["data_offsets"]
    (tmp_path / "m.mill").write_bytes(put_together(header, description, body, sealed=False))
    load(tmp_path / "m.mill")
    with pytest.raises(ModelFileError, match="counts_' is not what was saved"):
        load(tmp_path / "m.mill", verify=True)


@pytest.mark.parametrize(
    "lie",
    [
        None,
        {},
        [],
        "00000000",
        {"arrays": {}},
        {"arrays": {}, "header": "00000000"},
        {"arrays": {"terms.bytes": "0", "terms.offsets": "0", "counts": "0"}, "header": "00000000"},
        {"arrays": {"terms.bytes": 1, "terms.offsets": 2, "counts": 3}, "header": "00000000"},
        {"arrays": None, "header": None},
        {"arrays": {}, "header": "00000000", "more": 1},
    ],
)
def test_checksums_that_are_none_are_refused(lie, tmp_path):
    header, description, body = take_apart((FILES / "good-words.mill").read_bytes())
    path = tmp_path / "m.mill"
    path.write_bytes(put_together(header, description | {"crc32": lie}, body, sealed=False))
    with pytest.raises(ModelFileError, match=r"the checksums are not those of its arrays; the file is damaged"):
        load(path)


@pytest.mark.parametrize("digits", ["00000000", "", None, 0, "0" * 5000])
def test_a_wrong_checksum_of_the_header_is_refused(digits, tmp_path):
    header, description, body = take_apart((FILES / "good-words.mill").read_bytes())
    path = tmp_path / "m.mill"
    description["crc32"]["header"] = digits
    path.write_bytes(put_together(header, description, body, sealed=False))
    with pytest.raises(ModelFileError, match=r"the header is not what was saved: its checksum differs; the file is"):
        load(path)


def test_old_files_have_no_checksums_and_say_so():
    facts = describe(FILES / "old-words.mill", verify=True)
    assert {entry["crc32"] for entry in facts["arrays"].values()} == {None}
    facts = describe(FILES / "good-words.mill", verify=True)
    assert {len(entry["crc32"]) for entry in facts["arrays"].values()} == {8}


def test_opening_does_not_read_what_verify_reads(tmp_path):
    """In a process of its own, so that pages of earlier tests are not counted."""
    path = tmp_path / "m.mill"
    write(path, Saved("toys.Line", 1, arrays={"weights_": np.zeros(8_000_000)}))
    code = (
        "import sys, json\n"
        "from textmill.model import describe\n"
        "def resident(): return int(open('/proc/self/statm').read().split()[1]) * 4096\n"
        "from textmill.model.file import read\n"
        "kept = [read(sys.argv[1])]; first = resident()\n"
        "kept.append(read(sys.argv[1])); opened = resident() - first\n"
        "kept.append(read(sys.argv[1], verify=True)); print(json.dumps([opened, resident() - first]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    opened, verified = json.loads(done.stdout)
    assert opened < 10_000_000
    assert verified > 50_000_000


def test_a_description_nested_too_deeply_for_its_checksum_is_refused(monkeypatch):
    def deep(*_):
        raise RecursionError

    monkeypatch.setattr(checksums, "header_checksum", deep)
    with pytest.raises(ModelFileError, match="nested too deeply"):
        checksums.check_header({"crc32": {"arrays": {}, "header": "00000000"}}, {})

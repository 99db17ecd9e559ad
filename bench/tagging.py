"""How good taggers are: textmill, Wapiti and CRFsuite on Nettalk, CoNLL-2000, JNLPBA and Brown, with the same tests.

TEXTMILL_DATA=... python -m bench tagging [--quick]

The figures are errors (or 100 - F1 of chunks), so lower is better and a ratio above 1 means that ours is lower; times
of training, two threads where a tool has them, stand beside. Where a bar is asked for instead of a peer, the peer's
column is that bar. Every run is made once, whatever `--repeats` says: all of them are deterministic but Wapiti's with
threads. Both peers get our tests, made by our encoder. CRFsuite has no tests on pairs of labels, so on Nettalk only
Wapiti competes with those; Wapiti's OWL-QN takes hours there, its SGD minutes.
"""

from __future__ import annotations

import functools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bench._crf_problems import attributes, iob2
from bench._crf_problems import brown as brown_sentences
from bench.harness import Job, Options
from papers.letter_to_sound.nettalk import read_nettalk
from textmill.corpus import read_columns
from textmill.sequence import CRF, Encoder, evaluate_tags

PACKAGES = ["libwapiti", "python-crfsuite"]

Rows = list[list[Any]]  # tokens are tuples of columns
Tags = list[list[str]]

LETTERS = {
    "1-grm": ["*", "*:1=%x[0,0]"],
    "3-grm": ["*", "*:1=%x[0,0]", "*:3=%x[-1,0]%x[0,0]%x[1,0]"],
    "3-grm, no pairs": ["b", "u:1=%x[0,0]", "u:3=%x[-1,0]%x[0,0]%x[1,0]"],
}
CHUNKS = [
    "b",
    *(f"u:w{i}=%x[{i},0]" for i in range(-2, 3)),
    "u:w-10=%x[-1,0]/%x[0,0]",
    "u:w01=%x[0,0]/%x[1,0]",
    *(f"u:p{i}=%x[{i},1]" for i in range(-2, 3)),
    *(f"u:p{i}{i + 1}=%x[{i},1]/%x[{i + 1},1]" for i in range(-2, 2)),
    *(f"u:p{i}{i + 2}=%x[{i},1]/%x[{i + 1},1]/%x[{i + 2},1]" for i in range(-2, 1)),
]
WORDS = [
    "b",
    *(f"u:w{i}=%X[{i},0]" for i in range(-2, 3)),
    *(f"u:{end[0]}{n}=%{end}[0,0,{n}]" for end in ("prefix", "suffix") for n in (2, 3, 4)),
    *(f"u:sh{i}=%shape[{i},0]" for i in (-1, 0, 1)),
    "u:s-1=%suffix[-1,0,3]",
]
NAMES = [
    *WORDS,
    "u:w-10=%X[-1,0]/%X[0,0]",
    "u:w01=%X[0,0]/%X[1,0]",
    "u:sh-10=%shape[-1,0]/%shape[0,0]",
    "u:sh01=%shape[0,0]/%shape[1,0]",
    "u:s+1=%suffix[1,0,3]",
]
OWLQN = {"c1": 0.5, "c2": 5e-6}  # l1 = 0.5, l2 = 1e-5 in CRFsuite's way of writing


class Trained(NamedTuple):
    """A tagger's error on the test set, and what it took."""

    error: float
    seconds: float
    note: str


class Task:
    """Sequences to train and to test on, patterns, and whether labels are chunks."""

    def __init__(self, load: Callable[[], tuple[Rows, Tags, Rows, Tags]], patterns: list[str], *, chunks: bool) -> None:
        self.load, self.patterns, self.chunks = functools.cache(load), patterns, chunks
        self.runs: dict[str, Trained] = {}

    def error(self, answers: Tags) -> float:
        scores = evaluate_tags(self.load()[3], answers, chunks=self.chunks)
        return 100 * ((1 - scores.f1) if self.chunks else scores.token_error)

    def once(self, work: Callable[..., Trained], **options: Any) -> Trained:
        key = f"{work.__name__} {options}"
        if key not in self.runs:
            self.runs[key] = work(**options)
        return self.runs[key]

    def textmill(self, **options: Any) -> Trained:
        X, y, test, _ = self.load()
        start = time.perf_counter()
        crf = CRF(patterns=self.patterns, n_jobs=2, random_state=0, **options).fit(X, y)
        seconds = time.perf_counter() - start
        return Trained(self.error(crf.predict(test)), seconds, f"{len(crf.features_)} weights")

    def wapiti(self, **options: Any) -> Trained:
        import wapiti

        X, y, test, _ = self.load()
        model = wapiti.Model(patterns="\n".join(self.patterns), rho1=0.5, rho2=1e-5, stopeps=1e-9, **options)
        for rows, labels in zip(X, y, strict=True):
            model.add_training_sequence("\n".join(" ".join([*r, label]) for r, label in zip(rows, labels, strict=True)))
        start = time.perf_counter()
        with _Silence():
            model.train()
        seconds = time.perf_counter() - start
        lines = ("\n".join(" ".join(row) for row in rows) for rows in test)
        return Trained(self.error([model.label_sequence(text).decode().split() for text in lines]), seconds, "")

    def crfsuite(self, **options: Any) -> Trained:
        import pycrfsuite

        X, y, test, _ = self.load()
        encoder = Encoder(patterns=[pattern for pattern in self.patterns if pattern != "b"]).fit(X)
        trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params({"feature.possible_transitions": True, **options})
        for tokens, labels in zip(attributes(encoder, X), y, strict=True):
            trainer.append(tokens, labels)
        path = str(Path(tempfile.mkdtemp()) / "model")
        start = time.perf_counter()
        trainer.train(path)
        seconds = time.perf_counter() - start
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        return Trained(self.error([tagger.tag(tokens) for tokens in attributes(encoder, test)]), seconds, "")


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    return _nettalk(options) + _prosody(options) + _chunks(options) + _words(options)


def _nettalk(options: Options) -> list[Job]:
    def load() -> tuple[Rows, Tags, Rows, Tags]:
        entries = list(read_nettalk(options.data / "nettalk" / "nettalk.data"))
        random.Random(1).shuffle(entries)
        words = [[(letter,) for letter in entry.word] for entry in entries[: 1000 if options.quick else None]]
        phonemes = [list(entry.phonemes) for entry in entries[: 1000 if options.quick else None]]
        a, b = len(words) * 8 // 10, len(words) * 9 // 10
        return words[:a], phonemes[:a], words[b:], phonemes[b:]

    few, many, epochs = (5, 10, 1) if options.quick else (60, 200, 15)
    tasks = {name: Task(load, patterns, chunks=False) for name, patterns in LETTERS.items()}
    small, pairs, plain = tasks.values()
    kinds: dict[str, dict[str, Any]] = {
        "L1": {"l2": 0.0, "max_iter": many},
        "L2": {"algorithm": "lbfgs", "l2": 0.1, "max_iter": many},
        "elastic net": {"max_iter": many},
    }

    def spread() -> float:
        errors = [small.once(small.textmill, **kind).error for kind in kinds.values()]
        return max(errors) - min(errors)

    def errors() -> str:
        return ", ".join(f"{name} {small.once(small.textmill, **kind).error:.2f}" for name, kind in kinds.items())

    sgd = {"algo": "sgd-l1", "maxiter": epochs}
    return [
        _against("Nettalk 1-grm, token error", small, {"max_iter": many}, small.wapiti, "Wapiti, OWL-QN",
                 {"algo": "l-bfgs", "maxiter": few, "nthread": 2}),
        _against("Nettalk 3-grm, token error", pairs, {"max_iter": many}, pairs.wapiti, "Wapiti, SGD", sgd),
        _against("Nettalk 3-grm without pairs, token error", plain, {"max_iter": many}, plain.crfsuite,
                 "CRFsuite, OWL-QN", {**OWLQN, "max_iterations": many, "feature.possible_states": True}),
        Job("Nettalk 3-grm, tests on pairs of labels", lambda: pairs.once(pairs.textmill, max_iter=many).error,
            lambda: plain.once(plain.textmill, max_iter=many).error, "textmill without them",
            figure="returned", label="%", bar=1.176),
        Job("Nettalk 1-grm, penalties differ by", spread, lambda: 0.3, "asked", errors,
            figure="returned", label="%", bar=1.0),
    ]  # fmt: skip


def _prosody(options: Options) -> list[Job]:
    @functools.cache
    def run(*numbers: int) -> dict[str, float]:
        path = str(options.data / "nettalk" / "nettalk.data")
        command = [sys.executable, "-m", "bench._prosody", path, "300" if options.quick else "0", *map(str, numbers)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
        figures: dict[str, float] = json.loads(done.stdout)
        return figures

    def told(*numbers: int) -> str:
        found = run(*numbers)
        return (
            f"joint error {found['joint']:.2f} %, of phonemes {found['phoneme']:.2f} %; {found['potential']:.3g} "
            f"features, {found['made']:.3g} made, {found['active']:.0f} not zero; {found['seconds']:.0f} s"
        )

    at_once = (3, 5) if options.quick else (3, 100)
    growing = (7, 8, 2, 4, 6) if options.quick else (7, 60, 15, 30, 45)
    return [
        Job("Nettalk + prosody 3-grm, OWL-QN, memory", lambda: run(*at_once)["megabytes"], lambda: 2000.0, "asked",
            lambda: told(*at_once), figure="returned", label="MiB", bar=1.0),
        Job("Nettalk + prosody 7-grm, in stages, memory", lambda: run(*growing)["megabytes"],
            lambda: run(*growing)["potential"] * 8 / 2**20, "one vector of all features",
            lambda: told(*growing), figure="returned", label="MiB"),
    ]  # fmt: skip


def _chunks(options: Options) -> list[Job]:
    def load() -> tuple[Rows, Tags, Rows, Tags]:
        parts: list[Any] = []
        for name in ("train", "test"):
            sentences = [list(s) for s in read_columns(options.data / "conll2000" / f"{name}.txt")]
            sentences = sentences[: 300 if options.quick else None]
            parts += [[[row[:-1] for row in s] for s in sentences], [[row[-1] for row in s] for s in sentences]]
        return parts[0], parts[1], parts[2], parts[3]

    task = Task(load, CHUNKS, chunks=True)
    many = 10 if options.quick else 100
    sparse, dense = {"max_iter": many}, {"algorithm": "lbfgs", "l2": 1.0, "max_iter": many}
    return [
        Job("CoNLL-2000, 100 - chunk F1, L1", lambda: task.once(task.textmill, **sparse).error, lambda: 6.3, "asked",
            figure="returned", label="%", bar=1.0),
        _against("CoNLL-2000, 100 - chunk F1, L2", task, dense, task.crfsuite, "CRFsuite, L-BFGS",
                 {"c1": 0.0, "c2": 0.5, "max_iterations": many}),
        _against("CoNLL-2000, 100 - chunk F1, L1", task, sparse, task.wapiti, "Wapiti, SGD",
                 {"algo": "sgd-l1", "maxiter": 2 if options.quick else 20}),
    ]  # fmt: skip


def _words(options: Options) -> list[Job]:
    def abstracts() -> tuple[Rows, Tags, Rows, Tags]:
        parts: list[Any] = []
        for name in ("train", "test"):
            sentences = list(iob2(options.data / "jnlpba" / f"{name}.iob2"))[: 300 if options.quick else None]
            parts += [[[(word,) for word, _ in s] for s in sentences], [[tag for _, tag in s] for s in sentences]]
        return parts[0], parts[1], parts[2], parts[3]

    def brown() -> tuple[Rows, Tags, Rows, Tags]:
        sentences = list(brown_sentences(options.data / "brown" / "brown.tar.gz"))
        random.Random(1).shuffle(sentences)
        words, tags = [[(word,) for word, _ in s] for s in sentences], [[tag for _, tag in s] for s in sentences]
        size = 200 if options.quick else 4000
        return words[:size], tags[:size], words[-1000:], tags[-1000:]

    names, tags = Task(abstracts, NAMES, chunks=True), Task(brown, WORDS, chunks=False)
    many = 5 if options.quick else 120
    return [
        _against("JNLPBA, 100 - F1", names, {"max_iter": many}, names.crfsuite, "CRFsuite, OWL-QN",
                 {**OWLQN, "max_iterations": many}),
        _against("Brown, 4,000 sentences, token error", tags, {"max_iter": many // 2}, tags.crfsuite,
                 "CRFsuite, OWL-QN", {**OWLQN, "max_iterations": many // 2}),
    ]  # fmt: skip


def _against(
    name: str, task: Task, ours: dict[str, Any], peer: Callable[..., Trained], peer_name: str, theirs: dict[str, Any]
) -> Job:
    """Our error and a peer's, with the seconds of both."""

    def quality() -> str:
        here, there = task.once(task.textmill, **ours), task.once(peer, **theirs)
        return f"{here.note}; trained in {here.seconds:.1f} s, peer in {there.seconds:.1f} s"

    return Job(
        name,
        lambda: task.once(task.textmill, **ours).error,
        lambda: task.once(peer, **theirs).error,
        peer_name,
        quality,
        figure="returned",
        label="%",
    )


class _Silence:
    """Wapiti's progress goes past Python, to the process's own stderr."""

    def __enter__(self) -> None:
        self.kept, self.none = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(self.none, 2)

    def __exit__(self, *_: object) -> None:
        os.dup2(self.kept, 2)
        os.close(self.kept)
        os.close(self.none)

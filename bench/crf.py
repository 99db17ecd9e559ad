"""Linear-chain CRFs: textmill against Wapiti and CRFsuite on Nettalk and CoNLL-2000.

TEXTMILL_DATA=... python -m bench crf [--quick]

One evaluation of Wapiti is an iteration of its rprop, which makes exactly one, as the difference of two short runs; one
of CRFsuite is an iteration of its L-BFGS, likewise. Ours is a call of the objective at weights of a trained model, with
the gradient of all features. Long runs (training to an objective) are measured once, whatever `--repeats` says.
"""

from __future__ import annotations

import functools
import os
import random
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness import Job, Options
from textmill._native import sequence as native
from textmill.corpus import read_columns
from textmill.optimize import Stopping
from textmill.sequence import CRF, Encoder, FeatureLayout, label_ids
from textmill.sequence.training.batch import WorkingSet, train_working_set
from textmill.sequence.training.objective import ChainObjective
from textmill.sequence.training.online import OnlineState, training_data

PACKAGES = ["libwapiti", "python-crfsuite"]

LETTERS = {
    "1-grm": ["*", "*:1=%x[0,0]"],
    "3-grm": ["*", "*:1=%x[0,0]", "*:3=%x[-1,0]%x[0,0]%x[1,0]"],
    "3-grm-": ["*:3=%x[-1,0]%x[0,0]%x[1,0]"],
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
Rows = list[list[tuple[str, ...]]]
Tags = list[list[str]]


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    words, phonemes = _nettalk(options.data, 1000 if options.quick else None)
    cut = len(words) * 8 // 10
    train = (words[:cut], phonemes[:cut])
    found = []
    for name, bar in (("1-grm", 5.0), ("3-grm", 3.0)):
        for threads in (1, 2):
            problem = _Problem(LETTERS[name], *train, threads=threads)
            peer = functools.partial(_wapiti_rprop, LETTERS[name], *train, threads)
            title = f"Nettalk {name}, one gradient, {threads} threads"
            found.append(Job(title, problem.gradient, peer, "Wapiti", problem.sizes, unit="s ", bar=bar))
    found.append(_to_objective(LETTERS["1-grm"], train, iterations=5 if options.quick else 15))
    problem = _Problem(LETTERS["3-grm"], *train, threads=1)
    found += [
        Job("Nettalk 3-grm, one epoch of SGD with L1", problem.sgd_epoch,
            functools.partial(_wapiti_epoch, LETTERS["3-grm"], *train), "Wapiti", unit="s ", bar=3.0),
        Job("Nettalk 3-grm, a sweep of blocks, truncated", functools.partial(problem.sweep, True),
            functools.partial(problem.sweep, False), "textmill, whole recursion", unit="s ", bar=1.5),
    ]  # fmt: skip
    for name, bar in (("3-grm-", 2.0), ("3-grm", 0.95)):
        problem = _Problem(LETTERS[name], *train, threads=1)
        found.append(
            Job(f"Nettalk {name}, log Z, sparse", problem.sparse_value, problem.dense_value, "textmill, dense",
                problem.zeros, unit="s ", bar=bar)
        )  # fmt: skip
    return found + _chunking(options)


def _chunking(options: Options) -> list[Job]:
    some = 500 if options.quick else None
    train = _columns(options.data / "conll2000" / "train.txt", some)
    test = _columns(options.data / "conll2000" / "test.txt", some)
    jobs = []
    for threads, bar in ((1, 1.5), (2, 2.5)):
        problem = _Problem(CHUNKS, *train, threads=threads)
        jobs.append(
            Job(f"CoNLL-2000, one gradient, {threads} threads", problem.gradient,
                functools.partial(_crfsuite_iteration, *train), "CRFsuite, features seen, 1 thread", problem.sizes,
                unit="s ", bar=bar)
        )  # fmt: skip
    model = CRF(patterns=CHUNKS, max_iter=5 if options.quick else 60).fit(*train)
    one, two = (CRF.from_weights(model.to_weights()).set_params(n_jobs=n) for n in (1, 2))
    tokens = sum(map(len, test[0]))
    wapiti = _wapiti_model(CHUNKS, *train, algo="sgd-l1", maxiter=3, nthread=2)
    lines = ["\n".join(" ".join(row) for row in sentence) for sentence in test[0]]
    tagger = _crfsuite_tagger(*train)

    def f1(labels: Tags) -> str:
        from textmill.sequence import evaluate_tags

        chunks = evaluate_tags(test[1], labels).chunks
        return f"chunk F1 {200 * chunks.hits.sum() / (chunks.gold.sum() + chunks.predicted.sum()):.2f}"

    def ours() -> Tags:
        return one.predict(test[0])

    def by_wapiti() -> list[bytes]:
        return [wapiti.label_sequence(text) for text in lines]

    def by_crfsuite() -> Tags:
        return [tagger.tag(_attributes(sentence)) for sentence in test[0]]

    title = "CoNLL-2000, label the test set"
    return [
        *jobs,
        Job(f"{title}, 1 thread", ours, by_wapiti, "Wapiti", lambda: f1(ours()), bar=3.0),
        Job(f"{title}, 1 thread", ours, by_crfsuite, "CRFsuite", lambda: f"{tokens} tokens", bar=5.0),
        Job(f"{title}, 2 threads", lambda: two.predict(test[0]), ours, "textmill, 1 thread", bar=1.7),
    ]


class _Problem:
    """A training set, and what is measured on it."""

    def __init__(self, patterns: list[str], X: Rows, y: Tags, *, threads: int) -> None:
        self.data = Encoder(patterns=patterns).fit_encode(X)
        self.classes = np.array(sorted({label for labels in y for label in labels}))
        self.data = self.data.with_labels(label_ids(y, self.data.offsets, self.classes))
        self.layout = FeatureLayout(len(self.classes), self.data.unigram.size, self.data.bigram.size)
        self.threads = threads

    @functools.cached_property
    def objective(self) -> ChainObjective:
        return ChainObjective(self.layout, self.data, l2=1e-5, threads=self.threads)

    @functools.cached_property
    def model(self) -> Any:
        """Weights after some iterations, about as sparse as at the end."""
        state = WorkingSet.begin(np.empty(0, np.int64), np.empty(0))
        stopping = Stopping(value=0.0, iterations=40)
        result = train_working_set(self.objective, state, l1=0.5, memory=5, stopping=stopping, watch=lambda done: False)
        self.objective.restrict(None)
        theta = np.zeros(self.layout.size)
        theta[result.features] = result.weights
        return result, theta

    def gradient(self) -> float:
        _, theta = self.model
        return _fastest(lambda: self.objective(theta))

    def sizes(self) -> str:
        result, _ = self.model
        self.objective.restrict(result.features)
        on_set = _fastest(lambda: self.objective(result.weights))
        self.objective.restrict(None)
        return f"{self.layout.size} features; {on_set:.3f} s on the {len(result.features)} that are not zero"

    def _value(self, weights: Any, features: Any) -> float:
        support = None if features is None else self.layout.support(features)
        part = self.objective._parts[0].problem
        return _fastest(lambda: part.evaluate(weights, support, None, self.threads))

    def sparse_value(self) -> float:
        result, _ = self.model
        return self._value(result.weights, result.features)

    def dense_value(self) -> float:
        return self._value(self.model[1], None)

    def zeros(self) -> str:
        return f"{100 * self.objective.zero_rate(self.model[1]):.1f} % of pair scores are zero"

    def sgd_epoch(self) -> float:
        training = training_data(self.layout, self.data)
        state = OnlineState.fresh(self.layout, None, True)
        steps, rates = state.steps, {"eta0": 0.8, "alpha": 0.85, "l1": 0.5, "l2": 0.0}
        for epoch in range(2):
            start = time.perf_counter()
            order = np.random.default_rng(epoch).permutation(self.data.sequences)
            _, steps = training.sgd_steps(order, state.w, state.q, state.seen, steps, **rates)
        return time.perf_counter() - start

    def sweep(self, truncated: bool) -> float:
        tests = np.arange(self.data.unigram.size, dtype=np.int32)[:: 1 + self.data.unigram.size // 500]
        descent = native.Descent(training_data(self.layout, self.data), 0.5, 1e-5, truncated)
        w = self.model[1].copy()
        start = time.perf_counter()
        descent.sweep(np.stack([tests, tests], axis=1), w, self.threads)
        return time.perf_counter() - start


def _to_objective(patterns: list[str], train: Any, iterations: int) -> Job:
    """Training to the objective that Wapiti's OWL-QN has after some iterations, two threads each."""
    reached: dict[str, float] = {}

    @functools.cache
    def peer() -> float:
        seconds, log = _wapiti_train(patterns, *train, algo="l-bfgs", maxiter=iterations, nthread=2)
        reached["objective"] = float(re.findall(r"obj=([\d.]+)", log)[-1])
        return seconds

    def ours() -> float:
        peer()
        start = time.perf_counter()
        problem = _Problem(patterns, *train, threads=2)
        state = WorkingSet.begin(np.empty(0, np.int64), np.empty(0))
        result = train_working_set(
            problem.objective, state, l1=0.5, memory=5, stopping=Stopping(value=0.0, iterations=200),
            watch=lambda done: done.objective <= reached["objective"],
        )  # fmt: skip
        reached["iterations"] = result.iterations
        return time.perf_counter() - start

    def quality() -> str:
        return f"objective {reached['objective']:.0f}, {reached['iterations']} and {iterations} iterations"

    return Job("Nettalk 1-grm, OWL-QN to an objective", ours, peer, "Wapiti", quality, unit="s ", bar=3.0)


def _fastest(work: Callable[[], Any], runs: int = 3) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _nettalk(data: Path, some: int | None) -> tuple[Rows, Tags]:
    lines = (data / "nettalk" / "nettalk.data").read_text(encoding="latin-1").splitlines()
    entries = [line.split("\t") for line in lines if line.strip()]
    random.Random(1).shuffle(entries)
    return [[(letter,) for letter in word] for word, *_ in entries[:some]], [list(p) for _, p, *_ in entries[:some]]


def _columns(path: Path, some: int | None) -> tuple[Rows, Tags]:
    sentences = [list(sentence) for sentence in read_columns(path)][:some]
    return [[row[:-1] for row in s] for s in sentences], [[row[-1] for row in s] for s in sentences]


def _wapiti_model(patterns: list[str], X: Rows, y: Tags, **options: Any) -> Any:
    import wapiti

    model = wapiti.Model(patterns="\n".join(patterns), rho1=0.5, rho2=1e-5, stopeps=1e-9, **options)
    for rows, labels in zip(X, y, strict=True):
        model.add_training_sequence("\n".join(" ".join([*r, label]) for r, label in zip(rows, labels, strict=True)))
    model.train()
    return model


def _wapiti_train(patterns: list[str], X: Rows, y: Tags, **options: Any) -> tuple[float, str]:
    """Seconds of the whole call, and what it wrote: its progress goes past Python, to the process's own stderr."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        start = time.perf_counter()
        try:
            _wapiti_model(patterns, X, y, **options)
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        seconds = time.perf_counter() - start
        file.seek(0)
        return seconds, file.read().decode()


def _wapiti_rprop(patterns: list[str], X: Rows, y: Tags, threads: int) -> float:
    short, long = (_wapiti_train(patterns, X, y, algo="rprop", maxiter=n, nthread=threads)[0] for n in (1, 3))
    return (long - short) / 2


def _wapiti_epoch(patterns: list[str], X: Rows, y: Tags) -> float:
    short, long = (_wapiti_train(patterns, X, y, algo="sgd-l1", maxiter=n, nthread=1)[0] for n in (1, 3))
    return (long - short) / 2


def _attributes(sentence: list[tuple[str, ...]]) -> list[list[str]]:
    """The tests of CHUNKS as attributes, made in Python as CRFsuite's users do."""
    words = ["_", "_", *(row[0] for row in sentence), "_", "_"]
    tags = ["_", "_", *(row[1] for row in sentence), "_", "_"]
    found = []
    for t in range(2, len(sentence) + 2):
        tests = [f"w{i}={words[t + i]}" for i in range(-2, 3)]
        tests += [f"w-10={words[t - 1]}/{words[t]}", f"w01={words[t]}/{words[t + 1]}"]
        tests += [f"p{i}={tags[t + i]}" for i in range(-2, 3)]
        tests += [f"p{i}{i + 1}={tags[t + i]}/{tags[t + i + 1]}" for i in range(-2, 2)]
        tests += [f"p{i}{i + 2}={tags[t + i]}/{tags[t + i + 1]}/{tags[t + i + 2]}" for i in range(-2, 1)]
        found.append(tests)
    return found


def _crfsuite(X: Rows, y: Tags, iterations: int) -> tuple[float, str]:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.0, "c2": 0.5, "max_iterations": iterations, "feature.possible_transitions": True})
    for sentence, labels in zip(X, y, strict=True):
        trainer.append(_attributes(sentence), labels)
    path = str(Path(tempfile.mkdtemp()) / "model")
    start = time.perf_counter()
    trainer.train(path)
    return time.perf_counter() - start, path


def _crfsuite_iteration(X: Rows, y: Tags) -> float:
    return (_crfsuite(X, y, 12)[0] - _crfsuite(X, y, 2)[0]) / 10


def _crfsuite_tagger(X: Rows, y: Tags) -> Any:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(_crfsuite(X, y, 20)[1])
    return tagger

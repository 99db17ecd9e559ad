"""Linear-chain CRFs: textmill against Wapiti and CRFsuite on Nettalk and CoNLL-2000.

TEXTMILL_DATA=... python -m bench crf [--quick] [--only TEXT]

One evaluation of Wapiti is a call of its own function for value and gradient; one of CRFsuite is the time of some
iterations of its L-BFGS, divided by the evaluations that it logs. Ours is a call of the objective at the weights of a
trained model. On Nettalk it has the gradient of all features, as Wapiti's, on CoNLL-2000 that of the features seen in
training, as CRFsuite's. What takes minutes (the peers' training runs) is measured once, whatever `--repeats` says.
Memory is that of a process of its own, beside what it is allowed.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench._crf_peers import (
    CHUNKS,
    LETTERS,
    Rows,
    Tags,
    WapitiGradient,
    columns,
    crfsuite,
    crfsuite_attributes,
    nettalk,
    wapiti,
    wapiti_epoch,
)
from bench.harness import Job, Options
from textmill._native import sequence as native
from textmill.optimize import Stopping
from textmill.sequence import CRF, Encoder, FeatureLayout, evaluate_tags, label_ids
from textmill.sequence.training.batch import WorkingSet, train_dense, train_working_set
from textmill.sequence.training.objective import ChainObjective, seen_features
from textmill.sequence.training.online import OnlineState, training_data

PACKAGES = ["libwapiti", "python-crfsuite"]

Load = Callable[[], tuple[Rows, Tags]]


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    return _letters(options) + _chunking(options) + _memory(options)


def _letters(options: Options) -> list[Job]:
    @functools.cache
    def train() -> tuple[Rows, Tags]:
        words, phonemes = nettalk(options.data, 1000 if options.quick else None)
        cut = len(words) * 8 // 10
        return words[:cut], phonemes[:cut]

    problem = {name: _Problem(patterns, train) for name, patterns in LETTERS.items()}
    found = []
    for name, bar in (("1-grm", 5.0), ("3-grm", 3.0)):
        for threads in (1, 2):
            of = problem[name]
            found.append(
                Job(f"Nettalk {name}, one gradient, {threads} thread{'s' * (threads - 1)}",
                    functools.partial(of.gradient, threads), functools.partial(of.wapiti_gradient, threads), "Wapiti",
                    of.sizes, figure="returned", bar=bar)
            )  # fmt: skip
    three = problem["3-grm"]
    found += [
        _to_wapiti(problem["1-grm"], 5 if options.quick else 15),
        Job("Nettalk 3-grm, one epoch of SGD with L1", three.sgd_epoch,
            functools.cache(lambda: wapiti_epoch(LETTERS["3-grm"], *train())), "Wapiti", figure="returned", bar=3.0),
        Job("Nettalk 3-grm, a sweep of blocks, truncated", functools.partial(three.sweep, True),
            functools.partial(three.sweep, False), "textmill, whole recursion", figure="returned", bar=1.5),
    ]  # fmt: skip
    for name, bar in (("3-grm-", 2.0), ("3-grm", 0.95)):
        of = problem[name]
        found.append(
            Job(f"Nettalk {name}, log Z, sparse", of.sparse_value, of.dense_value, "textmill, dense", of.zeros,
                figure="returned", bar=bar)
        )  # fmt: skip
    return found


def _chunking(options: Options) -> list[Job]:
    some = 500 if options.quick else None
    train = functools.cache(lambda: columns(options.data / "conll2000" / "train.txt", some))
    test = functools.cache(lambda: columns(options.data / "conll2000" / "test.txt", some))
    of = _Problem(CHUNKS, train, seen=True)
    jobs = [
        Job(f"CoNLL-2000, one gradient, {threads} thread{'s' * (threads - 1)}", functools.partial(of.gradient, threads),
            functools.cache(lambda: _crfsuite_evaluation(train())), "CRFsuite, 1 thread", of.sizes,
            figure="returned", bar=bar)
        for threads, bar in ((1, 1.5), (2, 2.5))
    ]  # fmt: skip

    @functools.cache
    def model(threads: int) -> CRF:
        if threads > 1:
            return CRF.from_weights(model(1).to_weights()).set_params(n_jobs=threads)
        return CRF(patterns=CHUNKS, max_iter=5 if options.quick else 60, n_jobs=1).fit(*train())

    @functools.cache
    def by_wapiti() -> Callable[[], list[bytes]]:
        trained, _, _ = wapiti(CHUNKS, *train(), algo="sgd-l1", maxiter=3, nthread=2)
        lines = ["\n".join(" ".join(row) for row in sentence) for sentence in test()[0]]
        return lambda: [trained.label_sequence(text) for text in lines]

    @functools.cache
    def by_crfsuite() -> Callable[[], Tags]:
        import pycrfsuite

        tagger = pycrfsuite.Tagger()
        tagger.open(crfsuite(*train(), 20)[0])
        return lambda: [tagger.tag(crfsuite_attributes(sentence)) for sentence in test()[0]]

    def seconds(work: Callable[[], Callable[[], Any]]) -> Callable[[], float]:
        return lambda: _fastest(work(), 1)

    def ours(threads: int) -> Callable[[], Callable[[], Tags]]:
        return lambda: functools.partial(model(threads).predict, test()[0])

    def quality() -> str:
        chunks = evaluate_tags(test()[1], ours(1)()()).chunks
        f1 = 200 * chunks.hits.sum() / (chunks.gold.sum() + chunks.predicted.sum())
        return f"{sum(map(len, test()[0]))} tokens, chunk F1 {f1:.2f}"

    title = "CoNLL-2000, label the test set"
    return [
        *jobs,
        _to_crfsuite(of, 5 if options.quick else 50),
        Job(f"{title}, 1 thread", seconds(ours(1)), seconds(by_wapiti), "Wapiti", quality, figure="returned", bar=3.0),
        Job(f"{title}, 1 thread", seconds(ours(1)), seconds(by_crfsuite), "CRFsuite", figure="returned", bar=5.0),
        Job(
            f"{title}, 2 threads", seconds(ours(2)), seconds(ours(1)), "textmill, 1 thread", figure="returned", bar=1.7
        ),
    ]


def _memory(options: Options) -> list[Job]:
    """Peaks on Nettalk 3-grm beside what is allowed; the ratio says how much of it was not needed."""

    @functools.cache
    def peak(algorithm: str) -> tuple[float, ...]:
        command = [sys.executable, "-m", "bench._crf_memory", algorithm, *(["quick"] if options.quick else [])]
        return tuple(map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()))

    found = []
    for algorithm, vectors in (("bcd", 1.5), ("sgd", 2.5), ("owlqn", 16.0), ("working set", 4.0)):
        found.append(
            Job(f"Nettalk 3-grm, memory, {algorithm}", functools.partial(lambda a: peak(a)[0], algorithm),
                functools.partial(lambda a, v: v * peak(a)[2], algorithm, vectors), f"{vectors} vectors of weights",
                functools.partial(lambda a: "process {1:.0f} MB, a vector {2:.0f} MB".format(*peak(a)), algorithm),
                figure="returned", label="MB", bar=1.0)
        )  # fmt: skip
    return found


class _Problem:
    """A training set, and what is measured on it."""

    def __init__(self, patterns: list[str], train: Load, *, seen: bool = False) -> None:
        self.patterns, self.train, self.seen = patterns, train, seen

    @functools.cached_property
    def data(self) -> Any:
        X, y = self.train()
        self.classes = np.array(sorted({label for labels in y for label in labels}))
        data = Encoder(patterns=self.patterns).fit_encode(X)
        return data.with_labels(label_ids(y, data.offsets, self.classes))

    @functools.cached_property
    def layout(self) -> FeatureLayout:
        data = self.data
        return FeatureLayout(len(self.classes), data.unigram.size, data.bigram.size)

    @functools.cached_property
    def objective(self) -> ChainObjective:
        seen = seen_features(self.layout, self.data) if self.seen else None
        return ChainObjective(self.layout, self.data, l2=1.0 if self.seen else 1e-5, candidates=seen)

    @functools.cached_property
    def model(self) -> Any:
        """Features and weights after some iterations of OWL-QN, about as sparse as at the end."""
        state = WorkingSet.begin(np.empty(0, np.int64), np.empty(0))
        stopping = Stopping(tolerance=0.0, max_iter=40)
        self.objective.n_jobs = 2
        found = train_working_set(self.objective, state, l1=0.5, memory=5, stopping=stopping, watch=lambda done: False)
        self.objective.restrict(None)
        return found.features, found.weights

    def gradient(self, threads: int) -> float:
        theta = self.objective.spread(*self.model)
        self.objective.n_jobs = threads
        return _fastest(lambda: self.objective(theta))

    @functools.cache  # noqa: B019
    def wapiti_gradient(self, threads: int) -> float:
        found = WapitiGradient(self.patterns, *self.train(), self.layout.size, threads)
        return min(found.seconds() for _ in range(2))

    def sizes(self) -> str:
        features, weights = self.model
        candidates = self.layout.size if self.objective.candidates is None else len(self.objective.candidates)
        self.objective.restrict(features)
        on_set = _fastest(lambda: self.objective(weights))
        self.objective.restrict(None)
        return f"{candidates} features; {on_set:.3f} s on the {len(features)} that are not zero"

    def _value(self, weights: Any, features: Any) -> float:
        support = None if features is None else self.layout.support(features)
        part = self.objective._parts[0].problem
        return _fastest(lambda: part.evaluate(weights, support, None, 1))

    def sparse_value(self) -> float:
        features, weights = self.model
        return self._value(weights, features)

    def dense_value(self) -> float:
        weights = self.objective.spread(*self.model)
        weights[weights == 0] = 1e-300  # the same scores; exact zeros would be found and left out
        return self._value(weights, None)

    def zeros(self) -> str:
        return f"{100 * self.objective.zero_rate(self.objective.spread(*self.model)):.1f} % of pair scores are zero"

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
        tests = np.random.default_rng(1).permutation(self.data.unigram.size).astype(np.int32)
        descent = native.Descent(training_data(self.layout, self.data), 0.5, 1e-5, truncated)
        w = self.objective.spread(*self.model)
        start = time.perf_counter()
        descent.sweep(np.stack([tests, tests], axis=1), w, 1)
        return time.perf_counter() - start


def _to_wapiti(problem: _Problem, iterations: int) -> Job:
    """Training to the objective that Wapiti's OWL-QN has after some iterations, two threads each."""
    reached: dict[str, Any] = {}

    @functools.cache
    def peer() -> float:
        _, seconds, log = wapiti(problem.patterns, *problem.train(), algo="l-bfgs", maxiter=iterations, nthread=2)
        reached["objective"] = log[-1]
        return seconds

    def ours() -> float:
        peer()
        data, layout = problem.data, problem.layout
        start = time.perf_counter()
        objective = ChainObjective(layout, data, l2=1e-5, n_jobs=2)
        state = WorkingSet.begin(np.empty(0, np.int64), np.empty(0))
        result = train_working_set(
            objective, state, l1=0.5, memory=5, stopping=Stopping(tolerance=0.0, max_iter=200),
            watch=lambda done: done.objective <= 1.001 * reached["objective"],
        )  # fmt: skip
        reached["iterations"] = result.iterations
        return time.perf_counter() - start

    def quality() -> str:
        return f"objective {reached['objective']:.0f}, {reached['iterations']} and {iterations} iterations"

    return Job(
        "Nettalk 1-grm, OWL-QN to an objective", ours, peer, "Wapiti, 2 threads", quality, figure="returned", bar=3.0
    )


def _to_crfsuite(problem: _Problem, iterations: int) -> Job:
    """Training to the objective that CRFsuite's L-BFGS has after some iterations; two threads, CRFsuite has one."""
    reached: dict[str, Any] = {}

    @functools.cache
    def peer() -> float:
        _, seconds, log = crfsuite(*problem.train(), iterations)
        reached["objective"] = log[-1]["loss"]
        return seconds

    def ours() -> float:
        peer()
        data, layout = problem.data, problem.layout
        start = time.perf_counter()
        objective = ChainObjective(layout, data, l2=1.0, n_jobs=2, candidates=seen_features(layout, data))
        assert objective.candidates is not None
        state = WorkingSet.begin(np.empty(0, np.int64), np.zeros(len(objective.candidates)))
        result = train_dense(
            objective, state, memory=6, stopping=Stopping(gradient_tolerance=0.0, tolerance=0.0, max_iter=500),
            watch=lambda done: done.objective <= 1.001 * reached["objective"],
        )  # fmt: skip
        reached["iterations"] = result.iterations
        return time.perf_counter() - start

    def quality() -> str:
        return f"objective {reached['objective']:.0f}, {reached['iterations']} and {iterations} iterations"

    return Job(
        "CoNLL-2000, L-BFGS to an objective", ours, peer, "CRFsuite, 1 thread", quality, figure="returned", bar=3.0
    )


def _crfsuite_evaluation(train: tuple[Rows, Tags]) -> float:
    """Seconds of an evaluation: the difference of two runs, by the evaluations of their line searches."""
    (_, short, few), (_, long, many) = (crfsuite(*train, n) for n in (2, 12))
    evaluations = sum(int(entry["linesearch_trials"]) for entry in many[len(few) :])
    return (long - short) / evaluations


def _fastest(work: Callable[[], Any], runs: int = 3) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)

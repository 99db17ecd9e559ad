"""Optimizers of CRFs over problems of different shape: objective after as many iterations, and time to an objective.

TEXTMILL_DATA=... python -m bench optimizers --repeats 1 [--quick] [--only TEXT]

Four kinds of rows, for every problem of bench/_crf_problems.py, all on one thread and in processor time:

    PROBLEM, gradient                   seconds of the objective and its gradient at the weights of a trained model,
                                        over all features against a call of Wapiti's function, over the features seen
                                        against CRFsuite's L-BFGS, whose evaluations cannot be had without it
    PROBLEM, OWL-QN | L-BFGS            seconds to the objective that the peer has after 60 (100) iterations; with the
                                        iterations it took, and by how much our objective is above the peer's after as
                                        many iterations: at the end, and at its worst from the tenth iteration on;
                                        reading sequences and finding tests is not in it, on either side
    PROBLEM/10, OWL-QN, VARIANT         objective after 60 (100) iterations on a tenth of the problem, ours and the
                                        peer's: a ratio above 1 means that ours is lower
    PROBLEM/10, SGD | BCD               the same after 30 epochs of SGD with L1, after 10 sweeps of blocks, and the
                                        seconds, Wapiti's with the labeling that follows each of its iterations, and
                                        to Wapiti's objective by SGD
    PROBLEM/10, BCD, L1 | L2            10 sweeps of blocks and 100 iterations of OWL-QN (L1) or L-BFGS (L2), both ours

OWL-QN has l1 = 0.5 and l2 = 1e-5, over all features against Wapiti and over the features seen against CRFsuite;
L-BFGS has l2 = 1. The objectives of OWL-QN and L-BFGS do not depend on the machine; those of Wapiti's SGD do, a
little, since it orders sequences at random.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from bench._crf_peers import WapitiGradient, crfsuite_evaluation, crfsuite_run, wapiti, wapiti_objective
from bench._crf_problems import PROBLEMS, Problem, problem
from bench.harness import Job, Options
from textmill.optimize import Stopping, minimize_owlqn
from textmill.sequence import LBFGS, OWLQN, Encoded, Encoder, FeatureLayout
from textmill.sequence.training import batch
from textmill.sequence.training.algorithms import Session, SparseWeights
from textmill.sequence.training.blocks import BlockState, block_tests, train_blocks
from textmill.sequence.training.objective import ChainObjective, seen_features
from textmill.sequence.training.online import FALL, OnlineState, calibrated_rate, train_sgd

PACKAGES = ["libwapiti", "python-crfsuite"]

L1, L2 = 0.5, 1e-5
PEERS = {"wapiti": ("OWL-QN", "Wapiti", 60), "c1": ("OWL-QN, seen", "CRFsuite", 60), "c2": ("L-BFGS", "CRFsuite", 100)}
VARIANTS = (
    "default",
    "no diagonal",
    "zeros aligned",
    "zeros aligned, no diagonal",
    "memory 10",
    "look every 4",
    "look every 16",
)
EPOCHS, SWEEPS, ITERATIONS = 30, 10, 100
EVALUATIONS = 5  # of which the fastest counts
SHORT = 2.0  # seconds: a run that takes less is done three times, on either side, and the fastest counts


class Run(NamedTuple):
    """Objectives and processor seconds after every iteration, all evaluations of the objective, and our weights."""

    objectives: list[float]
    seconds: list[float]
    evaluations: int
    features: Any = None
    weights: Any = None


class Final(NamedTuple):
    """Where a run ended, its processor seconds, and both after each epoch, where they were measured."""

    objective: float
    seconds: float
    epochs: tuple[tuple[float, float], ...] = ()

    def time_to(self, target: float) -> str:
        """When the run came to an objective."""
        reached = next(((k, after) for k, (value, after) in enumerate(self.epochs, 1) if value <= target), None)
        return "" if reached is None else f"; to its objective {reached[0]} epochs, {reached[1]:.3f} s"


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    rows: list[Job] = []
    for name in PROBLEMS:
        whole = _Runs(functools.partial(problem, name, options.data, quick=options.quick))
        tenth = _Runs(functools.partial(problem, name, options.data, quick=True))
        kinds = [kind for kind in PEERS if kind != "wapiti" or name != "values"]
        rows += [_gradient(name, whole, kind) for kind in kinds if kind != "c1"]
        rows += [_to_objective(name, whole, kind) for kind in kinds]
        for kind in kinds:
            variants = VARIANTS if kind == "wapiti" else ("default", "no diagonal", "memory 10")
            rows += [_after_iterations(f"{name}/10", tenth, kind, variant) for variant in variants]
        if name != "values":
            rows += [
                _final(f"{name}/10, SGD, {EPOCHS} epochs", tenth.sgd, functools.partial(tenth.wapiti_final, "sgd-l1")),
                _final(f"{name}/10, BCD, {SWEEPS} sweeps", tenth.bcd, functools.partial(tenth.wapiti_final, "bcd")),
            ]
            rows += [
                _final(
                    f"{name}/10, BCD, {SWEEPS} sweeps, {penalty}",
                    functools.partial(tenth.bcd, l1),
                    functools.partial(tenth.quasi_newton, l1),
                    f"{method}, {ITERATIONS} iterations",
                )
                for penalty, l1, method in (("L1", L1, "OWL-QN"), ("L2", 0.0, "L-BFGS"))
            ]
    return rows


def _gradient(name: str, runs: _Runs, kind: str) -> Job:
    features, peer_name = ("all features", "Wapiti") if kind == "wapiti" else ("features seen", "CRFsuite")

    def quality() -> str:
        run, size = runs.ours(kind, "default", None), runs.candidates(kind)
        if kind == "c2":
            return f"{size} features"
        return f"{size} features; {runs.evaluation(kind, True):.4f} s on the {len(run.features)} that are not zero"

    return Job(
        f"{name}, gradient, {features}",
        functools.partial(runs.evaluation, kind, False),
        functools.partial(runs.peer_evaluation, kind),
        peer_name,
        quality,
        figure="returned",
        bar=2.0,
    )


def _final(name: str, ours: Callable[[], Final], peer: Callable[[], Final], peer_name: str = "Wapiti") -> Job:
    return Job(
        name,
        lambda: ours().objective,
        lambda: peer().objective,
        peer_name,
        lambda: (
            f"{100 * (ours().objective / peer().objective - 1):+.2f} %; {ours().seconds:.2f} and "
            f"{peer().seconds:.2f} s: {peer().seconds / ours().seconds:.1f}x{ours().time_to(peer().objective)}"
        ),
        figure="returned",
        label="",
    )


def _to_objective(name: str, runs: _Runs, kind: str) -> Job:
    method, peer_name, _ = PEERS[kind]

    @functools.cache
    def ours() -> float:
        target = runs.peer(kind).objectives[-1]
        return _fastest(lambda: runs.run(kind, "default", target))

    def quality() -> str:
        peer, run = runs.peer(kind), runs.ours(kind, "default", None)
        above = [100 * (a / b - 1) for a, b in zip(run.objectives, peer.objectives, strict=False)]
        reached = len(runs.ours(kind, "default", peer.objectives[-1]).objectives)
        return (
            f"{runs.problem}; objective {peer.objectives[-1]:.0f} in {reached} and {len(peer.objectives)} iterations; "
            f"after as many {above[-1]:+.2f} %, at worst {max(above[9:]):+.2f} %; {run.evaluations} evaluations"
        )

    return Job(
        f"{name}, {method}",
        ours,
        functools.cache(lambda: _fastest(lambda: runs.peer_run(kind), runs.peer(kind).seconds[-1])),
        peer_name,
        quality,
        figure="returned",
        bar=3.0,
    )


def _after_iterations(name: str, runs: _Runs, kind: str, variant: str) -> Job:
    method, peer_name, iterations = PEERS[kind]

    def quality() -> str:
        peer, run = runs.peer(kind), runs.ours(kind, variant, None)
        last = min(len(run.objectives), len(peer.objectives))
        above = {k: 100 * (run.objectives[k - 1] / peer.objectives[k - 1] - 1) for k in (20, last)}
        return ", ".join(f"after {k} {gap:+.2f} %" for k, gap in above.items()) + f"; {run.evaluations} evaluations"

    return Job(
        f"{name}, {method}, {variant}",
        lambda: runs.ours(kind, variant, None).objectives[-1],
        lambda: runs.peer(kind).objectives[-1],
        f"{peer_name}, {iterations} iterations",
        quality,
        figure="returned",
        label="",
    )


class _Runs:
    """What is measured on a problem, each run once."""

    def __init__(self, load: Callable[[], Problem]) -> None:
        self.load = load

    @functools.cached_property
    def problem(self) -> Problem:
        return self.load()

    @functools.cache  # noqa: B019
    def peer(self, kind: str) -> Run:
        """The peer's run, once."""
        return self.peer_run(kind)

    @functools.cache  # noqa: B019
    def ours(self, kind: str, variant: str, target: float | None) -> Run:
        """Our run, once."""
        return self.run(kind, variant, target)

    def peer_run(self, kind: str) -> Run:
        """The peer's iterations."""
        iterations = PEERS[kind][2]
        if kind == "wapiti":
            _, seconds, objectives = self._wapiti("l-bfgs", iterations)
            return Run(objectives, [seconds], iterations)
        penalties = {"c1": 0.0, "c2": 0.5} if kind == "c2" else {"c1": L1, "c2": L2 / 2}
        seconds, log = crfsuite_run(self.problem.attributes(), self.problem.y, iterations, penalties)
        return Run([entry["loss"] for entry in log], [seconds], sum(int(entry["linesearch_trials"]) for entry in log))

    def run(self, kind: str, variant: str, target: float | None) -> Run:
        """Ours, until the target is reached or the peer's iterations are over."""
        layout, data = self.encoded(kind)
        memory = 10 if variant == "memory 10" else 5
        stopping = Stopping(gradient_tolerance=0.0, tolerance=0.0, max_iter=PEERS[kind][2] if target is None else 1000)
        objectives, seconds = [], []
        start = time.process_time()

        def watch(done: batch.Snapshot) -> bool:
            objectives.append(done.objective)
            seconds.append(time.process_time() - start)
            return target is not None and done.objective <= target

        with _changed(variant):
            objective = _objective(kind, layout, data)
            none = np.empty(0, np.int64)
            if kind == "c2":
                assert objective.candidates is not None
                state = batch.WorkingSet.begin(none, np.zeros(len(objective.candidates)))
                result = batch.train_dense(objective, state, memory=memory, stopping=stopping, watch=watch)
            else:
                state = batch.WorkingSet.begin(none, np.empty(0))
                result = batch.train_working_set(objective, state, l1=L1, memory=memory, stopping=stopping, watch=watch)
        return Run(objectives, seconds, result.evaluations, result.features, result.weights)

    def encoded(self, kind: str) -> tuple[FeatureLayout, Encoded]:
        return self.problem.encoded(self.problem.patterns if kind == "wapiti" else self.problem.unigram_patterns)

    @functools.cache  # noqa: B019
    def candidates(self, kind: str) -> int:
        """How many features the model can have."""
        layout, data = self.encoded(kind)
        return layout.size if kind == "wapiti" else len(seen_features(layout, data))

    def evaluation(self, kind: str, on_support: bool) -> float:
        """Seconds of our objective and gradient at the weights of our run, over all candidates or what is not zero."""
        run, objective = self.ours(kind, "default", None), _objective(kind, *self.encoded(kind))
        theta = objective.spread(run.features, run.weights)
        if on_support:
            objective.restrict(run.features)
            theta = run.weights
        objective(theta)  # makes what the others find ready
        return min(_processor_seconds(objective, theta) for _ in range(EVALUATIONS))

    def peer_evaluation(self, kind: str) -> float:
        if kind == "c2":
            return crfsuite_evaluation(self.problem.attributes, self.problem.y)
        assert self.problem.patterns is not None
        gradient = WapitiGradient(
            self.problem.patterns, self.problem.X, self.problem.y, self.candidates(kind), threads=1
        )
        return min(gradient.seconds(time.process_time) for _ in range(EVALUATIONS))

    @functools.cached_property
    def all_features(self) -> tuple[FeatureLayout, Encoded, Encoder]:
        return *self.encoded("wapiti"), Encoder(patterns=self.problem.patterns).fit(self.problem.X)

    @functools.cache  # noqa: B019
    def sgd(self) -> Final:
        """Our objective after the epochs of SGD with a calibrated rate."""
        layout, data, _ = self.all_features
        objective, epochs = ChainObjective(layout, data), []
        start = time.process_time()
        eta0 = calibrated_rate(layout, data, l1=L1, l2=0.0, fall=FALL, random_state=0, n_jobs=1)

        def watch(done: batch.Snapshot) -> bool:
            nonlocal start
            seconds = time.process_time() - start
            epochs.append((objective(done.theta)[0] + L1 * float(np.abs(done.theta).sum()), seconds))
            start = time.process_time() - seconds  # the objective is for the table
            return False

        train_sgd(layout, data, OnlineState.fresh(layout, None, True), l1=L1, l2=0.0, eta0=eta0,
                  alpha=FALL ** (1 / EPOCHS), random_state=0,
                  stopping=Stopping(tolerance=0.0, max_iter=EPOCHS), watch=watch)  # fmt: skip
        return Final(*epochs[-1], tuple(epochs))

    @functools.cache  # noqa: B019
    def bcd(self, l1: float = L1) -> Final:
        """Our objective after the sweeps of blocks."""
        layout, data, encoder = self.all_features
        state = BlockState(np.zeros(layout.size), [])
        stopping = Stopping(tolerance=0.0, max_iter=SWEEPS)
        start = time.process_time()
        train_blocks(layout, data, block_tests(layout, *encoder.numbers()), state, l1=l1, l2=L2 if l1 else 1.0,
                     random_state=0, n_jobs=1, stopping=stopping, watch=lambda done: False)  # fmt: skip
        return Final(state.objectives[-1], time.process_time() - start)

    @functools.cache  # noqa: B019
    def quasi_newton(self, l1: float) -> Final:
        """Our objective after the iterations of OWL-QN, or of L-BFGS without an L1 penalty."""
        layout, data, _ = self.all_features
        objective = ChainObjective(layout, data, l1=l1, l2=L2 if l1 else 1.0, n_jobs=1)
        session = Session(ITERATIONS, 0.0, 0, lambda done: False)
        start = time.process_time()
        none = SparseWeights(np.empty(0, np.int64), np.empty(0))
        result = (OWLQN if l1 else LBFGS)(gradient_tolerance=0.0).train(objective, none, session)
        return Final(result.objectives[-1], time.process_time() - start)

    @functools.cache  # noqa: B019
    def wapiti_final(self, algorithm: str) -> Final:
        """The objective of Wapiti's model, which it does not print with these algorithms."""
        sgd = algorithm == "sgd-l1"
        model, seconds, _ = self._wapiti(algorithm, EPOCHS if sgd else SWEEPS, **({"rho2": 0.0} if sgd else {}))
        return Final(wapiti_objective(model, self.all_features[0].size), seconds)

    def _wapiti(self, algorithm: str, iterations: int, **penalty: float) -> tuple[Any, float, list[float]]:
        assert self.problem.patterns is not None
        return wapiti(self.problem.patterns, self.problem.X, self.problem.y, clock=time.process_time, algo=algorithm,
                      maxiter=iterations, nthread=1, **penalty)  # fmt: skip


def _objective(kind: str, layout: FeatureLayout, data: Encoded) -> ChainObjective:
    """With the features and the L2 penalty that belong to a peer."""
    seen = None if kind == "wapiti" else seen_features(layout, data)
    return ChainObjective(layout, data, l2=1.0 if kind == "c2" else L2, candidates=seen)


def _fastest(run: Callable[[], Run], *seconds: float) -> float:
    """Processor seconds of a run, of the fastest of three if they are few; some may be known."""
    times = list(seconds)
    while not times or (len(times) < 3 and min(times) < SHORT):
        times.append(run().seconds[-1])
    return min(times)


def _processor_seconds(work: Callable[..., Any], *arguments: Any) -> float:
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


@contextlib.contextmanager
def _changed(variant: str) -> Iterator[None]:
    """The training code with one of its choices made otherwise."""
    with contextlib.ExitStack() as stack:
        if "zeros aligned" in variant:
            other = functools.partial(minimize_owlqn, align="zeros")
            stack.enter_context(mock.patch.object(batch, "minimize_owlqn", other))
        if "no diagonal" in variant:
            stack.enter_context(mock.patch.object(ChainObjective, "scales", return_value=None))
        if variant.startswith("look every"):
            stack.enter_context(mock.patch.object(batch, "ROUND", int(variant.split()[-1])))
        yield

"""Optimisers of CRFs over problems of different shape: objective after as many iterations, and time to an objective.

TEXTMILL_DATA=... python -m bench optimizers --repeats 1 [--quick] [--only TEXT]

Three kinds of rows, for every problem of bench/_crf_problems.py, all on one thread and in processor time:

    PROBLEM, OWL-QN | L-BFGS            seconds to the objective that the peer has after 60 (100) iterations; with the
                                        iterations it took, and by how much our objective is above the peer's after as
                                        many iterations: at the end, and at its worst from the tenth iteration on
    PROBLEM/10, OWL-QN, VARIANT         objective after 60 (100) iterations on a tenth of the problem, ours and the
                                        peer's: a ratio above 1 means that ours is lower
    PROBLEM/10, SGD | BCD               the same after 30 epochs of SGD with L1, after 10 sweeps of blocks

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

from bench._crf_peers import crfsuite_run, wapiti, wapiti_objective
from bench._crf_problems import PROBLEMS, Problem, problem
from bench.harness import Job, Options
from textmill.optimize import Stopping, minimize_owlqn
from textmill.sequence import Encoder, FeatureLayout
from textmill.sequence.training import batch
from textmill.sequence.training.blocks import BlockState, block_tests, train_blocks
from textmill.sequence.training.objective import ChainObjective, seen_features
from textmill.sequence.training.online import OnlineState, calibrated_rate, train_sgd

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
EPOCHS, SWEEPS = 30, 10


class Run(NamedTuple):
    """Objectives and processor seconds after every iteration, and all evaluations of the objective."""

    objectives: list[float]
    seconds: list[float]
    evaluations: int


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    rows: list[Job] = []
    for name in PROBLEMS:
        whole = _Runs(functools.partial(problem, name, options.data, quick=options.quick))
        tenth = _Runs(functools.partial(problem, name, options.data, quick=True))
        kinds = [kind for kind in PEERS if kind != "wapiti" or name != "values"]
        rows += [_to_objective(name, whole, kind) for kind in kinds]
        for kind in kinds:
            variants = VARIANTS if kind == "wapiti" else ("default", "no diagonal", "memory 10")
            rows += [_after_iterations(f"{name}/10", tenth, kind, variant) for variant in variants]
        if name != "values":
            rows += [
                Job(f"{name}/10, SGD, {EPOCHS} epochs", tenth.sgd,
                    functools.partial(tenth.wapiti_final, "sgd-l1", EPOCHS), "Wapiti", tenth.rate, unit=" "),
                Job(f"{name}/10, BCD, {SWEEPS} sweeps", tenth.bcd,
                    functools.partial(tenth.wapiti_final, "bcd", SWEEPS), "Wapiti", unit=" "),
            ]  # fmt: skip
    return rows


def _to_objective(name: str, runs: _Runs, kind: str) -> Job:
    method, peer_name, _ = PEERS[kind]

    @functools.cache
    def ours() -> float:
        return runs.ours(kind, "default", runs.peer(kind).objectives[-1]).seconds[-1]

    def quality() -> str:
        peer, run = runs.peer(kind), runs.ours(kind, "default", None)
        above = [100 * (a / b - 1) for a, b in zip(run.objectives, peer.objectives, strict=False)]
        reached = len(runs.ours(kind, "default", peer.objectives[-1]).objectives)
        return (
            f"{runs.problem}; objective {peer.objectives[-1]:.0f} in {reached} and {len(peer.objectives)} iterations; "
            f"after as many {above[-1]:+.2f} %, at worst {max(above[9:]):+.2f} %; {run.evaluations} evaluations"
        )

    return Job(f"{name}, {method}", ours, lambda: runs.peer(kind).seconds[-1], peer_name, quality, unit="s ", bar=3.0)


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
        unit=" ",
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
        """The peer's run."""
        iterations = PEERS[kind][2]
        start = time.process_time()
        if kind == "wapiti":
            assert self.problem.patterns is not None
            _, _, objectives = wapiti(
                self.problem.patterns, self.problem.X, self.problem.y, algo="l-bfgs", maxiter=iterations, nthread=1
            )
            return Run(objectives, [time.process_time() - start], iterations)
        penalties = {"c1": 0.0, "c2": 0.5} if kind == "c2" else {"c1": L1, "c2": L2 / 2}
        seconds, log = crfsuite_run(self.problem.attributes(), self.problem.y, iterations, penalties)
        return Run([entry["loss"] for entry in log], [seconds], sum(int(entry["linesearch_trials"]) for entry in log))

    @functools.cache  # noqa: B019
    def ours(self, kind: str, variant: str, target: float | None) -> Run:
        """Our run, until the target is reached or the peer's iterations are over."""
        layout, data = self.problem.encoded(
            self.problem.patterns if kind == "wapiti" else self.problem.unigram_patterns
        )
        memory = 10 if variant == "memory 10" else 5
        stopping = Stopping(gradient=0.0, value=0.0, iterations=PEERS[kind][2] if target is None else 1000)
        objectives, seconds = [], []
        start = time.process_time()

        def watch(done: batch.Progressed) -> bool:
            objectives.append(done.objective)
            seconds.append(time.process_time() - start)
            return target is not None and done.objective <= target

        with _changed(variant):
            seen = None if kind == "wapiti" else seen_features(layout, data)
            objective = ChainObjective(layout, data, l2=1.0 if kind == "c2" else L2, candidates=seen)
            none = np.empty(0, np.int64)
            if seen is not None and kind == "c2":
                state = batch.WorkingSet.begin(none, np.zeros(len(seen)))
                result = batch.train_dense(objective, state, memory=memory, stopping=stopping, watch=watch)
            else:
                state = batch.WorkingSet.begin(none, np.empty(0))
                result = batch.train_working_set(objective, state, l1=L1, memory=memory, stopping=stopping, watch=watch)
        return Run(objectives, seconds, result.evaluations)

    @functools.cached_property
    def all_features(self) -> tuple[FeatureLayout, Any, Any]:
        return *self.problem.encoded(self.problem.patterns), Encoder(patterns=self.problem.patterns).fit(self.problem.X)

    def objective(self, w: Any, l2: float) -> float:
        layout, data, _ = self.all_features
        return ChainObjective(layout, data, l2=l2)(w)[0] + L1 * float(np.abs(w).sum())

    @functools.cached_property
    def eta0(self) -> float:
        layout, data, _ = self.all_features
        return calibrated_rate(layout, data, l1=L1, l2=0.0, alpha=0.9, seed=0, threads=1)

    def rate(self) -> str:
        return f"first rate {self.eta0:g}"

    @functools.cache  # noqa: B019
    def sgd(self) -> float:
        """Our objective after the epochs of SGD with a calibrated rate."""
        layout, data, _ = self.all_features
        state = OnlineState.fresh(layout, None, True)
        stopping = Stopping(value=0.0, iterations=EPOCHS)
        train_sgd(layout, data, state, l1=L1, l2=0.0, eta0=self.eta0, alpha=0.9, seed=0, stopping=stopping,
                  watch=lambda done: False)  # fmt: skip
        return self.objective(state.w, 0.0)

    @functools.cache  # noqa: B019
    def bcd(self) -> float:
        """Our objective after the sweeps of blocks."""
        layout, data, encoder = self.all_features
        state = BlockState(np.zeros(layout.size), [])
        stopping = Stopping(value=0.0, iterations=SWEEPS)
        train_blocks(layout, data, block_tests(layout, *encoder.numbers()), state, l1=L1, l2=L2, seed=0, threads=1,
                     stopping=stopping, watch=lambda done: False)  # fmt: skip
        return state.objectives[-1]

    @functools.cache  # noqa: B019
    def wapiti_final(self, algorithm: str, iterations: int) -> float:
        """The objective of Wapiti's model, which it does not print with these algorithms."""
        assert self.problem.patterns is not None
        penalty = {"rho2": 0.0} if algorithm == "sgd-l1" else {}
        model, _, _ = wapiti(
            self.problem.patterns,
            self.problem.X,
            self.problem.y,
            algo=algorithm,
            maxiter=iterations,
            nthread=1,
            **penalty,
        )
        return wapiti_objective(model, self.all_features[0].size)


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

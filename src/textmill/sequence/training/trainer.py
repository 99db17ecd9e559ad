"""One training run of a chain model: the algorithm, what is measured on the way, when it stops, what is kept.

After every iteration (epoch, sweep) the weights so far label the development sequences, if there are any; the run stops
when the token errors of the last `stop_window` iterations differ by less than `stop_tolerance` percentage points, and
the weights with the lowest error are kept, not the last ones. Fine-tuning then drops the L1 penalty and runs L-BFGS on
the weights that are not zero: their number cannot grow. A checkpoint holds the state of the optimiser, the log and the
best weights, in NumPy's own format without pickles; a run that finds its checkpoint goes on to the same result. The
first Ctrl-C lets the iteration at work come to its end, whatever the algorithm, and the run ends with what it has.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter, process_time
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ints
from textmill.cluster import Cluster
from textmill.errors import DataError
from textmill.files import replacing
from textmill.optimize import Plateau, Stopping
from textmill.progress import Step, interruptible, start
from textmill.sequence.decoders import ChainScorer, viterbi
from textmill.sequence.encoding import Encoded
from textmill.sequence.features import FeatureLayout
from textmill.sequence.training.batch import (
    Progressed,
    Result,
    WorkingSet,
    train_dense,
    train_rprop,
    train_working_set,
)
from textmill.sequence.training.blocks import BlockState, train_blocks
from textmill.sequence.training.objective import ChainObjective, conditional_layout, conditioned, seen_features
from textmill.sequence.training.online import OnlineState, calibrated_rate, train_perceptron, train_sgd

__all__ = ["ALGORITHMS", "Settings", "Trainer"]

CLOCKS = ("seconds", "cpu_seconds")  # of an entry of the log: since the run began, on the wall and of all cores here
SPARSE_SHARE = 8  # weights are decoded as a list when at most one in so many is not zero
ALGORITHMS = ("lbfgs", "owlqn", "sgd_l1", "bcd", "rprop", "sgd_l2", "perceptron")


@dataclass(frozen=True, slots=True)
class Settings:
    """Parameters of a run, resolved."""

    algorithm: str
    l1: float
    l2: float
    max_iter: int
    tol: float = 1e-4
    period: int = 5
    epsilon: float = 1e-5
    memory: int = 5
    eta0: float | None = None
    alpha: float = 0.9
    variant: Literal["+", "-"] = "+"
    stop_window: int = 5
    stop_tolerance: float = 0.02
    fine_tune: int = 0
    seed: int = 0
    features: str = "all"

    def stopping(self) -> Stopping:
        """The rules that end the run, but for the development error."""
        return Stopping(gradient=self.epsilon, value=self.tol, window=self.period, iterations=self.max_iter)


@dataclass(slots=True)
class Trainer:
    """A run: `train` returns its result, `log` has an entry for every iteration."""

    settings: Settings
    layout: FeatureLayout
    data: Encoded
    dev: Encoded | None = None
    blocks: NDArray[np.int32] | None = None
    normalized: bool = False
    threads: int = 1
    cluster: Cluster | None = None
    checkpoint: str | os.PathLike[str] | None = None
    log: list[dict[str, float]] = field(default_factory=list)
    best: tuple[float, Ints, Floats] | None = None

    def train(self, features: Ints, weights: Floats) -> Result:
        """Train from these weights (none: from zero)."""
        saved = self._resumed()
        spent = np.array([self.log[-1][name] for name in CLOCKS] if self.log else [0.0, 0.0])
        spent -= perf_counter(), process_time()
        plateau = Plateau(window=self.settings.stop_window, tolerance=self.settings.stop_tolerance)
        for entry in self.log:
            plateau.update(entry.get("dev_error", math.inf))
        with (
            start("training", total=self.settings.max_iter, unit="iterations") as step,
            interruptible(range(0), count=lambda: len(self.log)) as loop,  # the algorithms have the iterations
        ):
            if self.log:
                step.advance(len(self.log))

            def watch(done: Progressed) -> bool:
                stop = self._watch(done, plateau, step, np.add(spent, (perf_counter(), process_time())))
                return stop or loop.interrupted

            result = self._run(saved, features, weights, watch)
            if result.reason == "interrupted":  # by a second Ctrl-C, in the middle of an iteration
                raise KeyboardInterrupt
            if self.best is not None:
                result = replace(result, features=self.best[1], weights=self.best[2])
            if self.settings.fine_tune and not loop.interrupted:
                result = self._fine_tuned(result, watch)
            if loop.interrupted:
                result = replace(result, reason="interrupted")
        return result

    def objective(self) -> ChainObjective:
        """What the run minimises, but for the L1 part; also what a report on its weights looks at."""
        seen = seen_features(self.layout, self.data) if self.settings.features == "seen" else None
        return ChainObjective(
            self.layout,
            self.data,
            l2=self.settings.l2,
            n_jobs=self.threads,
            cluster=self.cluster,
            normalized=self.normalized,
            candidates=seen,
        )

    def _run(self, saved: dict[str, Any] | None, features: Ints, weights: Floats, watch: Any) -> Result:
        s, stopping = self.settings, self.settings.stopping()
        if s.algorithm in ("lbfgs", "owlqn", "rprop"):
            objective = self.objective()
            if s.algorithm == "rprop":
                if self.checkpoint is not None:
                    raise DataError("rprop keeps no checkpoint; use another algorithm or checkpoint=None")
                begin = objective.spread(features, weights)
                return train_rprop(objective, begin, l1=s.l1, variant=s.variant, stopping=stopping, watch=watch)
            if s.algorithm == "owlqn" and s.l1 > 0:
                state = WorkingSet(**saved) if saved else WorkingSet.begin(features, weights)
                return train_working_set(
                    objective, state, l1=s.l1, memory=s.memory, stopping=stopping, watch=watch, saved=self._save
                )
            state = (
                WorkingSet(**saved)
                if saved
                else WorkingSet.begin(np.empty(0, np.int64), objective.spread(features, weights))
            )
            keep = None if self.checkpoint is None else self._save
            return train_dense(objective, state, memory=s.memory, stopping=stopping, watch=watch, saved=keep)
        if s.algorithm == "bcd":
            assert self.blocks is not None
            blocks = BlockState(**saved) if saved else BlockState(self._dense(features, weights), [])
            return train_blocks(
                self.layout,
                self.data,
                self.blocks,
                blocks,
                l1=s.l1,
                l2=s.l2,
                seed=s.seed,
                threads=self.threads,
                stopping=stopping,
                watch=watch,
                saved=self._save,
            )
        layout, data = self.layout, self.data
        if self.normalized:
            layout, data = conditional_layout(layout), conditioned(layout, data)
        second = s.algorithm == "perceptron" or s.l1 > 0
        online = OnlineState(**saved) if saved else OnlineState.fresh(layout, self._dense(features, weights), second)
        if s.algorithm == "perceptron":
            return train_perceptron(layout, data, online, seed=s.seed, stopping=stopping, watch=watch, saved=self._save)
        alpha = s.alpha if s.algorithm == "sgd_l1" else 0.0
        eta0 = s.eta0 or calibrated_rate(layout, data, l1=s.l1, l2=s.l2, alpha=alpha, seed=s.seed, threads=self.threads)
        return train_sgd(
            layout,
            data,
            online,
            l1=s.l1,
            l2=s.l2,
            eta0=eta0,
            alpha=alpha,
            seed=s.seed,
            stopping=stopping,
            watch=watch,
            saved=self._save,
        )

    def _fine_tuned(self, result: Result, watch: Any) -> Result:
        """A few iterations of L-BFGS without L1 on the weights that are not zero."""
        objective = self.objective()
        objective.restrict(result.features)
        self.best = None
        stopping = Stopping(gradient=self.settings.epsilon, value=0.0, iterations=self.settings.fine_tune)
        state = WorkingSet.begin(result.features, result.weights.copy())
        tuned = train_dense(objective, state, memory=self.settings.memory, stopping=stopping, watch=watch)
        iterations = result.iterations + tuned.iterations
        evaluations = result.evaluations + tuned.evaluations
        kept = (tuned.features, tuned.weights) if self.best is None else self.best[1:]
        return Result(*kept, result.reason, iterations, evaluations, [*result.objectives, *tuned.objectives])

    def _watch(self, done: Progressed, plateau: Plateau, step: Step, clocks: Floats) -> bool:
        entry = {
            "iteration": float(len(self.log) + 1),
            "objective": done.objective,
            "active": float(done.active),
            **dict(zip(CLOCKS, clocks.tolist(), strict=True)),
        }
        stop = False
        if self.dev is not None:
            entry["dev_error"] = self._dev_error(done)
            if self.best is None or entry["dev_error"] < self.best[0]:
                self.best = (entry["dev_error"], *done.nonzero())
            stop = plateau.update(entry["dev_error"])
        self.log.append(entry)
        step.advance(1, **{name: value for name, value in entry.items() if name not in ("iteration", "seconds")})
        return stop

    def _dev_error(self, done: Progressed) -> float:
        """Wrong labels of the development sequences, in percent of those that are known."""
        assert self.dev is not None
        assert self.dev.labels is not None
        if done.features is None and done.active * SPARSE_SHARE > len(done.theta):
            scorer = ChainScorer(self.layout, done.theta, None, self.normalized)
        else:
            features, weights = done.nonzero()
            scorer = ChainScorer(self.layout, weights, features, self.normalized)
        labels, _ = viterbi(scorer, self.dev, n_jobs=self.threads)
        return 100.0 * float(np.mean(labels != self.dev.labels)) if self.dev.tokens else 0.0

    def _dense(self, features: Ints, weights: Floats) -> Floats:
        full = np.zeros(self.layout.size)
        full[features] = weights
        return full

    def _signature(self) -> str:
        parts = {**asdict(self.settings), **asdict(self.layout), "tokens": self.data.tokens}
        parts |= {"sequences": self.data.sequences, "tests": len(self.data.unigram.ids) + len(self.data.bigram.ids)}
        return json.dumps(parts, sort_keys=True)

    def _save(self, state: WorkingSet | OnlineState | BlockState) -> None:
        if self.checkpoint is None:
            return
        arrays = {f"state.{name}": np.asarray(getattr(state, name)) for name in state.__dataclass_fields__}
        for name in ("iteration", "objective", "active", *CLOCKS, "dev_error"):
            arrays[f"log.{name}"] = np.array([entry.get(name, math.nan) for entry in self.log])
        if self.best is not None:
            arrays |= {
                "best.error": np.array(self.best[0]),
                "best.features": self.best[1],
                "best.weights": self.best[2],
            }
        with replacing(self.checkpoint) as file:
            arrays["signature"] = np.frombuffer(self._signature().encode(), np.uint8)
            np.savez(file, allow_pickle=False, **arrays)

    def _resumed(self) -> dict[str, Any] | None:
        """The state of a checkpoint, log and best weights taken over; None when there is none."""
        if self.checkpoint is None or not os.path.exists(self.checkpoint):
            return None
        name = os.fspath(self.checkpoint)
        try:
            with np.load(name, allow_pickle=False) as file:
                arrays = {key: file[key] for key in file.files}
            signature = arrays.pop("signature").tobytes().decode()
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            raise DataError("is no checkpoint of a training run; remove it or name another", source=name) from None
        if signature != self._signature():
            raise DataError("is the checkpoint of a run with other parameters or data; remove it", source=name)
        columns = {key.removeprefix("log."): value for key, value in arrays.items() if key.startswith("log.")}
        for i in range(len(columns["iteration"])):
            entry = {key: float(value[i]) for key, value in columns.items()}
            self.log.append({key: value for key, value in entry.items() if not math.isnan(value)})
        if "best.error" in arrays:
            self.best = (float(arrays["best.error"]), arrays["best.features"], arrays["best.weights"])
        state = {key.removeprefix("state."): value for key, value in arrays.items() if key.startswith("state.")}
        state = {key: value.item() if value.ndim == 0 else value for key, value in state.items()}
        state["objectives"] = state["objectives"].tolist()
        if "steps" in state:
            state["steps"] = tuple(state["steps"].tolist())
        return state

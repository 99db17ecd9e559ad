"""One training run of a chain model: what is measured on the way, when it stops early, which weights remain.

After every iteration (epoch, sweep) the model says how many labels of its development sequences the weights so far get
wrong, if it has any (`error`). The run stops when the lowest error is ten iterations old (`PATIENCE`, or another
`Plateau`), and its result are the weights with the lowest error, not the last ones. An error that has not moved since
the first iteration has not leveled off: where most labels are alike, the first weights give every token the same one
for a while. Fine-tuning is L-BFGS on the weights w
that are not zero: their number cannot grow. Some L2 in the place of L1 pulls w as a whole towards zero as strongly, or
a few good steps would fit what L1 kept out:

    d/ds [l1 |s w|_1 + l2 / 2 |s w|^2] = d/ds [tuned / 2 |s w|^2]  at s = 1        so tuned = l2 + l1 |w|_1 / |w|^2

No algorithm converges to an objective that is not finite: the run then ends with the weights of the last iteration
where it was, "diverged", and a warning says so.

A checkpoint holds the state of the algorithm, the log and the best weights, in NumPy's own format without pickles; a
run that finds its checkpoint goes on to the same result. The first Ctrl-C lets the iteration at work come to its end,
whatever the algorithm, and the run ends with what it has.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter, process_time
from typing import Any
from zipfile import BadZipFile

import numpy as np

from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError, warn_caller
from textmill.files import replacing
from textmill.optimize import Plateau, dot
from textmill.progress import Step, interruptible, start
from textmill.sequence.training.algorithms import Algorithm, Session, SparseWeights
from textmill.sequence.training.batch import Result, Snapshot, Watch
from textmill.sequence.training.objective import ChainObjective

__all__ = ["CLOCKS", "PATIENCE", "Run"]

CLOCKS = ("seconds", "cpu_seconds")  # of an entry of the log: since the run began, on the wall and of all cores here
PATIENCE = Plateau(window=11, tolerance=0.0, falling=True)  # none of the last ten errors is below all before them


@dataclass(slots=True)
class Run:
    """A run: `train` returns its result, `log` has an entry for every iteration."""

    algorithm: Algorithm
    objective: ChainObjective
    max_iter: int
    tolerance: float = 1e-4
    seed: int = 0
    fine_tune: int = 0
    error: Callable[[Snapshot], float] | None = None  # in percent, on development sequences
    plateau: Plateau = PATIENCE
    tests: Callable[[], tuple[Ids, Ids]] | None = None
    checkpoint: str | os.PathLike[str] | None = None
    log: list[dict[str, float]] = field(default_factory=list)
    best: tuple[float, Ints, Floats] | None = None

    def train(self, begin: SparseWeights) -> Result:
        """Train from these weights (none: from zero)."""
        state = self._resume()
        spent = np.array([self.log[-1][name] for name in CLOCKS] if self.log else [0.0, 0.0])
        spent -= perf_counter(), process_time()
        with (
            start("training", total=self.max_iter, unit="iterations") as step,
            interruptible(range(0), count=lambda: len(self.log)) as loop,  # the algorithms have the iterations
        ):
            step.advance(len(self.log), **self._size())
            step.figures.clear()  # said once

            def watch(done: Snapshot) -> bool:
                stop = self._watch(done, step, np.add(spent, (perf_counter(), process_time())))
                return stop or loop.interrupted

            save = None if self.checkpoint is None else self._save
            session = Session(self.max_iter, self.tolerance, self.seed, watch, save, state, self.tests)
            result = self.algorithm.train(self.objective, begin, session)
            result = self._finite(result)
            if result.reason == "interrupted":  # by a second Ctrl-C, in the middle of an iteration
                raise KeyboardInterrupt
            if self.best is not None:
                result = replace(result, features=self.best[1], weights=self.best[2])
            if self.fine_tune and not loop.interrupted:
                result = self._tune(result, watch)
            if loop.interrupted:
                result = replace(result, reason="interrupted")
        return result

    def _size(self) -> dict[str, float]:
        """Features, and bytes of memory that training takes at least: a few numbers for each, and the sequences."""
        objective: Any = self.objective
        features = getattr(objective, "size", None) or objective.layout.size
        data = getattr(getattr(objective, "problem", None), "memory", 0)
        return {"features": float(features), "bytes": 8.0 * self.algorithm.vectors(objective.l1) * features + data}

    def _finite(self, result: Result) -> Result:
        """The result, or "diverged" and a warning if its last objective is not finite."""
        values = [value for value in result.objectives if math.isfinite(value)]
        if len(values) < len(result.objectives):
            result = replace(result, reason="diverged", objectives=values)
        if result.reason == "diverged":
            name, number = self.algorithm.name, len(self.log) + 1
            remedy = "pass a larger l2" + (", or a smaller rate" if name.startswith("sgd") else "")
            message = f"{name}: the objective of iteration {number} is not finite; the weights are those before it; "
            warn_caller(message + remedy, RuntimeWarning)
        return result

    def _tune(self, result: Result, watch: Watch) -> Result:
        """A few iterations of L-BFGS on the weights that are not zero, with L2 in the place of L1."""
        objective, penalty = self.objective, self.objective.l2
        objective.restrict(result.features)
        self.best = None
        session = Session(self.fine_tune, 0.0, self.seed, watch)
        begin = SparseWeights(result.features, result.weights)
        size = dot(result.weights, result.weights)
        objective.l2 += objective.l1 * float(np.abs(result.weights).sum()) / size if size else 0.0
        try:
            tuned = self.algorithm.tuner().train(objective, begin, session)
        finally:
            objective.l2 = penalty
        weights = SparseWeights(tuned.features, tuned.weights) if self.best is None else SparseWeights(*self.best[1:])
        return Result(
            *weights,
            reason=result.reason,
            iterations=result.iterations + tuned.iterations,
            evaluations=result.evaluations + tuned.evaluations,
            objectives=[*result.objectives, *tuned.objectives],
        )

    def _watch(self, done: Snapshot, step: Step, clocks: Floats) -> bool:
        """Note an iteration; True when the development error has leveled off, or the objective is not finite."""
        if not math.isfinite(done.objective):
            return True
        entry = {
            "iteration": float(len(self.log) + 1),
            "objective": done.objective,
            "active": float(done.active),
            **dict(zip(CLOCKS, clocks.tolist(), strict=True)),
        }
        if done.gradient_norm is not None:
            entry["gradient_norm"] = done.gradient_norm
        if self.error is not None:
            entry["dev_error"] = self.error(done)
            errors = [*(before["dev_error"] for before in self.log), entry["dev_error"]]
            if self.best is None or entry["dev_error"] < self.best[0] or len(set(errors)) == 1:
                self.best = (entry["dev_error"], *done.nonzero())
        self.log.append(entry)
        step.advance(1, **{name: value for name, value in entry.items() if name not in ("iteration", "seconds")})
        return self.error is not None and self._moved(errors) and self.plateau.settled(errors)

    def _moved(self, errors: list[float]) -> bool:
        """Has training reached the development error at all? One of 0 need not move."""
        change = max(errors) - min(errors)
        return errors[-1] == 0.0 or (change > 0.0 and change >= self.plateau.tolerance)

    def _signature(self) -> str:
        """What must be the same for a run to go on from a checkpoint."""
        parts = {
            "algorithm": self.algorithm.name,
            **self.algorithm.get_params(),
            **{name: getattr(self, name) for name in ("max_iter", "tolerance", "seed", "fine_tune")},
            "plateau": asdict(self.plateau),
            **self.objective.signature(),
        }
        return json.dumps(parts, sort_keys=True)

    def _save(self, state: Any) -> None:
        assert self.checkpoint is not None
        arrays = {f"state.{name}": np.asarray(getattr(state, name)) for name in state.__dataclass_fields__}
        for name in ("iteration", "objective", "active", *CLOCKS, "gradient_norm", "dev_error"):
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

    def _resume(self) -> dict[str, Any] | None:
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

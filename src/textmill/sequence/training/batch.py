"""Training with the gradient over all sequences: L-BFGS, RPROP, and OWL-QN on a working set of features.

With an L1 penalty almost all weights stay zero, and a zero weight moves only when its slope exceeds the penalty. So
OWL-QN runs on a working set W and looks at the others now and then:

    W <- features with theta != 0 or |g| > l1
    repeat: some iterations of OWL-QN on W;  all slopes g;  W <- {theta != 0} + {|g| > l1} + {in W, |g| near l1}
    until the stopping rule holds on W and no feature outside has |g| > l1

A limit point is the minimum over all features: the optimality conditions hold inside by OWL-QN, outside by the look.
The pairs of the quasi-Newton history are kept, with zeros for features that are new. Both methods begin from the
second derivatives that the frequencies of tests suggest (`ChainObjective.scales`). Cost and memory are those of W,
not of all K features, but for the look, whose gradients are made test by test and not kept. A run that is stopped
after any round continues to the same result from the state of that moment.
Reference: Andrew & Gao (2007); Lavergne, Cappe & Yvon (2010); Friedman, Hastie & Tibshirani (2010) on working sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.optimize import Iteration, Reason, Stopping, minimize_cg, minimize_lbfgs, minimize_owlqn, minimize_rprop
from textmill.optimize.lbfgs import History
from textmill.sequence.training.objective import ChainObjective

__all__ = [
    "Result",
    "Snapshot",
    "WorkingSet",
    "nonzero_weights",
    "train_cg",
    "train_dense",
    "train_rprop",
    "train_working_set",
]


FIRST_ROUND, ROUND = 4, 8  # iterations between looks at all features
NEAR = 0.8  # a feature of the working set leaves it when its slope falls below this share of the penalty


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One iteration as the caller sees it: the objective with penalties, the number of weights that are not zero.

    `theta` has a weight for each of `features`, or for every feature where that is None; it changes afterwards.
    """

    number: int
    objective: float
    active: int
    theta: Floats = field(repr=False)
    features: Ints | None = field(repr=False, default=None)
    gradient_norm: float | None = None

    def nonzero(self) -> tuple[Ints, Floats]:
        """Features and weights that are not zero, copied."""
        return nonzero_weights(self.theta, self.features)


Watch = Callable[[Snapshot], bool]  # True stops the run


@dataclass(frozen=True, slots=True)
class Result:
    """Weights that are not zero, and how the run ended."""

    features: Ints
    weights: Floats
    reason: Reason
    iterations: int
    evaluations: int
    objectives: list[float]


@dataclass(slots=True)
class WorkingSet:
    """All that a run on a working set needs to go on: features, weights, pairs (s, y), objectives so far."""

    features: Ints
    weights: Floats
    s: Floats
    y: Floats
    objectives: list[float]
    iterations: int = 0
    evaluations: int = 0

    @classmethod
    def begin(cls, features: Ints, weights: Floats) -> WorkingSet:
        """The state before the first iteration."""
        none = np.empty((0, len(weights)))
        return cls(features, weights, none, none, [])


def train_dense(
    objective: ChainObjective,
    state: WorkingSet,
    *,
    memory: int,
    stopping: Stopping,
    watch: Watch,
    save: Callable[[WorkingSet], None] | None = None,
) -> Result:
    """Minimize without an L1 penalty, over all features or over those the objective is restricted to.

    With `save` the run is cut into rounds, and `save` is given the state after each of them; the result is the same.
    """
    cached: Callable[[Floats], tuple[float, Floats]] = objective
    while True:
        history = History(len(state.weights), memory=memory, diagonal=objective.scales())
        for s, y in zip(state.s, state.y, strict=True):
            history.add(s, y)
        before, values = state.iterations, state.objectives

        def look(done: Iteration, before: int = before, values: list[float] = values) -> bool:
            values.append(done.value)
            asked = watch(_snapshot(done, objective, before))
            return asked or (before > 0 and stopping.settled(values))  # over rounds, which the optimizer cannot see

        left = stopping.max_iter - before
        solution = minimize_lbfgs(
            cached,
            state.weights,
            stopping=replace(stopping, max_iter=left if save is None else min(left, ROUND)),
            callback=look,
            history=history,
        )
        report = solution.report
        if not values or before == 0:
            values.insert(0, report.values[0])
        state.weights = solution.theta
        state.iterations = before + report.iterations
        state.evaluations += report.evaluations - isinstance(cached, _CachedStart)  # the last of the round before
        reason = report.reason
        if reason in ("iterations", "stopped") and stopping.settled(values):
            reason = "value"
        if reason == "iterations" and state.iterations < stopping.max_iter:
            state.s, state.y = history.pairs()  # copies, which take as much memory again
            if save is not None:
                save(state)
            cached = _CachedStart(objective, solution.theta.copy(), solution.value, solution.gradient)
            continue
        features, weights = nonzero_weights(state.weights, objective.features)
        return Result(features, weights, reason, state.iterations, state.evaluations, values)


def train_rprop(
    objective: ChainObjective,
    start: Floats,
    *,
    l1: float,
    variant: Literal["+", "-"],
    stopping: Stopping,
    watch: Watch,
) -> Result:
    """Minimize with RPROP over all features."""
    solution = minimize_rprop(
        objective,
        start,
        l1=l1,
        variant=variant,
        stopping=stopping,
        callback=lambda it: watch(_snapshot(it, objective, 0)),
    )
    report = solution.report
    features, weights = nonzero_weights(solution.theta, objective.features)
    return Result(features, weights, report.reason, report.iterations, report.evaluations, list(report.values))


def train_cg(
    objective: ChainObjective,
    start: Floats,
    *,
    beta: Literal["polak-ribiere", "fletcher-reeves"],
    stopping: Stopping,
    watch: Watch,
) -> Result:
    """Minimize with conjugate gradients, without an L1 penalty."""
    solution = minimize_cg(
        objective, start, beta=beta, stopping=stopping, callback=lambda it: watch(_snapshot(it, objective, 0))
    )
    report = solution.report
    features, weights = nonzero_weights(solution.theta, objective.features)
    return Result(features, weights, report.reason, report.iterations, report.evaluations, list(report.values))


def train_working_set(
    objective: ChainObjective,
    state: WorkingSet,
    *,
    l1: float,
    memory: int,
    stopping: Stopping,
    watch: Watch,
    save: Callable[[WorkingSet], None] = lambda state: None,
) -> Result:
    """Minimize with an L1 penalty by OWL-QN on a working set; `save` is given the state after every round."""
    tolerance = max(stopping.violation_tolerance, stopping.gradient_tolerance)
    while True:
        objective.restrict(state.features)
        value, gradient, violators, slopes = objective.violations(state.weights, l1 * (1 + 1e-9) + tolerance)
        state.evaluations += 1
        if not math.isfinite(value):
            if not state.objectives:
                raise DataError("is not finite at the weights to begin with; begin with others", source="objective")
            return _result(state, "diverged")
        if not state.objectives:
            state.objectives.append(value + l1 * float(np.abs(state.weights).sum()))
        if state.iterations >= stopping.max_iter:
            return _result(state, "iterations")
        state, gradient = _enlarge(state, gradient, violators, slopes, l1, memory)
        save(state)
        objective.restrict(state.features)
        history = History(len(state.features), memory=memory, diagonal=objective.scales())
        for s, y in zip(state.s, state.y, strict=True):
            history.add(s, y)
        cached = _CachedStart(objective, state.weights.copy(), value, gradient)
        before = state.iterations
        rounds = FIRST_ROUND if before < 2 * FIRST_ROUND else ROUND
        values = state.objectives

        def look(done: Iteration, before: int = before, values: list[float] = values) -> bool:
            values.append(done.value)
            return watch(_snapshot(done, objective, before))

        solution = minimize_owlqn(
            cached,
            state.weights,
            l1=l1,
            stopping=replace(stopping, max_iter=min(rounds, stopping.max_iter - before)),
            callback=look,
            history=history,
        )
        report = solution.report
        state.weights = solution.theta
        state.s, state.y = history.pairs()
        state.iterations = before + report.iterations
        state.evaluations += report.evaluations - 1
        if report.reason in ("stopped", "interrupted", "diverged"):
            return _result(state, report.reason)
        done = report.reason if report.reason in ("gradient", "value", "line_search") else None
        if done is None and stopping.settled(state.objectives):
            done = "value"
        if done is not None and not len(violators) and (report.reason != "line_search" or report.iterations == 0):
            return _result(state, done)
        if done == "value" and len(violators) < 1e-3 * len(state.features):
            return _result(state, done)


def _enlarge(
    state: WorkingSet, gradient: Floats, violators: Ints, slopes: Floats, l1: float, memory: int
) -> tuple[WorkingSet, Floats]:
    """The state on the new working set, and the gradient there."""
    stays = (state.weights != 0) | (np.abs(gradient) > NEAR * l1)
    features = np.concatenate([state.features[stays], violators])
    order = np.argsort(features, kind="stable")

    def enlarge(old: Floats, new: Floats | None = None) -> Floats:
        fresh = np.zeros((*old.shape[:-1], len(violators))) if new is None else new
        return np.concatenate([old[..., stays], fresh], axis=-1)[..., order]

    bigger = WorkingSet(
        features[order],
        enlarge(state.weights),
        enlarge(state.s),
        enlarge(state.y),
        state.objectives,
        state.iterations,
        state.evaluations,
    )
    return bigger, enlarge(gradient, slopes)


class _CachedStart:
    """The objective, whose answer at the start is known already."""

    def __init__(self, objective: ChainObjective, theta: Floats, value: float, gradient: Floats) -> None:
        self.objective, self.first = objective, (theta, value, gradient)

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        gradient = np.empty_like(theta)
        return self.into(theta, gradient), gradient

    def into(self, theta: Floats, gradient: Floats) -> float:
        """Fill the gradient at theta and return the value."""
        start, value, slopes = self.first
        if np.array_equal(theta, start):
            np.copyto(gradient, slopes)
            return value
        return self.objective.into(theta, gradient)


def nonzero_weights(theta: Floats, features: Ints | None) -> tuple[Ints, Floats]:
    """Features and weights that are not zero.

    >>> [part.tolist() for part in nonzero_weights(np.array([0.0, 2.0]), np.array([5, 9]))]
    [[9], [2.0]]
    """
    active = np.flatnonzero(theta)
    return active if features is None else features[active], theta[active]


def _snapshot(done: Iteration, objective: ChainObjective, before: int) -> Snapshot:
    norm = done.gradient_norm
    return Snapshot(before + done.number, done.value, done.active, done.theta, objective.features, norm)


def _result(state: WorkingSet, reason: Reason) -> Result:
    active = np.flatnonzero(state.weights)
    return Result(
        state.features[active], state.weights[active], reason, state.iterations, state.evaluations, state.objectives
    )

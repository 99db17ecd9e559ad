"""Block coordinate descent: all weights of one observation test at a time (native/sequence/blocks.h has the formulas).

A sweep visits every block once, in a random order that is the same in all sweeps, so that what a sweep does changes
little from one to the next. Blocks share what they explain and give it to each other slowly; after a sweep from w to v
the point goes on along the same line, and a weight that would change its sign becomes zero:

    v + b (v - w)    b = 1/2, 1, 2, ... as long as the objective falls

With an L1 penalty the objective is evaluated there on the weights that are not zero, which costs little beside a
sweep; without one nothing is added. Every accepted step says by how much the objective fell, so it never rises.
Memory: one vector of K weights; the cost of a sweep is that of a few recursions over every sequence for every distinct
test in it, so this is for small sets of observations with many labels, or for models of which only one vector fits
into memory.
Reference: Sokolovska, Lavergne, Cappe & Yvon (2010).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textmill._native import sequence as native
from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.optimize import Reason, Stopping
from textmill.progress import interruptible
from textmill.sequence.encoding import Encoded
from textmill.sequence.features import FeatureLayout
from textmill.sequence.training.batch import Result, Snapshot, Watch
from textmill.sequence.training.objective import ChainObjective
from textmill.sequence.training.online import training_data

__all__ = ["BlockState", "block_tests", "train_blocks"]

CALL = 64  # blocks of one native call
FIRST = 0.5  # share of a sweep by which the point first goes on behind it
SPARSE = 8  # weights are looked at as a list when at most one in this many is not zero


@dataclass(slots=True)
class BlockState:
    """What a run needs to go on."""

    w: Floats
    objectives: list[float]
    sweep: int = 0


def block_tests(layout: FeatureLayout, unigram: NDArray[np.int32], bigram: NDArray[np.int32]) -> NDArray[np.int32]:
    """Blocks as pairs (unigram test, bigram test) from the numbers of each observation test; start rows are alone.

    >>> block_tests(FeatureLayout(2, 1, 1, start=True), np.array([0, -1]), np.array([-1, 0])).tolist()
    [[0, -1], [-1, 0], [1, -1]]
    """
    pairs = np.stack([unigram, bigram], axis=1).astype(np.int32)
    if not layout.start:
        return pairs
    starts = np.arange(layout.unigrams, layout.rows, dtype=np.int32)
    return np.concatenate([pairs, np.stack([starts, np.full_like(starts, -1)], axis=1)])


def train_blocks(
    layout: FeatureLayout,
    data: Encoded,
    blocks: NDArray[np.int32],
    state: BlockState,
    *,
    l1: float,
    l2: float,
    random_state: int,
    n_jobs: int,
    stopping: Stopping,
    watch: Watch,
    truncated: bool = True,
    save: Callable[[BlockState], None] = lambda state: None,
) -> Result:
    """Sweeps of block coordinate descent."""
    descent = native.Descent(training_data(layout, data), l1=l1, l2=l2, truncated=truncated)
    objective = ChainObjective(layout, data, l1=l1, l2=l2, n_jobs=n_jobs)
    if not state.objectives:
        state.objectives.append(_objective(objective, state.w))
        if not math.isfinite(state.objectives[0]):
            raise DataError("is not finite at the weights to begin with; begin with others", source="objective")
    order = blocks[np.random.default_rng([random_state]).permutation(len(blocks))]
    reason: Reason = "iterations"
    with interruptible(range(state.sweep, stopping.max_iter)) as sweeps:
        for sweep in sweeps:
            before = _sparse(state.w) if l1 and sweep > 0 else None
            change, changed = 0.0, 0
            descent.begin()
            for begin in range(0, len(order), CALL):
                part, some, _, _ = descent.sweep(order[begin : begin + CALL], state.w, n_jobs)
                change, changed = change + part, changed + some
                if math.isnan(change):
                    break
            value = state.objectives[-1] + change
            if changed and before is not None and math.isfinite(value):
                value = _go_on(objective, before, state.w, value)
            state.objectives.append(value)
            state.sweep = sweep + 1
            if watch(Snapshot(state.sweep, value, int(np.count_nonzero(state.w)), state.w)):
                reason = "stopped"
                break
            if not math.isfinite(value):
                reason = "diverged"
                break
            if changed == 0 or stopping.settled(state.objectives):
                reason = "value"
                break
            save(state)  # after `watch`, see online.py
        if sweeps.interrupted:
            reason = "interrupted"
    features = np.flatnonzero(state.w)
    return Result(features, state.w[features], reason, state.sweep, state.sweep, state.objectives)


def _sparse(w: Floats) -> tuple[Ints, Floats] | None:
    """Features and weights that are not zero, if they are few."""
    features = np.flatnonzero(w)
    return (features, w[features]) if SPARSE * len(features) <= len(w) else None


def _go_on(objective: ChainObjective, before: tuple[Ints, Floats], w: Floats, value: float) -> float:
    """Move w on, along the line from the weights before the sweep, while the objective falls; its value there."""
    now = _sparse(w)
    if now is None:
        return value
    features, weights = now
    old = np.zeros(len(features))
    at = np.searchsorted(features, before[0])
    there = at < len(features)
    there[there] = features[at[there]] == before[0][there]
    old[at[there]] = before[1][there]
    line = weights - old
    objective.restrict(features)

    def along(theta: Floats) -> float:
        return objective(theta)[0] + objective.l1 * float(np.abs(theta).sum())

    exact = start = along(weights)
    best, share = weights, FIRST
    while line.any():
        tried = weights + share * line
        tried[tried * weights < 0] = 0.0
        reached = along(tried)
        if not reached < start:
            break
        best, start, share = tried, reached, 2 * share
    w[features] = best
    return value - (exact - start)


def _objective(objective: ChainObjective, w: Floats) -> float:
    """The objective at w; at zero it needs no recursion."""
    data = objective.data
    if not w.any():
        weights = np.ones(data.sequences) if data.weights is None else data.weights
        return float(weights @ np.diff(data.offsets)) * math.log(objective.layout.labels)
    features = np.flatnonzero(w)
    objective.restrict(features)
    return objective(w[features])[0] + objective.l1 * float(np.abs(w).sum())

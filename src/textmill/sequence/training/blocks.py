"""Block coordinate descent: all weights of one observation test at a time (native/sequence/blocks.h has the formulas).

A sweep visits every block once, in a new random order. In the first sweep a block tries 1.5 times its curvatures
first: what takes less at first ends lower where tests are redundant. Later it tries the curvatures themselves. The
objective is known exactly, because every accepted step says by how much it fell, and never rises. Memory: one vector
of K weights; the cost of a sweep is that of a recursion over every sequence once per distinct test in it, so this is
for small sets of observations with many labels, or for models of which only one vector fits into memory. Reference:
Sokolovska, Lavergne, Cappe & Yvon (2010).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textmill._native import sequence as native
from textmill.arrays import Floats
from textmill.optimize import Reason, Stopping
from textmill.progress import interruptible
from textmill.sequence.encoding import Encoded
from textmill.sequence.features import FeatureLayout
from textmill.sequence.training.batch import Result, Snapshot, Watch
from textmill.sequence.training.objective import ChainObjective
from textmill.sequence.training.online import training_data

__all__ = ["BlockState", "block_tests", "train_blocks"]

CALL = 64  # blocks of one native call
STRETCH = 1.5  # factor of the curvatures in the first sweep


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
    if not state.objectives:
        state.objectives.append(_objective(layout, data, state.w, l1, l2, n_jobs))
    reason: Reason = "iterations"
    with interruptible(range(state.sweep, stopping.max_iter)) as sweeps:
        for sweep in sweeps:
            order = np.random.default_rng([random_state, sweep]).permutation(len(blocks))
            change, changed = 0.0, 0
            stretch = STRETCH if sweep == 0 else 1.0
            descent.begin()
            for begin in range(0, len(order), CALL):
                part, some, _, _ = descent.sweep(blocks[order[begin : begin + CALL]], state.w, n_jobs, stretch)
                change, changed = change + part, changed + some
            state.objectives.append(state.objectives[-1] + change)
            state.sweep = sweep + 1
            if watch(Snapshot(state.sweep, state.objectives[-1], int(np.count_nonzero(state.w)), state.w)):
                reason = "stopped"
                break
            if changed == 0 or stopping.settled(state.objectives):
                reason = "value"
                break
            save(state)  # after `watch`, see online.py
        if sweeps.interrupted:
            reason = "interrupted"
    features = np.flatnonzero(state.w)
    return Result(features, state.w[features], reason, state.sweep, state.sweep, state.objectives)


def _objective(layout: FeatureLayout, data: Encoded, w: Floats, l1: float, l2: float, n_jobs: int) -> float:
    """The objective at w; at zero it needs no recursion."""
    if not w.any():
        weights = np.ones(data.sequences) if data.weights is None else data.weights
        return float(weights @ np.diff(data.offsets)) * math.log(layout.labels)
    features = np.flatnonzero(w)
    objective = ChainObjective(layout, data, l2=l2, n_jobs=n_jobs)
    objective.restrict(features)
    return objective(w[features])[0] + l1 * float(np.abs(w).sum())

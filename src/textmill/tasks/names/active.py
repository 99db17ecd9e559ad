r"""Which pairs to label next: those the model is unsure of, and unlike each other.

    uncertainty u = p (1 - p)                       p the probability of a match by the labels so far
    of the 5 k most uncertain candidates take the first, then always the one with the largest u d^2, where d is its
    distance to the nearest that was taken, in the standardized numbers of learned.py

Without a model yet, candidates evenly spaced over the score of `RecordMatcher`, best first, so that both classes come
up. Cost: k times 5 k distances, after the candidates' scores. References: Lewis & Gale (1994) for uncertainty; Gonzalez
(1985) for the farthest-first choice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textmill.model import check_range
from textmill.tasks.names.comparison import Floats

__all__ = ["spaced_pairs", "uncertain_pairs"]

_POOL = 5  # times as many as are wanted


def uncertain_pairs(
    probabilities: Floats, rows: Floats, k: int, *, labeled: NDArray[np.int64], positions: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Choose k of the candidates at `positions`, whose rows are given, most uncertain first.

    >>> p, rows = np.array([0.5, 0.49, 0.52, 0.99]), np.array([[0.0], [0.01], [3.0], [9.0]])
    >>> uncertain_pairs(p, rows, 2, labeled=np.array([], int), positions=np.arange(4)).tolist()
    [0, 2]
    """
    check_range("k", k, at_least=1, whole=True)
    free = np.flatnonzero(~np.isin(positions, labeled))
    doubt = probabilities[positions[free]]
    pool = free[np.argsort(-doubt * (1.0 - doubt), kind="stable")[: _POOL * k]]
    doubt = probabilities[positions[pool]]
    doubt = np.maximum(doubt * (1.0 - doubt), 1e-12)
    chosen: list[int] = []
    distance = np.ones(len(pool))
    for turn in range(min(k, len(pool))):
        at = int(np.argmax(np.where(distance < 0, -1.0, doubt * distance)))
        if turn == 0:
            distance[:] = np.inf
        chosen.append(int(positions[pool[at]]))
        distance = np.minimum(distance, ((rows[pool] - rows[pool[at]]) ** 2).sum(axis=1))
        distance[at] = -1.0
    return np.array(chosen, np.int64)


def spaced_pairs(scores: Floats, k: int, *, labeled: NDArray[np.int64]) -> NDArray[np.int64]:
    """Choose k candidates whose scores are evenly spaced between the best and the worst.

    >>> spaced_pairs(np.array([0.1, 0.5, 0.9, 0.88]), 3, labeled=np.array([2])).tolist()
    [3, 1, 0]
    """
    check_range("k", k, at_least=1, whole=True)
    free = np.setdiff1d(np.arange(len(scores)), labeled)
    order = free[np.argsort(-scores[free], kind="stable")]
    if len(order) <= k:
        return order
    marks = np.linspace(scores[order[0]], scores[order[-1]], k)
    at = np.searchsorted(-scores[order], -marks)
    at = np.maximum.accumulate(at - np.arange(k)) + np.arange(k)  # each its own
    at = np.minimum(at, len(order) - k + np.arange(k))
    return order[at]

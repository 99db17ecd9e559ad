r"""Boosted trees for labels of pairs: log odds as a sum of small trees, with a part for each column.

    f(x) = start + sum_t value_t(leaf_t(x))         kernel and formulas: native/trees/boosting.h

A split sends rows without a number to the side where they gain more, so nothing has to stand in for what is missing. On
its way from the root to a leaf a row passes nodes with values of their own; each step belongs to the column that was
asked, and the steps of all trees sum to f(x) exactly (Saabas 2014). A column that was asked first gets the credit of
what it shares with others.

How many trees: those with the least held-out log loss, which one run a fold tells for every number of trees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from textmill._native import trees as native
from textmill.arrays import Floats
from textmill.model import effective_jobs
from textmill.numeric import special

__all__ = ["ROUNDS", "BoostedTrees", "boost_trees"]

ROUNDS = 150
DEPTH = 4
_LEAST = 5  # rows on either side of a split
_RATE = 0.1
_LAMBDA = 1.0
_BLOCK = 1 << 14  # rows


@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """Trees as a row of nodes each, children of node n at 2 n + 1 and 2 n + 2; a column of -1 is a leaf.

    >>> X = np.array([[0.1], [0.2], [0.3], [0.7], [0.8], [0.9]] * 5)
    >>> found = boost_trees(X, X[:, 0] > 0.5, rounds=20, n_jobs=1)
    >>> bool((found.log_odds(X) > 0).tolist() == (X[:, 0] > 0.5).tolist())
    True
    """

    start: float
    columns: NDArray[np.int32]  # (trees, nodes)
    thresholds: Floats
    rest_first: NDArray[np.uint8]
    values: Floats

    def log_odds(self, X: Floats, *, n_jobs: int | None = None) -> Floats:
        """Log odds of rows, which may have NaN."""
        odds = np.full(len(X), self.start)
        for at in range(0, len(X), _BLOCK):
            leaves = self._leaves(X[at : at + _BLOCK], n_jobs)
            odds[at : at + _BLOCK] += self.values[np.arange(len(self.values)), leaves].sum(axis=1)
        return odds

    def stages(self, X: Floats, *, n_jobs: int | None = None) -> Floats:
        """Log odds of rows after no tree, after the first, and so on, (rows, trees + 1)."""
        steps = self.values[np.arange(len(self.values)), self._leaves(X, n_jobs)]
        return self.start + np.cumsum(np.column_stack([np.zeros(len(X)), steps]), axis=1)

    def contributions(self, X: Floats) -> Floats:
        """What each column adds to the start, (rows, columns)."""
        parts = np.zeros(X.shape)
        node = self._leaves(X, 1).astype(np.int64)
        trees, rows = np.arange(len(self.values)), np.arange(len(X))[:, None]
        while (node > 0).any():
            above = np.maximum(node - 1, 0) // 2
            step = np.where(node > 0, self.values[trees, node] - self.values[trees, above], 0.0)
            np.add.at(parts, (rows, np.maximum(self.columns[trees, above], 0)), step)
            node = np.where(node > 0, above, 0)
        return parts

    def times(self, factor: float) -> BoostedTrees:
        """All log odds times a factor."""
        return replace(self, start=self.start * factor, values=self.values * factor)

    def _leaves(self, X: Floats, n_jobs: int | None) -> NDArray[np.int32]:
        leaves = np.empty((len(X), len(self.values)), np.int32)
        arrays = (self.columns, self.thresholds, self.rest_first)
        native.boosted_leaves(np.ascontiguousarray(X), *arrays, leaves, effective_jobs(n_jobs))
        return leaves


def boost_trees(X: Floats, y: NDArray[np.bool_], *, rounds: int = ROUNDS, n_jobs: int | None = None) -> BoostedTrees:
    """Fit to rows, which may have NaN."""
    start = float(special.logit((y.sum() + 0.5) / (len(y) + 1.0)))
    numbers, labels = np.ascontiguousarray(X, np.float64), y.astype(np.uint8)
    flat = native.boost(
        numbers, labels, start, rounds, DEPTH, _LEAST, rate=_RATE, lambda_=_LAMBDA, threads=effective_jobs(n_jobs)
    )
    columns, thresholds, rest_first, values = (array.reshape(rounds, (2 << DEPTH) - 1) for array in flat)
    return BoostedTrees(start, columns, thresholds, rest_first, values)

"""Utilities of a classifier as smooth functions of its weights: counts of decisions in expectation.

A decision [z > 0] becomes g(gamma z), g(z) = 1 / (1 + exp(-z)); gamma to infinity gives the decision back:

    A~ = sum_{i: +} g(gamma z_i)    B~ = n_pos - A~    C~ = sum_{i: -} g(gamma z_i)    D~ = n_neg - C~    z = x . theta
    U~ = U(A~, B~, C~, D~),     F~ = A~ / (alpha n_pos + (1 - alpha) m~),  m~ = A~ + C~
    dU~/dtheta = gamma sum_i g'(gamma z_i) x_i ([+] (U_A - U_B) + [-] (U_C - U_D)),     g'(z) = g(z) g(-z)

What is smooth is the utility of expected counts, not the expected utility (`sequence.expected_f_loss` is that): at
theta = 0 on the four rows of the paper F~ = 0.6 where E F = 0.5598. U~ is not concave; suprema may lie at infinity.

Cost: one product with X for the value, one with X^T for the gradient. Reference: Jansche, Maximum expected F-measure
training of logistic regression models (2005).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill._native import base
from textmill._native import linear as native
from textmill.arrays import Floats
from textmill.corpus import check_bags
from textmill.errors import DataError
from textmill.linear.problem import Problem
from textmill.metrics import Utility, named_utility
from textmill.model import check_range, effective_jobs

__all__ = ["BernoulliModel", "SmoothedUtility", "bernoulli_utility", "positives_of"]

FEW_ENTRIES = 200_000  # of X, for which waking a second thread costs more than it brings

_TALL = 16  # entries of a column, on average, from which sums by column are made row by row

BernoulliModel: TypeAlias = Callable[[Floats], tuple[Floats, Callable[[Floats], Floats]]]


class SmoothedUtility:
    """A smoothed utility over rows, as a function of theta = (intercept, weights): call it for value and gradient.

    `utility` is a name of `named_utility`, or an object. y holds labels -1 and 1, 0 and 1, or truth values.

    >>> objective = SmoothedUtility([[0.0], [1.0], [2.0], [3.0]], [1, -1, 1, 1], "f1")
    >>> value, gradient = objective(np.zeros(2))
    >>> round(value, 12), gradient.round(12).tolist()
    (0.6, [0.18, 0.32])
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        utility: str | Utility = "f1",
        *,
        gamma: float = 1.0,
        sample_weight: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        check_range("gamma", gamma, above=0, below=np.inf)
        rows = check_bags(np.asarray(X, np.float64) if isinstance(X, list) else X, negative=True)
        self.positive = positives_of(y)
        if len(self.positive) != rows.shape[0]:
            raise DataError(f"X has {rows.shape[0]} rows but y has {len(self.positive)} labels; pass one per row")
        self.utility = named_utility(utility) if isinstance(utility, str) else utility
        self.gamma = float(gamma)
        weights = np.ones(len(self.positive)) if sample_weight is None else np.array(sample_weight, np.float64)
        if weights.shape != self.positive.shape or not (np.isfinite(weights) & (weights >= 0)).all():
            raise DataError("sample_weight must be one finite number >= 0 per row")
        self.weights = weights
        self._labels = self.positive.astype(np.int32)
        self._problem = Problem(
            rows,
            self._labels,
            2,
            np.ones(len(weights)),
            intercept=True,
            threads=effective_jobs(n_jobs) if rows.nnz > FEW_ENTRIES else 1,
        )
        self._tall = rows.nnz >= _TALL * rows.shape[1]
        self._miss = np.empty(len(weights))

    @property
    def columns(self) -> int:
        """Number of weights, without the intercept."""
        return int(self._problem.columns)

    def margins(self, theta: Floats) -> Floats:
        """x . theta of every row."""
        theta = self._checked(theta)
        return np.asarray(self._problem.margin(theta[None, 1:], theta[:1])[0])

    def counts(self, theta: Floats) -> Floats:
        """Smoothed hits, misses, false alarms and rejections."""
        passes, threads = self._problem.passes, self._problem.threads
        return np.array(
            passes.smoothed_counts(self._checked(theta), self._labels, self.weights, self.gamma, self._miss, threads)
        )

    def _checked(self, theta: Floats) -> Floats:
        theta = np.ascontiguousarray(theta, np.float64)
        if theta.shape != (self.columns + 1,):
            raise DataError(f"theta has shape {theta.shape}; pass an intercept and {self.columns} weights")
        return theta

    def hard_counts(self, theta: Floats) -> Floats:
        """Hits, misses, false alarms and rejections of the decisions x . theta > 0."""
        wrong = ((self.margins(theta) > 0) != self.positive).astype(np.float64)
        ours, others = self.weights * self.positive, self.weights * ~self.positive
        alarms = base.dot(others, wrong)
        return np.array([base.dot(ours, 1 - wrong), base.dot(ours, wrong), alarms, base.dot(others, 1 - wrong)])

    def figure(self, theta: Floats) -> float:
        """The utility of the decisions x . theta > 0."""
        return float(self.utility.value(self.hard_counts(theta)))

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Value and gradient."""
        counts = self.counts(theta)
        hit, missed, alarm, rejection = self.utility.gradient(counts).tolist()
        gains = self.gamma * (alarm - rejection), self.gamma * (hit - missed)
        gradient, labels, threads = np.empty(self.columns + 1), self._labels, self._problem.threads
        if self._tall:  # sums by column then stay in the cache while rows pass by
            self._problem.passes.smoothed_gradient(self._miss, labels, self.weights, *gains, gradient, threads)
        else:
            gradient[0] = native.smoothed_slopes(self._miss, labels, self.weights, *gains, threads)
            np.negative(self._problem.slopes(self._miss[None])[0], out=gradient[1:])
        return float(self.utility.value(counts)), gradient

    def surface(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Values on a grid of intercepts and weights, for rows of one column: [len(first), len(second)].

        >>> SmoothedUtility([[0.0], [1.0], [2.0], [3.0]], [1, -1, 1, 1]).surface([20.0], [15.0]).round(6).tolist()
        [[0.857143]]
        """
        if self.columns != 1:
            raise DataError(f"a surface needs rows of one column, these have {self.columns}")
        grid = [[self.counts(np.array([a, b])) for b in np.ravel(second)] for a in np.ravel(first)]
        return self.utility.value(np.array(grid))


def bernoulli_utility(
    model: BernoulliModel, y: ArrayLike, utility: str | Utility = "f1"
) -> Callable[[Floats], tuple[float, Floats]]:
    """The smoothed utility of any model of P(+ | x): a function of theta with value and gradient.

    `model(theta)` returns the probabilities p of all rows and a function that turns v into sum_i v_i dp_i / dtheta.

    >>> def constant(theta):
    ...     return np.full(4, theta[0]), lambda v: np.array([v.sum()])
    >>> value, gradient = bernoulli_utility(constant, [1, -1, 1, 1])(np.array([0.5]))
    >>> round(value, 12), gradient.round(12).tolist()
    (0.6, [0.72])
    """
    measure = named_utility(utility) if isinstance(utility, str) else utility
    positive = positives_of(y)

    def objective(theta: Floats) -> tuple[float, Floats]:
        p, back = model(theta)
        p = np.asarray(p, np.float64)
        wrong = ~((p >= 0) & (p <= 1))
        if p.shape != positive.shape or wrong.any():
            row = int(np.argmax(wrong)) if p.shape == positive.shape else 0
            raise DataError(f"the model gives no probabilities, first in row {row}; return one in [0, 1] per row")
        hits, alarms = float(p[positive].sum()), float(p[~positive].sum())
        counts = np.array([hits, positive.sum() - hits, alarms, (~positive).sum() - alarms])
        hit, missed, alarm, rejection = measure.gradient(counts).tolist()
        return float(measure.value(counts)), np.asarray(back(np.where(positive, hit - missed, alarm - rejection)))

    return objective


def positives_of(y: ArrayLike) -> NDArray[np.bool_]:
    """Which rows are positive, of labels -1 and 1, 0 and 1, or truth values.

    >>> positives_of([1, -1, 1]).tolist()
    [True, False, True]
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or not np.isin(labels, (-1, 0, 1)).all() or {-1, 0} <= set(labels.tolist()):
        raise DataError("y must hold -1 and 1, 0 and 1, or truth values; for other labels pass y == 'spam'")
    positive = labels == 1
    if not positive.any():
        raise DataError("y has no positive row, so there is nothing to find; check which label is the positive one")
    return np.asarray(positive)

"""Fit a logistic curve: a probability from one score, or from a few columns.

    p(x) = 1 / (1 + exp(-w.x))
    minimize  sum_i [log(1 + exp(w.x_i)) - t_i w.x_i] + 1/2 sum_c l2_c w_c^2            by Newton's method, steps halved

`fit_sigmoid` has the columns (score, 1) and the targets (n+ + 1) / (n+ + 2) and 1 / (n- + 2), which are those of a
uniform prior and keep the curve from being vertical where scores separate the classes. `fit_logistic` takes any columns
and any targets between 0 and 1; targets of 0 and 1 need a penalty, because weights grow without bound where columns
separate them.

Cost: a handful of iterations, each rows x columns^2. References: Platt (1999), Probabilistic outputs for support vector
machines; Lin, Lin & Weng (2007), A note on Platt's probabilistic outputs for support vector machines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.errors import DataError

__all__ = ["Sigmoid", "fit_logistic", "fit_sigmoid", "sigmoid"]

_ROUNDS = 100
_RIDGE = 1e-12  # keeps the curvature regular where columns are constant


class Sigmoid(NamedTuple):
    """A logistic curve over one score."""

    slope: float
    intercept: float

    def probabilities(self, scores: ArrayLike) -> Floats:
        """Return the probability at each score.

        >>> Sigmoid(1.0, 0.0).probabilities([0.0, 2.0]).round(3).tolist()
        [0.5, 0.881]
        """
        return sigmoid(self.slope * np.asarray(scores, np.float64) + self.intercept)


def sigmoid(margins: ArrayLike) -> Floats:
    """Return 1 / (1 + exp(-margin)) without overflow; NaN where a margin is.

    >>> sigmoid([-1000.0, 0.0]).tolist()
    [0.0, 0.5]
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(np.exp(-np.logaddexp(0.0, -np.asarray(margins, np.float64))))


def fit_sigmoid(scores: ArrayLike, positive: ArrayLike) -> Sigmoid:
    """Fit the curve to the scores of examples that are positive or not.

    >>> curve = fit_sigmoid([-2.0, -1.0, 1.0, 2.0], [False, True, False, True])
    >>> curve.slope > 0, abs(curve.intercept) < 1e-9
    (True, True)
    """
    margins, right = np.asarray(scores, np.float64), np.asarray(positive, bool)
    n_positive = int(right.sum())
    targets = np.where(right, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (len(right) - n_positive + 2.0))
    scale = float(np.sqrt(np.mean(margins**2))) or 1.0  # the same curve for scores in any unit
    w = fit_logistic(np.stack([margins / scale, np.ones(len(margins))], axis=1), targets)
    return Sigmoid(float(w[0] / scale), float(w[1]))


def fit_logistic(X: ArrayLike, targets: ArrayLike, *, l2: ArrayLike = 0.0, start: Floats | None = None) -> Floats:
    """Return the weights of the columns; `l2` is one penalty, or one for each column (0 for an intercept).

    >>> w = fit_logistic([[-1.0, 1.0], [0.5, 1.0], [-0.5, 1.0], [1.0, 1.0]], [0, 0, 1, 1], l2=[1.0, 0.0])
    >>> round(float(w[0]), 4), abs(float(w[1])) < 1e-9
    (0.3085, True)
    """
    x, t = np.asarray(X, np.float64), np.asarray(targets, np.float64)
    if x.ndim != 2 or x.shape[0] != len(t) or not len(t):
        raise DataError(f"a logistic curve needs a row for each of {len(t)} targets, got {x.shape}; pass at least one")
    penalty = np.broadcast_to(np.asarray(l2, np.float64), (x.shape[1],))

    def loss(w: Floats) -> float:
        z = x @ w
        return float(np.sum(np.logaddexp(0.0, z) - t * z)) + 0.5 * float(penalty @ (w * w))

    w = np.zeros(x.shape[1]) if start is None else np.array(start, np.float64)
    value = loss(w)
    for _ in range(_ROUNDS):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ w, -700.0, 700.0)))
        gradient = x.T @ (p - t) + penalty * w
        curvature = (x * (p * (1.0 - p))[:, None]).T @ x + np.diag(penalty + _RIDGE)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > 1e-10 and loss(w - size * step) > value - 1e-4 * size * float(gradient @ step):
            size /= 2
        w = w - size * step
        value = loss(w)
        if float(np.abs(gradient).max()) < 1e-9 * len(t) or size <= 1e-10:
            break
    return w

"""From margins to probabilities: a logistic curve through the margins of held-out examples.

    p(right | m) = 1 / (1 + exp(-(slope m + intercept)))

Slope and intercept minimise the log loss against targets (n+ + 1) / (n+ + 2) and 1 / (n- + 2), which are those of a
uniform prior and keep the curve from being vertical where margins separate the classes. Newton's method with halved
steps; two parameters, a handful of iterations over the margins.

References: Platt (1999), Probabilistic outputs for support vector machines; Lin, Lin & Weng (2007), A note on Platt's
probabilistic outputs for support vector machines.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats

__all__ = ["calibrated", "logistic_curve"]

_ROUNDS = 100


def calibrated(margins: Floats, slope: float, intercept: float) -> Floats:
    """Return the probabilities of margins.

    >>> calibrated(np.array([0.0, 2.0]), 1.0, 0.0).round(3).tolist()
    [0.5, 0.881]
    """
    return np.exp(-np.logaddexp(0.0, -(slope * margins + intercept)))


def logistic_curve(margins: Floats, positive: NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and intercept of the curve through margins of examples that are positive or not.

    >>> slope, intercept = logistic_curve(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, True, False, True]))
    >>> slope > 0, abs(intercept) < 1e-9
    (True, True)
    """
    n_positive = int(positive.sum())
    targets = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (len(positive) - n_positive + 2.0))
    scale = float(np.sqrt(np.mean(margins**2))) or 1.0  # the same curve for margins in any unit
    x = np.stack([margins / scale, np.ones(len(margins))], axis=1)

    def loss(w: Floats) -> float:
        z = x @ w
        return float(np.sum(np.logaddexp(0.0, z) - targets * z))

    w = np.zeros(2)
    value = loss(w)
    for _ in range(_ROUNDS):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ w, -700.0, 700.0)))
        gradient = x.T @ (p - targets)
        curvature = (x * (p * (1.0 - p))[:, None]).T @ x + 1e-12 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > 1e-10 and loss(w - size * step) > value - 1e-4 * size * float(gradient @ step):
            size /= 2
        w = w - size * step
        value = loss(w)
        if float(np.abs(gradient).max()) < 1e-9 * len(margins) or size <= 1e-10:
            break
    return float(w[0] / scale), float(w[1])

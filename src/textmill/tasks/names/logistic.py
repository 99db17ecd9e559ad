r"""Logistic regression for a few labels: standardised columns, an L2 penalty chosen by cross-validation.

    p(x) = 1 / (1 + exp(-(b + w.z)))            z = (x - mean) / scale, 0 where x is missing or the column is constant
    minimise  sum_i [log(1 + exp(b + w.z_i)) - y_i (b + w.z_i)] + penalty / 2 |w|^2                by L-BFGS

The penalty is the one of `PENALTIES` with the least mean log loss of labels that were held out, in folds that keep the
share of matches; among equal ones the largest. The same folds give every label a probability that has not seen it, from
which follow the Brier score, mean (p - y)^2, and the table of reliability: in bins of p the mean of p against the share
of matches. A logistic regression is calibrated by its objective (at the optimum the sum of p is the number of matches);
the table shows whether that holds for labels it has not seen.

Cost: folds times penalties times some dozen iterations of labels times columns. Reference: Hastie, Tibshirani &
Friedman (2009), section 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill.numeric import special
from textmill.optimize import Stopping, minimize_lbfgs

__all__ = [
    "PENALTIES",
    "Logistic",
    "Reliability",
    "choose_penalty",
    "fit_logistic",
    "held_out_probabilities",
    "reliability",
]

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

PENALTIES = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
_FOLDS = 5
_EDGE = 1e-12  # a probability of 0 has no logarithm
_STOP = Stopping(gradient_tolerance=1e-6, max_iter=300)


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """Weights of standardised columns, the intercept, and the penalty they were fitted with."""

    weights: Floats
    intercept: float
    penalty: float

    def log_odds(self, Z: Floats) -> Floats:
        """Log odds of rows."""
        return np.asarray(Z @ self.weights + self.intercept)


@dataclass(frozen=True, slots=True)
class Reliability:
    """Bins of probability: their upper ends, how many labels fall in, the mean probability, the share of matches."""

    ends: tuple[float, ...]
    counts: tuple[int, ...]
    predicted: tuple[float, ...]
    observed: tuple[float, ...]
    brier: float

    def lines(self) -> list[str]:
        """The table as text."""
        lines = ["probability    labels  predicted  observed"]
        for number, end in enumerate(self.ends):
            start = self.ends[number - 1] if number else 0.0
            if self.counts[number]:
                figures = f"{self.predicted[number]:9.3f} {self.observed[number]:9.3f}"
                lines.append(f"{start:.1f} to {end:.1f} {self.counts[number]:11d}  {figures}")
        return [*lines, f"Brier score {self.brier:.4f}"]


def fit_logistic(Z: Floats, y: Flags, penalty: float) -> Logistic:
    """Fit to rows without NaN and labels of both kinds.

    >>> found = fit_logistic(np.array([[-1.0], [0.5], [-0.5], [1.0]]), np.array([False, False, True, True]), 1.0)
    >>> found.weights.round(4).tolist(), round(found.intercept, 4)
    ([0.3085], 0.0)
    """
    target = y.astype(np.float64)

    def objective(theta: Floats) -> tuple[float, Floats]:
        weights, intercept = theta[:-1], theta[-1]
        z = Z @ weights + intercept
        slope = special.expit(z) - target
        value = float(np.logaddexp(0.0, z).sum() - target @ z + 0.5 * penalty * weights @ weights)
        return value, np.append(Z.T @ slope + penalty * weights, slope.sum())

    share = (target.sum() + 0.5) / (len(target) + 1.0)
    start = np.append(np.zeros(Z.shape[1]), special.logit(share))
    theta = minimize_lbfgs(objective, start, stopping=_STOP).theta
    return Logistic(theta[:-1].copy(), float(theta[-1]), penalty)


def held_out_probabilities(Z: Floats, y: Flags, penalty: float) -> Floats | None:
    """The probability of each label by a model of the other folds; None if a class has fewer than two labels."""
    folds = _folds(y)
    if folds is None:
        return None
    probabilities = np.empty(len(y))
    for fold in range(int(folds.max()) + 1):
        out = folds == fold
        probabilities[out] = special.expit(fit_logistic(Z[~out], y[~out], penalty).log_odds(Z[out]))
    return probabilities


def choose_penalty(Z: Floats, y: Flags) -> float:
    """The penalty with the least log loss on labels held out.

    >>> Z = np.linspace(-1, 1, 40)[:, None]
    >>> choose_penalty(Z, Z[:, 0] > 0) < 1.0
    True
    """
    best, least = 1.0, np.inf
    for penalty in PENALTIES:
        p = held_out_probabilities(Z, y, penalty)
        if p is None:
            return best
        loss = -float(np.log(np.clip(np.where(y, p, 1.0 - p), _EDGE, 1.0)).mean())
        if loss < least - 1e-9:
            best, least = penalty, loss
    return best


def reliability(p: Floats, y: Flags, bins: int = 5) -> Reliability:
    """Compare probabilities with what happened, in bins of equal width.

    >>> table = reliability(np.array([0.1, 0.1, 0.9, 0.7]), np.array([False, False, True, False]), bins=2)
    >>> table.counts, table.observed, round(table.brier, 3)
    ((2, 2), (0.0, 0.5), 0.13)
    """
    at = np.minimum((p * bins).astype(np.int64), bins - 1)
    counts = np.bincount(at, minlength=bins)
    share = np.maximum(counts, 1)
    predicted = np.bincount(at, weights=p, minlength=bins) / share
    observed = np.bincount(at, weights=y.astype(np.float64), minlength=bins) / share
    return Reliability(
        tuple((number + 1) / bins for number in range(bins)),
        tuple(map(int, counts)),
        tuple(map(float, predicted)),
        tuple(map(float, observed)),
        float(((p - y) ** 2).mean()),
    )


def _folds(y: Flags) -> NDArray[np.int64] | None:
    """The fold of each label: both classes dealt out evenly, in their order; None if a class cannot be split."""
    count = min(_FOLDS, int(y.sum()), int((~y).sum()))
    if count < 2:
        return None
    folds = np.empty(len(y), np.int64)
    for side in (y, ~y):
        folds[side] = np.arange(side.sum()) % count
    return folds

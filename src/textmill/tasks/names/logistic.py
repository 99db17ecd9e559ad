r"""Logistic regression for a few labels: standardized columns, an L2 penalty chosen by cross-validation.

    p(x) = 1 / (1 + exp(-(b + w.z)))            z = (x - mean) / scale, 0 where x is missing or the column is constant
    minimize  sum_i [log(1 + exp(b + w.z_i)) - y_i (b + w.z_i)] + penalty / 2 |w|^2                by Newton's method

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

from textmill import optimize
from textmill.arrays import Floats, Ints
from textmill.numeric import special
from textmill.selection import choose, deal_folds, held_out

__all__ = [
    "PENALTIES",
    "Logistic",
    "Reliability",
    "choose_penalty",
    "fit_logistic",
    "held_out_probabilities",
    "reliability",
]

Flags: TypeAlias = NDArray[np.bool_]

PENALTIES = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
_FOLDS = 5
_EDGE = 1e-12  # a probability of 0 has no logarithm


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """Weights of standardized columns, the intercept, and the penalty they were fitted with."""

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
    >>> found.weights.round(4).tolist(), abs(found.intercept) < 1e-9
    ([0.3085], True)
    """
    rows = np.column_stack([Z, np.ones(len(Z))])
    start = np.append(np.zeros(Z.shape[1]), special.logit((y.sum() + 0.5) / (len(y) + 1.0)))
    theta = optimize.fit_logistic(rows, y, l2=np.append(np.full(Z.shape[1], penalty), 0.0), start=start)
    return Logistic(theta[:-1].copy(), float(theta[-1]), penalty)


def held_out_probabilities(Z: Floats, y: Flags, penalty: float) -> Floats | None:
    """The probability of each label by a model of the other folds; None if a class has fewer than two labels."""
    folds = _folds(y)
    if folds is None:
        return None
    return held_out(lambda train, test: _predicted(Z, y, penalty, train, test), folds)


def choose_penalty(Z: Floats, y: Flags) -> float:
    """The penalty with the least log loss on labels held out.

    >>> Z = np.linspace(-1, 1, 40)[:, None]
    >>> choose_penalty(Z, Z[:, 0] > 0) < 1.0
    True
    """
    folds = _folds(y)
    if folds is None:
        return 1.0

    def loss(penalty: float, train: Ints, test: Ints) -> Floats:
        p = _predicted(Z, y, penalty, train, test)
        return np.asarray(-np.log(np.clip(np.where(y[test], p, 1.0 - p), _EDGE, 1.0)))

    choice = choose(PENALTIES, loss, folds)
    return float(choice.settings[choice.best])


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


def _predicted(Z: Floats, y: Flags, penalty: float, train: Ints, test: Ints) -> Floats:
    """Probabilities of rows by a model of others."""
    return np.asarray(special.expit(fit_logistic(Z[train], y[train], penalty).log_odds(Z[test])))


def _folds(y: Flags) -> Ints | None:
    """The fold of each label, both classes dealt out evenly; None if a class cannot be split."""
    count = min(_FOLDS, int(y.sum()), int((~y).sum()))
    return None if count < 2 else deal_folds(y, count)

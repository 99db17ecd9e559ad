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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill import optimize
from textmill.arrays import Floats, Ints
from textmill.numeric import special
from textmill.selection import deal_folds, held_out

__all__ = [
    "PENALTIES",
    "Logistic",
    "Reliability",
    "choose_penalty",
    "expected_threshold",
    "fit_logistic",
    "held_out_odds",
    "label_folds",
    "log_losses",
    "reliability",
]

Flags: TypeAlias = NDArray[np.bool_]

PENALTIES = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
_FOLDS = 5


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


def fit_logistic(Z: Floats, y: Flags, penalty: float, *, start: Logistic | None = None) -> Logistic:
    """Fit to rows without NaN and labels of both kinds, from where another model is.

    >>> found = fit_logistic(np.array([[-1.0], [0.5], [-0.5], [1.0]]), np.array([False, False, True, True]), 1.0)
    >>> found.weights.round(4).tolist(), abs(found.intercept) < 1e-9
    ([0.3085], True)
    """
    rows = np.column_stack([Z, np.ones(len(Z))])
    first = np.append(np.zeros(Z.shape[1]), special.logit((y.sum() + 0.5) / (len(y) + 1.0)))
    if start is not None:
        first = np.append(start.weights, start.intercept)
    theta = optimize.fit_logistic(rows, y, l2=np.append(np.full(Z.shape[1], penalty), 0.0), start=first)
    return Logistic(theta[:-1].copy(), float(theta[-1]), penalty)


def held_out_odds(Z: Floats, y: Flags, folds: Ints, penalties: Sequence[float] = PENALTIES) -> Floats:
    """The log odds of each label by models of the other folds, (labels, penalties)."""
    return held_out(lambda train, test: _path(Z[train], y[train], Z[test], penalties), folds)


def log_losses(odds: Floats, y: Flags) -> Floats:
    """The log loss of each label, for each column of log odds.

    >>> log_losses(np.array([[0.0], [2.0]]), np.array([True, False])).round(3).tolist()
    [[0.693], [2.127]]
    """
    return np.asarray(np.logaddexp(0.0, np.where(y, -1.0, 1.0)[:, None] * odds))


def choose_penalty(Z: Floats, y: Flags) -> float:
    """The penalty with the least log loss on labels held out; 1 where a class has fewer than two labels.

    >>> Z = np.linspace(-1, 1, 40)[:, None]
    >>> choose_penalty(Z, Z[:, 0] > 0) < 1.0
    True
    """
    folds = label_folds(y)
    if folds is None:
        return 1.0
    return PENALTIES[int(log_losses(held_out_odds(Z, y, folds), y).mean(axis=0).argmin())]


def expected_threshold(p: Floats) -> float:
    """The threshold of greatest expected F for examples with these probabilities, halfway to the next lower one.

    If the k most probable ones are taken, F is expected to be 2 (p_1 + ... + p_k) / (k + sum p).

    >>> expected_threshold(np.array([0.9, 0.4, 0.1]))
    0.25
    """
    falling = np.sort(p)[::-1]
    taken = 2.0 * np.cumsum(falling) / (np.arange(1, len(p) + 1) + falling.sum())
    at = int(taken.argmax())
    return float((falling[at] + np.append(falling, 0.0)[at + 1]) / 2)


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


def _path(Z: Floats, y: Flags, unseen: Floats, penalties: Sequence[float]) -> Floats:
    """Log odds of rows by models of others, (rows, penalties); each model starts where the last one ended."""
    odds, model = np.empty((len(unseen), len(penalties))), None
    for column, penalty in enumerate(penalties):
        model = fit_logistic(Z, y, penalty, start=model)
        odds[:, column] = model.log_odds(unseen)
    return odds


def label_folds(y: Flags) -> Ints | None:
    """The fold of each label, both classes dealt out evenly; None if a class cannot be split."""
    count = min(_FOLDS, int(y.sum()), int((~y).sum()))
    return None if count < 2 else deal_folds(y, count)

"""Errors of predicted numbers and their moments, merged without loss of digits.

    MSE = (1/n) sum (p - g)^2      RMSE = sqrt(MSE)      MAE = (1/n) sum |p - g|      bias = mean(p) - mean(g)
    R^2 = 1 - sum (p - g)^2 / sum (g - mean g)^2         Pearson r = C_pg / sqrt(M_p M_g)

M is a sum of squared and C of multiplied deviations from the mean. Two sets a and b with means m_a, m_b merge as

    M = M_a + M_b + d^2 n_a n_b / (n_a + n_b)            d = m_b - m_a

which never subtracts large squares. Weights are counts of equal items, so a confusion table can be scored by its cells.
Cost: one pass. Reference: Chan, Golub & LeVeque, Updating formulae and a pairwise algorithm for computing sample
variances (1979).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from textmill.errors import DataError
from textmill.metrics._inputs import check_lengths, numbers

__all__ = ["Moments", "RegressionCounts"]


@dataclass(frozen=True, slots=True)
class Moments:
    """Number, mean and sum of squared deviations of values, of the scores of documents say.

    >>> moments = Moments.from_values([1.0, 2.0]) + Moments.from_values([3.0, 6.0])
    >>> moments.mean, moments.variance(sample=False), round(moments.deviation(), 4)
    (3.0, 3.5, 2.1602)
    """

    n: float = 0.0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def from_values(cls, values: ArrayLike) -> Moments:
        """Moments of one array."""
        array = numbers("values", values)
        if not array.size:
            raise DataError("values is empty; pass at least one")
        mean = float(array.mean())
        return cls(float(len(array)), mean, float(((array - mean) ** 2).sum()))

    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        if n == 0.0:
            return Moments()
        share, step = other.n / n, other.mean - self.mean
        return Moments(n, self.mean + step * share, self.squares + other.squares + step * step * self.n * share)

    def variance(self, sample: bool = True) -> float:
        """Variance: of a sample (divided by n - 1) or of the whole population (divided by n)."""
        divisor = self.n - 1.0 if sample else self.n
        if divisor <= 0.0:
            raise DataError(f"the variance of {self.n:g} values is not defined; add more values")
        return self.squares / divisor

    def deviation(self, sample: bool = True) -> float:
        """Standard deviation."""
        return math.sqrt(self.variance(sample))


@dataclass(frozen=True, slots=True)
class RegressionCounts:
    """Moments of predictions, of gold values and of their errors.

    >>> counts = RegressionCounts.from_values([1.0, 2.0, 8.0], [0.5, 4.0, 7.5])
    >>> counts.mse, counts.mae, round(counts.r2, 4)
    (1.5, 1.0, 0.843)
    """

    predicted: Moments = Moments()
    gold: Moments = Moments()
    products: float = 0.0
    squared_errors: float = 0.0
    absolute_errors: float = 0.0

    @classmethod
    def from_values(cls, gold: ArrayLike, predicted: ArrayLike, weights: ArrayLike | None = None) -> RegressionCounts:
        """Compare predictions with gold values; `weights` counts how often each pair occurred."""
        g, p = numbers("gold", gold), numbers("predicted", predicted)
        check_lengths("gold", len(g), "predicted", len(p))
        w = np.ones(len(g)) if weights is None else numbers("weights", weights)
        check_lengths("weights", len(w), "gold", len(g))
        n = float(w.sum())
        if w.min() < 0.0 or n == 0.0:
            raise DataError("weights are counts, at least 0 and not all 0; pass the number of items of each pair")
        mean_g, mean_p = float(w @ g) / n, float(w @ p) / n
        return cls(
            Moments(n, mean_p, float(w @ (p - mean_p) ** 2)),
            Moments(n, mean_g, float(w @ (g - mean_g) ** 2)),
            float(w @ ((p - mean_p) * (g - mean_g))),
            float(w @ (p - g) ** 2),
            float(w @ np.abs(p - g)),
        )

    def __add__(self, other: RegressionCounts) -> RegressionCounts:
        n = self.gold.n + other.gold.n
        if n == 0.0:
            return RegressionCounts()
        steps = (other.predicted.mean - self.predicted.mean) * (other.gold.mean - self.gold.mean)
        return RegressionCounts(
            self.predicted + other.predicted,
            self.gold + other.gold,
            self.products + other.products + steps * self.gold.n * other.gold.n / n,
            self.squared_errors + other.squared_errors,
            self.absolute_errors + other.absolute_errors,
        )

    @property
    def mse(self) -> float:
        """Mean squared error."""
        return self.squared_errors / self._items()

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return math.sqrt(self.mse)

    @property
    def mae(self) -> float:
        """Mean absolute error."""
        return self.absolute_errors / self._items()

    @property
    def bias(self) -> float:
        """Mean signed error: predicted minus gold."""
        self._items()
        return self.predicted.mean - self.gold.mean

    @property
    def r2(self) -> float:
        """Share of the variance of gold that is explained; negative when the gold mean would do better."""
        self._items()
        if self.gold.squares == 0.0:
            raise DataError("all gold values are equal, so R^2 is not defined; use mse")
        return 1.0 - self.squared_errors / self.gold.squares

    @property
    def pearson(self) -> float:
        """Correlation of predictions and gold values."""
        self._items()
        spread = math.sqrt(self.predicted.squares) * math.sqrt(self.gold.squares)
        if spread == 0.0:
            raise DataError("one side has all values equal, so a correlation is not defined; use mse")
        return max(-1.0, min(1.0, self.products / spread))

    def _items(self) -> float:
        if self.gold.n == 0.0:
            raise DataError("there is no prediction; add counts of at least one item")
        return self.gold.n

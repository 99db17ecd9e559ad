"""Scorers that do not read the review: what every other one has to beat.

    constant   always the neutral score
    mean       always the mean score of training, the right rival where scores are skewed
    random     any score of the scale, each as likely; the same for the same seed and row

On a test set with all of m scores equally often, 1 to m, the constant has a squared error of (m^2 - 1) / 12 and random
guesses one of (m^2 - 1) / 6: 2 and 4 for five stars.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.model import Model, Regressor, check_choice, check_fitted

__all__ = ["BASELINES", "BaselineScorer"]

BASELINES = ("constant", "mean", "random")


class BaselineScorer(Regressor, Model):
    """Score rows without looking at them.

    Parameters:
        method: "constant", "mean" or "random".
        low: Lowest score of the scale; None for that of training.
        high: Highest score of the scale; None for that of training.
        random_state: Seed of the guesses.

    >>> BaselineScorer(method="mean").fit([[0], [0]], [1, 4]).predict([[0]]).tolist()
    [2.5]
    >>> BaselineScorer(low=1, high=5).fit([[0]], [1]).predict([[0], [0]]).tolist()
    [3.0, 3.0]
    """

    format_version: ClassVar[int] = 1
    state: ClassVar[dict[str, Any]] = {"mean_": float, "low_": float, "high_": float}

    mean_: float
    low_: float
    high_: float

    def __init__(
        self, *, method: str = "constant", low: float | None = None, high: float | None = None, random_state: int = 0
    ) -> None:
        self.method = method
        self.low = low
        self.high = high
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the mean and the ends of the scale from the scores alone."""
        check_choice("method", self.method, BASELINES)
        scores = np.asarray([] if y is None else y, dtype=np.float64)
        if not scores.size:
            raise DataError("there are no scores; pass one for each row")
        self.mean_ = float(scores.mean())
        self.low_ = float(scores.min() if self.low is None else self.low)
        self.high_ = float(scores.max() if self.high is None else self.high)
        return self

    def predict(self, X: Any) -> Floats:
        """Return a score for each row."""
        check_fitted(self)
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if self.method == "random":
            generator = np.random.Generator(np.random.Philox(self.random_state))
            return generator.integers(int(self.low_), int(self.high_) + 1, rows).astype(np.float64)
        return np.full(rows, self.mean_ if self.method == "mean" else (self.low_ + self.high_) / 2)

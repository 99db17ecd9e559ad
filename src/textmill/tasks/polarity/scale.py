"""The scale that scores live on: from a lowest to a highest score, in whole steps or not.

    neutral = (low + high) / 2          clip(y) = min(max(y, low), high)          round(y) = clip(nearest whole score)

Scores may be written as numbers or as names in rising order; the five names from "very negative" to "very positive" are
known. Where nobody says what the scale is, whole scores from 1 to at most 5 with a 4 or a 5 among them are stars, 1 to
5, whether or not all of them occur; else the scale reaches from the lowest to the highest score.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.errors import DataError

__all__ = ["STAR_NAMES", "Scale", "parse_scale"]

STAR_NAMES = ("very negative", "negative", "neutral", "positive", "very positive")
_RANGE = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:-|\.\.|to)\s*(-?\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True)
class Scale:
    """Scores from `low` to `high`; `whole` if only whole numbers are scores, `names` if they have names.

    >>> stars = Scale(1, 5)
    >>> stars.neutral, stars.round([0.2, 3.4, 7.0]).tolist(), stars.scores()
    (3.0, [1.0, 3.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0])
    """

    low: float
    high: float
    whole: bool = True
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise DataError(f"a scale must lead from a lower to a higher score, got {self.low:g} to {self.high:g}")
        if self.whole and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise DataError(f"a scale of whole scores must begin and end with one, got {self.low:g} to {self.high:g}")

    @classmethod
    def of(cls, scores: ArrayLike) -> Scale:
        """The scale of scores that were seen.

        >>> Scale.of([2, 4, 4]), Scale.of([0, 1, 2]), Scale.of([0.5, 9.25])
        (Scale(1, 5), Scale(0, 2), Scale(0.5, 9.25, whole=False))
        """
        values = np.asarray(scores, dtype=np.float64)
        low, high = float(values.min()), float(values.max())
        if low == high:
            raise DataError(
                f"all {len(values)} reviews have the score {low:g}; pass reviews of at least 2 different scores"
            )
        whole = bool((values == np.floor(values)).all())
        if whole and low >= 1 and high in (4.0, 5.0):
            return cls(1.0, 5.0)
        return cls(low, high, whole)

    @property
    def neutral(self) -> float:
        """The middle of the scale."""
        return (self.low + self.high) / 2

    def scores(self) -> list[float]:
        """All scores, if they are whole numbers; else none."""
        return [float(score) for score in range(int(self.low), int(self.high) + 1)] if self.whole else []

    def clip(self, values: ArrayLike) -> Floats:
        """Values moved into the scale."""
        return np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)

    def round(self, values: ArrayLike) -> Floats:
        """The nearest score of each value; of a scale without steps the value moved into it."""
        inside = self.clip(values)
        return np.rint(inside) if self.whole else inside

    def read(self, value: object) -> float:
        """A score from what a file holds; a DataError without a place if it is none.

        >>> Scale(1, 5).read(" 4.0 "), Scale(1, 5, names=STAR_NAMES).read("Very Positive")
        (4.0, 5.0)
        """
        name = " ".join(str(value).lower().split())
        names = self.names or (STAR_NAMES if (self.low, self.high, self.whole) == (1, 5, True) else ())
        if name in names:
            return float(self.low + names.index(name))
        score = _number(value)
        if score is None:
            others = f" or one of {', '.join(names)}" if names else ""
            raise DataError(f"the score {value!r} is no number{others}; name the order of such scores with scale")
        self.check(score)
        return score

    def check(self, score: float) -> None:
        """Raise a DataError if a score is not on the scale."""
        if not self.low <= score <= self.high:
            raise DataError(f"the score {score:g} is outside of the scale, {self}; correct it, or pass the right scale")
        if self.whole and score != math.floor(score):
            raise DataError(f"the score {score:g} is no whole number, as those of the scale {self} are")

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"

    def __repr__(self) -> str:
        names = f", names={self.names}" if self.names else ""
        return f"Scale({self.low:g}, {self.high:g}{'' if self.whole else ', whole=False'}{names})"


def parse_scale(scale: str | Sequence[str]) -> Scale:
    """A scale from its two ends, "1-5", or from the names of its scores in rising order, "bad,fair,good".

    >>> parse_scale("1-5"), parse_scale("0..100"), parse_scale("bad, fair, good")
    (Scale(1, 5), Scale(0, 100), Scale(1, 3, names=('bad', 'fair', 'good')))
    """
    if isinstance(scale, str):
        ends = _RANGE.fullmatch(scale)
        if ends:
            return Scale(float(ends[1]), float(ends[2]), "." not in ends[1] + ends[2])
        scale = scale.split(",")
    names = tuple(" ".join(name.lower().split()) for name in scale)
    if len(names) < 2 or "" in names or len(set(names)) < len(names):
        raise DataError("a scale is such as 1-5, or the different names of its scores in rising order, with commas")
    return Scale(1.0, float(len(names)), names=names)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None

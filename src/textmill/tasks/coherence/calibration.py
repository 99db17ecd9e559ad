"""Limits that depend on the length of a document, kept to by a stated share of good documents.

    limit(length)   piecewise linear in log length, through (lengths, values)

A limit found from documents cut to a length holds for such beginnings; whole documents of that length may score
otherwise. So they are sorted by length into groups of at least 40, or two over the share, and in each group the curve
is moved by the residual (score - limit) of rank ceil((n + 1) (1 - share)): a new document of the same kind exceeds that
with at most the probability `share` (split conformal prediction). Between the medians of the groups the move is
interpolated.

Reference: Lei, G'Sell, Rinaldo, Tibshirani & Wasserman (2018), Distribution-free predictive inference for regression.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats

__all__ = ["LengthCurve"]


_LEAST = 40  # documents of a group


@dataclass(frozen=True, slots=True, eq=False)
class LengthCurve:
    """A limit by length: lengths (n,) ascending, values (n,); constant beyond both ends.

    >>> LengthCurve(np.array([10.0, 1000.0]), np.array([1.0, 3.0])).at([1, 100, 10**6]).tolist()
    [1.0, 2.0, 3.0]
    """

    lengths: Floats
    values: Floats

    def at(self, words: Any) -> Floats:
        """The limit for documents of these lengths."""
        limits: Floats = np.interp(np.log(np.maximum(words, 1)), np.log(self.lengths), self.values)
        return limits

    def raised(self, words: NDArray[np.int64], scores: Floats, share: float) -> LengthCurve:
        """Move the curve until a share of documents like these, and no more, lies above it.

        >>> flat = LengthCurve(np.array([10.0]), np.array([0.0]))
        >>> flat.raised(np.full(99, 50), np.arange(99.0), 0.05).at(50).item()  # the 95th of 99
        94.0
        """
        order = np.argsort(words, kind="stable")
        residuals = scores - self.at(words)
        groups = np.array_split(order, max(1, int(len(order) / max(_LEAST, 2 / share))))
        by_middle: dict[float, list[NDArray[np.int64]]] = {}
        for group in groups:  # of documents of one length there may be several
            by_middle.setdefault(max(float(np.median(words[group])), 1.0), []).append(group)
        middles = np.array(list(by_middle))
        shifts = [_upper(residuals[np.concatenate(group)], share) for group in by_middle.values()]
        shift = LengthCurve(middles, np.array(shifts))
        lengths = np.union1d(self.lengths, middles)
        return LengthCurve(lengths, self.at(lengths) + shift.at(lengths))

    def lowered(self, words: NDArray[np.int64], scores: Floats, share: float) -> LengthCurve:
        """Move the curve until a share of documents like these, and no more, lies below it."""
        turned = LengthCurve(self.lengths, -self.values).raised(words, -scores, share)
        return LengthCurve(turned.lengths, -turned.values)


def _upper(residuals: Floats, share: float) -> float:
    """The residual that a new one exceeds with at most that probability, or the largest if there are too few."""
    rank = ceil((len(residuals) + 1) * (1 - share))
    return float(np.sort(residuals)[min(rank, len(residuals)) - 1])

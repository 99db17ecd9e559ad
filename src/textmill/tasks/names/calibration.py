"""From scores to the probability of a match.

    labels    p(s) = 1 / (1 + exp(-(a s + b))) by maximum likelihood, targets (N+ + 1) / (N+ + 2) and 1 / (N- + 2)
    no labels f(s) = w Beta(s; matches) + (1 - w) Beta(s; others) by expectation maximization with weighted moments,
              p(s) = w Beta(s; matches) / f(s), made to rise

The mixture holds where the scores really have two humps; look at a histogram first. With p the precision that a
threshold can be expected to give is the mean of p over the scores above it.

Cost: some dozen passes over the scores. References: Platt (1999); Lin, Lin & Weng (2007) for its targets; Fellegi &
Sunter (1969) for the mixture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.errors import DataError
from textmill.model import check_range
from textmill.numeric import special
from textmill.optimize import fit_sigmoid

__all__ = ["Calibration"]

_STEPS = 1000
_EDGE = 1e-4  # scores of 0 and 1 have no density
_ROUNDS = 200


@dataclass(frozen=True, slots=True)
class Calibration:
    """The probability of a match at scores 0, 0.001, ..., 1, linear between.

    >>> calibration = Calibration.from_labels([0.9, 0.8, 0.7, 0.3, 0.2, 0.1], [True, True, True, False, False, False])
    >>> calibration.probability([0.1, 0.5, 0.9]).round(2).tolist()
    [0.15, 0.5, 0.85]
    """

    probabilities: NDArray[np.float64]

    @classmethod
    def from_labels(cls, scores: ArrayLike, labels: ArrayLike) -> Calibration:
        """Fit to scores of pairs that are matches (true) or not."""
        s, truth = _scores(scores), np.asarray(labels, dtype=bool)
        if s.shape != truth.shape:
            raise DataError(f"{s.size} scores but {truth.size} labels; pass one label a score")
        if truth.all() or not truth.any():
            raise DataError("the labels are all alike; a calibration needs matches and others")
        return cls(fit_sigmoid(s, truth).probabilities(_grid()))

    @classmethod
    def from_mixture(cls, scores: ArrayLike) -> Calibration:
        """Fit to scores alone, those of all pairs that a search has found.

        >>> scores = [0.1, 0.15, 0.2, 0.22, 0.3, 0.25, 0.12, 0.9, 0.92, 0.85]
        >>> Calibration.from_mixture(scores).probability([0.2, 0.9]).round(2).tolist()
        [0.0, 1.0]
        """
        s = np.clip(_scores(scores), _EDGE, 1 - _EDGE)
        if len(np.unique(s)) < 3:
            raise DataError(f"{len(np.unique(s))} distinct scores; a mixture of two needs at least three")
        member = (s - s.min()) / (s.max() - s.min())
        for _ in range(_ROUNDS):
            match, others, share = _beta(s, member), _beta(s, 1 - member), float(member.mean())
            before = member
            member = _share(s, match, others, share)
            if np.abs(member - before).max() < 1e-6:
                break
        risen = np.maximum.accumulate(_share(np.clip(_grid(), _EDGE, 1 - _EDGE), match, others, share))
        return cls(risen)

    def probability(self, scores: ArrayLike) -> NDArray[np.float64]:
        """The probability of a match at each score."""
        return np.interp(_scores(scores), _grid(), self.probabilities)

    def threshold(self, scores: ArrayLike, *, precision: float) -> float:
        """The least of the scores such that the pairs from there on can be expected to have this precision.

        >>> calibration = Calibration.from_labels([0.9, 0.8, 0.2, 0.1] * 20, [True, True, False, False] * 20)
        >>> calibration.threshold([0.1, 0.2, 0.8, 0.9], precision=0.9)
        0.8
        """
        check_range("precision", precision, above=0.0, at_most=1.0)
        s = np.sort(_scores(scores))[::-1]
        expected = np.cumsum(self.probability(s)) / np.arange(1, len(s) + 1)
        last = np.append(s[1:] != s[:-1], True)  # equal scores go together
        fine = np.flatnonzero((expected >= precision) & last)
        if not len(fine):
            raise DataError(f"no threshold is expected to give a precision of {precision:g}; ask for less")
        return float(s[fine[-1]])


def _grid() -> NDArray[np.float64]:
    return np.arange(_STEPS + 1) / _STEPS


def _scores(scores: ArrayLike) -> NDArray[np.float64]:
    s = np.asarray(scores, dtype=np.float64).ravel()
    if not len(s) or not np.isfinite(s).all():
        raise DataError("there are no scores, or one of them is not finite; pass at least one number")
    return s


def _beta(s: NDArray[np.float64], weight: NDArray[np.float64]) -> tuple[float, float]:
    """Parameters of a beta distribution with the weighted mean and variance of the scores."""
    total = max(float(weight.sum()), 1e-12)
    mean = float(weight @ s) / total
    variance = min(max(float(weight @ (s - mean) ** 2) / total, 1e-5), 0.99 * mean * (1 - mean))
    size = mean * (1 - mean) / variance - 1
    return mean * size, (1 - mean) * size


def _share(
    s: NDArray[np.float64], match: tuple[float, float], others: tuple[float, float], share: float
) -> NDArray[np.float64]:
    """The probability that a score comes from the matches."""
    log = [(a - 1) * np.log(s) + (b - 1) * np.log1p(-s) - special.betaln(a, b) for a, b in (match, others)]
    odds = log[0] - log[1] + special.logit(min(max(share, 1e-9), 1 - 1e-9))
    return np.asarray(special.expit(odds), dtype=np.float64)

"""Scores against the truth at every threshold: ROC, DET, precision-recall, equal error rate, best thresholds.

    FA(t) = share of negatives accepted at threshold t      hit rate = 1 - FR(t)
    FR(t) = share of positives rejected at threshold t      AUC = P(positive before negative) + P(tie) / 2
    AP    = sum_i (R_i - R_{i-1}) P_i                       EER = the value where FA = FR

Operating points lie between distinct scores only: items of equal score are accepted together, so ties are exact. Point
0 accepts nothing, the last point everything. A threshold stands half way between two neighboring scores. ROC is joined
by straight lines (no convex hull): AUC is its trapezoid area, and at the sign change of FA - FR the EER is interpolated
linearly between the two neighboring points. It may exceed 1/2: the score is then inverted. AP is the step sum, without
interpolation.

Scores of items add like any counts: distinct scores with the number of positives and negatives at each.

Cost: one sort, O(n log n). References: Fawcett, An introduction to ROC analysis (2006); Martin et al., The DET curve
(1997).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.metrics._inputs import check_lengths, choice, numbers, truths
from textmill.metrics.classification import BinaryCounts
from textmill.metrics.conventions import signature
from textmill.metrics.utility import Utility
from textmill.numeric import special

__all__ = ["OperatingPoint", "ScoreCounts"]


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A threshold, the figure it was chosen for, and the counts at it."""

    threshold: float
    figure: float
    counts: BinaryCounts


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCounts:
    """Positives and negatives at each distinct score, from the first accepted to the last.

    `accept` says which scores are accepted first: those `above` a threshold or those `below` it. `missed` counts
    positives that never got a score: no threshold accepts them, but they count in recall and in FR.

    >>> counts = ScoreCounts.from_scores([0.9, 0.8, 0.7, 0.4, 0.6, 0.5, 0.3, 0.2], [1, 1, 1, 1, 0, 0, 0, 0])
    >>> counts.auc(), counts.equal_error().figure
    (0.875, 0.25)
    """

    scores: Floats = field(default_factory=lambda: np.zeros(0))
    positives: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    negatives: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    accept: str = "above"
    missed: int = 0

    @classmethod
    def from_scores(cls, scores: ArrayLike, gold: ArrayLike, *, accept: str = "above", missed: int = 0) -> ScoreCounts:
        """Count items by score; gold is true for the positives.

        >>> ScoreCounts.from_scores([0.3, 2.0], [True, False], accept="below").auc()
        1.0
        """
        choice("accept", accept, ("above", "below"))
        values, truth = numbers("scores", scores), truths("gold", gold)
        check_lengths("scores", len(values), "gold", len(truth))
        if missed < 0:
            raise DataError(f"missed is {missed}; it counts positives without a score and is at least 0")
        return cls(*_by_score(values, truth.astype(np.int64), (~truth).astype(np.int64), accept), accept, missed)

    def __add__(self, other: ScoreCounts) -> ScoreCounts:
        if self.accept != other.accept and len(self.scores) and len(other.scores):
            raise DataError("scores accepted above and scores accepted below a threshold do not add; negate one side")
        accept = self.accept if len(self.scores) else other.accept
        sums = _by_score(
            np.concatenate([self.scores, other.scores]),
            np.concatenate([self.positives, other.positives]),
            np.concatenate([self.negatives, other.negatives]),
            accept,
        )
        return ScoreCounts(*sums, accept, self.missed + other.missed)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoreCounts):
            return NotImplemented
        return (self.accept, self.missed) == (other.accept, other.missed) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("scores", "positives", "negatives")
        )

    @property
    def signature(self) -> str:
        """The conventions behind every figure of this class, to print beside it."""
        return signature("threshold", accept=self.accept, ties="together", eer="linear", ap="step")

    @property
    def table(self) -> Ints:
        """One row (hits, misses, false alarms, rejections) for each operating point, the input of every utility."""
        hits, false_alarms = (np.concatenate([[0], np.cumsum(side)]) for side in (self.positives, self.negatives))
        return np.stack([hits, hits[-1] + self.missed - hits, false_alarms, false_alarms[-1] - false_alarms], axis=-1)

    @property
    def thresholds(self) -> Floats:
        """One for each operating point: accept scores at or beyond it."""
        key = self._key()
        half_way = np.minimum(key[:-1] / 2 + key[1:] / 2, key[:-1])
        between = np.where(half_way > key[1:], half_way, key[:-1])  # neighboring floats have nothing between them
        return self._sign() * np.concatenate([[np.inf], between, [-np.inf]])

    def roc(self) -> tuple[Floats, Floats]:
        """False-alarm rate and hit rate at every operating point.

        >>> false_alarm_rate, hit_rate = ScoreCounts.from_scores([3, 2, 1], [1, 0, 1]).roc()
        >>> false_alarm_rate.tolist(), hit_rate.tolist()
        ([0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0])
        """
        hits, misses, false_alarms, rejections = self._both_classes().T
        return false_alarms / (false_alarms + rejections), hits / (hits + misses)

    def error_rates(self) -> tuple[Floats, Floats]:
        """False acceptance FA and false rejection FR at every operating point."""
        _, misses, false_alarms, rejections = self._both_classes().T
        return false_alarms / (false_alarms + rejections), misses / misses[0]

    def det(self) -> tuple[Floats, Floats]:
        """Normal deviates of FA and FR, the axes of a DET plot; rates of 0 and 1 are infinite."""
        false_acceptance, false_rejection = self.error_rates()
        return special.ndtri(false_acceptance), special.ndtri(false_rejection)

    def auc(self) -> float:
        """Area under the ROC curve, from whole numbers: exact but for the last division."""
        table = self._both_classes()
        twice = int((self.negatives * (table[1:, 0] + table[:-1, 0])).sum())
        return twice / (2 * int(table[0, 1]) * int(table[0, 3]))

    def precision_recall(self) -> tuple[Floats, Floats]:
        """Precision and recall at every operating point; precision at point 0, which accepts nothing, is 1."""
        hits, misses, false_alarms, _ = self._positive_class().T
        accepted = hits + false_alarms
        precision = np.divide(hits, accepted, out=np.ones(len(hits)), where=accepted > 0)
        return precision, hits / (hits + misses)

    def average_precision(self) -> float:
        """Step-wise area under the precision-recall curve.

        >>> round(ScoreCounts.from_scores([3, 2, 1], [1, 0, 1]).average_precision(), 6)
        0.833333
        """
        precision, recall = self.precision_recall()
        return float((np.diff(recall) * precision[1:]).sum())

    def equal_error(self) -> OperatingPoint:
        """Equal error rate, with the threshold and counts of the nearer of the two points around it.

        >>> scores = [0.9, 0.8, 0.35, 0.3, 0.5, 0.4, 0.2, 0.1, 0.05]
        >>> point = ScoreCounts.from_scores(scores, [1, 1, 1, 1, 0, 0, 0, 0, 0]).equal_error()
        >>> point.figure, point.threshold, point.counts.misses, point.counts.false_alarms
        (0.4, 0.375, 2, 2)
        """
        false_acceptance, false_rejection = self.error_rates()
        gap = false_acceptance - false_rejection  # rises at every point, from -1 to at least 0
        after = int(np.argmax(gap >= 0.0))
        before = after - 1
        share = gap[before] / (gap[before] - gap[after])
        rate = false_acceptance[before] + share * (false_acceptance[after] - false_acceptance[before])
        return self._point(before if -gap[before] < gap[after] else after, float(rate))

    def best(self, utility: Utility) -> OperatingPoint:
        """The point of greatest utility; among equals the one that accepts least.

        >>> from textmill.metrics.utility import FWeight, RatioUtility
        >>> counts = ScoreCounts.from_scores([9, 8, 7, 1], [1, 0, 1, 0])
        >>> point = counts.best(RatioUtility.f(FWeight.from_beta(1.0)))
        >>> point.threshold, point.figure
        (4.0, 0.8)
        """
        figures = utility.value(self._nonempty())
        if np.all(np.isnan(figures)):
            raise DataError("the utility is NaN at every threshold; choose another zero_division")
        place = int(np.nanargmax(figures))
        return self._point(place, float(figures[place]))

    def at(self, threshold: float) -> BinaryCounts:
        """Counts at a threshold fixed beforehand, on development data say.

        >>> ScoreCounts.from_scores([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0]).at(0.8)
        BinaryCounts(hits=1, misses=1, false_alarms=1, rejections=1)
        """
        if np.isnan(threshold):
            raise DataError("the threshold is NaN; pass a number")
        accepted = np.searchsorted(-self._key(), -self._sign() * threshold, side="right")
        return self._point(int(accepted), 0.0).counts

    def _point(self, place: int, figure: float) -> OperatingPoint:
        hits, misses, false_alarms, rejections = self.table[place].tolist()
        counts = BinaryCounts(hits, misses, false_alarms, rejections)
        return OperatingPoint(float(self.thresholds[place]), figure, counts)

    def _sign(self) -> float:
        return 1.0 if self.accept == "above" else -1.0

    def _key(self) -> Floats:
        """Scores turned so that greater is accepted first: a decreasing array."""
        return self._sign() * self.scores

    def _nonempty(self) -> Ints:
        if not len(self.scores):
            raise DataError("there is no score; add counts of at least one item")
        return self.table

    def _positive_class(self) -> Ints:
        table = self._nonempty()
        if not table[0, 1]:
            raise DataError(
                "there is no positive item, so recall is not defined; check which label is the positive one"
            )
        return table

    def _both_classes(self) -> Ints:
        table = self._positive_class()
        if not table[0, 3]:
            raise DataError("there is no negative item, so a false-alarm rate is not defined; add negatives")
        return table


def _by_score(scores: Floats, positives: Ints, negatives: Ints, accept: str) -> tuple[Floats, Ints, Ints]:
    """Add what has the same score, in the order of acceptance."""
    distinct, group = np.unique(scores, return_inverse=True)
    sums = [np.zeros(len(distinct), np.int64) for _ in range(2)]
    for total, side in zip(sums, (positives, negatives), strict=True):
        np.add.at(total, group, side)
    step = -1 if accept == "above" else 1
    return distinct[::step], sums[0][::step], sums[1][::step]

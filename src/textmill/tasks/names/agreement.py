r"""How far the values of a field agree: levels that the list itself defines.

    0          as unlike as most
    1 to L     more alike than all but 30, 10, 3, 1, 0.3, 0.1, 0.03, 0.01 % of the pairs of different values
    L + 1      equal
    -1         a value is missing

The cuts are quantiles of pairs of records drawn at random, those with equal values left out, so that they mean the same
for forenames, streets and numbers, and no constant belongs to a measure. A field without a measure of its own has
several, and the level of a pair is the highest that any of them gives: they are views of one agreement, not independent
evidence.

    Jaro-Winkler, Levenshtein      of whole values: typing errors
    words aligned one to one       of values of several words: another order, words added and left out
    TF-IDF cosine of words         in place of the alignment where values have more than a dozen words

A field with the measure `exact` has the levels different and equal. Each measure is averaged over both directions.

Cost: each pair of distinct values once, half a microsecond to some microseconds. Memory: a block of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ints
from textmill.model import effective_jobs
from textmill.strings import parse_measure
from textmill.tasks.names.records import Field, RecordList, numbered_values

__all__ = ["COARSE", "TAILS", "FieldValues", "measures_of"]

TAILS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
COARSE = (-1, 0, 0, 0, 0, 1, 1, 2, 2, 2, 3)  # of a missing value and of every level: enough to see what goes together
WHOLE = ("jaro_winkler", "levenshtein")
ALIGNED = "ml(words, sub=power(jaro, 3), transpositions='extended')"
WORDS = "tfidf(words)"

_COMPARED = 2000  # letters of a value that measures look at; equal means equal in all letters
_LONG = 12  # words on average from which aligning them would take too long
_BLOCK = 1 << 18  # pairs compared together


class FieldValues:
    """The distinct values of a field in a list, or in two, numbered in order of the alphabet; -1 is missing.

    Attributes: field; texts, the plain form of each value; sides, the value of each record of each list.

    >>> values = FieldValues(Field("name"), RecordList.of({"name": ["Ann Lee", "ANN LEE", None, "Tom"]}))
    >>> values.texts, values.sides[0].tolist()
    (['ann lee', 'tom'], [0, 0, -1, 1])
    """

    def __init__(
        self, field: Field, left: RecordList, right: RecordList | None = None, *, n_jobs: int | None = None
    ) -> None:
        self.field = field
        columns = [side.column(field.name) for side in ([left] if right is None else [left, right])]
        self.texts, self.sides = numbered_values(columns)
        self._compared = [text[:_COMPARED] for text in self.texts]
        self._jobs = effective_jobs(n_jobs)
        self._fitted: dict[str, Any] = {}

    @property
    def counts(self) -> Ints:
        """How many records have each value."""
        every = np.concatenate(self.sides)
        return np.bincount(every[every >= 0], minlength=len(self.texts))

    def ends(self, left: NDArray[Any], right: NDArray[Any]) -> tuple[Ints, Ints]:
        """The values of pairs of records."""
        return self.sides[0][left], self.sides[-1][right]

    def cuts(self, measures: Sequence[str], left: NDArray[Any], right: NDArray[Any]) -> Floats:
        """Return the least score of each level above 0, (measures, levels), from these random pairs of records."""
        a, b = self.ends(left, right)
        apart = (a >= 0) & (b >= 0) & (a != b)
        a, b = a[apart], b[apart]
        least_scores = np.full((len(measures), len(TAILS)), np.inf)
        for number, measure in enumerate(measures):
            if not len(a):
                break
            scores = np.sort(self._scores(measure, a, b))
            for level, tail in enumerate(TAILS):
                at = min(len(scores) - 1, int(np.ceil((1.0 - tail) * len(scores))))
                least = scores[at]
                if (len(scores) - np.searchsorted(scores, least)) > tail * len(scores):  # equal scores go together
                    above = np.searchsorted(scores, least, side="right")
                    least = scores[above] if above < len(scores) else np.inf
                least_scores[number, level] = least
        return least_scores

    def levels(
        self, measures: Sequence[str], cuts: Floats, left: NDArray[Any], right: NDArray[Any]
    ) -> NDArray[np.int8]:
        """Return the level of each pair of records."""
        a, b = self.ends(left, right)
        top = len(TAILS) + 1 if len(measures) else 1
        levels = np.where(a == b, top, 0).astype(np.int8)
        levels[(a < 0) | (b < 0)] = -1
        if not len(measures):
            return levels
        apart = np.flatnonzero(levels == 0)
        keys = np.minimum(a, b)[apart] * len(self.texts) + np.maximum(a, b)[apart]
        distinct, inverse = np.unique(keys, return_inverse=True)
        a, b = distinct // max(1, len(self.texts)), distinct % max(1, len(self.texts))
        highest = np.zeros(len(distinct), np.int8)
        for measure, row in zip(measures, cuts, strict=True):
            for start in range(0, len(distinct), _BLOCK):
                block = slice(start, start + _BLOCK)
                reached = np.searchsorted(row, self._scores(measure, a[block], b[block]), side="right")
                highest[block] = np.maximum(highest[block], reached)
        levels[apart] = highest[inverse.ravel()]
        return levels

    def rarity(self, a: Ints, b: Ints) -> Floats:
        """How much rarer than usual an equal value is: log(sum of f^2 / f), f its share; 0 where values differ."""
        shares = self.counts / max(1, int(self.counts.sum()))
        odds = np.log((shares @ shares) / shares) if len(shares) else shares
        return np.where((a == b) & (a >= 0), np.append(odds, 0.0)[a], 0.0)

    def _scores(self, measure: str, a: Ints, b: Ints) -> Floats:
        fitted = self._fitted.get(measure)
        if fitted is None:
            fitted = self._fitted[measure] = parse_measure(measure).fit(self._compared)
        texts = self._compared
        one, two = [texts[i] for i in np.minimum(a, b)], [texts[i] for i in np.maximum(a, b)]
        forth = np.asarray(fitted.pairs(one, two, n_jobs=self._jobs), np.float64)
        if fitted.measure.symmetric:
            return forth
        return np.asarray((forth + fitted.pairs(two, one, n_jobs=self._jobs)) / 2)


def measures_of(values: FieldValues) -> tuple[str, ...]:
    """The measures of a field: its own, none for `exact`, else those that suit its values.

    >>> measures_of(FieldValues(Field("city"), RecordList.of({"city": ["Rome", "Oslo"]})))
    ('jaro_winkler', 'levenshtein')
    """
    if values.field.measure == "exact":
        return ()
    if values.field.measure is not None:
        return (values.field.measure,)
    words = np.fromiter((text.count(" ") + 1 for text in values.texts), np.int64, len(values.texts))
    if not len(words) or words.max() < 2:
        return WHOLE
    return (*WHOLE, WORDS if words.mean() > _LONG else ALIGNED)

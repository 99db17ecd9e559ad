"""Measures made of other measures: powers, means, maxima, and functions of yours.

power(m, p)      m(a, b)^p              pushes middling similarities down, for measures that are never near 0
mean(m, ...)     their mean             maximum(m, ...)   the largest of them
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import check_range
from textmill.numeric import sparse
from textmill.strings.alignment import Alignment, Edge
from textmill.strings.measure import Fitted, Floats, Measure, Occurrences
from textmill.strings.pairs import NameJoin, Pairs, best_pairs

__all__ = ["Combination", "CombinedJoin", "CustomMeasure", "FittedCombination", "Maximum", "Mean", "Power"]

_BLOCK = 1 << 20  # pairs of strings scored together


@dataclass(frozen=True)
class CustomMeasure(Measure):
    """A function of two strings with values from 0 to 1; `label` stands for it in the text form.

    >>> CustomMeasure("initial", lambda a, b: float(a[:1] == b[:1])).similarity("Ann", "Alice")
    1.0
    """

    label: str
    function: Callable[[str, str], float]
    same_both_ways: bool = field(default=True)

    @property
    def symmetric(self) -> bool:
        """What its maker says."""
        return self.same_both_ways

    def __str__(self) -> str:
        return self.label

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure; nothing is learned."""
        return _FittedCustom(self)


class _FittedCustom(Fitted):
    measure: CustomMeasure

    def explain(self, left: str, right: str) -> Alignment:
        score = float(self.measure.function(left, right))
        if not 0.0 <= score <= 1.0:
            raise DataError(
                f"measure {self.measure.label!r} gave {score} for {left[:40]!r} and {right[:40]!r}; "
                "return similarities from 0 to 1"
            )
        edges = (Edge(0, 0, score, score),) if score else ()
        return Alignment(str(self.measure), left, right, (left,), (right,), edges, score)


@dataclass(frozen=True)
class Combination(Measure):
    """A function of the scores of measures. Base of those below."""

    largest: ClassVar[bool] = False  # is it the largest of them?

    def combine(self, scores: list[Floats]) -> Floats:
        """The score, from those of the parts."""
        raise NotImplementedError

    def part_threshold(self, threshold: float) -> float:
        """What at least one part must reach where the whole reaches the threshold; a mean is at most the largest."""
        return threshold


@dataclass(frozen=True)
class Power(Combination):
    """A power of another measure.

    >>> from textmill.strings import Jaro
    >>> round(Power(Jaro(), 3).similarity("MARTHA", "MARHTA"), 6)
    0.842421
    """

    sub: Measure
    exponent: float
    name: ClassVar[str] = "power"

    def __post_init__(self) -> None:
        check_range("exponent", self.exponent, above=0.0, below=math.inf)

    def arguments(self) -> Iterator[str]:
        """Yield the measure and the exponent."""
        yield from (str(self.sub), repr(self.exponent))

    def length_ratio(self, threshold: float) -> float:
        """That of the measure inside."""
        return self.sub.length_ratio(self.part_threshold(threshold))

    def learn(self, strings: Occurrences) -> Fitted:
        """Fit the measure inside."""
        return FittedCombination(self, [self.sub.learn(strings)])

    def combine(self, scores: list[Floats]) -> Floats:
        """The power."""
        return np.asarray(scores[0] ** self.exponent, np.float64)

    def part_threshold(self, threshold: float) -> float:
        """The root of the threshold, a little less for the sake of rounding."""
        return float(threshold ** (1.0 / self.exponent) * (1.0 - 1e-6))


@dataclass(frozen=True)
class Mean(Combination):
    """The mean of several measures.

    >>> from textmill.strings import Exact, Jaro
    >>> round(Mean((Exact(), Jaro())).similarity("MARTHA", "MARHTA"), 6)
    0.472222
    """

    subs: tuple[Measure, ...]
    name: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        _check_subs(self.name, self.subs)

    def arguments(self) -> Iterator[str]:
        """Yield the measures."""
        yield from map(str, self.subs)

    def learn(self, strings: Occurrences) -> Fitted:
        """Fit the measures inside."""
        return FittedCombination(self, [sub.learn(strings) for sub in self.subs])

    def combine(self, scores: list[Floats]) -> Floats:
        """The mean."""
        return np.asarray(sum(scores) / len(scores))


@dataclass(frozen=True)
class Maximum(Combination):
    """The largest of several measures.

    >>> from textmill.strings import Exact, Jaro
    >>> round(Maximum((Exact(), Jaro())).similarity("MARTHA", "MARHTA"), 6)
    0.944444
    """

    subs: tuple[Measure, ...]
    name: ClassVar[str] = "maximum"
    largest: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_subs(self.name, self.subs)

    def arguments(self) -> Iterator[str]:
        """Yield the measures."""
        yield from map(str, self.subs)

    def learn(self, strings: Occurrences) -> Fitted:
        """Fit the measures inside."""
        return FittedCombination(self, [sub.learn(strings) for sub in self.subs])

    def combine(self, scores: list[Floats]) -> Floats:
        """The largest."""
        return np.asarray(np.maximum.reduce(scores))


class FittedCombination(Fitted):
    """A fitted combination. Attributes: measure; parts, the fitted measures inside."""

    measure: Combination

    def __init__(self, measure: Combination, parts: list[Fitted]) -> None:
        super().__init__(measure)
        self.parts = parts

    def join(self, names: list[str], *, min_word_similarity: float = 0.0, n_jobs: int = 1) -> NameJoin:
        """By the joins of the parts."""
        joins = [part.join(names, min_word_similarity=min_word_similarity, n_jobs=n_jobs) for part in self.parts]
        return CombinedJoin(self, names, joins)

    def score_pairs(self, left: list[str], right: list[str], n_jobs: int) -> NDArray[np.float64]:
        """Scores of pairs."""
        return self.combine([part.score_pairs(left, right, n_jobs) for part in self.parts])

    def score_matrix(
        self, left: list[str], right: list[str], n_jobs: int, dtype: type[np.floating[Any]] = np.float64
    ) -> Floats:
        """Scores of all pairs."""
        return self.combine([part.score_matrix(left, right, n_jobs) for part in self.parts]).astype(dtype, copy=False)

    def score_table(self, left: list[str], right: list[str], at_least: float, n_jobs: int) -> sparse.csr_matrix:
        """Scores of at least `at_least`, from the tables of the parts."""
        if at_least <= 0.0:
            return super().score_table(left, right, at_least, n_jobs)
        least = self.measure.part_threshold(at_least)
        table, *more = (part.score_table(left, right, least, n_jobs) for part in self.parts)
        if len(self.parts) == 1:
            table.data = self.combine([table.data.astype(np.float64)]).astype(np.float32)
        else:
            for other in more:
                table = table.maximum(other)
        if len(self.parts) > 1 and not self.measure.largest:
            places = table.tocoo()
            for start in range(0, table.nnz, _BLOCK):
                stretch = slice(start, start + _BLOCK)
                a, b = [left[i] for i in places.row[stretch]], [right[j] for j in places.col[stretch]]
                places.data[stretch] = self.score_pairs(a, b, n_jobs)
            table = places.tocsr()
        table.data[table.data < at_least] = 0.0
        table.eliminate_zeros()
        return table

    def explain(self, left: str, right: str) -> Alignment:
        """One edge for each part, with the alignment of that part."""
        inner = [part.explain(left, right) for part in self.parts]
        score = float(self.combine([np.array([alignment.score]) for alignment in inner])[0])
        labels = tuple(str(part.measure) for part in self.parts)
        edges = tuple(Edge(k, k, part.score, part.score, part) for k, part in enumerate(inner))
        return Alignment(str(self.measure), left, right, labels, labels, edges, score)

    def combine(self, scores: list[Floats]) -> NDArray[np.float64]:
        """The score, from those of the parts."""
        return np.asarray(self.measure.combine(scores), np.float64)


class CombinedJoin(NameJoin):
    """Names that the join of any part finds, scored by all parts.

    >>> from textmill.strings import parse_measure
    >>> names = ["Ann Smith", "Anne Smith", "Tom Jones"]
    >>> parse_measure("mean(jaro, tfidf(trigrams))").fit(names).join(names).among(0, 3, 0.5, 0, 1).right.tolist()
    [1]
    """

    fitted: FittedCombination

    def __init__(self, fitted: FittedCombination, names: list[str], joins: list[NameJoin]) -> None:
        super().__init__(fitted, names)
        self.joins = joins

    def among(self, begin: int, end: int, threshold: float, k: int, n_jobs: int) -> Pairs:
        """Pairs within the collection."""
        least = self.fitted.measure.part_threshold(threshold)
        if k:  # pairs with earlier names too
            parts = [self._others(join, begin, end, least, n_jobs) for join in self.joins]
        else:
            parts = [join.among(begin, end, least, 0, n_jobs) for join in self.joins]
        return self._scored(parts, self.names, threshold, k, n_jobs)

    def across(self, others: list[str], threshold: float, k: int, n_jobs: int) -> Pairs:
        """Pairs with other names."""
        least = self.fitted.measure.part_threshold(threshold)
        parts = [join.across(others, least, 0, n_jobs) for join in self.joins]
        return self._scored(parts, others, threshold, k, n_jobs)

    def add(self, names: list[str], n_jobs: int) -> None:
        """Take more names."""
        for join in self.joins:
            join.add(names, n_jobs)
        self.names = [*self.names, *names]

    @staticmethod
    def _others(join: NameJoin, begin: int, end: int, threshold: float, n_jobs: int) -> Pairs:
        pairs = join.across(join.names[begin:end], threshold, 0, n_jobs)
        left = pairs.left + np.int32(begin)
        return Pairs(left, pairs.right, pairs.score).where(left != pairs.right)

    def _scored(self, parts: list[Pairs], left: list[str], threshold: float, k: int, n_jobs: int) -> Pairs:
        """The pairs of all parts, each once, by the whole measure."""
        every = Pairs.concatenate(parts)
        if len(parts) == 1:
            score = self.fitted.combine([every.score])
            return best_pairs(Pairs(every.left, every.right, score).where((score >= threshold) & (score > 0.0)), k)
        width = max(1, len(self.names))
        i, j = np.divmod(np.unique(every.left.astype(np.int64) * width + every.right), width)
        score = np.empty(len(i))
        for start in range(0, len(i), _BLOCK):
            stretch = slice(start, start + _BLOCK)
            a, b = [left[at] for at in i[stretch]], [self.names[at] for at in j[stretch]]
            score[stretch] = self.fitted.score_pairs(a, b, n_jobs)
        keep = (score >= threshold) & (score > 0.0)
        return best_pairs(Pairs(i.astype(np.int32), j.astype(np.int32), score).where(keep), k)


def _check_subs(name: str, subs: tuple[Measure, ...]) -> None:
    if not subs:
        raise DataError(f"{name} needs at least one measure, as in {name}(jaro, levenshtein)")

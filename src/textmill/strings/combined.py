"""Measures made of other measures: powers, means, maxima, and functions of yours.

power(m, p)      m(a, b)^p              pushes middling similarities down, for measures that are never near 0
mean(m, ...)     their mean             maximum(m, ...)   the largest of them
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import check_range
from textmill.numeric import sparse
from textmill.strings.alignment import Alignment, Edge
from textmill.strings.measure import Fitted, Floats, Measure, Occurrences

__all__ = ["CustomMeasure", "Maximum", "Mean", "Power"]

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
class Power(Measure):
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

    def learn(self, strings: Occurrences) -> Fitted:
        """Fit the measure inside."""
        return _FittedCombination(self, [self.sub.learn(strings)])


@dataclass(frozen=True)
class Mean(Measure):
    """The mean of several measures.

    >>> from textmill.strings import Exact, Jaro
    >>> round(Mean((Exact(), Jaro())).similarity("MARTHA", "MARHTA"), 6)
    0.472222
    """

    subs: tuple[Measure, ...]
    name: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        _check_subs(self.name, self.subs)

    def learn(self, strings: Occurrences) -> Fitted:
        """Fit the measures inside."""
        return _FittedCombination(self, [sub.learn(strings) for sub in self.subs])


@dataclass(frozen=True)
class Maximum(Measure):
    """The largest of several measures.

    >>> from textmill.strings import Exact, Jaro
    >>> round(Maximum((Exact(), Jaro())).similarity("MARTHA", "MARHTA"), 6)
    0.944444
    """

    subs: tuple[Measure, ...]
    name: ClassVar[str] = "maximum"

    def __post_init__(self) -> None:
        _check_subs(self.name, self.subs)

    def learn(self, strings: Occurrences) -> Fitted:
        """Fit the measures inside."""
        return _FittedCombination(self, [sub.learn(strings) for sub in self.subs])


class _FittedCombination(Fitted):
    measure: Power | Mean | Maximum

    def __init__(self, measure: Power | Mean | Maximum, parts: list[Fitted]) -> None:
        super().__init__(measure)
        self.parts = parts

    def score_pairs(self, left: list[str], right: list[str], threads: int) -> NDArray[np.float64]:
        return self._combine([part.score_pairs(left, right, threads) for part in self.parts])

    def score_matrix(
        self, left: list[str], right: list[str], threads: int, dtype: type[np.floating[Any]] = np.float64
    ) -> Floats:
        return self._combine([part.score_matrix(left, right, threads) for part in self.parts]).astype(dtype, copy=False)

    def score_table(self, left: list[str], right: list[str], epsilon: float, threads: int) -> sparse.csr_matrix:
        """Scores of at least epsilon, from the tables of the parts."""
        measure = self.measure
        if epsilon <= 0.0:
            return super().score_table(left, right, epsilon, threads)
        if isinstance(measure, Power):
            least = epsilon ** (1.0 / measure.exponent)
            table = self.parts[0].score_table(left, right, least * (1.0 - 1e-6), threads)
            table.data = (table.data.astype(np.float64) ** measure.exponent).astype(np.float32)
        else:
            table = self.parts[0].score_table(left, right, epsilon, threads)
            for part in self.parts[1:]:
                table = table.maximum(part.score_table(left, right, epsilon, threads))
        if isinstance(measure, Mean):  # no mean reaches what none of its parts does
            places = table.tocoo()
            for start in range(0, table.nnz, _BLOCK):
                stretch = slice(start, start + _BLOCK)
                a, b = [left[i] for i in places.row[stretch]], [right[j] for j in places.col[stretch]]
                places.data[stretch] = self.score_pairs(a, b, threads)
            table = places.tocsr()
        table.data[table.data < epsilon] = 0.0
        table.eliminate_zeros()
        return table

    def explain(self, left: str, right: str) -> Alignment:
        """One edge a part, each with the alignment of that part."""
        inner = [part.explain(left, right) for part in self.parts]
        score = float(self._combine([np.array([alignment.score]) for alignment in inner])[0])
        labels = tuple(str(part.measure) for part in self.parts)
        edges = tuple(Edge(k, k, part.score, part.score, part) for k, part in enumerate(inner))
        return Alignment(str(self.measure), left, right, labels, labels, edges, score)

    def _combine(self, scores: list[Floats]) -> NDArray[np.float64]:
        if isinstance(self.measure, Power):
            return np.asarray(scores[0] ** self.measure.exponent, np.float64)
        if isinstance(self.measure, Mean):
            return np.asarray(sum(scores) / len(scores))
        return np.asarray(np.maximum.reduce(scores))


def _check_subs(name: str, subs: tuple[Measure, ...]) -> None:
    if not subs:
        raise DataError(f"{name} needs at least one measure, as in {name}(jaro, levenshtein)")

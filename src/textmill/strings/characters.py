"""Measures of sequences by equal elements: edit distances and the Jaro family, on characters or any other features.

    Levenshtein            D[i][j] = min(D[i-1][j] + 1, D[i][j-1] + 1, D[i-1][j-1] + [x_i != y_j])
                           sim = 1 - D[n][m] / max(n, m)
    OSA                    also D[i-2][j-2] + 1 where x_{i-1} x_i = y_j y_{j-1}: no element is edited twice
    Damerau                also swaps of elements that become neighbors by deletions: a metric
    Needleman-Wunsch       a gap costs G, a pair 1 - sim'(x_i, y_j);  max(0, 1 - cost / max(|x|, |y|))
    Jaro                   (c / |x| + c / |y| + (c - T) / c) / 3,  c common elements, T = half of those out of order
    Jaro-Winkler           J + l p (1 - J) where J > boost, l <= 4 common first elements

Common elements of Jaro lie at most H places apart and are taken greedily from left to right, each once. H is
min(|x|, |y|) / 2 in window="paper", min // 2 + 1 in "secondstring", max // 2 - 1 in "winkler" (so rapidfuzz and
jellyfish, which also floor T: half_transpositions="floor"). Two empty strings have the similarity 1.

References: Levenshtein (1966); Damerau (1964); Needleman & Wunsch (1970); Jaro (1989); Winkler (1990).
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import strings as native
from textmill.errors import DataError
from textmill.model import check_choice, check_range
from textmill.numeric import sparse
from textmill.strings.alignment import Alignment, Edge
from textmill.strings.features import Characters, Features, Symbols
from textmill.strings.measure import (
    Fitted,
    FittedSequences,
    Floats,
    Measure,
    Occurrences,
    equal_strings,
)
from textmill.strings.optima import Recurrence, edits
from textmill.strings.pairs import Pairs
from textmill.strings.scored_join import Prepared

__all__ = ["Damerau", "Exact", "Jaro", "JaroWinkler", "Levenshtein", "NeedlemanWunsch", "Osa"]


_CHARACTERS = Characters()


@dataclass(frozen=True)
class Exact(Measure):
    """1 for equal strings, else 0.

    >>> Exact().similarity("Ann", "Anne")
    0.0
    """

    name: ClassVar[str] = "exact"

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure; nothing is learned."""
        return _FittedExact(self)


class _FittedExact(Fitted):
    def score_pairs(self, left: list[str], right: list[str], n_jobs: int) -> NDArray[np.float64]:
        return np.fromiter((a == b for a, b in zip(left, right, strict=True)), np.float64, len(left))

    def score_table(self, left: list[str], right: list[str], at_least: float, n_jobs: int) -> sparse.csr_matrix:
        return equal_strings(left, right)

    def score_matrix(
        self, left: list[str], right: list[str], n_jobs: int, dtype: type[np.floating[Any]] = np.float64
    ) -> Floats:
        scores: Floats = equal_strings(left, right).toarray().astype(dtype)
        return scores

    def explain(self, left: str, right: str) -> Alignment:
        equal = float(left == right)
        edges = (Edge(0, 0, 1.0, 1.0),) if equal else ()
        return Alignment(str(self.measure), left, right, (left,), (right,), edges, equal)


class _FittedSymbols(Fitted):
    """A measure whose scores the kernels of characters know; `options` say which."""

    _numbering = threading.Lock()  # of features that are no characters

    def __init__(self, measure: Measure, features: Features, **options: Any) -> None:
        super().__init__(measure)
        self.features = features
        self._numbers: dict[str, int] = {}
        self._options = {"kind": "jaro", "window": "paper", "floor": False, "prefix": 0.0, "boost": 1.0} | options

    def score_pairs(self, left: list[str], right: list[str], n_jobs: int) -> NDArray[np.float64]:
        a, b = self._symbols(left, right)
        order = np.arange(len(left), dtype=np.int32)
        out = np.empty(len(left))
        native.character_pairs(a, b, order, order, out=out, threads=n_jobs, **self._options)
        return out

    def score_matrix(
        self, left: list[str], right: list[str], n_jobs: int, dtype: type[np.floating[Any]] = np.float64
    ) -> Floats:
        a, b = self._symbols(left, right)
        out = np.empty((len(left), len(right)), dtype)
        native.character_matrix(a, b, symmetric=left is right, out=out, threads=n_jobs, **self._options)
        return out

    def score_table(self, left: list[str], right: list[str], at_least: float, n_jobs: int) -> sparse.csr_matrix:
        a, b = self._symbols(left, right)
        offsets, columns, values = native.character_table(a, b, epsilon=at_least, threads=n_jobs, **self._options)
        return sparse.csr_matrix((values, columns, offsets), (len(left), len(right)))

    def prepared(self, names: list[str]) -> _PreparedSymbols:
        """Strings as symbols; features that are no characters keep the numbers that they once got."""
        with self._numbering:
            return _PreparedSymbols(self, names, self.features.symbols(names, self._numbers))

    def search(self, left: Symbols, right: Symbols, at_least: float, symmetric: bool, n_jobs: int) -> Pairs:
        """Pairs that score at least `at_least`; when `symmetric` both sides are the same, and each pair comes once."""
        limits = {"at_least": at_least, "length_ratio": self.measure.length_ratio(at_least)}
        return Pairs(
            *native.character_search(left, right, symmetric=symmetric, threads=n_jobs, **limits, **self._options)
        )

    def _symbols(self, left: list[str], right: list[str]) -> tuple[Symbols, Symbols]:
        """Features of both sides as numbers."""
        numbers: dict[str, int] = {}
        a = self.features.symbols(left, numbers)
        return a, a if left is right else self.features.symbols(right, numbers)


class _PreparedSymbols(Prepared):
    """Strings as sequences of symbols, which a kernel compares; see native/strings/characters.h for its limits."""

    fitted: _FittedSymbols

    def __init__(self, fitted: _FittedSymbols, names: list[str], symbols: Symbols) -> None:
        super().__init__(fitted, names)
        self.symbols = symbols

    def part(self, begin: int, end: int) -> _PreparedSymbols:
        """The strings begin to end - 1."""
        offsets, symbols = self.symbols
        first, last = offsets[begin], offsets[end]
        return _PreparedSymbols(
            self.fitted, self.names[begin:end], (offsets[begin : end + 1] - first, symbols[first:last])
        )

    def score(self, other: Prepared | None, at_least: float, n_jobs: int) -> Pairs:
        """Pairs that score at least `at_least`, above 0."""
        right = self if other is None else other
        if not isinstance(right, _PreparedSymbols):
            raise DataError("both sides must be prepared by the same fitted measure")
        return self.fitted.search(self.symbols, right.symbols, at_least, other is None, n_jobs)


@dataclass(frozen=True)
class _Edits(Measure):
    features: Features = _CHARACTERS
    swaps: ClassVar[str] = "none"

    def length_ratio(self, threshold: float) -> float:
        """Each surplus element is an edit, so the score is at most shorter / longer."""
        return min(threshold, 1.0)

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure; nothing is learned."""
        return _FittedEdits(self, self.features, kind=self.name)


@dataclass(frozen=True)
class Levenshtein(_Edits):
    """Insertions, deletions and substitutions.

    >>> round(Levenshtein().similarity("kitten", "sitting"), 6)
    0.571429
    """

    name: ClassVar[str] = "levenshtein"


@dataclass(frozen=True)
class Osa(_Edits):
    """Levenshtein with swaps of neighbors, no part edited twice (optimal string alignment).

    >>> round(Osa().similarity("ABC", "CA"), 6)
    0.0
    """

    name: ClassVar[str] = "osa"
    swaps: ClassVar[str] = "osa"


@dataclass(frozen=True)
class Damerau(_Edits):
    """Levenshtein with swaps, unrestricted.

    >>> round(Damerau().similarity("ABC", "CA"), 6)
    0.333333
    """

    name: ClassVar[str] = "damerau"
    swaps: ClassVar[str] = "damerau"


class _FittedEdits(_FittedSymbols):
    measure: _Edits

    def recurrence(self, alignment: Alignment) -> Recurrence | None:
        """Edits; Damerau's swaps reach further back than one cell."""
        if self.measure.swaps == "damerau":
            return None
        x, y = alignment.left_features, alignment.right_features
        same = np.array([[float(c == d) for d in y] for c in x]).reshape(len(x), len(y))
        return edits(same, 1.0, swaps=self.measure.swaps == "osa")

    def explain(self, left: str, right: str) -> Alignment:
        x, y = self.features(left), self.features(right)
        edges, distance = _edit_alignment(x, y, self.measure.swaps)
        most = max(len(x), len(y))
        score = 1.0 - distance / most if most else 1.0
        return Alignment(str(self.measure), left, right, tuple(x), tuple(y), edges, score, float(most))


def _edit_alignment(x: list[str], y: list[str], swaps: str) -> tuple[tuple[Edge, ...], int]:
    """Edges of a cheapest alignment and its cost; from the end, pairs before swaps before gaps."""
    n, m = len(x), len(y)
    d = [[i + j if i * j == 0 else 0 for j in range(m + 1)] for i in range(n + 1)]
    came: dict[tuple[int, int], tuple[int, int]] = {}
    last: dict[str, int] = {}
    for i in range(1, n + 1):
        seen = 0
        for j in range(1, m + 1):
            equal = x[i - 1] == y[j - 1]
            options = [(d[i - 1][j - 1] + (not equal), (i - 1, j - 1))]
            if swaps == "osa":
                k, h = (i - 1, j - 1) if i > 1 and j > 1 and x[i - 1] == y[j - 2] and x[i - 2] == y[j - 1] else (0, 0)
            else:
                k, h = last.get(y[j - 1], 0), seen
            if swaps != "none" and k and h and not equal:
                options.append((d[k - 1][h - 1] + (i - k - 1) + 1 + (j - h - 1), (k - 1, h - 1)))
            options += [(d[i - 1][j] + 1, (i - 1, j)), (d[i][j - 1] + 1, (i, j - 1))]
            d[i][j], came[i, j] = min(options, key=lambda option: option[0])
            if equal:
                seen = j
        last[x[i - 1]] = i
    edges = []
    i, j = n, m
    while i and j:
        k, h = came[i, j]
        if (k, h) == (i - 1, j - 1):
            same = float(x[i - 1] == y[j - 1])
            edges.append(Edge(i - 1, j - 1, same, same))
        elif k < i and h < j:  # a swap: two matches for one edit
            edges += [Edge(i - 1, h, 0.5, 1.0), Edge(k, j - 1, 0.5, 1.0)]
        i, j = k, h
    return tuple(sorted(edges, key=lambda edge: edge.left or 0)), d[n][m]


_EXACT = Exact()


@dataclass(frozen=True)
class NeedlemanWunsch(Measure):
    """Alignment in which a gap costs `gap` and a pair 1 - its similarity by `sub`.

    >>> round(NeedlemanWunsch(gap=0.5).similarity("kitten", "sitting"), 6)
    0.642857
    """

    features: Features = _CHARACTERS
    gap: float = 1.0
    sub: Measure = _EXACT
    name: ClassVar[str] = "needleman_wunsch"

    def __post_init__(self) -> None:
        check_range("gap", self.gap, at_least=0.0, below=math.inf)

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure; only the sub-measure may learn."""
        return _FittedNeedlemanWunsch(self, self.features, strings, self.sub)


class _FittedNeedlemanWunsch(FittedSequences):
    measure: NeedlemanWunsch

    def recurrence(self, alignment: Alignment) -> Recurrence:
        """Gaps and pairs at their costs."""
        table = self.word_similarities(list(alignment.left_features), list(alignment.right_features))
        return edits(np.asarray(table.toarray(), np.float64), self.measure.gap, swaps=False)

    def explain(self, left: str, right: str) -> Alignment:
        x, y = self.features(left), self.features(right)
        sims, gap = self.word_similarities(x, y).toarray(), self.measure.gap
        n, m = len(x), len(y)
        d = np.add.outer(np.arange(n + 1.0), np.arange(m + 1.0)) * gap
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                d[i, j] = min(d[i - 1, j - 1] + 1 - sims[i - 1, j - 1], d[i - 1, j] + gap, d[i, j - 1] + gap)
        edges = []
        i, j = n, m
        while i and j:
            if d[i, j] == d[i - 1, j - 1] + 1 - sims[i - 1, j - 1]:
                i, j = i - 1, j - 1
                edges.append(Edge(i, j, float(sims[i, j]), float(sims[i, j])))
            elif d[i, j] == d[i - 1, j] + gap:
                i -= 1
            else:
                j -= 1
        most = max(n, m)
        score = max(0.0, 1.0 - float(d[n, m]) / most) if most else 1.0
        return Alignment(str(self.measure), left, right, tuple(x), tuple(y), tuple(edges[::-1]), score, float(most))


WINDOWS = ("paper", "winkler", "secondstring")


@dataclass(frozen=True)
class Jaro(Measure):
    """Common elements near each other, and how many of them are out of order.

    >>> round(Jaro().similarity("times", "inter"), 6), round(Jaro(window="winkler").similarity("times", "inter"), 6)
    (0.622222, 0.6)
    """

    features: Features = _CHARACTERS
    window: str = "paper"
    half_transpositions: str = "exact"
    name: ClassVar[str] = "jaro"

    def __post_init__(self) -> None:
        check_choice("window", self.window, WINDOWS)
        check_choice("half_transpositions", self.half_transpositions, ["exact", "floor"])

    def length_ratio(self, threshold: float) -> float:
        """The score is at most (2 + shorter / longer) / 3."""
        return min(max(3.0 * threshold - 2.0, 0.0), 1.0)

    def boosted(self, score: float, x: list[str], y: list[str]) -> float:
        """The score as it is."""
        return score

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure; nothing is learned."""
        floor = self.half_transpositions == "floor"
        return _FittedJaro(self, self.features, window=self.window, floor=floor)


@dataclass(frozen=True)
class JaroWinkler(Measure):
    """Jaro with more weight on the first four elements, where it exceeds `boost`.

    >>> round(JaroWinkler().similarity("MARTHA", "MARHTA"), 6)
    0.961111
    """

    features: Features = _CHARACTERS
    prefix: float = 0.1
    boost: float = 0.7
    window: str = "winkler"
    half_transpositions: str = "floor"
    name: ClassVar[str] = "jaro_winkler"

    def __post_init__(self) -> None:
        Jaro(window=self.window, half_transpositions=self.half_transpositions)
        check_range("prefix", self.prefix, at_least=0.0, at_most=0.25)
        check_range("boost", self.boost, at_least=0.0, at_most=1.0)

    def length_ratio(self, threshold: float) -> float:
        """As for Jaro, to whose score J the prefix adds at most 4 prefix (1 - J)."""
        if self.prefix >= 0.25:
            return 0.0
        return Jaro().length_ratio((threshold - 4.0 * self.prefix) / (1.0 - 4.0 * self.prefix))

    def boosted(self, score: float, x: list[str], y: list[str]) -> float:
        """The score with what the first common elements add."""
        if score <= self.boost:
            return score
        same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(x[:4], y[:4], strict=False))))
        return score + same * self.prefix * (1.0 - score)

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure; nothing is learned."""
        floor = self.half_transpositions == "floor"
        options = {"window": self.window, "floor": floor, "prefix": self.prefix, "boost": self.boost}
        return _FittedJaro(self, self.features, **options)


class _FittedJaro(_FittedSymbols):
    measure: Jaro | JaroWinkler

    def explain(self, left: str, right: str) -> Alignment:
        measure = self.measure
        x, y = measure.features(left), measure.features(right)
        matches = _common(x, y, _window(len(x), len(y), measure.window))
        edges = tuple(Edge(i, j, 1.0, 1.0) for i, j in matches)
        score = float(not x and not y)
        if matches:
            order = sorted(j for _, j in matches)
            t = sum(x[i] != y[j] for (i, _), j in zip(matches, order, strict=True)) / 2
            t = math.floor(t) if measure.half_transpositions == "floor" else t
            c = len(matches)
            score = (c / len(x) + c / len(y) + (c - t) / c) / 3
        score = measure.boosted(score, x, y)
        return Alignment(str(measure), left, right, tuple(x), tuple(y), edges, score, float(max(len(x), len(y))))


def _window(n: int, m: int, window: str) -> int:
    if window == "paper":
        return min(n, m) // 2
    return min(n, m) // 2 + 1 if window == "secondstring" else max(max(n, m) // 2 - 1, 0)


def _common(x: list[str], y: list[str], window: int) -> list[tuple[int, int]]:
    """Pairs of equal elements at most `window` places apart, greedily from the left of x."""
    used = [False] * len(y)
    pairs = []
    for i, a in enumerate(x):
        for j in range(max(0, i - window), min(len(y), i + window + 1)):
            if not used[j] and y[j] == a:
                used[j] = True
                pairs.append((i, j))
                break
    return pairs

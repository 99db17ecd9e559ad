"""Similarity of strings in three steps: features, an alignment of them, a score of the alignment.

    features(e) = <a_1, ..., a_n>        align(S, S') = G, weighted edges between features        sim = score(G)

A `Measure` says which steps: a small frozen object that can be compared, hashed, printed and read back, and nested,
because the similarity of two features may be a measure again. `fit` learns what it needs from a collection (weights of
features, contexts) and returns a `Fitted` measure, which scores pairs, matrices of all pairs, and explains a score.

    idf(w) = log(documents / documents that hold w)          a feature never seen counts as seen in one document

A level of a nested measure learns from the distinct features of the level above: words from names, n-grams from words.
`documents` says what is counted: "types", each distinct string once; "tokens", each occurrence; "names", the names in
which it occurs.

Reference: Moreau, Yvon & Cappé (2008), Robust similarity measures for named entities matching, COLING.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import check_range, effective_jobs
from textmill.numeric import sparse
from textmill.strings.alignment import Alignment
from textmill.strings.features import Expression, Features, checked_names, offsets_of
from textmill.strings.optima import Recurrence
from textmill.strings.pairs import NameJoin
from textmill.strings.scored_join import Prepared, ScoredJoin

__all__ = [
    "DOCUMENTS",
    "Encoded",
    "Fitted",
    "FittedSequences",
    "Floats",
    "Measure",
    "Occurrences",
    "equal_strings",
    "sparse_product",
]

Floats: TypeAlias = NDArray[np.floating[Any]]
Encoded: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32]]  # offsets (n + 1,), ids of features

_CELLS = 1 << 24  # of a dense block on the way to a sparse table
_NOTHING: Encoded = (np.zeros(1, np.int64), np.zeros(0, np.int32))  # features of no strings
DOCUMENTS = ("types", "tokens", "names")


@dataclass(frozen=True)
class Occurrences:
    """Distinct strings, how often they occur, and the sequences of the level above in which they do."""

    items: list[str]
    counts: NDArray[np.int64]  # of each item
    sequences: Encoded  # item ids of each distinct string above
    weights: NDArray[np.int64]  # how often each of these occurs
    above: Occurrences | None

    @classmethod
    def of_names(cls, names: list[str], counts: Sequence[int] | None) -> Occurrences:
        """Distinct names with the sum of their counts."""
        totals: dict[str, int] = Counter(names)
        if counts is not None:
            if len(counts) != len(names):
                raise DataError(f"{len(counts)} counts for {len(names)} names; pass one count a name")
            totals = dict.fromkeys(names, 0)
            for position, (name, number) in enumerate(zip(names, counts, strict=True)):
                check_range(f"the count at position {position}", number, at_least=1, whole=True)
                totals[name] += int(number)
        items = list(totals)
        return cls(items, np.array(list(totals.values()), np.int64), _NOTHING, np.zeros(0, np.int64), None)

    def features(self, words: list[str], encoded: Encoded) -> Occurrences:
        """The level below: `words` are the features of the items, `encoded` their ids by item."""
        offsets, ids = encoded
        counts = np.bincount(ids, np.repeat(self.counts, np.diff(offsets)), minlength=len(words))
        return Occurrences(words, counts.astype(np.int64), encoded, self.counts, self)

    def frequencies(self, documents: str) -> tuple[NDArray[np.float64], float]:
        """In how many documents each item occurs, and how many there are."""
        offsets, ids = self.sequences
        shape = (len(offsets) - 1, len(self.items))
        places = np.repeat(np.arange(shape[0]), np.diff(offsets)) * shape[1] + ids
        rows, items = np.divmod(np.unique(places), max(1, shape[1]))  # an item counts once in each document
        level = self.above
        if documents == "names" and level is not None and level.above is not None:
            holds = sparse.csr_matrix((np.ones(len(rows)), (rows, items)), shape=shape)
            while level is not None and level.above is not None:
                above, inside = level.sequences
                size = len(above) - 1, holds.shape[0]
                holds = sparse.csr_matrix((np.ones(len(inside)), inside, above), shape=size) @ holds
                holds.data[:] = 1.0
                level = level.above
            return np.asarray(holds.sum(axis=0)).ravel(), float(holds.shape[0])
        weights = self.weights.astype(np.float64) if documents == "tokens" else np.ones(shape[0])
        frequencies = np.bincount(items, weights[rows], minlength=shape[1]).astype(np.float64)
        return frequencies, float(weights.sum())


@dataclass(frozen=True)
class Measure(Expression):
    """What a similarity is made of. Base of all measures."""

    @property
    def learns(self) -> bool:
        """Does it need a collection?"""
        return any(part.learns for part in self.parts())

    @property
    def symmetric(self) -> bool:
        """Is the similarity of a to b always that of b to a?"""
        return all(part.symmetric for part in self.parts())

    def parts(self) -> Iterator[Measure]:
        """Yield the measures inside."""
        for field in fields(self):
            value = getattr(self, field.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Measure):
                    yield part

    def fit(self, names: Iterable[str] = (), counts: Sequence[int] | None = None) -> Fitted:
        """Learn from a collection, each distinct name once; `counts` says how often each name occurs."""
        return self.learn(Occurrences.of_names(checked_names(names), counts))

    def similarity(self, a: str, b: str) -> float:
        """Return the similarity of two strings, for measures that learn nothing from a collection."""
        return self._unfitted().similarity(a, b)

    def align(self, a: str, b: str) -> Alignment:
        """Return the alignment of two strings, for measures that learn nothing from a collection."""
        return self._unfitted().align(a, b)

    def with_idf(self, idf: Mapping[str, float]) -> Fitted:
        """Use these weights of features instead of learned ones; others have the weight 1."""
        fitted = self._unfitted(idf=True)
        fitted.set_idf(idf)
        return fitted

    def _unfitted(self, idf: bool = False) -> Fitted:
        inner = any(part.learns for part in self.parts())
        if inner or (self.learns and not idf):
            raise DataError(f"{self} learns from a collection; call fit(names) first and use what it returns")
        return self.fit()

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the measure fitted to the strings it will compare."""
        raise NotImplementedError

    def length_ratio(self, threshold: float) -> float:
        """The least shorter / longer of the numbers of features of strings that can reach it; 0 if any can."""
        return 0.0


class Fitted:
    """A measure with what it learned. Base of the fitted forms of all measures.

    Attributes: measure; sub, the fitted sub-measure where there is one; reason, why a measure that adapts to its list
    has become this one, and evidence, what it saw in the list.
    """

    sub: Fitted | None = None
    reason: str = ""
    evidence: Any = None

    def __init__(self, measure: Measure) -> None:
        self.measure = measure

    def similarity(self, a: str, b: str) -> float:
        """Return the similarity of two strings."""
        return float(self.pairs([a], [b], n_jobs=1)[0])

    def align(self, a: str, b: str) -> Alignment:
        """Return the alignment behind the similarity of two strings."""
        left, right = checked_names([a, b], "the pair")
        return self.explain(left, right)

    def pairs(self, left: Iterable[str], right: Iterable[str], n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the similarity of each left string to the right string at the same position."""
        a, b = checked_names(left, "left"), checked_names(right, "right")
        if len(a) != len(b):
            raise DataError(f"{len(a)} left strings but {len(b)} right ones; pairs need as many on both sides")
        return self.score_pairs(a, b, effective_jobs(n_jobs))

    def matrix(
        self,
        left: Iterable[str],
        right: Iterable[str] | None = None,
        n_jobs: int | None = None,
        dtype: type[np.floating[Any]] = np.float64,
    ) -> Floats:
        """Return the similarities of all left strings to all right ones, or to each other, as float64 or float32."""
        if dtype not in (np.float64, np.float32):
            raise DataError(f"dtype must be numpy.float64 or numpy.float32, got {dtype!r}")
        a = checked_names(left, "left")
        b = a if right is None else checked_names(right, "right")
        return self.score_matrix(a, b, effective_jobs(n_jobs), dtype)

    def prepare(self, names: Iterable[str]) -> Prepared:
        """Return strings that can be compared with many others: what depends on one side is computed once.

        >>> from textmill.strings import Levenshtein
        >>> names = Levenshtein().fit().prepare(["Ann", "Anne", "Tom"])
        >>> names.scores(names, at_least=0.7).right.tolist()
        [0, 1, 0, 1, 2]
        """
        return self.prepared(checked_names(names))

    def prepared(self, names: list[str]) -> Prepared:
        """`prepare` of checked strings."""
        return Prepared(self, names)

    def join(self, names: list[str], *, min_word_similarity: float = 0.0, n_jobs: int = 1) -> NameJoin:
        """The way to find pairs of these names: by scoring, unless the measure has an index; see joins.py.

        Measures of words ignore similarities of words below `min_word_similarity` while they search.
        """
        return ScoredJoin(self, names)

    def recurrence(self, alignment: Alignment) -> Recurrence | None:
        """The choices behind an alignment, None for measures whose alignment is no choice by recurrence; optima.py."""
        return None

    def score_pairs(self, left: list[str], right: list[str], n_jobs: int) -> NDArray[np.float64]:
        """`pairs` of checked strings."""
        scores = (self.explain(a, b).score for a, b in zip(left, right, strict=True))
        return np.fromiter(scores, np.float64, len(left))

    def score_matrix(
        self, left: list[str], right: list[str], n_jobs: int, dtype: type[np.floating[Any]] = np.float64
    ) -> Floats:
        """`matrix` of checked strings."""
        scores = self.score_pairs([a for a in left for _ in right], right * len(left), n_jobs)
        return scores.reshape(len(left), len(right)).astype(dtype, copy=False)

    def score_table(self, left: list[str], right: list[str], at_least: float, n_jobs: int) -> sparse.csr_matrix:
        """Similarities above 0 that are at least `at_least`, as float32, without a dense matrix of all of them."""
        step = max(1, _CELLS // max(1, len(right)))
        rows = []
        for start in range(0, len(left), step):
            part = left if len(left) <= step else left[start : start + step]
            block = self.score_matrix(part, right, n_jobs, np.float32)
            block[block < at_least] = 0.0
            rows.append(sparse.csr_matrix(block))
        return sparse.vstack(rows, format="csr") if rows else sparse.csr_matrix((0, len(right)), dtype=np.float32)

    def explain(self, left: str, right: str) -> Alignment:
        """`align` of checked strings."""
        raise NotImplementedError

    def set_idf(self, idf: Mapping[str, float]) -> None:
        """Replace the weights of features."""
        raise DataError(f"{self.measure} has no weights of features; use with_idf of a measure that has")

    def forget_weights(self) -> None:
        """Let all features weigh the same, where they have weights."""


class FittedSequences(Fitted):
    """A measure of sequences of features, with the table of features and their weights.

    Attributes: measure; words, the features by id; idf (words,); weights (words,), a power of the idf, 0 for measures
    that weigh all features alike; sub, the fitted sub-measure or None.
    """

    def __init__(
        self,
        measure: Measure,
        features: Features,
        strings: Occurrences,
        sub: Measure | None,
        *,
        documents: str = "types",
        power: float = 1.0,
    ) -> None:
        super().__init__(measure)
        self._power = power
        self.features = features
        self.words: list[str] = []
        self._ids: dict[str, int] = {}
        self._learned: tuple[list[str], Encoded] = ([], _NOTHING)
        self._learned = (strings.items, self.encode(strings.items))  # most often the very names that are joined next
        for array in self._learned[1]:
            array.setflags(write=False)
        level = strings.features(list(self.words), self._learned[1])
        frequencies, size = level.frequencies(documents)
        self.unseen_idf = math.log(size) if size else 0.0
        self._idf = np.log(size / np.maximum(frequencies, 1.0)) if size else np.zeros(0)
        self.sub = None if sub is None else sub.learn(level)

    def encode(self, names: Iterable[str]) -> Encoded:
        """Return the features of strings as offsets and ids; features not met before get new ids."""
        names = list(names)
        if names == self._learned[0]:
            return self._learned[1]
        rows = [self.features(name) for name in names]
        flat = list(chain.from_iterable(rows))
        new = dict.fromkeys(flat) if not self._ids else dict.fromkeys(f for f in flat if f not in self._ids)
        self._ids.update(zip(new, count(len(self.words))))
        self.words.extend(new)
        return offsets_of(rows), np.fromiter(map(self._ids.__getitem__, flat), np.int32, len(flat))

    @property
    def idf(self) -> NDArray[np.float64]:
        """The weight of each feature, by id."""
        missing = len(self.words) - len(self._idf)
        if missing > 0:
            self._idf = np.concatenate([self._idf, np.full(missing, self.unseen_idf)])
        return self._idf

    @property
    def weights(self) -> NDArray[np.float64]:
        """What each feature weighs in a score, by id."""
        if self._power == 1.0:
            return self.idf
        return self.idf**self._power if self._power else np.ones(len(self.words))

    def set_idf(self, idf: Mapping[str, float]) -> None:
        """Replace the weights of features."""
        for feature, weight in idf.items():
            check_range(f"the weight of {feature!r}", weight, at_least=0.0, below=math.inf)
        self._learned = ([], _NOTHING)
        self.words = list(idf)
        self._ids = {feature: at for at, feature in enumerate(self.words)}
        self._idf = np.array(list(idf.values()), np.float64)
        self.unseen_idf = 1.0

    def forget_weights(self) -> None:
        """Let all features weigh the same."""
        self.set_idf({})

    def word_similarities(
        self, left: list[str], right: list[str], at_least: float = 0.0, n_jobs: int = 1
    ) -> sparse.csr_matrix:
        """Similarities of features by the sub-measure that are at least `at_least`; those of equal features are 1."""
        same = equal_strings(left, right)
        if self.sub is None:
            return same
        table = self.sub.score_table(left, right, at_least, n_jobs).maximum(same)
        return sparse.csr_matrix(table, dtype=np.float32)

    def word_table(self, at_least: float = 0.0, n_jobs: int | None = None) -> sparse.csr_matrix:
        """Return the similarities of all words that are at least `at_least`, float32, with the diagonal 1."""
        check_range("at_least", at_least, at_least=0.0, at_most=1.0)
        words = list(self.words)
        table = self.word_similarities(words, words, at_least, effective_jobs(n_jobs))
        table.sort_indices()
        return table


def equal_strings(left: list[str], right: list[str]) -> sparse.csr_matrix:
    """A matrix with 1 where strings are equal.

    >>> equal_strings(["a", "b"], ["b", "a", "b"]).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """
    places: dict[str, list[int]] = {}
    for j, string in enumerate(right):
        places.setdefault(string, []).append(j)
    rows = [places.get(string, []) for string in left]
    columns = np.fromiter(chain.from_iterable(rows), np.int32)
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, offsets_of(rows)), (len(left), len(right)))


def sparse_product(x: sparse.csr_matrix, y: sparse.csr_matrix, at_least: float) -> sparse.csr_matrix:
    """Entries of x y^T from `at_least` to 1, as float32, made a block of rows at a time.

    >>> x, y = sparse.csr_matrix([[1.0, 0.0], [0.75, 0.5]]), sparse.csr_matrix([[0.0, 1.0]])
    >>> sparse_product(x, y, 0.25).toarray().tolist()
    [[0.0], [0.5]]
    """
    columns = y.T.tocsr()
    rows = []
    for start in range(0, x.shape[0], 1024):
        block = (x[start : start + 1024] @ columns).astype(np.float32)
        np.minimum(block.data, 1.0, out=block.data)
        block.data[block.data < at_least] = 0.0
        block.eliminate_zeros()
        rows.append(block)
    return sparse.vstack(rows, format="csr") if rows else sparse.csr_matrix((0, y.shape[0]), dtype=np.float32)

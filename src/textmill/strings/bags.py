"""Measures of bags and sets of features: the order does not count.

    overlap |X n Y| / min(|X|, |Y|)        jaccard |X n Y| / |X u Y|        dice 2 |X n Y| / (|X| + |Y|)      over sets
    cosine  sum_w n_wx n_wy / (||x|| ||y||)                                  n_wx: how often w occurs in x
    tfidf   the same with n_wx idf(w) for n_wx                               idf(w) = log(|E| / |{x in E: w in x}|)

Vectors have one entry a distinct feature, so that a repeated feature counts as the cosine wants it. A string with
nothing to weigh (no feature, or all of weight 0) has the similarity 1 to itself and 0 to all others.

Cost of a pair: its common features. References: Salton & Buckley (1988); Moreau, Yvon & Cappé (2008).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import check_choice
from textmill.numeric import sparse
from textmill.strings.alignment import Alignment, Edge
from textmill.strings.cosine_join import CosineJoin
from textmill.strings.features import Features, Words
from textmill.strings.measure import (
    DOCUMENTS,
    Encoded,
    Fitted,
    FittedSequences,
    Floats,
    Measure,
    Occurrences,
    equal_strings,
    sparse_product,
)
from textmill.strings.pairs import NameJoin, Pairs
from textmill.strings.scored_join import Prepared

__all__ = ["Cosine", "Dice", "Jaccard", "Overlap", "TfIdf"]


Numbers: TypeAlias = NDArray[np.float64]

_WORDS = Words()
_ROWS = 1024  # of a product of sparse rows


@dataclass(frozen=True)
class _Set(Measure):
    """Distinct features; `divisor` makes a score of what two sets have in common."""

    features: Features = _WORDS

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure."""
        return _FittedBag(self, self.features, strings, None, power=0.0)

    def size(self, squares: Numbers) -> Numbers:
        """The size of a set, from the sum of squares of its entries, which are all 1."""
        return squares

    def divisor(self, common: Numbers, a: Numbers, b: Numbers) -> Numbers:
        """What the common features of sets of sizes a and b are divided by."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Vector(_Set):
    """Counts of features, compared by their cosine."""

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure."""
        return _FittedVector(self, self.features, strings, None, power=0.0)

    def size(self, squares: Numbers) -> Numbers:
        """The length of a vector."""
        return np.sqrt(squares)

    def divisor(self, common: Numbers, a: Numbers, b: Numbers) -> Numbers:
        """The product of both lengths."""
        return a * b


@dataclass(frozen=True)
class Overlap(_Set):
    """Common features by those of the smaller set.

    >>> Overlap().similarity("Prime Minister Tony Blair", "Tony Blair")
    1.0
    """

    name: ClassVar[str] = "overlap"

    def divisor(self, common: Numbers, a: Numbers, b: Numbers) -> Numbers:
        """The smaller set."""
        return np.minimum(a, b)


@dataclass(frozen=True)
class Jaccard(_Set):
    """Common features by those of either.

    >>> Jaccard().similarity("Prime Minister Tony Blair", "Tony Blair")
    0.5
    """

    name: ClassVar[str] = "jaccard"

    def divisor(self, common: Numbers, a: Numbers, b: Numbers) -> Numbers:
        """The union."""
        return a + b - common


@dataclass(frozen=True)
class Dice(_Set):
    """Twice the common features by those of both.

    >>> round(Dice().similarity("Prime Minister Tony Blair", "Tony Blair"), 6)
    0.666667
    """

    name: ClassVar[str] = "dice"

    def divisor(self, common: Numbers, a: Numbers, b: Numbers) -> Numbers:
        """The mean of both sizes."""
        return (a + b) / 2


@dataclass(frozen=True)
class Cosine(_Vector):
    """Cosine of counts of features.

    >>> Cosine().similarity("Prime Minister Tony Blair", "Blair")
    0.5
    """

    name: ClassVar[str] = "cosine"


@dataclass(frozen=True)
class TfIdf(_Vector):
    """Cosine of counts weighted by rarity; `documents` says what rarity is counted in.

    >>> fitted = TfIdf().fit(["Mr Smith", "Mr Jones", "Ann Smith"])
    >>> round(fitted.similarity("Mr Jones", "Ann Jones"), 6)
    0.663369
    """

    documents: str = "types"
    name: ClassVar[str] = "tfidf"

    def __post_init__(self) -> None:
        check_choice("documents", self.documents, DOCUMENTS)

    @property
    def learns(self) -> bool:
        """Rarity comes from a collection."""
        return True

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure."""
        return _FittedVector(self, self.features, strings, None, documents=self.documents)


class _FittedBag(FittedSequences):
    """A fitted measure of sets."""

    measure: _Set

    def prepared(self, names: list[str]) -> _PreparedBags:
        """Vectors of strings, and their sizes."""
        return _PreparedBags(self, names, self.vectors(self.encode(names)))

    def score_pairs(self, left: list[str], right: list[str], n_jobs: int) -> NDArray[np.float64]:
        """Scores of pairs."""
        x, y = self._rows(left, right)
        common = np.asarray(x.multiply(y).sum(axis=1)).ravel()
        same = np.array([p == q for p, q in zip(left, right, strict=True)], bool)
        return self.finish(common, self.sizes(x), self.sizes(y), same)

    def score_matrix(
        self, left: list[str], right: list[str], n_jobs: int, dtype: type[np.floating[Any]] = np.float64
    ) -> Floats:
        """Scores of all pairs."""
        x, y = self._rows(left, right)
        common = (x @ y.T).toarray()
        a, b = self.sizes(x), self.sizes(y)
        scores = self.finish(common, a[:, np.newaxis], b[np.newaxis], np.zeros((1, 1), bool))
        empty = {name: i for i, name in enumerate(right) if b[i] == 0}
        for i in np.flatnonzero(a == 0):
            if left[i] in empty:
                scores[i] = [float(left[i] == other) for other in right]
        return scores.astype(dtype, copy=False)

    def explain(self, left: str, right: str) -> Alignment:
        """Edges between equal features."""
        x, y = self.features(left), self.features(right)
        score = float(self.score_pairs([left], [right], 1)[0])
        edges = [edge for w in Counter(x) if w in y for edge in self.edges(w, x, y)]
        total = sum(edge.weight for edge in edges)
        normalizer = total / score if score else 1.0
        edges.sort(key=lambda edge: (edge.left or 0, edge.right or 0))
        return Alignment(str(self.measure), left, right, tuple(x), tuple(y), tuple(edges), score, normalizer)

    def edges(self, word: str, x: list[str], y: list[str]) -> list[Edge]:
        """The edges of a common feature: of a set, one."""
        return [Edge(x.index(word), y.index(word), 1.0, 1.0)]

    def vectors(self, encoded: Encoded) -> sparse.csr_matrix:
        """Rows over all features: of sets, 1 where a feature stands."""
        rows = self._counts(encoded)
        rows.data[:] = 1.0
        return rows

    def sizes(self, rows: sparse.csr_matrix) -> Numbers:
        """The size of each row."""
        return self.measure.size(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())

    def finish(self, common: Numbers, a: Numbers, b: Numbers, same: NDArray[np.bool_]) -> Numbers:
        """Scores from what is common and the two sizes; `same` where strings are equal."""
        empty = (a * b) == 0
        below = self.measure.divisor(common, a, b)
        scores: Numbers = np.where(empty, same, common / np.where(empty, 1.0, below))
        return np.minimum(scores, 1.0)

    def _rows(self, left: list[str], right: list[str]) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """Vectors of both sides, over all features."""
        encoded = self.encode(left), self.encode(right)
        return self.vectors(encoded[0]), self.vectors(encoded[1])

    def _counts(self, encoded: Encoded) -> sparse.csr_matrix:
        """The weights of the features of each string, added up."""
        offsets, ids = encoded
        shape = len(offsets) - 1, len(self.words)
        rows = sparse.csr_matrix((self.weights[ids], ids, offsets), shape=shape, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return rows


class _FittedVector(_FittedBag):
    """A fitted cosine."""

    def join(self, names: list[str], *, min_word_similarity: float = 0.0, n_jobs: int = 1) -> NameJoin:
        """By an index of vectors."""
        return CosineJoin(self, names)

    def score_table(self, left: list[str], right: list[str], at_least: float, n_jobs: int) -> sparse.csr_matrix:
        """Cosines without a dense matrix."""
        x, y = self._rows(left, right)
        for rows in (x, y):
            rows.data /= np.repeat(self.sizes(rows), np.diff(rows.indptr))
        table = sparse_product(x, y, at_least)
        empty = [name for name, size in zip(left, np.diff(x.indptr), strict=True) if not size]
        return table.maximum(equal_strings(left, right)) if empty else table

    def edges(self, word: str, x: list[str], y: list[str]) -> list[Edge]:
        """All occurrences on one side with all on the other."""
        weight = float(self.weights[self._ids[word]])
        places = [(i, j) for i, a in enumerate(x) if a == word for j, b in enumerate(y) if b == word]
        return [Edge(i, j, weight * weight, 1.0) for i, j in places]

    def vectors(self, encoded: Encoded) -> sparse.csr_matrix:
        """Rows over all features."""
        return self._counts(encoded)


class _PreparedBags(Prepared):
    """Strings as rows over all features; only pairs with a common feature are scored."""

    fitted: _FittedBag

    def __init__(self, fitted: _FittedBag, names: list[str], rows: sparse.csr_matrix) -> None:
        super().__init__(fitted, names)
        self.rows = rows
        self.sizes = fitted.sizes(rows)

    def part(self, begin: int, end: int) -> _PreparedBags:
        """The strings begin to end - 1."""
        return _PreparedBags(self.fitted, self.names[begin:end], self.rows[begin:end])

    def score(self, other: Prepared | None, at_least: float, n_jobs: int) -> Pairs:
        """Pairs that score at least `at_least`, above 0."""
        right = self if other is None else other
        if not isinstance(right, _PreparedBags):
            raise DataError("both sides must be prepared by the same fitted measure")
        width = max(self.rows.shape[1], right.rows.shape[1])  # the later side may have brought new features
        columns = sparse.csr_matrix(
            (right.rows.data, right.rows.indices, right.rows.indptr), (len(right), width)
        ).T.tocsr()
        blocks = [Pairs.of(self._equal(right))]
        for begin in range(0, len(self), _ROWS):
            rows = self.rows[begin : begin + _ROWS]
            rows = sparse.csr_matrix((rows.data, rows.indices, rows.indptr), (rows.shape[0], width))
            common = (rows @ columns).tocoo()
            i, j = common.row + begin, common.col
            score = self.fitted.finish(common.data, self.sizes[i], right.sizes[j], np.zeros(1, bool))
            keep = (score >= at_least) & (score > 0.0)
            blocks.append(Pairs(i[keep].astype(np.int32), j[keep].astype(np.int32), score[keep]))
        pairs = Pairs.concatenate(blocks)
        return pairs.where(pairs.left < pairs.right) if other is None else pairs

    def _equal(self, other: _PreparedBags) -> list[tuple[int, int, float]]:
        """Strings that have no feature equal themselves."""
        places: dict[str, list[int]] = {}
        for j in np.flatnonzero(other.sizes == 0):
            places.setdefault(other.names[j], []).append(int(j))
        return [(int(i), j, 1.0) for i in np.flatnonzero(self.sizes == 0) for j in places.get(self.names[i], ())]

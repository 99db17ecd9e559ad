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
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.model import check_choice
from textmill.numeric import sparse
from textmill.strings.alignment import Alignment, Edge
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

__all__ = ["Cosine", "Dice", "Jaccard", "Overlap", "TfIdf"]


_WORDS = Words()


@dataclass(frozen=True)
class _Bag(Measure):
    features: Features = _WORDS

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure."""
        return _FittedBag(self, self.features, strings, None)


@dataclass(frozen=True)
class Overlap(_Bag):
    """Common features by those of the smaller set.

    >>> Overlap().similarity("Prime Minister Tony Blair", "Tony Blair")
    1.0
    """

    name: ClassVar[str] = "overlap"


@dataclass(frozen=True)
class Jaccard(_Bag):
    """Common features by those of either.

    >>> Jaccard().similarity("Prime Minister Tony Blair", "Tony Blair")
    0.5
    """

    name: ClassVar[str] = "jaccard"


@dataclass(frozen=True)
class Dice(_Bag):
    """Twice the common features by those of both.

    >>> round(Dice().similarity("Prime Minister Tony Blair", "Tony Blair"), 6)
    0.666667
    """

    name: ClassVar[str] = "dice"


@dataclass(frozen=True)
class Cosine(_Bag):
    """Cosine of counts of features.

    >>> Cosine().similarity("Prime Minister Tony Blair", "Blair")
    0.5
    """

    name: ClassVar[str] = "cosine"


@dataclass(frozen=True)
class TfIdf(_Bag):
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


class _FittedBag(FittedSequences):
    """A fitted measure of bags."""

    def score_pairs(self, left: list[str], right: list[str], threads: int) -> NDArray[np.float64]:
        """Scores of pairs."""
        x, y = self._rows(left, right)
        common = np.asarray(x.multiply(y).sum(axis=1)).ravel()
        a, b = self._sizes(x), self._sizes(y)
        same = np.array([p == q for p, q in zip(left, right, strict=True)], bool)
        return self._finish(common, a, b, same)

    def score_matrix(
        self, left: list[str], right: list[str], threads: int, dtype: type[np.floating[Any]] = np.float64
    ) -> Floats:
        """Scores of all pairs."""
        x, y = self._rows(left, right)
        common = (x @ y.T).toarray()
        a, b = self._sizes(x), self._sizes(y)
        scores = self._finish(common, a[:, np.newaxis], b[np.newaxis], np.zeros((1, 1), bool))
        empty = {name: i for i, name in enumerate(right) if b[i] == 0}
        for i in np.flatnonzero(a == 0):
            if left[i] in empty:
                scores[i] = [float(left[i] == other) for other in right]
        return scores.astype(dtype, copy=False)

    def score_table(self, left: list[str], right: list[str], epsilon: float, threads: int) -> sparse.csr_matrix:
        """Cosines without a dense matrix."""
        if not isinstance(self.measure, Cosine | TfIdf):
            return super().score_table(left, right, epsilon, threads)
        x, y = self._rows(left, right)
        for rows in (x, y):
            rows.data /= np.repeat(self._sizes(rows), np.diff(rows.indptr))
        table = sparse_product(x, y, epsilon)
        empty = [name for name, size in zip(left, np.diff(x.indptr), strict=True) if not size]
        return table.maximum(equal_strings(left, right)) if empty else table

    def explain(self, left: str, right: str) -> Alignment:
        """Edges between equal features: each feature once for sets, all occurrences for cosines."""
        x, y = self.features(left), self.features(right)
        score = float(self.score_pairs([left], [right], 1)[0])
        counts = (Counter(x), Counter(y))
        edges = []
        weights = self.idf
        for w in counts[0]:
            if w not in counts[1]:
                continue
            if isinstance(self.measure, Cosine | TfIdf):
                idf = 1.0 if isinstance(self.measure, Cosine) else float(weights[self._ids[w]])
                places = [(i, j) for i, a in enumerate(x) if a == w for j, b in enumerate(y) if b == w]
                edges += [Edge(i, j, idf * idf, 1.0) for i, j in places]
            else:
                edges.append(Edge(x.index(w), y.index(w), 1.0, 1.0))
        total = sum(edge.weight for edge in edges)
        normaliser = total / score if score else 1.0
        edges.sort(key=lambda edge: (edge.left or 0, edge.right or 0))
        return Alignment(str(self.measure), left, right, tuple(x), tuple(y), tuple(edges), score, normaliser)

    def _rows(self, left: list[str], right: list[str]) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """Vectors of both sides, over all features."""
        encoded = self.encode(left), self.encode(right)
        return self._vectors(encoded[0]), self._vectors(encoded[1])

    def _vectors(self, encoded: Encoded) -> sparse.csr_matrix:
        offsets, ids = encoded
        weights = self.idf[ids] if isinstance(self.measure, TfIdf) else np.ones(len(ids))
        rows = sparse.csr_matrix((weights, ids, offsets), shape=(len(offsets) - 1, len(self.words)), copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        if not isinstance(self.measure, Cosine | TfIdf):
            rows.data[:] = 1.0
        return rows

    def _sizes(self, rows: sparse.csr_matrix) -> NDArray[np.float64]:
        squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        return np.sqrt(squares) if isinstance(self.measure, Cosine | TfIdf) else squares

    def _finish(
        self, common: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64], same: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Scores from what is common and the two sizes; `same` where strings are equal."""
        if isinstance(self.measure, Overlap):
            below = np.minimum(a, b)
        elif isinstance(self.measure, Jaccard):
            below = a + b - common
        elif isinstance(self.measure, Dice):
            below = (a + b) / 2
        else:
            below = a * b
        empty = (a * b) == 0
        scores: NDArray[np.float64] = np.where(empty, same, common / np.where(empty, 1.0, below))
        return np.minimum(scores, 1.0)

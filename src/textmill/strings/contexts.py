"""Similarity of features by the company they keep, learned from the collection itself.

    v_g[h] = n(g, h) log(G / G_h)        n(g, h): how often h occurs near g; G features, G_h of them with h near them
    sim(g, h) = cos(v_g, v_h),  sim(g, g) = 1

Near means at most window / 2 places away on either side within one string of the level above (within a word, for
n-grams of words), or, with cross=True, within the whole name. Overlapping n-grams share neighbors, and so do letters
with and without accents or wrongly encoded: they become similar without any table of characters.

Cost: one visit of each occurrence times the window, then one sparse product.
Reference: Moreau, Yvon & Cappé (2008), whose best system is ml(words, sub=ml(trigrams, sub=context)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import check_choice, check_range
from textmill.numeric import sparse
from textmill.strings.alignment import Alignment, Edge
from textmill.strings.measure import Encoded, Fitted, Floats, Measure, Occurrences, equal_strings, sparse_product

__all__ = ["Context"]


@dataclass(frozen=True)
class Context(Measure):
    """Cosine of weighted bags of neighbors; a sub-measure of measures over n-grams or words.

    Parameters:
        window: Total width of the window.
        cross: Whether the window may leave the string it began in.

    >>> from textmill.strings import Exact, Ml, Ngrams
    >>> names = ["Lugovoï", "Lugovoi", "Lugovoy", "Litvinenko"]
    >>> plain, soft = (Ml(Ngrams(), sub=sub).fit(names) for sub in (Exact(), Context()))
    >>> bool(soft.similarity("Lugovoï", "Lugovoy") > plain.similarity("Lugovoï", "Lugovoy"))
    True
    """

    window: int = 4
    cross: bool = False
    name: ClassVar[str] = "context"

    def __post_init__(self) -> None:
        check_range("window", self.window, at_least=2, whole=True)
        check_choice("cross", self.cross, [True, False])

    @property
    def learns(self) -> bool:
        """Contexts come from a collection."""
        return True

    def learn(self, strings: Occurrences) -> Fitted:
        """Collect the neighbors of every feature."""
        if strings.above is None:
            raise DataError("context compares features by their neighbors; use it as sub of a measure over n-grams")
        return _FittedContext(self, strings)


class _FittedContext(Fitted):
    def __init__(self, measure: Context, strings: Occurrences) -> None:
        super().__init__(measure)
        self._ids = {item: at for at, item in enumerate(strings.items)}
        (offsets, ids), weights = _whole_names(strings) if measure.cross else (strings.sequences, strings.weights)
        self.vectors = _vectors(offsets, ids, weights, len(strings.items), measure.window // 2)

    def score_matrix(
        self, left: list[str], right: list[str], n_jobs: int, dtype: type[np.floating[Any]] = np.float64
    ) -> Floats:
        """Scores of all pairs."""
        scores: Floats = self.score_table(left, right, 0.0, n_jobs).toarray().astype(dtype)
        return scores

    def score_table(self, left: list[str], right: list[str], at_least: float, n_jobs: int) -> sparse.csr_matrix:
        """Cosines without a dense matrix."""
        return sparse_product(self._rows(left), self._rows(right), at_least).maximum(equal_strings(left, right))

    def score_pairs(self, left: list[str], right: list[str], n_jobs: int) -> NDArray[np.float64]:
        """Scores of pairs."""
        scores = np.asarray(self._rows(left).multiply(self._rows(right)).sum(axis=1)).ravel()
        same = [a == b for a, b in zip(left, right, strict=True)]
        return np.where(same, 1.0, np.minimum(scores, 1.0))

    def explain(self, left: str, right: str) -> Alignment:
        """One edge between the two features."""
        score = float(self.score_pairs([left], [right], 1)[0])
        edges = (Edge(0, 0, score, score),) if score else ()
        return Alignment(str(self.measure), left, right, (left,), (right,), edges, score)

    def _rows(self, features: list[str]) -> sparse.csr_matrix:
        """Vectors of features; those never seen are empty."""
        ids = np.fromiter((self._ids.get(feature, -1) for feature in features), np.int64, len(features))
        rows = np.flatnonzero(ids >= 0)
        choice = sparse.csr_matrix((np.ones(len(rows)), (rows, ids[rows])), (len(ids), self.vectors.shape[0]))
        return choice @ self.vectors


def _vectors(
    offsets: NDArray[np.int64], ids: NDArray[np.int32], weights: NDArray[np.int64], size: int, reach: int
) -> sparse.csr_matrix:
    """Rows of length 1: the weighted neighbors of each feature."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    counts = sparse.csr_matrix((size, size))
    for step in range(1, reach + 1):
        inside = np.flatnonzero(owner[:-step] == owner[step:]) if step < len(ids) else np.zeros(0, np.int64)
        values = weights[owner[inside]].astype(np.float64)
        pairs = sparse.coo_matrix((values, (ids[inside], ids[inside + step])), (size, size)).tocsr()
        counts = counts + pairs + pairs.T
    counts = sparse.csr_matrix(counts)
    near = np.bincount(counts.indices, minlength=size)
    counts.data *= np.log(size / near[counts.indices]) if size else 1.0
    counts.eliminate_zeros()
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    counts.data /= np.repeat(lengths, np.diff(counts.indptr))
    return counts


def _whole_names(strings: Occurrences) -> tuple[Encoded, NDArray[np.int64]]:
    """Sequences of features over whole names: those of their words one after the other."""
    sequences, weights, level = strings.sequences, strings.weights, strings.above
    while level is not None and level.above is not None:
        offsets, ids = sequences
        outer, words = level.sequences
        lengths = np.diff(offsets)[words]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        places = np.repeat(offsets[:-1][words] - ends[:-1], lengths) + np.arange(ends[-1])
        sequences, weights, level = (ends[outer], ids[places]), level.weights, level.above
    return sequences, weights

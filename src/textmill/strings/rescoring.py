"""Scores of pairs that a search over a cut table found, by the similarities of all their words.

A search works with a table that lacks similarities of words below epsilon, and gives pairs whose score can reach the
threshold whatever those are. Here they become known: words that meet in a pair and are not in the table are compared
by the sub-measure, each two of them once a block, and the pairs are aligned again.

Cost: the sum of n m over the pairs, and one similarity for each two words that are not in the table. Memory: a block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import strings as native
from textmill.corpus import csr_arrays
from textmill.numeric import SparseRows, sparse

if TYPE_CHECKING:
    from textmill.strings.measure import Encoded, FittedSequences

__all__ = ["arrays_of", "exact_scores", "met_words"]

_BLOCK = 1 << 17  # pairs rescored together
_CELLS = 1 << 24  # meetings of words held together


def exact_scores(
    fitted: FittedSequences,
    rule: dict[str, Any],
    names: tuple[Encoded, Encoded],
    weights: NDArray[np.float64],
    pairs: tuple[NDArray[np.int32], NDArray[np.int32]],
    table: sparse.csr_matrix,
    n_jobs: int,
) -> NDArray[np.float64]:
    """Scores of pairs (left, right) of names given by ids of words; `table` holds the similarities known already.

    >>> from textmill.strings import Jaro, Ml
    >>> fitted = Ml(sub=Jaro(), weights="uniform").fit(["Ann Lee", "Anne Li"])
    >>> names, first = fitted.encode(["Ann Lee", "Anne Li"]), np.zeros(1, np.int32)
    >>> known = fitted.word_table(0.9)
    >>> rule, both = fitted.measure.rule(), (first, first + 1)
    >>> exact_scores(fitted, rule, (names, names), np.ones(4), both, known, 1).round(6).tolist()
    [0.763889]
    """
    left, right = pairs
    scores = np.empty(len(left))
    cells = np.cumsum(np.diff(names[0][0])[left] * np.diff(names[1][0])[right])
    start = 0
    while start < len(left):
        before = int(cells[start - 1]) if start else 0
        end = min(start + _BLOCK, max(start + 1, int(np.searchsorted(cells, before + _CELLS, side="right"))))
        i, j = met_words(names, (left[start:end], right[start:end]), len(weights))
        out = np.empty(end - start)
        here = (left[start:end], right[start:end])
        arrays = arrays_of(_completed(fitted, i, j, table, len(weights), n_jobs))
        native.score_pairs(*names, weights, arrays, *here, out=out, threads=n_jobs, **rule)
        scores[start:end] = out
        start = end
    return scores


def met_words(
    names: tuple[Encoded, Encoded], pairs: tuple[NDArray[np.int32], NDArray[np.int32]], words: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The words that meet in pairs of names, each two of them once, by rising ids.

    >>> names = (np.array([0, 2, 3]), np.array([0, 1, 1], np.int32))
    >>> [ids.tolist() for ids in met_words((names, names), (np.array([0, 1]), np.array([1, 1])), 2)]
    [[0, 1], [1, 1]]
    """
    (a, left), (b, right) = names
    n, m = np.diff(a)[pairs[0]], np.diff(b)[pairs[1]]
    cells = n * m
    pair = np.repeat(np.arange(len(n)), cells)
    cell = np.arange(len(pair)) - np.repeat(np.cumsum(cells) - cells, cells)
    i = left[a[pairs[0]][pair] + cell // m[pair]].astype(np.int64)
    j = right[b[pairs[1]][pair] + cell % m[pair]].astype(np.int64)
    i, j = np.divmod(np.unique(i * words + j), max(words, 1))
    return i, j


def arrays_of(table: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """The three arrays of a table of similarities, as the kernels want them.

    >>> [part.tolist() for part in arrays_of(sparse.csr_matrix([[0.0, 0.5]]))]
    [[0, 1], [1], [0.5]]
    """
    if not isinstance(table, SparseRows):  # whose rows are sorted
        table.sort_indices()
    return csr_arrays(table, np.float32)


def _completed(
    fitted: FittedSequences,
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    table: sparse.csr_matrix,
    words: int,
    n_jobs: int,
) -> sparse.csr_matrix:
    """Similarities of words i with words j, from the table or else from the sub-measure; i, j rise."""
    inside = (i < table.shape[0]) & (j < table.shape[1])
    values = np.zeros(len(i), np.float32)
    if inside.any():
        values[inside] = np.asarray(table[i[inside], j[inside]]).ravel()
    values[i == j] = 1.0
    missing = np.flatnonzero(values == 0.0)
    if fitted.sub is not None and len(missing):
        left, right = ([fitted.words[k] for k in ids[missing]] for ids in (i, j))
        values[missing] = fitted.sub.score_pairs(left, right, n_jobs)
    nonzero = np.flatnonzero(values)
    offsets = np.searchsorted(i[nonzero], np.arange(words + 1))
    return sparse.csr_matrix((values[nonzero], j[nonzero], offsets), (words, words))

"""Scores of given pairs of documents, and of all pairs of some."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.numeric import is_sparse
from textmill.tasks.similarity.methods import similarities
from textmill.tasks.similarity.snapshot import Snapshot

__all__ = ["pair_scores", "score_matrix"]

_BLOCK = 4096  # pairs that are compared together


def pair_scores(snapshot: Snapshot, method: str, left: Ints, right: Ints) -> Floats:
    """Return the score of each pair of documents, by their numbers."""
    measure = snapshot.method(method).measure
    scores = np.zeros(len(left))
    for begin in range(0, len(left), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        a, b = (snapshot.vectors_of(method, side[part]) for side in (left, right))
        if is_sparse(a):
            A, B = a.csr().astype(np.float64), b.csr().astype(np.float64)
            keys = np.asarray(A.multiply(B).sum(axis=1)).ravel()
            if measure != "cosine":
                squares = [np.asarray(X.multiply(X).sum(axis=1)).ravel() for X in (A, B)]
                keys = 2 * keys - squares[0] - squares[1]
        else:
            A, B = a.astype(np.float64), b.astype(np.float64)
            keys = np.einsum("ij,ij->i", A, B) if measure == "cosine" else -((A - B) ** 2).sum(axis=1)
        scores[part] = similarities(measure, np.minimum(keys, 0.0) if measure != "cosine" else keys)
    return scores


def score_matrix(snapshot: Snapshot, method: str, numbers: Ints | Sequence[int]) -> Floats:
    """Return the scores of all pairs of some documents, (n, n), with 1 on the diagonal."""
    measure = snapshot.method(method).measure
    rows = snapshot.vectors_of(method, np.asarray(numbers, np.int64))
    X = rows.csr().astype(np.float64) if is_sparse(rows) else rows.astype(np.float64)
    products = np.asarray((X @ X.T).todense()) if is_sparse(rows) else X @ X.T
    if measure == "cosine":
        scores = similarities(measure, products)
    else:
        squares = np.diag(products)
        scores = similarities(measure, np.minimum(2 * products - squares[:, None] - squares, 0.0))
    np.fill_diagonal(scores, 1.0)
    return scores

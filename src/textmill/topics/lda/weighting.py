"""What an occurrence of a term counts in a topic model: less where the term says little.

    idf     w_t  = log(n / documents with the term)
    pmi     w_dt = max(0, log(p(term | document) / p(term)))

The counts of the corpus are kept with the model, so that new documents are weighed alike. A term that the corpus does
not have weighs as much as the rarest that it has. Cost: one pass, and a visit of each entry.
Reference: Wilson & Chew (2010), Term weighting schemes for latent Dirichlet allocation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.model import check_choice
from textmill.numeric import sparse

__all__ = ["WEIGHTINGS", "entry_weights", "term_weights", "weighed"]


WEIGHTINGS = ("idf", "pmi")


def term_weights(chunks: Iterable[sparse.csr_matrix], kind: str) -> Floats:
    """The number of each term of a corpus that `weighed` needs: log(n / documents), or -log p(term).

    >>> term_weights([sparse.csr_matrix([[2, 1], [1, 0]])], "idf").round(4).tolist()
    [0.0, 0.6931]
    """
    check_choice("weighting", kind, WEIGHTINGS)
    counts, documents = np.zeros(0), 0
    for X in chunks:
        if X.shape[1] > len(counts):
            counts = np.pad(counts, (0, X.shape[1] - len(counts)))
        values = (X.data > 0).astype(np.float64) if kind == "idf" else X.data
        counts += np.bincount(X.indices, weights=values, minlength=len(counts))
        documents += int((np.diff(X.indptr) > 0).sum())
    if not counts.any():
        raise DataError("X has no documents with a word; pass at least one")
    total = documents if kind == "idf" else counts.sum()
    logs: Floats = np.log(total / np.maximum(counts, counts[counts > 0].min()))
    return logs


def weighed(X: sparse.csr_matrix, weights: Floats, kind: str) -> sparse.csr_matrix:
    """The counts times their weights.

    >>> X = sparse.csr_matrix([[2, 1], [1, 0]])
    >>> weighed(X, term_weights([X], "idf"), "idf").toarray().round(4).tolist()
    [[0.0, 0.6931], [0.0, 0.0]]
    """
    weighed_bags = sparse.csr_matrix((X.data * entry_weights(X, weights, kind), X.indices, X.indptr), shape=X.shape)
    weighed_bags.eliminate_zeros()
    return weighed_bags


def entry_weights(X: sparse.csr_matrix, weights: Floats, kind: str) -> Floats:
    """What an occurrence of each entry of X counts.

    >>> X = sparse.csr_matrix([[2, 1], [1, 0]])
    >>> entry_weights(X, term_weights([X], "idf"), "idf").round(4).tolist()
    [0.0, 0.6931, 0.0]
    """
    if X.shape[1] > len(weights):
        weights = np.pad(weights, (0, X.shape[1] - len(weights)), constant_values=weights.max())
    factors: Any = weights[X.indices]
    if kind == "pmi":
        lengths = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
        here = X.data / np.repeat(np.maximum(lengths, 1e-300), np.diff(X.indptr))
        factors = np.maximum(factors + np.log(np.maximum(here, 1e-300)), 0.0)
    entries: Floats = factors
    return entries

"""Older ways to decompose a stream, for comparison with LSA.

    zms                   D, c new documents, dense, exactly: Z = U^T D, Q R = D - U Z, SVD_k of [S, Z; 0, R]
    frequent_directions   the same, and what is cut is taken from all: s_i^2 <- s_i^2 - s_k+1^2, so that
                          |A A^T - U S^2 U^T|_2 <= |A - A_j|_F^2 / (k + 1 - j) for any j <= k
    hebbian               one pass an epoch of Sanger's rule: u_i += eta y_i (x - sum_{j <= i} y_j u_j), y_i = u_i . x

A direct decomposition of everything at once is `base_case` of the whole matrix.

Cost a document: zms O(m (k + c)^2 / c), least at c = k; hebbian O(m k), but it takes very many epochs.
References: Zha & Simon (1999), On updating problems in latent semantic indexing; Liberty (2013), Simple and
deterministic matrix sketching; Gorrell & Webb (2005), Generalized Hebbian algorithm for incremental latent semantic
analysis.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from textmill.numeric import linalg, sparse
from textmill.topics.decomposition import Decomposition, blas_threads, cut, factored, with_signs

__all__ = ["frequent_directions", "hebbian", "zms"]


def zms(chunks: Iterable[sparse.csr_matrix], rank: int) -> Decomposition:
    """Decompose a stream by the updates of Zha, Marques & Simon, without V.

    >>> zms([sparse.csr_matrix(np.diag([3.0, 1.0])), sparse.csr_matrix([[0.0, 2.0]])], 2).s.round(4).tolist()
    [3.0, 2.2361]
    """
    return _updated(chunks, rank, shrink=False)


def frequent_directions(chunks: Iterable[sparse.csr_matrix], rank: int) -> Decomposition:
    """Sketch a stream by `rank` directions; squares are too small by at most `bound`, whatever the order of documents.

    >>> model = frequent_directions([sparse.csr_matrix(np.diag([3.0, 1.0])), sparse.csr_matrix([[0.0, 2.0]])], 1)
    >>> model.s.round(4).tolist(), round(model.bound, 4)
    ([2.0], 5.0)
    """
    return _updated(chunks, rank, shrink=True)


def _updated(chunks: Iterable[sparse.csr_matrix], rank: int, *, shrink: bool) -> Decomposition:
    model = Decomposition(np.zeros((0, 0)), np.zeros(0))
    for X in chunks:
        model = model.widened(max(len(model.U), X.shape[1]))
        D = np.zeros((len(model.U), X.shape[0]))
        D[: X.shape[1]] = X.T.toarray()
        energy = float((D**2).sum())
        Z = model.U.T @ D
        D -= model.U @ Z
        again = model.U.T @ D  # twice is enough
        D -= model.U @ again
        with blas_threads(1):
            Q, R = linalg.qr(D, mode="economic", overwrite_a=True, check_finite=False)
        k = model.rank
        small = np.zeros((k + len(R), k + X.shape[0]))
        small[:k, :k] = np.diag(model.s)
        small[:k, k:] = Z + again
        small[k:, k:] = R
        K, s = factored(small)
        r = cut(s, rank, len(model.U))
        U = model.U @ K[:k, :r] + Q @ K[k:, :r]
        lost = float(s[r]) ** 2 if r < len(s) else 0.0
        s = np.sqrt(s[:r] ** 2 - lost) if shrink else s[:r]
        model = Decomposition(with_signs(U), s, model.documents + X.shape[0], model.energy + energy, model.bound + lost)
    return model


def hebbian(chunks: Iterable[sparse.csr_matrix], rank: int, *, epochs: int = 10, rate: float = 0.01) -> Decomposition:
    """Decompose a stream by Sanger's rule, in `epochs` passes; the rate falls as 1 / epoch.

    >>> X = sparse.csr_matrix(np.diag([3.0, 1.0]))
    >>> abs(hebbian([X] * 50, 1, rate=0.1).U).round(2).tolist()
    [[1.0], [0.0]]
    """
    U = np.zeros((0, rank))
    random = np.random.default_rng(0)
    for epoch in range(1, epochs + 1):
        squares, documents, energy = np.zeros(rank), 0, 0.0
        for X in chunks:
            if X.shape[1] > len(U):
                U = np.vstack([U, random.normal(scale=0.01, size=(X.shape[1] - len(U), rank))])
            for row in X:
                x = np.zeros(len(U))
                x[row.indices] = row.data
                y = U.T @ x
                U += (rate / epoch) * (np.outer(x, y) - U @ np.triu(np.outer(y, y)))
                squares += y**2
            documents += X.shape[0]
            energy += float((X.data**2).sum())
    lengths = np.linalg.norm(U, axis=0)
    s = np.sqrt(squares) / np.maximum(lengths, 1e-300)
    return Decomposition(with_signs(U / np.maximum(lengths, 1e-300)), s, documents, energy, np.nan)

"""Singular vectors of a matrix that is known by its products, from a few of them.

    K = span of Y, C Y, ..., C^q Y          Y = X^T G, G Gaussian (n x (rank + oversampling)), C = X^T X

The best vectors in K are those of X restricted to it: with B an orthonormal basis of K, X B = Z R and R = P S W^T, they
are B W. As K holds all powers, a small q gives what a power iteration needs many more passes for.

Cost: q + 2 pairs of products with X, O(m (q rank)^2). Reference: Musco & Musco (2015), Randomized block Krylov methods
for stronger and faster approximate singular value decomposition.
"""

from __future__ import annotations

import numpy as np

from textmill.arrays import Floats
from textmill.numeric import linalg
from textmill.topics.decomposition import blas_threads, cut, factored, orthonormal
from textmill.topics.operators import Operator

__all__ = ["block_krylov", "significant"]


_APART = 1e-10  # products of columns that count as orthogonal
_WELL_ABOVE = 1e-3  # of the largest squared singular value: the relative error of the others is 1e-13 then


def block_krylov(X: Operator, rank: int, oversampling: int, powers: int, seed: int) -> tuple[Floats, Floats]:
    """Return at most `rank` right singular vectors (as rows) and values, from q = `powers` products with C.

    >>> from textmill.topics import as_operator
    >>> X = as_operator(np.diag([3.0, 1.0, 2.0]))
    >>> block_krylov(X, 2, 1, 2, seed=0)[1].round(6).tolist()
    [3.0, 2.0]
    """
    width = min(rank + oversampling, min(X.shape))
    random = np.random.default_rng(seed)
    basis = Q = orthonormal(X.transposed_times(random.normal(size=(X.shape[0], width))))
    for _ in range(powers):
        if basis.shape[1] >= min(X.shape):
            break
        Q = orthonormal(X.transposed_times(X.times(Q)), rounds=1)  # after each product, or small directions go
        basis, Q = _extended(basis, Q)
    P, S = _right_vectors(X.times(basis), rank)
    return significant((basis @ P[:, :rank]).T, S[:rank], X.shape)


def _extended(basis: Floats, Q: Floats) -> tuple[Floats, Floats]:
    """An orthonormal basis of the columns of both, and what Q became in it: less the basis, twice, which is enough."""
    for _ in range(2):
        Q = orthonormal(Q - basis @ (basis.T @ Q), rounds=1)
    if np.abs(basis.T @ Q).max(initial=0.0) < _APART and np.abs(Q.T @ Q - np.eye(Q.shape[1])).max() < _APART:
        return np.concatenate([basis, Q], axis=1), Q
    # Q was nearly in the span already, what is left is rounding
    width = basis.shape[1]
    both = orthonormal(np.concatenate([basis, Q], axis=1))
    return both, np.ascontiguousarray(both[:, width:])


def _right_vectors(Z: Floats, rank: int) -> tuple[Floats, Floats]:
    """The right singular vectors (as columns) and values of a tall matrix.

    A product with itself squares the condition, so it is taken only where the wanted values stay well above rounding;
    elsewhere they come from the R factor.
    """
    if Z.shape[0] > 2 * Z.shape[1]:
        gram = Z.T @ Z
        with blas_threads(1):
            squares, vectors = linalg.eigh(gram, overwrite_a=True, check_finite=False)
        if squares[-1] > 0 and squares[-min(rank, len(squares))] > _WELL_ABOVE * squares[-1]:
            return np.ascontiguousarray(vectors[:, ::-1]), np.sqrt(np.maximum(squares[::-1], 0.0))
    with blas_threads(1):
        small = np.linalg.qr(Z)[1] if Z.shape[0] > Z.shape[1] else Z
    return factored(np.ascontiguousarray(small.T))


def significant(Vt: Floats, S: Floats, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Leave out the directions in which nothing varies but rounding.

    >>> significant(np.eye(2), np.array([1.0, 1e-17]), (5, 2))[1].tolist()
    [1.0]
    """
    keep = cut(S, None, max(shape))
    return np.ascontiguousarray(Vt[:keep]), S[:keep]

"""Singular vectors of a matrix that is known by its products, from a few of them.

    K = span of Y, C Y, ..., C^q Y          Y = X^T G, G Gaussian (n x (rank + oversampling)), C = X^T X

The best vectors in K are those of X restricted to it: with B an orthonormal basis of K, X B = Z R and R = P S W^T, they
are B W. As K holds all powers, a small q gives what a power iteration needs many more passes for.

Cost: q + 2 pairs of products with X, O(m (q rank)^2). Reference: Musco & Musco (2015), Randomized block Krylov methods
for stronger and faster approximate singular value decomposition.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textmill.corpus import Operator
from textmill.topics.decomposition import blas_threads, cut, factored, orthonormal

__all__ = ["block_krylov", "significant"]

Floats = NDArray[np.float64]


def block_krylov(X: Operator, rank: int, oversampling: int, powers: int, seed: int) -> tuple[Floats, Floats]:
    """Return at most `rank` right singular vectors (as rows) and values, from q = `powers` products with C.

    >>> from textmill.corpus import as_operator
    >>> X = as_operator(np.diag([3.0, 1.0, 2.0]))
    >>> block_krylov(X, 2, 1, 2, seed=0)[1].round(6).tolist()
    [3.0, 2.0]
    """
    width = min(rank + oversampling, min(X.shape))
    random = np.random.default_rng(seed)
    Q = orthonormal(X.transposed_times(random.normal(size=(X.shape[0], width))))
    blocks = [Q]
    for _ in range(powers):
        if sum(block.shape[1] for block in blocks) >= min(X.shape):
            break
        Q = orthonormal(X.transposed_times(X.times(Q)))  # after each product, or small directions go
        blocks.append(Q)
    basis = Q if len(blocks) == 1 else orthonormal(np.concatenate(blocks, axis=1))
    # the singular values of X B from its R factor, not from a product with itself, which would square the condition
    small = X.times(basis)
    with blas_threads(1):
        small = np.linalg.qr(small)[1] if small.shape[0] > small.shape[1] else small
    P, S = factored(np.ascontiguousarray(small.T))
    return significant((basis @ P[:, :rank]).T, S[:rank], X.shape)


def significant(Vt: Floats, S: Floats, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Leave out the directions in which nothing varies but rounding.

    >>> significant(np.eye(2), np.array([1.0, 1e-17]), (5, 2))[1].tolist()
    [1.0]
    """
    keep = cut(S, None, max(shape))
    return np.ascontiguousarray(Vt[:keep]), S[:keep]

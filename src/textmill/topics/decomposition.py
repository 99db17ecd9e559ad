"""A truncated singular value decomposition that knows what was cut away.

    A ~ U S V^T     A: terms x documents; U (m x r) orthonormal columns, S (r) falling; V is never kept

Every cut of a one-pass model removes a positive semidefinite part of C = A A^T. With D the sum over all cuts of the
largest squared singular value removed, by Weyl's inequality

    s_i(model)^2  <=  s_i(true)^2  <=  s_i(model)^2 + D

and ||A||_F^2, which one pass sums exactly, minus the squares kept is all that was ever cut.

Dense products run on the threads of BLAS, factorizations on one (their small steps gain nothing from more).
Reference: Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, chapter 3.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from textmill._native import base as native
from textmill.arrays import Floats
from textmill.numeric import SparseRows, linalg, sparse

__all__ = [
    "Decomposition",
    "Projection",
    "blas_threads",
    "cut",
    "factored",
    "orthonormal",
    "product",
    "transposed_product",
    "with_signs",
]


EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Decomposition:
    """U (m x r), s (r) and the account of what was cut: documents, energy ||A||_F^2, bound D (NaN: not known),
    upper, squares above which no true singular value is, where they come from elsewhere.

    >>> Decomposition(np.eye(3)[:, :2], np.array([2.0, 1.0]), documents=4, energy=6.0).discarded
    1.0
    """

    U: Floats
    s: Floats
    documents: int = 0
    energy: float = 0.0
    bound: float = 0.0
    upper: Floats | None = None

    @property
    def rank(self) -> int:
        """Number of factors."""
        return len(self.s)

    @property
    def discarded(self) -> float:
        """The energy that is not in the factors."""
        return max(0.0, self.energy - float(self.s @ self.s))

    def widened(self, terms: int) -> Decomposition:
        """The same in a larger vocabulary: new terms are zero rows of U."""
        if terms == self.U.shape[0]:
            return self
        return replace(self, U=np.vstack([self.U, np.zeros((terms - self.U.shape[0], self.rank))]))


def cut(s: Floats, rank: int | None, size: int) -> int:
    """Say how many factors stay: at most `rank`, and those above rounding, s_i > eps * s_1 * size.

    >>> cut(np.array([3.0, 2.0, 1e-16]), None, 9)
    2
    """
    above = int(np.count_nonzero(s > EPS * s[0] * size)) if len(s) and s[0] > 0 else 0
    return above if rank is None else min(rank, above)


def with_signs(U: Floats) -> Floats:
    """Flip columns, in place, so that the entry of largest magnitude in each is positive.

    >>> with_signs(np.array([[0.6], [-0.8]])).tolist()
    [[-0.6], [0.8]]
    """
    if U.size:
        high, low = U.max(axis=0), U.min(axis=0)
        flipped = -low > high
        if flipped.any():
            U *= np.where(flipped, -1.0, 1.0)
    return U


def factored(B: Floats) -> tuple[Floats, Floats]:
    """Return the left singular vectors and the singular values of a small matrix, which may be overwritten.

    >>> factored(np.diag([1.0, 2.0]))[1].tolist()
    [2.0, 1.0]
    """
    with blas_threads(1):
        P, s, _ = linalg.svd(B, full_matrices=False, overwrite_a=True, check_finite=False, lapack_driver="gesdd")
    return P, s


def orthonormal(Y: Floats, rounds: int = 2) -> Floats:
    """Return an orthonormal basis of the columns of a tall matrix, as many of them.

    Two rounds of Cholesky QR (Yamamoto et al. 2015), all in matrix products; Householder where Y is too close to losing
    rank for that. One round is orthonormal to about 1e-4, enough between power iterations.

    >>> Q = orthonormal(np.array([[3.0, 1.0], [4.0, 1.0], [0.0, 1.0]]))
    >>> bool(np.allclose(Q.T @ Q, np.eye(2)))
    True
    """
    if Y.shape[0] >= 4 * Y.shape[1] > 0:
        Q = _cholesky_step(Y)
        if Q is not None and rounds > 1:
            Q = _cholesky_step(Q)
        if Q is not None:
            return Q
    with blas_threads(1):
        return np.ascontiguousarray(linalg.qr(Y, mode="economic", check_finite=False)[0])


def _cholesky_step(Y: Floats) -> Floats | None:
    """Y R^-1 with R^T R = Y^T Y, columns scaled before; None when the condition number is beyond 1e6."""
    G = Y.T @ Y
    scale = np.sqrt(np.diag(G))
    if not scale.min() > 0:
        return None
    G /= scale[:, None] * scale
    with blas_threads(1):
        R, failed = linalg.lapack.dpotrf(G)
        if failed or np.diag(R).min() < 1e-6:
            return None
        inverse, failed = linalg.lapack.dtrtri(R)
    return None if failed else Y @ (np.triu(inverse) / scale[:, None])


def product(X: sparse.csr_matrix | SparseRows, D: Floats, threads: int) -> Floats:
    """Return X D; D may have more rows than X has columns, for terms that are not in X yet.

    >>> product(sparse.csr_matrix([[1.0, 2.0]]), np.ones((3, 1)), 1).tolist()
    [[3.0]]
    """
    D = np.ascontiguousarray(D[: X.shape[1]])
    out = np.empty((X.shape[0], D.shape[1]))
    native.csr_dense(X.indptr, X.indices, _data(X), columns=X.shape[1], dense=D, out=out, threads=threads)
    return out


class Projection:
    """Rows times the transposed components, (k, m); divided by `divisors` (k,), if there are any.

    Rows need only the terms that they have: these are taken out of the components, so a question costs its own words.
    The whole is turned, once, for chunks of many more entries than there are terms. The results are the same bytes
    either way.

    >>> Projection(np.array([[1.0, 2.0, 3.0]]))(sparse.csr_matrix([[0.0, 1.0, 1.0]]), 1).tolist()
    [[5.0]]
    """

    def __init__(self, components: Floats, divisors: Floats | None = None) -> None:
        self._components, self._divisors = components, divisors

    def __call__(self, X: sparse.csr_matrix | SparseRows, threads: int) -> Floats:
        """The products of some rows."""
        if X.nnz >= 4 * self._components.shape[1]:
            return product(X, self._whole, threads)
        columns, places = np.unique(X.indices, return_inverse=True)
        few = SparseRows(X.data, places.astype(np.int32), X.indptr, (X.shape[0], len(columns)))
        return product(few, self._turned(self._components[:, columns]), threads)

    @cached_property
    def _whole(self) -> Floats:
        return self._turned(self._components)

    def _turned(self, components: Floats) -> Floats:
        return np.ascontiguousarray(components.T if self._divisors is None else components.T / self._divisors)


def transposed_product(X: sparse.csr_matrix, D: Floats, threads: int) -> Floats:
    """Return X^T D.

    >>> transposed_product(sparse.csr_matrix([[1.0, 2.0]]), np.ones((1, 1)), 1).tolist()
    [[1.0], [2.0]]
    """
    out = np.empty((X.shape[1], D.shape[1]))
    native.csr_transposed_dense(
        X.indptr, X.indices, _data(X), columns=X.shape[1], dense=np.ascontiguousarray(D), out=out, threads=threads
    )
    return out


def _data(X: sparse.csr_matrix | SparseRows) -> NDArray[Any]:
    """The values in a type that the kernels have."""
    data: NDArray[Any] = X.data
    return data if data.dtype in (np.float64, np.float32, np.int32) else data.astype(np.float64)


def blas_threads(threads: int) -> AbstractContextManager[Any]:
    """Give BLAS and LAPACK that many threads inside a `with` block.

    >>> with blas_threads(1):
    ...     (np.eye(2) @ np.eye(2)).trace()
    np.float64(2.0)
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=threads, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()

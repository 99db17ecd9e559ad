"""Decomposition of one chunk that fits in memory, by one of several methods.

    dense        QR and a small SVD; exact; for chunks with no more documents or terms than factors, and small ones
    gram         eigenvectors of the documents x documents matrix X X^T; singular values below 1e-7 s_1 are not seen
    lanczos      ARPACK, the leading factors to machine precision
    stochastic   sampling: Q = orth((X X^T)^q O) over documents, U S from X^T Q
    a function   of your own: method(X, rank) -> U (terms x r), s (r)

The stochastic method samples on the side of the documents, so that what it keeps, X^T Q Q^T X, is never more than
X^T X in the semidefinite order, as the error bound needs; random numbers are keyed by the place in the chunk, so the
result is a function of the chunk alone.

Only terms that the chunk holds take part. Fewer factors than asked are returned when the chunk has a lower rank; none
when it is empty.
Cost: O(nnz r) a product, 2 q + 3 products for the stochastic method, plus O((c + m) r^2).
References: Halko, Martinsson & Tropp (2011), Finding structure with randomness; Rehurek (2011), section 3.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill._native import base as native
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.numeric import linalg, sparse
from textmill.topics.decomposition import (
    Decomposition,
    blas_threads,
    cut,
    factored,
    orthonormal,
    product,
    transposed_product,
    with_signs,
)

__all__ = ["CHUNK_METHODS", "ChunkMethod", "base_case", "gaussian"]

ChunkMethod: TypeAlias = "str | Callable[[Any, int], tuple[Floats, Floats]]"

CHUNK_METHODS = ("lanczos", "stochastic", "gram", "dense")
EXTRA = 50  # samples of the stochastic method beyond the factors that are asked for
POWER = 4  # products with X X^T
DENSE = 1 << 20  # numbers that a chunk may have as a dense matrix to be decomposed as one
PRECISE = 1e-2  # s_r / s_1 below which vectors made from squared singular values are not orthonormal enough


def base_case(
    X: sparse.csr_matrix, rank: int, method: ChunkMethod = "lanczos", *, random_state: int = 0, n_jobs: int = 1
) -> Decomposition:
    """Decompose one chunk, documents x terms, to at most `rank` factors.

    >>> base_case(sparse.csr_matrix(np.diag([1.0, 3.0, 2.0])), 2).s.tolist()
    [3.0, 2.0]
    """
    energy = float(np.square(X.data, dtype=np.float64).sum())
    documents, terms = X.shape
    if energy == 0.0:
        return Decomposition(np.zeros((terms, 0)), np.zeros(0), documents)
    held, present = _compact(X)
    if callable(method):
        U, s, bound = _called(method, held, rank)
    elif method == "dense" or min(held.shape) <= rank or held.shape[0] * held.shape[1] <= DENSE:
        U, s, bound = _dense(held, rank)
    elif method == "stochastic":
        U, s, bound = _stochastic(held, rank, random_state, n_jobs)
    else:
        U, s, bound = (_gram if method == "gram" else _lanczos)(held, rank, random_state, n_jobs)
    if present is not None:
        full = np.zeros((terms, len(s)))
        full[present] = U
        U = full
    return Decomposition(with_signs(np.ascontiguousarray(U)), np.ascontiguousarray(s), documents, energy, bound)


def gaussian(documents: int, width: int, random_state: int, first: int = 0, n_jobs: int = 1) -> Floats:
    """Standard normal numbers, one row per document, that depend on the seed and the number of the document only.

    >>> bool((gaussian(3, 2, random_state=1)[2] == gaussian(1, 2, random_state=1, first=2)[0]).all())
    True
    """
    out = np.empty((documents, width))
    native.random_normal(seed=random_state, out=out, threads=n_jobs, first=first)
    return out


def _compact(X: sparse.csr_matrix) -> tuple[sparse.csr_matrix, NDArray[np.intp] | None]:
    """X with the columns that are not empty, and which they are; None when nearly all are."""
    present = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]))
    if len(present) > 0.7 * X.shape[1]:
        return X, None
    number = np.zeros(X.shape[1], dtype=np.int32)
    number[present] = np.arange(len(present), dtype=np.int32)
    return sparse.csr_matrix((X.data, number[X.indices], X.indptr), shape=(X.shape[0], len(present))), present


def _dense(X: sparse.csr_matrix, rank: int, *_: Any) -> tuple[Floats, Floats, float]:
    """SVD of the dense matrix through its triangle."""
    A = np.asarray(X.toarray(), dtype=np.float64)
    with blas_threads(1):
        if A.shape[1] >= A.shape[0]:
            Q, R = linalg.qr(A.T, mode="economic", overwrite_a=True, check_finite=False)
            K, s = factored(R)
            r = cut(s, rank, max(A.shape))
            return Q @ K[:, :r], s[:r], _next_square(s, r)
        R = linalg.qr(A, mode="r", overwrite_a=True, check_finite=False)[0][: A.shape[1]]
        K, s = factored(np.ascontiguousarray(R.T))
    r = cut(s, rank, max(A.shape))
    return K[:, :r], s[:r], _next_square(s, r)


def _gram(X: sparse.csr_matrix, rank: int, random_state: int, n_jobs: int) -> tuple[Floats, Floats, float]:
    """U = X^T V / s from the eigenvectors V of X X^T."""
    with blas_threads(1):
        K = (X @ X.T).toarray()
        c = K.shape[0]
        squares, V = linalg.eigh(K, subset_by_index=[c - rank - 1, c - 1], overwrite_a=True, check_finite=False)
    squares, V = squares[::-1], V[:, ::-1]
    r = min(rank, int(np.count_nonzero(squares > 1e-14 * squares[0])))
    if r < rank or squares[r - 1] < PRECISE**2 * squares[0]:
        return _from_documents(X, V[:, :r], r, n_jobs, float(max(squares[r], 0.0)))
    s = np.sqrt(squares[:r])
    return transposed_product(X, V[:, :r], n_jobs) / s, s, float(max(squares[r], 0.0))


def _lanczos(X: sparse.csr_matrix, rank: int, random_state: int, n_jobs: int) -> tuple[Floats, Floats, float]:
    """ARPACK on the smaller of X X^T and X^T X."""
    from scipy.sparse.linalg import svds

    start = gaussian(1, min(X.shape), random_state)[0]
    V, s, U = svds(X.astype(np.float64), k=rank, v0=start, solver="arpack")
    order = np.argsort(-s, kind="stable")
    s, U, V = s[order], U[order].T, V[:, order]
    if s[-1] < PRECISE * s[0]:
        return _from_documents(X, orthonormal(np.ascontiguousarray(V)), rank, n_jobs, float(s[-1] ** 2))
    return U, s, float(s[-1] ** 2)  # the next singular value is no larger than the last


def _stochastic(X: sparse.csr_matrix, rank: int, random_state: int, n_jobs: int) -> tuple[Floats, Floats, float]:
    """Sample the space of the documents, and give what X^T makes of it."""
    width = min(rank + EXTRA, *X.shape)
    Q = gaussian(X.shape[0], width, random_state, n_jobs=n_jobs)
    for step in range(POWER):
        B = transposed_product(X, Q, n_jobs)
        del Q  # at most three such matrices at a time
        Q = product(X, B, n_jobs)
        del B
        Q = orthonormal(Q, rounds=1 + (step == POWER - 1))
    outside = _norm_outside(X, Q, random_state, n_jobs) if width < min(X.shape) else 0.0
    return _from_documents(X, Q, rank, n_jobs, outside)


def _from_documents(
    X: sparse.csr_matrix, Q: Floats, rank: int, n_jobs: int, outside: float
) -> tuple[Floats, Floats, float]:
    """U, s of X^T Q Q^T X cut to the rank; `outside` bounds the squared norm of what Q misses."""
    B = transposed_product(X, Q, n_jobs)
    G = Q.T @ product(X, B, n_jobs)
    with blas_threads(1):
        squares, K = linalg.eigh((G + G.T) / 2, check_finite=False)
    squares, K = squares[::-1], K[:, ::-1]
    r = min(rank, len(squares))
    if squares[r - 1] > PRECISE**2 * squares[0]:
        s = np.sqrt(squares[:r])
        del B
        U = transposed_product(X, Q @ (K[:, :r] / s), n_jobs)
        return U, s, outside + (float(squares[r]) if r < len(squares) else 0.0)
    with blas_threads(1):
        N, R = linalg.qr(B, mode="economic", overwrite_a=True, check_finite=False)
    K, s = factored(R)
    r = cut(s, rank, max(X.shape))
    return N @ K[:, :r], s[:r], outside + _next_square(s, r)


def _norm_outside(X: sparse.csr_matrix, Q: Floats, random_state: int, n_jobs: int) -> float:
    """Largest eigenvalue of X X^T outside the span of Q, by three products with eight vectors: an estimate."""
    P = gaussian(X.shape[0], 8, random_state + 1, n_jobs=n_jobs)
    largest = 0.0
    for _ in range(3):
        P -= Q @ (Q.T @ P)
        P = orthonormal(P)
        B = transposed_product(X, P, n_jobs)
        largest = float(linalg.eigvalsh(B.T @ B)[-1])
        P = product(X, B, n_jobs)
    return largest


def _called(
    method: Callable[[Any, int], tuple[Floats, Floats]], X: sparse.csr_matrix, rank: int
) -> tuple[Floats, Floats, float]:
    """What a method of the user's returns, checked."""
    U, s = (np.array(part, dtype=np.float64) for part in method(X, rank))
    if U.ndim != 2 or U.shape[0] != X.shape[1] or s.shape != (U.shape[1],) or (np.diff(s) > 0).any() or (s < 0).any():
        raise DataError(
            f"chunk_method gave U of shape {U.shape} and s of shape {s.shape} for {X.shape[1]} terms; "
            "it must give U (terms x r) with orthonormal columns and s (r) >= 0, falling"
        )
    r = cut(s, rank, max(X.shape))
    return U[:, :r], s[:r], float(s[r - 1] ** 2) if r == rank else 0.0


def _next_square(s: Floats, r: int) -> float:
    return float(s[r]) ** 2 if r < len(s) else 0.0

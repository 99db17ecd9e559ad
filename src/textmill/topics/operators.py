"""Products of a matrix with dense ones, whatever the matrix is: held, streamed, or known only by what it does.

    times(D)              X D        X: documents x terms
    transposed_times(D)   X^T D

Algorithms that need no more than these two take an `Operator`, made by `as_operator` of a CSR matrix (threaded
kernels, the same bytes for any number of threads), of a stream of CSR chunks that can be read again (one pass a
product, nothing held), or of a SciPy LinearOperator or a pair of functions of your own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import base as native
from textmill.arrays import Floats
from textmill.corpus import check_bags, require_passes
from textmill.errors import DataError
from textmill.model import effective_jobs
from textmill.numeric import sparse

__all__ = ["Operator", "as_operator"]


class Operator:
    """A documents x terms matrix that can be multiplied from both sides.

    Attributes: shape. Dense arguments are matrices with one row a term (`times`) or a document (`transposed_times`),
    or vectors.
    """

    def __init__(
        self, shape: tuple[int, int], times: Callable[[Floats], Floats], transposed_times: Callable[[Floats], Floats]
    ) -> None:
        self.shape = shape
        self._times = times
        self._transposed_times = transposed_times

    def times(self, dense: Any) -> Floats:
        """Return X D."""
        return self._apply(dense, self._times, self.shape[1], self.shape[0])

    def transposed_times(self, dense: Any) -> Floats:
        """Return X^T D."""
        return self._apply(dense, self._transposed_times, self.shape[0], self.shape[1])

    def _apply(self, dense: Any, product: Callable[[Floats], Floats], rows: int, result: int) -> Floats:
        D = np.ascontiguousarray(dense, dtype=np.float64)
        if D.ndim not in (1, 2) or D.shape[0] != rows:
            raise DataError(f"a {self.shape[0]} x {self.shape[1]} matrix needs {rows} rows here, got shape {D.shape}")
        columns = np.asarray(product(D if D.ndim == 2 else D[:, None]), dtype=np.float64).reshape(result, -1)
        if columns.shape[1] != (D.shape[1] if D.ndim == 2 else 1):
            raise DataError(
                f"the product has {columns.shape[1]} columns; one for each column of the argument is needed"
            )
        return columns if D.ndim == 2 else columns[:, 0]


def as_operator(X: Any, *, shape: tuple[int, int] | None = None, n_jobs: int | None = None) -> Operator:
    """Make an operator of a matrix, a stream of CSR chunks, a LinearOperator, or functions (times, transposed_times).

    `shape` is needed for functions, and for a stream to save a pass that counts its rows.

    >>> X = sparse.csr_matrix(np.array([[1, 0, 2], [0, 3, 0]]))
    >>> operator = as_operator([X[:1], X[1:]])
    >>> operator.shape, operator.times(np.ones(3)).tolist(), operator.transposed_times(np.ones(2)).tolist()
    ((2, 3), [3.0, 3.0], [1.0, 3.0, 2.0])
    >>> as_operator((X.dot, X.T.dot), shape=X.shape).times(np.ones(3)).tolist()
    [3.0, 3.0]
    """
    threads = effective_jobs(n_jobs)
    if sparse.issparse(X) or isinstance(X, np.ndarray):
        held = check_bags(X, negative=True)
        return Operator(held.shape, lambda D: _times(held, D, threads), lambda D: _transposed(held, D, threads))
    if isinstance(X, tuple) and len(X) == 2 and all(map(callable, X)):
        if shape is None:
            raise DataError("functions do not tell their shape; pass shape=(documents, terms)")
        return Operator(shape, X[0], X[1])
    if hasattr(X, "matmat") and hasattr(X, "rmatmat"):
        return Operator(X.shape, X.matmat, X.rmatmat)
    require_passes(X, 2, "multiplying")
    return _streamed(X, shape, threads)


def _streamed(chunks: Iterable[Any], shape: tuple[int, int] | None, threads: int) -> Operator:
    """Each product is one pass over the chunks."""
    if shape is None:
        sizes = [chunk.shape for chunk in chunks]
        if len({columns for _, columns in sizes}) != 1:
            raise DataError("a stream of matrices needs at least one chunk, and all with the same columns")
        shape = sum(rows for rows, _ in sizes), sizes[0][1]
    documents, terms = shape

    def times(D: Floats) -> Floats:
        out = np.empty((documents, D.shape[1]))
        row = 0
        for chunk in chunks:
            part = check_bags(chunk, negative=True)
            out[row : row + part.shape[0]] = _times(part, D, threads)
            row += part.shape[0]
        return out

    def transposed_times(D: Floats) -> Floats:
        out = np.zeros((terms, D.shape[1]))
        row = 0
        for chunk in chunks:
            part = check_bags(chunk, negative=True)
            out += _transposed(part, np.ascontiguousarray(D[row : row + part.shape[0]]), threads)
            row += part.shape[0]
        return out

    return Operator(shape, times, transposed_times)


def _times(X: sparse.csr_matrix, D: Floats, threads: int) -> Floats:
    out = np.empty((X.shape[0], D.shape[1]))
    native.csr_dense(X.indptr, X.indices, _data(X), columns=X.shape[1], dense=D, out=out, threads=threads)
    return out


def _transposed(X: sparse.csr_matrix, D: Floats, threads: int) -> Floats:
    out = np.empty((X.shape[1], D.shape[1]))
    native.csr_transposed_dense(X.indptr, X.indices, _data(X), columns=X.shape[1], dense=D, out=out, threads=threads)
    return out


def _data(X: sparse.csr_matrix) -> NDArray[Any]:
    """The values in a type that the kernels have."""
    data: NDArray[Any] = X.data
    return data if data.dtype in (np.float64, np.float32, np.int32) else data.astype(np.float64)

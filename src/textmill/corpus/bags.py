"""Bags of words: sparse rows of counts, documents x terms, as SciPy CSR matrices.

A bag matrix X has one row a document and one column a term; x_dt counts term t in document d. Columns within a row
are sorted, counts are int32, ids int32. A stream is any iterable of such matrices: the chunks of one corpus.
"""

from __future__ import annotations

import errno
import numbers
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native
from textmill.arrays import Ids, Ints
from textmill.errors import DataError
from textmill.files import replacing
from textmill.model import effective_jobs
from textmill.numeric import SparseRows, is_sparse, sparse

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = ["array_like", "check_bags", "csr_arrays", "csr_of", "load_npz", "remap", "save_npz", "widened"]

Number = TypeVar("Number", bound=np.generic)
Rows: TypeAlias = "tuple[NDArray[Any], NDArray[np.int32], NDArray[Any]]"  # offsets, terms sorted in each row, counts


_INT32 = np.iinfo(np.int32).max


def csr_of(rows: Rows, columns: int) -> sparse.csr_matrix:
    """Make a CSR matrix of sorted rows; offsets become int32, as SciPy likes them, when they fit.

    >>> rows = np.array([0, 2, 2]), np.array([0, 2], np.int32), np.array([1, 4], np.int32)
    >>> csr_of(rows, 3).toarray().tolist()
    [[1, 0, 4], [0, 0, 0]]
    """
    offsets, terms, counts = rows
    return SparseRows(counts, terms, offsets, (len(offsets) - 1, columns)).csr()


@overload
def csr_arrays(X: Any) -> tuple[Ints, Ids, NDArray[Any]]: ...
@overload
def csr_arrays(X: Any, dtype: type[Number]) -> tuple[Ints, Ids, NDArray[Number]]: ...
def csr_arrays(X: Any, dtype: Any = None) -> tuple[Ints, Ids, NDArray[Any]]:
    """The arrays of sparse rows in the types of the kernels: offsets, columns, values; copies only to change a type.

    >>> [array.tolist() for array in csr_arrays(check_bags([[0, 2], [1, 0]]), np.float64)]
    [[0, 1, 2], [1, 0], [2.0, 1.0]]
    """
    values = X.data if dtype is None else X.data.astype(dtype, copy=False)
    return X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False), values


def widened(X: sparse.csr_matrix, columns: int) -> sparse.csr_matrix:
    """The same entries in a matrix with more columns; it shares the arrays of X.

    >>> widened(check_bags([[1, 2]]), 3).toarray().tolist()
    [[1, 2, 0]]
    """
    if X.shape[1] == columns:
        return X
    return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], columns))


def array_like(X: Any) -> Any:
    """X as an array where it is rows of numbers in lists, as a list where it is a column of texts; else as it is.

    So data frames, columns of NumPy and pandas, and lists go wherever matrices and streams of documents do.

    >>> array_like([[1, 2], [3, 4]]).shape, array_like(np.array(["to be", "or not"])), array_like([["to", "be"]])
    ((2, 2), ['to be', 'or not'], [['to', 'be']])
    """
    if hasattr(X, "shape"):
        is_column = len(X.shape) == 1 and getattr(X.dtype, "kind", "O") in "OUT"
        return (X.tolist() if isinstance(X, np.ndarray) else list(X)) if is_column else X
    in_rows = isinstance(X, list | tuple) and bool(X) and isinstance(X[0], list | tuple) and bool(X[0])
    return np.asarray(X) if hasattr(X, "__array__") or (in_rows and isinstance(X[0][0], numbers.Real)) else X


def check_bags(X: Any, *, name: str = "X", negative: bool = False) -> sparse.csr_matrix:
    """Return X as a CSR matrix of finite numbers with sorted rows, or say what is wrong with it.

    Takes SciPy sparse matrices and arrays of any format and NumPy arrays; copies only when the form must change.
    Negative entries are refused unless `negative` is set.

    >>> check_bags([[2, 0], [0, 1]]).nnz
    2
    >>> check_bags([["red", "blue"]])
    Traceback (most recent call last):
    textmill.errors.DataError: X holds values that are not numbers (<U4); turn nominal features into counts first
    """
    if isinstance(X, SparseRows):
        X = X.csr()
    if not is_sparse(X):
        try:
            X = np.asarray(X)
        except ValueError:
            raise DataError(f"{name} has rows of different lengths; pass one value a column in every row") from None
        if X.ndim != 2:
            raise DataError(
                f"{name} must have rows and columns, got {X.ndim} axes; pass documents x terms. Reshape your data, one "
                "document with X.reshape(1, -1)"
            )
    if X.dtype.kind == "O":
        X = _numbers(X)
    if X.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {name} holds complex numbers; pass their real parts or sizes")
    if X.dtype.kind not in "buif":
        raise DataError(
            f"{name} holds values that are not numbers ({X.dtype.str}); turn nominal features into counts first"
        )
    X = sparse.csr_matrix(X.astype(np.float32) if X.dtype == np.float16 else X)  # SciPy has no sparse float16
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype != np.int32 and max(X.shape[1], X.nnz) <= _INT32:  # the kernels take ids as int32
        X = csr_of((X.indptr, X.indices.astype(np.int32), X.data), X.shape[1])
    if X.dtype.kind == "f" and not np.isfinite(X.data).all():
        row, column = _place(X, ~np.isfinite(X.data))
        fault = "NaN" if np.isnan(X[row, column]) else X[row, column]
        raise DataError(f"{name} holds {fault} in row {row}, column {column}; remove it or set it to 0")
    if not negative and X.dtype.kind != "u" and X.nnz and X.data.min() < 0:
        row, column = _place(X, X.data < 0)
        raise DataError(
            f"Negative values in data: {name} holds {X[row, column]} in row {row}, column {column}; "
            "counts must not be negative"
        )
    return X


def remap(
    X: sparse.csr_matrix, new_ids: NDArray[np.int32], columns: int, *, n_jobs: int | None = None
) -> sparse.csr_matrix:
    """Move every column t of counts to new_ids[t], drop it where that is -1, add columns that meet.

    >>> X = sparse.csr_matrix(np.array([[1, 2, 3, 4]], dtype=np.int32))
    >>> remap(X, np.array([1, -1, 0, 1], np.int32), 2).toarray().tolist()
    [[3, 5]]
    """
    if X.shape[1] != len(new_ids):
        raise DataError(f"X has {X.shape[1]} columns but the mapping {len(new_ids)}; they do not belong together")
    if X.dtype.kind not in "bui" or (X.nnz and X.data.max() > _INT32):
        raise DataError(f"X must hold whole counts below 2^31, got {X.dtype}; remap before weighting")
    if len(new_ids) and int(np.max(new_ids)) >= columns:
        raise DataError(f"the mapping leads to column {int(np.max(new_ids))} but there are {columns}")
    rows = native.remap(
        *csr_arrays(X, np.int32),
        np.ascontiguousarray(new_ids, dtype=np.int32),
        threads=effective_jobs(n_jobs),
    )
    return csr_of(rows, columns)


def save_npz(path: str | os.PathLike[str], chunks: Iterable[sparse.csr_matrix], *, columns: int) -> None:
    """Write a stream of bags to one file that `scipy.sparse.load_npz` opens, completely or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_npz(f"{folder}/bags.npz", [check_bags([[1, 0]]), check_bags([[0, 2]])], columns=2)
    ...     load_npz(f"{folder}/bags.npz").toarray().tolist()
    [[1, 0], [0, 2]]
    """
    X = sparse.vstack([sparse.csr_matrix((0, columns), dtype=np.int32), *chunks], format="csr")
    with replacing(path) as out:
        sparse.save_npz(out, X)


def load_npz(path: str | os.PathLike[str]) -> sparse.csr_matrix:
    """Read bags that were saved as .npz; anything else in the file is an error, never code that runs."""
    name = os.fspath(path)
    try:
        X = sparse.load_npz(path)
    except Exception as error:  # SciPy, NumPy and zipfile raise whatever they stumble over
        if isinstance(error, OSError) and error.errno not in (
            None,
            errno.EINVAL,
        ):  # the disk
            raise
        raise DataError("not a sparse matrix that SciPy saved; write it with save_npz", source=name) from None
    try:
        X.check_format() if hasattr(X, "check_format") else None
        return check_bags(X, name=name)
    except ValueError as error:
        raise DataError(f"{error}; the file is damaged", source=name) from None


def _numbers(X: Any) -> Any:
    """An array of objects as numbers, where all of them are; else as it is."""
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError):
        return X


def _place(X: sparse.csr_matrix, wrong: NDArray[np.bool_]) -> tuple[int, int]:
    """Row and column of the first entry that is wrong."""
    at = int(wrong.argmax())
    return int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])

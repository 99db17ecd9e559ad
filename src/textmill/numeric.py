"""SciPy's sub-packages, each imported when it is first used, and sparse rows that need none of them.

`import scipy.sparse` alone costs more than a whole small command (it brings linear algebra, graphs and f2py along), and
most commands never make a matrix. Modules therefore take the sub-packages from here:

    from textmill.numeric import sparse

and `sparse.csr_matrix(...)` imports SciPy the first time it is reached. An annotation does not reach it. A small job,
such as one query of an index, works on `SparseRows`, the three arrays of a CSR matrix, and never reaches it either.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["SparseRows", "csgraph", "is_sparse", "linalg", "sparse", "special"]


class _Deferred(ModuleType):
    """A module whose import waits until one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)  # found at once from now on
        return value


csgraph: Any = _Deferred("scipy.sparse.csgraph")
linalg: Any = _Deferred("scipy.linalg")
sparse: Any = _Deferred("scipy.sparse")
special: Any = _Deferred("scipy.special")


@dataclass(frozen=True, slots=True)
class SparseRows:
    """Sparse rows with sorted columns; attributes and methods mean what they mean for `scipy.sparse.csr_matrix`.

    >>> rows = SparseRows(np.array([2, 1, 5]), np.array([0, 2, 1], np.int32), np.array([0, 2, 3]), (2, 3))
    >>> rows[np.array([1])].csr().toarray().tolist()
    [[0, 5, 0]]
    """

    data: NDArray[Any]
    indices: NDArray[np.int32]
    indptr: NDArray[Any]
    shape: tuple[int, int]

    has_canonical_format: ClassVar[bool] = True

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """Number of values that are stored."""
        return len(self.data)

    def __getitem__(self, rows: NDArray[np.integer[Any]]) -> SparseRows:
        """Some rows, by number."""
        lengths = np.diff(self.indptr)[rows]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
        places = np.repeat(self.indptr[:-1][rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return SparseRows(self.data[places], self.indices[places], offsets, (len(lengths), self.shape[1]))

    def with_data(self, data: NDArray[Any]) -> SparseRows:
        """Other values at the same places."""
        return SparseRows(data, self.indices, self.indptr, self.shape)

    def astype(self, dtype: DTypeLike) -> SparseRows:
        """The same values in another type."""
        return self.with_data(self.data.astype(dtype))

    def without_zeros(self) -> SparseRows:
        """The same rows without stored values that are 0."""
        if self.data.all():
            return self
        nonzeros = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.data != 0)])
        there = self.data != 0
        return SparseRows(self.data[there], self.indices[there], nonzeros[self.indptr], self.shape)

    def toarray(self) -> NDArray[Any]:
        """The rows with all their zeros."""
        out = np.zeros(self.shape, self.dtype)
        out[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices] = self.data
        return out

    def csr(self) -> Any:
        """The SciPy matrix that shares these arrays; offsets become int32, as SciPy likes them, when they fit."""
        small = self.indptr[-1] <= np.iinfo(np.int32).max
        offsets = self.indptr.astype(np.int32) if small else self.indptr
        X = sparse.csr_matrix((self.data, self.indices, offsets), shape=self.shape, copy=False)
        X.has_sorted_indices = True
        X.has_canonical_format = True
        return X


def is_sparse(X: object) -> bool:
    """Whether X is `SparseRows` or a sparse matrix of SciPy, which is not imported to find out.

    >>> is_sparse([[1, 0]])
    False
    """
    return isinstance(X, SparseRows) or ("scipy.sparse" in sys.modules and bool(sparse.issparse(X)))

"""Exact nearest neighbours among sparse vectors: an inverted index with upper bounds.

For every term the index holds the rows that have it (its postings); a query adds up those of its own terms, heavy and
rare ones first. As soon as the terms left cannot lift an unseen row among the k best, because

    what they add <= min(|q_R| max |x|, sum over R of q_t max_x x_t)             R: the terms left

the few rows that still can are computed exactly and the remaining, longest postings are never read.

Cost of a query: at most one addition per posting of its terms, whatever the number of other terms. Memory: rows and
postings, 16 bytes per non-zero. Reference: Turtle & Flood (1995), Query evaluation: strategies and optimizations.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import vectors as native
from textmill.arrays import Singles
from textmill.corpus import csr_arrays
from textmill.errors import ModelFileError
from textmill.model import Model, effective_jobs
from textmill.numeric import SparseRows, sparse
from textmill.vectors.scan import Found, Wish

__all__ = ["InvertedIndex"]

_NO_BYTES = np.zeros(0, np.uint8)


class InvertedIndex(Model):
    """Sparse rows and the postings of their terms; `kind` as in `Scan`.

    >>> X = sparse.csr_matrix(np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32))
    >>> index = InvertedIndex.build("product", X)
    >>> found = index.search(sparse.csr_matrix(np.array([[0, 1]], np.float32)), Wish(2), 1)
    >>> found.rows.tolist(), found.keys.round(4).tolist()
    ([1, 2], [1.0, 0.8])
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "row_offsets_": "row+1: int64",
        "columns_": "entry: int32",
        "values_": "entry: float32",
        "term_offsets_": "term+1: int64",
        "documents_": "entry: int32",
        "weights_": "entry: float32",
        "largest_": "term: float32",
        "smallest_": "term: float32",
        "halves_": "row: float32 | None",
    }
    indices: ClassVar[dict[str, str]] = {"columns_": "term", "documents_": "row"}
    offsets: ClassVar[dict[str, str]] = {"row_offsets_": "entry", "term_offsets_": "entry"}
    state: ClassVar[dict[str, type]] = {"kind_": str, "longest_": float}

    row_offsets_: NDArray[np.int64]
    columns_: NDArray[np.int32]
    values_: Singles
    term_offsets_: NDArray[np.int64]
    documents_: NDArray[np.int32]
    weights_: Singles
    largest_: Singles
    smallest_: Singles
    halves_: Singles | None
    kind_: str
    longest_: float

    @classmethod
    def build(cls, kind: str, X: sparse.csr_matrix) -> InvertedIndex:
        """Make the postings of all terms."""
        index = cls()
        index.kind_ = kind
        index._take(X)
        return index

    def __len__(self) -> int:
        return len(self.row_offsets_) - 1

    def append(self, X: sparse.csr_matrix) -> None:
        """Add rows behind the others; makes all postings anew, so add many at a time."""
        self._take(sparse.vstack([self._rows(), X], format="csr"))

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Forget all rows but these."""
        self._take(self._rows()[np.flatnonzero(rows)])

    def take(self, rows: NDArray[np.int64]) -> SparseRows:
        """Return the vectors of some rows, ready to be searched for."""
        shape = len(self), len(self.largest_)
        return SparseRows(self.values_, self.columns_, self.row_offsets_, shape)[rows]

    def search(self, Q: Any, wish: Wish, n_jobs: int | None = None, first: NDArray[np.int64] | None = None) -> Found:
        """Return the wanted rows of each query, those of query i from row `first[i]` on."""
        mask = _NO_BYTES if wish.allowed is None else wish.allowed
        starts = np.zeros(0, np.int64) if first is None else first
        return Found(*self._postings().search(csr_arrays(Q), mask, wish.k, wish.least, starts, effective_jobs(n_jobs)))

    def check_values(self) -> None:
        """Check what the layout cannot say of an index from a file."""
        if self.kind_ not in ("product", "distance") or (self.halves_ is None) != (self.kind_ == "product"):
            raise ModelFileError(f"kind '{self.kind_[:20]}' and the lengths of the vectors do not fit together")
        self._postings()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_made"}  # views stay in their process

    def _take(self, X: sparse.csr_matrix) -> None:
        self.row_offsets_, self.columns_, self.values_ = csr_arrays(X)
        transposed = X.T.tocsr()
        transposed.sort_indices()
        self.term_offsets_, self.documents_, self.weights_ = csr_arrays(transposed)
        self.largest_ = _extremes(np.maximum, transposed)
        self.smallest_ = _extremes(np.minimum, transposed)
        squares = np.bincount(
            np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.data.astype(np.float64) ** 2, X.shape[0]
        )
        self.longest_ = float(np.sqrt(squares.max(initial=0.0)) * (1 + 1e-6))
        self.halves_ = (squares / 2).astype(np.float32) if self.kind_ == "distance" else None
        vars(self).pop("_made", None)

    def _rows(self) -> sparse.csr_matrix:
        shape = len(self), len(self.largest_)
        return sparse.csr_matrix((self.values_, self.columns_, self.row_offsets_), shape=shape)

    def _postings(self) -> Any:
        """The arrays as the kernel takes them, checked once."""
        if "_made" not in vars(self):
            rows = self.row_offsets_, self.columns_, self.values_
            terms = self.term_offsets_, self.documents_, self.weights_
            halves = np.zeros(0, np.float32) if self.halves_ is None else self.halves_
            try:
                self._made = native.PostingsView(
                    self.kind_, rows, terms, self.largest_, self.smallest_, halves, self.longest_
                )
            except ValueError as fault:
                raise ModelFileError(str(fault)) from None
        return self._made


def _extremes(of: np.ufunc, terms: sparse.csr_matrix) -> Singles:
    """The largest, or smallest, weight of each term, or 0."""
    out = np.zeros(terms.shape[0], np.float32)
    of.at(out, np.repeat(np.arange(terms.shape[0]), np.diff(terms.indptr)), terms.data)
    return out

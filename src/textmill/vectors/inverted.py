"""Exact nearest neighbors among sparse vectors: an inverted index with upper bounds.

For every term the index holds the rows that have it (its postings); a query adds up those of its own terms, heavy and
rare ones first. As soon as the terms left cannot lift an unseen row among the k best, because

    what they add <= min(|q_R| max |x|, sum over R of q_t max_x x_t)             R: the terms left

the few rows that still can are computed exactly and the remaining, longest postings are never read.

Rows that are added wait without postings and are read one by one, until they are many enough to be worth making the
postings anew. Cost of a query: at most one addition per posting of its terms, whatever the number of other terms, and
one visit of each entry of a waiting row. Memory: rows and postings, 16 bytes per non-zero. Reference: Turtle & Flood
(1995), Query evaluation: strategies and optimizations.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import vectors as native
from textmill.arrays import Floats, Singles
from textmill.corpus import csr_arrays
from textmill.errors import ModelFileError, reason_of
from textmill.model import Model, effective_jobs
from textmill.numeric import SparseRows, sparse
from textmill.vectors.growth import Growing
from textmill.vectors.scan import Found, Wish

__all__ = ["InvertedIndex", "Waiting"]

_NO_BYTES = np.zeros(0, np.uint8)
_WAITING = 1 << 16  # entries that may wait in any index, and
_SHARE = 8  # one of so many entries in a large one


class InvertedIndex(Growing, Model):
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
    _later: Waiting | None = None

    @classmethod
    def build(cls, kind: str, X: sparse.csr_matrix) -> InvertedIndex:
        """Make the postings of all terms."""
        index = cls()
        index.kind_ = kind
        index._take(X)
        return index

    def __len__(self) -> int:
        now = self._now()
        return len(now.row_offsets_) - 1 + (0 if now._later is None else len(now._later))

    def append(self, X: Any) -> None:
        """Add rows behind the others."""
        later = Waiting(self.kind_, len(self.largest_)) if self._later is None else self._later.copy()
        later.append(X)
        self._later = later
        if len(later.columns) > max(_WAITING, len(self.columns_) // _SHARE):
            self.settle()

    def settle(self) -> None:
        """Make postings of the rows that wait."""
        now = self._now()
        if now._later is not None:
            self._take(sparse.vstack([now._rows(), now._later.rows().csr()], format="csr"))

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Forget all rows but these."""
        self.settle()
        self._take(self._rows()[np.flatnonzero(rows)])

    def take(self, rows: NDArray[np.int64]) -> SparseRows:
        """Return the vectors of some rows, ready to be searched for."""
        now = self._now()
        whole = SparseRows(now.values_, now.columns_, now.row_offsets_, (0, len(now.largest_)))
        if now._later is None:
            return whole[rows]
        first = len(now.row_offsets_) - 1
        old, new = rows < first, rows >= first
        parts = whole[rows[old]], now._later.rows()[rows[new] - first]
        joined = SparseRows(
            np.concatenate([part.data for part in parts]),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([parts[0].indptr, parts[0].indptr[-1] + parts[1].indptr[1:]]),
            (len(rows), len(self.largest_)),
        )
        return joined[np.argsort(np.concatenate([np.flatnonzero(old), np.flatnonzero(new)]))]

    def search(self, Q: Any, wish: Wish, n_jobs: int | None = None, first: NDArray[np.int64] | None = None) -> Found:
        """Return the wanted rows of each query, those of query i from row `first[i]` on."""
        if first is not None:
            self.settle()
        now, postings = self._postings()
        mask = _NO_BYTES if wish.allowed is None else wish.allowed
        starts = np.zeros(0, np.int64) if first is None else first
        jobs, settled = effective_jobs(n_jobs), len(now.row_offsets_) - 1
        matches = Found(*postings.search(csr_arrays(Q), mask[:settled], wish.k, wish.least, starts, jobs))
        if now._later is None:
            return matches
        return _best_of(matches, now._later.search(Q, wish, settled, jobs), wish.k)

    def reach(self, query: Any, least: Floats, n_jobs: int) -> tuple[NDArray[np.int64], Floats]:
        """Return rows and keys of those whose key with a query is at least their own."""
        now, postings = self._postings()
        settled = len(now.row_offsets_) - 1
        rows, keys = postings.reach(csr_arrays(query), _NO_BYTES, np.ascontiguousarray(least[:settled]))
        if now._later is None:
            return rows, keys
        more = now._later.search(query, Wish(0), settled, n_jobs)
        near = more.keys >= least[more.rows]
        order = np.argsort(more.rows[near])
        return np.concatenate([rows, more.rows[near][order]]), np.concatenate([keys, more.keys[near][order]])

    def check_values(self) -> None:
        """Check what the layout cannot say of an index from a file."""
        if self.kind_ not in ("product", "distance") or (self.halves_ is None) != (self.kind_ == "product"):
            raise ModelFileError(
                f"kind '{self.kind_[:20]}' and the lengths of the vectors do not fit together", reason="damaged"
            )
        self._postings()

    def __getstate__(self) -> dict[str, Any]:
        self.settle()
        return {name: value for name, value in super().__getstate__().items() if name != "_made"}  # a view stays here

    def _now(self) -> InvertedIndex:
        """The arrays of one moment: another thread may settle the rows that wait while this one searches."""
        other = object.__new__(InvertedIndex)
        vars(other).update(vars(self))
        return other

    def _take(self, X: sparse.csr_matrix) -> None:
        """Hold these rows and no others, from one moment to the next."""
        new = object.__new__(InvertedIndex)
        new.row_offsets_, new.columns_, new.values_ = csr_arrays(X)
        transposed = X.T.tocsr()
        transposed.sort_indices()
        new.term_offsets_, new.documents_, new.weights_ = csr_arrays(transposed)
        new.largest_ = _extremes(np.maximum, transposed)
        new.smallest_ = _extremes(np.minimum, transposed)
        squares = np.bincount(
            np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.data.astype(np.float64) ** 2, X.shape[0]
        )
        new.longest_ = float(np.sqrt(squares.max(initial=0.0)) * (1 + 1e-6))
        new.halves_ = (squares / 2).astype(np.float32) if self.kind_ == "distance" else None
        new._later = None
        vars(self).update(vars(new))

    def _rows(self) -> sparse.csr_matrix:
        shape = len(self.row_offsets_) - 1, len(self.largest_)
        return sparse.csr_matrix((self.values_, self.columns_, self.row_offsets_), shape=shape)

    def _postings(self) -> tuple[InvertedIndex, Any]:
        """The arrays of one moment, and as the kernel takes them, which are checked once."""
        now = self._now()
        of, view = vars(now).get("_made", (None, None))
        if of is not now.row_offsets_:  # there is none, or it is of what was here before
            rows = now.row_offsets_, now.columns_, now.values_
            terms = now.term_offsets_, now.documents_, now.weights_
            halves = np.zeros(0, np.float32) if now.halves_ is None else now.halves_
            try:
                view = native.PostingsView(now.kind_, rows, terms, now.largest_, now.smallest_, halves, now.longest_)
            except ValueError as fault:
                raise ModelFileError(str(fault), reason=reason_of(fault)) from None
            self._made = now.row_offsets_, view
        return now, view


class Waiting(Growing):
    """Sparse rows that are read one by one.

    >>> waiting = Waiting("product", 2)
    >>> waiting.append(SparseRows(np.array([0.6, 0.8]), np.array([0, 1], np.int32), np.array([0, 2]), (1, 2)))
    >>> len(waiting)
    1
    """

    def __init__(self, kind: str, terms: int) -> None:
        self.kind, self.terms = kind, terms
        self.offsets = np.zeros(1, np.int64)
        self.columns = np.zeros(0, np.int32)
        self.values = np.zeros(0, np.float32)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def copy(self) -> Waiting:
        """The same rows, to which others may be added."""
        other = Waiting(self.kind, self.terms)
        vars(other).update(vars(self))
        return other

    def append(self, X: Any) -> None:
        """Add rows."""
        offsets, columns, values = csr_arrays(X)
        self.extend("offsets", self.offsets[-1] + offsets[1:] - offsets[0])
        self.extend("columns", columns)
        self.extend("values", values.astype(np.float32, copy=False))

    def rows(self) -> SparseRows:
        """The rows as arrays."""
        return SparseRows(self.values, self.columns, self.offsets, (len(self), self.terms))

    def search(self, Q: Any, wish: Wish, first: int, jobs: int) -> Found:
        """The wanted rows of each query; they are counted from `first` on."""
        mask = _NO_BYTES if wish.allowed is None else wish.allowed[first:]
        rows = self.offsets, self.columns, self.values
        matches = Found(*native.scan_sparse(self.kind, rows, self.terms, csr_arrays(Q), mask, wish.k, wish.least, jobs))
        return matches._replace(rows=matches.rows + first)


def _best_of(one: Found, other: Found, k: int) -> Found:
    """The k best of two answers to each query, 0 for all; the rows of the second come after those of the first."""
    query = np.concatenate(
        [np.repeat(np.arange(len(part.offsets) - 1), np.diff(part.offsets)) for part in (one, other)]
    )
    keys, rows = np.concatenate([one.keys, other.keys]), np.concatenate([one.rows, other.rows])
    order = np.lexsort((rows, -keys, query))
    place = np.arange(len(order)) - np.searchsorted(query[order], query[order])
    order = order[place < k] if k else order
    counts = np.bincount(query[order], minlength=len(one.offsets) - 1)
    return Found(np.concatenate([[0], np.cumsum(counts)]), rows[order], keys[order], one.read + other.read)


def _extremes(of: np.ufunc, terms: sparse.csr_matrix) -> Singles:
    """The largest, or smallest, weight of each term, or 0."""
    out = np.zeros(terms.shape[0], np.float32)
    of.at(out, np.repeat(np.arange(terms.shape[0]), np.diff(terms.indptr)), terms.data)
    return out

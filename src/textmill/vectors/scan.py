"""Exact nearest neighbors among dense vectors, by reading all of them as fast as memory gives them.

    key(x, q) = x.q            kind "product"
    key(x, q) = -|x - q|^2     kind "distance"            the k rows of the largest keys, ties in the order of rows

`Scan` reads every row. `PrefixScan` reads the first p columns of every row from a copy of their own, and the rest only
of rows that the bound of Cauchy and Schwarz does not settle,

    x.q <= x_p.q_p + |x_t| |q_t|          t: the other columns

which pays when the first columns carry most of the length, as those of LSA and PCA vectors do. One query is a native
kernel on all cores; many are tiles of a matrix product (BLAS) whose entries are compared with the k-th best so far.
Both only decide for which rows the key is computed exactly, in double precision: answers have the same bytes for any
number of threads, tile or method.

Cost: 4 n d bytes read a query, or a batch; n d multiplications. Memory: the vectors, and p / d of them for prefixes.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from textmill._native import vectors as native
from textmill.arrays import Floats, Singles
from textmill.errors import DataError, ModelFileError
from textmill.model import Model, check_range, effective_jobs
from textmill.vectors.growth import Growing

__all__ = ["FEW_QUERIES", "DenseRows", "Found", "PrefixScan", "Scan", "Wish", "row_lengths"]


FEW_QUERIES = 4  # queries that are answered one by one
_QUERIES, _ROWS = 256, 1024  # of a tile of products
_SHARE = 0.8  # of the squared length that a prefix carries when its size is not given
_NO_FLOATS = np.zeros(0, np.float32)
_NO_BYTES = np.zeros(0, np.uint8)


class Wish(NamedTuple):
    """What is asked of a search: the `k` best rows (0 for all) with keys of at least `least`, among those `allowed`."""

    k: int
    least: float = -np.inf
    allowed: NDArray[np.uint8] | None = None  # one entry per row, None for all rows


class Found(NamedTuple):
    """Rows and keys of all queries one after the other, best first: those of query i from offsets[i] on."""

    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    keys: NDArray[np.float64]
    read: int  # rows that were read in full, for all queries together


class DenseRows(Growing, Model):
    """Vectors in float32 with their half squared lengths; what the dense ways of searching share."""

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"vectors_": "row column: float32", "halves_": "row: float32 | None"}
    state: ClassVar[dict[str, type]] = {"kind_": str, "longest_": float}

    vectors_: Singles
    halves_: Singles | None
    kind_: str
    longest_: float

    def _take(self, kind: str, X: Singles) -> None:
        self.kind_ = kind
        self.vectors_ = X
        self.halves_, self.longest_ = row_lengths(kind, X)

    def __len__(self) -> int:
        return len(self.vectors_)

    def append(self, X: Singles) -> None:
        """Add rows behind the others."""
        halves, longest = row_lengths(self.kind_, X)
        self.extend("vectors_", X)
        if halves is not None:
            self.extend("halves_", halves)
        self.longest_ = max(self.longest_, longest)

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Forget all rows but these."""
        self.vectors_ = self.vectors_[rows]
        self.halves_ = None if self.halves_ is None else self.halves_[rows]

    def settle(self) -> None:
        """Make ready what was put off; nothing is."""

    def take(self, rows: NDArray[np.int64]) -> Singles:
        """Return the vectors of some rows, ready to be searched for."""
        return self.vectors_[rows]

    def keys(self, query: Singles, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the exact keys of some rows."""
        out = np.empty(len(rows))
        native.exact_keys(self._view(None), query, rows, out)
        return out

    def reach(self, query: Singles, least: Floats, n_jobs: int) -> tuple[NDArray[np.int64], Floats]:
        """Return rows and keys of those whose key with a query (1, columns) is at least their own."""
        length = float(np.sqrt(np.einsum("ij,ij->", query, query, dtype=np.float64)))
        margin = (query.shape[1] + 16) * 2.0**-23 * self.longest_ * (length + self.longest_) + 1e-37
        bounds = (self.vectors_ @ query[0]).astype(np.float64) + margin
        if self.halves_ is not None:
            bounds = 2 * (bounds - self.halves_) - length**2
        rows = np.flatnonzero(bounds >= least)
        keys = self.keys(query[0], rows)
        near = keys >= least[rows]
        return rows[near], keys[near]

    def view(self, allowed: NDArray[np.uint8] | None) -> Any:
        """Return the rows as native kernels take them."""
        return self._view(allowed)

    def rest(self, start: int) -> Scan:
        """Return the rows from `start` on, sharing their memory."""
        rest = Scan()
        rest.kind_, rest.longest_ = self.kind_, self.longest_
        rest.vectors_, rest.halves_ = self.vectors_[start:], None if self.halves_ is None else self.halves_[start:]
        return rest

    def check_values(self) -> None:
        """Check what the layout cannot say of rows from a file."""
        _check_kind(self.kind_, self.halves_, self.longest_)

    def _view(self, allowed: NDArray[np.uint8] | None) -> Any:
        """The rows for a native kernel that looks at whole vectors."""
        halves = _NO_FLOATS if self.halves_ is None else self.halves_
        mask = _NO_BYTES if allowed is None else allowed
        return native.DenseView(
            self.kind_,
            values=self.vectors_,
            heads=self.vectors_,
            tails=_NO_FLOATS,
            halves=halves,
            allowed=mask,
            longest=self.longest_,
        )


class Scan(DenseRows):
    """Read every vector.

    >>> scan = Scan.build("product", np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32))
    >>> nearest = scan.search(np.array([[0, 1]], np.float32), Wish(2), 1)
    >>> nearest.rows.tolist(), nearest.keys.round(4).tolist()
    ([1, 2], [1.0, 0.8])
    """

    format_version: ClassVar[int] = 1

    @classmethod
    def build(cls, kind: str, X: Singles) -> Scan:
        """Make the rows ready to be searched."""
        scan = cls()
        scan._take(kind, X)
        return scan

    def search(self, Q: Singles, wish: Wish, n_jobs: int | None = None) -> Found:
        """Return the wanted rows of each query."""
        view = self._view(wish.allowed)
        if len(Q) < FEW_QUERIES:
            nearest = Found(*native.scan(view, Q, k=wish.k, least=wish.least, threads=effective_jobs(n_jobs)))
        else:
            batches = range(0, len(Q), _QUERIES)
            nearest = _join(
                [_tiles(view, self.vectors_, Q[i : i + _QUERIES], wish, effective_jobs(n_jobs)) for i in batches]
            )
        return nearest._replace(read=len(self) * len(Q))


class PrefixScan(DenseRows):
    """Read the first columns of every vector, and the rest of those that they do not settle.

    >>> scan = PrefixScan.build("product", np.eye(3, dtype=np.float32), prefix=1)
    >>> scan.search(np.array([[0.6, 0, 0.8]], np.float32), Wish(1), 1).rows.tolist()
    [2]
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"heads_": "row head: float32", "tails_": "row: float32"}

    heads_: Singles
    tails_: Singles

    @classmethod
    def build(cls, kind: str, X: Singles, prefix: int | None = None) -> PrefixScan:
        """Copy the first `prefix` columns, or as many as carry four fifths of the squared lengths."""
        scan = cls()
        scan._take(kind, X)
        if prefix is None:
            shares = np.cumsum(np.einsum("ij,ij->j", X, X, dtype=np.float64))
            enough = int(np.searchsorted(shares, _SHARE * shares[-1])) + 1
            prefix = min(X.shape[1], -(-enough // 8) * 8)
        check_range("prefix", prefix, at_least=1, whole=True)
        if prefix > X.shape[1]:
            raise DataError(f"prefix={prefix} but the vectors have {X.shape[1]} columns; pass fewer")
        scan.heads_, scan.tails_ = _cut(X, prefix)
        return scan

    def append(self, X: Singles) -> None:
        """Add rows behind the others."""
        super().append(X)
        heads, tails = _cut(X, self.heads_.shape[1])
        self.extend("heads_", heads)
        self.extend("tails_", tails)

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Forget all rows but these."""
        super().keep(rows)
        self.heads_, self.tails_ = self.heads_[rows], self.tails_[rows]

    def search(self, Q: Singles, wish: Wish, n_jobs: int | None = None) -> Found:
        """Return the wanted rows of each query."""
        if len(Q) >= FEW_QUERIES:  # products of many queries with whole vectors cost less than looking twice
            return self.rest(0).search(Q, wish, n_jobs)
        whole = self.heads_.shape[1] == self.vectors_.shape[1]
        tails, halves = (_NO_FLOATS if whole else self.tails_), (_NO_FLOATS if self.halves_ is None else self.halves_)
        mask = _NO_BYTES if wish.allowed is None else wish.allowed
        view = native.DenseView(
            self.kind_,
            values=self.vectors_,
            heads=self.heads_,
            tails=tails,
            halves=halves,
            allowed=mask,
            longest=self.longest_,
        )
        return Found(*native.scan(view, Q, k=wish.k, least=wish.least, threads=effective_jobs(n_jobs)))

    def check_values(self) -> None:
        """Check what the layout cannot say of rows from a file."""
        super().check_values()
        if not 1 <= self.heads_.shape[1] <= self.vectors_.shape[1]:
            raise ModelFileError("heads are wider than the vectors", reason="damaged")


def _tiles(view: Any, X: Singles, Q: Singles, wish: Wish, threads: int) -> Found:
    """Answer one batch of queries; each thread has a selection of its own, and BLAS only that thread."""
    lanes = max(1, min(threads, -(-len(X) // _ROWS)))

    def work(lane: int) -> Any:
        selection = native.Selection(view, Q, wish.k, wish.least)
        products = np.empty((len(Q), _ROWS), np.float32)
        for first in range(lane * _ROWS, len(X), lanes * _ROWS):
            rows = X[first : first + _ROWS]
            np.matmul(Q, rows.T, out=products[:, : len(rows)])
            selection.add(view, products, first, len(rows))
        return selection

    with ThreadpoolController().limit(limits=1, user_api="blas"), ThreadPoolExecutor(lanes) as pool:
        first, *others = pool.map(work, range(lanes))
    deque(map(first.merge, others), maxlen=0)
    return Found(*first.found())


def _join(parts: list[Found]) -> Found:
    """The answers of several batches as those of one."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.rows) for part in parts)])
    return Found(
        np.concatenate([[0], *(start + part.offsets[1:] for start, part in zip(starts, parts, strict=False))]),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.keys for part in parts]),
        sum(part.read for part in parts),
    )


def row_lengths(kind: str, X: Singles) -> tuple[Singles | None, float]:
    """Half the squared length of each row, where distances need it, and the largest length."""
    squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    longest = float(np.sqrt(squares.max(initial=0.0)) * (1 + 1e-6))
    return ((squares / 2).astype(np.float32) if kind == "distance" else None), longest


def _cut(X: Singles, prefix: int) -> tuple[Singles, Singles]:
    """The first columns and the lengths of the others, rounded up."""
    tail = X[:, prefix:]
    lengths = np.sqrt(np.einsum("ij,ij->i", tail, tail, dtype=np.float64)) * (1 + 1e-6)
    return np.ascontiguousarray(X[:, :prefix]), lengths.astype(np.float32)


def _check_kind(kind: str, halves: Singles | None, longest: float) -> None:
    if kind not in ("product", "distance") or (halves is None) != (kind == "product") or not 0 <= longest <= 1e18:
        raise ModelFileError(f"kind '{kind[:20]}' and the lengths of the vectors do not fit together", reason="damaged")

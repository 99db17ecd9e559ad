"""Exact nearest neighbors by a scan of vectors rounded to bytes, and the full vectors of a few.

    x = s c + r,  c whole, |c_j| <= 127          x.q <= s c.q + |r| |q|             (Cauchy-Schwarz)

A query reads one byte a number, a quarter of what a scan reads, in integer arithmetic, and computes exact keys only of
vectors whose bound reaches the k-th best. The length |r| of what rounding took from each vector is stored, so the bound
holds for any data; on vectors of hundreds of columns it settles all but a few in ten thousand.

Cost: n d bytes read a query. Memory: a quarter of the vectors, beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import vectors as native
from textmill.arrays import Floats, Singles
from textmill.errors import ModelFileError
from textmill.model import effective_jobs
from textmill.vectors.scan import DenseRows, Found, Wish

__all__ = ["MANY_QUERIES", "CoarseScan", "search_parts"]

MANY_QUERIES = 100  # from here on products with whole vectors cost less than looking twice


class CoarseScan(DenseRows):
    """Vectors, and beside them the same rounded to bytes.

    >>> scan = CoarseScan.build("product", np.eye(3, dtype=np.float32))
    >>> found = scan.search(np.array([[0.6, 0, 0.8]], np.float32), Wish(1), 1)
    >>> found.rows.tolist(), found.keys.round(4).tolist()
    ([2], [0.8])
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "cells_": "row byte: int8",
        "steps_": "row: float32",
        "errors_": "row: float32",
    }

    cells_: NDArray[np.int8]
    steps_: Singles
    errors_: Singles

    @classmethod
    def build(cls, kind: str, X: Singles) -> CoarseScan:
        """Round all rows."""
        scan = cls()
        scan._take(kind, X)
        scan.cells_, scan.steps_, scan.errors_ = _rounded(X)
        return scan

    def append(self, X: Singles) -> None:
        """Add rows behind the others."""
        super().append(X)
        cells, steps, errors = _rounded(X)
        self.extend("cells_", cells)
        self.extend("steps_", steps)
        self.extend("errors_", errors)

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Forget all rows but these."""
        super().keep(rows)
        self.cells_, self.steps_, self.errors_ = self.cells_[rows], self.steps_[rows], self.errors_[rows]

    def search(self, Q: Singles, wish: Wish, n_jobs: int | None = None) -> Found:
        """Return the wanted rows of each query."""
        if len(Q) >= MANY_QUERIES:
            return self.rest(0).search(Q, wish, n_jobs)
        parts = [self.coarse_view(wish.allowed)]
        return Found(*native.search_coarse(parts, Q, k=wish.k, least=wish.least, threads=effective_jobs(n_jobs)))

    def reach(self, query: Singles, least: Floats, n_jobs: int) -> tuple[NDArray[np.int64], Floats]:
        """Return rows and keys of those whose key with a query is at least their own."""
        rows, keys = native.reach_coarse(self.coarse_view(None), query=query[0], least=least, threads=n_jobs)
        return rows, keys

    def coarse_view(self, allowed: NDArray[np.uint8] | None) -> Any:
        """Return the rows and their bytes as native kernels take them."""
        return native.CoarseView(self._view(allowed), cells=self.cells_, steps=self.steps_, errors=self.errors_)

    def check_values(self) -> None:
        """Check what the layout cannot say of rows from a file."""
        super().check_values()
        if self.cells_.shape[1] != _stride(self.vectors_.shape[1]):
            raise ModelFileError(
                f"{self.cells_.shape[1]} bytes per row do not fit {self.vectors_.shape[1]} columns", reason="damaged"
            )


def search_parts(
    scans: Sequence[CoarseScan], masks: Sequence[NDArray[np.uint8] | None], Q: Singles, k: int, threads: int
) -> Found:
    """Return the k best rows of all scans for each query, counted through; what one holds bounds the others.

    >>> scans = [CoarseScan.build("product", np.eye(3, dtype=np.float32)) for _ in range(2)]
    >>> search_parts(scans, [None, None], np.array([[0.6, 0, 0.8]], np.float32), 2, 1).rows.tolist()
    [2, 5]
    """
    parts = [scan.coarse_view(mask) for scan, mask in zip(scans, masks, strict=True)]
    return Found(*native.search_coarse(parts, Q, k=k, least=-np.inf, threads=threads))


def _stride(columns: int) -> int:
    return -(-columns // 16) * 16


def _rounded(X: Singles) -> tuple[NDArray[np.int8], Singles, Singles]:
    """Whole numbers, steps and lengths of what was taken away."""
    cells = np.empty((len(X), _stride(X.shape[1])), np.int8)
    steps, errors = np.empty((2, len(X)), np.float32)
    native.coarsen(X, cells=cells, steps=steps, errors=errors, threads=effective_jobs(None))
    return cells, steps, errors

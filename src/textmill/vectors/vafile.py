"""VA-File: exact nearest neighbors by short approximations of all vectors and the full ones of a few.

Column j is cut into 2^b cells of equal population; a vector keeps its b d bits of cell numbers beside its 32 d bits. A
query first bounds every key from below and above by tables over cells, then reads full vectors in the order of their
upper bounds until no other can be among the k best. The outer cells reach to the smallest and largest value and are
widened when vectors are added.

Cost of a query: two additions per cell for all n vectors, and the reading of a few: with 8 bits well under one in a
hundred on LSA vectors. Memory: b / 32 of the vectors, beside them; in a file they are mapped, so that only those
read cost anything. Reference: Weber & Blott (1997), An approximation based data structure for similarity search.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import vectors as native
from textmill.arrays import Singles
from textmill.errors import ModelFileError
from textmill.model import check_range, effective_jobs
from textmill.vectors.scan import DenseRows, Found, Wish

__all__ = ["VAFile"]

_SAMPLE = 1 << 15  # rows from which the cells are made


class VAFile(DenseRows):
    """Vectors with their approximations of `bits` bits per column.

    >>> file = VAFile.build("distance", np.arange(40, dtype=np.float32).reshape(20, 2), bits=4)
    >>> found = file.search(np.array([[10, 11.5]], np.float32), Wish(1), 1)
    >>> found.rows.tolist(), found.keys.tolist(), found.read < 20
    ([5], [-0.25], True)
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"edges_": "column edge: float32", "cells_": "row byte: uint8"}
    state: ClassVar[dict[str, type]] = {"bits_": int}

    edges_: Singles
    cells_: NDArray[np.uint8]
    bits_: int

    @classmethod
    def build(cls, kind: str, X: Singles, bits: int = 8) -> VAFile:
        """Choose the cells by the quantiles of the columns and approximate all rows."""
        check_range("bits", bits, at_least=1, at_most=8, whole=True)
        file = cls()
        file._take(kind, X)
        file.bits_ = bits
        sample = X[:: max(1, len(X) // _SAMPLE)]
        cells = 1 << bits
        if len(X):
            inner = np.quantile(sample, np.arange(1, cells) / cells, axis=0).T.astype(np.float32)
            low, high = X.min(axis=0), X.max(axis=0)
        else:
            inner, low, high = np.zeros((X.shape[1], cells - 1), np.float32), *np.zeros((2, X.shape[1]), np.float32)
        file.edges_ = np.column_stack([low, np.clip(inner, low[:, None], high[:, None]), high])
        file.cells_ = file._approximate(X)
        return file

    def append(self, X: Singles) -> None:
        """Add rows behind the others, widening the outer cells to hold them."""
        super().append(X)
        if len(X):
            self.edges_ = self.edges_.copy()
            np.minimum(self.edges_[:, 0], X.min(axis=0), out=self.edges_[:, 0])
            np.maximum(self.edges_[:, -1], X.max(axis=0), out=self.edges_[:, -1])
        self.extend("cells_", self._approximate(X))

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Forget all rows but these."""
        super().keep(rows)
        self.cells_ = self.cells_[rows]

    def search(self, Q: Singles, wish: Wish, n_jobs: int | None = None) -> Found:
        """Return the wanted rows of each query."""
        view = self._view(wish.allowed)
        return Found(
            *native.search_cells(
                view,
                edges=self.edges_,
                bits=self.bits_,
                cells=self.cells_,
                queries=Q,
                k=wish.k,
                least=wish.least,
                threads=effective_jobs(n_jobs),
            )
        )

    def check_values(self) -> None:
        """Check what the layout cannot say of rows from a file."""
        super().check_values()
        columns = self.vectors_.shape[1]
        if not 1 <= self.bits_ <= 8 or self.edges_.shape[1] != (1 << self.bits_) + 1:
            raise ModelFileError(f"{self.bits_} bits do not fit the {self.edges_.shape[1]} edges", reason="damaged")
        if not np.isfinite(self.edges_).all() or (np.diff(self.edges_, axis=1) < 0).any():
            raise ModelFileError("the edges of the cells do not rise", reason="damaged")
        if self.cells_.shape[1] != -(-self.bits_ * columns // 8):
            size = self.cells_.shape[1]
            raise ModelFileError(
                f"{size} bytes per row do not hold {columns} cells of {self.bits_} bits", reason="damaged"
            )

    def _approximate(self, X: Singles) -> NDArray[np.uint8]:
        cells = np.empty((len(X), -(-self.bits_ * X.shape[1] // 8)), np.uint8)
        native.approximate(X, edges=self.edges_, bits=self.bits_, cells=cells, threads=effective_jobs(None))
        return cells

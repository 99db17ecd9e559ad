"""The rows of a documents x terms matrix, whole in this process or in parts on the workers of a cluster.

    for each part p of the rows:    step(part, A_p, ..., threads, state, ...)         A_p: the same rows of dense arrays

An algorithm that visits all rows in every iteration asks `each` for what a step makes of every part; sums over rows are
sums over parts, what has a row for each document is put together again. In this process there is one part, and nothing
is copied. On a cluster the documents are read once, by the workers where they can, and stay there; an iteration moves
the state to each worker, and a few numbers per document.

Cost of an iteration on a cluster: state (V x k numbers) to each worker and a sum of that size back for every part, two
numbers per document and topic, against O(entries x k) operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from operator import add
from typing import Any, TypeVar

import numpy as np

from textmill.arrays import Floats
from textmill.cluster import Cluster, connect, tree_reduce
from textmill.corpus import widened
from textmill.model import effective_jobs
from textmill.numeric import sparse
from textmill.topics.chunks import Chunks, gathered
from textmill.topics.decomposition import blas_threads, product
from textmill.topics.operators import Operator

__all__ = ["PART", "Part", "Rows"]

R = TypeVar("R")

PART = 2048  # documents of a part on a cluster


class Part:
    """Some rows. Attributes: X; Xt, its transpose in the same form, made when it is first needed.

    >>> Part(sparse.csr_matrix([[1.0, 0.0]])).Xt.shape
    (2, 1)
    """

    def __init__(self, X: sparse.csr_matrix) -> None:
        self.X = X

    @cached_property
    def Xt(self) -> sparse.csr_matrix:  # noqa: N802
        """The transpose."""
        return self.X.T.tocsr()

    def widened(self, terms: int) -> Part:
        """The same rows with this number of columns.

        >>> Part(sparse.csr_matrix([[1.0]])).widened(3).X.shape
        (1, 3)
        """
        return self if self.X.shape[1] == terms else Part(widened(self.X, terms))

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X}

    def __sizeof__(self) -> int:
        return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)


class Rows:
    """Rows of a matrix that steps can be run on. Attributes: shape; lengths (n,) and frequencies (V,), sums of entries.

    >>> rows = Rows(sparse.csr_matrix([[1.0, 0.0], [2.0, 3.0]]))
    >>> rows.shape, rows.lengths.tolist(), rows.frequencies.tolist()
    ((2, 2), [1.0, 5.0], [3.0, 3.0])
    """

    def __init__(self, X: sparse.csr_matrix, n_jobs: int | None = None) -> None:
        part = Part(X)
        with connect(None) as here:
            self._take(here, [part], [_facts(part)], n_jobs)

    @classmethod
    def spread(cls, chunks: Chunks, workers: Cluster, n_jobs: int | None = None) -> Rows:
        """Put documents on the workers, as many in a part as there are in a chunk.

        >>> with connect(None) as here:
        ...     Rows.spread(Chunks(np.eye(3), 2), here).shape
        (3, 3)
        """
        parts = workers.keep(_load, chunks.jobs(1))
        facts = list(workers.map(_facts, parts))
        rows = cls.__new__(cls)
        rows._take(workers, parts, facts, workers.worker_jobs(n_jobs))
        return rows

    def _take(self, workers: Cluster, parts: list[Any], facts: list[tuple[Floats, Floats]], n_jobs: int | None) -> None:
        self._workers, self._threads = workers, effective_jobs(n_jobs)
        self._parts = [part for part, (lengths, _) in zip(parts, facts, strict=True) if len(lengths)]
        terms = max((len(columns) for _, columns in facts), default=0)
        self.lengths = np.concatenate([np.zeros(0), *(lengths for lengths, _ in facts)])
        self.frequencies = sum((np.pad(c, (0, terms - len(c))) for _, c in facts), np.zeros(terms))
        self.shape = (len(self.lengths), terms)
        self._ends = np.cumsum([len(lengths) for lengths, _ in facts if len(lengths)])[:-1]

    def each(self, step: Callable[..., R], *rows: Floats, state: tuple[Any, ...] = ()) -> Iterator[R]:
        """What `step(part, *rows, threads, *state)` gives for each part, in order; `rows` are cut like the matrix.

        >>> rows = Rows(sparse.csr_matrix([[1.0, 0.0], [2.0, 3.0]]))
        >>> list(rows.each(lambda part, weights, threads: part.Xt @ weights, np.ones(2)))
        [array([3., 3.])]
        """
        if len(self._parts) == 1 and isinstance(self._parts[0], Part):
            return iter([step(self._parts[0], *rows, self._threads, *state)])
        run = partial(_on_part, step, self.shape[1], self._threads)
        cut = [np.split(array, self._ends) for array in rows]
        handles = [self._workers.broadcast(value) for value in state]
        return self._workers.map(run, zip(self._parts, *cut, strict=True), *handles)

    def matrix(self) -> sparse.csr_matrix:
        """All rows in this process, where they came as one matrix.

        >>> Rows(sparse.csr_matrix([[1.0, 2.0]])).matrix().shape
        (1, 2)
        """
        only = self._parts[0]
        assert isinstance(only, Part)
        return only.X

    def operator(self) -> Operator:
        """The matrix as one that can be multiplied from both sides."""
        return Operator(
            self.shape,
            lambda D: _joined(list(self.each(_product, state=(D,)))),
            lambda D: tree_reduce(add, self.each(_transposed_product, D)),
        )


def _load(chunks: Chunks) -> Part:
    return Part(gathered(chunks).astype(np.float64))


def _facts(part: Part) -> tuple[Floats, Floats]:
    """The sums of rows and of columns."""
    rows, columns = (np.asarray(part.X.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    return rows, columns


def _joined(parts: list[Floats]) -> Floats:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _on_part(step: Callable[..., R], terms: int, threads: int, chunk: tuple[Any, ...], *state: Any) -> R:
    part, *rows = chunk
    with blas_threads(threads):
        return step(part.widened(terms), *rows, threads, *state)


def _product(part: Part, threads: int, D: Floats) -> Floats:
    return product(part.X, D, threads)


def _transposed_product(part: Part, D: Floats, threads: int) -> Floats:
    return product(part.Xt, D, threads)

"""Passes over a stream of chunks: what one machine does with its part of the corpus, and how parts add up.

    node      one decomposition, chunk after chunk merged into it               (algorithm 3.3)
    sketch    Y = sum_i X_i^T O_i, with O keyed by the number of the document   (algorithm 3.5, first pass)
    power     Y = sum_i X_i^T (X_i Q) = C Q                                     (algorithm 3.5, power iteration)
    ritz      T = sum_i (X_i Q)^T (X_i Q) = Q^T C Q                             (algorithm 3.5, last pass)

C = sum_i X_i^T X_i is never formed. A part is a stream of chunks; it takes memory for its sum and one chunk, whatever
its length. Sums of parts add by `add_sums`, decompositions merge.
Reference: Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from textmill.arrays import Floats
from textmill.numeric import sparse
from textmill.progress import track
from textmill.topics.decomposition import Decomposition, blas_threads, product, transposed_product
from textmill.topics.lsa.basecase import ChunkMethod, base_case, gaussian
from textmill.topics.lsa.merging import merge

__all__ = ["Plan", "Sum", "add_sums", "node", "power", "ritz", "sketch"]


@dataclass(frozen=True)
class Plan:
    """What a node needs: factors kept on the way, method for a chunk, decay or half-life, random state, threads."""

    rank: int
    method: ChunkMethod = "lanczos"
    decay: float = 1.0
    half_life: float | None = None
    random_state: int = 0
    n_jobs: int = 1
    merge: Callable[..., Decomposition] = merge

    def weight(self, documents: int) -> float:
        """Factor of the old singular values when a chunk of this many documents arrives.

        >>> Plan(2, half_life=1000).weight(1000) ** 2
        0.5000000000000001
        """
        return self.decay if self.half_life is None else 0.5 ** (documents / (2 * self.half_life))


@dataclass(frozen=True)
class Sum:
    """The sum of a pass, with the documents and the energy ||X||_F^2 that it saw."""

    value: Floats
    documents: int
    energy: float


def node(chunks: Iterable[sparse.csr_matrix], plan: Plan, model: Decomposition | None = None) -> Decomposition:
    """Merge chunk after chunk into a decomposition, a new one or a given one, which is not changed.

    >>> node([sparse.csr_matrix([[3.0, 0.0]]), sparse.csr_matrix([[0.0, 4.0]])], Plan(rank=1)).s.tolist()
    [4.0]
    """
    total = Decomposition(np.zeros((0, 0)), np.zeros(0)) if model is None else model
    with blas_threads(plan.n_jobs):
        for chunk in track(chunks, "decomposing", unit="chunks"):
            new = base_case(chunk, plan.rank, plan.method, random_state=plan.random_state, n_jobs=plan.n_jobs)
            weight = plan.weight(chunk.shape[0])
            total = plan.merge(total, new, plan.rank, decay=weight, overwrite=total is not model)
            del new  # before the next one is total
    return total


def sketch(chunks: Iterable[sparse.csr_matrix], first: int, width: int, random_state: int, n_jobs: int) -> Sum:
    """Return Y of the documents numbered from `first`.

    >>> sketch([sparse.csr_matrix(np.eye(3))], 0, width=2, random_state=1, n_jobs=1).value.shape
    (3, 2)
    """

    def part(X: sparse.csr_matrix, place: int) -> Floats:
        return transposed_product(X, gaussian(X.shape[0], width, random_state, place, n_jobs), n_jobs)

    return _total(chunks, first, (0, width), part, n_jobs)


def power(chunks: Iterable[sparse.csr_matrix], Q: Floats, n_jobs: int) -> Sum:
    """Return C Q.

    >>> power([sparse.csr_matrix(np.diag([1.0, 2.0]))], np.eye(2), n_jobs=1).value.tolist()
    [[1.0, 0.0], [0.0, 4.0]]
    """
    return _total(chunks, 0, Q.shape, lambda X, _: transposed_product(X, product(X, Q, n_jobs), n_jobs), n_jobs)


def ritz(chunks: Iterable[sparse.csr_matrix], Q: Floats, n_jobs: int) -> Sum:
    """Return Q^T C Q.

    >>> ritz([sparse.csr_matrix(np.diag([1.0, 2.0]))], np.eye(2)[:, 1:], n_jobs=1).value.tolist()
    [[4.0]]
    """

    def part(X: sparse.csr_matrix, _: int) -> Floats:
        P = product(X, Q, n_jobs)
        return P.T @ P

    return _total(chunks, 0, (Q.shape[1], Q.shape[1]), part, n_jobs)


def _total(
    chunks: Iterable[sparse.csr_matrix],
    first: int,
    shape: tuple[int, ...],
    part: Callable[[sparse.csr_matrix, int], Floats],
    n_jobs: int,
) -> Sum:
    """Add the parts of all chunks."""
    total, documents, energy = np.zeros(shape), 0, 0.0
    with blas_threads(n_jobs):
        for X in track(chunks, "reading", unit="chunks"):
            total = _grown(total, part(X, first + documents))
            documents += X.shape[0]
            energy += float(np.square(X.data, dtype=np.float64).sum())
    return Sum(total, documents, energy)


def add_sums(a: Sum, b: Sum) -> Sum:
    """Add what two machines summed.

    >>> add_sums(Sum(np.ones((1, 1)), 2, 1.0), Sum(np.ones((2, 1)), 3, 1.0)).value.tolist()
    [[2.0], [1.0]]
    """
    return Sum(_grown(a.value.copy(), b.value), a.documents + b.documents, a.energy + b.energy)


def _grown(total: Floats, more: Floats) -> Floats:
    """Their sum, in place of the first where it has room."""
    if len(more) > len(total):
        total, more = np.array(more), total
    total[: len(more)] += more
    return total

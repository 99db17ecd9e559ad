"""How good a decomposition is: against the true one, and how well its data suit merging.

    r_i     = |s_i - true_i| / true_i                                    relative error of a singular value
    rmse    = root of the mean squared difference of all cosines of documents in the two spaces
    shift   sum_{i > k} (s_i^2 - mean)^2 / sum_i s_i^4                   0: low rank plus a shift

Merging of truncated decompositions is exact when A^T A is of rank k plus a multiple of the identity (Zha & Zhang 2000):
when all squared singular values behind the first k are equal.
References: Rehurek (2011), sections 3.3 and 3.4; Zha & Zhang (2000), Matrices with low-rank-plus-shift structure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.vectors import pairwise_matrix

__all__ = ["relative_errors", "shift_departure", "similarity_rmse"]


def relative_errors(values: ArrayLike, true: ArrayLike) -> Floats:
    """Return r_i for as many factors as there are true ones; a factor that is missing has error 1.

    >>> relative_errors([4.0, 1.5], [4.0, 2.0, 1.0]).tolist()
    [0.0, 0.25, 1.0]
    """
    computed, right = np.asarray(values, dtype=np.float64), np.asarray(true, dtype=np.float64)
    if not (right > 0).all():
        raise DataError("the true singular values must be positive; leave out those that are 0")
    padded = np.zeros(len(right))
    padded[: len(computed)] = computed[: len(right)]
    return np.abs(padded - right) / right


def similarity_rmse(vectors: Any, true: Any) -> float:
    """Return the root mean squared difference of the cosines of all pairs of rows in two spaces.

    >>> round(similarity_rmse([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]), 4)
    0.7071
    """
    ours, theirs = (pairwise_matrix(np.asarray(rows), measure="cosine") for rows in (vectors, true))
    if ours.shape != theirs.shape:
        raise DataError(
            f"there are {len(ours)} rows in one space and {len(theirs)} in the other; pass the same documents"
        )
    return float(np.sqrt(np.mean((ours - theirs) ** 2)))


def shift_departure(values: ArrayLike, k: int) -> float:
    """Return how far a spectrum is from k factors plus a constant: 0 exactly so, near 1 not at all.

    >>> shift_departure([5.0, 3.0, 1.0, 1.0, 1.0], 2), round(shift_departure([2.0, 1.0, 0.0], 0), 2)
    (0.0, 0.51)
    """
    squares = np.square(np.asarray(values, dtype=np.float64))
    tail = squares[k:]
    return float(np.square(tail - tail.mean()).sum() / np.square(squares).sum()) if len(tail) else 0.0

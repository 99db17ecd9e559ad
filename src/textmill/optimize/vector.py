"""Vector arithmetic for parameter vectors of 10^7 entries and more: same bytes for any thread count, no temporaries.

    dot(a, b)            sum_i a_i b_i, as the sum of the dot products of blocks of 4096 entries
    add_scaled(y, c, x)  y <- y + c x, in blocks that stay in cache

BLAS cuts the dot product of a long vector by the number of threads, so its last bits depend on the machine. Here the
blocks are fixed and summed by NumPy's own loop, which knows no threads (two-operand `einsum` without optimisation
never calls BLAS), and their sums are added in one order; blocks also keep the rounding error small. Cost: one pass
over memory, at 10^7 entries as fast as BLAS on one thread.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "add_scaled", "blocks", "dot"]

Floats = NDArray[np.float64]

DOT_BLOCK = 4096  # part of the result: changing it changes models in their last bits
WORK_BLOCK = 65536  # half a megabyte: scratch of this length lives in cache


def blocks(size: int) -> Iterator[slice]:
    """Slices that cover range(size), short enough for scratch arrays of their length to stay in cache.

    >>> [(part.start, part.stop) for part in blocks(100_000)]
    [(0, 65536), (65536, 100000)]
    """
    for start in range(0, size, WORK_BLOCK):
        yield slice(start, min(start + WORK_BLOCK, size))


def dot(a: Floats, b: Floats) -> float:
    """Sum of products, the same bytes for any number of threads.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    whole = len(a) // DOT_BLOCK * DOT_BLOCK
    rest = float(np.einsum("i,i->", a[whole:], b[whole:]))
    if whole == 0:
        return rest
    parts = np.einsum("ij,ij->i", a[:whole].reshape(-1, DOT_BLOCK), b[:whole].reshape(-1, DOT_BLOCK))
    return float(np.add.reduce(parts)) + rest


def add_scaled(y: Floats, factor: float, x: Floats) -> None:
    """Add factor * x to y in place.

    >>> y = np.array([1.0, 2.0])
    >>> add_scaled(y, 2.0, np.array([1.0, -1.0]))
    >>> y.tolist()
    [3.0, 0.0]
    """
    scratch = np.empty(min(len(y), WORK_BLOCK))
    for part in blocks(len(y)):
        product = np.multiply(x[part], factor, out=scratch[: part.stop - part.start])
        np.add(y[part], product, out=y[part])

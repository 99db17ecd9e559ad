"""Vector arithmetic for parameter vectors of 10^7 entries and more: same bytes for any thread count, no temporaries.

    dot(a, b)                    sum_i a_i b_i, as the sum of the dot products of blocks of 4096 entries
    add_scaled(y, c, x)          y <- y + c x
    add_scaled_dot(y, c, x, b)   the same, and b . y of the new y in the same pass

BLAS cuts the dot product of a long vector by the number of threads, so its last bits depend on the machine. Here the
blocks are fixed, and their sums are added in one order, which also keeps the rounding error small. The loops are native
(native/base/vector.h): one pass over memory, and of short vectors hardly more than the call.
"""

from __future__ import annotations

from collections.abc import Iterator

from textmill._native import base as native
from textmill.arrays import Floats

__all__ = ["add_scaled", "add_scaled_dot", "blocks", "dot"]


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

    >>> import numpy as np
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(native.dot(a, b))


def add_scaled(y: Floats, factor: float, x: Floats) -> None:
    """Add factor * x to y in place.

    >>> import numpy as np
    >>> y = np.array([1.0, 2.0])
    >>> add_scaled(y, 2.0, np.array([1.0, -1.0]))
    >>> y.tolist()
    [3.0, 0.0]
    """
    native.add_scaled(y, factor, x)


def add_scaled_dot(y: Floats, factor: float, x: Floats, b: Floats) -> float:
    """Add factor * x to y in place; return the sum of products of b and the new y.

    >>> import numpy as np
    >>> add_scaled_dot(np.array([1.0, 2.0]), 2.0, np.array([1.0, -1.0]), np.array([1.0, 5.0]))
    3.0
    """
    return float(native.add_scaled_dot(y, factor, x, b))

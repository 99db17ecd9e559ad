"""Streams in chains: documents -> tokens -> bags -> weighted bags, made as they are read, never all at once.

A stream is any iterable. One whose iterator is itself (a generator, standard input) can be read once; all others can
be read again, and a chain on top of them too. An algorithm that needs several passes asks with `require_passes`
before it reads anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from textmill.corpus.bags import widened
from textmill.errors import DataError
from textmill.model import check_range
from textmill.numeric import sparse

__all__ = ["Chain", "is_one_shot", "rechunk", "require_passes"]


class Chain:
    """A stream seen through functions, one item after the other.

    >>> words = Chain(["To be", "or not"], str.lower, str.split)
    >>> list(words), list(words)
    ([['to', 'be'], ['or', 'not']], [['to', 'be'], ['or', 'not']])
    """

    def __init__(self, source: Iterable[Any], *steps: Callable[[Any], Any]) -> None:
        self.source = source
        self.steps = steps

    def __iter__(self) -> Iterator[Any]:
        items: Iterator[Any] = iter(self.source)
        for step in self.steps:
            items = map(step, items)
        return items


def is_one_shot(stream: Iterable[Any]) -> bool:
    """Say whether a stream can be read only once; nothing is read to find out.

    >>> is_one_shot(["a"]), is_one_shot(iter(["a"])), is_one_shot(Chain(iter(["a"]), str.upper))
    (False, True, True)
    """
    while isinstance(stream, Chain):
        stream = stream.source
    return iter(stream) is stream


def require_passes(stream: Iterable[Any], n_passes: int, what: str = "this") -> None:
    """Refuse a stream that can be read once when more passes are needed, before the first one has eaten it.

    >>> require_passes(iter(["a"]), 3, "LSA")
    Traceback (most recent call last):
    textmill.errors.DataError: LSA needs 3 passes but this stream can be read once; pass a list or a file reader
    """
    if n_passes > 1 and is_one_shot(stream):
        raise DataError(
            f"{what} needs {n_passes} passes but this stream can be read once; pass a list or a file reader"
        )


def rechunk(chunks: Iterable[sparse.csr_matrix], chunk_size: int) -> Iterator[sparse.csr_matrix]:
    """Regroup the rows of a stream of matrices into chunks of `chunk_size`, the last one perhaps shorter.

    Where the stream gains columns on its way, a chunk has as many as the widest of its parts.

    >>> import numpy as np
    >>> stream = [sparse.csr_matrix(np.eye(3)), sparse.csr_matrix(np.zeros((2, 3)))]
    >>> [chunk.shape[0] for chunk in rechunk(stream, 2)]
    [2, 2, 1]
    """
    check_range("chunk_size", chunk_size, at_least=1, whole=True)
    held: list[sparse.csr_matrix] = []
    rows = 0
    for chunk in chunks:
        held.append(chunk)
        rows += chunk.shape[0]
        if rows >= chunk_size:
            block = _stack(held)
            whole = rows // chunk_size * chunk_size
            for start in range(0, whole, chunk_size):
                yield block[start : start + chunk_size]
            held, rows = [block[whole:]], rows - whole
    if rows:
        yield _stack(held)


def _stack(parts: list[sparse.csr_matrix]) -> sparse.csr_matrix:
    """Matrices one below the other, as wide as the widest."""
    if len(parts) == 1:
        return parts[0]
    columns = max(part.shape[1] for part in parts)
    return sparse.vstack([widened(X, columns) for X in parts], format="csr")

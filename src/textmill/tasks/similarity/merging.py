"""Several indexes that answer as one: their rows under each other, their answers merged.

Rows are not prepared again and keys are exact, so answers have the bits and the order (by key, then by number) that one
index of all the rows would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.numeric import SparseRows, is_sparse
from textmill.vectors import Searched, nearest_of_all

__all__ = ["merge_nearest", "stacked"]


def stacked(pieces: Sequence[Any]) -> Any:
    """Return the rows of all pieces, which are arrays or `SparseRows`.

    >>> stacked([np.ones((1, 2)), np.zeros((1, 2))]).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    if len(pieces) == 1:
        return pieces[0]
    if not is_sparse(pieces[0]):
        return np.concatenate(pieces)
    offsets = [np.zeros(1, np.int64)]
    for piece in pieces:
        offsets.append(offsets[-1][-1] + piece.indptr[1:])
    return SparseRows(
        np.concatenate([piece.data for piece in pieces]),
        np.concatenate([piece.indices for piece in pieces]),
        np.concatenate(offsets),
        (sum(piece.shape[0] for piece in pieces), pieces[0].shape[1]),
    )


def merge_nearest(
    parts: Sequence[Searched], rows: Any, k: int, without: Sequence[set[int]] = ()
) -> list[tuple[Ints, Floats]]:
    """Return numbers and keys of the k vectors nearest to each prepared row, those in `without[i]` left out.

    Where vectors are sparse and compared by cosine, one without anything in common with a row is not near it.

    >>> from textmill.vectors import Index
    >>> one, other = Index().fit([[1.0, 0.0]]), Index().fit([[0.6, 0.8]], ids=[7])
    >>> merge_nearest([Searched(one), Searched(other)], np.array([[0, 1]], np.float32), 1)[0][0].tolist()
    [7]
    """
    count = rows.shape[0]
    offsets, numbers, keys = nearest_of_all(parts, rows, k=k + max(map(len, without), default=0))
    positive = is_sparse(rows) and bool(parts) and parts[0].index.measure == "cosine"
    answers = []
    for i in range(count):
        number, key = numbers[offsets[i] : offsets[i + 1]], keys[offsets[i] : offsets[i + 1]]
        if positive:
            number, key = number[key > 0], key[key > 0]
        if without and without[i]:
            others = ~np.isin(number, list(without[i]))
            number, key = number[others], key[others]
        answers.append((number[:k], key[:k]))
    return answers

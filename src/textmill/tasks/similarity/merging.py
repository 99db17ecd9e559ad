"""Several indexes that answer as one: their rows under each other, their answers merged.

Rows are not prepared again and keys are exact, so answers have the bits and the order (by key, then by number) that one
index of all the rows would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.numeric import SparseRows, is_sparse
from textmill.vectors import Index

__all__ = ["Searched", "merge_nearest", "stacked"]


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


@dataclass(frozen=True, slots=True)
class Searched:
    """An index, the numbers of it that may be found (None for all), and those that may not."""

    index: Index
    allow: Ints | None = None
    deny: Ints | None = None


def merge_nearest(
    parts: Sequence[Searched], rows: Any, k: int, without: Sequence[set[int]] = ()
) -> list[tuple[Ints, Floats]]:
    """Return numbers and keys of the k vectors nearest to each prepared row, those in `without[i]` left out.

    Where vectors are sparse and compared by cosine, one without anything in common with a row is not near it.

    >>> one, other = Index().fit([[1.0, 0.0]]), Index().fit([[0.6, 0.8]], ids=[7])
    >>> merge_nearest([Searched(one), Searched(other)], np.array([[0, 1]], np.float32), 1)[0][0].tolist()
    [7]
    """
    count = rows.shape[0]
    wanted = k + max(map(len, without), default=0)
    queries, numbers, keys = [], [], []
    for part in parts:
        if part.allow is not None and not len(part.allow):
            continue
        deny = part.deny if part.deny is not None and len(part.deny) else None
        ranked = part.index.nearest(rows, k=wanted, allow=part.allow, deny=deny)
        queries.append(np.repeat(np.arange(count), np.diff(ranked.offsets)))
        numbers.append(ranked.ids)
        keys.append(ranked.keys)
    if not queries:
        return [(np.zeros(0, np.int64), np.zeros(0))] * count
    query, number, key = np.concatenate(queries), np.concatenate(numbers), np.concatenate(keys)
    if is_sparse(rows) and parts[0].index.measure == "cosine":
        common = key > 0
        query, number, key = query[common], number[common], key[common]
    order = np.lexsort((number, -key, query))
    bounds = np.searchsorted(query[order], np.arange(count + 1))
    answers = []
    for i in range(count):
        some = order[bounds[i] : bounds[i + 1]]
        if without and without[i]:
            some = some[~np.isin(number[some], list(without[i]))]
        answers.append((number[some[:k]], key[some[:k]]))
    return answers

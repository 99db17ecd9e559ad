"""Several indexes that answer as one.

    answer(q) = the k best of all indexes, ties by id

Vectors that are searched by their bytes (`coarse.py`) are searched in one call: what is found in one index bounds the
others, so few vectors are read in full, and threads are woken once. Other indexes are asked one after the other, and
their answers merged. Keys are exact, so both give the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.model import check_fitted, effective_jobs
from textmill.numeric import is_sparse
from textmill.vectors.coarse import MANY_QUERIES, CoarseScan, search_parts
from textmill.vectors.index import Index, Ranked

__all__ = ["Searched", "nearest_of_all"]


@dataclass(frozen=True, slots=True)
class Searched:
    """An index, the ids of it that may be found (None for all), and those that may not."""

    index: Index
    allow: NDArray[np.int64] | None = None
    deny: NDArray[np.int64] | None = None


def nearest_of_all(parts: Sequence[Searched], rows: Any, *, k: int = 10) -> Ranked:
    """Return what `Index.nearest` would of one index of all vectors; no id may be in two indexes.

    >>> one, other = Index().fit([[1.0, 0.0]]), Index().fit([[0.6, 0.8]], ids=[7])
    >>> nearest_of_all([Searched(one), Searched(other)], np.array([[0, 1]], np.float32), k=1).ids.tolist()
    [7]
    """
    parts = [part for part in parts if part.allow is None or len(part.allow)]
    if len(parts) > 1 and _are_coarse(parts, rows):
        return _at_once(parts, rows, k)
    return _merged(parts, rows, k)


def _are_coarse(parts: Sequence[Searched], rows: Any) -> bool:
    """Whether one search of bytes does for all: dense vectors, few questions, no filter, ids that rise."""
    if is_sparse(rows) or len(rows) >= MANY_QUERIES or not rows.any(axis=1).all():
        return False
    last = -1
    for part in parts:
        index = part.index
        check_fitted(index)
        if part.allow is not None:
            return False
        if not isinstance(index._engine, CoarseScan) or index.columns_ != rows.shape[1] or not len(index.ids_):
            return False
        if index.measure != parts[0].index.measure or index.ids_[0] <= last:
            return False
        last = index.ids_[-1]
    return True


def _at_once(parts: Sequence[Searched], rows: Any, k: int) -> Ranked:
    masks = [part.index._allowed(None, _some(part.deny)) for part in parts]
    scans = [part.index._engine for part in parts]
    matches = search_parts(scans, masks, rows, k, effective_jobs(parts[0].index.n_jobs))
    starts = np.cumsum([0, *map(len, scans)])
    where = np.searchsorted(starts, matches.rows, "right") - 1
    ids = np.empty(len(matches.rows), np.int64)
    for place, part in enumerate(parts):
        here = where == place
        ids[here] = part.index.ids_[matches.rows[here] - starts[place]]
    return Ranked(matches.offsets, ids, matches.keys)


def _merged(parts: Sequence[Searched], rows: Any, k: int) -> Ranked:
    count = rows.shape[0]
    queries, ids, keys = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for part in parts:
        ranked = part.index.nearest(rows, k=k, allow=part.allow, deny=_some(part.deny))
        queries.append(np.repeat(np.arange(count), np.diff(ranked.offsets)))
        ids.append(ranked.ids)
        keys.append(ranked.keys)
    query, members, key = np.concatenate(queries), np.concatenate(ids), np.concatenate(keys)
    order = np.lexsort((members, -key, query))
    rank = np.arange(len(order)) - np.searchsorted(query[order], query[order])
    order = order[rank < k]
    offsets = np.searchsorted(query[order], np.arange(count + 1)).astype(np.int64)
    return Ranked(offsets, members[order], key[order])


def _some(ids: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """Ids, None where there are none."""
    return ids if ids is not None and len(ids) else None

"""One index of rows of several others, made by blocks in memory of the caller's choice.

    rows        those of the first index, then those of the second, and so on
    postings    of each term, likewise: rows only grow from one index to the next, so they stay sorted

What comes out has the bytes of an index that is built of the same rows, but nothing is transposed or sorted, and no
more than a block is held beside the result. With `files.scratch_array` for the room the result itself lies in files.

Cost: each entry is read and written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Ids, Ints, Singles
from textmill.errors import DataError
from textmill.vectors.coarse import CoarseScan
from textmill.vectors.index import Index
from textmill.vectors.inverted import InvertedIndex
from textmill.vectors.scan import row_lengths

__all__ = ["join_indexes"]

_BLOCK = 1 << 18  # entries, or numbers, that are copied together

Room = Callable[..., NDArray[Any]]


class _Piece(NamedTuple):
    """Rows of an engine, rising, and where the first of them goes."""

    engine: Any
    rows: Ints
    first: int


def join_indexes(pieces: Sequence[tuple[Index, Ints]], *, ids: Ints, room: Room = np.empty) -> Index:
    """Return the index of some vectors of several indexes, by their ids in these, under new ids.

    The indexes have one measure, and are "coarse" or "inverted", as "auto" makes them. `room(shape, dtype)` gives the
    memory for the large arrays.

    >>> one, other = Index().fit([[1.0, 0.0], [0.0, 1.0]]), Index().fit([[3.0, 4.0]])
    >>> joined = join_indexes([(one, np.array([1])), (other, np.array([0]))], ids=np.array([4, 7]))
    >>> joined.query([[0.0, 2.0]])[0].ids.tolist()
    [4, 7]
    """
    first = pieces[0][0]
    kinds = {type(index.engine_) for index, _ in pieces}
    if kinds not in ({CoarseScan}, {InvertedIndex}) or len({index.measure for index, _ in pieces}) > 1:
        raise DataError("only coarse or inverted indexes of one measure can be joined; build an index of the vectors")
    parts, size = [], 0
    for index, some in pieces:
        parts.append(_Piece(index.engine_, np.searchsorted(index.ids_, some), size))
        size += len(some)
    joined = Index(measure=first.measure)
    engine = _inverted(parts, size, room) if kinds == {InvertedIndex} else _coarse(parts, size, room)
    joined.engine_ = engine
    joined.columns_ = first.columns_
    joined.ids_, joined.alive_ = np.asarray(ids, np.int64), np.ones(size, np.bool_)
    joined.next_ = int(joined.ids_[-1]) + 1 if size else 0
    return joined


def _coarse(pieces: Sequence[_Piece], size: int, room: Room) -> CoarseScan:
    """Everything in a coarse scan belongs to one row."""
    joined, model = CoarseScan(), pieces[0].engine
    joined.kind_, joined.halves_, joined.longest_ = model.kind_, None, 0.0
    for name in ("vectors_", "halves_", "cells_", "steps_", "errors_"):
        if getattr(model, name) is None:
            continue
        array = getattr(model, name)
        out = room((size, *array.shape[1:]), array.dtype)
        step = max(1, _BLOCK // max(1, int(np.prod(array.shape[1:]))))
        for piece in pieces:
            for begin in range(0, len(piece.rows), step):
                some = piece.rows[begin : begin + step]
                rows = getattr(piece.engine, name)[some]
                out[piece.first + begin : piece.first + begin + len(some)] = rows
                if name == "vectors_":
                    joined.longest_ = max(joined.longest_, row_lengths(model.kind_, rows)[1])
        setattr(joined, name, out)
    return joined


def _inverted(pieces: Sequence[_Piece], size: int, room: Room) -> InvertedIndex:
    """Rows, then postings; what is known of terms and lengths is found anew, since some rows may be left out."""
    for piece in pieces:
        piece.engine.check_values()  # places are taken from these arrays
    joined, model = InvertedIndex(), pieces[0].engine
    terms = len(model.largest_)
    lengths = [np.diff(piece.engine.row_offsets_)[piece.rows] for piece in pieces]
    joined.row_offsets_ = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    total = int(joined.row_offsets_[-1])
    joined.columns_, joined.values_ = room((total,), np.int32), room((total,), np.float32)
    counts = np.zeros(terms, np.int64)
    squares = np.zeros(size)
    place = 0
    for piece in pieces:
        for begin, columns, values, sizes in _row_blocks(piece):
            joined.columns_[place : place + len(columns)] = columns
            joined.values_[place : place + len(values)] = values
            counts += np.bincount(columns, minlength=terms)
            rows = np.repeat(np.arange(len(sizes)), sizes)
            here = slice(piece.first + begin, piece.first + begin + len(sizes))
            squares[here] = np.bincount(rows, values.astype(np.float64) ** 2, len(sizes))
            place += len(columns)
    joined.term_offsets_ = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    joined.documents_, joined.weights_ = room((total,), np.int32), room((total,), np.float32)
    joined.largest_, joined.smallest_ = np.zeros((2, terms), np.float32)
    filled = joined.term_offsets_[:-1].copy()
    for piece in pieces:
        for some, documents, weights in _posting_blocks(piece):
            begins = np.flatnonzero(np.concatenate([[True], some[1:] != some[:-1]]))
            sizes = np.diff(begins, append=len(some))
            of = some[begins]
            places = np.repeat(filled[of] - begins, sizes) + np.arange(len(some))
            joined.documents_[places], joined.weights_[places] = documents, weights
            filled[of] += sizes
            joined.largest_[of] = np.maximum(joined.largest_[of], np.maximum.reduceat(weights, begins))
            joined.smallest_[of] = np.minimum(joined.smallest_[of], np.minimum.reduceat(weights, begins))
    joined.kind_ = model.kind_
    joined.longest_ = float(np.sqrt(squares.max(initial=0.0)) * (1 + 1e-6))
    joined.halves_ = (squares / 2).astype(np.float32) if joined.kind_ == "distance" else None
    return joined


def _row_blocks(piece: _Piece) -> Iterator[tuple[int, Ids, Singles, Ints]]:
    """Entries of some rows at a time: the first of these rows among those that are taken, columns, values, lengths."""
    offsets = piece.engine.row_offsets_
    ends = np.cumsum(np.diff(offsets)[piece.rows])
    begin = 0
    while begin < len(piece.rows):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + _BLOCK)))
        rows = piece.engine.take(piece.rows[begin:end])
        yield begin, rows.indices, rows.data, np.diff(rows.indptr)
        begin = end


def _posting_blocks(piece: _Piece) -> Iterator[tuple[Ints, Ids, Singles]]:
    """Terms, new rows and weights of some postings at a time, of rows that are taken."""
    engine = piece.engine
    new = np.full(len(engine), -1, np.int32)
    new[piece.rows] = piece.first + np.arange(len(piece.rows), dtype=np.int32)
    for begin in range(0, len(engine.documents_), _BLOCK):
        end = min(begin + _BLOCK, len(engine.documents_))
        low, high = np.searchsorted(engine.term_offsets_, [begin, end - 1], side="right") - 1
        sizes = np.diff(np.clip(engine.term_offsets_[low : high + 2], begin, end))
        documents = new[engine.documents_[begin:end]]
        there = documents >= 0
        if there.any():
            terms = np.repeat(np.arange(low, high + 1), sizes)
            yield terms[there], documents[there], engine.weights_[begin:end][there]

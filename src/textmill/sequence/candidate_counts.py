"""What a filter of candidates counts and adds up: values of tokens in five sorts of tests, logits of all candidates.

A test is a value (word, chunk tag, ending, shape) of the first token of a candidate, of the last, of one inside, of the
one before or of the one behind (SORTS). Nothing is enumerated: token i begins min(L, n - i) candidates, and a logit is
the sum of one number for either end and a difference of running sums for the inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import extract
from textmill.arrays import Floats, Ints
from textmill.corpus import Sentence
from textmill.sequence.candidates import room_of
from textmill.sequence.segment_patterns import normalized, shape_of

__all__ = ["BEFORE", "BEHIND", "SORTS", "FilterScores", "FilterTokens", "count_values", "width_of", "words_of"]

SORTS = ("first", "last", "inside", "before", "behind")
BEFORE, BEHIND = "\x02", "\x03"  # beyond the ends of a sentence


class FilterTokens:
    """Sequences as columns of values, those derived from spelling included; all by their distinct values."""

    def __init__(self, X: list[Any], columns: list[int], spelling: bool) -> None:
        cells = extract.Cells(columns)
        for sequence in X:
            if isinstance(sequence, Sentence):
                cells.add_columns(sequence.columns)
            else:
                cells.add_rows(sequence if isinstance(sequence, list | tuple) else list(sequence))
        cells.finish(1)
        self.offsets: Ints = cells.offsets()
        self.sentence = np.repeat(np.arange(len(X)), np.diff(self.offsets))
        first = next((s for s in X if len(s)), None)
        self.width = 1 if first is None else width_of(first)
        self.sequences = X
        self.columns = [(cells.ids(slot), cells.distinct(slot)) for slot in range(len(columns))]
        self.parts: list[tuple[int, Callable[[str], str] | None]] = []  # slot and function
        for slot, column in enumerate(columns):
            self.parts.append((slot, None))
            if column == 0 and spelling:
                self.parts += [(slot, _ending), (slot, shape_of), (slot, normalized)]

    @property
    def count(self) -> int:
        """Number of parts: columns, and what is derived from them."""
        return len(self.parts)

    def words(self) -> list[str]:
        """The normalized words of all sequences."""
        return [normalized(word) for sequence in self.sequences for word in words_of(sequence)]

    def sentence_of(self, entries: int) -> Ints:
        """The sentence of every entry of a count: tokens, then, where there are more, a boundary for each sentence."""
        if entries == len(self.sentence):
            return self.sentence
        return np.concatenate([self.sentence, np.arange(len(self.offsets) - 1)])

    def number(self, part: int) -> tuple[Ints, list[str]]:
        """Numbers of the values of a part, and the values; the first two are the boundaries."""
        ids, texts = self._texts(part)
        numbers: dict[str, int] = {BEFORE: 0, BEHIND: 1}
        through = np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)
        return through[ids], list(numbers)

    def look_up(self, part: int, numbers: dict[str, int]) -> Ints:
        """Numbers of the values of a part among those that are known, -1 for the others."""
        ids, texts = self._texts(part)
        through: Ints = np.array([numbers.get(f"{part}:{text}", -1) for text in texts], np.int64)
        return through[ids]

    def _texts(self, part: int) -> tuple[NDArray[np.int32], list[str]]:
        """For every token the number of its value, and what the function of a part makes of each value."""
        slot, function = self.parts[part]
        ids, distinct = self.columns[slot]
        return ids, distinct if function is None else list(map(function, distinct))


class FilterScores:
    """Logits of all candidates, (tokens, longest): row t, column l - 1; -inf beyond the end of the sentence."""

    def __init__(self, begin: Floats, end: Floats, inside: Floats, offsets: Ints, longest: int) -> None:
        T = len(begin)
        running = np.concatenate([[0.0], np.cumsum(inside)])
        room = room_of(offsets)
        self.table = np.full((T, longest), -np.inf)
        for length in range(1, min(longest, int(room.max(initial=0))) + 1):
            t = np.flatnonzero(room >= length)
            self.table[t, length - 1] = begin[t] + end[t + length - 1] + running[t + length] - running[t]

    def at(self, begins: Ints, lengths: Ints) -> Floats:
        """The logits of these stretches."""
        values: Floats = self.table[begins, lengths - 1]
        return values


def count_values(
    ids: Ints, base: int, offsets: Ints, longest: int, begins: Ints, lengths: Ints
) -> list[tuple[Ints, Ints, Ints]]:
    """For every sort of test: values, how many entities have them there, and how many candidates.

    `base` and the number after it stand for what is before and behind a sentence.
    """
    T, sizes = len(ids), np.diff(offsets)
    room, ahead = room_of(offsets), np.arange(len(ids)) - np.repeat(offsets[:-1], sizes)
    entity = np.zeros((3, T), np.int64)
    np.add.at(entity[0], begins, 1)
    np.add.at(entity[1], begins + lengths - 1, 1)
    np.add.at(entity[2], begins, 1)
    stop = np.zeros(T + 1, np.int64)
    np.add.at(stop, begins + lengths, 1)
    entity[2] = np.cumsum(entity[2]) - np.cumsum(stop[:T])
    starts, ends = np.minimum(room, longest), np.minimum(ahead + 1, longest)
    inside = np.zeros(T, np.int64)
    for back in range(longest):
        inside += np.where(ahead >= back, np.clip(longest - back, 0, room), 0)
    full = np.flatnonzero(sizes > 0)
    first, last = offsets[:-1], offsets[1:] - 1
    # before: token t stands before what begins at t + 1; behind: token t stands behind what ends at t - 1
    before_entity, behind_entity = np.zeros(T, np.int64), np.zeros(T, np.int64)
    inner = begins[ahead[begins] > 0]
    np.add.at(before_entity, inner - 1, 1)
    stops = (begins + lengths - 1)[room[begins + lengths - 1] > 1]
    np.add.at(behind_entity, stops + 1, 1)
    edge_before, edge_behind = np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.int64)
    edge_before_all, edge_behind_all = np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.int64)
    edge_before[full] = entity[0][first[full]]
    edge_behind[full] = entity[1][last[full]]
    edge_before_all[full] = starts[first[full]]
    edge_behind_all[full] = ends[last[full]]
    before_all, behind_all = np.minimum(room - 1, longest), np.minimum(ahead, longest)
    left, right = np.full(len(sizes), base), np.full(len(sizes), base + 1)
    return [
        (ids, entity[0], starts),
        (ids, entity[1], ends),
        (ids, entity[2], inside),
        (
            np.concatenate([ids, left]),
            np.concatenate([before_entity, edge_before]),
            np.concatenate([before_all, edge_before_all]),
        ),
        (
            np.concatenate([ids, right]),
            np.concatenate([behind_entity, edge_behind]),
            np.concatenate([behind_all, edge_behind_all]),
        ),
    ]


def words_of(sequence: Any) -> list[str]:
    """The first column of a sequence."""
    return _column(sequence, 0)


def _column(sequence: Any, column: int) -> list[str]:
    if isinstance(sequence, Sentence):
        return list(sequence.columns[column])
    return [token if isinstance(token, str) else token[column] for token in sequence]


def width_of(sequence: Any) -> int:
    """Number of columns of the tokens of a sequence, 0 where they have none."""
    if isinstance(sequence, Sentence):
        return len(sequence.columns)
    first = next(iter(sequence))
    return 1 if isinstance(first, str) else len(first) if isinstance(first, list | tuple) else 0


def _ending(value: str) -> str:
    return value[-3:]

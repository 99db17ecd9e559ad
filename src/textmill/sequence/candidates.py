"""Which stretches of tokens may be a segment: lists of candidates, as arrays, and the labeled spans of tags.

Single tokens are flags, longer candidates are sorted by their first token and their length. `all_candidates` has all
of at most L tokens, n L - L (L - 1) / 2 for a sentence of n >= L tokens; a filter keeps fewer (candidate_filter.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Ints
from textmill.corpus import Span, check_tags, guess_scheme, spans_of
from textmill.errors import DataError

__all__ = ["Candidates", "all_candidates", "flat_spans", "gold_spans", "room_of"]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Stretches of tokens that may be segments: single tokens by a flag, longer ones by first token and length.

    >>> kept = all_candidates(np.array([0, 3]), 2)
    >>> kept.count, kept.spans(0)
    (5, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])
    """

    offsets: Ints  # [S + 1] tokens of a sentence
    single: NDArray[np.uint8]  # [T]
    starts: Ints  # [T + 1] longer candidates that begin at a token
    lengths: NDArray[np.int32]  # [candidates], rising for one token

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return int(self.offsets[-1])

    @property
    def count(self) -> int:
        """Number of candidates."""
        return int(self.single.sum()) + len(self.lengths)

    def begins(self) -> Ints:
        """The first token of every longer candidate, counted over all sentences."""
        return np.repeat(np.arange(self.tokens, dtype=np.int64), np.diff(self.starts))

    def spans(self, sentence: int) -> list[tuple[int, int]]:
        """The candidates of a sentence as (first token, one past the last), in order."""
        begin, end = int(self.offsets[sentence]), int(self.offsets[sentence + 1])
        spans = [(t - begin, t - begin + 1) for t in range(begin, end) if self.single[t]]
        for t in range(begin, end):
            lengths = self.lengths[self.starts[t] : self.starts[t + 1]].tolist()
            spans += [(t - begin, t - begin + length) for length in lengths]
        return sorted(spans)

    def with_spans(self, begins: Ints, lengths: NDArray[Any]) -> Candidates:
        """The same with these stretches (first token over all sentences, length) among them."""
        single = self.single.copy()
        single[begins[lengths == 1]] = 1
        more = lengths > 1
        keys = np.concatenate([self.begins() << 32 | self.lengths, begins[more] << 32 | lengths[more].astype(np.int64)])
        keys = np.unique(keys)
        return _from_keys(self.offsets, single, keys)

    def rows(self, begins: Ints, lengths: NDArray[Any]) -> Ints:
        """Rows of these stretches, which must be among the candidates: single tokens first, then the longer ones."""
        at = np.searchsorted(self.begins() << 32 | self.lengths, begins << 32 | lengths.astype(np.int64))
        return np.where(lengths == 1, begins, self.tokens + at)

    def contains(self, begins: Ints, lengths: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these stretches are among the candidates."""
        keys = self.begins() << 32 | self.lengths  # rising
        wanted = begins << 32 | lengths.astype(np.int64)
        at = np.searchsorted(keys, wanted)
        there = at < len(keys)
        there[there] = keys[at[there]] == wanted[there]
        return np.where(lengths == 1, self.single[begins].astype(bool), there)


def _from_keys(offsets: Ints, single: NDArray[np.uint8], keys: Ints) -> Candidates:
    tokens = int(offsets[-1])
    starts = np.searchsorted(keys, np.arange(tokens + 1, dtype=np.int64) << 32)
    return Candidates(offsets, single, starts.astype(np.int64), (keys & 0xFFFFFFFF).astype(np.int32))


def all_candidates(offsets: Ints, max_length: int) -> Candidates:
    """Every stretch of at most `max_length` tokens.

    >>> all_candidates(np.array([0, 25]), 10).count, all_candidates(np.array([0, 5]), 10).count
    (205, 15)
    """
    room = room_of(offsets)
    counts = np.minimum(room, max_length) - 1
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    lengths = np.arange(int(starts[-1]), dtype=np.int64) - np.repeat(starts[:-1], counts) + 2
    return Candidates(offsets, np.ones(len(room), np.uint8), starts, lengths.astype(np.int32))


def room_of(offsets: Ints) -> Ints:
    """For every token how many there are from it to the end of its sentence."""
    ends: Ints = np.repeat(offsets[1:], np.diff(offsets))
    return ends - np.arange(int(offsets[-1]))


def gold_spans(y: Iterable[Sequence[str]], X: Sequence[Any] = (), *, scheme: str | None = None) -> list[list[Span]]:
    """The labeled spans of sequences of tags; an ill-formed sequence is a DataError that names it.

    Without `scheme` it is the one that all sequences fit, or IOB2 if they fit none. Sentences of X that know their
    source and line make the message point into their file.

    >>> gold_spans([["B-X", "I-X", "O"]])
    [[(0, 2, 'X')]]
    >>> gold_spans([["O", "I-X"]])
    [[(1, 2, 'X')]]
    """
    y, spans = [list(tags) for tags in y], []
    if scheme is None:
        try:
            scheme = guess_scheme(y)
        except DataError:
            scheme = "IOB2"
    for number, tags in enumerate(y):
        place = X[number] if number < len(X) else None
        source, line = getattr(place, "source", None), getattr(place, "line", None)
        try:
            spans.append(spans_of(tags, scheme))
        except DataError as error:
            if source is not None and line is not None:
                check_tags(tags, scheme, source=source, line=line)
            raise DataError(f"sequence {number + 1}, {error}") from None
    return spans


def flat_spans(spans: list[list[Span]], offsets: Ints) -> tuple[Ints, Ints]:
    """First tokens over all sentences, and lengths."""
    if len(spans) != len(offsets) - 1:
        raise DataError(f"there are {len(offsets) - 1} sequences but {len(spans)} sequences of labels")
    rows = [
        (at + begin, end - begin) for at, some in zip(offsets.tolist(), spans, strict=False) for begin, end, _ in some
    ]
    table = np.array(rows, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]

"""Many strings as two arrays, the form in which a model file holds them.

String i is the UTF-8 text bytes[offsets[i]:offsets[i + 1]]. Ten million terms take their bytes plus eight a term; a
Python string is made only when one is asked for, so a vocabulary opened from a file costs nothing until it is used.

A table from a file is believed only as far as it is read: every string is checked when it is taken out, and `verify`
checks all of them, which whoever hands the two arrays to a kernel does first.
"""

from __future__ import annotations

import codecs
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError, ModelFileError
from textmill.model.layout import CHUNK, check_offsets

__all__ = ["StringTable"]

_BLOCK = 1 << 16  # strings handled together: fast, and never all of them at once


class StringTable:
    """An immutable sequence of strings.

    Attributes: bytes (total length in UTF-8,) uint8, offsets (number of strings + 1,) int64; both read-only.

    >>> table = StringTable(["mill", "", "Mühle"])
    >>> len(table), table[2], table[-3], table.offsets.tolist()
    (3, 'Mühle', 'mill', [0, 4, 4, 10])
    >>> table.to_list()
    ['mill', '', 'Mühle']
    """

    __slots__ = ("_bytes", "_offsets")

    def __init__(self, strings: Iterable[str] = ()) -> None:
        encoded: list[bytes] = []
        for string in strings:
            if not isinstance(string, str):
                raise DataError(f"entry {len(encoded)} is {string!r}, not a string; pass strings only")
            try:
                encoded.append(string.encode())
            except UnicodeEncodeError:
                raise DataError(
                    f"string {len(encoded)}, {string!r}, holds a lone surrogate, which is no character; "
                    "decode the text with errors='replace'"
                ) from None
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
        self._bytes = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        self._offsets = _read_only(offsets)

    @classmethod
    def from_arrays(cls, bytes: NDArray[np.uint8], offsets: NDArray[np.int64]) -> StringTable:  # noqa: A002
        """Make a table of existing arrays, which it shares; O(1), so the values are still to be verified.

        >>> StringTable.from_arrays(np.frombuffer(b"onetwo", np.uint8), np.array([0, 3, 6])).to_list()
        ['one', 'two']
        """
        if bytes.dtype != np.uint8 or offsets.dtype != np.int64 or bytes.ndim != 1 or offsets.ndim != 1:
            raise ModelFileError("strings need one row of uint8 bytes and one row of int64 offsets", reason="damaged")
        if not offsets.size:
            raise ModelFileError("strings need at least one offset, even when there are no strings", reason="damaged")
        table = cls.__new__(cls)
        table._bytes, table._offsets = _read_only(bytes), _read_only(offsets)
        return table

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """All strings in UTF-8, one after the other."""
        return self._bytes

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each string begins, and at last where the bytes end."""
        return self._offsets

    def __len__(self) -> int:
        return self._offsets.size - 1

    def __getitem__(self, index: int) -> str:
        position = operator.index(index)
        position += len(self) if position < 0 else 0
        if not 0 <= position < len(self):
            raise IndexError(f"string {index} of {len(self)}")
        begin, end = self._offsets.item(position), self._offsets.item(position + 1)
        if not 0 <= begin <= end <= self._bytes.size:
            return self._decode(position, position + 1)[0]  # which says what is wrong
        try:
            return self._bytes[begin:end].tobytes().decode()
        except UnicodeDecodeError:
            raise ModelFileError(f"string {position} is not UTF-8; the file is damaged", reason="damaged") from None

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _BLOCK):
            yield from self._decode(start, min(start + _BLOCK, len(self)))

    def to_list(self) -> list[str]:
        """Return all strings.

        >>> StringTable(["rye", "oats"]).to_list()
        ['rye', 'oats']
        """
        return self._decode(0, len(self))

    def take(self, indices: NDArray[np.intp]) -> StringTable:
        """Return the strings at these positions, in this order, without making Python strings.

        >>> StringTable(["rye", "oats", "spelt"]).take(np.array([2, 0])).to_list()
        ['spelt', 'rye']
        """
        begins, ends = self._offsets[:-1][indices], self._offsets[1:][indices]
        if np.any((begins < 0) | (ends < begins) | (ends > self._bytes.size)):
            raise ModelFileError("offsets of the strings are out of order; the file is damaged", reason="damaged")
        offsets = np.zeros(begins.size + 1, dtype=np.int64)
        np.cumsum(ends - begins, out=offsets[1:])
        taken = np.empty(offsets[-1], dtype=np.uint8)
        for start in range(0, begins.size, _BLOCK):  # positions take eight times the room of the bytes
            block = slice(start, min(start + _BLOCK, begins.size))
            first, end = offsets[block.start], offsets[block.stop]
            shift = np.repeat(begins[block] - offsets[block], ends[block] - begins[block])
            taken[first:end] = self._bytes[np.arange(first, end) + shift]
        return StringTable.from_arrays(taken, offsets)

    @classmethod
    def join(
        cls,
        pieces: Sequence[tuple[StringTable, NDArray[np.integer[Any]]]],
        room: Callable[..., NDArray[Any]] = np.empty,
    ) -> StringTable:
        """Return strings of several tables one after the other: of each those at rising positions.

        `room(shape, dtype)` gives the memory for their bytes, which may be larger than should be held.

        >>> one, other = StringTable(["rye", "oats"]), StringTable(["spelt"])
        >>> StringTable.join([(one, np.array([1])), (other, np.array([0]))]).to_list()
        ['oats', 'spelt']
        """
        for table, _ in pieces:
            check_offsets("offsets", table._offsets, table._bytes.size)
        lengths = [np.diff(table._offsets)[positions] for table, positions in pieces]
        offsets = np.zeros(sum(map(len, lengths)) + 1, np.int64)
        np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]), out=offsets[1:])
        joined = room((int(offsets[-1]),), np.uint8)
        place = 0
        for table, positions in pieces:
            for run in np.split(positions, np.flatnonzero(np.diff(positions) != 1) + 1) if len(positions) else []:
                part = table._bytes[table._offsets[run[0]] : table._offsets[run[-1] + 1]]
                joined[place : place + part.size] = part
                place += part.size
        return cls.from_arrays(joined, offsets)

    def _decode(self, first: int, end: int) -> list[str]:
        """Strings first to end - 1, each checked."""
        bounds = self._offsets[first : end + 1].tolist()
        if any(left > right for left, right in pairwise(bounds)) or bounds[0] < 0 or bounds[-1] > self._bytes.size:
            raise ModelFileError(
                f"offsets of the strings {first} to {end - 1} are out of order; the file is damaged", reason="damaged"
            )
        base = bounds[0]
        data = self._bytes[base : bounds[-1]].tobytes()
        try:
            return [data[left - base : right - base].decode() for left, right in pairwise(bounds)]
        except UnicodeDecodeError:
            raise ModelFileError(
                f"strings {first} to {end - 1} are not all UTF-8; the file is damaged", reason="damaged"
            ) from None

    def verify(self) -> None:
        """Raise ModelFileError unless every string is sound; O(bytes).

        >>> StringTable(["sound"]).verify()
        """
        check_offsets("offsets", self._offsets, self._bytes.size)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for start in range(0, self._bytes.size, CHUNK):
                decoder.decode(self._bytes[start : start + CHUNK].tobytes())
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise ModelFileError("the strings are not UTF-8", reason="damaged") from None
        # The whole is UTF-8; a part is too exactly when it starts at a character, not at a continuation byte 10xxxxxx.
        for start in range(0, self._offsets.size, CHUNK):
            begins = self._offsets[start : start + CHUNK]
            if np.any(self._bytes[begins[begins < self._bytes.size]] & 0xC0 == 0x80):
                raise ModelFileError("a string begins in the middle of a character", reason="damaged")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StringTable):
            return NotImplemented
        return np.array_equal(self._offsets, other._offsets) and np.array_equal(self._bytes, other._bytes)

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content may be gigabytes

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._decode(0, min(3, len(self)))))
        return f"StringTable([{shown}{', ...' if len(self) > 3 else ''}], length {len(self)})"


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view

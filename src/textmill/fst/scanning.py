"""A transducer on running text: the stretches it reads are rewritten, the rest is copied.

At each begin of a word the longest stretch that the machine reads and that ends where a word ends is replaced by its
best output. A deterministic automaton of the inputs finds the stretches in one pass over the bytes; only they go to the
transducer, each distinct one once (native/fst/scan.h). So most text moves at the speed of the scan, whatever the
machine does with the rest. Memory: a chunk of text and a bounded table of outputs, however long the stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.grammar import inputs_of
from textmill.fst.machine import Fst
from textmill.fst.optimization import minimize
from textmill.fst.rational import arcsort
from textmill.model import check_range, effective_jobs

__all__ = ["Change", "TextRewriter"]

_CHUNK = 1 << 20  # bytes rewritten at a time, more if a line is longer
_LONGEST_LINE = 1 << 23  # bytes; a longer line is cut at a blank


@dataclass(frozen=True, slots=True)
class Change:
    """A stretch of a text and what became of it; `start` and `end` count characters of the text."""

    start: int
    end: int
    input: str
    output: str


class TextRewriter:
    """Rewrites stretches of texts by a transducer whose labels are bytes, with tropical weights.

    `inputs` is the deterministic acceptor of what it reads, made here if there is none; `remembered` outputs are kept.

    >>> from textmill.fst.strings import string_map
    >>> rewriter = TextRewriter(string_map([("e.g.", "for example"), ("10", "ten")], token_type="byte"))
    >>> rewriter.rewrite("10 words, e.g. 101.")
    'ten words, for example 101.'
    >>> rewriter.changes("at 10")
    [Change(start=3, end=5, input='10', output='ten')]
    """

    def __init__(
        self, rules: Fst, *, inputs: Fst | None = None, remembered: int = 1 << 17, n_jobs: int | None = None
    ) -> None:
        check_range("remembered", remembered, at_least=0)
        self.rules = arcsort(rules)
        self.inputs = minimize(inputs_of(rules)) if inputs is None else inputs
        self.n_jobs = n_jobs
        self._scanner = native.Scanner(self.rules._native, self.inputs._native, remembered)

    def rewrite(self, text: str) -> str:
        """The text with its stretches rewritten.

        >>> from textmill.fst.strings import string_map
        >>> TextRewriter(string_map([("&", "and")], token_type="byte")).rewrite("salt & pepper")
        'salt and pepper'
        """
        return self.rewrite_bytes(_encoded(text))[0].decode()

    def changes(self, text: str) -> list[Change]:
        """The stretches that are rewritten, in order, also those whose output is the same."""
        content = _encoded(text)
        output, places = self.rewrite_bytes(content)
        starts = _characters(content, places[:, 0])
        ends = _characters(content, places[:, 1])
        return [
            Change(start, end, text[start:end], output[row[2] : row[3]].decode())
            for start, end, row in zip(starts, ends, places.tolist(), strict=True)
        ]

    def rewrite_bytes(self, text: bytes) -> tuple[bytes, NDArray[np.int64]]:
        """A text in UTF-8 rewritten, and for each stretch where it begins and ends in both, in bytes.

        >>> from textmill.fst.strings import string_map
        >>> TextRewriter(string_map([("&", "and")], token_type="byte")).rewrite_bytes(b"a & b")[1].tolist()
        [[2, 3, 2, 5]]
        """
        output, places = self._scanner.rewrite(text, effective_jobs(self.n_jobs))
        return output, places.reshape(-1, 4)

    def rewrite_stream(self, blocks: Iterable[bytes], source: str = "input") -> Iterator[bytes]:
        """A stream of UTF-8, cut anywhere, rewritten; bytes that are not UTF-8 are a DataError with their line.

        >>> from textmill.fst.strings import string_map
        >>> rewriter = TextRewriter(string_map([("10", "ten")], token_type="byte"))
        >>> b"".join(rewriter.rewrite_stream([b"1", b"0 min", b"utes"]))
        b'ten minutes'
        """
        lines = 0
        for chunk in _chunks(blocks):
            try:
                chunk.decode()
            except UnicodeDecodeError as fault:
                line = lines + chunk.count(b"\n", 0, fault.start) + 1
                raise DataError(f"byte {chunk[fault.start]:#04x} is not UTF-8", source=source, line=line) from None
            yield self.rewrite_bytes(chunk)[0]
            lines += chunk.count(b"\n")


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as fault:
        raise DataError(f"character {fault.start + 1} is a lone surrogate, which is no text") from None


def _characters(content: bytes, places: NDArray[np.int64]) -> list[int]:
    """Positions in characters of positions in bytes of UTF-8."""
    starts = (np.frombuffer(content, dtype=np.uint8) & 0xC0) != 0x80
    before = np.concatenate([[0], np.cumsum(starts)])
    return [int(position) for position in before[places]]


def _chunks(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, some of them at a time; a line that is too long is cut at a blank."""
    rest = b""
    for block in blocks:
        rest += block
        if len(rest) < _CHUNK:
            continue
        end = rest.rfind(b"\n") + 1
        if end == 0 and len(rest) > _LONGEST_LINE:
            end = rest.rfind(b" ") + 1 or _whole_characters(rest)
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


def _whole_characters(content: bytes) -> int:
    """The length of a text without the character that its end cuts."""
    end = len(content)
    while end > len(content) - 4 and content[end - 1] & 0xC0 == 0x80:
        end -= 1
    return end - 1 if end and content[end - 1] >= 0xC0 else len(content)

"""Patterns by definition: one string per token and pattern, put together in Python."""

from __future__ import annotations

from collections.abc import Sequence

from textmill.sequence import Command, parse_patterns
from textmill.sequence.patterns import boundaries
from textmill.sequence.regexes import function_of


def made_at(patterns: list[str], rows: Sequence[Sequence[str]], at: int, syntax: str = "textmill") -> list[str]:
    """The tests that are true at one token of a sequence."""
    left, right = boundaries(syntax)
    made = []
    for pattern in parse_patterns(patterns, syntax=syntax):
        text = ""
        for part in pattern.parts:
            if not isinstance(part, Command):
                text += part
                continue
            position = part.offset + at
            if part.absolute:
                position = part.offset - 1 if part.offset > 0 else len(rows) + part.offset
            if position < 0:
                value = left[min(-position, len(left)) - 1]
            elif position >= len(rows):
                value = right[min(position - len(rows), len(right) - 1)]
            else:
                value = rows[position][part.column]
            function = function_of(part, syntax, None)
            text += value if function is None else function(value)
        made.append(text)
    return made


def hash_of(test: str, bits: int) -> int:
    """FNV-1a of 64 bits, mixed as MurmurHash3 does at its end, the low bits of it."""
    most = (1 << 64) - 1
    h = 0xCBF29CE484222325
    for byte in test.encode():
        h = (h ^ byte) * 0x100000001B3 & most
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ h >> 33) * factor & most
    return (h ^ h >> 33) & ((1 << bits) - 1)

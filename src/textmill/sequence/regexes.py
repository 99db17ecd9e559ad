r"""What the commands of a pattern do to one value: functions from a string to a string.

In the syntax "textmill" regular expressions are those of the `regex` library, Unicode-aware, plus short classes that
are the same in both syntaxes: \d digit, \a letter, \w letter, mark, digit or _, \l small letter, \u capital,
\p punctuation or symbol, \s space; in capitals, everything else. `\p{Lu}` and `\P{Lu}` stay what they are.

In the syntax "wapiti" they are exactly that tool's: `.`, the classes above for ASCII (\w: letter or digit), `^` at the
start, `$` at the end, `?` greedy and `*` lazy, backslash before anything else; nothing more. They read bytes, as the
tool does. Where a match cuts a character in two, each stray byte 0xNN is written as the private character U+F7NN, and
`raw_bytes` turns that back.

Functions are called once per distinct value of a column.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from textmill.errors import DataError
from textmill.sequence.patterns import Command

__all__ = ["function_of", "raw_bytes", "raw_text"]

_STRAY = {0xDC00 + byte: 0xF700 + byte for byte in range(0x80, 0x100)}  # surrogateescape to private use
_BACK = {private: surrogate for surrogate, private in _STRAY.items()}

_ASCII_CLASSES = {"a": b"A-Za-z", "d": b"0-9", "l": b"a-z", "u": b"A-Z", "w": b"A-Za-z0-9"}
_ASCII_CLASSES |= {"p": rb"!-/:-@\[-`{-~", "s": rb" \t-\r"}
_UNICODE_CLASSES = {"a": r"\p{Alphabetic}", "l": r"\p{Lowercase}", "u": r"\p{Uppercase}", "p": r"\p{P}\p{S}"}

_RUNS = re.compile(r"(.)\1+", re.DOTALL)


def function_of(command: Command, syntax: str, function: Callable[..., str] | None) -> Callable[[str], str] | None:
    """The function of a command; None for %x, which leaves values as they are.

    >>> from textmill.sequence.patterns import parse_patterns
    >>> command = parse_patterns(r'u:%m[0,0,"\\a\\a*"]', syntax="wapiti")[0].parts[1]
    >>> function_of(command, "wapiti", None)("The"), function_of(command, "textmill", None)("Één")
    ('T', 'Één')
    """
    plain = _plain(command, syntax, function)
    if not command.lower:
        return plain
    lower = _ascii_lower if syntax == "wapiti" else str.lower
    return lower if plain is None else lambda value: lower(plain(value))


def raw_bytes(text: str) -> bytes:
    r"""UTF-8, with the private characters of stray bytes turned back into those bytes.

    >>> raw_bytes("\uf7c3x")
    b'\xc3x'
    """
    return text.translate(_BACK).encode("utf-8", "surrogateescape")


def raw_text(data: bytes) -> str:
    r"""The text of bytes, stray ones as private characters.

    >>> raw_text(b"\xc3x")
    '\uf7c3x'
    """
    return data.decode("utf-8", "surrogateescape").translate(_STRAY)


def _plain(command: Command, syntax: str, function: Callable[..., str] | None) -> Callable[[str], str] | None:
    argument = command.argument
    match command.name:
        case "x":
            return None
        case "prefix" | "suffix":
            length = int(argument or 0)
            if command.name == "prefix":
                return lambda value: value[:length]
            return lambda value: value[-length:] if length else ""
        case "shape":
            return _shape
        case "f":
            return _user_function(function, argument)
    search = _wapiti(argument or "") if syntax == "wapiti" else _unicode(argument or "")
    if command.name == "t":
        return lambda value: "true" if search(value) is not None else "false"
    return lambda value: search(value) or ""


def _user_function(function: Callable[..., str] | None, argument: str | None) -> Callable[[str], str]:
    if function is None:
        raise DataError("a pattern uses %f but no function was given; pass function=...")

    def call(value: str) -> str:
        result = function(value) if argument is None else function(value, argument)
        if not isinstance(result, str):
            raise DataError(f"the function of %f gave {result!r} for {value!r}; it must return a str")
        return result

    return call


def _ascii_lower(value: str) -> str:
    return value.lower() if value.isascii() else "".join(c.lower() if c.isascii() else c for c in value)


@lru_cache(maxsize=1 << 16)
def _shape(value: str) -> str:
    kinds = ("X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in value)
    return _RUNS.sub(r"\1", "".join(kinds))


def _unicode(pattern: str) -> Callable[[str], str | None]:
    import regex

    out = []
    in_set = False
    position = 0
    while position < len(pattern):
        c = pattern[position]
        step = 1
        if c == "\\" and position + 1 < len(pattern):
            letter = pattern[position + 1]
            braced = letter in "pP" and pattern[position + 2 : position + 3] == "{"
            step = 2
            c = pattern[position : position + 2]
            if letter.lower() in _UNICODE_CLASSES and not braced:
                members = _UNICODE_CLASSES[letter.lower()]
                c = f"[^{members}]" if letter.isupper() else members if in_set else f"[{members}]"
        elif c == "[":
            in_set = True
        elif c == "]":
            in_set = False
        out.append(c)
        position += step
    try:
        compiled = regex.compile("".join(out), regex.VERSION1)
    except regex.error as error:
        raise DataError(
            f"{pattern!r} is no regular expression: {error.msg} at character {(error.pos or 0) + 1}"
        ) from None

    def search(value: str) -> str | None:
        match: Any = compiled.search(value)
        return None if match is None else str(match.group())

    return search


def _wapiti(pattern: str) -> Callable[[str], str | None]:
    """The tool's expressions are a subset of `re` once classes are written out and the star is made lazy."""
    data = raw_bytes(pattern)
    out = b""
    position = 0
    if data.startswith(b"^"):
        out, position = rb"\A", 1
    while position < len(data):
        c = data[position : position + 1]
        if c in (b"*", b"?"):
            raise DataError(
                f"{pattern!r} has a {c.decode()} that follows nothing; write \\{c.decode()} for the character"
            )
        if c == b"$" and position == len(data) - 1:
            out += rb"\Z"
            break
        if c == b"\\" and position + 1 < len(data):
            c = data[position + 1 : position + 2]
            letter = c.decode("latin-1")
            members = _ASCII_CLASSES.get(letter.lower())
            c = re.escape(c) if members is None else b"[" + (b"^" if letter.isupper() else b"") + members + b"]"
            position += 1
        elif c != b".":
            c = re.escape(c)
        position += 1
        repeat = data[position : position + 1]
        if repeat in (b"*", b"?") and repeat:
            c += b"*?" if repeat == b"*" else b"?"
            position += 1
        out += c
    compiled = re.compile(out, re.DOTALL)

    def search(value: str) -> str | None:
        match = compiled.search(raw_bytes(value))
        return None if match is None else raw_text(match.group())

    return search

r"""JSON lines: every line one JSON object, a record.

Blank lines are no records. A line is bad if it is not JSON (NaN and Infinity are not), if it is another value than an
object, or if an escape such as \ud800 in it stands for half a character, which no text can hold.

Lines are decoded by msgspec if it is installed. What it refuses the json module decodes again: faults have one wording,
and numbers beyond the range of floats are infinite with both.

Cost: one pass; memory is the longest line. Reference: RFC 8259.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from textmill.corpus.streams import BadRecords, Part
from textmill.errors import DataError

__all__ = ["read_jsonl"]

_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(NaN|-?Infinity)')
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)")


def read_jsonl(part: Part, bad: BadRecords) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield line number and object of every line.

    >>> import io
    >>> list(read_jsonl(Part(io.BytesIO(b'{"text": "a storm"}\n'), "news.jsonl"), BadRecords("strict", "news.jsonl")))
    [(1, {'text': 'a storm'})]
    """
    decode = json.JSONDecoder(parse_constant=_refuse).decode
    decode_fast: Callable[[str], Any] = decode
    try:
        import msgspec

        decode_fast = msgspec.json.decode
    except ImportError:
        pass
    for number, line in part.lines(bad):
        fault = None
        try:
            value = decode_fast(line)
            if type(value) is dict and decode_fast is not decode:  # which has no half characters
                yield number, value
                continue
        except (ValueError, RecursionError):
            pass
        try:
            value = decode(line)
        except (ValueError, RecursionError) as error:
            if not line.strip():
                continue
            fault, column = _fault(error, line, number)
        else:
            if type(value) is not dict:
                fault, column = f"an object is needed, not {_kind(value)}; write {{...}} on every line", 1
            elif _has_half_character(value):
                column = next(match.start() for match in _ESCAPE.finditer(line) if match.group(1)) + 1
                fault = f"the escape {line[column - 1 : column + 5]} is half a character; escape both halves or none"
        if fault is None:
            yield number, value
        else:
            bad(DataError(fault, source=part.name, line=number, column=column))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON; write null")


def _fault(error: Exception, line: str, number: int) -> tuple[str, int]:
    """What the json module found, in the words of its user, and the column."""
    if isinstance(error, json.JSONDecodeError):
        if number == 1 and line.strip() in ("{", "["):
            return "the file is one JSON value over many lines; write one object a line (jq -c)", 1
        return f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}; was the line cut or edited?", error.colno
    if isinstance(error, RecursionError):
        return "the JSON is nested too deeply; flatten it", 1
    constant = next((match for match in _STRING_OR_CONSTANT.finditer(line) if match.group(1)), None)
    return str(error), constant.start() + 1 if constant else 1


def _kind(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _has_half_character(fields: dict[str, Any]) -> bool:
    """Whether a string in here holds a lone surrogate. Strings of ASCII, the most, are not looked through."""
    for name, value in fields.items():
        text = value if type(value) is str else ""
        if type(value) in (dict, list):
            text = json.dumps(value, ensure_ascii=False)
        if not (name.isascii() and text.isascii()):
            try:
                (name + text).encode()
            except UnicodeEncodeError:
                return True
    return False

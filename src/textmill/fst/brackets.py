r"""Strings with generated symbols in brackets.

    a[65]       the label 65, also [0x41] and, with a leading zero, octal [0101]
    a[name]     a generated symbol: its label in a table, a new one from 0xF0000 on if it is not there yet
    a[x y]      two generated symbols
    a\[b\]\\    the characters [, ] and \ themselves

Generated symbols stand for what is no text: tags, boundaries, features. Their labels lie in a private area of Unicode,
beyond every character, so that they never meet one. The table that names them is the caller's: share it between
strings that belong together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from textmill.errors import DataError
from textmill.fst.symbols import SymbolTable

__all__ = ["GENERATED", "bracketed_labels", "bracketed_text", "escape"]

GENERATED = 0xF0000  # the first label of generated symbols

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*")
_PIECE = re.compile(r"\\(.)|\[((?:[^\[\]\\]|\\.)*)\]|([^\[\]\\]+)", re.DOTALL)


def escape(text: str) -> str:
    r"""The string whose bracketed reading is the text itself.

    >>> escape("a[b]")
    'a\\[b\\]'
    """
    return re.sub(r"([\[\]\\])", r"\\\1", text)


def bracketed_labels(text: str, plain: Callable[[str], list[int]], generated: SymbolTable) -> list[int]:
    """The labels of a string with brackets; `plain` gives those of text without, new symbols go into `generated`.

    >>> tags = SymbolTable(["<eps>"])
    >>> bracketed_labels("a[noun][0x42]", lambda text: [ord(c) for c in text], tags)
    [97, 983040, 66]
    """
    labels: list[int] = []
    at = 0
    for piece in _PIECE.finditer(text):
        if piece.start() != at:
            break
        at = piece.end()
        escaped, inside, outside = piece.groups()
        if inside is None:
            labels += plain(outside if escaped is None else escaped)
        else:
            labels += [_label(name, generated, text) for name in inside.split() or [""]]
    if at != len(text):
        raise DataError(
            f"the string {text!r} has a bracket or backslash without its partner at character {at + 1}; "
            r"write \[, \] or \\ for the character itself"
        )
    return labels


def bracketed_text(labels: Sequence[int], plain: Callable[[Sequence[int]], str], generated: SymbolTable) -> str:
    """The string of labels, those of `generated` in brackets; what would be read as a bracket is escaped.

    >>> tags = SymbolTable(["<eps>"]); _ = tags.add("noun", GENERATED)
    >>> bracketed_text([97, GENERATED, 91], lambda labels: "".join(map(chr, labels)), tags)
    'a[noun]\\\\['
    """
    out: list[str] = []
    run: list[int] = []
    for label in labels:
        if label < GENERATED or generated._native.symbol(label) is None:
            run.append(label)
            continue
        out += [escape(plain(run)), f"[{escape(generated.symbol(label))}]"]
        run = []
    return "".join([*out, escape(plain(run))])


def _label(name: str, generated: SymbolTable, text: str) -> int:
    if _NUMBER.fullmatch(name):
        octal = name[0] == "0" and name[1:].isdigit()
        label = int(name, 8 if octal else 0)
        if not 0 < label <= 0x7FFFFFFF:
            raise DataError(f"[{name}] in the string {text!r} is not a label from 1 to 2,147,483,647")
        return label
    name = re.sub(r"\\(.)", r"\1", name)
    if not name:
        raise DataError(f"the brackets [] in the string {text!r} are empty; give the symbol a name")
    if name in generated:
        return generated.key(name)
    return generated.add(name, max(generated.available_key, GENERATED))

r"""CRFsuite's data files: a label and its attributes a line, a blank line after each sequence.

    label TAB attribute TAB attribute:value TAB ...

A value is a number after the last colon, 1 where there is none; `\:` and `\\` stand for the characters themselves. A
line `@weight:2.5` before or inside a sequence says how much it counts. Unlike the tool, we refuse what is no number,
instead of taking it for 0. Reference: the CRFsuite manual, version 0.12.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from textmill.corpus import Source, open_lines, source_name, writer
from textmill.errors import DataError

__all__ = ["AttributeSequence", "read_attributes", "write_attributes"]


class AttributeSequence(NamedTuple):
    """One sequence of an attribute file.

    >>> AttributeSequence([[("w=the", 1.0)]], ["B-NP"], 1.0).labels
    ['B-NP']
    """

    tokens: list[list[tuple[str, float]]]
    labels: list[str]
    weight: float


def read_attributes(source: Source, *, encoding: str = "utf-8") -> Iterator[AttributeSequence]:
    r"""Stream the sequences of an attribute file (a path, `-` for standard input, or an open binary file).

    >>> import io
    >>> [sequence] = read_attributes(io.BytesIO(b"@weight:2\nB-NP\tw=the\tratio\\:x:0.5\n\n"))
    >>> sequence.tokens, sequence.labels, sequence.weight
    ([[('w=the', 1.0), ('ratio:x', 0.5)]], ['B-NP'], 2.0)
    """
    name = source_name(source)
    tokens: list[list[tuple[str, float]]] = []
    labels: list[str] = []
    weight = 1.0
    parsed: dict[str, tuple[str, float]] = {}
    for number, line in open_lines(source, encoding=encoding):
        if not line.strip():
            if labels:
                yield AttributeSequence(tokens, labels, weight)
            tokens, labels, weight = [], [], 1.0
            continue
        label, *fields = line.split("\t")
        if line.startswith("@weight:"):
            weight = _number(line[8:], name, number)
            if weight < 0:
                raise DataError(
                    f"the weight {weight} is negative; a sequence counts 0 or more", source=name, line=number
                )
            continue
        if not label:
            raise DataError("there is no label before the first tab", source=name, line=number)
        row = []
        for field in fields:
            if field not in parsed:
                if len(parsed) >= 1 << 20:
                    parsed.clear()
                parsed[field] = _attribute(field, name, number)
            row.append(parsed[field])
        tokens.append(row)
        labels.append(label)
    if labels:
        yield AttributeSequence(tokens, labels, weight)


def write_attributes(sequences: Iterable[AttributeSequence], target: str | os.PathLike[str]) -> None:
    r"""Write an attribute file, to a path or `-`.

    >>> from pathlib import Path
    >>> write_attributes([AttributeSequence([[("a:b", 1.0), ("n", 0.5)]], ["X"], 1.0)], "data.crfsuite")
    >>> Path("data.crfsuite").read_text()
    'X\ta\\:b\tn:0.5\n\n'
    """
    with writer(target) as out:
        for tokens, labels, weight in sequences:
            if weight != 1:
                out.write(f"@weight:{weight!r}\n")
            for row, label in zip(tokens, labels, strict=True):
                fields = [_escaped(name) + ("" if value == 1 else f":{value!r}") for name, value in row]
                bad = [field for field in (label, *fields) if "\t" in field or "\n" in field or not field]
                if bad:
                    raise DataError(f"{bad[0]!r} cannot stand in an attribute file; replace tabs and line ends")
                out.write("\t".join([label, *fields]) + "\n")
            out.write("\n")


def _attribute(field: str, source: str, line: int) -> tuple[str, float]:
    if ":" not in field and "\\" not in field:
        return field, 1.0
    name, value, position = "", None, 0
    while position < len(field):
        c = field[position]
        if c == "\\" and field[position + 1 : position + 2] in (":", "\\"):
            position += 1
            c = field[position]
        elif c == ":":
            value = field[position + 1 :]
            break
        name += c
        position += 1
    return name, 1.0 if value is None else _number(value, source, line)


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(":", "\\:")


def _number(text: str, source: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        fault = f"{text!r} after a colon is no finite number; write \\: for a colon inside an attribute"
        raise DataError(fault, source=source, line=line)
    return value

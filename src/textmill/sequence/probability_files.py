"""Probabilities of items from files, for decoding: plain numbers, tables, and what `textmill classify predict` prints.

    0.91                               one number a line; a blank line ends a set (a document, a sequence)
    label TAB probability TAB id       a table with a header, parted by tabs or commas; a field may name the set
    {"probability": 0.91, "id": ...}   JSON lines

A table of predictions has the probability of the label that was predicted: with `positive` that of another label
becomes 1 - p, as of two classes. Items of a set may stand anywhere in a table; sets come in the order of their first
items.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from textmill.arrays import Floats
from textmill.corpus import open_lines
from textmill.errors import DataError

__all__ = ["ItemSet", "read_probabilities"]


@dataclass(frozen=True)
class ItemSet:
    """A set of items: its name, their ids and probabilities."""

    name: str
    ids: list[str] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)

    @property
    def p(self) -> Floats:
        """The probabilities as an array."""
        return np.array(self.chances)


def read_probabilities(
    source: str,
    *,
    probability_field: str = "probability",
    id_field: str = "id",
    set_field: str | None = None,
    positive: str | None = None,
    label_field: str = "label",
) -> list[ItemSet]:
    """Read sets of items with their probabilities.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "p.txt").write_text("0.9\\n0.2\\n\\n0.5\\n")
    ...     sets = read_probabilities(f"{folder}/p.txt")
    >>> [one.chances for one in sets]
    [[0.9, 0.2], [0.5]]
    """
    lines = open_lines(source)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        raise DataError("there are no probabilities; write one number on each line, or a table", source=source)
    if not first[1].lstrip().startswith("{") and _is_number(first[1]):
        return _plain(source, first, lines)
    sets: dict[str, ItemSet] = {}
    for number, record in _records(source, first, lines):
        for name in (probability_field, *([set_field] if set_field else []), *([label_field] if positive else [])):
            if record.get(name) is None:
                raise DataError(
                    f"there is no field '{name}'; the fields are {', '.join(map(str, record))}",
                    source=source,
                    line=number,
                )
        chance = _probability(record[probability_field], source, number)
        if positive is not None and str(record[label_field]) != positive:
            chance = 1.0 - chance
        name = str(record[set_field]) if set_field else ""
        own = sets.setdefault(name, ItemSet(name))
        own.ids.append(str(record.get(id_field) or f"{source}:{number}"))
        own.chances.append(chance)
    return list(sets.values())


def _plain(source: str, first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> list[ItemSet]:
    sets = [ItemSet("1")]
    for number, line in (first, *lines):
        if line.strip():
            sets[-1].ids.append(f"{source}:{number}")
            sets[-1].chances.append(_probability(line, source, number))
        elif sets[-1].ids:
            sets.append(ItemSet(str(len(sets) + 1)))
    return sets if sets[-1].ids else sets[:-1]


def _records(
    source: str, first: tuple[int, str], lines: Iterator[tuple[int, str]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    if first[1].lstrip().startswith("{"):
        for number, line in (first, *lines):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except json.JSONDecodeError as error:
                raise DataError(f"is no JSON: {error.msg}", source=source, line=number) from None
            if not isinstance(record, dict):
                raise DataError("is no JSON object; write {...} on each line", source=source, line=number)
            yield number, record
        return
    delimiter = "\t" if "\t" in first[1] else ","
    names = next(csv.reader([first[1]], delimiter=delimiter))
    for number, line in lines:
        if not line.strip():
            continue
        cells = next(csv.reader([line], delimiter=delimiter))
        if len(cells) != len(names):
            raise DataError(f"has {len(cells)} fields, the header {len(names)}", source=source, line=number)
        yield number, dict(zip(names, cells, strict=True))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _probability(text: Any, source: str, line: int) -> float:
    if isinstance(text, bool) or not _is_number(str(text)):
        raise DataError(f"'{text}' is no number", source=source, line=line)
    chance = float(text)
    if not 0.0 <= chance <= 1.0:
        raise DataError(f"{chance:g} is no probability; it must lie between 0 and 1", source=source, line=line)
    return chance

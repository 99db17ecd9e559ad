r"""Tables: rows of fields under a header that names them.

    csv    fields parted by a delimiter, quoted with " ("" inside); line ends inside quotes, read as "\n"
    tsv    fields parted by tabs, never quoted: a " is a character like any other

Both yield (line on which the row begins, {name: value}). Blank lines are no rows. A row with another number of fields
than the header is a bad record, and so is one with a line in it that cannot be decoded. A header with a fault is an
error always: it would spoil every row.

Cost: one pass through the csv module; memory is the longest row.
References: RFC 4180 (csv), IANA text/tab-separated-values.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from textmill.corpus.streams import BadRecords, Part
from textmill.errors import DataError

__all__ = ["check_delimiter", "read_csv", "read_tsv"]

_Rows: TypeAlias = Iterator[tuple[int, list[str] | DataError]]

_FIELD_LIMIT = 1 << 27  # characters: room for a field of 100 MB


def check_delimiter(delimiter: str) -> None:
    """Raise an error unless it is one character.

    >>> check_delimiter(";;")
    Traceback (most recent call last):
    textmill.errors.DataError: delimiter must be one character, not ';;'
    """
    if len(delimiter) != 1:
        raise DataError(f"delimiter must be one character, not {delimiter!r}")


def read_csv(part: Part, bad: BadRecords) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield the rows of a CSV file.

    >>> import io
    >>> part = Part(io.BytesIO(b'id,text\n1,"two\nlines"\n2,one\n'), "news.csv")
    >>> list(read_csv(part, BadRecords("strict", "news.csv")))
    [(2, {'id': '1', 'text': 'two\nlines'}), (4, {'id': '2', 'text': 'one'})]
    """
    check_delimiter(part.delimiter)
    return _with_header(_csv_rows(part), part, bad)


def read_tsv(part: Part, bad: BadRecords) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield the rows of a TSV file.

    >>> import io
    >>> list(read_tsv(Part(io.BytesIO(b'id\ttext\n1\t"a"\n'), "news.tsv"), BadRecords("strict", "news.tsv")))
    [(2, {'id': '1', 'text': '"a"'})]
    """
    return _with_header(_tsv_rows(part), part, bad, quotes=False)


def _with_header(
    rows: _Rows, part: Part, bad: BadRecords, *, quotes: bool = True
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows as mappings from the names in the first of them."""
    header: list[str] | None = None
    before: list[str] = []
    for line, row in rows:
        if isinstance(row, DataError):
            if header is None:
                raise row
            bad(row)
        elif header is None:
            header = _checked_header(row, part.name, line)
        elif len(row) != len(header):
            fault = f"{_fields(len(row))}, but the header names {len(header)}; is a delimiter or a quote missing?"
            if not quotes:
                fault = fault.replace("a delimiter or a quote", "a tab")
                if any(field.startswith('"') for field in [*before, *row]):
                    fault += " TSV has no quotes; if this file has them, pass format='csv', delimiter='\\t'"
            if len(header) == 1 and (mark := re.search(r"[;\t|]", header[0])):
                raise DataError(
                    f"the header is one field, {header[0]!r}; pass delimiter={mark.group()!r}", source=part.name
                )
            bad(DataError(fault, source=part.name, line=line))
        else:
            before = row
            yield line, dict(zip(header, row, strict=True))


def _checked_header(names: list[str], source: str, line: int) -> list[str]:
    """The header itself, if every field has a name of its own."""
    for column, name in enumerate(names, 1):
        if not name:
            fault = f"field {column} has no name in the header; name it, or leave row numbers out of the file"
            raise DataError(fault, source=source, line=line, column=column)
        if name in names[: column - 1]:
            fault = f"the header names {name!r} twice; rename one"
            raise DataError(fault, source=source, line=line, column=column)
    return names


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def _tsv_rows(part: Part) -> _Rows:
    """Fields of lines; a bad line keeps its place as its fault."""
    faults: list[DataError] = []

    def keep(fault: DataError, line: str) -> str:
        faults.append(fault)
        return line

    for line, text in part.lines(keep):
        if faults:
            yield line, faults.pop()
        elif text:
            yield line, text.split("\t")


def _csv_rows(part: Part) -> _Rows:
    """Fields of rows, which may take several lines. A bad line is parsed for its quotes, then spoils its row."""
    csv.field_size_limit(max(csv.field_size_limit(), _FIELD_LIMIT))
    faults: list[DataError] = []
    lines: list[int] = []  # of the row that is being read

    def keep(fault: DataError, line: str) -> str:
        faults.append(fault)
        return line

    def feed() -> Iterator[str]:
        for line, text in part.lines(keep):
            lines.append(line)
            yield text + "\n"

    rows = csv.reader(feed(), delimiter=part.delimiter, strict=True)
    while True:
        try:
            row: list[str] | DataError = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            faults.append(_csv_fault(error, part.name, lines))
        if faults:
            row = faults[0]
        if row:
            yield lines[0], row
        faults.clear()
        lines.clear()


def _csv_fault(error: csv.Error, name: str, lines: list[int]) -> DataError:
    """What the csv module found, in the words of its user."""
    fault = f"not CSV: {error}"
    if "end of data" in str(error):
        fault = f"a quote opened here is not closed in the {len(lines)} lines up to the end; close it or double it"
    elif "field limit" in str(error):
        fault = f"a field has more than {_FIELD_LIMIT:,} characters; is a quote not closed?"
    elif "expected after" in str(error) and lines[0] == 1:
        fault += "; or pass delimiter=';', if that parts the fields"
    return DataError(fault, source=name, line=lines[0])

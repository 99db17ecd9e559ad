"""Results as tables: plain columns, pandas frames, text for a terminal, HTML for a notebook.

A result that consists of rows derives from `Table` and says in `columns` what they are called and what they hold.
Everything else is here, once:

    result.to_dict()      lists of plain values by column
    result.to_pandas()    a pandas.DataFrame, pandas being optional
    print(result)         the first rows under each other, numbers of a column with the same decimals
    in a notebook         the same as an HTML table

Cost: `to_dict` and `to_pandas` visit every row; what is shown only the rows that are shown.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Any, Protocol, TypeVar

from textmill.errors import DataError
from textmill.readable import counted, numerals, one_line

__all__ = ["ROWS", "Column", "Picked", "Rows", "Table", "beginning", "import_frames"]

T = TypeVar("T")

ROWS = 10  # that are shown
_WIDTH = 60  # characters of a cell


class Column(Protocol):
    """Values of one column: a list, an array, a string table, or anything else with a length and an order."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...

    def __getitem__(self, i: Any, /) -> Any: ...


class Table:
    """Mixin of results that are rows under named columns.

    >>> class Squares(Table):
    ...     def columns(self):
    ...         return {"number": [1, 2, 3], "square": [1.0, 4.0, 9.0]}
    >>> Squares()
    Squares, 3 rows
    number  square
         1       1
         2       4
         3       9
    >>> Squares().to_dict()
    {'number': [1, 2, 3], 'square': [1.0, 4.0, 9.0]}
    """

    __slots__ = ()

    def columns(self) -> Mapping[str, Column]:
        """Return the columns by name, all of one length; arrays, lists or anything that can be indexed."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists of plain Python values, for JSON or any library of tables."""
        return {name: [_plain(value) for value in values] for name, values in self.columns().items()}

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with the same columns."""
        columns = {n: values if hasattr(values, "dtype") else list(values) for n, values in self.columns().items()}
        return import_frames("pandas").DataFrame(columns)

    def note(self) -> str | None:
        """Return a line to show below the rows, such as a figure of all of them or why there are none."""
        return None

    def shown(self) -> Mapping[str, Column]:
        """Return the columns as a person wants to see them; by default those of the table."""
        return self.columns()

    def __repr__(self) -> str:
        head, rows, left_out = self._cells()
        numeric = _numeric(self.shown())
        widths = [max(len(name), *(len(row[i]) for row in rows)) if rows else len(name) for i, name in enumerate(head)]
        lines = [type(self).__name__ + ", " + counted(len(rows) + left_out, "rows")]
        for row in [head, *rows]:
            cells = (
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, numeric, strict=True)
            )
            lines.append("  ".join(cells).rstrip())
        lines += [f"... {left_out} more"] if left_out else []
        return "\n".join([*lines, *filter(None, [self.note()])])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        head, rows, left_out = self._cells()
        numeric = _numeric(self.shown())
        styles = [' style="text-align: right"' if right else ' style="text-align: left"' for right in numeric]
        cells = [
            "".join(f"<td{style}>{html.escape(cell)}</td>" for cell, style in zip(row, styles, strict=True))
            for row in rows
        ]
        names = "".join(f"<th{style}>{html.escape(name)}</th>" for name, style in zip(head, styles, strict=True))
        caption = f"{type(self).__name__}, {counted(len(rows) + left_out, 'rows')}"
        below = [*([f"... {left_out} more"] if left_out else []), *filter(None, [self.note()])]
        foot = "".join(f'<tr><td colspan="{len(head)}">{html.escape(line)}</td></tr>' for line in below)
        more = f"<tfoot>{foot}</tfoot>" if foot else ""
        return (
            f"<table><caption>{html.escape(caption)}</caption><thead><tr>{names}</tr></thead>"
            f"<tbody>{''.join(f'<tr>{row}</tr>' for row in cells)}</tbody>{more}</table>"
        )

    def _cells(self) -> tuple[list[str], list[list[str]], int]:
        """The header, the first rows as texts, and how many rows there are beyond them."""
        columns = self.shown()
        size = len(next(iter(columns.values()), ()))
        texts = [_texts(list(islice(iter(values), ROWS))) for values in columns.values()]
        return list(columns), [list(row) for row in zip(*texts, strict=True)], max(0, size - ROWS)


class Picked(Sequence[Any]):
    """The items of a sequence at some positions, looked up when they are asked for: of millions a few are shown.

    >>> list(Picked(["a", "b", "c"], [2, 0]))
    ['c', 'a']
    """

    def __init__(self, items: Column, places: Any) -> None:
        self._items, self._places = items, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return Picked(self._items, self._places[i])
        return self._items[int(self._places[i])]


class Rows(Table, list[T]):
    """A list of records that is a table as well: named tuples, data classes, or tuples with names given here.

    >>> from typing import NamedTuple
    >>> class Word(NamedTuple):
    ...     word: str
    ...     probability: float
    >>> words = Rows([Word("mill", 0.5), Word("sea", 0.25)], Word)
    >>> words[0].word, words.to_dict()
    ('mill', {'word': ['mill', 'sea'], 'probability': [0.5, 0.25]})
    >>> words[1:]
    Rows, 1 row
    word  probability
    sea          0.25
    """

    def __init__(self, records: Iterable[T], kind: Any) -> None:
        super().__init__(records)
        self._names: tuple[str, ...] = tuple(kind) if isinstance(kind, tuple | list) else _field_names(kind)

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns by the names of the fields."""
        values = [
            record if isinstance(record, tuple) else [getattr(record, name) for name in self._names] for record in self
        ]
        return {name: [row[i] for row in values] for i, name in enumerate(self._names)}

    def __getitem__(self, i: Any) -> Any:
        records = super().__getitem__(i)
        return Rows(records, self._names) if isinstance(i, slice) else records


def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(kind._fields) if hasattr(kind, "_fields") else tuple(kind.__dataclass_fields__)


def beginning(text: object, width: int = _WIDTH) -> str:
    """The beginning of a text on one line, with dots where it was cut, at a blank if there is one.

    >>> beginning("The mill stands still, the river does not.", 24)
    'The mill stands still, …'
    """
    line = one_line(str(text)[: 4 * width])
    if len(line) <= width:
        return line
    cut = line[: width - 1]
    before, blank, _ = cut.rpartition(" ")
    return (before + blank if 2 * len(before) > width else cut) + "…"


def import_frames(library: str) -> Any:
    """Import pandas or Polars, or raise an error that says how to get it.

    >>> import_frames("pandas").__name__
    'pandas'
    """
    try:
        return import_module(library)
    except ImportError:
        raise DataError(f"data frames need {library}; install it with: pip install {library}") from None


def _texts(values: list[Any]) -> list[str]:
    """The cells of one column."""
    plain = [_plain(value) for value in values]
    if plain and all(isinstance(value, float | int) and not isinstance(value, bool) for value in plain):
        return numerals(plain)
    return [beginning(" ".join(map(str, value)) if isinstance(value, list) else value) for value in plain]


def _numeric(columns: Mapping[str, Column]) -> list[bool]:
    firsts = [_plain(values[0]) if len(values) else None for values in columns.values()]
    return [isinstance(value, float | int) and not isinstance(value, bool) for value in firsts]


def _plain(value: Any) -> Any:
    """A value of NumPy as one of Python."""
    return value.tolist() if hasattr(value, "tolist") else value

"""Tables that commands print: a header and tab-separated rows for people and spreadsheets, or JSON lines."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import typer

from textmill.cli._json import json_line

__all__ = ["Printed", "forget_headers", "print_headers", "warn_of_nothing"]

_waiting: list[Printed] = []  # tables without a row, at most one


class Printed:
    """A table that is printed row by row; `columns` has for each name how its values are written, such as ".4f".

    JSON lines hold the values themselves. Missing values are "-" in text; tabs and line ends become blanks. The header
    waits for the first row, or for the end of a command without an error: a result that is not there has no header.
    A table that ends without a row is a warning, which says `nothing`: what was not found, and what to try.
    """

    def __init__(
        self, columns: Mapping[str, str], *, json: bool = False, nothing: str = "nothing was found to list"
    ) -> None:
        self._columns = columns
        self._json = json
        self._nothing = nothing
        print_headers()
        _waiting.append(self)

    def header(self) -> None:
        """Print the header if it was not printed yet: for commands that go on with a line that is no row."""
        if self in _waiting:
            _waiting.remove(self)
            if not self._json:
                typer.echo("\t".join(self._columns))

    def end(self, *, silent: bool = False) -> None:
        """The header of a table that has no rows and will have none, and a warning, unless `silent`."""
        if self in _waiting:
            self.header()
            if not silent:
                warn_of_nothing(self._nothing)

    def row(self, **values: Any) -> None:
        """Print one row: a value for each column, by name."""
        self.header()
        if self._json:
            typer.echo(json_line(values))
        else:
            typer.echo("\t".join(_cell(values[name], form) for name, form in self._columns.items()))


def print_headers(*, silent: bool = False) -> None:
    """Print the header of a table that has no rows and will have none."""
    for table in [*_waiting]:
        table.end(silent=silent)


def warn_of_nothing(message: str) -> None:
    """Say on stderr that a command has found nothing, and what to try."""
    warnings.warn(message, stacklevel=2)


def forget_headers() -> None:
    """Leave out the header of a table whose command has failed."""
    _waiting.clear()


def _cell(value: Any, form: str) -> str:
    if value is None:
        return "-"
    text = " ".join(map(str, value)) if isinstance(value, list | tuple) else format(value, form)
    return " ".join(text.split()) if any(mark in text for mark in "\t\r\n") else text

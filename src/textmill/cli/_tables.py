"""Tables that commands print: a header and tab-separated rows for people and spreadsheets, or JSON lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from textmill.cli._json import json_line

__all__ = ["Printed"]


class Printed:
    """A table that is printed row by row; `columns` has for each name how its values are written, such as ".4f".

    JSON lines hold the values themselves. Missing values are "-" in text; tabs and line ends become blanks.
    """

    def __init__(self, columns: Mapping[str, str], *, json: bool = False) -> None:
        self._columns = columns
        self._json = json
        if not json:
            typer.echo("\t".join(columns))

    def row(self, **values: Any) -> None:
        """Print one row: a value for each column, by name."""
        if self._json:
            typer.echo(json_line(values))
        else:
            typer.echo("\t".join(_cell(values[name], form) for name, form in self._columns.items()))


def _cell(value: Any, form: str) -> str:
    if value is None:
        return "-"
    text = " ".join(map(str, value)) if isinstance(value, list | tuple) else format(value, form)
    return " ".join(text.split()) if any(mark in text for mark in "\t\r\n") else text

"""One table of a paper as a record: what it is made of, what was published, what must hold.

A recipe's `make(data, quick)` returns rows, a list of mappings; `data` is the folder of real data sets, None where
there is none. A quick run takes made-up data or a part of the real ones, and seconds. `shape` names what the paper
claims and asks the rows whether it holds: "regression beats pairwise votes" can fail, a figure of our own cannot.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Outcome", "Recipe", "Rows", "data_folder", "figure", "run_recipe", "table_text"]

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Recipe:
    """How a table is made, and what to hold it against.

    Attributes: table, its name in the paper; data, what it is made from; make, the function; published, figures of the
    paper as rows with the same columns; shape, claims and what asks the rows whether they hold; needs, files below the
    folder of data sets; quick_needs, those that a quick run needs as well.
    """

    table: str
    data: str
    make: Callable[[Path | None, bool], Rows]
    published: Rows = field(default_factory=list)
    shape: Mapping[str, Callable[[Rows], bool]] = field(default_factory=dict)
    needs: Sequence[str] = ()
    quick_needs: Sequence[str] = ()


@dataclass(frozen=True)
class Outcome:
    """What came of a recipe: its rows, which claims failed, or why it was not run."""

    recipe: Recipe
    rows: Rows
    failed: Sequence[str] = ()
    not_run: str = ""


def data_folder() -> Path | None:
    """The folder that TEXTMILL_DATA names, if it is there."""
    name = os.environ.get("TEXTMILL_DATA")
    return Path(name) if name and Path(name).is_dir() else None


def run_recipe(recipe: Recipe, data: Path | None, *, quick: bool = False) -> Outcome:
    """Make a table and ask for its shape; without its data say what is missing.

    >>> recipe = Recipe("1", "none", lambda data, quick: [{"x": 2}], shape={"x is 1": lambda rows: rows[0]["x"] == 1})
    >>> run_recipe(recipe, None).failed
    ['x is 1']
    """
    needs = recipe.quick_needs if quick else recipe.needs
    if needs and data is None:
        return Outcome(recipe, [], not_run="set TEXTMILL_DATA to the folder of the data sets")
    missing = [name for name in needs if data is not None and not (data / name).exists()]
    if missing:
        return Outcome(recipe, [], not_run=f"{missing[0]} is not below {data}")
    rows = recipe.make(data, quick)
    return Outcome(recipe, rows, [claim for claim, holds in recipe.shape.items() if not holds(rows)])


def figure(rows: Rows, name: str, column: str) -> float:
    """Return a figure of the row whose first column has this name.

    >>> figure([{"method": "svr", "mse": 1.2}], "svr", "mse")
    1.2
    """
    return float(next(row[column] for row in rows if next(iter(row.values())) == name))


def table_text(rows: Rows) -> str:
    """Rows as a Markdown table; numbers with up to four figures.

    >>> print(table_text([{"method": "svr", "mse": 1.23456}, {"method": "mean"}]))
    | method | mse |
    |---|---|
    | svr | 1.235 |
    | mean |  |
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row.get(name)) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)

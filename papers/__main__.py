"""`python -m papers [NAME ...] [--all] [--quick] [--json FILE]`: make the tables of papers again."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

from papers._shared.recipe import Outcome, Recipe, data_folder, run_recipe, table_text

NAMES = sorted(path.parent.name for path in Path(__file__).parent.glob("[a-z]*/recipes.py"))


def recipes_of(name: str) -> list[Recipe]:
    """The tables of a paper, in their order."""
    found: list[Recipe] = importlib.import_module(f"papers.{name}.recipes").RECIPES
    return found


def shown(name: str, outcome: Outcome) -> str:
    """What came of a table, as text: rows, published figures, claims."""
    recipe = outcome.recipe
    lines = [f"## {name}: {recipe.table}", "", f"Data: {recipe.data}", ""]
    if outcome.not_run:
        return "\n".join([*lines, f"not run: {outcome.not_run}", ""])
    lines += [table_text(outcome.rows), ""]
    if recipe.published:
        lines += ["Published:", "", table_text(recipe.published), ""]
    lines += [f"- {'FAILS' if claim in outcome.failed else 'holds'}: {claim}" for claim in recipe.shape]
    return "\n".join([*lines, ""])


def main(arguments: list[str] | None = None) -> int:
    """Run the papers that are asked for; 1 if a claim fails."""
    parser = argparse.ArgumentParser(prog="python -m papers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--all", action="store_true", help="every paper")
    parser.add_argument("--quick", action="store_true", help="made-up or little data, to see that it runs")
    parser.add_argument("--table", default="", help="only tables whose name has this in it")
    parser.add_argument("--json", metavar="FILE", help="write the rows as JSON, too")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.names) - set(NAMES))
    if unknown:
        parser.error(f"no paper {unknown[0]!r}; there are {', '.join(NAMES)}")
    names = NAMES if given.all else given.names
    if not names:
        for name in NAMES:
            print(name, *(f"    {recipe.table}: {recipe.data}" for recipe in recipes_of(name)), sep="\n")
        return 0
    outcomes = []
    for name in names:
        for recipe in recipes_of(name):
            if given.table in recipe.table:
                outcomes.append((name, run_recipe(recipe, data_folder(), quick=given.quick)))
                print(shown(*outcomes[-1]), flush=True)
    if given.json:
        content = [
            {
                "paper": name,
                "table": one.recipe.table,
                "rows": one.rows,
                "failed": list(one.failed),
                "not run": one.not_run,
            }
            for name, one in outcomes
        ]
        Path(given.json).write_text(json.dumps(content, indent=1, default=str) + "\n", encoding="utf-8")
    return int(any(outcome.failed for _, outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())

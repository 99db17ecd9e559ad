"""Section 5: decoding with a beam."""

from __future__ import annotations

from pathlib import Path

from papers._shared.recipe import Recipe, Rows
from papers.expected_utility.pruning import compare_pruning


def pruning(data: Path | None, quick: bool) -> Rows:
    columns = compare_pruning(lengths=range(1, 21 if quick else 51), runs=3 if quick else 10).to_dict()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


RECIPES = [
    Recipe(
        "what pruning costs",
        "random probabilities, uniform and of a Beta(1/2, 1/2) distribution; published: gap, share of same sets",
        pruning,
        [{"beam": "1", "gap": 0.6, "same": 0.99}, {"beam": "2n", "gap": 0.0, "same": 1.0}],
        {
            "a beam of 2n loses next to nothing": lambda rows: all(
                row["regret"] < 0.001 for row in rows if row["beam"] == "2n"
            ),
            "a beam of 1 finds the same set less often": lambda rows: (
                max(row["same"] for row in rows if row["beam"] == "1")
                < min(row["same"] for row in rows if row["beam"] == "2n")
            ),
        },
    )
]

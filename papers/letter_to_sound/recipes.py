"""Accuracy and size by context, and what rules add to a lexicon."""

from __future__ import annotations

import warnings
from functools import cache
from importlib import resources
from pathlib import Path

from papers._shared.recipe import Recipe, Rows
from papers.letter_to_sound.sweep import SweepTable, sweep
from textmill.tasks import pronunciation
from textmill.tasks.pronunciation import Entry, read_lexicon, read_rules, sample_lexicon, split_lexicon

FIGURES = ("context", "accuracy", "precision", "recall", "word_accuracy", "nodes", "kB")
LEXICON, WITH_RULES = (0.0, 0.9, 0.1), (0.9, 0.09, 0.01)


@cache
def lexicons(data: Path | None, quick: bool) -> tuple[list[Entry], list[Entry]]:
    if quick or data is None:
        return split_lexicon(sample_lexicon(1500), 0.3)
    folder = data / "g2p-sigmorphon2020"
    train, test = (list(read_lexicon(folder / f"fre_{part}.tsv")) for part in ("train", "test"))
    return train, test


def contexts(data: Path | None, quick: bool) -> Rows:
    table = sweep(*lexicons(data, quick), contexts=(0, 1, 2) if quick else (0, 1, 2, 3, 4), alignment="bag")
    return _rows(table)


def with_rules(data: Path | None, quick: bool) -> Rows:
    rules = read_rules(str(resources.files(pronunciation) / "rules" / "french.txt"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # made-up words have few of the sounds of French
        table = sweep(
            *lexicons(data, quick),
            contexts=(2,) if quick else (3,),
            weights=(LEXICON, WITH_RULES),
            rules=rules,
            alignment="bag",
        )
    return [{"system": name, **row} for name, row in zip(("lexicon", "lexicon + rules"), _rows(table), strict=True)]


def _rows(table: SweepTable) -> Rows:
    return [{name: row[name] for name in FIGURES} for row in table.rows]


_NEEDS = ["g2p-sigmorphon2020"]
RECIPES = [
    Recipe(
        "accuracy by context",
        "French of SIGMORPHON 2020; published: a lexicon of French from running text; quick: made-up words",
        contexts,
        [
            {"context": context, "accuracy": accuracy / 100, "precision": p / 100, "recall": r / 100, "nodes": nodes}
            for context, accuracy, p, r, nodes in (
                (0, 84.0, 51.9, 86.6, 44),
                (1, 96.6, 90.0, 91.3, 917),
                (2, 98.6, 97.0, 97.1, 2664),
                (3, 98.7, 97.5, 97.4, 3585),
            )
        ],
        {
            "the first letter at each side gains most": lambda rows: (
                rows[1]["accuracy"] - rows[0]["accuracy"] > rows[2]["accuracy"] - rows[1]["accuracy"]
            ),
            "trees grow with the context": lambda rows: all(
                rows[i]["nodes"] <= rows[i + 1]["nodes"] for i in range(len(rows) - 1)
            ),
        },
        needs=_NEEDS,
    ),
    Recipe(
        "lexicon and rules",
        "the same, and 300 pairs of letters and sounds for French",
        with_rules,
        [
            {"system": "lexicon", "context": 3, "accuracy": 0.987, "precision": 0.975, "recall": 0.974, "nodes": 3585},
            {
                "system": "lexicon + rules",
                "context": 3,
                "accuracy": 0.989,
                "precision": 0.978,
                "recall": 0.979,
                "nodes": 3394,
            },
        ],
        {"rules change little": lambda rows: abs(rows[0]["accuracy"] - rows[1]["accuracy"]) < 0.03},
        needs=_NEEDS,
    ),
]

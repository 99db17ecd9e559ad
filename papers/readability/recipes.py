"""Texts of each level, sets of features side by side, and features chosen inside of each fold."""

from __future__ import annotations

import itertools
import warnings
from functools import cache
from pathlib import Path

from papers._shared.recipe import Recipe, Rows, figure
from papers.readability.selection import METHODS, select_nested
from papers.readability.sets import compare_sets
from papers.readability.statistics import level_table
from textmill.tasks.readability import (
    LevelLearner,
    LevelModels,
    PreparedTexts,
    prepare_graded,
    read_graded_texts,
    sample_graded_texts,
)


@cache
def prepared(data: Path | None, quick: bool) -> PreparedTexts:
    """Texts with levels; made-up ones where it is to be quick."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # headers of the real texts give levels away
        if quick or data is None:
            return prepare_graded(sample_graded_texts(24))
        return prepare_graded(read_graded_texts(data / "readability-onestop" / "onestop.jsonl"))


def texts(data: Path | None, quick: bool) -> Rows:
    return [row._asdict() for row in level_table(prepared(data, quick))]


def sets(data: Path | None, quick: bool) -> Rows:
    models = LevelModels(order=2 if quick else 3, representations=("words",), common=(50,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # orders that a short text does not have
        result = compare_sets(
            prepared(data, quick),
            LevelLearner(),
            models=models,
            n_folds=3 if quick else 10,
            repetitions=1 if quick else 10,
        )
    return [
        {"set": row.name, "features": row.features, "accuracy": 100 * row.accuracy, "deviation": 100 * row.deviation}
        for row in result.rows()
    ]


def selection(data: Path | None, quick: bool) -> Rows:
    own = prepared(data, quick)
    rows = []
    for method in METHODS:
        result = select_nested(
            own.static, own.level, own.groups, LevelLearner(), method=method, n_folds=3 if quick else 10
        )
        rows.append(
            {
                "method": method,
                "features": result.n_features,
                "accuracy": 100 * result.accuracy,
                "optimistic": 100 * result.optimistic,
            }
        )
    return rows


_NEEDS = ["readability-onestop"]
RECIPES = [
    Recipe(
        "texts of each level",
        "OneStopEnglish, three levels; published: Weekly Reader, grades 2 to 5; quick: made-up texts",
        texts,
        [
            {"level": level, "texts": texts, "words": words, "words_per_sentence": length}
            for level, texts, words, length in (
                ("2", 174, 128.27, 9.54),
                ("3", 289, 171.96, 11.39),
                ("4", 428, 278.03, 13.67),
                ("5", 542, 335.56, 15.28),
            )
        ],
        {
            "sentences are longer at each higher level": lambda rows: all(
                one["words_per_sentence"] < other["words_per_sentence"] for one, other in itertools.pairwise(rows)
            )
        },
        needs=_NEEDS,
    ),
    Recipe(
        "sets of features",
        "the same, folds over articles, logistic regression; published: Weekly Reader",
        sets,
        [
            {"set": name, "accuracy": accuracy}
            for name, accuracy in (
                ("words per sentence", 52.17),
                ("syllables per word", 42.51),
                ("Flesch-Kincaid", 50.83),
                ("shallow", 52.34),
                ("LM words", 60.31),
                ("everything", 63.71),
                ("everything, majority", 37.8),
            )
        ],
        {
            "everything together beats single features": lambda rows: (
                figure(rows, "everything", "accuracy") > figure(rows, "words per sentence", "accuracy")
            ),
            "levels are learned": lambda rows: (
                figure(rows, "everything", "accuracy") > figure(rows, "everything, majority", "accuracy") + 20
            ),
        },
        needs=_NEEDS,
    ),
    Recipe(
        "choice of features",
        "the same, features that need no models, chosen inside of each fold; published: Weekly Reader, 273 features",
        selection,
        [
            {"method": "groups", "features": 122, "accuracy": 69.22},
            {"method": "filter", "features": 28, "accuracy": 65.46},
            {"method": "none", "features": 273, "accuracy": 63.71},
        ],
        {"the filter keeps fewest": lambda rows: rows[1]["features"] < rows[2]["features"]},
        needs=_NEEDS,
    ),
]

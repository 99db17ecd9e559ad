"""What graded texts hold: how many of each level and how long, and how features are correlated."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from textmill.arrays import Floats
from textmill.tables import Rows
from textmill.tasks.readability.features import FeatureTable, subgroups
from textmill.tasks.readability.preparation import PreparedTexts

if TYPE_CHECKING:
    pass

__all__ = ["LevelTexts", "correlations", "level_table"]


class LevelTexts(NamedTuple):
    """Texts of a level, their share of all, and how long they and their sentences are, with deviations."""

    level: str
    texts: int
    share: float
    words: float
    words_deviation: float
    words_per_sentence: float
    words_per_sentence_deviation: float


def level_table(prepared: PreparedTexts) -> Rows[LevelTexts]:
    """Return how many texts each level has, and how long they are; deviations of a single text are 0."""
    lengths = prepared.static.choose(["shallow.words", "shallow.words_per_sentence"]).values
    rows = []
    for number, name in enumerate(prepared.order):
        own = lengths[prepared.level == number]
        mean, deviation = own.mean(axis=0), own.std(axis=0, ddof=1) if len(own) > 1 else np.zeros(2)
        figures = (float(value) for pair in zip(mean, deviation, strict=True) for value in pair)
        rows.append(LevelTexts(name, len(own), len(own) / len(lengths), *figures))
    return Rows(rows, LevelTexts)


def correlations(table: FeatureTable, *, by_group: bool = False) -> tuple[list[str], Floats]:
    """Return names and correlations of features, or of groups: mean absolute correlation of their features.

    >>> table = FeatureTable(["a.x", "a.y"], np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]))
    >>> correlations(table)[1].round(2).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    spread = np.nanstd(np.where(np.isnan(table.values).all(axis=0), 0.0, table.values), axis=0)
    names = [name for name, own in zip(table.names, spread, strict=True) if own > 1e-12]
    X = table.choose(names).values
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    matrix = np.corrcoef(X.T).reshape(len(names), len(names))
    if not by_group:
        return names, matrix
    groups = subgroups(names)
    member = np.array([[name == g or name.startswith(f"{g}.") for name in names] for g in groups], dtype=np.float64)
    member /= member.sum(axis=1, keepdims=True)
    return groups, member @ np.abs(matrix) @ member.T

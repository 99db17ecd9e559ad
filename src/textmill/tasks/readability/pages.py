"""Pages and pictures: tables of an experiment, levels told apart, how features hang together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from textmill import plot
from textmill.arrays import Floats
from textmill.report import Report
from textmill.tables import Rows
from textmill.tasks.readability.features import FeatureTable, subgroups
from textmill.tasks.readability.preparation import PreparedTexts
from textmill.tasks.readability.protocol import ComparedSet, CrossValidated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "LevelTexts",
    "correlations",
    "draw_accuracies",
    "draw_correlations",
    "draw_levels",
    "experiment_report",
    "level_table",
]


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


def draw_correlations(table: FeatureTable, *, by_group: bool = True) -> Figure:
    """Draw how features, or groups of them, hang together."""
    names, matrix = correlations(table, by_group=by_group)
    return plot.heat_map(matrix, columns=names, rows=names, x_label="", y_label="", title="Correlations of features")


def draw_levels(result: CrossValidated, name: str) -> Figure:
    """Draw how often each level was answered by each."""
    table = result.confusion(name)
    names = [str(label) for label in table.labels]
    shares = 100 * table.table / np.maximum(table.table.sum(axis=1, keepdims=True), 1)
    return plot.heat_map(shares.round(1), columns=names, rows=names, x_label="answered, %", y_label="level", title=name)


def draw_accuracies(result: CrossValidated) -> Figure:
    """Draw the accuracy of each set of features."""
    rows = result.rows()
    values = {"accuracy": [100 * row.accuracy for row in rows]}
    return plot.bars([row.name for row in rows], values, x_label="accuracy", unit=" %")


def experiment_report(
    result: CrossValidated,
    table: FeatureTable | None = None,
    levels: Rows[LevelTexts] | None = None,
    *,
    title: str = "Levels of texts",
) -> Report:
    """Make a page with all tables of an experiment.

    With features also how their groups hang together, with a `level_table` how many texts there are, and how long.
    """
    rows = result.rows()
    repetitions = len(next(iter(result.predicted.values())))
    page = Report(title, subtitle=f"{len(result.level)} texts, {len(result.order)} levels, {repetitions} repetitions")
    if levels is not None:
        page.heading("Texts")
        page.table(LevelTexts._fields, levels, caption="Texts of each level; lengths are means in words.")
    page.heading("Sets of features")
    page.table(ComparedSet._fields, rows, caption="Means over the repetitions; p-values are against the best row.")
    page.figure(draw_accuracies(result), caption="Accuracy of each set.")
    best = max(rows, key=lambda row: row.accuracy).name
    page.heading("Levels")
    label = result.confusion(best).per_label()
    columns = label.columns()
    page.table(list(columns), zip(*columns.values(), strict=True), caption=f"Each level, {best}.")
    page.figure(draw_levels(result, best), caption=f"How each level was answered, {best}.")
    if table is not None:
        page.heading("Features")
        page.figure(draw_correlations(table), caption="Mean absolute correlation of the features of groups.")
    return page

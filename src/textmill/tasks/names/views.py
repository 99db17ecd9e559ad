"""Levels of a list with one field: its measures, and how far a pair leads its rivals, over the candidates.

Where there is one field, nothing beside it tells whether a pair matches, and all pairs show no more than that similar
values are rare. What helps is the place of a pair among the other candidates of its two records (`leads` of
comparison.py): a score of 0.7 means little where a rival has 0.9, and much where nothing else comes near. The variables
are the first measure of the field, the TF-IDF cosine of its trigrams, and the lead; they are views of one agreement, so
their order is better than the probabilities that come of them. EM begins with the scores as probabilities.

Cost: the measures of the candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.tasks.names.agreement import TAILS
from textmill.tasks.names.blocking import Candidates
from textmill.tasks.names.comparison import PairComparer
from textmill.tasks.names.mixture import Levels
from textmill.tasks.names.record_matcher import rows_of

__all__ = ["Views", "compare_views", "view_cuts"]

_CUTS = {"exact": (0.5,), "letters": (0.3, 0.5, 0.7, 0.9), "lead": (-0.1, 0.0, 0.15)}
_MEASURE_CUTS = (0.5, 0.7, 0.85, 0.999)


class Views(NamedTuple):
    """Field ("" for the lead) and measure of each variable, its numbers, and its levels."""

    names: list[tuple[str, str]]
    numbers: Floats
    levels: Levels


def view_cuts(measure: str) -> tuple[float, ...]:
    """Return the least number of each level above the lowest.

    >>> view_cuts("lead")
    (-0.1, 0.0, 0.15)
    """
    return _CUTS.get(measure, _MEASURE_CUTS[: len(TAILS)])


def compare_views(
    comparer: PairComparer, candidates: Candidates, positions: NDArray[np.int64] | None = None
) -> tuple[Views, Floats]:
    """Return the variables of the candidates at these positions, or of all, and the scores of all candidates."""
    base = comparer.scores(candidates.left, candidates.right)
    single = {field.name for field in comparer.fields if field.measure is not None}
    columns = [
        number
        for number, (field, measure) in enumerate(comparer.columns)
        if measure in ("aligned", "letters", "lead") or (field in single and measure != "missing")
    ]
    names = [comparer.columns[column] for column in columns]
    X = rows_of(comparer, candidates, base, positions)[:, columns]
    levels = np.stack([np.digitize(X[:, v], view_cuts(measure)) for v, (_, measure) in enumerate(names)], axis=-1)
    return Views(names, X, np.where(np.isnan(X), -1, levels).astype(np.int8)), base

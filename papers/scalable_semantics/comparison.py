"""Where two methods disagree: differences of scores, lists that differ, and the pairs that differ most.

    difference    score by the second method - score by the first, over random pairs: mean, deviation, histogram
    overlap       share of the k neighbors that both lists of a document have
    correlation   Spearman's, of the ranks in both lists; a document that a list lacks has the rank k + 1 there

The worst pairs are looked for among all pairs of both tables of neighbors and the random ones.
Reference: Rehurek (2011), section 6.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.tables import Rows
from textmill.tasks.similarity.neighbors import NeighborTable
from textmill.tasks.similarity.scoring import pair_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from textmill.tasks.similarity.collection import Collection

__all__ = ["MethodComparison", "PairOfScores", "compare_methods", "draw_differences"]


class PairOfScores(NamedTuple):
    """Two documents, and their scores by two methods."""

    left: str
    right: str
    one: float
    other: float
    difference: float


class MethodComparison(NamedTuple):
    """What `compare_methods` found; `counts` are pairs between the `edges` of differences."""

    one: str
    other: str
    pairs: int
    mean: float
    deviation: float
    edges: Floats
    counts: Ints
    overlap: float
    correlation: float
    worst: Rows[PairOfScores]


def compare_methods(
    collection: Collection,
    one: str,
    other: str,
    *,
    k: int = 10,
    n_pairs: int = 20_000,
    most: int = 20,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> MethodComparison:
    """Return how two methods of a collection differ."""
    snapshot = collection.snapshot
    numbers = snapshot.numbers
    if len(numbers) < 2:
        raise DataError("a comparison needs at least two documents")
    generator = np.random.default_rng(random_state)
    left = generator.integers(len(numbers), size=n_pairs)
    right = (left + generator.integers(1, len(numbers), size=n_pairs)) % len(numbers)
    sides = numbers[left], numbers[right]
    differences = pair_scores(snapshot, other, *sides) - pair_scores(snapshot, one, *sides)
    tables = [NeighborTable.build(collection, method=name, k=k, n_jobs=n_jobs) for name in (one, other)]
    overlap, correlation = _lists(*(table.neighbors_ for table in tables))
    candidates = [np.stack(sides, axis=1)]
    for table in tables:
        rows, columns = np.nonzero(table.neighbors_ >= 0)
        candidates.append(np.stack([table.numbers_[rows], table.neighbors_[rows, columns]], axis=1))
    pairs = np.unique(np.sort(np.concatenate(candidates), axis=1), axis=0)
    scores = [pair_scores(snapshot, name, pairs[:, 0], pairs[:, 1]) for name in (one, other)]
    order = np.argsort(-np.abs(scores[1] - scores[0]), kind="stable")[:most]
    worst = []
    for i in order:
        left_name, right_name = (_name(collection, int(number)) for number in pairs[i])
        first, second = float(scores[0][i]), float(scores[1][i])
        worst.append(PairOfScores(left_name, right_name, first, second, second - first))
    counts, edges = np.histogram(differences, bins=40)
    return MethodComparison(
        one,
        other,
        n_pairs,
        float(differences.mean()),
        float(differences.std()),
        edges,
        counts,
        overlap,
        correlation,
        Rows(worst, PairOfScores),
    )


def draw_differences(comparison: MethodComparison) -> Figure:
    """Draw the histogram of differences."""
    from textmill.plot import lines

    middles = (comparison.edges[1:] + comparison.edges[:-1]) / 2
    shares = comparison.counts / comparison.counts.sum()
    label = f"score by {comparison.other} - score by {comparison.one}"
    return lines({"pairs": (middles, shares)}, x_label=label, y_label="share of pairs")


def _lists(one: Ints, other: Ints) -> tuple[float, float]:
    """Mean overlap and mean rank correlation of two tables of lists."""
    overlaps, correlations = [], []
    k = one.shape[1]
    for first, second in zip(one, other, strict=True):
        a, b = first[first >= 0].tolist(), second[second >= 0].tolist()
        if not a and not b:
            continue
        overlaps.append(len(set(a) & set(b)) / max(len(a), len(b)))
        union = sorted({*a, *b})
        ranks = np.array([[x.index(member) + 1 if member in x else k + 1 for member in union] for x in (a, b)], float)
        spread = ranks.std(axis=1)
        if spread.all():
            centered = ranks - ranks.mean(axis=1, keepdims=True)
            correlations.append(float(centered[0] @ centered[1]) / (len(union) * spread[0] * spread[1]))
    return float(np.mean(overlaps or [0.0])), float(np.mean(correlations or [0.0]))


def _name(collection: Collection, number: int) -> str:
    place = collection.snapshot.by_number(number)
    return place.part.documents.ids_[place.row]

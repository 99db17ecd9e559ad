"""Do neighbors share subject classes? Precision, votes, average precision, silhouette.

    precision@k     share of the k nearest documents with a class in common
    votes           a document gets the class with the largest sum of scores among its neighbors; share that is right
    MAP             mean over documents of the average precision of the whole ranking
    silhouette      mean of (b - a) / max(a, b), a: mean distance 1 - score to the own class, b: to the nearest other
    within, between mean score of pairs of one class, and of different classes

Precision and votes look at all documents; the others, whose cost is quadratic, at a sample drawn with a seed.
Reference: Rousseeuw (1987), Silhouettes; Manning, Raghavan & Schuetze (2008), chapter 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.metrics import average_precision
from textmill.tables import Rows
from textmill.tasks.similarity.classes import ClassScheme, codes_of, guess_scheme
from textmill.tasks.similarity.methods import similarities
from textmill.tasks.similarity.neighbors import NeighborTable
from textmill.tasks.similarity.scoring import score_matrix

if TYPE_CHECKING:
    from textmill.tasks.similarity.collection import Collection

__all__ = ["Agreement", "coded_documents", "evaluate_classes"]

_SAMPLE = 1000  # documents whose pairs are all looked at


class Agreement(NamedTuple):
    """How far neighbors by a method share classes of a level; see the module."""

    method: str
    level: str
    documents: int
    precision: float
    votes: float
    map: float
    silhouette: float
    within: float
    between: float


def evaluate_classes(
    collection: Collection,
    field: str,
    *,
    methods: Sequence[str] | None = None,
    k: int = 10,
    scheme: ClassScheme | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Rows[Agreement]:
    """Return how far the neighbors by each method share the classes of a field, on both levels of the scheme."""
    numbers, codes = coded_documents(collection, field)
    scheme = scheme or guess_scheme([code for some in codes for code in some])
    levels = {"top": scheme.top, "sub": scheme.sub}
    if scheme.kind == "plain":
        levels = {"class": scheme.sub}
    generator = np.random.default_rng(random_state)
    sample = np.sort(generator.choice(len(numbers), min(_SAMPLE, len(numbers)), replace=False))
    rows = []
    for method in methods or list(collection.methods):
        table = NeighborTable.build(collection, method=method, k=k, n_jobs=n_jobs)
        scores = score_matrix(collection.snapshot, method, numbers[sample])
        for level, of in levels.items():
            classes = [frozenset(of(code) for code in some) for some in codes]
            rows.append(_agreement(method, level, collection, table, numbers, classes, sample, scores))
    return Rows(rows, Agreement)


def _agreement(
    method: str,
    level: str,
    collection: Collection,
    table: NeighborTable,
    numbers: Ints,
    classes: Sequence[frozenset[str]],
    sample: Ints,
    scores: Floats,
) -> Agreement:
    by_number = dict(zip(numbers.tolist(), classes, strict=True))
    shares, right = [], []
    for own, (members, keys) in zip(classes, table.lists(collection, numbers.tolist()), strict=True):
        theirs = [by_number.get(int(member), frozenset()) for member in members]
        shares.append(sum(bool(own & one) for one in theirs) / table.k)
        votes: dict[str, float] = {}
        for one, score in zip(theirs, similarities(table.measure_, keys).tolist(), strict=True):
            for code in one:
                votes[code] = votes.get(code, 0.0) + score
        right.append(bool(votes) and max(sorted(votes), key=lambda code: votes[code]) in own)
    same = np.array([[bool(classes[i] & classes[j]) for j in sample] for i in sample])
    others = ~np.eye(len(sample), dtype=bool)
    order = np.argsort(-np.where(others, scores, -np.inf), axis=1, kind="stable")[:, :-1]
    relevance = np.take_along_axis(same, order, axis=1)
    counted = relevance.any(axis=1)
    precision = average_precision(relevance[counted]).mean() if counted.any() else float("nan")
    return Agreement(
        method,
        level,
        len(numbers),
        float(np.mean(shares)),
        float(np.mean(right)),
        float(precision),
        _silhouette(scores, [min(classes[i]) for i in sample]),
        float(scores[same & others].mean()) if (same & others).any() else float("nan"),
        float(scores[~same].mean()) if (~same).any() else float("nan"),
    )


def _silhouette(scores: Floats, labels: Sequence[str]) -> float:
    """By the first class of each document."""
    names, codes = np.unique(np.array(labels), return_inverse=True)
    if len(names) < 2:
        return float("nan")
    member = np.zeros((len(names), len(labels)))
    member[codes, np.arange(len(labels))] = 1.0
    sizes = member.sum(axis=1)
    distances = 1.0 - scores
    sums = distances @ member.T
    own = sums[np.arange(len(labels)), codes] / np.maximum(sizes[codes] - 1, 1)
    means = sums / sizes
    means[np.arange(len(labels)), codes] = np.inf
    other = means.min(axis=1)
    values = np.where(sizes[codes] > 1, (other - own) / np.maximum(np.maximum(own, other), 1e-300), 0.0)
    return float(values.mean())


def coded_documents(collection: Collection, field: str) -> tuple[Ints, list[list[str]]]:
    """Numbers and codes of the documents that have some."""
    values = [codes_of(value) for value in collection.values(field)]
    numbers = collection.snapshot.numbers
    chosen = [i for i, some in enumerate(values) if some]
    if len(chosen) < 2:
        names = ", ".join(row.name for row in collection.fields()) or "none"
        raise DataError(f"fewer than two documents have a class in the field '{field}'; the fields are {names}")
    return numbers[chosen], [values[i] for i in chosen]

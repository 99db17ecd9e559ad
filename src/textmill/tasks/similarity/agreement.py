"""Do neighbors share subject classes? Precision, votes, average precision, silhouette, and classes that belong
together.

    precision@k     share of the k nearest documents with a class in common
    votes           a document gets the class with the largest sum of scores among its neighbors; share that is right
    MAP             mean over documents of the average precision of the whole ranking
    silhouette      mean of (b - a) / max(a, b), a: mean distance 1 - score to the own class, b: to the nearest other
    within, between mean score of pairs of one class, and of different classes

Precision and votes look at all documents; the others, whose cost is quadratic, at a sample drawn with a seed.
Reference: Rousseeuw (1987), Silhouettes; Manning, Raghavan & Schuetze (2008), chapter 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    from matplotlib.figure import Figure

    from textmill.tasks.similarity.collection import Collection

__all__ = [
    "Agreement",
    "ClassMap",
    "block_means",
    "class_map",
    "draw_class_map",
    "evaluate_classes",
    "linked_classes",
]

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
    numbers, codes = _coded(collection, field)
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


class ClassMap(NamedTuple):
    """Scores of the documents of one class, sorted by sub-class: ids, sub-classes and the matrix (n, n)."""

    ids: list[str]
    classes: list[str]
    scores: Floats


def class_map(
    collection: Collection,
    field: str,
    main_class: str | None = None,
    *,
    method: str | None = None,
    scheme: ClassScheme | None = None,
    most: int = 2000,
) -> ClassMap:
    """Return the scores of the documents of a main class (None for all), sorted by their first code of that class."""
    numbers, codes = _coded(collection, field)
    scheme = scheme or guess_scheme([code for some in codes for code in some])
    chosen = []
    for number, some in zip(numbers.tolist(), codes, strict=True):
        inside = [code for code in some if main_class is None or scheme.top(code) == main_class]
        if inside:
            chosen.append((scheme.key(inside[0]), number, scheme.sub(inside[0])))
    if not chosen:
        raise DataError(f"no document has a code of class '{main_class}' in the field '{field}'")
    chosen.sort()
    if len(chosen) > most:
        raise DataError(f"{len(chosen)} documents are too many for one picture; choose a class with at most {most}")
    ordered = [number for _, number, _ in chosen]
    name = collection.snapshot.method(method).name
    places = [collection.snapshot.by_number(number) for number in ordered]
    ids = [place.part.documents.ids_[place.row] for place in places]
    return ClassMap(ids, [sub for _, _, sub in chosen], score_matrix(collection.snapshot, name, ordered))


def block_means(class_scores: ClassMap) -> tuple[list[str], Floats]:
    """Return the sub-classes in order, and the mean score between every two of them, without documents themselves.

    >>> scores = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.3], [0.1, 0.3, 1.0]])
    >>> names, means = block_means(ClassMap(["1", "2", "3"], ["a", "a", "b"], scores))
    >>> names, means.round(4).tolist()
    (['a', 'b'], [[0.8, 0.2], [0.2, nan]])
    """
    names = list(dict.fromkeys(class_scores.classes))
    member = np.array([[one == name for one in class_scores.classes] for name in names], np.float64)
    sums = member @ (class_scores.scores - np.diag(np.diag(class_scores.scores))) @ member.T
    sizes = member.sum(axis=1)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    means = np.full(sums.shape, np.nan)
    np.divide(sums, pairs, out=means, where=pairs > 0)
    return names, means


def linked_classes(class_scores: ClassMap) -> dict[str, str]:
    """Return for each sub-class the other one that it is most similar to, by the means of blocks.

    >>> scores = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.1], [0.9, 0.1, 1.0]])
    >>> linked_classes(ClassMap(["1", "2", "3"], ["20.30", "20Dxx", "20Kxx"], scores))["20.30"]
    '20Kxx'
    """
    names, means = block_means(class_scores)
    others = np.where(np.eye(len(names), dtype=bool), -np.inf, np.nan_to_num(means, nan=-np.inf))
    return {name: names[int(row.argmax())] for name, row in zip(names, others, strict=True)} if len(names) > 1 else {}


def draw_class_map(
    class_scores: ClassMap, *, contrast: float = 1.0, boxes: Sequence[tuple[str, str]] = (), title: str | None = None
) -> Figure:
    """Draw the scores as gray levels, white for 1, with borders of sub-classes and boxes around groups of them.

    `contrast` above 1 darkens low scores. A box goes from one sub-class to another.
    """
    from textmill.plot import heat_map

    sizes: Mapping[str, int] = {name: class_scores.classes.count(name) for name in dict.fromkeys(class_scores.classes)}
    gray = np.clip(class_scores.scores, 0.0, 1.0) ** contrast
    return heat_map(
        gray, x_label="document", y_label="document", title=title, groups=sizes, boxes=boxes, color_map="gray"
    )


def _coded(collection: Collection, field: str) -> tuple[Ints, list[list[str]]]:
    """Numbers and codes of the documents that have some."""
    values = [codes_of(value) for value in collection.values(field)]
    numbers = collection.snapshot.numbers
    chosen = [i for i, some in enumerate(values) if some]
    if len(chosen) < 2:
        names = ", ".join(row.name for row in collection.fields()) or "none"
        raise DataError(f"fewer than two documents have a class in the field '{field}'; the fields are {names}")
    return numbers[chosen], [values[i] for i in chosen]

"""Scores of documents sorted by their sub-classes: a map on which classes that belong together are seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.tasks.similarity.agreement import coded_documents
from textmill.tasks.similarity.classes import ClassScheme, guess_scheme
from textmill.tasks.similarity.scoring import score_matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from textmill.tasks.similarity.collection import Collection

__all__ = ["ClassMap", "block_means", "class_map", "draw_class_map", "linked_classes"]


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
    numbers, codes = coded_documents(collection, field)
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

"""Terms and documents as points of one plane.

Models with directions (LSA, PCA): two of them are the axes. A term stands at its entries of the two components, a
document at its projections, each divided by their length over all that are shown, so that both clouds have one size;
for the documents of training these are the rows of U and V of the singular value decomposition.

Models with parts (NMF, PLSA): terms and documents are profiles, shares of topics that sum to 1; the axes are the two
principal components of the profiles of documents, and terms are projected on the same axes.

Reference: Deerwester, Dumais, Furnas, Landauer & Harshman (1990), Indexing by latent semantic analysis, figure 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from textmill import plot
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.model import check_fitted, check_range
from textmill.topics.model import TopicModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Plane", "draw_map", "plane"]


class Plane(NamedTuple):
    """Points of terms (m, 2) and of documents (n, 2), and what the axes are."""

    terms: Floats
    documents: Floats
    axes: tuple[str, str]


def plane(model: TopicModel, X: Any = None, *, topics: tuple[int, int] = (0, 1)) -> Plane:
    """Place terms and documents in a plane; `topics` are the two directions, of models that have directions.

    Without X there are only terms.

    >>> from textmill.topics import PCA
    >>> points = plane(PCA(n_topics=2).fit(np.eye(3)), np.eye(3))
    >>> points.terms.shape, points.documents.shape, points.axes
    ((3, 2), (3, 2), ('topic 1', 'topic 2'))
    """
    check_fitted(model)
    k = len(model.components_)
    for topic in topics:
        check_range("topics", topic, at_least=0, below=max(2, k), whole=True)
    if k < 2:
        raise DataError(f"a map needs two topics, the model has {k}; train with more")
    documents = np.zeros((0, k)) if X is None else np.asarray(model.transform(X), dtype=np.float64)
    if X is not None and not len(documents):
        raise DataError("X has no documents to place; pass at least one")
    terms: Floats = model.components_.T
    if model.components_.min() < 0:
        chosen = list(topics)
        clouds = [points[:, chosen] for points in (terms, documents)]
        placed = [points / np.maximum(np.linalg.norm(points, axis=0), 1e-300) for points in clouds]
        return Plane(placed[0], placed[1], (f"topic {topics[0] + 1}", f"topic {topics[1] + 1}"))
    strengths = model.strengths()
    profiles = [_shares(terms if strengths is None else terms * strengths), _shares(documents)]
    spread = profiles[1] if len(documents) else profiles[0]
    center = spread.mean(axis=0)
    axes = np.linalg.svd(spread - center, full_matrices=False)[2][:2]
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    if len(axes) < 2:
        axes = np.vstack([axes, np.zeros_like(axes)])
    placed = [(points - center) @ axes.T for points in profiles]
    return Plane(placed[0], placed[1], ("principal axis 1", "principal axis 2"))


def draw_map(
    model: TopicModel,
    X: Any = None,
    *,
    terms: Sequence[str] | None = None,
    groups: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    n_terms: int = 100,
    topics: tuple[int, int] = (0, 1),
    title: str | None = None,
) -> Figure:
    """Draw the plane: the `n_terms` terms farthest from its middle, with their names, and all documents.

    `terms` are the names of columns, by default those of the vectorizer; `groups` says of each document in which group
    it is drawn, `names` what an SVG shows when the pointer rests on it.

    >>> from textmill.topics import PCA
    >>> figure = draw_map(PCA(n_topics=2).fit(np.eye(3)), np.eye(3), terms=["a", "b", "c"])
    >>> figure.axes[0].get_xlabel()
    'topic 1'
    """
    check_range("n_terms", n_terms, at_least=1, whole=True)
    points = plane(model, X, topics=topics)
    if terms is None:
        vectorizer = model.vectorizer_
        terms = [str(t) for t in range(len(points.terms))] if vectorizer is None else vectorizer.terms_.to_list()
    if len(terms) < len(points.terms):
        raise DataError(f"there are {len(terms)} terms for {len(points.terms)} columns; pass one for each column")
    far = np.argsort(-np.linalg.norm(points.terms - points.terms.mean(axis=0), axis=1), kind="stable")[:n_terms]
    clouds = {"terms": points.terms[far]}
    for what, labels in {"groups": groups, "names": names}.items():
        if labels is not None and len(labels) != len(points.documents):
            fault = f"there are {len(labels)} {what} for {len(points.documents)} documents"
            raise DataError(f"{fault}; pass one for each document")
    tooltips: dict[str, list[str]] = {}
    for group in ["documents"] if groups is None else dict.fromkeys(groups):
        inside = [i for i in range(len(points.documents)) if groups is None or groups[i] == group]
        if inside:
            name = str(group) if str(group) != "terms" else "documents: terms"
            clouds[name] = points.documents[inside]
            tooltips[name] = [] if names is None else [names[i] for i in inside]
    return plot.scatter(
        {name: (cloud[:, 0], cloud[:, 1]) for name, cloud in clouds.items()},
        labels={"terms": [terms[int(t)] for t in far]},
        tooltips=tooltips,
        x_label=points.axes[0],
        y_label=points.axes[1],
        title=title,
    )


def _shares(rows: Floats) -> Floats:
    """Rows that sum to 1; a row of zeros becomes uniform."""
    sums = rows.sum(axis=1, keepdims=True)
    return np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), 1.0 / rows.shape[1])

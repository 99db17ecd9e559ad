"""Clusters of documents or of terms in the space of any topic model, labeled by their terms.

    kmeans          spherical k-means: rows of length 1, so that nearest means most alike by cosine
    minibatch       the same on random parts, for very many rows
    agglomerative   average linkage by cosine; all pairs are compared, so at most 20,000 rows

The clusters are scikit-learn's. The label of a cluster of documents is the terms that its mean has more of than the
mean of all: (mean of the cluster - mean of all) times the components. That of a cluster of terms is those that
weigh most in its direction.

Reference: Dhillon & Modha (2001), Concept decompositions for large sparse text data using clustering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.model import RandomState, check_choice, check_fitted, check_range, effective_jobs, seed_of
from textmill.tables import Column, Table
from textmill.topics.model import TopicModel

__all__ = ["Cluster", "Clusters", "cluster_documents", "cluster_rows", "cluster_terms"]


_MOST_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster: the numbers of its members, the most typical first, and its label."""

    members: NDArray[np.intp]
    words: list[str]


@dataclass(frozen=True, slots=True, repr=False)
class Clusters(Table):
    """All clusters: labels (n,), the cluster of each row (-1: a row of zeros), and clusters, the largest first."""

    labels: NDArray[np.int64]
    clusters: list[Cluster]

    def columns(self) -> dict[str, Column]:
        """Return the members, cluster by cluster from 1, the most typical first, with the label of the cluster."""
        sizes = [len(cluster.members) for cluster in self.clusters]
        return {
            "cluster": np.repeat(np.arange(1, len(sizes) + 1), sizes),
            "label": [" ".join(cluster.words) for cluster in self.clusters for _ in cluster.members],
            "member": [int(member) for cluster in self.clusters for member in cluster.members],
        }

    def shown(self) -> dict[str, Column]:
        """Return a row for each cluster."""
        return {
            "cluster": range(1, len(self.clusters) + 1),
            "members": [len(cluster.members) for cluster in self.clusters],
            "label": [" ".join(cluster.words) for cluster in self.clusters],
        }


def cluster_documents(
    model: TopicModel,
    X: Any,
    n_clusters: int,
    *,
    method: str = "kmeans",
    n_words: int = 8,
    terms: Sequence[str] | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Clusters:
    """Cluster documents in the space of a model.

    >>> from textmill.topics import NMF
    >>> X = np.array([[3, 1, 0], [2, 1, 0], [0, 0, 5], [0, 1, 7]])
    >>> clusters = cluster_documents(NMF(n_topics=2, random_state=0).fit(X), X, 2, n_words=1, terms=["a", "b", "c"])
    >>> sorted((cluster.members.tolist(), cluster.words) for cluster in clusters.clusters)
    [([0, 1], ['a']), ([2, 3], ['c'])]
    """
    names = _names(model, terms)
    rows = np.asarray(model.transform(X), dtype=np.float64)
    labels, order = cluster_rows(rows, n_clusters, method=method, random_state=random_state, n_jobs=n_jobs)
    everywhere = rows.mean(axis=0)
    clusters = []
    for members in order:
        excess = (rows[members].mean(axis=0) - everywhere) @ model.components_
        best = [t for t in np.argsort(-excess, kind="stable")[:n_words] if excess[t] > 0]
        clusters.append(Cluster(members, [names[int(t)] for t in best]))
    return Clusters(labels, clusters)


def cluster_terms(
    model: TopicModel,
    n_clusters: int,
    *,
    method: str = "kmeans",
    n_words: int = 8,
    terms: Sequence[str] | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Clusters:
    """Cluster the terms of a model by their weights in its topics.

    >>> from textmill.topics import NMF
    >>> X = np.array([[3, 1, 0, 0], [2, 1, 0, 0], [0, 0, 5, 2], [0, 0, 7, 3]])
    >>> clusters = cluster_terms(NMF(n_topics=2, random_state=0).fit(X), 2, terms=["a", "b", "c", "d"])
    >>> sorted(cluster.members.tolist() for cluster in clusters.clusters)
    [[0, 1], [2, 3]]
    """
    names = _names(model, terms)
    strengths = model.strengths()
    rows = model.components_.T if strengths is None else model.components_.T * strengths
    labels, order = cluster_rows(rows, n_clusters, method=method, random_state=random_state, n_jobs=n_jobs)
    clusters = []
    for members in order:
        inside = rows[members] @ rows[members].mean(axis=0)  # rare terms may point the right way, but say little
        heavy = members[np.argsort(-inside, kind="stable")[:n_words]]
        clusters.append(Cluster(members, [names[int(t)] for t in heavy]))
    return Clusters(labels, clusters)


def cluster_rows(
    rows: Any,
    n_clusters: int,
    *,
    method: str = "kmeans",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.int64], list[NDArray[np.intp]]]:
    """Cluster rows by cosine: the cluster of each, and the members of each cluster, the most typical first.

    >>> labels, members = cluster_rows([[1, 0], [2, 0], [0, 3], [0, 0]], 2, random_state=0)
    >>> labels.tolist(), [part.tolist() for part in members]
    ([0, 0, 1, -1], [[0, 1], [2]])
    """
    check_range("n_clusters", n_clusters, at_least=1, whole=True)
    check_choice("method", method, ["kmeans", "minibatch", "agglomerative"])
    rows = np.asarray(rows, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    if not np.isfinite(lengths).all():
        raise DataError("rows to cluster must be finite; remove those with NaN or infinity")
    there = np.flatnonzero(lengths > 0)
    if n_clusters > len(there):
        raise DataError(f"{n_clusters} clusters of {len(there)} rows that are not zero; ask for fewer")
    unit = rows[there] / lengths[there, None]
    if len(there) > _MOST_PAIRS and method == "agglomerative":
        raise DataError(f"agglomerative compares all pairs of {len(there)} rows; pass method='minibatch'")
    with threadpool_limits(effective_jobs(n_jobs)):
        numbers = _fitted(unit, n_clusters, method, random_state)
    sizes = np.bincount(numbers, minlength=n_clusters)
    rank = np.empty(n_clusters, dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(n_clusters)
    labels = np.full(len(rows), -1, dtype=np.int64)
    labels[there] = rank[numbers]
    members = []
    for number in range(int(np.count_nonzero(sizes))):
        inside = np.flatnonzero(labels[there] == number)
        center = unit[inside].mean(axis=0)
        members.append(there[inside[np.argsort(-(unit[inside] @ center).round(12), kind="stable")]])
    return labels, members


def _fitted(unit: Floats, n_clusters: int, method: str, random_state: RandomState) -> NDArray[np.int64]:
    try:
        from sklearn.cluster import AgglomerativeClustering, KMeans, MiniBatchKMeans
    except ImportError:
        raise DataError("clusters need scikit-learn; install it with: pip install 'textmill[sklearn]'") from None

    seed = None if random_state is None else seed_of(random_state) % 2**32  # scikit-learn takes no Generator

    if method == "agglomerative":
        if len(unit) == 1:
            return np.zeros(1, dtype=np.int64)
        estimator: Any = AgglomerativeClustering(n_clusters=n_clusters, metric="cosine", linkage="average")
    elif method == "kmeans":
        estimator = KMeans(n_clusters=n_clusters, n_init=4, random_state=seed)
    else:
        estimator = MiniBatchKMeans(n_clusters=n_clusters, n_init=4, random_state=seed)
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():  # fewer distinct rows than clusters: some are then empty, which is shown
        warnings.simplefilter("ignore", ConvergenceWarning)
        numbers: NDArray[np.int64] = estimator.fit_predict(unit).astype(np.int64)
    return numbers


def _names(model: TopicModel, terms: Sequence[str] | None) -> Sequence[str]:
    check_fitted(model)
    columns = model.components_.shape[1]
    if terms is None:
        vectorizer = model.vectorizer_
        return [str(t) for t in range(columns)] if vectorizer is None else vectorizer.terms_.to_list()
    if len(terms) < columns:
        raise DataError(f"there are {len(terms)} terms for {columns} columns; pass one per column")
    return terms

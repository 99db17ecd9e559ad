"""Clusters: planted groups are found, labeled by their words, in every space and by every method."""

from __future__ import annotations

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.topics import LSA, NMF, PCA, PLSA, cluster_documents, cluster_rows, cluster_terms

TERMS = ["ball", "goal", "match", "oven", "flour", "sugar", "moon", "orbit", "star"]


def planted(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Thirty documents on three subjects with three words each, and a little noise."""
    random = np.random.default_rng(seed)
    subject = np.repeat([0, 1, 2], 10)
    rates = np.full((30, 9), 0.05)
    for row, which in enumerate(subject):
        rates[row, 3 * which : 3 * which + 3] = 4
    return random.poisson(rates).astype(float), subject


@pytest.mark.parametrize("model", [LSA, PCA, NMF, PLSA])
@pytest.mark.parametrize("method", ["kmeans", "minibatch", "agglomerative"])
def test_planted_subjects_are_found_and_labeled(model: type, method: str) -> None:
    X, subject = planted()
    fitted = model(n_topics=3, random_state=0).fit(X)
    found = cluster_documents(fitted, X, 3, method=method, n_words=3, terms=TERMS, random_state=0)
    groups = {frozenset(cluster.members.tolist()) for cluster in found.clusters}
    assert groups == {frozenset(np.flatnonzero(subject == s).tolist()) for s in range(3)}
    for cluster in found.clusters:
        s = subject[cluster.members[0]]
        assert set(cluster.words) == set(TERMS[3 * s : 3 * s + 3])


@pytest.mark.parametrize("model", [LSA, NMF, PLSA])
def test_terms_of_a_subject_are_one_cluster(model: type) -> None:
    X, _ = planted()
    found = cluster_terms(model(n_topics=3, random_state=0).fit(X), 3, terms=TERMS, random_state=0)
    assert {frozenset(c.members.tolist()) for c in found.clusters} == {frozenset(range(s, s + 3)) for s in (0, 3, 6)}


def test_zero_rows_are_in_no_cluster_and_the_largest_cluster_is_first() -> None:
    labels, members = cluster_rows([[0, 0], [1, 0], [0, 1], [0, 2], [0, 3]], 2, random_state=0)
    assert labels.tolist() == [-1, 1, 0, 0, 0]
    assert [len(part) for part in members] == [3, 1]


def test_identical_rows_give_fewer_clusters_than_asked_for() -> None:
    labels, members = cluster_rows(np.ones((6, 2)), 3, random_state=0)
    assert set(labels.tolist()) == {0}
    assert len(members) == 1


@pytest.mark.parametrize(
    ("rows", "clusters", "options", "message"),
    [
        (np.ones((3, 2)), 4, {}, "ask for fewer"),
        (np.ones((3, 2)), 0, {}, "n_clusters"),
        (np.zeros((3, 2)), 1, {}, "not zero"),
        (np.full((3, 2), np.nan), 1, {}, "finite"),
        (np.ones((3, 2)), 1, {"method": "magic"}, "method"),
        (np.ones((20_001, 2)), 2, {"method": "agglomerative"}, "all pairs"),
    ],
)
def test_bad_input_is_one_clear_error(rows: object, clusters: int, options: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        cluster_rows(rows, clusters, **options)


def test_labels_need_a_name_for_every_column() -> None:
    X, _ = planted()
    with pytest.raises(DataError, match="one per column"):
        cluster_documents(NMF(n_topics=2, random_state=0).fit(X), X, 2, terms=["one"])

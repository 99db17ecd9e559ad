"""The plane of terms and documents: the printed coordinates, and figures of every model."""

from __future__ import annotations

import numpy as np
import pytest
from reference.titles import COUNTS, TERMS

from textmill.errors import DataError
from textmill.topics import LSA, NMF, PCA, PLSA, draw_map, plane, save_projections

DOCUMENTS = [
    [0.1974, -0.0559],
    [0.6060, 0.1656],
    [0.4629, -0.1273],
    [0.5421, -0.2318],
    [0.2795, 0.1068],
    [0.0038, 0.1928],
    [0.0146, 0.4379],
    [0.0241, 0.6151],
    [0.0820, 0.5299],
]
WORDS = {
    "human": [0.2214, -0.1132],
    "interface": [0.1976, -0.0721],
    "computer": [0.2405, 0.0432],
    "user": [0.4036, 0.0571],
    "system": [0.6445, -0.1673],
    "response": [0.2650, 0.1072],
    "time": [0.2650, 0.1072],
    "eps": [0.3008, -0.1413],
    "survey": [0.2059, 0.2736],
    "trees": [0.0127, 0.4902],
    "graph": [0.0361, 0.6228],
    "minors": [0.0318, 0.4505],
}
X = COUNTS.astype(float)


def test_lsa_places_the_sample_corpus_as_it_was_printed() -> None:
    points = plane(LSA(n_topics=2, random_state=0).fit(X), X)
    assert np.abs(points.documents - DOCUMENTS).max() < 1e-4
    assert np.abs(points.terms - [WORDS[term] for term in TERMS]).max() < 1e-4


@pytest.mark.parametrize("model", [LSA, PCA, NMF, PLSA])
def test_every_model_is_drawn_with_names(model: type) -> None:
    figure = draw_map(model(n_topics=3, random_state=0).fit(X), X, terms=TERMS, n_terms=5)
    assert {text.get_text() for text in figure.axes[0].texts} <= set(TERMS)
    alone = plane(model(n_topics=3, random_state=0).fit(X))
    assert alone.documents.shape == (0, 2)
    assert np.isfinite(alone.terms).all()


def test_parts_of_one_subject_stand_together() -> None:
    points = plane(NMF(n_topics=2, random_state=0).fit(X), X).documents
    human, graphs = points[:5], points[5:]
    between = np.linalg.norm(human.mean(axis=0) - graphs.mean(axis=0))
    within = np.linalg.norm(graphs - graphs.mean(axis=0), axis=1).mean()
    assert between > 2 * within


def test_groups_are_drawn_apart() -> None:
    figure = draw_map(PCA(n_topics=2).fit(X), X, terms=TERMS, groups=["c"] * 5 + ["m"] * 4)
    assert len(figure.axes[0].collections) == 3


def test_bad_input_is_one_clear_error() -> None:
    with pytest.raises(DataError, match="two topics"):
        plane(NMF(n_topics=1, random_state=0).fit(X), X)
    two = NMF(n_topics=2, random_state=0).fit(X)
    with pytest.raises(DataError, match="no documents"):
        plane(two, X[:0])
    with pytest.raises(DataError, match="topics"):
        plane(two, X, topics=(0, 2))
    with pytest.raises(DataError, match="one for each column"):
        draw_map(two, X, terms=["one"])
    with pytest.raises(DataError, match="one for each document"):
        draw_map(two, X, terms=TERMS, groups=["one"])
    with pytest.raises(DataError, match="names for 9 documents; pass one for each"):
        draw_map(two, X, terms=TERMS, names=["one"])


def test_projections_are_written_as_they_are_made(tmp_path) -> None:
    model = PCA(n_topics=3, random_state=0).fit(X)
    rows = save_projections(
        model, (X[start : start + 2] for start in range(0, 9, 2)), tmp_path / "rows.npy", dtype="float64"
    )
    made = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert rows == 9
    assert made == pytest.approx(model.transform(X))
    with pytest.raises(DataError, match="dtype"):
        save_projections(model, X, tmp_path / "rows.npy", dtype="int8")

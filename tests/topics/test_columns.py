"""Rows over another vocabulary than the model's would mean other words: every model refuses them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from textmill.corpus import read_bags, write_bags
from textmill.errors import DataError
from textmill.topics import LDA, LSA, NMF, PCA, PLSA, MultinomialMixture
from textmill.vectors import TextVectorizer, Weighting

MODELS = [LDA, LSA, NMF, PCA, PLSA, MultinomialMixture]
COUNTS = csr_matrix(np.random.default_rng(0).integers(1, 4, (20, 6)))
TEXTS = ["a b c d", "a b", "c d", "b c d d", "a a c"]
every_model = pytest.mark.parametrize("kind", MODELS)


@every_model
@pytest.mark.parametrize("columns", [3, 5, 7])
def test_documents_with_other_columns_are_not_transformed(kind: Any, columns: int) -> None:
    model = kind(n_topics=2, random_state=0).fit(COUNTS)
    rows = csr_matrix(np.ones((2, columns)))
    for X in (rows, [rows], iter([rows])):
        with pytest.raises(DataError, match=f"X has {columns} features, but \\w+ is expecting 6 features"):
            model.transform(X)
    assert model.transform(COUNTS).shape == (20, 2)


@every_model
@pytest.mark.parametrize("columns", [3, 5])
def test_a_vectorizer_that_is_fitted_says_how_many_columns_there_are(kind: Any, columns: int) -> None:
    vectorizer = TextVectorizer(weighting=Weighting(scheme="nnn")).fit(TEXTS)
    rows = csr_matrix(np.ones((2, columns)))
    model = kind(n_topics=2, vectorizer=vectorizer, random_state=0)
    for X in (rows, [rows]):
        with pytest.raises(DataError, match=f"X has {columns} features, but TextVectorizer is expecting 4 features"):
            model.fit(X)
    model.fit(TEXTS)
    for learn in (model.partial_fit, model.transform):
        for X in (rows, [rows]):
            with pytest.raises(
                DataError, match=f"X has {columns} features, but TextVectorizer is expecting 4 features"
            ):
                learn(X)
    assert model.partial_fit(csr_matrix(np.ones((2, 4)))).transform(TEXTS).shape == (5, 2)


@every_model
@pytest.mark.parametrize("suffix", ["svmlight", "ldac"])
def test_a_file_that_does_not_say_how_many_columns_it_has_is_filled_up(kind: Any, suffix: str, tmp_path: Path) -> None:
    model = kind(n_topics=2, random_state=0).fit(COUNTS)
    rows = csr_matrix([[1.0, 2.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0, 0.0, 0.0]])
    path = tmp_path / f"rows.{suffix}"
    write_bags(path, rows)
    assert read_bags(path).columns == 3
    assert model.transform(read_bags(path)) == pytest.approx(model.transform(rows))
    write_bags(path, csr_matrix(np.ones((1, 7))))
    with pytest.raises(DataError, match=r"X has 7 features, but \w+ is expecting 6 features"):
        model.transform(read_bags(path))

"""Topics of two models: paired, measured and matched by the names of their terms."""

from __future__ import annotations

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.topics import LSA, PLSA
from textmill.topics.difference import topic_difference
from textmill.vectors import TextVectorizer, Weighting, compare

X = np.random.default_rng(0).poisson(1.0, (40, 12))


def model(seed: int = 0, topics: int = 3, smoothing: float = 0.1) -> PLSA:
    return PLSA(n_topics=topics, smoothing=smoothing, random_state=seed).fit(X)


@pytest.mark.parametrize("measure", ["hellinger", "js", "kl"])
def test_distances_are_those_of_the_rows(measure: str) -> None:
    one, other = model(0, 3), model(1, 4)
    found = topic_difference(one, other, measure=measure)
    assert found.distances.shape == (3, 4)
    for i in range(3):
        for j in range(4):
            p, q = one.components_[i], other.components_[j]
            assert found.distances[i, j] == pytest.approx(compare(p, q, measure, normalize=True), abs=1e-9)


def test_a_model_with_its_topics_in_another_order_does_not_differ() -> None:
    one, other = model(), model()
    other.components_ = np.ascontiguousarray(one.components_[[2, 0, 1]])
    found = topic_difference(one, other)
    assert [(pair.first, pair.second) for pair in sorted(found.pairs)] == [(0, 1), (1, 2), (2, 0)]
    assert [pair.distance for pair in found.pairs] == pytest.approx([0, 0, 0], abs=1e-7)
    assert all(pair.lost == pair.gained == [] for pair in found.pairs)


def test_jaccard_counts_the_first_words() -> None:
    one, other = model(), model()
    one.components_ = np.array([[0.4, 0.3, 0.2, 0.1]])
    other.components_ = np.array([[0.1, 0.3, 0.2, 0.4]])
    found = topic_difference(one, other, measure="jaccard", n_words=2)
    assert found.distances[0, 0] == pytest.approx(1 - 1 / 3)
    pair = found.pairs[0]
    assert (pair.common, pair.lost, pair.gained) == (["1"], ["0"], ["3"])


def test_terms_are_matched_by_name_when_vocabularies_differ() -> None:
    def trained(texts: list[str]) -> PLSA:
        vectorizer = TextVectorizer(weighting=Weighting(scheme="nnn"))
        return PLSA(n_topics=1, random_state=0, vectorizer=vectorizer).fit(texts)

    one, other = trained(["to be or not", "to be"]), trained(["be to", "or be not to"])
    assert one.vectorizer_.terms_.to_list() != other.vectorizer_.terms_.to_list()  # type: ignore[union-attr]
    assert topic_difference(one, other).pairs[0].distance == pytest.approx(0, abs=1e-7)
    apart = topic_difference(one, trained(["sink swim"]))
    assert apart.pairs[0].distance == pytest.approx(1.0)
    with pytest.raises(DataError, match="no term in common"):
        topic_difference(one, trained(["sink swim"]), measure="kl")


def test_names_of_columns_can_be_given() -> None:
    one, other = model(), model()
    one.components_ = np.array([[1.0, 0.0]])
    other.components_ = np.array([[0.0, 0.0, 1.0]])
    found = topic_difference(one, other, terms=(["a", "b"], ["c", "d", "a"]))
    assert found.pairs[0].distance == pytest.approx(0.0)


def test_bad_input_of_differences_is_told_in_one_line() -> None:
    with pytest.raises(DataError, match="measure must be one of"):
        topic_difference(model(), model(), measure="euclid")
    narrow = model()
    narrow.components_ = np.ones((1, 2)) / 2
    with pytest.raises(DataError, match=r"pass terms=\(..., ...\)"):
        topic_difference(model(), narrow)
    with pytest.raises(DataError, match="pass one per column"):
        topic_difference(model(), narrow, terms=(["a"], ["b", "c"]))
    with pytest.raises(DataError, match="directions, not distributions"):
        topic_difference(model(), LSA(n_topics=2).fit(X))
    with pytest.raises(DataError, match="not fitted"):
        topic_difference(model(), PLSA())

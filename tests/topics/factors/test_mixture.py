"""The multinomial mixture: the printed example, EM against its definition, monotone, the same for any threads."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import textmill
from papers._shared.presets import preset
from textmill.corpus import read_documents
from textmill.errors import DataError
from textmill.topics import LDA, NMF, PLSA, MultinomialMixture
from textmill.vectors import TextVectorizer, Weighting


def example() -> MultinomialMixture:
    """theta = (.5, .5), phi = [[.5, .3, .2], [.2, .3, .5]]."""
    model = MultinomialMixture(n_topics=2, alpha=1.0, eta=0.1).fit(np.ones((1, 3)))
    model.components_ = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    model.weights_ = np.array([0.5, 0.5])
    return model


DOCUMENTS = np.array([[2, 1, 0], [0, 1, 2]])


def test_posteriors_and_likelihood_of_the_printed_example() -> None:
    model = example()
    assert model.transform(DOCUMENTS) == pytest.approx(np.array([[0.862069, 0.137931], [0.137931, 0.862069]]), abs=1e-6)
    assert model.log_likelihood(DOCUMENTS) == pytest.approx([-3.134994, -3.134994], abs=1e-6)


def test_the_m_step_of_the_printed_example(monkeypatch: pytest.MonkeyPatch) -> None:
    model = example()
    monkeypatch.setattr(MultinomialMixture, "_begin", lambda self, chunks: list(chunks))
    model.set_params(max_iter=1).fit(DOCUMENTS)
    assert model.weights_ == pytest.approx([0.5, 0.5], abs=1e-12)
    wanted = np.array([[0.552769, 0.333333, 0.113898], [0.113898, 0.333333, 0.552769]])
    assert model.components_ == pytest.approx(wanted, abs=1e-6)


def random_bags(seed: int, n: int = 60, m: int = 40) -> sparse.csr_matrix:
    random = np.random.default_rng(seed)
    topics = random.dirichlet(np.full(m, 0.2), size=3)
    return sparse.csr_matrix(np.array([random.multinomial(30, topics[random.integers(3)]) for _ in range(n)]))


def test_posteriors_are_those_of_the_definition() -> None:
    X = random_bags(0)
    model = MultinomialMixture(n_topics=3, random_state=0, max_iter=3).fit(X)
    for row, found, likelihood in zip(X.toarray(), model.transform(X), model.log_likelihood(X), strict=True):
        joint = [
            math.fsum([math.log(w), *(c * math.log(p) for c, p in zip(row, phi, strict=True))])
            for w, phi in zip(model.weights_, model.components_, strict=True)
        ]
        total = max(joint) + math.log(math.fsum(math.exp(j - max(joint)) for j in joint))
        assert likelihood == pytest.approx(total, rel=1e-12)
        assert found == pytest.approx([math.exp(j - total) for j in joint], abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_penalized_likelihood_never_falls(seed: int) -> None:
    model = MultinomialMixture(n_topics=4, random_state=seed, tolerance=0).fit(random_bags(seed))
    assert (np.diff(model.trace_) >= -1e-9 * np.abs(model.trace_[:-1])).all()


def test_documents_are_sorted_by_the_topic_they_were_drawn_from() -> None:
    random = np.random.default_rng(5)
    topics = np.array([[0.4, 0.4, 0.1, 0.1, 0, 0], [0, 0, 0.1, 0.1, 0.4, 0.4]])
    truth = random.integers(2, size=200)
    X = np.array([random.multinomial(40, topics[t]) for t in truth])
    model = MultinomialMixture(n_topics=2, random_state=1).fit(X)
    assert len(set(zip(truth, model.transform(X).argmax(axis=1), strict=True))) == 2


def test_threads_and_chunks_change_nothing() -> None:
    X = random_bags(1, n=500)
    one = MultinomialMixture(n_topics=3, random_state=7, n_jobs=1).fit(X)
    other = MultinomialMixture(n_topics=3, random_state=7, n_jobs=3).fit([X[:123], X[123:]])
    assert one.components_.tobytes() == other.components_.tobytes()


def test_a_file_brings_the_model_back(tmp_path: Path) -> None:
    model = MultinomialMixture(n_topics=3, random_state=0).fit(random_bags(2))
    model.save(tmp_path / "m.mill")
    loaded = textmill.load(tmp_path / "m.mill", expect=MultinomialMixture)
    assert loaded.fingerprint() == model.fingerprint()
    assert (loaded.transform(random_bags(3)) == model.transform(random_bags(3))).all()


def test_further_documents_are_added_as_one_step_of_em() -> None:
    X, Y = random_bags(4), random_bags(5)
    model = MultinomialMixture(n_topics=3, random_state=0, eta=0.5).fit(X)
    posteriors, counts = model.transform(Y), model.components_ * (model.word_counts_[:, None] + 0.5 * 40) - 0.5
    expected = counts + posteriors.T @ Y.toarray() + 0.5
    documents = 1.0 + model.document_counts_ + posteriors.sum(axis=0)
    model.partial_fit(Y)
    assert model.components_ == pytest.approx(expected / expected.sum(axis=1, keepdims=True), rel=1e-9)
    assert model.weights_ == pytest.approx(documents / documents.sum())
    assert model.documents_ == 120


def test_a_document_without_known_words_has_the_shares_of_the_corpus_and_no_entropy() -> None:
    model = MultinomialMixture(n_topics=3, random_state=0).fit(random_bags(6))
    empty = np.zeros((1, 40))
    assert model.transform(empty)[0] == pytest.approx(model.weights_)
    assert np.isnan(model.entropy(empty)).all()
    assert model.log_likelihood(empty).tolist() == [0.0]


def test_long_and_short_documents_give_numbers() -> None:
    X = np.array([[50_000, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 50_000]])
    model = MultinomialMixture(n_topics=5, eta=1e-3, alpha=1e-3, random_state=0).fit(X)
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.log_likelihood(X)).all()


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({"alpha": 0.0}, np.eye(2), "alpha must be a number above 0"),
        ({"eta": -1.0}, np.eye(2), "eta must be a number above 0"),
        ({"eta": 0.0}, np.eye(2), "eta must be a number above 0"),
        ({"n_topics": 0}, np.eye(2), "n_topics must be a whole number at least 1"),
        ({}, np.zeros((3, 2)), "no documents with a word"),
        ({}, np.array([[np.nan, 1.0]]), "NaN"),
        ({}, np.array([[-1.0, 1.0]]), "negative"),
        ({}, iter([np.eye(2)]), "passes"),
    ],
)
def test_bad_input_is_told_in_one_line(parameters: dict[str, float], X: object, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        MultinomialMixture(**parameters).fit(X)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_columns_of_another_vocabulary_are_refused() -> None:
    with pytest.raises(DataError, match="same vocabulary"):
        MultinomialMixture(n_topics=2).fit(np.eye(2)).transform(np.eye(3))


@pytest.mark.data
def test_posteriors_of_real_documents_are_almost_one_topic(data: Path) -> None:
    vectorizer = TextVectorizer(vocabulary=preset("reuters"), weighting=Weighting(scheme="nnn"))
    X = vectorizer.fit_transform(read_documents(data / "reuters" / "reuters21578.jsonl.gz"))
    long = X[np.asarray(X.sum(axis=1)).ravel() >= 80]
    model = MultinomialMixture(n_topics=50, random_state=0, max_iter=30).fit(X)
    assert model.entropy(long).mean() < 0.5


@pytest.mark.parametrize("kind", [LDA, NMF, PLSA, MultinomialMixture])
def test_more_topics_than_fit_into_any_memory_are_refused(kind):
    with pytest.raises(DataError, match="n_topics must be a whole number at least 1 and at most 65535"):
        kind(n_topics=10**9).fit(np.ones((3, 4)))

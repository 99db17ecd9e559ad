"""Scores without a document against models that are trained without it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus import Tokenizer, sample_texts, split_sentences
from textmill.errors import DataError, NotFittedError
from textmill.lm import SMOOTHINGS, LeaveOneOut, NGramModel

Document = list[list[str]]


def random_documents(seed: int, n: int, words: int) -> list[Document]:
    random = np.random.default_rng(seed)
    p = 1 / np.arange(1, words + 1)

    def sentence() -> list[str]:
        return [f"w{w}" for w in random.choice(words, random.integers(0, 8), p=p / p.sum())]

    return [[sentence() for _ in range(random.integers(1, 5))] for _ in range(n)]


def flat(documents: list[Document]) -> Document:
    return [sentence for document in documents for sentence in document]


@pytest.fixture(scope="module")
def articles() -> list[Document]:
    cut = Tokenizer()
    return [[cut(sentence) for sentence in split_sentences(text)] for text in sample_texts()[:50]]


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("min_counts", [1, (1, 1, 2)])
def test_fifty_documents_are_scored_as_after_training_without_them(
    smoothing: str, min_counts: int | tuple[int, ...], articles: list[Document]
) -> None:
    model = NGramModel(order=3, smoothing=smoothing, min_counts=min_counts, n_jobs=2)
    rows = LeaveOneOut(model).fit(flat(articles)).scores(articles)
    for i, row in enumerate(rows):
        alone = model.fit(flat(articles[:i] + articles[i + 1 :])).scores(articles[i])
        assert row.log_probability == pytest.approx(alone.log_probability, rel=1e-12, abs=1e-10)
        assert row.unknown.tolist() == alone.unknown.tolist()
        assert row.unknown_log_probability == pytest.approx(alone.unknown_log_probability, rel=1e-12, abs=1e-10)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@given(
    seed=st.integers(0, 2**31),
    order=st.integers(1, 5),
    n=st.integers(2, 12),
    words=st.integers(1, 9),
    least=st.lists(st.integers(1, 3), min_size=5, max_size=5),
    fixed=st.booleans(),
)
@settings(max_examples=8)
def test_groups_are_scored_as_after_training_without_them(
    smoothing: str, seed: int, order: int, n: int, words: int, least: list[int], fixed: bool
) -> None:
    documents = random_documents(seed, n, words)
    groups = [i % 3 for i in range(n)]
    model = NGramModel(order=order, smoothing=smoothing, min_counts=sorted(least)[:order], n_jobs=1)
    vocabulary = [f"w{i}" for i in range(0, words, 2)] if fixed else None
    rows = LeaveOneOut(model).fit(flat(documents), vocabulary=vocabulary).scores(documents, groups=groups)
    for group in range(min(3, n)):
        rest = [document for document, other in zip(documents, groups, strict=True) if other != group]
        alone = model.fit(flat(rest), vocabulary=vocabulary)
        for i in (i for i in range(n) if groups[i] == group):
            expected = alone.scores(documents[i])
            assert rows[i].log_probability == pytest.approx(expected.log_probability, rel=1e-10, abs=1e-10)
            assert rows[i].unknown.tolist() == expected.unknown.tolist()


def test_rare_words_stay_the_vocabulary_that_they_are(articles: list[Document]) -> None:
    model = NGramModel(order=2, smoothing="katz", min_count=2)
    held_out = LeaveOneOut(model).fit(flat(articles[:20]))
    words = held_out.words_.to_list()[3:]
    expected = NGramModel(order=2, smoothing="katz").fit(flat(articles[1:20]), vocabulary=words).scores(articles[0])
    row = held_out.scores(articles[:1])[0]
    assert row.log_probability == pytest.approx(expected.log_probability, rel=1e-10)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_with_nothing_taken_out_it_is_the_model_itself(smoothing: str, articles: list[Document]) -> None:
    model = NGramModel(order=3, smoothing=smoothing)
    row = LeaveOneOut(model).fit(flat(articles[:10])).scores_without([], articles[11])
    assert row.log_probability == pytest.approx(model.fit(flat(articles[:10])).scores(articles[11]).log_probability)


def test_what_was_never_counted_cannot_be_taken_out() -> None:
    held_out = LeaveOneOut(NGramModel(order=2)).fit(["to be or not", "to do"])
    with pytest.raises(DataError, match=r"removed sentence 1 was never counted.*'be <unk>'"):
        held_out.scores_without(["to do", "to be good"], ["to do"])
    with pytest.raises(DataError, match="removed sentence 1 was never counted, or not so often"):
        held_out.scores_without(["to do", "to do"], ["to do"])
    with pytest.raises(DataError, match="nothing is left"):
        held_out.scores_without(["to do", "to be or not"], ["to do"])
    with pytest.raises(DataError, match="2 documents but 1 groups"):
        held_out.scores([["to do"], ["to do"]], groups=[0])
    with pytest.raises(NotFittedError):
        LeaveOneOut(NGramModel()).scores([["a"]])


@pytest.mark.parametrize("smoothing", ["katz", "modified-kneser-ney"])
def test_the_cost_is_that_of_the_document(smoothing: str) -> None:
    """Every sentence of a corpus of a million n-grams is left out; going through them for each would take an hour."""
    words = np.random.default_rng(5).zipf(1.3, size=(50_000, 12)) % 20_000
    sentences = [[f"w{word}" for word in sentence] for sentence in words.tolist()]
    held_out = LeaveOneOut(NGramModel(order=3, smoothing=smoothing, n_jobs=1)).fit(sentences)
    assert len(held_out.scores([[sentence] for sentence in sentences])) == 50_000

"""Word n-grams: against the definition and scikit-learn, with every road through the counter."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import textmill
from textmill.corpus import HashedBags, Phrases, Tokenizer, Vocabulary, sample_texts
from textmill.errors import DataError

WORDS = st.sampled_from(["a", "b", "bb", "é", "x" * 40])
TOKENS = st.lists(st.lists(WORDS, max_size=8), min_size=1, max_size=12)
RANGES = st.tuples(st.integers(1, 4), st.integers(0, 3)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def ngrams(tokens: list[str], shortest: int, longest: int) -> list[str]:
    """All runs of tokens by their first token, short ones before long ones."""
    runs = [tokens[i : i + n] for i in range(len(tokens)) for n in range(shortest, longest + 1) if i + n <= len(tokens)]
    return [" ".join(run) for run in runs]


@given(TOKENS, RANGES)
def test_counts_are_those_of_the_definition(documents: list[list[str]], lengths: tuple[int, int]) -> None:
    expected = [ngrams(tokens, *lengths) for tokens in documents]
    vocabulary = Vocabulary(ngrams=lengths)
    X = vocabulary.fit_transform(documents)
    assert vocabulary.terms_.to_list() == list(dict.fromkeys(term for terms in expected for term in terms))
    for row, terms in zip(X.toarray(), expected, strict=True):
        assert {vocabulary.terms_[i]: int(c) for i, c in enumerate(row) if c} == Counter(terms)
    assert (vocabulary.transform(documents) != X).nnz == 0


@pytest.mark.parametrize("lengths", [(1, 2), (1, 3), (2, 2), (3, 5)])
def test_counts_are_those_of_scikit_learn(lengths: tuple[int, int]) -> None:
    from sklearn.feature_extraction.text import CountVectorizer

    texts = sample_texts()[:120]
    peer = CountVectorizer(analyzer="word", tokenizer=Tokenizer(), token_pattern=None, lowercase=False)
    peer.set_params(ngram_range=lengths)
    theirs = peer.fit_transform(texts)
    vocabulary = Vocabulary(ngrams=lengths, order="sorted")
    ours = vocabulary.fit_transform(texts)
    assert vocabulary.terms_.to_list() == peer.get_feature_names_out().tolist()
    assert (ours != theirs).nnz == 0


def test_threads_memory_and_batches_change_nothing() -> None:
    texts = sample_texts() * 3
    whole = Vocabulary(ngrams=(1, 3), min_df=2, stop_words=["the", "of"], n_jobs=1).fit(texts)
    assert not any({"the", "of"} & set(term.split()) for term in whole.terms_)
    for options in ({"n_jobs": 2}, {"n_jobs": 5}, {"memory": "1MB", "n_jobs": 2}):
        other = Vocabulary(ngrams=(1, 3), min_df=2, stop_words=["the", "of"], **options).fit(iter(texts))
        assert other.terms_.to_list() == whole.terms_.to_list()
        assert np.array_equal(other.collection_frequency_, whole.collection_frequency_)
        assert (other.removed_, other.tokens_) == (whole.removed_, whole.tokens_)


def test_ngrams_are_made_of_stems() -> None:
    tokenizer = Tokenizer(stem="english", normalize=lambda token: None if token == "the" else token)
    vocabulary = Vocabulary(ngrams=(2, 2), tokenizer=tokenizer).fit(["The mills of the towns", "milling of towns"])
    assert vocabulary.terms_.to_list() == ["mill of", "of town"]
    assert vocabulary.transform(["a mill of the town"]).toarray().tolist() == [[1, 1]]


def test_ngrams_are_made_of_phrases() -> None:
    phrases = Phrases(min_count=2).fit([["new", "york"], ["new", "york"]])
    vocabulary = Vocabulary(tokenizer=phrases, ngrams=(1, 2)).fit(["New York is far"])
    assert vocabulary.terms_.to_list() == ["new_york", "new_york is", "is", "is far", "far"]


def test_a_cloned_vectorizer_and_one_from_a_file_count_alike(tmp_path: Path) -> None:
    from sklearn.base import clone

    phrases = Phrases(min_count=2).fit([["new", "york"], ["new", "york"]])
    vocabulary = Vocabulary(tokenizer=phrases, ngrams=(1, 2)).fit(["New York is far"])
    assert clone(vocabulary).fit(["New York is far"]).terms_.to_list() == vocabulary.terms_.to_list()
    vocabulary.save(tmp_path / "v.mill")
    again = textmill.load(tmp_path / "v.mill")
    assert again.transform(["is New York far"]).toarray().tolist() == [[1, 0, 1, 0, 1]]
    assert again.fingerprint() == vocabulary.fingerprint()


def test_hashed_ngrams_are_those_of_scikit_learn() -> None:
    from sklearn.feature_extraction.text import HashingVectorizer

    texts = sample_texts()[:20]
    peer = HashingVectorizer(n_features=4096, norm=None, alternate_sign=False, ngram_range=(1, 2), lowercase=False)
    theirs = peer.set_params(tokenizer=Tokenizer(), token_pattern=None).transform(texts)
    assert abs(HashedBags(columns=4096, ngrams=(1, 2)).transform(texts) - theirs).sum() == 0


@pytest.mark.parametrize("wrong", [3, "1-3", (0, 1), (2, 1), (1, 2, 3), (1, 1.5), (1, 101)])
def test_a_wrong_range_is_named(wrong: object) -> None:
    with pytest.raises(DataError, match="ngrams"):
        Vocabulary(ngrams=wrong).fit(["a b"])  # type: ignore[arg-type]


def test_vocabularies_of_other_ngrams_are_not_merged() -> None:
    with pytest.raises(DataError, match="use one range"):
        Vocabulary().fit(["a b"]).merge(Vocabulary(ngrams=(1, 2)).fit(["a b"]))

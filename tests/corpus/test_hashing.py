"""Hashed bags: the columns of scikit-learn, any stream, any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.corpus import HashedBags, Tokenizer, sample_texts
from textmill.errors import DataError

DOCUMENTS = st.lists(st.lists(st.text(alphabet="abcdé\0\U0001f600", max_size=9), max_size=6), max_size=5)


@given(DOCUMENTS, st.sampled_from([1, 7, 16, 1 << 20]), st.booleans())
def test_columns_and_signs_are_those_of_scikit_learn(documents: list[list[str]], columns: int, signed: bool) -> None:
    from sklearn.feature_extraction.text import HashingVectorizer

    peer = HashingVectorizer(n_features=columns, alternate_sign=signed, norm=None, analyzer=list)
    X = HashedBags(columns=columns, signed=signed).transform(documents)
    assert X.shape == (len(documents), columns)
    if documents:
        assert np.array_equal(
            X.toarray() if columns < 99 else X.sum(axis=1),
            (peer.transform(documents).toarray() if columns < 99 else peer.transform(documents).sum(axis=1)),
        )


def test_counts_are_the_same_for_any_number_of_threads_and_any_batching(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = sample_texts(language=None)
    one = HashedBags(columns=1000, n_jobs=1).transform(texts)
    monkeypatch.setattr("textmill.corpus.tokenize.BATCH", 10_000)
    for jobs in (2, 8):
        assert (HashedBags(columns=1000, n_jobs=jobs).transform(iter(texts)) != one).nnz == 0
    assert one.has_canonical_format
    assert one.sum() == sum(map(len, Tokenizer().tokenize(texts)))


def test_stemmed_and_other_tokens() -> None:
    stemmed = HashedBags(columns=64, tokenizer=Tokenizer(stem="english")).fit_transform(["mills mill", "milling"])
    assert stemmed.getnnz() == 2
    assert HashedBags(columns=64, tokenizer=str.split).transform(["A a"]).sum() == 2
    assert HashedBags().fit([]).transform([]).shape == (0, 1 << 20)


@pytest.mark.parametrize("columns", [0, -1, 1 << 31, 1.5, None])
def test_wrong_numbers_of_columns_are_named(columns: Any) -> None:
    with pytest.raises(DataError, match="columns must be a whole number"):
        list(HashedBags(columns=columns).bags(["a"]))

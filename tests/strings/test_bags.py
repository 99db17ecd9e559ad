"""Bags and sets of features against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import names as reference

from textmill.strings import parse_measure

NAMES = st.lists(st.sampled_from("abcde"), min_size=1, max_size=6).map(" ".join)


@given(NAMES, NAMES)
def test_sets_and_counts(x: str, y: str) -> None:
    for name in ("overlap", "jaccard", "dice", "cosine"):
        expected = getattr(reference, name)(x.split(), y.split())
        measure = parse_measure(name)
        assert measure.similarity(x, y) == pytest.approx(expected)
        alignment = measure.align(x, y)
        assert alignment.score == pytest.approx(expected)
        assert sum(alignment.contributions()) == pytest.approx(expected)


@given(st.lists(NAMES, min_size=2, max_size=6))
def test_tfidf_cosine(names: list[str]) -> None:
    idf = reference.learned_idf([name.split() for name in dict.fromkeys(names)])
    fitted = parse_measure("tfidf").fit(names)
    expected = [[reference.cosine(a.split(), b.split(), idf) for b in names] for a in names]
    assert np.abs(fitted.matrix(names) - expected).max() < 1e-9
    assert np.abs(fitted.pairs(names, names[::-1]) - np.diagonal(np.fliplr(expected))).max() < 1e-9


def test_n_grams_of_whole_strings() -> None:
    assert parse_measure("jaccard(bigrams)").similarity("ab", "abc") == pytest.approx(2 / 5)
    assert parse_measure("dice(ngrams(1))").similarity("ab", "ba") == 1.0

"""Measures made of measures."""

from __future__ import annotations

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.strings import Jaro, Levenshtein, Maximum, Mean, Power, parse_measure

NAMES = ["ann", "anna", "tom", ""]


def test_combinations_of_matrices_and_pairs() -> None:
    jaro, edits = Jaro().fit().matrix(NAMES), Levenshtein().fit().matrix(NAMES)
    for measure, expected in (
        (Mean((Jaro(), Levenshtein())), (jaro + edits) / 2),
        (Maximum((Jaro(), Levenshtein())), np.maximum(jaro, edits)),
        (Power(Jaro(), 3), jaro**3),
    ):
        fitted = measure.fit()
        assert np.abs(fitted.matrix(NAMES) - expected).max() < 1e-12
        assert np.abs(fitted.pairs(NAMES, NAMES[::-1]) - np.diagonal(np.fliplr(expected))).max() < 1e-12
        alignment = fitted.align("ann", "anna")
        assert alignment.score == pytest.approx(expected[0, 1])
        assert alignment.edges[0].nested.measure == "jaro"


def test_parts_may_learn() -> None:
    fitted = parse_measure("mean(tfidf, ml(words, sub=jaro))").fit(["ann lee", "tom lee"])
    assert fitted.similarity("ann lee", "ann lee") == pytest.approx(1.0)


def test_an_exponent_is_positive() -> None:
    with pytest.raises(DataError, match="exponent must be a number above 0"):
        Power(Jaro(), 0)


@pytest.mark.parametrize("text", ["power(jaro, 3)", "mean(jaro, levenshtein)", "maximum(exact, tfidf(bigrams))"])
def test_sparse_tables_hold_what_matrices_do(text: str) -> None:
    words = ["smith", "smyth", "smithson", "jones", "johns", "", "x" * 130, "łódź"]
    fitted = parse_measure(text).fit(words)
    whole = fitted.matrix(words)
    for epsilon in (0.0, 0.3, 0.7):
        table = fitted.score_table(words, words, epsilon, 1).toarray()
        assert table == pytest.approx(np.where(whole >= epsilon, whole, 0.0), abs=1e-6)

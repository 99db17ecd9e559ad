"""Soft-TFIDF as py_stringmatching computes it: its own results, kept in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from textmill.strings import PySoftTfIdf, parse_measure

FILE = Path(__file__).parent.parent / "files" / "names" / "py_stringmatching.npz"  # see tools/soft_tfidf_scores.py


@pytest.mark.parametrize("at", [0, 1])
def test_scores_equal_those_of_the_library_on_ten_thousand_pairs(at: int) -> None:
    with np.load(FILE) as file:
        left, right, theta, expected = (file[name] for name in ("left", "right", "thetas", "scores"))
    left, right, theta, expected = left.tolist(), right.tolist(), float(theta[at]), expected[at]
    works = np.isfinite(expected)
    assert works.sum() >= 10_000
    scores = PySoftTfIdf(theta=theta).fit(left).matrix(left, right)
    assert np.abs(scores - expected)[works].max() < 1e-9
    assert not scores[~works].any()  # where the library divides by zero
    assert (expected[works] > 1.01).any()  # it overflows, and so do we


def test_a_right_side_of_unknown_words_scores_0_instead_of_failing() -> None:
    fitted = PySoftTfIdf().fit(["Ann Smith", "Tom Jones"])
    assert fitted.similarity("Ann", "Anna") == 0.0
    assert fitted.similarity("", "Anna") == 0.0
    assert fitted.similarity("Anna", "Anna") == 1.0


def test_its_text_reads_back() -> None:
    measure = parse_measure("py_softtfidf(words, sub=jaro, theta=0.9)")
    assert parse_measure(str(measure)) == measure

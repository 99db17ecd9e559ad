"""Soft-TFIDF as py_stringmatching computes it: its own results, kept in a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from textmill.strings import PySoftTfIdf, parse_measure

FILE = Path(__file__).parent.parent / "files" / "names" / "py_stringmatching.json"


@pytest.mark.parametrize(("theta", "column"), [(0.5, 2), (0.9, 3)])
def test_scores_equal_those_of_the_library(theta: float, column: int) -> None:
    expected = json.loads(FILE.read_text(encoding="utf-8"))
    pairs = expected["pairs"]
    assert len(pairs) > 600
    fitted = PySoftTfIdf(theta=theta).fit(expected["corpus"])
    scores = fitted.pairs([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    assert np.abs(scores - [pair[column] for pair in pairs]).max() < 1e-9
    assert (scores > 1).any() == (max(pair[column] for pair in pairs) > 1)


def test_a_right_side_of_unknown_words_scores_0_instead_of_failing() -> None:
    fitted = PySoftTfIdf().fit(["Ann Smith", "Tom Jones"])
    assert fitted.similarity("Ann", "Anna") == 0.0
    assert fitted.similarity("", "Anna") == 0.0
    assert fitted.similarity("Anna", "Anna") == 1.0


def test_its_text_reads_back() -> None:
    measure = parse_measure("py_softtfidf(words, sub=jaro, theta=0.9)")
    assert parse_measure(str(measure)) == measure

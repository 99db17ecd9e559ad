"""Labeled files, and what can be wrong with them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from textmill.errors import DataError
from textmill.sequence import Encoder, read_labeled


def test_the_last_column_is_the_label() -> None:
    data = read_labeled(io.BytesIO(b"the DT B-NP\ndog NN I-NP\n\nbarks VBZ B-VP\n"))
    assert [list(x) for x in data.X] == [[("the", "DT"), ("dog", "NN")], [("barks", "VBZ")]]
    assert data.y == [["B-NP", "I-NP"], ["B-VP"]]
    assert data.weights is None


def test_sequences_of_crfsuite_may_weigh_differently() -> None:
    data = read_labeled(io.BytesIO(b"A\tx\n\n@weight:3\nB\ty:2\n"), format="crfsuite")
    assert data.X == [[[("x", 1.0)]], [[("y", 2.0)]]]
    assert data.weights is not None
    assert data.weights.tolist() == [1, 3]


def test_without_patterns_columns_are_tests_and_may_be_ragged() -> None:
    data = read_labeled(io.BytesIO(b"u1 b2 A\nu3 B\n\n\nb A\n"), format="tests")
    encoded = Encoder(syntax="wapiti").fit_encode(data.X)
    assert data.y == [["A", "B"], ["A"]]
    assert (encoded.unigram.ids.tolist(), encoded.bigram.indptr.tolist()) == ([0, 1], [0, 1, 1, 2])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"the DT B-NP\ndog NN\n", r":2: found 2 columns, expected 3"),
        (b"the\ndog\n", r":1: found one column, but the last must be the label"),
        (b"\n\n", r": there are no sequences"),
    ],
)
def test_faults_of_column_files_are_named_with_their_line(text: bytes, fault: str, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_bytes(text)
    with pytest.raises(DataError, match=rf"train\.txt{fault}"):
        read_labeled(tmp_path / "train.txt")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(DataError, match="format"):
        read_labeled(io.BytesIO(b""), format="conll-u")

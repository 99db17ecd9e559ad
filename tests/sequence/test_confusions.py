"""Errors in context: kinds, places, and that none is lost."""

from __future__ import annotations

import io
from itertools import product
from typing import Any

import pytest

from textmill.corpus import Sentence, read_columns, spans_of
from textmill.errors import DataError
from textmill.sequence import column_errors, errors_by_kind, evaluate_columns, tag_errors


def errors(words: str, gold: str, found: str) -> list[tuple[str, str | None, str | None, str]]:
    sentence = Sentence(tuple(tuple(column.split()) for column in (words, gold, found)))
    return [(e.kind, e.gold, e.predicted, e.sentence) for e in column_errors([sentence])]


def test_each_kind_of_wrong_span() -> None:
    assert errors("a b c", "B-x I-x O", "B-y I-y O") == [("x > y", "x: a b", "y: a b", "[a b] c")]
    assert errors("a b c", "B-x I-x O", "O O O") == [("x > O", "x: a b", None, "[a b] c")]
    assert errors("a b c", "O O B-x", "O B-x O") == [
        ("O > x", None, "x: b", "a [b] c"),
        ("x > O", "x: c", None, "a b [c]"),
    ]
    assert errors("a b c", "B-x I-x O", "O B-x I-x") == [("x > x ~", "x: a b", "x: b c", "[a b c]")]
    assert errors("a b c", "B-x I-x I-x", "B-x B-y I-y") == [
        ("x > y ~", "x: a b c", "y: b c", "[a b c]"),
        ("O > x", None, "x: a", "[a] b c"),
    ]
    assert errors("a b", "B-x O", "I-x O") == [], "the same chunk in other letters"


def test_tokens_are_wrong_one_by_one_where_labels_are_no_chunks() -> None:
    assert errors("a b c", "D N V", "D V N") == [
        ("N > V", "N: b", "V: b", "a [b] c"),
        ("V > N", "V: c", "N: c", "a b [c]"),
    ]


def test_every_missed_and_every_false_chunk_is_in_exactly_one_error() -> None:
    for gold in product(["O", "B-x", "I-x", "B-y"], repeat=3):
        for found in product(["O", "B-x", "I-x", "B-y"], repeat=3):
            sentence = Sentence((("a", "b", "c"), gold, found))
            left, right = set(spans_of(gold, lenient=True)), set(spans_of(found, lenient=True))
            rows = column_errors([sentence], chunks=True)
            assert sum(row.gold is not None for row in rows) == len(left - right)
            assert sum(row.predicted is not None for row in rows) == len(right - left)


def test_places_are_lines_of_the_file_and_kinds_are_sorted_by_count() -> None:
    text = b"a N N\nb N V\n\nc V N\nd N V\n"
    rows = column_errors(read_columns(io.BytesIO(text)))
    assert [row.place.rpartition(":")[2] for row in rows] == ["2", "4", "5"]
    assert {kind: len(some) for kind, some in errors_by_kind(rows).items()} == {"N > V": 2, "V > N": 1}
    assert len(rows) == evaluate_columns(read_columns(io.BytesIO(text))).counts[:, :2].dot([-1, 1]).sum()


@pytest.mark.parametrize(
    "X", [["ab"], [[("a", "D"), ("b", "N")]], [[{"w": "a", "n": 1}, {"w": "b"}]], [[["a"], ["b", "c"]]]]
)
def test_tokens_of_any_kind_are_shown(X: list[Any]) -> None:
    [error] = tag_errors(X, [["D", "N"]], [["D", "V"]])
    assert (error.kind, error.place, error.sentence) == ("N > V", "1:2", "a [b]")


def test_other_lengths_are_an_error() -> None:
    for gold, found in (([["D"]], [["D", "V"]]), ([["D", "N"]], [["D"]]), ([], [["D", "N"]])):
        with pytest.raises(DataError, match="differ in the number or lengths"):
            tag_errors(["ab"], gold, found)

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus.jsonl import read_jsonl
from textmill.corpus.streams import BadRecords, Part, SkippedRecords
from textmill.errors import DataError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def read(data: bytes, errors: str = "strict") -> list[tuple[int, dict]]:
    with BadRecords(errors, "x") as bad:
        return list(read_jsonl(Part(io.BytesIO(data), "x"), bad))


@settings(derandomize=True, max_examples=40)
@given(records=st.lists(st.dictionaries(TEXT, VALUES, max_size=3), max_size=4), ascii_only=st.booleans())
def test_any_objects_are_read_back(records, ascii_only):
    data = "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in records).encode()
    assert read(data) == list(enumerate(records, 1))


def test_blank_lines_are_ignored_and_counted():
    assert read(b'\n{"a": 1}\n  \n\t{"a": 2} \r\n') == [(2, {"a": 1}), (4, {"a": 2})]


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ('{"a": }', 7, "not JSON: expecting value"),
        ('{"a": 1', 8, "not JSON: expecting ',' delimiter"),
        ('{"a": "cut', 7, "not JSON: unterminated string"),
        ("{'a': 1}", 2, "not JSON: expecting property name enclosed in double quotes"),
        ('{"a": 1} {"b": 2}', 10, "not JSON: extra data"),
        ('{"a": "tab\there"}', 11, "not JSON: invalid control character"),
        ("[1, 2]", 1, "an object is needed, not an array; write {...} on every line"),
        ('"text"', 1, "an object is needed, not a string"),
        ("3.5", 1, "an object is needed, not a number"),
        ("true", 1, "an object is needed, not true or false"),
        ("null", 1, "an object is needed, not null"),
        ('{"NaN": "NaN", "a": NaN}', 21, "NaN is not JSON; write null"),
        ('{"a": [1, -Infinity]}', 11, "-Infinity is not JSON; write null"),
        (r'{"a": "\\ud800 \ud800"}', 16, r"the escape \ud800 is half a character"),
        (r'{"a": "\ud83d\ude00\uDE00"}', 20, r"the escape \uDE00 is half a character"),
        (r'{"a": "\ud83dA\ude00"}', 8, r"the escape \ud83d is half a character"),
        (r'{"\udfff": 1}', 3, r"the escape \udfff is half a character"),
        (r'{"a": [{"b": "\udbff"}]}', 15, r"the escape \udbff is half a character"),
        ('{"a": ' + "9" * 5000 + "}", 1, "Exceeds the limit"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", 1, "the JSON is nested too deeply"),
    ],
)
def test_a_bad_line_is_an_error_with_its_column(line, column, message):
    with pytest.raises(DataError) as caught:
        read(f'{{"a": 1}}\n{line}\n'.encode())
    assert (caught.value.source, caught.value.line, caught.value.column) == ("x", 2, column)
    assert caught.value.message.startswith(message)
    assert "\n" not in str(caught.value)


def test_whole_pairs_of_surrogates_are_characters():
    assert read(rb'{"a": "\ud83d\ude00 \\ud800"}') == [(1, {"a": "\U0001f600 \\ud800"})]


def test_one_json_value_over_many_lines_is_recognized():
    with pytest.raises(DataError, match="x:1:1: the file is one JSON value over many lines; write one object a line"):
        read(json.dumps([{"a": 1}], indent=1).encode())


def test_bad_lines_are_left_out_with_a_count():
    with pytest.warns(SkippedRecords) as caught:
        assert read(b'{"a": 1}\nnonsense\n\xff\n[]\n{"a": 2}\n', "skip") == [(1, {"a": 1}), (5, {"a": 2})]
    assert [(each.message.count, each.message.first.line) for each in caught] == [(3, 2)]

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus.streams import BadRecords, Part, SkippedRecords
from textmill.corpus.tables import read_csv, read_tsv
from textmill.errors import DataError

CELL = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r") | st.sampled_from('",;\n'), max_size=6
)


def read(data: bytes, errors: str = "strict", reader=read_csv, **options) -> list[tuple[int, dict]]:
    with BadRecords(errors, "x") as bad:
        return list(reader(Part(io.BytesIO(data), "x", **options), bad))


@settings(derandomize=True, max_examples=60)
@given(rows=st.lists(st.tuples(CELL, CELL), max_size=5), delimiter=st.sampled_from(",;\t|"))
def test_what_the_csv_module_writes_is_read_with_the_line_where_each_row_begins(rows, delimiter):
    out = io.StringIO(newline="")
    table = csv.writer(out, delimiter=delimiter)
    table.writerow(["a", "b"])
    expected = []
    for row in rows:
        expected.append((out.getvalue().count("\n") + 1, dict(zip("ab", row, strict=True))))
        table.writerow(row)
    assert read(out.getvalue().encode(), delimiter=delimiter) == expected


@settings(derandomize=True, max_examples=40)
@given(rows=st.lists(st.tuples(*[st.text("ab\"',é\x85 ", max_size=5)] * 2), max_size=5))
def test_fields_of_tsv_are_what_stands_between_tabs(rows):
    data = "a\tb\n" + "".join(f"{a}\t{b}\n" for a, b in rows)
    assert read(data.encode(), reader=read_tsv) == [(line, {"a": a, "b": b}) for line, (a, b) in enumerate(rows, 2)]


@pytest.mark.parametrize("reader", [read_csv, read_tsv])
def test_an_empty_table_and_a_header_alone_have_no_rows(reader):
    assert read(b"", reader=reader) == []
    assert read(b"a\n", reader=reader) == []


@pytest.mark.parametrize(("reader", "sep"), [(read_csv, ","), (read_tsv, "\t")])
def test_blank_lines_are_no_rows(reader, sep):
    data = f"\na{sep}b\n\n1{sep}2\r\n\r\n3{sep}4\n\n".encode()
    assert read(data, reader=reader) == [(4, {"a": "1", "b": "2"}), (6, {"a": "3", "b": "4"})]


@pytest.mark.parametrize("errors", ["strict", "skip"])
@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"a,,c\n1,2,3\n", "x:1:2: field 2 has no name in the header"),
        (b"a,b,a\n1,2,3\n", "x:1:3: the header names 'a' twice"),
        (b"a,\xff\n1,2\n", "x:1:3: byte 0xff is not UTF-8"),
        (b'"a"b,c\n1,2\n', "x:1: not CSV: ',' expected after '\"'"),
    ],
)
def test_a_bad_header_is_always_an_error(header, message, errors):
    with pytest.raises(DataError) as caught:
        read(header, errors)
    assert str(caught.value).startswith(message)


def test_a_bad_header_of_tsv_is_always_an_error():
    with pytest.raises(DataError, match="x:1:3: byte 0xff"):
        read(b"a\t\xff\n1\t2\n", "skip", reader=read_tsv)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"1\n", "x:2: 1 field, but the header names 2; is a delimiter or a quote missing?"),
        (b"1,2,3\n", "x:2: 3 fields, but the header names 2"),
        (b'"1"1,2\n', "x:2: not CSV: ',' expected after '\"'"),
        (b"1,2\rtoo\n", "x:2: not CSV: new-line character seen in unquoted field"),
        (b'1,"two\n3,4\n', "x:2: a quote opened here is not closed in the 2 lines up to the end"),
        (b'1,"two\n\xff\n"\n', "x:3:1: byte 0xff is not UTF-8"),
    ],
)
def test_a_bad_row_is_an_error_with_its_line(row, message):
    with pytest.raises(DataError) as caught:
        read(b"a,b\n" + row)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_bad_rows_are_left_out_with_a_count_and_the_next_ones_are_read():
    data = b'a,b\n1,2\n3\n"x\n\xff\ny",4\n"5"5,6\n7,"8\n8"\n'
    with pytest.warns(SkippedRecords) as caught:
        assert read(data, "skip") == [(2, {"a": "1", "b": "2"}), (8, {"a": "7", "b": "8\n8"})]
    assert [(each.message.count, each.message.first.line) for each in caught] == [(3, 3)]


def test_bad_rows_of_tsv_are_left_out_with_a_count():
    data = b'a\tb\n1\t2\n3\n\xff\t4\n"5\t6\n'
    with pytest.warns(SkippedRecords, match="x: 2 bad records skipped, the first: x:3: 1 field"):
        assert read(data, "skip", reader=read_tsv) == [(2, {"a": "1", "b": "2"}), (5, {"a": '"5', "b": "6"})]


def test_a_field_may_have_millions_of_characters():
    text = "word " * 400_000
    assert read(f'a,b\n1,"{text}"\n'.encode()) == [(2, {"a": "1", "b": text})]


def test_a_delimiter_is_one_character():
    with pytest.raises(DataError, match="delimiter must be one character, not ', '"):
        read(b"a, b\n", delimiter=", ")


def test_line_ends_inside_quotes_are_read_alike():
    assert read(b'a\r\n"one\r\ntwo\nthree"\r\n') == [(2, {"a": "one\ntwo\nthree"})]


@pytest.mark.slow
def test_a_field_may_have_100_megabytes_but_not_without_limit():
    text = "x" * 100_000_000
    assert read(f"a\n{text}\n".encode()) == [(2, {"a": text})]
    with pytest.raises(DataError, match="x:2: a field has more than 134,217,728 characters"):
        read(f"a\n{text}{text}\n".encode())

"""CRFsuite's data files."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.errors import DataError
from textmill.sequence import AttributeSequence, Encoder, read_attributes, write_attributes

names = st.text(st.sampled_from("ab:\\=[]-1 é"), min_size=1, max_size=6).filter(str.strip)
values = st.floats(-1e6, 1e6, width=32)
tokens = st.lists(st.tuples(names, values), max_size=4)
sequences = st.lists(
    st.tuples(st.lists(st.tuples(tokens, st.sampled_from(["B-NP", "O"])), min_size=1, max_size=4), st.floats(0, 8)),
    max_size=4,
)


@given(made=sequences)
def test_what_is_written_is_read_again(made: list, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("attributes") / "data"
    data = [AttributeSequence([t for t, _ in rows], [label for _, label in rows], weight) for rows, weight in made]
    write_attributes(data, path)
    assert list(read_attributes(path)) == data


def test_attribute_files_are_encoded_with_their_values() -> None:
    file = io.BytesIO(b"A\tw=a\tn:2\n\nB\tw=b\n")
    read = list(read_attributes(file))
    data = Encoder().fit_encode([sequence.tokens for sequence in read])
    assert data.unigram.values is not None
    assert data.unigram.values.tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"A\tx\nA\tb:c\n", r":2: 'c' after a colon is no finite number"),
        (b"A\tb:inf\n", r":1: 'inf' after a colon"),
        (b"\tx\n", r":1: there is no label"),
        (b"@weight:-1\nA\tx\n", r":1: the weight -1.0 is negative"),
    ],
)
def test_bad_lines_are_named(text: bytes, fault: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(text)
    with pytest.raises(DataError, match=f"data{fault}"):
        list(read_attributes(tmp_path / "data"))

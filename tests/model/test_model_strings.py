"""StringTable against plain lists of strings."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.errors import DataError, ModelFileError
from textmill.model import StringTable, strings

texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=30)


@given(texts)
def test_a_table_is_the_list_it_was_made_of(words):
    table = StringTable(iter(words))
    assert len(table) == len(words)
    assert table.to_list() == list(table) == words
    assert [table[i] for i in range(-len(words), len(words))] == words + words
    assert bytes(table.bytes) == "".join(words).encode()
    table.verify()
    again = StringTable.from_arrays(table.bytes.copy(), table.offsets.copy())
    assert again == table
    assert copy.deepcopy(table) == table


@given(texts, st.data())
def test_strings_are_taken_in_any_order(words, data):
    positions = data.draw(st.lists(st.integers(0, len(words) - 1), max_size=20)) if words else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strings, "_BLOCK", 3)
        assert StringTable(words).take(np.array(positions, dtype=np.intp)).to_list() == [words[i] for i in positions]


def test_positions_outside_are_not_taken():
    with pytest.raises(IndexError):
        StringTable(["a"]).take(np.array([1]))


@given(texts, texts)
def test_tables_are_equal_exactly_when_their_lists_are(left, right):
    assert (StringTable(left) == StringTable(right)) == (left == right)


def test_a_table_is_unlike_anything_else_and_has_no_hash():
    assert StringTable(["a"]) != ["a"]
    with pytest.raises(TypeError):
        hash(StringTable())


def test_positions_outside_are_index_errors():
    for position in (2, -3):
        with pytest.raises(IndexError):
            StringTable(["a", "b"])[position]
    with pytest.raises(TypeError):
        StringTable(["a"])["a"]


def test_long_tables_are_read_block_by_block():
    words = [str(i) for i in range(150_000)]
    table = StringTable(words)
    assert list(table) == words
    assert repr(table) == "StringTable(['0', '1', '2', ...], length 150000)"


def test_the_arrays_cannot_be_changed():
    for table in (StringTable(["a"]), StringTable.from_arrays(np.array([65], np.uint8), np.array([0, 1]))):
        for array in (table.bytes, table.offsets):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        with pytest.raises(AttributeError):
            table.bytes = table.bytes


def test_what_is_no_text_is_refused_with_its_position():
    with pytest.raises(DataError, match=r"string 1, 'x\\ud800y', holds a lone surrogate"):
        StringTable(["a", "x\ud800y"])
    with pytest.raises(DataError, match="entry 2 is None"):
        StringTable(["a", "b", None])
    with pytest.raises(DataError, match="entry 0 is b'a'"):
        StringTable([b"a"])


def table(data, offsets):
    return StringTable.from_arrays(np.frombuffer(data, np.uint8), np.array(offsets, np.int64))


@pytest.mark.parametrize(
    ("data", "offsets"),
    [
        (b"abc", [0, 2, 1, 3]),  # falling
        (b"abc", [0, 1, 9]),  # beyond the end
        (b"abc", [-1, 3]),
        (b"abc", [0, 2**62, 3]),
        (b"a\xffc", [0, 3]),  # not UTF-8
        ("ü".encode(), [0, 1, 2]),  # cut inside a character
        (b"\xed\xa0\x80", [0, 3]),  # an encoded surrogate
        (b"ab\xc3", [0, 3]),  # ends inside a character
    ],
)
def test_damaged_tables_are_found_by_verify_and_by_every_way_of_reading(data, offsets):
    damaged = table(data, offsets)
    everything = np.arange(len(offsets) - 1)
    uses = (StringTable.verify, StringTable.to_list, list, lambda t: t.take(everything).to_list())
    for use in (*uses, lambda t: [t[i] for i in range(len(t))]):
        with pytest.raises(ModelFileError):
            use(damaged)


@pytest.mark.parametrize(("data", "offsets"), [(b"abc", [1, 3]), (b"abc", [0, 2])])
def test_bytes_that_belong_to_no_string_are_found_by_verify(data, offsets):
    with pytest.raises(ModelFileError, match="must run from 0 to 3"):
        table(data, offsets).verify()


def test_verify_looks_across_its_chunks(monkeypatch):
    monkeypatch.setattr(strings, "CHUNK", 2)
    table("aüü€".encode(), [0, 1, 3, 5, 8]).verify()
    with pytest.raises(ModelFileError, match="middle of a character"):
        table("aüü€".encode(), [0, 1, 3, 5, 6, 8]).verify()
    with pytest.raises(ModelFileError, match="not UTF-8"):
        table(b"aaa\xc3", [0, 4]).verify()


@pytest.mark.parametrize(
    ("data", "offsets"),
    [
        (np.zeros(1, np.int8), np.array([0, 1])),
        (np.zeros(1, np.uint8), np.array([0, 1], np.int32)),
        (np.zeros((1, 1), np.uint8), np.array([0, 1])),
        (np.zeros(1, np.uint8), np.array(0)),
        (np.zeros(0, np.uint8), np.array([], np.int64)),
    ],
)
def test_arrays_of_another_kind_are_refused(data, offsets):
    with pytest.raises(ModelFileError, match="strings need"):
        StringTable.from_arrays(data, offsets)


def test_a_table_shows_its_first_strings_and_its_length():
    assert repr(StringTable(["a", "b", "c"])) == "StringTable(['a', 'b', 'c'], length 3)"
    assert repr(StringTable(["a", "b", "c", "d"])) == "StringTable(['a', 'b', 'c', ...], length 4)"

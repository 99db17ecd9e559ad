"""Layouts: named axes, types and ranges, against definitions in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.errors import ModelFileError
from textmill.model import layout
from textmill.model.layout import check_flags, check_indices, check_offsets, check_shapes, parse_layout, stored_fields


@pytest.mark.parametrize(
    "line", ["term: float65", "term:", "term topic: str", "term: str | int32", "term: None", ": label"]
)
def test_a_mistake_in_a_layout_is_found_when_the_class_is_made(line):
    with pytest.raises(TypeError, match="layout of 'x_'"):
        parse_layout({"x_": line})


def shapes(lines, **arrays):
    return check_shapes({name: np.asarray(array) for name, array in arrays.items()}, parse_layout(lines))


def test_axes_of_one_name_have_one_extent():
    lines = {"a": "term topic", "b": "topic", "c": "term+1: int64", "d": ""}
    good = {"a": np.ones((3, 2)), "b": np.ones(2), "c": np.arange(4), "d": 1.0}
    assert shapes(lines, **good) == {"term": 3, "topic": 2}
    for name, bad, message in [
        ("b", np.ones(3), "'b' has 3 along topic, but 'a' asks for 2"),
        ("c", np.arange(3), r"'c' has 3 along term\+1, but 'a' asks for 4"),
        ("a", np.ones(3), r"'a' has 1 axes but needs \(term topic\)"),
        ("a", np.ones((3, 2), np.float32), "'a' is float32 but must be float64"),
        ("d", np.ones(1), r"'d' has 1 axes but needs \(\)"),
    ]:
        with pytest.raises(ModelFileError, match=message):
            shapes(lines, **good | {name: bad})
    del good["b"]
    with pytest.raises(ModelFileError, match=r"'b' with axes \(topic\) is missing"):
        shapes(lines, **good)


def test_one_more_than_nothing_needs_one():
    assert shapes({"rows": "class+1: int64"}, rows=[0]) == {"class": 0}
    with pytest.raises(ModelFileError, match="has 0 along class"):
        shapes({"rows": "class+1: int64"}, rows=np.zeros(0, np.int64))


def test_alternatives_and_none_are_allowed_where_declared():
    lines = {"a": "term: float32 | float64", "b": "term: int32 | None"}
    assert shapes(lines, a=np.ones(2, np.float32)) == {"term": 2}
    with pytest.raises(ModelFileError, match="'a' is int64 but must be float32 or float64"):
        shapes(lines, a=np.arange(2))
    with pytest.raises(ModelFileError, match="'b' has 3 along term"):
        shapes(lines, a=np.ones(2), b=np.arange(3, dtype=np.int32))


def test_strings_are_stored_both_halves_or_none():
    fields = parse_layout({"a_": "term: str | None", "c_": "class: label"})
    assert {name for name, field in stored_fields(fields, ()).items() if field.optional} == {"a_.bytes", "a_.offsets"}
    assert not stored_fields(fields, {"a_.bytes"})["a_.offsets"].optional
    assert "c_" in stored_fields(fields, {"c_"})
    assert {"c_.bytes", "c_.offsets"} <= stored_fields(fields, {"c_.bytes"}).keys()


dtypes = st.sampled_from([np.int8, np.int32, np.int64, np.uint8, np.uint64])


@pytest.fixture(params=[3, 1 << 22])
def chunk(request, monkeypatch):
    """Both ways through the check: many chunks in threads, one chunk here."""
    monkeypatch.setattr(layout, "CHUNK", request.param)


def passes(check, *arguments):
    try:
        check("x", *arguments)
    except ModelFileError:
        return False
    return True


def test_indices_pass_exactly_when_each_is_in_range(chunk):
    @given(dtypes, st.lists(st.integers(-3, 6), max_size=12), st.integers(0, 300))
    def check(dtype, values, extent):
        array = np.array([abs(v) if np.dtype(dtype).kind == "u" else v for v in values], dtype)
        assert passes(check_indices, array, extent) == all(0 <= v < extent for v in array.tolist())

    check()


def test_offsets_pass_exactly_when_they_rise_from_zero_to_the_end(chunk):
    @given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.booleans(), st.integers(0, 9))
    def check(values, ordered, extent):
        values = sorted(values) if ordered else values
        expected = values == sorted(values) and values[0] == 0 and values[-1] == extent
        assert passes(check_offsets, np.array(values), extent) == expected
        assert passes(check_offsets, np.array([0, *sorted(values), 9]), 9)

    check()
    for at in range(1, 8):  # one fall, at every position of a chunk
        assert not passes(check_offsets, np.array([0, *range(2, at + 2), 1, *range(10, 19 - at), 99]), 99)


def test_positions_of_faults_are_named(chunk):
    with pytest.raises(ModelFileError, match="'x' holds 9 at position 7, but only 0 to 8 are valid"):
        check_indices("x", np.array([[0, 1, 2, 3], [4, 5, 6, 9]]), 9)
    with pytest.raises(ModelFileError, match="nothing to point at"):
        check_indices("x", np.array([0]), 0)
    with pytest.raises(ModelFileError, match="'x' falls from 8 to 3 after position 4"):
        check_offsets("x", np.array([0, 1, 2, 3, 8, 3, 9]), 9)
    flags = np.array([0, 1, 0, 1, 2], np.uint8).view(bool)
    with pytest.raises(ModelFileError, match="neither 0 nor 1 at position 4"):
        check_flags("x", flags)
    check_flags("x", flags[:4])
    check_flags("x", np.ones((2, 3, 0), bool))

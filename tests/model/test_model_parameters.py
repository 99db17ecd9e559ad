"""Parameters as canonical JSON: there and back, equal values equal text."""

import functools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.errors import DataError, ModelFileError
from textmill.model.parameters import callable_name, canonical, decode, encode, readable
from textmill.sequence import OWLQN

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)
keys = st.one_of(scalars, st.tuples(scalars, scalars), st.frozensets(scalars, max_size=3))
values = st.recursive(
    st.one_of(keys, st.sets(keys, max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner), st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=12,
)


def same(left, right):
    """Equal, of the same types, through all levels."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return len(left) == len(right) and all(same(item, right[key]) for key, item in left.items())
    return left == right and (not isinstance(left, float) or math.copysign(1, left) == math.copysign(1, right))


@given(values)
def test_what_is_encoded_comes_back_with_its_types(value):
    text = canonical(encode("x", value))
    assert same(decode("x", json.loads(text)), value)
    assert canonical(encode("x", decode("x", json.loads(text)))) == text
    json.dumps(readable(json.loads(text)), allow_nan=False)


@given(st.dictionaries(keys, scalars, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_a_dict_or_set_leaves_no_trace(mapping, random):
    items = list(mapping.items())
    random.shuffle(items)
    assert canonical(encode("x", dict(items))) == canonical(encode("x", mapping))
    assert canonical(encode("x", {key for key, _ in items})) == canonical(encode("x", set(mapping)))


def test_numbers_that_json_does_not_know_are_named():
    assert (
        canonical(encode("x", [math.nan, math.inf, -math.inf])) == '[{"float":"nan"},{"float":"inf"},{"float":"-inf"}]'
    )
    assert math.isnan(decode("x", {"float": "nan"}))


def test_numpy_scalars_become_plain_numbers():
    encoded = encode("x", [np.float64(0.1), np.int32(3), np.bool_(True), np.str_("a"), np.float32(0.5)])
    assert [type(item) for item in encoded] == [float, int, bool, str, float]


class Split:
    def __call__(self, text):
        return text.split()


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (math.floor, "math.floor"),
        (str.split, "str.split"),
        (Split, f"{__name__}.Split"),
        (Split(), f"{__name__}.Split"),
        (functools.partial(max, 1), "functools.partial"),
    ],
)
def test_functions_are_saved_by_name(function, name):
    encoded = encode("x", function)
    assert callable_name(encoded) == name
    assert readable(encoded) == f"<callable {name}>"
    with pytest.raises(ModelFileError):
        decode("x", encoded)


@pytest.mark.parametrize(
    "value",
    [np.array([1j]), 1j, b"a", object(), range(3), "a\ud800", [len], 2**2000, np.random.default_rng(0), np.dtype("f8")],
)
def test_what_a_file_cannot_hold_is_refused_by_name(value):
    with pytest.raises(DataError, match=r"parameter 'seed'"):
        encode("parameter 'seed'", value)


def test_an_array_is_saved_as_the_list_of_its_values():
    assert decode("x", encode("x", np.array([[1, 2], [3, 4]]))) == [[1, 2], [3, 4]]


def nested(depth):
    return functools.reduce(lambda inner, _: [inner], range(depth), 0)


@pytest.mark.parametrize("value", [[()], ((),), {()}, frozenset([()]), {(): 0}, {0: ()}], ids=repr)
def test_every_kind_of_nesting_is_one_deeper(value):
    encoded = encode("x", value, 15)
    assert decode("x", encoded, 15) == value
    with pytest.raises(DataError, match="x is nested more than 16 deep"):
        encode("x", value, 16)
    with pytest.raises(ModelFileError, match="x is nested more than 16 deep"):
        decode("x", encoded, 16)


def test_fields_of_options_are_one_deeper():
    encoded = encode("x", OWLQN(memory=3), 15)
    assert decode("x", encoded, 15) == OWLQN(memory=3)
    with pytest.raises(DataError, match="x is nested more than 16 deep"):
        encode("x", OWLQN(memory=3), 16)
    encoded["options"][1]["memory"] = []
    with pytest.raises(ModelFileError, match="x is nested more than 16 deep"):
        decode("x", encoded, 16)


def test_nesting_is_bounded_both_ways():
    assert decode("x", encode("x", nested(16))) == nested(16)
    with pytest.raises(DataError, match="more than 16 deep"):
        encode("x", nested(18))
    with pytest.raises(ModelFileError, match="more than 16 deep"):
        decode("x", nested(500))


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"tuple": 1},
        {"tuple": [], "set": []},
        {"set": [[1]]},
        {"dict": [["a"]]},
        {"dict": ["ab"]},
        {"dict": [[[], 1]]},
        {"float": "1.5"},
        {"float": 1.5},
        {"float": []},
        {"eval": "1"},
        {"callable": 3},
        2**2000,
    ],
)
def test_forms_we_never_write_are_faults(value):
    with pytest.raises(ModelFileError, match="no known form"):
        decode("x", value)
    with pytest.raises(ModelFileError, match="no known form"):
        readable(value)


@pytest.mark.parametrize("fields", [{"memory": 0}, {"nonsense": 1}])
def test_options_that_their_class_refuses_are_a_damaged_file(fields):
    with pytest.raises(ModelFileError, match=r"options that sequence\.OWLQN refuses"):
        decode("algorithm", {"options": ["sequence.OWLQN", fields]})


def test_options_are_shown_by_their_name_and_fields():
    assert readable({"options": ["sequence.OWLQN", {"memory": 5}]}) == {"sequence.OWLQN": {"memory": 5}}

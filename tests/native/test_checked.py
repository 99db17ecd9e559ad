"""Checked conversions: the number, or an error that names it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill import _testing

INT32 = 2**31


@settings(derandomize=True)
@given(st.integers(-(2**63), 2**63 - 1) | st.integers(-INT32 - 3, -INT32 + 3) | st.integers(INT32 - 3, INT32 + 3))
def test_narrowing_keeps_the_number_or_names_it(value):
    if -INT32 <= value < INT32:
        assert _testing.narrow(value) == value
    else:
        with pytest.raises(ValueError, match=rf"^value is {value}, outside -2147483648 ... 2147483647$"):
            _testing.narrow(value)


@settings(derandomize=True)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1) | st.integers(0, 8))
def test_a_product_is_exact_or_refused(a, b):
    if a * b < 2**63:
        assert _testing.product(a, b) == a * b
    else:
        with pytest.raises(ValueError, match=rf"^array would have {a} x {b} entries"):
            _testing.product(a, b)


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 2147483647.0])
def test_a_whole_float_becomes_a_count(value):
    assert _testing.count(value) == value


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (-1.0, "value is -1, not a whole number >= 0"),
        (0.5, "value is 0.5, not a whole number >= 0"),
        (float("nan"), "value is nan, not a whole number >= 0"),
        (float("-inf"), "value is -inf, not a whole number >= 0"),
        (float("inf"), "value is inf, more than 2147483647"),
        (2147483648.0, "value is 2147483648, more than 2147483647"),
        (1e300, "more than 2147483647"),
    ],
)
def test_any_other_float_is_refused_by_name(value, fault):
    with pytest.raises(ValueError, match=fault):
        _testing.count(value)

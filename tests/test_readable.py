from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.readable import MISSING, numerals, one_line, printable

REALS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        ([0], ["0"]),
        ([0.0, -0.0], ["0", "0"]),
        ([1, 22, 333], ["1", "22", "333"]),
        ([9999, 1], ["9999", "1"]),
        ([10000, 1], ["10,000", "1"]),
        ([10000.5, 1], ["10,000.5", "1.0"]),
        ([0.5, 0.25], ["0.50", "0.25"]),
        ([0.1 + 0.2], ["0.3"]),
        ([1 / 3], ["0.3333"]),
        ([123.456], ["123.5"]),
        ([-1.5, 2], ["-1.5", "2.0"]),
        ([1e-9, 2.5e-9], ["1e-09", "2.5e-09"]),
        ([0.0001, 0.00025], ["0.00010", "0.00025"]),
        ([1e-9, 1], ["1e-09", "1"]),
        ([2**53, 1], ["9,007,199,254,740,992", "1"]),
        ([1e20], ["1e+20"]),
        ([math.nan, 1.5], [MISSING, "1.5"]),
        ([math.nan], [MISSING]),
        ([math.inf, -math.inf, 2], ["∞", "-∞", "2"]),
    ],
)
def test_columns_of_numbers(values: list[float], expected: list[str]) -> None:
    assert numerals(values) == expected


def test_fewer_digits_on_demand() -> None:
    assert numerals([1 / 3, 2 / 3], digits=2) == ["0.33", "0.67"]


@given(st.lists(REALS, min_size=1, max_size=6))
def test_a_column_has_the_same_decimals_and_stays_close_to_its_values(values: list[float]) -> None:
    written = numerals(values)
    parsed = [float(text.replace(",", "")) for text in written]
    if not any("e" in text for text in written):
        assert len({len(text.partition(".")[2]) for text in written}) == 1
    for value, number in zip(values, parsed, strict=True):
        assert number == pytest.approx(value, rel=0.06, abs=1e-320)
    largest = max(values, key=abs)
    assert parsed[values.index(largest)] == pytest.approx(largest, rel=1e-3, abs=1e-320)


@given(st.text())
def test_printable_text_can_be_encoded_and_keeps_its_length(text: str) -> None:
    result = printable(text)
    result.encode()
    assert len(result) == len(text)
    assert not set(result) & {"\x00", "\x07", "\x1b", "\x7f", "\x85", "\ufffe"}


def test_what_is_printable_stays() -> None:
    assert printable("tab\t line\n é 市场 שוק 👩‍🔬 \u202e") == "tab\t line\n é 市场 שוק 👩‍🔬 \u202e"
    assert printable("\ud83d|\x00|\udfff|\uffff") == "\ufffd|\ufffd|\ufffd|\ufffd"


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    result = one_line(text)
    assert len(result.splitlines()) <= 1
    assert "  " not in result
    assert one_line(result) == result

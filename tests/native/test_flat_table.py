"""The hash tables of the native code against Python's dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill import _testing

EMPTY = -1  # empties the index


def numbers(keys: list[int]) -> list[tuple[int, int, int]]:
    """What dictionaries say."""
    table: dict[int, int] = {}
    index: dict[int, int] = {}
    told = []
    for key in keys:
        if key == EMPTY:
            index.clear()
        else:
            told.append((table.setdefault(key, len(table)), index.setdefault(key, len(index)), len(index)))
    return told


@given(st.lists(st.integers(EMPTY, 40) | st.integers(0, 2**63 - 1)), st.sampled_from([1, 3, 2**62]))
def test_keys_have_the_numbers_of_a_dictionary(keys: list[int], collide: int) -> None:
    assert _testing.numbers_of_keys(np.array(keys, np.int64), collide, 0) == numbers(keys)


@pytest.mark.parametrize("step", [1, 2**20, 2**32])
def test_tables_grow_and_find_keys_that_differ_in_few_bits(step: int) -> None:
    keys = [step * i for i in range(3000)] * 2
    assert _testing.numbers_of_keys(np.array(keys, np.int64), 2**62, 0) == numbers(keys)


def test_an_index_is_emptied_more_often_than_its_slots_can_count() -> None:
    keys = [7, 8, 7, EMPTY, 8, 9, EMPTY, 9, 7, EMPTY, 1, EMPTY, 7, 1] * 3
    assert _testing.numbers_of_keys(np.array(keys, np.int64), 2**62, 2**30) == numbers(keys)

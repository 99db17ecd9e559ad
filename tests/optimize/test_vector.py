from __future__ import annotations

import math

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from textmill.optimize.vector import DOT_BLOCK, WORK_BLOCK, add_scaled, blocks, dot

SIZES = [0, 1, 7, DOT_BLOCK - 1, DOT_BLOCK, DOT_BLOCK + 1, 5 * DOT_BLOCK + 3, WORK_BLOCK, 2 * WORK_BLOCK + 5]


@pytest.mark.parametrize("size", SIZES)
def test_dot_equals_the_exact_sum_of_products(size):
    a, b = np.random.default_rng(size).normal(size=(2, size))
    assert dot(a, b) == pytest.approx(math.fsum(a * b), abs=1e-14 * size)


@pytest.mark.parametrize("size", SIZES)
def test_add_scaled_changes_y_alone(size):
    y, x = np.random.default_rng(size).normal(size=(2, size))
    expected, before = y + 0.3 * x, x.copy()
    add_scaled(y, 0.3, x)
    assert y.tobytes() == expected.tobytes()
    assert x.tobytes() == before.tobytes()


@pytest.mark.parametrize("size", SIZES)
def test_blocks_cover_every_entry_once(size):
    assert [i for part in blocks(size) for i in range(size)[part]] == list(range(size))


def test_dot_has_the_same_bytes_for_any_number_of_threads():
    a, b = np.random.default_rng(1).normal(size=(2, 1_000_001))
    results = set()
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            results.add(dot(a, b).hex())
    assert len(results) == 1


def test_dot_has_the_same_bytes_wherever_the_arrays_lie_in_memory():
    room = np.random.default_rng(1).normal(size=30_008)
    expected = dot(room[:30_000].copy(), room[:30_000].copy())
    for shift in range(8):
        moved = np.empty(30_008)
        moved[shift : shift + 30_000] = room[:30_000]
        assert dot(moved[shift : shift + 30_000], moved[shift : shift + 30_000]) == expected

from __future__ import annotations

import math

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from textmill._native import base as native
from textmill.optimize import pseudo_gradient
from textmill.optimize.vector import WORK_BLOCK, add_scaled, add_scaled_dot, blocks, dot

DOT_BLOCK = 4096  # of native/base/vector.cpp
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


@pytest.mark.parametrize("size", SIZES)
def test_a_move_and_the_product_after_it_are_those_of_two_calls(size):
    y, x, b = np.random.default_rng(size).normal(size=(3, size))
    moved = y.copy()
    add_scaled(moved, -0.7, x)
    assert add_scaled_dot(y, -0.7, x, b) == dot(b, moved)
    assert y.tobytes() == moved.tobytes()


@pytest.mark.parametrize("size", SIZES)
def test_norms_are_their_definitions(size):
    a, d, l1 = np.random.default_rng(size).normal(size=(3, size))
    d, l1 = 0.1 + np.abs(d), np.abs(l1)
    assert native.divided_square(a, d) == pytest.approx(math.fsum(a * a / d), abs=1e-13 * size)
    assert native.weighted_norm(a, l1) == pytest.approx(math.fsum(l1 * np.abs(a)), abs=1e-14 * size)
    assert native.weighted_norm(a, np.array([0.3])) == pytest.approx(0.3 * math.fsum(np.abs(a)), abs=1e-14 * size)
    assert native.largest_magnitude(a) == np.abs(a).max(initial=0.0)


def _orthant(size):
    """A point with many zeros, slopes on both sides of the penalty, some coordinates free, and a direction."""
    rng = np.random.default_rng(size)
    theta = rng.normal(size=size) * (rng.random(size) < 0.6)
    l1 = rng.choice([0.0, 0.4, 1.1], size)
    return theta, rng.normal(size=size), l1, rng.normal(size=size)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_the_native_pseudo_gradient_is_the_definition(size, single):
    theta, gradient, l1, _ = _orthant(size)
    weights = np.array([0.4]) if single else l1
    out = np.empty(size)
    native.pseudo_gradient(theta, gradient, weights, out)
    assert out.tobytes() == pseudo_gradient(theta, gradient, np.broadcast_to(weights, size)).tobytes()


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_alignment_leaves_what_goes_downhill_and_what_is_free(size, single, zeros):
    theta, gradient, l1, direction = _orthant(size)
    weights = np.array([0.4]) if single else l1
    every = np.broadcast_to(weights, size)
    bound = (every > 0) & ((theta == 0) if zeros else True)
    expected = np.where((direction * pseudo_gradient(theta, gradient, every) >= 0) & bound, 0.0, direction)
    square = native.align(theta, gradient, weights, zeros, direction)
    assert direction.tobytes() == expected.tobytes()
    assert square == pytest.approx(math.fsum(expected * expected), abs=1e-13 * size)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_a_projected_step_stays_in_the_orthant(size, single):
    theta, gradient, l1, direction = _orthant(size)
    weights = np.array([0.4]) if single else l1
    every = np.broadcast_to(weights, size)
    moved = direction * 0.8 + theta
    expected = np.where((moved * theta < 0) & (every > 0), 0.0, moved)
    out = np.empty(size)
    predicted = native.project(theta, gradient, weights, direction, 0.8, out)
    assert out.tobytes() == expected.tobytes()
    slope = pseudo_gradient(theta, gradient, every) * (expected - theta)
    assert predicted == pytest.approx(math.fsum(slope), abs=1e-13 * size)


def test_vectors_that_do_not_fit_are_refused():
    short, long = np.zeros(3), np.zeros(4)
    with pytest.raises(ValueError, match="3 entries each, got 4"):
        native.dot(short, long)
    with pytest.raises(ValueError, match="overlaps"):
        native.add_scaled(long[:3], 1.0, long[1:])
    with pytest.raises(ValueError, match="l1 must have 1 or 3 entries, got 4"):
        native.project(short, short.copy(), long, short.copy(), 1.0, np.zeros(3))
    with pytest.raises(ValueError, match="overlaps"):
        native.align(short, short.copy(), np.ones(1), False, short)

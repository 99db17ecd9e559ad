from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import line_search

from textmill.errors import DataError
from textmill.optimize import armijo, strong_wolfe

numbers = st.floats(-3, 3)
steps = st.sampled_from([1e-6, 1e-2, 0.3, 1.0, 7.0, 1e3])


def wave(a, b, c, d, at):
    """A bounded-below function of one variable with many minima, and its derivative, moved to begin at `at`."""

    def phi(x):
        x = x + at
        value = a * a * x * x / 2 + b * math.cos(c * x) + d * x + math.log1p(x * x)
        return value, a * a * x - b * c * math.sin(c * x) + d + 2 * x / (1 + x * x)

    return phi


def downhill(phi):
    """The same function, or its mirror image, whichever falls at 0."""
    if phi(0.0)[1] < 0:
        return phi

    def mirrored(x):
        value, slope = phi(-x)
        return value, -slope

    return mirrored


@settings(derandomize=True, max_examples=150, deadline=None)
@given(numbers, numbers, numbers, numbers, numbers, steps, st.sampled_from([0.1, 0.5, 0.9]))
def test_strong_wolfe_conditions_hold_on_random_functions(a, b, c, d, at, step, c2):
    assume(abs(a) > 0.1)
    phi = downhill(wave(a, b, c, d, at))
    value, slope = phi(0.0)
    assume(slope < -1e-3)
    found = strong_wolfe(phi, value, slope, step=step, c2=c2)
    assert found.satisfied
    reached, end = phi(found.size)
    assert (found.value, found.slope) == (reached, end)
    assert reached <= value + 1e-4 * found.size * slope
    assert abs(end) <= c2 * abs(slope)
    assert found.trials <= 25


@settings(derandomize=True, max_examples=80, deadline=None)
@given(numbers, numbers, numbers, numbers, numbers, steps)
def test_armijo_condition_holds_on_random_functions(a, b, c, d, at, step):
    assume(abs(a) > 0.1)
    phi = downhill(wave(a, b, c, d, at))
    value, slope = phi(0.0)
    assume(slope < -1e-3)
    found = armijo(lambda x: (phi(x)[0], x * slope), value, step=step)
    assert found.satisfied
    assert found.value == phi(found.size)[0]
    assert found.value <= value + 1e-4 * found.size * slope
    halvings = math.log2(step / found.size)
    assert halvings == round(halvings) == found.trials - 1


@settings(derandomize=True, max_examples=80, deadline=None)
@given(st.floats(0.05, 20), st.floats(0.001, 0.999), steps)
def test_searches_stay_inside_a_log_barrier(wall, scale, step):
    def phi(x):
        return (-math.log(wall - x) - 2 * scale * x / wall, 1 / (wall - x) - 2 * scale / wall) if x < wall else outside

    for outside in ((math.inf, math.nan), (math.nan, math.nan), (0.0, math.inf), (-math.inf, 0.0)):
        value, slope = phi(0.0)
        if slope > -1e-3:
            continue
        found = strong_wolfe(phi, value, slope, step=step, c2=0.5)
        assert found.satisfied
        assert 0 < found.size < wall
        assert found.value <= value + 1e-4 * found.size * slope
        if outside[0] not in (0.0, -math.inf):
            assert 0 < armijo(lambda x, m=slope: (phi(x)[0], x * m), value, step=step).size < wall


def test_first_trial_is_accepted_when_it_is_good():
    found = strong_wolfe(lambda x: ((x - 1) ** 2, 2 * (x - 1)), 1.0, -2.0)
    assert (found.size, found.trials) == (1.0, 1)


def test_cubic_interpolation_finds_the_minimum_of_a_cubic_at_once():
    found = strong_wolfe(lambda x: (x**3 - 3 * x, 3 * x * x - 3), 0.0, -3.0, step=3.0, c2=1e-3)
    assert found.trials == 2
    assert found.size == pytest.approx(1.0, abs=1e-12)


def test_steps_grow_fast_where_the_slope_gets_steeper():
    phi = wave(1.0, -2.0, 2.0, 0.0, -1.75)
    value, slope = phi(0.0)
    assert phi(0.01)[1] < slope < 0
    assert strong_wolfe(phi, value, slope, step=1e-6, c2=0.1).trials <= 12


def test_strong_wolfe_asks_no_more_than_scipy_does():
    ours = theirs = 0
    for seed in range(200):
        a, b, c, d, at = np.random.default_rng(seed).uniform(0.5, 3, 5)
        phi = wave(a, b, c, d, -at)
        value, slope = phi(0.0)
        if slope >= 0:
            continue
        reference = line_search(
            lambda x, p=phi: p(x[0])[0],
            lambda x, p=phi: np.array([p(x[0])[1]]),
            np.zeros(1),
            np.ones(1),
            c2=0.1,
            old_fval=value,
            gfk=np.array([slope]),
        )
        if reference[0] is None:
            continue
        theirs += reference[1]
        ours += strong_wolfe(phi, value, slope, c2=0.1).trials
    assert 0 < ours <= theirs


@pytest.mark.parametrize("trials", [1, 2, 3, 5, 8])
def test_a_search_that_runs_out_of_trials_returns_its_best_step_or_none(trials):
    falling = strong_wolfe(lambda x: (-x, -1.0), 0.0, -1.0, trials=trials)
    assert not falling.satisfied
    assert falling.value == -falling.size < 0
    rising = strong_wolfe(lambda x: (x, 1.0), 0.0, -1.0, trials=trials)
    assert (rising.size, rising.value, rising.satisfied) == (0.0, 0.0, False)
    assert armijo(lambda x: (x, -x), 0.0, trials=trials).size == 0.0


def test_a_change_below_rounding_ends_the_search_early():
    flat = strong_wolfe(lambda x: (1e6, 0.0), 1e6, -1e-10)
    assert (flat.size, flat.trials) == (0.0, 1)
    assert armijo(lambda x: (1e6, -1e-10 * x), 1e6).trials == 1


def test_armijo_shrinks_while_the_projected_step_predicts_no_decrease():
    found = armijo(lambda x: (-x, 1.0 if x > 0.3 else -x), 0.0)
    assert found.size == 0.25


@pytest.mark.parametrize(
    "wrong", [{"c1": 0.0}, {"c1": 0.95}, {"c2": 1.0}, {"step": 0.0}, {"step": math.nan}, {"trials": 0}]
)
def test_strong_wolfe_refuses_senseless_settings(wrong):
    with pytest.raises(DataError, match="strong_wolfe needs"):
        strong_wolfe(lambda x: (0.0, 0.0), 1.0, -1.0, **wrong)


@pytest.mark.parametrize("wrong", [{"c1": 0.0}, {"shrink": 1.0}, {"step": -1.0}, {"trials": 0}])
def test_armijo_refuses_senseless_settings(wrong):
    with pytest.raises(DataError, match="armijo needs"):
        armijo(lambda x: (0.0, 0.0), 1.0, **wrong)


@pytest.mark.parametrize("slope", [0.0, 1.0, math.nan])
def test_strong_wolfe_refuses_a_direction_that_does_not_descend(slope):
    with pytest.raises(DataError, match="direction of descent"):
        strong_wolfe(lambda x: (0.0, 0.0), 1.0, slope)

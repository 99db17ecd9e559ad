from __future__ import annotations

import numpy as np
import pytest
from reference.objectives import classification, logistic, toy_chain_crf

from textmill.errors import DataError
from textmill.optimize import Stopping, minimize_lbfgs, minimize_rprop

TIGHT = Stopping(gradient_tolerance=1e-6, tolerance=0.0, max_iter=20_000)
both_variants = pytest.mark.parametrize("variant", ["+", "-"])


def literal_rprop(slope, theta, plus, iterations):
    """One coordinate, without a penalty, straight from the rules."""
    step, last_sign, last_move, path = 0.1, 0.0, 0.0, [theta]
    for _ in range(iterations):
        sign = np.sign(slope(theta))
        if sign * last_sign > 0:
            step = min(step * 1.2, 50.0)
        elif sign * last_sign < 0:
            step = max(step * 0.5, 1e-8)
        if plus and sign * last_sign < 0:
            move, last_sign = -last_move, 0.0
        else:
            move, last_sign = -sign * step, sign
        theta, last_move = theta + move, move
        path.append(theta)
    return path


@both_variants
def test_path_is_that_of_the_rules(variant):
    centers = np.array([3.0, -0.05, 0.0371])
    path = [np.zeros(3)]
    minimize_rprop(
        lambda t: (float(((t - centers) ** 4).sum()), 4 * (t - centers) ** 3),
        path[0],
        variant=variant,
        stopping=Stopping(gradient_tolerance=0, tolerance=0, max_iter=40),
        callback=lambda now: path.append(now.theta.copy()),
    )
    for i, center in enumerate(centers):
        expected = literal_rprop(lambda x, c=center: 4 * (x - c) ** 3, 0.0, variant == "+", 40)
        assert [theta[i] for theta in path] == pytest.approx(expected, abs=1e-12)


@both_variants
def test_smooth_minimum_is_that_of_lbfgs(variant):
    objective = logistic(*classification(200, 8, seed=3), l2=1.0)
    expected = minimize_lbfgs(objective, np.zeros(8), stopping=Stopping(gradient_tolerance=1e-9, tolerance=0)).theta
    assert minimize_rprop(objective, np.zeros(8), variant=variant, stopping=TIGHT).theta == pytest.approx(
        expected, abs=1e-6
    )


@both_variants
def test_penalized_minimum_is_the_published_one(variant):
    found = minimize_rprop(toy_chain_crf(0.01), np.zeros(22), variant=variant, l1=0.5, stopping=TIGHT)
    assert found.value == pytest.approx(6.90136158, rel=1e-6)
    assert found.report.active[-1] == 9
    assert found.report.method == f"rprop{variant}"


def test_steps_stay_within_their_bounds():
    moves = []
    last = np.zeros(1)

    def callback(now):
        moves.append(abs(now.theta[0] - last[0]))
        last[:] = now.theta

    minimize_rprop(
        lambda t: (float(t[0]), np.ones(1)),
        [0.0],
        longest=0.5,
        callback=callback,
        stopping=Stopping(max_iter=30),
    )
    assert max(moves) == pytest.approx(0.5)
    assert moves[0] == pytest.approx(0.1)


def test_steps_that_left_the_domain_stay_short():
    found = minimize_rprop(
        lambda t: (-float(t[0]) if t[0] < 0.12 else np.inf, -np.ones(1)),
        [0.0],
        stopping=Stopping(max_iter=8, tolerance=0),
    )
    assert 0.1199 < found.theta[0] < 0.12
    assert found.report.evaluations <= 40


@pytest.mark.parametrize("wrong", [{"first": 0.0}, {"shortest": 0.0}, {"longest": 0.01}, {"shortest": 0.2}])
def test_senseless_bounds_are_refused(wrong):
    with pytest.raises(DataError, match="rprop needs"):
        minimize_rprop(lambda t: (0.0, t), [1.0], **wrong)


def test_unknown_variant_is_refused():
    with pytest.raises(DataError, match="variant='x'"):
        minimize_rprop(lambda t: (0.0, t), [1.0], variant="x")

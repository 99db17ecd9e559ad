"""Logistic curves: the optimum by its gradient and by a general minimizer; scores in any unit; bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.errors import DataError
from textmill.optimize import Sigmoid, Stopping, fit_logistic, fit_sigmoid, minimize_lbfgs, sigmoid


@given(seed=st.integers(0, 999), columns=st.integers(1, 5), l2=st.sampled_from([0.01, 1.0, 100.0]))
def test_the_weights_are_those_of_a_general_minimizer(seed, columns, l2):
    rng = np.random.default_rng(seed)
    X, t = rng.normal(0, 2, (40, columns)), rng.random(40)
    X[:, -1] = 1.0
    penalty = np.append(np.full(columns - 1, l2), 1e-6)

    def loss(w):
        z = X @ w
        p = 1 / (1 + np.exp(-z))
        return float(np.logaddexp(0, z).sum() - t @ z + penalty @ w**2 / 2), X.T @ (p - t) + penalty * w

    w = fit_logistic(X, t, l2=penalty)
    best = minimize_lbfgs(loss, np.zeros(columns), stopping=Stopping(gradient_tolerance=1e-9, max_iter=1000)).theta
    assert w == pytest.approx(best, abs=1e-5)
    assert np.abs(loss(w)[1]).max() < 1e-7


def test_probabilities_of_a_curve_sum_to_its_targets():
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1, 200)
    right = rng.random(200) < sigmoid(2 * scores - 1)
    curve = fit_sigmoid(scores, right)
    targets = np.where(right, (right.sum() + 1) / (right.sum() + 2), 1 / ((~right).sum() + 2))
    assert curve.probabilities(scores).sum() == pytest.approx(targets.sum())
    assert 1.2 < curve.slope < 3


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_the_unit_of_scores_does_not_matter(unit):
    scores, right = np.array([-2.0, -1.0, 0.5, 1.0, 3.0]), np.array([False, True, False, True, True])
    curve = fit_sigmoid(scores * unit, right)
    assert curve.probabilities(scores * unit) == pytest.approx(fit_sigmoid(scores, right).probabilities(scores))


def test_separated_equal_and_huge_scores_give_finite_curves():
    apart = fit_sigmoid([1.0, 2.0, 3.0, 4.0], [False, False, True, True])
    assert np.isfinite(apart).all()
    assert apart.probabilities([1.0, 4.0]).sum() == pytest.approx(1.0)  # the middle is at 2.5
    assert 0.05 < apart.probabilities([1.0])[0] < 0.25  # targets of 1/4 and 3/4 at two places a side
    same = fit_sigmoid([0.0, 0.0, 0.0], [False, True, True])
    assert same.probabilities([0.0]) == pytest.approx((3 / 4 + 3 / 4 + 1 / 3) / 3)
    assert sigmoid([-1e308, 1e308]).tolist() == [0.0, 1.0]
    assert Sigmoid(1e150, 0.0).probabilities([-1e150]).tolist() == [0.0]


def test_rows_and_targets_must_fit_together():
    with pytest.raises(DataError, match="a logistic curve needs a row for each of 2 targets"):
        fit_logistic([[1.0]], [0, 1])

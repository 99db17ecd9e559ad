from __future__ import annotations

import numpy as np
import pytest
from reference.objectives import classification, logistic, quadratic, rosenbrock, toy_chain_crf

from textmill.errors import DataError
from textmill.optimize import check_gradient, numerical_gradient

OBJECTIVES = {
    "rosenbrock": (rosenbrock, 6),
    "quadratic": (quadratic(1e3, 8)[0], 8),
    "logistic": (logistic(*classification(50, 5, seed=3), l2=0.1), 5),
    "crf": (toy_chain_crf(0.01), 22),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_right_gradients_agree_with_differences(name):
    objective, size = OBJECTIVES[name]
    check = check_gradient(objective, np.random.default_rng(0).normal(size=size))
    assert check.max_error < 1e-9
    assert check.checked == size


@pytest.mark.parametrize("name", OBJECTIVES)
def test_one_wrong_slope_is_found_and_named(name):
    objective, size = OBJECTIVES[name]

    def wrong(theta):
        value, gradient = objective(theta)
        gradient = gradient.copy()
        gradient[size // 2] *= 1 + 1e-6
        return value, gradient

    check = check_gradient(wrong, np.random.default_rng(0).normal(size=size))
    assert check.max_error == pytest.approx(1e-6, rel=0.01)
    assert check.coordinate == size // 2
    assert check.analytic != check.numerical


def test_numerical_gradient_of_some_coordinates():
    theta = np.linspace(-1, 1, 10)
    assert numerical_gradient(rosenbrock, theta, [7, 2]) == pytest.approx(rosenbrock(theta)[1][[7, 2]], rel=1e-9)


def test_theta_is_left_as_it_was():
    theta = np.array([1.0, 2.0])
    numerical_gradient(rosenbrock, theta)
    assert theta.tolist() == [1.0, 2.0]


def test_zero_slopes_are_no_false_alarm():
    assert check_gradient(lambda t: (1e6 + 0 * t.sum(), np.zeros(3)), np.ones(3)).max_error == 0.0
    assert check_gradient(rosenbrock, np.ones(4)).max_error == 0.0


def test_differences_that_leave_the_domain_are_an_infinite_error():
    def barrier(theta):
        if theta[0] <= 0:
            return float("inf"), np.zeros(1)
        return -float(np.log(theta[0])), -1 / theta

    check = check_gradient(barrier, np.array([1e-4]))
    assert check.max_error == np.inf
    assert check_gradient(barrier, np.array([0.5])).max_error < 1e-8


def test_nothing_to_check_is_no_error():
    assert check_gradient(lambda t: (1.0, np.zeros(0)), np.empty(0)).max_error == 0.0


@pytest.mark.parametrize("wrong", [[2], [-1], [0, 5]])
def test_coordinates_outside_theta_are_refused(wrong):
    with pytest.raises(DataError, match="coordinates: "):
        numerical_gradient(rosenbrock, np.ones(2), wrong)

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.errors import DataError
from textmill.optimize import coordinate_update, kkt_violation, pseudo_gradient, soft_threshold
from textmill.optimize.penalty import penalty_vector
from textmill.optimize.vector import WORK_BLOCK


def threshold(z, t):
    """The three cases of the definition."""
    return z - t if z > t else z + t if z < -t else 0.0


def test_soft_threshold_has_the_published_values():
    assert [float(soft_threshold(z, 0.5)) for z in (1.2, 0.5, -0.3, -2.0)] == [0.7, 0.0, 0.0, -1.5]


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)), max_size=20))
def test_soft_threshold_is_its_definition_entry_by_entry(pairs):
    z, t = (np.array(column) for column in zip(*pairs, strict=True)) if pairs else (np.empty(0), np.empty(0))
    assert soft_threshold(z, t).tolist() == [threshold(*pair) for pair in pairs]


def test_soft_threshold_of_a_number_that_is_not_one_stays_so():
    assert math.isnan(float(soft_threshold(math.nan, 1.0)))
    assert float(soft_threshold(math.inf, 1.0)) == math.inf


def test_coordinate_update_has_the_published_values():
    assert float(coordinate_update(0.3, -1.1, 0.8, l1=0.5, l2=1e-5)) == pytest.approx(1.0499869, abs=5e-8)
    assert float(coordinate_update(0.3, 0.1, 0.8, l1=0.5, l2=1e-5)) == 0.0


@settings(derandomize=True, deadline=None)
@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(0.1, 5), st.floats(0, 3), st.floats(0, 3), st.floats(-6, 6))
def test_coordinate_update_minimizes_the_quadratic_model(theta, slope, curvature, l1, l2, other):
    def model(x):
        return slope * (x - theta) + curvature / 2 * (x - theta) ** 2 + l1 * abs(x) + l2 / 2 * x * x

    assert model(float(coordinate_update(theta, slope, curvature, l1, l2))) <= model(other) + 1e-9


def test_pseudo_gradient_has_the_published_values():
    theta = np.array([0.5, -0.2, 0.1, 0.3, 0.4, 0, 0, -0.3, 0, 0.7, 0, 0])
    unigram = [-0.514402, 0.514402, 0.415043, -0.415043]
    pairs = [0.311390, 0.103653, -0.572362, 0.157319, 0.277326, -0.530757, 0.137716, 0.115714]
    gradient = np.array(unigram + pairs)
    expected = [-0.014397, 0.014400, 0.915044, 0.084960, 0.811394, 0, -0.072362, -0.342684, 0, -0.030750, 0, 0]
    assert pseudo_gradient(theta, gradient + 1e-5 * theta, 0.5) == pytest.approx(np.array(expected), abs=2e-6)


@settings(derandomize=True, deadline=None)
@given(st.sampled_from([-1.5, 0.0, 0.7]), st.floats(-3, 3), st.floats(0, 2))
def test_pseudo_gradient_is_the_steepest_one_sided_slope(at, slope, l1):
    tiny = 1e-6

    def penalized(x):
        return slope * (x - at) + l1 * abs(x)

    right = (penalized(at + tiny) - penalized(at)) / tiny
    left = (penalized(at - tiny) - penalized(at)) / tiny
    expected = right if right < 0 else -left if left < 0 else 0.0
    assert float(pseudo_gradient(np.array([at]), np.array([slope]), l1)[0]) == pytest.approx(expected, abs=1e-8)


def test_kkt_report_counts_what_is_wrong():
    theta = np.array([1.0, -1.0, 0.0, 0.0, 2.0, 3.0, 0.0])
    gradient = np.array([-1.0, 0.5, 0.9, -1.25, 0.5, 0.25, 0.125])
    report = kkt_violation(theta, gradient, np.array([1.0, 1, 1, 1, 1, 0, 0]))
    # violations: 0, 0.5, 0, 0.25, 1.5 (the slope has the sign of theta), 0.25 and 0.125 (free coordinates)
    assert (report.maximum, report.worst, report.violations, report.active) == (1.5, 4, 5, 4)
    assert report.sign_errors == 1
    assert not report.optimal
    assert "not optimal" in str(report)
    assert kkt_violation(theta, gradient, np.array([1.0, 1, 1, 1, 1, 0, 0]), tolerance=0.25).violations == 2


def test_kkt_report_adds_the_l2_term_when_told():
    theta = np.array([0.5, 0.0])
    assert kkt_violation(theta, np.array([-2.0, 0.5]), 1.0, l2=2.0).maximum == 0.0
    assert kkt_violation(theta, np.array([-2.0, 0.5]), 1.0).maximum == 1.0


def test_kkt_report_is_the_same_across_blocks():
    random = np.random.default_rng(0)
    theta = random.normal(size=2 * WORK_BLOCK + 10) * (random.random(2 * WORK_BLOCK + 10) < 0.3)
    gradient = random.normal(size=len(theta))
    gradient[WORK_BLOCK + 7] = 100.0
    violation = np.abs(pseudo_gradient(theta, gradient, 0.5))
    report = kkt_violation(theta, gradient, 0.5, tolerance=0.1)
    assert (report.maximum, report.worst) == (violation.max(), violation.argmax())
    assert report.violations == (violation > 0.1).sum()
    assert report.active == (theta != 0).sum()
    assert report.sign_errors == (gradient * theta > 0).sum()


def test_kkt_report_of_a_gradient_that_is_not_finite_is_not_optimal():
    report = kkt_violation(np.zeros(3), np.array([0.0, math.nan, 9.0]), 1.0)
    assert math.isnan(report.maximum)
    assert report.worst == 1
    assert report.violations == 2


def test_kkt_report_of_nothing_is_optimal():
    assert kkt_violation(np.empty(0), np.empty(0), 1.0).optimal


def test_kkt_report_refuses_unequal_vectors():
    with pytest.raises(DataError, match=r"\(2,\)"):
        kkt_violation(np.zeros(2), np.zeros(3), 1.0)


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf, [1.0, 2.0], [[1.0, 1.0, 1.0]], [1.0, -1.0, 1.0], "much"])
def test_penalties_that_are_none_are_refused(wrong):
    with pytest.raises(DataError, match="l1: "):
        penalty_vector(wrong, 3)

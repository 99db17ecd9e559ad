from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from reference.objectives import classification, logistic, quadratic, rosenbrock, split_l1, toy_chain_crf
from scipy.optimize import minimize
from sklearn.linear_model import Lasso, LogisticRegression

from textmill.errors import DataError
from textmill.optimize import Stopping, kkt_violation, minimize_lbfgs, minimize_owlqn, pseudo_gradient, soft_threshold

TIGHT = Stopping(gradient_tolerance=1e-10, violation_tolerance=1e-9, tolerance=0.0, max_iter=20_000)
both_alignments = pytest.mark.parametrize("align", ["all", "zeros"])


def penalized(objective, theta, l1):
    return objective(theta)[0] + float(np.sum(l1 * np.abs(theta)))


@both_alignments
@pytest.mark.parametrize("seed", range(5))
def test_separable_quadratic_has_the_soft_threshold_as_its_minimum(seed, align):
    random = np.random.default_rng(seed)
    center, curvature, l1 = random.normal(size=40) * 2, random.uniform(0.5, 4, 40), random.uniform(0, 3, 40)
    l1[:5] = 0.0
    found = minimize_owlqn(
        lambda t: (float(curvature @ (t - center) ** 2) / 2, curvature * (t - center)),
        random.normal(size=40),
        l1=l1,
        stopping=TIGHT,
        align=align,
    )
    expected = soft_threshold(center, l1 / curvature)
    assert found.theta == pytest.approx(expected, abs=1e-7)
    assert ((found.theta == 0) == (expected == 0)).all()


@both_alignments
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
def test_lasso_agrees_with_scikit_learn(alpha, align):
    random = np.random.default_rng(7)
    features = random.normal(size=(120, 30)) @ np.diag(np.linspace(0.3, 2, 30))
    target = features[:, :6] @ random.normal(size=6) + random.normal(size=120)

    def objective(theta):
        residual = features @ theta - target
        return float(residual @ residual) / 240, features.T @ residual / 120

    reference = Lasso(alpha=alpha, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(features, target).coef_
    found = minimize_owlqn(objective, np.zeros(30), l1=alpha, stopping=TIGHT, align=align)
    assert found.value == pytest.approx(penalized(objective, reference, alpha), rel=1e-8)
    assert found.theta == pytest.approx(reference, abs=1e-6)
    assert ((found.theta == 0) == (reference == 0)).all()
    assert kkt_violation(found.theta, found.gradient, alpha).optimal


@both_alignments
@pytest.mark.parametrize("l1", [0.5, 3.0, 10.0])
def test_logistic_regression_agrees_with_scikit_learn(l1, align):
    features, labels = classification(200, 25, seed=4)
    objective = logistic(features, labels)
    model = LogisticRegression(
        l1_ratio=1.0, C=1 / l1, solver="liblinear", fit_intercept=False, tol=1e-12, max_iter=100_000, random_state=0
    )
    reference = model.fit(features, labels).coef_[0]
    found = minimize_owlqn(objective, np.zeros(25), l1=l1, stopping=TIGHT, align=align)
    assert found.value == pytest.approx(penalized(objective, reference, l1), rel=1e-8)
    assert found.value <= penalized(objective, reference, l1) * (1 + 1e-12)
    assert ((found.theta == 0) == (reference == 0)).all()
    assert kkt_violation(found.theta, found.gradient, l1, tolerance=1e-5).optimal


@both_alignments
@pytest.mark.parametrize(
    ("l1", "l2", "value", "loss", "active"),
    [
        (0.5, 0.01, 6.90136158, 2.54770398, 9),
        (0.3, 0.01, 4.94833377, 1.55168629, 9),
        (0.1, 0.01, 2.31983045, 0.58021010, 12),
    ],
)
def test_published_optimum_of_a_small_conditional_random_field(l1, l2, value, loss, active, align):
    objective = toy_chain_crf(l2)
    found = minimize_owlqn(objective, np.zeros(22), l1=l1, stopping=TIGHT, align=align)
    assert found.value == pytest.approx(value, abs=6e-9)
    assert toy_chain_crf(0.0)(found.theta)[0] == pytest.approx(loss, abs=1e-6)
    assert found.report.active[-1] == active
    zero = found.theta == 0
    assert (np.abs(found.gradient[zero]) <= l1 + 1e-6).all()
    assert (np.abs(found.gradient[~zero] + l1 * np.sign(found.theta[~zero])) <= 1e-5).all()
    assert all(after < before for before, after in pairwise(found.report.values))


def test_published_weights_of_the_small_conditional_random_field():
    theta = minimize_owlqn(toy_chain_crf(0.01), np.zeros(22), l1=0.5, stopping=TIGHT).theta
    expected = np.zeros(22)
    expected[[0, 1, 4, 5]] = 0.88157, -0.88157, -0.99876, 0.99876
    expected[14:18] = 1.02001, -0.89999, -1.14998, 1.02996
    expected[19] = 0.76305
    assert theta == pytest.approx(expected, abs=1e-5)


def test_penalty_above_the_largest_slope_at_zero_gives_zero():
    found = minimize_owlqn(toy_chain_crf(0.01), np.zeros(22), l1=2.75)
    assert (found.report.iterations, found.report.active) == (0, (0,))
    assert found.value == pytest.approx(19 * np.log(2), rel=1e-12)
    assert minimize_owlqn(toy_chain_crf(0.01), np.zeros(22), l1=2.74).report.active[-1] > 0
    assert minimize_owlqn(toy_chain_crf(0.01), np.ones(22), l1=2.75).theta.tolist() == [0.0] * 22


@both_alignments
@pytest.mark.parametrize("seed", range(4))
def test_split_formulation_has_the_same_minimum(seed, align):
    objective = logistic(*classification(150, 20, seed), l2=0.05)
    found = minimize_owlqn(objective, np.zeros(20), l1=2.0, stopping=TIGHT, align=align)
    reference = minimize(
        split_l1(objective, 20, 2.0),
        np.zeros(40),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * 40,
        options={"ftol": 0.0, "gtol": 1e-10, "maxiter": 20_000, "maxfun": 50_000},
    )
    assert found.value == pytest.approx(reference.fun, rel=1e-9)
    assert found.theta == pytest.approx(reference.x[:20] - reference.x[20:], abs=1e-5)


@both_alignments
def test_free_coordinates_may_cross_zero(align):
    features, labels = classification(200, 10, seed=2)
    features = np.column_stack([np.ones(200), features])
    objective = logistic(features, np.where(np.arange(200) < 150, 1.0, labels))
    l1 = np.r_[0.0, np.full(10, 4.0)]
    found = minimize_owlqn(objective, np.r_[-1.0, np.zeros(10)], l1=l1, stopping=TIGHT, align=align)
    assert found.theta[0] > 0
    assert abs(found.gradient[0]) < 1e-6
    assert kkt_violation(found.theta, found.gradient, l1).optimal


def test_penalized_coordinates_stop_at_zero_before_they_change_sign():
    thetas = [np.ones(2)]
    minimize_owlqn(
        lambda t: (float(((t + 3) ** 2).sum()), 2 * (t + 3)),
        thetas[0],
        l1=[0.1, 0.0],
        callback=lambda now: thetas.append(now.theta.copy()),
    )
    signs = np.sign(thetas)
    assert (signs[1:, 0] * signs[:-1, 0] >= 0).all()
    assert (signs[1:, 1] * signs[:-1, 1] < 0).any()


@both_alignments
def test_a_coordinate_leaves_zero_only_down_its_pseudo_gradient(align):
    objective = logistic(*classification(60, 30, seed=8))
    thetas = [np.zeros(30)]
    minimize_owlqn(
        objective, thetas[0], l1=1.0, align=align, callback=lambda now: thetas.append(now.theta.copy()), stopping=TIGHT
    )
    left = 0
    for before, after in pairwise(thetas):
        downhill = -np.sign(pseudo_gradient(before, objective(before)[1], 1.0))
        moved = (before == 0) & (after != 0)
        left += moved.sum()
        assert (np.sign(after[moved]) == downhill[moved]).all()
        if align == "all":
            assert ((after - before) * downhill >= 0).all()
    assert left > 10


def test_free_coordinates_keep_the_curvature_of_the_direction():
    objective, _ = quadratic(1e3, 60, seed=5)
    rule = Stopping(gradient_tolerance=0, violation_tolerance=1e-5, tolerance=0, max_iter=20_000)
    free = minimize_owlqn(objective, np.zeros(60), l1=0.0, stopping=rule).report
    smooth = minimize_lbfgs(objective, np.zeros(60), memory=5, stopping=rule).report
    assert free.evaluations < 1.5 * smooth.evaluations


def test_without_a_penalty_it_finds_the_smooth_minimum():
    objective, _ = quadratic(50.0, 12)
    smooth = minimize_lbfgs(objective, np.zeros(12), stopping=TIGHT)
    assert minimize_owlqn(objective, np.zeros(12), l1=0.0, stopping=TIGHT).theta == pytest.approx(
        smooth.theta, abs=1e-6
    )


def test_alignment_at_zeros_alone_needs_fewer_evaluations_when_badly_scaled():
    objective, _ = quadratic(1e3, 60, seed=5)
    rule = Stopping(gradient_tolerance=0, violation_tolerance=1e-5, tolerance=0, max_iter=20_000)
    runs = {
        align: minimize_owlqn(objective, np.zeros(60), l1=0.2, stopping=rule, align=align) for align in ("all", "zeros")
    }
    assert runs["zeros"].value == pytest.approx(runs["all"].value, rel=1e-9)
    assert ((runs["zeros"].theta == 0) == (runs["all"].theta == 0)).all()
    assert runs["zeros"].report.evaluations < runs["all"].report.evaluations / 2


def test_rosenbrock_with_a_penalty_reaches_a_point_without_violations():
    found = minimize_owlqn(rosenbrock, np.full(10, 0.5), l1=0.01, align="zeros", stopping=TIGHT)
    assert kkt_violation(found.theta, found.gradient, 0.01, tolerance=1e-5).optimal


def test_violation_rule_bounds_the_kkt_violation():
    objective = logistic(*classification(200, 25, seed=4))
    found = minimize_owlqn(
        objective,
        np.zeros(25),
        l1=2.0,
        stopping=Stopping(gradient_tolerance=0, tolerance=0, violation_tolerance=1e-3 * 2.0),
    )
    report = kkt_violation(found.theta, found.gradient, 2.0, tolerance=1e-3 * 2.0)
    assert found.report.reason == "gradient"
    assert report.optimal
    assert report.maximum == found.report.violations[-1]


@pytest.mark.parametrize("wrong", [-0.1, np.nan, [1.0, 2.0, 3.0], "strong"])
def test_wrong_penalties_are_refused(wrong):
    with pytest.raises(DataError, match="l1: "):
        minimize_owlqn(rosenbrock, np.zeros(2), l1=wrong)


def test_unknown_alignment_is_refused():
    with pytest.raises(DataError, match="align='some'"):
        minimize_owlqn(rosenbrock, np.zeros(2), l1=1.0, align="some")


@both_alignments
def test_a_diagonal_of_the_curvatures_finds_the_soft_threshold_in_a_few_iterations(align):
    random = np.random.default_rng(3)
    curvature = np.logspace(-4, 4, 50)
    center, l1 = random.normal(size=50) * 2, curvature * random.uniform(0, 2, 50)
    rule = Stopping(gradient_tolerance=0, tolerance=0, max_iter=12)

    def run(diagonal):
        def objective(theta):
            return float(curvature @ (theta - center) ** 2) / 2, curvature * (theta - center)

        return minimize_owlqn(objective, np.zeros(50), l1=l1, stopping=rule, align=align, diagonal=diagonal).theta

    expected = soft_threshold(center, l1 / curvature)
    assert run(curvature) == pytest.approx(expected, abs=1e-6)
    assert np.abs(run(None) - expected).max() > 0.1


@both_alignments
def test_a_rough_diagonal_leaves_the_minimum_where_it_is(align):
    objective = logistic(*classification(150, 20, seed=8))
    rough = np.random.default_rng(0).uniform(0.01, 100, 20)
    plain = minimize_owlqn(objective, np.zeros(20), l1=1.5, stopping=TIGHT, align=align)
    other = minimize_owlqn(objective, np.zeros(20), l1=1.5, stopping=TIGHT, align=align, diagonal=rough)
    assert other.theta == pytest.approx(plain.theta, abs=1e-6)
    assert kkt_violation(other.theta, other.gradient, 1.5, tolerance=1e-6).optimal

from __future__ import annotations

import numpy as np
import pytest
from reference.objectives import Counted, classification, logistic, quadratic, rosenbrock
from scipy.optimize import minimize

from textmill.errors import DataError
from textmill.optimize import History, Stopping, minimize_lbfgs

TIGHT = Stopping(gradient_tolerance=1e-9, tolerance=0.0, max_iter=20_000)


def scipy_lbfgs(objective, start, memory=10):
    options = {"maxcor": memory, "ftol": 0.0, "gtol": 1e-9, "maxiter": 20_000, "maxfun": 50_000}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options)


@pytest.mark.parametrize(("condition", "size"), [(1.0, 1), (10.0, 3), (100.0, 30), (1e4, 20)])
def test_minimum_of_a_quadratic(condition, size):
    objective, expected = quadratic(condition, size)
    found = minimize_lbfgs(objective, np.zeros(size), stopping=TIGHT)
    reference = scipy_lbfgs(objective, np.zeros(size))
    assert found.value == pytest.approx(reference.fun, rel=1e-10)
    assert found.theta == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("size", [2, 3, 10, 30, 100])
def test_minimum_of_rosenbrock_is_at_one(size):
    found = minimize_lbfgs(rosenbrock, np.full(size, 0.5), stopping=TIGHT)
    assert found.value < 1e-12
    assert found.theta == pytest.approx(np.ones(size), abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("l2", [0.01, 1.0])
def test_logistic_regression_agrees_with_scipy(seed, l2):
    objective = logistic(*classification(300, 12, seed), l2=l2)
    found = minimize_lbfgs(objective, np.zeros(12), stopping=TIGHT)
    reference = scipy_lbfgs(objective, np.zeros(12))
    assert found.value == pytest.approx(reference.fun, rel=1e-10)
    assert found.theta == pytest.approx(reference.x, abs=1e-6)


@pytest.mark.parametrize("memory", [1, 3, 5, 10, 40])
def test_any_memory_reaches_the_minimum(memory):
    objective, expected = quadratic(100.0, 15)
    assert minimize_lbfgs(objective, np.zeros(15), memory=memory, stopping=TIGHT).theta == pytest.approx(
        expected, abs=1e-6
    )


def test_badly_scaled_coordinates():
    scale = np.logspace(0, 8, 9)
    found = minimize_lbfgs(
        lambda t: (float(scale @ (t - 1) ** 2) / 2, scale * (t - 1)), np.zeros(9), memory=50, stopping=TIGHT
    )
    assert found.theta == pytest.approx(np.ones(9), abs=1e-6)


def test_number_of_evaluations_is_that_of_scipy():
    problems = [(rosenbrock, np.full(size, 0.5)) for size in (2, 10, 30, 100)]
    problems += [(quadratic(condition, 30)[0], np.zeros(30)) for condition in (10.0, 100.0, 1e3)]
    problems += [(logistic(*classification(300, 20, seed), l2=0.1), np.zeros(20)) for seed in range(5)]
    ours = theirs = 0
    for objective, start in problems:
        counted = Counted(objective)
        minimize_lbfgs(counted, start, stopping=Stopping(gradient_tolerance=1e-6, tolerance=0))
        ours += counted.calls
        counted = Counted(objective)
        minimize(
            counted, start, jac=True, method="L-BFGS-B", options={"maxcor": 10, "ftol": 0, "gtol": 1e-6, "maxfun": 9999}
        )
        theirs += counted.calls
    assert ours <= 1.1 * theirs


def test_pairs_make_the_inverse_hessian_of_the_bfgs_formula():
    random = np.random.default_rng(0)
    history = History(5, memory=3)
    hessian = np.diag(np.arange(1.0, 6.0))
    pairs = [(s, hessian @ s) for s in random.normal(size=(6, 5))]
    for s, y in pairs:
        assert history.add(s, y)
    s, y = pairs[-1]
    inverse = np.eye(5) * (s @ y) / (y @ y)
    for s, y in pairs[-3:]:
        left = np.eye(5) - np.outer(s, y) / (s @ y)
        inverse = left @ inverse @ left.T + np.outer(s, s) / (s @ y)
    vector = random.normal(size=5)
    expected = inverse @ vector
    history.apply(vector)
    assert vector == pytest.approx(expected, rel=1e-12)
    assert len(history) == 3
    assert np.array_equal(history.pairs()[0], [s for s, _ in pairs[-3:]])
    assert np.array_equal(history.pairs()[1], [y for _, y in pairs[-3:]])


@pytest.mark.parametrize(
    ("s", "y"),
    [
        ([1.0, 0.0], [-1.0, 0.0]),
        ([1.0, 0.0], [0.0, 1.0]),
        ([0.0, 0.0], [1.0, 0.0]),
        ([1.0, 0.0], [0.0, 0.0]),
        ([1.0, 0.0], [1e-13, 1.0]),
        ([1.0, 0.0], [1e-170, 0.0]),
    ],
)
def test_pairs_without_positive_curvature_are_skipped(s, y):
    history = History(2, memory=2)
    history.add(np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    assert not history.add(np.array(s), np.array(y))
    assert len(history) == 1
    q = np.array([1.0, 1.0])
    history.apply(q)
    assert q.tolist() == [0.5, 0.5]


def test_a_run_goes_on_exactly_from_saved_pairs():
    start = np.linspace(-1, 1, 20)
    whole = []
    minimize_lbfgs(
        rosenbrock, start, stopping=Stopping(max_iter=30), callback=lambda now: whole.append(now.theta.copy())
    )
    history = History(20, memory=10)
    half = minimize_lbfgs(rosenbrock, start, stopping=Stopping(max_iter=13), history=history)
    restored = History(20, memory=10)
    for s, y in zip(*history.pairs(), strict=True):
        restored.add(s, y)
    rest = minimize_lbfgs(rosenbrock, half.theta, stopping=Stopping(max_iter=17), history=restored)
    assert rest.theta.tobytes() == whole[-1].tobytes()
    afresh = minimize_lbfgs(rosenbrock, half.theta, stopping=Stopping(max_iter=17))
    assert afresh.theta.tobytes() != whole[-1].tobytes()


def test_misleading_pairs_are_forgotten():
    history = History(2, memory=2)
    history.add(np.array([1e8, 0.0]), np.array([1e-8, 0.0]))  # promises a step 10^16 times the gradient
    found = minimize_lbfgs(lambda t: (float(t @ t), 2 * t), np.array([1.0, 2.0]), history=history, trials=5)
    assert found.theta == pytest.approx(np.zeros(2), abs=1e-5)


def test_frozen_coordinates_stay():
    def frozen(theta):
        value, gradient = rosenbrock(theta)
        gradient[[1, 3]] = 0.0
        return value, gradient

    found = minimize_lbfgs(frozen, np.array([0.5, 0.0, 0.5, 0.25, 2.0]))
    assert found.theta[[1, 3]].tolist() == [0.0, 0.25]


def test_wrong_memory_and_history_are_refused():
    with pytest.raises(DataError, match="memory=0"):
        minimize_lbfgs(rosenbrock, np.zeros(2), memory=0)
    with pytest.raises(DataError, match="history: is for 3 coordinates"):
        minimize_lbfgs(rosenbrock, np.zeros(2), history=History(3, memory=2))


def inverse_hessian(s, y, diagonal):
    """The matrix H by its definition: BFGS updates of (s.y / y.(y / D)) / D, oldest pair first."""
    size = len(diagonal)
    h = np.diag(s[-1] @ y[-1] / (y[-1] @ (y[-1] / diagonal)) / diagonal)
    for a, b in zip(s, y, strict=True):
        left = np.eye(size) - np.outer(a, b) / (a @ b)
        h = left @ h @ left.T + np.outer(a, a) / (a @ b)
    return h


@pytest.mark.parametrize("pairs", [1, 3])
def test_history_with_a_diagonal_is_the_bfgs_matrix(pairs):
    random = np.random.default_rng(pairs)
    hessian = np.diag(np.logspace(-2, 2, 7))
    diagonal = random.uniform(0.1, 10, 7)
    history = History(7, memory=pairs, diagonal=diagonal)
    moves = random.normal(size=(pairs + 2, 7))
    for s in moves:
        assert history.add(s, hessian @ s)
    kept = moves[-pairs:]
    expected = inverse_hessian(kept, kept @ hessian, diagonal)
    q = random.normal(size=7)
    product = q.copy()
    history.apply(product)
    assert product == pytest.approx(expected @ q, rel=1e-9)
    newest = hessian @ kept[-1]
    history.apply(newest)
    assert newest == pytest.approx(kept[-1], rel=1e-9, abs=1e-9)  # the secant equation H y = s


def test_history_without_pairs_divides_by_the_diagonal():
    q = np.array([6.0, 8.0])
    History(2, memory=2, diagonal=np.array([2.0, 4.0])).apply(q)
    assert q.tolist() == [3.0, 2.0]


def test_the_right_diagonal_undoes_the_scales_of_coordinates():
    # f(S theta) with D = S^2 is f with D = 1 in other coordinates: step for step the same run
    scale = np.logspace(-3, 3, 10)

    def scaled(theta):
        value, gradient = rosenbrock(scale * theta)
        return value, scale * gradient

    rule = Stopping(gradient_tolerance=0, tolerance=0, max_iter=25)
    plain = minimize_lbfgs(rosenbrock, np.full(10, 0.5), stopping=rule).report
    right = minimize_lbfgs(scaled, np.full(10, 0.5) / scale, stopping=rule, diagonal=scale**2).report
    wrong = minimize_lbfgs(scaled, np.full(10, 0.5) / scale, stopping=rule).report
    assert right.values == pytest.approx(plain.values, rel=1e-5)
    assert wrong.values[-1] > 10 * right.values[-1]


@pytest.mark.parametrize("wrong", [np.ones(3), np.zeros(2), -np.ones(2), np.array([1.0, np.nan]), np.full(2, np.inf)])
def test_wrong_diagonals_are_refused(wrong):
    with pytest.raises(DataError, match="diagonal: has "):
        minimize_lbfgs(rosenbrock, np.zeros(2), diagonal=wrong)


def test_a_diagonal_beside_a_history_is_refused():
    with pytest.raises(DataError, match="diagonal: stands beside a history"):
        minimize_lbfgs(rosenbrock, np.zeros(2), history=History(2, memory=3), diagonal=np.ones(2))

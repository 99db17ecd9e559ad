from __future__ import annotations

import numpy as np
import pytest
from reference.objectives import Counted, classification, logistic, quadratic, rosenbrock
from scipy.optimize import minimize

from textmill.errors import DataError
from textmill.optimize import Stopping, minimize_cg

TIGHT = Stopping(gradient_tolerance=1e-9, tolerance=0.0, max_iter=20_000)
both_formulas = pytest.mark.parametrize("beta", ["fletcher-reeves", "polak-ribiere"])


@both_formulas
@pytest.mark.parametrize(("condition", "size"), [(1.0, 1), (10.0, 3), (100.0, 30), (1e3, 20)])
def test_minimum_of_a_quadratic(condition, size, beta):
    objective, expected = quadratic(condition, size)
    assert minimize_cg(objective, np.zeros(size), beta=beta, stopping=TIGHT).theta == pytest.approx(expected, abs=1e-6)


@both_formulas
@pytest.mark.parametrize("size", [2, 3, 10, 100])
def test_minimum_of_rosenbrock_is_at_one(size, beta):
    found = minimize_cg(rosenbrock, np.full(size, 0.5), beta=beta, stopping=TIGHT)
    assert found.value < 1e-12
    assert found.theta == pytest.approx(np.ones(size), abs=1e-6)


@both_formulas
@pytest.mark.parametrize("seed", range(3))
def test_logistic_regression_agrees_with_scipy(seed, beta):
    objective = logistic(*classification(300, 12, seed), l2=0.1)
    found = minimize_cg(objective, np.zeros(12), beta=beta, stopping=TIGHT)
    reference = minimize(objective, np.zeros(12), jac=True, method="CG", options={"gtol": 1e-6})
    assert found.value == pytest.approx(reference.fun, rel=1e-10)
    assert found.theta == pytest.approx(reference.x, abs=1e-6)


@both_formulas
def test_number_of_evaluations_is_that_of_scipy(beta):
    problems = [(rosenbrock, np.full(size, 0.5)) for size in (2, 10, 30)]
    problems += [(quadratic(condition, 30)[0], np.zeros(30)) for condition in (10.0, 100.0, 1e3)]
    problems += [(logistic(*classification(300, 20, seed), l2=0.1), np.zeros(20)) for seed in range(5)]
    ours = theirs = 0
    for objective, start in problems:
        counted = Counted(objective)
        minimize_cg(counted, start, beta=beta, stopping=Stopping(gradient_tolerance=1e-5, tolerance=0, max_iter=5000))
        ours += counted.calls
        counted = Counted(objective)
        minimize(counted, start, jac=True, method="CG", options={"gtol": 1e-5, "maxiter": 5000})
        theirs += counted.calls
    assert ours <= 1.1 * theirs


@both_formulas
def test_nearly_exact_line_searches_solve_a_quadratic_in_about_as_many_iterations_as_it_has_eigenvalues(beta):
    scale = np.repeat([1.0, 4.0, 9.0], 20)  # three distinct eigenvalues
    found = minimize_cg(lambda t: (float(scale @ (t - 1) ** 2) / 2, scale * (t - 1)), np.zeros(60), beta=beta)
    assert found.report.iterations <= 9


def test_the_two_formulas_differ():
    runs = [minimize_cg(rosenbrock, np.full(5, 0.5), beta=beta) for beta in ("fletcher-reeves", "polak-ribiere")]
    assert runs[0].report.values != runs[1].report.values
    assert [run.report.method for run in runs] == ["cg-fletcher-reeves", "cg-polak-ribiere"]


def test_unknown_formula_is_refused():
    with pytest.raises(DataError, match="beta='newton'"):
        minimize_cg(rosenbrock, np.zeros(2), beta="newton")

"""Whatever says how near it is to an optimum, against a minimum that another solver finds slowly and tightly.

The solvers here share nothing with the package: dense NumPy and SciPy, L1 by splitting weights into two parts that are
not negative (L-BFGS-B), then Newton on the weights that are not zero; each minimum comes with a check of its own.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp

import textmill.linear
from textmill.linear import (
    CombinationLogistic,
    LogisticRegression,
    NotConverged,
    SupportVectorRegression,
    UtilityLogistic,
)
from textmill.linear.pairwise import PairwiseSVM
from textmill.linear.problem import Certificate, Penalty, Problem
from textmill.linear.solvers import minimize as train

_WORDS = ("gap", "converged", "certif", "bound", "violation")
_TRIED = {  # every estimator, and every other place that keeps one of these, is tried by the tests below
    "LogisticRegression": "fit, fit of chunks, path, certificate at any point",
    "CombinationLogistic": "fit",
    "SupportVectorRegression": "smo, cached smo, descent, descent of chunks",
    "PairwiseSVM": "converged_ alone: the conditions of optimality",
    "UtilityLogistic": "converged_ alone: the slope at what it found, which is no global optimum",
    "KernelModel": "base of the two with kernels",
    "Solved": "their solver's answer",
    "Certificate": "of LogisticRegression",
    "Optimality": "of LogisticRegression",
    "Problem": "of LogisticRegression",
    "Solution": "minimize",
    "_Hessian": "minimize",
    "_Sum": "of chunks",
    "_Grafting": "of CombinationLogistic",
}


def bearers() -> set[str]:
    """Classes of the package with an attribute, a saved value or a method that is named like a proof."""
    found = set()
    for module in pkgutil.walk_packages(textmill.linear.__path__, "textmill.linear."):
        for name, kind in vars(importlib.import_module(module.name)).items():
            if not inspect.isclass(kind) or kind.__module__ != module.name:
                continue
            state = getattr(kind, "state", None)
            names = {*vars(kind), *vars(kind).get("__annotations__", {}), *(state if isinstance(state, dict) else ())}
            if any(word in one for one in names for word in _WORDS if one != "bounded"):
                found.add(name)
    return found


def test_every_estimator_that_claims_a_bound_is_tried_here() -> None:
    found = bearers()
    sys.stdout.write(f"{len(found)} classes keep a gap, a bound, a certificate or say that they converged\n")
    assert found == set(_TRIED)


@dataclass(frozen=True)
class Case:
    """Rows, labels, weights of rows, and what to minimize."""

    name: str
    X: Any
    y: Any
    weights: Any
    l1: float
    l2: float
    intercept: bool

    @property
    def margins(self) -> int:
        classes = len(np.unique(self.y))
        return 1 if classes == 2 else classes

    def value(self, theta: Any) -> tuple[float, Any]:
        """Loss and L2 penalty, and their slope, straight from the definition; the last column is the intercept."""
        X = np.column_stack([np.asarray(self.X.todense()), np.full(self.X.shape[0], float(self.intercept))])
        W = theta.reshape(self.margins, -1)
        z = X @ W.T
        z = np.column_stack([np.zeros(len(z)), z]) if self.margins == 1 else z
        at = np.arange(len(z)), np.unique(self.y, return_inverse=True)[1]
        norm = logsumexp(z, axis=1)
        p = np.exp(z - norm[:, None])
        p[at] -= 1.0
        slope = (self.weights[:, None] * p).T @ X
        slope = slope[1:] if self.margins == 1 else slope
        ridge = W.copy()
        ridge[:, -1] = 0.0
        loss = float(self.weights @ (norm - z[at])) + self.l2 / 2 * float((ridge**2).sum())
        return loss, (slope + self.l2 * ridge).ravel()

    def objective(self, theta: Any) -> float:
        return self.value(theta)[0] + self.l1 * float(np.abs(theta.reshape(self.margins, -1)[:, :-1]).sum())

    def minimum(self) -> float:
        """The least objective, found as a smooth problem over u, v >= 0 with w = u - v; never below the truth."""
        columns = self.X.shape[1] + 1
        size = self.margins * columns
        price = np.full((self.margins, columns), self.l1)
        price[:, -1] = 0.0
        price = price.ravel()

        def split(both: Any) -> tuple[float, Any]:
            value, slope = self.value(both[:size] - both[size:])
            return value + float(price @ (both[:size] + both[size:])), np.concatenate([slope + price, price - slope])

        both, best = np.zeros(2 * size), np.inf
        for _ in range(20):
            run = minimize(
                split, both, jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * size),
                options={"maxiter": 20000, "maxfun": 100000, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 40},
            )  # fmt: skip
            theta = run.x[:size] - run.x[size:]
            value = self.objective(theta)
            if best - value <= 1e-13 * abs(value):
                break
            best, both = min(best, value), np.concatenate([np.maximum(theta, 0), np.maximum(-theta, 0)])
        return min(best, value)


def cases() -> Iterator[Case]:
    """Thirty-six problems: dense, sparse, unscaled, separable, few rows, several classes, weights; all penalties."""
    penalties = {"l1": (0.7, 0.0), "l2": (0.0, 0.5), "both": (0.3, 0.2)}
    shapes = {
        "dense": (120, 8, 1.0, 2),
        "sparse": (150, 40, 0.1, 2),
        "unscaled": (100, 6, 1.0, 2),
        "separable": (60, 6, 1.0, 2),
        "few rows": (12, 40, 0.3, 2),
        "three classes": (120, 10, 0.4, 3),
        "five classes, skewed": (150, 8, 0.5, 5),
        "separable, four classes": (80, 10, 1.0, 4),
        "weights": (100, 10, 0.5, 2),
        "weights, three classes": (90, 8, 0.5, 3),
        "one row of a class": (50, 5, 1.0, 2),
        "no feature tells": (80, 4, 1.0, 2),
    }
    for number, (name, (rows, columns, density, classes)) in enumerate(shapes.items()):
        rng = np.random.default_rng(number)
        dense = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < density)
        if name == "unscaled":
            dense = dense * 10.0 ** rng.integers(-2, 3, columns) + 5.0
        noise = 0.0 if "separable" in name else 2.0
        scores = dense @ rng.normal(size=(columns, classes)) / max(1.0, np.abs(dense).max())
        y = (scores + noise * rng.gumbel(size=scores.shape) - 0.7 * np.arange(classes) * ("skewed" in name)).argmax(
            axis=1
        )
        if name == "one row of a class":
            y = (np.arange(rows) == 7).astype(int)
        y[:classes] = np.arange(classes)
        weights = rng.integers(0, 4, rows) * 0.7 if "weights" in name else np.ones(rows)
        weights[:classes] = 1.0
        for kind, (l1, l2) in penalties.items():
            scale = 0.01 if "separable" in name else 1.0
            for intercept in (True,) if kind == "both" else (True, False):
                title = f"{name}, {kind}{'' if intercept else ', no intercept'}"
                yield Case(title, sparse.csr_matrix(dense), y, weights, scale * l1, scale * l2, intercept)


_CASES = list(cases())


def test_there_are_at_least_thirty_problems() -> None:
    sys.stdout.write(f"{len(_CASES)} problems\n")
    assert len(_CASES) >= 30


def check(name: str, objective: float, gap: float | None, converged: bool, least: float, tolerance: float) -> None:
    """A bound that holds, an objective that is one, and no success that is none."""
    rounding = 1e-9 * max(1.0, abs(least))
    assert gap is not None, name
    assert objective >= least - rounding, f"{name}: objective {objective!r} below the minimum {least!r}"
    assert objective - gap <= least + rounding, f"{name}: {objective - gap!r} is no lower bound of {least!r}"
    if converged:
        assert gap <= tolerance * abs(objective) * (1 + 1e-9) + rounding, f"{name}: converged with the gap {gap}"


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_bounds_of_logistic_regression_hold_at_any_point(case: Case) -> None:
    least = case.minimum()
    settings = {"l1": case.l1, "l2": case.l2, "intercept": case.intercept}
    chunks = [(case.X[a::3], case.y[a::3], case.weights[a::3]) for a in range(3)]
    for tolerance in (1e-2, 1e-4, 1e-7):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = LogisticRegression(**settings, tolerance=tolerance).fit(case.X, case.y, case.weights)
        check(case.name, model.objective_, model.gap_, model.converged_, least, tolerance)
        assert model.converged_ or tolerance < 1e-6, (case.name, model.stop_reason_, model.gap_)
        assert model.converged_ != any(issubclass(one.category, NotConverged) for one in said)
        assert model.objective_ <= least * (1 + tolerance) + 1e-9
        proof = model.certificate(case.X, case.y, case.weights)
        check(case.name, proof.objective, proof.gap, False, least, tolerance)
        assert proof.objective == pytest.approx(model.objective_, rel=1e-9)
    for tolerance in (1e-2, 1e-4):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            parts = LogisticRegression(**settings, tolerance=tolerance).fit(chunks)
        check(f"{case.name}, chunks", parts.objective_, parts.gap_, parts.converged_, least, tolerance)
        assert parts.converged_ or any(issubclass(one.category, NotConverged) for one in said)
        assert parts.converged_ or tolerance < 1e-2, case.name
    for most in (0, 1, 3):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            early = LogisticRegression(**settings, tolerance=1e-12, max_iter=most).fit(case.X, case.y, case.weights)
        check(f"{case.name}, {most}", early.objective_, early.gap_, early.converged_, least, 1e-12)
        assert early.converged_ or any(issubclass(one.category, NotConverged) for one in said)
    rng = np.random.default_rng(1)
    labels = np.unique(case.y, return_inverse=True)[1].astype(np.int32)
    problem = Problem(case.X, labels, len(np.unique(labels)), case.weights, intercept=case.intercept, threads=1)
    for size in (0.0, 0.1, 3.0, 100.0):
        coef = size * rng.normal(size=(case.margins, case.X.shape[1]))
        shift = size * rng.normal(size=case.margins) * case.intercept
        proof = problem.certificate(coef, shift, Penalty(case.l1, case.l2))
        check(f"{case.name}, anywhere", proof.objective, proof.gap, False, least, 0.0)
        assert proof.objective == pytest.approx(case.objective(np.column_stack([coef, shift]).ravel()), rel=1e-9)
    seen: list[Certificate] = []
    run = train(problem, Penalty(case.l1, case.l2), tolerance=1e-4, max_iter=600, watch=lambda _, one: seen.append(one))
    assert run.converged
    for one in seen:
        check(f"{case.name}, on the way", one.objective, one.gap, False, least, 0.0)


@pytest.mark.parametrize("case", [case for case in _CASES if case.l1 > 0], ids=lambda case: case.name)
def test_bounds_of_paths_hold(case: Case) -> None:
    for model in LogisticRegression(l2=case.l2, intercept=case.intercept).path(case.X, case.y, case.weights, steps=3):
        one = Case(case.name, case.X, case.y, case.weights, model.l1, case.l2, case.intercept)
        check(f"{case.name}, path", model.objective_, model.gap_, model.converged_, one.minimum(), 1e-4)
        assert model.converged_


@pytest.mark.parametrize("case", [case for case in _CASES if case.l1 > 0][::2], ids=lambda case: case.name)
def test_bounds_over_all_products_hold(case: Case) -> None:
    few = case.X[:, :5] / max(1.0, abs(case.X[:, :5]).max())
    pairs = [few[:, a].multiply(few[:, b]) for a in range(few.shape[1]) for b in range(a)]
    whole = sparse.csr_matrix(sparse.hstack([few, *pairs]))
    products = Case(case.name, whole, case.y, case.weights, case.l1, case.l2, case.intercept)
    least = products.minimum()
    for tolerance in (1e-2, 1e-4):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            grafted = CombinationLogistic(
                l1=case.l1, l2=case.l2, intercept="free" if case.intercept else "none", degree=2, tolerance=tolerance
            ).fit(few, case.y, case.weights)
        check(f"{case.name}, products", grafted.objective_, grafted.gap_, grafted.converged_, least, tolerance)
        assert grafted.converged_ or any(issubclass(one.category, NotConverged) for one in said), case.name


def least_of_tube(X: Any, y: Any, cost: float, tube: float) -> float:
    """The least objective of linear support vector regression: of its dual, a quadratic program, by SLSQP."""
    n = len(y)
    K = X @ X.T

    def dual(both: Any) -> tuple[float, Any]:
        b = both[:n] - both[n:]
        Kb = K @ b
        return float(b @ Kb / 2 - b @ y + tube * both.sum()), np.concatenate([Kb - y + tube, y - Kb + tube])

    run = minimize(
        dual, np.zeros(2 * n), jac=True, method="SLSQP", bounds=[(0, cost)] * (2 * n),
        constraints={"type": "eq", "fun": lambda both: both[:n].sum() - both[n:].sum(),
                     "jac": lambda _: np.concatenate([np.ones(n), -np.ones(n)])},
        options={"maxiter": 1000, "ftol": 1e-14},
    )  # fmt: skip
    return -float(run.fun)


@pytest.mark.parametrize("number", range(8))
def test_bounds_of_support_vector_regression_hold(number: int) -> None:
    rng = np.random.default_rng(number)
    n, m = (30, 3) if number % 2 else (20, 30)
    X = rng.normal(size=(n, m)) * (10.0 if number == 4 else 1.0) + (5.0 if number == 5 else 0.0)
    y = X[:, 0] * (0.1 if number == 4 else 1.0) + rng.normal(size=n) + 10.0 * (number == 6)
    cost, tube = (0.05, 0.1) if number < 4 else (1.0, 0.3)
    least = least_of_tube(X, y, cost, tube)
    for method, tolerance, options in (
        ("smo", 1e-8, {}),
        ("smo", 1e-8, {"memory": 1}),
        ("descent", 1e-6, {}),
        ("descent", 1e-2, {}),
        ("descent", 1e-9, {"max_iter": 1}),
    ):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = SupportVectorRegression(cost=cost, tube=tube, method=method, tolerance=tolerance, **options)
            model.fit(X, y)
        fitted = X @ model.coef_[0] + model.intercept_[0]
        value = model.coef_[0] @ model.coef_[0] / 2 + cost * np.maximum(np.abs(fitted - y) - tube, 0.0).sum()
        assert model.objective_ == pytest.approx(value, rel=1e-6)
        slack = 1e-6 * max(1.0, least)
        assert model.objective_ >= least - slack
        assert model.objective_ - model.gap_ <= least + slack, (method, options)
        assert model.converged_ or any(issubclass(one.category, NotConverged) for one in said)
        if model.converged_ and method == "descent":
            assert model.gap_ <= tolerance * model.objective_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        parts = SupportVectorRegression(cost=cost, tube=tube, tolerance=1e-5).fit([(X[:9], y[:9]), (X[9:], y[9:])])
    assert parts.objective_ - parts.gap_ <= least * (1 + 1e-6) + 1e-9
    assert parts.objective_ >= least * (1 - 1e-6) - 1e-9


@pytest.mark.parametrize("number", range(4))
def test_a_support_vector_machine_that_says_so_has_converged(number: int) -> None:
    rng = np.random.default_rng(number)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + (0.0 if number == 0 else 0.8) * rng.normal(size=40) > 0.2
    cost, sign = (0.5, 3.0)[number % 2], np.where(y, 1.0, -1.0)
    model = PairwiseSVM(kernel="linear", cost=cost, tolerance=1e-7).fit(X, y)
    assert model.converged_

    def primal(theta: Any) -> float:
        slack = np.maximum(0.0, 1.0 - sign * (X @ theta[:3] + theta[3]))
        return float(theta[:3] @ theta[:3] / 2 + cost * slack.sum())

    theta = np.append(model.coef_[0], model.intercept_[0])
    theta = theta if np.mean((X @ theta[:3] + theta[3] > 0) == y) > 0.5 else -theta
    for _ in range(300):  # nothing near it is better
        assert primal(theta) <= primal(theta + 10.0 ** rng.uniform(-6, 0) * rng.normal(size=4)) + 1e-6


@pytest.mark.parametrize("number", range(4))
def test_expected_utility_that_says_so_has_no_slope_left(number: int) -> None:
    rng = np.random.default_rng(number)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.5, 1, -1)
    model = UtilityLogistic(utility="alpha:0.5", l2=0.05, gamma=1.0, n_folds=0).fit(X, y)
    assert model.converged_

    def value(theta: Any) -> float:
        p = 1.0 / (1.0 + np.exp(-(X @ theta[:3] + theta[3])))
        hits, misses, alarms = p[y == 1].sum(), (1 - p[y == 1]).sum(), p[y == -1].sum()
        return float(hits / (0.5 * (hits + alarms) + 0.5 * (hits + misses))) - model.l2_[0] / 2 * float(
            theta[:3] @ theta[:3]
        )

    theta = np.append(model.coef_[0], model.intercept_[0])
    slopes = [(value(theta + step) - value(theta - step)) / 2e-5 for step in 1e-5 * np.eye(4)]
    assert np.abs(slopes).max() < 1e-3 * max(1.0, float(np.abs(theta).max()))


def test_the_reference_itself_finds_the_entropy_of_the_labels_where_only_intercepts_are_left() -> None:
    case = _CASES[0]
    alone = Case("", case.X, case.y, case.weights, 1e9, 0.0, True)
    share = np.bincount(case.y) / len(case.y)
    assert alone.minimum() == pytest.approx(-len(case.y) * float(share @ np.log(share)), rel=1e-12)

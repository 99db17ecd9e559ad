"""Support vector regression, pairwise machines and least squares against LIBSVM, NumPy and optimality."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, SVR

from textmill.errors import DataError
from textmill.linear import LeastSquares, PairwiseSVM, SupportVectorRegression
from textmill.linear.kernels import KernelRows, make_kernel, solve_problems
from textmill.linear.pairwise import vote
from textmill.model import load

POINTS = [[1.0], [2.0], [3.0]]
VALUES = [1.0, 2.0, 8.0]


def sparse_rows(rows: int, columns: int, seed: int) -> Any:
    X = sparse.random(rows, columns, density=0.1, format="csr", random_state=seed)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / np.where(lengths > 0, lengths, 1)) @ X)


def test_three_points_as_the_paper_has_them() -> None:
    line = SupportVectorRegression(tolerance=1e-9).fit(POINTS, VALUES)
    assert line.coef_ is not None
    assert line.coef_.ravel() == pytest.approx([3.5], abs=1e-4)
    assert line.intercept_ == pytest.approx([-2.6], abs=1e-4)
    assert line.predict(POINTS) == pytest.approx([0.9, 4.4, 7.9], abs=1e-4)
    rows = KernelRows(POINTS)
    bounds = (np.full(3, -100.0), np.full(3, 100.0))
    every = np.arange(3, dtype=np.int32)
    solved = solve_problems(
        rows.gram(make_kernel("linear")), [every], [np.array(VALUES)], [bounds], tube=0.1, tolerance=1e-9
    )
    assert solved.dual == pytest.approx([48.25, -100, 51.75], abs=1e-4)


@pytest.mark.parametrize("cost", [100.0, 1e6])
def test_a_quadratic_kernel_bends_the_scale(cost: float) -> None:
    model = SupportVectorRegression(kernel="polynomial", cost=cost, tolerance=1e-9).fit(POINTS, VALUES)
    assert model.predict(POINTS) == pytest.approx([0.9, 2.1, 7.9], abs=1e-4)
    assert model.intercept_ == pytest.approx([4.3], abs=1e-4)
    assert model.dual_[0] == pytest.approx([8.275, -13.7, 5.425], abs=1e-4)
    matrix = KernelRows(POINTS).gram(make_kernel("polynomial"))
    assert 0.5 * model.dual_[0] @ matrix @ model.dual_[0] == pytest.approx(10.7675, abs=1e-4)


@pytest.mark.parametrize(("cost", "weight", "intercept", "dual"), [(100.0, 0.8, 0.1, 0.8), (0.5, 0.5, 0.25, 0.5)])
def test_two_points(cost: float, weight: float, intercept: float, dual: float) -> None:
    model = SupportVectorRegression(cost=cost, tolerance=1e-9).fit([[0.0], [1.0]], [0, 1])
    assert model.coef_ is not None
    assert (model.coef_[0, 0], model.intercept_[0]) == pytest.approx((weight, intercept), abs=1e-4)
    solved = solve_problems(
        np.array([[0.0, 0.0], [0.0, 1.0]]),
        [np.arange(2, dtype=np.int32)],
        [np.array([0.0, 1.0])],
        [(np.full(2, -cost), np.full(2, cost))],
        tube=0.1,
        tolerance=1e-9,
    )
    assert solved.dual == pytest.approx([-dual, dual], abs=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_solutions_are_optimal_and_as_good_as_libsvm_s(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(20, 301))
    X = sparse_rows(n, 60, seed)
    y = random.integers(1, 6, n).astype(float)
    cost = float(10.0 ** random.integers(-1, 3))
    kernel = "linear" if seed % 2 else "polynomial"
    model = SupportVectorRegression(kernel=kernel, cost=cost, tolerance=1e-7).fit(X, y)
    assert model.converged_
    assert model.gap_ <= 1e-4 * model.objective_
    matrix = KernelRows(X).gram(make_kernel(kernel))
    theirs = SVR(kernel="precomputed", C=cost, epsilon=0.1, tol=1e-7).fit(matrix, y)
    beta = np.zeros(n)
    beta[theirs.support_] = theirs.dual_coef_[0]

    def dual_value(b: Any) -> float:
        return float(-0.5 * b @ matrix @ b - 0.1 * np.abs(b).sum() + y @ b)

    solved = solve_problems(
        matrix,
        [np.arange(n, dtype=np.int32)],
        [y],
        [(np.full(n, -cost), np.full(n, cost))],
        tube=0.1,
        tolerance=1e-7,
    )
    assert dual_value(solved.dual) == pytest.approx(dual_value(beta), rel=1e-4)
    assert -solved.objectives[0] == pytest.approx(dual_value(solved.dual), rel=1e-9)
    assert abs(solved.dual.sum()) <= 1e-9 * cost * n
    error = model.predict(X) - y
    for b, e in zip(solved.dual, error, strict=True):
        if b == 0:
            assert abs(e) <= 0.1 + 1e-5
        elif abs(b) < cost:
            assert abs(e) == pytest.approx(0.1, abs=1e-5)
            assert np.sign(b) == -np.sign(e)
        else:
            assert abs(e) >= 0.1 - 1e-5


def test_pairs_vote_as_separately_trained_libsvm_models_do() -> None:
    random = np.random.default_rng(3)
    X = sparse_rows(700, 120, 3)
    signal = np.asarray(X[:, :20].sum(axis=1)).ravel()
    y = np.digitize(signal + random.normal(0, 0.2, 700), np.quantile(signal, [0.2, 0.4, 0.6, 0.8])) + 1
    train, test = np.arange(200), np.arange(200, 700)
    model = PairwiseSVM(kernel="polynomial", tolerance=1e-8).fit(X[train], y[train])
    matrix = KernelRows(X).gram(make_kernel("polynomial"))
    decisions = []
    for a, b in combinations(range(1, 6), 2):
        own = train[(y[train] == a) | (y[train] == b)]
        theirs = SVC(kernel="precomputed", C=100.0, tol=1e-8).fit(matrix[np.ix_(own, own)], y[own])
        decisions.append(theirs.decision_function(matrix[np.ix_(test, own)]))
    values = np.column_stack(decisions)
    assert model.decision_values(X[test]) == pytest.approx(values, abs=1e-5)
    expected = [reference_vote(row) for row in values]
    assert model.predict(X[test]).tolist() == expected


def reference_vote(values: Any) -> int:
    """Most votes, then nearest to 3, then the larger sum of |decision|, then the lower score; from the definition."""
    votes, sums = dict.fromkeys(range(1, 6), 0), dict.fromkeys(range(1, 6), 0.0)
    for (a, b), value in zip(combinations(range(1, 6), 2), values, strict=True):
        winner = b if value > 0 else a
        votes[winner] += 1
        sums[winner] += abs(value)
    return min(votes, key=lambda c: (-votes[c], abs(c - 3), -sums[c], c))


def decisions_for(winners: dict[tuple[int, int], int], sizes: dict[tuple[int, int], float] | None = None) -> Any:
    pairs = list(combinations(range(1, 6), 2))
    return np.array([[(1.0 if winners[p] == p[1] else -1.0) * (sizes or {}).get(p, 1.0) for p in pairs]])


def test_ties_go_to_the_neutral_score_then_to_the_stronger_then_to_the_lower() -> None:
    distances = np.abs(np.arange(1, 6) - 3.0)
    circle = {(a, b): (b if (b - a) in (1, 2) else a) for a, b in combinations(range(1, 6), 2)}
    assert sorted(circle.values()) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]  # two votes each
    assert vote(decisions_for(circle), distances).tolist() == [2]  # 3
    middle = {(1, 2): 2, (1, 3): 3, (1, 4): 4, (1, 5): 1, (2, 3): 2, (2, 4): 2, (2, 5): 5, (3, 4): 3, (3, 5): 3}
    middle[4, 5] = 4
    assert vote(decisions_for(middle), distances).tolist() == [2]  # votes 1:1 2:3 3:3 4:2 5:1
    ends = {
        (1, 2): 1,
        (1, 3): 1,
        (1, 4): 1,
        (1, 5): 5,
        (2, 3): 2,
        (2, 4): 4,
        (2, 5): 5,
        (3, 4): 4,
        (3, 5): 3,
        (4, 5): 5,
    }
    assert vote(decisions_for(ends), distances).tolist() == [0]  # 1 and 5 have three votes each: the lower
    assert vote(decisions_for(ends, {(4, 5): 9.0}), distances).tolist() == [4]  # the stronger


def test_descent_on_the_weights_reaches_the_same_model() -> None:
    X = sparse_rows(400, 80, 5)
    y = np.random.default_rng(5).integers(1, 6, 400).astype(float)
    exact = SupportVectorRegression(method="smo", cost=10.0, tolerance=1e-8).fit(X, y)
    quick = SupportVectorRegression(method="descent", cost=10.0, tolerance=1e-7, max_iter=5000).fit(X, y)
    assert quick.objective_ == pytest.approx(exact.objective_, rel=1e-5)
    assert quick.predict(X) == pytest.approx(exact.predict(X), abs=0.02)
    assert quick.intercept_ == pytest.approx(exact.intercept_, abs=0.02)


def test_rows_made_when_needed_give_the_same_model() -> None:
    X = sparse_rows(150, 40, 6)
    y = np.random.default_rng(6).integers(1, 6, 150).astype(float)
    whole = SupportVectorRegression(kernel="polynomial").fit(X, y)
    for held in (0, 20):
        parts = SupportVectorRegression(kernel="polynomial", memory=held * 8 * 150).fit(X, y)
        assert parts.n_iter_ == whole.n_iter_
        assert parts.dual_ == pytest.approx(whole.dual_)
        assert (parts.objective_, parts.gap_) == pytest.approx((whole.objective_, whole.gap_))


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf"])
def test_predictions_are_those_of_libsvm(kernel: str) -> None:
    X = sparse_rows(120, 30, 7)
    y = np.random.default_rng(7).integers(1, 6, 120).astype(float)
    ours = SupportVectorRegression(kernel=kernel, degree=3, gamma=0.7, coef0=0.5, cost=5.0, tolerance=1e-8).fit(X, y)
    name = {"polynomial": "poly"}.get(kernel, kernel)
    theirs = SVR(kernel=name, degree=3, gamma=0.7, coef0=0.5, C=5.0, epsilon=0.1, tol=1e-8).fit(X, y)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=1e-4)


def test_models_do_not_depend_on_threads_or_the_instruction_set() -> None:
    code = """
import numpy as np, sys
from scipy import sparse
from textmill.linear import SupportVectorRegression, PairwiseSVM
X = sparse.random(300, 50, density=0.1, format="csr", random_state=1)
y = np.random.default_rng(1).integers(1, 6, 300)
for jobs in (1, 2, 5):
    a = SupportVectorRegression(kernel="polynomial", n_jobs=jobs).fit(X, y)
    b = PairwiseSVM(n_jobs=jobs).fit(X, y)
    print(a.dual_.tobytes().hex()[:4000], b.coef_.tobytes().hex()[:4000], a.predict(X).tobytes().hex()[:4000])
"""
    lines = []
    for simd in ("baseline", ""):
        environment = {**__import__("os").environ, "TEXTMILL_SIMD": simd}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        lines += run.stdout.splitlines()
    assert len(lines) == 6
    assert len(set(lines)) == 1


@pytest.mark.parametrize(("rows", "columns"), [(30, 80), (80, 30), (40, 40)])
def test_least_squares_are_those_of_numpy(rows: int, columns: int) -> None:
    X = sparse_rows(rows, columns, 8)
    y = np.random.default_rng(8).normal(size=rows)
    dense = X.toarray()
    expected = np.linalg.lstsq(dense - dense.mean(axis=0), y - y.mean(), rcond=None)[0]
    for memory in (1 << 29, 0):
        model = LeastSquares(memory=memory, tolerance=1e-12).fit(X, y)
        assert model.coef_ == pytest.approx(expected, abs=1e-6)
        assert model.intercept_ == pytest.approx(y.mean() - expected @ dense.mean(axis=0), abs=1e-6)


def test_least_squares_of_equal_rows_have_the_least_norm() -> None:
    X = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    y = np.array([1.0, 2.0, 3.0, 5.0])
    expected = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)[0]
    assert LeastSquares().fit(X, y).coef_ == pytest.approx(expected, abs=1e-6)


def test_the_three_points_by_least_squares() -> None:
    model = LeastSquares().fit(POINTS, VALUES)
    assert (model.coef_[0], model.intercept_) == pytest.approx((3.5, -3.3333), abs=1e-4)
    assert ((model.predict(POINTS) - VALUES) ** 2).sum() == pytest.approx(4.16667, abs=1e-4)


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
def test_saved_models_predict_the_same(kernel: str, tmp_path: Any) -> None:
    X = sparse_rows(60, 20, 9)
    y = np.random.default_rng(9).integers(1, 4, 60)
    for model in (SupportVectorRegression(kernel=kernel), PairwiseSVM(kernel=kernel)):
        model.fit(X, y).save(tmp_path / "model.mill")
        assert load(tmp_path / "model.mill").predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("settings", "X", "y", "message"),
    [
        ({"cost": 0.0}, POINTS, VALUES, "cost must be"),
        ({"kernel": "cubic"}, POINTS, VALUES, "kernel must be one of"),
        ({"method": "descent", "kernel": "rbf"}, POINTS, VALUES, "for kernel='linear'"),
        ({}, POINTS, [1, 2, np.nan], "NaN, in row 2"),
        ({}, POINTS, ["a", "b", "c"], "no numbers"),
        ({}, POINTS, [1, 2], "inconsistent"),
        ({}, np.empty((0, 2)), [], "minimum of 1 is required"),
    ],
)
def test_bad_input_is_named(settings: dict[str, Any], X: Any, y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        SupportVectorRegression(**settings).fit(X, y)


def test_one_class_only_has_no_pairs() -> None:
    with pytest.raises(DataError, match="only one class"):
        PairwiseSVM().fit(POINTS, [1, 1, 1])


def test_weights_of_rows_count_as_copies_of_them() -> None:
    X, y = sparse_rows(40, 20, 10), np.random.default_rng(10).integers(1, 6, 40).astype(float)
    weights = np.random.default_rng(11).integers(0, 3, 40)
    once = SupportVectorRegression(cost=1.0, tolerance=1e-9).fit(X, y, sample_weight=weights)
    copied = np.repeat(np.arange(40), weights)
    copies = SupportVectorRegression(cost=1.0, tolerance=1e-9).fit(X[copied], y[copied])
    assert once.predict(X) == pytest.approx(copies.predict(X), abs=1e-4)

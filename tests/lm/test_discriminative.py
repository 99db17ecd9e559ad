from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.passive_aggressive import rounds
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import SGDClassifier

import textmill
from textmill import load
from textmill._native import lm as native
from textmill.errors import DataError, ModelFileError
from textmill.lm import ExpandedKernel, FeatureSets, PassiveAggressive


def cubic(x: set[int], z: set[int]) -> float:
    return (1.0 + len(x & z)) ** 3


def gaussian(x: set[int], z: set[int]) -> float:
    return math.exp(-0.1 * len(x ^ z))


def random_sets(seed: int, n: int, features: int = 60, most: int = 12) -> tuple[list[set[int]], list[int]]:
    """Sets whose label is a conjunction of two features, with noise."""
    generator = np.random.default_rng(seed)
    p = 1.0 / np.arange(1, features + 1)
    rows = [set(generator.choice(features, generator.integers(1, most), p=p / p.sum()).tolist()) for _ in range(n)]
    labels = [1 if (0 in row) == (1 in row) else -1 for row in rows]
    return rows, [y if generator.random() < 0.9 else -y for y in labels]


@pytest.mark.parametrize(
    ("cost", "weights", "taus"),
    [
        (50.0, [(0.5, 0.5), (-1.0, 0.5), (-1.0, 1.0)], [0.5, 1.5, 0.5]),
        (0.1, [(0.1, 0.1), (0.0, 0.1), (0.0, 0.2)], [0.1, 0.1, 0.1]),
    ],
)
def test_linear_rounds_of_the_worked_example(
    cost: float, weights: list[tuple[float, float]], taus: list[float]
) -> None:
    X, y = np.array([[1, 1], [1, 0], [0, 1]]), [1, -1, 1]
    model = PassiveAggressive(cost=cost)
    losses = []
    for i in range(3):
        margins, tau = model.learn(X[[i]], [y[i]], classes=[-1, 1])
        losses.append(1 - y[i] * margins[0])
        assert tau[0] == pytest.approx(taus[i], abs=1e-12)
    final = PassiveAggressive(cost=cost, shuffle=False).fit(X, y)
    assert final.coef_[0] == pytest.approx(weights[-1], abs=1e-12)
    assert losses == pytest.approx([1, 1.5, 0.5] if cost == 50.0 else [1, 1.1, 0.9], abs=1e-12)


def test_kernel_rounds_of_the_worked_example() -> None:
    sets = FeatureSets.of([{1, 2}, {1}, {2}, {1, 2}])
    margins, tau = PassiveAggressive(kernel="polynomial", degree=3).learn(sets, [1, -1, 1, 1])
    assert margins == pytest.approx([0, 0.296296, 0.134259, 0.569444], abs=1e-6)
    assert 1 - np.array([1, -1, 1, 1]) * margins == pytest.approx([1, 1.296296, 0.865741, 0.430556], abs=1e-6)
    assert tau == pytest.approx([0.037037, 0.162037, 0.108218, 0.015947], abs=1e-6)


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 400),
    method=st.sampled_from(["pa", "pa1", "pa2"]),
    kernel=st.sampled_from(["cubic", "rbf"]),
    cost=st.sampled_from([50.0, 1e-3]),
    jobs=st.sampled_from([1, 2, 5]),
)
@settings(max_examples=25, deadline=None)
def test_rounds_are_those_of_the_definition(
    seed: int, n: int, method: str, kernel: str, cost: float, jobs: int
) -> None:
    rows, labels = random_sets(seed, n)
    labels[:2] = [1, -1]
    function = cubic if kernel == "cubic" else gaussian
    margins, taus, final = rounds(rows, labels, function, method=method, cost=cost)
    settings_of = {"kernel": "polynomial"} if kernel == "cubic" else {"kernel": "rbf", "gamma": 0.1}
    model = PassiveAggressive(method=method, cost=cost, n_jobs=jobs, **settings_of)
    own, tau = model.learn(FeatureSets.of(rows), labels)
    assert own == pytest.approx(margins, rel=1e-9, abs=1e-9)
    assert tau == pytest.approx(taus, rel=1e-9, abs=1e-12)
    model.partial_fit(FeatureSets.of(rows[:1]), labels[:1])
    other, _ = random_sets(seed + 1, 20)
    rows, labels = [*rows, rows[0]], [*labels, labels[0]]
    _, _, final = rounds(rows, labels, function, method=method, cost=cost)
    assert model.margins(FeatureSets.of(other)) == pytest.approx([final(x) for x in other], rel=1e-9, abs=1e-9)


def test_an_update_is_the_smallest_change_that_reaches_the_margin() -> None:
    generator = np.random.default_rng(5)
    for cost in (0.05, 10.0):
        X = generator.normal(size=(6, 4))
        y = np.array([1, -1, 1, -1, 1, -1])
        before = PassiveAggressive(cost=cost, shuffle=False).fit(X[:5], y[:5])
        after = PassiveAggressive(cost=cost, shuffle=False).fit(X, y)
        w, x = before.coef_[0], X[5]

        def objective(v: Any, w: Any = w, x: Any = x, cost: float = cost) -> float:  # the slack is max(0, 1 + v.x)
            slack = max(0.0, 1.0 + v @ x)
            return float(0.5 * (v - w) @ (v - w) + cost * slack)

        found = min(minimize(objective, start, method="Nelder-Mead", tol=1e-12).fun for start in (w, after.coef_[0]))
        assert objective(after.coef_[0]) <= found + 1e-7
        if cost == 10.0 and 1 + w @ x > 0:
            assert -(after.coef_[0] @ x) == pytest.approx(1.0, abs=1e-12)


def test_weights_are_those_of_scikit_learn() -> None:
    generator = np.random.default_rng(2)
    X = sparse.random(400, 50, 0.1, format="csr", random_state=3)
    y = np.where(X @ generator.normal(size=50) > 0, 1, -1)
    for method, theirs in (("pa1", "pa1"), ("pa2", "pa2")):
        peer = SGDClassifier(
            learning_rate=theirs, eta0=0.7, penalty=None, shuffle=False, max_iter=3, tol=None, fit_intercept=False
        ).fit(X, y)
        ours = PassiveAggressive(method=method, cost=0.7, shuffle=False, max_iter=3).fit(X, y)
        assert ours.coef_[0] == pytest.approx(peer.coef_[0], abs=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("averaged", [False, True])
def test_index_pairs_and_expansions_give_the_same_margins(degree: int, averaged: bool) -> None:
    rows, labels = random_sets(degree, 1500, features=300, most=25)
    model = PassiveAggressive(kernel="polynomial", degree=degree, averaged=averaged, max_iter=2)
    model.fit(FeatureSets.of(rows), labels)
    other = FeatureSets.of([*random_sets(99, 200, features=320, most=30)[0], set()])
    expected = model.margins(other, naive=True)
    assert model.margins(other) == pytest.approx(expected, rel=1e-9, abs=1e-10)
    for frequent in (None, 0, 1, 3, 20):
        exact = ExpandedKernel(model, n_frequent=frequent)
        assert exact.decision_function(other) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    whole = ExpandedKernel(model, min_weight=0.0)
    assert whole.decision_function(other) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert (whole.predict(other) == model.predict(other)).all()


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_ten_thousand_rounds_by_the_index_are_those_of_all_pairs(degree: int) -> None:
    rows, labels = random_sets(degree, 10_000, features=3000, most=40)
    sets = FeatureSets.of(rows)
    X = sparse.csr_matrix((np.ones(len(sets.keys), np.uint8), sets.keys.astype(np.int32), sets.offsets))
    powers = (1.0 + np.arange(64)) ** degree
    a, margins = np.zeros(len(rows)), np.zeros(len(rows))
    for begin in range(0, len(rows), 500):
        common = (X[begin : begin + 500] @ X[: begin + 500].T).toarray()
        for i, shared in enumerate(common, begin):
            margins[i] = a[:i] @ powers[shared[:i]]
            a[i] = labels[i] * min(50.0, max(0.0, 1.0 - labels[i] * margins[i]) / powers[len(rows[i])])
    model = PassiveAggressive(kernel="polynomial", degree=degree)
    own, tau = model.learn(sets, labels)
    assert own == pytest.approx(margins, rel=1e-9, abs=1e-9)
    assert np.flatnonzero(tau).tolist() == np.flatnonzero(a).tolist()
    model.partial_fit(sets.take([]), [])
    assert model.n_active_ == np.count_nonzero(a)
    assert model.margins(sets) == pytest.approx(model.margins(sets, naive=True), rel=1e-9, abs=1e-9)


def test_pruning_keeps_exactly_the_conjunctions_of_enough_weight() -> None:
    rows, labels = random_sets(8, 60, features=12, most=7)
    model = PassiveAggressive(kernel="polynomial", degree=3).fit(FeatureSets.of(rows), labels)
    active = [{int(model.keys_[f]) for f in model.features_[b:e]} for b, e in itertools.pairwise(model.begin_.tolist())]
    factor = {1: 7.0, 2: 12.0, 3: 6.0}
    weights = {}
    for size in (1, 2, 3):
        for subset in itertools.combinations(range(12), size):
            weight = factor[size] * sum(a for a, x in zip(model.a_, active, strict=True) if set(subset) <= x)
            weights[subset] = weight
    least = float(np.quantile([abs(w) for w in weights.values() if w], 0.6))
    pruned = ExpandedKernel(model, min_weight=least)
    kept = {subset: w for subset, w in weights.items() if abs(w) >= least}
    assert pruned.n_conjunctions == len(kept)
    other, _ = random_sets(9, 30, features=12, most=8)
    expected = [model.a_.sum() + sum(w for subset, w in kept.items() if set(subset) <= x) for x in other]
    assert pruned.decision_function(FeatureSets.of(other)) == pytest.approx(expected, abs=1e-9)


def test_the_kernel_identity_of_the_worked_example() -> None:
    model = PassiveAggressive(kernel="polynomial", degree=3)
    model.partial_fit(FeatureSets.of([set(range(5))]), [1], classes=[-1, 1])  # one active example: f = K / 216
    sets = FeatureSets.of([range(m) for m in range(6)])
    values = [1, 8, 27, 64, 125, 216]
    assert 216 * model.margins(sets) == pytest.approx(values, abs=1e-9)
    expanded = ExpandedKernel(model, min_weight=0.0)  # 1 + 7 m + 12 binom(m, 2) + 6 binom(m, 3)
    assert expanded.n_conjunctions == sum(math.comb(5, size) for size in (1, 2, 3))
    assert 216 * expanded.decision_function(sets) == pytest.approx(values, abs=1e-9)


def test_degree_one_is_the_linear_learner_with_a_constant_feature() -> None:
    rows, labels = random_sets(4, 300)
    kernel = PassiveAggressive(kernel="polynomial", degree=1, shuffle=False).fit(FeatureSets.of(rows), labels)
    linear = PassiveAggressive(shuffle=False).fit(FeatureSets.of([x | {1000} for x in rows]), labels)
    other, _ = random_sets(5, 50)
    expected = linear.margins(FeatureSets.of([x | {1000} for x in other]))
    assert kernel.margins(FeatureSets.of(other)) == pytest.approx(expected, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf"])
def test_parts_are_shapley_values(kernel: str) -> None:
    rows, labels = random_sets(6, 120, features=15, most=6)
    model = PassiveAggressive(kernel=kernel, gamma=0.1).fit(FeatureSets.of(rows), labels)
    x = sorted(max(rows, key=len))
    parts, rest = model.feature_parts(FeatureSets.of([x]))
    active = [{int(model.keys_[f]) for f in model.features_[b:e]} for b, e in itertools.pairwise(model.begin_.tolist())]

    def value(some: set[int]) -> float:  # the sizes of both examples stay what they are
        if kernel == "linear":
            weights = dict(zip(model.keys_.tolist(), model.a_, strict=True))
            return float(sum(weights.get(f, 0.0) for f in some))
        total = 0.0
        for a, z in zip(model.a_, active, strict=True):
            r = len(some & z)
            total += a * ((1 + r) ** 3 if kernel == "polynomial" else math.exp(-0.1 * (len(x) + len(z) - 2 * r)))
        return total

    assert parts.sum() + rest[0] == pytest.approx(model.margins(FeatureSets.of([x]))[0], abs=1e-10)
    for i, feature in enumerate(x):
        others = [f for f in x if f != feature]
        shapley = 0.0
        for size in range(len(x)):
            for some in itertools.combinations(others, size):
                share = 1 / (len(x) * math.comb(len(x) - 1, size))
                shapley += share * (value({*some, feature}) - value(set(some)))
        assert parts[i] == pytest.approx(shapley, abs=1e-9)


def test_averages_are_means_of_the_models_after_each_round() -> None:
    rows, labels = random_sets(7, 200)
    other = FeatureSets.of(random_sets(8, 10)[0])
    for kernel in ("linear", "polynomial"):
        step = PassiveAggressive(kernel=kernel)
        models = []
        for row, label in zip(rows, labels, strict=True):
            step.partial_fit(FeatureSets.of([row]), [label], classes=[-1, 1])
            models.append(step.margins(other))
        mean = PassiveAggressive(kernel=kernel, averaged=True, shuffle=False).fit(FeatureSets.of(rows), labels)
        assert mean.margins(other) == pytest.approx(np.mean(models, axis=0), rel=1e-9, abs=1e-10)


def test_an_example_that_comes_again_does_not_become_active_twice() -> None:
    rows, labels = random_sets(10, 150)
    sets = FeatureSets.of(rows)
    model = PassiveAggressive(kernel="polynomial", max_iter=4).fit(sets, labels)
    assert model.n_active_ <= len(rows)
    assert model.rounds_ == 4 * len(rows)
    twice = PassiveAggressive(kernel="polynomial")
    twice.learn(sets, labels)
    twice.partial_fit(sets, labels)
    assert twice.n_active_ > model.n_active_


def test_features_are_numbered_only_when_their_example_becomes_active() -> None:
    model = PassiveAggressive(kernel="polynomial", degree=1, cost=50)
    model.partial_fit(FeatureSets.of([{1, 2, 3}, {9}]), [1, -1], classes=[-1, 1])
    before = model.n_active_
    model.partial_fit(FeatureSets.of([{9, 55}]), [-1])  # 0.25 - 2 * 0.625: the margin is there already
    assert model.n_active_ == before
    assert sorted(model.keys_.tolist()) == [1, 2, 3, 9]
    model.partial_fit(FeatureSets.of([{1, 2, 3, 77}]), [1])
    assert model.n_active_ == before + 1
    assert sorted(model.keys_.tolist()) == [1, 2, 3, 9, 77]


def test_a_kernel_of_ones_own_gives_the_same_as_the_native_one(tmp_path: Path) -> None:
    rows, labels = random_sets(11, 400)
    X = sparse.csr_matrix(np.array([[float(f in row) for f in range(60)] for row in rows]))

    def mine(X: Any, Z: Any) -> Any:
        return (1 + (X @ Z.T).toarray()) ** 3

    own = PassiveAggressive(kernel=mine, max_iter=2, averaged=True).fit(X, labels)
    native = PassiveAggressive(kernel="polynomial", max_iter=2, averaged=True).fit(X, labels)
    assert own.margins(X) == pytest.approx(native.margins(X), rel=1e-9, abs=1e-9)
    own.save(tmp_path / "own.mill")
    loaded = textmill.load(tmp_path / "own.mill", kernel=mine)
    assert loaded.margins(X) == pytest.approx(own.margins(X))
    with pytest.raises(ModelFileError, match="kernel"):
        textmill.load(tmp_path / "own.mill")
    with pytest.raises(DataError, match="value for each pair"):
        PassiveAggressive(kernel=lambda X, Z: np.zeros((1, 1))).fit(X, labels)
    with pytest.raises(DataError, match="not for functions"):
        own.feature_parts(X)
    with pytest.raises(DataError, match="expanded"):
        ExpandedKernel(own)


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf"])
def test_same_bytes_for_any_number_of_threads_and_after_loading(tmp_path: Path, kernel: str) -> None:
    rows, labels = random_sets(12, 900, features=200)
    sets, other = FeatureSets.of(rows), FeatureSets.of(random_sets(13, 50, features=220)[0])
    models = [PassiveAggressive(kernel=kernel, max_iter=2, n_jobs=jobs).fit(sets, labels) for jobs in (1, 2, 5)]
    for model in models[1:]:
        assert (model.a_ == models[0].a_).all()
        assert (model.margins(other) == models[0].margins(other)).all()
    models[0].save(tmp_path / "a.mill")
    loaded = textmill.load(tmp_path / "a.mill", expect=PassiveAggressive)
    assert (loaded.margins(other) == models[0].margins(other)).all()
    loaded.save(tmp_path / "b.mill")
    assert (tmp_path / "a.mill").read_bytes() == (tmp_path / "b.mill").read_bytes()
    loaded.partial_fit(sets, labels)
    models[0].partial_fit(sets, labels)
    assert (loaded.a_ == models[0].a_).all()


def test_probabilities_are_calibrated_on_other_examples() -> None:
    rows, labels = random_sets(14, 3000)
    sets, y = FeatureSets.of(rows), np.array(labels)
    model = PassiveAggressive(kernel="polynomial", averaged=True).fit(sets.take(range(1500)), y[:1500])
    with pytest.raises(DataError, match="calibrate"):
        model.predict_proba(sets)
    model.calibrate(sets.take(range(1500, 2250)), y[1500:2250])
    p = model.predict_proba(sets.take(range(2250, 3000)))
    assert p.sum(axis=1) == pytest.approx(1.0)
    right = y[2250:] == 1
    sure = p[:, 1] > 0.8
    assert sure.sum() > 50
    assert right[sure].mean() == pytest.approx(p[sure, 1].mean(), abs=0.1)
    with pytest.raises(DataError, match="same label"):
        model.calibrate(sets, np.ones(3000, dtype=int))


def test_the_index_has_less_than_8_bytes_for_a_posting() -> None:
    rows, labels = random_sets(15, 4000, features=2000, most=60)
    model = PassiveAggressive(kernel="polynomial").fit(FeatureSets.of(rows), labels)
    assert model.index_bytes() <= 8 * len(model.features_)


@pytest.mark.parametrize(
    ("parameters", "X", "y", "message"),
    [
        ({}, [[1.0, 0.0]], [1], "2 are needed"),
        ({}, [[1.0], [0.0], [1.0]], [1, 2, 3], "Only binary"),
        ({}, [[1.0], [np.nan]], [0, 1], "NaN"),
        ({}, np.zeros((0, 2)), [], "0 sample"),
        ({"kernel": "polynomial"}, [[0.5], [1.0]], [0, 1], "0 and 1"),
        ({"kernel": "cubic"}, [[1.0], [0.0]], [0, 1], "kernel"),
        ({"degree": 5, "kernel": "polynomial"}, [[1.0], [0.0]], [0, 1], "degree"),
        ({"cost": 0.0}, [[1.0], [0.0]], [0, 1], "cost"),
        ({"method": "sgd"}, [[1.0], [0.0]], [0, 1], "method"),
    ],
)
def test_bad_input_is_a_clear_error(parameters: dict[str, Any], X: Any, y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        PassiveAggressive(**parameters).fit(X, y)


def test_wrong_columns_kernels_and_files_are_refused() -> None:
    model = PassiveAggressive(kernel="polynomial").fit([[1, 0], [0, 1]], [0, 1])
    with pytest.raises(DataError, match="expecting 2 features"):
        model.predict([[1, 0, 1]])
    with pytest.raises(DataError, match="only a polynomial"):
        ExpandedKernel(PassiveAggressive().fit([[1, 0], [0, 1]], [0, 1]))
    model.features_ = model.features_ + 7
    with pytest.raises(ModelFileError):
        model.verify()
    with pytest.raises(ValueError, match="must rise"):
        PassiveAggressive().learn(FeatureSets(np.array([0, 2]), np.array([2, 1], dtype=np.uint64)), [1], classes=[0, 1])


def test_empty_sets_teach_the_constant_only() -> None:
    linear = PassiveAggressive().fit(FeatureSets.of([set(), {1}]), [1, -1])
    assert linear.margins(FeatureSets.of([set()])).tolist() == [0.0]
    kernel = PassiveAggressive(kernel="polynomial", shuffle=False).fit(FeatureSets.of([set(), {1}]), [1, -1])
    assert kernel.a_[0] == 1.0


@pytest.mark.parametrize("method", ["pa", "pa1", "pa2"])
def test_rows_of_a_matrix_and_sets_with_values_are_learned_alike(method: str) -> None:
    """Weights by column, without the dictionary, are those of the dictionary, bit by bit."""
    rng = np.random.default_rng(0)
    X = sparse.random(300, 40, density=0.2, format="csr", random_state=1, data_rvs=lambda size: rng.normal(size=size))
    y = rng.integers(0, 2, 300)
    by_column = PassiveAggressive(method=method, cost=0.3, shuffle=False, max_iter=2, averaged=True).fit(X, y)
    learner = native.Learner(aggression=["pa", "pa1", "pa2"].index(method), cost=0.3, kernel=0, degree=1, gamma=1.0)
    offsets, columns = X.indptr.astype(np.int64), X.indices.astype(np.uint64)
    for _ in range(2):
        learner.learn(offsets, columns, X.data, (2 * y - 1).astype(np.int8), np.full(300, -1, np.int32), threads=1)
    keys, _, _, a, b, rounds = learner.state()
    order = np.argsort(keys)
    assert by_column.keys_.tolist() == keys[order].tolist()
    assert by_column.a_.tolist() == a[order].tolist()
    assert by_column.b_.tolist() == b[order].tolist()
    assert by_column.rounds_ == rounds == 600


def test_a_saved_linear_model_goes_on_learning_where_it_was(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X, y = sparse.random(200, 30, density=0.3, format="csr", random_state=2), rng.integers(0, 2, 200)
    whole = PassiveAggressive(cost=1.0).partial_fit(X, y).partial_fit(X, y)
    PassiveAggressive(cost=1.0).partial_fit(X, y).save(tmp_path / "half.mill")
    other = load(tmp_path / "half.mill", expect=PassiveAggressive).partial_fit(X, y)
    np.testing.assert_allclose(other.coef_, whole.coef_, rtol=0, atol=1e-12)
    wide = sparse.csr_matrix((np.ones(4), ([0, 0, 1, 1], [5, 900_000, 7, 123_456])), shape=(2, 1_000_000))
    assert PassiveAggressive(shuffle=False).fit(wide, [1, 0]).keys_.tolist() == [5, 900_000, 7, 123_456]


def test_zeros_that_are_stored_change_nothing() -> None:
    X = sparse.csr_matrix((np.array([1.0, 0.0, 2.0]), ([0, 0, 1], [0, 1, 1])), shape=(2, 3))
    plain = sparse.csr_matrix(X.toarray())
    first, second = (PassiveAggressive(shuffle=False).fit(one, [1, 0]) for one in (X, plain))
    assert first.coef_.tolist() == second.coef_.tolist()
    assert len(first.feature_parts(X)[0]) == 2


@pytest.mark.parametrize("kernel", ["polynomial", "rbf"])
def test_learning_pair_by_pair_is_learning_by_the_index(kernel: str) -> None:
    generator = np.random.default_rng(4)
    sets = FeatureSets.of([set(generator.integers(0, 60, 9).tolist()) for _ in range(700)])
    labels = generator.choice([-1, 1], 700)
    both = [PassiveAggressive(kernel=kernel, n_jobs=2).learn(sets, labels, naive=naive) for naive in (False, True)]
    for by_index, by_pairs in zip(*both, strict=True):  # margins, tau
        assert by_pairs == pytest.approx(by_index, rel=1e-9, abs=1e-12)
    assert (both[0][1] > 0).mean() > 0.5

"""Combination features: the worked examples, both searches against brute force, optimality over the whole space."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from textmill._native import linear as native
from textmill.corpus import NamedFeatures
from textmill.errors import DataError
from textmill.linear import CombinationLogistic, LogisticRegression, NotConverged, choose_penalty, find_violators
from textmill.metrics import FWeight
from textmill.model import load

XOR = np.array([[0, 0], [1, 0], [0, 1], [1, 1]] * 10, dtype=float)
XOR_LABELS = [0, 1, 1, 0] * 10
METHODS = ["examples", "erasing", "vertical"]


def entropy(p: float) -> float:
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


def test_exclusive_or_needs_the_combination() -> None:
    alone = CombinationLogistic(l1=1.0, degree=1, intercept="none").fit(XOR, XOR_LABELS)
    assert alone.objective_ == pytest.approx(40 * math.log(2), abs=1e-9)
    assert len(alone.combinations_) == 0
    model = CombinationLogistic(l1=1.0, degree=2, intercept="none", tolerance=1e-12).fit(XOR, XOR_LABELS)
    weights = {tuple(row): w for row, w in zip(model.combinations_.tolist(), model.coef_[0], strict=True)}
    assert weights[0, -1] == pytest.approx(math.log(4), abs=1e-6)
    assert weights[1, -1] == pytest.approx(1.386294, abs=1e-6)
    assert weights[0, 1] == pytest.approx(-4.969813, abs=1e-5)
    assert model.objective_ == pytest.approx(20.190350, abs=1e-6)
    dual = 10 * entropy(0.5) + 20 * entropy(0.2) + 10 * entropy(0.1)
    assert dual == pytest.approx(20.190350, abs=1e-6)
    assert model.gap_ < 1e-4 * model.objective_


def test_exclusive_or_step_by_step() -> None:
    half = np.array([y - 0.5 for y in XOR_LABELS])
    X = sparse.csr_matrix(XOR)
    assert (X.T @ half).tolist() == [0, 0]
    assert find_violators(X, half, 1.0, 2)[1].tolist() == [-5.0]
    p = np.where(XOR.all(axis=1), 0.1, 0.5)  # H = {AB}: w = log(1/9)
    delta = np.array(XOR_LABELS) - p
    assert X.T @ delta == pytest.approx([4, 4])
    assert find_violators(X, delta, 0.5, 2)[1] == pytest.approx([-1])
    loss = -np.log(np.where(np.array(XOR_LABELS) == 1, p, 1 - p)).sum()
    assert loss + math.log(9) == pytest.approx(24.045245, abs=1e-6)
    columns = np.column_stack([XOR[:, 0], XOR.prod(axis=1)])  # H = {AB, A}
    model = LogisticRegression(l1=1.0, l2=0.0, intercept=False, tolerance=1e-12).fit(columns, XOR_LABELS)
    assert model.coef_[0] == pytest.approx([1.386294, -3.583519], abs=1e-5)
    assert model.objective_ == pytest.approx(22.117798, abs=1e-6)
    delta = np.array(XOR_LABELS) - model.predict_proba(columns)[:, 1]
    assert X.T @ delta == pytest.approx([1, 4], abs=1e-5)
    assert find_violators(X, delta, 0.5, 2)[1] == pytest.approx([-1], abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_gradients_of_combinations_agree_with_differences(method: str) -> None:
    rng = np.random.default_rng(3)
    dense = rng.random((40, 6)) * (rng.random((40, 6)) < 0.6)
    y, margin = rng.random(40) < 0.5, rng.normal(size=40)

    def loss(z: Any) -> float:
        return float(np.logaddexp(0, np.where(y, -z, z)).sum())

    found, gradient, _, _ = find_violators(
        sparse.csr_matrix(dense), y - 1 / (1 + np.exp(-margin)), 1e-6, 3, method=method
    )
    assert len(found) > 20
    for row, v in zip(found.tolist(), gradient.tolist(), strict=True):
        step = 1e-5 * dense[:, [j for j in row if j >= 0]].prod(axis=1)
        assert (loss(margin - step) - loss(margin + step)) / 2e-5 == pytest.approx(v, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_a_candidate_that_was_dropped_does_not_come_back(method: str) -> None:
    X = sparse.csr_matrix(np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 1, 1]], dtype=float))
    delta = np.array([-0.5, -0.4, 0.8, 0.8, -0.6])
    features, gradient, visited, stored = find_violators(X, delta, 0.8, 2, method=method)
    assert len(features) == len(gradient) == 0
    assert visited > 0
    if method == "examples":
        assert stored == 3  # all three pairs enter at the first example, with 0.8
    # a hair above 0.8 the pair (1, 2) is out of the race after the fifth example, and would come back with -0.9
    assert len(find_violators(X, delta, 0.8 + 1e-6, 2, method=method)[0]) == 0
    exact = {(0, 1): -0.1, (0, 2): -0.1, (1, 2): -0.7}
    features, gradient, _, _ = find_violators(X, delta, 0.05, 2, method=method)
    assert {tuple(row): v for row, v in zip(features.tolist(), gradient, strict=True)} == pytest.approx(exact)


def test_erasing_holds_fewer_candidates_and_finds_the_same() -> None:
    rng = np.random.default_rng(8)
    X = sparse.csr_matrix((rng.random((400, 40)) < 0.2).astype(float))
    residual = rng.normal(size=400)
    kept = find_violators(X, residual, 9.0, 3, method="examples")
    erased = find_violators(X, residual, 9.0, 3, method="erasing")
    assert len(kept[0]) > 3
    assert erased[0].tolist() == kept[0].tolist()
    assert erased[1] == pytest.approx(kept[1], abs=1e-12)
    assert erased[3] < kept[3]
    X, y = planted()
    models = [CombinationLogistic(l1=2.0, degree=3, method=method).fit(X, y) for method in METHODS]
    assert len({model.coef_.tobytes() for model in models}) == 1
    with pytest.raises(DataError, match="method"):
        find_violators(X, np.zeros(400), 1.0, 2, method="guess")


def test_features_that_can_never_have_a_weight_are_left_out_exactly() -> None:
    rng = np.random.default_rng(9)
    for values in ("ones", "above", "mixed"):
        X = sparse.random(300, 60, density=0.04, format="csr", random_state=9)
        X.data[:] = {"ones": 1.0, "above": rng.uniform(0, 2, X.nnz), "mixed": rng.uniform(-1.5, 1.5, X.nnz)}[values]
        dense = X.toarray()
        y = rng.integers(0, 2, 300)
        y[:150] = dense[:150, 0] * 2 + dense[:150, 1] * dense[:150, 2] > rng.normal(size=150)
        bound = np.maximum(np.abs(dense[y == 1]).sum(axis=0), np.abs(dense[y == 0]).sum(axis=0)).min()
        l1 = 5.0 if values == "ones" else 4.0
        assert bound < l1  # so that some are left out
        pairs = list(itertools.combinations(range(60), 2))
        every = [(j,) for j in range(60)] + pairs
        whole = np.column_stack([dense[:, c].prod(axis=1) for c in every])
        for penalty in (l1, 0.6):
            model = CombinationLogistic(l1=penalty, intercept="free", tolerance=1e-9).fit(X, y)
            explicit = LogisticRegression(l1=penalty, l2=0.0, tolerance=1e-9).fit(whole, y)
            assert model.objective_ == pytest.approx(explicit.objective_, rel=1e-6)
            assert model.predict_proba(X) == pytest.approx(explicit.predict_proba(whole), abs=2e-3)
    rare = np.zeros((3000, 3))
    rare[:4, 0] = rare[:8, 1] = rare[4:8, 2] = (
        1.0  # the sums over the rows of the rare label are just above the penalty
    )
    model = CombinationLogistic(l1=3.5, intercept="free").fit(rare, np.arange(3000) < 4)
    assert {tuple(row) for row in model.combinations_.tolist()} & {(0, -1), (0, 1)}
    with pytest.warns(NotConverged, match="precision"):
        huge = CombinationLogistic(l1=1.0, degree=16).fit(XOR * 1e30, XOR_LABELS)
    assert np.isfinite(huge.coef_).all()


def brute_force(X: Any, residual: Any, threshold: float, degree: int) -> dict[tuple[int, ...], float]:
    """Every combination straight from the definition."""
    dense = X.toarray()
    found = {}
    for size in range(2, degree + 1):
        for parts in itertools.combinations(range(dense.shape[1]), size):
            v = float(residual @ dense[:, parts].prod(axis=1))
            if abs(v) > threshold:
                found[(*parts, *[-1] * (degree - size))] = v
    return found


def check_searches(instances: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(instances):
        rows, columns, degree = rng.integers(1, 12), rng.integers(1, 7), int(rng.integers(2, 5))
        dense = (rng.random((rows, columns)) < 0.6).astype(float)
        kind = rng.integers(4)
        if kind:
            dense *= rng.random(dense.shape) if kind == 1 else rng.uniform(-2, 3, dense.shape) if kind == 2 else 2.0
        X, residual = sparse.csr_matrix(dense), rng.normal(size=rows)
        threshold = float(rng.choice([0.0, 0.3, 0.8, 1.5]))
        expected = brute_force(X, residual, threshold + 1e-9, degree)
        for method in METHODS:
            features, gradient, _, _ = find_violators(X, residual, threshold + 1e-9, degree, method=method, n_jobs=2)
            found = {tuple(row): v for row, v in zip(features.tolist(), gradient, strict=True)}
            assert found == pytest.approx(expected, abs=1e-9), (method, degree, dense, residual)


def test_all_searches_find_what_brute_force_finds() -> None:
    check_searches(400, 0)


@pytest.mark.slow
def test_all_searches_find_what_brute_force_finds_in_5000_instances() -> None:
    check_searches(5000, 1)


def planted(rows: int = 400, columns: int = 12, classes: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = (rng.random((rows, columns)) < 0.4).astype(float)
    z = np.zeros((rows, classes))
    z[:, -1] = 3 * X[:, 0] * X[:, 1] - 2 * X[:, 2] * X[:, 3] * X[:, 4] + X[:, 5] - 0.5
    return sparse.csr_matrix(X), (z + rng.gumbel(size=z.shape)).argmax(axis=1)


@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_optimum_is_that_of_all_combinations_written_out(classes: int, l2: float) -> None:
    X, y = planted(classes=classes)
    model = CombinationLogistic(l1=2.0, l2=l2, degree=3, intercept="free", tolerance=1e-9).fit(X, y)
    dense = X.toarray()
    every = [c for size in (1, 2, 3) for c in itertools.combinations(range(12), size)]
    whole = np.column_stack([dense[:, c].prod(axis=1) for c in every])
    explicit = LogisticRegression(l1=2.0, l2=l2, tolerance=1e-9).fit(whole, y)
    assert model.objective_ == pytest.approx(explicit.objective_, rel=1e-5)
    at = {c: k for k, c in enumerate(every)}
    coef = np.zeros((len(model.coef_), len(every)))
    for row, w in zip(model.combinations_.tolist(), model.coef_.T, strict=True):
        coef[:, at[tuple(j for j in row if j >= 0)]] = w
    explicit.coef_, explicit.intercept_ = coef, model.intercept_
    assert explicit.certificate(whole, y).violation <= 1e-3 * 2.0
    assert explicit.predict_proba(whole) == pytest.approx(model.predict_proba(X), abs=1e-12)
    assert explicit.certificate(whole, y).gap <= 1.1 * model.gap_ + 1e-6


def test_batches_of_any_size_reach_the_same_optimum_by_either_search() -> None:
    X, y = planted()
    models = [
        CombinationLogistic(l1=2.0, degree=3, batch=batch, method=method).fit(X, y)
        for batch, method in ((1, "auto"), (5, "vertical"), (None, "examples"))
    ]
    for model in models[1:]:
        assert model.objective_ == pytest.approx(models[0].objective_, rel=1e-5)
    assert models[0].n_iter_ > models[1].n_iter_ > models[2].n_iter_
    assert "0 & 1" in models[0].strongest(3).features


def test_threads_do_not_change_the_model_and_files_hold_it(tmp_path: Path) -> None:
    X, y = planted()
    X, y = sparse.csr_matrix(sparse.vstack([X] * 60)), np.tile(y, 60)  # enough entries for threads to be used
    models = [CombinationLogistic(l1=30.0, degree=3, tolerance=1e-3, n_jobs=jobs).fit(X, y) for jobs in (1, 2, 4, 8)]
    for number, model in enumerate(models):
        model.n_jobs = None
        model.save(tmp_path / f"{number}.mill")
    assert len({(tmp_path / f"{number}.mill").read_bytes() for number in range(4)}) == 1
    assert len(models[0].combinations_) > 10
    again = load(tmp_path / "0.mill")
    assert np.array_equal(again.predict_proba(X), models[0].predict_proba(X))
    again.combinations_ = np.array(again.combinations_)
    again.combinations_[0, 0] = 99
    with pytest.raises(Exception, match="out of range or not in order"):
        again.save(tmp_path / "bad.mill")


def test_names_are_joined_and_duplicates_are_harmless() -> None:
    events = [
        {"v=eat": 1, "p=with": 1},
        {"v=eat": 1, "p=of": 1},
        {"v=see": 1, "p=with": 1},
        {"v=see": 1, "p=of": 1},
    ] * 9
    model = CombinationLogistic(l1=0.5, vectorizer=NamedFeatures()).fit(events, ["N", "V", "V", "N"] * 9)
    assert any(" & " in name for name in model.strongest(5).features)
    assert model.predict(events[:4]).tolist() == ["N", "V", "V", "N"]
    assert model.predict([{"new": 1}]).shape == (1,)
    twins = np.column_stack([XOR, XOR])
    twin = CombinationLogistic(l1=1.0, intercept="none").fit(twins, XOR_LABELS)
    assert twin.objective_ == pytest.approx(20.190350, abs=1e-4)


def test_a_tree_holds_each_prefix_once() -> None:
    combinations = np.array([[0, 2, -1], [0, 2, 3], [1, -1, -1]], np.int32)
    tree = native.Conjunctions(combinations, np.array([[1.0, 2.0, 3.0]]), 4)
    assert tree.nodes == 6  # 1, and 3, 0, 2 and 0, 2: the features of most combinations come last


def test_scores_are_the_sums_of_the_combinations_of_a_row() -> None:
    random = np.random.default_rng(5)
    for trial in range(200):
        columns, degree, margins = int(random.integers(1, 9)), int(random.integers(1, 5)), int(random.integers(1, 4))
        X = random.random((6, columns)) * (random.random((6, columns)) < 0.6)
        sets = [c for size in range(1, degree + 1) for c in itertools.combinations(range(columns), size)]
        chosen = [sets[k] for k in np.flatnonzero(random.random(len(sets)) < 0.5)]
        weights = random.normal(size=(margins, len(chosen)))
        table = np.array([[*c, *[-1] * (degree - len(c))] for c in chosen], np.int32).reshape(len(chosen), degree)
        expected = sum(
            (np.outer(X[:, list(c)].prod(axis=1), w) for c, w in zip(chosen, weights.T, strict=True)),
            np.zeros((6, margins)),
        )
        rows = sparse.csr_matrix(X)
        score = np.zeros((6, margins))
        arrays = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data
        native.score_rows(*arrays, native.Conjunctions(table, weights, columns), score, 1 + trial % 3)
        assert score == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("wrong", [[[2, 1]], [[0, 0]], [[0, 4]], [[-1, 0]], [[-2, -1]]])
def test_combinations_that_are_not_in_order_are_refused(wrong: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="combination 0 has the feature"):
        native.Conjunctions(np.array(wrong, np.int32), np.ones((1, 1)), 4)


def test_bad_parameters_are_refused_and_a_degree_above_any_row_is_no_error() -> None:
    for wrong in ({"l1": 0.0}, {"degree": 0}, {"intercept": "yes"}, {"method": "fast"}, {"batch": 0}):
        with pytest.raises(DataError, match=next(iter(wrong))):
            CombinationLogistic(**wrong).fit(XOR, XOR_LABELS)
    high = CombinationLogistic(l1=1.0, degree=9, intercept="none").fit(XOR, XOR_LABELS)
    assert high.objective_ == pytest.approx(20.190350, abs=1e-4)
    with pytest.raises(DataError, match="pass one per row"):
        find_violators(sparse.csr_matrix(XOR), np.zeros(3), 1.0, 2)


def test_a_path_gives_the_optimum_of_each_penalty() -> None:
    rng = np.random.default_rng(5)
    X = (rng.random((300, 8)) < 0.4).astype(float)
    y = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + rng.normal(scale=0.3, size=300) > 0.5).astype(int)
    model = CombinationLogistic(degree=3, intercept="free")
    path = list(model.path(X, y, steps=5, ratio=0.02))
    highest = model.l1_max(X, y)
    assert path[0].l1 == pytest.approx(highest)
    assert len(path[0].combinations_) == 0
    assert len(CombinationLogistic(l1=0.99 * highest, degree=3, intercept="free").fit(X, y).combinations_) == 1
    for one in path[1:]:
        single = CombinationLogistic(l1=one.l1, degree=3, intercept="free").fit(X, y)
        assert one.objective_ == pytest.approx(single.objective_, rel=1e-5)
        assert one.gap_ <= 1e-4 * one.objective_
        assert one.predict(X).tolist() == single.predict(X).tolist()
    given = list(model.path(X, y, values=[1.0, 4.0]))
    assert [m.l1 for m in given] == [4.0, 1.0]


def test_an_l2_penalty_lets_combinations_that_say_the_same_share_their_weight() -> None:
    X, y = planted()
    twice = sparse.csr_matrix(sparse.hstack([X, X]))
    few = CombinationLogistic(l1=2.0, degree=2, tolerance=1e-8).fit(twice, y)
    many = CombinationLogistic(l1=2.0, l2=5.0, degree=2, tolerance=1e-8).fit(twice, y)
    weights = {tuple(row): w for row, w in zip(many.combinations_.tolist(), many.coef_[0].tolist(), strict=True)}
    assert all(weights[a, -1] == pytest.approx(weights[a + 12, -1], abs=2e-3) for a, b in weights if b < 0 and a < 12)
    assert len(many.combinations_) > len(few.combinations_)
    assert 0 <= many.gap_ <= 1e-4 * many.objective_
    assert [m.l2 for m in many.path(twice, y, values=[20.0, 10.0])] == [5.0, 5.0]
    with pytest.raises(ValueError, match="l2"):
        CombinationLogistic(l2=-1.0).fit(X, y)


def test_the_penalty_is_chosen_by_folds_or_on_development_data() -> None:
    X, y = XOR.repeat(3, axis=0), np.repeat(XOR_LABELS, 3)
    scores = choose_penalty(CombinationLogistic(), X[:80], y[:80], X_dev=X[80:], y_dev=y[80:], values=[100.0, 0.5])
    assert scores.best == 0.5
    assert scores.errors.tolist() == [0, 0]
    assert choose_penalty(CombinationLogistic(), X, y, values=[100.0, 0.5], n_folds=3).best == 0.5
    assert choose_penalty(CombinationLogistic(), X, y, penalty="l2", values=[1000.0, 0.1], n_folds=3).best == 0.1
    with pytest.raises(DataError, match="X_dev has 1 columns, X has 2"):
        choose_penalty(CombinationLogistic(), X, y, X_dev=X[:, :1], y_dev=y)


def test_a_degree_above_that_of_any_row_finds_what_there_is() -> None:
    model = CombinationLogistic(l1=1.0, degree=5, intercept="none").fit(XOR, XOR_LABELS)
    assert model.counts_by_degree() == [2, 1, 0, 0, 0]
    assert model.objective_ == pytest.approx(20.190350, abs=1e-5)


def test_f2_weighs_recall() -> None:
    weight = FWeight.from_beta(2)
    assert float(weight.f(0.5, 1.0)) == pytest.approx(0.83333, abs=1e-5)
    assert float(weight.f(1.0, 0.5)) == pytest.approx(0.55556, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_threads_do_not_change_what_a_search_finds(method: str) -> None:
    rng = np.random.default_rng(2)
    X = sparse.random(2000, 60, density=0.1, format="csr", random_state=2)
    residual = rng.normal(size=2000)
    found = [find_violators(X, residual, 0.5, 3, method=method, n_jobs=jobs) for jobs in (1, 2, 4, 8)]
    assert len(found[0][0]) > 20
    for other in found[1:]:
        assert [part.tobytes() for part in other[:2]] == [part.tobytes() for part in found[0][:2]]


def attachment(folder: Path, part: str) -> tuple[list[dict[str, int]], list[str]]:
    lines = [line.split() for line in (folder / "ppattach" / part).read_text(encoding="utf-8").splitlines()]
    events = [{f"{s}={w.lower()}": 1 for s, w in zip("vnpm", line[1:5], strict=True)} for line in lines]
    return events, [line[5] for line in lines]


@pytest.mark.data
def test_prepositional_phrases_reach_the_known_optima(data: Path) -> None:
    events, labels = attachment(data, "training")
    features = NamedFeatures()
    X = features.fit_transform(events)
    assert X.shape == (20801, 13112)
    known = {(1, 0.5): 6606.650, (1, 1.0): 7613.499, (1, 2.0): 8285.349, (2, 1.0): 7095.115}
    for (degree, l1), objective in {**known, (3, 0.5): 5645.214, (3, 1.0): 7085.853, (3, 2.0): 7978.143}.items():
        model = CombinationLogistic(l1=l1, degree=degree, tolerance=1e-7).fit(X, labels)
        assert model.objective_ == pytest.approx(objective, abs=1e-3)
        assert -1e-9 * objective <= model.gap_ <= 1e-4 * objective
    every, _, visited, _ = find_violators(X, np.ones(20801), 0.0, 3)
    assert (len(every), visited) == (153_712, 153_712)  # the candidates of degree 2 and 3
    test, right = attachment(data, "test")
    alone = CombinationLogistic(l1=1.0, degree=1).fit(X, labels)
    model = CombinationLogistic(l1=1.0, degree=3).fit(X, labels)
    assert model.objective_ == pytest.approx(7085.853, abs=3e-3)
    assert model.gap_ <= 1e-4 * model.objective_
    accuracy = 100 * model.score(features.transform(test), right)
    assert accuracy == pytest.approx(83.2, abs=0.3)
    assert accuracy >= 100 * alone.score(features.transform(test), right) + 0.5
    assert len(model.combinations_) < 3000
    first = model.searches_[0]
    assert first["violators"] == pytest.approx(1667, rel=0.05)  # at the optimum of the features; the first is rough
    by_examples = CombinationLogistic(l1=1.0, degree=3, method="examples").fit(X, labels)
    assert [s["violators"] for s in by_examples.searches_] == [s["violators"] for s in model.searches_]
    assert by_examples.coef_.tobytes() == model.coef_.tobytes()
    assert by_examples.searches_[0]["stored"] < 0.2 * 153_712


@pytest.mark.data
def test_batches_of_any_size_reach_the_same_objective(data: Path) -> None:
    events, labels = attachment(data, "training")
    X = NamedFeatures().fit_transform(events)
    small = [CombinationLogistic(l1=1.0, degree=3, batch=b).fit(X[:2000], labels[:2000]) for b in (1, 100, None)]
    assert len(small[0].searches_) > len(small[1].searches_) >= len(small[2].searches_)
    assert max(s["grafted"] for s in small[0].searches_) == 1
    large = [CombinationLogistic(l1=1.0, degree=3, batch=b).fit(X, labels) for b in (100, None)]
    for models in (small, large):
        for model in models:
            assert model.objective_ == pytest.approx(models[-1].objective_, rel=1e-5)


@pytest.mark.data
def test_both_searches_find_the_same_at_every_round(data: Path) -> None:
    events, labels = attachment(data, "training")
    X = NamedFeatures().fit_transform(events)[:8000]
    right = np.array([label == "V" for label in labels[:8000]], dtype=float)
    for model in CombinationLogistic(degree=3).path(X, labels[:8000], values=[8.0, 4.0, 2.0]):
        residual = right - model.predict_proba(X)[:, 1]
        found = [find_violators(X, residual, 0.5, 3, method=method) for method in ("examples", "vertical")]
        assert len(found[0][0]) > 100
        assert found[0][0].tolist() == found[1][0].tolist()
        assert found[0][1] == pytest.approx(found[1][1], abs=1e-9)


def many_planted(rows: int) -> tuple[Any, Any, list[tuple[int, ...]]]:
    """Rows with 30 of 5,000 features; labels follow 20 of them, and 20 pairs and 10 triples of 40 common ones."""
    rng = np.random.default_rng(0)
    single = range(40, 60)
    chosen = []
    for _ in range(rows):
        some = np.concatenate([rng.permutation(40)[:12], 40 + np.flatnonzero(rng.random(20) < 0.1)[:3]])
        chosen.append(np.sort(np.concatenate([some, 60 + rng.choice(4940, 30 - len(some), replace=False)])))
    X = sparse.csr_matrix((np.ones(30 * rows), np.concatenate(chosen), np.arange(0, 30 * rows + 1, 30)), (rows, 5000))
    dense = X[:, :60].toarray()
    combinations: list[tuple[int, ...]] = []
    while len(combinations) < 30:
        parts = tuple(sorted(rng.choice(40, 2 if len(combinations) < 20 else 3, replace=False).tolist()))
        if parts not in combinations:
            combinations.append(parts)
    z = np.zeros(rows)
    for parts in [*((j,) for j in single), *combinations]:
        there = dense[:, list(parts)].prod(axis=1)
        assert there.sum() >= 50
        z += rng.uniform(1, 3) * rng.choice([-1, 1]) * there
    return X, (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(int), combinations


@pytest.mark.slow
def test_planted_conjunctions_are_found_at_the_penalty_chosen_on_development_data() -> None:
    X, y, combinations = many_planted(24_000)
    model = CombinationLogistic(degree=3, tolerance=1e-4)
    scores = choose_penalty(
        model, X[:20_000], y[:20_000], X_dev=X[20_000:], y_dev=y[20_000:], values=[40.0, 20.0, 10.0, 7.0]
    )
    chosen = CombinationLogistic(l1=scores.best, degree=3, tolerance=1e-4).fit(X[:20_000], y[:20_000])
    active = {tuple(j for j in row if j >= 0) for row in chosen.combinations_.tolist()}
    assert len(active.intersection(combinations)) >= 0.95 * len(combinations)


def test_a_loose_tolerance_does_not_pass_for_a_small_gap() -> None:
    random = np.random.default_rng(0)
    X = (random.random((400, 30)) < 0.3).astype(float)
    y = (X[:, 0] * X[:, 1] + random.random(400) > 0.8).astype(int)
    fine = CombinationLogistic(l1=0.5, degree=2).fit(X, y)
    assert fine.stop_reason_ == "gap"
    assert fine.gap_ <= 5e-5 * fine.objective_
    loose = CombinationLogistic(l1=0.5, degree=2, tolerance=1e-3).fit(X, y)
    assert loose.stop_reason_ == "gap"
    assert fine.gap_ < loose.gap_ <= 1e-3 * loose.objective_
    with pytest.warns(NotConverged, match="max_iter=1"):
        early = CombinationLogistic(l1=0.5, degree=2, max_iter=1).fit(X, y)
    assert not early.converged_
    assert early.gap_ > 1e-3 * early.objective_


@pytest.mark.parametrize("binary", [True, False])
def test_grafted_columns_are_products_of_their_parts(binary: bool) -> None:
    rng = np.random.default_rng(5)
    X = sparse.random(300, 9, density=0.4, format="csr", random_state=5)
    X.data[:] = 1.0 if binary else rng.uniform(-1, 1, len(X.data))
    parts = [(*chosen, *[-1] * (3 - len(chosen))) for d in (2, 3) for chosen in itertools.combinations(range(9), d)]
    columns = []
    for threads in (1, 2):
        design = native.Design(9, X.indptr.astype(np.int64), X.indices, X.data, 1)
        design.graft(np.array(parts, np.int32), threads)
        product = np.empty(300)
        columns.append([])
        for k in range(len(parts)):
            native.column_product(design, np.array([9 + k], np.int32), np.ones(1), product)
            columns[-1].append(product.copy())
    dense = X.toarray()
    right = [np.prod([dense[:, j] for j in part if j >= 0], axis=0) for part in parts]
    np.testing.assert_allclose(columns[0], right, rtol=1e-15)
    np.testing.assert_array_equal(*columns)


def test_a_design_takes_columns_in_rows_once_and_rows_in_any_order() -> None:
    with pytest.raises(ValueError, match="row 1 has a column twice"):
        native.Design(3, np.array([0, 1, 3]), np.array([0, 2, 2], np.int32), np.ones(3), 1)
    for wrong in ([0, 0, 1], [0, 1, 3], [0, 1]):
        with pytest.raises(ValueError, match="order needs"):
            native.Design(
                1, np.array([0, 1, 1, 1]), np.zeros(1, np.int32), np.ones(1), 1, order=np.array(wrong, np.int32)
            )
    for number in ([0, 2], [1, 0], [0]):
        with pytest.raises(ValueError, match="number"):
            native.Design(2, np.array([0, 1]), np.zeros(1, np.int32), np.ones(1), 1, number=np.array(number, np.int32))
    rng = np.random.default_rng(12)
    dense = rng.normal(size=(500, 7)) * (rng.random((500, 7)) < [1.0, 0.9, 0.5, 0.3, 0.1, 0.02, 0.0])
    for X in (sparse.csr_matrix(dense), sparse.csr_matrix((dense != 0).astype(float))):
        arrays = X.indptr.astype(np.int64), X.indices, X.data
        order = native.rows_by_commonest_column(7, *arrays[:2])
        assert sorted(order.tolist()) == list(range(500))
        number = np.array([0, 1, -1, 2, 3, 4, 5], np.int32)
        design = native.Design(7, *arrays, 2, number, order)
        design.add_ones()
        rows = np.column_stack([X.toarray()[order][:, [0, 1, 3, 4, 5, 6]], np.ones(500)])
        residual, bend = rng.normal(size=500), rng.random(500)
        slope, square = np.empty(7), np.empty(7)
        native.column_sums(design, np.empty(0, np.int32), residual, bend, slope, square, 1)
        np.testing.assert_allclose(slope, -(rows.T @ residual), atol=1e-12)
        np.testing.assert_allclose(square, (rows**2).T @ bend, atol=1e-12)


def test_optimality_is_that_of_its_conditions() -> None:
    rng = np.random.default_rng(6)
    for columns, l1, l2 in ((0, 1.0, 0.0), (20_000, 0.5, 0.0), (20_000, 0.5, 2.0)):
        slope, weight = rng.normal(size=columns), rng.normal(size=columns) * (rng.random(columns) < 0.3)
        highest, violation, excess, norm, square, active = native.optimality(slope, weight, l1, l2, 2)
        full = slope + l2 * weight
        above = np.maximum(np.abs(slope) - l1, 0)
        assert violation == np.where(weight != 0, np.abs(full + l1 * np.sign(weight)), above).max(initial=0)
        assert (highest, active) == (np.abs(slope).max(initial=0), np.count_nonzero(weight))
        assert (excess, norm, square) == pytest.approx(((above**2).sum(), np.abs(weight).sum(), (weight**2).sum()))
        chosen = native.working_set(slope, weight, l1, 2)
        np.testing.assert_array_equal(chosen, np.flatnonzero((weight != 0) | (np.abs(slope) > l1)))

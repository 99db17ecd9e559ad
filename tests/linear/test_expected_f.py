"""Training for F and other utilities: the published numbers, derivatives, starts, invariants, what is refused."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from textmill.errors import DataError
from textmill.linear import (
    Cascade,
    LogisticRegression,
    MethodTable,
    OperatingCurve,
    SmoothedUtility,
    UtilityLogistic,
    bernoulli_utility,
    operating_path,
    oracle_threshold,
    tuned_threshold,
)
from textmill.metrics import BinaryCounts, FWeight, RatioUtility, Utility, UtilitySum, named_utility
from textmill.model import load
from textmill.optimize import Stopping, minimize_lbfgs, numerical_gradient
from textmill.sequence import expected_f_loss
from textmill.vectors import TextVectorizer

TOY = np.array([[0.0], [1.0], [2.0], [3.0]])
LABELS = [1, -1, 1, 1]


def alpha(weight: float) -> RatioUtility:
    return RatioUtility.f(FWeight.from_recall(weight))


def random_problem(seed: int, rows: int = 40, columns: int = 6) -> tuple[sparse.csr_matrix, Any]:
    rng = np.random.default_rng(seed)
    X = sparse.random(
        rows, columns, density=0.5, format="csr", random_state=seed, data_rvs=lambda size: rng.normal(size=size)
    )
    y = rng.random(rows) < 0.3
    y[0] = True
    return X, y


def outliers(seed: int, rows: int) -> tuple[Any, Any]:
    """20% positives shifted on two features, of which 15% are far out on the wrong side: a misspecified model."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.2
    X = rng.normal(size=(rows, 8))
    X[y, 0] += 1.2
    X[y, 1] += 0.8
    far = np.flatnonzero(y)
    X[far[rng.random(len(far)) < 0.15], 0] -= 10
    return X, y


def test_likelihood_of_the_toy_rows() -> None:
    model = LogisticRegression(l2=0.0, tolerance=1e-7).fit(TOY, LABELS)
    theta = np.array([model.intercept_[0], model.coef_[0, 0]])
    np.testing.assert_allclose(theta, [0.34719, 0.56662], atol=1e-4)
    assert model.objective_ == pytest.approx(2.111983, abs=1e-6)
    np.testing.assert_allclose(model.predict_proba(TOY)[:, 1], [0.58594, 0.71378, 0.81464, 0.88565], atol=1e-4)
    for weight, value in ((0.5, 6 / 7), (0.25, 0.8), (0.75, 0.923077)):
        assert SmoothedUtility(TOY, LABELS, alpha(weight)).figure(theta) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("theta", "weight", "hard", "smooth"),
    [
        ((20, 15), 0.5, 6 / 7, 0.8571428568),
        ((20, 15), 0.25, 4 / 5, 0.7999999998),
        ((-20, 15), 0.5, 4 / 5, 0.7989196851),
        ((-20, 15), 0.25, 8 / 9, 0.8869034959),
    ],
)
def test_steep_weights_of_the_toy_rows(theta: tuple[float, float], weight: float, hard: float, smooth: float) -> None:
    objective = SmoothedUtility(TOY, LABELS, alpha(weight))
    assert objective.figure(np.array(theta, float)) == pytest.approx(hard, abs=1e-12)
    assert objective(np.array(theta, float))[0] == pytest.approx(smooth, abs=1e-9)
    if theta == (-20, 15):
        assert objective.hard_counts(np.array(theta, float)).tolist() == [2, 1, 0, 1]


@pytest.mark.parametrize(
    ("theta", "weight", "value", "slopes"),
    [
        ((0, 0), 0.25, 0.6666666667, (0.1111111111, 0.2222222222)),
        ((0, 0), 0.5, 0.6, (0.18, 0.32)),
        ((0, 0), 0.75, 0.5454545455, (0.2231404959, 0.3801652893)),
        ((0.35, 0.57), 0.5, 0.7626202886, (0.07568479, 0.09796702)),
        ((0.35, 0.57), 0.25, 0.7623224454, (0.03148783, 0.0469056)),
        ((1, -0.5), 0.5, 0.6150186327, (0.15283585, 0.29141067)),
        ((-1.5, 1), 0.25, 0.7210930361, (0.05234871, 0.13074612)),
        ((-1.5, 1), 0.75, 0.5899852113, (0.15271824, 0.27180531)),
    ],
)
def test_published_values_and_gradients(
    theta: tuple[float, float], weight: float, value: float, slopes: tuple[float, float]
) -> None:
    found, gradient = SmoothedUtility(TOY, LABELS, f"alpha:{weight}")(np.array(theta, float))
    assert found == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(gradient, slopes, atol=1e-8)


def test_expected_counts_are_not_expected_f() -> None:
    assert SmoothedUtility(TOY, LABELS)(np.zeros(2))[0] == pytest.approx(0.6, abs=1e-15)
    assert expected_f_loss([0.5] * 4, [1, 0, 1, 1])[0] == pytest.approx(0.5598214286, abs=1e-10)


def test_arithmetic_of_the_published_table() -> None:
    rows = {
        "likelihood": ((24, 75, 9), (0.363636, 0.290909)),
        "oracle": ((85, 14, 144), (0.518293, 0.646388)),
        "f 0.5": ((85, 14, 126), (0.548387, 0.669291)),
        "f 0.75": ((95, 4, 235), (0.442890, 0.606061)),
    }
    for (hits, misses, alarms), values in rows.values():
        for weight, value in zip((0.5, 0.75), values, strict=True):
            assert float(alpha(weight).value([hits, misses, alarms, 0])) == pytest.approx(value, abs=1e-6)
    table = MethodTable({name: BinaryCounts(*counts, 309 - counts[2]) for name, (counts, _) in rows.items()})
    columns = table.to_dict()
    assert columns["recall"] == ["24/99", "85/99", "85/99", "95/99"]
    assert columns["precision"] == ["24/33", "85/229", "85/211", "95/330"]
    assert columns["F 0.5"] == [0.3636, 0.5183, 0.5484, 0.4429]
    assert columns["F 0.75"] == [0.2909, 0.6464, 0.6693, 0.6061]


@pytest.mark.parametrize("weight", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("gamma", [0.5, 1.0, 3.0])
def test_gradients_agree_with_differences(weight: float, gamma: float) -> None:
    rng = np.random.default_rng(1)
    for seed in range(100 // 9 + 1):
        X, y = random_problem(seed)
        objective = SmoothedUtility(X, y, alpha(weight), gamma=gamma, sample_weight=rng.random(len(y)) + 0.1)
        theta = rng.normal(size=7)
        _, gradient = objective(theta)
        wanted = numerical_gradient(objective, theta)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "name",
    ["jaccard", "youden", "g-mean", "mcc", "balanced-accuracy", "sensitivity:0.7", "recall-floor:0.9", "cost:5:1",
     "accuracy", "precision", "recall", "0.5*f1+0.5*recall"],
)  # fmt: skip
def test_gradients_of_other_utilities(name: str) -> None:
    X, y = random_problem(3)
    objective = SmoothedUtility(X, y, name)
    theta = np.random.default_rng(2).normal(size=7)
    wanted = numerical_gradient(objective, theta)
    np.testing.assert_allclose(objective(theta)[1], wanted, rtol=1e-6, atol=1e-8)


def test_invariants() -> None:
    for seed in range(20):
        X, y = random_problem(seed)
        theta = np.random.default_rng(seed).normal(0, 2, 7)
        objective = SmoothedUtility(X, y)
        value = objective(theta)[0]
        assert 0 <= value <= 1
        twice = SmoothedUtility(sparse.vstack([X, X], format="csr"), np.concatenate([y, y]))
        assert twice(theta)[0] == pytest.approx(value, abs=1e-13)
        weighted = SmoothedUtility(X, y, sample_weight=np.full(len(y), 2.0))
        assert weighted(theta)[0] == pytest.approx(value, abs=1e-13)
        steep = SmoothedUtility(X, y, gamma=3.0)
        assert steep(theta)[0] == pytest.approx(objective(3.0 * theta)[0], abs=1e-13)
        counts = objective.counts(theta)
        assert counts[0] + counts[1] == pytest.approx(y.sum())
        assert counts[2] + counts[3] == pytest.approx((~y).sum())
        near = SmoothedUtility(X, y, gamma=1e3 / np.abs(objective.margins(theta)).min()).counts(theta)
        np.testing.assert_allclose(near, objective.hard_counts(theta), atol=1e-9)


def test_single_starts_end_in_several_places_and_many_starts_in_the_best() -> None:
    rng = np.random.default_rng(0)
    rules = Stopping(gradient_tolerance=1e-6, max_norm=1e3)
    ends = set()
    objective = SmoothedUtility(TOY, LABELS, alpha(0.25))
    for _ in range(60):
        run = minimize_lbfgs(lambda t: tuple(-part for part in objective(t)), rng.uniform(-5, 5, 2), stopping=rules)
        ends.add(round(-run.value, 2))
    assert {0.67, 0.8, 0.89} <= ends
    for weight, best in ((0.25, 8 / 9), (0.5, 6 / 7)):
        for method in ("lbfgs", "bfgs", "cg"):
            model = UtilityLogistic(utility=f"alpha:{weight}", l2=0.0, n_folds=0, method=method).fit(TOY, LABELS)
            assert model.objective_ == pytest.approx(best, abs=1e-3)
            assert len(model.starts_) == 11
            assert max(start["objective"] for start in model.starts_) == pytest.approx(model.objective_, abs=1e-9)


def test_misspecified_rows_need_other_weights_and_not_another_threshold() -> None:
    wins = 0
    for seed in range(5):
        X, y = outliers(seed, 3535 + 4080)
        train, test = slice(0, 3535), slice(3535, None)
        likelihood = LogisticRegression(l2=1e-3).fit(X[train], y[train])
        fitted = dict(operating_path(UtilityLogistic(l2=1e-4, n_folds=0), X[train], y[train], (0.5, 0.75)))
        counts = {w: BinaryCounts.from_labels(y[test], model.predict(X[test]), True) for w, model in fitted.items()}
        oracle = oracle_threshold(likelihood.decision_function(X[test]), y[test], hits=counts[0.5].hits)
        assert BinaryCounts.from_labels(y[test], likelihood.predict(X[test]), True).f() < 0.3
        assert oracle.counts.hits >= counts[0.5].hits
        wins += counts[0.5].f() > oracle.figure
        assert counts[0.75].recall() > counts[0.5].recall()
        objective = SmoothedUtility(X[train], y[train], alpha(0.75))
        values = [
            objective(np.concatenate([model.intercept_, model.coef_[0]]))[0] - 5e-5 * np.square(model.coef_).sum()
            for model in fitted.values()
        ]
        assert values[1] >= values[0]
    assert wins >= 4


def test_separable_rows_end_with_finite_weights() -> None:
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    model = UtilityLogistic(l2=0.0, n_folds=0, tolerance=0.0).fit(X, [0, 0, 1, 1])
    assert np.isfinite(model.coef_).all()
    assert model.predict(X).tolist() == [0, 0, 1, 1]
    assert model.objective_ == pytest.approx(1.0, abs=1e-6)
    assert model.stop_reason_ == "the supremum lies at infinity"
    assert {start["reason"] for start in model.starts_ if start["objective"] > 0.999} == {"unbounded"}
    for tolerance in (1e-9, 1e-3):  # whatever ends the run first
        again = UtilityLogistic(l2=0.0, n_folds=0, tolerance=tolerance).fit(X, [0, 0, 1, 1])
        assert again.stop_reason_ == "the supremum lies at infinity"
        assert again.predict(X).tolist() == [0, 0, 1, 1]
    held = UtilityLogistic(l2=0.01, n_folds=0).fit(X, [0, 0, 1, 1])
    assert held.stop_reason_ != "the supremum lies at infinity"
    assert "unbounded" not in {start["reason"] for start in held.starts_}
    wide = SmoothedUtility(X, [0, 0, 1, 1])
    run = minimize_lbfgs(
        lambda t: tuple(-part for part in wide(t)),
        [0.0, 1.0],
        stopping=Stopping(gradient_tolerance=0, tolerance=0, max_norm=5.0),
    )
    assert run.report.reason == "unbounded"


def test_pure_recall_claims_everything_and_pure_precision_survives() -> None:
    X, y = random_problem(5, rows=80)
    everything = UtilityLogistic(utility="alpha:1", l2=1e-4, n_folds=0).fit(X, y)
    assert everything.predict(X).all()
    careful = UtilityLogistic(utility="alpha:0", l2=1e-2, n_folds=0).fit(X, y)
    assert np.isfinite(careful.coef_).all()


def test_continuation_comes_nearer_to_the_decisions() -> None:
    X, y = outliers(1, 1000)
    smooth = UtilityLogistic(l2=1e-3, n_folds=0).fit(X, y)
    steep = UtilityLogistic(l2=1e-3, n_folds=0, gamma=(1.0, 2.0, 4.0, 8.0)).fit(X, y)
    gap = [abs(model.objective_ - BinaryCounts.from_labels(y, model.predict(X), True).f()) for model in (smooth, steep)]
    assert gap[1] < gap[0]


def test_an_l1_penalty_leaves_few_weights() -> None:
    X, y = outliers(2, 1000)
    model = UtilityLogistic(l1=0.01, l2=0.0, n_folds=0).fit(X, y)
    assert 1 <= int((model.coef_ != 0).sum()) <= 4


def test_any_model_of_probabilities_can_be_trained() -> None:
    X, y = random_problem(7)
    dense = np.asarray(X.todense())

    def model(theta: Any) -> Any:
        p = 1 / (1 + np.exp(-(dense @ theta[1:] + theta[0])))
        return p, lambda v: np.concatenate([[v @ (p * (1 - p))], dense.T @ (v * p * (1 - p))])

    theta = np.random.default_rng(0).normal(size=7)
    value, gradient = bernoulli_utility(model, y, "mcc")(theta)
    wanted, slopes = SmoothedUtility(X, y, "mcc")(theta)
    assert value == pytest.approx(wanted, abs=1e-13)
    np.testing.assert_allclose(gradient, slopes, atol=1e-13)
    with pytest.raises(DataError, match="row 0"):
        bernoulli_utility(lambda theta: (np.full(len(y), 2.0), lambda v: v), y)(theta)


def test_a_surface_has_the_suprema_in_its_corners() -> None:
    objective = SmoothedUtility(TOY, LABELS, alpha(0.25))
    grid = objective.surface([-20.0, 0.0, 20.0], [-15.0, 0.0, 15.0])
    assert grid.shape == (3, 3)
    assert grid.max() == grid[0, 2] == pytest.approx(0.8869034959, abs=1e-9)


def test_folds_move_the_operating_point_and_calibrate() -> None:
    rng = np.random.default_rng(4)
    X = sparse.random(1500, 400, density=0.05, format="csr", random_state=4)
    y = np.asarray(X[:, :20].sum(axis=1)).ravel() + 0.3 * rng.normal(size=1500) > 1.2
    train, test = slice(0, 1000), slice(1000, None)
    model = UtilityLogistic().fit(X[train], y[train])
    assert model.held_out_ is not None
    likelihood = LogisticRegression().fit(X[train], y[train])
    ours, theirs = (BinaryCounts.from_labels(y[test], m.predict(X[test]), True).f() for m in (model, likelihood))
    assert ours > theirs
    p = model.calibrated(X[test])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert p[:, 1].mean() == pytest.approx(y[test].mean(), abs=0.03)
    with pytest.raises(DataError, match="without folds"):
        UtilityLogistic(n_folds=0).fit(X[train], y[train]).calibrated(X[test])


def test_the_positive_label() -> None:
    X, y = outliers(0, 400)
    names = np.where(y, "ham", "spam")  # the rarer one comes first
    model = UtilityLogistic(l2=1e-4, n_folds=2).fit(X, names)
    assert model.positive_ == "ham"
    numbers = UtilityLogistic(l2=1e-4, n_folds=2).fit(X, y.astype(int))
    assert numbers.positive_ == 1
    np.testing.assert_allclose(model.decision_function(X), -numbers.decision_function(X), rtol=1e-9)
    np.testing.assert_allclose(model.calibrated(X)[:, 0], numbers.calibrated(X)[:, 1], rtol=1e-9)
    other = UtilityLogistic(l2=1e-4, n_folds=2, positive="spam").fit(X, names)
    assert other.positive_ == "spam"
    assert (other.predict(X) == "spam").mean() > (model.predict(X) == "spam").mean()


def test_several_classes_one_against_all() -> None:
    rng = np.random.default_rng(2)
    y = rng.choice(["a", "b", "c"], 300, p=[0.7, 0.2, 0.1])
    X = rng.normal(size=(300, 3)) + 3 * np.stack([y == "a", y == "b", y == "c"], axis=1)
    model = UtilityLogistic().fit(X, y)
    assert model.coef_.shape == (3, 3)
    assert model.score(X, y) > 0.9
    assert model.positive_ is None


def test_models_are_saved_with_texts_and_utilities(tmp_path: Path) -> None:
    texts = ["corn and wheat", "oil and gas", "wheat prices", "gas pipeline", "corn harvest", "oil tanker"] * 4
    labels = ["grain", "energy"] * 12
    model = UtilityLogistic(utility="f2", vectorizer=TextVectorizer()).fit(texts, labels)
    path = tmp_path / "model.mill"
    model.save(path)
    loaded = load(path)
    assert isinstance(loaded, UtilityLogistic)
    assert loaded.predict(["wheat", "gas"]).tolist() == model.predict(["wheat", "gas"]).tolist()
    assert loaded.utility == "f2"
    np.testing.assert_array_equal(loaded.calibrated(texts), model.calibrated(texts))
    second = tmp_path / "second.mill"
    loaded.save(second)
    assert second.read_bytes() == path.read_bytes()


def test_threads_give_the_same_model() -> None:
    X, y = random_problem(9, rows=3000)
    one, two = (UtilityLogistic(n_jobs=jobs, l2=1e-4, n_folds=2).fit(X, y) for jobs in (1, 2))
    assert one.coef_.tobytes() == two.coef_.tobytes()
    rng = np.random.default_rng(10)
    for columns in (40, 30_000):  # few of them are summed by rows, many by columns
        places = rng.integers(0, columns, 300_000)
        rows = sparse.csr_matrix((rng.random(300_000), (rng.integers(0, 30_000, 300_000), places)), (30_000, columns))
        labels, theta = rng.random(30_000) < 0.1, rng.normal(size=columns + 1)
        answers = [SmoothedUtility(rows, labels, n_jobs=jobs)(theta) for jobs in (1, 2, 4, 8)]
        assert len({value for value, _ in answers}) == 1
        assert len({gradient.tobytes() for _, gradient in answers}) == 1


def test_a_path_along_the_weight_of_recall() -> None:
    X, y = outliers(3, 1200)
    recalls = [
        BinaryCounts.from_labels(y, model.predict(X), True).recall()
        for _, model in operating_path(UtilityLogistic(l2=1e-4, n_folds=0), X, y, (0.2, 0.5, 0.8))
    ]
    assert recalls == sorted(recalls)
    assert recalls[0] < recalls[2]


def test_thresholds() -> None:
    scores, gold = [9.0, 8.0, 7.0, 1.0], [1, 0, 1, 0]
    assert tuned_threshold(scores, gold).figure == pytest.approx(0.8)
    assert oracle_threshold(scores, gold, hits=1).threshold == 8.5
    with pytest.raises(DataError, match="hits"):
        oracle_threshold(scores, gold, hits=3)
    f_star = tuned_threshold([0.9, 0.8, 0.3, 0.2], [1, 1, 0, 0])
    assert f_star.figure == 1.0


def test_curves_keep_the_best_point() -> None:
    rng = np.random.default_rng(1)
    gold = rng.random(500) < 0.2
    scores = rng.normal(size=500) + 2 * gold
    whole, few = OperatingCurve(scores, gold), OperatingCurve(scores, gold, n_points=12)
    assert len(few.thresholds) <= 12
    assert few.values[few.best] == whole.values.max()
    assert few.recall[0] == 0.0
    assert few.recall[-1] == 1.0
    assert (np.diff(few.recall) >= 0).all()


def test_cascades_let_through_less_and_less() -> None:
    X, y = outliers(6, 2000)
    stages = [UtilityLogistic(utility=name, l2=1e-4, n_folds=0) for name in ("alpha:0.9", "f1")]
    cascade = Cascade(stages).fit(X, y)
    first, both = cascade.stages_[0].predict(X), cascade.predict(X)
    assert both.sum() < first.sum()
    assert (both <= first).all()
    counts = [BinaryCounts.from_labels(y, answer, True) for answer in (first, both)]
    assert counts[1].precision() > counts[0].precision()


class Always:
    """A utility of one's own."""

    def value(self, counts: Any) -> Any:
        return np.asarray(counts)[..., 0] / np.asarray(counts).sum(axis=-1)

    def gradient(self, counts: Any) -> Any:
        c = np.asarray(counts)
        return (np.array([1.0, 0, 0, 0]) - self.value(c)[..., None]) / c.sum(axis=-1, keepdims=True)


def test_a_utility_of_ones_own() -> None:
    X, y = random_problem(4)
    model = UtilityLogistic(utility=Always(), l2=1e-3, n_folds=0).fit(X, y)
    assert model.predict(X)[y].all()


@pytest.mark.parametrize("name", ["f1", "jaccard", "mcc", "cost:5:1", "alpha:0.3", "recall-floor:0.9:20"])
def test_named_utilities_have_values_and_gradients(name: str) -> None:
    utility: Utility = named_utility(name)
    counts = np.array([8.0, 2.0, 3.0, 20.0])
    wanted = numerical_gradient(lambda c: (float(utility.value(c)), utility.gradient(c)), counts)
    np.testing.assert_allclose(utility.gradient(counts), wanted, rtol=1e-6, atol=1e-9)


def test_sums_of_utilities_by_name() -> None:
    both = named_utility("0.5*f1+0.5*recall")
    assert isinstance(both, UtilitySum)
    counts = [8, 2, 3, 20]
    parts = [float(named_utility(name).value(counts)) for name in ("f1", "recall")]
    assert float(both.value(counts)) == pytest.approx(sum(parts) / 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: named_utility("magic"), "unknown"),
        (lambda: named_utility("alpha:x"), "number"),
        (lambda: UtilityLogistic(utility="magic").fit(TOY, LABELS), "unknown"),
        (lambda: UtilityLogistic(utility=3).fit(TOY, LABELS), "no gradient"),  # type: ignore[arg-type]
        (lambda: UtilityLogistic().fit(TOY, [1, 1, 1, 1]), "one class"),
        (lambda: UtilityLogistic(positive="x").fit(TOY, LABELS), "no label"),
        (lambda: UtilityLogistic(positive=1).fit(TOY, [0, 1, 2, 2]), "two classes"),
        (lambda: UtilityLogistic(method="newton").fit(TOY, LABELS), "method"),
        (lambda: UtilityLogistic(gamma=0.0).fit(TOY, LABELS), "gamma"),
        (lambda: UtilityLogistic(n_folds=-1).fit(TOY, LABELS), "n_folds"),
        (lambda: UtilityLogistic().fit(np.array([[np.nan]] * 4), LABELS), "NaN"),
        (lambda: UtilityLogistic().fit(TOY, [1, "a", 1, 1]), "mixes"),
        (lambda: SmoothedUtility(TOY, ["a", "b", "a", "b"]), "-1 and 1"),
        (lambda: SmoothedUtility(TOY, [0, 0, 0, 0]), "no positive"),
        (lambda: SmoothedUtility(TOY, [1, 0]), "one per row"),
        (lambda: SmoothedUtility(TOY, LABELS)(np.zeros(3)), "theta"),
        (lambda: Cascade([]), "at least one"),
        (lambda: MethodTable({}), "no method"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_constant_features_and_empty_rows_are_learned_from() -> None:
    X = sparse.csr_matrix(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 2.0], [0.0, 0.0], [1.0, 3.0], [0.0, 1.0]]))
    model = UtilityLogistic().fit(X, [0, 0, 1, 0, 1, 1])
    assert np.isfinite(model.coef_).all()
    assert model.predict(X).tolist() == [0, 0, 1, 0, 1, 1]
    for y in itertools.product((0, 1), repeat=3):
        if 0 < sum(y) < 3:
            assert len(UtilityLogistic().fit(X[:3], list(y)).predict(X)) == 6


@pytest.mark.slow
def test_public_sets_where_likelihood_is_right() -> None:
    """Easy sets, F1 near 0.8 to 0.97: as good as likelihood alone, better than with a tuned threshold."""
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.linear_model import LogisticRegression as Theirs
    from sklearn.model_selection import StratifiedKFold, train_test_split

    digits = load_digits()
    cancer = load_breast_cancer()
    sets = [(digits.data / 16, digits.target == 8), (digits.data / 16, digits.target == 1)]
    sets.append(((cancer.data - cancer.data.mean(axis=0)) / cancer.data.std(axis=0), cancer.target == 0))
    for X, y in sets:
        figures = []
        for run in range(5):
            for train, test in StratifiedKFold(2, shuffle=True, random_state=run).split(X, y):
                ours = UtilityLogistic(n_jobs=1).fit(X[train], y[train])
                theirs = Theirs(max_iter=1000).fit(X[train], y[train])
                part, dev = train_test_split(train, test_size=0.3, random_state=run, stratify=y[train])
                tuned = Theirs(max_iter=1000).fit(X[part], y[part])
                point = tuned_threshold(tuned.decision_function(X[dev]), y[dev])
                answers = [
                    ours.predict(X[test]),
                    theirs.predict(X[test]),
                    tuned.decision_function(X[test]) >= point.threshold,
                ]
                figures.append([BinaryCounts.from_labels(y[test], answer, True).f() for answer in answers])
        means = np.mean(figures, axis=0)
        assert means[0] >= means[1]
        assert means[0] >= means[2]

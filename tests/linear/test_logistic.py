"""Logistic regression against scikit-learn, finite differences, its dual, and itself on chunks, paths, streams."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression as Theirs

from textmill.corpus import NamedFeatures
from textmill.errors import DataError
from textmill.linear import (
    LogisticRegression,
    NotConverged,
    choose_penalty,
    chunked,
    read_labeled,
)
from textmill.linear.problem import Penalty, Problem
from textmill.model import load
from textmill.selection import deal_folds
from textmill.vectors import TextVectorizer, Weighting


def some_data(classes: int = 2, rows: int = 200, columns: int = 30, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = sparse.random(rows, columns, density=0.2, format="csr", random_state=seed)
    W = rng.normal(size=(columns, classes)) * 3
    return X, (X @ W + rng.gumbel(size=(rows, classes))).argmax(axis=1)


def objective(model: LogisticRegression, X: Any, y: Any, weights: Any = 1.0) -> float:
    """Straight from the definition."""
    log_p = model.predict_log_proba(X)
    at = np.searchsorted(model.classes_, y)
    coef = model.coef_
    loss = -(weights * log_p[np.arange(len(at)), at]).sum()
    return float(loss + model.l1 * np.abs(coef).sum() + model.l2 / 2 * (coef**2).sum())


@pytest.mark.parametrize(("l1", "l2"), [(1.0, 0.0), (0.0, 1.0), (0.3, 0.5), (0.05, 0.0), (0.0, 0.01)])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_objective_is_that_of_scikit_learn(l1: float, l2: float, classes: int) -> None:
    X, y = some_data(classes)
    ours = LogisticRegression(l1=l1, l2=l2, tolerance=1e-9).fit(X, y)
    C, ratio = 1 / (l1 + l2), l1 / (l1 + l2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = Theirs(C=C, l1_ratio=ratio, solver="saga", tol=1e-9, max_iter=20000).fit(X, y)
    assert ours.objective_ == pytest.approx(objective(ours, X, y), rel=1e-12)
    ours.coef_, ours.intercept_ = theirs.coef_, theirs.intercept_
    assert ours.objective_ == pytest.approx(objective(ours, X, y), rel=1e-6)


@pytest.mark.parametrize(("l1", "l2"), [(0.5, 0.0), (0.0, 0.5), (0.2, 0.2)])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_gap_bounds_the_distance_to_the_optimum_at_any_point(l1: float, l2: float, classes: int) -> None:
    X, y = some_data(classes)
    best = LogisticRegression(l1=l1, l2=l2, tolerance=1e-11).fit(X, y)
    assert best.certificate(X, y).relative_gap < 1e-5
    assert best.certificate(X, y).gap > -1e-9
    for max_iter in (0, 1, 2, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConverged)
            early = LogisticRegression(l1=l1, l2=l2, max_iter=max_iter).fit(X, y)
        found = early.certificate(X, y)
        assert found.dual <= best.objective_ * (1 + 1e-9)
        assert found.objective >= best.objective_ * (1 - 1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_slopes_agree_with_finite_differences(classes: int) -> None:
    X, y = some_data(classes, rows=40, columns=5)
    weights = np.random.default_rng(1).random(40)
    problem = Problem(X, y.astype(np.int32), classes, weights, intercept=True, threads=1)
    coef, shift = np.random.default_rng(2).normal(size=(problem.margins, 5)), np.full(problem.margins, 0.3)
    residual = np.empty((problem.margins, 40))
    problem.loss(problem.margin(coef, shift), residual)
    slopes = problem.slopes(residual)
    at = lambda w: problem.loss(problem.margin(w.reshape(coef.shape), shift))  # noqa: E731
    assert slopes.ravel() == pytest.approx(approx_fprime(coef.ravel(), at, 1e-7), abs=1e-5)


@pytest.mark.parametrize(("l1", "l2"), [(0.4, 0.0), (0.0, 1.0)])
def test_the_bytes_are_the_same_for_any_number_of_threads(l1: float, l2: float) -> None:
    X, y = some_data(3, rows=5000, columns=300)
    models = [LogisticRegression(l1=l1, l2=l2, n_jobs=jobs).fit(X, y) for jobs in (1, 2, 4, 8)]
    assert len({model.coef_.tobytes() + model.intercept_.tobytes() for model in models}) == 1


def test_weights_of_rows_are_repetitions_and_weights_of_classes_multiply() -> None:
    X, y = some_data()
    times = np.random.default_rng(3).integers(0, 3, len(y))
    weighted = LogisticRegression(l1=0.2, tolerance=1e-12).fit(X, y, sample_weight=times)
    repeated = LogisticRegression(l1=0.2, tolerance=1e-12).fit(
        X[np.repeat(np.arange(len(y)), times)], np.repeat(y, times)
    )
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-5)
    by_class = LogisticRegression(class_weight={0: 2.0}, tolerance=1e-12).fit(X, y)
    by_row = LogisticRegression(tolerance=1e-12).fit(X, y, sample_weight=np.where(y == 0, 2.0, 1.0))
    assert np.array_equal(by_class.coef_, by_row.coef_)
    balanced = LogisticRegression(class_weight="balanced", tolerance=1e-12).fit(X, y)
    counts = np.bincount(y)
    by_row.fit(X, y, sample_weight=len(y) / (2 * counts[y]))
    assert balanced.coef_ == pytest.approx(by_row.coef_, abs=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_path_with_the_strong_rule_is_the_path_without(classes: int) -> None:
    X, y = some_data(classes)
    model = LogisticRegression(l2=0.0, tolerance=1e-10)
    screened = list(model.path(X, y, steps=6))
    plain = list(model.path(X, y, steps=6, screen=False))
    assert (screened[0].coef_ == 0).all()
    assert (screened[1].coef_ != 0).any()
    for one, other in zip(screened, plain, strict=True):
        assert one.objective_ == pytest.approx(other.objective_, rel=1e-7)
        assert one.certificate(X, y).relative_gap < 1e-4
        single = LogisticRegression(l1=one.l1, l2=0.0, tolerance=1e-10).fit(X, y)
        assert one.objective_ == pytest.approx(single.objective_, rel=1e-7)


def test_a_strong_rule_that_is_wrong_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    import textmill.linear.logistic as module

    X, y = some_data()
    screened = module._screened
    monkeypatch.setattr(
        module, "_screened", lambda p, penalty, before, run, limits: screened(p, penalty, -1e9, run, limits)
    )
    models = list(LogisticRegression(l2=0.0, tolerance=1e-10).path(X, y, steps=4))  # every column is screened out
    assert models[-1].objective_ == pytest.approx(
        LogisticRegression(l1=models[-1].l1, l2=0.0, tolerance=1e-10).fit(X, y).objective_, rel=1e-7
    )


def test_chunks_give_the_optimum_and_are_read_again() -> None:
    X, y = some_data(3)
    chunks = [(X[a : a + 50], y[a : a + 50]) for a in range(0, 200, 50)]
    for l1, l2 in ((0.3, 0.1), (0.0, 1.0)):
        whole = LogisticRegression(l1=l1, l2=l2, tolerance=1e-8).fit(X, y)
        parts = LogisticRegression(l1=l1, l2=l2, tolerance=1e-6).fit(chunks)
        assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-6)
    with pytest.raises(DataError, match="a generator can be read once"):
        LogisticRegression().fit(iter(chunks))
    with pytest.raises(DataError, match="a chunk has 29 columns, the first had 30"):
        LogisticRegression().fit([*chunks, (X[:5, :29], y[:5])])


def test_chunks_may_be_balanced_hold_texts_and_have_a_gap(tmp_path: Path) -> None:
    X, y = some_data(3)
    chunks = [(X[a : a + 50], y[a : a + 50]) for a in range(0, 200, 50)]
    for l1, l2 in ((0.3, 0.1), (0.3, 0.0), (0.0, 1.0)):
        settings = {"l1": l1, "l2": l2, "class_weight": "balanced", "tolerance": 1e-6}
        whole, parts = LogisticRegression(**settings).fit(X, y), LogisticRegression(**settings).fit(chunks)
        assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-6)
        assert parts.gap_ is not None
        assert 0 <= parts.gap_ <= 1e-6 * parts.objective_
        assert parts.objective_ - parts.gap_ <= whole.objective_ * (1 + 1e-9)
    with pytest.warns(NotConverged):
        early = LogisticRegression(l1=0.3, l2=0.1, max_iter=2).fit(chunks)
    assert early.gap_ > 1e-3 * early.objective_
    texts, labels = ["corn at the mill", "the mill grinds", "storm at sea", "the rough sea"] * 3, [0, 0, 1, 1] * 3
    vectorizer = TextVectorizer(weighting=Weighting(scheme="nnn"))
    streamed = LogisticRegression(vectorizer=vectorizer).fit([(texts[:5], labels[:5]), (texts[5:], labels[5:])])
    streamed.save(tmp_path / "texts.mill")
    assert load(tmp_path / "texts.mill").predict(["a mill", "the sea"]).tolist() == [0, 1]
    whole = LogisticRegression(vectorizer=vectorizer).fit(texts, labels)
    assert streamed.objective_ == pytest.approx(whole.objective_, rel=1e-4)


def test_a_cluster_gives_the_bytes_of_one_process(threads: Any) -> None:
    X, y = some_data(2, rows=9000)
    chunks = [(X[a : a + 4096], y[a : a + 4096]) for a in range(0, 9000, 4096)]
    here = LogisticRegression(l1=0.3).fit(chunks)
    there = LogisticRegression(l1=0.3).fit(X, y, cluster=threads)
    assert here.coef_.tobytes() == there.coef_.tobytes()


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_bytes(cluster_of: Any) -> None:
    X, y = some_data(3, rows=20_000)
    models = []
    for workers in (1, 3):
        with cluster_of(workers) as client:
            models.append(LogisticRegression(l1=0.3).fit(X, y, cluster=client).coef_.tobytes())
    assert models[0] == models[1]


@pytest.mark.slow
def test_workers_killed_during_training_change_no_byte(cluster_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = some_data(2, rows=20_000)
    chunks = [(X[a : a + 4096], y[a : a + 4096]) for a in range(0, 20_000, 4096)]
    undisturbed = LogisticRegression(l1=0.3).fit(chunks)
    evaluate, evaluations = chunked._Sum.__call__, itertools.count(1)
    with cluster_of(2) as client:
        # one worker just before an evaluation, all of them in the middle of another
        deaths: list[int] = []

        def kill(pids: list[int]) -> None:
            deaths.extend(pids)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

        def disturbed(objective: Any, theta: Any) -> Any:
            number = next(evaluations)
            if number in (3, 6):
                pids = list(client.run(os.getpid).values())
                if number == 3:
                    kill(pids[:1])
                else:
                    threading.Timer(0.005, kill, [pids]).start()
            return evaluate(objective, theta)

        monkeypatch.setattr(chunked._Sum, "__call__", disturbed)
        model = LogisticRegression(l1=0.3).fit(X, y, cluster=client)
    assert len(deaths) >= 2
    assert next(evaluations) > 8
    assert model.coef_.tobytes() == undisturbed.coef_.tobytes()
    assert model.gap_ == undisturbed.gap_


def test_a_stream_may_be_cut_anywhere_and_comes_near_the_optimum(tmp_path: Path) -> None:
    X, y = some_data(3, rows=4000)
    X = sparse.csr_matrix(X)
    model = LogisticRegression(l1=0.5, l2=0.1)
    whole = LogisticRegression(l1=0.5, l2=0.1).partial_fit(X, y)
    for a, b in itertools.pairwise([0, 100, 101, 1500, 4000]):
        model.partial_fit(X[a:b], y[a:b], classes=[0, 1, 2])
        model.save(tmp_path / "stream.mill")
        model = load(tmp_path / "stream.mill")
    assert model.coef_ == pytest.approx(whole.coef_, abs=1e-5)
    best = LogisticRegression(l1=0.5, l2=0.1).fit(X, y)
    zero = 4000 * np.log(3)
    assert objective(whole, X, y) - best.objective_ < 0.5 * (zero - best.objective_)
    assert model.n_iter_ == 4000


def test_cumulative_l1_gives_exact_zeros() -> None:
    X, y = some_data(2, rows=3000)
    counts = [int((LogisticRegression(l1=l1, l2=0.0).partial_fit(X, y).coef_ != 0).sum()) for l1 in (0.0, 1.0, 20.0)]
    assert counts[0] == 30
    assert counts[0] > counts[1] > counts[2]


def test_texts_and_mappings_go_through_the_vectorizer_and_are_saved(tmp_path: Path) -> None:
    texts = ["corn at the mill", "the mill grinds", "storm at sea", "the rough sea"] * 3
    model = LogisticRegression(l1=0.1, l2=0.0, vectorizer=TextVectorizer(weighting=Weighting(scheme="nnn"))).fit(
        texts, ["mill", "mill", "sea", "sea"] * 3
    )
    model.save(tmp_path / "a.mill")
    again = load(tmp_path / "a.mill")
    assert again.predict(["a mill", "the sea"]).tolist() == ["mill", "sea"]
    assert {"mill", "sea"} <= set(again.strongest(5).features)
    again.save(tmp_path / "b.mill")
    assert (tmp_path / "a.mill").read_bytes() == (tmp_path / "b.mill").read_bytes()
    events = LogisticRegression(vectorizer=NamedFeatures()).fit([{"v=eat": 1}, {"v=see": 1}], ["N", "V"])
    assert events.predict([{"v=see": 1, "new": 1}]).tolist() == ["V"]


def test_penalties_are_chosen_by_cross_validation() -> None:
    X, y = some_data(2, rows=400)
    scores = choose_penalty(LogisticRegression(l2=0.0), X, y, values=[0.5, 5.0, 500.0], n_folds=3)
    assert scores.best < 500.0
    assert scores.sparsest >= scores.best
    prior = np.bincount(y) / len(y)
    assert scores.means[0] == pytest.approx(prior @ np.log(prior), abs=0.02)  # of the largest: the prior of the classes
    by_hand = LogisticRegression(l1=5.0, l2=0.0)
    folds = deal_folds(y, 3, random_state=0)
    log_p = by_hand.fit(X[folds != 0], y[folds != 0]).predict_log_proba(X[folds == 0])
    assert scores.scores[0, 1] == pytest.approx(log_p[np.arange(len(log_p)), y[folds == 0]].mean(), abs=1e-3)


def test_separable_data_constant_and_empty_rows_have_an_optimum() -> None:
    X = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    y = [1, 0, 0, 0]
    for l1, l2 in ((0.1, 0.0), (0.0, 0.1)):
        model = LogisticRegression(l1=l1, l2=l2, tolerance=1e-8).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert model.predict(X).tolist() == y
        assert model.converged_
    with pytest.warns(NotConverged, match="raise max_iter, tolerance or the penalty"):
        LogisticRegression(l2=0.0, tolerance=0.0, max_iter=3).fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [2.0]], ["a", "a"], "only one class"),
        ([[1.0], [np.nan]], ["a", "b"], "X holds NaN in row 1, column 0"),
        ([[1.0], [np.inf]], ["a", "b"], "X holds inf in row 1"),
        ([[1.0], [2.0]], ["a", 1], "y mixes texts and numbers, first in row 1"),
        ([[1.0], [2.0]], ["a"], "X has 2 rows but y has 1 labels"),
        (["a text"], ["a"], "has no vectorizer"),
        ([[1.0], [2.0]], [0.5, 1.0], "continuous numbers are no labels"),
        ([[1.0], [2.0]], [np.nan, 1.0], "y contains NaN"),
    ],
)
def test_bad_input_is_refused_with_its_place(X: Any, y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        LogisticRegression().fit(X, y)


def test_parameters_out_of_range_are_refused() -> None:
    X, y = some_data()
    for wrong in ({"l1": -1}, {"l2": np.inf}, {"tolerance": -1}, {"max_iter": 1.5}, {"class_weight": "equal"}):
        with pytest.raises(DataError, match=next(iter(wrong))):
            LogisticRegression(**wrong).fit(X, y)
    with pytest.raises(DataError, match="sample_weight has -1"):
        LogisticRegression().fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(DataError, match="start has other classes or columns"):
        LogisticRegression().fit(X, y, start=LogisticRegression().fit(X[:, :5], y))


@pytest.mark.parametrize(("rows", "scale"), [(300, 1.0), (25, 1.0), (25, 1000.0)])
def test_without_an_intercept_the_optimum_is_that_of_scikit_learn_too(rows: int, scale: float) -> None:
    X, y = some_data(rows=rows)
    X = X @ sparse.diags(np.geomspace(1, scale, 30))  # badly scaled: dual descent gives up, Newton ends it
    weights = np.random.default_rng(0).integers(0, 3, rows).astype(float)
    model = LogisticRegression(l2=0.5, intercept=False, tolerance=1e-10).fit(X, y, sample_weight=weights)
    theirs = Theirs(C=2.0, solver="newton-cg", tol=1e-10, fit_intercept=False, max_iter=1000).fit(X, y, weights)
    assert model.coef_ == pytest.approx(theirs.coef_, abs=1e-4)
    assert model.objective_ == pytest.approx(objective(model, X, y, weights), rel=1e-12)
    assert model.certificate(X, y, weights).relative_gap < 1e-9


def test_constant_columns_and_empty_rows_are_learned_from() -> None:
    X = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    for l1, l2 in ((0.5, 0.0), (0.0, 0.5)):
        model = LogisticRegression(l1=l1, l2=l2, tolerance=1e-10).fit(X, [0, 1, 1, 1])
        assert model.coef_ == pytest.approx(np.zeros((1, 2)), abs=1e-4)  # the free intercept does it
        assert model.predict_proba(X)[0, 1] == pytest.approx(0.75, abs=1e-4)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1 -1:1 2:1\n0 1:1\n", r":1:5: column -1 is outside 0"),
        ("1 2:1 2:1\n0 1:1\n", r":1:10: a column occurs twice"),
        ("0 1:1\n1 2:nan\n", r":2:8: a value is not finite"),
        ("0 1:1\nspam 2:1\n", r":2:1: a line must begin with a label"),
    ],
)
def test_bad_svmlight_rows_are_refused_with_their_line(lines: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.svmlight"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_labeled([str(path)])


def test_unsorted_svmlight_rows_are_sorted_and_features_named_twice_count_once(tmp_path: Path) -> None:
    rows, events = tmp_path / "a.svmlight", tmp_path / "a.events"
    rows.write_text("1 3:3 2:2\n0\n", encoding="utf-8")
    assert read_labeled([str(rows)]).X.toarray().tolist() == [[0, 2, 3], [0, 0, 0]]
    events.write_text("N a b a\nV\n", encoding="utf-8")
    assert read_labeled([str(events)]).X == [{"a": 1, "b": 1}, {}]


def test_an_elastic_net_of_no_weight_is_no_penalty() -> None:
    assert Penalty(0.0, 0.0).value(np.ones(3)) == 0.0


@pytest.mark.parametrize("binary", [True, False])
def test_threads_that_share_long_columns_take_the_steps_of_one(binary: bool) -> None:
    rng = np.random.default_rng(11)
    X = sparse.random(40_000, 12, density=0.3, format="csr", random_state=11)
    X.data[:] = 1.0 if binary else rng.normal(size=len(X.data))
    y = (X @ rng.normal(size=12) + rng.logistic(size=40_000) > 0).astype(int)

    def fit(jobs: int) -> LogisticRegression:
        return LogisticRegression(l1=20.0, l2=0.0, n_jobs=jobs, tolerance=1e-9).fit(X, y)

    models = [fit(jobs) for jobs in (1, 2, 3, 4, 9)]
    assert models[0].certificate(X, y).relative_gap < 1e-5
    with ThreadPoolExecutor(4) as pool:  # several fits at a time share the threads that there are
        models += pool.map(fit, [2, 4, 2, 4])
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)

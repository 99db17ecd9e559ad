"""The logistic regression that needs no settings: what it chooses, and what it makes of odd data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from textmill.errors import DataError
from textmill.linear import LogisticRegression, tuned_logistic, tuning
from textmill.linear.tuning import _as_unseen, _Joined, _stretched


def texts_of_topics(rows: int, topics: int, seed: int = 0) -> tuple[sparse.csr_matrix, list[str]]:
    """Rows of length 1 over 400 columns, of which each topic has eight of its own."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, topics, rows)
    X = np.zeros((rows, 400))
    for i, topic in enumerate(labels):
        X[i, rng.choice(np.arange(8 * topics, 400), 25)] = 1.0
        X[i, 8 * topic + rng.choice(8, 2)] = 1.0
    return sparse.csr_matrix(X / np.linalg.norm(X, axis=1)[:, None]), [f"topic {topic}" for topic in labels]


def alike(coef: Any, other: Any) -> bool:
    """Whether weights are the same but for a factor of all."""
    return float((coef * other).sum() / np.sqrt((coef**2).sum() * (other**2).sum())) > 0.9999


def test_a_penalty_is_chosen_that_suits_few_rows_of_many_classes() -> None:
    X, y = texts_of_topics(400, 15)
    model = tuned_logistic(LogisticRegression(), X[:200], y[:200])
    plain = LogisticRegression().fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > plain.score(X[200:], y[200:]) + 0.1
    assert model.l2 < 1
    again = LogisticRegression(l2=model.l2, intercept=model.intercept, class_weight=model.class_weight)
    assert alike(again.fit(X[:200], y[:200]).coef_, model.coef_)


def test_a_rare_class_is_found_where_a_free_intercept_would_let_it_go() -> None:
    X, y = texts_of_topics(2000, 40, seed=3)
    rare = np.array(y) == "topic 7"
    model = tuned_logistic(LogisticRegression(), X[:1000], rare[:1000])
    assert not model.intercept
    assert model.l2 <= 0.03
    assert (model.predict(X[1000:]) & rare[1000:]).sum() > 0.5 * rare[1000:].sum()
    assert model.score(X[1000:], rare[1000:]) > 1 - rare[1000:].mean()
    assert model.class_weight == "balanced"
    again = LogisticRegression(l2=model.l2, intercept=False, class_weight="balanced", tolerance=1e-8)
    assert alike(model.coef_, again.fit(X[:1000], rare[:1000]).coef_)
    plain = LogisticRegression(l2=model.l2, intercept=False).fit(X[:1000], rare[:1000])
    assert model.score(X[1000:], rare[1000:]) > plain.score(X[1000:], rare[1000:])


@pytest.mark.parametrize("topics", [2, 5])
def test_rows_without_features_get_the_commonest_label(topics: int) -> None:
    X, y = texts_of_topics(400, topics)
    named = ["z" if label == "topic 1" else label for label in y] + ["z"] * 300
    often = sparse.vstack([X, X[np.resize(np.flatnonzero(np.array(y) == "topic 1"), 300)]], format="csr")
    model = tuned_logistic(LogisticRegression(), often, named)
    assert not model.intercept
    assert model.predict(np.zeros((1, 400))).tolist() == ["z"]


def test_rows_of_several_lengths_get_an_intercept_and_penalties_of_their_scale() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(10.0, 3.0, size=(300, 2))
    y = X.sum(axis=1) + rng.normal(0.0, 2.0, 300) > 24
    model = tuned_logistic(LogisticRegression(), X, y)
    assert model.intercept
    assert model.score(X, y) > 0.85
    large = tuned_logistic(LogisticRegression(), 1000 * X, y)
    assert large.l2 == pytest.approx(1e6 * model.l2)
    assert np.allclose(1000 * large.coef_, model.coef_, rtol=0.05)
    unit = tuned_logistic(LogisticRegression(), np.c_[np.cos(X[:, 0]), np.sin(X[:, 0])], np.cos(X[:, 0]) > 0.7)
    assert unit.intercept  # rows of one length, but half of the labels are wrong without


def test_noise_gets_a_large_penalty_and_a_rare_class_no_fold_of_its_own() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 30)), rng.integers(0, 2, 300)
    assert tuned_logistic(LogisticRegression(), X, y).l2 >= 1
    rare = tuned_logistic(LogisticRegression(), X[:40], ["a"] * 20 + ["b"] * 19 + ["c"])
    assert rare.classes_.tolist() == ["a", "b", "c"]
    two = tuned_logistic(LogisticRegression(), [[0.0], [1.0]], ["a", "b"])
    assert (two.l2, two.intercept) == (0.003, True)
    with pytest.raises(DataError, match="only one class"):
        tuned_logistic(LogisticRegression(), [[0.0], [1.0]], ["a", "a"])


def test_many_rows_are_chosen_by_a_sample_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = texts_of_topics(3000, 3)
    seen: list[int] = []
    monkeypatch.setattr(tuning, "_MOST_ROWS", 1000)
    fit = LogisticRegression.fit

    def watched(self: LogisticRegression, X: Any, *rest: Any, **named: Any) -> LogisticRegression:
        seen.append(X.shape[0])
        return fit(self, X, *rest, **named)

    monkeypatch.setattr(LogisticRegression, "fit", watched)
    assert tuned_logistic(LogisticRegression(), X, y).n_features_in_ == 400
    assert max(seen[:-1]) < 1000
    assert seen[-1] == 3000


def test_columns_of_one_row_are_joined_without_a_change_of_the_optimum() -> None:
    rng = np.random.default_rng(2)
    X = sparse.random(60, 300, density=0.02, format="csr", random_state=2)
    X.data *= rng.choice([-1.0, 1.0, 1e-150], len(X.data))
    joined = _Joined(X)
    assert joined.rows.shape[1] < 180
    for classes in (2, 3):
        y = rng.integers(0, classes, 60)
        options: dict[str, Any] = {"l2": 0.1, "intercept": False, "tolerance": 1e-12}
        small, full = LogisticRegression(**options).fit(joined.rows, y), LogisticRegression(**options).fit(X, y)
        assert small.objective_ == pytest.approx(full.objective_, rel=1e-10)
        np.testing.assert_allclose(joined.spread(small.coef_), full.coef_, atol=1e-5)
        np.testing.assert_allclose((X @ joined.spread(small.coef_).T), joined.rows @ small.coef_.T, atol=1e-12)


def test_columns_measured_in_units_of_their_own_are_not_lost() -> None:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 400)
    X = np.c_[rng.normal(size=400) * 1000, y + rng.normal(0, 0.2, 400), rng.normal(size=400)]
    assert tuned_logistic(LogisticRegression(), X[:200], y[:200]).score(X[200:], y[200:]) > 0.95


def test_one_factor_of_all_margins_makes_left_out_rows_likeliest() -> None:
    rng = np.random.default_rng(3)
    margins = rng.normal(size=(3000, 3))
    labels = (2.5 * margins + rng.gumbel(size=margins.shape)).argmax(axis=1)
    likelihood, factor = _stretched(
        [(margins[:1000], labels[:1000], np.ones(1000)), (margins[1000:], labels[1000:], np.ones(2000))]
    )
    assert factor == pytest.approx(2.5, rel=0.1)
    assert likelihood < 0
    assert 1 < _stretched([(5 * np.eye(3), np.arange(3), np.ones(3))])[1] < 3  # three rows that are right prove little


def test_left_out_rows_lose_the_columns_that_only_they_have() -> None:
    rows = sparse.csr_matrix(np.array([[0.6, 0.8, 0.0], [0.0, 1.0, 0.0]]))
    assert _as_unseen(rows, sparse.csr_matrix(np.array([[1.0, 0.0, 0.0]]))).toarray().tolist() == [[1, 0, 0], [0, 0, 0]]


def test_probabilities_mean_what_they_say_where_a_large_penalty_is_best() -> None:
    X, y = texts_of_topics(3000, 12, seed=5)
    rng = np.random.default_rng(0)
    rare = (np.array(y) == "topic 7") ^ (rng.random(3000) < 0.02)
    model = tuned_logistic(LogisticRegression(), X[:800], rare[:800])
    plain = LogisticRegression(l2=model.l2, intercept=model.intercept, class_weight=model.class_weight)
    loss = [
        -one.predict_log_proba(X[800:])[np.arange(2200), rare[800:].astype(int)].mean()
        for one in (model, plain.fit(X[:800], rare[:800]))
    ]
    assert loss[0] < 0.95 * loss[1]
    assert np.array_equal(model.predict(X[800:]), plain.predict(X[800:]))


def test_class_weights_of_the_caller_are_kept() -> None:
    X, y = texts_of_topics(300, 3)
    weights = {"topic 0": 3.0, "topic 1": 1.0, "topic 2": 1.0}
    assert tuned_logistic(LogisticRegression(class_weight=weights), X, y).class_weight == weights

"""Models with plain label bigrams are evaluated lane by lane; the recursion over shared beginnings is the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import logsumexp

from textmill.errors import DataError
from textmill.sequence import CRF, Encoded, FeatureLayout
from textmill.sequence.encoding import Active
from textmill.sequence.training import objective
from textmill.sequence.training.objective import ChainObjective, seen_features


def _sentences(seed: int, sequences: int, labels: int, *, values: bool = False, weights: bool = False):
    """Tokens with tests of all frequencies, hardly two of them alike, and one bigram test."""
    rng = np.random.default_rng(seed)
    lengths = rng.geometric(0.08, sequences) * (rng.random(sequences) > 0.05)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    tokens = int(offsets[-1])
    each = rng.integers(3, 9, tokens)
    ids = (3000 * rng.random(each.sum()) ** 4).astype(np.int32)
    real = rng.uniform(0.5, 2.0, len(ids)).astype(np.float32) if values else None
    unigram = Active(np.concatenate([[0], np.cumsum(each)]).astype(np.int64), ids, real, 3000)
    bigram = Active(np.arange(tokens + 1), np.zeros(tokens, np.int32), None, 1)
    observed = rng.integers(0, labels, tokens).astype(np.int32)
    counted = rng.uniform(0, 2, sequences) if weights else None
    return FeatureLayout(labels, 3000, 1), Encoded(offsets, unigram, bigram, observed, counted)


def _shared(layout, data, theta):
    """The same model by the recursion over shared beginnings: a second bigram test, true at one token, demands it."""
    first = np.zeros(data.tokens, bool)
    first[data.offsets[:-1][np.diff(data.offsets) > 0]] = True
    at = int(np.flatnonzero(~first)[0])
    indptr = data.bigram.indptr + (np.arange(data.tokens + 1) > at)
    bigram = Active(indptr, np.insert(data.bigram.ids, data.bigram.indptr[at + 1], 1).astype(np.int32), None, 2)
    wider = FeatureLayout(layout.labels, layout.unigrams, 2)
    value, gradient = ChainObjective(wider, replace(data, bigram=bigram))(
        np.concatenate([theta, np.zeros(layout.labels**2)])
    )
    return value, gradient[: layout.size]


@pytest.mark.parametrize("labels", [1, 2, 3, 4, 5, 11, 16, 17, 22, 30])
@pytest.mark.parametrize(("values", "weights"), [(False, False), (True, False), (False, True)])
def test_value_and_slopes_are_those_of_the_shared_recursion(labels, values, weights):
    layout, data = _sentences(labels, 400, labels, values=values, weights=weights)
    rng = np.random.default_rng(7)
    features = np.flatnonzero(rng.random(layout.size) < rng.random(layout.size) ** 2)
    theta = np.zeros(layout.size)
    theta[features] = rng.normal(0, 1, len(features))
    expected, slopes = _shared(layout, data, theta)
    objective = ChainObjective(layout, data)
    value, gradient = objective(theta)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-10, atol=1e-10)
    objective.restrict(features)
    value, gradient = objective(theta[features])
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(gradient, slopes[features], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("labels", [3, 11, 20])
@pytest.mark.parametrize("values", [False, True])
def test_what_was_prepared_for_other_features_changes_nothing(labels, values):
    layout, data = _sentences(labels, 200, labels, values=values)
    rng = np.random.default_rng(4)
    seen = seen_features(layout, data)
    sets = [None, *(np.sort(rng.choice(seen, size, replace=False)) for size in (5, len(seen) // 2, len(seen) // 3))]
    theta = rng.normal(0, 1, layout.size)

    def result(objective, features):
        objective.restrict(features)
        chosen = seen if features is None else features
        value, gradient = objective(theta[chosen])
        return value, gradient.tobytes()

    alone = [result(ChainObjective(layout, data, candidates=seen), features) for features in sets]
    together = ChainObjective(layout, data, candidates=seen)
    for turn in (0, 1, 0, 2, 0, 3, 2, 0, 1, 1, 3):
        assert result(together, sets[turn]) == alone[turn]


def test_seen_features_are_the_same_with_and_without_sorting(monkeypatch):
    layout, data = _sentences(3, 60, 5)
    marked = seen_features(layout, data)
    monkeypatch.setattr(objective, "MARKS", 0)
    np.testing.assert_array_equal(seen_features(layout, data), marked)


@pytest.mark.parametrize("labels", [3, 20])
def test_a_search_finds_the_features_whose_slope_is_steep(labels):
    layout, data = _sentences(labels, 200, labels)
    rng = np.random.default_rng(8)
    features = np.flatnonzero(rng.random(layout.size) < 0.1)
    weights = rng.normal(0, 1, len(features))
    objective = ChainObjective(layout, data)
    value, slopes = _shared(layout, data, objective.spread(features, weights))
    objective.restrict(features)
    again, gradient, steep, steepness = objective.violations(weights, 1.987)
    assert again == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(gradient, slopes[features], atol=1e-10)
    outside = np.setdiff1d(np.flatnonzero(np.abs(slopes) > 1.987), features)
    np.testing.assert_array_equal(steep, outside)
    np.testing.assert_allclose(steepness, slopes[outside], atol=1e-10)


@pytest.mark.parametrize("labels", [2, 7, 19])
def test_tokens_without_pairs_are_classified_one_by_one(labels):
    layout, data = _sentences(labels, 150, labels, values=True, weights=True)
    tokens = FeatureLayout(labels, layout.unigrams, 0)
    nothing = Active(np.zeros(data.tokens + 1, np.int64), np.empty(0, np.int32), None, 0)
    theta = np.random.default_rng(9).normal(0, 1, tokens.size)
    value, gradient = ChainObjective(tokens, replace(data, bigram=nothing))(theta)
    tests = csr_matrix(
        (data.unigram.values.astype(float), data.unigram.ids, data.unigram.indptr), (data.tokens, layout.unigrams)
    )
    scores = tests @ theta.reshape(-1, labels)
    weight = np.repeat(data.weights, np.diff(data.offsets))
    log_p = scores - logsumexp(scores, axis=1, keepdims=True)
    rest = weight[:, None] * (np.exp(log_p) - np.eye(labels)[data.labels])
    assert value == pytest.approx(-weight @ log_p[np.arange(data.tokens), data.labels], rel=1e-12)
    np.testing.assert_allclose(gradient.reshape(-1, labels), tests.T @ rest, atol=1e-10)


@pytest.mark.parametrize("scale", [30.0, 120.0])
def test_large_scores_are_shifted(scale):
    """Scores of hundreds whose differences within a token are small: exp would overflow."""
    layout, data = _sentences(10, 100, 3)
    theta = np.random.default_rng(10).normal(0, 1, layout.size)
    value, gradient = ChainObjective(layout, data)(theta)
    raised = theta + np.where(np.arange(layout.size) < 3000 * 3, scale, 0.0)
    again, slopes = ChainObjective(layout, data)(raised)
    assert again == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(slopes, gradient, atol=1e-9)


def test_any_number_of_threads_gives_the_same_bytes():
    layout, data = _sentences(1, 4000, 9)
    for features in (seen_features(layout, data), None):
        theta = np.random.default_rng(1).normal(0, 1, layout.size if features is None else len(features))
        answers = [ChainObjective(layout, data, n_jobs=n, candidates=features)(theta) for n in (1, 2, 8)]
        for value, gradient in answers[1:]:
            assert value == answers[0][0]
            assert gradient.tobytes() == answers[0][1].tobytes()


def test_unknown_labels_are_summed_over():
    layout, data = _sentences(2, 60, 3)
    data.labels[np.random.default_rng(3).random(data.tokens) < 0.3] = -1
    theta = np.random.default_rng(4).normal(0, 1, layout.size)
    value, gradient = _shared(layout, data, theta)
    every = ChainObjective(layout, data)
    every.restrict(np.arange(layout.size))
    again, slopes = every(theta)
    assert again == pytest.approx(value, rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(slopes, gradient, atol=1e-10)


def test_scores_too_far_apart_for_scaling_are_computed_in_logarithms():
    layout, data = _sentences(5, 30, 4)
    every = ChainObjective(layout, data)
    theta = np.random.default_rng(5).normal(0, 300, layout.size)
    value, gradient = _shared(layout, data, theta)
    every.restrict(np.arange(layout.size))
    again, slopes = every(theta)
    assert np.isfinite(value)
    assert again == pytest.approx(value, rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(slopes, gradient, atol=1e-9)


def test_seen_features_are_those_with_an_observed_count():
    layout, data = _sentences(6, 50, 5)
    seen = seen_features(layout, data)
    _, expected = ChainObjective(layout, Encoded(data.offsets, data.unigram, data.bigram, -1 + 0 * data.labels))(
        np.zeros(layout.size)
    )
    _, gradient = ChainObjective(layout, data)(np.zeros(layout.size))
    uniform = np.concatenate([np.bincount(data.unigram.ids, minlength=3000).repeat(5) / 5, np.zeros(25)])
    pairs = data.tokens - np.count_nonzero(np.diff(data.offsets))
    uniform[-25:] = pairs / 25
    assert np.allclose(expected, 0)  # nothing is known: log Z less log Z
    np.testing.assert_array_equal(seen, np.flatnonzero(np.abs(gradient - uniform) > 1e-9))


def test_a_model_of_seen_features_has_no_others():
    X = [[("the",), ("dog",), ("barks",)], [("a",), ("cat",), ("sleeps",)], [("the",), ("a",)]]
    y = [["D", "N", "V"], ["D", "N", "V"], ["D", "D"]]
    for algorithm, l1 in (("lbfgs", 0), ("owlqn", 0.01), ("rprop", 0.01)):
        model = CRF(patterns=["b", "u:%x[0,0]"], algorithm=algorithm, l1=l1, features="seen").fit(X, y)
        parts = model.feature_layout_.split(model.features_)
        assert np.count_nonzero(~parts.bigram) <= 6
        assert np.count_nonzero(parts.bigram) <= 3
        assert model.predict(X) == y
        if algorithm != "rprop":
            assert model.kkt_report(X, y).maximum < 1e-2
    with pytest.raises(DataError, match="sgd_l1 supports only features='all'"):
        CRF(patterns=["b"], algorithm="sgd_l1", features="seen").fit(X, y)


def test_the_objective_of_seen_features_is_that_of_crfsuite(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    rng = np.random.default_rng(8)
    X = [[(f"w{rng.integers(30)}", f"p{rng.integers(4)}") for _ in range(rng.integers(1, 8))] for _ in range(60)]
    y = [[f"L{(int(w[1:]) + int(p[1:]) + rng.integers(2)) % 4}" for w, p in sentence] for sentence in X]
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c2": 0.5, "max_iterations": 400, "epsilon": 1e-7, "delta": 1e-9})
    for sentence, labels in zip(X, y, strict=True):
        trainer.append([[f"w={w}", f"p={p}"] for w, p in sentence], labels)
    trainer.train(str(tmp_path / "model"))
    peer = trainer.logparser.last_iteration
    ours = CRF(
        patterns=["b", "u:w=%x[0,0]", "u:p=%x[0,1]"],
        algorithm="lbfgs",
        l2=1.0,
        features="seen",
        tolerance=1e-9,
        compact=False,
    ).fit(X, y)
    assert ours.objective_ == pytest.approx(peer["loss"], rel=1e-5)
    assert len(ours.features_) == peer["active_features"]

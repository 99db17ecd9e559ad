"""Decoders against enumeration, and the n best of the specification's lattice."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.chains import (
    active,
    all_paths,
    enumerate_chain,
    lattice_example,
    path_score,
    random_problem,
    token_scores,
)

from textmill.errors import DataError
from textmill.sequence import (
    Active,
    ChainScorer,
    Encoded,
    FeatureLayout,
    best_labels,
    forced_labels,
    posterior,
    span_confidence,
    viterbi,
)

LATTICE_BEST = [
    ([0, 1, 0], 2.0, 0.343044),
    ([0, 0, 0], 1.5, 0.208067),
    ([0, 1, 1], 1.0, 0.126199),
    ([1, 0, 0], 0.8, 0.103323),
    ([1, 1, 0], 0.6, 0.084594),
    ([0, 0, 1], 0.4, 0.069259),
    ([1, 0, 1], -0.3, 0.034393),
    ([1, 1, 1], -0.4, 0.031120),
]


def test_the_best_labelings_of_the_lattice():
    layout, data, theta = lattice_example()
    found = best_labels(ChainScorer(layout, theta), data, 20)[0]
    assert len(found) == 8
    for one, (labels, score, probability) in zip(found, LATTICE_BEST, strict=True):
        assert one.labels == labels
        assert one.score == pytest.approx(score, abs=1e-12)
        assert one.probability == pytest.approx(probability, abs=1e-6)
    forced, _ = viterbi(ChainScorer(layout, theta), data, allowed=forced_labels(np.array([-1, 0, -1]), 2))
    assert forced.tolist() == [0, 0, 0]


def test_a_sequence_of_one_token_has_as_many_labelings_as_labels():
    data = Encoded(np.array([0, 1]), active([[0]], 1), active([[0]], 1))
    assert len(best_labels(ChainScorer(FeatureLayout(2, 1, 1), np.arange(6.0)), data, 4)[0]) == 2


def test_many_labelings_of_one_score_are_no_burden():
    tokens = 600
    rows = active([[0]] * tokens, 1)
    scorer = ChainScorer(FeatureLayout(3, 1, 1), np.zeros(3 + 9))
    found = best_labels(scorer, Encoded(np.array([0, tokens]), rows, rows), 500)[0]
    assert len({bytes(one.labels) for one in found}) == 500
    assert {one.score for one in found} == {0.0}


def test_scores_of_many_labelings_fall_and_are_those_of_their_paths():
    layout, data, theta = random_problem(4, 4, longest=6)
    for s, found in enumerate(best_labels(ChainScorer(layout, theta), data, 5000)):
        unary, pairs = token_scores(layout, data, theta, s)
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(one.labels) for one in found}) == len(found) == 4 ** len(unary)
        np.testing.assert_allclose(scores, [path_score(unary, pairs, one.labels) for one in found], atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), labels=st.integers(1, 4), start=st.booleans(), listed=st.booleans())
def test_decoders_agree_with_enumeration(seed, labels, start, listed):
    layout, data, theta = random_problem(seed, labels, start, longest=5)
    features = np.flatnonzero(theta) if listed else None
    scorer = ChainScorer(layout, theta if features is None else theta[features], features)
    path, scores = viterbi(scorer, data)
    dense_path, dense_scores = viterbi(scorer, data, sparse=False)
    assert path.tolist() == dense_path.tolist()
    np.testing.assert_allclose(scores, dense_scores, atol=1e-12)
    tens = best_labels(scorer, data, 10, n_jobs=2)
    for s in range(data.sequences):
        unary, pairs = token_scores(layout, data, theta, s)
        paths = all_paths(unary, pairs)
        assert scores[s] == pytest.approx(paths[0][0], abs=1e-10)
        assert [one.score for one in tens[s]] == pytest.approx([score for score, _ in paths[:10]], abs=1e-10)
        assert len({tuple(one.labels) for one in tens[s]}) == min(10, len(paths))


@given(seed=st.integers(0, 2**32 - 1))
def test_restricted_decoding_agrees_with_enumeration(seed):
    layout, data, theta = random_problem(seed, 3, longest=4)
    known = np.where(np.random.default_rng(seed).random(data.tokens) < 0.5, data.labels, -1).astype(np.int32)
    allowed = forced_labels(known, 3)
    scorer = ChainScorer(layout, theta)
    path, scores = viterbi(scorer, data, allowed=allowed)
    marginals, log_z = posterior(scorer, data, allowed=allowed)
    for s in range(data.sequences):
        part = slice(data.offsets[s], data.offsets[s + 1])
        unary, pairs = token_scores(layout, data, theta, s)
        expected, single, _ = enumerate_chain(unary, pairs, allowed[part])
        assert scores[s] == pytest.approx(all_paths(unary, pairs, allowed[part])[0][0], abs=1e-10)
        assert log_z[s] == pytest.approx(expected, abs=1e-10)
        np.testing.assert_allclose(marginals[part], single, atol=1e-10)
    assert ((path == known) | (known < 0)).all()


def test_sparse_viterbi_takes_the_same_path_with_many_labels():
    rng = np.random.default_rng(4)
    Y, T = 60, 400
    layout = FeatureLayout(Y, 3, 3)
    rows = active([[int(i)] for i in rng.integers(0, 3, T)], 3)
    data = Encoded(np.array([0, T // 2, T]), rows, rows)
    theta = rng.normal(size=layout.size)
    theta[layout.rows * Y :] *= rng.random(layout.size - layout.rows * Y) < 0.01
    scorer = ChainScorer(layout, theta)
    for name in ("labels", "scores"):
        sparse, dense = (viterbi(scorer, data, sparse=kind)[name == "scores"] for kind in (True, False))
        np.testing.assert_allclose(sparse, dense, rtol=1e-12)


def test_forbidden_transitions_are_not_taken_and_a_blocked_sequence_is_told():
    layout, data, theta = lattice_example()
    transitions = np.array([[1, 0], [1, 1]], np.uint8)
    path, _ = viterbi(ChainScorer(layout, theta), data, transitions=transitions)
    assert (0, 1) not in set(zip(path[:-1].tolist(), path[1:].tolist(), strict=True))
    blocked, scores = viterbi(ChainScorer(layout, theta), data, transitions=np.zeros((2, 2), np.uint8))
    assert blocked.tolist() == [-1, -1, -1]
    assert scores[0] == -np.inf


def test_the_confidence_of_a_span_is_its_share_of_all_labelings():
    layout, data, theta = lattice_example()
    labels = np.array([0, 1, 0], np.int32)
    confidence = span_confidence(ChainScorer(layout, theta), data, labels, [(0, 3), (0, 2), (1, 2)])
    np.testing.assert_allclose(confidence, [0.343044, 0.469243, 1 - 0.415043], atol=1e-6)
    with pytest.raises(DataError, match="does not lie within one sequence"):
        span_confidence(ChainScorer(layout, theta), data, labels, [(2, 4)])


def test_a_conditional_markov_model_is_normalized_at_every_label():
    layout, data, theta = lattice_example()
    scorer = ChainScorer(layout, theta, normalized=True)
    _, log_z = posterior(scorer, data)
    assert log_z[0] == pytest.approx(0, abs=1e-12)
    hypotheses = {tuple(h.labels): h.probability for h in best_labels(scorer, data, 8)[0]}
    assert hypotheses[0, 1, 0] == pytest.approx(0.3472877, abs=1e-7)
    assert sum(hypotheses.values()) == pytest.approx(1)


def test_no_labeling_is_asked_for():
    layout, data, theta = lattice_example()
    with pytest.raises(DataError, match="at least 1 and at most 1000000, got 0"):
        best_labels(ChainScorer(layout, theta), data, 0)
    with pytest.raises(DataError, match="at most 1000000, got 1000001"):
        best_labels(ChainScorer(layout, theta), data, 1_000_001)


def test_hundreds_of_thousands_of_labelings_are_found_in_order() -> None:
    """Looking at all that wait, for each that is found, would be 1e11 steps."""
    layout, k = FeatureLayout(20, 12, 1), 300_000
    scorer = ChainScorer(layout, np.random.default_rng(3).normal(size=layout.size))
    tokens = Active(np.arange(13), np.arange(12, dtype=np.int32), None, 12)
    pairs = Active(np.arange(13), np.zeros(12, np.int32), None, 1)
    [hypotheses] = best_labels(scorer, Encoded(np.array([0, 12]), tokens, pairs), k)
    assert len({tuple(one.labels) for one in hypotheses}) == k
    assert all(one.score >= two.score for one, two in pairwise(hypotheses))

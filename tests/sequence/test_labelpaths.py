"""Best label paths: worked examples, enumeration of random models, honesty of certificates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.reference.latent_chain import EnumeratedChain
from textmill.errors import DataError
from textmill.sequence import (
    Active,
    Encoded,
    FeatureLayout,
    HiddenScorer,
    SearchLimits,
    best_label_paths,
    hidden_paths,
    label_log_probabilities,
    most_probable_states,
    state_probabilities,
)
from textmill.sequence.trigrams import with_trigrams

E1 = ([[1, 5, 3, 4], [4, 5, 5, 1]], [[2, 2, 1, 1], [5, 2, 5, 3], [3, 3, 5, 3], [1, 4, 1, 3]])
E2 = ([[4, 1, 3, 3], [2, 3, 4, 3]], [[1, 1, 3, 1], [1, 1, 1, 1], [3, 3, 1, 2], [2, 3, 1, 2]])
OWNER = np.array([0, 0, 1, 1], np.int32)


def positions(nodes, pairs, owner=OWNER, triples=None):
    """A scorer and one sequence whose token t has a unigram test of its own with these scores."""
    length, states = np.shape(nodes)
    unigram = Active(np.arange(length + 1), np.arange(length, dtype=np.int32), None, length)
    pairs = np.asarray(pairs, float)
    if pairs.ndim == 2:
        bigram = Active(np.arange(length + 1), np.zeros(length, np.int32), None, 1)
    else:
        bigram = Active(np.arange(length + 1), np.arange(length, dtype=np.int32), None, length)
    weights = [np.ravel(nodes), np.ravel(pairs)]
    data = Encoded(np.array([0, length]), unigram, bigram)
    layout = FeatureLayout(states, length, bigram.size)
    if triples is None:
        return HiddenScorer(layout, np.concatenate(weights), owner), data
    data = with_trigrams(data, bigram, bigram.size)
    return HiddenScorer(layout, np.concatenate([*weights, np.ravel(triples)]), owner, None, 2), data


def example(tables):
    return positions(np.log(tables[0]), np.log(tables[1]))


def test_three_decoders_give_three_answers():
    scorer, data = example(E1)
    states, scores = most_probable_states(scorer, data)
    assert states.tolist() == [1, 2]
    assert math.exp(scores[0]) == pytest.approx(125)
    marginals, log_z = state_probabilities(scorer, data)
    assert log_z[0] == pytest.approx(6.408528791, abs=1e-9)
    np.testing.assert_allclose(marginals * 607, [[24, 290, 165, 128], [160, 185, 225, 37]], rtol=1e-12)
    labels = marginals[:, :2].sum(axis=1) * 607
    np.testing.assert_allclose(labels, [314, 345], rtol=1e-12)  # A A
    (answer,) = best_label_paths(scorer, data, 4)
    assert [path for path, _ in answer.paths] == [[1, 0], [0, 0], [0, 1], [1, 1]]  # BA, AA, AB, BB
    np.testing.assert_allclose([p * 607 for _, p in answer.paths], [177, 168, 146, 116], rtol=1e-12)
    for path, mass in zip([[1, 0], [0, 0], [0, 1], [1, 1]], [177, 168, 146, 116], strict=True):
        log = label_log_probabilities(scorer, data, np.array(path, np.int32))
        assert math.exp(log[0]) * 607 == pytest.approx(mass, rel=1e-12)


def test_hidden_paths_come_in_the_order_of_their_weights():
    scorer, data = example(E1)
    paths = list(hidden_paths(scorer, data))
    weights = [125, 100, 80, 75, 50, 45, 36, 20, 16, 15, 12, 10, 9, 8, 5, 1]
    np.testing.assert_allclose([p * 607 for _, p in paths], weights, rtol=1e-12)
    assert [path for path, _ in paths[:5]] == [[1, 2], [1, 0], [3, 1], [2, 2], [1, 1]]


@pytest.mark.parametrize(
    ("limit", "best", "second", "rest", "exact", "leader"),
    [(1, 125, 0, 482, False, [0, 1]), (5, 150, 125, 177, False, [0, 0]), (7, 161, 150, 96, False, [1, 0]),
     (9, 177, 150, 60, False, [1, 0]), (12, 177, 160, 23, False, [1, 0]), (13, 177, 160, 14, True, [1, 0])],
)  # fmt: skip
def test_the_papers_search_stops_at_the_thirteenth_path(limit, best, second, rest, exact, leader):
    scorer, data = example(E1)
    (answer,) = best_label_paths(scorer, data, search="hidden", limits=SearchLimits(paths=limit))
    certificate = answer.certificate
    assert answer.paths[0][0] == leader
    assert certificate.exact is exact
    assert certificate.paths == limit
    assert certificate.probability * 607 == pytest.approx(best, rel=1e-12)
    assert certificate.unexplored * 607 == pytest.approx(rest, rel=1e-10)
    assert certificate.runner_up_bound * 607 == pytest.approx(second + rest, rel=1e-10)
    if exact:
        (free,) = best_label_paths(scorer, data, search="hidden")
        assert free.certificate.paths == 13


def test_the_other_searches_stop_sooner():
    scorer, data = example(E1)
    (answer,) = best_label_paths(scorer, data, search="hidden-exact")
    assert answer.paths[0][0] == [1, 0]
    assert answer.certificate.paths == 3
    assert answer.certificate.exact
    assert answer.certificate.unexplored * 607 == pytest.approx(116)
    (answer,) = best_label_paths(scorer, data)
    assert answer.certificate.expansions == 2
    assert answer.certificate.exact
    assert answer.certificate.runner_up_bound * 607 == pytest.approx(168)  # F(A), which is still in the queue


def test_ties_of_hidden_paths_do_not_change_the_answer():
    scorer, data = example(E2)
    states, _ = most_probable_states(scorer, data)
    assert states.tolist() == [0, 2]
    marginals, log_z = state_probabilities(scorer, data)
    assert math.exp(log_z[0]) == pytest.approx(236)
    assert (marginals[:, :2].sum(axis=1) < 0.5).all()  # BB
    for search in ("label", "hidden", "hidden-exact"):
        (answer,) = best_label_paths(scorer, data, search=search)
        assert answer.paths[0][0] == [1, 0]
        assert answer.certificate.exact
    (answer,) = best_label_paths(scorer, data, 4)
    np.testing.assert_allclose([p * 236 for _, p in answer.paths], [84, 67, 60, 25], rtol=1e-12)


def random_model(seed, order):
    rng = np.random.default_rng([seed, order])
    counts = rng.integers(1, 4, rng.integers(2, 5))
    while counts.sum() > (7 if order == 1 else 5):
        counts[rng.integers(len(counts))] = 1
        if (counts == 1).all():
            break
    counts = counts[:5]
    length = int(rng.integers(1, 6 if counts.sum() <= 5 else 5))
    owner = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    states, scale = len(owner), rng.choice([0.3, 1.0, 3.0])
    nodes, pairs = rng.normal(0, scale, (length, states)), rng.normal(0, scale, (length, states, states))
    triples = rng.normal(0, scale, (length, states, states, states)) if order == 2 else None
    return nodes, pairs, triples, owner


def check_random_model(seed, order):
    nodes, pairs, triples, owner = random_model(seed, order)
    scorer, data = positions(nodes, pairs, owner, triples)
    truth = EnumeratedChain(nodes, pairs, triples, owner)
    length = len(nodes)
    marginals, log_z = state_probabilities(scorer, data)
    assert math.exp(log_z[0]) == pytest.approx(truth.z, rel=1e-9)
    np.testing.assert_allclose(marginals, truth.state_marginals(length), rtol=1e-9, atol=1e-12)
    assert most_probable_states(scorer, data)[0].tolist() == list(truth.best_hidden())
    ranked = truth.ranked_hidden()[:20]
    for (path, p), (expected, best) in zip(hidden_paths(scorer, data), ranked, strict=False):
        assert p == pytest.approx(expected, rel=1e-9)
        assert path == list(best)
    labelings = truth.ranked_labelings()
    (answer,) = best_label_paths(scorer, data, 5)
    assert answer.certificate.exact
    np.testing.assert_allclose([p for _, p in answer.paths], [p for p, _ in labelings[:5]], rtol=1e-9)
    assert [tuple(labels) for labels, _ in answer.paths] == [labels for _, labels in labelings[:5]]
    for search in ("hidden", "hidden-exact"):
        (other,) = best_label_paths(scorer, data, search=search)
        assert other.certificate.exact
        assert tuple(other.paths[0][0]) == labelings[0][1]
    total = sum(
        math.exp(label_log_probabilities(scorer, data, np.array(labels, np.int32))[0]) for labels in truth.labelings
    )
    assert total == pytest.approx(1.0, rel=1e-9)
    best = labelings[0][0]
    for limits in (SearchLimits(expansions=1), SearchLimits(expansions=length), SearchLimits(paths=1)):
        for search in ("label", "hidden", "hidden-exact"):
            (short,) = best_label_paths(scorer, data, search=search, limits=limits)
            certificate, p = short.certificate, truth.labelings[tuple(short.paths[0][0])]
            assert certificate.probability <= p * (1 + 1e-9)
            assert certificate.upper >= best * (1 - 1e-9)
            if certificate.exact:
                assert p == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_random_models_agree_with_enumeration(order):
    for seed in range(40):
        check_random_model(seed, order)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_many_random_models_agree_with_enumeration(order):
    for seed in range(40, 300):
        check_random_model(seed, order)


@pytest.mark.parametrize("order", [1, 2])
def test_scores_of_any_width_are_searched_in_logarithms(order):
    for seed in range(10):
        nodes, pairs, triples, owner = random_model(seed, order)
        wide = [None if part is None else part * 400 for part in (nodes, pairs, triples)]
        scorer, data = positions(wide[0], wide[1], owner, wide[2])
        (answer,) = best_label_paths(scorer, data)
        states, _ = most_probable_states(scorer, data)
        assert answer.certificate.exact
        assert answer.paths[0][0] == owner[states].tolist()


def test_restrictions_hold_in_every_search():
    scorer, data = example(E1)
    allowed = np.array([[1, 0], [1, 1]], np.uint8)  # A first
    transitions = np.array([[0, 1], [1, 1]], np.uint8)  # no A after A
    for search in ("label", "hidden", "hidden-exact"):
        (answer,) = best_label_paths(scorer, data, search=search, allowed=allowed)
        assert answer.paths[0][0] == [0, 0]
        (answer,) = best_label_paths(scorer, data, search=search, allowed=allowed, transitions=transitions)
        assert answer.paths[0][0] == [0, 1]
        assert answer.paths[0][1] == pytest.approx(125 / 146 if search == "hidden" else 1.0)
        (answer,) = best_label_paths(scorer, data, search=search, allowed=np.zeros((2, 2), np.uint8))
        assert answer.paths == []
        assert not answer.certificate.exact


def test_a_flat_model_ends_at_its_limit_with_an_honest_gap():
    rng = np.random.default_rng(0)
    nodes, pairs = rng.normal(0, 0.01, (60, 6)), rng.normal(0, 0.01, (60, 6, 6))
    scorer, data = positions(nodes, pairs, np.array([0, 0, 0, 1, 1, 1], np.int32))
    (answer,) = best_label_paths(scorer, data, search="hidden", limits=SearchLimits(paths=50))
    assert not answer.certificate.exact
    assert answer.certificate.paths == 50
    assert answer.certificate.upper == pytest.approx(1.0, abs=1e-6)
    (answer,) = best_label_paths(scorer, data, limits=SearchLimits(expansions=70))
    assert answer.certificate.probability <= answer.certificate.upper
    log = label_log_probabilities(scorer, data, np.array(answer.paths[0][0], np.int32))
    assert math.exp(log[0]) == pytest.approx(answer.certificate.probability, rel=1e-9)
    (timed,) = best_label_paths(scorer, data, search="hidden", limits=SearchLimits(paths=10**9, seconds=0.05))
    assert not timed.certificate.exact
    assert timed.certificate.paths >= 1


def test_one_state_a_label_is_viterbi():
    rng = np.random.default_rng(1)
    nodes, pairs = rng.normal(0, 2, (30, 3)), rng.normal(0, 2, (30, 3, 3))
    scorer, data = positions(nodes, pairs, np.arange(3, dtype=np.int32))
    (answer,) = best_label_paths(scorer, data)
    assert answer.paths[0][0] == most_probable_states(scorer, data)[0].tolist()
    assert answer.certificate.expansions == 30


def test_permuting_the_states_of_a_label_changes_nothing():
    scorer, data = example(E1)
    nodes, pairs = np.log(E1[0]), np.log(E1[1])
    order = [1, 0, 3, 2]
    other, _ = positions(nodes[:, order], pairs[np.ix_(order, order)])
    first, second = best_label_paths(scorer, data, 4)[0], best_label_paths(other, data, 4)[0]
    assert [path for path, _ in first.paths] == [path for path, _ in second.paths]
    np.testing.assert_allclose([p for _, p in first.paths], [p for _, p in second.paths], rtol=1e-12)


def test_answers_do_not_depend_on_threads_and_bad_requests_are_refused():
    scorer, data = example(E1)
    many = Encoded(
        np.arange(0, 42, 2),
        Active(np.arange(41), np.tile(data.unigram.ids, 20), None, 2),
        Active(np.arange(41), np.zeros(40, np.int32), None, 1),
    )
    assert best_label_paths(scorer, many, 2, n_jobs=1) == best_label_paths(scorer, many, 2, n_jobs=8)
    with pytest.raises(DataError, match="one answer"):
        best_label_paths(scorer, data, 2, search="hidden")
    with pytest.raises(DataError, match="search must be one of"):
        best_label_paths(scorer, data, search="beam")
    with pytest.raises(DataError, match="paths must be"):
        SearchLimits(paths=0)
    empty = Encoded(
        np.array([0, 0]),
        Active(np.array([0]), np.empty(0, np.int32), None, 2),
        data.bigram._replace(indptr=np.array([0]), ids=np.empty(0, np.int32)),
    )
    (answer,) = best_label_paths(scorer, empty)
    assert answer.paths == [([], 1.0)]
    assert answer.certificate.exact

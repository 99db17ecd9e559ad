"""Value, gradient, marginals: against the numbers of the specification, enumeration and finite differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.chains import (
    active,
    enumerate_chain,
    known_optimum,
    lattice_example,
    log_domain_z,
    path_score,
    random_problem,
    token_scores,
)

from textmill._native import sequence as native
from textmill.errors import DataError
from textmill.optimize import check_gradient, pseudo_gradient
from textmill.sequence import ChainScorer, Encoded, FeatureLayout, posterior
from textmill.sequence.training.objective import (
    ChainObjective,
    conditioned,
    seen_features,
    select_sequences,
    slices,
)

LATTICE_GRADIENT = "-.514402 .514402 .415043 -.415043 .311390 .103653 -.572362 .157319 .277326 -.530757 .137716 .115714"
LATTICE_PSEUDO = [-0.014397, 0.014400, 0.915044, 0.084960, 0.811394, 0, -0.072362, -0.342684, 0, -0.030750, 0, 0]


def test_the_lattice_of_the_specification():
    layout, data, theta = lattice_example()
    value, gradient = ChainObjective(layout, data)(theta)
    assert value == pytest.approx(1.069895408410, abs=1e-12)
    np.testing.assert_allclose(gradient, [float(g) for g in LATTICE_GRADIENT.split()], atol=1e-6)
    assert np.abs(theta).sum() == pytest.approx(2.5)
    assert theta @ theta == pytest.approx(1.13)
    smooth, slope = ChainObjective(layout, data, l2=1e-5)(theta)
    assert smooth + 0.5 * 2.5 == pytest.approx(2.319901058410, abs=1e-11)
    np.testing.assert_allclose(pseudo_gradient(theta, slope, 0.5), LATTICE_PSEUDO, atol=1e-6)


def test_the_marginals_of_the_lattice():
    layout, data, theta = lattice_example()
    for features in (None, np.flatnonzero(theta)):
        weights = theta if features is None else theta[features]
        marginals, log_z = posterior(ChainScorer(layout, weights, features), data)
        np.testing.assert_allclose(marginals[:, 0], [0.746570, 0.415043, 0.739028], atol=1e-6)
        assert log_z[0] == pytest.approx(3.069895408410, abs=1e-12)
    unary, pairs = token_scores(layout, data, theta, 0)
    a, b = np.empty((3, 2)), np.empty((3, 2))
    assert np.exp(native.chain_sums(unary, pairs, a, b)) == pytest.approx(21.539649690969, abs=1e-10)
    np.testing.assert_allclose(
        np.exp(a), [[1.648721, 0.818731], [2.726956, 5.586860], [15.918405, 5.621245]], atol=1e-6
    )
    np.testing.assert_allclose(np.exp(b), [[9.753530, 6.667391], [3.278334, 2.255252], [1, 1]], atol=1e-6)


def test_the_same_weights_as_conditional_markov_and_as_maximum_entropy():
    layout, data, theta = lattice_example()
    value, _ = ChainObjective(layout, data, normalized=True)(theta)
    assert np.exp(-value) == pytest.approx(0.3472877, abs=1e-7)
    alone = FeatureLayout(2, 2, 0)
    value, _ = ChainObjective(alone, Encoded(data.offsets, data.unigram, active([[], [], []], 0), data.labels))(
        theta[:4]
    )
    assert np.exp(-value) == pytest.approx(0.2454871, abs=1e-7)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans(), st.booleans(), st.integers(1, 3))
def test_value_and_marginals_are_those_of_enumeration(seed, labels, start, values, threads):
    layout, data, theta = random_problem(seed, labels, start, values, longest=5)
    expected, marginals = 0.0, []
    for s in range(data.sequences):
        unary, pairs = token_scores(layout, data, theta, s)
        log_z, single, _ = enumerate_chain(unary, pairs)
        path = data.labels[data.offsets[s] : data.offsets[s + 1]]
        expected += log_z - path_score(unary, pairs, path)
        marginals.append(single)
    value, gradient = ChainObjective(layout, data, n_jobs=threads)(theta)
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-10)
    found, _ = posterior(ChainScorer(layout, theta), data, n_jobs=threads)
    np.testing.assert_allclose(found, np.concatenate(marginals), atol=1e-10)
    # a chosen set of features: the same value when the others are zero, the same slopes
    features = np.flatnonzero((theta != 0) | (np.arange(layout.size) % 3 == 0))
    sparse = ChainObjective(layout, data, n_jobs=threads)
    sparse.restrict(features)
    again, slopes = sparse(theta[features])
    assert again == pytest.approx(value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(slopes, gradient[features], atol=1e-12)
    # the look at all features finds the others
    outside = np.setdiff1d(np.arange(layout.size), features)
    _, inside, found_features, found_slopes = sparse.violations(theta[features], -1.0)
    assert found_features.tolist() == outside.tolist()
    np.testing.assert_allclose(found_slopes, gradient[outside], atol=1e-12)
    np.testing.assert_allclose(inside, slopes, atol=1e-12)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("bigrams", [3, 0])
def test_the_gradient_is_that_of_differences(normalized, bigrams):
    layout, data, theta = random_problem(5, 3, values=True, bigrams=bigrams)
    objective = ChainObjective(layout, data, l2=0.3, normalized=normalized)
    assert check_gradient(objective, theta).max_error < 1e-6
    _, gradient = ChainObjective(layout, data)(theta)
    np.testing.assert_allclose(gradient[: layout.rows * 3].reshape(-1, 3).sum(axis=1), 0, atol=1e-12)


def test_unknown_labels_are_summed_over():
    layout, data, theta = random_problem(11, 3)
    labels = data.labels.copy()
    labels[::2] = -1
    partial = data.with_labels(labels)
    expected = 0.0
    for s in range(data.sequences):
        unary, pairs = token_scores(layout, data, theta, s)
        known = labels[data.offsets[s] : data.offsets[s + 1]]
        allowed = [[k in (-1, y) for y in range(3)] for k in known]
        expected += enumerate_chain(unary, pairs)[0] - enumerate_chain(unary, pairs, allowed)[0]
    objective = ChainObjective(layout, partial)
    assert objective(theta)[0] == pytest.approx(expected, abs=1e-10)
    assert check_gradient(objective, theta).max_error < 1e-6
    objective.restrict(np.arange(0, layout.size, 2))
    _, _, features, slopes = objective.violations(theta[::2] * 0, 0.1)
    _, dense = ChainObjective(layout, partial)(theta * 0)
    outside = [k for k in range(1, layout.size, 2) if abs(dense[k]) > 0.1]
    assert features.tolist() == outside
    np.testing.assert_allclose(slopes, dense[outside], atol=1e-12)


def test_sequence_weights_count_sequences_so_often():
    layout, data, theta = random_problem(3, 3)
    weighted = Encoded(data.offsets, data.unigram, data.bigram, data.labels, np.array([2.0, 0.0, 1.0]))
    value, gradient = ChainObjective(layout, weighted)(theta)
    single = [ChainObjective(layout, part)(theta) for part in slices(data, 1)]
    assert value == pytest.approx(2 * single[0][0] + single[2][0])
    np.testing.assert_allclose(gradient, 2 * single[0][1] + single[2][1], atol=1e-12)


def test_long_sequences_and_large_weights_stay_finite():
    rng = np.random.default_rng(0)
    T, Y = 5000, 4
    data = Encoded(
        np.array([0, T]),
        active([[int(i)] for i in rng.integers(0, 5, T)], 5),
        active([[int(i)] for i in rng.integers(0, 5, T)], 5),
        rng.integers(0, Y, T).astype(np.int32),
    )
    layout = FeatureLayout(Y, 5, 5)
    for size in (0.1, 5.0, 100.0, 300.0):
        theta = rng.uniform(-size, size, layout.size)
        marginals, log_z = posterior(ChainScorer(layout, theta), data)
        unary, pairs = token_scores(layout, data, theta, 0)
        assert log_z[0] == pytest.approx(log_domain_z(unary, pairs), rel=1e-9)
        np.testing.assert_allclose(marginals.sum(axis=1), 1, atol=1e-9)
        value, gradient = ChainObjective(layout, data)(theta)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        features = np.arange(layout.size)
        sparse = ChainObjective(layout, data)
        sparse.restrict(features)
        again, slopes = sparse(theta)
        assert again == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(slopes, gradient, rtol=1e-9, atol=1e-9)


def test_strong_corrections_do_not_cancel():
    # one predecessor carries all the mass and is forbidden: what remains must keep its digits
    data = Encoded(np.array([0, 2]), active([[0], []], 1), active([[], [0]], 1), np.array([1, 1], np.int32))
    layout = FeatureLayout(2, 1, 1)
    theta = np.array([0.0, -39.14, 0.0, -40.0, 0.0, 0.0])
    features = np.arange(6)
    value = ChainObjective(layout, data)(theta)[0]
    sparse = ChainObjective(layout, data)
    sparse.restrict(features)
    assert sparse(theta)[0] == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("dense", [True, False])
def test_any_number_of_threads_gives_the_same_bytes(dense):
    rng = np.random.default_rng(2)
    lengths = rng.integers(1, 30, 900)
    tokens = int(lengths.sum())
    letters = rng.integers(0, 12, tokens)
    rows = active([[0, int(c) + 1] for c in letters], 13)
    data = Encoded(np.concatenate([[0], np.cumsum(lengths)]), rows, rows, rng.integers(0, 7, tokens).astype(np.int32))
    layout = FeatureLayout(7, 13, 13)
    theta = rng.normal(size=layout.size)
    results = set()
    for threads in (1, 2, 8):
        objective = ChainObjective(layout, data, n_jobs=threads)
        if not dense:
            objective.restrict(np.arange(0, layout.size, 3))
        value, gradient = objective(theta if dense else theta[::3])
        results.add((value, gradient.tobytes()))
    assert len(results) == 1


def test_equal_beginnings_and_ends_are_computed_once():
    word = [[0], [1], [2], [3]]
    data = Encoded(np.array([0, 4, 8]), active(word + word, 4), active(word + word, 4), np.zeros(8, np.int32))
    problem = native.make_problem(2, data.offsets, tuple(data.unigram), tuple(data.bigram), data.labels, None, None)
    unigram, bigram, _, beginnings, ends = problem.sizes()
    assert (unigram, bigram, beginnings, ends) == (4, 3, 4, 3)


def test_the_largest_slope_at_zero_of_the_known_optimum():
    layout, data = known_optimum()
    value, gradient = ChainObjective(layout, data)(np.zeros(layout.size))
    assert value == pytest.approx(19 * np.log(2))
    assert np.abs(gradient).max() == pytest.approx(2.75)
    assert layout.split(np.array([np.abs(gradient).argmax()])).source.tolist() == [1]


def test_bad_arrays_are_refused():
    layout, data, theta = lattice_example()
    with pytest.raises(DataError, match="no labels"):
        ChainObjective(layout, Encoded(data.offsets, data.unigram, data.bigram))
    with pytest.raises(ValueError, match="weights"):
        ChainObjective(layout, data)(theta[:-1])
    with pytest.raises(ValueError, match="finite"):
        ChainObjective(layout, data)(np.full_like(theta, np.inf))
    with pytest.raises(ValueError, match="ids of unigram tests"):
        native.make_problem(
            2, data.offsets, (data.unigram.indptr, data.unigram.ids + 9, None, 2), tuple(data.bigram), None, None, None
        )
    with pytest.raises(ValueError, match="features must rise"):
        layout.support(np.array([3, 3]))
    with pytest.raises(ValueError, match="labels must lie"):
        native.make_problem(2, data.offsets, tuple(data.unigram), tuple(data.bigram), data.labels + 7, None, None)


def test_empty_sequences_change_nothing():
    layout, data, theta = lattice_example()
    offsets = np.array([0, 0, 3, 3])
    with_empty = Encoded(offsets, data.unigram, data.bigram, data.labels)
    assert ChainObjective(layout, with_empty)(theta)[0] == ChainObjective(layout, data)(theta)[0]
    assert posterior(ChainScorer(layout, theta), with_empty)[1].tolist()[::2] == [0.0, 0.0]


def test_a_sequence_of_a_million_tokens():
    T = 10**6
    rows = active([], 1)._replace(indptr=np.arange(T + 1), ids=np.zeros(T, np.int32))
    data = Encoded(np.array([0, T]), rows, rows, np.zeros(T, np.int32))
    value, _ = ChainObjective(FeatureLayout(2, 1, 1), data)(np.zeros(6))
    assert value == pytest.approx(T * np.log(2))


@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("values", [False, True])
def test_scales_are_roots_of_second_derivatives_at_zero(values, start):
    labels, l2 = 3, 0.7
    layout, data, _ = random_problem(4, labels, start=start, values=values, sequences=12)
    data = Encoded(data.offsets, data.unigram, data.bigram, data.labels, np.linspace(0.5, 2, data.sequences))
    objective = ChainObjective(layout, data, l2=l2)
    step = 1e-5
    second = np.empty(layout.size)
    for k in range(layout.size):
        theta = np.zeros(layout.size)
        theta[k] = step
        second[k] = (objective(theta)[1][k] - objective(-theta)[1][k]) / (2 * step)
    rows = layout.rows * labels
    expected = objective.scales() ** 2 - l2
    np.testing.assert_allclose(second[:rows] - l2, expected[:rows] * (1 - 1 / labels), rtol=1e-6)
    ratio = (second[rows:] - l2) / expected[rows:]  # pairs: first tokens are counted, neighbors are not
    assert (ratio > 0.2).all()
    assert (ratio < 2).all()


@pytest.mark.parametrize("normalized", [False, True])
def test_scales_of_some_features_are_those_of_all(normalized):
    layout, data, _ = random_problem(6, 3, start=True)
    objective = ChainObjective(layout, data, normalized=normalized)
    whole = objective.scales()
    assert len(whole) == layout.size
    some = np.array([0, 5, layout.rows * 3 - 1, layout.rows * 3, layout.size - 1])
    objective.restrict(some)
    np.testing.assert_array_equal(objective.scales(), whole[some])


def odd_problem(values=True):
    """Weighted sequences, some of them empty, with labels that are not all known."""
    layout, data, theta = random_problem(9, 3, values=values, sequences=6)
    offsets = np.sort(np.concatenate([data.offsets, data.offsets[[0, 2, 2, -1]]]))
    labels = data.labels.copy()
    labels[[1, 5, 6, -1]] = -1
    weights = np.linspace(0.5, 2, len(offsets) - 1)
    return layout, Encoded(offsets, data.unigram, data.bigram, labels, weights), theta


def true_tests(rows, token):
    """Tests of a token with their values."""
    entries = range(int(rows.indptr[token]), int(rows.indptr[token + 1]))
    return [(int(rows.ids[e]), 1.0 if rows.values is None else float(rows.values[e])) for e in entries]


def labeled_tokens(data):
    """Of every token: number, sequence, the label before in the same sequence (-1: none or unknown), its own label."""
    for s in range(data.sequences):
        for t in range(int(data.offsets[s]), int(data.offsets[s + 1])):
            yield t, s, int(data.labels[t - 1]) if t > data.offsets[s] else -1, int(data.labels[t])


def test_seen_features_are_those_of_labeled_tokens_and_neighbors():
    layout, data, _ = odd_problem()
    seen, Y = set(), layout.labels
    for t, _, before, label in labeled_tokens(data):
        if label >= 0:
            seen |= {u * Y + label for u, _ in true_tests(data.unigram, t)}
        if label >= 0 and before >= 0:
            seen |= {layout.rows * Y + (b * Y + before) * Y + label for b, _ in true_tests(data.bigram, t)}
    assert seen_features(layout, data).tolist() == sorted(seen)


@pytest.mark.parametrize("values", ["both", "unigram", "bigram", "none"])
def test_conditioned_tokens_have_a_test_for_each_bigram_test_after_a_known_label(values):
    layout, data, _ = odd_problem()
    unigram, bigram = data.unigram, data.bigram
    unigram = unigram if values in ("both", "unigram") else unigram._replace(values=None)
    bigram = bigram if values in ("both", "bigram") else bigram._replace(values=None)
    data = Encoded(data.offsets, unigram, bigram, data.labels, data.weights)
    expected = []
    for t, s, before, label in labeled_tokens(data):
        if label >= 0:
            after = [(layout.rows + b * layout.labels + before, v) for b, v in true_tests(bigram, t) if before >= 0]
            expected.append((label, data.weights[s], sorted(true_tests(unigram, t) + after)))
    found = conditioned(layout, data)
    assert found.offsets.tolist() == list(range(found.tokens + 1))
    assert [
        (label, weight, sorted(true_tests(found.unigram, t)))
        for t, (label, weight) in enumerate(zip(found.labels.tolist(), found.weights.tolist(), strict=True))
    ] == expected
    assert (found.unigram.values is None) == (values == "none")
    assert found.unigram.size == layout.rows + layout.bigrams * layout.labels
    assert len(found.bigram.ids) == found.bigram.size == 0


def test_empty_sequences_keep_unknown_labels_where_they_are():
    layout, data, theta = odd_problem()
    full = np.diff(data.offsets) > 0
    without = Encoded(np.unique(data.offsets), data.unigram, data.bigram, data.labels, data.weights[full])
    assert ChainObjective(layout, data)(theta)[0] == pytest.approx(ChainObjective(layout, without)(theta)[0])


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("partitions", [False, True])
@pytest.mark.parametrize("some", [False, True])
def test_violations_are_the_steep_slopes_outside_the_support(unknown, partitions, some, monkeypatch):
    layout, data, theta = odd_problem()
    if not unknown:
        data = data.with_labels(np.maximum(data.labels, 0))
    support = np.arange(0, layout.size, 6)
    weights = theta[support] + 0.1
    value, dense = ChainObjective(layout, data, l2=0.3)(np.bincount(support, weights, layout.size))
    candidates = np.arange(0, layout.size, 3) if some else np.arange(layout.size)
    outside = [k for k in candidates if k % 6 and abs(dense[k]) > 0.5]
    if partitions:
        monkeypatch.setattr("textmill.sequence.training.objective.PART_CELLS", 15)
    objective = ChainObjective(layout, data, l2=0.3, candidates=candidates if some else None)
    assert len(objective._parts) == (6 if partitions else 1)
    objective.restrict(support)
    found_value, gradient, features, slopes = objective.violations(weights, 0.5)
    assert found_value == pytest.approx(value)
    np.testing.assert_allclose(gradient, dense[support], atol=1e-12)
    assert features.tolist() == outside
    assert 0 < len(outside) < len(candidates) - len(support)
    np.testing.assert_allclose(slopes, dense[outside], atol=1e-12)
    assert objective.features is support


def test_violations_need_a_support():
    layout, data, theta = random_problem(3)
    with pytest.raises(DataError, match="call restrict first"):
        ChainObjective(layout, data).violations(theta, 0.1)


def test_weights_are_spread_over_the_features_that_are_looked_at():
    layout, data, _ = random_problem(3)
    objective = ChainObjective(layout, data)
    features, weights = np.array([2, 6, 7, layout.size - 1]), np.array([1.0, 2.0, 3.0, 4.0])
    whole = objective.spread(features, weights)
    assert whole[features].tolist() == [1, 2, 3, 4]
    assert (len(whole), np.count_nonzero(whole)) == (layout.size, 4)
    objective.restrict(np.array([1, 2, 5, 7, 9]))
    assert objective.spread(features, weights).tolist() == [0, 1, 0, 3, 0]


def test_stretches_are_as_long_as_the_limit_allows():
    _, data, _ = random_problem(9, 3, sequences=20)
    lengths = np.diff(data.offsets)
    for limit in (1, 4, 7, 10, data.tokens - 1, data.tokens):
        parts = slices(data, limit)
        assert sum(part.sequences for part in parts) == 20
        assert np.concatenate([np.diff(part.offsets) for part in parts]).tolist() == lengths.tolist()
        begin = 0
        for part in parts:
            assert part.tokens <= limit or part.sequences == 1
            begin += part.sequences
            assert begin == 20 or part.tokens + lengths[begin] > limit  # one more would not have fitted
    assert slices(data, data.tokens)[0] is data


def test_sequences_are_selected_with_all_they_have():
    _, data, _ = odd_problem()
    chosen = np.arange(data.sequences) % 3 == 1
    some = select_sequences(data, chosen)
    tokens = [t for s in np.flatnonzero(chosen) for t in range(int(data.offsets[s]), int(data.offsets[s + 1]))]
    assert np.diff(some.offsets).tolist() == np.diff(data.offsets)[chosen].tolist()
    assert some.labels.tolist() == data.labels[tokens].tolist()
    assert some.weights.tolist() == data.weights[chosen].tolist()
    for rows, all_rows in ((some.unigram, data.unigram), (some.bigram, data.bigram)):
        assert [true_tests(rows, t) for t in range(some.tokens)] == [true_tests(all_rows, t) for t in tokens]
        assert rows.size == all_rows.size


def test_only_sequences_with_unknown_labels_are_summed_twice():
    layout, data, _ = lattice_example()
    assert [part.forced for part in ChainObjective(layout, data)._parts] == [None]
    labels = data.labels.copy()
    labels[1] = -1
    [part] = ChainObjective(layout, replace(data, labels=labels))._parts
    assert part.forced is not None

"""Optimizers on the problem whose optimum is known, and against scipy, scikit-learn and the split formulation."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from reference.chains import (
    active,
    all_paths,
    block_derivatives,
    kappa_update,
    known_optimum,
    lattice_example,
    random_problem,
    token_scores,
)
from scipy.optimize import minimize

from textmill._native import sequence as native
from textmill.errors import DataError
from textmill.optimize import Stopping, coordinate_update, kkt_violation, soft_threshold
from textmill.sequence import LBFGS, OWLQN, SGDL1, SGDL2, Active, Encoded, FeatureLayout
from textmill.sequence.training import batch
from textmill.sequence.training.algorithms import Session, SparseWeights
from textmill.sequence.training.batch import (
    WorkingSet,
    _enlarge,
    nonzero_weights,
    train_dense,
    train_rprop,
    train_working_set,
)
from textmill.sequence.training.blocks import BlockState, block_tests, train_blocks
from textmill.sequence.training.objective import ChainObjective, Part, frequencies, select_sequences
from textmill.sequence.training.online import (
    OnlineState,
    calibrated_rate,
    train_perceptron,
    train_sgd,
    training_data,
)
from textmill.sequence.training.run import Run

OPTIMA = {(0.5, 0.01): (6.90136158, 9), (0.3, 0.01): (4.94833377, 9), (0.1, 0.01): (2.31983045, 12)}
SUPPORT = {  # weights at l1 = 0.5: mu_a, mu_c, lambda_b 00 01 10 11, lambda_c 01
    (0, -1, 0): 0.88157, (0, -1, 1): -0.88157, (2, -1, 0): -0.99876, (2, -1, 1): 0.99876,
    (2, 0, 0): 1.02001, (2, 0, 1): -0.89999, (2, 1, 0): -1.14998, (2, 1, 1): 1.02996, (3, 0, 1): 0.76305,
}  # fmt: skip
BLOCKS = np.array([[-1, 0], [0, 1], [1, 2], [2, 3]], np.int32)
EXACT = Stopping(gradient_tolerance=1e-9, tolerance=0.0, max_iter=1000)


def never(done):
    return False


def value_of(layout, data, features, weights, l1, l2):
    theta = np.zeros(layout.size)
    theta[features] = weights
    return ChainObjective(layout, data, l2=l2)(theta)[0] + l1 * np.abs(theta).sum()


def owlqn(layout, data, l1, l2, stopping=EXACT, watch=never):
    state = WorkingSet.begin(np.empty(0, np.int64), np.empty(0))
    return train_working_set(
        ChainObjective(layout, data, l2=l2), state, l1=l1, memory=5, stopping=stopping, watch=watch
    )


@pytest.mark.parametrize("penalties", OPTIMA)
def test_owlqn_finds_the_known_optimum(penalties):
    layout, data = known_optimum()
    result = owlqn(layout, data, *penalties)
    optimum, active_features = OPTIMA[penalties]
    assert value_of(layout, data, result.features, result.weights, *penalties) == pytest.approx(optimum, rel=1e-8)
    assert len(result.features) == active_features
    theta = np.zeros(layout.size)
    theta[result.features] = result.weights
    _, gradient = ChainObjective(layout, data, l2=penalties[1])(theta)
    report = kkt_violation(theta, gradient, penalties[0], tolerance=1e-6)
    assert report.optimal
    if penalties[0] == 0.5:
        parts = layout.split(result.features)
        keys = zip(parts.test.tolist(), parts.source.tolist(), parts.label.tolist(), strict=True)
        found = dict(zip(keys, result.weights, strict=True))
        assert found == pytest.approx(SUPPORT, abs=1e-5)


def test_the_objective_never_rises():
    layout, data = known_optimum()
    values = owlqn(layout, data, 0.3, 0.01).objectives
    assert all(b <= a for a, b in pairwise(values))


def test_a_penalty_above_all_slopes_leaves_all_weights_at_zero():
    layout, data = known_optimum()
    assert len(owlqn(layout, data, 2.75, 0.01).features) == 0
    assert len(owlqn(layout, data, 2.7, 0.01).features) > 0
    tolerant = owlqn(layout, data, 2.7, 0.01, Stopping(gradient_tolerance=0.1, max_iter=50))
    assert (tolerant.reason, len(tolerant.features)) == ("gradient", 0)  # slopes exceed the penalty by less than that


def test_a_working_set_begins_with_the_weights_it_is_given():
    layout, data = known_optimum()
    features, weights = np.array([0, 3, layout.size - 1]), np.array([0.5, -1.0, 2.0])
    state = WorkingSet.begin(features, weights)
    result = train_working_set(
        ChainObjective(layout, data, l2=0.01), state, l1=0.3, memory=5, stopping=EXACT, watch=never
    )
    assert result.objectives[0] == pytest.approx(value_of(layout, data, features, weights, 0.3, 0.01))
    assert result.objectives[-1] == pytest.approx(OPTIMA[0.3, 0.01][0], rel=1e-8)
    none = train_working_set(
        ChainObjective(layout, data, l2=0.01), WorkingSet.begin(features, weights), l1=0.3, memory=5,
        stopping=Stopping(max_iter=0), watch=never,
    )  # fmt: skip
    assert (none.reason, none.iterations, none.evaluations, none.weights.tolist()) == ("iterations", 0, 1, [0.5, -1, 2])


@pytest.mark.parametrize("truncated", [True, False])
@pytest.mark.parametrize("penalties", OPTIMA)
def test_block_descent_finds_the_known_optimum(penalties, truncated):
    layout, data = known_optimum()
    result = train_blocks(
        layout, data, BLOCKS, BlockState(np.zeros(layout.size), []), l1=penalties[0], l2=penalties[1], random_state=0,
        n_jobs=2, stopping=EXACT, watch=never, truncated=truncated,
    )  # fmt: skip
    optimum, active_features = OPTIMA[penalties]
    assert result.objectives[-1] == pytest.approx(optimum, rel=1e-6)
    assert value_of(layout, data, result.features, result.weights, *penalties) == pytest.approx(optimum, rel=1e-6)
    assert len(result.features) == active_features
    assert all(b <= a for a, b in pairwise(result.objectives))


def test_the_heuristic_of_stretched_derivatives_gives_the_numbers_of_the_lattice():
    layout, data, theta = lattice_example()
    (g_mu, h_mu), (g_lam, h_lam) = block_derivatives(layout, data, theta, 1, 1)
    assert h_mu == pytest.approx([0.242782, 0.242782], abs=1e-6)
    assert h_lam.ravel() == pytest.approx([0.200416, 0.249054, 0.118750, 0.102324], abs=1e-6)
    assert kappa_update(theta[2:4], g_mu, h_mu, 0.1, 1e-5) == pytest.approx([-0.406034, 0.806028], abs=1e-6)
    expected = [-0.276783, 1.241044, -0.099355, -0.048040]
    assert kappa_update(theta[8:], g_lam.ravel(), h_lam.ravel(), 0.1, 1e-5) == pytest.approx(expected, abs=1e-6)
    assert block_derivatives(layout, data, theta, 0, 0)[0][1][0] == pytest.approx(0.382069, abs=1e-6)
    objective, step = ChainObjective(layout, data), np.eye(len(theta))[0] * 1e-5
    exact = (objective(theta + step)[1][0] - objective(theta - step)[1][0]) / 2e-5
    assert exact == pytest.approx(0.380820, abs=1e-6)


def test_safeguarded_blocks_come_closer_than_the_heuristic_in_as_many_sweeps():
    layout, data = known_optimum()
    theta, mu = np.zeros(layout.size), layout.rows * layout.labels
    objectives = []
    for _ in range(30):
        for u, b in BLOCKS.tolist():
            single, double = block_derivatives(layout, data, theta, u, b)
            at = slice(mu + 4 * b, mu + 4 * b + 4)
            theta[at] = kappa_update(theta[at], double[0].ravel(), double[1].ravel(), 0.5, 0.01)
            if u >= 0:
                theta[2 * u : 2 * u + 2] = kappa_update(theta[2 * u : 2 * u + 2], *single, 0.5, 0.01)
        objectives.append(value_of(layout, data, np.arange(layout.size), theta, 0.5, 0.01))
    assert objectives[:6] == pytest.approx([8.569, 7.484, 7.122, 7.069, 7.032, 6.990], abs=5e-4)
    assert objectives[-1] == pytest.approx(6.9025, abs=5e-5)
    descent, w = native.Descent(training_data(layout, data), 0.5, 0.01, True), np.zeros(layout.size)
    for _ in range(30):
        descent.begin()
        descent.sweep(BLOCKS, w, 1)
    assert value_of(layout, data, np.arange(layout.size), w, 0.5, 0.01) == pytest.approx(6.9014, abs=5e-5)
    for seed in range(5):
        safe = train_blocks(
            layout, data, BLOCKS, BlockState(np.zeros(layout.size), []), l1=0.5, l2=0.01, random_state=seed, n_jobs=1,
            stopping=Stopping(gradient_tolerance=0.0, tolerance=0.0, max_iter=30), watch=never,
        )  # fmt: skip
        assert safe.objectives[-1] <= objectives[-1]


def test_block_descent_gives_the_same_bytes_for_any_number_of_threads():
    rng = np.random.default_rng(0)
    tokens = 600
    rows = active([[0, int(c) + 1] for c in rng.integers(0, 4, tokens)], 5)
    data = Encoded(np.arange(0, tokens + 1, 6), rows, rows, rng.integers(0, 3, tokens).astype(np.int32))
    layout = FeatureLayout(3, 5, 5)
    results = set()
    for threads in (1, 2, 8):
        w = np.zeros(layout.size)
        descent = native.Descent(training_data(layout, data), 0.5, 0.01, True)
        descent.sweep(np.array([[i, i] for i in range(5)], np.int32), w, threads)
        results.add(w.tobytes())
    assert len(results) == 1


def test_truncated_recursions_take_fewer_steps_to_the_same_weights():
    layout, data, _ = random_problem(8, 3, unigrams=6, bigrams=6, sequences=40, longest=12)
    order = np.array([[i, i] for i in range(6)], np.int32)
    weights, steps = [], []
    for truncated in (True, False):
        w = np.zeros(layout.size)
        sweep = native.Descent(training_data(layout, data), 0.2, 0.01, truncated).sweep(order, w, 1)
        weights.append(w)
        steps.append(sweep[3])
    np.testing.assert_allclose(weights[0], weights[1], atol=1e-10)
    assert steps[0] < steps[1]


@pytest.mark.parametrize(("values", "bigrams"), [(False, 1), (True, 1), (False, 4)])
def test_recursions_kept_between_blocks_stay_those_of_the_weights(values, bigrams):
    """Rare tests take steps that are far too long and are taken back, which must leave nothing behind."""
    rng = np.random.default_rng(11)
    lengths = rng.integers(1, 12, 150)
    offsets, tokens = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), int(lengths.sum())
    each = rng.integers(1, 6, tokens)
    ids = (400 * rng.random(each.sum()) ** 3).astype(np.int32)
    real = rng.uniform(0.5, 2.0, len(ids)).astype(np.float32) if values else None
    unigram = Active(np.concatenate([[0], np.cumsum(each)]).astype(np.int64), ids, real, 400)
    pairs = Active(np.arange(tokens + 1), rng.integers(0, bigrams, tokens).astype(np.int32), None, bigrams)
    data = Encoded(offsets, unigram, pairs, rng.integers(0, 3, tokens).astype(np.int32))
    layout = FeatureLayout(3, 400, bigrams)
    blocks = np.array([[u, u if u < bigrams else -1] for u in range(400)], np.int32)
    training = training_data(layout, data)
    kept, whole = (native.Descent(training, 0.1, 1e-3, truncated) for truncated in (True, False))
    w, other = np.zeros(layout.size), np.zeros(layout.size)
    objective = tokens * np.log(3)
    for sweep in range(4):
        order = blocks[np.random.default_rng(sweep).permutation(400)]
        objective += kept.sweep(order, w, 1)[0]
        whole.sweep(order, other, 1)
        np.testing.assert_allclose(w, other, atol=1e-7)
        assert objective == pytest.approx(value_of(layout, data, np.arange(layout.size), w, 0.1, 1e-3), rel=1e-9)


def test_recursions_too_large_to_keep_are_computed_for_each_block():
    rng = np.random.default_rng(12)
    tokens, labels = 75_000, 60
    ids = np.zeros(tokens, np.int32)
    some = rng.choice(tokens, 200, replace=False)
    ids[some] = rng.integers(1, 20, 200)
    rows = Active(np.arange(tokens + 1), ids, None, 20)
    pairs = Active(np.arange(tokens + 1), np.zeros(tokens, np.int32), None, 1)
    data = Encoded(np.arange(0, tokens + 1, 10), rows, pairs, rng.integers(0, labels, tokens).astype(np.int32))
    layout = FeatureLayout(labels, 20, 1)
    blocks = np.array([[u, -1] for u in range(1, 20)], np.int32)
    weights = []
    for truncated in (True, False):
        w = np.zeros(layout.size)
        native.Descent(training_data(layout, data), 0.1, 1e-3, truncated).sweep(blocks, w, 2)
        weights.append(w)
    assert np.count_nonzero(weights[0]) > 100
    np.testing.assert_allclose(weights[0], weights[1], atol=1e-9)


@pytest.mark.parametrize(("eta0", "alpha", "epochs", "close"), [(0.8, 0.85, 40, 5e-3), (0.5, 0.98, 200, 5e-4)])
def test_sgd_with_cumulative_penalty_comes_close_to_the_known_optimum(eta0, alpha, epochs, close):
    layout, data = known_optimum()
    result = train_sgd(
        layout, data, OnlineState.fresh(layout, None, True), l1=0.5, l2=0.01, eta0=eta0, alpha=alpha, random_state=0,
        stopping=Stopping(tolerance=0.0, max_iter=epochs), watch=never,
    )  # fmt: skip
    value = value_of(layout, data, result.features, result.weights, 0.5, 0.01)
    assert value == pytest.approx(6.90136158, rel=close)
    assert len(result.features) == 9


def run_online(algorithm, layout, data, epochs=4, watch=never):
    """A short run of an algorithm that visits sequences, or blocks, one after the other."""
    stopping = Stopping(tolerance=0.0, max_iter=epochs)
    if algorithm == "blocks":
        blocks = np.array([[i, i] for i in range(layout.unigrams)], np.int32)
        state = BlockState(np.zeros(layout.size), [])
        options = {"l1": 0.1, "l2": 0.1, "random_state": 3, "n_jobs": 1}
        return train_blocks(layout, data, blocks, state, stopping=stopping, watch=watch, **options)
    if algorithm == "perceptron":
        state = OnlineState.fresh(layout, None, True)
        return train_perceptron(layout, data, state, random_state=3, stopping=stopping, watch=watch)
    state = OnlineState.fresh(layout, None, algorithm == "sgd_l1")
    options = {"l1": 0.1, "alpha": 0.9} if algorithm == "sgd_l1" else {"l1": 0.0, "alpha": 0.0}
    return train_sgd(layout, data, state, l2=0.1, eta0=0.2, random_state=3, stopping=stopping, watch=watch, **options)


@pytest.mark.parametrize("algorithm", ["sgd_l1", "sgd_l2", "perceptron", "blocks"])
def test_native_calls_of_a_few_at_a_time_change_nothing(algorithm, monkeypatch):
    layout, data, _ = random_problem(8, 3, unigrams=7, bigrams=7, sequences=23)
    seen = []

    def watch(done):
        seen.append((done.number, done.objective, done.active))
        return False

    whole = run_online(algorithm, layout, data, watch=watch)
    assert (whole.reason, whole.iterations, whole.evaluations) == ("iterations", 4, 4)
    assert [number for number, _, _ in seen] == [1, 2, 3, 4]
    assert [objective for _, objective, _ in seen] == whole.objectives[-4:]
    assert seen[-1][2] == len(whole.features)
    monkeypatch.setattr("textmill.sequence.training.online.CALL", 5)
    monkeypatch.setattr("textmill.sequence.training.blocks.CALL", 2)
    parts = run_online(algorithm, layout, data)
    assert parts.weights == pytest.approx(whole.weights, rel=1e-12)
    assert parts.objectives == pytest.approx(whole.objectives, rel=1e-12)
    stopped = run_online(algorithm, layout, data, watch=lambda done: done.number == 2)
    assert (stopped.reason, stopped.iterations) == ("stopped", 2)


def test_the_perceptron_gives_the_mean_of_the_weights_with_which_it_labeled():
    layout, data, _ = random_problem(8, 3, unigrams=7, bigrams=7, sequences=23, values=True)  # few paths are equal
    result = run_online("perceptron", layout, data, epochs=3)
    w, total, steps, wrong = np.zeros(layout.size), np.zeros(layout.size), 0, []
    for epoch in range(3):
        wrong.append(0)
        for s in np.random.default_rng([3, epoch]).permutation(23):
            total, steps = total + w, steps + 1
            gold = data.labels[data.offsets[s] : data.offsets[s + 1]]
            best = np.array(all_paths(*token_scores(layout, data, w, s))[0][1])
            wrong[-1] += int((best != gold).sum())
            w = w + counted_features(layout, data, s, gold) - counted_features(layout, data, s, best)
    assert result.objectives == wrong
    assert result.iterations == 3
    theta = np.zeros(layout.size)
    theta[result.features] = result.weights
    np.testing.assert_allclose(theta, total / steps, atol=1e-6)


def counted_features(layout, data, s, path):
    """How often each feature holds of a sequence and its labels, with values: the slope of a score."""
    begin, Y, first = int(data.offsets[s]), layout.labels, layout.rows * layout.labels
    counts = np.zeros(layout.size)
    for t, label in enumerate(path):
        for rows, place in ((data.unigram, label), (data.bigram, None if t == 0 else first + path[t - 1] * Y + label)):
            if place is not None:
                entries = slice(rows.indptr[begin + t], rows.indptr[begin + t + 1])
                by = 1.0 if rows.values is None else rows.values[entries]
                width = Y if rows is data.unigram else Y * Y
                np.add.at(counts, rows.ids[entries].astype(np.int64) * width + place, by)
    return counts


def test_blocks_end_with_the_first_sweep_that_changes_nothing():
    layout, data = known_optimum()
    state = BlockState(np.zeros(layout.size), [])
    stopping = Stopping(tolerance=0.0, max_iter=9)
    options = {"l1": 5.0, "l2": 0.0, "random_state": 0, "n_jobs": 1, "stopping": stopping, "watch": never}
    result = train_blocks(layout, data, BLOCKS, state, **options)
    assert (result.reason, result.iterations, len(result.features)) == ("value", 1, 0)


@pytest.mark.parametrize(("l1", "l2"), [(0.3, 1e-5), (0.0, 1.0), (0.0, 1e-5), (0.0, 0.0)])
@pytest.mark.parametrize(("seed", "values", "start"), [(1, False, False), (2, True, False), (3, False, True)])
def test_every_sweep_of_blocks_is_a_descent_of_the_objective(seed, values, start, l1, l2):
    """Without L1 nearly separable data let weights grow, and steps of -g / h are far too long."""
    layout, data, _ = random_problem(
        seed, 4, start=start, values=values, unigrams=12, bigrams=8, sequences=30, longest=9
    )
    blocks = block_tests(layout, np.arange(12, dtype=np.int32), np.array([*range(8), *[-1] * 4], np.int32))
    objectives, found = [], []

    def watch(done):
        objectives.append(value_of(layout, data, np.arange(layout.size), done.theta, l1, l2))
        found.append(done.objective)
        return False

    state = BlockState(np.zeros(layout.size), [])
    train_blocks(
        layout, data, blocks, state, l1=l1, l2=l2, random_state=seed, n_jobs=2,
        stopping=Stopping(tolerance=0.0, max_iter=12), watch=watch,
    )  # fmt: skip
    assert np.isfinite(objectives).all()
    assert found == pytest.approx(objectives, rel=1e-8, abs=1e-8)
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise([data.tokens * np.log(4), *objectives]))


def test_blocks_without_l1_come_to_the_optimum_of_lbfgs():
    layout, data, _ = random_problem(4, 3, unigrams=5, bigrams=4, sequences=40, longest=8)
    blocks = block_tests(layout, np.arange(5, dtype=np.int32), np.array([0, 1, 2, 3, -1], np.int32))
    options = {"l1": 0.0, "l2": 0.5, "random_state": 0, "n_jobs": 1, "stopping": EXACT, "watch": never}
    by_blocks = train_blocks(layout, data, blocks, BlockState(np.zeros(layout.size), []), **options)
    objective = ChainObjective(layout, data, l2=0.5)
    state = WorkingSet.begin(np.empty(0, np.int64), np.zeros(layout.size))
    exact = train_dense(objective, state, memory=10, stopping=EXACT, watch=never)
    assert by_blocks.objectives[-1] == pytest.approx(exact.objectives[-1], rel=1e-7)


def test_blocks_take_steps_of_at_most_one():
    """A label that is observed once where all else speaks against it would get a weight of hundreds in one step."""
    layout, data = FeatureLayout(2, 2, 0), rare_label()
    w = np.array([30.0, 0.0, 0.0, 0.0])  # mu of the first test and label
    descent = native.Descent(training_data(layout, data), 0.0, 1e-5, True)
    descent.begin()
    change, changed, evaluations, _ = descent.sweep(np.array([[1, -1]], np.int32), w, 1)
    assert changed == 1
    assert change < 0
    assert 0 < np.abs(w[2:]).max() <= evaluations


def rare_label():
    tests = Active(np.array([0, 1, 3]), np.array([0, 0, 1], np.int32), None, 2)
    return Encoded(np.array([0, 1, 2]), tests, Active(np.zeros(3, np.int64), np.empty(0, np.int32), None, 0),
                   np.array([0, 1], np.int32))  # fmt: skip


def test_blocks_that_share_no_sequence_are_visited_at_once_with_the_result_of_one_after_the_other():
    layout, data, _ = random_problem(9, 3, unigrams=60, bigrams=60, sequences=60, longest=5)
    order = np.random.default_rng(0).permutation(np.stack([np.arange(60, dtype=np.int32)] * 2, axis=1))
    training, weights, totals = training_data(layout, data), [], []
    for threads, calls in ((1, 1), (2, 1), (5, 1), (1, 60)):
        w, change = np.zeros(layout.size), 0.0
        descent = native.Descent(training, 0.1, 1e-3, True)
        for _ in range(3):
            descent.begin()
            for part in np.split(order, calls):
                change += descent.sweep(np.ascontiguousarray(part), w, threads)[0]
        weights.append(w.tobytes())
        totals.append(change)
    assert len(set(weights)) == 1
    assert totals == pytest.approx([totals[0]] * 4)


def test_the_line_behind_a_sweep_is_followed_while_the_objective_falls(monkeypatch):
    """With it as many sweeps end lower, and nothing of it is left where it does not help."""
    layout, data, _ = random_problem(5, 4, unigrams=12, bigrams=8, sequences=60, longest=9)
    blocks = block_tests(layout, np.arange(12, dtype=np.int32), np.array([*range(8), *[-1] * 4], np.int32))
    ends = []
    for sparse in (0, 10**9):  # always looked at as a list; never
        monkeypatch.setattr("textmill.sequence.training.blocks.SPARSE", sparse)
        state = BlockState(np.zeros(layout.size), [])
        result = train_blocks(
            layout, data, blocks, state, l1=0.5, l2=1e-5, random_state=0, n_jobs=1,
            stopping=Stopping(tolerance=0.0, max_iter=8), watch=never,
        )  # fmt: skip
        exact = value_of(layout, data, result.features, result.weights, 0.5, 1e-5)
        assert result.objectives[-1] == pytest.approx(exact, rel=1e-9)
        ends.append(exact)
    assert ends[0] < ends[1]


def test_algorithms_by_name_take_their_own_rates():
    layout, data, _ = random_problem(8, 3, sequences=9)
    objective = ChainObjective(layout, data, l2=0.5)
    begin = SparseWeights(np.empty(0, np.int64), np.empty(0))
    named = SGDL2(eta0=0.2).train(objective, begin, Session(4, 0.0, 3, never))
    stopping = Stopping(tolerance=0.0, max_iter=4)
    options = {"l1": 0.0, "l2": 0.5, "eta0": 0.2, "alpha": 0.0, "random_state": 3, "stopping": stopping}
    plain = train_sgd(layout, data, OnlineState.fresh(layout, None, False), watch=never, **options)
    assert named.weights.tobytes() == plain.weights.tobytes()


@pytest.mark.parametrize("epochs", [1, 8, 30])
def test_the_rate_falls_to_the_same_share_in_runs_of_any_length(epochs, monkeypatch):
    layout, data, _ = random_problem(8, 3, sequences=9)
    objective = ChainObjective(layout, data, l1=0.5)
    begin = SparseWeights(np.empty(0, np.int64), np.empty(0))
    falls = []
    monkeypatch.setattr(
        "textmill.sequence.training.algorithms.calibrated_rate", lambda *a, fall, **o: falls.append(fall) or 0.1
    )
    by_itself = SGDL1().train(objective, begin, Session(epochs, 0.0, 3, never))
    given = SGDL1(eta0=0.1, alpha=(0.9**30) ** (1 / epochs)).train(objective, begin, Session(epochs, 0.0, 3, never))
    assert by_itself.weights.tobytes() == given.weights.tobytes()
    assert falls == pytest.approx([0.9**30])


def test_owlqn_without_a_penalty_is_lbfgs():
    layout, data, _ = random_problem(8, 3, sequences=9)
    begin = SparseWeights(np.empty(0, np.int64), np.empty(0))
    results = [
        algorithm.train(ChainObjective(layout, data, l1=0.0, l2=0.5), begin, Session(9, 0.0, 3, never))
        for algorithm in (OWLQN(), LBFGS())
    ]
    assert results[0].weights.tobytes() == results[1].weights.tobytes()
    assert results[0].evaluations == results[1].evaluations


def test_a_run_counts_the_iterations_of_its_tuning_and_its_time(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr("textmill.sequence.training.run.perf_counter", lambda: next(ticks))  # a second for each look
    layout, data = known_optimum()
    run = Run(OWLQN(), ChainObjective(layout, data, l1=0.5, l2=0.01), max_iter=5, tolerance=0.0, fine_tune=3)
    result = run.train(SparseWeights(np.empty(0, np.int64), np.empty(0)))
    assert [entry["iteration"] for entry in run.log] == list(range(1, 9))
    assert (result.iterations, result.reason) == (8, "iterations")
    assert result.evaluations >= 8
    seconds = [entry["seconds"] for entry in run.log]
    assert seconds == sorted(set(seconds))
    assert 0 < seconds[0] < seconds[-1] < next(ticks)
    assert run.objective.l2 == 0.01


def test_frequencies_of_tests_are_sums_of_squares_over_their_labels():
    rows = active([[0], [0, 1], [0]], 3, [[1.0], [2.0, 3.0], [1.0]])
    data = Encoded(np.array([0, 3]), rows, rows, np.array([0, 1, 2], np.int32), np.array([2.0]))
    found = frequencies(FeatureLayout(3, 3, 3), data)
    assert found[:3] == pytest.approx([2 * 6 / 3, 2 * 9 / 3, 1])  # the last is never true
    assert found[3:] == pytest.approx([2 * 6 / 9, 2 * 9 / 9, 1])


def test_a_perceptron_ends_with_the_first_epoch_without_a_mistake():
    layout, data = known_optimum()
    result = run_online("perceptron", layout, data, epochs=50)
    assert (result.reason, result.objectives[-1]) == ("value", 0)
    assert all(wrong > 0 for wrong in result.objectives[:-1])
    assert result.iterations == len(result.objectives) < 50


def test_sgd_ends_when_its_objective_has_settled():
    layout, data = known_optimum()
    stopping = Stopping(tolerance=0.01, max_iter=500)
    result = train_sgd(
        layout, data, OnlineState.fresh(layout, None, True), l1=0.5, l2=0.01, eta0=0.5, alpha=0.9, random_state=0,
        stopping=stopping, watch=never,
    )  # fmt: skip
    assert result.reason == "value"
    assert result.iterations == len(result.objectives) < 500
    assert stopping.settled(result.objectives)
    assert not any(stopping.settled(result.objectives[:k]) for k in range(1, result.iterations))


def test_a_rate_that_is_far_too_high_is_an_error():
    layout, data = scaled_problem(1000)
    with pytest.raises(DataError, match="without limit with eta0=100; pass a smaller eta0"):
        train_sgd(
            layout, data, OnlineState.fresh(layout, None, False), l1=0.0, l2=0.1, eta0=100.0, alpha=0.9, random_state=0,
            stopping=Stopping(max_iter=9), watch=never,
        )  # fmt: skip


@pytest.mark.parametrize("labels", [None, [0, 1, -1]])
def test_training_one_sequence_at_a_time_needs_all_labels(labels):
    rows = active([[0], [0], [0]], 1)
    data = Encoded(np.array([0, 3]), rows, rows, None if labels is None else np.array(labels, np.int32))
    with pytest.raises(DataError, match="some labels are not known; use algorithm='owlqn' or 'lbfgs'"):
        training_data(FeatureLayout(2, 1, 1), data)


def scaled_problem(factor):
    """A random problem whose tests have values about so large."""
    layout, data, _ = random_problem(1, 3, sequences=24, values=True)
    unigram, bigram = (rows._replace(values=rows.values * np.float32(factor)) for rows in (data.unigram, data.bigram))
    return layout, replace(data, unigram=unigram, bigram=bigram)


@pytest.mark.parametrize("factor", [0.1, 1, 30, 1000])
@pytest.mark.parametrize(("l1", "l2", "alpha"), [(0.5, 0.01, 0.9), (0.0, 0.1, 0.0)])
def test_the_calibrated_rate_is_better_than_half_and_twice_of_it(factor, l1, l2, alpha, monkeypatch):
    monkeypatch.setattr("textmill.sequence.training.online.SHARE", 3)
    layout, data = scaled_problem(factor)
    chosen = np.zeros(24, bool)
    chosen[np.random.default_rng([7, 0]).permutation(24)[:8]] = True
    sample = select_sequences(data, chosen)

    def after_eight_passes(rate):
        result = train_sgd(
            layout, sample, OnlineState.fresh(layout, None, l1 > 0), l1=l1 / 3, l2=l2 / 3, eta0=rate, alpha=alpha,
            random_state=7, stopping=Stopping(tolerance=0.0, max_iter=8), watch=never,
        )  # fmt: skip
        return value_of(layout, sample, result.features, result.weights, l1 / 3, l2 / 3)

    rate = calibrated_rate(layout, data, l1=l1, l2=l2, fall=alpha**8, random_state=7, n_jobs=1)
    assert np.log2(rate / 0.1) == pytest.approx(round(np.log2(rate / 0.1)))
    assert (rate > 0.1) == (factor <= 1)
    best = after_eight_passes(rate)
    assert best < after_eight_passes(rate / 2)
    assert best < after_eight_passes(rate * 2)


@pytest.mark.parametrize(("sequences", "tried"), [(1, 1), (4, 4), (24, 4), (39, 4), (40, 5), (2399, 299), (3000, 300)])
def test_a_rate_is_tried_on_an_eighth_of_the_sequences(sequences, tried, monkeypatch):
    sizes = []

    def select(data, chosen):
        sizes.append(int(chosen.sum()))
        return select_sequences(data, chosen)

    monkeypatch.setattr("textmill.sequence.training.online.select_sequences", select)
    layout, data, _ = random_problem(1, 2, sequences=sequences, longest=1)
    calibrated_rate(layout, data, l1=0.1, l2=0.0, fall=0.1, random_state=0, n_jobs=1)
    assert sizes == [tried]


def test_a_rate_is_looked_for_in_a_range():
    layout, data = scaled_problem(1e6)
    assert 5e-10 < calibrated_rate(layout, data, l1=0.0, l2=0.1, fall=0.0, random_state=0, n_jobs=1) <= 2e-9
    layout, data = scaled_problem(1e-4)
    assert 50 < calibrated_rate(layout, data, l1=0.0, l2=0.1, fall=0.0, random_state=0, n_jobs=1) < 100


def test_the_trace_of_the_cumulative_penalty():
    # one weight, eta = .1, l1 / N = .3; gradients of the trace by hand: only the penalty is looked at
    u, q, w, trace = 0.0, 0.0, 0.0, []
    for gradient in (-1.0, None, None, -0.2, 0.5, -1.0):
        u += 0.1 * 0.3
        if gradient is not None:
            z = w - 0.1 * gradient
            w = max(0.0, z - (u + q)) if z > 0 else min(0.0, z + (u - q)) if z < 0 else 0.0
            q += w - z
        trace.append((round(w, 10), round(u, 10), round(q, 10)))
    w_trace, u_trace, q_trace = zip(*trace, strict=True)
    assert w_trace == (0.07, 0.07, 0.07, 0, 0, 0)
    assert u_trace == (0.03, 0.06, 0.09, 0.12, 0.15, 0.18)
    assert q_trace == (-0.03, -0.03, -0.03, -0.12, -0.07, -0.17)


def test_native_steps_follow_the_definition_of_the_cumulative_penalty():
    layout, data, _ = random_problem(21, 3, sequences=5)
    eta0, alpha, l1, l2 = 0.4, 0.9, 0.3, 0.2
    order = np.array([3, 1, 4, 0, 2, 2, 1, 0, 4, 3])
    training = training_data(layout, data)
    w, q, seen = np.zeros(layout.size), np.zeros(layout.size), np.ones(layout.rows + layout.bigrams)
    _, state = training.sgd_steps(order, w, q, seen, (0.0, 0.0, 1.0), eta0=eta0, alpha=alpha, l1=l1, l2=l2)
    training.sgd_flush(w, q, seen, state)
    theta, received, u, N = np.zeros(layout.size), np.zeros(layout.size), 0.0, data.sequences
    parts = [ChainObjective(layout, _sequence(data, s)) for s in range(N)]
    for j, s in enumerate(order):
        eta = eta0 * alpha ** (j / N)
        u += eta * l1 / N
        z = theta * (1 - eta * l2 / N) - eta * parts[s](theta)[1]
        theta, received = _clipped(z, received, u, _touched(layout, data, s))
    theta, _ = _clipped(theta, received, u, np.ones(layout.size, bool))
    np.testing.assert_allclose(w, theta, atol=1e-12)


def _clipped(z, received, u, touched):
    down, up = np.maximum(0, z - (u + received)), np.minimum(0, z + (u - received))
    w = np.where(touched, np.where(z > 0, down, np.where(z < 0, up, 0)), z)
    return w, received + w - z


def _touched(layout, data, s):
    """Features of the tests that are true in a sequence."""
    begin, end = data.offsets[s], data.offsets[s + 1]
    tests_u = data.unigram.ids[data.unigram.indptr[begin] : data.unigram.indptr[end]]
    tests_b = data.bigram.ids[data.bigram.indptr[begin + 1] : data.bigram.indptr[end]]
    parts = layout.split(np.arange(layout.size))
    return np.where(parts.bigram, np.isin(parts.test, tests_b), np.isin(parts.test, tests_u))


def _sequence(data, s):
    return select_sequences(data, slice(s, s + 1))


def test_lbfgs_finds_what_scipy_finds():
    layout, data = known_optimum()
    objective = ChainObjective(layout, data, l2=0.01)
    result = train_dense(
        objective, WorkingSet.begin(np.empty(0, np.int64), np.zeros(layout.size)), memory=5, stopping=EXACT, watch=never
    )
    theirs = minimize(
        objective, np.zeros(layout.size), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}
    )
    assert result.objectives[-1] == pytest.approx(0.37184229, abs=1e-7)
    assert result.objectives[-1] == pytest.approx(theirs.fun, rel=1e-6)
    assert len(result.features) == 22


def test_the_split_into_positive_and_negative_parts_has_the_same_optimum():
    layout, data = known_optimum()
    objective, K = ChainObjective(layout, data, l2=0.01), layout.size

    def split(both):
        value, gradient = objective(both[:K] - both[K:])
        return value + 0.5 * both.sum(), np.concatenate([gradient + 0.5, 0.5 - gradient])

    theirs = minimize(
        split, np.zeros(2 * K), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * K), options={"ftol": 1e-15}
    )
    assert theirs.fun == pytest.approx(6.90136158, rel=1e-6)


@pytest.mark.parametrize("variant", ["+", "-"])
def test_rprop_comes_close_to_the_known_optimum(variant):
    layout, data = known_optimum()
    numbers = []

    def watch(done):
        numbers.append(done.number)
        return False

    result = train_rprop(
        ChainObjective(layout, data, l2=0.01), np.zeros(layout.size), l1=0.5, variant=variant,
        stopping=Stopping(gradient_tolerance=1e-7, tolerance=0.0, max_iter=400), watch=watch,
    )  # fmt: skip
    assert result.objectives[-1] == pytest.approx(6.90136158, rel=1e-4)
    assert numbers == list(range(1, result.iterations + 1))


def test_unigram_tests_alone_are_multinomial_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x = rng.random((60, 5)) < 0.4
    labels = (x @ [1, 2, 0, 1, 0] + rng.integers(0, 2, 60)) % 3
    rows = active([np.flatnonzero(row).tolist() for row in x], 5)
    data = Encoded(np.arange(61), rows, active([[]] * 60, 0), labels.astype(np.int32))
    layout = FeatureLayout(3, 5, 0)
    objective = ChainObjective(layout, data, l2=1.0)
    result = train_dense(
        objective, WorkingSet.begin(np.empty(0, np.int64), np.zeros(15)), memory=5, stopping=EXACT, watch=never
    )
    theirs = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000).fit(x, labels).predict_proba(x)
    scores = x @ result.weights.reshape(5, 3)
    ours = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_soft_threshold_and_coordinate_update_of_the_specification():
    assert soft_threshold([1.2, 0.5, -0.3, -2.0], 0.5).tolist() == pytest.approx([0.7, 0, 0, -1.5])
    assert float(coordinate_update(0.3, -1.1, 0.8, 0.5, 1e-5)) == pytest.approx(1.0499869, abs=1e-7)
    assert float(coordinate_update(0.3, 0.1, 0.8, 0.5, 1e-5)) == 0.0


def test_a_run_on_a_working_set_goes_on_to_the_same_bytes():
    layout, data = known_optimum()
    states, whole = [], WorkingSet.begin(np.empty(0, np.int64), np.empty(0))

    def keep(state):
        copied = (np.copy(part) for part in (state.features, state.weights, state.s, state.y))
        states.append(WorkingSet(*copied, list(state.objectives), state.iterations, state.evaluations))

    arguments = {"l1": 0.3, "memory": 5, "stopping": EXACT, "watch": never}
    result = train_working_set(ChainObjective(layout, data, l2=0.01), whole, save=keep, **arguments)
    again = train_working_set(ChainObjective(layout, data, l2=0.01), states[2], **arguments)
    assert again.weights.tobytes() == result.weights.tobytes()
    assert again.objectives == result.objectives
    assert nonzero_weights(result.weights, result.features)[0].tolist() == result.features.tolist()


def test_a_working_set_keeps_what_has_a_weight_or_a_steep_slope_and_takes_in_what_was_found():
    state = WorkingSet(
        np.array([2, 5, 7, 9]), np.array([0.5, 0.0, 0.0, 0.0]),
        np.arange(8.0).reshape(2, 4), 10 + np.arange(8.0).reshape(2, 4), [3.0], 4, 6,
    )  # fmt: skip
    slopes = np.array([0.1, 0.81, 0.79, -0.81])  # near a penalty of 1 is above 0.8
    grown, gradient = _enlarge(state, slopes, np.array([8, 3]), np.array([-1.5, 1.2]), 1.0, 5)
    assert grown.features.tolist() == [2, 3, 5, 8, 9]
    assert grown.weights.tolist() == [0.5, 0, 0, 0, 0]
    assert gradient.tolist() == [0.1, 1.2, 0.81, -1.5, -0.81]
    assert grown.s.tolist() == [[0, 0, 1, 0, 3], [4, 0, 5, 0, 7]]
    assert grown.y.tolist() == [[10, 0, 11, 0, 13], [14, 0, 15, 0, 17]]
    assert (grown.objectives, grown.iterations, grown.evaluations) == ([3.0], 4, 6)
    fresh = WorkingSet.begin(np.array([2, 5]), np.zeros(2))
    assert fresh.s.shape == fresh.y.shape == (0, 2)
    assert (fresh.objectives, fresh.iterations, fresh.evaluations) == ([], 0, 0)


def counted_evaluations(monkeypatch):
    """The calls of partitions, as they come."""
    calls = []
    for name in ("evaluate", "violations"):
        original = getattr(Part, name)

        def counting(self, *arguments, original=original, name=name):
            calls.append(name)
            return original(self, *arguments)

        monkeypatch.setattr(Part, name, counting)
    return calls


def test_all_features_are_looked_at_after_four_eight_and_every_eight_iterations(monkeypatch):
    layout, data = known_optimum()
    calls, looks, seen = counted_evaluations(monkeypatch), [], []

    def watch(done):
        seen.append((done.number, done.objective, done.active))
        return done.number == 30

    result = train_working_set(
        ChainObjective(layout, data, l2=0.01), WorkingSet.begin(np.empty(0, np.int64), np.empty(0)), l1=0.1, memory=5,
        stopping=Stopping(gradient_tolerance=0.0, tolerance=0.0, max_iter=100), watch=watch,
        save=lambda state: looks.append(state.iterations),
    )  # fmt: skip
    assert looks == [0, 4, 8, 16, 24]
    assert [number for number, _, _ in seen] == list(range(1, 31))
    assert (result.reason, result.iterations) == ("stopped", 30)
    assert result.objectives[1:] == [objective for _, objective, _ in seen]
    assert seen[-1][2] == len(result.features)
    assert calls.count("violations") == 5
    assert result.evaluations == len(calls)


def test_a_working_set_keeps_its_pairs_and_looks_for_slopes_above_the_penalty(monkeypatch):
    layout, data = known_optimum()
    pairs, limits = [], []
    minimize, violations = batch.minimize_owlqn, ChainObjective.violations

    def watched(objective, theta, *, history, **options):
        pairs.append(len(history.pairs()[0]))
        return minimize(objective, theta, history=history, **options)

    def look(self, theta, limit):
        limits.append(limit)
        return violations(self, theta, limit)

    monkeypatch.setattr(batch, "minimize_owlqn", watched)
    monkeypatch.setattr(ChainObjective, "violations", look)
    owlqn(layout, data, 0.1, 0.01, replace(EXACT, gradient_tolerance=1e-3), lambda done: done.number == 17)
    assert pairs == [0, 4, 5, 5]
    assert limits == pytest.approx([0.1 * (1 + 1e-9) + 1e-3] * 4, rel=1e-13)


def test_a_working_set_whose_objective_settles_over_two_short_rounds_is_done():
    layout, data = known_optimum()
    every = WorkingSet.begin(np.arange(layout.size), np.full(layout.size, 1e-3))  # so no look finds others
    result = train_working_set(
        ChainObjective(layout, data, l2=0.01), every, l1=0.1, memory=5,
        stopping=Stopping(gradient_tolerance=0.0, tolerance=0.9, window=5, max_iter=50), watch=never,
    )  # fmt: skip
    assert (result.reason, result.iterations) == ("value", 8)  # four iterations are too few for a window of five


@pytest.mark.parametrize("rounds", [False, True])
def test_rounds_of_a_run_without_a_working_set_change_nothing_and_evaluate_nothing_twice(rounds, monkeypatch):
    layout, data = known_optimum()
    objective = ChainObjective(layout, data, l2=0.01)
    calls, saved, seen = counted_evaluations(monkeypatch), [], []

    def watch(done):
        seen.append(done.number)
        return False

    result = train_dense(
        objective, WorkingSet.begin(np.empty(0, np.int64), np.zeros(layout.size)), memory=5,
        stopping=Stopping(gradient_tolerance=0.0, tolerance=0.0, max_iter=20), watch=watch,
        save=(lambda state: saved.append(state.iterations)) if rounds else None,
    )  # fmt: skip
    assert saved == ([8, 16] if rounds else [])
    assert seen == list(range(1, 21))
    assert (result.reason, result.iterations) == ("iterations", 20)
    assert len(result.objectives) == 21
    assert result.objectives[0] == pytest.approx(data.tokens * np.log(2))
    assert result.evaluations == len(calls) == 22


@pytest.mark.parametrize(
    ("options", "stop_at", "ending"),
    [
        ({"tolerance": 1e-3, "window": 3}, 0, "value"),
        ({"tolerance": 1e-3, "window": 10}, 0, "value"),  # longer than a round
        ({"tolerance": 0.0}, 12, "stopped"),
        ({"tolerance": 0.0}, 16, "stopped"),  # at the end of a round
        ({"tolerance": 0.0, "gradient_tolerance": 1e-3}, 0, "gradient"),
    ],
)
def test_a_run_in_rounds_ends_where_a_run_without_them_ends(options, stop_at, ending):
    layout, data = known_optimum()
    results = []
    for saved in (None, lambda state: None):
        state = WorkingSet.begin(np.empty(0, np.int64), np.zeros(layout.size))
        stopping = Stopping(**{"gradient_tolerance": 0.0, "max_iter": 200} | options)
        results.append(
            train_dense(
                ChainObjective(layout, data, l2=0.01), state, memory=5, stopping=stopping,
                watch=lambda done: done.number == stop_at, save=saved,
            )
        )  # fmt: skip
    one, many = results
    assert one.reason == many.reason == ending
    assert one.iterations == many.iterations > 8
    assert one.objectives == many.objectives
    assert len(one.objectives) == 1 + one.iterations
    assert one.weights.tobytes() == many.weights.tobytes()


@pytest.mark.slow
def test_the_index_of_ten_million_tests_is_built_on_a_small_stack():
    """In quadratic time it would not be built in a day."""
    built = []

    def build():
        tests = 10_000_000
        one = Active(np.arange(tests + 1), np.arange(tests, dtype=np.int32)[::-1].copy(), None, tests)
        none = Active(np.zeros(tests + 1, np.int64), np.empty(0, np.int32), None, 0)
        data = Encoded(np.arange(0, tests + 1, 10), one, none, np.zeros(tests, np.int32))
        built.append(native.Descent(training_data(FeatureLayout(2, tests, 0), data), 0.5, 1e-5, True))

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=build)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(built) == 1


class _Bowls:
    """0.5 (w - center)^2 for each feature, with the methods that a working set asks of an objective."""

    def __init__(self, centers):
        self.centers, self.features, self.l2 = centers, None, 0.0

    def restrict(self, features):
        self.features = features

    def scales(self):
        return np.ones(len(self.features))

    def __call__(self, theta):
        distance = theta - self.centers[self.features]
        rest = np.delete(self.centers, self.features)
        return 0.5 * float(distance @ distance + rest @ rest), distance

    def into(self, theta, gradient):
        value, gradient[:] = self(theta)
        return value

    def violations(self, theta, threshold):
        value, inside = self(theta)
        slopes = -self.centers
        outside = np.setdiff1d(np.flatnonzero(np.abs(slopes) > threshold), self.features)
        return value, inside, outside, slopes[outside]


@pytest.mark.parametrize(("late", "rounds"), [(3, 1), (4, 2), (40, 2)])
def test_a_settled_run_looks_again_only_if_one_feature_in_a_thousand_was_new(late, rounds):
    objective, begun = _Bowls(np.full(4000, 3.0)), 4000 - late
    saved = []
    state = WorkingSet.begin(np.arange(begun), np.full(begun, 0.1))
    result = train_working_set(
        objective, state, l1=1.0, memory=5, stopping=Stopping(tolerance=1.0, window=1, gradient_tolerance=0.0),
        watch=never, save=lambda state: saved.append(len(state.features)),
    )  # fmt: skip
    assert saved == [4000] * rounds
    assert result.reason == "value"

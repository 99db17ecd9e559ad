"""Expected F and its best sets against enumeration, the published examples, and each other."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from reference.expected_f import cubic_curve, expected, f, truths

from textmill.errors import DataError
from textmill.metrics import FWeight, LinearUtility, RatioUtility
from textmill.sequence import (
    CountFunction,
    Hamming,
    MarkovLabels,
    WindowFunction,
    ZeroOne,
    decode_chain_f,
    decode_f,
    decode_f_sets,
    decode_joint_f,
    decode_utility,
    evaluate_function,
    expectation,
    expectations,
    expected_f,
    expected_f_curve,
    expected_f_gradient,
    expected_f_loss,
    expected_hamming,
    expected_value,
    expected_window_rate,
    f_distribution,
)

WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0)
METHODS = ("quadratic", "cubic", "literal", "pruned")


def vectors(count: int, most: int, seed: int = 0) -> list[Any]:
    """Random probabilities, some of them 0, 1 or equal."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(count):
        p = rng.random(int(rng.integers(1, most + 1)))
        if k % 3 == 0:
            p[rng.random(len(p)) < 0.3] = rng.choice([0.0, 1.0, 0.5])
        if k % 5 == 0:
            p = np.round(p, 1)
        made.append(p)
    return made


def test_the_worked_distribution_of_hits_and_truths() -> None:
    p = [0.4, 0.4, 0.3]
    assert expected_f([1, 1, 0], p) == pytest.approx(279 / 625, abs=1e-15)
    assert expectation(CountFunction.f(), [1, 1, 0], p).value == pytest.approx(0.4464, abs=1e-15)
    value, gradient = expected_f_gradient([1, 1, 0], p)
    assert value == pytest.approx(0.4464, abs=1e-15)
    np.testing.assert_allclose(gradient, [0.499333, 0.499333, -0.112], atol=5e-7)
    joint = np.empty((3, 2))
    labels = MarkovLabels.from_probabilities(p)
    from textmill._native import sequence as native

    native.joint_counts(labels.initial, labels.steps, np.array([0, 1], np.uint8), np.array([1, 1, 0], np.uint8), joint)
    # rows are hits 0, 1, 2; columns 0 and 1 truths outside: T = A + R
    np.testing.assert_allclose(joint, [[0.252, 0.108], [0.336, 0.144], [0.112, 0.048]], atol=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_the_worked_candidates(method: str) -> None:
    cases = {
        (0.4, 0.4, 0.3): ([63 / 250, 118 / 375, 279 / 625, 1187 / 2500], [1, 1, 1]),
        (0.9, 0.2): ([2 / 25, 21 / 25, 101 / 150], [1, 0]),
        (0.1, 0.1, 0.1): ([729 / 1000, 187 / 2000, 317 / 2500, 1441 / 10000], [0, 0, 0]),
        (0.45,) * 4: ([14641 / 160000, 0.288962, 0.431216, 0.518330, 0.577657], [1, 1, 1, 1]),
    }
    for p, (curve, best) in cases.items():
        rough = len(p) == 4
        beam = 1000 if method == "pruned" else None
        np.testing.assert_allclose(
            expected_f_curve(p, method=method, beam=beam), curve, rtol=0, atol=5e-7 if rough else 1e-14
        )
        assert decode_f(p, method=method, beam=beam).labels.tolist() == best
    np.testing.assert_allclose(expected_f_curve([0.4, 0.4, 0.3], b=0.5), [0.252, 0.3348, 0.426743, 0.430286], atol=5e-7)
    np.testing.assert_allclose(expected_f_curve([0.4, 0.4, 0.3], b=2), [0.252, 0.298971, 0.472, 0.533829], atol=5e-7)
    np.testing.assert_allclose(
        expected_f_curve([0.84, 0.37, 0.35, 0.12], method=method, beam=1000 if method == "pruned" else None)[1:],
        [0.633721, 0.630278, 0.630613, 0.560012],
        atol=5e-7,
    )
    np.testing.assert_allclose(
        expected_f_curve([0.34, 0.16, 0.16]), [0.465696, 0.305184, 0.303027, 0.303990], atol=5e-7
    )


def test_candidates_as_exact_fractions() -> None:
    p = [Fraction(2, 5), Fraction(2, 5), Fraction(3, 10)]
    score = partial(f, b=Fraction(1))
    values = [expected(score, [1] * m + [0] * (3 - m), truths(p)) for m in range(4)]
    assert values == [Fraction(63, 250), Fraction(118, 375), Fraction(279, 625), Fraction(1187, 2500)]
    np.testing.assert_allclose(expected_f_curve([0.4, 0.4, 0.3]), [float(v) for v in values], rtol=1e-15)


def test_numbers_of_states() -> None:
    worst = [3, 7, 13, 22, 34, 50, 70, 95, 125, 161, 203, 252]
    from textmill._native import sequence as native

    for n, states in enumerate(worst, 1):
        assert states == (2 * n**3 + 15 * n**2 + 34 * n + 24) // 24
        z = np.arange(n, dtype=np.uint8) % 2
        assert native.pruned_expected_f(z, np.full(n, 0.5), 1.0, 0)[2] == states
        assert expectation(CountFunction.f(), z.tolist(), [0.5] * n).states == states
    most = max(
        native.pruned_expected_f(np.array(z, np.uint8), np.full(8, 0.5), 1.0, 0)[2]
        for z in itertools.product((0, 1), repeat=8)
    )
    assert most == 95


def test_all_right_and_number_wrong() -> None:
    p, z = [0.9, 0.2, 0.5], [1, 0, 1]
    assert expectation(ZeroOne(), z, p).value == pytest.approx(0.36, abs=1e-15)
    assert expectation(Hamming(), z, p).value == pytest.approx(0.8, abs=1e-15)
    assert expected_hamming(z, p) == pytest.approx(0.8, abs=1e-15)
    for k, chances in enumerate(vectors(40, 12, 4)):
        labels = np.random.default_rng(k).integers(0, 2, len(chances))
        by_items = np.where(labels == 1, 1 - chances, chances).sum()
        assert expected_hamming(labels, chances) == pytest.approx(by_items, abs=1e-12)
        assert expectation(Hamming(), labels.tolist(), chances).value == pytest.approx(by_items, abs=1e-12)


def test_windows_of_boundaries() -> None:
    p, z = [0.5, 0.1, 0.7, 0.2, 0.9], [1, 0, 1, 0, 0]
    from textmill.sequence.simple_functions import window_disagreements

    np.testing.assert_allclose(window_disagreements("pk", 2, z, p), [0.45, 0.27, 0.24, 0.92], atol=1e-15)
    assert 4 * expected_window_rate("pk", 2, z, p) == pytest.approx(1.88, abs=1e-14)
    assert expectation(WindowFunction("pk", 2), z, p).value == pytest.approx(0.47, abs=1e-15)


def test_windows_are_those_of_the_metrics() -> None:
    from textmill.metrics import Segmentation, pk, window_diff

    rng = np.random.default_rng(1)
    for _ in range(30):
        n, k = int(rng.integers(3, 12)), int(rng.integers(1, 4))
        y, z = rng.integers(0, 2, n), rng.integers(0, 2, n)
        cuts = [Segmentation(labels.astype(bool)) for labels in (y, z)]
        for measure, score in (("pk", pk), ("windowdiff", window_diff)):
            function = WindowFunction(measure, k)
            assert evaluate_function(function, z.tolist(), y.tolist()) == pytest.approx(score(*cuts, k=k).rate)


def test_enumeration_agrees_for_short_vectors() -> None:
    enumeration_agrees(60, 8)


@pytest.mark.slow
def test_enumeration_agrees_for_five_hundred_vectors() -> None:
    enumeration_agrees(500, 10)


def enumeration_agrees(count: int, most: int) -> None:
    for k, p in enumerate(vectors(count, most)):
        b = WEIGHTS[k % 5]
        n = len(p)
        all_y = np.array(list(itertools.product((0, 1), repeat=n)))
        chances = np.where(all_y == 1, p, 1 - p).prod(axis=1)
        hits = all_y @ all_y.T
        below = all_y.sum(axis=1)[:, None] + b * all_y.sum(axis=1)
        table = np.divide((b + 1) * hits, below, out=np.ones(below.shape), where=below > 0) @ chances  # one per answer
        best = decode_f(p, b=b)
        assert best.value == pytest.approx(table.max(), abs=1e-12)
        number = int("".join(map(str, best.labels)), 2) if n else 0
        assert table[number] == pytest.approx(table.max(), abs=1e-12)
        z = all_y[k % len(all_y)]
        assert expected_f(z, p, b=b) == pytest.approx(table[k % len(all_y)], abs=1e-12)
        for m in range(n + 1):  # theorem 1: the m most probable items are the best m
            of_size = table[all_y.sum(axis=1) == m]
            assert expected_f_curve(p, b=b)[m] >= of_size.max() - 1e-12


def test_methods_agree_on_longer_vectors() -> None:
    rng = np.random.default_rng(3)
    p = -np.sort(-rng.random(200))
    for b in (1.0, 0.5, 2.0, 1.5, 4.0):
        wanted = cubic_curve(p, b)
        for method in ("quadratic", "cubic"):
            np.testing.assert_allclose(expected_f_curve(p, b=b, method=method), wanted, rtol=0, atol=1e-12)
        np.testing.assert_allclose(expected_f_curve(p[:60], b=b, method="pruned", beam=10**6), cubic_curve(p[:60], b))
        chain = decode_chain_f(MarkovLabels.from_probabilities(p), b=b)
        assert chain.value == pytest.approx(wanted.max(), abs=1e-10)
        np.testing.assert_array_equal(chain.labels, decode_f(p, b=b).labels)
    from textmill._native import sequence as native

    z = (np.arange(200) % 3 == 0).astype(np.uint8)
    assert native.pruned_expected_f(z, p, 1.0, 0)[0] == pytest.approx(expected_f(z, p), abs=1e-10)
    irrational = FWeight.from_beta(0.7).b
    np.testing.assert_allclose(expected_f_curve(p, 0.7), cubic_curve(p, irrational), rtol=0, atol=1e-12)


def test_any_joint_distribution() -> None:
    chances = {(1, 1, 0): 8 / 24, (0, 0, 1): 7 / 24, (1, 0, 0): 9 / 24}
    joint = np.zeros((3, 4))
    for y, chance in chances.items():
        joint[np.array(y) == 1, sum(y)] += chance
    np.testing.assert_allclose(joint.sum(axis=1), [0.7083, 0.3333, 0.2917], atol=5e-5)
    best = decode_joint_f(joint, 0.0)
    assert best.labels.tolist() == [1, 0, 1]
    assert best.value == pytest.approx(11 / 18, abs=1e-15)
    score = partial(f, b=1.0)
    assert expected(score, [1, 1, 1], chances.items()) == pytest.approx(0.6)
    rng = np.random.default_rng(5)
    for k in range(60):
        n, b = int(rng.integers(1, 9)), WEIGHTS[k % 5]
        all_y = np.array(list(itertools.product((0, 1), repeat=n)))
        masses = rng.dirichlet(np.full(len(all_y), 0.2))
        P = np.zeros((n, n + 1))
        for y, mass in zip(all_y, masses, strict=True):
            P[y == 1, y.sum()] += mass
        below = all_y.sum(axis=1)[:, None] + b * all_y.sum(axis=1)
        scores = np.divide((b + 1) * (all_y @ all_y.T), below, out=np.ones(below.shape), where=below > 0) @ masses
        assert decode_joint_f(P, float(masses[0]), b=b).value == pytest.approx(scores.max(), abs=1e-12)


def random_chain(n: int, states: int, seed: int) -> MarkovLabels:
    rng = np.random.default_rng(seed)
    positive = np.arange(states) % 2 == 1
    return MarkovLabels.from_scores(rng.normal(0, 1, (n, states)), rng.normal(0, 2, (n - 1, states, states)), positive)


def all_sequences(labels: MarkovLabels) -> dict[tuple[int, ...], float]:
    masses: dict[tuple[int, ...], float] = {}
    for x in itertools.product(range(labels.states), repeat=labels.length):
        chance = labels.initial[x[0]] * math.prod(labels.steps[t, x[t], x[t + 1]] for t in range(labels.length - 1))
        y = tuple(int(labels.positive[s]) for s in x)
        masses[y] = masses.get(y, 0.0) + chance
    return masses


@pytest.mark.parametrize("states", [2, 3])
def test_chains_agree_with_enumeration(states: int) -> None:
    for seed in range(8):
        labels = random_chain(1 + seed % 6, states, seed)
        masses = all_sequences(labels)
        n = labels.length
        joint, none = labels.count_marginals()
        for i in range(n):
            for s in range(n + 1):
                assert joint[i, s] == pytest.approx(
                    sum(chance for y, chance in masses.items() if y[i] and sum(y) == s), abs=1e-13
                )
        assert none == pytest.approx(masses.get((0,) * n, 0.0), abs=1e-13)
        answers = list(itertools.product((0, 1), repeat=n))
        for b in (0.5, 1.0, 4.0):
            score = partial(f, b=b)
            values = [expected(score, z, masses.items()) for z in answers]
            best = decode_chain_f(labels, b=b)
            assert best.value == pytest.approx(max(values), abs=1e-12)
            assert expected(score, best.labels.tolist(), masses.items()) == pytest.approx(max(values), abs=1e-12)
        z = answers[len(answers) // 3]
        for utility in (RatioUtility.jaccard(), RatioUtility.accuracy(), RatioUtility.specificity()):
            wanted = expected(partial(evaluate_function, CountFunction(utility)), z, masses.items())
            assert expected_value(utility, z, labels) == pytest.approx(wanted, abs=1e-12)
            assert expectation(CountFunction(utility), z, labels).value == pytest.approx(wanted, abs=1e-12)
        for measure in ("pk", "windowdiff"):
            k = min(n, 2)
            wanted = expected(partial(evaluate_function, WindowFunction(measure, k)), z, masses.items())
            assert expected_window_rate(measure, k, z, labels) == pytest.approx(wanted, abs=1e-12)
            assert expectation(WindowFunction(measure, k), z, labels).value == pytest.approx(wanted, abs=1e-12)


def test_chains_agree_with_draws() -> None:
    draws_agree(100_000)


@pytest.mark.slow
def test_chains_agree_with_a_million_draws() -> None:
    draws_agree(1_000_000)


def draws_agree(draws: int) -> None:
    hidden = MarkovLabels.from_hidden(
        [0.7, 0.3],
        [[0.8, 0.2], [0.4, 0.6]],
        np.random.default_rng(8).dirichlet([1.0, 1.0], 12),
        [False, True],
    )
    for labels in (hidden, random_chain(12, 4, 9)):
        z = np.arange(12) % 3 == 0
        y = labels.sample(draws, random_state=4).astype(np.int64)
        below = z.sum() + y.sum(axis=1)
        scores = 2 * (y @ z) / below
        error = scores.std() / math.sqrt(draws)
        exact = expected_value(RatioUtility.f(FWeight.from_beta(1.0)), z.astype(int), labels)
        assert abs(scores.mean() - exact) < 4 * error
        np.testing.assert_allclose(y.mean(axis=0), labels.positives(), atol=0.01)


def test_sequences_together_are_one_sequence() -> None:
    parts = [random_chain(3, 2, 1), random_chain(2, 2, 2)]
    whole = MarkovLabels.concatenated(parts)
    first, second = (all_sequences(part) for part in parts)
    for (a, p), (b, q) in itertools.product(first.items(), second.items()):
        assert all_sequences(whole)[a + b] == pytest.approx(p * q, abs=1e-14)


def test_a_beam_gives_a_lower_bound_that_rises_to_the_exact_value() -> None:
    from textmill._native import sequence as native

    for k, p in enumerate(vectors(60, 14, 2)):
        z = (np.random.default_rng(k).random(len(p)) < 0.5).astype(np.uint8)
        exact = expected_f(z, p)
        before = -1.0
        for beam in (1, 2, 4, 8, 16, 64, 10_000):
            value, lost, _ = native.pruned_expected_f(z, p, 1.0, beam)
            assert value <= exact + 1e-12
            assert exact <= value + lost + 1e-12
            assert value >= before - 1e-12
            before = value
            if beam <= 8 and len(p) <= 8:
                slow = expectation(CountFunction.f(), z.tolist(), p, beam=beam)
                assert slow.value + slow.lost >= exact - 1e-12
        assert before == pytest.approx(exact, abs=1e-13)
        decoded = decode_f(p, method="pruned", beam=3)
        best = decode_f(p).value
        assert decoded.value <= best + 1e-12 <= decoded.value + decoded.error + 2e-12


def regrets(draw: Any, runs: int, lengths: range, beam: Any) -> tuple[float, float]:
    """Mean loss of exact expected F by pruning, and mean gap between the values."""
    losses, gaps = [], []
    for n in lengths:
        for _ in range(runs):
            p = draw(n)
            curve = expected_f_curve(p)
            decoded = decode_f(p, method="pruned", beam=beam(n))
            losses.append(curve.max() - curve[decoded.size])
            gaps.append(curve.max() - decoded.value)
    return float(np.mean(losses)), float(np.mean(gaps))


def test_pruning_loses_little() -> None:
    rng = np.random.default_rng(11)
    uniform, sure = rng.random, lambda n: rng.beta(0.5, 0.5, n)
    for draw, most, gap in ((uniform, 0.02, 0.68), (sure, 0.01, 0.71)):
        loss, value_gap = regrets(draw, 10, range(1, 51), lambda n: 1)
        assert loss < most
        assert value_gap == pytest.approx(gap, abs=0.05)
        loss, value_gap = regrets(draw, 2, range(1, 51), lambda n: 2 * n)
        assert loss < 0.001
        assert value_gap < 0.005


def test_exact_decoding_never_loses_to_a_threshold() -> None:
    for p in vectors(200, 40, 7):
        assert decode_f(p).value >= expected_f((p > 0.5).astype(int), p) - 1e-12


def test_the_best_threshold_is_half_of_f() -> None:
    p = np.random.default_rng(0).random(1000)
    best = decode_f(p)
    assert best.value == pytest.approx(0.760, abs=0.015)
    assert best.size == pytest.approx(620, abs=40)
    assert p[best.labels == 1].min() == pytest.approx(best.value / 2, abs=0.01)


def bound_trials(trials: int) -> None:
    rng = np.random.default_rng(13)
    for _ in range(trials):
        n, b = int(rng.integers(1, 60)), float(rng.choice([*WEIGHTS, 0.49]))
        shape = rng.choice([0.2, 0.5, 1.0, 3.0], 2)
        p = rng.beta(*shape, n) * rng.choice([1.0, 0.1])
        exact = expected_f_curve(p, b=b)
        decoded = decode_f(p, b=b, method="approximate")
        assert decoded.value <= exact[decoded.size] + 1e-15
        assert exact.max() <= decoded.value + decoded.error + 1e-15


def test_the_bound_of_the_approximation_holds() -> None:
    bound_trials(500)


@pytest.mark.slow
def test_the_bound_of_the_approximation_holds_ten_thousand_times() -> None:
    bound_trials(10_000)


def test_many_items_are_decoded_within_a_small_bound() -> None:
    p = np.random.default_rng(2).random(100_000)
    best = decode_f(p)
    assert best.error < 1e-10
    exact = np.empty(1)
    from textmill._native import sequence as native

    native.expected_f_curve(-np.sort(-p), 1.0, 0, 0, best.size, exact)
    assert best.value <= exact[0] <= best.value + best.error
    rare = np.full(30_000, 1e-4)
    rare[:7] = [0.9, 0.8, 0.5, 0.5, 0.4, 0.4, 0.3]  # too few to be found for the expansion: exact
    rare_best = decode_f(rare)
    assert rare_best.error == 0.0
    assert rare_best.value == pytest.approx(expected_f_curve(rare, method="cubic").max(), abs=1e-12)


def test_derivatives_agree_with_differences() -> None:
    rng = np.random.default_rng(6)
    for b in WEIGHTS:
        p, z = rng.uniform(0.05, 0.95, 12), rng.integers(0, 2, 12)
        value, gradient = expected_f_gradient(z, p, b=b)
        assert value == pytest.approx(expected_f(z, p, b=b), abs=1e-14)
        for i in range(12):
            ends = []
            for sign in (1, -1):
                moved = p.copy()
                moved[i] += sign * 1e-5
                ends.append(expected_f(z, moved, b=b))
            assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-10)


def test_answers_drawn_from_p_against_gold() -> None:
    value, _ = expected_f_loss([0.5] * 4, [1, 0, 1, 1])
    assert value == pytest.approx(0.5598214286, abs=1e-10)
    p, gold = [0.3, 0.8, 0.6], [1, 1, 0]
    wanted = expected(lambda gold, y: f(y, gold, 4.0), gold, truths(p))
    assert expected_f_loss(p, gold, 2.0)[0] == pytest.approx(wanted, abs=1e-14)


def test_the_distribution_of_f() -> None:
    p, z = [0.3, 0.8, 0.6, 0.1], [0, 1, 1, 0]
    distribution = f_distribution(z, p)
    assert distribution.probabilities.sum() == pytest.approx(1.0)
    assert distribution.mean == pytest.approx(expected_f(z, p), abs=1e-15)
    wanted: dict[float, float] = {}
    for y, chance in truths(p):
        wanted[round(f(z, y, 1.0), 12)] = wanted.get(round(f(z, y, 1.0), 12), 0.0) + chance
    assert {round(v, 12): c for v, c in zip(distribution.values, distribution.probabilities, strict=True)} == (
        pytest.approx(wanted)
    )
    low, high = distribution.interval(0.9)
    assert 0.0 <= low < distribution.mean < high <= 1.0


def test_other_utilities_are_decoded() -> None:
    for p in vectors(12, 6, 9):
        for utility in (RatioUtility.jaccard(), RatioUtility.accuracy(), LinearUtility(miss=-3.0, false_alarm=-1.0)):
            best = decode_utility(utility, p)
            values = [expected_value(utility, z, p) for z in itertools.product((0, 1), repeat=len(p))]
            assert best.value == pytest.approx(max(values), abs=1e-12)
        f2 = decode_utility(RatioUtility.f(FWeight.from_beta(2.0)), p)
        assert f2.value == pytest.approx(decode_f(p, 2.0).value, abs=1e-12)


def test_several_scores_in_one_sweep() -> None:
    both = CountFunction((RatioUtility.precision(1.0), RatioUtility.recall(1.0)))
    p, z = [0.4, 0.4, 0.3], [1, 1, 0]
    value = expectation(both, z, p).value
    for k, utility in enumerate(both.utilities if isinstance(both.utilities, tuple) else ()):
        assert value[k] == pytest.approx(expected_value(utility, z, p), abs=1e-14)


def test_sets_alone_and_together() -> None:
    rng = np.random.default_rng(21)
    sets = [rng.random(n) for n in (4, 0, 7, 1)]
    for own, one in zip(decode_f_sets(sets), sets, strict=True):
        alone = decode_f(one)
        assert own.labels.tolist() == alone.labels.tolist()
        assert own.value == pytest.approx(alone.value, abs=1e-15)
    together = decode_f_sets(sets, micro=True)
    joined = decode_f(np.concatenate(sets))
    assert np.concatenate([part.labels for part in together]).tolist() == joined.labels.tolist()
    assert {part.value for part in together} == {joined.value}


def test_threads_do_not_change_a_byte() -> None:
    sets = list(np.random.default_rng(2).random((300, 20)))
    answers = [
        (b"".join(d.labels.tobytes() for d in made), [d.value for d in made])
        for made in (decode_f_sets(sets, n_jobs=jobs) for jobs in (1, 2, 4, 8))
    ]
    assert answers[0] == answers[1] == answers[2]


def test_a_budget_of_items() -> None:
    p = [0.4, 0.4, 0.3]
    assert decode_f(p, at_most=2).labels.tolist() == [1, 1, 0]
    assert decode_f(p, at_most=0).size == 0
    assert decode_f_sets([p], at_most=1)[0].size == 1
    assert decode_utility(RatioUtility.jaccard(), p, at_most=1).size <= 1


def test_nothing_to_decode_is_perfect() -> None:
    assert decode_f([]).value == 1.0
    assert decode_f_sets([]) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: decode_f([0.5, 1.5]), "1.5 in row 1"),
        (lambda: decode_f([0.5, math.nan]), "nan in row 1"),
        (lambda: decode_f([[0.5]]), "one probability per item"),
        (lambda: decode_f([0.5], -1.0), "negative"),
        (lambda: decode_f([0.5], math.inf), "pure recall"),
        (lambda: decode_f([0.5], method="magic"), "method"),
        (lambda: decode_f([0.5], 0.7, method="quadratic"), "cubic"),
        (lambda: decode_f([0.5], method="pruned", beam=0), "beam"),
        (lambda: decode_f([0.5], at_most=-1), "at_most"),
        (lambda: decode_f_sets([[0.5], [2.0]]), "set 1: "),
        (lambda: expected_f([1, 0], [0.5]), "one label per item"),
        (lambda: expected_f([2], [0.5]), "0 and 1"),
        (lambda: decode_joint_f([[0.5]], 0.5), "n x"),
        (lambda: MarkovLabels(np.array([0.5, 0.6]), np.empty((0, 2, 2)), np.array([False, True])), "add up to 1"),
        (lambda: WindowFunction("pk", 0), "k"),
        (lambda: expected_window_rate("pk", 3, [1], [0.5]), "does not fit"),
        (lambda: expected_f_loss([0.5], [1], 0.0), "precision alone"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_answers_one_after_the_other_are_swept_from_where_they_differ() -> None:
    p = np.random.default_rng(1).random(9)
    order = np.argsort(-p, kind="stable")
    candidates = [[int(i in order[:m]) for i in range(9)] for m in range(10)]
    found = list(expectations(CountFunction.f(), candidates, p))
    for z, reused in zip(candidates, found, strict=True):
        assert reused.value == expectation(CountFunction.f(), z, p).value
    whole = sum(expectation(CountFunction.f(), z, p).states for z in candidates)
    assert sum(reused.states for reused in found) < 0.8 * whole
    windows = WindowFunction("windowdiff", 3)
    for z, reused in zip(candidates, expectations(windows, candidates, p), strict=True):
        assert reused.value == expectation(windows, z, p).value

"""Utilities against finite differences, scikit-learn, and the worked numbers of expected-F training and decoding."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as peer

from textmill.errors import DataError
from textmill.metrics import (
    FWeight,
    GMeanUtility,
    LinearUtility,
    MCCUtility,
    RatioUtility,
    RecallFloorUtility,
    UtilitySum,
)

F1 = RatioUtility.f(FWeight.from_beta(1.0))
RATIOS = {
    "f1": F1,
    "f2": RatioUtility.f(FWeight.from_beta(2.0)),
    "precision": RatioUtility.precision(),
    "recall": RatioUtility.recall(),
    "specificity": RatioUtility.specificity(),
    "accuracy": RatioUtility.accuracy(),
    "jaccard": RatioUtility.jaccard(),
    "weighted sensitivity and specificity": UtilitySum.sensitivity_specificity(0.3),
    "youden": UtilitySum.youden(),
    "g-mean": GMeanUtility(),
    "mcc": MCCUtility(),
    "recall floor, above": RecallFloorUtility(floor=0.01),
    "recall floor, below": RecallFloorUtility(floor=0.99, penalty=3.0),
    "two operating points": UtilitySum(((0.7, F1), (0.3, RatioUtility.f(FWeight.from_recall(0.9))))),
}
ALL = {**RATIOS, "linear": LinearUtility(hit=1.0, miss=-5.0, false_alarm=-2.0, rejection=0.1)}

counts_vectors = st.lists(st.floats(0.5, 60.0), min_size=4, max_size=4).map(np.array)


@pytest.mark.parametrize("name", ALL)
@settings(derandomize=True, deadline=None, max_examples=20)
@given(counts=counts_vectors)
def test_gradient_equals_central_differences(name, counts):
    utility, step = ALL[name], 1e-4
    numeric = [(utility.value(counts + e) - utility.value(counts - e)) / (2 * step) for e in step * np.eye(4)]
    assert utility.gradient(counts) == pytest.approx(np.array(numeric), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", RATIOS)
def test_ratios_do_not_change_when_all_counts_are_multiplied(name):
    counts = np.random.default_rng(1).uniform(0.5, 20.0, (50, 4))
    utility = RATIOS[name]
    assert utility.value(7.5 * counts) == pytest.approx(utility.value(counts), rel=1e-12)
    assert (utility.gradient(counts) * counts).sum(axis=1) == pytest.approx(np.zeros(50), abs=1e-12)  # Euler


@pytest.mark.parametrize("name", ALL)
def test_a_grid_of_counts_gives_the_same_as_one_at_a_time(name):
    grid = np.random.default_rng(2).integers(0, 4, (3, 5, 4)).astype(float)
    values, gradients = ALL[name].value(grid), ALL[name].gradient(grid)
    assert values.shape == (3, 5)
    assert gradients.shape == grid.shape
    for place in np.ndindex(3, 5):
        assert float(ALL[name].value(grid[place])) == values[place]
        assert ALL[name].gradient(grid[place]).tolist() == gradients[place].tolist()


def test_values_equal_scikit_learn():
    rng = np.random.default_rng(3)
    for _ in range(20):
        gold, said = rng.integers(0, 2, 40), rng.integers(0, 2, 40)
        counts = [int(((gold == g) & (said == s)).sum()) for g, s in ((1, 1), (1, 0), (0, 1), (0, 0))]
        expected = {
            "f1": peer.f1_score(gold, said),
            "f2": peer.fbeta_score(gold, said, beta=2.0),
            "precision": peer.precision_score(gold, said),
            "recall": peer.recall_score(gold, said),
            "specificity": peer.recall_score(gold, said, pos_label=0),
            "accuracy": peer.accuracy_score(gold, said),
            "jaccard": peer.jaccard_score(gold, said),
            "youden": peer.balanced_accuracy_score(gold, said, adjusted=True),
            "mcc": peer.matthews_corrcoef(gold, said),
        }
        assert {name: float(RATIOS[name].value(counts)) for name in expected} == pytest.approx(expected, abs=1e-12)
        balanced = UtilitySum.sensitivity_specificity().value(counts)
        assert float(balanced) == pytest.approx(peer.balanced_accuracy_score(gold, said))


def test_every_convention_names_the_same_weight():
    for beta in (0.25, 0.5, 1.0, 3**0.5, 2.0, 10.0):
        weight = FWeight.from_beta(beta)
        for same in (
            FWeight.from_b(beta**2),
            FWeight.from_recall(beta**2 / (1 + beta**2)),
            FWeight.from_precision(1 / (1 + beta**2)),
        ):
            assert (same.recall, same.precision) == pytest.approx((weight.recall, weight.precision), abs=1e-15)
        assert weight.beta == pytest.approx(beta)
        assert weight.b == pytest.approx(beta**2)
        assert weight.recall + weight.precision == pytest.approx(1.0)
    assert FWeight.from_recall(0.75).beta == pytest.approx(math.sqrt(3))
    assert FWeight.from_beta(math.inf).recall == 1.0
    assert FWeight.from_beta(0.0).recall == 0.0
    assert FWeight.from_recall(1.0).beta == math.inf


def test_f_of_precision_and_recall_equals_f_of_counts():
    rng = np.random.default_rng(4)
    counts = rng.integers(1, 30, (100, 4))
    precision, recall = RatioUtility.precision().value(counts), RatioUtility.recall().value(counts)
    for weight in map(FWeight.from_recall, (0.0, 0.1, 0.5, 0.75, 1.0)):
        value = RatioUtility.f(weight).value(counts)
        assert weight.f(precision, recall) == pytest.approx(value)
        if 0.0 < weight.recall < 1.0:
            assert value == pytest.approx(1.0 / (weight.recall / recall + weight.precision / precision))
        assert weight.e(precision, recall) == pytest.approx(1.0 - value)
    assert float(FWeight.from_beta(1.0).f(0.0, 0.0)) == 0.0


@pytest.mark.parametrize(
    ("counts", "half", "three_quarters"),
    [
        ((24, 75, 9), 0.363636, 0.290909),
        ((85, 14, 144), 0.518293, 0.646388),
        ((85, 14, 126), 0.548387, 0.669291),
        ((95, 4, 235), 0.442890, 0.606061),
        ((3, 0, 1), 6 / 7, 0.923077),
    ],
)
def test_published_f_of_summary_sentences(counts, half, three_quarters):
    assert float(F1.value([*counts, 0])) == pytest.approx(half, abs=5e-7)
    assert float(RatioUtility.f(FWeight.from_recall(0.75)).value([*counts, 0])) == pytest.approx(
        three_quarters, abs=5e-7
    )


@pytest.mark.parametrize(
    ("theta", "alpha", "value", "slope"),
    [
        ((0, 0), 0.25, 0.6666666667, (0.1111111111, 0.2222222222)),
        ((0, 0), 0.5, 0.6, (0.18, 0.32)),
        ((0, 0), 0.75, 0.5454545455, (0.2231404959, 0.3801652893)),
        ((0.35, 0.57), 0.5, 0.7626202886, (0.07568479, 0.09796702)),
        ((0.35, 0.57), 0.25, 0.7623224454, (0.03148783, 0.0469056)),
        ((1, -0.5), 0.5, 0.6150186327, (0.15283585, 0.29141067)),
        ((-1.5, 1), 0.25, 0.7210930361, (0.05234871, 0.13074612)),
        ((-1.5, 1), 0.75, 0.5899852113, (0.15271824, 0.27180531)),
        ((20, 15), 0.5, 0.8571428568, None),
        ((20, 15), 0.25, 0.7999999998, None),
        ((-20, 15), 0.5, 0.7989196851, None),
        ((-20, 15), 0.25, 0.8869034959, None),
    ],
)
def test_smoothed_f_and_its_gradient_by_the_chain_rule(theta, alpha, value, slope):
    x, y = np.array([[1, 0], [1, 1], [1, 2], [1, 3]], float), np.array([True, False, True, True])
    p = 1 / (1 + np.exp(-x @ np.array(theta, float)))
    counts = [p[y].sum(), (1 - p[y]).sum(), p[~y].sum(), (1 - p[~y]).sum()]
    utility = RatioUtility.f(FWeight.from_recall(alpha))
    assert float(utility.value(counts)) == pytest.approx(value, abs=1e-10)
    if slope:
        by_a, by_b, by_c, by_d = utility.gradient(counts)
        pull = (p * (1 - p))[:, None] * x
        gradient = (by_a - by_b) * pull[y].sum(axis=0) + (by_c - by_d) * pull[~y].sum(axis=0)
        assert gradient == pytest.approx(np.array(slope), abs=1e-8)


def test_f_of_expected_counts_is_not_the_expected_f():
    gold = np.array([1, 0, 1, 1])
    outcomes = np.array(list(itertools.product((0, 1), repeat=4)))
    counts = np.stack([(outcomes == s) @ (gold == g).astype(int) for g, s in ((1, 1), (1, 0), (0, 1), (0, 0))], axis=-1)
    assert float(F1.value(counts.mean(axis=0))) == pytest.approx(0.6)
    assert float(F1.value(counts).mean()) == pytest.approx(0.5598214286, abs=1e-10)


def expected_utility(utility, hypothesis, p):
    """Sum over all truths of their probability times the utility of the hypothesis."""
    truths = np.array(list(itertools.product((0, 1), repeat=len(p))))
    weights = np.prod(np.where(truths, p, 1 - np.array(p)), axis=1)
    z = np.array(hypothesis)
    pairs = ((1, 1), (1, 0), (0, 1), (0, 0))
    counts = np.stack([((truths == t) & (z == s)).sum(axis=1) for t, s in pairs], axis=-1)
    return float(weights @ utility.value(counts))


@pytest.mark.parametrize(
    ("b", "p", "by_size"),
    [
        (1, (0.4, 0.4, 0.3), (0.252, 118 / 375, 0.4464, 0.4748)),
        (0.5, (0.4, 0.4, 0.3), (0.252, 0.3348, 0.426743, 0.430286)),
        (2, (0.4, 0.4, 0.3), (0.252, 0.298971, 0.472, 0.533829)),
        (1, (0.9, 0.2), (0.08, 0.84, 101 / 150)),
        (1, (0.1, 0.1, 0.1), (0.729, 0.0935, 0.1268, 0.1441)),
        (1, (0.45, 0.45, 0.45, 0.45), (0.091506, 0.288962, 0.431216, 0.518330, 0.577657)),
    ],
)
def test_expected_f_of_the_most_probable_items_with_zero_over_zero_one(b, p, by_size):
    utility = RatioUtility.f(FWeight.from_b(b))
    found = [expected_utility(utility, [1] * m + [0] * (len(p) - m), p) for m in range(len(p) + 1)]
    assert found == pytest.approx(list(by_size), abs=5e-7)


def test_expected_hamming_distance_is_expected_inaccuracy():
    accuracy = expected_utility(RatioUtility.accuracy(), [1, 0, 1], [0.9, 0.2, 0.5])
    assert 3 * (1 - accuracy) == pytest.approx(0.8)


def test_zero_over_zero_is_what_the_parameter_says_and_flat():
    assert float(F1.value([0, 0, 0, 9])) == 1.0
    assert float(F1.value([0, 1, 0, 9])) == 0.0
    assert float(RatioUtility.precision().value([0, 3, 0, 9])) == 0.0
    assert float(RatioUtility.precision(zero_division=1.0).value([0, 3, 0, 9])) == 1.0
    assert math.isnan(float(RatioUtility.recall(zero_division=math.nan).value([0, 0, 3, 9])))
    assert float(MCCUtility().value([0, 0, 3, 9])) == 0.0
    for utility in (F1, RatioUtility.recall(math.nan), MCCUtility(), GMeanUtility()):
        assert utility.gradient([0, 0, 0, 0]).tolist() == [0, 0, 0, 0]


def test_a_trace_of_rounding_below_zero_is_forgiven_and_no_more():
    assert float(F1.value([3, -1e-16, 1, 0])) == float(F1.value([3, 0, 1, 0]))
    with pytest.raises(DataError, match=r"negative number -0\.1; counts are at least 0"):
        F1.value([3, -0.1, 1, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: F1.value([1, 2, 3]), "last axis of 4"),
        (lambda: F1.value([1, 2, math.nan, 0]), "NaN or infinity"),
        (lambda: FWeight.from_beta(-1.0), "beta -1.0 is negative"),
        (lambda: FWeight.from_beta(math.nan), "beta nan"),
        (lambda: FWeight.from_b(-1.0), "b is the square of beta"),
        (lambda: FWeight.from_recall(1.5), "use from_beta"),
        (lambda: FWeight.from_beta(1.0).f(50.0, 1.0), "divide percentages by 100"),
    ],
)
def test_bad_input_says_what_to_do(call, message):
    with pytest.raises(DataError, match=message):
        call()

"""Errors and moments against scikit-learn, SciPy and exact fractions."""

import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as peer

from textmill.errors import DataError
from textmill.metrics import Moments, RegressionCounts

numbers = st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=2, max_size=20)


def test_figures_equal_scikit_learn_and_scipy():
    rng = np.random.default_rng(31)
    for n in (2, 5, 100):
        gold = rng.normal(3, 2, n)
        predicted = gold + rng.normal(0.5, 1, n)
        counts = RegressionCounts.from_values(gold, predicted)
        assert counts.mse == pytest.approx(peer.mean_squared_error(gold, predicted))
        assert counts.rmse == pytest.approx(peer.root_mean_squared_error(gold, predicted))
        assert counts.mae == pytest.approx(peer.mean_absolute_error(gold, predicted))
        assert counts.r2 == pytest.approx(peer.r2_score(gold, predicted))
        assert counts.bias == pytest.approx((predicted - gold).mean())
        assert counts.pearson == pytest.approx(stats.pearsonr(gold, predicted).statistic)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(pairs=numbers, place=st.integers(1, 19))
def test_parts_merge_to_the_whole(pairs, place):
    gold, predicted = map(np.array, zip(*pairs, strict=True))
    cut = min(place, len(gold) - 1)
    parts = [RegressionCounts.from_values(gold[s], predicted[s]) for s in (slice(cut), slice(cut, None))]
    total, whole = sum(parts, RegressionCounts()), RegressionCounts.from_values(gold, predicted)
    for name in ("predicted", "gold"):
        ours, theirs = getattr(total, name), getattr(whole, name)
        assert (ours.n, ours.mean) == pytest.approx((theirs.n, theirs.mean), abs=1e-9)
        assert ours.squares == pytest.approx(theirs.squares, abs=1e-6)
    assert total.products == pytest.approx(whole.products, abs=1e-6)
    assert (total.mse, total.mae) == pytest.approx((whole.mse, whole.mae), abs=1e-9)


def test_merging_keeps_its_digits_far_from_zero():
    rng = np.random.default_rng(32)
    values = 1e9 + rng.normal(size=4000)
    moments = sum((Moments.from_values(part) for part in np.split(values, 40)), Moments())
    exact = statistics.pvariance(map(Fraction, values.tolist()))
    assert moments.variance(sample=False) == pytest.approx(float(exact), rel=1e-7)  # means near 1e9 are 1e-7 apart
    naive = (values**2).mean() - values.mean() ** 2
    assert abs(naive - float(exact)) > 0.1  # what the formula is there to avoid


def test_deviation_of_scores_over_documents():
    scores = [0.2, 0.4, 0.9, 0.1]
    moments = Moments.from_values(scores[:1]) + Moments.from_values(scores[1:])
    assert moments.mean == pytest.approx(statistics.fmean(scores))
    assert moments.deviation() == pytest.approx(statistics.stdev(scores))
    assert moments.deviation(sample=False) == pytest.approx(statistics.pstdev(scores))


def test_weights_are_repetitions():
    gold, predicted, weights = [1.0, 2.0, 5.0], [1.5, 1.0, 4.0], [3, 0, 2]
    repeated = RegressionCounts.from_values(np.repeat(gold, weights), np.repeat(predicted, weights))
    weighted = RegressionCounts.from_values(gold, predicted, weights)
    assert (weighted.mse, weighted.r2, weighted.pearson) == pytest.approx((repeated.mse, repeated.r2, repeated.pearson))


def test_baselines_of_graded_reviews():
    stars = np.arange(1, 6)
    neutral = RegressionCounts.from_values(stars, np.full(5, 3))
    assert (neutral.mse, neutral.r2) == (2.0, 0.0)
    gold, guess = np.meshgrid(stars, stars)
    assert RegressionCounts.from_values(gold.ravel(), guess.ravel()).mse == pytest.approx(4.0)


def test_a_straight_line_cannot_bend():
    x, y = np.array([1, 2, 3]), np.array([1, 2, 8])
    slope, intercept = np.polyfit(x, y, 1)
    assert RegressionCounts.from_values(y, slope * x + intercept).mse == pytest.approx(1.38889, abs=5e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RegressionCounts.from_values([1, 2], [1]), "gold has 2 items but predicted has 1"),
        (lambda: RegressionCounts.from_values([], []), "gold is empty"),
        (lambda: RegressionCounts.from_values([1, np.nan], [1, 2]), "gold holds nan at item 1"),
        (lambda: RegressionCounts.from_values([1, 2], [1, 2], [1]), "weights has 1 items"),
        (lambda: RegressionCounts.from_values([1, 2], [1, 2], [1, -1]), "weights are counts"),
        (lambda: RegressionCounts.from_values([1, 2], [1, 2], [0, 0]), "not all 0"),
        (lambda: RegressionCounts.from_values([1, 1], [1, 2]).r2, "all gold values are equal"),
        (lambda: RegressionCounts.from_values([1, 2], [1, 1]).pearson, "a correlation is not defined"),
        (lambda: RegressionCounts().mse, "there is no prediction"),
        (lambda: RegressionCounts().bias, "there is no prediction"),
        (lambda: Moments.from_values([]), "values is empty"),
        (lambda: Moments.from_values([1.0]).variance(), "variance of 1 values is not defined"),
    ],
)
def test_bad_input_says_what_to_do(call, message):
    with pytest.raises(DataError, match=message):
        call()


def test_empty_sums_are_neutral():
    counts = RegressionCounts.from_values([1.0, 4.0], [2.0, 3.0])
    assert RegressionCounts() + counts == counts + RegressionCounts() == counts
    assert RegressionCounts() + RegressionCounts() == RegressionCounts()
    assert Moments() + Moments() == Moments()

"""Tests of significance against SciPy, statsmodels, full enumeration, and worked numbers."""

import itertools

import numpy as np
import pytest
from scipy import stats

from textmill.errors import DataError
from textmill.metrics import (
    FWeight,
    PairedCounts,
    RatioUtility,
    bootstrap_figures,
    bootstrap_interval,
    chi_square_fit,
    chi_square_independence,
    paired_bootstrap,
    randomization_test,
    significance,
)

F1 = RatioUtility.f(FWeight.from_beta(1.0)).value


def share(sums):
    return sums[..., 0] / sums[..., 1]


def systems(n, seed, gain=0.1):
    rng = np.random.default_rng(seed)
    first, second = rng.random(n) < 0.7 + gain, rng.random(n) < 0.7
    return [np.stack([right, np.ones(n)], axis=1).astype(float) for right in (first, second)]


@pytest.mark.parametrize(
    ("b", "c", "exact", "plain", "corrected"),
    [  # computed by statsmodels 0.15; rows 1 to 3 are also printed in papers
        (198, 122, 2.541333093095984e-05, (18.05, 2.1517864378120177e-05), (17.578125, 2.7574206467667565e-05)),
        (10, 2, 0.03857421875, (5.333333333333333, 0.020921335337794035), (4.083333333333333, 0.04330814281079206)),
        (120, 90, 0.045114087864840696, (4.285714285714286, 0.03843393023678176), (4.00476190476, 0.04537190506583863)),
        (5, 5, 1.0, (0.0, 1.0), (0.1, 0.7518296340458492)),
        (0, 7, 0.015625, (7.0, 0.008150971593502705), (5.142857142857143, 0.02334220201289086)),
        (3, 4, 1.0, (0.14285714285714285, 0.7054569861112734), (0.0, 1.0)),
    ],
)
def test_mcnemar_equals_statsmodels(b, c, exact, plain, corrected):
    counts = PairedCounts(both=50, only_first=b, only_second=c, neither=20)
    assert counts.mcnemar_exact() == pytest.approx(exact)
    assert counts.mcnemar_exact() == pytest.approx(stats.binomtest(b, b + c).pvalue)
    for result, (statistic, p_value) in ((counts.mcnemar(corrected=False), plain), (counts.mcnemar(), corrected)):
        assert (result.statistic, result.p_value, result.df) == (pytest.approx(statistic), pytest.approx(p_value), 1)


def test_systems_that_never_differ_are_not_different():
    counts = PairedCounts(both=5)
    assert counts.mcnemar_exact() == 1.0
    assert (counts.mcnemar().statistic, counts.mcnemar().p_value) == (0.0, 1.0)


def test_paired_counts_add():
    first, second = np.array([1, 1, 0, 0, 1], bool), np.array([1, 0, 1, 0, 0], bool)
    whole = PairedCounts.from_correct(first, second)
    assert whole == PairedCounts(both=1, only_first=2, only_second=1, neither=1)
    parts = [PairedCounts.from_correct(first[s], second[s]) for s in (slice(2), slice(2, None))]
    assert sum(parts, PairedCounts()) == whole


def test_chi_square_of_fit_equals_scipy():
    rng = np.random.default_rng(41)
    observed = rng.integers(5, 40, 8)
    expected = rng.random(8) + 0.1
    expected *= observed.sum() / expected.sum()
    for fitted in (0, 2):
        ours, theirs = chi_square_fit(observed, expected, fitted=fitted), stats.chisquare(observed, expected, fitted)
        assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
        assert ours.df == 7 - fitted


@pytest.mark.parametrize(
    ("observed", "expected", "fitted", "statistic", "df", "below"),
    [  # "his" in the Federalist papers, negative binomial with and without zero inflation
        ([405, 39, 26, 18, 5, 9, 7], [403.853, 48.333, 21.686, 12.108, 7.424, 8.001, 6.996], 2, 6.447, 4, 0.832),
        ([405, 39, 26, 18, 5, 9, 7], [405.0, 40.207, 24.206, 14.868, 9.223, 9.361, 5.977], 3, 2.952, 3, 0.601),
    ],
)
def test_worked_fits_of_word_counts(observed, expected, fitted, statistic, df, below):
    fit = chi_square_fit(observed, expected, fitted=fitted)
    assert fit.statistic == pytest.approx(statistic, abs=1e-3)
    assert (fit.df, 1 - fit.p_value) == (df, pytest.approx(below, abs=1e-3))


def test_chi_square_of_independence_equals_scipy():
    rng = np.random.default_rng(42)
    for shape, yates in (((2, 2), False), ((2, 2), True), ((3, 5), False), ((4, 2), False)):
        for _ in range(5):
            table = rng.integers(1, 30, shape)
            ours, theirs = chi_square_independence(table, yates=yates), stats.chi2_contingency(table, correction=yates)
            assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
            assert ours.df == theirs.dof
    near = [[10, 10], [10, 11]]  # the correction must not overshoot zero
    assert chi_square_independence(near, yates=True).statistic == pytest.approx(stats.chi2_contingency(near).statistic)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_equal_scipy_on_the_same_resamples(confidence):
    rng = np.random.default_rng(43)
    counts = rng.integers(0, 6, (40, 4)).astype(float)
    figures = bootstrap_figures(counts, F1, resamples=499, random_state=9)

    def statistic(*fields, axis=-1):
        return F1(np.stack([field.sum(axis=axis) for field in fields], axis=-1))

    class Drawn:
        bootstrap_distribution = figures

    for ours, theirs in (("percentile", "percentile"), ("bca", "BCa")):
        interval = bootstrap_interval(counts, F1, method=ours, confidence=confidence, resamples=499, random_state=9)
        expected = stats.bootstrap(
            tuple(counts.T),
            statistic,
            paired=True,
            vectorized=True,
            n_resamples=0,
            bootstrap_result=Drawn(),
            method=theirs,
            confidence_level=confidence,
        ).confidence_interval
        assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
        assert interval.estimate == float(F1(counts.sum(axis=0)))
        choices = f"bootstrap|method:{ours}|confidence:{confidence}|resamples:499|seed:9|textmill:"
        assert interval.signature.startswith(choices)


def test_resampled_figures_have_the_spread_of_the_binomial():
    counts = np.stack([np.arange(200) % 4 == 0, np.ones(200)], axis=1).astype(float)
    figures = bootstrap_figures(counts, share, resamples=4000)
    assert figures.mean() == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 200 / 4000))
    assert figures.std() == pytest.approx(np.sqrt(0.25 * 0.75 / 200), rel=0.05)


def test_seed_fixes_the_figures_and_blocks_do_not_matter(monkeypatch):
    counts = np.random.default_rng(44).integers(0, 9, (13, 2)) + 1.0
    figures = bootstrap_figures(counts, share, resamples=50, random_state=3)
    assert figures.tolist() == bootstrap_figures(counts, share, resamples=50, random_state=3).tolist()
    assert figures.tolist() != bootstrap_figures(counts, share, resamples=50, random_state=4).tolist()
    assert figures[:20].tolist() == bootstrap_figures(counts, share, resamples=20, random_state=3).tolist()
    monkeypatch.setattr(significance, "_DRAWS", 30)
    assert figures.tolist() == bootstrap_figures(counts, share, resamples=50, random_state=3).tolist()


def test_randomization_comes_near_the_full_enumeration():
    rng = np.random.default_rng(45)
    first, second = rng.integers(0, 5, (10, 4)).astype(float), rng.integers(0, 5, (10, 4)).astype(float)
    observed = F1(first.sum(axis=0)) - F1(second.sum(axis=0))
    extreme = 0
    for swap in itertools.product((False, True), repeat=10):
        chosen = np.array(swap)[:, None]
        one, two = np.where(chosen, second, first), np.where(chosen, first, second)
        extreme += abs(F1(one.sum(axis=0)) - F1(two.sum(axis=0))) >= abs(observed) - 1e-12
    result = randomization_test(first, second, F1, resamples=20000)
    exact = extreme / 2**10
    assert result.difference == pytest.approx(observed)
    assert result.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20000))
    assert result.signature.startswith("randomization|sides:2|resamples:20000|seed:0|textmill:")


def test_paired_bootstrap_comes_near_the_full_enumeration():
    first, second = systems(5, 46, gain=0.3)
    observed = share(first.sum(axis=0)) - share(second.sum(axis=0))
    draws = np.array(list(itertools.product(range(5), repeat=5)))
    differences = share(first[draws].sum(axis=1)) - share(second[draws].sum(axis=1))
    exact = (np.abs(differences - observed) >= abs(observed) - 1e-12).mean()
    result = paired_bootstrap(first, second, share, resamples=20000)
    assert 0 < exact < 1
    assert result.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20000))


@pytest.mark.parametrize("test", [paired_bootstrap, randomization_test])
def test_a_large_difference_is_found_and_none_is_not(test):
    better, worse = systems(400, 47, gain=0.25)
    assert test(better, worse, share).p_value < 0.005
    assert test(worse, better, share).difference == -test(better, worse, share).difference
    assert test(better, better, share).p_value == 1.0


@pytest.mark.parametrize("test", [paired_bootstrap, randomization_test])
def test_false_alarms_are_as_rare_as_promised(test):
    rejected = 0
    for seed in range(60):
        first, second = systems(60, 1000 + seed, gain=0.0)
        rejected += test(first, second, share, resamples=200, random_state=seed).p_value <= 0.1
    assert rejected <= 14  # 6 expected; 14 or more happens once in 500


def test_degenerate_figures_have_a_point_interval():
    same = np.ones((8, 2))
    interval = bootstrap_interval(same, share, method="bca", resamples=50)
    assert (interval.low, interval.estimate, interval.high) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_interval([], share), "counts has 1 dimensions"),
        (lambda: bootstrap_interval(np.zeros((0, 2)), share), "counts is empty"),
        (lambda: bootstrap_interval([[1, np.nan]], share), "counts holds nan"),
        (lambda: bootstrap_interval([[1, 1]], share, method="t"), "choose one of 'percentile', 'bca'"),
        (lambda: bootstrap_interval([[1, 1]], share, confidence=95), "pass 0.95 for 95 %"),
        (lambda: bootstrap_interval([[1, 1]], share, resamples=0), "resamples is 0"),
        (lambda: bootstrap_interval([[1, 1]], share, random_state=-1), "random_state -1 is negative"),
        (lambda: randomization_test([[1, 1]], [[1, 1]], share, random_state=-1), "random_state -1 is negative"),
        (lambda: bootstrap_interval([[1, 1]], lambda sums: sums[0]), "write it over the last axis"),
        (lambda: bootstrap_interval([[1, 1]], lambda sums: sums[..., 0] * np.nan), "not finite"),
        (
            lambda: bootstrap_interval([[1], [9]], lambda sums: -np.abs(sums[..., 0] - 10), method="bca", resamples=1),
            "use method='percentile'",
        ),
        (lambda: paired_bootstrap([[1, 1]], [[1, 1], [1, 1]], share), "count both systems on the same items"),
        (lambda: randomization_test([[1, 1]], [[1]], share), "count both systems on the same items"),
        (lambda: PairedCounts(both=-1), "counts are at least 0"),
        (lambda: PairedCounts.from_correct([1], [1, 0]), "first has 1 items but second has 2"),
        (lambda: PairedCounts.from_correct([1], [2]), "true and false"),
        (lambda: chi_square_fit([1, 2], [1.0]), "observed has 2 items"),
        (lambda: chi_square_fit([1, 2], [3.0, 0.0]), "pool empty bins"),
        (lambda: chi_square_fit([-1, 2], [3.0, 1.0]), "at least 0"),
        (lambda: chi_square_fit([1, 2], [2.0, 1.0], fitted=1), "leave no degree of freedom"),
        (lambda: chi_square_independence([[1, 2]]), "two rows and columns"),
        (lambda: chi_square_independence([[1, 0], [2, 0]]), "no empty row or column"),
        (lambda: chi_square_independence([[1, 1, 1], [1, 1, 1]], yates=True), "2 x 2 tables"),
    ],
)
def test_bad_input_says_what_to_do(call, message):
    with pytest.raises(DataError, match=message):
        call()

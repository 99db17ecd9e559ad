"""Do models fit? The tables of the paper, statsmodels, simulated levels of tests, and which words burst."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse, stats

from textmill.errors import DataError
from textmill.linear import (
    BetaBinomial,
    Binomial,
    Poisson,
    ZeroInflated,
    compare_counts,
    counts_report,
    dispersion_test,
    draw_comparison,
    expected_counts,
    find_bursts,
    fit_counts,
    goodness_of_fit,
    likelihood_ratio,
    vuong_test,
    zero_excess_test,
)
from textmill.metrics import PairedCounts

ANY = {0: 125, 1: 88, 2: 26, 3: 7, 4: 0, 5: 1}
WERE = {0: 179, 1: 58, 2: 18, 3: 5, 4: 1, 5: 1}
HIS = {0: 405, 1: 39, 2: 26, 3: 18, 4: 5, 5: 4, 6: 5, 7: 3, 8: 3, 14: 1}
BINS: list[Any] = [0, 1, 2, 3, 4, (5, 6), (7, 14)]


def test_example_1_any_is_a_poisson() -> None:
    test = goodness_of_fit(ANY, fit_counts(ANY, "poisson"), bins=[0, 1, 2, (3, None)])
    assert (round(test.statistic, 4), test.df) == (0.3696, 2)
    assert test.p_value > 0.5


def test_example_2_were_is_no_poisson() -> None:
    poisson = goodness_of_fit(WERE, fit_counts(WERE, "poisson"), bins=[0, 1, (2, 5)])
    assert (round(poisson.statistic, 2), poisson.df, round(poisson.p_value, 3)) == (6.17, 1, 0.013)
    spread = fit_counts(WERE, "negbinom")
    assert round(goodness_of_fit(WERE, spread, bins=[0, 1, 2, (3, 5)]).statistic, 4) == 0.0130
    assert round(goodness_of_fit(WERE, spread, bins=[0, 1, 2, (3, None)]).statistic, 4) == 0.0201


def test_example_3_table_of_his() -> None:
    spread = goodness_of_fit(HIS, fit_counts(HIS, "negbinom"), bins=BINS)
    both = goodness_of_fit(HIS, fit_counts(HIS, "zinegbinom"), bins=BINS)
    assert spread.observed.tolist() == [405, 39, 26, 18, 5, 9, 7]
    assert spread.expected.round(3).tolist() == [403.853, 48.333, 21.686, 12.108, 7.424, 8.001, 6.996]
    assert both.expected == pytest.approx([405.000, 40.207, 24.206, 14.868, 9.223, 9.361, 5.977], abs=6e-4)
    assert (round(spread.statistic, 3), spread.df, round(spread.cdf, 3)) == (6.447, 4, 0.832)
    assert (round(both.statistic, 3), both.df, round(both.cdf, 3)) == (2.952, 3, 0.601)
    tail = expected_counts(fit_counts(HIS, "negbinom").distribution, [(7, None)], observations=509)
    assert round(float(tail[0]), 3) == 7.595


def test_topical_words_of_the_federalist_are_inflated_and_others_are_not() -> None:
    """Passages of 200 words: `his` by both authors, `upon` by Hamilton and `may` by Madison (Mosteller, Wallace)."""
    his = {0: 601, 1: 56, 2: 29, 3: 21, 4: 11, 5: 6, 6: 4, 13: 1}
    likelihoods = {"poisson": -725.75, "negbinom": -539.50, "zipoisson": -546.59, "zinegbinom": -536.45}
    fits = {kind: fit_counts(his, kind) for kind in likelihoods}
    assert {kind: fit.log_likelihood for kind, fit in fits.items()} == pytest.approx(likelihoods, abs=6e-3)
    assert round(fits["zinegbinom"].distribution.z, 2) == 0.71
    assert fits["zinegbinom"].aic < fits["negbinom"].aic
    upon, may = {0: 129, 1: 83, 2: 20, 3: 9, 4: 5, 5: 1}, {0: 156, 1: 63, 2: 29, 3: 8, 4: 4, 5: 1, 6: 1}
    assert fit_counts(upon, "zinegbinom").distribution.z < 0.05
    for word in (upon, may):
        spread, both = fit_counts(word, "negbinom"), fit_counts(word, "zinegbinom")
        assert spread.aic < min(both.aic, fit_counts(word, "poisson").aic)
        assert likelihood_ratio(spread, both).p_value > 0.05


def largest_with_z(counts: dict[int, int], z: float) -> float:
    """The largest log-likelihood of a negative binomial with this inflation, by a general optimizer."""
    x, weights = np.array(list(counts)), np.array(list(counts.values()))

    def value(theta: Any) -> float:
        mu, kappa = np.exp(np.clip(theta, -12, 12))
        masses = stats.nbinom.pmf(x, kappa, kappa / (kappa + mu))
        return -float(weights @ np.log(z * (x == 0) + (1 - z) * masses))

    runs = [optimize.minimize(value, [0.0, start], method="Nelder-Mead") for start in (-1.0, 1.0)]
    return -min(run.fun for run in runs)


def test_passages_do_not_speak_against_5_percent_of_inflation_unless_the_word_is_topical() -> None:
    """The one-sided interval of z at 5 % by its profile, {z: 2 (log L - log L(z)) <= 2.71}.

    `may` has z = 0.16 with a standard error of 0.27 in 262 passages: the interval must reach below 0.05, and that of
    `his` must not.
    """
    upon, may = {0: 129, 1: 83, 2: 20, 3: 9, 4: 5, 5: 1}, {0: 156, 1: 63, 2: 29, 3: 8, 4: 4, 5: 1, 6: 1}
    his = {0: 601, 1: 56, 2: 29, 3: 21, 4: 11, 5: 6, 6: 4, 13: 1}
    limit = stats.chi2.isf(0.10, 1)  # one-sided at 5 %
    for word, topical in ((upon, False), (may, False), (his, True)):
        best = fit_counts(word, "zinegbinom").log_likelihood
        below = max(largest_with_z(word, z) for z in (1e-9, 0.02, 0.05))
        assert best >= below - 1e-6
        assert (2 * (best - below) > limit) == topical


def test_example_9_mcnemar() -> None:
    assert round(PairedCounts(only_first=120, only_second=90).mcnemar().statistic, 4) == 4.0048


def test_bins_are_pooled_until_they_expect_enough() -> None:
    test = goodness_of_fit(HIS, fit_counts(HIS, "negbinom"))
    assert (test.expected >= 5).all()
    assert test.observed.sum() == 509
    assert test.expected.sum() == pytest.approx(509, abs=1e-9)
    assert test.bins[-1][1] is None
    listed = goodness_of_fit(HIS, fit_counts(HIS, "negbinom"), tail="listed")
    assert listed.bins[-1][1] == 14
    few = goodness_of_fit([0, 1, 0], fit_counts([0, 1, 0], "negbinom"))
    assert few.df == 0
    assert np.isnan(few.p_value)


def test_scipy_and_statsmodels_agree() -> None:
    contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
    theirs = contingency.mcnemar([[50, 120], [90, 30]], exact=False, correction=True)
    ours = PairedCounts(only_first=120, only_second=90).mcnemar()
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    exact = contingency.mcnemar([[50, 12], [9, 30]], exact=True)
    assert PairedCounts(only_first=12, only_second=9).mcnemar_exact() == pytest.approx(exact.pvalue)
    fit = goodness_of_fit(HIS, fit_counts(HIS, "negbinom"))
    theirs = stats.chisquare(fit.observed, fit.expected * fit.observed.sum() / fit.expected.sum(), ddof=2)
    assert (fit.statistic, fit.p_value) == pytest.approx(theirs, rel=1e-9)


def test_vuong_is_that_of_the_definition() -> None:
    x = np.repeat(list(HIS), list(HIS.values()))
    one, two = fit_counts(HIS, "negbinom"), fit_counts(HIS, "zipoisson")
    gap = one.distribution.logpmf(x) - two.distribution.logpmf(x)
    test = vuong_test(one, two, HIS)
    assert test.statistic == pytest.approx(gap.mean() / gap.std() * np.sqrt(len(x)))
    assert test.p_above == pytest.approx(stats.norm.sf(test.statistic))
    assert vuong_test(two, one, HIS).statistic == pytest.approx(-test.statistic)
    more = vuong_test(fit_counts(HIS, "zinegbinom"), one, HIS, correction="bic")
    assert more.statistic < vuong_test(fit_counts(HIS, "zinegbinom"), one, HIS).statistic


def test_likelihood_ratio_allows_for_the_limit() -> None:
    test = likelihood_ratio(fit_counts(HIS, "poisson"), fit_counts(HIS, "negbinom"))
    assert test.p_value == pytest.approx(stats.chi2.sf(test.statistic, 1) / 2)
    with pytest.raises(DataError, match="vuong_test"):
        likelihood_ratio(fit_counts(HIS, "negbinom"), fit_counts(HIS, "zipoisson"))


@pytest.mark.parametrize("kind", ["poisson", "binom"])
def test_tests_of_spread_and_zeros_have_their_level_and_see_bursts(kind: str) -> None:
    rng = np.random.default_rng(3)
    n = rng.integers(50, 400, 300)
    plain: Any = Poisson(0.01) if kind == "poisson" else Binomial(0.01)
    null = [plain.sample(exposure=n, random_state=seed) for seed in range(300)]
    for test in (dispersion_test, zero_excess_test):
        values = np.array([test(x, exposure=n, kind=kind).statistic for x in null])
        assert abs(values.mean()) < 0.2
        assert 0.85 < values.std() < 1.15
        bursty: Any = BetaBinomial(0.01, 0.02) if test is dispersion_test else ZeroInflated(plain, 0.4)
        assert test(bursty.sample(exposure=n, random_state=0), exposure=n, kind=kind).p_above < 1e-3


def test_comparison_prefers_the_model_that_made_the_counts() -> None:
    rng = np.random.default_rng(1)
    n = rng.integers(50, 400, 1500)
    for model, kind in (
        (Binomial(0.01), "binom"),
        (ZeroInflated(Binomial(0.03), 0.6), "zibinom"),
        (BetaBinomial(0.02, 0.05), "betabinom"),
    ):
        x = model.sample(exposure=n, random_state=6)
        comparison = compare_counts(x, exposure=n)
        of_kind = comparison.columns()["delta_aic"][list(comparison.fits).index(kind)]
        assert of_kind < 2  # a model with one more parameter is ahead by chance in one of six
        assert comparison.best == kind or kind == "binom"
        assert comparison.columns()["delta_aic"][0] == 0
        assert len(draw_comparison(x, comparison, exposure=n).axes) == 1
    assert compare_counts(HIS).best == "zinegbinom"
    assert compare_counts(ANY).best == "poisson"


def test_words_that_burst_come_first() -> None:
    rng = np.random.default_rng(1)
    n = rng.integers(50, 400, 400)
    columns = [
        Binomial(0.02).sample(exposure=n, random_state=1),
        ZeroInflated(Binomial(0.05), 0.8).sample(exposure=n, random_state=2),
        ZeroInflated(Binomial(0.02), 0.5).sample(exposure=n, random_state=3),
        np.eye(400, dtype=int)[0],
    ]
    X = sparse.csr_matrix(np.stack(columns, axis=1))
    bursts = find_bursts(X, ["the", "mill", "sea", "rare"], exposure=n)
    assert bursts.terms == ["mill", "sea", "the"]
    assert bursts.z[0] == pytest.approx(0.8, abs=0.06)
    assert bursts.repeat[0] > bursts.repeat[1] > 1.2
    assert bursts.repeat[2] == pytest.approx(1.0, abs=0.1)
    page = counts_report(X, ["the", "mill", "sea", "rare"], exposure=n, words=["mill"]).render()
    assert page.count("<svg") >= 2
    with pytest.raises(DataError, match="no word 'wind'"):
        counts_report(X, ["the", "mill", "sea", "rare"], exposure=n, words=["wind"])


@pytest.mark.parametrize("kind", ["poisson", "binom"])
def test_counts_above_their_exposure_are_errors(kind: str) -> None:
    with pytest.raises(DataError, match="row 1 is above its exposure"):
        dispersion_test([0, 4], exposure=[3, 0], kind=kind)

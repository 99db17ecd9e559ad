"""Distributions of counts against the numbers of the paper, 50-digit arithmetic, central differences and samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from textmill.errors import DataError
from textmill.linear import Bernoulli, BetaBinomial, Binomial, NegativeBinomial, Poisson, ZeroInflated

mpmath = pytest.importorskip("mpmath")
BASES: list[Any] = [
    Poisson(0.67),
    NegativeBinomial(0.45, 1.17),
    NegativeBinomial(30.0, 0.3),
    Binomial(0.02),
    Bernoulli(0.3),
    BetaBinomial(0.1, 0.05),
    BetaBinomial(0.4, 0.6),
]
ALL = [*BASES, *(ZeroInflated(base, 0.3) for base in BASES), ZeroInflated(Binomial(0.02), -0.01)]


def test_example_1_poisson_of_any() -> None:
    expected = 247 * Poisson(166 / 247).pmf(np.arange(4))
    assert expected.round(2).tolist() == [126.13, 84.77, 28.48, 6.38]


def test_example_4_beta_binomial() -> None:
    model = BetaBinomial(0.1, 0.05)
    assert model.shapes == pytest.approx((1.9, 17.1), rel=1e-12)
    assert model.pmf(np.arange(4), 10).round(7).tolist() == [0.4243481, 0.3089124, 0.1606098, 0.0693088]
    assert float(model.mean(10)) == pytest.approx(1.0)
    assert float(model.variance(10)) == pytest.approx(1.305)
    assert float(Binomial(0.1).variance(10)) == pytest.approx(0.9)
    again = BetaBinomial.from_shapes(*model.shapes)
    assert (again.p, again.gamma) == pytest.approx((0.1, 0.05), rel=1e-12)


def test_example_7_zero_inflated_binomial() -> None:
    model = ZeroInflated(Binomial(0.02), 0.3)
    assert model.pmf([0, 1, 2], 100).round(7).tolist() == [0.3928337, 0.1894565, 0.1913897]
    assert float(model.mean(100)) == pytest.approx(1.4)
    assert float(model.variance(100)) == pytest.approx(2.212)


def test_example_8_bernoulli_takes_counts_and_lengths_as_there_or_not() -> None:
    model, p = Bernoulli(0.25), 0.25
    assert model.pmf([0, 1, 7], [50, 50, 50]).tolist() == [1 - p, p, p]
    assert model.pmf([0, 0, 0], [0, 1, 50]).tolist() == [1.0, 1 - p, 1 - p]


@pytest.mark.parametrize(("kappa", "gap"), [(1, 0.1026), (10, 0.01455), (100, 0.001520), (1e4, 1.53e-5)])
def test_example_10_negative_binomial_comes_near_the_poisson(kappa: float, gap: float) -> None:
    x = np.arange(8)
    distance = np.abs(NegativeBinomial(0.67, kappa).pmf(x) - Poisson(0.67).pmf(x)).max()
    assert distance == pytest.approx(gap, rel=5e-3)


@pytest.mark.parametrize("kappa", [1e8, 1e10, 1e14, np.inf])
def test_negative_binomial_of_large_shape_is_the_poisson(kappa: float) -> None:
    x = np.arange(30)
    assert np.abs(NegativeBinomial(0.67, kappa).pmf(x) - Poisson(0.67).pmf(x)).max() < 1e-8
    if kappa == 1e8:  # the first-order term, which lgamma alone gets wrong by 8e-8
        assert np.abs(NegativeBinomial(0.67, kappa).pmf(x) - Poisson(0.67).pmf(x)).max() == pytest.approx(
            1.5e-9, rel=0.05
        )


def test_beta_binomial_without_spread_is_the_binomial() -> None:
    x = np.arange(200)
    assert np.abs(BetaBinomial(0.03, 0.0).logpmf(x, 200) - Binomial(0.03).logpmf(x, 200)).max() < 1e-14
    near = BetaBinomial(0.03, 1e-14).pmf(x, 200)
    assert np.abs(near - Binomial(0.03).pmf(x, 200)).max() < 1e-11
    under = BetaBinomial(0.3, -0.001)  # slightly too regular is allowed
    assert under.pmf(np.arange(21), 20).sum() == pytest.approx(1.0, abs=1e-12)
    assert float(under.variance(20)) == pytest.approx(20 * 0.21 * (1 - 0.019))


@pytest.mark.parametrize("model", ALL, ids=str)
def test_probabilities_sum_to_one_and_moments_are_right(model: Any) -> None:
    n = 60
    x = np.arange(n + 1) if model.bounded else np.arange(60_000)
    x = x[:2] if "Bernoulli" in str(model) else x
    masses = model.pmf(x, n if model.bounded else None)
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)
    exposure = n if model.bounded else None
    values = x
    mean = (masses * values).sum()
    assert mean == pytest.approx(float(model.mean(exposure)), rel=1e-10)
    assert (masses * (values - mean) ** 2).sum() == pytest.approx(float(model.variance(exposure)), rel=1e-9)
    assert model.cdf(values[:40], exposure) == pytest.approx(np.cumsum(masses)[:40], abs=1e-12)
    assert model.sf(values[:40], exposure) == pytest.approx(1 - np.cumsum(masses)[:40], abs=1e-12)
    assert float(model.cdf(-1, exposure)) == 0.0
    assert float(model.sf(-0.5, exposure)) == 1.0


@pytest.mark.parametrize("model", ALL[:-1], ids=str)
def test_samples_have_the_moments(model: Any) -> None:
    draws = model.sample(200_000, 60 if model.bounded else None, random_state=3)
    mean, variance = (
        float(model.mean(60 if model.bounded else None)),
        float(model.variance(60 if model.bounded else None)),
    )
    assert draws.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / 200_000))
    assert draws.var() == pytest.approx(variance, rel=0.06)
    again = model.sample(200_000, 60 if model.bounded else None, random_state=3)
    assert (draws == again).all()


def exact(model: Any, x: int, n: int) -> Any:
    """log P(x | n) in 50 digits, straight from the definition."""
    mp = mpmath
    if isinstance(model, ZeroInflated):
        inside = mp.exp(exact(model.base, x, n))
        z = mp.mpf(model.z)
        return mp.log(z * (x == 0) + (1 - z) * inside)
    if isinstance(model, Poisson):
        m = mp.mpf(model.mu) * n
        return x * mp.log(m) - m - mp.loggamma(x + 1)
    if isinstance(model, NegativeBinomial):
        m, k = mp.mpf(model.mu) * n, mp.mpf(model.kappa)
        return (
            x * mp.log(m) - mp.loggamma(x + 1) + mp.loggamma(k + x) - mp.loggamma(k)
            - (k + x) * mp.log(m + k) + k * mp.log(k)
        )  # fmt: skip
    choose = mp.loggamma(n + 1) - mp.loggamma(x + 1) - mp.loggamma(n - x + 1)
    p = mp.mpf(model.p)
    if isinstance(model, Bernoulli):
        return mp.log(p) if x else mp.log(1 - p)
    if isinstance(model, Binomial):
        return choose + x * mp.log(p) + (n - x) * mp.log(1 - p)
    gamma = mp.mpf(model.gamma)
    a, b = p * (1 - gamma) / gamma, (1 - p) * (1 - gamma) / gamma

    def beta(s: Any, t: Any) -> Any:
        return mp.loggamma(s) + mp.loggamma(t) - mp.loggamma(s + t)

    return choose + beta(x + a, n - x + b) - beta(a, b)


def grid() -> list[Any]:
    models: list[Any] = []
    for p in (1e-9, 1e-5, 0.01, 0.4):
        models += [Binomial(p), Bernoulli(p), Poisson(p)]
        models += [BetaBinomial(p, gamma) for gamma in (1e-12, 1e-8, 1e-5, 1e-3, 0.1, 0.99)]
        models += [NegativeBinomial(p, kappa) for kappa in (1e-3, 0.5, 20.0, 1e6, 1e12)]
    return [*models, *(ZeroInflated(model, z) for model in models for z in (1e-6, 0.5))]


@pytest.mark.parametrize("n", [1, 3, 50, 3000, 100_000])
def test_logarithms_agree_with_50_digits(n: int) -> None:
    mpmath.mp.dps = 60
    worst = 0.0
    for model in grid():
        xs = [x for x in sorted({0, 1, 2, 7, n // 100, n}) if x <= n]
        for x, ours in zip(xs, model.logpmf(xs, n), strict=True):
            right = exact(model, x, n)
            worst = max(
                worst, float(abs((mpmath.mpf(float(ours)) - right) / right)) if right != 0 else abs(float(ours))
            )
    assert worst < 1e-10


@pytest.mark.parametrize("model", ALL[:-1], ids=str)
def test_slopes_agree_with_central_differences(model: Any) -> None:
    x, n = np.array([0, 1, 2, 9, 40]), np.array([30, 50, 80, 60, 300])
    slopes = model.gradient(x, n)
    assert list(slopes) == list(model.parameters)
    from textmill.linear.counts.distributions import distribution_of

    names = list(model.parameters)
    kind = {Poisson: "poisson", NegativeBinomial: "negbinom", Binomial: "binom", Bernoulli: "bernoulli",
            BetaBinomial: "betabinom"}[type(model.base if isinstance(model, ZeroInflated) else model)]  # fmt: skip
    kind = f"zi{kind}" if isinstance(model, ZeroInflated) else kind

    def at(**values: float) -> Any:
        known = model.parameters | values
        second = known.get("kappa", known.get("gamma", 0.0))
        return distribution_of(kind, known.get("mu", known.get("p", 0.0)), second, known.get("z", 0.0))

    for name in names:
        h = 1e-5 * model.parameters[name]
        up, down = model.parameters[name] + h, model.parameters[name] - h
        difference = (at(**{name: up}).logpmf(x, n) - at(**{name: down}).logpmf(x, n)) / (2 * h)
        assert slopes[name] == pytest.approx(difference, rel=1e-6, abs=1e-6 * np.abs(difference).max())


def test_scipy_agrees() -> None:
    x = np.arange(12)
    assert NegativeBinomial(0.45, 1.2).pmf(x) == pytest.approx(stats.nbinom.pmf(x, 1.2, 1.2 / 1.65), rel=1e-11)
    assert BetaBinomial.from_shapes(1.9, 17.1).pmf(x, 11) == pytest.approx(stats.betabinom.pmf(x, 11, 1.9, 17.1))
    assert Poisson(0.002).cdf(x, 300) == pytest.approx(stats.poisson.cdf(x, 0.6))
    spread, theirs = BetaBinomial.from_shapes(1.9, 17.1), stats.betabinom([40, 200, 200], 1.9, 17.1)
    assert spread.sf([30, 60, 150], [40, 200, 200]) == pytest.approx(theirs.sf([30, 60, 150]), rel=1e-9)
    assert spread.cdf([30, 0, 60], [40, 200, 200]) == pytest.approx(theirs.cdf([30, 0, 60]), rel=1e-9)


def test_counts_and_parameters_that_cannot_be_are_errors() -> None:
    with pytest.raises(DataError, match=r"count 1\.5 at 1 is no count"):
        Poisson(1.0).pmf([0, 1.5])
    with pytest.raises(DataError, match="count -1"):
        Poisson(1.0).pmf(-1)
    with pytest.raises(DataError, match="count nan"):
        Poisson(1.0).pmf(np.nan)
    with pytest.raises(DataError, match="pass exposure="):
        Binomial(0.1).pmf(0)
    with pytest.raises(DataError, match=r"p is 1\.5"):
        Binomial(1.5)
    with pytest.raises(DataError, match="kappa is 0"):
        NegativeBinomial(1.0, 0.0)
    with pytest.raises(DataError, match="must be at least -1"):
        ZeroInflated(Binomial(0.5), -2.0).pmf(0, 1)
    assert Binomial(0.1).pmf(3, 2) == 0.0
    assert Binomial(0.0).pmf([0, 1], 5).tolist() == [1.0, 0.0]


def test_zero_deflation_is_valid_down_to_its_limit() -> None:
    base = Poisson(1.0)
    least = -float(base.pmf(0)) / (1 - float(base.pmf(0)))
    assert float(ZeroInflated(base, least).pmf(0)) == pytest.approx(0.0, abs=1e-15)
    assert ZeroInflated(base, least).pmf(np.arange(60)).sum() == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(DataError, match="must be at least"):
        ZeroInflated(base, 1.01 * least).pmf(1)


def test_importing_the_package_leaves_subnormal_numbers_alone() -> None:
    assert np.finfo(np.float64).tiny / 4 > 0
    assert float(np.float64(5e-324) * np.float64(1.0)) == 5e-324

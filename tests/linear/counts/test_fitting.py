"""Fits of counts: worked examples, direct maximization, the plain EM loop, statsmodels, tables at their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse, special

from textmill.errors import DataError
from textmill.linear import (
    BetaBinomial,
    Binomial,
    CountPrior,
    NegativeBinomial,
    Poisson,
    ZeroInflated,
    fit_count_table,
    fit_counts,
)
from textmill.linear.counts.fitting import parameter_names

HIS = {0: 405, 1: 39, 2: 26, 3: 18, 4: 5, 5: 4, 6: 5, 7: 3, 8: 3, 14: 1}
WERE = {0: 179, 1: 58, 2: 18, 3: 5, 4: 1, 5: 1}
X, N = np.array([0, 0, 3, 0, 1, 0, 0, 6]), np.array([100, 80, 120, 90, 100, 60, 150, 200])


def test_example_2_negative_binomial_of_were() -> None:
    fit = fit_counts(WERE, "negbinom")
    assert fit.distribution.mu == pytest.approx(118 / 262, rel=1e-9)
    assert fit.distribution.kappa == pytest.approx(1.17438, abs=5e-6)
    expected = 262 * fit.distribution.pmf(np.arange(6))
    assert expected.round(3).tolist() == [178.952, 58.255, 17.556, 5.149, 1.490, 0.427]


def test_example_3_models_of_his() -> None:
    spread, both = fit_counts(HIS, "negbinom"), fit_counts(HIS, "zinegbinom")
    assert spread.distribution.parameters == pytest.approx({"mu": 0.538310, "kappa": 0.153894}, abs=5e-7)
    assert spread.log_likelihood == pytest.approx(-441.585, abs=5e-4)
    assert both.distribution.parameters == pytest.approx({"mu": 1.564729, "kappa": 0.885333, "z": 0.655972}, abs=5e-6)
    assert both.log_likelihood == pytest.approx(-439.596, abs=5e-4)
    assert 509 * (1 - both.distribution.z) * float(both.distribution.base.pmf(0)) == pytest.approx(71.11, abs=5e-3)
    cells = fit_counts(HIS, "negbinom", method="cells").distribution
    assert cells.parameters == pytest.approx({"mu": 0.76751, "kappa": 0.11011}, abs=5e-6)
    assert (509 * cells.pmf([2, 3])).round(2).tolist() == [18.93, 11.64]
    assert 509 * cells.pmf([0, 1]) == pytest.approx([405, 39], rel=1e-9)
    assert fit_counts(HIS, "poisson").log_likelihood == pytest.approx(-644.484, abs=5e-4)
    inflated = fit_counts(HIS, "zipoisson")
    assert inflated.distribution.parameters == pytest.approx({"mu": 2.394224, "z": 0.775163}, abs=5e-7)
    assert inflated.log_likelihood == pytest.approx(-458.346, abs=5e-4)
    assert (round(spread.aic, 2), round(both.aic, 3)) == (887.17, 885.192)


def test_example_5_beta_binomial_by_moments_and_by_likelihood() -> None:
    moments = fit_counts(X, "betabinom", exposure=N, method="moments")
    assert moments.distribution.parameters == pytest.approx({"p": 0.0111111, "gamma": 0.01070419}, abs=5e-8)
    assert moments.distribution.shapes == pytest.approx((1.026904, 91.394439), abs=5e-6)
    assert moments.log_likelihood == pytest.approx(-10.894257, abs=5e-7)
    fit = fit_counts(X, "betabinom", exposure=N)
    assert fit.distribution.parameters == pytest.approx({"p": 0.00904848, "gamma": 0.01620481}, abs=5e-9)
    assert fit.log_likelihood == pytest.approx(-10.700430, abs=5e-7)


def test_example_6_em_of_the_zero_inflated_binomial() -> None:
    start = {"z": 0.5, "p": 0.02}
    known: dict[str, Any] = {"exposure": N, "method": "em", "start": start}
    begin = fit_counts(X, "zibinom", max_iter=0, **known)
    assert begin.log_likelihood == pytest.approx(-9.899067, abs=5e-7)
    one = fit_counts(X, "zibinom", max_iter=1, **known)
    assert one.distribution.parameters == pytest.approx({"p": 0.0209115, "z": 0.5377684}, abs=5e-8)
    assert one.log_likelihood == pytest.approx(-9.851487, abs=5e-7)
    assert one.notes == ("unfinished",)
    limit = fit_counts(X, "zibinom", max_iter=10_000, tolerance=1e-12, **known)
    assert limit.distribution.parameters == pytest.approx({"p": 0.0217063, "z": 0.5631049}, abs=5e-8)
    assert limit.log_likelihood == pytest.approx(-9.840764, abs=5e-7)
    assert fit_counts(X, "binom", exposure=N).log_likelihood == pytest.approx(-12.656668, abs=5e-7)
    direct = fit_counts(X, "zibinom", exposure=N)
    assert direct.distribution.parameters == pytest.approx(limit.distribution.parameters, abs=1e-9)


def random_counts(rng: np.random.Generator, kind: str) -> tuple[Any, Any]:
    """A set of counts with some bursts."""
    n = np.maximum(1, rng.lognormal(4.5, 0.9, rng.integers(20, 120))).astype(int)
    p, z = 10 ** rng.uniform(-2.5, -1), rng.uniform(0.2, 0.9)
    base: Any = BetaBinomial(p, rng.uniform(0.01, 0.2)) if "beta" in kind else Binomial(p)
    if "neg" in kind or "poisson" in kind:
        base = NegativeBinomial(p, rng.uniform(0.3, 3)) if "neg" in kind else Poisson(p)
    x = (ZeroInflated(base, z) if kind.startswith("zi") else base).sample(exposure=n, random_state=rng)
    return x, n


def log_probabilities(kind: str, x: Any, n: Any, parameters: dict[str, float]) -> Any:
    """log P(x | n) by gamma functions, with the textbook's parameters."""
    m = parameters.get("mu", 0.0) * n
    choose = special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(n - x + 1)
    if "kappa" in parameters:
        k = parameters["kappa"]
        f = special.gammaln(k + x) - special.gammaln(k) - special.gammaln(x + 1)
        f = f + x * np.log(m / (k + m)) + k * np.log(k / (k + m))
    elif "mu" in parameters:
        f = x * np.log(m) - m - special.gammaln(x + 1)
    elif "gamma" in parameters:
        both = 1 / parameters["gamma"] - 1
        a, b = parameters["p"] * both, (1 - parameters["p"]) * both
        f = choose + special.betaln(x + a, n - x + b) - special.betaln(a, b)
    else:
        f = choose + x * np.log(parameters["p"]) + (n - x) * np.log1p(-parameters["p"])
    z = parameters.get("z", 0.0)
    return np.where(x == 0, np.log(z + (1 - z) * np.exp(f)), np.log1p(-z) + f)


def best_by_search(kind: str, x: Any, n: Any) -> float:
    """The largest log-likelihood that a general optimizer finds from several starts."""
    names = parameter_names(kind)

    def value(theta: Any) -> float:
        held = np.clip(theta, -12, 12)  # beyond, differences of gamma functions lose their digits
        parameters = {
            name: float(np.exp(t)) if name in ("mu", "kappa") else float(special.expit(t))
            for name, t in zip(names, held, strict=True)
        }
        return -float(log_probabilities(kind, x, n, parameters).sum())

    rate = float(np.log(x.sum() / n.sum()))
    starts = [[rate + shift, *second] for shift in (0.0, 1.0) for second in
              ([[0.0]] if len(names) == 2 else [[-2.0, 0.0], [0.0, -2.0], [-4.0, 1.0]])]  # fmt: skip
    options = {"xatol": 1e-9, "fatol": 1e-10, "maxiter": 4000}
    runs = [optimize.minimize(value, start, method="Nelder-Mead", options=options) for start in starts]
    return -min(run.fun for run in runs)


@pytest.mark.parametrize("kind", ["zibinom", "zipoisson", "negbinom", "betabinom", "zinegbinom", "zibetabinom"])
def test_fits_reach_the_maximum_that_a_search_finds(kind: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(4):
        x, n = random_counts(rng, kind)
        while not x.any():
            x, n = random_counts(rng, kind)
        fit = fit_counts(x, kind, exposure=n)
        assert "unfinished" not in fit.notes
        assert fit.log_likelihood == pytest.approx(fit.distribution.loglikelihood(x, n), abs=1e-7)
        assert fit.log_likelihood >= best_by_search(kind, x, n) - 1e-6


def em_step(x: Any, n: Any, z: float, p: float) -> tuple[float, float]:
    """One step, text by text, as the paper means it."""
    inflated = successes = tokens = 0.0
    for count, length in zip(x.tolist(), n.tolist(), strict=True):
        if count == 0:
            r = z / (z + (1 - z) * (1 - p) ** length)
            inflated, tokens = inflated + r, tokens + (1 - r) * length
        else:
            successes, tokens = successes + count, tokens + length
    return inflated / len(x), successes / tokens


def by_minimizer(x: Any, n: Any) -> tuple[float, float, float]:
    """p, z and the log-likelihood of the zero-inflated binomial by a general minimizer, in (logit p, logit z)."""
    constant = float((special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(n - x + 1)).sum())

    def value(theta: Any) -> tuple[float, Any]:
        u, v = theta
        inside = x * u - n * np.logaddexp(0, u)
        r = np.where(x == 0, special.expit(v - inside), 0.0)
        total = np.where(x == 0, np.logaddexp(v, inside), inside).sum() - len(x) * np.logaddexp(0, v)
        slope = [((1 - r) * (x - n * special.expit(u))).sum(), r.sum() - len(x) * special.expit(v)]
        return -float(total), -np.array(slope)

    rate = special.logit(x.sum() / n.sum())
    runs = [
        optimize.minimize(value, [rate + shift, v], jac=True, method="BFGS", options={"gtol": 1e-10})
        for shift, v in ((0.0, -2.0), (0.5, 0.0), (1.5, 1.5))
    ]
    best = min(runs, key=lambda run: run.fun)
    u, v = best.x
    return float(special.expit(u)), float(special.expit(v)), constant - float(best.fun)


@pytest.mark.parametrize("sets", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_em_equals_the_plain_loop_never_falls_and_ends_at_the_maximum(sets: int) -> None:
    rng = np.random.default_rng(11)
    for _ in range(sets):
        x, n = random_counts(rng, "zibinom")
        if not x.any():
            continue
        z, p = 0.5 * float((x == 0).mean()) + 1e-3, float(x.sum() / n.sum())
        before = ZeroInflated(Binomial(p), z).loglikelihood(x, n)
        for _step in range(3):
            fast = fit_counts(x, "zibinom", exposure=n, method="em", start={"z": z, "p": p}, max_iter=1)
            z, p = em_step(x, n, z, p)
            assert fast.distribution.parameters == pytest.approx({"p": p, "z": z}, rel=1e-10, abs=1e-12)
            assert fast.log_likelihood >= before - 1e-10
            before = fast.log_likelihood
        direct = fit_counts(x, "zibinom", exposure=n)
        far = fit_counts(x, "zibinom", exposure=n, method="em", max_iter=100_000, tolerance=1e-13)
        assert direct.log_likelihood >= far.log_likelihood - 1e-8
        if direct.distribution.z > 0.02:
            assert far.distribution.parameters == pytest.approx(direct.distribution.parameters, abs=1e-6)
        p, z, largest = by_minimizer(x, n)
        assert direct.log_likelihood == pytest.approx(largest, abs=1e-6)
        if z > 0.02:
            assert direct.distribution.parameters == pytest.approx({"p": p, "z": z}, abs=1e-6)


def best_on_the_ridge(n: Any, own: float) -> tuple[float, float, float]:
    """p, z and the log-likelihood of a word seen once, in a text of length `own`: for every p the best z, then p."""
    others = np.sort(n)
    others = np.delete(others, np.searchsorted(others, own))

    def best_z(p: float) -> float:
        gap = -np.expm1(others * np.log1p(-p))  # 1 - F(0)

        def slope(z: float) -> float:
            return float((gap / (1 - (1 - z) * gap)).sum() - 1 / (1 - z))

        return float(optimize.brentq(slope, 0.0, 1 - 1e-12, xtol=1e-15)) if slope(0.0) > 0 else 0.0

    def value(log_p: float) -> float:
        p = float(np.exp(log_p))
        z, gap = best_z(p), -np.expm1(others * np.log1p(-p))
        seen = np.log1p(-z) + np.log(own) + log_p + (own - 1) * np.log1p(-p)
        return -float(seen + np.log1p(-(1 - z) * gap).sum())

    least = -np.log(n.sum())
    run = optimize.minimize_scalar(value, bounds=(least, least + 5), method="bounded", options={"xatol": 1e-7})
    p = float(np.exp(run.x))
    return p, best_z(p), -float(run.fun)


@pytest.mark.parametrize("spread", [0.5, 0.9])
def test_words_seen_once_have_a_fit_wherever_they_are_seen(spread: float) -> None:
    """Near half the mean length of a token's text, z and p can hardly be told apart: a ridge, rising by 1e-6."""
    n = np.maximum(2, np.random.default_rng(1).lognormal(4.7, spread, 3000)).astype(int)
    half = float((n * n).sum() / n.sum() / 2)
    lengths, rows = np.unique(n, return_index=True)
    near = np.argsort(np.abs(lengths - half), kind="stable")
    for kind, most in (("zibinom", len(near)), ("zipoisson", len(near)), ("zinegbinom", 20), ("zibetabinom", 4)):
        words = near[:most]
        once = sparse.csr_matrix((np.ones(most), (rows[words], np.arange(most))), (len(n), most))
        fits = fit_count_table(once, kind, exposure=n, n_jobs=2)
        assert not (fits.state & 16).any(), kind
        assert np.isfinite(fits.log_likelihood).all()
        if kind == "zibinom":
            inside = 0
            for column in range(8):
                p, z, largest = best_on_the_ridge(n, float(lengths[words[column]]))
                assert fits.log_likelihood[0, column] >= largest - 1e-10
                if 0.05 < z < 0.98:
                    inside += 1
                    assert (fits.first[0, column], fits.z[0, column]) == pytest.approx((p, z), rel=2e-3)
            assert inside


def test_statsmodels_agrees_on_poisson_negative_binomial_and_inflation() -> None:
    api = pytest.importorskip("statsmodels.api")
    from statsmodels.discrete.count_model import ZeroInflatedPoisson

    rng = np.random.default_rng(2)
    n = rng.integers(50, 400, 400)
    x = ZeroInflated(NegativeBinomial(0.02, 1.5), 0.4).sample(exposure=n, random_state=1)
    ones = np.ones((len(x), 1))
    theirs = api.NegativeBinomial(x, ones, exposure=n).fit(disp=0, method="newton", maxiter=200, tol=1e-12)
    ours = fit_counts(x, "negbinom", exposure=n)
    assert ours.distribution.mu == pytest.approx(float(np.exp(theirs.params[0])), rel=1e-6)
    assert 1 / ours.distribution.kappa == pytest.approx(float(theirs.params[1]), rel=1e-6)
    assert ours.log_likelihood == pytest.approx(float(theirs.llf), abs=1e-6)
    assert ours.standard_errors["mu"] == pytest.approx(ours.distribution.mu * float(theirs.bse[0]), rel=1e-3)
    model = ZeroInflatedPoisson(x, ones, exog_infl=ones, exposure=n)
    theirs = model.fit(disp=0, method="newton", maxiter=500, tol=1e-12, start_params=[0.0, float(np.log(0.02))])
    ours = fit_counts(x, "zipoisson", exposure=n)
    assert ours.distribution.base.mu == pytest.approx(float(np.exp(theirs.params[1])), rel=1e-6)
    assert ours.distribution.z == pytest.approx(1 / (1 + np.exp(-float(theirs.params[0]))), rel=1e-6)


def test_known_parameters_are_found_again() -> None:
    rng = np.random.default_rng(0)
    n = np.maximum(10, rng.lognormal(5, 0.6, 10_000)).astype(int)
    x = ZeroInflated(Binomial(0.02), 0.6).sample(exposure=n, random_state=1)
    found = fit_counts(x, "zibinom", exposure=n)
    assert found.distribution.z == pytest.approx(0.6, abs=0.02)
    assert found.distribution.base.p == pytest.approx(0.02, rel=0.03)
    assert abs(found.distribution.z - 0.6) < 4 * found.standard_errors["z"]
    x = BetaBinomial(0.02, 0.03).sample(exposure=n, random_state=1)
    found = fit_counts(x, "betabinom", exposure=n)
    assert found.distribution.parameters == pytest.approx({"p": 0.02, "gamma": 0.03}, rel=0.06)


def table(rows: int = 300, columns: int = 40, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    n = rng.integers(30, 300, rows)
    dense = np.stack(
        [
            ZeroInflated(Binomial(10 ** rng.uniform(-3.5, -1.7)), rng.uniform(0, 0.9)).sample(
                exposure=n, random_state=j
            )
            for j in range(columns)
        ],
        axis=1,
    )
    return sparse.csr_matrix(dense), rng.integers(0, 3, rows), n


@pytest.mark.parametrize("kind", ["binom", "zibinom", "betabinom", "negbinom", "zinegbinom", "bernoulli"])
def test_a_table_is_its_columns_fitted_one_by_one_with_any_number_of_threads(kind: str) -> None:
    X, y, n = table()
    fits = fit_count_table(X, kind, y, exposure=n, n_jobs=1)
    again = fit_count_table(X, kind, y, exposure=n, n_jobs=3)
    for name in ("first", "second", "z", "log_likelihood", "state", "n_iter"):
        assert getattr(fits, name).tobytes() == getattr(again, name).tobytes()
    for label in range(3):
        own = y == label
        for column in (0, 7, 39):
            alone = fit_counts(X[own, column].toarray().ravel(), kind, exposure=n[own])
            assert fits.fit(column, label).distribution == alone.distribution
            assert fits.fit(column, label).notes == alone.notes


def test_moments_from_sparse_sums_equal_the_dense_formula() -> None:
    X, y, n = table()
    fits = fit_count_table(X, "betabinom", y, exposure=n, method="moments")
    dense = X.toarray().astype(float)
    for label in range(3):
        x, m = dense[y == label], n[y == label].astype(float)
        p = np.maximum(x.sum(axis=0), 1e-300) / m.sum()
        above = ((x - m[:, None] * p) ** 2).sum(axis=0) / (p * (1 - p)) - m.sum()
        gamma = np.clip(above / ((m**2).sum() - m.sum()), 0, None)
        assert fits.first[label] == pytest.approx(p, rel=1e-12, abs=1e-200)
        assert fits.second[label] == pytest.approx(np.where(p > 1e-200, gamma, 0), rel=1e-9, abs=1e-14)
    short = fit_count_table(X, "betabinom", exposure=n, method="moments", max_exposure=100)
    assert short.first == pytest.approx(fit_count_table(X, "binom", exposure=n).first)
    x, m, p = dense[n <= 100], n[n <= 100].astype(float), short.first[0]
    above = ((x - m[:, None] * p) ** 2).sum(axis=0) / (p * (1 - p)) - m.sum()
    gamma = np.clip(above / ((m**2).sum() - m.sum()), 0, None)
    assert short.second[0] == pytest.approx(gamma, rel=1e-9, abs=1e-14)


def test_weights_are_repeated_texts() -> None:
    rng = np.random.default_rng(4)
    x, n = random_counts(rng, "zibetabinom")
    w = rng.integers(0, 3, len(x))
    for kind in ("zibinom", "betabinom", "zinegbinom"):
        weighted = fit_counts(x, kind, exposure=n, sample_weight=w)
        repeated = fit_counts(np.repeat(x, w), kind, exposure=np.repeat(n, w))
        assert weighted.distribution.parameters == pytest.approx(repeated.distribution.parameters, rel=1e-7)
        assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, rel=1e-10)


def test_prior_counts_are_added_in_every_step() -> None:
    a, v = 0.1, 1000
    prior = CountPrior(success=a, failure=a * (v - 1))
    assert fit_counts(X, "binom", exposure=N, prior=prior).distribution.p == pytest.approx((10 + a) / (900 + a * v))
    z, p = 0.4, 0.01
    for _ in range(5000):
        r = np.where(X == 0, z / (z + (1 - z) * (1 - p) ** N), 0.0)
        z, p = r.mean(), (X.sum() + a) / (((1 - r) * N).sum() + a * v)
    mode = fit_counts(X, "zibinom", exposure=N, prior=prior)
    assert mode.distribution.parameters == pytest.approx({"p": p, "z": z}, rel=1e-7)
    strong = fit_counts(X, "zibinom", exposure=N, prior=CountPrior(inflated=1e6, not_inflated=3e6))
    assert strong.distribution.z == pytest.approx(0.25, abs=1e-4)


KINDS = ["poisson", "negbinom", "binom", "bernoulli", "betabinom"]
KINDS += [f"zi{kind}" for kind in KINDS]


@pytest.mark.parametrize("kind", KINDS)
def test_degenerate_columns_give_finite_fits(kind: str) -> None:
    n = np.array([5, 5, 0, 9, 1, 30])
    columns = np.array([[0, 5, 0, 1], [0, 5, 0, 0], [0, 0, 0, 0], [0, 9, 1, 0], [0, 1, 0, 0], [0, 30, 0, 0]])
    fits = fit_count_table(columns, kind, exposure=n)
    assert np.isfinite(fits.first).all()
    assert np.isfinite(fits.z).all()
    assert not np.isnan(fits.second).any()
    assert np.isfinite(fits.log_likelihood).all()
    assert "absent" in fits.fit(0).notes
    assert fits.fit(0).distribution.mean(10) == 0
    if "binom" in kind and "neg" not in kind:
        assert fits.first[0, 1] == pytest.approx(1.0)
    ones = fit_count_table([[1], [0], [1], [0]], kind, exposure=[1, 1, 1, 1])
    assert np.isfinite(ones.first).all()
    assert np.isfinite(ones.log_likelihood).all()
    if kind in ("zibinom", "zibernoulli", "zibetabinom"):
        assert "unidentified" in ones.fit(0).notes
        assert ones.z[0, 0] == 0


def test_limits_are_recognized_and_named() -> None:
    regular = fit_counts([1, 1, 1, 1, 2, 1], "negbinom")
    assert regular.distribution.kappa == np.inf
    assert regular.notes == ("no spread",)
    assert fit_counts([1, 1, 1, 1, 2, 1], "zipoisson").notes == ("no inflation",)
    even = fit_counts([3, 3, 3], "betabinom", exposure=[10, 10, 10])
    assert even.distribution.gamma == 0
    assert "no spread" in even.notes
    assert np.isnan(even.standard_errors["gamma"])
    assert even.standard_errors["p"] > 0


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        ([0, -1], {}, "count -1.0 in row 1"),
        ([0, 0.5], {}, "count 0.5 in row 1"),
        ([0, np.nan], {}, "count nan in row 1"),
        ([], {}, "at least one"),
        ([0, 3], {"kind": "binom"}, "pass exposure="),
        ([0, 3], {"kind": "binom", "exposure": [5, 2]}, "row 1, column 0; that is more than the exposure"),
        ([0, 3], {"exposure": [5, -2]}, "exposure is -2.0 in row 1"),
        ([0, 3], {"exposure": [5, 0]}, "but the exposure of the row is 0"),
        ([0, 3], {"kind": "gauss"}, "kind"),
        ([0, 3], {"method": "em"}, "EM is for zero-inflated kinds"),
        ([0, 3], {"kind": "zipoisson", "method": "em", "start": {"z": 0.0, "mu": 1.0}}, "begin inside"),
        ([0, 3], {"kind": "zipoisson", "method": "moments"}, "there are no moments"),
        ({0: 3, 1: -2}, {}, "weight -2.0 in row 1"),
    ],
)
def test_bad_counts_are_errors_that_name_the_row(counts: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit_counts(counts, **{"kind": "poisson", **options})

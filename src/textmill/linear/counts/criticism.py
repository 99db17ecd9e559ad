"""Does a distribution fit? Expected counts, chi-square with pooled bins, tests of spread and of zeros, Vuong's test.

    chi-square        sum (O - E)^2 / E over bins, df = bins - parameters - 1; neighboring bins are pooled until E >= 5
    tail              "proper": the last bin goes on to infinity; "listed": it ends with the last count that was seen,
                      as in Jansche's tables
    spread            Dean's score for the Poisson, T = sum [(x - m)^2 - x] / sqrt(2 sum m^2); Tarone's for binomials,
                      Z = [sum (x - n p)^2 / (p q) - sum n] / sqrt(2 sum n (n - 1)); both about N(0, 1)
    zeros             van den Broek's score, sum ([x = 0] / f_0 - 1) / sqrt(sum (1 - f_0) / f_0 - C), about N(0, 1);
                      f_0 the probability of 0, C = sum m for the Poisson and sum m / q for the binomial
    likelihood ratio  2 (log L' - log L) of nested models; a parameter that is at its limit in the smaller model (z = 0,
                      gamma = 0, kappa = infinity) makes it half chi-square with 0 and half with 1 df
    Vuong             mean / standard deviation of log f_1(x_i) - log f_2(x_i), times sqrt N; about N(0, 1)

References: Dean & Lawless (1989); Tarone (1979); van den Broek (1995); Vuong (1989); Self & Liang (1987).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.linear.counts.fitting import CountFit, fit_counts
from textmill.linear.counts.tables import counts_and_weights
from textmill.metrics import ChiSquare, chi_square_fit
from textmill.model import check_choice
from textmill.numeric import special
from textmill.tables import Table

__all__ = [
    "CountComparison",
    "GoodnessOfFit",
    "NormalTest",
    "compare_counts",
    "dispersion_test",
    "expected_counts",
    "goodness_of_fit",
    "likelihood_ratio",
    "vuong_test",
    "zero_excess_test",
]

Bin = tuple[int, int | None]  # first and last count; None for no end


@dataclass(frozen=True, slots=True)
class NormalTest:
    """A statistic that is about standard normal if the model is right, and its two-sided and upper probabilities."""

    statistic: float
    p_value: float
    p_above: float


class GoodnessOfFit(Table):
    """Observed and expected counts by bin, and the chi-square test.

    Attributes: bins, observed, expected; statistic; df; p_value; cdf = 1 - p_value. df is 0 and p_value NaN when there
    are too few bins for a test.
    """

    def __init__(self, bins: list[Bin], observed: Floats, expected: Floats, test: ChiSquare) -> None:
        self.bins, self.observed, self.expected = bins, observed, expected
        self.statistic, self.df, self.p_value = test.statistic, test.df, test.p_value
        self.cdf = 1.0 - test.p_value

    def columns(self) -> dict[str, list[Any]]:
        """Return bin, observed and expected."""
        return {
            "count": [_bin_name(one) for one in self.bins],
            "observed": self.observed.tolist(),
            "expected": self.expected.tolist(),
        }


class CountComparison(Table):
    """Several distributions on the same counts, the best AIC first; `fits` by kind, `best` the first kind."""

    def __init__(self, fits: dict[str, CountFit], tests: dict[str, GoodnessOfFit]) -> None:
        order = sorted(fits, key=lambda kind: fits[kind].aic)
        self.fits = {kind: fits[kind] for kind in order}
        self.tests = {kind: tests[kind] for kind in order}
        self.best = order[0]

    def columns(self) -> dict[str, list[Any]]:
        """Return kind, parameters, log-likelihood, AIC, its distance to the best, BIC and chi-square."""
        fits = list(self.fits.values())
        least = fits[0].aic
        return {
            "kind": list(self.fits),
            "parameters": [_shown(fit) for fit in fits],
            "log_likelihood": [fit.log_likelihood for fit in fits],
            "aic": [fit.aic for fit in fits],
            "delta_aic": [fit.aic - least for fit in fits],
            "bic": [fit.bic for fit in fits],
            "chi_square": [test.statistic for test in self.tests.values()],
            "df": [test.df for test in self.tests.values()],
            "p_value": [test.p_value for test in self.tests.values()],
            "notes": [", ".join(fit.notes) for fit in fits],
        }


def expected_counts(
    distribution: Any,
    bins: Sequence[int | Bin],
    *,
    exposure: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    observations: float | None = None,
) -> Floats:
    """How many texts to expect in each bin: a count, (first, last), or (first, None) without an end.

    Without exposure all texts are alike and `observations` is their number; with it, there is one for each length.

    >>> from textmill.linear import Poisson
    >>> expected_counts(Poisson(mu=166 / 247), [0, 1, 2, 3, (4, None)], observations=247).round(2).tolist()
    [126.13, 84.77, 28.48, 6.38, 1.23]
    """
    if exposure is None:
        lengths: Any = None if not distribution.bounded else 1.0
        weights = np.array([1.0 if observations is None else float(observations)])
        distinct = np.array([1.0])
    else:
        lengths_of_texts = np.atleast_1d(np.asarray(exposure, np.float64))
        of_text = np.ones(lengths_of_texts.shape) if sample_weight is None else np.asarray(sample_weight, np.float64)
        distinct, places = np.unique(lengths_of_texts, return_inverse=True)
        weights = np.bincount(places, weights=np.broadcast_to(of_text, lengths_of_texts.shape), minlength=len(distinct))
        if observations is not None:
            weights = weights * (observations / weights.sum())
        lengths = distinct
    expected = []
    for one in bins:
        first, last = (one, one) if isinstance(one, int | np.integer) else one
        if first < 0 or (last is not None and last < first):
            raise DataError(f"bin {one!r} is empty; pass counts or pairs (first, last) with 0 <= first <= last")
        if last is None:
            masses = np.ones(len(distinct)) if first == 0 else distribution.sf(first - 1, lengths)
        elif last - first > 64:
            masses = distribution.cdf(last, lengths) - distribution.cdf(first - 1, lengths)
        else:
            masses = sum(distribution.pmf(x, lengths) for x in range(first, last + 1))
        expected.append(float(np.sum(weights * masses)))
    return np.array(expected)


def goodness_of_fit(
    counts: ArrayLike | Mapping[int, float],
    fit: CountFit,
    *,
    exposure: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    bins: Sequence[int | Bin] | None = None,
    tail: str = "proper",
    min_expected: float = 5.0,
) -> GoodnessOfFit:
    """Chi-square test of a fit; bins of your own are taken as they are, else counts are pooled to `min_expected`.

    >>> were = {0: 179, 1: 58, 2: 18, 3: 5, 4: 1, 5: 1}
    >>> test = goodness_of_fit(were, fit_counts(were, "negbinom"), bins=[0, 1, 2, (3, 5)])
    >>> round(test.statistic, 4), test.df, round(goodness_of_fit(were, fit_counts(were, "poisson")).statistic, 2)
    (0.013, 1, 6.17)
    """
    check_choice("tail", tail, ("proper", "listed"))
    x, weights = counts_and_weights(counts, sample_weight)
    total = float(weights.sum())
    settings: dict[str, Any] = {"observations": total}
    if exposure is not None:
        settings |= {"exposure": np.broadcast_to(np.asarray(exposure, np.float64), x.shape), "sample_weight": weights}
    if bins is not None:
        chosen = [(one, one) if isinstance(one, int | np.integer) else one for one in bins]
        expected = expected_counts(fit.distribution, chosen, **settings)
    else:
        most = int(x.max())
        most = min(most, 10_000)
        single: list[Bin] = [(k, k) for k in range(most + 1)]
        if tail == "proper":
            single.append((most + 1, None))
        chosen, expected = _pooled(single, expected_counts(fit.distribution, single, **settings), min_expected)
    observed = np.array([float(weights[(x >= a) & (x <= (np.inf if b is None else b))].sum()) for a, b in chosen])
    df = len(chosen) - fit.n_parameters - 1
    if (expected <= 0).any() and df >= 1:
        raise DataError("a bin is expected to be empty; pool it with its neighbor")
    if df < 1:
        positive = expected > 0
        statistic = float((((observed - expected) ** 2)[positive] / expected[positive]).sum())
        return GoodnessOfFit(chosen, observed, expected, ChiSquare(statistic, 0, float("nan")))
    return GoodnessOfFit(chosen, observed, expected, chi_square_fit(observed, expected, fitted=fit.n_parameters))


def dispersion_test(
    counts: ArrayLike | Mapping[int, float],
    *,
    exposure: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    kind: str = "poisson",
) -> NormalTest:
    """Do counts vary more than a Poisson or a binomial would? Far above 0: yes, the word comes in bursts.

    >>> round(dispersion_test({0: 405, 1: 39, 2: 26, 3: 18, 4: 5, 5: 4, 6: 5, 7: 3, 8: 3, 14: 1}).statistic, 2)
    45.33
    """
    check_choice("kind", kind, ("poisson", "binom"))
    x, w, n = _sample(counts, exposure, sample_weight, kind)
    first = float(np.sum(w * x) / max(np.sum(w * n), 1e-300))
    m = first * n
    if kind == "poisson":
        above, below = float(np.sum(w * ((x - m) ** 2 - x))), 2 * float(np.sum(w * m * m))
    else:
        inside = 0 < first < 1
        above = float(np.sum(w * (x - m) ** 2) / (first * (1 - first)) - np.sum(w * n)) if inside else 0.0
        below = 2 * float(np.sum(w * n * (n - 1)))
    return _normal(float(above / np.sqrt(below)) if below > 0 else 0.0)


def zero_excess_test(
    counts: ArrayLike | Mapping[int, float],
    *,
    exposure: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    kind: str = "poisson",
) -> NormalTest:
    """Are there more zeros than a Poisson or a binomial has? Far above 0: yes, the word is often out of place.

    >>> round(zero_excess_test({0: 405, 1: 39, 2: 26, 3: 18, 4: 5, 5: 4, 6: 5, 7: 3, 8: 3, 14: 1}).statistic, 2)
    19.59
    """
    check_choice("kind", kind, ("poisson", "binom"))
    x, w, n = _sample(counts, exposure, sample_weight, kind)
    first = float(np.sum(w * x) / max(np.sum(w * n), 1e-300))
    m = first * n
    if kind == "binom" and first >= 1:
        return _normal(0.0)
    inverse = np.exp(m) if kind == "poisson" else np.exp(-n * np.log1p(-first))
    above = np.sum(w * (np.where(x == 0, inverse, 0.0) - 1))
    total = np.sum(w * m)
    below = np.sum(w * (inverse - 1)) - (total if kind == "poisson" else total / (1 - first))
    return _normal(float(above / np.sqrt(below)) if below > 0 and np.isfinite(below) else 0.0)


def likelihood_ratio(smaller: CountFit, larger: CountFit) -> ChiSquare:
    """Test a model against one that contains it; parameters at a limit of the smaller one are allowed for.

    >>> his = {0: 405, 1: 39, 2: 26, 3: 18, 4: 5, 5: 4, 6: 5, 7: 3, 8: 3, 14: 1}
    >>> test = likelihood_ratio(fit_counts(his, "negbinom"), fit_counts(his, "zinegbinom"))
    >>> round(test.statistic, 3), round(test.p_value, 4)
    (3.978, 0.023)
    """
    df = larger.n_parameters - smaller.n_parameters
    inside = _CONTAINS.get(larger.kind, ())
    if smaller.kind not in inside:
        raise DataError(f"'{smaller.kind}' is not contained in '{larger.kind}'; use vuong_test")
    statistic = max(0.0, 2 * (larger.log_likelihood - smaller.log_likelihood))
    # every further parameter has its limit in the smaller model: a mixture of chi-squares with 0 ... df
    shares = [float(special.binom(df, k)) / 2**df for k in range(df + 1)]
    p = shares[0] * float(statistic <= 0) + sum(
        share * float(special.chdtrc(k, statistic)) for k, share in enumerate(shares) if k
    )
    return ChiSquare(statistic, df, min(1.0, p if statistic > 0 else 1.0))


_CONTAINS = {
    "negbinom": ("poisson",),
    "zipoisson": ("poisson",),
    "zinegbinom": ("poisson", "negbinom", "zipoisson"),
    "betabinom": ("binom",),
    "zibinom": ("binom",),
    "zibetabinom": ("binom", "betabinom", "zibinom"),
}


def vuong_test(
    first: CountFit,
    second: CountFit,
    counts: ArrayLike | Mapping[int, float],
    *,
    exposure: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    correction: str = "none",
) -> NormalTest:
    """Compare two models of which none contains the other; above 0 the first is nearer to the data.

    `correction` takes parameters into account: none, aic or bic.

    >>> his = {0: 405, 1: 39, 2: 26, 3: 18, 4: 5, 5: 4, 6: 5, 7: 3, 8: 3, 14: 1}
    >>> round(vuong_test(fit_counts(his, "negbinom"), fit_counts(his, "zipoisson"), his).statistic, 2)
    1.51
    """
    check_choice("correction", correction, ("none", "aic", "bic"))
    x, w = counts_and_weights(counts, sample_weight)
    lengths = None if exposure is None else np.broadcast_to(np.asarray(exposure, np.float64), x.shape)
    gap = first.distribution.logpmf(x, lengths) - second.distribution.logpmf(x, lengths)
    total = float(w.sum())
    mean = float(np.sum(w * gap)) / total
    deviation = float(np.sqrt(np.sum(w * (gap - mean) ** 2) / total))
    further = first.n_parameters - second.n_parameters
    penalty = {"none": 0.0, "aic": float(further), "bic": further * float(np.log(total)) / 2}[correction]
    return _normal((mean * total - penalty) / (deviation * np.sqrt(total)) if deviation > 0 else 0.0)


def compare_counts(
    counts: ArrayLike | Mapping[int, float],
    kinds: Sequence[str] | None = None,
    *,
    exposure: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CountComparison:
    """Fit several distributions to the counts of one word and compare them.

    Without kinds: with exposure the binomials, without it the Poisson and the negative binomial, plain and inflated.

    >>> his = {0: 405, 1: 39, 2: 26, 3: 18, 4: 5, 5: 4, 6: 5, 7: 3, 8: 3, 14: 1}
    >>> compare_counts(his).best
    'zinegbinom'
    """
    if kinds is None:
        plain = ("poisson", "negbinom") if exposure is None else ("binom", "betabinom")
        kinds = (*plain, *(f"zi{kind}" for kind in plain))
    settings: dict[str, Any] = {"exposure": exposure, "sample_weight": sample_weight}
    fits = {kind: fit_counts(counts, kind, **settings) for kind in kinds}
    tests = {kind: goodness_of_fit(counts, fit, **settings) for kind, fit in fits.items()}
    return CountComparison(fits, tests)


def _sample(
    counts: ArrayLike | Mapping[int, float], exposure: ArrayLike | None, sample_weight: ArrayLike | None, kind: str
) -> tuple[Floats, Floats, Floats]:
    if kind == "binom" and exposure is None:
        raise DataError("the binomial needs the length of each text; pass exposure=")
    x, w = counts_and_weights(counts, sample_weight)
    n = np.broadcast_to(np.asarray(1.0 if exposure is None else exposure, np.float64), x.shape)
    if (x > 0)[n == 0].any() or (kind == "binom" and (x > n).any()):
        row = int(np.argmax((x > n) | ((n == 0) & (x > 0))))
        raise DataError(f"count {x[row]:g} in row {row} is above its exposure {n[row]:g}")
    return x, w, n


def _normal(statistic: float) -> NormalTest:
    above = float(special.ndtr(-statistic))
    return NormalTest(float(statistic), min(1.0, 2 * float(special.ndtr(-abs(statistic)))), above)


def _pooled(bins: list[Bin], expected: Floats, least: float) -> tuple[list[Bin], Floats]:
    """Neighbors put together until every bin expects `least`, from the left; a rest joins the last bin."""
    chosen: list[Bin] = []
    sums: list[float] = []
    begin, mass = 0, 0.0
    for i, own in enumerate(expected.tolist()):
        mass += own
        if mass >= least:
            chosen.append((bins[begin][0], bins[i][1]))
            sums.append(mass)
            begin, mass = i + 1, 0.0
    if begin < len(bins):
        if chosen:
            chosen[-1] = (chosen[-1][0], bins[-1][1])
            sums[-1] += mass
        else:
            chosen, sums = [(bins[0][0], bins[-1][1])], [mass]
    return chosen, np.array(sums)


def _bin_name(one: Bin) -> str:
    first, last = one
    return f"{first}+" if last is None else str(first) if first == last else f"{first}-{last}"


def _shown(fit: CountFit) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in fit.distribution.parameters.items())

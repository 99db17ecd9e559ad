"""Is a difference real? Bootstrap intervals, paired tests of two systems, McNemar, chi-square.

Bootstrap and randomization work on counts: an array with a row of counts for each item (sentence, document, query), and
a figure, a function from summed counts (..., fields) to values (...); the `value` of any utility is one.

    bootstrap          draw n items of n with replacement, sum their counts, take the figure; R times
    percentile         the quantiles (1 -+ confidence) / 2 of the R figures
    BCa                the quantiles Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z = Phi^-1((1 -+ confidence) / 2), with
                       z0 = Phi^-1(share of figures below the estimate, ties half),
                       a = sum d^3 / (6 (sum d^2)^(3/2)),  d_i = mean leave-one-out figure - figure without item i
    paired bootstrap   the same items for both systems; p = (1 + #{|d_r - d| >= |d|}) / (R + 1), d the difference
    randomization      swap the systems' counts of each item with probability 1/2; p = (1 + #{|d_r| >= |d|}) / (R + 1)
    McNemar            b, c items that only one system gets right: exact two-sided binomial(b + c, 1/2), or with 1
                       degree of freedom (b - c)^2 / (b + c), corrected (|b - c| - 1)^2 / (b + c)
    chi-square         sum (observed - expected)^2 / expected

Random numbers come from Philox, a counter-based generator, so a seed gives the same figures on every machine. Items
must be independent: resample sentences or documents rather than tokens. Cost: O(R n fields).
References: Efron (1987); Noreen (1989); Yeh (2000); Koehn (2004); McNemar (1947); Yates (1934).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.metrics._inputs import check_lengths, choice, numbers, truths
from textmill.metrics.conventions import signature
from textmill.numeric import special

__all__ = [
    "ChiSquare",
    "Difference",
    "Interval",
    "PairedCounts",
    "bootstrap_figures",
    "bootstrap_interval",
    "chi_square_fit",
    "chi_square_independence",
    "paired_bootstrap",
    "randomization_test",
]

_Figure = Callable[[Floats], Floats]

_DRAWS = 1 << 20  # random numbers held at a time


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and the interval around it."""

    estimate: float
    low: float
    high: float
    method: str
    confidence: float
    resamples: int
    random_state: int

    @property
    def signature(self) -> str:
        """How the interval was made, to print beside it."""
        return signature(
            "bootstrap",
            method=self.method,
            confidence=self.confidence,
            resamples=self.resamples,
            seed=self.random_state,
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """Figure of the first system minus that of the second, and how likely chance alone makes one as large."""

    difference: float
    p_value: float
    method: str
    resamples: int
    random_state: int

    @property
    def signature(self) -> str:
        """How the p-value was made, to print beside it."""
        return signature(self.method, sides=2, resamples=self.resamples, seed=self.random_state)


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """A chi-square statistic, its degrees of freedom, and the probability of one at least as large by chance."""

    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """Items that both, one or neither of two systems gets right.

    >>> counts = PairedCounts.from_correct([1, 1, 1, 0, 1], [1, 0, 0, 0, 1])
    >>> counts.only_first, counts.only_second, counts.mcnemar_exact()
    (2, 0, 0.5)
    >>> round(PairedCounts(only_first=120, only_second=90).mcnemar().statistic, 4)
    4.0048
    """

    both: int = 0
    only_first: int = 0
    only_second: int = 0
    neither: int = 0

    def __post_init__(self) -> None:
        if min(self.both, self.only_first, self.only_second, self.neither) < 0:
            raise DataError("a count of items is negative; counts are at least 0")

    @classmethod
    def from_correct(cls, first: ArrayLike, second: ArrayLike) -> PairedCounts:
        """Count from two parallel lists of right (true) and wrong (false)."""
        one, two = truths("first", first), truths("second", second)
        check_lengths("first", len(one), "second", len(two))
        neither, only_second, only_first, both = np.bincount(2 * one + two, minlength=4).tolist()
        return cls(both, only_first, only_second, neither)

    def __add__(self, other: PairedCounts) -> PairedCounts:
        return PairedCounts(
            self.both + other.both,
            self.only_first + other.only_first,
            self.only_second + other.only_second,
            self.neither + other.neither,
        )

    def mcnemar(self, corrected: bool = True) -> ChiSquare:
        """McNemar's chi-square, with or without continuity correction; p = 1 when the systems never differ."""
        differ = self.only_first + self.only_second
        if differ == 0:
            return ChiSquare(0.0, 1, 1.0)
        gap = abs(self.only_first - self.only_second) - (1 if corrected else 0)
        return _chi_square(gap * gap / differ, 1)

    def mcnemar_exact(self) -> float:
        """Exact two-sided p-value."""
        differ = self.only_first + self.only_second
        return min(1.0, 2.0 * float(special.bdtr(min(self.only_first, self.only_second), differ, 0.5)))


def bootstrap_figures(counts: ArrayLike, figure: _Figure, *, resamples: int = 1000, random_state: int = 0) -> Floats:
    """Figures of resampled items.

    >>> figures = bootstrap_figures([[1, 1], [0, 1], [1, 1]], lambda sums: sums[..., 0] / sums[..., 1], resamples=5)
    >>> figures.shape
    (5,)
    """
    rows = _rows("counts", counts)
    return _figures(
        figure, np.concatenate([_sums(picks, rows) for picks in _resampled(len(rows), resamples, random_state)])
    )


def bootstrap_interval(
    counts: ArrayLike,
    figure: _Figure,
    *,
    method: str = "percentile",
    confidence: float = 0.95,
    resamples: int = 1000,
    random_state: int = 0,
) -> Interval:
    """Interval of a figure over items: `percentile`, or `bca` (bias-corrected and accelerated).

    >>> from textmill.metrics.utility import FWeight, RatioUtility
    >>> f1 = RatioUtility.f(FWeight.from_beta(1.0))
    >>> interval = bootstrap_interval([[1, 0, 0, 1]] * 30 + [[0, 1, 1, 0]] * 10, f1.value)
    >>> interval.estimate, interval.low < 0.75 < interval.high
    (0.75, True)
    """
    choice("method", method, ("percentile", "bca"))
    if not 0.0 < confidence < 1.0:
        raise DataError(f"confidence {confidence} is not between 0 and 1; pass 0.95 for 95 %")
    rows = _rows("counts", counts)
    estimate = float(_figures(figure, rows.sum(axis=0)))
    figures = bootstrap_figures(rows, figure, resamples=resamples, random_state=random_state)
    levels = np.array([(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    if method == "bca":
        levels = _bca_levels(levels, figures, estimate, _figures(figure, rows.sum(axis=0) - rows))
    low, high = np.quantile(figures, levels).tolist()
    return Interval(estimate, low, high, method, confidence, resamples, random_state)


def paired_bootstrap(
    first: ArrayLike, second: ArrayLike, figure: _Figure, *, resamples: int = 1000, random_state: int = 0
) -> Difference:
    """Compare two systems on the same items by resampling items.

    >>> better, worse = [[1, 1]] * 19 + [[0, 1]], [[1, 1], [0, 1]] * 10
    >>> result = paired_bootstrap(better, worse, lambda sums: sums[..., 0] / sums[..., 1])
    >>> round(result.difference, 2), result.p_value < 0.01
    (0.45, True)
    """
    one, two = _pair(first, second)
    observed = float(_figures(figure, one.sum(axis=0)) - _figures(figure, two.sum(axis=0)))
    parts = [
        _figures(figure, _sums(picks, one)) - _figures(figure, _sums(picks, two))
        for picks in _resampled(len(one), resamples, random_state)
    ]
    differences = np.concatenate(parts)
    return Difference(observed, _share(differences - observed, observed), "paired-bootstrap", resamples, random_state)


def randomization_test(
    first: ArrayLike, second: ArrayLike, figure: _Figure, *, resamples: int = 1000, random_state: int = 0
) -> Difference:
    """Compare two systems on the same items by swapping their answers at random.

    >>> better, worse = [[1, 1]] * 19 + [[0, 1]], [[1, 1], [0, 1]] * 10
    >>> randomization_test(better, worse, lambda sums: sums[..., 0] / sums[..., 1]).p_value < 0.01
    True
    """
    one, two = _pair(first, second)
    observed = float(_figures(figure, one.sum(axis=0)) - _figures(figure, two.sum(axis=0)))
    generator = _generator(random_state)
    parts = []
    for block in _blocks(len(one), resamples):
        swaps = generator.integers(0, 2, size=(block, len(one)), dtype=np.int8)
        moved = _sums(swaps.astype(np.float64), two - one)
        parts.append(_figures(figure, one.sum(axis=0) + moved) - _figures(figure, two.sum(axis=0) - moved))
    return Difference(observed, _share(np.concatenate(parts), observed), "randomization", resamples, random_state)


def chi_square_fit(observed: ArrayLike, expected: ArrayLike, *, fitted: int = 0) -> ChiSquare:
    """Goodness of fit: df = bins - fitted parameters - 1. Pool bins first so that each expects 5 or so.

    The two sides may have different totals, as when expected counts leave out a tail.

    >>> negative_binomial = [403.853, 48.333, 21.686, 12.108, 7.424, 8.001, 6.996]
    >>> fit = chi_square_fit([405, 39, 26, 18, 5, 9, 7], negative_binomial, fitted=2)
    >>> round(fit.statistic, 3), fit.df, round(1 - fit.p_value, 3)
    (6.447, 4, 0.832)
    """
    counted, awaited = numbers("observed", observed), numbers("expected", expected)
    check_lengths("observed", len(counted), "expected", len(awaited))
    if counted.min() < 0.0 or awaited.min() <= 0.0:
        raise DataError("observed counts must be at least 0 and expected ones above 0; pool empty bins")
    df = len(counted) - fitted - 1
    if df < 1:
        raise DataError(f"{len(counted)} bins and {fitted} fitted parameters leave no degree of freedom; use more bins")
    return _chi_square(float(((counted - awaited) ** 2 / awaited).sum()), df)


def chi_square_independence(table: ArrayLike, *, yates: bool = False) -> ChiSquare:
    """Independence of the rows and columns of a table of counts; `yates` corrects a 2 x 2 table for continuity.

    >>> result = chi_square_independence([[10, 20], [30, 5]])
    >>> round(result.statistic, 4), result.df
    (18.7262, 1)
    """
    counted = numbers("table", table, 2)
    rows, columns = counted.sum(axis=1), counted.sum(axis=0)
    if min(counted.shape) < 2 or counted.min() < 0.0 or rows.min() == 0.0 or columns.min() == 0.0:
        raise DataError(
            "the table needs two rows and columns, counts of at least 0, no empty row or column; drop those"
        )
    if yates and counted.shape != (2, 2):
        raise DataError(f"the Yates correction is for 2 x 2 tables, not {counted.shape}; pass yates=False")
    expected = np.outer(rows, columns) / counted.sum()
    gap = np.abs(counted - expected)
    if yates:
        gap -= np.minimum(0.5, gap)
    return _chi_square(float((gap**2 / expected).sum()), (len(rows) - 1) * (len(columns) - 1))


def _chi_square(statistic: float, df: int) -> ChiSquare:
    return ChiSquare(statistic, df, float(special.chdtrc(df, statistic)))


def _bca_levels(levels: Floats, figures: Floats, estimate: float, without: Floats) -> Floats:
    below = (np.count_nonzero(figures < estimate) + np.count_nonzero(figures <= estimate)) / (2.0 * len(figures))
    if not 0.0 < below < 1.0:
        raise DataError("all resampled figures lie on one side of the estimate, so BCa fails; use method='percentile'")
    deviation = without.mean() - without
    spread = float((deviation**2).sum())
    acceleration = float((deviation**3).sum()) / (6.0 * spread**1.5) if spread > 0.0 else 0.0
    bias = float(special.ndtri(below))
    shifted = bias + special.ndtri(levels)
    return np.asarray(special.ndtr(bias + shifted / (1.0 - acceleration * shifted)), np.float64)


def _resampled(items: int, resamples: int, random_state: int) -> Iterator[Floats]:
    """Blocks (block, items) of how often each item was drawn."""
    generator = _generator(random_state)
    for block in _blocks(items, resamples):
        picks = generator.integers(0, items, size=(block, items)) + items * np.arange(block)[:, None]
        yield np.bincount(picks.ravel(), minlength=block * items).reshape(block, items).astype(np.float64)


def _generator(random_state: int) -> np.random.Generator:
    if random_state < 0:
        raise DataError(f"random_state {random_state} is negative; pass 0 or more")
    return np.random.Generator(np.random.Philox(random_state))


def _sums(picks: Floats, rows: Floats) -> Floats:
    """picks @ rows in one fixed order: a matrix product would change its last bits with the number of threads."""
    return np.asarray(np.einsum("ri,if->rf", picks, rows))


def _blocks(items: int, resamples: int) -> Iterator[int]:
    """Cut resamples into blocks by the number of items, never by the machine."""
    if resamples < 1:
        raise DataError(f"resamples is {resamples}; draw 1000 or more")
    size = max(1, _DRAWS // items)
    for start in range(0, resamples, size):
        yield min(size, resamples - start)


def _share(differences: Floats, observed: float) -> float:
    """Share of resampled differences as large as the observed one, which counts as one of them."""
    extreme = np.abs(differences) >= abs(observed) - 1e-12 * max(1.0, abs(observed))
    return (1 + int(np.count_nonzero(extreme))) / (len(differences) + 1)


def _figures(figure: _Figure, sums: Floats) -> Floats:
    values = np.asarray(figure(sums), np.float64)
    if values.shape != sums.shape[:-1]:
        raise DataError(
            f"the figure maps sums {sums.shape} to {values.shape}; write it over the last axis: sums[..., 0]"
        )
    if not np.all(np.isfinite(values)):
        raise DataError("the figure is not finite on some resample; give it a zero_division or more items")
    return values


def _rows(name: str, counts: ArrayLike) -> Floats:
    rows = numbers(name, counts, 2)
    if not rows.size:
        raise DataError(f"{name} is empty; pass a row of counts for each item")
    return rows


def _pair(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    one, two = _rows("first", first), _rows("second", second)
    if one.shape != two.shape:
        raise DataError(f"first is {one.shape} but second is {two.shape}; count both systems on the same items")
    return one, two

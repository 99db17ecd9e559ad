"""Labels for the score you report: expected F of a set of items, and the set of greatest expected F.

A model gives every item (token, document, boundary) a probability p_i; labels are independent. For a set z

    F_b(z, y) = (b + 1) A / (P + b T),  0/0 = 1          A = z.y hits,  P = z.z claimed,  T = y.y to be found
    E F(z) = sum_y F(z, y) prod_i p_i^{y_i} (1 - p_i)^{1 - y_i}

b is the square of beta: F1 has b = 1, F2 b = 4. Of all sets of m items the m most probable ones are best, and so for
any utility that does not fall with A at fixed P and T (exchange argument): n + 1 sets are candidates. Their
expectations E_0 ... E_n need not have one maximum, so all are looked at.

| method | cost | |
|---|---|---|
| literal | n^4 | a sweep over states (A, T) for every candidate (simple_functions.py), as published |
| cubic | n V | sums over the distributions of A and T - A, V the variance of T; any b |
| quadratic | (q + r) n^2 | b = q / r, a table of E 1 / (c + q R); exact |
| pruned | n^2 L | the sweep with at most L states a position; a lower bound |
| approximate | n log n | four moments, an interval that is sure to hold |

Approximate: with d = m + b mu, mu = E T, x = T - mu and D = m + b T,

    1 / D = 1/d - b x/d^2 + b^2 x^2/d^3 - b^3 x^3/d^4 + b^4 x^4/(d^4 D)

and A / D <= 1 / (1 + b), so E_m is known up to b^4 E x^4 / d^4 from sums over the items, all m in one pass. Each
shorter expansion gives a bound as well; the narrowest holds.

References: Jansche, A maximum expected utility framework for binary sequence labeling (2007); Ye, Chai, Lee & Chieu,
Optimizing F-measure: a tale of two approaches (2012).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill._native import sequence as native
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.metrics import FWeight, RatioUtility, Utility, named_utility
from textmill.model import check_choice, check_range, effective_jobs

__all__ = [
    "DECODERS",
    "Decoding",
    "RatioWeight",
    "SetDistribution",
    "check_at_most",
    "check_probabilities",
    "count_expectation",
    "decode_f",
    "decode_f_sets",
    "decode_sets",
    "decode_utility",
    "expected_f",
    "expected_f_curve",
    "expected_f_gradient",
    "expected_f_loss",
    "f_distribution",
    "f_weight",
]

DECODERS = ("auto", "quadratic", "cubic", "literal", "pruned", "approximate")
MOST_QUADRATIC = 10_000  # items that `auto` decodes exactly whatever it costs
LARGEST_RATIO = 24  # q + r from which the cubic method is faster
MOST_STEPS = 2e9  # that `auto` spends on the candidates which the approximation leaves
ROUNDING = 1e-13  # of sums over many items


@dataclass(frozen=True, slots=True)
class Decoding:
    """A set of items, those with the label 1: its expected utility and the greatest one lie in [value, value + error].

    >>> decode_f([0.4, 0.4, 0.3]).labels.tolist()
    [1, 1, 1]
    """

    labels: NDArray[np.uint8]
    value: float
    error: float = 0.0

    @property
    def size(self) -> int:
        """Number of items in the set."""
        return int(self.labels.sum())


@dataclass(frozen=True, slots=True)
class SetDistribution:
    """What the score of a set may turn out to be: distinct values, rising, and their probabilities."""

    values: Floats
    probabilities: Floats

    @property
    def mean(self) -> float:
        """The expectation."""
        return float(self.values @ self.probabilities)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The values that leave (1 - level) / 2 of the probability on either side.

        >>> f_distribution([1, 0], [0.5, 0.5]).interval(0.8)
        (0.0, 1.0)
        """
        check_range("level", level, above=0, below=1)
        below = np.cumsum(self.probabilities)
        ends = np.searchsorted(below, [(1 - level) / 2, (1 + level) / 2])
        low, high = self.values[np.minimum(ends, len(self.values) - 1)].tolist()
        return low, high


def expected_f(z: ArrayLike, p: ArrayLike, beta: float = 1.0, *, b: float | None = None) -> float:
    """Expected F of a set z under independent labels, exactly.

    >>> round(expected_f([1, 1, 0], [0.4, 0.4, 0.3]), 12)
    0.4464
    """
    return f_distribution(z, p, beta, b=b).mean


def f_distribution(z: ArrayLike, p: ArrayLike, beta: float = 1.0, *, b: float | None = None) -> SetDistribution:
    """The distribution of the F of a set z.

    >>> f_distribution([1], [0.25])
    SetDistribution(values=array([0., 1.]), probabilities=array([0.75, 0.25]))
    """
    chances, flags = check_probabilities(p), _flags(z, len(check_probabilities(p)))
    hits, rest = (native.sum_distribution(chances[flags == side]) for side in (1, 0))
    weight = f_weight(beta, b).b
    table = _f_table(len(hits) - 1, np.arange(len(hits)), np.arange(len(rest)), weight)
    values, group = np.unique(table, return_inverse=True)
    return SetDistribution(
        values, np.bincount(group.ravel(), np.outer(hits, rest).ravel(), len(values)).astype(np.float64)
    )


def expected_f_curve(
    p: ArrayLike, beta: float = 1.0, *, b: float | None = None, method: str = "auto", beam: int | None = None
) -> Floats:
    """E_0 ... E_n: the expected F of the m most probable items, for every m; of "pruned" lower bounds.

    >>> expected_f_curve([0.9, 0.2]).round(6).tolist()
    [0.08, 0.84, 0.673333]
    """
    check_choice("method", method, DECODERS)
    chances, weight = check_probabilities(p), f_weight(beta, b)
    order = np.argsort(-chances, kind="stable")
    if method in ("literal", "pruned"):
        return _swept_curve(chances, order, weight.b, method, beam)[0]
    if method == "approximate":
        return _interval(chances[order], weight.b)[0]
    return _exact_curve(chances[order], weight, method, 0, len(chances))


def decode_f(
    p: ArrayLike,
    beta: float = 1.0,
    *,
    b: float | None = None,
    method: str = "auto",
    beam: int | None = None,
    at_most: int | None = None,
    tolerance: float = 1e-6,
) -> Decoding:
    """The set of greatest expected F; among equal ones the smallest, of at most `at_most` items.

    `beta` is that of F_beta; `b`, its square, takes its place when given. `method` is one of `DECODERS`; "auto" is
    exact up to 10,000 items, and beyond where the approximation is not within `tolerance` and exactness can be
    afforded. `beam` is L of "pruned", 2 n if None.

    >>> best = decode_f([0.4, 0.4, 0.3])
    >>> best.labels.tolist(), round(best.value, 6), best.error
    ([1, 1, 1], 0.4748, 0.0)
    >>> decode_f([0.1, 0.1, 0.1]).size
    0
    """
    check_choice("method", method, DECODERS)
    chances, weight = check_probabilities(p), f_weight(beta, b)
    n = len(chances)
    most = n if at_most is None else min(n, int(check_at_most(at_most)))
    order = np.argsort(-chances, kind="stable")
    if method in ("literal", "pruned"):
        low, lost = _swept_curve(chances, order, weight.b, method, beam)
        return _decoding(order, low[: most + 1], (low + lost)[: most + 1])
    if method == "approximate" or (method == "auto" and n > MOST_QUADRATIC):
        low, high = (side[: most + 1] for side in _interval(chances[order], weight.b))
        decoding = _decoding(order, low, high)
        if method == "approximate" or decoding.error <= tolerance:
            return decoding
        candidates = np.flatnonzero(high >= low.max())
        first, last = int(candidates[0]), int(candidates[-1])
        variance = float((chances * (1 - chances)).sum())
        if (last - first + 1) * min(600 * variance + 100, n * n) + n * (25 * variance**0.5 + 10) > MOST_STEPS:
            return decoding
        exact = _exact_curve(chances[order], weight, "cubic", first, last)
        return _decoding(order, exact, exact, first)
    exact = _exact_curve(chances[order], weight, method, 0, most)
    return _decoding(order, exact, exact)


def decode_f_sets(
    sets: Sequence[ArrayLike],
    beta: float = 1.0,
    *,
    b: float | None = None,
    micro: bool = False,
    at_most: int | None = None,
    n_jobs: int | None = None,
) -> list[Decoding]:
    """Decode many sets of items, each for its own F, or with `micro` all as one set whose parts are handed back.

    With `micro`, value and error are those of the whole, in every part.

    >>> [part.labels.tolist() for part in decode_f_sets([[0.9, 0.2], [0.1, 0.1]])]
    [[1, 0], [0, 0]]
    """
    parts = [check_probabilities(one, f"set {k}: ") for k, one in enumerate(sets)]
    ends = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    whole = np.concatenate([np.empty(0), *parts])
    if micro:
        joint = decode_f(whole, beta, b=b, at_most=at_most)
        cuts = np.split(joint.labels, ends[1:-1]) if parts else []
        return [Decoding(labels, joint.value, joint.error) for labels in cuts]
    weight = f_weight(beta, b)
    labels, values = np.empty(len(whole), np.uint8), np.empty(len(parts))
    most = len(whole) if at_most is None else int(check_at_most(at_most))
    q, r = weight.ratio
    native.decode_f(whole, ends, weight.b, q, r, most, labels, values, effective_jobs(n_jobs))
    cuts = np.split(labels, ends[1:-1]) if parts else []
    return [Decoding(own, value) for own, value in zip(cuts, values.tolist(), strict=True)]


def decode_utility(utility: Utility, p: ArrayLike, *, at_most: int | None = None) -> Decoding:
    """The set of greatest expected utility, for utilities over counts that do not fall with hits at fixed sums.

    That holds for F, Jaccard, precision, recall, accuracy, costs and all others of `metrics.utility`. Cubic: for F
    `decode_f` is faster by far.

    >>> from textmill.metrics import RatioUtility
    >>> decode_utility(RatioUtility.jaccard(), [0.4, 0.4, 0.3]).labels.tolist()
    [1, 1, 1]
    """
    chances = check_probabilities(p)
    n = len(chances)
    most = n if at_most is None else min(n, int(check_at_most(at_most)))
    order = np.argsort(-chances, kind="stable")
    falling = chances[order]
    values = np.empty(most + 1)
    for m in range(most + 1):
        hits, rest = native.sum_distribution(falling[:m]), native.sum_distribution(falling[m:])
        values[m] = count_expectation(utility, hits, rest, m, n)
    return _decoding(order, values, values)


def decode_sets(
    sets: Sequence[ArrayLike],
    utility: str | Utility = "f1",
    *,
    micro: bool = False,
    at_most: int | None = None,
    n_jobs: int | None = None,
) -> list[Decoding]:
    """Decode many sets for any utility, by name (see `named_utility`) or as an object; F by the fast methods.

    >>> [part.labels.tolist() for part in decode_sets([[0.9, 0.2], [0.1, 0.1]], "jaccard", micro=True)]
    [[1, 0], [0, 0]]
    """
    measure = named_utility(utility) if isinstance(utility, str) else utility
    if isinstance(measure, RatioUtility) and measure.numerator == (1.0, 0.0, 0.0, 0.0):
        hit, miss, alarm, rejection = measure.denominator
        weight = FWeight(miss, alarm) if (hit, miss + alarm, rejection) == (1.0, 1.0, 0.0) else None
        if weight is not None and measure == RatioUtility.f(weight) and weight.b < 1e12:
            return decode_f_sets(sets, b=weight.b, micro=micro, at_most=at_most, n_jobs=n_jobs)
    parts = [check_probabilities(one, f"set {k}: ") for k, one in enumerate(sets)]
    if not micro:
        return [decode_utility(measure, part, at_most=at_most) for part in parts]
    joint = decode_utility(measure, np.concatenate([np.empty(0), *parts]), at_most=at_most)
    cuts = np.split(joint.labels, np.cumsum([len(part) for part in parts])[:-1]) if parts else []
    return [Decoding(labels, joint.value, joint.error) for labels in cuts]


def count_expectation(utility: Utility, hits: Floats, rest: Floats, claimed: int, items: int) -> float:
    """Expectation over independent hits and misses: their distributions from 0 on."""
    a, r = (np.flatnonzero(side > 0) for side in (hits, rest))
    total = 0.0
    for rows in np.array_split(a, 1 + len(a) * len(r) // 2_000_000):  # not all of a large table at once
        grid = np.empty((len(rows), len(r), 4))
        grid[..., 0], grid[..., 1] = rows[:, None], r
        grid[..., 2], grid[..., 3] = claimed - rows[:, None], items - claimed - r
        total += float(hits[rows] @ utility.value(grid) @ rest[r])
    return total


def expected_f_gradient(
    z: ArrayLike, p: ArrayLike, beta: float = 1.0, *, b: float | None = None
) -> tuple[float, Floats]:
    """Expected F of a set z, and its derivatives by the probabilities, E[F | y_i = 1] - E[F | y_i = 0]; O(n^2).

    >>> value, gradient = expected_f_gradient([1, 1, 0], [0.4, 0.4, 0.3])
    >>> round(value, 6), gradient.round(6).tolist()
    (0.4464, [0.499333, 0.499333, -0.112])
    """
    chances = check_probabilities(p)
    flags = _flags(z, len(chances))
    weight = f_weight(beta, b).b
    inside, outside = np.ascontiguousarray(chances[flags == 1]), np.ascontiguousarray(chances[flags == 0])
    hits, rest = native.sum_distribution(inside), native.sum_distribution(outside)
    table = _f_table(len(inside), np.arange(len(hits)), np.arange(len(rest)), weight)
    gradient, part = np.empty(len(chances)), np.empty(len(inside))
    value = native.sum_gradient(inside, table @ rest, part)
    gradient[flags == 1] = part
    part = np.empty(len(outside))
    native.sum_gradient(outside, hits @ table, part)
    gradient[flags == 0] = part
    return float(value), gradient


def expected_f_loss(
    p: ArrayLike, gold: ArrayLike, beta: float = 1.0, *, b: float | None = None
) -> tuple[float, Floats]:
    """Expected F of labels drawn from p against the gold labels, and its derivatives: a smooth training criterion.

    The roles are swapped: what is random is the answer. F_b of an answer against gold is F_{1/b} of gold against it.

    >>> round(expected_f_loss([0.5] * 4, [1, 0, 1, 1])[0], 10)
    0.5598214286
    """
    weight = f_weight(beta, b).b
    if weight == 0:
        raise DataError("beta is 0, which asks for precision alone; pass a number above 0")
    return expected_f_gradient(gold, p, b=1.0 / weight)


class RatioWeight(NamedTuple):
    """b of F_b, as a number and as a ratio of small ones."""

    b: float
    ratio: tuple[int, int]  # b = q / r, or (0, 0)


def f_weight(beta: float, b: float | None) -> RatioWeight:
    """Read beta, or b in its place."""
    weight = (FWeight.from_beta(beta) if b is None else FWeight.from_b(b)).b
    if not weight < 1e12:
        raise DataError("beta is too large: pure recall is greatest for all items; pass a number below 1e6")
    fraction = Fraction(weight).limit_denominator(LARGEST_RATIO)
    q, r = fraction.numerator, fraction.denominator
    close = abs(q / r - weight) <= 1e-15 * weight and q + r <= LARGEST_RATIO
    return RatioWeight(weight, (q, r) if close else (0, 0))


def check_at_most(at_most: int) -> int:
    """Check the limit of the size of a set."""
    check_range("at_most", at_most, at_least=0, whole=True)
    return at_most


def check_probabilities(p: ArrayLike, place: str = "") -> Floats:
    """Probabilities of items as an array; `place` goes before a message."""
    chances = np.ascontiguousarray(p, dtype=np.float64)
    if chances.ndim != 1:
        raise DataError(f"{place}p has shape {chances.shape}; pass one probability per item")
    wrong = ~((chances >= 0) & (chances <= 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"{place}p has {chances[row]:g} in row {row}; pass probabilities between 0 and 1")
    return chances


def _flags(z: ArrayLike, items: int) -> NDArray[np.uint8]:
    flags = np.asarray(z)
    if flags.shape != (items,):
        raise DataError(f"z has shape {flags.shape} but p has {items} items; pass one label per item")
    if not np.isin(flags, (0, 1)).all():
        raise DataError(f"z has the label {flags[~np.isin(flags, (0, 1))][0]!r}; pass 0 and 1")
    return flags.astype(np.uint8)


def _f_table(claimed: int, hits: NDArray[np.int64], rest: NDArray[np.int64], b: float) -> Floats:
    """F for every number of hits (rows) and of misses (columns)."""
    below = claimed + b * (hits[:, None] + rest)
    table: Floats = np.divide((b + 1) * hits[:, None], below, out=np.ones(below.shape), where=below > 0)
    return table


def _exact_curve(falling: Floats, weight: RatioWeight, method: str, first: int, last: int) -> Floats:
    q, r = weight.ratio
    if method == "quadratic" and not r:
        raise DataError(f"b = {weight.b:g} is no ratio of small numbers, as method='quadratic' needs; use 'cubic'")
    if method == "cubic":
        q = r = 0
    out = np.empty(last - first + 1)
    native.expected_f_curve(falling, weight.b, q, r, first, out)
    return out


def _swept_curve(
    chances: Floats, order: NDArray[np.intp], b: float, method: str, beam: int | None
) -> tuple[Floats, Floats]:
    """Values and lost mass of the candidates by a sweep over states, in Python ("literal") or with a beam."""
    n = len(chances)
    low, lost = np.empty(n + 1), np.zeros(n + 1)
    z = np.zeros(n, np.uint8)
    width = 2 * n if beam is None else int(beam)
    if beam is not None:
        check_range("beam", beam, at_least=1, whole=True)
    for m in range(n + 1):
        if m:
            z[order[m - 1]] = 1
        if method == "pruned":
            low[m], lost[m], _ = native.pruned_expected_f(z, chances, b, max(1, width))
        elif n:
            from textmill.sequence.simple_functions import CountFunction, expectation

            low[m] = expectation(CountFunction.f(b=b), z.tolist(), chances).value
        else:
            low[m] = 1.0
    return low, lost


def _interval(falling: Floats, b: float) -> tuple[Floats, Floats]:
    """Lower and upper bounds of E_0 ... E_n from four moments."""
    p, n = falling, len(falling)
    v = p * (1 - p)
    third, fourth = v * (1 - 2 * p), v * (1 - 3 * v)
    sums = np.zeros((4, n + 1))
    variance = float(v.sum())
    terms = np.stack([p, v, third, fourth + 3 * v * (variance - v)])
    np.cumsum(terms, axis=1, out=sums[:, 1:])
    mean, skew = float(p.sum()), float(third.sum())
    moment4 = 3 * variance**2 + float((v * (1 - 6 * v)).sum())
    a, with1, with2, with3 = sums
    m = np.arange(n + 1)
    d = np.maximum(m + b * mean, 1e-300)
    low, high = np.zeros(n + 1), np.ones(n + 1)
    series = (1 + b) * a / d  # then one term of the expansion after the other, each with the rest it leaves
    with np.errstate(over="ignore", invalid="ignore"):
        moments = (
            (with1, (b / d) ** 2 * variance, 0.0),
            (a * variance + with2, (b / d) ** 3 * (variance * moment4) ** 0.5, -1.0),
            (a * skew + with3, (b / d) ** 4 * moment4, 0.0),
        )
        for k, (moment, rest, below) in enumerate(moments, 1):
            series = series + (1 + b) * (-b / d) ** k * moment / d
            low = np.fmax(low, series + below * rest - ROUNDING)
            high = np.fmin(high, series + rest + ROUNDING)
    low[0] = high[0] = float(np.prod(1 - p))
    return np.minimum(low, high), high


def _decoding(order: NDArray[np.intp], low: Floats, high: Floats, first: int = 0) -> Decoding:
    best = int(np.argmax(low))
    labels = np.zeros(len(order), np.uint8)
    labels[order[: first + best]] = 1
    return Decoding(labels, float(low[best]), float(max(0.0, high.max() - low[best])))

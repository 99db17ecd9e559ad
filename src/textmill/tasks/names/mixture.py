r"""Two classes behind the agreement of pairs, matches and others: Fellegi and Sunter's model by EM over all pairs.

Every pair has a level g_v for every variable v, a field, from different to equal; -1 where a value is missing.

    P(g) = s prod_v m_v(g_v) + (1 - s) prod_v u_v(g_v | g_parent(v))          s share of matches among all pairs
    E    r(g) = s prod m / P(g)                                              the probability that such pairs match
    M    s = mean r,   m_v(l) ~ sum of r over g_v = l,   u_v(l) ~ sum of 1 - r over g_v = l        each plus a / levels

A missing value gives the factor 1. Levels are kept in order: m_v(l) / u_v(l) never falls as l rises, so a disagreement
never speaks for a match. The best m and u under this constraint pool neighboring levels by the share of matches in them
(Dykstra, Kochar & Robertson 1995), so the sum of log P and of the logarithms of the a / levels never falls. Pairs with
the same levels are counted together, and weighted: patterns are few, so EM costs nothing; only counting them costs.

Fields that go together in pairs that do not match, such as postcode and suburb, would count twice. Each field may have
a parent: u_v is then a table of the child's levels for each level of the parent, and a match is compared with how often
other pairs agree on the child *given* what they do on the parent. Parents make a forest (Chow & Liu 1968) of edges that
raise the likelihood of pairs of other records under two classes.

Cost: patterns x variables an iteration. References: Fellegi & Sunter (1969); Larsen & Rubin (2001); Winkler (2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ints
from textmill.numeric import special

__all__ = [
    "AgreementModel",
    "Levels",
    "Patterns",
    "best_fit",
    "find_parents",
    "fit_agreements",
    "log_likelihood",
    "unlike_fields",
]

Levels: TypeAlias = NDArray[np.int8]  # (pairs, variables), -1 is missing

STARTS = (1e-2, 1e-4, 1e-6)  # shares of matches that EM begins with
_PRIOR = 1.0  # a of the module
_STEEP = 4.0  # how much more often EM expects a level than the one below, among matches, at the start
_LARGEST = 0.5  # share of matches: matches are the rarer class
_EDGE = 1e-3  # probabilities of 0 and 1 would be certain for ever
_NONE = 1e-300  # share of matches where there is one class
_EDGES = 8  # pairs of variables that are tried as parent and child
_ROUGH = 1e-7  # tolerance while edges are chosen
_WORTH = 0.1  # of what the second class gains, that an edge has to gain beside it


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """Combinations of levels and how many pairs have them (a weight); `grain` is the largest weight of one pair."""

    levels: Levels
    counts: Floats
    grain: float = 1.0

    @classmethod
    def of(cls, levels: Levels, weights: Floats | None = None) -> Patterns:
        """Count the patterns of pairs.

        >>> found = Patterns.of(np.array([[1, 0], [1, 0], [0, -1]], np.int8))
        >>> found.levels.tolist(), found.counts.tolist()
        ([[0, -1], [1, 0]], [1.0, 2.0])
        """
        keys = np.zeros(len(levels), np.int64)
        width = int(levels.max(initial=0)) + 2
        if width ** levels.shape[1] < 2**62:
            for column in levels.T:
                keys = keys * width + (column + 1)
        else:
            keys = np.unique(levels, axis=0, return_inverse=True)[1].ravel()
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        grain = 1.0 if weights is None else float(weights.max(initial=1.0))
        return cls(levels[first], np.bincount(inverse.ravel(), weights=weights).astype(np.float64), grain)

    def means(self, levels: Levels, values: Floats) -> Floats:
        """Return the mean value of the pairs of each pattern.

        >>> levels = np.array([[1], [0], [1]], np.int8)
        >>> Patterns.of(levels).means(levels, np.array([0.5, 0.2, 0.7])).tolist()
        [0.2, 0.6]
        """
        patterns, inverse = np.unique(np.concatenate([self.levels, levels]), axis=0, return_inverse=True)
        inverse = inverse.ravel()
        sums = np.bincount(inverse[len(self.levels) :], weights=values, minlength=len(patterns))
        counts = np.bincount(inverse[len(self.levels) :], minlength=len(patterns))
        return np.asarray((sums / np.maximum(counts, 1))[inverse[: len(self.levels)]])


@dataclass(frozen=True, slots=True, eq=False)
class AgreementModel:
    """Probabilities of levels, the share of matches, and the objective after each iteration.

    Attributes: m, of each variable (levels,); u, of each variable (rows, levels), with one row, or one for every level
    of the parent and a last one for a parent that is missing; parents, -1 for none; share; trace; converged.
    """

    m: list[Floats]
    u: list[Floats]
    parents: list[int]
    share: float
    trace: Floats
    converged: bool

    def log_ratios(self, levels: Levels) -> Floats:
        """Return log m / u of each level, (pairs, variables); 0 where it is missing."""
        return np.stack([self._log_m(levels, v) - self._log_u(levels, v) for v in range(len(self.m))], axis=-1)

    def classes(self, levels: Levels) -> tuple[Floats, Floats]:
        """Return log s prod m and log (1 - s) prod u."""
        match = np.full(len(levels), np.log(self.share))
        rest = np.full(len(levels), np.log1p(-self.share))
        for v in range(len(self.m)):
            match += self._log_m(levels, v)
            rest += self._log_u(levels, v)
        return match, rest

    def _log_m(self, levels: Levels, v: int) -> Floats:
        return np.append(np.log(self.m[v]), 0.0)[levels[:, v]]

    def _log_u(self, levels: Levels, v: int) -> Floats:
        table = np.log(self.u[v])
        rows = levels[:, self.parents[v]] if self.parents[v] >= 0 else np.zeros(len(levels), np.int8)
        return np.column_stack([table, np.zeros(len(table))])[rows, levels[:, v]]


def fit_agreements(
    patterns: Patterns,
    sizes: Sequence[int],
    *,
    share: float = 1e-4,
    start: Floats | None = None,
    parents: Sequence[int] | None = None,
    prior: float = _PRIOR,
    max_iter: int = 500,
    tolerance: float = 1e-9,
) -> AgreementModel:
    """Fit the model to patterns (variable v has sizes[v] levels), beginning with this share of matches.

    `start` has the probability of a match of each pattern, to begin with that in its place.

    >>> rng = np.random.default_rng(0)
    >>> match = rng.random(50_000) < 0.02
    >>> levels = np.where(rng.random((50_000, 4)) < np.where(match, 0.9, 0.1)[:, None], 1, 0).astype(np.int8)
    >>> found = fit_agreements(Patterns.of(levels), [2] * 4)
    >>> round(found.share, 2), [round(float(m[1]), 1) for m in found.m], [round(float(u[0, 1]), 1) for u in found.u]
    (0.02, [0.9, 0.9, 0.9, 0.9], [0.1, 0.1, 0.1, 0.1])
    """
    levels, counts = patterns.levels, patterns.counts
    above = [-1] * len(sizes) if parents is None else list(parents)
    usual = _usual(patterns, sizes, prior)
    steep = [_STEEP ** np.arange(size, dtype=np.float64) for size in sizes]
    u = [np.tile(q, (1 if above[v] < 0 else sizes[above[v]] + 1, 1)) for v, q in enumerate(usual)]
    model = AgreementModel([w / w.sum() for w in steep], u, above, share, np.zeros(0), False)
    if start is not None:
        r = np.clip(start, _EDGE, 1.0 - _EDGE)
        model = _maximize(patterns, counts * r, counts * (1.0 - r), sizes, above, usual, prior)
    trace: list[float] = []
    converged = False
    for _ in range(max_iter):
        match, rest = model.classes(levels)
        smooth = prior / 2 * (np.log(model.share) + np.log1p(-model.share))
        smooth += sum(prior / len(m) * float(np.log(m).sum()) for m in model.m)
        smooth += sum(
            float((_prior_of(above, v, usual, prior, patterns.grain) * np.log(table)).sum())
            for v, table in enumerate(model.u)
        )
        trace.append(float(counts @ np.logaddexp(match, rest)) + float(smooth))
        if len(trace) > 1 and trace[-1] - trace[-2] <= tolerance * abs(trace[-1]):
            converged = True
            break
        r = special.expit(match - rest)
        model = _maximize(patterns, counts * r, counts * (1.0 - r), sizes, above, usual, prior)
    return AgreementModel(model.m, model.u, above, model.share, np.array(trace), converged)


def log_likelihood(model: AgreementModel, patterns: Patterns) -> float:
    """Return the mean log P of pairs."""
    return float(patterns.counts @ np.logaddexp(*model.classes(patterns.levels))) / float(patterns.counts.sum())


def best_fit(patterns: Patterns, sizes: Sequence[int], parents: Sequence[int] | None, **options: Any) -> AgreementModel:
    """Return the fit of greatest objective from several shares of matches."""
    fits = [fit_agreements(patterns, sizes, share=share, parents=parents, **options) for share in STARTS]
    return max(fits, key=lambda one: float(one.trace[-1]))


def unlike_fields(model: AgreementModel) -> list[bool]:
    """Return for each variable whether matches mostly have its lowest quarter of levels.

    >>> m, u = [np.array([0.1, 0.9]), np.array([0.8, 0.2])], [np.array([[0.9, 0.1]])] * 2
    >>> unlike_fields(AgreementModel(m, u, [-1, -1], 0.01, np.zeros(1), True))
    [False, True]
    """
    return [float(m[: 1 + (len(m) - 2) // 4].sum()) > 0.5 for m in model.m]


def find_parents(halves: Sequence[Patterns], sizes: Sequence[int]) -> tuple[list[int], float]:
    """Find fields that go together in pairs that do not match, by two sets of pairs without a common record.

    Matches agree on most fields. As long as the second class does not, it stands for fields that go together: those of
    them that tell most about each other become parent and child. Otherwise an edge is added if it raises the likelihood
    of either set, under two classes learned from the other one, by a tenth of what the second class is worth.

    Returns the parent of each variable, -1 for none, and how much better two classes are than one in the end, in nats a
    pair of the other set; where that is not above 0 there are not two classes to be seen.
    """
    edges: list[tuple[int, int]] = []
    options = _edges_by_information(halves, sizes) if len(sizes) > 2 else []
    best = _held_out(halves, sizes, edges)
    while options:
        models = [best_fit(half, sizes, _rooted(edges, len(sizes)), tolerance=_ROUGH) for half in halves]
        unlike = [sum(unlike_fields(model)) for model in models]
        if 2 * max(unlike) >= len(sizes):
            alike = {v for model in models for v, other in enumerate(unlike_fields(model)) if not other}
            edge = next((edge for edge in options if alike >= set(edge)), options[0])
            best = _held_out(halves, sizes, [*edges, edge])
        else:
            tried = [(_held_out(halves, sizes, [*edges, edge]), edge) for edge in options]
            after, edge = max(tried, key=lambda one: one[0])
            if after - best <= _WORTH * (best - _held_out(halves, sizes, edges, classes=1)):
                break
            best = after
        edges.append(edge)
        options = [one for one in options if one != edge and not _joined(edges, *one, len(sizes))]
    return _rooted(edges, len(sizes)), best - _held_out(halves, sizes, edges, classes=1)


def _held_out(
    halves: Sequence[Patterns], sizes: Sequence[int], edges: Sequence[tuple[int, int]], classes: int = 2
) -> float:
    """The mean log P of the pairs of either set, by a model of the other one."""
    parents = _rooted(edges, len(sizes))
    total = 0.0
    for seen, unseen in zip(halves, halves[::-1], strict=True):
        one = classes == 1
        model = _one_class(seen, sizes, parents) if one else best_fit(seen, sizes, parents, tolerance=_ROUGH)
        total += log_likelihood(model, unseen) / 2
    return total


def _one_class(patterns: Patterns, sizes: Sequence[int], parents: Sequence[int]) -> AgreementModel:
    """The model without matches."""
    usual = _usual(patterns, sizes, _PRIOR)
    none = np.zeros(len(patterns.counts))
    fitted = _maximize(patterns, none, patterns.counts, sizes, parents, usual, _PRIOR)
    return AgreementModel(fitted.m, fitted.u, fitted.parents, _NONE, np.zeros(0), True)


def _edges_by_information(halves: Sequence[Patterns], sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of variables of which one tells most about the other in a set that the tables were not counted on."""
    gains = []
    for a in range(len(sizes)):
        for b in range(a + 1, len(sizes)):
            first, second = (_joint(half.levels, half.counts, a, b, sizes) for half in halves)
            if min(first.sum(), second.sum()) > 0:
                gain = _transfer(first, second, halves[0].grain) + _transfer(second, first, halves[1].grain)
                gains.append((-gain, a, b))
    return [(a, b) for gain, a, b in sorted(gains)[:_EDGES] if gain < 0]


def _rooted(edges: Sequence[tuple[int, int]], size: int) -> list[int]:
    """The parent of each variable in a forest whose roots come first.

    >>> _rooted([(1, 2), (0, 2)], 4)
    [-1, 2, 0, -1]
    """
    parents = [-1] * size
    done: set[int] = set()
    for root in range(size):
        below = [] if root in done else [root]
        while below:
            here = below.pop()
            done.add(here)
            for a, b in edges:
                for one, other in ((a, b), (b, a)):
                    if one == here and other not in done:
                        parents[other] = here
                        below.append(other)
    return parents


def _joined(edges: Sequence[tuple[int, int]], a: int, b: int, size: int) -> bool:
    """Do edges join two variables already?"""
    group = list(range(size))
    for one, two in edges:
        group = [group[one] if g == group[two] else g for g in group]
    return group[a] == group[b]


def _maximize(
    patterns: Patterns,
    matches: Floats,
    others: Floats,
    sizes: Sequence[int],
    parents: Sequence[int],
    usual: Sequence[Floats],
    prior: float,
) -> AgreementModel:
    """The M step."""
    levels = patterns.levels
    share = (float(matches.sum()) + prior / 2) / (float(patterns.counts.sum()) + prior)
    m, u = [], []
    for v, size in enumerate(sizes):
        M = _level_sums(levels[:, v], matches, size) + prior / size
        U = _level_sums(levels[:, v], others, size) + prior / size
        one, other = _order(M, U)
        m.append(one)
        if parents[v] < 0:
            u.append(other[None])
            continue
        table = np.concatenate([_joint(levels, others, parents[v], v, sizes), np.zeros((1, size))])
        table += _prior_of(parents, v, usual, prior, patterns.grain)
        least = float(one[0]) if matches.any() else 0.0  # a disagreement never speaks for a match
        u.append(np.stack([_floor_row(row / row.sum(), least) for row in table]))
        u[-1][-1] = other
    return AgreementModel(m, u, list(parents), min(share, _LARGEST), np.zeros(0), False)


def _usual(patterns: Patterns, sizes: Sequence[int], prior: float) -> list[Floats]:
    """How often pairs have each level."""
    sums = [_level_sums(patterns.levels[:, v], patterns.counts, size) + prior / size for v, size in enumerate(sizes)]
    return [one / one.sum() for one in sums]


def _prior_of(parents: Sequence[int], v: int, usual: Sequence[Floats], prior: float, grain: float) -> Floats:
    """What is added to the counts of u: a / levels, or below a parent one pair of the child's usual levels."""
    return np.full(usual[v].shape, prior / len(usual[v])) if parents[v] < 0 else usual[v] * max(prior, grain)


def _level_sums(levels: NDArray[np.int8], weights: Floats, size: int) -> Floats:
    there = levels >= 0
    return np.asarray(np.bincount(levels[there], weights=weights[there], minlength=size), np.float64)


def _joint(levels: Levels, weights: Floats, a: int, b: int, sizes: Sequence[int]) -> Floats:
    """Sums of weights by the levels of two variables that are both there."""
    there = (levels[:, a] >= 0) & (levels[:, b] >= 0)
    cells: Ints = levels[there, a].astype(np.int64) * sizes[b] + levels[there, b]
    sums = np.bincount(cells, weights=weights[there], minlength=sizes[a] * sizes[b])
    return np.asarray(sums, np.float64).reshape(sizes[a], sizes[b])


def _transfer(seen: Floats, unseen: Floats, grain: float) -> float:
    """Mean log of p(b | a) / p(b) in cells that were not seen, with probabilities of those that were."""
    usual = seen.sum(axis=0) + _PRIOR / seen.shape[1]
    usual /= usual.sum()
    table = seen + usual * max(_PRIOR, grain)
    table /= table.sum(axis=1, keepdims=True)
    return float((unseen * np.log(table / usual)).sum() / unseen.sum())


def _order(M: Floats, U: Floats) -> tuple[Floats, Floats]:
    """The m and u of greatest likelihood whose ratio does not fall.

    >>> m, u = _order(np.array([3.0, 1.0, 6.0]), np.array([10.0, 40.0, 50.0]))
    >>> m.round(3).tolist(), (m / u).round(3).tolist()
    ([0.096, 0.304, 0.6], [0.8, 0.8, 1.2])
    """
    total = M + U
    pooled = _rise(M / total, total)
    m, u = total * pooled, total * (1.0 - pooled)
    return m / m.sum(), u / u.sum()


def _floor_row(row: Floats, least: float) -> Floats:
    """Probabilities of a child's levels whose lowest one has at least this probability.

    >>> _floor_row(np.array([0.1, 0.6, 0.3]), 0.4).round(2).tolist()
    [0.4, 0.4, 0.2]
    """
    if row[0] >= least:
        return row
    return np.append(least, row[1:] * ((1.0 - least) / row[1:].sum()))


def _rise(values: Floats, weights: Floats) -> Floats:
    """The rising sequence nearest to values: neighbors that fall are pooled to their weighted mean."""
    means: list[float] = []
    sums: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        means.append(value)
        sums.append(weight)
        sizes.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            total = sums[-2] + sums[-1]
            means[-2] = (means[-2] * sums[-2] + means[-1] * sums[-1]) / total
            sums[-2] = total
            sizes[-2] += sizes[-1]
            del means[-1], sums[-1], sizes[-1]
    return np.repeat(means, sizes)

r"""The probability that two records mean the same, without labels: Fellegi and Sunter's model by EM.

Each pair of candidates has a level g_v for every variable v: the measure of a field (`aligned` where it has none, and
`letters` beside it), and how far the pair leads its rivals, cut at fixed places; see comparison.py for all of them.

    P(g) = s prod_v m_v(g_v) + (1 - s) prod_v u_v(g_v)         s share of matches; a missing value gives the factor 1
    E    r(g) = s prod m / P(g)                                 the probability that pairs with these levels match
    M    s = mean r,   m_v(l) ~ sum of r over g_v = l,   u_v(l) ~ sum of 1 - r over g_v = l         each plus a / levels

The sum of log P and of the logarithms of the a / levels (a Dirichlet prior, so that no level has the probability 0) is
what EM raises; it never falls. Pairs with the same levels are counted together, so an iteration does not depend on how
many there are. EM begins with the scores of `RecordMatcher` as r, which says which of the two classes is the matches.

    log odds = log s / (1 - s) + sum_v log m_v(g_v) / u_v(g_v) + sum over fields with equal values of log(sum f^2 / f)

The last sum (`term_frequency`) makes agreement on a rare value count more: f is the share of the records that have it.
With a single variable the two classes cannot be told apart, and dependent variables give too extreme probabilities:
their order is better than their size.

Cost: the candidates once, then patterns times variables an iteration. References: Fellegi & Sunter (1969); Winkler
(2000) for EM and frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError, ModelFileError
from textmill.model import Model, StringTable, check_fitted, check_range
from textmill.numeric import special
from textmill.tasks.names.blocking import Block, Candidates
from textmill.tasks.names.comparison import Floats, PairComparer
from textmill.tasks.names.record_matcher import Contribution, PairExplanation, RecordEstimator, rows_of
from textmill.tasks.names.records import Field, RecordList

__all__ = ["AgreementModel", "FellegiSunter", "fit_agreements"]

Levels: TypeAlias = NDArray[np.int8]  # (pairs, variables), -1 is missing

_CUTS = {"exact": (0.5,), "letters": (0.3, 0.5, 0.7, 0.9), "lead": (-0.1, 0.0, 0.15)}
_MEASURE_CUTS = (0.5, 0.7, 0.85, 0.999)
_PRIOR = 1.0  # a of the module
_EDGE = 1e-3  # scores of 0 and 1 would be certain for ever


@dataclass(frozen=True, slots=True, eq=False)
class AgreementModel:
    """Probabilities of levels: m and u by variable, s, and the objective after each iteration."""

    m: list[Floats]
    u: list[Floats]
    share: float
    trace: Floats
    converged: bool

    def log_ratios(self, levels: Levels) -> Floats:
        """log m / u of each level; 0 where it is missing."""
        return _looked_up([np.log(m / u) for m, u in zip(self.m, self.u, strict=True)], levels)


def fit_agreements(
    levels: Levels,
    sizes: Sequence[int],
    start: Floats,
    *,
    prior: float = _PRIOR,
    max_iter: int = 500,
    tolerance: float = 1e-9,
) -> AgreementModel:
    """Fit the model to levels of pairs (variable v has sizes[v] of them), beginning with probabilities `start`.

    >>> rng = np.random.default_rng(0)
    >>> match = rng.random(20_000) < 0.3
    >>> levels = np.where(rng.random((20_000, 4)) < np.where(match, 0.9, 0.2)[:, None], 1, 0).astype(np.int8)
    >>> found = fit_agreements(levels, [2] * 4, levels.mean(axis=1))
    >>> round(found.share, 2), [round(float(m[1]), 1) for m in found.m], [round(float(u[1]), 1) for u in found.u]
    (0.29, [0.9, 0.9, 0.9, 0.9], [0.2, 0.2, 0.2, 0.2])
    """
    patterns, inverse, counts = np.unique(levels, axis=0, return_inverse=True, return_counts=True)
    start = np.clip(start, _EDGE, 1.0 - _EDGE)
    r = np.bincount(inverse.ravel(), weights=start, minlength=len(counts)) / counts
    trace: list[float] = []
    converged = False
    for _ in range(max_iter):
        share = float((counts @ r + prior / 2) / (counts.sum() + prior))
        m = _level_shares(patterns, counts * r, sizes, prior)
        u = _level_shares(patterns, counts * (1.0 - r), sizes, prior)
        match = _looked_up([np.log(part) for part in m], patterns).sum(axis=1) + np.log(share)
        rest = _looked_up([np.log(part) for part in u], patterns).sum(axis=1) + np.log1p(-share)
        smooth = prior / 2 * (np.log(share) + np.log1p(-share))
        smooth += sum(prior / len(part) * float(np.log(part).sum()) for part in [*m, *u])
        trace.append(float(counts @ np.logaddexp(match, rest) + smooth))
        r = special.expit(match - rest)
        if len(trace) > 1 and trace[-1] - trace[-2] <= tolerance * abs(trace[-1]):
            converged = True
            break
    return AgreementModel(m, u, share, np.array(trace), converged)


def _level_shares(patterns: Levels, weights: Floats, sizes: Sequence[int], prior: float) -> list[Floats]:
    shares = []
    for variable, size in enumerate(sizes):
        there = patterns[:, variable] >= 0
        sums = np.bincount(patterns[there, variable], weights=weights[there], minlength=size) + prior / size
        shares.append(sums / sums.sum())
    return shares


def _looked_up(tables: Sequence[Floats], levels: Levels) -> Floats:
    """The entry of each variable's table at its level, 0 where the level is missing."""
    return np.stack([np.append(table, 0.0)[levels[:, v]] for v, table in enumerate(tables)], axis=-1)


class FellegiSunter(RecordEstimator, Model):
    """Match records by a probability that is learned without labels.

    Parameters:
        fields: As for `RecordMatcher`; a model is saved only with texts.
        blocks: As for `RecordMatcher`; a model is saved only with texts.
        k: As for `RecordMatcher`.
        threshold: The least probability of a match, 0 to 1.
        term_frequency: Whether agreement on a rare value counts more than agreement on a frequent one.
        max_iter: Iterations of EM at most.
        tolerance: Gain of the objective, relative to its size, at which EM ends.
        n_jobs: Threads; None for all cores.

    Attributes:
        fields_: Field of each variable, (variables,).
        measures_: Measure of each variable, (variables,).
        offsets_: Where the levels of each variable begin in `m_` and `u_`, (variables + 1,).
        m_: Probability of each level among matches, (levels of all variables,).
        u_: Probability of each level among the other candidates, (levels of all variables,).
        share_: Share of matches among the candidates.
        trace_: Objective after each iteration, (iterations,).
        n_iter_: Iterations done.
        converged_: Whether the tolerance was reached.

    >>> names = [f"{first} {last}" for first in ("Ann", "Tom", "Eve", "Bob") for last in ("Lee", "Fox", "Day", "Orr")]
    >>> people = RecordList.of({"name": names + [name.replace("o", "oo") + "e" for name in names[:8]]})
    >>> matcher = FellegiSunter(fields=["name"]).fit(people)
    >>> pairs = matcher.pairs(people, threshold=0.9)
    >>> [(names[i], people.columns["name"][j]) for i, j in zip(pairs.left[:2], pairs.right[:2])]
    [('Ann Lee', 'Ann Leee'), ('Ann Fox', 'Ann Fooxe')]
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "fields_": "variable: str",
        "measures_": "variable: str",
        "offsets_": "variable+1: int64",
        "m_": "level",
        "u_": "level",
        "trace_": "iteration",
    }
    offsets: ClassVar[dict[str, str]] = {"offsets_": "level"}
    state: ClassVar[dict[str, object]] = {"share_": float, "n_iter_": int, "converged_": bool}

    fields_: StringTable
    measures_: StringTable
    offsets_: NDArray[np.int64]
    m_: Floats
    u_: Floats
    trace_: Floats
    share_: float
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        *,
        fields: Sequence[str | Field] = ("name",),
        blocks: Sequence[str | Block] | None = None,
        k: int = 20,
        threshold: float = 0.5,
        term_frequency: bool = True,
        max_iter: int = 500,
        tolerance: float = 1e-9,
        n_jobs: int | None = None,
    ) -> None:
        self.fields = fields
        self.blocks = blocks
        self.k = k
        self.threshold = threshold
        self.term_frequency = term_frequency
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.n_jobs = n_jobs

    def fit(
        self,
        records: RecordList,
        y: object = None,
        *,
        other: RecordList | None = None,
        candidates: Candidates | None = None,
    ) -> FellegiSunter:
        """Learn from the candidates of a list, or of two."""
        check_range("threshold", self.threshold, at_least=0.0, at_most=1.0)
        check_range("max_iter", self.max_iter, at_least=1, whole=True)
        check_range("tolerance", self.tolerance, at_least=0.0)
        if candidates is None:
            candidates = self.candidates(records, other)
        if not len(candidates):
            raise DataError("the blocking finds no pair to learn from; lower its thresholds, or check the fields")
        comparer = self._comparer(records, other)
        base = comparer.scores(candidates.left, candidates.right)
        if np.ptp(base) == 0.0:
            raise DataError(f"all {len(candidates)} candidates are alike, so no two kinds of pairs can be told apart")
        columns = _variables(comparer)
        names = [comparer.columns[column] for column in columns]
        levels = _levels(rows_of(comparer, candidates, base)[:, columns], names)
        sizes = [len(_cuts(measure)) + 1 for _, measure in names]
        model = fit_agreements(levels, sizes, base, max_iter=self.max_iter, tolerance=self.tolerance)
        self.fields_ = StringTable([field for field, _ in names])
        self.measures_ = StringTable([measure for _, measure in names])
        self.offsets_ = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.m_, self.u_ = np.concatenate(model.m), np.concatenate(model.u)
        self.share_, self.trace_, self.converged_ = model.share, model.trace, model.converged
        self.n_iter_ = len(model.trace)
        return self

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        for probabilities in (self.m_, self.u_):
            if not ((np.asarray(probabilities) > 0) & (np.asarray(probabilities) <= 1)).all():
                raise ModelFileError("m_ and u_ must lie above 0 and not above 1", reason="damaged")
        if not 0.0 < self.share_ < 1.0:
            raise ModelFileError(f"share_ is {self.share_}, which is no probability", reason="damaged")

    def lines(self) -> list[str]:
        """The probabilities as text: level by level m, u and log m / u."""
        check_fitted(self)
        lines = [f"share of matches among candidates {self.share_:.4f}"]
        for variable, (field, measure) in enumerate(self._names()):
            lines.append(f"{field or 'rivals'}, {measure}")
            cuts = ["", *(f"from {cut:g}" for cut in _cuts(measure))]
            for level, at in enumerate(range(int(self.offsets_[variable]), int(self.offsets_[variable + 1]))):
                m, u = float(self.m_[at]), float(self.u_[at])
                lines.append(f"  {cuts[level] or 'below':<12} m {m:.4f}  u {u:.4f}  log m/u {np.log(m / u):+.2f}")
        return lines

    def _names(self) -> list[tuple[str, str]]:
        return list(zip(self.fields_.to_list(), self.measures_.to_list(), strict=True))

    def _parts(
        self, comparer: PairComparer, candidates: Candidates, base: Floats, positions: NDArray[np.int64] | None
    ) -> tuple[Floats, Floats]:
        """Numbers of pairs and what each adds to the log odds; rare values add to the first variable of a field."""
        check_fitted(self)
        columns = _variables(comparer)
        names = [comparer.columns[column] for column in columns]
        if names != self._names():
            raise DataError("the model was learned with other fields or measures; set fields as they were or fit again")
        X = rows_of(comparer, candidates, base, positions)[:, columns]
        ratios = np.log(self.m_) - np.log(self.u_)
        tables = [ratios[a:b] for a, b in zip(self.offsets_[:-1], self.offsets_[1:], strict=True)]
        parts = _looked_up(tables, _levels(X, names))
        if self.term_frequency:
            chosen = slice(None) if positions is None else positions
            rarity = comparer.rarity(candidates.left[chosen], candidates.right[chosen])
            first = [names.index(next(name for name in names if name[0] == field.name)) for field in comparer.fields]
            parts[:, first] += rarity
        return X, parts

    def _scores(self, comparer: PairComparer, candidates: Candidates, base: Floats) -> Floats:
        _, parts = self._parts(comparer, candidates, base, None)
        return np.asarray(special.expit(parts.sum(axis=1) + special.logit(self.share_)))

    def _explain(
        self, comparer: PairComparer, candidates: Candidates, base: Floats, positions: NDArray[np.int64]
    ) -> list[PairExplanation]:
        X, parts = self._parts(comparer, candidates, base, positions)
        start = float(special.logit(self.share_))
        names = self._names()
        return [
            PairExplanation(
                int(candidates.left[position]),
                int(candidates.right[position]),
                float(special.expit(parts[at].sum() + start)),
                start,
                [
                    Contribution(field, measure, float(X[at, v]), float(parts[at, v]))
                    for v, (field, measure) in enumerate(names)
                ],
            )
            for at, position in enumerate(positions)
        ]


def _variables(comparer: PairComparer) -> list[int]:
    """The columns that are variables: of each field its measure, or `aligned` and `letters`; and `lead`."""
    single = {field.name for field in comparer.fields if field.measure is not None}
    return [
        number
        for number, (field, measure) in enumerate(comparer.columns)
        if measure in ("aligned", "letters", "lead") or (field in single and measure != "missing")
    ]


def _cuts(measure: str) -> tuple[float, ...]:
    return _CUTS.get(measure, _MEASURE_CUTS)


def _levels(X: Floats, names: Sequence[tuple[str, str]]) -> Levels:
    levels = np.stack([np.digitize(X[:, v], _cuts(measure)) for v, (_, measure) in enumerate(names)], axis=-1)
    return np.where(np.isnan(X), -1, levels).astype(np.int8)

r"""The probability that two records mean the same, without labels: Fellegi and Sunter's model of all pairs of a list.

    log odds = log s / (1 - s) + sum_v log m_v(g_v) / u_v(g_v) + sum over fields with equal values of log(sum f^2 / f)

Each field is one variable: how far its values agree, in levels that the list defines (agreement.py). m and u, how often
matches and other pairs have a level, and s, the share of matches, come from a mixture of two classes over the levels of
all pairs (mixture.py). A list of up to a million pairs is counted whole. In a longer one the candidates of the blocks
count once each and pairs drawn at random from the others count for all of these, so that blocks change the variance of
the counts and not the model. EM runs from several shares of matches; the fit with the greatest likelihood stays.

A list with one field has nothing to check it by; there the candidates are compared with their rivals (views.py).

Fields that go together in pairs that do not match do not count twice: see mixture.py. The last sum (`term_frequency`)
makes agreement on a rare value count more: f is the share of the records that have it; below a parent with equal values
it is that of the two values together.

s is the share among all pairs, so the model serves other lists. What carries over is the number of matches per record;
from there the share of the list at hand is estimated once more by EM, with m and u as they are and with one match of
the expected share beside the pairs, so that a list of two records has the expected share and a long one its own.

A model that cannot tell matches from others says so (`UndecidedError`) in place of probabilities: where two classes
explain pairs of other records no better than one, where no pair is a likely match, and where matches would chain into
groups of records that do not match each other.

Cost: the candidates and 200,000 random pairs once, then patterns times variables an iteration. References: Fellegi &
Sunter (1969); Winkler (2000) for EM and frequencies; Enamorado, Fifield & Imai (2019) for counting patterns.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ints
from textmill.errors import DataError, ModelFileError
from textmill.model import Model, StringTable, check_fitted, check_range
from textmill.numeric import special
from textmill.readable import counted
from textmill.strings import Pairs, cluster_pairs
from textmill.tasks.names.agreement import COARSE, TAILS, FieldValues, measures_of
from textmill.tasks.names.blocking import Block, Candidates
from textmill.tasks.names.mixture import (
    AgreementModel,
    Levels,
    Patterns,
    best_fit,
    find_parents,
    fit_agreements,
    unlike_fields,
)
from textmill.tasks.names.record_matcher import Contribution, PairExplanation, RecordEstimator
from textmill.tasks.names.records import Field, RecordList
from textmill.tasks.names.views import Views, compare_views, view_cuts

__all__ = ["FellegiSunter", "FieldLeftOut", "UndecidedError"]

_COUNTED = 1_000_000  # pairs that are all compared
_DRAWN = 200_000  # random pairs of a longer list
_SEED = 20
_ROUNDS = 100  # of EM for the share of another list
_CHAINED = 10  # records that likely matches may join, whatever their other pairs say
_COMPLETED = 3  # times that records with a common match are compared
_REMEDY = "label some pairs (`match train --suggest FILE` chooses them), or leave out fields that tell little"


class FieldLeftOut(UserWarning):
    """A field tells no record from another, or every record from every other, and was left out."""


class UndecidedError(DataError):
    """The records do not show which pairs match; labels would."""


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
        fields_: Field of each variable; those that tell nothing are left out, (variables,).
        parents_: The variable that each one is given in u, -1 for none, (variables,).
        offsets_: Where the levels of each variable begin in `m_`, (variables + 1,).
        m_: Probability of each level among matches, (levels of all variables,).
        cells_: Where the table of each variable begins in `u_`, (variables + 1,).
        u_: Probability of each level among other pairs, a row of levels for each level of the parent, (cells,).
        measures_: Measures that make the levels, (measures,).
        measured_: The variable of each measure, (measures,).
        cuts_: The least score of each level between different and equal, (measures, levels).
        share_: Share of matches among all pairs.
        per_record_: Matches for each record of the list, or of the shorter list.
        trace_: Objective after each iteration, (iterations,).
        n_iter_: Iterations done.
        converged_: Whether the tolerance was reached.

    >>> from textmill.tasks.names.generate import generate_people
    >>> people = generate_people(200, random_state=1)
    >>> matcher = FellegiSunter(fields=["forename", "surname", "street", "city", "born:exact"]).fit(people.records)
    >>> pairs = matcher.pairs(people.records)
    >>> sum(people.clusters[i] == people.clusters[j] for i, j in zip(pairs.left, pairs.right)) / len(pairs.left) > 0.95
    True
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "fields_": "variable: str",
        "parents_": "variable: int64",
        "offsets_": "variable+1: int64",
        "m_": "level",
        "cells_": "variable+1: int64",
        "u_": "cell",
        "measures_": "measure: str",
        "measured_": "measure: int64",
        "cuts_": "measure step",
        "trace_": "iteration",
    }
    offsets: ClassVar[dict[str, str]] = {"offsets_": "level", "cells_": "cell"}
    state: ClassVar[dict[str, object]] = {
        "share_": float,
        "per_record_": float,
        "n_iter_": int,
        "converged_": bool,
    }

    fields_: StringTable
    parents_: Ints
    offsets_: Ints
    m_: Floats
    cells_: Ints
    u_: Floats
    measures_: StringTable
    measured_: Ints
    cuts_: Floats
    trace_: Floats
    share_: float
    per_record_: float
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
        """Learn from all pairs of a list, or of two; raise `UndecidedError` where they do not show which match."""
        self._least()
        check_range("max_iter", self.max_iter, at_least=1, whole=True)
        check_range("tolerance", self.tolerance, at_least=0.0)
        fields = _check_fields(self._fields(), records, other, self.n_jobs)
        if candidates is None:
            candidates = self.candidates(records, other)
        if len(fields) == 1:
            return self._fit_views(records, other, candidates)
        drawn = _random_pairs(_canonical_orders(fields), candidates.possible)
        variables = [_Variable(values, measures_of(values), None) for values in fields]
        variables = [variable._replace(cuts=variable.values.cuts(variable.measures, *drawn)) for variable in variables]
        sample = _sample_pairs(candidates, drawn)
        levels = _levels_of(variables, sample.left, sample.right)
        patterns = Patterns.of(levels, sample.weights)
        if len(patterns.counts) < 2:
            raise UndecidedError(f"{counted(candidates.possible, 'pairs')}, all alike; {_REMEDY}")
        sizes = [variable.size for variable in variables]
        coarse = np.stack([variable.coarsen(levels[:, v]) for v, variable in enumerate(variables)], axis=-1)
        halves = _halves(coarse, sample, _canonical_orders(fields))
        if any(len(half.counts) < 2 for half in halves):
            raise UndecidedError(
                f"{counted(candidates.possible, 'pairs')} are too few: no half of the records can be checked by the "
                f"other; {_REMEDY}"
            )
        parents, gain = find_parents(halves, [min(size, max(COARSE) + 1) for size in sizes])
        model = best_fit(patterns, sizes, parents, max_iter=self.max_iter, tolerance=self.tolerance)
        self._take(variables, model)
        self.per_record_ = model.share * candidates.possible / min(size for size in candidates.sizes if size)
        self._check(records, other, candidates, gain)
        return self

    def scores(
        self, records: RecordList, other: RecordList | None = None, *, candidates: Candidates | None = None
    ) -> tuple[Candidates, Floats]:
        """All candidates and their probabilities.

        Without `candidates`, records of one list that have a likely match in common are compared, too: blocks give each
        value a few partners, and a group of matches may be larger.
        """
        blocked = self.candidates(records, other) if candidates is None else candidates
        if self._has_views():
            views, _ = compare_views(self._comparer(records, other), blocked)
            parts = self._view_parts(views, records, other, blocked)
            return blocked, np.asarray(special.expit(parts.sum(axis=1) + special.logit(self.share_)))
        variables = self._variables(records, other)
        odds = self._odds(variables, blocked)
        if candidates is None and other is None:
            blocked, odds = self._complete(variables, blocked, odds)
        candidates = blocked
        return candidates, np.asarray(special.expit(odds + special.logit(self._share(candidates, odds))))

    def explain(
        self,
        records: RecordList,
        positions: NDArray[Any],
        other: RecordList | None = None,
        *,
        candidates: Candidates | None = None,
    ) -> list[PairExplanation]:
        """Explain the probabilities of the candidates at these positions; they sum to the log odds exactly."""
        if candidates is None:
            candidates = self.candidates(records, other)
        at = np.asarray(positions, np.int64)
        if self._has_views():
            views, _ = compare_views(self._comparer(records, other), candidates, at)
            parts = self._view_parts(views, records, other, candidates, at)
            start = float(special.logit(self.share_))
            columns = [(field, measure, views.numbers[:, v]) for v, (field, measure) in enumerate(views.names)]
            return _explanations(candidates, at, parts, start, columns)
        variables = self._variables(records, other)
        levels, parts = self._weights(variables, candidates.left[at], candidates.right[at])
        start = float(special.logit(self._share(candidates, self._odds(variables, candidates))))
        columns = [
            (variable.values.field.name, variable.title, variable.percentiles(levels[:, v]))
            for v, variable in enumerate(variables)
        ]
        return _explanations(candidates, at, parts, start, columns)

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        for probabilities in (self.m_, self.u_):
            if not ((np.asarray(probabilities) > 0) & (np.asarray(probabilities) <= 1)).all():
                raise ModelFileError("m_ and u_ must lie above 0 and not above 1", reason="damaged")
        if not 0.0 < self.share_ < 1.0 or not 0.0 < self.per_record_ < np.inf:
            raise ModelFileError(f"share_ is {self.share_}, which is no probability", reason="damaged")
        sizes, parents = np.diff(self.offsets_), np.asarray(self.parents_)
        if len(parents) and not ((parents >= -1) & (parents < len(parents))).all():
            raise ModelFileError("parents_ must be variables, or -1", reason="damaged")
        rows = np.where(parents < 0, 1, np.append(sizes, 0)[parents] + 1)
        if (np.diff(self.cells_) != rows * sizes).any() or not np.isin(self.measured_, np.arange(len(sizes))).all():
            raise ModelFileError("the tables of u_ do not fit the levels of m_", reason="damaged")
        if self._has_views():
            return
        expected = np.where(np.isin(np.arange(len(sizes)), self.measured_), len(TAILS) + 2, 2)
        if (sizes != expected).any() or np.asarray(self.cuts_).shape != (len(self.measured_), len(TAILS)):
            raise ModelFileError("the levels do not fit the measures", reason="damaged")

    def lines(self) -> list[str]:
        """The probabilities as text: level by level m, u and log m / u."""
        check_fitted(self)
        if self._has_views():
            return self._view_lines()
        lines = [f"share of matches among all pairs {self.share_:.3g}, {self.per_record_:.3g} per record"]
        names = self.fields_.to_list()
        model = self._model()
        for v, field in enumerate(names):
            measures = [m for m, of in zip(self.measures_.to_list(), self.measured_, strict=True) if of == v]
            parent = int(self.parents_[v])
            beside = f", counted beside {names[parent]}" if parent >= 0 else ""
            lines.append(f"{field}, {' or '.join(measures) or 'exact'}{beside}")
            for first, last in _runs(model.m[v], model.u[v][-1]):
                m, u = float(model.m[v][first : last + 1].sum()), float(model.u[v][-1][first : last + 1].sum())
                lines.append(
                    f"  {_level_name(first, last, len(model.m[v])):<24} m {m:.4f}  u {u:.6f}  "
                    f"log m/u {np.log(m / u):+.2f}"
                )
        return lines

    def _view_lines(self) -> list[str]:
        lines = [f"share of matches among candidates {self.share_:.4f}; one field: probabilities are rough"]
        model = self._model()
        for v, (field, measure) in enumerate(zip(self.fields_.to_list(), self.measures_.to_list(), strict=True)):
            lines.append(f"{field or 'rivals'}, {measure}")
            names = ["below", *(f"from {cut:g}" for cut in view_cuts(measure))]
            for name, m, u in zip(names, model.m[v].tolist(), model.u[v][0].tolist(), strict=True):
                lines.append(f"  {name:<24} m {m:.4f}  u {u:.6f}  log m/u {np.log(m / u):+.2f}")
        return lines

    def _has_views(self) -> bool:
        """Whether the list had one field, so that candidates were compared with their rivals: see views.py."""
        check_fitted(self)
        return "" in self.fields_.to_list()

    def _fit_views(self, records: RecordList, other: RecordList | None, candidates: Candidates) -> FellegiSunter:
        if not len(candidates):
            raise UndecidedError("the blocking finds no pair to learn from; lower its thresholds, or check the field")
        views, base = compare_views(self._comparer(records, other), candidates)
        if np.ptp(base) == 0.0:
            raise UndecidedError(f"all {counted(len(candidates), 'candidates')} are alike; {_REMEDY}")
        cuts = [view_cuts(measure) for _, measure in views.names]
        sizes = [len(row) + 1 for row in cuts]
        patterns = Patterns.of(views.levels)
        start = patterns.means(views.levels, base)
        options: dict[str, Any] = {"max_iter": self.max_iter, "tolerance": self.tolerance}
        model = fit_agreements(patterns, sizes, start=start, **options)
        self._take_model(model)
        self.fields_ = StringTable([field for field, _ in views.names])
        self.measures_ = StringTable([measure for _, measure in views.names])
        self.measured_ = np.arange(len(sizes))
        self.cuts_ = np.array([[*row, *[np.inf] * (len(TAILS) - len(row))] for row in cuts])
        self.per_record_ = model.share * len(candidates) / min(size for size in candidates.sizes if size)
        return self

    def _view_parts(
        self,
        views: Views,
        records: RecordList,
        other: RecordList | None,
        candidates: Candidates,
        at: Ints | None = None,
    ) -> Floats:
        """What each variable adds to the log odds; rare values add to the first."""
        if views.names != list(zip(self.fields_.to_list(), self.measures_.to_list(), strict=True)):
            raise DataError("the model was learned with other fields; set fields as they were, or fit again")
        parts = self._model().log_ratios(views.levels)
        if self.term_frequency:
            field = next(one for one in self._fields() if one.name == views.names[0][0])
            values = FieldValues(field, records, other, n_jobs=self.n_jobs)
            chosen = slice(None) if at is None else at
            parts[:, 0] += values.rarity(*values.ends(candidates.left[chosen], candidates.right[chosen]))
        return parts

    def _take(self, variables: list[_Variable], model: AgreementModel) -> None:
        self.fields_ = StringTable([variable.values.field.name for variable in variables])
        self.measures_ = StringTable([measure for variable in variables for measure in variable.measures])
        self.measured_ = np.repeat(np.arange(len(variables)), [len(one.measures) for one in variables]).astype(np.int64)
        self.cuts_ = np.concatenate([np.zeros((0, len(TAILS))), *(v.cuts for v in variables if v.cuts is not None)])
        self._take_model(model)

    def _take_model(self, model: AgreementModel) -> None:
        self.offsets_ = np.concatenate([[0], np.cumsum([len(m) for m in model.m])]).astype(np.int64)
        self.m_ = np.concatenate(model.m)
        self.cells_ = np.concatenate([[0], np.cumsum([u.size for u in model.u])]).astype(np.int64)
        self.u_ = np.concatenate([u.ravel() for u in model.u])
        self.parents_ = np.array(model.parents, np.int64)
        self.share_, self.trace_, self.converged_ = model.share, model.trace, model.converged
        self.n_iter_ = len(model.trace)

    def _model(self) -> AgreementModel:
        sizes = np.diff(self.offsets_)
        u = [self.u_[a:b].reshape(-1, size) for (a, b), size in zip(pairwise(self.cells_), sizes, strict=True)]
        m = [self.m_[a:b] for a, b in pairwise(self.offsets_)]
        return AgreementModel(m, u, self.parents_.tolist(), self.share_, self.trace_, self.converged_)

    def _variables(self, records: RecordList, other: RecordList | None) -> list[_Variable]:
        check_fitted(self)
        wanted = {field.name: field for field in self._fields()}
        measures = self.measures_.to_list()
        variables = []
        for v, name in enumerate(self.fields_.to_list()):
            own = tuple(m for m, of in zip(measures, self.measured_, strict=True) if of == v)
            if name not in wanted or (wanted[name].measure == "exact") != (not own):
                raise DataError("the model was learned with other fields; set fields as they were, or fit again")
            values = FieldValues(wanted[name], records, other, n_jobs=self.n_jobs)
            variables.append(_Variable(values, own, self.cuts_[self.measured_ == v]))
        return variables

    def _odds(self, variables: Sequence[_Variable], candidates: Candidates) -> Floats:
        """What all fields add to the log odds of the candidates."""
        odds = np.empty(len(candidates))
        for block in _blocks(len(candidates)):
            odds[block] = self._weights(variables, candidates.left[block], candidates.right[block])[1].sum(axis=1)
        return odds

    def _complete(
        self, variables: Sequence[_Variable], candidates: Candidates, odds: Floats
    ) -> tuple[Candidates, Floats]:
        """Candidates with the pairs of records that have a likely match in common, and the log odds of all."""
        for _ in range(_COMPLETED):
            likely = np.flatnonzero(odds + special.logit(self._share(candidates, odds)) >= 0.0)
            left, right = candidates.between(likely[np.argsort(-odds[likely], kind="stable")])
            if not len(left):
                break
            further = candidates.including(left, right)
            merged = np.empty(len(further))
            merged[further.positions(candidates.left, candidates.right)] = odds
            at = further.positions(left, right)
            for block in _blocks(len(at)):
                merged[at[block]] = self._weights(variables, left[block], right[block])[1].sum(axis=1)
            candidates, odds = further, merged
        return candidates, odds

    def _weights(
        self, variables: Sequence[_Variable], left: NDArray[Any], right: NDArray[Any]
    ) -> tuple[Levels, Floats]:
        """The levels of pairs, and what each field adds to the log odds."""
        levels = _levels_of(variables, left, right)
        parts = self._model().log_ratios(levels)
        if self.term_frequency:
            parts += _rarities(variables, self.parents_, left, right)
        return levels, parts

    def _share(self, candidates: Candidates, odds: Floats) -> float:
        """The share of matches of a list: that of the model for its length, then by EM."""
        possible = max(1, candidates.possible)
        records = min(size for size in candidates.sizes if size is not None)
        expected = float(np.clip(self.per_record_ * records / possible, 1e-12, 0.5))
        share = expected
        distinct, counts = np.unique(odds, return_counts=True)  # in one order, whatever that of the records
        for _ in range(_ROUNDS):
            matches = float(counts @ special.expit(distinct + special.logit(share)))
            before, share = share, float(np.clip((matches + 1.0) / (possible + 1.0 / expected), 1e-12, 0.5))
            if abs(share - before) <= 1e-9 * share:
                break
        return share

    def _check(self, records: RecordList, other: RecordList | None, candidates: Candidates, gain: float) -> None:
        """Raise where the classes that were found cannot be matches and others."""
        if not gain > 0.0:
            raise UndecidedError(
                "matches and other pairs do not separate: one class explains pairs of other records as well as two; "
                + _REMEDY
            )
        unlike = unlike_fields(self._model())
        if len(unlike) > 2 and sum(unlike) * 2 >= len(unlike):
            alike = [name for name, other in zip(self.fields_.to_list(), unlike, strict=True) if not other]
            raise UndecidedError(
                f"the likely matches would agree on {' and '.join(alike) or 'nothing'} and on no other field, so they "
                f"are no duplicates; {_REMEDY}"
            )
        _, scores = self.scores(records, other, candidates=candidates)
        likely = scores >= 0.5
        if not likely.any():
            raise UndecidedError(
                f"no pair of {counted(len(records), 'records')} is a likely match; the list may have no duplicates, "
                f"or its fields tell too little: {_REMEDY}"
            )
        if other is None:
            pairs = Pairs(candidates.left[likely], candidates.right[likely], scores[likely])
            chained = int(np.bincount(cluster_pairs(pairs, len(records))).max())
            groups = cluster_pairs(pairs, len(records), threshold=0.5, method="correlation")
            inside = groups[pairs.left] == groups[pairs.right]
            if chained > _CHAINED and inside.mean() < 0.5:
                raise UndecidedError(
                    f"matches contradict each other: {counted(len(inside), 'likely matches')} would join "
                    f"{counted(chained, 'records')} to one group, and most pairs of these do not match; {_REMEDY}"
                )


def _explanations(
    candidates: Candidates, at: Ints, parts: Floats, start: float, columns: Sequence[tuple[str, str, Floats]]
) -> list[PairExplanation]:
    """Explanations of candidates from field, measure and value of each variable, and what these add."""
    return [
        PairExplanation(
            int(candidates.left[position]),
            int(candidates.right[position]),
            float(special.expit(parts[row].sum() + start)),
            start,
            [
                Contribution(field, measure, float(values[row]), float(parts[row, v]))
                for v, (field, measure, values) in enumerate(columns)
            ],
        )
        for row, position in enumerate(at.tolist())
    ]


class _Variable(NamedTuple):
    """A field, the measures of its levels and their cuts."""

    values: FieldValues
    measures: tuple[str, ...]
    cuts: Floats | None

    @property
    def size(self) -> int:
        return len(TAILS) + 2 if self.measures else 2

    @property
    def title(self) -> str:
        return "share of different values that are less alike" if self.measures else "exact"

    def percentiles(self, levels: NDArray[np.int8]) -> Floats:
        """The share of pairs of different values that are less alike; 1 for equal values, NaN for missing ones."""
        shares = [0.0, *(1.0 - tail for tail in TAILS[: self.size - 2]), 1.0, np.nan]
        return np.array(shares)[levels]

    def coarsen(self, levels: NDArray[np.int8]) -> NDArray[np.int8]:
        """Fewer levels."""
        return np.array(COARSE, np.int8)[levels + 1] if self.measures else levels

    def levels(self, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.int8]:
        assert self.cuts is not None
        return self.values.levels(self.measures, self.cuts, left, right)


class _Sample(NamedTuple):
    """Pairs of records, and for how many pairs each counts."""

    left: NDArray[Any]
    right: NDArray[Any]
    weights: Floats


def _check_fields(
    fields: Sequence[Field], records: RecordList, other: RecordList | None, n_jobs: int | None
) -> list[FieldValues]:
    """The values of the fields that can tell anything; a warning for each of the others."""
    usable, reasons = [], []
    for field in fields:
        values = FieldValues(field, records, other, n_jobs=n_jobs)
        reason = _fault_of(values)
        if reason is None:
            usable.append(values)
            continue
        reasons.append(f"the field {field.name!r} {reason}")
    if not len(records) or (other is not None and not len(other)):
        raise UndecidedError("there are no records to learn from; pass a list with several")
    if not usable:
        raise UndecidedError(f"no field tells records apart: {'; '.join(reasons)}; name other fields")
    for text in reasons:
        warnings.warn(f"{text}; it is left out", FieldLeftOut, stacklevel=4)
    return usable


def _fault_of(values: FieldValues) -> str | None:
    """Why the values of a field say nothing about matches; None if they may."""
    if not len(values.texts):
        return "is empty everywhere"
    counts = values.counts
    if len(counts) == 1:
        return f"has the one value {values.texts[0][:40]!r} only"
    if len(values.sides) == 2:
        one, two = (side[side >= 0] for side in values.sides)
        alone = not np.intersect1d(one, two).size
    else:
        alone = int(counts.max()) == 1
    coded = all(" " not in text and any(c.isdigit() for c in text) for text in values.texts)
    if alone and (values.field.measure == "exact" or (coded and len(values.sides) == 1)):
        return "has another value in every record, as an id has"
    return None


def _canonical_orders(fields: Sequence[FieldValues]) -> list[Ints]:
    """The records of each list in an order that depends on their values only, so that draws do, too."""
    return [np.lexsort([values.sides[side] for values in fields]) for side in range(len(fields[0].sides))]


def _random_pairs(orders: Sequence[Ints], possible: int) -> tuple[Ints, Ints]:
    """All pairs of short lists; else pairs drawn at random, each once, in order."""
    size, width = len(orders[0]), len(orders[-1])
    within = len(orders) == 1
    if possible <= _COUNTED:
        if within:
            return tuple(np.triu_indices(size, 1))  # type: ignore[return-value]
        return np.repeat(np.arange(size), width), np.tile(np.arange(width), size)
    rng = np.random.Generator(np.random.Philox(_SEED))
    i, j = orders[0][rng.integers(0, size, _DRAWN)], orders[-1][rng.integers(0, width, _DRAWN)]
    if within:
        i, j = np.minimum(i, j)[i != j], np.maximum(i, j)[i != j]
    keys = np.unique(i * width + j)
    return keys // width, keys % width


def _sample_pairs(candidates: Candidates, drawn: tuple[Ints, Ints]) -> _Sample:
    """All pairs once; or candidates once and random others for all of the others."""
    left, right = drawn
    if len(left) == candidates.possible:
        return _Sample(left, right, np.ones(len(left)))
    fresh = candidates.positions(left, right) < 0
    left, right = left[fresh], right[fresh]
    weight = (candidates.possible - len(candidates)) / max(1, len(left))
    return _Sample(
        np.concatenate([candidates.left, left]),
        np.concatenate([candidates.right, right]),
        np.concatenate([np.ones(len(candidates)), np.full(len(left), weight)]),
    )


def _halves(levels: Levels, sample: _Sample, orders: Sequence[Ints]) -> tuple[Patterns, Patterns]:
    """The pairs within either half of the records."""
    rng = np.random.Generator(np.random.Philox(_SEED + 1))
    sides = []
    for order in orders:
        side = np.empty(len(order), bool)
        side[order] = rng.permutation(len(order)) % 2 == 0
        sides.append(side)
    one, two = sides[0][sample.left], sides[-1][sample.right]
    first, second = (Patterns.of(levels[inside], sample.weights[inside]) for inside in (one & two, ~one & ~two))
    return first, second


def _levels_of(variables: Sequence[_Variable], left: NDArray[Any], right: NDArray[Any]) -> Levels:
    return np.stack([variable.levels(left, right) for variable in variables], axis=-1)


def _rarities(variables: Sequence[_Variable], parents: Ints, left: NDArray[Any], right: NDArray[Any]) -> Floats:
    """What rare values add; below a parent with equal values too, what the two together add beyond the parent."""
    parts = np.zeros((len(left), len(variables)))
    ends = [variable.values.ends(left, right) for variable in variables]
    for v, variable in enumerate(variables):
        a, b = ends[v]
        parts[:, v] = variable.values.rarity(a, b)
        parent = int(parents[v])
        if parent < 0:
            continue
        above = variables[parent].values
        both = (a == b) & (a >= 0) & (ends[parent][0] == ends[parent][1]) & (ends[parent][0] >= 0)
        width = len(variable.values.texts)
        keys = np.concatenate(
            [
                np.where((one >= 0) & (two >= 0), one * width + two, -1)
                for one, two in zip(above.sides, variable.values.sides, strict=True)
            ]
        )
        distinct, counts = np.unique(keys[keys >= 0], return_counts=True)
        if not len(distinct) or not both.any():
            continue
        shares = counts / counts.sum()
        at = np.searchsorted(distinct, ends[parent][0][both] * width + a[both])
        joint = np.log(float(shares @ shares) / shares[np.minimum(at, len(shares) - 1)])
        parts[both, v] = joint - above.rarity(*(end[both] for end in ends[parent]))
    return parts


def _blocks(size: int) -> Iterator[slice]:
    return (slice(start, start + (1 << 19)) for start in range(0, size, 1 << 19))


def _runs(m: Floats, u: Floats) -> list[tuple[int, int]]:
    """Levels with the same ratio of m to u, which say the same, together."""
    ratio = np.log(m / u)
    ends = [*np.flatnonzero(np.diff(ratio) > 1e-6).tolist(), len(m) - 1]
    return list(zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True))


def _level_name(first: int, last: int, size: int) -> str:
    if last == size - 1:
        return "equal" if first == last else "different or equal" if first == 0 else f"closest {TAILS[first - 1]:.2%}"
    return "different" if first == 0 else f"closest {TAILS[first - 1]:.2%}"

r"""Match records by several fields: candidates, a score for each, and the pairs above a threshold.

    candidates (blocking.py)  ->  numbers of each pair (comparison.py)  ->  score  ->  pairs, groups, explanations

`RecordMatcher` scores by the weighted mean of one measure per field. `LearnedMatcher` (learned.py) and `FellegiSunter`
(fellegi_sunter.py) score by the probability of a match, learned with labels and without.

Cost: the blocking, then some microseconds per candidate. Memory: the candidates and one block of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import Estimator, check_choice, check_range
from textmill.strings import Clusters, Pairs, canonical_names, cluster_pairs
from textmill.strings import one_to_one as matched_once
from textmill.tasks.names.blocking import Block, Candidates, default_blocks, find_candidates, parse_block
from textmill.tasks.names.comparison import Floats, PairComparer, leads
from textmill.tasks.names.records import Field, RecordList, parse_field

__all__ = [
    "PARTNERS",
    "Contribution",
    "PairExplanation",
    "RecordEstimator",
    "RecordMatcher",
    "explanation_lines",
    "leads_among",
    "pairs_above",
    "rivals_are_weaker",
    "rows_of",
    "standard_rows",
]

PARTNERS = ("auto", "none", "greedy", "optimal")
_EXPLAINED = 8  # lines of an explanation
_WEAKEST = 0.25  # share of true pairs that are taken for its weakest
_PER_RECORD = 50  # candidates where no blocks are named, of lists with several fields


class Contribution(NamedTuple):
    """What one number of a pair adds: the field ("" for the place among rivals), the measure, its value, log odds.

    For a `RecordMatcher` it is the part of the score instead of log odds. A missing value is NaN.
    """

    field: str
    measure: str
    value: float
    weight: float


class PairExplanation(NamedTuple):
    """A pair, its score, what every pair starts from (log odds before anything is compared), and what adds to it."""

    left: int
    right: int
    score: float
    start: float
    contributions: list[Contribution]

    def by_field(self) -> dict[str, float]:
        """The sum of contributions of each field."""
        sums: dict[str, float] = {}
        for part in self.contributions:
            sums[part.field] = sums.get(part.field, 0.0) + part.weight
        return sums


def explanation_lines(explanation: PairExplanation, k: int = _EXPLAINED) -> list[str]:
    """An explanation as text: the sum by field, then the k largest contributions.

    >>> found = PairExplanation(0, 1, 0.9, -2.0, [Contribution("name", "edit", 0.8, 4.2)])
    >>> print(*explanation_lines(found), sep="\\n")
    score 0.9000
      -2.000  before anything is compared
      +4.200  name
        +4.200  name, edit = 0.800
    """
    lines = [f"score {explanation.score:.4f}"]
    if explanation.start:
        lines.append(f"  {explanation.start:+.3f}  before anything is compared")
    parts = sorted(explanation.contributions, key=lambda part: -abs(part.weight))[:k]
    for field, total in explanation.by_field().items():
        lines.append(f"  {total:+.3f}  {field or 'rivals'}")
        lines += [
            f"    {part.weight:+.3f}  {field or 'rivals'}, {part.measure} = "
            + ("missing" if np.isnan(part.value) else f"{part.value:.3f}")
            for part in parts
            if part.field == field and abs(part.weight) >= 5e-4
        ]
    return lines


def pairs_above(candidates: Candidates, scores: Floats, threshold: float) -> Pairs:
    """The candidates that score at least the threshold, and more than 0."""
    keep = (scores >= threshold) & (scores > 0.0)
    left, right, score = candidates.left[keep], candidates.right[keep], scores[keep]
    order = np.lexsort((right, -score, left))
    return Pairs(left[order], right[order], score[order])


def rivals_are_weaker(pairs: Pairs) -> bool:
    """Are most of the pairs false that would be left out if every record were matched once?

    Pairs whose two records have no other partner say how probable true pairs are. If the pairs left out were true as
    well, three quarters of them would be above the lowest quarter of those. Where fewer than half of as many are,
    records of one list are mostly one record of the other, and what stands beside the best partner only resembles it.

    >>> alone = [(i, i, 0.99 + i / 10_000) for i in range(20)]
    >>> rivals_are_weaker(Pairs.of([*alone, (30, 30, 0.99), (30, 31, 0.7)]))
    True
    >>> rivals_are_weaker(Pairs.of([*alone, (30, 30, 0.995), (30, 31, 0.995)]))
    False
    """
    partners = np.bincount(pairs.left)[pairs.left] + np.bincount(pairs.right)[pairs.right]
    alone = pairs.score[partners == 2]
    best = matched_once(pairs)
    out = len(pairs.score) - len(best.score)
    if not out or not len(alone):
        return False
    least = np.quantile(alone, _WEAKEST)
    above = int((pairs.score >= least).sum() - (best.score >= least).sum())
    return above / out < (1 - _WEAKEST) / 2


class RecordEstimator(Estimator):
    """What all matchers of records share. Base class."""

    takes: ClassVar[str] = "mappings"
    probabilistic: ClassVar[bool] = True  # are scores probabilities?

    fields: Sequence[str | Field]
    blocks: Sequence[str | Block] | None
    k: int
    threshold: float | None
    n_jobs: int | None

    def candidates(self, records: RecordList, other: RecordList | None = None) -> Candidates:
        """The pairs that are compared, within a list or between two."""
        fields = self._fields()
        blocks = default_blocks(fields) if self.blocks is None else [parse_block(block) for block in self.blocks]
        several = self.blocks is None and len(fields) > 1
        per_record = _PER_RECORD if several else None
        return find_candidates(records, other, blocks=blocks, k=self.k, per_record=per_record, n_jobs=self.n_jobs)

    def pairs(
        self,
        records: RecordList,
        *,
        threshold: float | None = None,
        candidates: Candidates | None = None,
    ) -> Pairs:
        """Pairs within a list that score at least the threshold."""
        return self._pairs(records, None, threshold, candidates)

    def join(
        self,
        left: RecordList,
        right: RecordList,
        *,
        threshold: float | None = None,
        one_to_one: str = "auto",
        candidates: Candidates | None = None,
    ) -> Pairs:
        """Pairs between two lists.

        `one_to_one` gives every record at most one partner ("greedy" or "optimal", see strings/matching.py), or as
        many as score enough ("none"). "auto" decides by the probabilities: see `rivals_are_weaker`. A `RecordMatcher`
        has none, and keeps all.
        """
        check_choice("one_to_one", one_to_one, PARTNERS)
        pairs = self._pairs(left, right, threshold, candidates)
        if one_to_one == "auto":
            one_to_one = "greedy" if self.probabilistic and rivals_are_weaker(pairs) else "none"
        return pairs if one_to_one == "none" else matched_once(pairs, method=one_to_one)

    def clusters(
        self, records: RecordList, pairs: Pairs, *, threshold: float | None = None, method: str = "connected"
    ) -> Clusters:
        """Groups of matching records, and the record that stands for each."""
        least = self._least(threshold)
        groups = cluster_pairs(pairs, len(records), threshold=least, method=method)
        return Clusters(groups, canonical_names(records.names().names, groups, pairs))

    def scores(
        self, records: RecordList, other: RecordList | None = None, *, candidates: Candidates | None = None
    ) -> tuple[Candidates, Floats]:
        """All candidates and their scores."""
        if candidates is None:
            candidates = self.candidates(records, other)
        comparer = self._comparer(records, other)
        base = comparer.scores(candidates.left, candidates.right)
        return candidates, self._scores(comparer, candidates, base)

    def explain(
        self,
        records: RecordList,
        positions: NDArray[Any],
        other: RecordList | None = None,
        *,
        candidates: Candidates | None = None,
    ) -> list[PairExplanation]:
        """Explain the scores of the candidates at these positions."""
        if candidates is None:
            candidates = self.candidates(records, other)
        comparer = self._comparer(records, other)
        base = comparer.scores(candidates.left, candidates.right)
        return self._explain(comparer, candidates, base, np.asarray(positions, np.int64))

    def _pairs(
        self, records: RecordList, other: RecordList | None, threshold: float | None, candidates: Candidates | None
    ) -> Pairs:
        least = self._least(threshold)
        candidates, scores = self.scores(records, other, candidates=candidates)
        return pairs_above(candidates, scores, least)

    def _least(self, threshold: float | None = None) -> float:
        """The least score of a match: the threshold that is passed, else that of the matcher."""
        least = self._threshold() if threshold is None else threshold
        check_range("threshold", least, at_least=0.0, at_most=1.0)
        return least

    def _threshold(self) -> float:
        assert self.threshold is not None
        return self.threshold

    def _fields(self) -> list[Field]:
        if isinstance(self.fields, str) or not self.fields:
            raise DataError(f"fields must be a list of at least one field, got {self.fields!r}; pass ['name']")
        fields = [parse_field(field) for field in self.fields]
        names = [field.name for field in fields]
        for name in names:
            if names.count(name) > 1:
                raise DataError(f"the field {name!r} is there twice; name each once")
        return fields

    def _comparer(self, records: RecordList, other: RecordList | None) -> PairComparer:
        return PairComparer(self._fields(), records, other, n_jobs=self.n_jobs)

    def _scores(self, comparer: PairComparer, candidates: Candidates, base: Floats) -> Floats:
        raise NotImplementedError

    def _explain(
        self, comparer: PairComparer, candidates: Candidates, base: Floats, positions: NDArray[np.int64]
    ) -> list[PairExplanation]:
        raise NotImplementedError


def rows_of(
    comparer: PairComparer, candidates: Candidates, base: Floats, positions: NDArray[np.int64] | None = None
) -> Floats:
    """Numbers of the candidates at these positions, or of all: (pairs, columns)."""
    lead = leads_among(candidates, base)
    left, right = candidates.left, candidates.right
    if positions is not None:
        left, right, lead = left[positions], right[positions], lead[positions]
    blocks = [rows for _, rows in comparer.features(left, right, lead)]
    return np.concatenate([np.zeros((0, len(comparer.columns))), *blocks])


def leads_among(candidates: Candidates, base: Floats) -> Floats:
    """How far candidates are ahead of their rivals; pairs that no block has found are nobody's rivals."""
    rivals = np.asarray(candidates.by_block.any(axis=0))
    return leads(candidates.left, candidates.right, base, same_list=candidates.sizes[1] is None, rivals=rivals)


def standard_rows(
    matcher: RecordEstimator,
    records: RecordList,
    other: RecordList | None,
    candidates: Candidates,
    positions: NDArray[np.int64],
) -> Floats:
    """Numbers of candidates, each column with mean 0 and deviation 1 over them; what is missing stands at 0."""
    comparer = matcher._comparer(records, other)
    rows = rows_of(comparer, candidates, comparer.scores(candidates.left, candidates.right), positions)
    there = ~np.isnan(rows)
    count = np.maximum(there.sum(axis=0), 1)
    centered = np.where(there, rows - np.nansum(rows, axis=0) / count, 0.0)
    scale = np.sqrt((centered**2).sum(axis=0) / count)
    return centered / np.where(scale > 1e-6, scale, 1.0)


class RecordMatcher(RecordEstimator):
    """Match records by the weighted mean of one measure per field, over the fields that both records have.

    Parameters:
        fields: What is compared: texts NAME[:MEASURE[:WEIGHT]], or `Field`.
        blocks: Which pairs are compared: texts FIELD:MEASURE:THRESHOLD or FIELD:exact, or `Block`; None for words and
            letters of text fields and equal values of exact ones.
        k: Best partners of each distinct value that a block with a threshold proposes.
        threshold: The least score of a match, 0 to 1.
        n_jobs: Threads; None for all cores.

    >>> people = RecordList.of({"name": ["Ann Lee", "Anne Lee", "Tom Fox"], "phone": ["1-2", "1/2", ""]})
    >>> matcher = RecordMatcher(fields=["name", "phone:exact:0.5"], threshold=0.5)
    >>> matcher.pairs(people).score.round(2).tolist()
    [0.87]
    """

    probabilistic = False

    def __init__(
        self,
        *,
        fields: Sequence[str | Field] = ("name",),
        blocks: Sequence[str | Block] | None = None,
        k: int = 20,
        threshold: float = 0.6,
        n_jobs: int | None = None,
    ) -> None:
        self.fields = fields
        self.blocks = blocks
        self.k = k
        self.threshold = threshold
        self.n_jobs = n_jobs

    def _scores(self, comparer: PairComparer, candidates: Candidates, base: Floats) -> Floats:
        return base

    def _explain(
        self, comparer: PairComparer, candidates: Candidates, base: Floats, positions: NDArray[np.int64]
    ) -> list[PairExplanation]:
        fields = comparer.fields
        left, right = candidates.left[positions], candidates.right[positions]
        values = comparer.first_measures(left, right)  # (pairs, fields)
        weights = np.where(np.isnan(values), 0.0, [field.weight for field in fields])
        shares = np.divide(
            weights, weights.sum(axis=1, keepdims=True), out=weights, where=weights.sum(axis=1, keepdims=True) > 0
        )
        return [
            PairExplanation(
                int(left[at]),
                int(right[at]),
                float(base[position]),
                0.0,
                [
                    Contribution(
                        field.name,
                        field.measure or "aligned",
                        float(values[at, number]),
                        0.0 if np.isnan(values[at, number]) else float(shares[at, number] * values[at, number]),
                    )
                    for number, field in enumerate(fields)
                ],
            )
            for at, position in enumerate(positions)
        ]

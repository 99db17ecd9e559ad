r"""The probability that two records mean the same, learned from labeled pairs.

    numbers x of a pair (comparison.py)  ->  z = (x - mean) / scale  ->  p = 1 / (1 + exp(-(b + w.z)))

Mean and scale are those of all candidates, labeled or not; a missing number stands at the mean, so it adds nothing.
The regression is that of logistic.py. The model holds no records: rarity of words, and which pairs are rivals, come
from the list that is matched, so a model that was learned on one list serves others of the same kind.

A labeled pair that the blocking has lost is compared, too. Pairs labeled "unk" are left out.

Cost: the candidates once to learn the scale, then the labels. References: Bilenko & Mooney (2003) for learned
combinations of measures; Cohn, Atlas & Ladner (1994) for the choice of labels (active.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError, ModelFileError
from textmill.model import Model, StringTable, check_fitted, check_range
from textmill.numeric import special
from textmill.tasks.names.blocking import Block, Candidates
from textmill.tasks.names.comparison import Floats, PairComparer, leads
from textmill.tasks.names.gold import Gold
from textmill.tasks.names.logistic import (
    Logistic,
    Reliability,
    choose_penalty,
    fit_logistic,
    held_out_probabilities,
    reliability,
)
from textmill.tasks.names.record_matcher import Contribution, PairExplanation, RecordEstimator, rows_of
from textmill.tasks.names.records import Field, RecordList

__all__ = ["LearnedMatcher", "labeled_candidates"]


class LearnedMatcher(RecordEstimator, Model):
    """Match records by a probability that labeled pairs have taught.

    Parameters:
        fields: As for `RecordMatcher`; a model is saved only with texts.
        blocks: As for `RecordMatcher`; a model is saved only with texts.
        k: As for `RecordMatcher`.
        threshold: The least probability of a match, 0 to 1.
        penalty: L2 penalty of the weights; None chooses it by cross-validation.
        n_jobs: Threads; None for all cores.

    Attributes:
        fields_: Field of each number that is learned from, "" for the place among rivals, (columns,).
        measures_: Measure of each number, (columns,).
        weights_: Weights of the standardized numbers, (columns,).
        means_: Means of the numbers, (columns,).
        scales_: Standard deviations of the numbers, 1 where they do not vary, (columns,).
        intercept_: Log odds of a pair whose numbers are all at their means.
        penalty_: The penalty that was used.
        n_labels_: Number of labels that were learned from.
        brier_: Brier score on labels held out; None if there were too few.

    >>> from textmill.tasks.names import generate_names
    >>> names = generate_names(60, random_state=1)
    >>> people, matcher = RecordList.of_names(names), LearnedMatcher(fields=["name"])
    >>> found = matcher.candidates(people)
    >>> gold = Gold({
    ...     (names.ids[i], names.ids[j]): "pos" if names.clusters[i] == names.clusters[j] else "neg"
    ...     for i, j in zip(found.left[::2], found.right[::2])
    ... })
    >>> pairs = matcher.fit(people, gold).pairs(people, threshold=0.9)
    >>> sum(names.clusters[i] == names.clusters[j] for i, j in zip(pairs.left, pairs.right)) / len(pairs.left) > 0.9
    True
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "fields_": "column: str",
        "measures_": "column: str",
        "weights_": "column",
        "means_": "column",
        "scales_": "column",
    }
    state: ClassVar[dict[str, object]] = {
        "intercept_": float,
        "penalty_": float,
        "n_labels_": int,
        "brier_": float | None,
    }

    fields_: StringTable
    measures_: StringTable
    weights_: Floats
    means_: Floats
    scales_: Floats
    intercept_: float
    penalty_: float
    n_labels_: int
    brier_: float | None

    def __init__(
        self,
        *,
        fields: Sequence[str | Field] = ("name",),
        blocks: Sequence[str | Block] | None = None,
        k: int = 20,
        threshold: float = 0.5,
        penalty: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.fields = fields
        self.blocks = blocks
        self.k = k
        self.threshold = threshold
        self.penalty = penalty
        self.n_jobs = n_jobs

    def fit(
        self,
        records: RecordList,
        y: Gold,
        *,
        other: RecordList | None = None,
        candidates: Candidates | None = None,
    ) -> LearnedMatcher:
        """Learn from labels of pairs within a list, or between two; `candidates` may be passed if they are there."""
        check_range("threshold", self.threshold, at_least=0.0, at_most=1.0)
        if self.penalty is not None:
            check_range("penalty", self.penalty, above=0.0, at_most=1e12)
        if candidates is None:
            candidates = self.candidates(records, other)
        candidates, positions, truth = labeled_candidates(candidates, records, other, y)
        comparer = self._comparer(records, other)
        base = comparer.scores(candidates.left, candidates.right)
        self.means_, self.scales_ = _moments(comparer, candidates, base)
        self.fields_ = StringTable([field for field, _ in comparer.columns])
        self.measures_ = StringTable([measure for _, measure in comparer.columns])
        Z = self._standardized(rows_of(comparer, candidates, base, positions))
        self.penalty_ = float(choose_penalty(Z, truth) if self.penalty is None else self.penalty)
        model = fit_logistic(Z, truth, self.penalty_)
        self.weights_, self.intercept_ = model.weights, model.intercept
        held_out = held_out_probabilities(Z, truth, self.penalty_)
        self._reliability = None if held_out is None else reliability(held_out, truth)
        self.brier_ = None if self._reliability is None else self._reliability.brier
        self.n_labels_ = len(truth)
        return self

    @property
    def reliability(self) -> Reliability | None:
        """Probabilities against labels held out, after `fit`; None for a model from a file, or with too few labels."""
        return getattr(self, "_reliability", None)

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        arrays = (self.weights_, self.means_, self.scales_)
        if not all(np.isfinite(array).all() for array in arrays) or not (np.asarray(self.scales_) > 0).all():
            raise ModelFileError("weights, means and scales must be finite, and scales above 0", reason="damaged")

    def _standardized(self, X: Floats) -> Floats:
        return np.nan_to_num((X - self.means_) / self.scales_, nan=0.0)

    def _scores(self, comparer: PairComparer, candidates: Candidates, base: Floats) -> Floats:
        self._check_columns(comparer)
        model = Logistic(self.weights_, self.intercept_, self.penalty_)
        lead = leads(candidates.left, candidates.right, base, same_list=candidates.sizes[1] is None)
        probabilities = np.empty(len(candidates))
        for block, rows in comparer.features(candidates.left, candidates.right, lead):
            probabilities[block] = special.expit(model.log_odds(self._standardized(rows)))
        return probabilities

    def _explain(
        self, comparer: PairComparer, candidates: Candidates, base: Floats, positions: NDArray[np.int64]
    ) -> list[PairExplanation]:
        self._check_columns(comparer)
        X = rows_of(comparer, candidates, base, positions)
        parts = self._standardized(X) * self.weights_
        odds = parts.sum(axis=1) + self.intercept_
        return [
            PairExplanation(
                int(candidates.left[position]),
                int(candidates.right[position]),
                float(special.expit(odds[at])),
                self.intercept_,
                [
                    Contribution(field, measure, float(X[at, number]), float(parts[at, number]))
                    for number, (field, measure) in enumerate(comparer.columns)
                ],
            )
            for at, position in enumerate(positions)
        ]

    def _check_columns(self, comparer: PairComparer) -> None:
        check_fitted(self)
        if comparer.columns != list(zip(self.fields_.to_list(), self.measures_.to_list(), strict=True)):
            raise DataError(
                "the model was learned with other fields or measures; set fields as they were, or fit again"
            )


def labeled_candidates(
    candidates: Candidates, records: RecordList, other: RecordList | None, gold: Gold
) -> tuple[Candidates, NDArray[np.int64], NDArray[np.bool_]]:
    """Candidates with the labeled pairs they lack, positions of the labeled ones, and whether these match.

    >>> people = RecordList.of({"name": ["Ann Lee", "Anne Lee", "Tom"]})
    >>> found = LearnedMatcher(blocks=["name:jaro:0.7"]).candidates(people)
    >>> more, at, truth = labeled_candidates(found, people, None, Gold({("1", "2"): "pos", ("1", "3"): "neg"}))
    >>> len(found), len(more), at.tolist(), truth.tolist()
    (1, 2, [0, 1], [True, False])
    """
    i, j, label = gold.places(records.names(), None if other is None else other.names())
    i, j, truth = i[label < 2], j[label < 2], label[label < 2] == 0
    if not len(truth) or truth.all() or not truth.any():
        what = (
            "there are no labels" if not len(truth) else f"all {len(truth)} labels are {'pos' if truth[0] else 'neg'}"
        )
        raise DataError(f"{what}; learning needs matches and others: label both kinds, or take the method em")
    candidates = candidates.including(i, j)
    return candidates, candidates.positions(i, j), truth


def _moments(comparer: PairComparer, candidates: Candidates, base: Floats) -> tuple[Floats, Floats]:
    """Means and standard deviations of the numbers of all candidates that are not missing; 0 and 1 where none is."""
    lead = leads(candidates.left, candidates.right, base, same_list=candidates.sizes[1] is None)
    size = len(comparer.columns)
    count, total, square = np.zeros(size), np.zeros(size), np.zeros(size)
    for _, rows in comparer.features(candidates.left, candidates.right, lead):
        count += (~np.isnan(rows)).sum(axis=0)
        total += np.nansum(rows, axis=0)
        square += np.nansum(rows * rows, axis=0)
    means = total / np.maximum(count, 1.0)
    variances = np.maximum(square / np.maximum(count, 1.0) - means * means, 0.0)
    return means, np.where(variances > 1e-12, np.sqrt(np.maximum(variances, 1e-12)), 1.0)

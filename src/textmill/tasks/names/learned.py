r"""The probability that two records mean the same, learned from labeled pairs.

    numbers x of a pair (comparison.py), z = (x - mean) / scale, 0 where x is missing
    linear = w.z + b                 logistic regression (logistic.py), penalty chosen by held-out labels
    trees = sum of boosted trees     (boosting.py), as many as held-out labels want
    p = 1 / (1 + exp(-(slope ((1 - share) linear + share trees) + intercept)))           share 0, 1/2 or 1

Held-out log odds of the two give everything that is chosen: the slope and intercept that make them probabilities
(Platt's), the smallest share whose log loss is within a standard error of the least, and the threshold of greatest
expected F (Ye et al. 2012). A hundred labels usually choose the regression, thousands the trees. With fewer than two
labels of a kind there is the regression alone.

Both are sums over the numbers, so explanations are exact: the parts of all numbers and the intercept sum to the log
odds. The model holds no records: rarity of words, and which pairs are rivals, come from the list that is matched, so a
model that was learned on one list serves others of the same kind.

A labeled pair that the blocking has lost is compared, too, but is nobody's rival. Pairs labeled "unk" are left out.

Cost: one measure of all candidates, the numbers of the labeled ones, five folds of both learners. References: Bilenko
& Mooney (2003) for learned combinations of measures; Platt (1999), Ye, Chai, Lee & Chieu (2012), Optimizing
F-measures: a tale of two approaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from textmill.errors import DataError, ModelFileError
from textmill.model import Model, StringTable, check_fitted, check_range
from textmill.numeric import special
from textmill.optimize import Sigmoid, fit_sigmoid
from textmill.selection import Choice, held_out
from textmill.tasks.names.blocking import Block, Candidates
from textmill.tasks.names.boosting import BoostedTrees, boost_trees
from textmill.tasks.names.comparison import Floats, PairComparer
from textmill.tasks.names.gold import Gold
from textmill.tasks.names.logistic import (
    PENALTIES,
    Reliability,
    expected_threshold,
    fit_logistic,
    held_out_odds,
    label_folds,
    log_losses,
    reliability,
)
from textmill.tasks.names.record_matcher import Contribution, PairExplanation, RecordEstimator, leads_among, rows_of
from textmill.tasks.names.records import Field, RecordList

__all__ = ["LearnedMatcher", "labeled_candidates"]

_SHARES = (0.0, 0.5, 1.0)  # of the trees in the log odds


class LearnedMatcher(RecordEstimator, Model):
    """Match records by a probability that labeled pairs have taught.

    Parameters:
        fields: As for `RecordMatcher`; a model is saved only with texts.
        blocks: As for `RecordMatcher`; a model is saved only with texts.
        k: As for `RecordMatcher`.
        threshold: The least probability of a match, 0 to 1; None for the greatest expected F on the labels.
        penalty: L2 penalty of the weights; None chooses it by cross-validation.
        n_jobs: Threads; None for all cores.

    Attributes:
        fields_: Field of each number that is learned from, "" for the place among rivals, (columns,).
        measures_: Measure of each number, (columns,).
        weights_: Weights of the standardized numbers, (columns,).
        means_: Means of the numbers, (columns,).
        scales_: Standard deviations of the numbers, 1 where they do not vary, (columns,).
        tree_columns_: The column that each node of each tree asks, -1 for a leaf, (trees, nodes).
        tree_thresholds_: Numbers below it go to the first child, (trees, nodes).
        tree_sides_: 1 where pairs without the number go there, too, (trees, nodes).
        tree_values_: Log odds at each node, (trees, nodes).
        intercept_: Log odds before anything is compared.
        penalty_: The penalty that was used.
        threshold_: The threshold of greatest expected F.
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
        "tree_columns_": "tree node: int32",
        "tree_thresholds_": "tree node",
        "tree_sides_": "tree node: uint8",
        "tree_values_": "tree node",
    }
    state: ClassVar[dict[str, object]] = {
        "intercept_": float,
        "penalty_": float,
        "threshold_": float,
        "n_labels_": int,
        "brier_": float | None,
    }

    fields_: StringTable
    measures_: StringTable
    weights_: Floats
    means_: Floats
    scales_: Floats
    tree_columns_: NDArray[np.int32]
    tree_thresholds_: Floats
    tree_sides_: NDArray[np.uint8]
    tree_values_: Floats
    intercept_: float
    penalty_: float
    threshold_: float
    n_labels_: int
    brier_: float | None

    def __init__(
        self,
        *,
        fields: Sequence[str | Field] = ("name",),
        blocks: Sequence[str | Block] | None = None,
        k: int = 20,
        threshold: float | None = None,
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
        if self.threshold is not None:
            check_range("threshold", self.threshold, at_least=0.0, at_most=1.0)
        if self.penalty is not None:
            check_range("penalty", self.penalty, above=0.0, at_most=1e12)
        if candidates is None:
            candidates = self.candidates(records, other)
        candidates, positions, truth = labeled_candidates(candidates, records, other, y)
        comparer = self._comparer(records, other)
        X = rows_of(comparer, candidates, comparer.scores(candidates.left, candidates.right), positions)
        self.fields_ = StringTable([field for field, _ in comparer.columns])
        self.measures_ = StringTable([measure for _, measure in comparer.columns])
        self.means_, self.scales_ = _moments(X)
        self.n_labels_ = len(truth)
        order = np.lexsort((truth, *X.T))  # folds do not depend on the order of the records
        with threadpool_limits(1, user_api="blas"):  # many small products, for which threads only wait
            self._learn(X[order], truth[order])
        return self

    def _learn(self, X: Floats, truth: NDArray[np.bool_]) -> None:
        """Choose penalty, number of trees and their share by held-out labels; then fit to all."""
        Z, folds = self._standardized(X), label_folds(truth)
        penalties = PENALTIES if self.penalty is None else (float(self.penalty),)
        if folds is None:
            self.penalty_ = 1.0 if self.penalty is None else float(self.penalty)
            share, rounds, curve, held = 0.0, 0, Sigmoid(1.0, 0.0), None
        else:
            linear = held_out_odds(Z, truth, folds, penalties)
            by_penalty = log_losses(linear, truth).mean(axis=0)
            self.penalty_ = penalties[int(by_penalty.argmin())]
            stages = held_out(
                lambda train, test: boost_trees(X[train], truth[train], n_jobs=self.n_jobs).stages(X[test]), folds
            )
            rounds = int(log_losses(stages, truth).mean(axis=0).argmin())
            odds = linear[:, int(by_penalty.argmin())], stages[:, rounds]
            mixed = [odds[0] * (1.0 - share) + odds[1] * share for share in _SHARES]
            curves = [_rising(fit_sigmoid(one, truth), truth) for one in mixed]
            fitted = np.stack([c.slope * one + c.intercept for c, one in zip(curves, mixed, strict=True)], axis=-1)
            losses = log_losses(fitted, truth)
            best = Choice(list(_SHARES), losses.mean(axis=0), losses.std(axis=0) / np.sqrt(len(truth))).simplest
            share, curve, held = _SHARES[best], curves[best], special.expit(fitted[:, best])
        model = fit_logistic(Z, truth, self.penalty_)
        trees = boost_trees(X, truth, rounds=rounds if share else 0, n_jobs=self.n_jobs).times(curve.slope * share)
        self.weights_ = model.weights * curve.slope * (1.0 - share)
        self.intercept_ = model.intercept * curve.slope * (1.0 - share) + curve.intercept + trees.start
        self.tree_columns_, self.tree_thresholds_ = trees.columns, trees.thresholds
        self.tree_sides_, self.tree_values_ = trees.rest_first, trees.values
        self._reliability = None if held is None else reliability(held, truth)
        self.brier_ = None if self._reliability is None else self._reliability.brier
        self.threshold_ = 0.5 if held is None else expected_threshold(held)

    @property
    def reliability(self) -> Reliability | None:
        """Probabilities against labels held out, after `fit`; None for a model from a file, or with too few labels."""
        return getattr(self, "_reliability", None)

    def scores(
        self, records: RecordList, other: RecordList | None = None, *, candidates: Candidates | None = None
    ) -> tuple[Candidates, Floats]:
        """All candidates and their probabilities; rivals are looked for by the blocks, whatever pairs are passed."""
        if candidates is None or candidates.by_block.any():
            return super().scores(records, other, candidates=candidates)
        wider = self.candidates(records, other).including(candidates.left, candidates.right)
        _, scores = super().scores(records, other, candidates=wider)
        return candidates, scores[wider.positions(candidates.left, candidates.right)]

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        arrays = (self.weights_, self.means_, self.scales_, self.tree_thresholds_, self.tree_values_)
        if not all(np.isfinite(array).all() for array in arrays) or not (np.asarray(self.scales_) > 0).all():
            raise ModelFileError("weights, means and scales must be finite, and scales above 0", reason="damaged")
        columns = np.asarray(self.tree_columns_)
        inner = np.flatnonzero((columns >= 0).any(axis=0))
        if not -1 <= columns.min(initial=-1) <= columns.max(initial=-1) < len(self.weights_) or (
            len(inner) and 2 * inner[-1] + 2 >= columns.shape[1]
        ):
            raise ModelFileError("the trees ask columns or have nodes that do not exist", reason="damaged")

    def _threshold(self) -> float:
        check_fitted(self)
        return self.threshold_ if self.threshold is None else self.threshold

    def _trees(self) -> BoostedTrees:
        return BoostedTrees(0.0, self.tree_columns_, self.tree_thresholds_, self.tree_sides_, self.tree_values_)

    def _standardized(self, X: Floats) -> Floats:
        return np.nan_to_num((X - self.means_) / self.scales_, nan=0.0)

    def _scores(self, comparer: PairComparer, candidates: Candidates, base: Floats) -> Floats:
        self._check_columns(comparer)
        trees, lead = self._trees(), leads_among(candidates, base)
        probabilities = np.empty(len(candidates))
        for block, rows in comparer.features(candidates.left, candidates.right, lead):
            odds = self._standardized(rows) @ self.weights_ + self.intercept_
            probabilities[block] = special.expit(odds + trees.log_odds(rows, n_jobs=self.n_jobs))
        return probabilities

    def _explain(
        self, comparer: PairComparer, candidates: Candidates, base: Floats, positions: NDArray[np.int64]
    ) -> list[PairExplanation]:
        self._check_columns(comparer)
        X = rows_of(comparer, candidates, base, positions)
        parts = self._standardized(X) * self.weights_ + self._trees().contributions(X)
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
        what = "there are no labels" if not len(truth) else f"no label is {'neg' if truth[0] else 'pos'}"
        raise DataError(f"{what}; learning needs matches and others: label both kinds, or take the method em")
    candidates = candidates.including(i, j)
    return candidates, candidates.positions(i, j), truth


def _rising(curve: Sigmoid, truth: NDArray[np.bool_]) -> Sigmoid:
    """The curve, or where it falls the share of matches, whatever the score."""
    return curve if curve.slope > 0.0 else Sigmoid(0.0, float(special.logit(truth.mean())))


def _moments(X: Floats) -> tuple[Floats, Floats]:
    """Means and standard deviations of the numbers that are not missing; 0 and 1 where none is."""
    there = ~np.isnan(X)
    count = np.maximum(there.sum(axis=0), 1)
    means = np.where(there, X, 0.0).sum(axis=0) / count
    deviations = np.sqrt((np.where(there, X - means, 0.0) ** 2).sum(axis=0) / count)
    return means, np.where(deviations > 1e-6, deviations, 1.0)

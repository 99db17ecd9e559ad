"""How good a measure is on labeled pairs: precision, recall and F by the number of best pairs taken as matches.

    all pairs by falling score;  for each n:   P = TP(n) / n    R = TP(n) / positives
    F_b = (1 + b^2) P R / (b^2 P + R)          best cut: the greatest F_b over n

Cuts lie between distinct scores only, so pairs of equal score are taken together; scores are rounded to nine decimals
before, lest the last bit of a sum parts what is equal. Pairs without a label are negative (or left out:
unlabeled="ignore"), "don't know" is left out, positives that no measure finds stay in the recall. Pairs that score no
more than `floor` are not held: their positives count as missed.

A threshold chosen and judged on the same labels looks better than it is; `held_out` parts the pairs into five, chooses
the threshold on four and judges it on the fifth, in turn.

Cost: all pairs once for each measure, a sort of what is above the floor. Reference: Moreau, Yvon & Cappé (2008),
sections 4.2 and 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.errors import DataError
from textmill.metrics import BinaryCounts, FWeight, RatioUtility, ScoreCounts
from textmill.model import check_choice, check_range
from textmill.strings import DEFAULT_STEPS, Normalize
from textmill.strings.language import parse_measure
from textmill.strings.measure import Fitted, Measure
from textmill.tables import Table
from textmill.tasks.names.collection import NameList
from textmill.tasks.names.gold import Gold

__all__ = [
    "Choice",
    "Cut",
    "Difference",
    "Evaluation",
    "MatchCurve",
    "choose",
    "differences",
    "evaluate",
    "scored_blocks",
]

_Floats: TypeAlias = NDArray[np.float64]
_Ints: TypeAlias = NDArray[np.int64]

_CELLS = 1 << 21  # scores held at a time
_DECIMALS = 9
_FOLDS = 5


class Cut(NamedTuple):
    """The best `pairs` pairs, those of at least `threshold`, and how good they are."""

    pairs: int
    threshold: float
    precision: float
    recall: float
    f: float


@dataclass(frozen=True, slots=True, repr=False)
class MatchCurve(Table):
    """Precision, recall and F for every number of pairs at which the ranking can be cut.

    >>> curve = MatchCurve.of([0.9, 0.8, 0.8, 0.1], ["pos", "pos", "neg", "unk"], missed=1)
    >>> curve.pairs.tolist(), curve.precision.round(3).tolist(), curve.recall.round(3).tolist()
    ([1, 3], [1.0, 0.667], [0.333, 0.667])
    >>> curve.best().pairs, curve.best(beta=0.5).pairs
    (3, 1)
    """

    counts: ScoreCounts

    @classmethod
    def of(cls, scores: ArrayLike, labels: Sequence[str | None], *, missed: int = 0) -> MatchCurve:
        """The curve of scored pairs with labels pos, neg, unk or None; `missed` positives have no score."""
        values = np.asarray(scores, dtype=np.float64)
        if len(values) != len(labels):
            raise DataError(f"{len(values)} scores but {len(labels)} labels; pass one label a score")
        decided = np.array([label != "unk" for label in labels], dtype=bool)
        gold = np.array([label == "pos" for label in labels], dtype=bool)
        return cls(_counted(values[decided], gold[decided], missed))

    @property
    def pairs(self) -> _Ints:
        """How many pairs each cut accepts."""
        counts: _Ints = np.cumsum(self.counts.positives + self.counts.negatives)
        return counts

    @property
    def precision(self) -> _Floats:
        """Share of the accepted that are positive."""
        return self.counts.precision_recall()[0][1:]

    @property
    def recall(self) -> _Floats:
        """Share of the positives that are accepted."""
        return self.counts.precision_recall()[1][1:]

    def columns(self) -> dict[str, NDArray[np.float64] | NDArray[np.int64]]:
        """Return every cut: pairs accepted, least score, precision, recall and F1."""
        least = self.counts.thresholds[1:].copy()
        least[~np.isfinite(least)] = self.counts.scores[-1] if len(self.counts.scores) else 0.0
        figures = {"precision": self.precision, "recall": self.recall, "f1": self.f()}
        return {"pairs": self.pairs, "threshold": least, **figures}

    def f(self, beta: float = 1.0) -> _Floats:
        """F at every cut; beta below 1 favors precision, above 1 recall.

        >>> MatchCurve.of([0.9, 0.5], ["pos", "neg"]).f().round(3).tolist()
        [1.0, 0.667]
        """
        check_range("beta", beta, above=0.0)
        precision, recall = self.precision, self.recall
        weighted = beta**2 * precision + recall
        return np.divide((1 + beta**2) * precision * recall, weighted, out=np.zeros(len(recall)), where=weighted > 0)

    def best(self, beta: float = 1.0) -> Cut:
        """The cut of the greatest F; among equals that of the fewest pairs."""
        return self._cut(int(np.argmax(self.f(beta))), beta)

    def at_precision(self, precision: float, *, beta: float = 1.0) -> Cut:
        """The cut of the greatest recall among those of at least this precision.

        >>> MatchCurve.of([0.9, 0.7, 0.5], ["pos", "neg", "pos"]).at_precision(0.9).threshold
        0.8
        """
        check_range("precision", precision, at_least=0.0, at_most=1.0)
        fine = np.flatnonzero(self.precision >= precision)
        if not len(fine):
            best = float(self.precision.max())
            raise DataError(f"no cut has a precision of {precision:g}; the greatest is {best:.4f}, ask for less")
        return self._cut(int(fine[-1]), beta)

    def average_precision(self) -> float:
        """Area under precision over recall, step by step."""
        return self.counts.average_precision()

    def _cut(self, place: int, beta: float) -> Cut:
        threshold = float(self.counts.thresholds[place + 1])
        if not np.isfinite(threshold):
            threshold = float(self.counts.scores[-1])
        figures = (self.precision[place], self.recall[place], self.f(beta)[place])
        return Cut(int(self.pairs[place]), threshold, *map(float, figures))


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Table):
    """How a measure ranks the pairs of a collection.

    Attributes: measure (its text), curve, positives (the gold pairs by id) with positive_scores, folds (the counts of
    five parts of the pairs).
    """

    measure: str
    curve: MatchCurve
    positives: list[tuple[str, str]]
    positive_scores: _Floats
    folds: tuple[ScoreCounts, ...]

    def held_out(self, beta: float = 1.0) -> float:
        """F of thresholds chosen without the pairs they are judged on."""
        utility = RatioUtility.f(FWeight.from_beta(beta))
        judged = BinaryCounts()
        for k, fold in enumerate(self.folds):
            others = reduce(add, self.folds[:k] + self.folds[k + 1 :])
            if len(others.scores):
                threshold = others.best(utility).threshold
                judged = judged + (fold.at(threshold) if len(fold.scores) else BinaryCounts(misses=fold.missed))
        table = np.array([judged.hits, judged.misses, judged.false_alarms, judged.rejections])
        return float(np.nan_to_num(utility.value(table)))

    def columns(self) -> dict[str, list[float | str | int]]:
        """Return the figures of `row` as a table of one row."""
        return {name: [value] for name, value in self.row().items()}

    def row(self) -> dict[str, float | str | int]:
        """The figures of a comparison, by name."""
        one = self.curve.best()
        return {
            "measure": self.measure,
            "F1": one.f,
            "P": one.precision,
            "R": one.recall,
            "pairs": one.pairs,
            "threshold": one.threshold,
            "F0.5": self.curve.best(0.5).f,
            "F2": self.curve.best(2.0).f,
            "AP": self.curve.average_precision(),
            "held-out F1": self.held_out(),
        }


class Choice(NamedTuple):
    """The measure that was chosen, its threshold, F on all labels, and F on labels that did not take part."""

    measure: str
    threshold: float
    f: float
    held_out: float


class Difference(NamedTuple):
    """A positive pair that only one of two measures finds, with its score by the first and by the second."""

    left: str
    right: str
    first: float
    second: float


def evaluate(
    names: NameList,
    gold: Gold,
    measure: str | Measure,
    *,
    other: NameList | None = None,
    unlabeled: str = "negative",
    floor: float = 0.0,
    normalize: Normalize = DEFAULT_STEPS,
    n_jobs: int | None = None,
) -> Evaluation:
    """Rank all pairs of a collection, or all between two, and compare the ranking with the gold.

    Names are compared without case and accents unless `normalize` says otherwise. The measure learns from all names;
    one that has a direction is taken as the mean of both. Discarded names do not
    take part, and a collection of two relations is evaluated between them.

    >>> names = NameList.of(["Ann Smith", "Anne Smith", "Tom Jones", "Jones Tom"], clusters=[1, 1, 2, 2])
    >>> evaluation = evaluate(names, Gold.from_clusters(names), "jaro")
    >>> evaluation.curve.best().pairs, round(evaluation.curve.best().f, 3)
    (2, 1.0)
    """
    check_choice("unlabeled", unlabeled, ["negative", "ignore"])
    check_range("floor", floor, at_least=0.0, at_most=1.0)
    chosen = parse_measure(measure) if isinstance(measure, str) else measure
    if gold.discarded:
        names = names.filter(without=gold.discarded)
        other = None if other is None else other.filter(without=gold.discarded)
    names, other = names.normalized(normalize), None if other is None else other.normalized(normalize)
    rows, columns, labels = gold.places(names, other)
    if not (labels == 0).any():
        raise DataError("the gold has no positive pair, so recall is not defined; label some pairs pos")
    relations = None if names.relations is None or len(set(names.relations)) != 2 else np.array(names.relations)
    fitted = chosen.fit([*names, *(other or ())])
    scores_of_gold = np.zeros(len(rows))
    scores: list[_Floats] = []
    truths: list[NDArray[np.bool_]] = []
    folds: list[_Ints] = []
    for start, block in scored_blocks(fitted, names.names, None if other is None else other.names, n_jobs=n_jobs):
        stop = start + len(block)
        mine = slice(*np.searchsorted(rows, [start, stop]).tolist())
        scores_of_gold[mine] = block[rows[mine] - start, columns[mine]]
        wanted = block > floor
        if other is None:
            wanted &= np.arange(block.shape[1]) > np.arange(start, stop)[:, None]
        if relations is not None:
            wanted &= relations[start:stop, None] != relations
        if unlabeled == "ignore":
            wanted[:] = False
        wanted[rows[mine] - start, columns[mine]] = (labels[mine] != 2) & (scores_of_gold[mine] > floor)
        positive = np.zeros(block.shape, dtype=bool)
        positive[rows[mine] - start, columns[mine]] = labels[mine] == 0
        i, j = np.nonzero(wanted)
        scores.append(block[i, j])
        truths.append(positive[i, j])
        folds.append(_fold(i + start, j))
    score, truth, fold = np.concatenate(scores), np.concatenate(truths), np.concatenate(folds)
    lost = (labels == 0) & ~(scores_of_gold > floor)
    lost_folds = np.bincount(_fold(rows[lost], columns[lost]), minlength=_FOLDS)
    parts = tuple(_counted(score[fold == k], truth[fold == k], int(lost_folds[k])) for k in range(_FOLDS))
    ids = names.ids if other is None else other.ids
    positives = [(names.ids[i], ids[j]) for i, j in zip(rows[labels == 0], columns[labels == 0], strict=True)]
    curve = MatchCurve(_counted(score, truth, int(lost.sum())))
    if not len(curve.counts.scores):
        raise DataError(f"{chosen} gives no pair a score above {floor:g}; lower the floor or take another measure")
    return Evaluation(str(chosen), curve, positives, scores_of_gold[labels == 0], parts)


def scored_blocks(
    fitted: Fitted, names: Sequence[str], other: Sequence[str] | None = None, *, n_jobs: int | None = None
) -> Iterator[tuple[int, _Floats]]:
    """Yield the first row and the scores of blocks of rows, all names against all, or against the others.

    >>> fitted = parse_measure("levenshtein").fit(["ab", "ac"])
    >>> [(start, block.tolist()) for start, block in scored_blocks(fitted, ["ab", "ac"])]
    [(0, [[1.0, 0.5], [0.5, 1.0]])]
    """
    columns = list(names if other is None else other)
    step = max(1, _CELLS // max(1, len(columns)))
    for start in range(0, len(names), step):
        rows = list(names[start : start + step])
        block = np.asarray(fitted.matrix(rows, columns, n_jobs=n_jobs), dtype=np.float64)
        if not fitted.measure.symmetric:
            block = (block + np.asarray(fitted.matrix(columns, rows, n_jobs=n_jobs)).T) / 2
        yield start, np.round(block, _DECIMALS)


def choose(evaluations: Iterable[Evaluation], *, beta: float = 1.0) -> Choice:
    """The measure with the greatest F on pairs held out, the first of equals, with its best threshold on all pairs.

    >>> names = NameList.of(["Ann Smith", "Anne Smith", "Tom Jones", "Jones Tom"], clusters=[1, 1, 2, 2])
    >>> gold = Gold.from_clusters(names)
    >>> choose([evaluate(names, gold, measure) for measure in ("levenshtein", "overlap(words)")]).measure
    'overlap(words)'
    """
    tried = list(evaluations)
    if not tried:
        raise DataError("there is nothing to choose from; evaluate at least one measure")
    best = max(tried, key=lambda one: (one.held_out(beta), one.curve.best(beta).f))
    cut = best.curve.best(beta)
    return Choice(best.measure, cut.threshold, cut.f, best.held_out(beta))


def differences(
    first: Evaluation, second: Evaluation, *, beta: float = 1.0
) -> tuple[list[Difference], list[Difference]]:
    """Positives that one measure has within its best cut and the other has not: of the first, and of the second.

    >>> names = NameList.of(["Ann Smith", "Anne Smith", "Tom Jones", "Jones Tom"], clusters=[1, 1, 2, 2])
    >>> gold = Gold.from_clusters(names)
    >>> edits, words = (evaluate(names, gold, measure) for measure in ("levenshtein", "cosine(words)"))
    >>> [(pair.left, pair.right) for pair in differences(edits, words)[1]]
    [('3', '4')]
    """
    if first.positives != second.positives:
        raise DataError("the two measures were evaluated on different positives; evaluate both with the same gold")
    inside = [one.positive_scores >= one.curve.best(beta).threshold for one in (first, second)]

    def rows(chosen: NDArray[np.bool_]) -> list[Difference]:
        pairs = [
            Difference(*first.positives[k], float(first.positive_scores[k]), float(second.positive_scores[k]))
            for k in np.flatnonzero(chosen).tolist()
        ]
        return sorted(pairs, key=lambda pair: (-abs(pair.first - pair.second), pair.left, pair.right))

    return rows(inside[0] & ~inside[1]), rows(inside[1] & ~inside[0])


def _counted(scores: _Floats, truth: NDArray[np.bool_], missed: int) -> ScoreCounts:
    if not len(scores):
        return ScoreCounts(missed=missed)
    return ScoreCounts.from_scores(np.round(scores, _DECIMALS), truth, missed=missed)


def _fold(rows: _Ints, columns: _Ints) -> _Ints:
    """A part for every pair, by its place: the same for every measure, and alike for neighbors only by chance."""
    mixed = rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + columns.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return ((mixed >> np.uint64(33)) % np.uint64(_FOLDS)).astype(np.int64)

"""Counts of right and wrong labels, and the figures from their sums.

    AccuracyCounts   right answers among items
    BinaryCounts     hits, misses, false alarms, rejections of one class
    LabelCounts      the same for every label at once, when an item has one label or a set of them
    Confusion        gold x assigned table, when an item has exactly one label

    kappa = 1 - sum_ij w_ij n_ij / sum_ij w_ij e_ij        e_ij = row total i * column total j / n
            w_ij = [i != j] (plain), |i - j| (linear), (i - j)^2 (quadratic); i, j are positions in the label list
    MCC   = (n s - sum_k t_k p_k) / sqrt((n^2 - sum_k p_k^2) (n^2 - sum_k t_k^2))     s right, t_k gold, p_k assigned

Averages over labels: `micro` sums the counts first, `macro` is the plain mean of the labels' figures (macro F is the
mean of F, not the F of means), `weighted` weighs each label by how often it is gold. `zero_division` is the figure
where the fraction is 0/0: precision of a label never assigned, recall of a label never gold, F of a label that is
neither (1 by default for F, 0 for the rest); NaN leaves such labels out of macro and weighted averages.

Cost: one pass over the items. References: Cohen (1960, 1968); Gorodkin, Comparing two K-category assignments (2004).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.metrics._inputs import check_lengths, choice, codes, sorted_labels
from textmill.metrics.utility import FWeight, MCCUtility, RatioUtility, Utility
from textmill.tables import Column, Table

__all__ = ["AccuracyCounts", "BinaryCounts", "Confusion", "LabelCounts"]


@dataclass(frozen=True, slots=True)
class AccuracyCounts:
    """Right answers among items: tokens, sequences, documents.

    >>> words = AccuracyCounts(correct=49943 - 1420, items=49943)
    >>> round(100 * words.accuracy, 2), round(100 * words.error_rate, 2)
    (97.16, 2.84)
    """

    correct: int = 0
    items: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.correct <= self.items:
            raise DataError(f"{self.correct} correct of {self.items} items is not a share; count correct among items")

    def __add__(self, other: AccuracyCounts) -> AccuracyCounts:
        return AccuracyCounts(self.correct + other.correct, self.items + other.items)

    @property
    def accuracy(self) -> float:
        """Share of items that are right."""
        if self.items == 0:
            raise DataError("accuracy of no items is not defined; add counts of at least one item")
        return self.correct / self.items

    @property
    def error_rate(self) -> float:
        """Share of items that are wrong."""
        return 1.0 - self.accuracy


@dataclass(frozen=True, slots=True)
class BinaryCounts:
    """Hits, misses, false alarms and rejections of one class; they may be expected counts.

    Leave `rejections` out where they cannot be counted (chunks, retrieval); then only precision, recall and F have a
    meaning.

    >>> counts = BinaryCounts(hits=85, misses=14, false_alarms=144)
    >>> round(counts.f(), 6), round(counts.f(beta=3**0.5), 6)
    (0.518293, 0.646388)
    """

    hits: float = 0
    misses: float = 0
    false_alarms: float = 0
    rejections: float = 0

    def __post_init__(self) -> None:
        for name in ("hits", "misses", "false_alarms", "rejections"):
            if not 0 <= getattr(self, name) < math.inf:
                raise DataError(f"{name} is {getattr(self, name)}; counts are finite and at least 0")

    @classmethod
    def from_labels(
        cls, gold: Iterable[Hashable], predicted: Iterable[Hashable], positive: Hashable = True
    ) -> BinaryCounts:
        """Count one label against all others.

        >>> BinaryCounts.from_labels(["spam", "ham", "spam"], ["spam", "spam", "ham"], positive="spam")
        BinaryCounts(hits=1, misses=1, false_alarms=1, rejections=0)
        """
        truth, claim = _equal(gold, positive), _equal(predicted, positive)
        check_lengths("gold", len(truth), "predicted", len(claim))
        hits = int(np.count_nonzero(truth & claim))
        misses = int(np.count_nonzero(truth)) - hits
        false_alarms = int(np.count_nonzero(claim)) - hits
        return cls(hits, misses, false_alarms, len(truth) - hits - misses - false_alarms)

    def __add__(self, other: BinaryCounts) -> BinaryCounts:
        return BinaryCounts(
            self.hits + other.hits,
            self.misses + other.misses,
            self.false_alarms + other.false_alarms,
            self.rejections + other.rejections,
        )

    @property
    def vector(self) -> Floats:
        """The four counts as an array, the input of every utility."""
        return np.array([self.hits, self.misses, self.false_alarms, self.rejections], np.float64)

    def precision(self, zero_division: float = 0.0) -> float:
        """Share of claims that are right."""
        return float(RatioUtility.precision(zero_division).value(self.vector))

    def recall(self, zero_division: float = 0.0) -> float:
        """Share of true items that were found."""
        return float(RatioUtility.recall(zero_division).value(self.vector))

    def f(self, beta: float = 1.0, zero_division: float = 1.0) -> float:
        """F_beta of precision and recall."""
        return float(RatioUtility.f(FWeight.from_beta(beta), zero_division).value(self.vector))

    def accuracy(self, zero_division: float = 0.0) -> float:
        """Share of items that are right, on either side."""
        return float(RatioUtility.accuracy(zero_division).value(self.vector))

    def mcc(self) -> float:
        """Matthews correlation; 0 where a margin is 0."""
        return float(MCCUtility().value(self.vector))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabelCounts(Table):
    """For every label: how often it is gold, assigned, and both.

    `hits`, `gold` and `predicted` are arrays over `labels`; `items` is the number of items.

    >>> counts = LabelCounts.from_sets([{"cs"}, {"sk"}, {"en"}], [{"cs", "sk"}, {"sk"}, set()])
    >>> counts["sk"]
    BinaryCounts(hits=1, misses=0, false_alarms=1, rejections=1)
    >>> round(counts.precision("macro"), 4), round(counts.recall("micro"), 4)
    (0.5, 0.6667)
    """

    labels: tuple[Hashable, ...] = ()
    hits: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    gold: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    predicted: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    items: int = 0

    def __post_init__(self) -> None:
        shapes = {self.hits.shape, self.gold.shape, self.predicted.shape}
        if shapes != {(len(self.labels),)} or np.any(self.table < 0):
            raise DataError("hits, gold, predicted and items do not fit together; hits are part of gold and predicted")

    @classmethod
    def from_sets(cls, gold: Sequence[Collection[Hashable]], predicted: Sequence[Collection[Hashable]]) -> LabelCounts:
        """Count set-valued answers: every item has any number of gold and of assigned labels, also none."""
        check_lengths("gold", len(gold), "predicted", len(predicted))
        for answer in chain(gold, predicted):
            if isinstance(answer, str):
                raise DataError(f"the answer {answer!r} is a string, not a set of labels; pass {{{answer!r}}}")
        truth, claims = [set(answer) for answer in gold], [set(answer) for answer in predicted]
        both = [right & claimed for right, claimed in zip(truth, claims, strict=True)]
        labels = sorted_labels(chain.from_iterable(chain(truth, claims)))
        index = {label: code for code, label in enumerate(labels)}
        hits, golds, predictions = (
            np.bincount(
                np.fromiter(map(index.__getitem__, chain.from_iterable(sets)), np.int64), minlength=len(labels)
            ).astype(np.int64)
            for sets in (both, truth, claims)
        )
        return cls(labels, hits, golds, predictions, len(truth))

    def __add__(self, other: LabelCounts) -> LabelCounts:
        labels = _union(self.labels, other.labels)
        total = np.zeros((3, len(labels)), np.int64)
        for part in (self, other):
            total[:, _places(part.labels, labels)] += np.stack([part.hits, part.gold, part.predicted])
        return LabelCounts(labels, total[0], total[1], total[2], self.items + other.items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelCounts):
            return NotImplemented
        return (self.labels, self.items) == (other.labels, other.items) and np.array_equal(self.table, other.table)

    def __getitem__(self, label: Hashable) -> BinaryCounts:
        hits, misses, false_alarms, rejections = self.table[_places([label], self.labels)[0]].tolist()
        return BinaryCounts(hits, misses, false_alarms, rejections)

    @property
    def table(self) -> Ints:
        """One row (hits, misses, false alarms, rejections) for each label, the input of every utility."""
        misses, false_alarms = self.gold - self.hits, self.predicted - self.hits
        return np.stack([self.hits, misses, false_alarms, self.items - self.gold - false_alarms], axis=-1)

    def columns(self) -> dict[str, Column]:
        """Return the labels with precision, recall, F1 and what these are made of."""
        rows = [self[label] for label in self.labels]
        return {
            "label": self.labels,
            "precision": [row.precision() for row in rows],
            "recall": [row.recall() for row in rows],
            "f1": [row.f(zero_division=0.0) for row in rows],
            "hits": self.hits,
            "gold": self.gold,
            "predicted": self.predicted,
        }

    def only(self, labels: Iterable[Hashable]) -> LabelCounts:
        """Keep some labels, for averages that leave the others out (the O of a tagger, say)."""
        chosen = tuple(labels)
        rows = _places(chosen, self.labels)
        return LabelCounts(chosen, self.hits[rows], self.gold[rows], self.predicted[rows], self.items)

    def average(self, utility: Utility, method: str) -> float:
        """Average any utility over the labels: method is `micro`, `macro` or `weighted`; NaN if all are left out."""
        choice("average", method, ("micro", "macro", "weighted"))
        if not self.labels:
            raise DataError("there is no label to average over; add counts of at least one item")
        if method == "micro":
            return float(utility.value(self.table.sum(axis=0)))
        figures = utility.value(self.table)
        weights = np.ones(len(figures)) if method == "macro" else self.gold.astype(np.float64)
        weights[np.isnan(figures)] = 0.0
        if not weights.any():
            return math.nan
        return float(np.nansum(figures * weights) / weights.sum())

    def precision(self, average: str, zero_division: float = 0.0) -> float:
        """Averaged precision."""
        return self.average(RatioUtility.precision(zero_division), average)

    def recall(self, average: str, zero_division: float = 0.0) -> float:
        """Averaged recall."""
        return self.average(RatioUtility.recall(zero_division), average)

    def f(self, average: str, beta: float = 1.0, zero_division: float = 1.0) -> float:
        """Averaged F_beta."""
        return self.average(RatioUtility.f(FWeight.from_beta(beta), zero_division), average)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Confusion(Table):
    """How often each gold label (row) was answered by each label (column).

    Labels are any hashable values. Tables over different labels add over the union of both.

    >>> table = Confusion.from_labels(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    >>> table.labels, table.table.tolist()
    (('a', 'b'), [[2, 0], [1, 1]])
    >>> table.accuracy(), round(table.kappa(), 4), round(table.per_label().f("macro"), 4)
    (0.75, 0.5, 0.7333)
    """

    labels: tuple[Hashable, ...] = ()
    table: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int64))

    def __post_init__(self) -> None:
        table = np.asarray(self.table)
        if table.shape != (len(self.labels), len(self.labels)):
            raise DataError(f"a table of shape {table.shape} does not fit {len(self.labels)} labels; make it square")
        if table.size and (table.dtype.kind not in "iu" or table.min() < 0):
            raise DataError("a confusion table holds whole numbers of at least 0; pass counts, not shares")
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "table", table.astype(np.int64))

    @classmethod
    def from_labels(
        cls,
        gold: Iterable[Hashable],
        predicted: Iterable[Hashable],
        labels: Iterable[Hashable] | None = None,
    ) -> Confusion:
        """Count pairs. `labels` fixes their order, and names labels that may not occur; default: sorted.

        >>> Confusion.from_labels([1, 2], [2, 2], labels=range(1, 4)).table.tolist()
        [[0, 1, 0], [0, 1, 0], [0, 0, 0]]
        """
        names, rows, columns = codes(gold, predicted, labels)
        check_lengths("gold", len(rows), "predicted", len(columns))
        cells = np.bincount(rows * len(names) + columns, minlength=len(names) ** 2)
        return cls(names, cells.reshape(len(names), len(names)))

    def __add__(self, other: Confusion) -> Confusion:
        labels = _union(self.labels, other.labels)
        total = np.zeros((len(labels), len(labels)), np.int64)
        for part in (self, other):
            rows = _places(part.labels, labels)
            total[np.ix_(rows, rows)] += part.table
        return Confusion(labels, total)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Confusion):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.table, other.table)

    def columns(self) -> dict[str, Column]:
        """Return the gold labels, and for each label how often it was the answer to them."""
        answers = {str(label): self.table[:, i] for i, label in enumerate(self.labels)}
        return {"gold": self.labels, **answers}

    def per_label(self) -> LabelCounts:
        """Counts of each label against all others."""
        gold, predicted = self.table.sum(axis=1), self.table.sum(axis=0)
        return LabelCounts(self.labels, self.table.diagonal().copy(), gold, predicted, int(self.table.sum()))

    def accuracy(self, within: int = 0) -> float:
        """Share of items whose label is right, or at most `within` places away in the order of the labels."""
        return float(self.table[self._distance() <= within].sum() / self._items())

    def error_rate(self) -> float:
        """Share of items whose label is wrong."""
        return 1.0 - self.accuracy()

    def kappa(self, weights: str = "plain", zero_division: float = 0.0) -> float:
        """Cohen's kappa: agreement beyond chance; `linear` and `quadratic` weights forgive near misses.

        `zero_division` is the figure when both sides always give one and the same label.
        """
        choice("weights", weights, ("plain", "linear", "quadratic"))
        distance = self._distance()
        cost = {"plain": (distance > 0).astype(np.int64), "linear": distance, "quadratic": distance**2}[weights]
        expected = np.outer(self.table.sum(axis=1), self.table.sum(axis=0)) / self._items()
        chance = float((cost * expected).sum())
        return 1.0 - float((cost * self.table).sum()) / chance if chance else zero_division

    def mcc(self) -> float:
        """Matthews correlation for any number of labels; 0 when a side always gives the same label."""
        items = float(self._items())
        gold, predicted = (self.table.sum(axis=axis).astype(np.float64) / items for axis in (1, 0))
        spread = (1.0 - predicted @ predicted) * (1.0 - gold @ gold)
        covariance = float(self.table.trace()) / items - float(gold @ predicted)
        return covariance / math.sqrt(spread) if spread > 0.0 else 0.0

    def _distance(self) -> Ints:
        place = np.arange(len(self.labels), dtype=np.int64)
        return np.asarray(np.abs(place[:, None] - place))

    def _items(self) -> int:
        items = int(self.table.sum())
        if items == 0:
            raise DataError("the confusion table is empty; add counts of at least one item")
        return items


def _union(left: tuple[Hashable, ...], right: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """Labels of a sum: the longer list if it holds the other, else the sorted union of both."""
    if set(right) <= set(left):
        return left
    return right if set(left) <= set(right) else sorted_labels((*left, *right))


def _places(labels: Iterable[Hashable], among: tuple[Hashable, ...]) -> list[int]:
    index = {label: place for place, label in enumerate(among)}
    try:
        return [index[label] for label in labels]
    except KeyError as error:
        names = ", ".join(map(repr, among[:8])) + (", ..." if len(among) > 8 else "")
        raise DataError(f"label {error.args[0]!r} was never counted; choose among {names}") from None


def _equal(values: Iterable[Hashable], positive: Hashable) -> NDArray[np.bool_]:
    if isinstance(values, np.ndarray):
        return np.asarray(values == positive, np.bool_)
    return np.fromiter((label == positive for label in values), np.bool_)

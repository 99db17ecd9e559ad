"""How well the edges of segments are found, also by their length.

    exact    first token, last token and label are right
    left     first token and label are right            all over the same numbers of gold and predicted segments,
    right    last token and label are right             as the scorer of JNLPBA-2004 counts

By length: recall over the gold segments of a length, precision over the predicted ones. Counts add.
Cost: one pass over the segments. Reference: Kim, Ohta, Tsuruoka, Tateisi & Collier (2004).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from textmill.corpus import spans_of
from textmill.errors import DataError
from textmill.tables import Column, Table

__all__ = ["BoundaryScores", "evaluate_boundaries"]

MATCHES = ("exact", "left", "right")


@dataclass(frozen=True, slots=True, repr=False)
class BoundaryScores(Table):
    """Counts of segments by label and by length: hits of each sort of match, gold, predicted.

    >>> scores = evaluate_boundaries([["B-A", "I-A", "O"]], [["B-A", "O", "O"]])
    >>> scores.f1("exact"), scores.f1("left"), scores.f1("right")
    (0.0, 1.0, 0.0)
    """

    hits: Counter[tuple[str, str]] = field(default_factory=Counter)  # by match and label
    gold: Counter[str] = field(default_factory=Counter)  # by label
    predicted: Counter[str] = field(default_factory=Counter)
    hits_of_length: Counter[int] = field(default_factory=Counter)  # exact ones, by length
    gold_of_length: Counter[int] = field(default_factory=Counter)
    predicted_of_length: Counter[int] = field(default_factory=Counter)

    def __add__(self, other: BoundaryScores) -> BoundaryScores:
        return BoundaryScores(
            self.hits + other.hits,
            self.gold + other.gold,
            self.predicted + other.predicted,
            self.hits_of_length + other.hits_of_length,
            self.gold_of_length + other.gold_of_length,
            self.predicted_of_length + other.predicted_of_length,
        )

    def recall(self, match: str = "exact", label: str | None = None) -> float:
        """Share of the gold segments, of all labels or of one, that are found."""
        return self._hits(match, label) / max(1, self._total(self.gold, label))

    def precision(self, match: str = "exact", label: str | None = None) -> float:
        """Share of the predicted segments that are right."""
        return self._hits(match, label) / max(1, self._total(self.predicted, label))

    def f1(self, match: str = "exact", label: str | None = None) -> float:
        """Harmonic mean of both."""
        total = self._total(self.gold, label) + self._total(self.predicted, label)
        return 2 * self._hits(match, label) / max(1, total)

    def columns(self) -> dict[str, Column]:
        """Return recall, precision and F1 of each match, for every label and for all."""
        labels: list[str | None] = [*sorted(self.gold.keys() | self.predicted.keys()), None]
        table: dict[str, Column] = {"label": ["all" if label is None else label for label in labels]}
        table["gold"] = [self._total(self.gold, label) for label in labels]
        for match in MATCHES:
            for name, figure in (("recall", self.recall), ("precision", self.precision), ("f1", self.f1)):
                table[f"{match} {name}"] = [figure(match, label) for label in labels]
        return table

    def by_length(self) -> dict[int, tuple[float, float, int, int]]:
        """For every length recall, precision, number of gold and number of predicted segments."""
        lengths = sorted(self.gold_of_length.keys() | self.predicted_of_length.keys())
        return {
            n: (
                self.hits_of_length[n] / max(1, self.gold_of_length[n]),
                self.hits_of_length[n] / max(1, self.predicted_of_length[n]),
                self.gold_of_length[n],
                self.predicted_of_length[n],
            )
            for n in lengths
        }

    def to_json(self) -> dict[str, Any]:
        """Return everything, for machines."""
        figures = {
            match: {"recall": self.recall(match), "precision": self.precision(match), "f1": self.f1(match)}
            for match in MATCHES
        }
        lengths = {
            str(n): {"recall": recall, "precision": precision, "gold": gold, "predicted": predicted}
            for n, (recall, precision, gold, predicted) in self.by_length().items()
        }
        return {**figures, "labels": self.to_dict(), "lengths": lengths}

    def _hits(self, match: str, label: str | None) -> int:
        if match not in MATCHES:
            raise DataError(f"match must be one of {', '.join(MATCHES)}, got {match!r}")
        labels = self.gold.keys() | self.predicted.keys() if label is None else {label}
        return sum(self.hits[match, name] for name in labels)

    @staticmethod
    def _total(counts: Counter[str], label: str | None) -> int:
        return counts.total() if label is None else counts[label]


def evaluate_boundaries(gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> BoundaryScores:
    """Count the segments of two taggings, and which of them agree, on the left, on the right and as a whole.

    >>> scores = evaluate_boundaries([["B-A", "I-A", "B-B"]], [["B-A", "I-A", "B-C"]])
    >>> scores.by_length()
    {1: (0.0, 0.0, 1, 1), 2: (1.0, 1.0, 1, 1)}
    """
    scores = BoundaryScores()
    truths, answers = list(gold), list(predicted)
    if len(truths) != len(answers):
        raise DataError(f"there are {len(truths)} gold sequences but {len(answers)} predicted ones; give one for each")
    for number, (truth, answer) in enumerate(zip(truths, answers, strict=True), 1):
        if len(truth) != len(answer):
            raise DataError(f"sequence {number} has {len(truth)} gold labels but {len(answer)} predicted ones")
        left, right = spans_of(list(truth), lenient=True), spans_of(list(answer), lenient=True)
        scores.gold.update(label for _, _, label in left)
        scores.predicted.update(label for _, _, label in right)
        scores.gold_of_length.update(end - begin for begin, end, _ in left)
        scores.predicted_of_length.update(end - begin for begin, end, _ in right)
        both = set(left) & set(right)
        scores.hits.update(("exact", label) for _, _, label in both)
        scores.hits_of_length.update(end - begin for begin, end, _ in both)
        begins = {(begin, label) for begin, _, label in left} & {(begin, label) for begin, _, label in right}
        ends = {(end, label) for _, end, label in left} & {(end, label) for _, end, label in right}
        scores.hits.update(("left", label) for _, label in begins)
        scores.hits.update(("right", label) for _, label in ends)
    return scores

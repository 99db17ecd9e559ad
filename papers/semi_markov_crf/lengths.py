"""How long the segments of tagged sequences are, how many have each label, and how many follow O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textmill.corpus import spans_of
from textmill.tables import Column, Table

__all__ = ["SegmentLengths", "segment_lengths"]


@dataclass(frozen=True, slots=True, repr=False)
class SegmentLengths(Table):
    """How many segments have each length and each label, and how many follow O or begin a sequence.

    >>> lengths = segment_lengths([["B-A", "I-A", "B-B", "O", "B-A"]])
    >>> lengths.lengths, lengths.after_o
    (Counter({1: 2, 2: 1}), 2)
    """

    lengths: Counter[int]
    labels: Counter[str]
    after_o: int

    def columns(self) -> dict[str, Column]:
        """Return lengths, their numbers and shares."""
        order = sorted(self.lengths)
        total = max(1, self.lengths.total())
        return {
            "length": order,
            "segments": [self.lengths[n] for n in order],
            "share": [self.lengths[n] / total for n in order],
        }

    def note(self) -> str:
        """Return how many there are, and after what."""
        total = self.lengths.total()
        return f"{total} segments, {self.after_o / max(1, total):.2%} of them after O or first in their sequence"


def segment_lengths(y: Iterable[Sequence[str]]) -> SegmentLengths:
    """Count the segments of tagged sequences by length.

    >>> print(segment_lengths([["B-A", "I-A", "O"]]).note())
    1 segments, 100.00% of them after O or first in their sequence
    """
    lengths, labels, after = Counter[int](), Counter[str](), 0
    for tags in y:
        behind = 0
        for number, (begin, end, label) in enumerate(spans_of(list(tags), lenient=True)):
            lengths[end - begin] += 1
            labels[label] += 1
            after += number == 0 or begin > behind
            behind = end
    return SegmentLengths(lengths, labels, after)

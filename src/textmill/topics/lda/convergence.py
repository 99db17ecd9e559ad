"""How a topic model got on: perplexity of held-out documents while it learns, and what to look at afterwards.

    dead         topics with less than a hundredth of an even share of the words
    duplicates   pairs of topics whose Hellinger distance sqrt(1 - sum_w sqrt(p_w q_w)) is below 0.1

A dead topic costs time and says nothing: fewer topics, a smaller alpha or another seed help. Duplicates mean more
topics than the corpus has, or too few updates.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from textmill.arrays import Floats

__all__ = ["Convergence", "HeldOut", "dead_topics", "duplicate_topics"]


_DEAD = 0.01  # of an even share
_PATIENCE = 2  # evaluations without a better perplexity


@dataclass
class HeldOut:
    """The perplexities of held-out documents in the course of training.

    >>> watch = HeldOut(tolerance=0.01)
    >>> [watch.add(update, value) for update, value in enumerate([900.0, 800.0, 799.0, 798.0])]
    [False, False, False, True]
    """

    tolerance: float
    updates: list[int] = field(default_factory=list)
    perplexities: list[float] = field(default_factory=list)
    _best: float = np.inf
    _waited: int = 0

    def add(self, update: int, perplexity: float) -> bool:
        """Note a perplexity, and say whether it has stopped falling."""
        self.updates.append(update)
        self.perplexities.append(perplexity)
        better = perplexity < self._best * (1 - self.tolerance)
        self._best = min(self._best, perplexity)
        self._waited = 0 if better else self._waited + 1
        return self._waited >= _PATIENCE


@dataclass(frozen=True)
class Convergence:
    """A report on a trained model; `str` gives it as lines of text."""

    converged: bool
    passes: int
    updates: int
    documents: int
    words: float
    bounds: Floats
    perplexities: Floats
    dead: list[int]
    duplicates: list[tuple[int, int, float]]

    def __str__(self) -> str:
        state = "converged" if self.converged else "stopped before it converged, or was not asked to"
        lines = [
            f"{state}: {self.updates:,} updates, {self.passes:,} passes, "
            f"{self.documents:,} documents, {self.words:,.0f} words"
        ]
        for name, values, form in (
            ("bound of a word", self.bounds, ".4f"),
            ("held-out perplexity", self.perplexities, ".1f"),
        ):
            if len(values):
                lines.append(f"{name}: {values[0]:{form}} at first, {values[-1]:{form}} at last, {len(values)} times")
        if self.dead:
            lines.append(f"dead topics: {', '.join(str(topic + 1) for topic in self.dead)}; try fewer topics")
        for one, other, distance in self.duplicates:
            lines.append(f"topics {one + 1} and {other + 1} are nearly one (Hellinger {distance:.2f})")
        return "\n".join(lines)


def dead_topics(counts: Floats) -> list[int]:
    """Topics with next to no words.

    >>> dead_topics(np.array([50.0, 0.1, 49.9]))
    [1]
    """
    return np.flatnonzero(counts < _DEAD * counts.mean()).tolist()


def duplicate_topics(components: Floats, below: float = 0.1) -> list[tuple[int, int, float]]:
    """Pairs of topics (rows that sum to 1) with their Hellinger distance, nearest first.

    >>> duplicate_topics(np.array([[0.5, 0.5], [0.49, 0.51], [0.9, 0.1]]))
    [(0, 1, 0.007072)]
    """
    roots = np.sqrt(components)
    distances = np.sqrt(np.maximum(1.0 - roots @ roots.T, 0.0))
    rows, columns = np.nonzero(np.triu(distances < below, 1))
    pairs = [(int(i), int(j), round(float(distances[i, j]), 6)) for i, j in zip(rows, columns, strict=True)]
    return sorted(pairs, key=lambda pair: pair[2])

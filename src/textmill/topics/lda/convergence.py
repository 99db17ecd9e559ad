"""How a topic model got on: perplexity of held-out documents while it learns, and what to look at afterwards.

    dead         topics with less than a hundredth of an even share of the words
    duplicates   pairs of topics whose Hellinger distance sqrt(1 - sum_w sqrt(p_w q_w)) is below 0.1

A dead topic costs time and says nothing: fewer topics, a smaller alpha or another seed help. Duplicates mean more
topics than the corpus has, or too few updates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.numeric import sparse
from textmill.optimize import Plateau
from textmill.topics.chunks import Chunks
from textmill.topics.lda.engines import Task
from textmill.topics.lda.perplexity import completion
from textmill.topics.lda.statistics import Statistics
from textmill.topics.lda.variational import mixtures
from textmill.topics.model import ROWS

__all__ = ["Convergence", "HeldOut", "dead_topics", "duplicate_topics"]


_DEAD = 0.01  # of an even share
_PATIENCE = 2  # evaluations without a better perplexity


class HeldOut:
    """The perplexity of held-out documents (counts, one row each) while statistics are learned.

    Attributes: perplexities so far, and the numbers of updates after which they were measured.

    >>> from textmill.topics.lda.learning import Batch
    >>> from textmill.corpus import check_bags
    >>> task, X = Task(n_topics=2, max_iter=3, random_state=0), np.eye(4) * 5
    >>> held_out = HeldOut(check_bags(X), task, tolerance=0.01)
    >>> _ = Batch().fit(task.empty(), Chunks(X, 9), task, watch=held_out)
    >>> held_out.updates, len(held_out.perplexities)
    ([1, 2, 3], 3)
    """

    def __init__(self, X: sparse.csr_matrix, task: Task, *, tolerance: float) -> None:
        self.X = X
        self.task = task
        self.rule = Plateau(window=_PATIENCE + 1, tolerance=tolerance, relative=True, falling=True)
        self.updates: list[int] = []
        self.perplexities: list[float] = []

    def __call__(self, statistics: Statistics) -> bool:
        """Note the perplexity under some statistics; return whether it has stopped falling."""
        task = self.task
        topics = statistics.expected(max_iter=task.inner_max_iter, tolerance=task.inner_tolerance)
        infer = partial(mixtures, topics=topics, n_jobs=task.n_jobs)
        parts = Chunks(self.X, ROWS, negative=False).over(statistics.n_terms, "LDA")
        scores = [completion(topics.weighed(part), infer, statistics.topics, n_jobs=task.n_jobs) for part in parts]
        words = sum(count for _, count in scores)
        if not words:
            raise DataError("nothing to score: X_dev has no words; pass at least one document with known words")
        self.updates.append(statistics.updates)
        self.perplexities.append(float(np.exp(-sum(likelihood for likelihood, _ in scores) / words)))
        return self.rule.settled(self.perplexities)


@dataclass(frozen=True)
class Convergence:
    """A report on a trained model; `str` gives it as lines of text."""

    converged: bool
    n_iter: int
    updates: int
    documents: int
    words: float
    trace: Floats
    perplexities: Floats
    dead: list[int]
    duplicates: list[tuple[int, int, float]]
    objective: str = "objective"  # what the trace is of

    def __str__(self) -> str:
        state = "converged" if self.converged else "not converged (iteration limit reached, or not checked)"
        lines = [
            f"{state}: {self.updates:,} updates, {self.n_iter:,} iterations, "
            f"{self.documents:,} documents, {self.words:,.0f} words"
        ]
        for name, values, form in (
            (self.objective, self.trace, ".4f"),
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

"""Strings prepared to be compared with many others, and pairs above a threshold found by comparing them.

    prepared = fitted.prepare(names)                 features, code points, vectors: once for each list
    prepared.scores(others, at_least=0.85)           pairs of both lists that score at least that, and above 0

Measures that can bound a score before they compute it override `scores`: characters by lengths and by common symbols,
in the kernel (native/strings/characters.h); sets by their common features. All others score every pair, a block of
rows at a time. The pairs and their scores are those of a matrix of all pairs.

Cost: as many scores as there are pairs, but for what the measure leaves out. Memory: one block, and the pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from textmill.model import check_range, effective_jobs
from textmill.strings.pairs import NameJoin, Pairs, best_pairs

if TYPE_CHECKING:
    from textmill.strings.measure import Fitted

__all__ = ["Prepared", "ScoredJoin"]

_CELLS = 1 << 20  # scores held together


class Prepared:
    """Strings of one side, with what a fitted measure computes of them alone. Made by `Fitted.prepare`.

    Attributes: fitted; names.
    """

    def __init__(self, fitted: Fitted, names: list[str]) -> None:
        self.fitted = fitted
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    def part(self, begin: int, end: int) -> Prepared:
        """The strings begin to end - 1, prepared already."""
        return Prepared(self.fitted, self.names[begin:end])

    def scores(self, other: Prepared | None = None, *, at_least: float = 0.0, n_jobs: int | None = None) -> Pairs:
        """Return the pairs of a string here and one of `other` that score at least `at_least`, and above 0.

        Without `other`, pairs within the list, each once, the earlier string on the left. Both sides must have been
        prepared by the same fitted measure.
        """
        check_range("at_least", at_least, at_least=0.0, at_most=1.0)
        return self.score(other, at_least, effective_jobs(n_jobs))

    def score(self, other: Prepared | None, at_least: float, n_jobs: int) -> Pairs:
        """`scores` of checked arguments."""
        right = self if other is None else other
        step = max(1, _CELLS // max(1, len(right)))
        blocks = []
        for begin in range(0, len(self), step):
            first = begin if other is None else 0
            rows = self.names[begin : begin + step]
            table = self.fitted.score_matrix(rows, right.names[first:], n_jobs)
            i, j = np.nonzero((table >= at_least) & (table > 0.0))
            score = table[i, j].astype(np.float64, copy=False)
            pairs = Pairs((i + begin).astype(np.int32), (j + first).astype(np.int32), score)
            blocks.append(pairs.where(pairs.left < pairs.right) if other is None else pairs)
        return Pairs.concatenate(blocks)


class ScoredJoin(NameJoin):
    """Names that are prepared once and scored block by block.

    >>> from textmill.strings import Osa
    >>> ScoredJoin(Osa().fit(), ["Ann", "Anne", "Tom"]).among(0, 3, 0.6, 0, 1).right.tolist()
    [1]
    """

    def __init__(self, fitted: Fitted, names: list[str]) -> None:
        super().__init__(fitted, names)
        self.prepared = fitted.prepared(names)

    def among(self, begin: int, end: int, threshold: float, k: int, n_jobs: int) -> Pairs:
        """Pairs within the collection."""
        rows = self.prepared.part(begin, end)
        if k:
            pairs = rows.score(self.prepared, threshold, n_jobs)
            pairs = Pairs(pairs.left + np.int32(begin), pairs.right, pairs.score)
            return best_pairs(pairs.where(pairs.left != pairs.right), k)
        inside = rows.score(None, threshold, n_jobs)
        behind = rows.score(self.prepared.part(end, len(self.names)), threshold, n_jobs)
        first, last = np.int32(begin), np.int32(end)
        return best_pairs(
            Pairs.concatenate(
                [
                    Pairs(inside.left + first, inside.right + first, inside.score),
                    Pairs(behind.left + first, behind.right + last, behind.score),
                ]
            ),
            k,
        )

    def across(self, others: list[str], threshold: float, k: int, n_jobs: int) -> Pairs:
        """Pairs with other names."""
        return best_pairs(self.fitted.prepared(others).score(self.prepared, threshold, n_jobs), k)

    def add(self, names: list[str], n_jobs: int) -> None:
        """Take more names."""
        self.names = [*self.names, *names]
        self.prepared = self.fitted.prepared(self.names)

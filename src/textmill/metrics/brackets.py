"""Labeled brackets of trees against the right ones.

    precision = brackets in both / brackets of the parser      recall = brackets in both / right brackets
    F1        = 2 * brackets in both / (brackets of the parser + right brackets)

A bracket is (start, end, label) over positions of words; one that occurs twice in a tree counts twice. Every
constituent above the tags counts, punctuation and the outermost one included; EVALB leaves some of them out by default.
Cost: one pass. Reference: Black et al. (1991), A procedure for quantitatively comparing the syntactic coverage of
English grammars.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.errors import DataError
from textmill.metrics.conventions import signature
from textmill.metrics.significance import Interval, bootstrap_interval

__all__ = ["BracketCounts"]

Brackets = Iterable[tuple[int, int, str]]


@dataclass(frozen=True, slots=True)
class BracketCounts:
    """Brackets in both trees, right ones, those of a parser; trees with no error, and trees.

    >>> counts = BracketCounts.of([(0, 2, "S"), (0, 1, "NP"), (1, 2, "VP")], [(0, 2, "S"), (0, 1, "VP")])
    >>> counts.precision, round(counts.recall, 3), counts.f1, counts.exact_match
    (0.5, 0.333, 0.4, 0.0)
    """

    correct: int = 0
    gold: int = 0
    predicted: int = 0
    exact: int = 0
    trees: int = 0
    by_tree: tuple[tuple[int, int], ...] = ()  # correct, and gold + predicted, of each tree

    @classmethod
    def of(cls, gold: Brackets, predicted: Brackets, *, labeled: bool = True) -> BracketCounts:
        """Count one tree; without `labeled` only the positions count."""
        right, parsed = (Counter(b if labeled else b[:2] for b in brackets) for brackets in (gold, predicted))
        correct = (right & parsed).total()
        total = right.total() + parsed.total()
        return cls(correct, right.total(), parsed.total(), int(right == parsed), 1, ((correct, total),))

    @classmethod
    def of_all(cls, gold: Iterable[Any], predicted: Iterable[Any], *, labeled: bool = True) -> BracketCounts:
        """Count trees with a method `spans`, such as `corpus.Tree`, in pairs over the same number of words.

        >>> from textmill.corpus import parse_tree
        >>> tree = parse_tree("(S (NP (NN dogs)) (VP (VBP bark)))")
        >>> BracketCounts.of_all([tree], [tree]).f1
        1.0
        """
        right, parsed = list(gold), list(predicted)
        if len(right) != len(parsed):
            raise DataError(f"{len(parsed)} trees cannot be compared with {len(right)}; pass one for each")
        parts = []
        for number, (a, b) in enumerate(zip(right, parsed, strict=True), 1):
            if len(a.leaves()) != len(b.leaves()):
                raise DataError(
                    f"tree {number} has {len(b.leaves())} words and the right one {len(a.leaves())}; "
                    "compare trees of the same sentences"
                )
            parts.append(cls.of(a.spans(), b.spans(), labeled=labeled))
        return cls.sum(parts)

    @classmethod
    def sum(cls, parts: Sequence[BracketCounts]) -> BracketCounts:
        """Add many counts at once.

        >>> BracketCounts.sum([BracketCounts(1, 1, 2), BracketCounts(1, 2, 1)]).correct
        2
        """
        names = ("correct", "gold", "predicted", "exact", "trees")
        totals = {name: sum(getattr(part, name) for part in parts) for name in names}
        return cls(**totals, by_tree=tuple(pair for part in parts for pair in part.by_tree))

    def __add__(self, other: BracketCounts) -> BracketCounts:
        return BracketCounts.sum([self, other])

    @property
    def precision(self) -> float:
        """Share of the parser's brackets that are right; 0 if there is none."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the right brackets that were found; 0 if there is none."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.correct / (self.gold + self.predicted) if self.gold + self.predicted else 0.0

    @property
    def exact_match(self) -> float:
        """Share of trees without an error."""
        if self.trees == 0:
            raise DataError("exact match of no trees is not defined; add counts of at least one tree")
        return self.exact / self.trees

    def interval(self) -> Interval:
        """The 95 % interval of F1, by resampling trees."""
        return bootstrap_interval(
            np.array(self.by_tree, dtype=np.float64), lambda sums: 2 * sums[..., 0] / np.maximum(sums[..., 1], 1)
        )

    @property
    def signature(self) -> str:
        """What the figures depend on."""
        return signature("bracket-F1", brackets="all", punctuation="kept")

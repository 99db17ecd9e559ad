"""How near imputed trees are to right ones, and how much like the target language their words look.

Counts of trees in pairs: exact match, labeled brackets over the words of each tree. A bracket is the words below it in
their order and its label, since trees of one sentence may order words in different ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.corpus import Tree
from textmill.errors import DataError
from textmill.metrics import BracketCounts

__all__ = ["TransferScores", "evaluate", "fringe_perplexity"]


@dataclass(frozen=True)
class TransferScores:
    """Exact match of trees, and labeled brackets."""

    exact_match: float
    brackets: BracketCounts

    def to_json(self) -> dict[str, Any]:
        """The figures as plain values."""
        brackets = self.brackets
        figures = {"trees": brackets.trees, "exact_match": self.exact_match}
        return figures | {"precision": brackets.precision, "recall": brackets.recall, "f1": brackets.f1}


def evaluate(gold: Iterable[Tree], imputed: Iterable[Tree]) -> TransferScores:
    """Compare imputed trees with right ones of the same sentences.

    >>> from textmill.corpus import parse_tree
    >>> right = parse_tree("(NP (NN man) (JJ old))")
    >>> scores = evaluate([right], [parse_tree("(NP (JJ old) (NN man))")])
    >>> scores.exact_match, scores.brackets.f1
    (0.0, 0.0)
    """
    right, other = list(gold), list(imputed)
    if len(right) != len(other):
        raise DataError(f"{len(other)} trees cannot be compared with {len(right)}; pass one for each")
    if not right:
        raise DataError("there are no trees to compare; pass at least one pair")
    parts = []
    for number, (a, b) in enumerate(zip(right, other, strict=True), 1):
        if Counter(a.leaves()) != Counter(b.leaves()):
            raise DataError(f"tree {number} has other words than the right one; compare trees of the same sentences")
        parts.append(_brackets(a, b))
    exact = sum(a == b for a, b in zip(right, other, strict=True)) / len(right)
    return TransferScores(exact, BracketCounts.sum(parts))


def _brackets(gold: Tree, imputed: Tree) -> BracketCounts:
    """Brackets with their words instead of their places."""
    sides = []
    for tree in (gold, imputed):
        leaves = tree.leaves()
        sides.append([(start, end, f"{label} {' '.join(leaves[start:end])}") for start, end, label in tree.spans()])
    return BracketCounts.of(*[[(0, end - start, label) for start, end, label in side] for side in sides])


def fringe_perplexity(trees: Iterable[Tree], model: Any, *, fringe: str = "tags") -> float:
    """The perplexity of the tags or words of trees by an n-gram model of `textmill.lm`."""
    sentences: list[Sequence[str]] = [tree.tags() if fringe == "tags" else tree.leaves() for tree in trees]
    return float(np.asarray(model.perplexity(sentences)))

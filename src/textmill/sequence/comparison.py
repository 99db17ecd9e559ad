"""Is one tagger better than another? Paired tests of their answers to the same sequences, by token and by sentence.

    by token      McNemar: b tokens only the first labels rightly, c only the second; exact binomial, chi-square with
                  and without continuity correction. Tokens of a sentence depend on each other: it claims too much
    by sentence   paired bootstrap: sentences drawn with replacement, the same for both; differences of F1 of
                  chunks, precision, recall, token error and sequence error

Cost: one pass over the tokens, and resamples x sentences. Reference: McNemar (1947); Koehn (2004); Yeh (2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.corpus import Sentence
from textmill.errors import DataError
from textmill.metrics import Difference, PairedCounts, paired_bootstrap
from textmill.model import RandomState, check_range, seed_of
from textmill.sequence.evaluation import (
    FIGURES,
    TagScores,
    evaluate_tags,
    figure_of,
    gold_and_predicted,
    in_gold_scheme,
)

__all__ = ["TagComparison", "compare_columns", "compare_tags"]


@dataclass(frozen=True, slots=True)
class TagComparison:
    """Two taggers on the same sequences: their scores, tokens that only one gets right, differences of figures.

    >>> gold = [["A", "B"]] * 30
    >>> both = compare_tags(gold, gold, [["A", "A"]] * 15 + [["A", "B"]] * 15)
    >>> both.tokens.only_first, both.tokens.only_second, both.differences["token_error"].p_value < 0.01
    (15, 0, True)
    """

    first: TagScores
    second: TagScores
    tokens: PairedCounts
    sequences: PairedCounts
    differences: dict[str, Difference]

    def to_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        plain, corrected = self.tokens.mcnemar(corrected=False), self.tokens.mcnemar()
        figures = {
            name: {
                "first": self.first.figure(name),
                "second": self.second.figure(name),
                "difference": gap.difference,
                "p_value": gap.p_value,
                "signature": gap.signature,
            }
            for name, gap in self.differences.items()
        }
        return {
            "figures": figures,
            "tokens": {"only_first": self.tokens.only_first, "only_second": self.tokens.only_second},
            "sequences": {"only_first": self.sequences.only_first, "only_second": self.sequences.only_second},
            "mcnemar": {
                "exact": self.tokens.mcnemar_exact(),
                "chi_square": plain.statistic,
                "p_value": plain.p_value,
                "corrected_chi_square": corrected.statistic,
                "corrected_p_value": corrected.p_value,
                "sequences_exact": self.sequences.mcnemar_exact(),
            },
        }

    def report(self) -> str:
        """The comparison as text."""
        lines = []
        for name, gap in self.differences.items():
            one, two = self.first.figure(name), self.second.figure(name)
            lines.append(
                f"{name.replace('_', ' ')}: {one:.4f} and {two:.4f}, difference {gap.difference:+.4f}, "
                f"p = {gap.p_value:.4g} (paired bootstrap over sequences)"
            )
        for what, counts in (("tokens", self.tokens), ("sequences", self.sequences)):
            lines.append(
                f"{what} right only in the first {counts.only_first}, only in the second {counts.only_second}: "
                f"McNemar exact p = {counts.mcnemar_exact():.4g}, "
                f"chi-square {counts.mcnemar(corrected=False).statistic:.4f} "
                f"(p = {counts.mcnemar(corrected=False).p_value:.4g}), "
                f"corrected {counts.mcnemar().statistic:.4f} (p = {counts.mcnemar().p_value:.4g})"
            )
        return "\n".join(lines)


def compare_tags(
    gold: Sequence[Sequence[str]],
    first: Sequence[Sequence[str]],
    second: Sequence[Sequence[str]],
    *,
    resamples: int = 1000,
    random_state: RandomState = 0,
) -> TagComparison:
    """Compare the labels of two taggers with the gold labels and with each other."""
    check_range("resamples", resamples, at_least=1, whole=True)
    gold, first, second = (list(labels) for labels in (gold, first, second))
    scores = evaluate_tags(gold, first), evaluate_tags(gold, second)
    if all(one.chunks is not None for one in scores):
        first, second = in_gold_scheme(gold, first), in_gold_scheme(gold, second)
    right = [
        np.array([a == b for row, own in zip(gold, labels, strict=True) for a, b in zip(row, own, strict=True)], bool)
        for labels in (first, second)
    ]
    whole = [
        np.array([list(row) == list(own) for row, own in zip(gold, labels, strict=True)], bool)
        for labels in (first, second)
    ]
    chunked = all(one.chunks is not None for one in scores)
    names = [name for name in FIGURES if chunked or name.endswith("error")]
    differences = {
        name: paired_bootstrap(
            scores[0].counts,
            scores[1].counts,
            figure_of(name),
            resamples=resamples,
            random_state=seed_of(random_state, 0),
        )
        for name in names
    }
    return TagComparison(
        scores[0], scores[1], PairedCounts.from_correct(*right), PairedCounts.from_correct(*whole), differences
    )


def compare_columns(
    first: Sequence[Sentence], second: Sequence[Sentence], *, resamples: int = 1000, random_state: RandomState = 0
) -> TagComparison:
    """Compare two labeled files whose last two columns are gold and predicted labels.

    >>> one = [Sentence((("the", "dog"), ("D", "N"), ("D", "N")))]
    >>> compare_columns(one, one).tokens.both
    2
    """
    gold, mine = gold_and_predicted(first)
    other_gold, other = gold_and_predicted(second)
    if len(gold) != len(other_gold):
        raise DataError(f"one file has {len(gold)} sequences, the other {len(other_gold)}; compare the same data")
    for sentence, a, b in zip(second, gold, other_gold, strict=True):
        if list(a) != list(b):
            fault = "the gold labels differ from those of the other file here; compare answers to the same data"
            raise DataError(fault, source=sentence.source, line=sentence.line)
    return compare_tags(gold, mine, other, resamples=resamples, random_state=random_state)

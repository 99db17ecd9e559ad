"""Figures of transcriptions: those of the shared tasks on name transcription, and word and symbol error.

For a word with candidates c_1 .. c_K and right outputs R:

    ACC      [c_1 in R]                                  word error is 1 - ACC
    F        2 P Rc / (P + Rc), P = LCS / |c_1|, Rc = LCS / |r|, of the r in R with the smallest |r| - 2 LCS
    MRR      1 / rank of the first right candidate, 0 if there is none
    MAP(n)   (1/n) sum_{k=1..n} (right among the first k) / k;  MAP_ref: n = |R|, MAP_10: n = 10, MAP_sys: n = K

Figures are means over words; a word without output has 0 everywhere. Symbol error counts the edits to the nearest right
output. Lengths are symbols, code points of texts after NFC. Reference: Li, Kumaran, Pervouchine & Zhang (2009), Report
of NEWS 2009 machine transliteration shared task.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.metrics import Interval, bootstrap_interval, edit_table, lcs_f, mean_precision, reciprocal_rank

__all__ = ["FIGURES", "TranscriptionScores", "evaluate_transcriptions"]

FIGURES = ("accuracy", "f", "mrr", "map_ref", "map_10", "map_sys")


@dataclass(frozen=True)
class TranscriptionScores:
    """Figures of each word: accuracy, f, mrr, map_ref, map_10, map_sys, rank (0 for none), edits and symbols.

    >>> scores = evaluate_transcriptions([["smith"], ["b", "a", "c"]], [["smyth"], ["b", "c"]])
    >>> scores.mean("accuracy"), scores.mean("map_ref"), scores.f.tolist()
    (0.5, 0.375, [0.8, 1.0])
    """

    accuracy: Floats
    f: Floats
    mrr: Floats
    map_ref: Floats
    map_10: Floats
    map_sys: Floats
    rank: Ints
    edits: Ints
    symbols: Ints

    def __len__(self) -> int:
        return len(self.accuracy)

    def mean(self, figure: str) -> float:
        """The mean of a figure over words.

        >>> evaluate_transcriptions([["a"]], [["a"]]).mean("mrr")
        1.0
        """
        return float(getattr(self, figure).mean())

    def top(self, k: int) -> float:
        """The share of words with a right output among the first k.

        >>> evaluate_transcriptions([["b", "a"]], [["a"]]).top(2)
        1.0
        """
        return float(((self.rank > 0) & (self.rank <= k)).mean())

    @property
    def symbol_error(self) -> float:
        """Edits for each symbol of the right outputs."""
        return float(self.edits.sum() / max(1, int(self.symbols.sum())))

    def interval(self) -> Interval:
        """A 95 % interval of the accuracy, by resampling words."""
        rows = np.column_stack([self.accuracy, np.ones(len(self))])
        return bootstrap_interval(rows, lambda sums: sums[..., 0] / sums[..., 1])

    def part(self, rows: Any) -> TranscriptionScores:
        """The figures of some of the words.

        >>> len(evaluate_transcriptions([["a"], ["b"]], [["a"], ["c"]]).part([0]))
        1
        """
        return TranscriptionScores(*(values[rows] for values in vars(self).values()))

    def to_json(self) -> dict[str, float]:
        """All figures by name."""
        figures = {name: self.mean(name) for name in FIGURES}
        return {
            "words": len(self),
            **figures,
            "word_error": 1.0 - figures["accuracy"],
            "symbol_error": self.symbol_error,
            "top_3": self.top(3),
            "top_10": self.top(10),
        }


def evaluate_transcriptions(
    candidates: Sequence[Sequence[Any]], references: Sequence[Sequence[Any]]
) -> TranscriptionScores:
    """Compare candidates of words, best first, with their right outputs; each is a string or a list of symbols."""
    if not len(references):
        raise DataError("there are no words to evaluate; pass at least one")
    if len(candidates) != len(references):
        raise DataError(f"there are {len(candidates)} lists of candidates for {len(references)} words")
    answers = [[_normal(one) for one in row] for row in candidates]
    right = [list(dict.fromkeys(_normal(one) for one in row)) for row in references]
    for number, row in enumerate(right, 1):
        if not row:
            raise DataError(f"word {number} has no right output; leave it out")
    width = max(1, *(len(row) for row in answers))
    relevance = np.zeros((len(answers), width))
    for i, (row, good) in enumerate(zip(answers, right, strict=True)):
        for j, one in enumerate(row):
            relevance[i, j] = one in good
    first = [row[0] if row else () for row in answers]
    f = lcs_f([[_text(one) for one in row] for row in right], [_text(one) for one in first])
    depths = {
        "map_ref": np.array([len(row) for row in right]),
        "map_10": np.full(len(right), 10),
        "map_sys": np.array([max(1, len(row)) for row in answers]),
    }
    edits, symbols = _edits(first, right)
    hit = relevance.any(axis=1)
    return TranscriptionScores(
        accuracy=relevance[:, 0].copy(),
        f=np.asarray(f),
        mrr=reciprocal_rank(relevance),
        rank=np.where(hit, relevance.argmax(axis=1) + 1, 0),
        edits=edits,
        symbols=symbols,
        **{name: mean_precision(relevance, depth) for name, depth in depths.items()},
    )


def _edits(first: Sequence[Any], right: Sequence[list[Any]]) -> tuple[Ints, Ints]:
    """Edits to the nearest right output of each word, and its length."""
    flat = [(i, good) for i, row in enumerate(right) for good in row]
    table = edit_table([list(good) for _, good in flat], [list(first[i]) for i, _ in flat])
    totals = np.asarray(table)[:, :3].sum(axis=1) if np.asarray(table).ndim == 2 else np.asarray(table)
    edits = np.full(len(right), -1, dtype=np.int64)
    symbols = np.zeros(len(right), dtype=np.int64)
    for (i, good), total in zip(flat, totals.tolist(), strict=True):
        if edits[i] < 0 or total < edits[i]:
            edits[i], symbols[i] = total, len(good)
    return edits, symbols


def _normal(output: Any) -> Any:
    """A key: the text in NFC, or the symbols."""
    return unicodedata.normalize("NFC", output) if isinstance(output, str) else tuple(output)


def _text(output: Any) -> Any:
    return output if isinstance(output, str) else list(output)

"""Choosing segments by their probabilities: disjoint ones, for the greatest expected sum of hits or the greatest F1.

    maximize  sum over chosen segments of 2 P(segment) - ratio       a dynamic programme over the tokens of a sentence

With the ratio lambda = 2 E[hits] / (answers + E[gold]) of the answer itself this is the greatest expected F1 over all
sequences together (Dinkelbach's iteration); a fixed ratio chooses sequence by sequence. The best fixed ratio is the F1
that is reached; where that is low, few segments are probable and many must be ventured, so `best_ratio` finds it by
labeled sequences. Cost: candidates, for each of a few iterations. Reference: Dinkelbach (1967).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import segments as native
from textmill.arrays import Floats
from textmill.sequence.candidates import Candidates

__all__ = ["RATIOS", "Segment", "best_ratio", "listed_segments", "most_expected", "ratio_counts"]

ROUNDS = 50  # of Dinkelbach's iteration, which ends after a few
RATIOS = np.linspace(0.05, 1.0, 20)


class Segment(NamedTuple):
    """A labeled stretch of tokens, first and one past the last, with its probability."""

    begin: int
    end: int
    label: str
    probability: float


def most_expected(candidates: Candidates, probabilities: Floats, ratio: float | None) -> NDArray[np.bool_]:
    """The rows and labels of the disjoint segments with the greatest sum of 2 P - ratio; None for the greatest F1.

    `probabilities` has a row for each token as a segment of its own, then for each longer candidate; label 0 is O.
    """
    c = candidates
    best = probabilities[:, 1:].max(axis=1, initial=0.0)
    gold, level = float(probabilities[:, 1:].sum()), ratio or 0.0
    flags = np.zeros(len(best), np.uint8)
    for _ in range(ROUNDS):
        flags = native.best_disjoint(c.offsets, c.starts, c.lengths, 2 * best - level)
        hits, answers = float(best[flags > 0].sum()), int(flags.sum())
        new = 2 * hits / (answers + gold) if answers + gold > 0 else 0.0
        if ratio is not None or new <= level + 1e-12:
            break
        level = new
    chosen = np.zeros(probabilities.shape, bool)
    at = np.flatnonzero(flags)
    chosen[at, 1 + probabilities[at, 1:].argmax(axis=1)] = True
    return chosen


def ratio_counts(candidates: Candidates, probabilities: Floats, gold: Floats) -> NDArray[np.int64]:
    """For each of RATIOS how many segments are right and how many are chosen, (ratios, 2); counts add.

    `gold` is 1 in the rows and labels that are right.
    """
    counts = np.zeros((len(RATIOS), 2), np.int64)
    for row, ratio in zip(counts, RATIOS.tolist(), strict=True):
        chosen = most_expected(candidates, probabilities, ratio)
        row[:] = gold[chosen].sum(), chosen.sum()
    return counts


def best_ratio(counts: NDArray[np.int64], total: int) -> float:
    """The ratio whose answers have the greatest F1, of `total` segments in all, or one as good and nearer to that F1.

    It would be that F1 if probabilities were right. As good is what is less than a fifth of a standard error below the
    best; figures are means of a ratio and its two neighbors.

    >>> best_ratio(np.repeat([[8, 10]], len(RATIOS), axis=0), 10)
    0.8
    """
    padded = np.pad(2 * counts[:, 0] / np.maximum(1, counts[:, 1] + total), 1, mode="edge")
    figures = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    best = float(figures.max())
    good = RATIOS[figures >= best - 0.2 * np.sqrt(best * (1 - best) / max(1, total))]
    return round(float(good[np.abs(good - best).argmin()]), 2)


def listed_segments(
    candidates: Candidates, probabilities: Floats, chosen: NDArray[np.bool_], names: list[str]
) -> list[list[Segment]]:
    """The rows and labels that are chosen, by sequence and in order."""
    tokens = candidates.tokens
    begins = np.concatenate([np.arange(tokens), candidates.begins()])
    lengths = np.concatenate([np.ones(tokens, np.int64), candidates.lengths])
    rows, labels = np.nonzero(chosen)
    order = np.lexsort((labels, lengths[rows], begins[rows]))
    answers: list[list[Segment]] = [[] for _ in range(len(candidates.offsets) - 1)]
    sentence = np.searchsorted(candidates.offsets, begins[rows], side="right") - 1
    for i in order.tolist():
        s, row, label = int(sentence[i]), rows[i], int(labels[i])
        begin = int(begins[row] - candidates.offsets[s])
        answers[s].append(Segment(begin, begin + int(lengths[row]), names[label], float(probabilities[row, label])))
    return answers

"""Leaks: what tells positives from negatives without any judgment of the sentence.

    length              number of words
    unknown words       share of unknown words
    seen bigrams        share of words whose bigram occurs in the text of the sampler
    seen trigrams       the same with trigrams
    LM score            log probability of a word by the sampler itself

A sampler re-uses what it has seen; real sentences of other documents do not. So a low probability can mean "right", and
a judge can do well by recognizing provenance. Each leak is a classifier of one number: threshold and direction are
chosen on one half of the sentences and measured on the other, both ways. Near 50 % it is no leak. An accuracy is to be
read beside them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textmill.arrays import Floats, Masks
from textmill.lm import NGramModel
from textmill.model import effective_jobs
from textmill.tables import Rows
from textmill.tasks.fluency.encoded import Encoded

__all__ = ["Leak", "leaks_of"]


@dataclass(frozen=True, slots=True)
class Leak:
    """A number that is known of each sentence: its means, the direction that means "right", its accuracy alone."""

    name: str
    positive_mean: float
    negative_mean: float
    right_if: str  # "high" or "low"
    accuracy: float


def leaks_of(lm: NGramModel, positives: Encoded, negatives: Encoded, *, random_state: int = 0) -> Rows[Leak]:
    """Measure how well single numbers tell positives from negatives.

    >>> lm = NGramModel(order=2).fit([["a", "b", "a"]] * 9)
    >>> long = Encoded(np.arange(0, 41, 4), np.full(40, 3, dtype=np.int32))
    >>> short = Encoded(np.arange(0, 21, 2), np.full(20, 3, dtype=np.int32))
    >>> leaks_of(lm, long, short)[0].accuracy
    1.0
    """
    right = np.repeat([True, False], [positives.size, negatives.size])
    columns = {name: np.concatenate([_numbers(lm, side)[name] for side in (positives, negatives)]) for name in _NAMES}
    rows = []
    for name, values in columns.items():
        accuracy, direction = _accuracy_alone(values, right, random_state)
        rows.append(Leak(name, float(values[right].mean()), float(values[~right].mean()), direction, accuracy))
    return Rows(rows, Leak)


_NAMES = ("length", "unknown words", "seen bigrams", "seen trigrams", "LM score")


def _numbers(lm: NGramModel, sentences: Encoded) -> dict[str, Floats]:
    """What is known of each sentence, by name."""
    lengths = sentences.lengths().astype(np.float64)
    scores, orders = lm.table().score(
        sentences.offsets, sentences.ids, with_end=True, orders=True, threads=effective_jobs(lm.n_jobs)
    )
    starts = sentences.offsets[:-1] + np.arange(sentences.size)

    def mean(values: Floats) -> Floats:
        if not sentences.size:
            return np.zeros(0)
        return np.add.reduceat(values.astype(np.float64), starts) / (lengths + 1.0)

    return {
        "length": lengths,
        "unknown words": sentences.unknown() / np.maximum(lengths, 1.0),
        "seen bigrams": mean(orders >= 2),
        "seen trigrams": mean(orders >= 3),
        "LM score": mean(scores),
    }


def _accuracy_alone(values: Floats, right: Masks, random_state: int) -> tuple[float, str]:
    """Accuracy of the best threshold and direction of one half on the other, both ways; direction on all."""
    generator = np.random.Generator(np.random.Philox(random_state))
    half = generator.permutation(len(values)) % 2 == 0
    hits = 0
    for learn in (half, ~half):
        if not learn.any() or learn.all():
            continue
        threshold, high = _rule(values[learn], right[learn])
        hits += int(np.sum(((values[~learn] > threshold) == high) == right[~learn]))
    return hits / max(1, len(values)), "high" if _rule(values, right)[1] else "low"


def _rule(values: Floats, right: Masks) -> tuple[float, bool]:
    """The threshold with the fewest errors, and whether values above it mean right."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    above = np.concatenate([[0], np.cumsum(np.where(right[order], -1, 1))]) + int(right.sum())  # right if above
    cut = np.concatenate([[True], np.diff(ranked) > 0, [True]])
    hits = np.where(cut, above, -1)
    misses = np.where(cut, len(values) - above, -1)
    best_high, best_low = int(hits.argmax()), int(misses.argmax())
    high = bool(hits[best_high] >= misses[best_low])
    place = best_high if high else best_low
    if place == 0:
        return -np.inf, high
    if place == len(ranked):
        return np.inf, high
    return float((ranked[place - 1] + ranked[place]) / 2), high

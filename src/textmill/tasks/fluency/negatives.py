"""Sentences that are wrong: drawn from a language model, which knows what is next but not what it was about.

A source of negatives is anything with `sample(sentences, random_state=..., first=...)` that gives lists of words, so
that sentence i of a seed is always the same; an `NGramModel` is one. Negatives have as many words as positives may
have, and none is a sentence that was seen: such a sample is right.

Matched pairs: each positive gets the negative of its length, with as many unknown words, whose score by the language
model is nearest, and each negative is used once. Where no score is near, the positive is left out. What is learned from
such pairs is neither length nor probability. Unknown words have to be paired as well: as a group they are likely, so
that of real sentences, which repeat fewer trigrams of the text, those with many of them reach the score of a sample.

Cost: sampling is some million words a second; matching sorts the candidates of each length once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container
from typing import Any, NamedTuple, Protocol

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.lm import NGramModel
from textmill.tasks.fluency.encoded import Encoded

__all__ = ["NegativeSource", "Pairs", "draw_negatives", "match_pairs"]

_ROUNDS = 30  # of drawing, before it is given up
_LEAST = 64


class NegativeSource(Protocol):
    """What negatives can be drawn from."""

    def sample(self, sentences: int, *, random_state: Any, first: int) -> list[list[str]]:
        """Draw sentences; number `first` + i of a seed is always the same."""


class Pairs(NamedTuple):
    """Places of positives and of the negatives that belong to them."""

    positives: Ints
    negatives: Ints


def draw_negatives(
    source: Any,
    lm: NGramModel,
    sentences: int,
    *,
    min_words: int,
    max_words: int,
    seen: Container[bytes],
    random_state: int,
) -> Encoded:
    """Draw negatives as ids of `lm`, none of them in `seen`, which holds `Encoded.keys`.

    >>> lm = NGramModel(order=2).fit(["the mill turns slowly now", "a mill stands near the river"])
    >>> draw_negatives(lm, lm, 3, min_words=2, max_words=9, seen=(), random_state=0).size
    3
    """
    parts: list[Encoded] = []
    first = drawn = count = 0
    for _ in range(_ROUNDS):
        if count >= sentences:
            break
        batch = max(_LEAST, int(1.3 * (sentences - count)))
        sample = _sample(source, lm, batch, max_words, random_state, first)
        first += batch
        drawn += sample.size
        lengths = sample.lengths()
        fitting = np.flatnonzero((lengths >= min_words) & (lengths <= max_words))
        keys = sample.keys()
        rows = [i for i in fitting.tolist() if keys[i] not in seen][: sentences - count]
        parts.append(sample.take(rows))
        count += len(rows)
    if count < sentences:
        raise DataError(
            f"of {drawn} sampled sentences only {count} have {min_words} to {max_words} words and are new; the source "
            "of negatives repeats its text or its sentences do not end: give it more text, or other limits of length"
        )
    return Encoded.joined(parts)


def match_pairs(
    positive_lengths: Ints,
    positive_scores: Floats,
    negative_lengths: Ints,
    negative_scores: Floats,
    *,
    unknown: tuple[Ints, Ints] | None = None,
    tolerance: float | None = None,
    random_state: int = 0,
) -> Pairs:
    """Find for each positive, in a random order, the free negative of its length with the nearest score.

    `unknown` are numbers of unknown words of positives and of negatives, which then are the same within a pair, too.
    `tolerance` is how far the scores may lie apart; None for a tenth of the standard deviation of the positives.

    >>> match_pairs(np.array([5, 6]), np.array([-2.0, -3.0]), np.array([6, 5, 5]), np.array([-3.0, -2.1, -9.0]),
    ...             tolerance=0.5)
    Pairs(positives=array([0, 1]), negatives=array([1, 0]))
    """
    limit = float(np.std(positive_scores)) / 10 if tolerance is None else tolerance
    strange, of_negatives = (positive_lengths * 0, negative_lengths * 0) if unknown is None else unknown
    free: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for i in np.argsort(negative_scores, kind="stable").tolist():
        kind = int(negative_lengths[i]), int(of_negatives[i])
        free.setdefault(kind, []).append((float(negative_scores[i]), i))
    order = np.random.Generator(np.random.Philox(random_state)).permutation(len(positive_lengths))
    pairs = []
    for p in order.tolist():
        candidates = free.get((int(positive_lengths[p]), int(strange[p])), [])
        score = float(positive_scores[p])
        at = bisect_left(candidates, (score, -1))
        near = [i for i in (at - 1, at) if 0 <= i < len(candidates)]
        if not near:
            continue
        best = min(near, key=lambda i: abs(candidates[i][0] - score))
        if abs(candidates[best][0] - score) <= limit:
            pairs.append((p, candidates.pop(best)[1]))
    pairs.sort()
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Pairs(both[:, 0].copy(), both[:, 1].copy())


def _sample(source: Any, lm: NGramModel, size: int, max_words: int, random_state: int, first: int) -> Encoded:
    if isinstance(source, NGramModel):  # one word more: what is longer is left out, not cut off
        settings: dict[str, Any] = {"longest": max_words + 1, "unknown": True}
        if source is lm:
            return Encoded(*lm.sample_ids(size, random_state=random_state, first=first, **settings))
        return Encoded(*lm.encode(source.sample(size, random_state=random_state, first=first, **settings)))
    sentences = source.sample(size, random_state=random_state, first=first)
    return Encoded(*lm.encode(sentences))

"""Segmenters that do not read the text: what a method must beat, and the two ends of every metric.

Fixed        a boundary after every `n_tokens` tokens
Random       1 .. 1 + n / 1000 segments, boundaries anywhere
NoBoundary   one segment
EveryGap     a boundary between any two tokens
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textmill.model import check_range
from textmill.tasks.segmentation.segmenter import Proposal, Segmenter
from textmill.tasks.segmentation.texts import TokenizedText

__all__ = ["EveryGap", "Fixed", "NoBoundary", "Random"]


class Fixed(Segmenter):
    """Cut after every `n_tokens` tokens, or into equal parts if a number of segments is given.

    >>> Fixed(n_tokens=3).segment("a b c d e f g").boundaries.tolist()
    [3, 6]
    """

    def __init__(self, *, n_tokens: int = 120, tokenizer: Any = None) -> None:
        self.n_tokens = n_tokens
        self.tokenizer = tokenizer

    def _boundaries(self, text: TokenizedText, n_segments: int | None) -> Proposal:
        check_range("n_tokens", self.n_tokens, at_least=1, whole=True)
        if n_segments is None:
            return Proposal(np.arange(self.n_tokens, len(text), self.n_tokens, dtype=np.int64))
        places = np.round(np.arange(1, n_segments) * len(text) / n_segments).astype(np.int64)
        return Proposal(np.unique(places[(places > 0) & (places < len(text))]))


class Random(Segmenter):
    """Cut anywhere.

    >>> len(Random(random_state=1).segment("a b c d e f g", n_segments=3).boundaries)
    2
    """

    def __init__(self, *, random_state: int = 0, tokenizer: Any = None) -> None:
        self.random_state = random_state
        self.tokenizer = tokenizer

    def _boundaries(self, text: TokenizedText, n_segments: int | None) -> Proposal:
        random = np.random.default_rng([self.random_state, len(text)])
        count = n_segments or int(random.integers(1, 2 + len(text) // 1000))
        cuts = random.choice(len(text) - 1, size=min(count, len(text)) - 1, replace=False) + 1
        return Proposal(np.sort(cuts).astype(np.int64))


class NoBoundary(Segmenter):
    """Leave a text whole.

    >>> len(NoBoundary().segment("a b c"))
    1
    """

    def __init__(self, *, tokenizer: Any = None) -> None:
        self.tokenizer = tokenizer

    def _boundaries(self, text: TokenizedText, n_segments: int | None) -> Proposal:
        return Proposal(np.zeros(0, np.int64))


class EveryGap(Segmenter):
    """Cut between any two tokens.

    >>> list(EveryGap().segment("a b c"))
    ['a ', 'b ', 'c']
    """

    def __init__(self, *, tokenizer: Any = None) -> None:
        self.tokenizer = tokenizer

    def _boundaries(self, text: TokenizedText, n_segments: int | None) -> Proposal:
        return Proposal(np.arange(1, len(text), dtype=np.int64))

"""Texts whose segments are known, as tokens and as characters: what segmenters are scored on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.arrays import Ints
from textmill.errors import DataError
from textmill.metrics import Segmentation
from textmill.tasks.segmentation.texts import TokenizedText, tokenized

__all__ = ["Reference", "reference_of"]


@dataclass(frozen=True, eq=False)
class Reference:
    """A text whose segments are known."""

    text: TokenizedText
    boundaries: Ints

    @property
    def n_segments(self) -> int:
        """How many segments there are."""
        return len(self.boundaries) + 1

    @property
    def segmentation(self) -> Segmentation:
        """The segments as the metrics want them, in tokens."""
        return Segmentation.from_boundaries(self.boundaries, len(self.text))


def reference_of(segments: Sequence[str], *, between: str = "\n", tokenizer: Any = None) -> Reference:
    """Put segments together; those without tokens add to the one before.

    >>> reference = reference_of(["To be.", "Or not.", "To be."])
    >>> reference.boundaries.tolist(), reference.text.text
    ([2, 4], 'To be.\\nOr not.\\nTo be.')
    """
    if not segments:
        raise DataError("there are no segments to put together")
    text = tokenized(between.join(segments), tokenizer)
    starts = np.cumsum([0] + [len(segment) + len(between) for segment in segments[:-1]])
    places = np.unique(np.searchsorted(text.starts, starts[1:]))
    if not len(text):
        raise DataError("the segments have no tokens; a reference needs words")
    return Reference(text, places[(places > 0) & (places < len(text))].astype(np.int64))

"""Texts with known boundaries: passages put together, and the beginnings of documents as Choi did.

    concatenations   m different passages in random order, m = 1 .. 14
    beginnings       10 segments, each the first n sentences of a document, n from a range

Both know their boundaries as tokens and as characters. References: Řehůřek (2011), chapter 5; Choi (2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.arrays import Ints
from textmill.corpus import split_sentences
from textmill.errors import DataError
from textmill.metrics import Segmentation
from textmill.model import check_range
from textmill.tasks.segmentation.texts import TokenizedText, tokenized

__all__ = ["Reference", "beginnings", "concatenations", "reference_of"]


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


def concatenations(
    passages: Sequence[str],
    n_documents: int,
    *,
    segments: tuple[int, int] = (1, 14),
    random_state: int = 0,
    tokenizer: Any = None,
) -> list[Reference]:
    """Documents of different passages in random order, their numbers of segments spread evenly over a range.

    >>> [r.n_segments for r in concatenations(["a b", "c d", "e f"], 4, segments=(1, 3))]
    [1, 2, 3, 1]
    """
    low, high = segments
    check_range("segments[0]", low, at_least=1, whole=True)
    check_range("segments[1]", high, at_least=low, at_most=len(passages), whole=True)
    random = np.random.default_rng(random_state)
    references = []
    for i in range(n_documents):
        chosen = random.choice(len(passages), size=low + i % (high - low + 1), replace=False)
        references.append(reference_of([passages[j] for j in chosen], between="\n\n", tokenizer=tokenizer))
    return references


def beginnings(
    documents: Sequence[str],
    n_documents: int,
    *,
    sentences: tuple[int, int] = (3, 11),
    n_segments: int = 10,
    random_state: int = 0,
    tokenizer: Any = None,
) -> list[Reference]:
    """Texts of `n_segments` segments, each the first sentences of another document, one sentence per line."""
    low, high = sentences
    check_range("sentences[0]", low, at_least=1, whole=True)
    check_range("sentences[1]", high, at_least=low, whole=True)
    random = np.random.default_rng(random_state)
    parted = [list(split_sentences(document)) for document in documents]
    long = [lines for lines in parted if len(lines) >= high]
    if len(long) < n_segments:
        raise DataError(f"{len(long)} documents have {high} sentences or more, and {n_segments} are needed")
    references = []
    for _ in range(n_documents):
        chosen = random.choice(len(long), size=n_segments, replace=False)
        lengths = random.integers(low, high + 1, size=n_segments)
        parts = ["\n".join(long[j][:n]) for j, n in zip(chosen.tolist(), lengths.tolist(), strict=True)]
        references.append(reference_of(parts, tokenizer=tokenizer))
    return references

"""Texts with known boundaries: passages put together, and the beginnings of documents as Choi did.

    concatenations   m different passages in random order, m = 1 .. 14
    beginnings       10 segments, each the first n sentences of a document, n from a range

References: Řehůřek (2011), chapter 5; Choi (2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from textmill.corpus import split_sentences
from textmill.errors import DataError
from textmill.model import check_range
from textmill.tasks.segmentation.building import Reference, reference_of

__all__ = ["beginnings", "concatenations"]


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

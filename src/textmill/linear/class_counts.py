"""Statistics of classes that add: occurrences, texts and tokens by class, and what words say about the class.

    I(w) = sum_c sum_{f in {0, 1}} P(c, f) log [P(c, f) / (P(c) P(f))]         f: whether a text has the word

Cost: one visit of every entry. Reference: McCallum & Nigam (1998).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textmill._native import linear as native
from textmill.arrays import Floats, Ids
from textmill.corpus import csr_arrays
from textmill.numeric import sparse

__all__ = ["ClassCounts", "add", "count_chunk", "count_classes", "mutual_information"]


@dataclass(frozen=True)
class ClassCounts:
    """What a model knows of the texts so far; parts of a stream add."""

    occurrences: Floats  # classes x columns
    documents: Floats  # classes x columns
    tokens: Floats  # classes
    texts: Floats  # classes, with some token
    all_texts: Floats  # classes
    rows: tuple[Any, Ids, Floats, Floats] | None  # counts, labels, lengths and weights, for events that need them

    def __add__(self, other: ClassCounts) -> ClassCounts:
        rows: tuple[Any, Ids, Floats, Floats] | None = None
        if self.rows is not None and other.rows is not None:
            mine, theirs = self.rows, other.rows
            rows = (
                sparse.vstack([mine[0], theirs[0]], format="csr"),
                np.concatenate([mine[1], theirs[1]]),
                np.concatenate([mine[2], theirs[2]]),
                np.concatenate([mine[3], theirs[3]]),
            )
        return ClassCounts(
            self.occurrences + other.occurrences,
            self.documents + other.documents,
            self.tokens + other.tokens,
            self.texts + other.texts,
            self.all_texts + other.all_texts,
            rows,
        )


def mutual_information(documents: ArrayLike, texts: ArrayLike) -> Floats:
    """Average mutual information of the presence of words with the class, in nats.

    `documents` has the number of texts with each word by class, (K, V), `texts` that of all texts of the class, (K,).

    >>> mutual_information([[5, 2], [0, 2]], [5, 5]).round(4).tolist()
    [0.6931, 0.0]
    """
    there = np.asarray(documents, np.float64)
    sizes = np.asarray(texts, np.float64)
    total = float(sizes.sum())
    if total <= 0:
        return np.zeros(there.shape[1])
    with_word = there.sum(axis=0)
    out = np.zeros(there.shape[1])
    for c in range(len(sizes)):  # a row at a time: no second table of this size
        for joint, marginal in ((there[c], with_word), (sizes[c] - there[c], total - with_word)):
            below = marginal * (sizes[c] / total)
            ratio = np.divide(joint, below, out=np.ones_like(joint), where=(joint > 0) & (below > 0))
            out += joint / total * np.log(ratio)
    return np.maximum(out, 0.0)


def count_classes(
    rows: Any, labels: Ids, lengths: Floats, weights: Floats, classes: int, keeps_rows: bool, threads: int
) -> ClassCounts:
    """The statistics of some texts; pure, so it runs on any worker."""
    occurrences = np.zeros((classes, rows.shape[1]))
    documents = np.zeros_like(occurrences)
    counts = rows.data if rows.data.dtype in (np.int32, np.float64) else rows.data.astype(np.float64)
    offsets, columns, _ = csr_arrays(rows)
    native.class_sums(rows.shape[1], offsets, columns, counts, labels, weights, occurrences, documents, threads)

    def summed(values: Floats) -> Floats:
        return np.bincount(labels, weights=values, minlength=classes).astype(np.float64)

    return ClassCounts(
        occurrences,
        documents,
        summed(weights * lengths),
        summed(weights * (lengths > 0)),
        summed(weights),
        (rows, labels, lengths, weights) if keeps_rows else None,
    )


def count_chunk(chunk: Any, state: tuple[int, bool, int]) -> ClassCounts:
    """The statistics of one chunk: rows, labels, lengths, weights."""
    rows, labels, lengths, weights = chunk
    return count_classes(rows, labels, lengths, weights, *state)


def add(left: ClassCounts, right: ClassCounts) -> ClassCounts:
    """Their sum, for reductions."""
    return left + right

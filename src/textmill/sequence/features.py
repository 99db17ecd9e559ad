"""Where the weights of a chain model are: one number for every feature, dense or only those that are not zero.

    (unigram test u, label y)            u Y + y
    (start row of bigram test b, y)      U Y + b Y + y                    only with a start label
    (bigram test b, labels y', y)        (U + start B) Y + (b Y + y') Y + y

With a start label y_0 before every sequence, bigram tests are true at the first position too, with y' = y_0. A row of
such weights is nothing but the weights of a unigram test that is true at first positions, and is kept as one.
Numbers are 64 bits wide: 10^9 features and more are usual, most of which are never stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textmill._native import sequence as native
from textmill.sequence.encoding import Active, Encoded

__all__ = ["FeatureLayout", "Features", "NativeData"]

NativeData = tuple[NDArray[np.int64], Active, Active]


@dataclass(frozen=True, slots=True)
class Features:
    """Features taken apart: `source` is the label before, -1 for unigram features and -2 for the start label."""

    bigram: NDArray[np.bool_]
    test: NDArray[np.int64]  # among the unigram or the bigram tests
    source: NDArray[np.int64]
    label: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FeatureLayout:
    """The numbers of the features of a model with Y labels, U unigram and B bigram tests.

    >>> layout = FeatureLayout(labels=2, unigrams=3, bigrams=1)
    >>> layout.size, layout.number(np.array([0]), np.array([1]), np.array([0])).tolist()
    (10, [8])
    """

    labels: int
    unigrams: int
    bigrams: int
    start: bool = False

    @property
    def rows(self) -> int:
        """Unigram tests, with those that stand for the start label."""
        return self.unigrams + (self.bigrams if self.start else 0)

    @property
    def size(self) -> int:
        """Number of features, K."""
        return self.rows * self.labels + self.bigrams * self.labels**2

    def number(self, test: NDArray[np.int64], source: NDArray[np.int64], label: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of features; `source` as in `Features`.

        >>> FeatureLayout(2, 3, 1, start=True).number(np.array([2, 0]), np.array([-1, -2]), np.array([1, 0])).tolist()
        [5, 6]
        """
        test = np.asarray(test, np.int64)
        unigram = np.where(source == -2, self.unigrams + test, test) * self.labels + label
        bigram = (self.rows + test * self.labels + source) * self.labels + label
        return np.where(np.asarray(source) < 0, unigram, bigram)

    def split(self, features: NDArray[np.int64]) -> Features:
        """Take numbers of features apart.

        >>> parts = FeatureLayout(2, 3, 1).split(np.array([5, 8]))
        >>> parts.bigram.tolist(), parts.test.tolist(), parts.source.tolist(), parts.label.tolist()
        ([False, True], [2, 0], [-1, 1], [1, 0])
        """
        row, label = np.divmod(features, self.labels)
        inner = row - self.rows
        start = (row >= self.unigrams) & (inner < 0)
        test = np.where(inner >= 0, inner // self.labels, np.where(start, row - self.unigrams, row))
        source = np.where(inner >= 0, inner % self.labels, np.where(start, -2, -1))
        return Features(source != -1, test, source, label)

    def data(self, data: Encoded) -> NativeData:
        """Offsets and tests as the native code takes them: start rows are unigram tests of first tokens."""
        if not self.start:
            return data.offsets, data.unigram, data.bigram
        first = np.zeros(data.tokens, bool)
        first[data.offsets[:-1][np.diff(data.offsets) > 0]] = True
        counts = np.diff(data.bigram.indptr) * first
        indptr = data.unigram.indptr + np.concatenate([[0], np.cumsum(counts)])
        ids = np.empty(int(indptr[-1]), np.int32)
        values = None if data.unigram.values is None and data.bigram.values is None else np.ones(len(ids), np.float32)
        entries = np.arange(len(data.unigram.ids)) + np.repeat(
            indptr[:-1] - data.unigram.indptr[:-1], np.diff(data.unigram.indptr)
        )
        extra = np.ones(len(ids), bool)
        extra[entries] = False
        chosen = np.repeat(first, np.diff(data.bigram.indptr))
        ids[entries] = data.unigram.ids
        ids[extra] = data.bigram.ids[chosen] + self.unigrams
        if values is not None:
            values[entries] = 1.0 if data.unigram.values is None else data.unigram.values
            values[extra] = 1.0 if data.bigram.values is None else data.bigram.values[chosen]
        return data.offsets, Active(indptr, ids, values, self.rows), data.bigram

    def support(self, features: NDArray[np.int64]) -> native.Support:
        """The features, which must rise, as the native code takes them."""
        return native.make_support(self.labels, self.rows, self.bigrams, np.ascontiguousarray(features, np.int64))

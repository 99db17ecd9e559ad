"""Pairs of names whose vectors of words or n-grams have a cosine above a threshold, found by an inverted index.

    cos(x, y) = sum_w x_w y_w / (|x| |y|)

Put the features of both vectors in one order, the rarest first: two names reach a cosine of t only if, from the first
feature that both have on, each of the vectors still has a length of t. So only the short postings of rare features are
read, and only what passes a sharper bound is computed, see native/strings/cosine.h. The answer is that of comparing all
pairs.

Cost: the postings of rare features, a look-up for each feature of a candidate. Memory: 32 bytes a
feature of a name and 160 a name.
References: Bayardo, Ma & Srikant (2007), Scaling up all pairs similarity search; Anastasiu & Karypis (2014), L2AP.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textmill._native import strings as native
from textmill.strings.bags import TfIdf
from textmill.strings.pairs import IndexedJoin, Pairs, best_pairs

__all__ = ["CosineJoin"]


class CosineJoin(IndexedJoin):
    """Names found by the cosine of their vectors, for the measures `cosine` and `tfidf`.

    >>> names = ["Ann Smith", "Anne Smith", "Tom Jones"]
    >>> CosineJoin(TfIdf().fit(names), names).among(0, 3, 0.1, 0, 1).right.tolist()
    [1]
    """

    def among(self, begin: int, end: int, threshold: float, top: int, threads: int) -> Pairs:
        """Pairs within the collection."""
        found = self.index(threads).search_self(begin, end, threshold=threshold, top=top, threads=threads)
        return _with(Pairs(*found[:3]), self.equal_among(begin, end, top), top)

    def across(self, others: list[str], threshold: float, top: int, threads: int) -> Pairs:
        """Pairs with other names; features that no name of the collection has only make them longer."""
        index = self.index(threads)
        encoded = self.encode(others)
        found = index.search(encoded, self._weights(), threshold=threshold, top=top, threads=threads)
        return _with(Pairs(*found[:3]), self.equal_across(others), top)

    def make_index(self, threads: int) -> native.CosineIndex:
        """Build the native index."""
        return native.CosineIndex(self.encoded, self._weights(), threads=threads)

    def _weights(self) -> NDArray[np.float64]:
        fitted = self.sequences
        return fitted.idf if isinstance(fitted.measure, TfIdf) else np.ones(len(fitted.words))


def _with(pairs: Pairs, extra: list[tuple[int, int, float]], top: int) -> Pairs:
    return best_pairs(Pairs.concatenate([pairs, Pairs.of(extra)]), top) if extra else pairs

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

from textmill._native import strings as native
from textmill.strings.pairs import IndexedJoin, Pairs, best_pairs

__all__ = ["CosineJoin"]


class CosineJoin(IndexedJoin):
    """Names found by the cosine of their vectors, for the measures `cosine` and `tfidf`.

    >>> from textmill.strings import TfIdf
    >>> names = ["Ann Smith", "Anne Smith", "Tom Jones"]
    >>> CosineJoin(TfIdf().fit(names), names).among(0, 3, 0.1, 0, 1).right.tolist()
    [1]
    """

    def among(self, begin: int, end: int, threshold: float, k: int, n_jobs: int) -> Pairs:
        """Pairs within the collection."""
        pairs = self.index(n_jobs).search_self(begin, end, threshold=threshold, top=k, threads=n_jobs)
        return _with(Pairs(*pairs[:3]), self.equal_among(begin, end, k), k)

    def across(self, others: list[str], threshold: float, k: int, n_jobs: int) -> Pairs:
        """Pairs with other names; features that no name of the collection has only make them longer."""
        index = self.index(n_jobs)
        encoded = self.encode(others)
        pairs = index.search(encoded, self.sequences.weights, threshold=threshold, top=k, threads=n_jobs)
        return _with(Pairs(*pairs[:3]), self.equal_across(others), k)

    def make_index(self, n_jobs: int) -> native.CosineIndex:
        """Build the native index."""
        return native.CosineIndex(self.encoded, self.sequences.weights, threads=n_jobs)


def _with(pairs: Pairs, extra: list[tuple[int, int, float]], k: int) -> Pairs:
    return best_pairs(Pairs.concatenate([pairs, Pairs.of(extra)]), k) if extra else pairs

"""Pairs of names above a threshold, without scoring all pairs.

Every fitted measure knows how it is joined (`Fitted.join`): cosines of vectors (`cosine`, `tfidf`, of words or n-grams)
by cosine_join.py, means, maxima and powers by the joins of their parts (combined.py), all that has no index by
scored_join.py, and alignments of words here.

Alignments of words (`ml`, `softtfidf`, `assignment`, `greedy`, `monge_elkan`) are searched by an inverted index. A
table holds the similarities of words that are at least epsilon (`min_word_similarity`), a short list of neighbors for
every word; the index leads from these to names, and only names that can reach the threshold are aligned. Bounds, with
u_i and v_j the weights of the words of two names divided by their norms, s_ij the similarities of words:

    score <= sum_i u_i max_j s_ij v_j                     every edge of word i weighs at most the largest of its row
    score <= sum_j v_j max_i s_ij u_i                     one-to-one alignments: the same by columns
    what words k, k+1, ... add <= |(u_k, u_k+1, ...)|     one-to-one, Cauchy-Schwarz; the plain sum of u for softtfidf

By the last one names that share no neighbor with the first words of a query need not be looked at, when words are
taken from the rarest on; see native/strings/search.h for all measures.

Nothing is lost by the cut. Let A and B be the sums of u_i v_j over the edges of the best alignment that the table has
and lacks; A + B <= R, and R = 1 for one-to-one alignments. From t <= score <= A + epsilon B follows

    B <= (R - t) / (1 - epsilon)          so edges of the table alone add t - epsilon (R - t) / (1 - epsilon) or more

which is what the search asks for. A pair that it finds is bounded again with epsilon for every similarity that is
missing, and those that still reach the threshold are scored by all similarities of their words (rescoring.py). So every
pair that scores at least t is found, with the score the measure itself gives it, if t > epsilon; below that, pairs
without any two words that are epsilon alike are missed, which score less than epsilon. R exceeds 1 only for softtfidf;
names for which t <= epsilon R are compared with all others.

Cost: the postings of the rare words, then n m for each candidate. Memory: the table, the index, one block of results;
never all pairs. Reference: Moreau, Yvon & Cappé (2008); the prefix filter is that of Bayardo, Ma & Srikant (2007).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from textmill._native import strings as native
from textmill.numeric import sparse
from textmill.strings.pairs import IndexedJoin, Pairs, best_pairs
from textmill.strings.rescoring import arrays_of, exact_scores

if TYPE_CHECKING:
    from textmill.strings.measure import Encoded
    from textmill.strings.second_level import FittedSecondLevel

__all__ = ["WordJoin"]


class WordJoin(IndexedJoin):
    """Names found by their words. Attributes: table, the similarities of words that are at least `min_word_similarity`.

    >>> from textmill.strings import Ml
    >>> names = ["Ann Smith", "Smith Ann", "Ann B Smith"]
    >>> WordJoin(Ml(weights="uniform").fit(names), names, 0.0, 1).among(0, 3, 0.8, 0, 1).right.tolist()
    [2]
    """

    sequences: FittedSecondLevel

    def __init__(self, fitted: FittedSecondLevel, names: list[str], min_word_similarity: float, n_jobs: int) -> None:
        super().__init__(fitted, names)
        self.min_word_similarity = min_word_similarity
        self.rule = fitted.measure.rule()
        self.cut = fitted.usable_cut(min_word_similarity)
        self.table = fitted.word_table(min_word_similarity, n_jobs)
        self.weights = fitted.weights[: self.table.shape[0]]

    def among(self, begin: int, end: int, threshold: float, k: int, n_jobs: int) -> Pairs:
        """Pairs within the collection."""
        options = {"threshold": threshold, "top": k, "cut": self.cut, "threads": n_jobs}
        pairs = Pairs(*self.index(n_jobs).search_self(begin, end, **options)[:3])
        pairs = self._exact(pairs, self.encoded, threshold, n_jobs)
        return self._finish(pairs, self.equal_among(begin, end, k), k)

    def across(self, others: list[str], threshold: float, k: int, n_jobs: int) -> Pairs:
        """Pairs with other names, whose new words are compared with all words of the collection."""
        index = self.index(n_jobs)
        offsets, ids = self.encode(others)
        words, local = np.unique(ids, return_inverse=True)
        here = self.table.shape[0]
        collection_ids = np.where(words < here, words, -1).astype(np.int32)
        new = [self.sequences.words[word] for word in words[words >= here]]
        rows = self.sequences.word_similarities(new, self.sequences.words[:here], self.min_word_similarity, n_jobs)
        table = arrays_of(sparse.vstack([self.table[words[words < here]], rows], format="csr"))
        encoded = (offsets, local.astype(np.int32).ravel())
        idf = self.sequences.weights[words]
        options = {"threshold": threshold, "top": k, "cut": self.cut, "threads": n_jobs}
        pairs = Pairs(*index.search(encoded, idf, collection_ids, table, **options)[:3])
        pairs = self._exact(pairs, (offsets, ids), threshold, n_jobs)
        return self._finish(pairs, self.equal_across(others), k)

    def matrix(self, n_jobs: int) -> NDArray[np.float64]:
        """Scores of all pairs of names that have weights, by the table: with epsilon 0, what `among` must find."""
        out = np.empty((len(self.names), len(self.names)))
        options = self.rule | {"out": out, "threads": n_jobs}
        native.score_matrix(self.encoded, self.encoded, self.weights, arrays_of(self.table), **options)
        return out

    def add(self, names: list[str], n_jobs: int) -> None:
        """Take more names; only their new words are compared with all others."""
        super().add(names, n_jobs)
        old = self.table.shape[0]
        words = self.sequences.words
        if len(words) > old:
            below = self.sequences.word_similarities(words[old:], words, self.min_word_similarity, n_jobs)
            beside = self.sequences.word_similarities(words[:old], words[old:], self.min_word_similarity, n_jobs)
            self.table = sparse.vstack([sparse.hstack([self.table, beside]), below], format="csr")
        self.weights = self.sequences.weights

    def make_index(self, n_jobs: int) -> native.NameIndex:
        """Build the native index."""
        return native.NameIndex(self.encoded, self.weights, arrays_of(self.table), **self.rule)

    def _exact(self, pairs: Pairs, left: Encoded, threshold: float, n_jobs: int) -> Pairs:
        """Pairs with the scores that all similarities of words give, of those that reach the threshold."""
        if self.cut == 0.0:
            return pairs
        weights = self.sequences.weights
        names, both = (left, self.encoded), (pairs.left, pairs.right)
        score = exact_scores(self.sequences, self.rule, names, weights, both, self.table, n_jobs)
        keep = (score >= threshold) & (score > 0.0)
        return Pairs(pairs.left, pairs.right, score).where(keep)

    def _finish(self, pairs: Pairs, extra: list[tuple[int, int, float]], k: int) -> Pairs:
        self.sequences.finish(pairs.score)
        if not extra and self.cut == 0.0:
            return pairs
        return best_pairs(Pairs.concatenate([pairs, Pairs.of(extra)]), k)

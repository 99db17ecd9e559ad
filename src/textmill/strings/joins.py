"""Pairs of names above a threshold, without scoring all pairs.

Cosines of vectors (`cosine`, `tfidf`, of words or n-grams) have a join of their own, see cosine_join.py.

Alignments of words (`ml`, `softtfidf`, `assignment`, `greedy`, `monge_elkan`) are searched by an inverted index. A
table holds the similarities of words that are at least epsilon, a short list of neighbours for every word; the index
leads from these to names, and only names that can reach the threshold are aligned. Bounds, with u_i and v_j the weights
of the words of two names divided by their norms, s_ij the similarities of words:

    score <= sum_i u_i max_j s_ij v_j                     every edge of word i weighs at most the largest of its row
    score <= sum_j v_j max_i s_ij u_i                     one-to-one alignments: the same by columns
    what words k, k+1, ... add <= |(u_k, u_k+1, ...)|     one-to-one, Cauchy-Schwarz; the plain sum of u for softtfidf

By the last one names that share no neighbour with the first words of a query need not be looked at, when words are
taken from the rarest on; see native/strings/search.h for all measures.

Nothing is lost by the cut. Let A and B be the sums of u_i v_j over the edges of the best alignment that the table has
and lacks; A + B <= R, and R = 1 for one-to-one alignments. From t <= score <= A + epsilon B follows

    B <= (R - t) / (1 - epsilon)          so edges of the table alone add t - epsilon (R - t) / (1 - epsilon) or more

which is what the search asks for. A pair that it finds is bounded again with epsilon for every similarity that is
missing, and those that still reach the threshold are scored by all similarities of their words (rescoring.py). So every
pair that scores at least t is found, with the score the measure itself gives it, if t > epsilon; below that, pairs
without any two words that are epsilon alike are missed, which score less than epsilon. R exceeds 1 only for softtfidf;
names for which t <= epsilon R are compared with all others.

Other measures are scored block by block; where a measure bounds the score by the lengths of two strings (Levenshtein:
shorter / longer), pairs whose lengths are too different are left out.

Cost: the postings of the rare words, then n m for each candidate. Memory: the table, the index, one block of results;
never all pairs. Reference: Moreau, Yvon & Cappé (2008); the prefix filter is that of Bayardo, Ma & Srikant (2007).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textmill._native import strings as native
from textmill.numeric import sparse
from textmill.strings.bags import Cosine, TfIdf
from textmill.strings.characters import Damerau, Jaro, JaroWinkler, Levenshtein, Osa
from textmill.strings.cosine_join import CosineJoin
from textmill.strings.features import Characters
from textmill.strings.measure import Encoded, Fitted, FittedSequences, Measure
from textmill.strings.pairs import IndexedJoin, NameJoin, Pairs, best_pairs
from textmill.strings.rescoring import arrays_of, exact_scores
from textmill.strings.second_level import FittedSecondLevel

__all__ = ["ScoredJoin", "WordJoin", "join_of"]

_ROWS = 64  # names that are scored together where there is no index


def join_of(fitted: Fitted, names: list[str], epsilon: float, n_jobs: int) -> NameJoin:
    """The way to join names by a fitted measure.

    >>> from textmill.strings import Ml
    >>> names = ["Ann Smith", "Smith Ann", "Ann B Smith"]
    >>> join_of(Ml(weights="uniform").fit(names), names, 0.0, 1).among(0, 3, 0.8, 0, 1).right.tolist()
    [2]
    """
    if isinstance(fitted, FittedSequences) and isinstance(fitted.measure, Cosine | TfIdf):
        return CosineJoin(fitted, names)
    if isinstance(fitted, FittedSecondLevel):
        return WordJoin(fitted, names, epsilon, n_jobs)
    return ScoredJoin(fitted, names)


class WordJoin(IndexedJoin):
    """Names found by their words. Attributes: table, the similarities of words that are at least epsilon."""

    def __init__(self, fitted: FittedSecondLevel, names: list[str], epsilon: float, threads: int) -> None:
        super().__init__(fitted, names)
        self.epsilon = epsilon
        self.rule = fitted.rule()
        self.cut = fitted.usable_cut(epsilon)
        self.table = fitted.word_table(epsilon, threads)
        self.idf = _weights(fitted)[: self.table.shape[0]]

    def among(self, begin: int, end: int, threshold: float, top: int, threads: int) -> Pairs:
        """Pairs within the collection."""
        options = {"threshold": threshold, "top": top, "cut": self.cut, "threads": threads}
        found = Pairs(*self.index(threads).search_self(begin, end, **options)[:3])
        found = self._exact(found, self.encoded, threshold, threads)
        return self._finish(found, self.equal_among(begin, end, top), top)

    def across(self, others: list[str], threshold: float, top: int, threads: int) -> Pairs:
        """Pairs with other names, whose new words are compared with all words of the collection."""
        index = self.index(threads)
        offsets, ids = self.encode(others)
        words, local = np.unique(ids, return_inverse=True)
        here = self.table.shape[0]
        known = np.where(words < here, words, -1).astype(np.int32)
        new = [self.sequences.words[word] for word in words[words >= here]]
        rows = self.sequences.word_similarities(new, self.sequences.words[:here], self.epsilon, threads)
        table = arrays_of(sparse.vstack([self.table[words[words < here]], rows], format="csr"))
        encoded = (offsets, local.astype(np.int32).ravel())
        idf = _weights(self.sequences)[words]
        options = {"threshold": threshold, "top": top, "cut": self.cut, "threads": threads}
        found = Pairs(*index.search(encoded, idf, known, table, **options)[:3])
        found = self._exact(found, (offsets, ids), threshold, threads)
        return self._finish(found, self.equal_across(others), top)

    def matrix(self, threads: int) -> NDArray[np.float64]:
        """Scores of all pairs of names that have weights, by the table: with epsilon 0, what `among` must find."""
        out = np.empty((len(self.names), len(self.names)))
        options = self.rule | {"out": out, "threads": threads}
        native.score_matrix(self.encoded, self.encoded, self.idf, arrays_of(self.table), **options)
        return out

    def add(self, names: list[str], threads: int) -> None:
        """Take more names; only their new words are compared with all others."""
        super().add(names, threads)
        old = self.table.shape[0]
        words = self.sequences.words
        if len(words) > old:
            below = self.sequences.word_similarities(words[old:], words, self.epsilon, threads)
            beside = self.sequences.word_similarities(words[:old], words[old:], self.epsilon, threads)
            self.table = sparse.vstack([sparse.hstack([self.table, beside]), below], format="csr")
        self.idf = _weights(self.sequences)

    def make_index(self, threads: int) -> native.NameIndex:
        """Build the native index."""
        return native.NameIndex(self.encoded, self.idf, arrays_of(self.table), **self.rule)

    def _exact(self, pairs: Pairs, left: Encoded, threshold: float, threads: int) -> Pairs:
        """Pairs with the scores that all similarities of words give, of those that reach the threshold."""
        if self.cut == 0.0:
            return pairs
        weights = _weights(self.sequences)
        names, both = (left, self.encoded), (pairs.left, pairs.right)
        score = exact_scores(self.sequences, self.rule, names, weights, both, self.table, threads)
        keep = (score >= threshold) & (score > 0.0)
        return Pairs(pairs.left, pairs.right, score).where(keep)

    def _finish(self, pairs: Pairs, extra: list[tuple[int, int, float]], top: int) -> Pairs:
        if getattr(self.fitted.measure, "clip", False):
            np.minimum(pairs.score, 1.0, out=pairs.score)
        if not extra and self.cut == 0.0:
            return pairs
        return best_pairs(Pairs.concatenate([pairs, Pairs.of(extra)]), top)


class ScoredJoin(NameJoin):
    """Names scored block by block, but for pairs whose lengths are too different."""

    def __init__(self, fitted: Fitted, names: list[str]) -> None:
        super().__init__(fitted, names)
        self._lengths = np.fromiter(map(len, names), np.int64, len(names))
        self._by_length = np.argsort(self._lengths, kind="stable")

    def among(self, begin: int, end: int, threshold: float, top: int, threads: int) -> Pairs:
        """Pairs within the collection."""
        found = self._score(self.names[begin:end], threshold, threads)
        left = found.left + np.int32(begin)
        keep = (left != found.right) if top else (left < found.right)
        return best_pairs(Pairs(left, found.right, found.score).where(keep), top)

    def across(self, others: list[str], threshold: float, top: int, threads: int) -> Pairs:
        """Pairs with other names."""
        return best_pairs(self._score(others, threshold, threads), top)

    def add(self, names: list[str], threads: int) -> None:
        """Take more names."""
        self.__init__(self.fitted, [*self.names, *names])  # type: ignore[misc]

    def _score(self, left: list[str], threshold: float, threads: int) -> Pairs:
        """All pairs with a score of at least the threshold and above 0."""
        ratio = _least_ratio(self.fitted.measure, threshold)
        lengths = self._lengths[self._by_length]
        order = sorted(range(len(left)), key=lambda i: len(left[i]))
        found = []
        for start in range(0, len(order), _ROWS):
            rows = order[start : start + _ROWS]
            shortest, longest = len(left[rows[0]]), len(left[rows[-1]])
            first = np.searchsorted(lengths, ratio * shortest - 1e-6, side="left")
            end = np.searchsorted(lengths, longest / ratio + 1e-6, side="right") if ratio > 0 else len(lengths)
            columns = self._by_length[first:end]
            scores = self.fitted.matrix([left[i] for i in rows], [self.names[j] for j in columns], n_jobs=threads)
            i, j = np.nonzero((scores >= threshold) & (scores > 0.0))
            found.append(
                Pairs(np.array(rows, np.int32)[i], columns[j].astype(np.int32), scores[i, j].astype(np.float64))
            )
        return Pairs.concatenate(found)


def _weights(fitted: FittedSequences) -> NDArray[np.float64]:
    """The weight of each word by id."""
    uniform = getattr(fitted.measure, "weights", "idf") == "uniform"
    return np.ones(len(fitted.words)) if uniform else np.asarray(fitted.idf, np.float64)


def _least_ratio(measure: Measure, threshold: float) -> float:
    """The least shorter / longer of two lengths whose strings can reach the threshold; 0 when nothing is known.

    An edit similarity is at most shorter / longer, as each surplus character is an edit; Jaro is at most
    (2 + shorter / longer) / 3; Winkler's bonus adds at most 4 prefix (1 - Jaro).
    """
    ratio = 0.0
    if isinstance(getattr(measure, "features", None), Characters):
        if isinstance(measure, Levenshtein | Osa | Damerau):
            ratio = threshold
        elif isinstance(measure, JaroWinkler) and measure.prefix < 0.25:
            ratio = 3.0 * (threshold - 4.0 * measure.prefix) / (1.0 - 4.0 * measure.prefix) - 2.0
        elif type(measure) is Jaro:
            ratio = 3.0 * threshold - 2.0
    return min(max(ratio, 0.0), 1.0)

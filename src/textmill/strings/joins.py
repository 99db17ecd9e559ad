"""Pairs of names above a threshold, without scoring all pairs.

Measures of words (`ml`, `softtfidf`, `assignment`, `greedy`, `monge_elkan`, `cosine`, `tfidf`) are searched by an
inverted index. A table holds the similarities of words that are at least epsilon, a short list of neighbours for every
word; the index leads from these to names, and only names that can reach the threshold are aligned. Bounds, with u_i and
v_j the weights of the words of two names divided by their norms, s_ij the similarities of words:

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

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from textmill._native import strings as native
from textmill.strings.bags import Cosine, TfIdf
from textmill.strings.characters import Damerau, Jaro, JaroWinkler, Levenshtein, Osa
from textmill.strings.features import Characters
from textmill.strings.measure import Fitted, FittedSequences, Measure
from textmill.strings.rescoring import arrays_of, exact_scores
from textmill.strings.second_level import FittedSecondLevel

__all__ = ["NameJoin", "Pairs", "ScoredJoin", "WordJoin", "alignment_rule", "join_of"]

Encoded: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32]]

_making = threading.Lock()
_ROWS = 64  # names that are scored together where there is no index


class Pairs(NamedTuple):
    """Pairs of names by position, with their scores: by left name, then falling score, then right name.

    >>> Pairs.of([(0, 2, 0.9), (1, 2, 0.7)])[1].tolist()
    [2, 2]
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    score: NDArray[np.float64]

    @classmethod
    def of(cls, rows: list[tuple[int, int, float]]) -> Pairs:
        """Pairs from a list of rows."""
        left, right, score = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(np.array(left, np.int32), np.array(right, np.int32), np.array(score, np.float64))

    @classmethod
    def concatenate(cls, blocks: Iterator[Pairs] | list[Pairs]) -> Pairs:
        """All blocks as one.

        >>> len(Pairs.concatenate([Pairs.of([(0, 1, 1.0)]), Pairs.of([])]).score)
        1
        """
        parts = [cls.of([]), *blocks]
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def alignment_rule(fitted: Fitted) -> dict[str, Any] | None:
    """How the native kernels align the words of a measure; None for measures that do not align words.

    >>> from textmill.strings import Levenshtein
    >>> alignment_rule(TfIdf().fit(["Ann"]))
    {'alignment': 'closest', 'sides': 'forward', 'gap': -1, 'theta': 0.0, 'types': True}
    >>> alignment_rule(Levenshtein().fit()) is None
    True
    """
    if isinstance(fitted, FittedSecondLevel):
        return fitted.rule()
    if isinstance(fitted.measure, Cosine | TfIdf):  # an equal word is the closest
        return {"alignment": "closest", "sides": "forward", "gap": -1, "theta": 0.0, "types": True}
    return None


def join_of(fitted: Fitted, names: list[str], epsilon: float, n_jobs: int) -> NameJoin:
    """The way to join names by a fitted measure.

    >>> from textmill.strings import Ml
    >>> names = ["Ann Smith", "Smith Ann", "Ann B Smith"]
    >>> join_of(Ml(weights="uniform").fit(names), names, 0.0, 1).among(0, 3, 0.8, 0, 1).right.tolist()
    [2]
    """
    if alignment_rule(fitted) is not None and isinstance(fitted, FittedSequences):
        return WordJoin(fitted, names, epsilon, n_jobs)
    return ScoredJoin(fitted, names)


class NameJoin:
    """A collection of names that can be joined with itself and with others. Base of both ways to do it."""

    def __init__(self, fitted: Fitted, names: list[str]) -> None:
        self.fitted = fitted
        self.names = names

    def among(self, begin: int, end: int, threshold: float, top: int, threads: int) -> Pairs:
        """Pairs of names begin to end - 1 with others of the collection; with top = 0 each pair once, left < right."""
        raise NotImplementedError

    def across(self, others: list[str], threshold: float, top: int, threads: int) -> Pairs:
        """Pairs of other names, on the left, with those of the collection."""
        raise NotImplementedError

    def add(self, names: list[str], threads: int) -> None:
        """Take more names into the collection."""
        raise NotImplementedError


class WordJoin(NameJoin):
    """Names found by their words. Attributes: table, the similarities of words that are at least epsilon."""

    def __init__(self, fitted: FittedSequences, names: list[str], epsilon: float, threads: int) -> None:
        super().__init__(fitted, names)
        self.sequences = fitted
        self.epsilon = epsilon
        self.rule = alignment_rule(fitted) or {}
        self.cut = fitted.usable_cut(epsilon) if isinstance(fitted, FittedSecondLevel) else 0.0
        self.encoded = fitted.encode(names)
        self.table = fitted.word_table(epsilon, threads)
        self.idf = _weights(fitted)[: self.table.shape[0]]

    def among(self, begin: int, end: int, threshold: float, top: int, threads: int) -> Pairs:
        """Pairs within the collection."""
        index = self._index()
        options = {"threshold": threshold, "top": top, "cut": self.cut, "threads": threads}
        found = Pairs(*index.search_self(begin, end, **options)[:3])
        found = self._exact(found, self.encoded, threshold, threads)
        weightless = self._same()
        extra = [
            (i, j, 1.0)
            for i in range(begin, end)
            if self._weightless[i]
            for j in weightless.get(self.names[i], ())
            if (j > i or (top and j != i))
        ]
        return self._finish(found, extra, top)

    def across(self, others: list[str], threshold: float, top: int, threads: int) -> Pairs:
        """Pairs with other names, whose new words are compared with all words of the collection."""
        index = self._index()
        with _making:  # new words get numbers
            offsets, ids = self.sequences.encode(others)
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
        weightless = self._same()
        extra = []
        if weightless:
            extra = [(i, j, 1.0) for i, name in enumerate(others) for j in weightless.get(name, ())]
        return self._finish(found, extra, top)

    def matrix(self, threads: int) -> NDArray[np.float64]:
        """Scores of all pairs of names that have weights, by the table: with epsilon 0, what `among` must find."""
        out = np.empty((len(self.names), len(self.names)))
        options = self.rule | {"out": out, "threads": threads}
        native.score_matrix(self.encoded, self.encoded, self.idf, arrays_of(self.table), **options)
        return out

    def add(self, names: list[str], threads: int) -> None:
        """Take more names; only their new words are compared with all others."""
        offsets, ids = self.sequences.encode(names)
        old = self.table.shape[0]
        words = self.sequences.words
        if len(words) > old:
            below = self.sequences.word_similarities(words[old:], words, self.epsilon, threads)
            beside = self.sequences.word_similarities(words[:old], words[old:], self.epsilon, threads)
            self.table = sparse.vstack([sparse.hstack([self.table, beside]), below], format="csr")
        first, before = self.encoded
        self.encoded = (np.concatenate([first, first[-1] + offsets[1:]]), np.concatenate([before, ids]))
        self.idf = _weights(self.sequences)
        self.names = [*self.names, *names]
        self.__dict__.pop("_made", None)

    def _index(self) -> native.NameIndex:
        """The native index, made when it is first needed: on a worker from the arrays that were sent."""
        with _making:
            if "_made" not in self.__dict__:
                self._made = native.NameIndex(self.encoded, self.idf, arrays_of(self.table), **self.rule)
                self._weightless = self._made.squares() == 0.0
        return self._made

    def _same(self) -> dict[str, list[int]]:
        """Names that weigh nothing, which are equal only to the very same string."""
        groups: dict[str, list[int]] = {}
        for i in np.flatnonzero(self._weightless):
            groups.setdefault(self.names[i], []).append(int(i))
        return groups

    def _exact(self, pairs: Pairs, left: Encoded, threshold: float, threads: int) -> Pairs:
        """Pairs with the scores that all similarities of words give, of those that reach the threshold."""
        if self.cut == 0.0:
            return pairs
        weights = _weights(self.sequences)
        names, both = (left, self.encoded), (pairs.left, pairs.right)
        score = exact_scores(self.sequences, self.rule, names, weights, both, self.table, threads)
        keep = (score >= threshold) & (score > 0.0)
        return Pairs(pairs.left[keep], pairs.right[keep], score[keep])

    def _finish(self, pairs: Pairs, extra: list[tuple[int, int, float]], top: int) -> Pairs:
        if isinstance(self.fitted.measure, Cosine | TfIdf) or getattr(self.fitted.measure, "clip", False):
            np.minimum(pairs.score, 1.0, out=pairs.score)
        if not extra and self.cut == 0.0:
            return pairs
        return _best(Pairs.concatenate([pairs, Pairs.of(extra)]), top)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_made", "_weightless")}


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
        return _best(Pairs(left[keep], found.right[keep], found.score[keep]), top)

    def across(self, others: list[str], threshold: float, top: int, threads: int) -> Pairs:
        """Pairs with other names."""
        return _best(self._score(others, threshold, threads), top)

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
    uniform = isinstance(fitted.measure, Cosine) or getattr(fitted.measure, "weights", "idf") == "uniform"
    return np.ones(len(fitted.words)) if uniform else np.asarray(fitted.idf, np.float64)


def _best(pairs: Pairs, top: int) -> Pairs:
    """Pairs in order, of each left name only the `top` best unless top is 0."""
    order = np.lexsort((pairs.right, -pairs.score, pairs.left))
    left = pairs.left[order]
    if top and len(left):
        starts = np.r_[0, np.flatnonzero(np.diff(left)) + 1]
        rank = np.arange(len(left)) - np.repeat(starts, np.diff(np.r_[starts, len(left)]))
        order = order[rank < top]
    return Pairs(pairs.left[order], pairs.right[order], pairs.score[order])


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

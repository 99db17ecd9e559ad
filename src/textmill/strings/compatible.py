"""Soft-TFIDF as the library py_stringmatching computes it, to the last digits, for results that must be compared.

    v_w = n_w N / df(w)                              no logarithm; n_w: count of w in the bag, N documents
    sum_w v_w v_c(w) sim'(w, c(w)) / (|v_x| |v_y|)    c(w): the first of the closest words, if sim' > theta

Words that no document holds are left out of the left bag and of both lengths, but a left word may still choose such a
word, whose df then counts as 1. Equal sequences have the similarity 1, an empty one 0 to all others. Where no word of
the right bag is known, the library divides by zero; here the similarity is 0. Similarities of words have single
precision, as they have there. Use `softtfidf` for everything else.

Cost: n m look-ups a pair, in Python.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.model import check_range
from textmill.strings.alignment import Alignment, Edge
from textmill.strings.characters import Jaro
from textmill.strings.features import Features, Words
from textmill.strings.measure import Fitted, FittedSequences, Measure, Occurrences

__all__ = ["PySoftTfIdf"]

_BLOCK = 1 << 14  # pairs whose words are compared together
_WORDS, _JARO = Words(), Jaro(window="winkler", half_transpositions="floor")


@dataclass(frozen=True)
class PySoftTfIdf(Measure):
    """Soft-TFIDF with the conventions of py_stringmatching.

    >>> fitted = PySoftTfIdf().fit(["a b a", "a c", "a"])
    >>> round(fitted.similarity("a b a", "a c"), 6)
    0.175412
    """

    features: Features = _WORDS
    sub: Measure = _JARO
    theta: float = 0.5
    name: ClassVar[str] = "py_softtfidf"

    def __post_init__(self) -> None:
        check_range("theta", self.theta, at_least=0.0, at_most=1.0)

    @property
    def learns(self) -> bool:
        """Document frequencies come from a collection."""
        return True

    @property
    def symmetric(self) -> bool:
        """It has a direction."""
        return False

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure."""
        return _FittedPySoftTfIdf(self, self.features, strings, self.sub)


class _FittedPySoftTfIdf(FittedSequences):
    measure: PySoftTfIdf

    def __init__(self, measure: PySoftTfIdf, features: Features, strings: Occurrences, sub: Measure) -> None:
        super().__init__(measure, features, strings, sub, documents="tokens")  # each as often as it is given
        self._known = set(self.words)

    def score_pairs(self, left: list[str], right: list[str], n_jobs: int) -> NDArray[np.float64]:
        scores = np.empty(len(left))
        for start in range(0, len(left), _BLOCK):
            pairs = list(zip(left[start : start + _BLOCK], right[start : start + _BLOCK], strict=True))
            similar = self._similar(pairs, n_jobs)
            scores[start : start + _BLOCK] = [self._score(a, b, similar)[0] for a, b in pairs]
        return scores

    def explain(self, left: str, right: str) -> Alignment:
        score, edges, x, y, normalizer = self._score(left, right, self._similar([(left, right)], 1))
        return Alignment(str(self.measure), left, right, tuple(x), tuple(y), tuple(edges), score, normalizer)

    def _similar(self, pairs: list[tuple[str, str]], n_jobs: int) -> dict[tuple[str, str], float]:
        """Similarities of all words that meet in a pair, in single precision."""
        cut = {name: dict.fromkeys(self.features(name)) for pair in pairs for name in pair}
        met = list(dict.fromkeys((v, w) for a, b in pairs for v in cut[a] for w in cut[b]))
        assert self.sub is not None
        scores = self.sub.score_pairs([v for v, _ in met], [w for _, w in met], n_jobs)
        return {(v, w): 1.0 if v == w else float(np.float32(s)) for (v, w), s in zip(met, scores, strict=True)}

    def _score(
        self, left: str, right: str, similar: dict[tuple[str, str], float]
    ) -> tuple[float, list[Edge], list[str], list[str], float]:
        words = self.features(left), self.features(right)
        x, y = (list(dict.fromkeys(bag)) for bag in words)
        if words[0] == words[1]:
            return 1.0, [Edge(i, i, 1.0, 1.0) for i in range(len(x))], x, y, float(max(1, len(x)))
        if not x or not y:
            return 0.0, [], x, y, 0.0
        self.encode([left, right])  # so that every word has a weight
        a, b = (self._weights(bag) for bag in words)
        edges = []
        for i, word in enumerate(x):
            row = [similar[word, other] for other in y]
            nearest = max(row)
            j = row.index(nearest)
            if word in self._known and nearest > self.measure.theta:
                edges.append(Edge(i, j, a[word] * b[y[j]] * nearest, nearest))
        lengths = [math.sqrt(sum(v * v for w, v in bag.items() if w in self._known)) for bag in (a, b)]
        normalizer = lengths[0] * lengths[1]
        total = sum(edge.weight for edge in edges)
        return total / normalizer if normalizer else 0.0, edges, x, y, normalizer

    def _weights(self, bag: list[str]) -> dict[str, float]:
        """n_w N / df(w); exp(idf) is N / df, with df 1 for words never seen."""
        counts = Counter(bag)
        return {word: count * math.exp(self.idf[self._ids[word]]) for word, count in counts.items()}

"""A measure that adapts to its list: how much spelling, order and rare words vary is estimated without labels.

Words are aligned one to one and weighed by rarity, idf(w). Three questions are left, and the list answers them by pairs
of names that are likely to be related because they share a rare word (one that 2 to 5 names hold), the anchor:

    spelling   r1 = share of anchored pairs in which a word of one name that the other lacks is spelled nearly like a
               word of the other (trigram TF-IDF cosine of at least 0.5);  r0 = the same for pairs of names put together
               by chance. Where r1 - r0 is at least 0.01, words are compared by their trigrams; else by a high power of
               Jaro, for which words are nearly equal or different.
    order      t = share of anchored pairs with two or more common words that have them in another order. Where t is at
               least 0.1, words are matched in any order (`assignment`), else in order with transpositions (`ml`).
    rarity     d = l(rare) - l(common), l the share of words that one name of a pair has and the other lacks, in the
               pairs of each name and its nearest anchored one, from a score of 0.6 on; the anchor and words that only
               one name holds are not counted. Rare words should be what related names keep. Where they are lost as
               often as common ones, d >= 0, rarity says less, and words weigh idf(w)^(3/4) (weights="damped").

Chance is that of other names of the same list, so words that are alike in all of it (numbers, plurals) do not count as
spelling. Lists with fewer than 20 anchored pairs tell nothing: words are compared leniently, by Jaro to the third, in
order; and d needs 20 words of each sort. The bounds 0.01, 0.1 and 0 were chosen by leaving out one set of
`bench/names.py` at a time; the form of the rule, the anchors and the ways to compare words on all of these sets.

The same list gives the same measure, on any machine and with any number of threads. Cost: one pass over the words, and
the similarities of the words of a few thousand pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.numeric import sparse
from textmill.strings.bags import TfIdf
from textmill.strings.characters import Jaro
from textmill.strings.combined import Power
from textmill.strings.features import Ngrams, Words
from textmill.strings.measure import Fitted, FittedSequences, Measure, Occurrences
from textmill.strings.second_level import Assignment, Ml

__all__ = ["LEAST_PAIRS", "ORDER", "RARITY", "SPELLING", "Auto", "Evidence"]

_WORDS, _SPELLED, _EQUAL = Words(split="regex"), TfIdf(Ngrams()), Power(Jaro(), 6)
_LENIENT = Ml(Words(), Power(Jaro(), 3), transpositions="extended")
_NEAR = 0.5  # cosine of words that are spelled nearly alike
SPELLING, ORDER = 0.01, 0.1  # from which shares on spelling and order vary
RARITY = 0.0  # from which difference on rare words vary
LEAST_PAIRS = 20  # that tell anything; also of words
_LIKELY = 0.6  # score of names that are likely to be the same
_EQUAL_NAMES = 1.0 - 1e-6
_MOST_NAMES = 5  # that hold a rare word
_CELLS = 200_000  # meetings of words that are looked at
_CHANCE = (1 / 3, 1 / 2, 2 / 3)  # partners by chance stand this part of the list further on


class Evidence(NamedTuple):
    """What anchored pairs tell: how many there are, r1 - r0 of spelling, the share in another order, d of rare words.

    `rarity` is NaN where too few words tell.
    """

    pairs: int
    spelling: float
    order: float
    rarity: float = math.nan

    @property
    def spelling_varies(self) -> bool:
        """Are words of related names often spelled nearly alike?"""
        return self.pairs >= LEAST_PAIRS and self.spelling >= SPELLING

    @property
    def order_varies(self) -> bool:
        """Do related names often have their words in another order?"""
        return self.pairs >= LEAST_PAIRS and self.order >= ORDER

    @property
    def rare_words_vary(self) -> bool:
        """Do related names lose rare words as often as common ones?"""
        return self.pairs >= LEAST_PAIRS and self.rarity >= RARITY


@dataclass(frozen=True)
class Auto(Measure):
    """The default: words aligned by rarity, spelling and order as the list at hand needs it.

    What `fit` returns is the fitted measure that was chosen; its `reason` says why.

    >>> names = [f"{first} {last}" for last in "Abbott Bishop Carter Draper Fisher Garner".split() for first in "AB"]
    >>> str(Auto().fit(names).measure)
    'ml(words, sub=power(jaro, 3), transpositions="extended")'
    """

    name: ClassVar[str] = "auto"

    @property
    def learns(self) -> bool:
        """The measure is chosen by a collection."""
        return True

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure that suits the strings."""
        evidence = _evidence(strings)
        sub = _SPELLED if evidence.spelling_varies else _EQUAL
        weights = "damped" if evidence.rare_words_vary else "idf"
        in_order = Ml(_WORDS, sub, weights, transpositions="extended") if evidence.pairs >= LEAST_PAIRS else _LENIENT
        fitted = (Assignment(_WORDS, sub, weights) if evidence.order_varies else in_order).learn(strings)
        fitted.reason, fitted.evidence = _reason(fitted.measure, evidence), evidence
        return fitted


def _reason(measure: Measure, evidence: Evidence) -> str:
    """One line for people."""
    if evidence.pairs < LEAST_PAIRS:
        return f"measure {measure}: too few names share a rare word to tell how they vary"
    varies = "varies" if evidence.spelling_varies else "hardly varies"
    spelling = f"spelling {varies} ({100 * evidence.spelling:+.1f}% beyond chance)"
    order = f"words {'change' if evidence.order_varies else 'keep'} their order ({100 * evidence.order:.0f}% turned)"
    rarity = ""
    if not math.isnan(evidence.rarity):
        rarity = f", rare words are lost {'as' if evidence.rare_words_vary else 'less'} often "
        rarity += f"{'as' if evidence.rare_words_vary else 'than'} common ones ({100 * evidence.rarity:+.0f}%)"
    return f"measure {measure}: in {evidence.pairs} pairs that share a rare word {spelling}, {order}{rarity}"


def _evidence(strings: Occurrences) -> Evidence:
    """What the pairs of names that share a rare word tell."""
    names = strings.items
    size = len(names)
    if size * (size - 1) // 2 < LEAST_PAIRS:  # one comparison of two names is spared all that follows
        return Evidence(0, 0.0, 0.0)
    fitted = Ml(_WORDS, sub=_SPELLED, transpositions="extended").learn(strings)
    assert isinstance(fitted, FittedSequences)
    offsets, ids = fitted.encode(names)
    owner = np.repeat(np.arange(size), np.diff(offsets))
    holds = sparse.csr_matrix((np.ones(len(ids)), (owner, ids)), (size, len(fitted.words)))
    holds.data[:] = 1.0
    frequency = np.asarray(holds.sum(axis=0)).ravel()
    rare = np.flatnonzero((frequency >= 2) & (frequency <= _MOST_NAMES))
    anchors = holds[:, rare]
    places = sparse.triu(anchors @ anchors.T, 1).tocsr().tocoo()
    words = [ids[begin:end].tolist() for begin, end in pairwise(offsets)]
    lengths = np.diff(offsets)
    cells = int((lengths[places.row] * lengths[places.col]).sum())
    step = max(1, -(-cells * (1 + len(_CHANCE)) // _CELLS))
    pairs = list(zip(places.row[::step].tolist(), places.col[::step].tolist(), strict=True))
    chance = [(i, (j + int(size * part)) % size) for part in _CHANCE for i, j in pairs]
    spelling = _near_share(fitted, words, pairs) - _near_share(fitted, words, chance)
    asked = (places.row % step == 0) | (places.col % step == 0)  # whose nearest names are looked for
    anchored = list(zip(places.row[asked].tolist(), places.col[asked].tolist(), strict=True))
    scores = fitted.score_pairs([names[i] for i, _ in anchored], [names[j] for _, j in anchored], 1)
    likely = _nearest(anchored, scores.tolist(), step)
    return Evidence(len(pairs), spelling, _turned_share(words, pairs), _rarity(words, likely, frequency))


def _near_share(fitted: FittedSequences, words: list[list[int]], pairs: Iterable[tuple[int, int]]) -> float:
    """In how many pairs, of those in which both names have words of their own, two of these are nearly alike."""
    meetings = []
    for i, j in pairs:
        left, right = set(words[i]).difference(words[j]), set(words[j]).difference(words[i])
        if left and right and i != j:
            meetings.append([(a, b) for a in sorted(left) for b in sorted(right)])
    met = list(dict.fromkeys(cell for meeting in meetings for cell in meeting))
    if not met or fitted.sub is None:
        return 0.0
    scores = fitted.sub.score_pairs([fitted.words[a] for a, _ in met], [fitted.words[b] for _, b in met], 1)
    near = {cell for cell, score in zip(met, scores, strict=True) if score >= _NEAR}
    return sum(any(cell in near for cell in meeting) for meeting in meetings) / len(meetings)


def _turned_share(words: list[list[int]], pairs: Iterable[tuple[int, int]]) -> float:
    """In how many pairs with several common words these stand in another order."""
    several = turned = 0
    for i, j in pairs:
        common = set(words[i]).intersection(words[j])
        if len(common) > 1:
            several += 1
            left, right = (list(dict.fromkeys(word for word in words[at] if word in common)) for at in (i, j))
            turned += left != right
    return turned / several if several else 0.0


def _nearest(pairs: Iterable[tuple[int, int]], scores: Iterable[float], step: int) -> list[tuple[int, int]]:
    """Of every step-th name the pair with its nearest one, where they are likely to be the same and are not equal."""
    best: dict[int, tuple[float, tuple[int, int]]] = {}
    for pair, score in zip(pairs, scores, strict=True):
        for name in pair:
            if name % step == 0 and score > best.get(name, (-1.0, pair))[0]:
                best[name] = score, pair
    return list(dict.fromkeys(pair for score, pair in best.values() if _LIKELY <= score < _EQUAL_NAMES))


def _rarity(words: list[list[int]], pairs: Iterable[tuple[int, int]], frequency: NDArray[np.float64]) -> float:
    """How much more often rare words are lost than common ones; NaN where there are too few words."""
    seen, lost = np.zeros(2), np.zeros(2)  # of rare words, of common ones
    for i, j in pairs:
        left, right = set(words[i]), set(words[j])
        for word in left | right:
            if frequency[word] > 1:
                common = int(frequency[word] > _MOST_NAMES)
                seen[common] += 1
                lost[common] += (word in left) != (word in right)
        seen[0] -= 1  # the anchor
    return float(np.subtract(*(lost / seen))) if seen.min() >= LEAST_PAIRS else math.nan

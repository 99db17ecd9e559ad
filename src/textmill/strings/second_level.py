"""Measures of sequences whose elements are compared by another measure: words that are nearly the same count.

With w_ij = sim'(a_i, b_j) idf(a_i) idf(b_j), norms ||S|| = sqrt(sum_i idf(a_i)^2) over positions:

    Monge-Elkan    sum_i max_j sim'(a_i, b_j) / n
    Soft-TFIDF     sum_i w_{i, c(i)} / (||S|| ||S'||),  c(i) the closest b_j, if sim' > theta
    ML             D[i][j] = max(D[i-1][j], D[i][j-1], D[i-1][j-1] + w_ij),  D[n][m] / (||S|| ||S'||)
      adjacent     ... D[i-2][j-2] + w_{i-1,j} + w_{i,j-1}                                    (Damerau)
      extended     ... D[i-2-p][j-2-q] + w_{i-1-p,j} + w_{i,j-1-q},  p, q = 0 ... gap
    assignment     the largest sum of w_ij over any one-to-one matching, by the norms
    greedy         one-to-one, largest w_ij first, where sim' > theta (today's SecondString)

ML, assignment and greedy are one-to-one, so Cauchy-Schwarz keeps them within [0, 1] and sim(S, S) = 1. Monge-Elkan and
Soft-TFIDF have a direction; `symmetry` takes the mean, max or min of both. Soft-TFIDF can exceed 1: several words may
pick the same one. multiplicity="types" treats a repeated word as one of weight n idf, as in a vector; "positions"
links each occurrence with every occurrence of the closest word, as in the graph of the paper, and overflows more.
`overflows` finds such pairs, clip=True cuts at 1.

weights="uniform" takes 1 for every idf and learns nothing; "damped" takes idf^(3/4), so that rarity counts less. Equal
features always have the similarity 1. A string with norm 0 has the similarity 1 to itself and 0 to all others.

References: Monge & Elkan (1996); Cohen, Ravikumar & Fienberg (2003), whose printed formula of Soft-TFIDF reduces to
the TF-IDF cosine; Moreau, Yvon & Cappé (2008), who correct it and define ML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill._native import strings as native
from textmill.errors import warn_caller
from textmill.model import check_choice, check_range
from textmill.numeric import SparseRows, sparse
from textmill.strings.alignment import Alignment, Edge
from textmill.strings.characters import Exact
from textmill.strings.features import Features, Words
from textmill.strings.measure import (
    DOCUMENTS,
    Encoded,
    Fitted,
    FittedSequences,
    Floats,
    Measure,
    Occurrences,
    equal_strings,
)
from textmill.strings.optima import Recurrence, in_order
from textmill.strings.pairs import NameJoin
from textmill.strings.rescoring import arrays_of, met_words
from textmill.strings.word_join import WordJoin
from textmill.strings.word_matchings import Matches, closest, heaviest, heaviest_in_order, largest_first

__all__ = ["Assignment", "FittedSecondLevel", "Greedy", "Ml", "MongeElkan", "SecondLevel", "SoftTfIdf"]

_BLOCK = 1 << 16  # pairs scored together
_CELLS = 1 << 22  # of a table of words that is made whole
_TABLE = 1 << 26  # of a table of words for a block of a matrix
SYMMETRIES = ("none", "mean", "max", "min")
POWERS = {"idf": 1.0, "damped": 0.75, "uniform": 0.0}  # of the idf, by `weights`
Rule: TypeAlias = dict[str, Any]


_WORDS, _EXACT = Words(), Exact()


@dataclass(frozen=True)
class SecondLevel(Measure):
    """A sequence whose features are compared by `sub`. Base of the measures here, each of which says how it aligns."""

    features: Features = _WORDS
    sub: Measure = _EXACT
    one_to_one: ClassVar[bool] = True

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure."""
        return FittedSecondLevel(self, self.features, strings, self.sub, power=0.0)

    def rule(self) -> Rule:
        """The alignment, as the kernels want it."""
        return {"alignment": "chain", "sides": "forward", "gap": -1, "theta": 0.0, "types": False}

    @property
    def sides(self) -> str:
        """Which directions make the score: "forward", or the "mean", "max" or "min" of both."""
        return "forward"

    @property
    def least_similarity(self) -> float:
        """Words that are not nearer than this never match."""
        return 0.0

    @property
    def clipped(self) -> bool:
        """Are scores above 1 cut?"""
        return False

    def distinct(self, x: list[str], y: list[str]) -> tuple[list[str], list[str]]:
        """The words of both sides that are aligned."""
        return x, y

    def multiplicities(self, words: list[str], distinct: list[str]) -> Floats:
        """How often the weight of each distinct word counts."""
        return np.ones(len(distinct))

    def edge_weights(self, similarities: Floats, a: Floats, b: Floats) -> tuple[Floats, float]:
        """What each edge would add, and what the sum is divided by."""
        return similarities * np.outer(a, b), float(np.sqrt(a @ a) * np.sqrt(b @ b))

    def matches(self, x: list[str], y: list[str], similarities: Floats, weights: Floats) -> Matches:
        """The edges of the alignment."""
        raise NotImplementedError

    def recurrence(self, similarities: Floats, weights: Floats) -> Recurrence | None:
        """The choices behind an alignment, where it is a choice by recurrence."""
        return None


@dataclass(frozen=True)
class _Weighted(SecondLevel):
    weights: str = "idf"
    documents: str = "types"

    def __post_init__(self) -> None:
        check_choice("weights", self.weights, list(POWERS))
        check_choice("documents", self.documents, DOCUMENTS)

    @property
    def learns(self) -> bool:
        """Weights come from a collection."""
        return self.weights != "uniform" or super().learns

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure."""
        options: Any = {"documents": self.documents, "power": POWERS[self.weights]}
        return FittedSecondLevel(self, self.features, strings, self.sub, **options)


@dataclass(frozen=True)
class MongeElkan(SecondLevel):
    """Mean over the left words of the similarity to their closest right word.

    >>> from textmill.strings import Jaro
    >>> round(MongeElkan(sub=Jaro()).similarity("director elbaradei", "director-general elbareidi"), 6)
    0.84838
    """

    symmetry: str = "none"
    name: ClassVar[str] = "monge_elkan"
    one_to_one: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_choice("symmetry", self.symmetry, SYMMETRIES)

    def rule(self) -> Rule:
        """The closest word of each."""
        return super().rule() | {"alignment": "average", "sides": self.sides}

    @property
    def sides(self) -> str:
        """By `symmetry`."""
        return "forward" if self.symmetry == "none" else self.symmetry

    def distinct(self, x: list[str], y: list[str]) -> tuple[list[str], list[str]]:
        """Each right word once."""
        return x, list(dict.fromkeys(y))

    def edge_weights(self, similarities: Floats, a: Floats, b: Floats) -> tuple[Floats, float]:
        """Similarities, divided by the number of left words."""
        return similarities, float(len(a)) if len(b) else 0.0

    def matches(self, x: list[str], y: list[str], similarities: Floats, weights: Floats) -> Matches:
        """The closest right word of each left word."""
        return closest(x, y, similarities, -1.0)

    @property
    def symmetric(self) -> bool:
        """Only when both directions are joined."""
        return self.symmetry != "none" and super().symmetric


@dataclass(frozen=True)
class SoftTfIdf(_Weighted):
    """TF-IDF cosine in which each left word meets its closest right word, if they are nearer than theta.

    >>> from textmill.strings import Jaro
    >>> soft = SoftTfIdf(sub=Jaro(), theta=0.9).fit(["Mr Rumyantsev", "Alexander Rumyanstev", "Mr Ryabev"])
    >>> round(soft.similarity("Mr Rumyantsev", "Alexander Rumyanstev"), 4)
    0.6413
    """

    theta: float = 0.0
    multiplicity: str = "types"
    symmetry: str = "none"
    clip: bool = False
    name: ClassVar[str] = "softtfidf"
    one_to_one: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("theta", self.theta, at_least=0.0, at_most=1.0)
        check_choice("multiplicity", self.multiplicity, ["types", "positions"])
        check_choice("symmetry", self.symmetry, SYMMETRIES)
        check_choice("clip", self.clip, [True, False])

    def rule(self) -> Rule:
        """The closest word of each, if it is nearer than theta."""
        options = {"theta": _single(self.theta), "types": self.multiplicity == "types"}
        return super().rule() | {"alignment": "closest", "sides": self.sides} | options

    @property
    def sides(self) -> str:
        """By `symmetry`."""
        return "forward" if self.symmetry == "none" else self.symmetry

    @property
    def least_similarity(self) -> float:
        """Theta."""
        return self.theta

    @property
    def clipped(self) -> bool:
        """By `clip`."""
        return self.clip

    def distinct(self, x: list[str], y: list[str]) -> tuple[list[str], list[str]]:
        """Each word once where words are types."""
        return (list(dict.fromkeys(x)), list(dict.fromkeys(y))) if self.multiplicity == "types" else (x, y)

    def multiplicities(self, words: list[str], distinct: list[str]) -> Floats:
        """Where words are types, how often each occurs."""
        if self.multiplicity == "positions":
            return super().multiplicities(words, distinct)
        counts = Counter(words)
        return np.array([float(counts[word]) for word in distinct])

    def matches(self, x: list[str], y: list[str], similarities: Floats, weights: Floats) -> Matches:
        """The closest right word of each left word, if it is nearer than theta."""
        return closest(x, y, similarities, _single(self.theta))

    @property
    def symmetric(self) -> bool:
        """Only when both directions are joined."""
        return self.symmetry != "none" and super().symmetric


@dataclass(frozen=True)
class Ml(_Weighted):
    """Meta-Levenshtein: the best alignment in order; transpositions "none", "adjacent" or "extended" by up to `gap`.

    >>> Ml(weights="uniform").similarity("John Smith", "John Adam Smith")  # doctest: +ELLIPSIS
    0.8164...
    """

    transpositions: str = "none"
    gap: int = 1
    name: ClassVar[str] = "ml"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("transpositions", self.transpositions, ["none", "adjacent", "extended"])
        check_range("gap", self.gap, at_least=0, at_most=1000, whole=True)

    @property
    def swap_gap(self) -> int:
        """Elements that may lie inside a transposition; -1 where there are none."""
        return {"none": -1, "adjacent": 0, "extended": self.gap}[self.transpositions]

    def rule(self) -> Rule:
        """In order, with transpositions."""
        return super().rule() | {"gap": self.swap_gap}

    def matches(self, x: list[str], y: list[str], similarities: Floats, weights: Floats) -> Matches:
        """The heaviest alignment in order."""
        return heaviest_in_order(weights, self.swap_gap)

    def recurrence(self, similarities: Floats, weights: Floats) -> Recurrence:
        """The choices behind it."""
        return in_order(similarities, weights, self.swap_gap)


@dataclass(frozen=True)
class Assignment(_Weighted):
    """The best one-to-one matching in any order.

    >>> round(Assignment(weights="uniform").similarity("Smith John", "John Smith"), 6)
    1.0
    """

    name: ClassVar[str] = "assignment"

    def rule(self) -> Rule:
        """Any order, the largest sum."""
        return super().rule() | {"alignment": "assignment"}

    def matches(self, x: list[str], y: list[str], similarities: Floats, weights: Floats) -> Matches:
        """The heaviest one-to-one matching."""
        return heaviest(weights)


@dataclass(frozen=True)
class Greedy(_Weighted):
    """One-to-one matching in any order, largest weights first, of words nearer than theta.

    >>> round(Greedy(weights="uniform").similarity("Smith John", "John Adam Smith"), 6)
    0.816497
    """

    theta: float = 0.0
    name: ClassVar[str] = "greedy"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("theta", self.theta, at_least=0.0, at_most=1.0)

    def rule(self) -> Rule:
        """Any order, the heaviest first."""
        return super().rule() | {"alignment": "greedy", "theta": _single(self.theta)}

    @property
    def least_similarity(self) -> float:
        """Theta."""
        return self.theta

    def matches(self, x: list[str], y: list[str], similarities: Floats, weights: Floats) -> Matches:
        """One-to-one, the heaviest first."""
        return largest_first(similarities, weights, _single(self.theta))


class FittedSecondLevel(FittedSequences):
    """A fitted second-level measure.

    Attributes: measure; words, idf by word id; sub, the fitted sub-measure.
    """

    measure: SecondLevel
    _whole: sparse.csr_matrix | None = None  # similarities of all features, once a table of strings was made

    def score_pairs(self, left: list[str], right: list[str], n_jobs: int) -> NDArray[np.float64]:
        """Scores of pairs, a block at a time."""
        scores = np.empty(len(left))
        for start in range(0, len(left), _BLOCK):
            part = slice(start, start + _BLOCK)
            scores[part] = self._score_block(left[part], right[part], n_jobs)
        return scores

    def _score_block(self, left: list[str], right: list[str], n_jobs: int) -> NDArray[np.float64]:
        (x, lefts), (y, rights) = _distinct(left), _distinct(right)
        used, a, b = _numbered_anew(self.encode(x), self.encode(y))
        words = [self.words[at] for at in used]
        rows, columns = np.unique(a[1]), np.unique(b[1])
        cells = len(rows) * len(columns)
        if len(used) and self._whole is not None and used[-1] < self._whole.shape[0]:
            table = self._whole[used][:, used]
        elif (len(left) > 1 or cells > _CELLS) and cells <= max(
            _CELLS, int((np.diff(a[0])[lefts] * np.diff(b[0])[rights]).sum())
        ):
            table = self._block_table(words, rows, columns, n_jobs)
        else:
            table = self._met_words(words, (a, b), (lefts, rights), n_jobs)
        out = np.empty(len(left))
        weights = self.weights[used]
        native.score_pairs(
            a, b, weights, arrays_of(table), lefts, rights, out=out, threads=n_jobs, **self.measure.rule()
        )
        nothing = (self._norms(a, weights)[lefts] == 0) | (self._norms(b, weights)[rights] == 0)
        for k in np.flatnonzero(nothing):
            out[k] = float(left[k] == right[k])
        return self.finish(out)

    def score_matrix(
        self, left: list[str], right: list[str], n_jobs: int, dtype: type[np.floating[Any]] = np.float64
    ) -> Floats:
        """Scores of all pairs, by a table of the words that both sides have."""
        out = np.empty((len(left), len(right)), dtype)
        step = len(left)
        b = self.encode(right)
        wide = len(np.unique(b[1]))
        while step > 64 and len(np.unique(self.encode(left[:step])[1])) * wide > _TABLE:
            step //= 2
        for start in range(0, len(left), max(step, 1)):
            part = left[start : start + step]
            out[start : start + step] = self._matrix_block(part, right, n_jobs)
        return out

    def _matrix_block(self, left: list[str], right: list[str], n_jobs: int) -> NDArray[np.float64]:
        used, a, b = _numbered_anew(self.encode(left), self.encode(right))
        words = [self.words[at] for at in used]
        table = self._block_table(words, np.unique(a[1]), np.unique(b[1]), n_jobs)
        out = np.empty((len(left), len(right)))
        weights = self.weights[used]
        native.score_matrix(a, b, weights, arrays_of(table), out=out, threads=n_jobs, **self.measure.rule())
        nothing = np.flatnonzero(self._norms(b, weights) == 0)
        for i in np.flatnonzero(self._norms(a, weights) == 0):
            for j in nothing:
                out[i, j] = float(left[i] == right[j])
        return self.finish(out)

    def score_table(self, left: list[str], right: list[str], at_least: float, n_jobs: int) -> sparse.csr_matrix:
        """Scores of at least `at_least`, found by an index of the right strings."""
        if at_least <= 0.0 or len(left) * len(right) <= _CELLS:
            return super().score_table(left, right, at_least, n_jobs)
        a, b = self.encode(left), self.encode(right)
        inner = self._whole = self.word_table(0.0, n_jobs)
        weights = self.weights
        index = native.NameIndex(b, weights, arrays_of(inner), **self.measure.rule())
        if left == right and self.measure.symmetric:  # each pair once
            i, j, scores, *_ = index.search_self(0, len(left), threshold=at_least, top=0, threads=n_jobs)
            i, j, scores = np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([scores, scores])
        else:
            ids = np.arange(len(self.words), dtype=np.int32)
            i, j, scores, *_ = index.search(
                a, weights, ids, arrays_of(inner), threshold=at_least, top=0, threads=n_jobs
            )
        table = sparse.csr_matrix((self.finish(scores).astype(np.float32), (i, j)), (len(left), len(right)))
        nothing = self._norms(a, weights) == 0
        return table.maximum(equal_strings(left, right)) if nothing.any() else table

    def finish(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores, cut at 1 in place where the measure asks for it."""
        return np.minimum(scores, 1.0, out=scores) if self.measure.clipped else scores

    def join(self, names: list[str], *, min_word_similarity: float = 0.0, n_jobs: int = 1) -> NameJoin:
        """By an index of words."""
        return WordJoin(self, names, min_word_similarity, n_jobs)

    def usable_cut(self, min_word_similarity: float) -> float:
        """Below which similarity words may be left out of a table that is searched; 0 when that changes nothing."""
        nothing = self.measure.sub == _EXACT or min_word_similarity <= self.measure.least_similarity
        return 0.0 if nothing else min_word_similarity

    def set_idf(self, idf: Mapping[str, float]) -> None:
        """Replace the weights of features."""
        super().set_idf(idf)
        self._whole = None

    def _block_table(
        self, words: list[str], rows: NDArray[np.int32], columns: NDArray[np.int32], n_jobs: int
    ) -> sparse.csr_matrix:
        """Similarities of the words of the left side to those of the right one."""
        small = self.word_similarities([words[i] for i in rows], [words[j] for j in columns], n_jobs=n_jobs).tocoo()
        return sparse.csr_matrix((small.data, (rows[small.row], columns[small.col])), (len(words), len(words)))

    def _met_words(
        self,
        words: list[str],
        names: tuple[Encoded, Encoded],
        pairs: tuple[NDArray[np.int32], NDArray[np.int32]],
        n_jobs: int,
    ) -> SparseRows:
        """Similarities of those words only that meet in a pair; without SciPy, which one pair is not worth."""
        if self.sub is None or self.measure.sub == _EXACT:  # only equal words match, and need no meeting
            i = j = np.intersect1d(names[0][1], names[1][1]).astype(np.int64)
            scores = np.ones(len(i), np.float32)
        else:
            i, j = met_words(names, pairs, len(words))
            left, right = [words[k] for k in i], [words[k] for k in j]
            scores = np.where(i == j, 1.0, self.sub.score_pairs(left, right, n_jobs)).astype(np.float32)
        nonzero = np.flatnonzero(scores)
        offsets = np.searchsorted(i[nonzero], np.arange(len(words) + 1))
        return SparseRows(scores[nonzero], j[nonzero].astype(np.int32), offsets, (len(words), len(words)))

    @staticmethod
    def _norms(encoded: Encoded, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of the weights of each string, 0 for those that have nothing to compare."""
        sums = np.concatenate([np.zeros(1), np.cumsum(weights[encoded[1]])])
        return np.asarray(np.diff(sums[encoded[0]]))

    def explain(self, left: str, right: str) -> Alignment:
        """The alignment of two strings, with those of their words inside."""
        forward = self._explain(left, right)
        if self.measure.sides == "forward":
            return forward
        both = forward.score, self._explain(right, left, turned=True).score
        return replace(forward, score={"mean": sum(both) / 2, "max": max(both), "min": min(both)}[self.measure.sides])

    def _explain(self, left: str, right: str, turned: bool = False) -> Alignment:
        """One direction; `turned` when the sub-measure compares words of the right string to those of the left one."""
        measure = self.measure
        x, y = measure.distinct(self.features(left), self.features(right))
        similar = self.word_similarities(y, x).T if turned else self.word_similarities(x, y)
        sims = similar.toarray().astype(np.float64)
        a, b = self._weights_of(left, x), self._weights_of(right, y)
        weights, normalizer = measure.edge_weights(sims, a, b)
        matches = measure.matches(x, y, sims, weights)
        total = sum(float(weights[i, j]) for i, j in matches)
        score = total / normalizer if normalizer else float(left == right)
        if measure.one_to_one or measure.clipped:
            score = min(score, 1.0)
        edges = tuple(
            Edge(
                i,
                j,
                float(weights[i, j]),
                float(sims[i, j]),
                None if self.sub is None else self.sub.explain(x[i], y[j]),
            )
            for i, j in matches
        )
        return Alignment(str(measure), left, right, tuple(x), tuple(y), edges, score, normalizer)

    def _weights_of(self, name: str, distinct: list[str]) -> Floats:
        """The weight of each word: its idf, times its count where words are types."""
        _, ids = self.encode([name])
        weights = self.weights
        weight = {self.words[at]: weights[at] for at in ids}
        counts = self.measure.multiplicities(self.features(name), distinct)
        return np.asarray(counts * np.array([weight[word] for word in distinct]))

    def recurrence(self, alignment: Alignment) -> Recurrence | None:
        """The choices behind an alignment in order."""
        x, y = list(alignment.left_features), list(alignment.right_features)
        similarities = np.asarray(self.word_similarities(x, y).toarray(), np.float64)
        a, b = self._weights_of(alignment.left, x), self._weights_of(alignment.right, y)
        return self.measure.recurrence(similarities, similarities * np.outer(a, b))

    def overflows(self, left: Iterable[str], right: Iterable[str], *, warn: bool = True) -> NDArray[np.int64]:
        """Return the positions of pairs whose score exceeds 1, and warn of them; only Soft-TFIDF has such."""
        places = np.flatnonzero(self.pairs(left, right) > 1.0 + 1e-9)
        if warn and len(places):
            warn_caller(
                f"{len(places)} scores of {self.measure} exceed 1, the first at pair {places[0]}; "
                "raise theta, pass clip=True, or use ml, which is one-to-one"
            )
        return places


def _distinct(strings: list[str]) -> tuple[list[str], NDArray[np.int32]]:
    """Each string once, and where each of them is among these."""
    places: dict[str, int] = {}
    numbers = [places.setdefault(string, len(places)) for string in strings]
    return list(places), np.array(numbers, np.int32)


def _numbered_anew(a: Encoded, b: Encoded) -> tuple[NDArray[np.intp], Encoded, Encoded]:
    """The words that occur, and both sides by their position among these."""
    used, places = np.unique(np.concatenate([a[1], b[1]]), return_inverse=True)
    left, right = np.split(places.astype(np.int32), [len(a[1])])
    return used.astype(np.intp), (a[0], left), (b[0], right)


def _single(theta: float) -> float:
    """A threshold in the precision of tables, so that what equals it does not exceed it."""
    return float(np.float32(theta))

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

weights="uniform" takes 1 for every idf and learns nothing. Equal features always have the similarity 1. A string with
norm 0 has the similarity 1 to itself and 0 to all others.

References: Monge & Elkan (1996); Cohen, Ravikumar & Fienberg (2003), whose printed formula of Soft-TFIDF reduces to
the TF-IDF cosine; Moreau, Yvon & Cappé (2008), who correct it and define ML.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
from textmill.strings.rescoring import arrays_of, met_words

__all__ = ["Assignment", "FittedSecondLevel", "Greedy", "Ml", "MongeElkan", "SoftTfIdf"]

_BLOCK = 1 << 16  # pairs scored together
_CELLS = 1 << 22  # of a table of words that is made whole
_TABLE = 1 << 26  # of a table of words for a block of a matrix
SYMMETRIES = ("none", "mean", "max", "min")
Matches: TypeAlias = list[tuple[int, int]]


_WORDS, _EXACT = Words(), Exact()


@dataclass(frozen=True)
class _SecondLevel(Measure):
    features: Features = _WORDS
    sub: Measure = _EXACT

    def learn(self, strings: Occurrences) -> Fitted:
        """Return the fitted measure."""
        return FittedSecondLevel(self, self.features, strings, self.sub)


@dataclass(frozen=True)
class _Weighted(_SecondLevel):
    weights: str = "idf"
    documents: str = "types"

    def __post_init__(self) -> None:
        check_choice("weights", self.weights, ["idf", "uniform"])
        check_choice("documents", self.documents, DOCUMENTS)

    @property
    def learns(self) -> bool:
        """Weights come from a collection."""
        return self.weights == "idf" or super().learns


@dataclass(frozen=True)
class MongeElkan(_SecondLevel):
    """Mean over the left words of the similarity to their closest right word.

    >>> from textmill.strings import Jaro
    >>> round(MongeElkan(sub=Jaro()).similarity("director elbaradei", "director-general elbareidi"), 6)
    0.84838
    """

    symmetry: str = "none"
    name: ClassVar[str] = "monge_elkan"

    def __post_init__(self) -> None:
        check_choice("symmetry", self.symmetry, SYMMETRIES)

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

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("theta", self.theta, at_least=0.0, at_most=1.0)
        check_choice("multiplicity", self.multiplicity, ["types", "positions"])
        check_choice("symmetry", self.symmetry, SYMMETRIES)
        check_choice("clip", self.clip, [True, False])

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


@dataclass(frozen=True)
class Assignment(_Weighted):
    """The best one-to-one matching in any order.

    >>> round(Assignment(weights="uniform").similarity("Smith John", "John Smith"), 6)
    1.0
    """

    name: ClassVar[str] = "assignment"


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


class FittedSecondLevel(FittedSequences):
    """A fitted second-level measure.

    Attributes: measure; words, idf by word id; sub, the fitted sub-measure.
    """

    measure: MongeElkan | SoftTfIdf | Ml | Assignment | Greedy
    _whole: sparse.csr_matrix | None = None  # similarities of all features, once a table of strings was made

    def score_pairs(self, left: list[str], right: list[str], threads: int) -> NDArray[np.float64]:
        """Scores of pairs, a block at a time."""
        scores = np.empty(len(left))
        for start in range(0, len(left), _BLOCK):
            part = slice(start, start + _BLOCK)
            scores[part] = self._score_block(left[part], right[part], threads)
        return scores

    def _score_block(self, left: list[str], right: list[str], threads: int) -> NDArray[np.float64]:
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
            table = self._block_table(words, rows, columns, threads)
        else:
            table = self._met_words(words, (a, b), (lefts, rights), threads)
        out = np.empty(len(left))
        weights = self._kernel_weights(used)
        native.score_pairs(a, b, weights, arrays_of(table), lefts, rights, out=out, threads=threads, **self.rule())
        nothing = (self._norms(a, weights)[lefts] == 0) | (self._norms(b, weights)[rights] == 0)
        for k in np.flatnonzero(nothing):
            out[k] = float(left[k] == right[k])
        return self._finished(out)

    def score_matrix(
        self, left: list[str], right: list[str], threads: int, dtype: type[np.floating[Any]] = np.float64
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
            out[start : start + step] = self._matrix_block(part, right, threads)
        return out

    def _matrix_block(self, left: list[str], right: list[str], threads: int) -> NDArray[np.float64]:
        used, a, b = _numbered_anew(self.encode(left), self.encode(right))
        words = [self.words[at] for at in used]
        table = self._block_table(words, np.unique(a[1]), np.unique(b[1]), threads)
        out = np.empty((len(left), len(right)))
        weights = self._kernel_weights(used)
        native.score_matrix(a, b, weights, arrays_of(table), out=out, threads=threads, **self.rule())
        nothing = np.flatnonzero(self._norms(b, weights) == 0)
        for i in np.flatnonzero(self._norms(a, weights) == 0):
            for j in nothing:
                out[i, j] = float(left[i] == right[j])
        return self._finished(out)

    def score_table(self, left: list[str], right: list[str], epsilon: float, threads: int) -> sparse.csr_matrix:
        """Scores of at least epsilon, found by an index of the right strings."""
        if epsilon <= 0.0 or len(left) * len(right) <= _CELLS:
            return super().score_table(left, right, epsilon, threads)
        a, b = self.encode(left), self.encode(right)
        inner = self._whole = self.word_table(0.0, threads)
        weights = self._kernel_weights(np.arange(len(self.words)))
        index = native.NameIndex(b, weights, arrays_of(inner), **self.rule())
        if left == right and self.measure.symmetric:  # each pair once
            i, j, found, *_ = index.search_self(0, len(left), threshold=epsilon, top=0, threads=threads)
            i, j, found = np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([found, found])
        else:
            known = np.arange(len(self.words), dtype=np.int32)
            i, j, found, *_ = index.search(
                a, weights, known, arrays_of(inner), threshold=epsilon, top=0, threads=threads
            )
        table = sparse.csr_matrix((self._finished(found).astype(np.float32), (i, j)), (len(left), len(right)))
        nothing = self._norms(a, weights) == 0
        return table.maximum(equal_strings(left, right)) if nothing.any() else table

    def usable_cut(self, epsilon: float) -> float:
        """Below which similarity words may be left out of a table that is searched; 0 when that changes nothing."""
        exact = self.sub is None or isinstance(self.sub.measure, Exact)
        return 0.0 if exact or epsilon <= getattr(self.measure, "theta", 0.0) else epsilon

    def set_idf(self, idf: Mapping[str, float]) -> None:
        """Replace the weights of features."""
        super().set_idf(idf)
        self._whole = None

    def rule(self) -> dict[str, Any]:
        """The alignment, as the kernels want it."""
        measure = self.measure
        rule = {"alignment": "chain", "sides": "forward", "gap": -1, "theta": 0.0, "types": False}
        if isinstance(measure, Ml):
            return rule | {"gap": measure.swap_gap}
        if isinstance(measure, Greedy):
            return rule | {"alignment": "greedy", "theta": _single(measure.theta)}
        if isinstance(measure, Assignment):
            return rule | {"alignment": "assignment"}
        sides = "forward" if measure.symmetry == "none" else measure.symmetry
        if isinstance(measure, MongeElkan):
            return rule | {"alignment": "average", "sides": sides}
        types = measure.multiplicity == "types"
        return rule | {"alignment": "closest", "sides": sides, "theta": _single(measure.theta), "types": types}

    def _block_table(
        self, words: list[str], rows: NDArray[np.int32], columns: NDArray[np.int32], threads: int
    ) -> sparse.csr_matrix:
        """Similarities of the words of the left side to those of the right one."""
        small = self.word_similarities([words[i] for i in rows], [words[j] for j in columns], threads=threads).tocoo()
        return sparse.csr_matrix((small.data, (rows[small.row], columns[small.col])), (len(words), len(words)))

    def _met_words(
        self,
        words: list[str],
        names: tuple[Encoded, Encoded],
        pairs: tuple[NDArray[np.int32], NDArray[np.int32]],
        threads: int,
    ) -> SparseRows:
        """Similarities of those words only that meet in a pair; without SciPy, which one pair is not worth."""
        i, j = met_words(names, pairs, len(words))
        left, right = [words[k] for k in i], [words[k] for k in j]
        if self.sub is None:
            scores = (i == j).astype(np.float32)
        else:
            scores = np.where(i == j, 1.0, self.sub.score_pairs(left, right, threads)).astype(np.float32)
        kept = np.flatnonzero(scores)
        offsets = np.searchsorted(i[kept], np.arange(len(words) + 1))
        return SparseRows(scores[kept], j[kept].astype(np.int32), offsets, (len(words), len(words)))

    def _kernel_weights(self, used: NDArray[np.intp]) -> NDArray[np.float64]:
        """The weight of each word of a block."""
        if getattr(self.measure, "weights", "uniform") == "uniform":
            return np.ones(len(used))
        return self.idf[used]

    @staticmethod
    def _norms(encoded: Encoded, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of the weights of each string, 0 for those that have nothing to compare."""
        sums = np.concatenate([np.zeros(1), np.cumsum(weights[encoded[1]])])
        return np.asarray(np.diff(sums[encoded[0]]))

    def _finished(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.minimum(scores, 1.0, out=scores) if getattr(self.measure, "clip", False) else scores

    def explain(self, left: str, right: str) -> Alignment:
        """The alignment of two strings, with those of their words inside."""
        measure = self.measure
        forward = self._explain(left, right)
        symmetry = getattr(measure, "symmetry", "none")
        if symmetry == "none":
            return forward
        backward = self._explain(right, left, turned=True)
        score = {"mean": (forward.score + backward.score) / 2}.get(symmetry)
        if score is None:
            score = (max if symmetry == "max" else min)(forward.score, backward.score)
        return Alignment(
            str(measure),
            left,
            right,
            forward.left_features,
            forward.right_features,
            forward.edges,
            score,
            forward.normaliser,
        )

    def _explain(self, left: str, right: str, turned: bool = False) -> Alignment:
        """One direction; `turned` when the sub-measure compares words of the right string to those of the left one."""
        measure = self.measure
        x, y = self.features(left), self.features(right)
        if isinstance(measure, SoftTfIdf) and measure.multiplicity == "types":
            x, y = list(dict.fromkeys(x)), list(dict.fromkeys(y))
        elif isinstance(measure, MongeElkan):
            y = list(dict.fromkeys(y))
        similar = self.word_similarities(y, x).T if turned else self.word_similarities(x, y)
        sims = similar.toarray().astype(np.float64)
        a, b = self._weights_of(left, x), self._weights_of(right, y)
        weights = sims * np.outer(a, b)
        if isinstance(measure, MongeElkan):
            weights = sims
            matches = _closest(x, y, sims, -1.0)
            normaliser = float(len(x)) if y else 0.0
        else:
            normaliser = float(np.sqrt(a @ a) * np.sqrt(b @ b))
            matches = self._matches(x, y, sims, weights)
        total = sum(float(weights[i, j]) for i, j in matches)
        score = total / normaliser if normaliser else float(left == right)
        if isinstance(measure, Ml | Assignment | Greedy) or getattr(measure, "clip", False):
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
        return Alignment(str(measure), left, right, tuple(x), tuple(y), edges, score, normaliser)

    def _weights_of(self, name: str, distinct: list[str]) -> Floats:
        """The weight of each word: its idf, times its count where words are types."""
        if getattr(self.measure, "weights", "uniform") == "uniform":
            idf = np.ones(len(distinct))
        else:
            _, ids = self.encode([name])
            order = {self.words[at]: self.idf[at] for at in ids}
            idf = np.array([order[w] for w in distinct])
        if isinstance(self.measure, SoftTfIdf) and self.measure.multiplicity == "types":
            every = self.features(name)
            return np.array([every.count(w) for w in distinct]) * idf
        return idf

    def _matches(self, x: list[str], y: list[str], sims: Floats, weights: Floats) -> Matches:
        measure = self.measure
        if isinstance(measure, SoftTfIdf):
            return _closest(x, y, sims, _single(measure.theta))
        if isinstance(measure, Ml):
            return _in_order(weights, measure.swap_gap)
        if isinstance(measure, Greedy):
            return _largest_first(sims, weights, _single(measure.theta))
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(weights, maximize=True)
        return [(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if weights[i, j] > 0]

    def overflows(self, left: Iterable[str], right: Iterable[str], *, warn: bool = True) -> NDArray[np.int64]:
        """Return the positions of pairs whose score exceeds 1, and warn of them; only Soft-TFIDF has such."""
        found = np.flatnonzero(self.pairs(left, right) > 1.0 + 1e-9)
        if warn and len(found):
            warn_caller(
                f"{len(found)} scores of {self.measure} exceed 1, the first at pair {found[0]}; "
                "raise theta, pass clip=True, or use ml, which is one-to-one"
            )
        return found


def _closest(x: list[str], y: list[str], sims: Floats, theta: float) -> Matches:
    """For each left word its closest right word above theta, at every place where it stands.

    Of several, the equal word is taken before others, then the first.
    """
    found = []
    for i, word in enumerate(x):
        if not y:
            break
        j = max(range(len(y)), key=lambda k: (sims[i, k], y[k] == word, -k))
        if sims[i, j] > theta:
            found += [(i, k) for k in range(len(y)) if y[k] == y[j]]
    return found


def _in_order(w: Floats, gap: int) -> Matches:
    """The heaviest alignment in order, with transpositions of up to `gap` elements inside (-1: none)."""
    n, m = w.shape
    d = np.zeros((n + 1, m + 1))
    came: dict[tuple[int, int], tuple[int, int]] = {}
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best, place = d[i - 1, j - 1] + w[i - 1, j - 1], (i - 1, j - 1)
            for p in range(min(gap, i - 2) + 1):
                for q in range(min(gap, j - 2) + 1):
                    k, h = i - 2 - p, j - 2 - q
                    swapped = d[k, h] + w[k, j - 1] + w[i - 1, h]
                    if swapped > best:
                        best, place = swapped, (k, h)
            for k, h in ((i - 1, j), (i, j - 1)):
                if d[k, h] >= best:
                    best, place = d[k, h], (k, h)
            d[i, j], came[i, j] = best, place
    found = []
    i, j = n, m
    while i and j:
        k, h = came[i, j]
        if (k, h) == (i - 1, j - 1):
            found.append((k, h))
        elif k < i and h < j:
            found += [(i - 1, h), (k, j - 1)]
        i, j = k, h
    return sorted((i, j) for i, j in found if w[i, j] > 0)


def _largest_first(sims: Floats, weights: Floats, theta: float) -> Matches:
    """One-to-one edges by falling weight, ties by position."""
    edges = sorted((-weights[i, j], i, j) for i, j in zip(*np.nonzero(sims > theta), strict=True))
    left: set[int] = set()
    right: set[int] = set()
    found = []
    for weight, i, j in edges:
        if weight < 0 and i not in left and j not in right:
            left.add(i)
            right.add(j)
            found.append((int(i), int(j)))
    return sorted(found)


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

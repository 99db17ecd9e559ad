r"""Pairs of records as rows of numbers: several measures of each field, what is missing, and rivals.

A field without a measure of its own is compared by all of these, a field with one by that alone; values are in the
plain form of records.py, and rarity is learned from the records that are compared.

    aligned      words aligned one to one, the default measure of names         edit      Levenshtein
    start        Jaro-Winkler of the whole
    words        TF-IDF cosine of words                                         letters   TF-IDF cosine of trigrams
    contained    idf of common words / idf of the words of the lighter value
    rarest       idf of the rarest common word / log n
    surplus      idf of the words of the lighter (heavier) value that the other lacks / log n
    numbers      words with digits: the common share; whether both have some and they differ; whether only one has
    first letter, first word, last word     equal or not                        length    shorter / longer
    missing      1 if one of the values or both are missing: then all the others are NaN

    score = sum over fields of weight * first measure / sum of weights          over the fields that both records have

A missing value neither speaks for nor against: it is left out of the score (0 if nothing remains), and models put the
mean of the candidates in place of NaN. Two more numbers put a pair among its rivals, the other candidates of its two
records:

    lead         score - the best score of any rival, of both records or (lead of one) of the record with weaker rivals

Cost: the measures, each some microseconds a pair, in blocks; features of distinct values are made once.
Memory: one block, the words and trigrams of the distinct values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill.model import effective_jobs
from textmill.numeric import sparse
from textmill.strings import Ngrams, parse_measure
from textmill.tasks.names.records import Field, RecordList, numbered_values

__all__ = ["FIELD_MEASURE", "RIVALS", "PairComparer", "leads"]

FIELD_MEASURE = "ml(words, sub=power(jaro, 3), transpositions='extended')"  # the same for every list: models learn it

Floats: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int64]

RIVALS = ("lead", "lead of one")
_TEXT = (
    *("aligned", "words", "letters", "edit", "start", "contained", "rarest", "surplus of lighter"),
    *("surplus of heavier", "numbers equal", "numbers differ", "numbers of one", "first letter", "first word"),
    *("last word", "length", "missing"),
)
_BLOCK = 1 << 16  # pairs compared together


class PairComparer:
    """Compares pairs of records of a list, or of two.

    Attributes: fields; columns, the names of the numbers as (field, measure).

    >>> people = RecordList.of({"name": ["Ann Lee", "Anne Lee", "Tom"], "phone": ["1-2", "12", None]})
    >>> comparer = PairComparer([Field("name"), Field("phone", "exact", 0.5)], people)
    >>> comparer.scores(np.array([0, 0]), np.array([1, 2])).round(2).tolist()
    [0.53, 0.0]
    """

    def __init__(
        self,
        fields: Sequence[Field],
        left: RecordList,
        right: RecordList | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.fields = tuple(fields)
        jobs = effective_jobs(n_jobs)
        both = [left] if right is None else [left, right]
        self._values = [_FieldValues(field, [side.column(field.name) for side in both], jobs) for field in self.fields]
        self.columns = [(values.field.name, name) for values in self._values for name in values.names]
        self.columns += [("", name) for name in RIVALS]

    def first_measures(self, left: NDArray[Any], right: NDArray[Any]) -> Floats:
        """The first measure of each field, (pairs, fields); NaN where a value is missing."""
        scores = np.full((len(left), len(self.fields)), np.nan)
        for number, values in enumerate(self._values):
            for block in _blocks(len(left)):
                a, b = values.ends(left[block], right[block])
                there = (a >= 0) & (b >= 0)
                scores[block, number][there] = values.first(a[there], b[there])
        return scores

    def scores(self, left: NDArray[Any], right: NDArray[Any]) -> Floats:
        """The weighted mean of the first measure of each field, over the fields that both records have."""
        values = self.first_measures(left, right)
        weights = np.where(np.isnan(values), 0.0, [field.weight for field in self.fields])
        total = weights.sum(axis=1)
        sums = (weights * np.nan_to_num(values)).sum(axis=1)
        return np.asarray(sums / np.where(total > 0, total, 1.0))

    def rarity(self, left: NDArray[Any], right: NDArray[Any]) -> Floats:
        """How much rarer than usual an equal value is, as log odds, (pairs, fields); 0 where values differ or miss.

        log(sum of f^2 / f) with f the share of the records that have the value: sum of f^2 is how often two records
        agree by chance, f how often a record agrees with this value.
        """
        return np.stack([values.rarity(*values.ends(left, right)) for values in self._values], axis=-1)

    def features(self, left: NDArray[Any], right: NDArray[Any], lead: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of pairs and their rows; `lead` (pairs, 2) comes from `leads`."""
        for block in _blocks(len(left)):
            parts = [values.rows(*values.ends(left[block], right[block])) for values in self._values]
            yield block, np.concatenate([*parts, lead[block]], axis=1)


def leads(
    left: NDArray[Any],
    right: NDArray[Any],
    scores: Floats,
    *,
    same_list: bool,
    rivals: NDArray[np.bool_] | None = None,
) -> Floats:
    """How far each pair is ahead of the best rival of both of its records, and of the record with weaker rivals.

    `rivals` says which of the pairs are rivals of others; by default all are.

    >>> leads(np.array([0, 0]), np.array([1, 2]), np.array([0.9, 0.5]), same_list=True).round(1).tolist()
    [[0.4, 0.9], [-0.4, 0.5]]
    """
    ranked = scores if rivals is None else np.where(rivals, scores, -np.inf)
    if same_list:
        both = _best_rival(np.concatenate([left, right]), np.concatenate([ranked, ranked]))
        one, two = both[: len(left)], both[len(left) :]
    else:
        one, two = _best_rival(left, ranked), _best_rival(right, ranked)
    return np.stack([scores - np.maximum(one, two), scores - np.minimum(one, two)], axis=-1)


def _best_rival(records: NDArray[Any], scores: Floats) -> Floats:
    """The best score of another pair of the same record; 0 if there is none. A score of -inf is no rival."""
    order = np.lexsort((-scores, records))
    sorted_scores = scores[order]
    first = np.ones(len(order), bool)
    first[1:] = np.diff(records[order]) != 0
    starts = np.flatnonzero(first)
    group = np.cumsum(first) - 1
    several = np.diff(np.append(starts, len(order))) > 1
    second = np.zeros(len(starts))
    second[several] = sorted_scores[starts[several] + 1]
    rivals = np.empty(len(order))
    rivals[order] = np.where(first, second[group], sorted_scores[starts][group]) if len(order) else 0.0
    return np.where(np.isneginf(rivals), 0.0, rivals)


def _blocks(size: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, size, _BLOCK))


class _FieldValues:
    """The distinct values of a field, of one list or two, and its measures. Values are numbered, -1 is missing."""

    def __init__(self, field: Field, sides: list[list[str]], n_jobs: int) -> None:
        self.field = field
        self._jobs = n_jobs
        self.texts, self._sides = numbered_values(sides)
        self.names: tuple[str, ...] = (str(field.measure), "missing") if field.measure else _TEXT
        self._fitted = parse_measure(field.measure or FIELD_MEASURE).fit(self.texts)
        self._bags: _Bags | None = None
        every = np.concatenate(self._sides)
        counts = np.bincount(every[every >= 0], minlength=len(self.texts)).astype(np.float64)
        shares = counts / max(1.0, counts.sum())
        self._rarity = np.log((shares @ shares) / shares) if len(shares) else shares

    def rarity(self, a: Places, b: Places) -> Floats:
        """Log odds of equal values beyond what equal values are worth on average."""
        return np.where((a == b) & (a >= 0), np.append(self._rarity, 0.0)[a], 0.0)

    def ends(self, left: NDArray[Any], right: NDArray[Any]) -> tuple[Places, Places]:
        """The numbers of the values of pairs of records."""
        return self._sides[0][left], self._sides[-1][right]

    def first(self, a: Places, b: Places) -> Floats:
        """The measure of the field, or the default one."""
        return self._score(self._fitted, a, b)

    def rows(self, a: Places, b: Places) -> Floats:
        """All numbers of the field."""
        there = (a >= 0) & (b >= 0)
        rows = np.full((len(a), len(self.names)), np.nan)
        rows[:, -1] = ~there
        a, b = a[there], b[there]
        rows[there, 0] = self.first(a, b)
        if self.field.measure is None:
            self._bags = self._bags or _Bags(self.texts)
            whole = [self._score(measure, a, b) for measure in self._bags.whole]
            columns = [*self._bags.cosines(a, b), *whole, *self._bags.shares(a, b)]
            rows[np.flatnonzero(there)[:, None], np.arange(1, len(_TEXT) - 1)] = np.stack(columns, axis=-1)
        return rows

    def _score(self, fitted: Any, a: Places, b: Places) -> Floats:
        """A measure in both directions, averaged unless it is the same in both."""
        texts = self.texts
        one, two = [texts[i] for i in np.minimum(a, b)], [texts[i] for i in np.maximum(a, b)]
        scores: Floats = fitted.pairs(one, two, n_jobs=self._jobs)
        if fitted.measure.symmetric:
            return scores
        return np.asarray((scores + fitted.pairs(two, one, n_jobs=self._jobs)) / 2)


class _Bags:
    """Words and trigrams of distinct values as sparse rows."""

    def __init__(self, texts: list[str]) -> None:
        self.whole = [parse_measure(text).fit(texts) for text in ("levenshtein", "jaro_winkler")]
        words = [text.split() for text in texts]
        table, self._words, idf = _bag(words)
        self._scale = max(math.log(max(2, len(texts))), 1e-9)
        self._weighted = (self._words @ sparse.diags(idf)).tocsr() if len(idf) else self._words
        self._sizes = np.asarray(self._weighted.sum(axis=1)).ravel()
        self._unit_words = _unit(self._weighted)
        _, letters, letter_idf = _bag(list(map(Ngrams(n=3), texts)))
        self._unit_letters = _unit((letters @ sparse.diags(letter_idf)).tocsr() if len(letter_idf) else letters)
        digits = np.fromiter((any(c.isdigit() for c in word) for word in table), bool, len(table))
        self._numbers = (self._words @ sparse.diags(digits.astype(np.float64))).tocsr() if len(table) else self._words
        self._numbers.eliminate_zeros()
        self._many = np.diff(self._numbers.indptr).astype(np.float64)
        numbers = {word: at for at, word in enumerate(table)}
        self._first = np.fromiter((numbers[row[0]] if row else -1 for row in words), np.int64, len(words))
        self._last = np.fromiter((numbers[row[-1]] if row else -1 for row in words), np.int64, len(words))
        self._letter = np.fromiter((ord(text[0]) if text else -1 for text in texts), np.int64, len(texts))
        self._length = np.fromiter(map(len, texts), np.float64, len(texts))

    def cosines(self, a: Places, b: Places) -> list[Floats]:
        """TF-IDF cosines of words and of trigrams; values that weigh nothing are alike if they are the same."""
        same = (a == b).astype(np.float64)
        return [
            np.maximum(same, np.minimum(1.0, _product(rows, rows, a, b)))
            for rows in (self._unit_words, self._unit_letters)
        ]

    def shares(self, a: Places, b: Places) -> list[Floats]:
        """From `contained` to `length`, in the order of the names."""
        met = self._weighted[a].multiply(self._words[b]).tocsr()
        common = np.asarray(met.sum(axis=1)).ravel()
        rarest = np.asarray(met.max(axis=1).todense()).ravel() if met.shape[1] else common
        light, heavy = np.minimum(self._sizes[a], self._sizes[b]), np.maximum(self._sizes[a], self._sizes[b])
        same = a == b
        contained = np.where(light > 0, common / np.maximum(light, 1e-12), same)
        shared = _product(self._numbers, self._numbers, a, b)
        few, many = np.minimum(self._many[a], self._many[b]), np.maximum(self._many[a], self._many[b])
        both = few > 0
        return [
            contained,
            rarest / self._scale,
            (light - common) / self._scale,
            (heavy - common) / self._scale,
            np.where(both, shared / np.maximum(many, 1), 0.0),
            np.where(both, 1.0 - shared / np.maximum(few, 1), 0.0),
            ((few == 0) & (many > 0)).astype(np.float64),
            (self._letter[a] == self._letter[b]).astype(np.float64),
            (self._first[a] == self._first[b]).astype(np.float64),
            (self._last[a] == self._last[b]).astype(np.float64),
            np.minimum(self._length[a], self._length[b]) / np.maximum(self._length[a], self._length[b]),
        ]


def _bag(rows: Sequence[Sequence[str]]) -> tuple[list[str], sparse.csr_matrix, Floats]:
    """Distinct features, rows with a 1 for each that they have, and log(rows / rows that have it)."""
    numbers: dict[str, int] = {}
    flat = np.fromiter((numbers.setdefault(word, len(numbers)) for word in chain.from_iterable(rows)), np.int32)
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    table = sparse.csr_matrix((np.ones(len(flat)), flat, offsets), shape=(len(rows), len(numbers)))
    table.sum_duplicates()
    table.data[:] = 1.0
    holders = np.bincount(table.indices, minlength=len(numbers))
    return list(numbers), table, np.log(len(rows) / np.maximum(holders, 1)) if len(numbers) else np.zeros(0)


def _unit(rows: sparse.csr_matrix) -> sparse.csr_matrix:
    """Rows of length 1, or of nothing."""
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return (sparse.diags(np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0)) @ rows).tocsr()


def _product(x: sparse.csr_matrix, y: sparse.csr_matrix, a: Places, b: Places) -> Floats:
    """Dot products of rows."""
    return np.asarray(x[a].multiply(y[b]).sum(axis=1)).ravel()

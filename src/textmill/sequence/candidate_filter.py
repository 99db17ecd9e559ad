"""Which stretches of tokens may be a segment at all: a counting naive Bayes filter.

    logit(s, e) = log P(ent) / P(oth) + sum over tests f of [s, e] of log P(f | ent) / P(f | oth)
    keep  iff  logit >= threshold                               P(ent | f) >= tau  <=>  logit >= log(tau / (1 - tau))

Candidates are all stretches of at most L tokens. Tests are the values (words, chunk tags, endings, shapes) of the first
token, of the last, of every token inside, and of the tokens before and behind; P(f | class) is a multinomial for each
sort of test with add-`smoothing` counts. No candidate is enumerated to count: token i begins min(L, n - i) of them, and
"other" is all minus entity. A candidate is scored in constant time, by arrays over tokens for either end and running
sums for the inside.

A filter has seen the entities that it is trained on and would keep fewer other candidates there than in new text, so
each sentence of the training data is scored with its own counts taken away; counts are additive, so that is exact. The
threshold is the largest that keeps the wished share of the entities under these scores.
Reference: Okanohara, Miyao, Tsuruoka & Tsujii (2006), Table 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.model import Estimator, Model, StringTable, check_fitted, check_range
from textmill.sequence.candidate_counts import (
    BEFORE,
    BEHIND,
    SORTS,
    FilterScores,
    FilterTokens,
    count_values,
    width_of,
    words_of,
)
from textmill.sequence.candidates import Candidates, all_candidates, flat_spans, gold_spans, room_of
from textmill.sequence.segment_patterns import normalized

__all__ = ["CandidateFilter", "FilterAudit", "LostSpan"]

_MADE = ("_numbers", "_totals", "_table")  # of a filter's counts, when they are first asked for


class LostSpan(NamedTuple):
    """A gold span that a filter drops: where, which label, its words, its logit; NaN: longer than the maximum."""

    sequence: int
    begin: int
    end: int
    label: str
    text: str
    logit: float


class FilterAudit(NamedTuple):
    """What a filter does to labeled sequences.

    >>> FilterAudit(10, 100, 8, 9, []).recall
    0.8888888888888888
    """

    n_kept: int
    candidates: int
    spans_kept: int
    spans: int
    lost: list[LostSpan]

    @property
    def kept_share(self) -> float:
        """Share of the candidates that are kept."""
        return self.n_kept / max(1, self.candidates)

    @property
    def recall(self) -> float:
        """Share of the gold spans that are kept."""
        return self.spans_kept / max(1, self.spans)

    @property
    def possible_f1(self) -> float:
        """The F1 of a tagger that finds all spans that are kept, and no other."""
        return 2 * self.recall / (1 + self.recall)


class CandidateFilter(Estimator, Model):
    """Naive Bayes filter of candidate segments.

    Parameters:
        max_length: Number of tokens of the longest candidate.
        recall: Share of the gold spans that must be kept, from which the threshold is chosen.
        threshold: Logit from which candidates are kept, instead of `recall`; -inf keeps all.
        columns: Columns of tokens that are looked at; None for all.
        spelling: Whether to look at endings, shapes and normalized words, too, beside the values of Table 2.
        word_list: Texts (words parted by blanks, in any case) that are kept whatever their logit.
        smoothing: Number added to every count.

    Attributes:
        threshold_: Logit from which candidates are kept.
        values_: Values that were counted, each with the number of its column and a colon before it.
        counts_: How often each is in a sort of test of entities, and of all candidates, (values, sorts, 2).
        totals_: Number of entities and of all candidates, (2,).

    >>> X = [["the", "Mill", "Hill", "stood"], ["a", "Mill", "Hill"]]
    >>> y = [["O", "B-LOC", "I-LOC", "O"], ["O", "B-LOC", "I-LOC"]]
    >>> CandidateFilter(max_length=3, recall=1.0).fit(X, y).candidates([["the", "Mill", "Hill"]]).spans(0)
    [(1, 3)]
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "values_": "value: str",
        "counts_": "value sort class: int64",
        "totals_": "class: int64",
    }
    state: ClassVar[dict[str, Any]] = {"threshold_": float, "width_": int}

    values_: StringTable
    counts_: NDArray[np.int64]
    totals_: NDArray[np.int64]
    threshold_: float
    width_: int

    def __init__(
        self,
        *,
        max_length: int = 10,
        recall: float = 0.995,
        threshold: float | None = None,
        columns: Sequence[int] | None = None,
        spelling: bool = True,
        word_list: Sequence[str] | None = None,
        smoothing: float = 1.0,
    ) -> None:
        self.max_length = max_length
        self.recall = recall
        self.threshold = threshold
        self.columns = columns
        self.spelling = spelling
        self.word_list = word_list
        self.smoothing = smoothing

    def fit(self, X: Iterable[Any], y: Iterable[Sequence[str]]) -> CandidateFilter:
        """Count the values of labeled spans and of all candidates, and choose the threshold."""
        self.fit_candidates(X, y)
        return self

    def fit_candidates(self, X: Iterable[Any], y: Iterable[Sequence[str]]) -> Candidates:
        """The same; returns the candidates of X, each sentence scored without its own counts."""
        check_range("max_length", self.max_length, at_least=1, whole=True)
        check_range("recall", self.recall, above=0, at_most=1)
        check_range("smoothing", self.smoothing, above=0)
        X = list(X)
        for name in _MADE:
            vars(self).pop(name, None)
        tokens = FilterTokens(X, self._columns(X), self.spelling)
        self.width_ = tokens.width
        begins, lengths = flat_spans(gold_spans(y, X), tokens.offsets)
        fits = lengths <= self.max_length
        if not len(begins):
            raise DataError("there are no labeled spans to learn from; pass tags such as B-PER")
        if not fits.any():
            raise DataError(
                f"no labeled span has at most max_length={self.max_length} tokens, so there is none to learn from; "
                f"the shortest has {lengths.min()}: raise max_length"
            )
        begins, lengths = begins[fits], lengths[fits]
        tables = [tokens.number(c) for c in range(tokens.count)]
        self.values_ = StringTable([f"{c}:{value}" for c, (_, names) in enumerate(tables) for value in names])
        shift = np.cumsum([0] + [len(names) for _, names in tables])
        ids = [table + before for (table, _), before in zip(tables, shift, strict=False)]
        each = [
            count_values(part, int(base), tokens.offsets, self.max_length, begins, lengths)
            for part, base in zip(ids, shift, strict=False)
        ]
        counts = np.zeros((int(shift[-1]), len(SORTS), 2), np.int64)
        for part in each:
            for sort, (positions, entity, total) in enumerate(part):
                np.add.at(counts[:, sort, 0], positions, entity)
                np.add.at(counts[:, sort, 1], positions, total)
        self.counts_ = counts
        self.totals_ = np.array([len(begins), all_candidates(tokens.offsets, self.max_length).count], np.int64)
        scores = self._scores(tokens, ids, each, begins)
        gold = np.sort(scores.at(begins, lengths))
        if self.threshold is not None:
            self.threshold_ = float(self.threshold)
        else:
            self.threshold_ = (
                float(gold[int((1 - self.recall) * len(gold) + 1e-9)]) if self.recall < 1 else float(gold[0])
            )
        return self._chosen(scores, tokens)

    def candidates(self, X: Iterable[Any]) -> Candidates:
        """The candidates that are kept."""
        check_fitted(self)
        scores, tokens = self._scored(list(X))
        return self._chosen(scores, tokens)

    def logits(self, X: Iterable[Any]) -> list[dict[tuple[int, int], float]]:
        """The logit of every candidate of every sequence, by (first token, one past the last).

        >>> filter = CandidateFilter(max_length=1).fit([["a", "B"]] * 3, [["O", "B-X"]] * 3)
        >>> logits = filter.logits([["a", "B"]])[0]
        >>> logits[0, 1] < logits[1, 2]
        True
        """
        check_fitted(self)
        scores, tokens = self._scored(list(X))
        answers = []
        for begin, end in zip(tokens.offsets[:-1].tolist(), tokens.offsets[1:].tolist(), strict=True):
            table = scores.table[begin:end]
            answers.append(
                {
                    (i, i + j + 1): float(table[i, j])
                    for i in range(end - begin)
                    for j in range(min(self.max_length, end - begin - i))
                }
            )
        return answers

    def audit(self, X: Iterable[Any], y: Iterable[Sequence[str]]) -> FilterAudit:
        """What the filter does to labeled sequences: shares kept, and every gold span that is lost."""
        check_fitted(self)
        X = list(X)
        scores, tokens = self._scored(X)
        spans = gold_spans(y, X)
        begins, lengths = flat_spans(spans, tokens.offsets)
        chosen = self._chosen(scores, tokens)
        inside = chosen.contains(begins, lengths)
        flat = [(s, span) for s, some in enumerate(spans) for span in some]
        lost = []
        for i in np.flatnonzero(~inside).tolist():
            s, (begin, end, label) = flat[i]
            words = " ".join(words_of(X[s])[begin:end])
            long = end - begin > self.max_length
            logit = np.nan if long else float(scores.table[begins[i], lengths[i] - 1])
            lost.append(LostSpan(s, begin, end, label, words, logit))
        total = all_candidates(tokens.offsets, self.max_length).count
        return FilterAudit(chosen.count, total, int(inside.sum()), len(flat), lost)

    def curve(self, X: Iterable[Any], y: Iterable[Sequence[str]], *, points: int = 50) -> NDArray[np.float64]:
        """Thresholds, shares of the candidates kept and of the gold spans (those not too long) kept, (points, 3)."""
        check_fitted(self)
        check_range("points", points, at_least=2, whole=True)
        X = list(X)
        scores, tokens = self._scored(X)
        begins, lengths = flat_spans(gold_spans(y, X), tokens.offsets)
        fits = lengths <= self.max_length
        gold = np.sort(scores.at(begins[fits], lengths[fits]))
        every = np.sort(scores.table[scores.table > -np.inf])
        if not len(gold):
            raise DataError("there are no labeled spans; pass tags such as B-PER")
        ranks = np.unique(np.geomspace(1, len(gold), points).astype(int)) - 1
        levels = gold[ranks]
        shares = 1 - np.searchsorted(every, levels) / max(1, len(every))
        recall = 1 - np.searchsorted(gold, levels) / len(gold)
        return np.column_stack([levels, shares, recall])

    def check_values(self) -> None:
        """Check what the layout cannot say of a filter from a file."""
        from textmill.errors import ModelFileError

        if self.counts_.shape[1:] != (len(SORTS), 2) or self.totals_.shape != (2,):
            raise ModelFileError("the counts have other sorts of tests", reason="damaged")
        if (self.counts_ < 0).any() or (self.counts_[..., 0] > self.counts_[..., 1]).any():
            raise ModelFileError("a count is negative, or of more entities than candidates", reason="damaged")
        if not 0 <= self.totals_[0] <= self.totals_[1] or np.isnan(self.threshold_):
            raise ModelFileError("the totals or the threshold make no sense", reason="damaged")

    def _columns(self, X: list[Any]) -> list[int]:
        first = next((s for s in X if len(s)), None)
        width = 1 if first is None else width_of(first)
        columns = range(width) if self.columns is None else self.columns
        for column in columns:
            if not 0 <= column < width:
                raise DataError(f"columns has {column}, but tokens have columns 0 to {width - 1}")
        return list(columns)

    def _scored(self, X: list[Any]) -> tuple[FilterScores, FilterTokens]:
        if getattr(self, "_numbers", None) is None:
            self._numbers = {value: number for number, value in enumerate(self.values_.to_list())}
        columns = list(range(self.width_)) if self.columns is None else list(self.columns)
        tokens = FilterTokens(X, columns, self.spelling)
        ids = [tokens.look_up(c, self._numbers) for c in range(tokens.count)]
        return self._scores(tokens, ids, None, None), tokens

    def _scores(self, tokens: FilterTokens, ids: list[Ints], own: list[Any] | None, spans: Ints | None) -> FilterScores:
        """Logits of all candidates; with `own` counts of every sentence taken away, whose entities begin at `spans`."""
        T, offsets = len(tokens.sentence), tokens.offsets
        begin, end, inside = np.zeros(T), np.zeros(T), np.zeros(T)
        entities, candidates = (float(total) for total in self.totals_)
        prior: Any = np.log(entities) - np.log(max(candidates - entities, 0.5))
        if own is not None and spans is not None:
            mine = np.bincount(tokens.sentence[spans], minlength=len(offsets) - 1)[tokens.sentence]
            lengths = np.diff(offsets)
            L = np.minimum(lengths, self.max_length)
            every = (L * (2 * lengths - L + 1) // 2)[tokens.sentence]
            left = np.maximum(entities - mine, 0.5)
            prior = np.log(left) - np.log(np.maximum(candidates - every - left, 0.5))
        firsts, lasts = np.zeros(T, bool), np.zeros(T, bool)
        firsts[offsets[:-1][np.diff(offsets) > 0]] = True
        lasts[offsets[1:][np.diff(offsets) > 0] - 1] = True
        prefix = [f"{c}:" for c in range(len(ids))]
        names = self._boundary_numbers(prefix)
        totals = self._sort_totals(prefix)
        table = self._ratio_table(totals) if own is None else None
        for c, part in enumerate(ids):
            before = np.where(firsts, names[c][0], np.concatenate([[-1], part[:-1]]))
            behind = np.where(lasts, names[c][1], np.concatenate([part[1:], [-1]]))
            for sort, at in enumerate((part, part, part, before, behind)):
                target = (begin, end, inside, begin, end)[sort]
                if table is not None:
                    target += table[sort, np.where(at < 0, len(self.counts_) + c, at)]
                elif own is not None:
                    target += self._ratios(at, sort, totals[c], tokens, own[c][sort])
        return FilterScores(begin + prior, end, inside, offsets, self.max_length)

    def _boundary_numbers(self, prefix: list[str]) -> list[tuple[int, int]]:
        values = self.values_.to_list() if getattr(self, "_numbers", None) is None else None
        if values is not None:
            self._numbers = {value: number for number, value in enumerate(values)}
        return [(self._numbers[p + BEFORE], self._numbers[p + BEHIND]) for p in prefix]

    def _sort_totals(self, prefix: list[str]) -> list[NDArray[np.int64]]:
        """For every column the sums of the counts over its values, (sorts, 2), and the number of values."""
        if getattr(self, "_totals", None) is None:
            column = self._column_numbers()
            sums = [self.counts_[column == c].sum(axis=0) for c in range(len(prefix))]
            self._totals = [np.concatenate([total, [[np.sum(column == c)] * 2]]) for c, total in enumerate(sums)]
        return self._totals

    def _ratio_table(self, totals: list[NDArray[np.int64]]) -> Floats:
        """log P(f | ent) / P(f | oth) of all values, and last of a value that is not known in every column."""
        if getattr(self, "_table", None) is None:
            column = np.concatenate([self._column_numbers(), np.arange(len(totals))])
            counts = np.concatenate([self.counts_, np.zeros((len(totals), len(SORTS), 2), np.int64)]).astype(float)
            sums = np.array(totals, np.float64)[column]  # (values, sorts + 1, 2)
            a = self.smoothing
            room = a * sums[:, -1:, 0]
            entity = (counts[:, :, 0] + a) / (sums[:, :-1, 0] + room)
            other = (counts[:, :, 1] - counts[:, :, 0] + a) / (sums[:, :-1, 1] - sums[:, :-1, 0] + room)
            self._table = np.ascontiguousarray((np.log(entity) - np.log(other)).T)
        table: Floats = self._table
        return table

    def _column_numbers(self) -> Ints:
        return np.array([int(value.partition(":")[0]) for value in self.values_.to_list()], np.int64)

    def _ratios(self, at: Ints, sort: int, totals: Any, tokens: FilterTokens, own: Any) -> Floats:
        """The same of the value at every token, without what its sentence itself added (`own`)."""
        counted = at >= 0
        entity = np.where(counted, self.counts_[np.maximum(at, 0), sort, 0], 0).astype(float)
        every = np.where(counted, self.counts_[np.maximum(at, 0), sort, 1], 0).astype(float)
        entity_total, every_total, values = totals[sort, 0], totals[sort, 1], totals[-1, 0]
        # for each value in the sentence
        positions, mine, all_mine = own
        sentence = tokens.sentence_of(len(positions))
        entity_total = entity_total - np.bincount(sentence, mine, minlength=len(tokens.offsets) - 1)[tokens.sentence]
        every_total = every_total - np.bincount(sentence, all_mine, minlength=len(tokens.offsets) - 1)[tokens.sentence]
        size = len(self.counts_)
        keys, inverse = np.unique(sentence * size + positions, return_inverse=True)
        sums, all_sums = np.bincount(inverse, mine), np.bincount(inverse, all_mine)
        where = np.searchsorted(keys, tokens.sentence * size + at)
        where = np.minimum(where, len(keys) - 1)
        there = keys[where] == tokens.sentence * size + at
        entity -= np.where(there, sums[where], 0)
        every -= np.where(there, all_sums[where], 0)
        a = self.smoothing
        other, other_total = every - entity, every_total - entity_total
        ratio: Floats = np.log((entity + a) / (entity_total + a * values)) - np.log(
            (other + a) / (other_total + a * values)
        )
        return ratio

    def _chosen(self, scores: FilterScores, tokens: FilterTokens) -> Candidates:
        keep = scores.table >= self.threshold_
        if self.threshold_ == -np.inf:
            keep = scores.table > -np.inf
        if self.word_list is not None:
            keep |= self._listed(tokens)
        single = keep[:, 0].astype(np.uint8)
        _rows, columns = np.nonzero(keep[:, 1:])
        starts = np.concatenate([[0], np.cumsum(keep[:, 1:].sum(axis=1))]).astype(np.int64)
        return Candidates(tokens.offsets, single, starts, (columns + 2).astype(np.int32))

    def _listed(self, tokens: FilterTokens) -> NDArray[np.bool_]:
        """Candidates that are in the word list."""
        keep = np.zeros((len(tokens.sentence), self.max_length), bool)
        entries: dict[str, set[str]] = {}
        for entry in self.word_list or ():
            text = " ".join(normalized(entry).split())
            entries.setdefault(text.partition(" ")[0], set()).add(text)
        words = tokens.words()
        room = room_of(tokens.offsets).tolist()
        for t, word in enumerate(words):
            for entry in entries.get(word, ()):
                length = entry.count(" ") + 1
                if length <= min(room[t], self.max_length) and " ".join(words[t : t + length]) == entry:
                    keep[t, length - 1] = True
        return keep

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _MADE}

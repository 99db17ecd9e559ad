"""Which stretches of tokens may be a segment at all: a counting naive Bayes filter, and the list of those it keeps.

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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import extract
from textmill.arrays import Floats, Ints
from textmill.corpus import Sentence, Span, spans_of
from textmill.errors import DataError
from textmill.model import Estimator, Model, StringTable, check_fitted, check_range
from textmill.sequence.segment_patterns import normalized, shape_of

__all__ = ["CandidateFilter", "Candidates", "FilterAudit", "LostSpan", "all_candidates", "gold_spans"]

_SORTS = ("first", "last", "inside", "before", "behind")
_MADE = ("_numbers", "_totals", "_table")  # of a filter's counts, when they are first asked for
_BEFORE, _BEHIND = "\x02", "\x03"  # beyond the ends of a sentence


@dataclass(frozen=True, slots=True)
class Candidates:
    """Stretches of tokens that may be segments: single tokens by a flag, longer ones by first token and length.

    >>> kept = all_candidates(np.array([0, 3]), 2)
    >>> kept.count, kept.spans(0)
    (5, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])
    """

    offsets: Ints  # [S + 1] tokens of a sentence
    single: NDArray[np.uint8]  # [T]
    starts: Ints  # [T + 1] longer candidates that begin at a token
    lengths: NDArray[np.int32]  # [candidates], rising for one token

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return int(self.offsets[-1])

    @property
    def count(self) -> int:
        """Number of candidates."""
        return int(self.single.sum()) + len(self.lengths)

    def begins(self) -> Ints:
        """The first token of every longer candidate, counted over all sentences."""
        return np.repeat(np.arange(self.tokens, dtype=np.int64), np.diff(self.starts))

    def spans(self, sentence: int) -> list[tuple[int, int]]:
        """The candidates of a sentence as (first token, one past the last), in order."""
        begin, end = int(self.offsets[sentence]), int(self.offsets[sentence + 1])
        spans = [(t - begin, t - begin + 1) for t in range(begin, end) if self.single[t]]
        for t in range(begin, end):
            lengths = self.lengths[self.starts[t] : self.starts[t + 1]].tolist()
            spans += [(t - begin, t - begin + length) for length in lengths]
        return sorted(spans)

    def with_spans(self, begins: Ints, lengths: NDArray[Any]) -> Candidates:
        """The same with these stretches (first token over all sentences, length) among them."""
        single = self.single.copy()
        single[begins[lengths == 1]] = 1
        more = lengths > 1
        keys = np.concatenate([self.begins() << 32 | self.lengths, begins[more] << 32 | lengths[more].astype(np.int64)])
        keys = np.unique(keys)
        return _from_keys(self.offsets, single, keys)

    def contains(self, begins: Ints, lengths: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these stretches are among the candidates."""
        keys = self.begins() << 32 | self.lengths  # rising
        wanted = begins << 32 | lengths.astype(np.int64)
        at = np.searchsorted(keys, wanted)
        there = at < len(keys)
        there[there] = keys[at[there]] == wanted[there]
        return np.where(lengths == 1, self.single[begins].astype(bool), there)


def _from_keys(offsets: Ints, single: NDArray[np.uint8], keys: Ints) -> Candidates:
    tokens = int(offsets[-1])
    starts = np.searchsorted(keys, np.arange(tokens + 1, dtype=np.int64) << 32)
    return Candidates(offsets, single, starts.astype(np.int64), (keys & 0xFFFFFFFF).astype(np.int32))


def all_candidates(offsets: Ints, max_length: int) -> Candidates:
    """Every stretch of at most `max_length` tokens.

    >>> all_candidates(np.array([0, 25]), 10).count, all_candidates(np.array([0, 5]), 10).count
    (205, 15)
    """
    room = _room(offsets)
    counts = np.minimum(room, max_length) - 1
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    lengths = np.arange(int(starts[-1]), dtype=np.int64) - np.repeat(starts[:-1], counts) + 2
    return Candidates(offsets, np.ones(len(room), np.uint8), starts, lengths.astype(np.int32))


def _room(offsets: Ints) -> Ints:
    """For every token how many there are from it to the end of its sentence."""
    ends: Ints = np.repeat(offsets[1:], np.diff(offsets))
    return ends - np.arange(int(offsets[-1]))


def gold_spans(y: Iterable[Sequence[str]], scheme: str = "IOB2") -> list[list[Span]]:
    """The labelled spans of sequences of tags; an ill-formed sequence is a DataError that names it.

    >>> gold_spans([["B-X", "I-X", "O"]])
    [[(0, 2, 'X')]]
    """
    spans = []
    for number, tags in enumerate(y, 1):
        try:
            spans.append(spans_of(list(tags), scheme))
        except DataError as error:
            raise DataError(f"sequence {number}, {error}") from None
    return spans


class LostSpan(NamedTuple):
    """A gold span that a filter drops: where, which label, its words, its logit; NaN: longer than the maximum."""

    sequence: int
    begin: int
    end: int
    label: str
    text: str
    logit: float


class FilterAudit(NamedTuple):
    """What a filter does to labelled sequences.

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
        """Count the values of labelled spans and of all candidates, and choose the threshold."""
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
        tokens = _Tokens(X, self._columns(X), self.spelling)
        self.width_ = tokens.width
        begins, lengths = _flat_spans(gold_spans(y), tokens.offsets)
        fits = lengths <= self.max_length
        begins, lengths = begins[fits], lengths[fits]
        if not len(begins):
            raise DataError("there are no labelled spans to learn from; pass tags such as B-PER")
        tables = [tokens.number(c) for c in range(tokens.count)]
        self.values_ = StringTable([f"{c}:{value}" for c, (_, names) in enumerate(tables) for value in names])
        shift = np.cumsum([0] + [len(names) for _, names in tables])
        ids = [table + before for (table, _), before in zip(tables, shift, strict=False)]
        each = [
            _count(part, int(base), tokens.offsets, self.max_length, begins, lengths)
            for part, base in zip(ids, shift, strict=False)
        ]
        counts = np.zeros((int(shift[-1]), len(_SORTS), 2), np.int64)
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
        """What the filter does to labelled sequences: shares kept, and every gold span that is lost."""
        check_fitted(self)
        X = list(X)
        scores, tokens = self._scored(X)
        spans = gold_spans(y)
        begins, lengths = _flat_spans(spans, tokens.offsets)
        chosen = self._chosen(scores, tokens)
        inside = chosen.contains(begins, lengths)
        flat = [(s, span) for s, some in enumerate(spans) for span in some]
        lost = []
        for i in np.flatnonzero(~inside).tolist():
            s, (begin, end, label) = flat[i]
            words = " ".join(_words(X[s])[begin:end])
            long = end - begin > self.max_length
            logit = np.nan if long else float(scores.table[begins[i], lengths[i] - 1])
            lost.append(LostSpan(s, begin, end, label, words, logit))
        total = all_candidates(tokens.offsets, self.max_length).count
        return FilterAudit(chosen.count, total, int(inside.sum()), len(flat), lost)

    def curve(self, X: Iterable[Any], y: Iterable[Sequence[str]], *, points: int = 50) -> NDArray[np.float64]:
        """Thresholds, shares of the candidates kept and of the gold spans (those not too long) kept, (points, 3)."""
        check_fitted(self)
        check_range("points", points, at_least=2, whole=True)
        scores, tokens = self._scored(list(X))
        begins, lengths = _flat_spans(gold_spans(y), tokens.offsets)
        fits = lengths <= self.max_length
        gold = np.sort(scores.at(begins[fits], lengths[fits]))
        every = np.sort(scores.table[scores.table > -np.inf])
        if not len(gold):
            raise DataError("there are no labelled spans; pass tags such as B-PER")
        ranks = np.unique(np.geomspace(1, len(gold), points).astype(int)) - 1
        levels = gold[ranks]
        shares = 1 - np.searchsorted(every, levels) / max(1, len(every))
        recall = 1 - np.searchsorted(gold, levels) / len(gold)
        return np.column_stack([levels, shares, recall])

    def check_values(self) -> None:
        """Check what the layout cannot say of a filter from a file."""
        from textmill.errors import ModelFileError

        if self.counts_.shape[1:] != (len(_SORTS), 2) or self.totals_.shape != (2,):
            raise ModelFileError("the counts have other sorts of tests")
        if (self.counts_ < 0).any() or (self.counts_[..., 0] > self.counts_[..., 1]).any():
            raise ModelFileError("a count is negative, or of more entities than candidates")
        if not 0 <= self.totals_[0] <= self.totals_[1] or np.isnan(self.threshold_):
            raise ModelFileError("the totals or the threshold make no sense")

    def _columns(self, X: list[Any]) -> list[int]:
        first = next((s for s in X if len(s)), None)
        width = 1 if first is None else _width(first)
        columns = range(width) if self.columns is None else self.columns
        for column in columns:
            if not 0 <= column < width:
                raise DataError(f"columns has {column}, but tokens have columns 0 to {width - 1}")
        return list(columns)

    def _scored(self, X: list[Any]) -> tuple[_Scores, _Tokens]:
        if getattr(self, "_numbers", None) is None:
            self._numbers = {value: number for number, value in enumerate(self.values_.to_list())}
        columns = list(range(self.width_)) if self.columns is None else list(self.columns)
        tokens = _Tokens(X, columns, self.spelling)
        ids = [tokens.look_up(c, self._numbers) for c in range(tokens.count)]
        return self._scores(tokens, ids, None, None), tokens

    def _scores(self, tokens: _Tokens, ids: list[Ints], own: list[Any] | None, spans: Ints | None) -> _Scores:
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
        return _Scores(begin + prior, end, inside, offsets, self.max_length)

    def _boundary_numbers(self, prefix: list[str]) -> list[tuple[int, int]]:
        values = self.values_.to_list() if getattr(self, "_numbers", None) is None else None
        if values is not None:
            self._numbers = {value: number for number, value in enumerate(values)}
        return [(self._numbers[p + _BEFORE], self._numbers[p + _BEHIND]) for p in prefix]

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
            counts = np.concatenate([self.counts_, np.zeros((len(totals), len(_SORTS), 2), np.int64)]).astype(float)
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

    def _ratios(self, at: Ints, sort: int, totals: Any, tokens: _Tokens, own: Any) -> Floats:
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

    def _chosen(self, scores: _Scores, tokens: _Tokens) -> Candidates:
        keep = scores.table >= self.threshold_
        if self.threshold_ == -np.inf:
            keep = scores.table > -np.inf
        if self.word_list is not None:
            keep |= self._listed(tokens)
        single = keep[:, 0].astype(np.uint8)
        _rows, columns = np.nonzero(keep[:, 1:])
        starts = np.concatenate([[0], np.cumsum(keep[:, 1:].sum(axis=1))]).astype(np.int64)
        return Candidates(tokens.offsets, single, starts, (columns + 2).astype(np.int32))

    def _listed(self, tokens: _Tokens) -> NDArray[np.bool_]:
        """Candidates that are in the word list."""
        keep = np.zeros((len(tokens.sentence), self.max_length), bool)
        entries: dict[str, set[str]] = {}
        for entry in self.word_list or ():
            text = " ".join(normalized(entry).split())
            entries.setdefault(text.partition(" ")[0], set()).add(text)
        words = tokens.words()
        room = _room(tokens.offsets).tolist()
        for t, word in enumerate(words):
            for entry in entries.get(word, ()):
                length = entry.count(" ") + 1
                if length <= min(room[t], self.max_length) and " ".join(words[t : t + length]) == entry:
                    keep[t, length - 1] = True
        return keep

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _MADE}


class _Tokens:
    """Sequences as columns of values, those derived from spelling included; all by their distinct values."""

    def __init__(self, X: list[Any], columns: list[int], spelling: bool) -> None:
        cells = extract.Cells(columns)
        for sequence in X:
            if isinstance(sequence, Sentence):
                cells.add_columns(sequence.columns)
            else:
                cells.add_rows(sequence if isinstance(sequence, list | tuple) else list(sequence))
        cells.finish(1)
        self.offsets: Ints = cells.offsets()
        self.sentence = np.repeat(np.arange(len(X)), np.diff(self.offsets))
        first = next((s for s in X if len(s)), None)
        self.width = 1 if first is None else _width(first)
        self.sequences = X
        self.columns = [(cells.ids(slot), cells.distinct(slot)) for slot in range(len(columns))]
        self.parts: list[tuple[int, Callable[[str], str] | None]] = []  # slot and function
        for slot, column in enumerate(columns):
            self.parts.append((slot, None))
            if column == 0 and spelling:
                self.parts += [(slot, _ending), (slot, shape_of), (slot, normalized)]

    @property
    def count(self) -> int:
        return len(self.parts)

    def words(self) -> list[str]:
        """The normalized words of all sequences."""
        return [normalized(word) for sequence in self.sequences for word in _words(sequence)]

    def sentence_of(self, entries: int) -> Ints:
        """The sentence of every entry of a count: tokens, then, where there are more, a boundary for each sentence."""
        if entries == len(self.sentence):
            return self.sentence
        return np.concatenate([self.sentence, np.arange(len(self.offsets) - 1)])

    def number(self, part: int) -> tuple[Ints, list[str]]:
        """Numbers of the values of a part, and the values; the first two are the boundaries."""
        ids, texts = self._texts(part)
        numbers: dict[str, int] = {_BEFORE: 0, _BEHIND: 1}
        through = np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)
        return through[ids], list(numbers)

    def look_up(self, part: int, numbers: dict[str, int]) -> Ints:
        """Numbers of the values of a part among those that are known, -1 for the others."""
        ids, texts = self._texts(part)
        through: Ints = np.array([numbers.get(f"{part}:{text}", -1) for text in texts], np.int64)
        return through[ids]

    def _texts(self, part: int) -> tuple[NDArray[np.int32], list[str]]:
        """For every token the number of its value, and what the function of a part makes of each value."""
        slot, function = self.parts[part]
        ids, distinct = self.columns[slot]
        return ids, distinct if function is None else list(map(function, distinct))


class _Scores:
    """Logits of all candidates, (tokens, longest): row t, column l - 1; -inf beyond the end of the sentence."""

    def __init__(self, begin: Floats, end: Floats, inside: Floats, offsets: Ints, longest: int) -> None:
        T = len(begin)
        running = np.concatenate([[0.0], np.cumsum(inside)])
        room = _room(offsets)
        self.table = np.full((T, longest), -np.inf)
        for length in range(1, min(longest, int(room.max(initial=0))) + 1):
            t = np.flatnonzero(room >= length)
            self.table[t, length - 1] = begin[t] + end[t + length - 1] + running[t + length] - running[t]

    def at(self, begins: Ints, lengths: Ints) -> Floats:
        values: Floats = self.table[begins, lengths - 1]
        return values


def _count(
    ids: Ints, base: int, offsets: Ints, longest: int, begins: Ints, lengths: Ints
) -> list[tuple[Ints, Ints, Ints]]:
    """For every sort of test: values, how many entities have them there, and how many candidates.

    `base` and the number after it stand for what is before and behind a sentence.
    """
    T, sizes = len(ids), np.diff(offsets)
    room, ahead = _room(offsets), np.arange(len(ids)) - np.repeat(offsets[:-1], sizes)
    entity = np.zeros((3, T), np.int64)
    np.add.at(entity[0], begins, 1)
    np.add.at(entity[1], begins + lengths - 1, 1)
    np.add.at(entity[2], begins, 1)
    stop = np.zeros(T + 1, np.int64)
    np.add.at(stop, begins + lengths, 1)
    entity[2] = np.cumsum(entity[2]) - np.cumsum(stop[:T])
    starts, ends = np.minimum(room, longest), np.minimum(ahead + 1, longest)
    inside = np.zeros(T, np.int64)
    for back in range(longest):
        inside += np.where(ahead >= back, np.clip(longest - back, 0, room), 0)
    full = np.flatnonzero(sizes > 0)
    first, last = offsets[:-1], offsets[1:] - 1
    # before: token t stands before what begins at t + 1; behind: token t stands behind what ends at t - 1
    before_entity, behind_entity = np.zeros(T, np.int64), np.zeros(T, np.int64)
    inner = begins[ahead[begins] > 0]
    np.add.at(before_entity, inner - 1, 1)
    stops = (begins + lengths - 1)[room[begins + lengths - 1] > 1]
    np.add.at(behind_entity, stops + 1, 1)
    edge_before, edge_behind = np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.int64)
    edge_before_all, edge_behind_all = np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.int64)
    edge_before[full] = entity[0][first[full]]
    edge_behind[full] = entity[1][last[full]]
    edge_before_all[full] = starts[first[full]]
    edge_behind_all[full] = ends[last[full]]
    before_all, behind_all = np.minimum(room - 1, longest), np.minimum(ahead, longest)
    left, right = np.full(len(sizes), base), np.full(len(sizes), base + 1)
    return [
        (ids, entity[0], starts),
        (ids, entity[1], ends),
        (ids, entity[2], inside),
        (
            np.concatenate([ids, left]),
            np.concatenate([before_entity, edge_before]),
            np.concatenate([before_all, edge_before_all]),
        ),
        (
            np.concatenate([ids, right]),
            np.concatenate([behind_entity, edge_behind]),
            np.concatenate([behind_all, edge_behind_all]),
        ),
    ]


def _flat_spans(spans: list[list[Span]], offsets: Ints) -> tuple[Ints, Ints]:
    """First tokens over all sentences, and lengths."""
    if len(spans) != len(offsets) - 1:
        raise DataError(f"there are {len(offsets) - 1} sequences but {len(spans)} sequences of labels")
    rows = [
        (at + begin, end - begin) for at, some in zip(offsets.tolist(), spans, strict=False) for begin, end, _ in some
    ]
    table = np.array(rows, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _words(sequence: Any) -> list[str]:
    """The first column of a sequence."""
    return _column(sequence, 0)


def _column(sequence: Any, column: int) -> list[str]:
    if isinstance(sequence, Sentence):
        return list(sequence.columns[column])
    return [token if isinstance(token, str) else token[column] for token in sequence]


def _width(sequence: Any) -> int:
    if isinstance(sequence, Sentence):
        return len(sequence.columns)
    first = next(iter(sequence))
    return 1 if isinstance(first, str) else len(first)


def _ending(value: str) -> str:
    return value[-3:]

"""Phrases: neighboring words that belong together, such as new_york, learned from a corpus and joined in texts.

    npmi(a, b) = ln(p_ab / (p_a p_b)) / -ln p_ab                between -1 and 1; 1: neither occurs without the other
    llr(a, b)  = 2 sum_ij k_ij ln(k_ij N / (k_i. k_.j))         negative when they meet less often than by chance

with p = c / N, N the number of tokens, c_a and c_b the occurrences of two words, c_ab of one behind the other, and k
the table of both, one, the other, neither: k_11 = c_ab, k_12 = c_a - c_ab, k_21 = c_b - c_ab, k_22 the rest of N. A
pair that occurs at least `min_count` times and scores above `threshold` is a phrase. Connectors (of, the) may stand
inside a phrase (bank_of_america), never at its ends, and have no say in the score. A second pass over the documents
sees the phrases of the first as words and so learns those of up to four words, a third those of up to eight.

Texts are read from left to right, each word joined with the next one if the two are a phrase. One pass counts in
parallel and exactly, with the same bytes for any number of threads.

Cost: two look-ups per token; memory is about 50 bytes per distinct pair. References: Dunning (1993), Accurate methods
for the statistics of surprise and coincidence; Bouma (2009), Normalized (pointwise) mutual information in collocation
extraction; Mikolov et al. (2013), Distributed representations of words and phrases, section 4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native
from textmill.arrays import Floats
from textmill.corpus.chains import require_passes
from textmill.corpus.counting import Cutter, TokenizerLike, byte_count, texts_of, token_list
from textmill.corpus.tokenize import text_batches
from textmill.errors import DataError
from textmill.model import (
    Model,
    StringTable,
    Transformer,
    check_choice,
    check_fitted,
    check_range,
    effective_jobs,
)
from textmill.progress import track
from textmill.tables import Rows

__all__ = ["ENGLISH_CONNECTORS", "Phrases"]

ENGLISH_CONNECTORS = ("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with")

_THRESHOLDS = {"npmi": 0.5, "llr": 100.0}  # for `threshold` None


class Phrases(Transformer, Model):
    """Learn which neighboring words form phrases, and join them in texts or lists of tokens.

    A fitted one is a tokenizer: pass it as `tokenizer` of a `Vocabulary`, and phrases are counted as terms.

    Parameters:
        tokenizer: What cuts texts, as in `Vocabulary`; lists of tokens are taken as they are.
        scoring: Score of a pair: "npmi" (normalized pointwise mutual information) or "llr" (log-likelihood ratio).
        threshold: Score above which a pair is a phrase; None for 0.5 (npmi) or 100 (llr).
        min_count: Smallest number of occurrences of a phrase.
        passes: Number of passes over the documents: 1 for pairs, 2 for phrases of up to four words.
        connectors: Words that may stand inside a phrase only, such as `ENGLISH_CONNECTORS`.
        memory: Limit in bytes or as "512MB", beyond which the rarest pairs are forgotten; None for no limit.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        phrases_: Phrases, (P,), their words joined by `_`; those of the first pass come first.
        scores_: Scores of the two parts of each phrase, (P,).
        counts_: Occurrences of each phrase, (P,).
        levels_: Pass in which each phrase was learned, (P,), from 1.
        lost_: Pairs that occurred less often than this may have been forgotten for want of memory; 0: none.

    >>> phrases = Phrases(min_count=2).fit(["New York is large", "he left New York", "it is large here"])
    >>> phrases.phrases_.to_list(), phrases("I like New York")
    (['new_york', 'is_large'], ['i', 'like', 'new_york'])
    >>> phrases.transform([["new", "york", "new"]])
    [['new_york', 'new']]
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "phrases_": "phrase: str",
        "scores_": "phrase: float64",
        "counts_": "phrase: int64",
        "levels_": "phrase: int32",
    }
    state: ClassVar[dict[str, type]] = {"lost_": int}

    phrases_: StringTable
    scores_: Floats
    counts_: NDArray[np.int64]
    levels_: NDArray[np.int32]
    lost_: int

    def __init__(
        self,
        *,
        tokenizer: TokenizerLike = None,
        scoring: str = "npmi",
        threshold: float | None = None,
        min_count: int = 5,
        passes: int = 1,
        connectors: Collection[str] = (),
        memory: int | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.scoring = scoring
        self.threshold = threshold
        self.min_count = min_count
        self.passes = passes
        self.connectors = connectors
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(self, documents: Iterable[Any], y: object = None) -> Phrases:
        """Learn the phrases of a stream of documents, in `passes` passes."""
        self._check()
        if self.passes > 1:
            require_passes(documents, self.passes, "learning phrases of phrases")
        texts = texts_of(documents)
        names: list[str] = []
        parts: list[tuple[Floats, NDArray[np.int64]]] = []
        sizes: list[int] = []
        self.lost_ = 0
        for level in range(1, self.passes + 1):
            table = self._table(names, np.repeat(np.arange(1, level), sizes))
            counter = self._count(texts, Cutter(self.tokenizer, self.n_jobs, phrases=table), level)
            phrases, scores, counts = self._select(counter)
            names += phrases
            parts.append((scores, counts))
            sizes.append(len(phrases))
        self.phrases_ = StringTable(names)
        self.scores_ = np.concatenate([scores for scores, _ in parts])
        self.counts_ = np.concatenate([counts for _, counts in parts])
        self.levels_ = np.repeat(np.arange(1, self.passes + 1, dtype=np.int32), sizes)
        self._phrase_table = None
        return self

    def transform(self, documents: Iterable[Any]) -> list[list[str]]:
        """Return the tokens of each document with phrases joined."""
        return list(chain.from_iterable(self._tokenized(documents, self.n_jobs)))

    def tokenize(self, documents: Iterable[Any], *, n_jobs: int | None = None) -> Iterator[list[str]]:
        """Yield the tokens of each document, a text or a list of tokens, with phrases joined.

        >>> phrases = Phrases(min_count=2, threshold=0).fit([["new", "york"], ["new", "york"]])
        >>> list(phrases.tokenize(["New York!", "York"]))
        [['new_york'], ['york']]
        """
        for batch in self._tokenized(documents, n_jobs):
            yield from batch

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of one text with phrases joined."""
        return next(self.tokenize([text], n_jobs=1))

    def best(self, k: int = 10) -> Rows[tuple[str, float, int]]:
        """Return the phrases of the highest scores with score and count; ties go to the more frequent.

        >>> Phrases(min_count=1, threshold=0).fit(["a b", "c", "a b c"]).best(1)[0]
        ('a_b', 1.0, 2)
        """
        check_range("k", k, at_least=1, whole=True)
        check_fitted(self)
        order = np.lexsort((-self.counts_, -self.scores_))[:k]
        rows = ((self.phrases_[int(i)], float(self.scores_[i]), int(self.counts_[i])) for i in order)
        return Rows(rows, ("phrase", "score", "count"))

    def phrase_table(self) -> native.PhraseTable:
        """Return the phrases as the kernels want them; made when it is first needed."""
        check_fitted(self)
        if getattr(self, "_phrase_table", None) is None:
            self._phrase_table = self._table(self.phrases_.to_list(), self.levels_)
        return self._phrase_table

    def __sklearn_clone__(self) -> Phrases:
        """What was learned stays in a copy: the tokenizer of a cloned vocabulary must cut as before."""
        copy = Phrases(**self.get_params(deep=False))
        for name in (*self.layout, *self.state):
            if hasattr(self, name):
                setattr(copy, name, getattr(self, name))
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_phrase_table"}  # made again on use

    def _tokenized(self, documents: Iterable[Any], n_jobs: int | None) -> Iterator[list[list[str]]]:
        """Yield the tokens of each document with phrases joined, batch by batch."""
        check_fitted(self)
        cutter = Cutter(self, n_jobs)
        first = 0
        for batch in text_batches(texts_of(documents)):
            if isinstance(batch[0], str):
                cut, rules = cutter.cut(batch)
                yield native.tokenize(cut, rules, threads=cutter.threads, first=first)
            else:
                lists = [tokens if isinstance(tokens, list) else token_list(tokens) for tokens in batch]
                yield native.join_tokens(lists, self.phrase_table(), threads=cutter.threads, first=first)
            first += len(batch)

    def _check(self) -> None:
        check_choice("scoring", self.scoring, list(_THRESHOLDS))
        check_range("min_count", self.min_count, at_least=1, whole=True)
        check_range("passes", self.passes, at_least=1, at_most=16, whole=True)
        effective_jobs(self.n_jobs)
        if self.threshold is not None:
            most = 1 if self.scoring == "npmi" else None
            check_range("threshold", self.threshold, at_least=-1 if self.scoring == "npmi" else None, at_most=most)
        if isinstance(self.connectors, str):
            raise DataError(f"connectors must be a list of words, got the text {self.connectors!r}")
        if isinstance(self.tokenizer, Phrases):
            raise DataError("tokenizer cannot be phrases itself; for phrases of phrases pass passes=2")

    def _table(self, names: list[str], levels: NDArray[Any]) -> native.PhraseTable:
        listed: list[list[str]] = [[] for _ in range(int(levels.max(initial=0)))]
        for name, level in zip(names, levels.tolist(), strict=True):
            listed[level - 1].append(name)
        return native.PhraseTable(listed, list(self.connectors))

    def _count(self, texts: Iterable[Any], cutter: Cutter, level: int) -> native.PairCounter:
        """Count the pairs of all documents; past the limit of memory those below a rising count are forgotten."""
        limit = None if self.memory is None else byte_count(self.memory)
        counter = native.PairCounter(list(self.connectors))
        label = "counting pairs" if self.passes == 1 else f"counting pairs, pass {level} of {self.passes}"
        first, floor = 0, 1
        for batch in text_batches(track(texts, label, unit="documents")):
            cut, rules = cutter.cut(batch)
            counter.count(cut, rules, threads=cutter.threads, first=first)
            first += len(batch)
            while limit is not None and len(counter) * _PAIR_BYTES > limit:
                floor += 1
                counter.drop_below(floor)
        if first == 0:
            raise DataError("there are no documents to learn phrases from; pass at least one")
        self.lost_ = max(self.lost_, floor if floor > 1 else 0)
        return counter

    def _select(self, counter: native.PairCounter) -> tuple[list[str], Floats, NDArray[np.int64]]:
        """The pairs that are phrases, by first appearance of their words, with scores and counts."""
        first, link, second, count = counter.pairs(self.min_count)
        names, occurrences = counter.words()
        scores = _score(self.scoring, count, occurrences[first], occurrences[second], counter.tokens())
        threshold = _THRESHOLDS[self.scoring] if self.threshold is None else self.threshold
        pairs_above = np.flatnonzero(scores > threshold)
        words, links = StringTable.from_arrays(*names), StringTable.from_arrays(*counter.links())
        phrases: dict[str, int] = {}  # two pairs may be spelled alike when words hold _: the first one stands for both
        for i in pairs_above.tolist():
            between = links[int(link[i])]
            parts = [words[int(first[i])], *([between] if between else []), words[int(second[i])]]
            phrases.setdefault("_".join(parts), i)
        rows = np.array(list(phrases.values()), dtype=np.intp)
        return list(phrases), scores[rows], count[rows]


_PAIR_BYTES = 48  # a slot of the table of pairs, which is at most half full


def _score(
    scoring: str, both: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64], tokens: int
) -> Floats:
    """How strongly pairs attract each other, from their counts."""
    k, a, b, n = both.astype(float), first.astype(float), second.astype(float), float(tokens)
    if scoring == "npmi":
        return np.asarray(np.log(k * n / (a * b)) / -np.log(k / n))
    rest = np.maximum(n - a - b + k, 0.0)
    cells = [(k, a, b), (a - k, a, n - b), (b - k, n - a, b), (rest, n - a, n - b)]
    total = np.zeros(len(k))
    for cell, row, column in cells:
        full = cell > 0
        total[full] += cell[full] * np.log(cell[full] * n / np.maximum(row * column, 1e-300)[full])
    return np.asarray(2 * np.where(k * n >= a * b, total, -total))

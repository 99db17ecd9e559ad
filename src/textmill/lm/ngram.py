"""N-gram models: the probability of a word given the words before it.

    p(w_1 ... w_m) = prod_i p(w_i | w_{i-n+1} ... w_{i-1})            w_0 = <s> (start), w_{m+1} = </s> (end)

    p(w | h) = (a(h w) - D(a(h w))) / sum_x a(h x) + b(h) p(w | h')     h': h without its first word
    D_k      = k - (k + 1) Y t_{k+1} / t_k,  Y = t_1 / (t_1 + 2 t_2)    t_k: n-grams of an order with a = k; k = 1, 2, 3

Interpolated modified Kneser-Ney: a is the count at the highest order, and below it the number of different words seen
before an n-gram; D has three values for each order, exact from the counts of counts (native/lm/ngram.h says what
happens where these have holes). The shortest context is interpolated with a uniform distribution over all words, so
the unknown word <unk> has a probability, and the probabilities of all words but <s> sum to 1 in every context.

Sentences are texts, cut by `tokenizer`, or lists of tokens. Logarithms are stored to base 10, as in ARPA files.
Cost: counting sorts the tokens once for each order; a word is scored by a look-up for each order tried. Memory: 36
bytes for each distinct n-gram, 60 to 84 while words are scored. References: Kneser & Ney (1995), Improved backing-off
for m-gram language modeling; Chen & Goodman (1999), An empirical study of smoothing techniques for language modeling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native_corpus
from textmill._native import lm as native
from textmill.arrays import Floats, Ints
from textmill.cluster import tree_reduce
from textmill.corpus import Cutter, TokenizerLike, text_batches, texts_of
from textmill.errors import DataError, ModelFileError
from textmill.model import (
    Estimator,
    Model,
    RandomState,
    StringTable,
    check_choice,
    check_fitted,
    check_range,
    effective_jobs,
    seed_of,
)
from textmill.progress import track
from textmill.tables import Table

__all__ = ["BEGIN", "END", "UNKNOWN", "NGramModel", "SentenceScores"]

Tree = tuple[Ints, NDArray[np.int32], NDArray[np.int32], Ints]  # levels, last words, first children, counts

UNKNOWN, BEGIN, END = 0, 1, 2  # ids of the three words that every model has
SPECIAL = ("<unk>", "<s>", "</s>")
MOST_ORDERS = 99
UNITS = {"log10": 1.0, "bits": float(np.log2(10.0)), "nats": float(np.log(10.0))}

_TOKENS = 1 << 24  # counted together: memory while counting is some hundred bytes for each


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SentenceScores(Table):
    """What a model makes of sentences, one entry each; words include the end of the sentence.

    log_probability (log10); words; unknown, how many of them are not in the model, and what these add to the log
    probability, unknown_log_probability.

    >>> NGramModel(order=2).fit(["to be", "to do"]).scores(["to be"]).words.tolist()
    [3]
    """

    log_probability: Floats
    words: Ints
    unknown: Ints
    unknown_log_probability: Floats

    def columns(self) -> dict[str, Any]:
        """Return log10 of the probability, number of words and of unknown words of each sentence."""
        return {"log10": self.log_probability, "words": self.words, "unknown": self.unknown}

    def note(self) -> str | None:
        """Return the perplexity."""
        return f"perplexity {self.perplexity():.2f}" if self.words.sum() else None

    def per_word(self, unit: str = "bits") -> Floats:
        """Mean log probability of a word of each sentence, in "bits", "nats" or "log10".

        >>> scores = SentenceScores(np.array([-6.0]), np.array([3]), np.array([1]), np.array([-4.0]))
        >>> scores.per_word("log10").tolist(), scores.per_word().round(4).tolist()
        ([-2.0], [-6.6439])
        """
        check_choice("unit", unit, list(UNITS))
        return UNITS[unit] * self.log_probability / self.words

    def perplexity(self, *, unknown: bool = True) -> float:
        """10 to the power of minus the mean log10 probability of a word of all sentences, with or without unknown ones.

        >>> scores = SentenceScores(np.array([-6.0]), np.array([3]), np.array([1]), np.array([-4.0]))
        >>> scores.perplexity(), scores.perplexity(unknown=False)
        (100.0, 10.0)
        """
        total, words = float(self.log_probability.sum()), int(self.words.sum())
        if not unknown:
            total, words = total - float(self.unknown_log_probability.sum()), words - int(self.unknown.sum())
        if not words:
            raise DataError("there is no word to score; pass at least one sentence")
        return float(10.0 ** (-total / words))


class NGramModel(Estimator, Model):
    """Learn which words follow which; score sentences, draw new ones.

    Parameters:
        order: Length of the longest n-gram.
        min_count: Words that occur less often count as unknown.
        tokenizer: What cuts texts into words, as in `Vocabulary`.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        words_: Words by id, (V,), of which the first three are `<unk>`, `<s>` and `</s>`.
        levels_: Where the n-grams of each length begin in the tree of nodes (see native/lm/ngram.h), (order + 2,).
        last_words_: Last word of each n-gram, (nodes,).
        children_: First child of each node.
        suffixes_: Node of each n-gram without its first word, (nodes,).
        log_probability_: Log10 probability of each n-gram, (nodes,).
        log_back_off_: Log10 back-off weight of each n-gram, (nodes,).
        counts_: Count of each n-gram, (nodes,); None in a model from an ARPA file.
        discounts_: Discounts of each order, (order, 3); all 0 in a model from a file of another program.
        sentences_: Number of sentences it was fitted to.

    >>> model = NGramModel(order=2).fit(["the mill turns", "the mill stands still", "a mill turns"])
    >>> after_the = model.distribution(["the"])
    >>> round(float(after_the[model.id_of("mill")]), 4), round(float(after_the.sum()), 9)
    (0.8489, 1.0)
    >>> model.perplexity(["the mill turns"]) < model.perplexity(["turns mill the"])
    True
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "words_": "word: str",
        "levels_": "level: int64",
        "last_words_": "node: int32",
        "children_": "inner: int32",
        "suffixes_": "node: int32",
        "log_probability_": "node",
        "log_back_off_": "node",
        "counts_": "node: int64 | None",
        "discounts_": "order kind",
    }
    state: ClassVar[dict[str, type]] = {"sentences_": int}

    words_: StringTable
    levels_: Ints
    last_words_: NDArray[np.int32]
    children_: NDArray[np.int32]
    suffixes_: NDArray[np.int32]
    log_probability_: Floats
    log_back_off_: Floats
    counts_: Ints | None
    discounts_: Floats
    sentences_: int

    def __init__(
        self, *, order: int = 3, min_count: int = 1, tokenizer: TokenizerLike = None, n_jobs: int | None = None
    ) -> None:
        self.order = order
        self.min_count = min_count
        self.tokenizer = tokenizer
        self.n_jobs = n_jobs

    def fit(self, sentences: Iterable[Any], y: object = None) -> NGramModel:
        """Count the n-grams of a stream of sentences in one pass, and smooth."""
        check_range("order", self.order, at_least=1, at_most=MOST_ORDERS, whole=True)
        check_range("min_count", self.min_count, at_least=1, whole=True)
        threads = effective_jobs(self.n_jobs)
        words = native_corpus.TermTable()
        words.insert(list(SPECIAL))
        self.sentences_ = 0

        def add(left: Tree, right: Tree) -> Tree:
            names = [np.arange(int(tree[2][1]) - 1, dtype=np.int32) for tree in (left, right)]
            both: Tree = native.combine([left, right], names, words=len(words), threads=threads)
            return both

        tree = tree_reduce(add, self._trees(sentences, words, threads))
        names, offsets, *_ = words.terms_from(0)
        self.words_ = StringTable.from_arrays(names, offsets)
        if self.min_count > 1:
            tree = self._without_rare(tree, threads)
        self.levels_, self.last_words_, self.children_, self.counts_ = tree
        self.suffixes_ = native.suffixes(*tree[:3], threads=threads)
        discounts, self.log_probability_, self.log_back_off_ = native.kneser_ney(
            *tree[:3], self.suffixes_, self.counts_, begin=BEGIN, threads=threads
        )
        self.discounts_ = discounts.reshape(-1, 3)
        vars(self).pop("_made", None)
        return self

    def id_of(self, word: str) -> int:
        """Return the id of a word, that of <unk> if the model does not know it.

        >>> model = NGramModel(order=1).fit(["to be"])
        >>> model.id_of("to"), model.id_of("question")
        (3, 0)
        """
        check_fitted(self)
        return max(int(self._tables()[1].find(word)), UNKNOWN)

    def token_scores(self, sentences: Iterable[Any], *, unit: str = "log10") -> list[Floats]:
        """Return for each sentence the log probabilities of its words and, last, of its end.

        >>> [len(row) for row in NGramModel().fit(["to be or not to be"]).token_scores(["to be", ""])]
        [3, 1]
        """
        check_choice("unit", unit, list(UNITS))
        rows: list[Floats] = []
        for offsets, scores, _ in self._scored(sentences):
            rows += np.split(UNITS[unit] * scores, (offsets + np.arange(len(offsets)))[1:-1])
        return rows

    def scores(self, sentences: Iterable[Any]) -> SentenceScores:
        """Return the log probability of each sentence, and how many of its words are unknown."""
        none = np.zeros(0, dtype=np.int64)
        parts: list[tuple[NDArray[Any], ...]] = [(np.zeros(0), none, none, np.zeros(0))]
        for offsets, scores, tokens in self._scored(sentences):
            starts = offsets[:-1] + np.arange(len(offsets) - 1)
            unknown = np.zeros(len(scores), dtype=bool)
            ends = offsets[1:] + np.arange(len(offsets) - 1)
            unknown[np.delete(np.arange(len(scores)), ends)] = tokens <= UNKNOWN
            sums = [np.add.reduceat(values, starts) for values in (scores, unknown.astype(np.int64), scores * unknown)]
            parts.append((sums[0], np.diff(offsets) + 1, sums[1], sums[2]))
        return SentenceScores(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def perplexity(self, sentences: Iterable[Any], *, unknown: bool = True) -> float:
        """Return the perplexity of sentences, ends included; `unknown=False` leaves unknown words out.

        >>> model = NGramModel(order=2).fit(["to be", "to do"])
        >>> model.perplexity(["to be"]) < model.perplexity(["be to"])
        True
        """
        return self.scores(sentences).perplexity(unknown=unknown)

    def score(self, X: Iterable[Any], y: object = None) -> float:
        """Return the mean log probability (nats) of a word."""
        return -float(np.log(self.perplexity(X)))

    def distribution(self, context: Sequence[str] = (), *, start: bool = False) -> Floats:
        """Return the probability of every word after some others, at the start of a sentence or anywhere.

        >>> model = NGramModel(order=2).fit(["to be", "to do"])
        >>> p = model.distribution(start=True)
        >>> model.words_[int(p.argmax())]
        'to'
        """
        probabilities: Floats = self._tables()[0].distribution(self._ids(context), from_start=start)
        return probabilities

    def sample(
        self,
        sentences: int = 1,
        *,
        longest: int = 1000,
        context: Sequence[str] = (),
        unknown: bool = False,
        random_state: RandomState = 0,
        first: int = 0,
    ) -> list[list[str]]:
        """Draw sentences, exactly from the smoothed distribution, each until its end or its `longest` word.

        Sentence i depends on `random_state` and `first` + i only. They go on after `context`, which is not repeated.
        Unless `unknown`, they are drawn on condition that no word is <unk>.

        >>> model = NGramModel(order=3).fit(["the mill turns", "the mill stands still", "a mill turns"])
        >>> model.sample(5, random_state=7)[2:] == model.sample(3, random_state=7, first=2)
        True
        """
        check_range("sentences", sentences, at_least=0, whole=True)
        check_range("longest", longest, at_least=0, whole=True)
        check_range("first", first, at_least=0, below=2**64, whole=True)
        offsets, ids = self._tables()[0].sample(
            self._ids(context),
            from_start=True,
            sentences=sentences,
            longest=longest,
            unknown=unknown,
            seed=seed_of(random_state),
            first_sentence=first,
            threads=effective_jobs(self.n_jobs),
        )
        words = self._tables()[2]
        bounds, drawn = offsets.tolist(), ids.tolist()
        return [[words[i] for i in drawn[begin:end]] for begin, end in pairwise(bounds)]

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        if self.words_.to_list()[:3] != list(SPECIAL) or self.discounts_.shape[1] != 3:
            raise ModelFileError("the first words must be <unk>, <s> and </s>, discounts three for each order")
        try:
            table = self._table()
            words = native_corpus.TermTable(self.words_.bytes, self.words_.offsets, effective_jobs(None))
        except ValueError as error:
            raise ModelFileError(str(error)) from None
        if int(self.children_[1]) - 1 != len(words) or len(self.discounts_) != len(self.levels_) - 2:
            raise ModelFileError("numbers of words, orders and n-grams do not belong together")
        self._made = (table, words, self.words_.to_list())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_made"}  # made again on use

    def _table(self) -> native.Table:
        arrays = (self.levels_, self.last_words_, self.children_, self.suffixes_)
        return native.Table(*arrays, self.log_probability_, self.log_back_off_, unknown=UNKNOWN, begin=BEGIN, end=END)

    def _tables(self) -> tuple[native.Table, native_corpus.TermTable, list[str]]:
        """The native model, the words by name, and the words by id."""
        check_fitted(self)
        if "_made" not in vars(self):
            self.check_values()
        return self._made

    def _ids(self, words: Sequence[str]) -> NDArray[np.int32]:
        if isinstance(words, str):
            raise DataError(f"context must be a list of words, got the text {words!r}; pass {words.split()!r}")
        return np.array([self.id_of(word) for word in words], dtype=np.int32)

    def _sequences(self, sentences: Iterable[Any], words: native_corpus.TermTable, grow: bool) -> Iterator[Any]:
        """Batches of sentences as offsets and ids of words."""
        cutter = Cutter(self.tokenizer, self.n_jobs)
        first = 0
        for batch in text_batches(track(texts_of(sentences), "reading sentences", unit="sentences")):
            offsets, ids = cutter.sequences(batch, first, words, grow=grow)
            symbols = (ids == BEGIN) | (ids == END)
            if symbols.any():
                place = int(np.searchsorted(offsets, int(symbols.argmax()), side="right")) - 1
                symbol = SPECIAL[int(ids[symbols.argmax()])]
                raise DataError(f"sentence {first + place} holds the word '{symbol}', its start or end; take it out")
            first += len(batch)
            yield offsets, ids

    def _trees(self, sentences: Iterable[Any], words: native_corpus.TermTable, threads: int) -> Iterator[Tree]:
        """The counts of stretches of the stream."""
        held: list[tuple[Ints, NDArray[np.int32]]] = []

        def counted() -> Tree:
            lengths = np.concatenate([np.diff(offsets) for offsets, _ in held])
            tokens = np.concatenate([ids for _, ids in held])
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
            tree: Tree = native.count(
                offsets, tokens, order=self.order, words=len(words), begin=BEGIN, end=END, threads=threads
            )
            held.clear()
            return tree

        for offsets, ids in self._sequences(sentences, words, grow=True):
            self.sentences_ += len(offsets) - 1
            held.append((offsets, ids))
            if sum(len(ids) for _, ids in held) >= _TOKENS:
                yield counted()
        if not self.sentences_:
            raise DataError("there are no sentences to count; pass at least one")
        if held:
            yield counted()

    def _without_rare(self, tree: Tree, threads: int) -> Tree:
        """The tree in which words of fewer than `min_count` occurrences are <unk>."""
        occurrences = tree[3][1 : 1 + len(self.words_)]
        frequent = occurrences >= self.min_count
        frequent[: len(SPECIAL)] = True
        rename = np.where(frequent, np.cumsum(frequent) - 1, UNKNOWN).astype(np.int32)
        self.words_ = self.words_.take(np.flatnonzero(frequent))
        smaller: Tree = native.combine([tree], [rename], words=len(self.words_), threads=threads)
        return smaller

    def _scored(self, sentences: Iterable[Any]) -> Iterator[tuple[Ints, Floats, NDArray[np.int32]]]:
        """Batches: offsets, log10 p of all words and ends, ids of the words."""
        table, words, _ = self._tables()
        threads = effective_jobs(self.n_jobs)
        for offsets, ids in self._sequences(sentences, words, grow=False):
            scores, _ = table.score(offsets, ids, with_end=True, orders=False, threads=threads)
            yield offsets, scores, ids

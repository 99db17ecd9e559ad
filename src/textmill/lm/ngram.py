"""N-gram models: the probability of a word given the words before it.

    p(w_1 ... w_m) = prod_i p(w_i | w_{i-n+1} ... w_{i-1})            w_0 = <s> (start), w_{m+1} = </s> (end)

    p(w | h) = (a(h w) - D(a(h w))) / sum_x a(h x) + b(h) p(w | h')     h': h without its first word
    D_k      = k - (k + 1) Y t_{k+1} / t_k,  Y = t_1 / (t_1 + 2 t_2)    t_k: n-grams of an order with a = k; k = 1, 2, 3

Interpolated modified Kneser-Ney, the default: a is the count at the highest order, and below it the number of different
words seen before an n-gram; D has three values for each order, exact from the counts of counts. `smoothing.py` has six
other ways, and says what happens where counts of counts have holes. The shortest context stands on a uniform
distribution over all words, so the unknown word <unk> has a probability, and the probabilities of all words but <s> sum
to 1 in every context.

Sentences are texts, cut by `tokenizer`, or lists of tokens. Logarithms are stored to base 10, as in ARPA files.
Cost: counting sorts the tokens once for each order; a word is scored by a look-up for each order tried. Memory: 36
bytes for each distinct n-gram, 60 to 84 while words are scored; a model of `quantize` 10 to 16, also while words are
scored. References: Kneser & Ney (1995), Improved backing-off for m-gram language modeling; Chen & Goodman (1999), An
empirical study of smoothing techniques for language modeling.
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
from textmill.corpus import Sentences, TokenizerLike
from textmill.errors import DataError, ModelFileError, reason_of
from textmill.lm.counting import BEGIN, END, SPECIAL, UNKNOWN, Room, Tree, counted, sequences
from textmill.lm.smoothing import Rules, smooth
from textmill.model import (
    Estimator,
    Model,
    RandomState,
    Saved,
    StringTable,
    check_choice,
    check_fitted,
    check_range,
    effective_jobs,
    seed_of,
)
from textmill.tables import Table

__all__ = ["NGramModel", "SentenceScores"]

MOST_ORDERS = 99
UNITS = {"log10": 1.0, "bits": float(np.log2(10.0)), "nats": float(np.log(10.0))}


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

    @classmethod
    def of(cls, offsets: Ints, scores: Floats, unknown: NDArray[np.bool_]) -> SentenceScores:
        """Add up the log probabilities of words and ends; `unknown` is of the words alone.

        >>> SentenceScores.of(np.array([0, 1]), np.array([-2.0, -1.0]), np.array([True])).log_probability.tolist()
        [-3.0]
        """
        if len(offsets) == 1:
            return cls.joined([])
        numbers = np.arange(len(offsets) - 1)
        ends = offsets[1:] + numbers
        flags = np.zeros(len(scores), dtype=bool)
        words = np.ones(len(scores), dtype=bool)
        words[ends] = False
        flags[words] = unknown
        starts = offsets[:-1] + numbers
        sums = [np.add.reduceat(values, starts) for values in (scores, flags.astype(np.int64), scores * flags)]
        return cls(sums[0], np.diff(offsets) + 1, sums[1], sums[2])

    @classmethod
    def joined(cls, parts: Sequence[SentenceScores]) -> SentenceScores:
        """Return the entries of several, one behind the other.

        >>> SentenceScores.joined([]).words.tolist()
        []
        """
        none = np.zeros(0, dtype=np.int64)
        rows: list[tuple[NDArray[Any], ...]] = [(np.zeros(0), none, none, np.zeros(0))]
        rows += [(p.log_probability, p.words, p.unknown, p.unknown_log_probability) for p in parts]
        return cls(*(np.concatenate(arrays) for arrays in zip(*rows, strict=True)))

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
        with np.errstate(over="ignore"):
            return float(np.power(10.0, -total / words))


class NGramModel(Estimator, Model):
    """Learn which words follow which; score sentences, draw new ones.

    Parameters:
        order: Length of the longest n-gram.
        smoothing: modified-kneser-ney, kneser-ney, katz, good-turing, witten-bell, absolute or jelinek-mercer; see
            `smoothing.py` and the tutorial "Which smoothing".
        min_count: Words that occur less often count as unknown.
        min_counts: N-grams that occur less often have no probability of their own: a number, or one for each order, the
            last of which holds for longer n-grams; they must not fall.
        katz_limit: Counts up to this one are discounted by `smoothing="katz"`, at most 7; a number, or one for each
            order. 0 and 1 leave all counts as they are.
        tokenizer: What cuts texts into words, as in `Vocabulary`.
        memory: Count within this much memory, such as "512MB", by way of temporary files; the model is the same, and
        lies
            in mapped files until it is saved.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        words_: Words by id, (V,), of which the first three are `<unk>`, `<s>` and `</s>`.
        levels_: Where the n-grams of each length begin in the tree of nodes (see native/lm/ngram.h), (order + 2,).
        last_words_: Last word of each n-gram, (nodes,).
        children_: First child of each node.
        suffixes_: Node of each n-gram without its first word, (nodes,).
        log_probability_: Log10 probability of each n-gram, (nodes,); None in a model of `quantize`.
        log_back_off_: Log10 back-off weight of each n-gram, (nodes,); None in a model of `quantize`.
        counts_: Count of each n-gram, (nodes,); None in a model from an ARPA file, or one that was mixed or quantized.
        discounts_: Discounts of each order, (order, 3) for modified Kneser-Ney, one or eight for others; for
            Jelinek-Mercer the weights of shorter contexts, by the binary logarithm of a context's count.
        fall_backs_: What was done in place of the formula, a line for each order whose counts of counts have holes.
        sentences_: Number of sentences it was fitted to.
        by_line_: Whether these were taken as they came, such as lines, and not cut from texts by `corpus.Sentences`; so
            are the texts that the commands of `textmill lm` score.
        probability_codes_, back_off_codes_: Of a model of `quantize`: codes of each n-gram, packed.
        books_: Of such a model: the values that codes of probabilities and of back-off weights stand for, (2, 2^bits).

    >>> model = NGramModel(order=2).fit(["the mill turns", "the mill stands still", "a mill turns"])
    >>> after_the = model.distribution(["the"])
    >>> round(float(after_the[model.id_of("mill")]), 4), round(float(after_the.sum()), 9)
    (0.8489, 1.0)
    >>> model.perplexity(["the mill turns"]) < model.perplexity(["turns mill the"])
    True
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 3
    layout: ClassVar[dict[str, str]] = {
        "words_": "word: str",
        "levels_": "level: int64",
        "last_words_": "node: int32",
        "children_": "inner: int32",
        "suffixes_": "node: int32",
        "log_probability_": "node: float64 | None",
        "log_back_off_": "node: float64 | None",
        "counts_": "node: int64 | None",
        "discounts_": "order kind",
        "probability_codes_": "probability_byte: uint8 | None",
        "back_off_codes_": "back_off_byte: uint8 | None",
        "books_": "number value: float64 | None",
    }
    state: ClassVar[dict[str, type]] = {"sentences_": int, "fall_backs_": list, "by_line_": bool}

    words_: StringTable
    levels_: Ints
    last_words_: NDArray[np.int32]
    children_: NDArray[np.int32]
    suffixes_: NDArray[np.int32]
    log_probability_: Floats | None
    log_back_off_: Floats | None
    counts_: Ints | None
    discounts_: Floats
    probability_codes_: NDArray[np.uint8] | None
    back_off_codes_: NDArray[np.uint8] | None
    books_: Floats | None
    sentences_: int
    fall_backs_: list[str]
    by_line_: bool

    def __init__(
        self,
        *,
        order: int = 3,
        smoothing: str = "modified-kneser-ney",
        min_count: int = 1,
        min_counts: int | Sequence[int] = 1,
        katz_limit: int | Sequence[int] = 7,
        tokenizer: TokenizerLike = None,
        memory: int | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.order = order
        self.smoothing = smoothing
        self.min_count = min_count
        self.min_counts = min_counts
        self.katz_limit = katz_limit
        self.tokenizer = tokenizer
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(
        self,
        sentences: Iterable[Any],
        y: object = None,
        *,
        vocabulary: Iterable[str] | None = None,
        cluster: Any = None,
    ) -> NGramModel:
        """Count the n-grams of a stream of sentences in one pass, and smooth.

        Words that are not in `vocabulary`, if it is given, are unknown. `cluster`, the address of a Dask scheduler or a
        client, lets its workers count pieces of the stream, which they read themselves when it is from
        `read_documents`, or `Sentences` of that; the model has the same bytes.
        """
        rules = self.rules()
        words, tree, self.sentences_ = self.counted(sentences, vocabulary=vocabulary, cluster=cluster)
        threads = effective_jobs(self.n_jobs)
        room = Room(on_disk=self.memory is not None)
        nodes = len(tree[1])
        suffixes = room.array(np.int32, nodes)
        native.suffixes(*tree[:3], suffixes, threads=threads)
        probability, back_off = room.array(np.float64, nodes), room.array(np.float64, nodes)
        scratch = room.array(np.int64, nodes if rules.continues else 0)
        smoothed = smooth(rules, tree, suffixes, probability, back_off, scratch, begin=BEGIN, threads=threads)
        self.words_, self.discounts_, self.fall_backs_ = words, smoothed.discounts, smoothed.fall_backs
        self.by_line_ = not isinstance(sentences, Sentences)
        self.levels_, self.last_words_, self.children_, self.counts_ = tree
        self.suffixes_, self.log_probability_, self.log_back_off_ = suffixes, probability, back_off
        self.probability_codes_ = self.back_off_codes_ = self.books_ = None
        if max(rules.min_counts[1:], default=1) > 1:
            self._take(self.counts_ >= np.repeat([1, 1, *rules.min_counts[1:]], np.diff(self.levels_)))
        vars(self).pop("_made", None)
        return self

    def rules(self) -> Rules:
        """Return the parameters that smoothing goes by, checked."""
        check_range("order", self.order, at_least=1, at_most=MOST_ORDERS, whole=True)
        check_range("min_count", self.min_count, at_least=1, whole=True)
        return Rules.of(self.order, self.smoothing, self.min_counts, self.katz_limit)

    def counted(
        self, sentences: Iterable[Any], *, vocabulary: Iterable[str] | None = None, cluster: Any = None
    ) -> tuple[StringTable, Tree, int]:
        """Return the words, the tree of all n-grams with their counts, and the number of sentences; fits nothing."""
        words, tree, total = counted(
            sentences,
            order=self.order,
            tokenizer=self.tokenizer,
            vocabulary=vocabulary,
            memory=self.memory,
            n_jobs=self.n_jobs,
            cluster=cluster,
        )
        if self.min_count == 1 or vocabulary is not None:
            return words, tree, total
        frequent = tree[3][1 : 1 + len(words)] >= self.min_count  # others are <unk>
        frequent[: len(SPECIAL)] = True
        rename = np.where(frequent, np.cumsum(frequent) - 1, UNKNOWN).astype(np.int32)
        words = words.take(np.flatnonzero(frequent))
        smaller: Tree = native.combine([tree], [rename], words=len(words), threads=effective_jobs(self.n_jobs))
        return words, smaller, total

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
        parts = [
            SentenceScores.of(offsets, scores, tokens <= UNKNOWN) for offsets, scores, tokens in self._scored(sentences)
        ]
        return SentenceScores.joined(parts)

    def scores_of_ids(self, offsets: Ints, ids: NDArray[np.int32]) -> SentenceScores:
        """Return the same for sentences whose words are ids: sentence i is ids[offsets[i]:offsets[i + 1]].

        For those who score the same sentences often, or have ids anyway; an id below 1 is an unknown word.

        >>> model = NGramModel(order=2).fit(["to be", "to do"])
        >>> ids = np.array([model.id_of(word) for word in ["to", "be"]], dtype=np.int32)
        >>> model.scores_of_ids(np.array([0, 2]), ids).log_probability == model.scores(["to be"]).log_probability
        array([ True])
        """
        threads = effective_jobs(self.n_jobs)
        scores, _ = self._tables()[0].score(offsets, ids, with_end=True, orders=False, threads=threads)
        return SentenceScores.of(offsets, scores, ids <= UNKNOWN)

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
        offsets, ids = self.sample_ids(
            sentences, longest=longest, context=context, unknown=unknown, random_state=random_state, first=first
        )
        words = self._tables()[2]
        bounds, drawn = offsets.tolist(), ids.tolist()
        return [[words[i] for i in drawn[begin:end]] for begin, end in pairwise(bounds)]

    def sample_ids(
        self,
        sentences: int = 1,
        *,
        longest: int = 1000,
        context: Sequence[str] = (),
        unknown: bool = False,
        random_state: RandomState = 0,
        first: int = 0,
    ) -> tuple[Ints, NDArray[np.int32]]:
        """Draw the same sentences as `sample`, as offsets and ids of words.

        >>> offsets, ids = NGramModel(order=2).fit(["to be"]).sample_ids(2)
        >>> len(offsets), int(ids.min()) > 2
        (3, True)
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
        return offsets, ids

    def encode(self, sentences: Iterable[Any]) -> tuple[Ints, NDArray[np.int32]]:
        """Return sentences as offsets and ids of words, 0 for unknown ones.

        >>> [array.tolist() for array in NGramModel(order=2).fit(["to be"]).encode(["to do", ""])]
        [[0, 2, 2], [3, 0]]
        """
        batches = list(self._sequences(sentences))
        lengths = np.concatenate([np.zeros(0, np.int64), *(np.diff(offsets) for offsets, _ in batches)])
        ids = np.concatenate([np.zeros(0, np.int32), *(ids for _, ids in batches)])
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), np.maximum(ids, UNKNOWN)

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Format 1 did not say where counts of counts have holes, nor format 2 how texts were cut into sentences."""
        if saved.fitted:
            saved.state.setdefault("fall_backs_", [])
            saved.state["by_line_"] = False
        saved.format = 3
        return saved

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        if self.words_.to_list()[:3] != list(SPECIAL):
            raise ModelFileError("the first words must be <unk>, <s> and </s>", reason="damaged")
        exact = self.log_probability_ is not None and self.log_back_off_ is not None
        codes = (self.probability_codes_, self.back_off_codes_)
        coded = self.books_ is not None and len(self.books_) == 2 and all(part is not None for part in codes)
        if exact == coded or not all(isinstance(line, str) for line in self.fall_backs_):
            raise ModelFileError(
                "there must be probabilities and back-off weights, as numbers or as codes", reason="damaged"
            )
        try:
            table = self._table()
            words = native_corpus.TermTable(self.words_.bytes, self.words_.offsets, effective_jobs(None))
        except ValueError as error:
            raise ModelFileError(str(error), reason=reason_of(error)) from None
        if int(self.children_[1]) - 1 != len(words) or len(self.discounts_) != len(self.levels_) - 2:
            raise ModelFileError("numbers of words, orders and n-grams do not belong together", reason="damaged")
        self._made = (table, words, self.words_.to_list())

    def numbers(self) -> tuple[Floats, Floats]:
        """Return log10 probabilities and back-off weights of all n-grams, also of a quantized model.

        >>> [values.shape for values in NGramModel(order=1).fit(["to be"]).numbers()]
        [(6,), (6,)]
        """
        check_fitted(self)
        if self.log_probability_ is not None and self.log_back_off_ is not None:
            return self.log_probability_, self.log_back_off_
        probability, back_off = self._tables()[0].numbers()
        return probability, back_off

    def table(self) -> native.Table:
        """Return the native model."""
        return self._tables()[0]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_made"}  # made again on use

    def _table(self) -> native.Table:
        arrays = (self.levels_, self.last_words_, self.children_, self.suffixes_)
        special = {"unknown": UNKNOWN, "begin": BEGIN, "end": END}
        if self.books_ is None:
            return native.Table(*arrays, self.log_probability_, self.log_back_off_, **special)
        bits = max(1, self.books_.shape[1].bit_length() - 1)
        codes = (self.probability_codes_, self.books_[0], self.back_off_codes_, self.books_[1])
        return native.Table(*arrays, *codes, bits, **special)

    def _take(self, marked: NDArray[np.bool_]) -> None:
        """Leave out the n-grams that are not marked; single words stay."""
        *tree, old = native.select(self.levels_, self.last_words_, self.children_, marked.view(np.uint8))
        self.levels_, self.last_words_, self.children_ = tree
        probability, back_off = self.numbers()
        self.log_probability_, self.log_back_off_ = probability[old], back_off[old]
        self.counts_ = None if self.counts_ is None else self.counts_[old]
        childless = np.append(np.diff(self.children_), np.zeros(len(old) - len(self.children_) + 1)) == 0
        self.log_back_off_[childless] = 0.0
        self.suffixes_ = np.empty(len(old), dtype=np.int32)
        native.suffixes(*tree, self.suffixes_, threads=effective_jobs(self.n_jobs))
        self.probability_codes_ = self.back_off_codes_ = self.books_ = None
        vars(self).pop("_made", None)

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

    def _sequences(self, sentences: Iterable[Any]) -> Iterator[tuple[Ints, NDArray[np.int32]]]:
        """Batches of sentences as offsets and ids of words, -1 for unknown ones."""
        return sequences(sentences, self._tables()[1], self.tokenizer, self.n_jobs, grow=False)

    def _scored(self, sentences: Iterable[Any]) -> Iterator[tuple[Ints, Floats, NDArray[np.int32]]]:
        """Batches: offsets, log10 p of all words and ends, ids of the words."""
        table = self._tables()[0]
        threads = effective_jobs(self.n_jobs)
        for offsets, ids in self._sequences(sentences):
            scores, _ = table.score(offsets, ids, with_end=True, orders=False, threads=threads)
            yield offsets, scores, ids

"""Classes of words and of chunks, learned from text: which words stand in the same places.

    P(s) = prod_i P(c_i | c_{i-1}) P(w_i | c_i)                             every word has one class
    P(s) = sum over partitions of s of prod_j P(c_j | c_{j-1}) P(chunk_j | c_j)      every chunk has one: semi-Markov

Exchange moves one word (chunk) after the other to the class where the likelihood of the text is highest, until nothing
moves; an approximate gain picks the few classes whose exact gain is worked out (native/lm/classes.h). Hierarchical
training splits all words into two classes, each of these into two and so on, where a word can only change between the
two halves of its class: less work for many classes, and every class has a code of bits whose beginnings are coarser
classes. For numbers that are no power of two the largest classes are split first.

With `max_length` above 1, sentences are cut into chunks of several words. A chunk is a run of known words that occurs
`min_chunk_count` times or more, also after sentences were cut by the frequencies of chunks alone: that is where
training starts. Then the best partition of every sentence (Viterbi) and exchange take turns, from which the likelihood
never falls; long chunks are easily learned by heart, so a share of the sentences is held out, and training
ends when these become less likely.

Training uses relative frequencies; `alpha` is added to counts when other text is cut and scored. Cost: a sweep visits
each pair of neighboring words once, and for each word the classes of its neighbors times the number of classes.
Memory: some 40 bytes for each pair of neighboring words and 4 for each word of the text. References: Martin, Liermann &
Ney (1998), Algorithms for bigram and trigram word clustering; Deligne & Bimbot (1995), Language modeling by variable
length sequences: theoretical formulation and evaluation of multigrams; Okanohara & Tsujii (2007), A discriminative
language model with pseudo-negative samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native_corpus
from textmill._native import lm as native
from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import TokenizerLike
from textmill.errors import DataError, ModelFileError, reason_of
from textmill.lm.chunks import ChunkNames, chunk_inventory, cut_by_frequency, marked_sentences
from textmill.lm.class_codes import Split, split_classes
from textmill.lm.counting import BEGIN, END, SPECIAL, UNKNOWN, read_ids, sequences
from textmill.model import Estimator, Model, StringTable, check_choice, check_fitted, check_range, effective_jobs
from textmill.progress import interruptible, track
from textmill.tables import Rows

__all__ = ["ClassMember", "WordClasses"]

METHODS = ("exchange", "hierarchical")
STARTS = ("frequency", "random")
_STRETCH = 20_000  # types that are moved in one call: Ctrl-C is heard between calls


@dataclass(frozen=True, slots=True)
class ClassMember:
    """A word or chunk of a class, and how often it occurs."""

    chunk: str
    count: int


class WordClasses(Estimator, Model):
    """Learn classes of words, or of chunks of words.

    Parameters:
        n_classes: Number of classes, beside that of the sentence boundary.
        method: "exchange", or "hierarchical" for classes with codes.
        max_length: Number of words of the longest chunk; 1 for classes of words.
        min_count: Words that occur less often are unknown; they share a type, and so a class.
        min_chunk_count: Chunks of several words that occur less often are none.
        n_candidates: Classes that get an exact gain, those with the highest approximate one; None for all.
        init: First classes of exchange: "frequency" gives the most frequent words a class each and deals out the
            others, "random" draws them.
        max_iter: Sweeps of exchange at most, for each partition and each level of splits; also partitions at most.
        tolerance: Stop when the log-likelihood rises by less than this share of itself.
        held_out: Share of the sentences that says when to stop cutting, for `max_length` above 1.
        alpha: Added to counts in probabilities of other text.
        tokenizer: What cuts texts into words, as in `Vocabulary`.
        random_state: Seed of the draw of first classes and of the sentences held out.
        n_jobs: Threads that cut sentences; None for all cores. The model is the same for any number.

    Attributes:
        words_: Words by id, (V,), of which the first three are `<unk>`, `<s>` and `</s>`.
        levels_, last_words_, children_: The tree of chunks, as in `NGramModel`; type t of a chunk is node t + 1, and
            that of a word its id.
        class_of_: Class of each type, (types,); 0 is the boundary, others 1 to n_classes.
        counts_: Number of occurrences of each type in the best partition, (types,).
        transitions_: Number of occurrences of each pair of classes, (n_classes + 1, n_classes + 1).
        codes_: Code of each class, (n_classes + 1,), "" for all unless hierarchical.
        trace_: Log-likelihood (nats) of the text after each sweep.
        held_out_trace_: Log-likelihood of a word of held-out sentences after each partition.
        n_iter_: Number of sweeps.
        converged_: Whether training ended before `max_iter`.

    >>> text = ["the mill turns", "the wheel turns", "a mill stands", "a wheel stands"] * 3
    >>> classes = WordClasses(n_classes=3).fit(text)
    >>> classes.class_of("mill") == classes.class_of("wheel"), classes.class_of("mill") == classes.class_of("the")
    (True, False)
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "words_": "word: str",
        "levels_": "level: int64",
        "last_words_": "node: int32",
        "children_": "inner: int32",
        "class_of_": "type: int32",
        "counts_": "type: int64",
        "transitions_": "class class: int64",
        "codes_": "class: str",
        "trace_": "sweep",
        "held_out_trace_": "partition",
    }
    indices: ClassVar[dict[str, str]] = {"class_of_": "class"}
    state: ClassVar[dict[str, type]] = {"n_iter_": int, "converged_": bool}

    words_: StringTable
    levels_: Ints
    last_words_: Ids
    children_: Ids
    class_of_: Ids
    counts_: Ints
    transitions_: Ints
    codes_: StringTable
    trace_: Floats
    held_out_trace_: Floats
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        *,
        n_classes: int = 100,
        method: str = "exchange",
        max_length: int = 1,
        min_count: int = 1,
        min_chunk_count: int = 5,
        n_candidates: int | None = 8,
        init: str = "frequency",
        max_iter: int = 20,
        tolerance: float = 1e-5,
        held_out: float = 0.1,
        alpha: float = 0.1,
        tokenizer: TokenizerLike = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.method = method
        self.max_length = max_length
        self.min_count = min_count
        self.min_chunk_count = min_chunk_count
        self.n_candidates = n_candidates
        self.init = init
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.held_out = held_out
        self.alpha = alpha
        self.tokenizer = tokenizer
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self, sentences: Iterable[Any], y: object = None, *, vocabulary: Iterable[str] | None = None
    ) -> WordClasses:
        """Learn from sentences, texts or lists of words; words outside `vocabulary`, if it is given, are unknown."""
        self._check()
        words, offsets, tokens = read_ids(
            sentences,
            tokenizer=self.tokenizer,
            vocabulary=vocabulary,
            min_count=self.min_count,
            n_jobs=self.n_jobs,
        )
        if not len(tokens):
            raise DataError("the sentences have no words; pass at least one word")
        self.words_ = words
        self.trace_, self.held_out_trace_ = np.zeros(0), np.zeros(0)
        self.n_iter_, self.converged_ = 0, True
        for name in ("_made", "_logs"):
            vars(self).pop(name, None)
        held = self._held_out(len(offsets) - 1)
        seen = marked_sentences(offsets, tokens, ~held)
        threads, least = effective_jobs(self.n_jobs), int(self.min_chunk_count)
        self.levels_, self.last_words_, self.children_, occurrences = chunk_inventory(
            seen, len(words), max_length=self.max_length, min_count=least, threads=threads
        )
        table = native.ChunkTable(self.levels_, self.last_words_, self.children_)
        usable = np.ones(len(self.last_words_) - 1, dtype=np.uint8)
        cut = seen
        if self.max_length > 1:
            cut = cut_by_frequency(table, seen, occurrences, usable, len(words), min_count=least, threads=threads)
        groups = self._learn_classes(cut)
        if self.max_length > 1:
            self._alternate(table, seen, marked_sentences(offsets, tokens, held), usable, groups)
        self._place_unknown()
        return self

    def class_of(self, words: str) -> int:
        """Return the class of a word, or of a chunk of words with blanks between them; that of <unk> if unknown.

        >>> classes = WordClasses(n_classes=2).fit(["to be", "to do"])
        >>> classes.class_of("be") == classes.class_of("do")
        True
        """
        ids = np.array([[max(int(self._tables()[1].find(word)), UNKNOWN) for word in words.split()]], dtype=np.int32)
        node = -1
        if 0 < ids.shape[1] <= len(self.levels_) - 2:
            node = int(native.find(self.levels_, self.last_words_, self.children_, ids)[0])
        return int(self.class_of_[node - 1 if node > 0 else UNKNOWN])

    def members(self, number: int, k: int = 10) -> Rows[ClassMember]:
        """Return the most frequent words and chunks of a class.

        >>> WordClasses(n_classes=2).fit(["to be", "to do", "to be"]).members(1, k=1)[0].chunk
        'to'
        """
        check_fitted(self)
        check_range("number", number, at_least=0, below=len(self.transitions_), whole=True)
        types = np.flatnonzero((self.class_of_ == number) & (self.counts_ > 0))
        best = types[np.argsort(-self.counts_[types], kind="stable")][:k]
        names = self.chunk_names(best)
        return Rows([ClassMember(n, int(self.counts_[t])) for n, t in zip(names, best, strict=True)], ClassMember)

    def transform(self, sentences: Iterable[Any]) -> list[list[int]]:
        """Return the classes of the best partition of each sentence.

        >>> WordClasses(n_classes=1).fit(["to be"]).transform(["be or not"])
        [[1, 1, 1]]
        """
        rows: list[list[int]] = []
        for offsets, ids in self._batches(sentences):
            bounds, types = self.partitions(offsets, ids)
            classes = self.class_of_[types].tolist()
            rows += [classes[begin:end] for begin, end in pairwise(bounds.tolist())]
        return rows

    def segment(self, sentences: Iterable[Any]) -> list[list[str]]:
        """Return the chunks of the best partition of each sentence, words with blanks between them.

        >>> WordClasses(n_classes=1).fit(["to be"]).segment(["to be or"])
        [['to', 'be', '<unk>']]
        """
        rows: list[list[str]] = []
        for offsets, ids in self._batches(sentences):
            bounds, types = self.partitions(offsets, ids)
            names = self.chunk_names(types)
            rows += [names[begin:end] for begin, end in pairwise(bounds.tolist())]
        return rows

    def partitions(self, offsets: Ints, ids: Ids) -> tuple[Ints, Ids]:
        """Return the best partitions of sentences whose words are ids: offsets, and the types of their chunks.

        >>> classes = WordClasses(n_classes=1).fit(["to be"])
        >>> classes.partitions(np.array([0, 2]), np.array([3, 4], dtype=np.int32))[1].tolist()
        [3, 4]
        """
        if len(self.levels_) == 3:  # words alone: there is nothing to choose
            return offsets, np.maximum(ids, UNKNOWN)
        bounds, types, _, _ = self._cut(offsets, ids)
        return bounds, types

    def lengths_of(self, types: Ids) -> Ints:
        """Return the number of words of each type.

        >>> WordClasses(n_classes=1).fit(["to be"]).lengths_of(np.array([3], dtype=np.int32)).tolist()
        [1]
        """
        return np.searchsorted(self.levels_, types + 1, side="right") - 1

    def chunk_names(self, types: Any) -> list[str]:
        """Return types as text, words with blanks between them.

        >>> WordClasses(n_classes=1).fit(["to be"]).chunk_names([4])
        ['be']
        """
        return self._tables()[2].names(np.asarray(types))

    def scores(self, sentences: Iterable[Any]) -> Floats:
        """Return the log probability (nats) of each sentence, over all its partitions.

        >>> WordClasses(n_classes=1, alpha=1e-9).fit(["to be"]).scores(["to be"]).round(4).tolist()
        [-2.7726]
        """
        parts = [self._cut(offsets, ids)[3] for offsets, ids in self._batches(sentences)]
        return np.concatenate([np.zeros(0), *parts])

    def perplexity(self, sentences: Iterable[Any]) -> float:
        """Return the perplexity of a word or end of sentences."""
        total, words = 0.0, 0
        for offsets, ids in self._batches(sentences):
            total += float(self._cut(offsets, ids)[3].sum())
            words += len(ids) + len(offsets) - 1
        if not words:
            raise DataError("there is no word to score; pass at least one sentence")
        return float(np.exp(-total / words))

    def score(self, X: Iterable[Any], y: object = None) -> float:
        """Return the mean log probability (nats) of a word."""
        return -float(np.log(self.perplexity(X)))

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        if self.words_.to_list()[:3] != list(SPECIAL):
            raise ModelFileError("the first words must be <unk>, <s> and </s>", reason="damaged")
        try:
            table = native.ChunkTable(self.levels_, self.last_words_, self.children_)
            words = native_corpus.TermTable(self.words_.bytes, self.words_.offsets, effective_jobs(None))
        except ValueError as error:
            raise ModelFileError(str(error), reason=reason_of(error)) from None
        if len(words) != int(self.children_[1]) - 1 or len(self.class_of_) != len(self.last_words_) - 1:
            raise ModelFileError("numbers of words, chunks and classes do not belong together", reason="damaged")
        if (self.counts_ < 0).any() or (self.transitions_ < 0).any() or not len(self.transitions_) > 1:
            raise ModelFileError("counts must not be negative", reason="damaged")
        self._made = (table, words, ChunkNames(self.words_, self.levels_, self.last_words_, self.children_))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_made", "_logs")}

    def _check(self) -> None:
        check_range("n_classes", self.n_classes, at_least=1, below=1 << 15, whole=True)
        check_choice("method", self.method, METHODS)
        check_choice("init", self.init, STARTS)
        check_range("max_length", self.max_length, at_least=1, at_most=99, whole=True)
        check_range("min_count", self.min_count, at_least=1, whole=True)
        check_range("min_chunk_count", self.min_chunk_count, at_least=1, whole=True)
        check_range("max_iter", self.max_iter, at_least=1, whole=True)
        check_range("tolerance", self.tolerance, at_least=0.0)
        check_range("held_out", self.held_out, at_least=0.0, below=1.0)
        check_range("alpha", self.alpha, above=0.0)
        if self.n_candidates is not None:
            check_range("n_candidates", self.n_candidates, at_least=1, whole=True)

    def _held_out(self, sentences: int) -> NDArray[np.bool_]:
        """Which sentences are held out; none where words are not cut into chunks."""
        held = np.zeros(sentences, dtype=bool)
        if self.max_length > 1:
            generator = np.random.Generator(np.random.Philox(self.random_state))
            held[generator.permutation(sentences)[: int(self.held_out * sentences)]] = True
        return held

    def _learn_classes(self, cut: tuple[Ints, Ids]) -> Ids:
        """Classes of the types of cut sentences, from nothing; returns the groups within which types may move."""
        counts = np.bincount(cut[1], minlength=len(self.last_words_) - 1)
        occurring = int((counts > 0).sum())
        if self.n_classes > occurring:
            raise DataError(
                f"the text has {occurring} different words, too few for n_classes={self.n_classes}; pass more text or "
                "ask for fewer classes"
            )
        if self.method == "hierarchical":
            split = Split.start(counts, BEGIN)
            while split.n_classes < self.n_classes:
                split = split_classes(split, counts, self.n_classes)
                split = split._replace(class_of=self._exchange(cut, split.class_of, split.groups))
            self.codes_ = StringTable(split.codes)
            if self.n_classes == 1:
                self._exchange(cut, split.class_of, split.groups)
            return split.groups
        groups = np.array([1, self.n_classes + 1], dtype=np.int32)
        self.codes_ = StringTable([""] * (self.n_classes + 1))
        self._exchange(cut, self._first_classes(counts), groups)
        return groups

    def _first_classes(self, counts: Ints) -> Ids:
        """Class of each type before the first sweep."""
        class_of = np.ones(len(counts), dtype=np.int32)
        order = np.argsort(-counts, kind="stable")
        order = order[order != BEGIN]
        if self.init == "random":
            generator = np.random.Generator(np.random.Philox(self.random_state))
            class_of[order] = generator.integers(1, self.n_classes + 1, len(order))
        else:
            class_of[order] = 1 + np.arange(len(order)) % self.n_classes
        class_of[BEGIN] = 0
        return class_of

    def _exchange(self, cut: tuple[Ints, Ids], class_of: Ids, groups: Ids) -> Ids:
        """Sweep until nothing moves; keeps what the last sweep gave."""
        n_classes = int(groups[-1])
        candidates = n_classes if self.n_candidates is None else int(self.n_candidates)
        exchange = native.Exchange(
            *cut,
            boundary=BEGIN,
            class_of=class_of,
            classes=n_classes,
            candidates=candidates,
            threads=effective_jobs(self.n_jobs),
        )
        counts = exchange.counts()
        order = np.argsort(-counts, kind="stable").astype(np.int32)
        order = order[(counts[order] > 0) & (order != BEGIN)]
        trace = []
        before = exchange.log_likelihood()
        converged = False
        with interruptible(track(range(self.max_iter), "exchanging classes", unit="sweeps"), unit="sweeps") as sweeps:
            for _ in sweeps:
                moves = sum(exchange.sweep(order[at : at + _STRETCH], groups) for at in range(0, len(order), _STRETCH))
                trace.append(exchange.log_likelihood())
                gain, before = trace[-1] - before, trace[-1]
                if moves == 0 or gain < self.tolerance * abs(before):
                    converged = True
                    break
        self.class_of_, self.counts_ = exchange.class_of(), counts
        self.transitions_ = exchange.transitions().reshape(n_classes, n_classes)
        self.trace_ = np.append(self.trace_, trace)
        self.n_iter_ += len(trace)
        self.converged_ = converged
        return self.class_of_

    def _alternate(
        self,
        table: native.ChunkTable,
        seen: tuple[Ints, Ids],
        held: tuple[Ints, Ids],
        usable: NDArray[np.uint8],
        groups: Ids,
    ) -> None:
        """Cut and exchange in turn, as long as held-out sentences become more likely."""
        threads = effective_jobs(self.n_jobs)
        held_out = [self._held_out_score(table, held, usable, threads)]
        for _ in track(range(self.max_iter), "cutting sentences", unit="partitions"):
            before_cut = {name: getattr(self, name) for name in ("class_of_", "counts_", "transitions_")}
            lexicon, transition = self._frequencies(usable)
            offsets, types, *_ = table.segment(
                *seen, class_of=self.class_of_, lexicon=lexicon, transition=transition, threads=threads
            )
            before = self.trace_[-1]
            self._exchange((offsets, types), self.class_of_, groups)
            held_out.append(self._held_out_score(table, held, usable, threads))
            if held_out[-1] < held_out[-2]:
                vars(self).update(before_cut)
                break
            if self.trace_[-1] - before < self.tolerance * abs(before):
                break
        else:
            self.converged_ = False
        if len(held[0]) > 1:
            self.held_out_trace_ = np.array(held_out)

    def _held_out_score(
        self, table: native.ChunkTable, held: tuple[Ints, Ids], usable: NDArray[np.uint8], threads: int
    ) -> float:
        """Log probability of a word of held-out sentences; 0 where there are none."""
        if not len(held[1]):
            return 0.0
        lexicon, transition = self._smoothed(usable)
        *_, total = table.segment(
            *held, class_of=self.class_of_, lexicon=lexicon, transition=transition, threads=threads
        )
        return float(total.sum() / (len(held[1]) + len(held[0]) - 1))

    def _frequencies(self, usable: NDArray[np.uint8]) -> tuple[Floats, Floats]:
        """Log probabilities of training: relative frequencies."""
        totals = self.transitions_.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            lexicon = np.log(self.counts_ / totals[self.class_of_])
            transition = np.log(self.transitions_ / totals[:, None])
        lexicon[(usable == 0) | (self.counts_ == 0)] = -np.inf
        return lexicon, np.where(np.isnan(transition), -np.inf, transition)

    def _smoothed(self, usable: NDArray[np.uint8]) -> tuple[Floats, Floats]:
        """Log probabilities of other text."""
        n = len(self.transitions_)
        alpha = float(self.alpha)
        totals = self.transitions_.sum(axis=1)
        allowed = usable > 0
        allowed[[BEGIN, END]] = False
        types = np.bincount(self.class_of_[allowed], minlength=n)
        lexicon = np.log(self.counts_ + alpha) - np.log(totals + alpha * np.maximum(types, 1))[self.class_of_]
        lexicon[~allowed] = -np.inf
        return lexicon, np.log(self.transitions_ + alpha) - np.log(totals + alpha * n)[:, None]

    def _place_unknown(self) -> None:
        """Give the unknown word, if training had none, the class of most words that occur once."""
        if self.counts_[UNKNOWN]:
            return
        words = len(self.words_)
        rare = self.class_of_[:words][self.counts_[:words] == max(1, int(self.counts_[END + 1 : words].min()))]
        self.class_of_ = self.class_of_.copy()
        self.class_of_[UNKNOWN] = int(np.bincount(rare[rare > 0], minlength=2).argmax())

    def _tables(self) -> tuple[native.ChunkTable, native_corpus.TermTable, ChunkNames]:
        check_fitted(self)
        if "_made" not in vars(self):
            self.check_values()
        return self._made

    def _cut(self, offsets: Ints, ids: Ids) -> tuple[Ints, Ids, Floats, Floats]:
        """Best partitions of sentences, with the log probabilities of the best and of all."""
        table = self._tables()[0]
        if "_logs" not in vars(self):
            words = len(self.words_)
            usable = (self.counts_ > 0).astype(np.uint8)
            usable[:words] = 1
            self._logs = self._smoothed(usable)
        lexicon, transition = self._logs
        bounds, types, best, total = table.segment(
            offsets,
            np.maximum(ids, UNKNOWN),
            class_of=self.class_of_,
            lexicon=lexicon,
            transition=transition,
            threads=effective_jobs(self.n_jobs),
        )
        return bounds, types, best, total

    def _batches(self, sentences: Iterable[Any]) -> Iterator[tuple[Ints, Ids]]:
        return sequences(sentences, self._tables()[1], self.tokenizer, self.n_jobs, grow=False)

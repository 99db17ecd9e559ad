"""A conditional random field over letters: each is written as one of few chunks of the output, by its neighbors.

    p(labels | word) = exp(sum_t [ tests of letter t . w[label_t] + v[letters t-1, t][labels t-1, t] + b[labels] ]) / Z

The labels of a letter are what it was aligned with: chunks of up to `max_output` symbols, the empty one included. Tests
are the stretches of up to `longest` letters within `window` of a letter. Labelings that write the same output are
added up. As a letter has a handful of labels, not all there are, this takes a hundredth of the time of `sequence.CRF`
on the same labels; see native/tasks/letters.h.

Cost: an epoch visits each letter once, some forty tests with a weight for each label of the letter. References:
Lafferty, McCallum & Pereira (2001); Jiampojamarn, Cherry & Kondrak (2008), Joint processing and discriminative training
for letter-to-phoneme conversion.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import tasks as native
from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError, ModelFileError, reason_of
from textmill.fst import Alignment, Link
from textmill.lm import Candidate, CandidateArrays, PairModel
from textmill.model import (
    Estimator,
    Model,
    RandomState,
    StringTable,
    check_fitted,
    check_range,
    effective_jobs,
    seed_of,
)

__all__ = ["LetterCRF"]

Symbols = str | Sequence[str]

_LEAST = -16.0  # ln of the share of Z, beside that of the best, below which a hypothesis is dropped
_FLOOR = 0.01  # tests whose weights are all smaller are left out of the model


class LetterCRF(Estimator, Model):
    """Write words as strings of other symbols, letter by letter, by what stands around.

    Parameters:
        max_output: Largest number of output symbols of a letter.
        window: Number of letters on each side that tests may look at.
        longest: Largest number of letters of a test.
        l2: Penalty of the squared weights.
        min_count: Tests that occur less often are left out.
        max_iter: Number of visits of each word.
        beam: Largest number of hypotheses at a letter while outputs are searched for.
        random_state: Seed of the order in which words are visited.
        n_jobs: Number of threads for predictions; None for all cores. Training takes one.

    Attributes:
        letters_: Letters, (letters,).
        symbols_: Output symbols, (symbols,).
        trace_: Objective of each visit of all words.
        unaligned_: Numbers of the training pairs that have no alignment, and so were not learned from.
        text_output_: Whether outputs are strings, not lists of symbols.

    >>> words, sounds = ["tax", "at", "axe", "exit", "tee"], ["taks", "at", "aks", "eksit", "ti"]
    >>> LetterCRF().fit(words, sounds).predict(["taxi", "tea"])
    ['taksi', 'tia']
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "letters_": "letter: str",
        "symbols_": "symbol: str",
        "label_begin_": "letter+1: int64",
        "labels_": "choice: int32",
        "write_begin_": "label+1: int64",
        "writes_": "written: int32",
        "tests_": "test: uint64",
        "test_begin_": "test+1: int64",
        "test_weights_": "test_weight: float32",
        "pairs_": "pair: uint64",
        "pair_begin_": "pair+1: int64",
        "pair_weights_": "pair_weight: float32",
        "label_weights_": "label_weight: float32",
        "trace_": "iteration",
        "unaligned_": "unaligned: int64",
    }
    indices: ClassVar[dict[str, str]] = {"labels_": "label", "writes_": "symbol"}
    offsets: ClassVar[dict[str, str]] = {"label_begin_": "choice", "write_begin_": "written"}
    state: ClassVar[dict[str, Any]] = {"text_output_": bool}

    letters_: StringTable
    symbols_: StringTable
    label_begin_: Ints
    labels_: Ids
    write_begin_: Ints
    writes_: Ids
    tests_: NDArray[np.uint64]
    test_begin_: Ints
    test_weights_: NDArray[np.float32]
    pairs_: NDArray[np.uint64]
    pair_begin_: Ints
    pair_weights_: NDArray[np.float32]
    label_weights_: NDArray[np.float32]
    trace_: Floats
    unaligned_: Ints
    text_output_: bool

    def __init__(
        self,
        *,
        max_output: int = 2,
        window: int = 4,
        longest: int = 4,
        l2: float = 0.5,
        min_count: int = 1,
        max_iter: int = 20,
        beam: int = 100,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.max_output = max_output
        self.window = window
        self.longest = longest
        self.l2 = l2
        self.min_count = min_count
        self.max_iter = max_iter
        self.beam = beam
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Iterable[Symbols],
        y: Iterable[Symbols],
        *,
        alignments: Sequence[Alignment | None] | None = None,
    ) -> LetterCRF:
        """Learn from words and their outputs; `alignments` are theirs, one letter a link, where they are there."""
        self._check()
        words, outputs = list(X), list(y)
        if len(words) != len(outputs) or not words:
            raise DataError(f"there are {len(words)} words and {len(outputs)} outputs; give one output per word")
        if alignments is None:
            alignments = PairModel(max_input=1, max_output=self.max_output, n_jobs=self.n_jobs).align(words, outputs)
        rows = [alignment.links for alignment in alignments if alignment is not None]
        if not rows:
            raise DataError("no word has an alignment; raise max_output")
        self.text_output_ = all(isinstance(output, str) for output in outputs)
        self.unaligned_ = np.flatnonzero([alignment is None for alignment in alignments]).astype(np.int64)
        self._tabulate(rows)
        letters, gold, offsets = self._encode(rows)
        field = self._new_field()
        self.tests_ = field.tests(offsets, letters, self.min_count)
        counts = np.diff(self.label_begin_)
        self._place(offsets, letters, counts, field)
        self.trace_ = field.train(
            offsets,
            letters,
            gold,
            *self._places(),
            self.test_weights_,
            self.pair_weights_,
            self.label_weights_,
            l2=float(self.l2),
            epochs=self.max_iter,
            seed=seed_of(self.random_state, 0),
        )
        self._compact()
        vars(self).pop("_field", None)
        return self

    def predict(self, X: Iterable[Symbols]) -> list[Any]:
        """The best output of each word.

        >>> LetterCRF().fit(["ab", "ba"], [["A", "B"], ["B", "A"]]).predict(["bb"])
        [['B', 'B']]
        """
        return [best[0].output for best in self.predict_best(X, 1)]

    def predict_best(self, X: Iterable[Symbols], k: int = 10) -> list[list[Candidate]]:
        """The k best outputs of each word with their probabilities; `log_probability` is ln p(output | word).

        >>> crf = LetterCRF().fit(["ab", "ba", "aa"], ["AB", "BA", "A"])
        >>> round(sum(one.probability for one in crf.predict_best(["aab"], k=100)[0]), 6)
        1.0
        """
        arrays = self.predict_arrays(X, k)
        scores, bounds = arrays.log_probability.tolist(), arrays.begin.tolist()
        answers: list[list[Candidate]] = []
        for first, end in itertools.pairwise(bounds):
            row: list[Candidate] = []
            for c in range(first, end):
                symbols = arrays.output(c)
                output = "".join(symbols) if self.text_output_ else symbols
                row.append(Candidate(output, math.exp(scores[c]), scores[c], arrays.alignment(c)))
            answers.append(row)
        return answers

    def predict_arrays(self, X: Iterable[Symbols], k: int = 10) -> CandidateArrays:
        """The same as arrays, without an object for each output: for many words.

        >>> arrays = LetterCRF().fit(["ab", "ba"], ["AB", "BA"]).predict_arrays(["bb", "a"], k=1)
        >>> [arrays.output(c) for c in range(2)], arrays.alignment(0).text()
        ([['B', 'B'], ['A']], 'b:B b:B')
        """
        check_range("k", k, at_least=1, whole=True)
        field = self._ready()
        words = list(X)
        offsets, letters = self._numbers(words)
        begin, log_p, labels, output_begin, outputs = field.decode(
            offsets, letters, k=k, beam=self.beam, least=_LEAST, threads=effective_jobs(self.n_jobs)
        )
        lengths = np.repeat(np.diff(offsets), np.diff(begin))
        label_begin = np.concatenate([[0], np.cumsum(lengths)])
        writes = self._written()

        def alignment(c: int) -> Alignment:
            word = words[int(np.searchsorted(begin, c, side="right")) - 1]
            own = labels[label_begin[c] : label_begin[c + 1]].tolist()
            links = (((letter,), () if label < 0 else writes[label]) for letter, label in zip(word, own, strict=True))
            return Alignment(tuple(links), float(log_p[c]))

        total = np.zeros(len(words))
        return CandidateArrays(begin, log_p, total, output_begin, outputs, self.symbols_.to_list(), alignment)

    def score_lists(self, X: Sequence[Symbols], offsets: Ints, output_offsets: Ints, outputs: Ids) -> Floats:
        """ln p(output | word) of words with lists of outputs, laid out as in `CandidateArrays`; -inf where it has none.

        >>> crf = LetterCRF().fit(["ab", "ba"], ["AB", "BA"])
        >>> lists = np.array([0, 2]), np.array([0, 2, 4]), np.array([0, 1, 1, 0], dtype=np.int32)
        >>> right, wrong = crf.score_lists(["ab"], *lists)
        >>> bool(right > wrong)
        True
        """
        scores: Floats = self._ready().score(
            *self._numbers(X), offsets, output_offsets, outputs, threads=effective_jobs(self.n_jobs)
        )
        return scores

    def score_samples(self, X: Iterable[Symbols], y: Iterable[Symbols]) -> Floats:
        """ln p(output | word) over all labelings; -inf where there is none.

        >>> crf = LetterCRF().fit(["ab", "ba", "aa"], ["AB", "BA", "A"])
        >>> best = crf.predict_best(["aba"], k=1)[0][0]
        >>> bool(abs(crf.score_samples(["aba"], [best.output])[0] - best.log_probability) < 1e-6)
        True
        """
        words, outputs = list(X), list(y)
        if len(words) != len(outputs):
            raise DataError(f"there are {len(words)} words but {len(outputs)} outputs; give one output per word")
        check_fitted(self)
        numbers = {symbol: i for i, symbol in enumerate(self.symbols_.to_list())}
        lists = np.arange(len(words) + 1, dtype=np.int64)
        return self.score_lists(words, lists, *_flat(outputs, numbers, len(numbers)))

    def score(self, X: Iterable[Symbols], y: Iterable[Symbols]) -> float:
        """The share of words whose best output is right."""
        predicted, right = self.predict(X), list(y)
        if len(predicted) != len(right) or not right:
            raise DataError(f"there are {len(predicted)} words but {len(right)} outputs; give one output per word")
        return sum(list(a) == list(b) for a, b in zip(predicted, right, strict=True)) / len(right)

    # ---- inside

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        try:
            self._check()
            field = self._new_field()
            weights = self.test_weights_, self.pair_weights_, self.label_weights_
            field.hold(*self._places(), *weights)
        except ValueError as fault:
            raise ModelFileError(str(fault), reason=reason_of(fault)) from None
        self._field = field

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_field"}  # built again on use

    def _ready(self) -> native.LetterField:
        check_fitted(self)
        if "_field" not in vars(self):
            self.check_values()
        return self._field

    def _check(self) -> None:
        check_range("max_output", self.max_output, at_least=1, at_most=255, whole=True)
        check_range("window", self.window, at_least=0, at_most=100, whole=True)
        check_range("longest", self.longest, at_least=1, at_most=100, whole=True)
        check_range("l2", self.l2, at_least=0, below=math.inf)
        check_range("min_count", self.min_count, at_least=1, whole=True)
        check_range("max_iter", self.max_iter, at_least=1, whole=True)
        check_range("beam", self.beam, at_least=1, whole=True)

    def _new_field(self) -> native.LetterField:
        return native.LetterField(
            self.label_begin_, self.labels_, self.write_begin_, self.writes_, self.window, self.longest
        )

    def _places(self) -> tuple[Any, Any, Any, Any]:
        return self.tests_, self.test_begin_, self.pairs_, self.pair_begin_

    def _tabulate(self, rows: list[tuple[Link, ...]]) -> None:
        """Number letters, symbols and labels, and list the labels of each letter."""
        chunks: dict[str, dict[tuple[str, ...], None]] = {}
        for links in rows:
            for inputs, written in links:
                if len(inputs) != 1:
                    raise DataError(f"link {inputs!r} does not read one letter; align with max_input=1, no insertions")
                chunks.setdefault(inputs[0], {})[written] = None
        self.letters_ = StringTable(sorted(chunks))
        everything = sorted({written for some in chunks.values() for written in some})
        number = {written: i for i, written in enumerate(everything)}
        symbols = sorted({symbol for written in everything for symbol in written})
        place = {symbol: i for i, symbol in enumerate(symbols)}
        self.symbols_ = StringTable(symbols)
        self.write_begin_ = np.concatenate([[0], np.cumsum([len(w) for w in everything])]).astype(np.int64)
        self.writes_ = np.array([place[s] for w in everything for s in w], dtype=np.int32)
        lists = [sorted(number[w] for w in chunks[letter]) for letter in sorted(chunks)]
        self.label_begin_ = np.concatenate([[0], np.cumsum([len(some) for some in lists])]).astype(np.int64)
        self.labels_ = np.array(list(itertools.chain.from_iterable(lists)), dtype=np.int32)

    def _encode(self, rows: list[tuple[Link, ...]]) -> tuple[Ids, Ids, Ints]:
        """Letters, numbers of their labels among those of the letter, and where words begin."""
        letters = {letter: i for i, letter in enumerate(self.letters_.to_list())}
        writes = self._written()
        choice: dict[Link, tuple[int, int]] = {}
        for letter, i in letters.items():
            first = int(self.label_begin_[i])
            for place, label in enumerate(self.labels_[first : int(self.label_begin_[i + 1])].tolist()):
                choice[(letter,), writes[label]] = (i, place)
        flat = np.array([choice[link] for links in rows for link in links], dtype=np.int32).reshape(-1, 2)
        offsets = np.concatenate([[0], np.cumsum([len(links) for links in rows])]).astype(np.int64)
        return np.ascontiguousarray(flat[:, 0]), np.ascontiguousarray(flat[:, 1]), offsets

    def _place(self, offsets: Ints, letters: Ids, counts: Ints, field: native.LetterField) -> None:
        """Make room for weights: blocks for tests and pairs of letters, as wide as the letters have labels."""
        most = int(counts.max())
        self.test_begin_ = np.arange(len(self.tests_) + 1, dtype=np.int64) * most
        self.test_weights_ = np.zeros(len(self.tests_) * most + most, dtype=np.float32)
        inside = np.ones(max(len(letters) - 1, 0), dtype=bool)
        ends = offsets[1:-1] - 1
        inside[ends[(ends >= 0) & (ends < len(inside))]] = False
        before, after = letters[:-1][inside].astype(np.uint64), letters[1:][inside].astype(np.uint64)
        self.pairs_ = np.unique((before << np.uint64(32)) | after)
        sizes = counts[(self.pairs_ >> np.uint64(32)).astype(np.int64)]
        sizes = sizes * counts[(self.pairs_ & np.uint64(0xFFFFFFFF)).astype(np.int64)]
        self.pair_begin_ = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.pair_weights_ = np.zeros(int(self.pair_begin_[-1]) + most * most, dtype=np.float32)
        labels = len(self.write_begin_) - 1
        self.label_weights_ = np.zeros(labels * labels, dtype=np.float32)

    def _compact(self) -> None:
        """Leave out tests whose weights are next to nothing."""
        most = int(np.diff(self.label_begin_).max())
        table = self.test_weights_[:-most].reshape(-1, most) if len(self.tests_) else np.zeros((0, most), np.float32)
        some = np.abs(table).max(axis=1, initial=0.0) >= _FLOOR
        self.tests_ = self.tests_[some]
        self.test_begin_ = np.arange(len(self.tests_) + 1, dtype=np.int64) * most
        self.test_weights_ = np.concatenate([table[some].ravel(), np.zeros(most, dtype=np.float32)])

    def _written(self) -> list[tuple[str, ...]]:
        symbols = self.symbols_.to_list()
        flat = [symbols[i] for i in self.writes_.tolist()]
        return [tuple(flat[begin:end]) for begin, end in itertools.pairwise(self.write_begin_.tolist())]

    def _numbers(self, words: Sequence[Symbols]) -> tuple[Ints, Ids]:
        return _flat(words, {letter: i for i, letter in enumerate(self.letters_.to_list())}, -1)


def _flat(words: Sequence[Symbols], numbers: dict[str, int], other: int) -> tuple[Ints, Ids]:
    begin = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=begin[1:])
    flat = map(numbers.get, itertools.chain.from_iterable(words), itertools.repeat(other))
    return begin, np.fromiter(flat, np.int32, int(begin[-1]))

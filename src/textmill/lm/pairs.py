"""Pair n-gram models: from one string to another, by n-grams of what goes with what.

    p(x, y)   = sum over alignments of prod_k p(t_k | t_{k-N+1} ... t_{k-1})      t_k = u:v, a stretch of x and of y
    p(y | x)  = p(x, y) / sum over y' of p(x, y')

An aligner finds the pairs u:v of the training strings, and an n-gram model is fitted to their sequences, read from the
left or from the right. An output counts with all its alignments, and back-off is decided on pairs, not on what they
read: see native/lm/pairs.h for the search and for letters that no pair reads.

`units` of pairs: up to `max_input` x `max_output` symbols; letters may go with nothing (`deletions`), symbols of the
output come from nothing (`insertions`) or are joined to the pair before them (`insertions="merged"`).

Cost: that of the aligner, of counting n-grams, and a few look-ups for each pair that is tried while an output is
searched for. Memory: 36 bytes for each n-gram, and 24 more while outputs are searched for. References: Jansche &
Sproat (2009), Named entity transcription with pair n-gram models; Bisani & Ney (2008), Joint-sequence models for
grapheme-to-phoneme conversion; Novak, Minematsu & Hirose (2016), Phonetisaurus.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError, ModelFileError, warn_caller
from textmill.fst import Alignment, Fst, Link, StringAligner, parse_alignment
from textmill.lm.acceptors import OutputAcceptor
from textmill.lm.candidates import Candidate, CandidateArrays, Symbols, reversed_runs
from textmill.lm.ngram import NGramModel
from textmill.lm.pair_machine import pair_machine
from textmill.lm.pair_tables import SPECIAL, FixedNumbers, GrowingNumbers, PairTables, checked_words, encoded, shown
from textmill.model import Estimator, Model, check_choice, check_fitted, check_range, effective_jobs

__all__ = ["PairModel", "UnalignedPairs"]

INSERTIONS = ("none", "tokens", "merged")
DIRECTIONS = ("forward", "backward")
UNKNOWN = ("skip", "copy")
_MOST_CELLS = 4_000_000  # letters times symbols of a pair that is aligned or scored
_MOST_ARCS = 20_000_000  # of an exact transducer


class UnalignedPairs(UserWarning):
    """Some training pairs have no alignment within the limits; `unaligned_` lists them."""


class PairModel(Estimator, Model):
    """Learn to write strings as others: letters as sounds, names in another script.

    An input or output is a string, whose symbols are its characters, or a list of symbols.

    Parameters:
        max_input: Largest number of input symbols of a pair.
        max_output: Largest number of output symbols of a pair.
        deletions: Whether an input symbol may go with nothing.
        insertions: Output symbols that come from nothing: "none", "tokens" (pairs of their own) or "merged" (joined to
            the pair before).
        order: Length of the longest n-gram of pairs.
        smoothing: That of the n-grams, as in `NGramModel`.
        min_counts: As in `NGramModel`.
        direction: "forward" to read from the left, "backward" from the right.
        max_insertions: Largest number of insertions in a row while an output is searched for.
        unknown: What becomes of letters that no pair reads: "skip" (nothing) or "copy" (themselves).
        beam: Largest number of hypotheses at a place of the input; None for all.
        width: Hypotheses whose ln p is this much below the best at a place are dropped; None for none.
        max_iter: Iterations of the aligner at most.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        ngrams_: The `NGramModel`, whose words are pairs in the notation of `Alignment.text`.
        unaligned_: Numbers of the training pairs that have no alignment, and so were not learned from.
        text_output_: Whether outputs are strings, not lists of symbols.

    >>> model = PairModel(order=3, max_output=2).fit(["tax", "at", "axe", "exit"], ["taks", "at", "aks", "eksit"])
    >>> model.predict(["taxi", "text"])
    ['taksi', 'tekst']
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"unaligned_": "unaligned: int64"}
    parts: ClassVar[dict[str, str]] = {"ngrams_": "lm.NGramModel"}
    state: ClassVar[dict[str, Any]] = {"text_output_": bool}

    ngrams_: NGramModel
    unaligned_: Ints
    text_output_: bool

    def __init__(
        self,
        *,
        max_input: int = 1,
        max_output: int = 2,
        deletions: bool = True,
        insertions: str = "none",
        order: int = 6,
        smoothing: str = "modified-kneser-ney",
        min_counts: int | Sequence[int] = 1,
        direction: str = "forward",
        max_insertions: int = 2,
        unknown: str = "skip",
        beam: int | None = 100,
        width: float | None = 10.0,
        max_iter: int = 10,
        n_jobs: int | None = None,
    ) -> None:
        self.max_input = max_input
        self.max_output = max_output
        self.deletions = deletions
        self.insertions = insertions
        self.order = order
        self.smoothing = smoothing
        self.min_counts = min_counts
        self.direction = direction
        self.max_insertions = max_insertions
        self.unknown = unknown
        self.beam = beam
        self.width = width
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    # ---- learning

    def fit(
        self,
        X: Iterable[Symbols],
        y: Iterable[Symbols],
        *,
        alignments: Sequence[Alignment | None] | None = None,
        errors: str = "skip",
    ) -> PairModel:
        """Learn from inputs and their outputs.

        `alignments` are those of the pairs, where they have been found before. Pairs without one are listed in
        `unaligned_` with a warning, or with errors="strict" are a DataError.
        """
        self._check()
        inputs, outputs = list(X), list(y)
        if len(inputs) != len(outputs):
            raise DataError(f"there are {len(inputs)} inputs but {len(outputs)} outputs; give one output per input")
        if not inputs:
            raise DataError("there are no pairs to learn from; pass at least one")
        if alignments is None:
            alignments = self.align(inputs, outputs, errors=errors)
        texts: dict[Link, str] = {}
        sentences: list[list[str]] = []
        backward = self.direction == "backward"
        for alignment in alignments:
            if alignment is None:
                continue
            links = alignment.merged().links if self.insertions == "merged" else alignment.links
            tokens = [texts.get(link) or texts.setdefault(link, Alignment((link,)).text()) for link in links]
            sentences.append(tokens[::-1] if backward else tokens)
        if not sentences:
            raise DataError("no pair has an alignment within the limits; allow deletions, insertions or longer units")
        self.ngrams_ = NGramModel(
            order=self.order, smoothing=self.smoothing, min_counts=self.min_counts, n_jobs=self.n_jobs
        ).fit(sentences)
        self.unaligned_ = np.flatnonzero([alignment is None for alignment in alignments]).astype(np.int64)
        self.text_output_ = all(isinstance(output, str) for output in outputs)
        if len(self.unaligned_):
            first = int(self.unaligned_[0])
            example = f"{shown(inputs[first])!r}, {shown(outputs[first])!r}"
            warn_caller(
                f"{len(self.unaligned_)} of {len(inputs)} pairs have no alignment of units {self.max_input} x "
                f"{self.max_output}, or are too long for one, and are not learned from; the first is pair {first + 1}, "
                f"{example}",
                UnalignedPairs,
            )
        vars(self).pop("_table", None)
        return self

    def align(self, X: Sequence[Symbols], y: Sequence[Symbols], *, errors: str = "skip") -> list[Alignment | None]:
        """Find the pairs of the units that this model is to have: the alignments that `fit` learns from.

        >>> [best.text() for best in PairModel(max_input=1).align(["ox", "so"], ["oks", "so"]) if best]
        ['o:o x:k|s', 's:s o:o']
        """
        self._check()
        pairs = list(zip(X, y, strict=True))
        aligner = self.aligner()
        if errors != "skip":
            return aligner.fit(pairs, errors=errors).align(pairs)
        rows = [i for i, (word, output) in enumerate(pairs) if len(word) * len(output) <= _MOST_CELLS]
        some = pairs if len(rows) == len(pairs) else [pairs[i] for i in rows]
        alignments: list[Alignment | None] = [None] * len(pairs)
        if not some:
            return alignments
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `fit` says it, with an example
            aligner.fit(some, errors="skip")
        for i, alignment in zip(rows, aligner.align(some), strict=True):
            alignments[i] = alignment
        return alignments

    def aligner(self) -> StringAligner:
        """The aligner of the units, not yet fitted.

        >>> PairModel(max_input=1, insertions="tokens").aligner().insertions
        True
        """
        return StringAligner(
            max_input=self.max_input,
            max_output=self.max_output,
            deletions=self.deletions,
            insertions=self.insertions != "none",
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )

    # ---- transcribing

    def predict(self, X: Iterable[Symbols], *, acceptor: OutputAcceptor | None = None) -> list[Any]:
        """The best output of each input; the empty one where an acceptor refuses all.

        >>> PairModel(order=2).fit(["ab", "ba"], [["A", "B"], ["B", "A"]]).predict(["bb"])
        [['B', 'B']]
        """
        answers, words = self._decode(X, 1, acceptor)
        offsets = answers[0].tolist()
        begin, tokens = answers[3].tolist(), answers[4].tolist()
        empty: Any = "" if self.text_output_ else []
        best: list[Any] = []
        for w, (first, end) in enumerate(itertools.pairwise(offsets)):
            best.append(self._joined(tokens[begin[first] : begin[first + 1]], words[w]) if end > first else empty)
        return best

    def predict_best(
        self,
        X: Iterable[Symbols],
        k: int = 10,
        *,
        acceptor: OutputAcceptor | None = None,
        summed: bool = True,
    ) -> list[list[Candidate]]:
        """The k best distinct outputs of each input, best first; fewer where there are fewer.

        `acceptor` says which outputs are allowed. An output has the probability of all its alignments, or, unless
        `summed`, that of the best one.

        >>> model = PairModel(order=2).fit(["ab", "ba", "aab"], ["AB", "BA", "AB"])
        >>> [one.output for one in model.predict_best(["aa"], k=3)[0]]
        ['AA', 'A', '']
        """
        answers, words = self._decode(X, k, acceptor, summed=summed)
        return self._candidates(answers, words)

    def predict_arrays(
        self, X: Iterable[Symbols], k: int = 10, *, acceptor: OutputAcceptor | None = None
    ) -> CandidateArrays:
        """The same as arrays, without an object for each output: for many words.

        >>> model = PairModel(order=2).fit(["ab", "ba", "aab"], ["AB", "BA", "AB"])
        >>> arrays = model.predict_arrays(["aa", "b"], k=2)
        >>> arrays.begin.tolist(), arrays.output(0)
        ([0, 2, 3], ['A', 'A'])
        """
        letters = GrowingNumbers(self._tables().inputs)
        answers, words = self._decode(X, k, acceptor, letters=letters)
        begin, log_p, best, token_begin, tokens, totals, output_begin, outputs = answers
        symbols = [*self._tables().outputs, *(letters if self.unknown == "copy" else ())]

        def alignment(c: int) -> Alignment:
            word = words[int(np.searchsorted(begin, c, side="right")) - 1]
            return Alignment(
                tuple(self._links(tokens[token_begin[c] : token_begin[c + 1]].tolist(), word)), float(best[c])
            )

        return CandidateArrays(
            begin,
            np.minimum(0.0, log_p - np.repeat(totals, np.diff(begin))),
            totals,
            output_begin,
            reversed_runs(output_begin, outputs) if self.direction == "backward" else outputs,
            symbols,
            alignment,
        )

    def score_lists(self, X: Sequence[Symbols], offsets: Ints, output_offsets: Ints, outputs: Ids) -> Floats:
        """ln p(x, y) of inputs with lists of outputs, laid out as in `CandidateArrays`; -inf where there is none.

        Outputs are numbers of `output_symbols_`; others are symbols that no pair writes. Alignments far less likely
        than others of the same beginnings are left out, as far as `width` says.

        >>> model = PairModel(order=2).fit(["ab", "ba"], ["AB", "BA"])
        >>> lists = np.array([0, 2]), np.array([0, 2, 4]), np.array([0, 1, 1, 0], dtype=np.int32)
        >>> right, wrong = model.score_lists(["ab"], *lists)
        >>> bool(right > wrong)
        True
        """
        tables = self._tables()
        words = checked_words(X)
        backward = self.direction == "backward"
        scores: Floats = tables.native.score_lists(
            *encoded([word[::-1] for word in words] if backward else words, GrowingNumbers(tables.inputs)),
            offsets,
            output_offsets,
            reversed_runs(output_offsets, outputs) if backward else outputs,
            width=self._width(),
            **self._reading(),
        )
        return scores

    def score_samples(self, X: Iterable[Symbols], y: Iterable[Symbols]) -> Floats:
        """ln p(x, y) of inputs and their outputs, over all alignments; -inf where there is none.

        >>> model = PairModel(order=2).fit(["ab", "ba"], ["AB", "BA"])
        >>> right, wrong = model.score_samples(["ab", "ab"], ["AB", "BA"])
        >>> bool(right > wrong)
        True
        """
        sums: Floats = self._scored(X, y)[0][5]
        return sums

    def best_alignments(self, X: Iterable[Symbols], y: Iterable[Symbols]) -> list[Candidate | None]:
        """Outputs as given, with the sum over their alignments and the best of these; None where there is none.

        >>> model = PairModel(order=2, max_output=2).fit(["tax", "ax"], ["taks", "aks"])
        >>> [one and one.alignment.text() for one in model.best_alignments(["xa"], ["ksa"])]
        ['x:k|s a:a']
        """
        answers, words = self._scored(X, y)
        return [best[0] if best else None for best in self._candidates(answers, words)]

    def score(self, X: Iterable[Symbols], y: Iterable[Symbols]) -> float:
        """The share of inputs whose best output is right."""
        predicted, right = self.predict(X), list(y)
        if len(predicted) != len(right) or not right:
            raise DataError(f"there are {len(predicted)} inputs but {len(right)} outputs; give one output per input")
        return sum(list(a) == list(b) for a, b in zip(predicted, right, strict=True)) / len(right)

    # ---- what it is

    @property
    def pairs_(self) -> list[Link]:
        """All pairs, in the order of the words of `ngrams_` from the fourth on."""
        return self._tables().links

    @property
    def input_symbols_(self) -> list[str]:
        """The letters that pairs read."""
        return list(self._tables().inputs)

    @property
    def output_symbols_(self) -> list[str]:
        """The symbols that pairs write."""
        return list(self._tables().outputs)

    def to_fst(self, *, exact: bool = True, semiring_name: str = "tropical64") -> Fst:
        """The model as a transducer, whose paths for x and y are the alignments, with weights -ln p.

        A state for each history. `exact`: each has an arc for every pair, with its back-off worked out, which is large;
        else arcs of nothing lead to shorter histories, and a pair that was seen can also be reached over them: smaller,
        right for most best paths, but not for sums. Insertions are not counted.

        >>> model = PairModel(order=2).fit(["ab", "ba"], ["AB", "BA"])
        >>> model.to_fst(), model.to_fst(exact=False)
        (Fst('tropical64', 6 states, 12 arcs), Fst('tropical64', 6 states, 11 arcs))
        """
        tables = self._tables()
        ngrams = self.ngrams_
        inner = int(ngrams.levels_[-2]) if len(ngrams.levels_) > 3 else 1
        if exact and inner * len(tables.links) > _MOST_ARCS:
            raise DataError(
                f"an exact transducer of {inner} histories and {len(tables.links)} pairs has more than {_MOST_ARCS} "
                "arcs; pass exact=False, a smaller order, or prune the n-grams"
            )
        return pair_machine(ngrams, tables, exact, semiring_name)

    # ---- inside

    def check_values(self) -> None:
        """Check what the declarations cannot say, and build what the search needs."""
        try:
            self._check()
            links = [parse_alignment(word).links for word in self.ngrams_.words_.to_list()[SPECIAL:]]
        except DataError as fault:
            raise ModelFileError(fault.message, reason="damaged") from None
        if any(len(link) != 1 for link in links):
            raise ModelFileError("a word of the n-gram model is no pair", reason="damaged")
        self._table = PairTables.of(self.ngrams_, [link[0] for link in links], self.direction == "backward")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_table"}  # built again on use

    def _tables(self) -> PairTables:
        check_fitted(self)
        if "_table" not in vars(self):
            self.check_values()
        return self._table

    def _check(self) -> None:
        for name in ("max_input", "max_output"):
            check_range(name, getattr(self, name), at_least=1, at_most=255, whole=True)
        check_choice("insertions", self.insertions, INSERTIONS)
        check_choice("direction", self.direction, DIRECTIONS)
        check_choice("unknown", self.unknown, UNKNOWN)
        check_range("max_insertions", self.max_insertions, at_least=0, at_most=255, whole=True)
        check_range("max_iter", self.max_iter, at_least=1, whole=True)
        if self.beam is not None:
            check_range("beam", self.beam, at_least=1, whole=True)
        if self.width is not None:
            check_range("width", self.width, at_least=0)

    def _width(self) -> float:
        return math.inf if self.width is None else float(self.width)

    def _reading(self) -> dict[str, Any]:
        """How the native search reads words, for outputs that are searched for and for given ones alike."""
        return {
            "insertions": self.max_insertions if self.insertions == "tokens" else 0,
            "copy": self.unknown == "copy",
            "threads": effective_jobs(self.n_jobs),
        }

    def _decode(
        self,
        X: Iterable[Symbols],
        k: int,
        acceptor: OutputAcceptor | None,
        *,
        summed: bool = True,
        letters: GrowingNumbers | None = None,
    ) -> tuple[Any, list[Symbols]]:
        check_range("k", k, at_least=1, whole=True)
        tables = self._tables()
        words = checked_words(X)
        if acceptor is None:
            after, accept = np.zeros((0, len(tables.outputs)), dtype=np.int32), np.zeros(0, dtype=np.uint8)
        else:
            after, accept = (acceptor if self.direction == "forward" else acceptor.backward()).table(
                list(tables.outputs)
            )
        read = [word[::-1] for word in words] if self.direction == "backward" else words
        answers = tables.native.decode(
            *encoded(read, GrowingNumbers(tables.inputs) if letters is None else letters),
            after,
            accept,
            k=k,
            beam=self.beam or 0,
            width=self._width(),
            summed=summed,
            **self._reading(),
        )
        return answers, words

    def _scored(self, X: Iterable[Symbols], y: Iterable[Symbols]) -> tuple[Any, list[Symbols]]:
        tables = self._tables()
        words, outputs = checked_words(X), checked_words(y)
        if len(words) != len(outputs):
            raise DataError(f"there are {len(words)} inputs but {len(outputs)} outputs; give one output per input")
        for number, (word, output) in enumerate(zip(words, outputs, strict=True), 1):
            if len(word) * len(output) > _MOST_CELLS:
                raise DataError(
                    f"pair {number} of {len(word)} x {len(output)} symbols is too long to be scored; cut it"
                )
        if self.direction == "backward":
            reads, writes = [word[::-1] for word in words], [output[::-1] for output in outputs]
        else:
            reads, writes = words, outputs
        letters = GrowingNumbers(tables.inputs)
        x_begin, x = encoded(reads, letters)
        # a symbol that pairs do not write may be a letter that is copied
        beyond = len(tables.outputs)
        symbols = {letter: beyond + number for letter, number in letters.items()} | dict(tables.outputs)
        y_begin, y_ids = encoded(writes, FixedNumbers(symbols, beyond + len(letters)))
        answers = tables.native.score(
            x_begin,
            x,
            y_begin,
            y_ids,
            summed=True,
            **self._reading(),
        )
        return answers, words

    def _links(self, tokens: list[int], word: Symbols) -> list[Link]:
        """The pairs of an alignment, from the left."""
        links = self._tables().links
        backward = self.direction == "backward"
        named: list[Link] = []
        for token in tokens:
            if token >= 0:
                named.append(links[token])
            else:
                letter = word[len(word) + token] if backward else word[-1 - token]
                named.append(((letter,), (letter,) if self.unknown == "copy" else ()))
        return named[::-1] if backward else named

    def _joined(self, tokens: list[int], word: Symbols) -> Any:
        symbols = [symbol for link in self._links(tokens, word) for symbol in link[1]]
        return "".join(symbols) if self.text_output_ else symbols

    def _candidates(self, answers: Any, words: list[Symbols]) -> list[list[Candidate]]:
        offsets, log_p, best, begin, tokens, totals = (part.tolist() for part in answers[:6])
        candidates: list[list[Candidate]] = []
        for w, (first, end) in enumerate(itertools.pairwise(offsets)):
            row: list[Candidate] = []
            for a in range(first, end):
                links = self._links(tokens[begin[a] : begin[a + 1]], words[w])
                symbols = [symbol for link in links for symbol in link[1]]
                row.append(
                    Candidate(
                        "".join(symbols) if self.text_output_ else symbols,
                        math.exp(min(0.0, log_p[a] - totals[w])),
                        log_p[a],
                        Alignment(tuple(links), best[a]),
                    )
                )
            candidates.append(row)
        return candidates

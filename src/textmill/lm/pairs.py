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
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill._native import lm as native
from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError, ModelFileError, warn_caller
from textmill.fst import Alignment, Fst, Link, StringAligner, SymbolTable, parse_alignment
from textmill.lm.ngram import NGramModel
from textmill.model import Estimator, Model, check_choice, check_fitted, check_range, effective_jobs

__all__ = ["Candidate", "OutputAcceptor", "PairModel", "UnalignedPairs"]

Symbols: TypeAlias = str | Sequence[str]

INSERTIONS = ("none", "tokens", "merged")
DIRECTIONS = ("forward", "backward")
UNKNOWN = ("skip", "copy")
_SPECIAL = 3  # words of an n-gram model that are no pairs
_MOST_CELLS = 4_000_000  # letters times symbols of a pair that is scored
_MOST_ARCS = 20_000_000  # of an exact transducer


class UnalignedPairs(UserWarning):
    """Some training pairs have no alignment within the limits; `unaligned_` lists them."""


class Candidate(NamedTuple):
    """An output: its symbols, p(y | x), ln p(x, y) over all alignments, and the best alignment.

    >>> model = PairModel(order=2).fit(["ab", "ba"], ["AB", "BA"])
    >>> best = model.predict_best(["aab"], k=1)[0][0]
    >>> best.output, best.alignment.text()
    ('AAB', 'a:A a:A b:B')
    """

    output: Symbols
    probability: float
    log_probability: float
    alignment: Alignment


class OutputAcceptor(NamedTuple):
    """A deterministic automaton over output symbols: `steps` (state, symbol) to state, from state 0; final states.

    A symbol without a step is refused; symbols that `free` holds may stand anywhere and change nothing.

    >>> OutputAcceptor({(0, "a"): 1, (1, "b"): 0}, frozenset({0})).allows("abab")
    True
    """

    steps: dict[tuple[int, str], int]
    final: frozenset[int]
    free: frozenset[str] = frozenset()

    def allows(self, output: Iterable[str]) -> bool:
        """Whether an output is accepted.

        >>> OutputAcceptor({(0, "a"): 1}, frozenset({1})).allows(["a", "a"])
        False
        """
        state: int | None = 0
        for symbol in output:
            if symbol in self.free:
                continue
            state = self.steps.get((0 if state is None else state, symbol))
            if state is None:
                return False
        return state in self.final

    def backward(self) -> OutputAcceptor:
        """The automaton of the same outputs, read from the right.

        >>> OutputAcceptor({(0, "a"): 1, (1, "b"): 2}, frozenset({2})).backward().allows("ba")
        True
        """
        into: dict[tuple[int, str], set[int]] = {}
        for (state, symbol), after in self.steps.items():
            into.setdefault((after, symbol), set()).add(state)
        alphabet = sorted({symbol for _, symbol in self.steps})
        first = self.final
        numbers: dict[frozenset[int], int] = {first: 0}
        waiting = [first]
        steps: dict[tuple[int, str], int] = {}
        while waiting:
            states = waiting.pop()
            for symbol in alphabet:
                reached = frozenset(itertools.chain.from_iterable(into.get((s, symbol), ()) for s in states))
                if not reached:
                    continue
                if reached not in numbers:
                    numbers[reached] = len(numbers)
                    waiting.append(reached)
                steps[numbers[states], symbol] = numbers[reached]
        return OutputAcceptor(steps, frozenset(n for states, n in numbers.items() if 0 in states), self.free)

    def table(self, symbols: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """What the search takes: the state after each state and symbol, -1 for none, and which states are final.

        >>> OutputAcceptor({(0, "a"): 1}, frozenset({1})).table(["a", "b"])[0].tolist()
        [[1, -1], [-1, -1]]
        """
        states = 1 + max([0, *(s for s, _ in self.steps), *self.steps.values(), *self.final])
        after = np.full((states, len(symbols)), -1, dtype=np.int32)
        for column, symbol in enumerate(symbols):
            if symbol in self.free:
                after[:, column] = np.arange(states)
                continue
            for state in range(states):
                after[state, column] = self.steps.get((state, symbol), -1)
        accept = np.zeros(states, dtype=np.uint8)
        accept[list(self.final)] = 1
        return after, accept


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
        unaligned_: Numbers of the training pairs that have no alignment, and so were not learnt from.
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
            shown = f"{_shown(inputs[first])!r}, {_shown(outputs[first])!r}"
            warn_caller(
                f"{len(self.unaligned_)} of {len(inputs)} pairs have no alignment of units {self.max_input} x "
                f"{self.max_output} and are not learnt from; the first is pair {first + 1}, {shown}",
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
        if errors == "skip":
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # `fit` says it, with an example
                aligner.fit(pairs, errors="skip")
        else:
            aligner.fit(pairs, errors=errors)
        return aligner.align(pairs)

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
        return _machine(ngrams, tables, exact, semiring_name)

    # ---- inside

    def check_values(self) -> None:
        """Check what the declarations cannot say, and build what the search needs."""
        try:
            self._check()
            links = [parse_alignment(word).links for word in self.ngrams_.words_.to_list()[_SPECIAL:]]
        except DataError as fault:
            raise ModelFileError(fault.message) from None
        if any(len(link) != 1 for link in links):
            raise ModelFileError("a word of the n-gram model is no pair")
        self._table = _Tables.of(self.ngrams_, [link[0] for link in links], self.direction == "backward")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_table"}  # built again on use

    def _tables(self) -> _Tables:
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

    def _insertions(self) -> int:
        return self.max_insertions if self.insertions == "tokens" else 0

    def _decode(
        self, X: Iterable[Symbols], k: int, acceptor: OutputAcceptor | None, *, summed: bool = True
    ) -> tuple[Any, list[Symbols]]:
        check_range("k", k, at_least=1, whole=True)
        tables = self._tables()
        words = _words(X)
        if acceptor is None:
            after, accept = np.zeros((0, len(tables.outputs)), dtype=np.int32), np.zeros(0, dtype=np.uint8)
        else:
            after, accept = (acceptor if self.direction == "forward" else acceptor.backward()).table(
                list(tables.outputs)
            )
        read = [word[::-1] for word in words] if self.direction == "backward" else words
        answers = tables.native.decode(
            *_encoded(read, _Growing(tables.inputs)),
            after,
            accept,
            k=k,
            beam=self.beam or 0,
            width=math.inf if self.width is None else float(self.width),
            insertions=self._insertions(),
            copy=self.unknown == "copy",
            summed=summed,
            threads=effective_jobs(self.n_jobs),
        )
        return answers, words

    def _scored(self, X: Iterable[Symbols], y: Iterable[Symbols]) -> tuple[Any, list[Symbols]]:
        tables = self._tables()
        words, outputs = _words(X), _words(y)
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
        letters = _Growing(tables.inputs)
        x_begin, x = _encoded(reads, letters)
        # a symbol that pairs do not write may be a letter that is copied
        beyond = len(tables.outputs)
        symbols = {letter: beyond + number for letter, number in letters.items()} | dict(tables.outputs)
        y_begin, y_ids = _encoded(writes, _Fixed(symbols, beyond + len(letters)))
        answers = tables.native.score(
            x_begin,
            x,
            y_begin,
            y_ids,
            insertions=self._insertions(),
            copy=self.unknown == "copy",
            summed=True,
            threads=effective_jobs(self.n_jobs),
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
        offsets, log_p, best, begin, tokens, totals = (part.tolist() for part in answers)
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


class _Growing(dict[str, int]):
    """Numbers of symbols; new ones get the next."""

    def __missing__(self, symbol: str) -> int:
        self[symbol] = number = len(self)
        return number


class _Fixed(dict[str, int]):
    """Numbers of symbols; one for all others."""

    def __init__(self, numbers: dict[str, int], other: int) -> None:
        super().__init__(numbers)
        self.other = other

    def __missing__(self, symbol: str) -> int:
        return self.other


class _Tables(NamedTuple):
    """What the search needs: pairs, numbers of symbols, the native model."""

    links: list[Link]
    inputs: dict[str, int]
    outputs: dict[str, int]
    native: native.PairNgrams

    @classmethod
    def of(cls, ngrams: NGramModel, links: list[Link], backward: bool) -> _Tables:
        inputs, outputs = _Growing(), _Growing()
        columns: list[Any] = []
        for side, numbers in ((0, inputs), (1, outputs)):
            begin = np.zeros(len(links) + 1, dtype=np.int64)
            np.cumsum([len(link[side]) for link in links], out=begin[1:])
            flat = [numbers[s] for link in links for s in (link[side][::-1] if backward else link[side])]
            columns += [begin, np.array(flat, dtype=np.int32)]
        words = np.arange(_SPECIAL, _SPECIAL + len(links), dtype=np.int32)
        searched = native.PairNgrams(ngrams.table(), *columns, words, np.zeros(len(links)), len(outputs))
        return cls(links, inputs, outputs, searched)


def _machine(ngrams: NGramModel, tables: _Tables, exact: bool, semiring_name: str) -> Fst:
    """The transducer of an n-gram model of pairs; states within pairs of several symbols come last."""
    log_p, log_back_off = (np.log(10.0) * values for values in ngrams.numbers())
    order = len(ngrams.levels_) - 2
    histories = int(ngrams.levels_[order]) if order > 1 else 1
    first = ngrams.children_
    words, suffixes = ngrams.last_words_.tolist(), ngrams.suffixes_.tolist()
    sides = [([tables.inputs[s] + 1 for s in u], [tables.outputs[s] + 1 for s in v]) for u, v in tables.links]
    arcs: list[tuple[int, int, int, float, int]] = []
    finals: dict[int, float] = {}
    states = histories
    below: list[dict[int, tuple[float, int]]] = []  # by history: word to cost and next state

    def write(source: int, word: int, cost: float, target: int) -> None:
        nonlocal states
        steps = list(itertools.zip_longest(*sides[word - _SPECIAL], fillvalue=0))
        for place, (left, right) in enumerate(steps):
            last = place == len(steps) - 1
            arcs.append((source, left, right, cost if place == 0 else 0.0, target if last else states))
            if not last:
                source, states = states, states + 1

    for h in range(histories):
        own: dict[int, tuple[float, int]] = {}
        for node in range(int(first[h]), int(first[h + 1])):
            after = 0 if order == 1 else node if node < histories else suffixes[node]
            own[words[node]] = (-float(log_p[node]), after)
        if h and exact:
            shift = -float(log_back_off[h])
            inherited = {word: (shift + cost, after) for word, (cost, after) in below[suffixes[h]].items()}
            own = inherited | own
        if exact:
            below.append(own)
        elif h:
            arcs.append((h, 0, 0, -float(log_back_off[h]), suffixes[h]))
        for word, (cost, after) in own.items():
            if word == 2:
                finals[h] = cost
            elif word >= _SPECIAL:
                write(h, word, cost, after)
    columns = list(zip(*arcs, strict=True)) if arcs else [()] * 5
    machine = Fst.from_arrays(
        semiring_name,
        start=2 if order > 1 else 0,
        sources=columns[0],
        ilabels=columns[1],
        olabels=columns[2],
        weights=columns[3],
        nextstates=columns[4],
        final_states=list(finals),
        final_weights=list(finals.values()),
        states=states,
    )
    machine.input_symbols, machine.output_symbols = _symbol_table(tables.inputs), _symbol_table(tables.outputs)
    return machine


def _symbol_table(symbols: Iterable[str]) -> SymbolTable:
    names = list(symbols)
    epsilon = "<eps>"
    while epsilon in names:
        epsilon = f"<{epsilon}>"
    return SymbolTable([epsilon, *names])


def _words(X: Iterable[Symbols]) -> list[Symbols]:
    if isinstance(X, str):
        raise DataError(f"X must be a list of inputs, got the text {X[:40]!r}; pass [{X[:40]!r}]")
    words: list[Symbols] = []
    for number, word in enumerate(X, 1):
        side = word if isinstance(word, str | list | tuple) else None
        if side is None or not all(isinstance(symbol, str) and symbol for symbol in side):
            raise DataError(f"input {number} is {_shown(word)!r}, not a string or a list of symbols")
        words.append(side)
    return words


def _encoded(words: Sequence[Symbols], numbers: dict[str, int]) -> tuple[Ints, Ids]:
    begin = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=begin[1:])
    flat = map(numbers.__getitem__, itertools.chain.from_iterable(words))
    return begin, np.fromiter(flat, np.int32, int(begin[-1]))


def _shown(side: Any) -> str:
    text = side if isinstance(side, str) else " ".join(side) if isinstance(side, list | tuple) else repr(side)
    return text if len(text) <= 40 else f"{text[:37]}..."

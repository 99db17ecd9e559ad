"""Back-off n-gram models as machines in little memory.

    for each n-gram a word of log2(V) bits, a cost of 32 bits (or fewer) and two bits
    for each history two costs and two bits

The tree of the histories is a sequence of bits (LOUDS): no pointers are stored, neither to where an n-gram leads nor to
what a history backs off to; both are found by walking the tree (native/fst/succinct_ngram.h). The machine is read-only
and lazy: its states are written out when they are asked for, in a cache of bounded size. A saved one is mapped from its
file, so that processes share it.

Histories that no n-gram continues, that no sentence ends after and whose back-off weight is 1 say nothing and are left
out. Cost: O(n-grams log n-grams) to make, O(order^2 log arcs) for a state. Reference: Sorensen & Allauzen (2011), Unary
data structures for language models.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import fst as native
from textmill.corpus import Arpa
from textmill.errors import DataError, ModelFileError
from textmill.fst.lazy.machine import CACHE, LazyFst
from textmill.fst.ngrams import Histories, marks_of
from textmill.fst.semirings import semiring
from textmill.fst.symbols import SymbolTable
from textmill.model import Model, StringTable, check_choice, check_range

__all__ = ["SuccinctNgrams"]

_LN10 = math.log(10.0)
Bits = NDArray[np.uint64]


class SuccinctNgrams(Model):
    r"""A back-off model in bits; `machine` is the lazy acceptor of its sentences.

    >>> import io
    >>> from textmill.corpus import read_arpa
    >>> head = b"\\data\\\nngram 1=3\nngram 2=1\n\n\\1-grams:\n-99 <s> -0.3\n-0.3 </s>\n-0.3 a -0.2\n\n"
    >>> model = SuccinctNgrams.from_arpa(read_arpa(io.BytesIO(head + b"\\2-grams:\n-0.1 <s> a\n\n\\end\\\n")))
    >>> model.num_states, model.num_arcs, model.phi
    (3, 4, 4)
    >>> model.machine().expand().num_states
    3
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "words": "word: str",
        "word_bits": "word_cell: uint64",
        "degrees": "degree_cell: uint64",
        "inner": "inner_cell: uint64",
        "ending": "ending_cell: uint64",
        "codes": "code_cell: uint64",
        "costs": "cost: float32",
        "back_offs": "state: float32",
        "finals": "final: float32",
    }
    state: ClassVar[dict[str, Any]] = {
        "num_entries": int,
        "num_arcs": int,
        "start": int,
        "begin": int,
        "code_bits": int,
    }

    words: StringTable
    word_bits: Bits
    degrees: Bits
    inner: Bits
    ending: Bits
    codes: Bits
    costs: NDArray[np.float32]
    back_offs: NDArray[np.float32]
    finals: NDArray[np.float32]
    num_entries: int
    num_arcs: int
    start: int
    begin: int
    code_bits: int
    _tree: native.NgramTree | None = None

    @classmethod
    def from_arpa(cls, arpa: Arpa, *, cost_bits: int | None = None, drop_idle: bool = True) -> SuccinctNgrams:
        r"""The machine of a model in plain arrays (`corpus.read_arpa`, `lm.arpa_of`).

        With `cost_bits` (1 to 16) the costs of n-grams are rounded to as many as these bits can tell apart, so that
        equally many n-grams have each; without it they are exact to 32 bits. `drop_idle` leaves out histories that say
        nothing.

        >>> import io
        >>> from textmill.corpus import read_arpa
        >>> text = b"\\data\\\nngram 1=3\n\n\\1-grams:\n-99 <s>\n-0.3 </s>\n-0.3 a\n\n\\end\\\n"
        >>> SuccinctNgrams.from_arpa(read_arpa(io.BytesIO(text)), cost_bits=4).num_states
        1
        """
        if cost_bits is not None:
            check_range("cost_bits", cost_bits, at_least=1, at_most=16)
        begin, end = marks_of(arpa)
        histories = Histories(arpa, begin, end)
        source, word, cost, child = _entries(arpa, histories, end)
        cost[word == begin] = 0.0  # which no arc has
        back_offs, finals = _state_costs(arpa, histories, end)
        busy = np.ones(histories.count, dtype=bool)
        highest = len(arpa.orders) > 1
        start = int(histories.states(np.array([[begin]], dtype=np.int32))[0]) if highest else 0
        if drop_idle:
            busy = np.bincount(source, minlength=histories.count) > 0
            busy |= np.isfinite(finals) | (back_offs != 0)
            busy[[0, start]] = True
        model = cls()
        model.words = arpa.words
        model.num_entries, model.begin = len(source), begin
        number = np.cumsum(busy) - 1
        model.start = int(number[start])
        model.num_arcs = int((word != begin).sum()) + int(busy.sum()) - 1  # all but the first state back off
        ones = np.ones(len(source) + int(busy.sum()), dtype=bool)
        ends = np.cumsum(np.bincount(source, minlength=histories.count)[busy] + 1) - 1
        ones[ends] = False
        model.degrees = _packed_bits(ones)
        model.inner = _packed_bits((child >= 0) & busy[np.maximum(child, 0)])
        model.ending = _packed_bits(np.isfinite(finals[busy]))
        model.word_bits = _packed(word, max(len(arpa.words) - 1, 1).bit_length())
        model.back_offs = back_offs[busy].astype(np.float32)
        model.finals = finals[busy][np.isfinite(finals[busy])].astype(np.float32)
        model.code_bits = cost_bits or 0
        if cost_bits is None:
            model.costs, model.codes = cost.astype(np.float32), np.zeros(0, np.uint64)
        else:
            table, codes = _rounded(cost, cost_bits)
            model.costs, model.codes = table, _packed(codes, cost_bits)
        return model

    @property
    def num_states(self) -> int:
        """Histories."""
        return len(self.back_offs)

    @property
    def phi(self) -> int:
        """The label of the failure arcs of `machine()`."""
        return len(self.words) + 1

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays and of what is computed when they are opened, without the words."""
        arrays = (self.word_bits, self.degrees, self.inner, self.ending, self.codes)
        floats = (self.costs, self.back_offs, self.finals)
        return sum(array.nbytes for array in (*arrays, *floats)) + int(self._opened().memory)

    @property
    def openfst_nbytes(self) -> int:
        """Bytes of a file of OpenFst's type `ngram` for the same states and arcs, computed from its layout.

        Words and costs of 4 bytes for each arc, a word and a back-off cost for each state, final costs, three counts
        and three sequences of bits; what it computes when it is opened is not counted.
        """
        arcs, states = self.num_arcs - self.num_states + 1, self.num_states
        bits = sum((count + 63) // 64 * 8 for count in (2 * states + 1, arcs + states + 1, states))
        return int(24 + bits + 4 * (2 * arcs + 1) + 8 * (states + 1) + 4 * len(self.finals))

    def machine(self, *, back_off: str = "phi", semiring_name: str = "tropical", cache: int | None = CACHE) -> LazyFst:
        r"""The lazy acceptor of sentences, with failure arcs (pass `phi` to `compose`) or with "epsilon" arcs.

        >>> import io
        >>> from textmill.corpus import read_arpa
        >>> text = b"\\data\\\nngram 1=3\n\n\\1-grams:\n-99 <s>\n-0.3 </s>\n-0.3 a\n\n\\end\\\n"
        >>> SuccinctNgrams.from_arpa(read_arpa(io.BytesIO(text))).machine().start
        0
        """
        check_choice("back_off", back_off, ["phi", "epsilon"])
        if cache is not None:
            check_range("cache", cache, at_least=0)
        symbols = SymbolTable(["<eps>", *self.words, "<phi>"])
        machine = self._opened().machine(semiring(semiring_name)._native, back_off == "phi", cache)
        return LazyFst(machine, symbols, symbols)

    def check_values(self) -> None:
        """Refuse bits that are no tree."""
        try:
            self._opened()
        except DataError as fault:
            raise ModelFileError(f"the n-grams do not fit together: {fault.message}", reason="damaged") from None

    def _opened(self) -> native.NgramTree:
        if self._tree is None:
            self._tree = native.NgramTree.of(
                states=self.num_states,
                entries=self.num_entries,
                start=self.start,
                words=len(self.words),
                begin=self.begin,
                word_bits=max(len(self.words) - 1, 1).bit_length(),
                cost_bits=self.code_bits,
                bits=[self.word_bits, self.degrees, self.inner, self.ending, self.codes],
                floats=[self.costs, self.back_offs, self.finals],
            )
        return self._tree

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tree": None}


def _entries(
    arpa: Arpa, histories: Histories, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """History, last word, cost and own state (-1 for none) of the n-grams, sorted by history and word."""
    columns: list[tuple[NDArray[Any], ...]] = []
    for n, order in enumerate(arpa.orders, 1):
        rows = order.words
        inner = rows[:, -1] != end
        source = histories.states(rows[inner][:, :-1], exact=True)
        if (missing := np.flatnonzero(source < 0)).size:
            named = " ".join(arpa.words[int(w)] for w in rows[inner][missing[0]])
            raise DataError(f"the n-gram '{named}' has no entry for its context; write the model again")
        highest = n == len(arpa.orders)
        child = np.full(len(source), -1) if highest else histories.states(rows[inner], exact=True)
        columns.append((source, rows[inner][:, -1].astype(np.int64), -order.log_probability[inner] * _LN10, child))
    source, word, cost, child = (np.concatenate(column) for column in zip(*columns, strict=True))
    sorting = np.lexsort((word, source))
    return source[sorting], word[sorting], cost[sorting], child[sorting]


def _state_costs(arpa: Arpa, histories: Histories, end: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """-ln of the back-off weights and of the probabilities of the end, infinite where there is none, by history."""
    back_offs = np.zeros(histories.count)
    finals = np.full(histories.count, np.inf)
    for n, order in enumerate(arpa.orders, 1):
        ends = order.words[:, -1] == end
        finals[histories.states(order.words[ends][:, :-1], exact=True)] = -order.log_probability[ends] * _LN10
        if n < len(arpa.orders):
            own = histories.states(order.words, exact=True)
            back_offs[own[own >= 0]] = -order.back_off[own >= 0] * _LN10
    return back_offs, finals


def _packed_bits(bits: NDArray[np.bool_]) -> Bits:
    """One bit for each, the lowest first, in whole words of 64."""
    cells = np.packbits(bits, bitorder="little")
    padded = np.zeros((len(bits) + 63) // 64 * 8, dtype=np.uint8)
    padded[: len(cells)] = cells
    return padded.view(np.uint64)


def _packed(values: NDArray[np.int64], width: int) -> Bits:
    """Numbers of `width` bits side by side, with a word behind them."""
    bits = (values[:, None] >> np.arange(width)) & 1
    cells = _packed_bits(bits.astype(bool).ravel())
    return np.concatenate([cells, np.zeros(1, dtype=np.uint64)])


def _rounded(costs: NDArray[np.float64], bits: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """A table of 2^bits costs, and the nearest of it for each: means of equally large groups of sorted costs."""
    size = 1 << bits
    finite = np.sort(costs[np.isfinite(costs)]) if costs.size else np.zeros(1)
    table = np.array([group.mean() if len(group) else finite[-1] for group in np.array_split(finite, size)])
    table = table.astype(np.float32)
    middles = (table[1:].astype(np.float64) + table[:-1]) / 2
    return table, np.searchsorted(middles, costs)

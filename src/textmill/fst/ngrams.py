"""Back-off n-gram models as machines.

    a state for each history h        w/-ln p(w|h)      to the longest history that h w ends with
                                      phi/-ln alpha(h)  to h without its first word
                                      final weight      -ln p(</s>|h)

With `back_off="phi"` the arc is a failure arc, followed only where a word has no arc of its own: exact in every
semiring (pass `phi` to `compose`). With "epsilon" it can always be followed: a word that was seen is then counted
again at lower orders, so sums overcount, and the best path may be one that the model does not have. "expanded"
writes out every word at every state: exact without a special label, at states x words arcs.

Cost: O(n-grams log n-grams). Reference: Allauzen, Mohri & Roark (2003), Generalized algorithms for constructing
statistical language models.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.corpus import Arpa
from textmill.errors import DataError
from textmill.fst.machine import Fst
from textmill.fst.symbols import SymbolTable
from textmill.model import check_choice

__all__ = ["Histories", "NGramMachine", "marks_of", "ngram_machine"]

_BEGIN, _END, _PHI = "<s>", "</s>", "<phi>"
_MOST_ARCS = 50_000_000
_LN10 = math.log(10.0)


class NGramMachine(NamedTuple):
    """The acceptor of sentences, and the label of its failure arcs; None if it has none."""

    fst: Fst
    phi: int | None


def ngram_machine(arpa: Arpa, *, back_off: str = "phi", semiring_name: str = "tropical") -> NGramMachine:
    r"""The acceptor of a back-off model in plain arrays (`corpus.read_arpa`, `lm.arpa_of`).

    Its symbols are the words, between <eps> and <phi>; sentences come without <s> and </s>.

    >>> import io
    >>> from textmill.corpus import read_arpa
    >>> head = b"\\data\\\nngram 1=3\nngram 2=1\n\n\\1-grams:\n-99 <s> -0.3\n-0.3 </s>\n-0.3 a -0.2\n\n"
    >>> machine, phi = ngram_machine(read_arpa(io.BytesIO(head + b"\\2-grams:\n-0.1 <s> a\n\n\\end\\\n")))
    >>> machine.num_states, phi
    (3, 4)
    """
    check_choice("back_off", back_off, ["phi", "epsilon", "expanded"])
    words = list(arpa.words)
    begin, end = marks_of(arpa)
    symbols = SymbolTable(["<eps>", *words, _PHI])
    phi = len(words) + 1
    histories = Histories(arpa, begin, end)
    columns = _Columns()
    for n, order in enumerate(arpa.orders, 1):
        rows = order.words
        costs = -order.log_probability * _LN10
        sources = histories.states(rows[:, :-1], exact=True)
        if (missing := np.flatnonzero(sources < 0)).size:
            named = " ".join(words[int(w)] for w in rows[missing[0]])
            raise DataError(f"the n-gram '{named}' has no entry for its context; write the model again")
        last = rows[:, -1]
        is_end, is_begin = last == end, last == begin
        inner = ~is_end & ~is_begin
        targets = histories.states(rows[inner][:, -(len(arpa.orders) - 1) :] if len(arpa.orders) > 1 else rows[:0, :0])
        if len(arpa.orders) == 1:
            targets = np.zeros(int(inner.sum()), dtype=np.int64)
        columns.add(sources[inner], last[inner] + 1, costs[inner], targets)
        columns.finals.append((sources[is_end], costs[is_end]))
        if n < len(arpa.orders):
            longer = histories.states(rows, exact=True)
            has_state = longer >= 0
            shorter = histories.states(rows[has_state][:, 1:])
            columns.back_offs.append((longer[has_state], shorter, -order.back_off[has_state] * _LN10))
    start = int(histories.states(np.array([[begin]], dtype=np.int32))[0]) if len(arpa.orders) > 1 else 0
    if back_off == "expanded":
        return NGramMachine(_expanded(columns, histories.count, start, symbols, semiring_name), None)
    return NGramMachine(
        columns.machine(histories.count, start, phi if back_off == "phi" else 0, symbols, semiring_name),
        phi if back_off == "phi" else None,
    )


def marks_of(arpa: Arpa) -> tuple[int, int]:
    r"""The numbers of <s> and </s> among the words of a model.

    >>> import io
    >>> from textmill.corpus import read_arpa
    >>> marks_of(read_arpa(io.BytesIO(b"\\data\\\nngram 1=2\n\n\\1-grams:\n-99 <s>\n-0.3 </s>\n\n\\end\\\n")))
    (0, 1)
    """
    if not arpa.orders:
        raise DataError("the model has no n-grams")
    words = list(arpa.words)
    try:
        return words.index(_BEGIN), words.index(_END)
    except ValueError:
        raise DataError("the model has no <s> or no </s> among its 1-grams; write it again with both") from None


class Histories:
    """Numbers of histories: 0 the empty one, then those of length 1, 2, ... that are n-grams of the model."""

    def __init__(self, arpa: Arpa, begin: int, end: int) -> None:
        self.vocabulary = len(arpa.words)
        self.codes: list[NDArray[np.int64]] = []  # of each length: number of the history before x V + word, sorted
        self.firsts = [0, 1]
        for order in arpa.orders[:-1]:
            rows = order.words[order.words[:, -1] != end]
            codes = self._code(rows)
            if len(codes) and codes.min() < 0:
                raise DataError("an n-gram has no entry for its context; write the model again")
            self.codes.append(np.unique(codes))
            self.firsts.append(self.firsts[-1] + len(self.codes[-1]))
        self.count = self.firsts[-1]

    def _code(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        before = self.states(rows[:, :-1], exact=True)
        return np.where(before < 0, -1, before * self.vocabulary + rows[:, -1])

    def states(self, rows: NDArray[np.int32], *, exact: bool = False) -> NDArray[np.int64]:
        """The state of each history, or of the longest that it ends with; with `exact` -1 where there is none."""
        length = rows.shape[1]
        states = np.full(len(rows), -1, dtype=np.int64)
        for skipped in range(1 if exact else length + 1):
            open_rows = np.flatnonzero(states < 0)
            if not open_rows.size:
                break
            reached = np.zeros(len(open_rows), dtype=np.int64)
            for n in range(length - skipped):
                word = rows[open_rows, skipped + n]
                reached = self._next(reached, word, n)
            states[open_rows] = reached
        return states

    def _next(self, states: NDArray[np.int64], words: NDArray[np.int32], length: int) -> NDArray[np.int64]:
        """The states of histories of some length with one more word; -1 where there is none."""
        if length >= len(self.codes):
            return np.full(len(states), -1, dtype=np.int64)
        codes = self.codes[length]
        wanted = states * self.vocabulary + words
        at = np.searchsorted(codes, wanted)
        at_most = np.minimum(at, max(len(codes) - 1, 0))
        there = (states >= 0) & (at < len(codes)) & ((codes[at_most] == wanted) if len(codes) else False)
        return np.where(there, self.firsts[length + 1] + at, -1)


class _Columns:
    """Arcs, final weights and back-off arcs as they are collected."""

    def __init__(self) -> None:
        self.arcs: list[tuple[NDArray[np.int64], ...]] = []
        self.costs: list[NDArray[np.float64]] = []
        self.finals: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        self.back_offs: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []

    def add(
        self,
        sources: NDArray[np.int64],
        labels: NDArray[np.int32],
        costs: NDArray[np.float64],
        targets: NDArray[np.int64],
    ) -> None:
        self.arcs.append((sources, labels.astype(np.int64), targets))
        self.costs.append(costs)

    def machine(self, states: int, start: int, label: int, symbols: SymbolTable, semiring_name: str) -> Fst:
        sources = [arcs[0] for arcs in self.arcs] + [back[0] for back in self.back_offs]
        labels = [arcs[1] for arcs in self.arcs] + [np.full(len(back[0]), label) for back in self.back_offs]
        targets = [arcs[2] for arcs in self.arcs] + [back[1] for back in self.back_offs]
        costs = self.costs + [back[2] for back in self.back_offs]
        source, name = np.concatenate(sources), np.concatenate(labels)
        order = np.lexsort((name, source))
        machine = Fst.from_arrays(
            semiring_name,
            start=start,
            sources=source[order],
            ilabels=name[order],
            olabels=name[order],
            nextstates=np.concatenate(targets)[order],
            weights=np.concatenate(costs)[order],
            final_states=np.concatenate([final[0] for final in self.finals]),
            final_weights=np.concatenate([final[1] for final in self.finals]),
            states=states,
        )
        machine.input_symbols = machine.output_symbols = symbols
        return machine


def _expanded(columns: _Columns, states: int, start: int, symbols: SymbolTable, semiring_name: str) -> Fst:
    """Every word at every state, by the arc of the longest history that has it, with the back-off weights in front."""
    own: list[dict[int, tuple[float, int]]] = [{} for _ in range(states)]
    for (sources, labels, targets), costs in zip(columns.arcs, columns.costs, strict=True):
        for row in zip(sources.tolist(), labels.tolist(), targets.tolist(), costs.tolist(), strict=True):
            own[row[0]][row[1]] = (row[3], row[2])
    finals = {
        state: cost for at, costs in columns.finals for state, cost in zip(at.tolist(), costs.tolist(), strict=True)
    }
    for at, shorter, costs in columns.back_offs:  # from short histories to long ones, so the shorter are complete
        for state, lower, cost in zip(at.tolist(), shorter.tolist(), costs.tolist(), strict=True):
            if sum(map(len, (own[state], own[lower]))) > _MOST_ARCS:
                raise DataError("the machine would have too many arcs; take back_off='phi'")
            merged = {label: (weight + cost, target) for label, (weight, target) in own[lower].items()}
            own[state] = merged | own[state]
            if lower in finals:
                finals.setdefault(state, finals[lower] + cost)
    machine = Fst(semiring_name, input_symbols=symbols, output_symbols=symbols)
    machine.add_states(states)
    machine.start = start
    for state, arcs in enumerate(own):
        for label in sorted(arcs):
            machine.add_arc(state, label, label, arcs[label][0], arcs[label][1])
        if state in finals:
            machine.set_final(state, finals[state])
    return machine

"""Pair models as transducers: a state for each history, paths for x and y are the alignments."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from textmill.fst import Fst, SymbolTable
from textmill.lm.ngram import NGramModel
from textmill.lm.pair_tables import SPECIAL, PairTables

__all__ = ["pair_machine"]


def pair_machine(ngrams: NGramModel, tables: PairTables, exact: bool, semiring_name: str) -> Fst:
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
        steps = list(itertools.zip_longest(*sides[word - SPECIAL], fillvalue=0))
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
            elif word >= SPECIAL:
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

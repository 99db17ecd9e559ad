"""Weighted relations by enumeration of paths, straight from the definitions, random machines, back-off models."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from typing import Any

from textmill.corpus.arpa import Arpa
from textmill.fst import Arc, Fst, Semiring, semiring

Relation = dict[tuple[tuple[int, ...], tuple[int, ...]], Any]


def arc_paths(fst: Fst, longest: int = 30) -> Iterator[tuple[tuple[Arc, ...], Any]]:
    """The arcs and the final weight of every path of at most `longest` arcs."""
    zero = fst.semiring.zero
    rows = [fst.arcs(state) for state in range(fst.num_states)]
    finals = [fst.final(state) for state in range(fst.num_states)]
    stack: list[tuple[int, tuple[Arc, ...]]] = [(fst.start, ())] if fst.start >= 0 else []
    while stack:
        state, arcs = stack.pop()
        if finals[state] != zero:
            yield arcs, finals[state]
        if len(arcs) < longest:
            stack += [(arc.nextstate, (*arcs, arc)) for arc in reversed(rows[state])]


def paths(fst: Fst, longest: int = 30) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], Any]]:
    """Input, output and weight of every path of at most `longest` arcs."""
    times, one = fst.semiring.times, fst.semiring.one
    for arcs, final in arc_paths(fst, longest):
        weight = one
        for arc in arcs:
            weight = times(weight, arc.weight)
        yield (
            tuple(arc.ilabel for arc in arcs if arc.ilabel),
            tuple(arc.olabel for arc in arcs if arc.olabel),
            times(weight, final),
        )


def relation(fst: Fst, longest: int = 30) -> Relation:
    """The weight of every pair of strings: plus over its paths."""
    return joined(fst.semiring, (((inputs, outputs), weight) for inputs, outputs, weight in paths(fst, longest)))


def joined(algebra: Semiring, pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """The sums of the weights of equal keys, without those that are zero."""
    found: dict[Any, Any] = {}
    for key, weight in pairs:
        found[key] = algebra.plus(found[key], weight) if key in found else weight
    return {key: weight for key, weight in found.items() if weight != algebra.zero}


def same(a: Relation, b: Relation, algebra: Semiring, delta: float = 1e-4) -> bool:
    """Do two relations hold the same pairs with the same weights?"""
    return a.keys() == b.keys() and all(algebra.approx_equal(a[pair], b[pair], delta) for pair in a)


def random_weight(name: str, dice: random.Random) -> Any:
    """A weight that is neither zero nor special, with ties."""
    step = dice.randint(0, 6)
    match name:
        case "tropical" | "tropical64" | "log" | "log64" | "minmax":
            return step / 4
        case "real":
            return (step + 1) / 8
        case "boolean":
            return True
        case "signed_log":
            return (dice.choice((-1.0, 1.0)), step / 4)
        case "left_string" | "right_string":
            return tuple(dice.randint(1, 2) for _ in range(dice.randint(0, 2)))
        case "gallic_left(tropical)" | "gallic_right(tropical)" | "gallic_min(tropical)":
            return (tuple(dice.randint(1, 2) for _ in range(dice.randint(0, 2))), step / 4)
        case "gallic(tropical)":
            return ((tuple(dice.randint(1, 2) for _ in range(dice.randint(0, 2))), step / 4),)
        case "product(tropical,log64)":
            return (step / 4, dice.randint(0, 6) / 4)
        case "lexicographic(tropical,tropical)":
            return (step / 4, dice.randint(0, 6) / 4)
        case "power(real,2)" | "expectation(real,1)":
            return ((step + 1) / 8, dice.randint(0, 4) / 8)
        case "intersect_union_set" | "union_intersect_set":
            return frozenset(dice.sample(range(1, 5), dice.randint(0, 3))) if dice.random() < 0.9 else ...
        case "boolean_set":
            return frozenset() if dice.random() < 0.5 else ...
        case "union(tropical)":
            return frozenset(dice.randint(0, 6) / 4 for _ in range(dice.randint(1, 3)))
        case "sparse_power(real)":
            keys = sorted(dice.sample(range(-3, 9), dice.randint(0, 3)))
            return ((step + 1) / 8, tuple((key, (dice.randint(8, 20)) / 8) for key in keys))
    return step + 1  # a custom semiring of counts


def random_fst(
    dice: random.Random,
    algebra: str | Semiring = "tropical",
    *,
    states: int = 5,
    arcs: int = 8,
    labels: int = 2,
    epsilon: float = 0.2,
    input_epsilon: float | None = None,
    acceptor: bool = False,
    cyclic: bool = False,
) -> Fst:
    """A small machine: arcs lead forward unless cyclic, the last state is final, another one perhaps."""
    fst = Fst(semiring(algebra) if isinstance(algebra, str) else algebra)
    name = fst.semiring.name
    fst.add_states(states)
    fst.start = 0
    for _ in range(dice.randint(arcs // 2, arcs)):
        source, target = dice.randrange(states), dice.randrange(states)
        if not cyclic:
            if source == target:
                continue
            source, target = min(source, target), max(source, target)
        ilabel = 0 if dice.random() < (epsilon if input_epsilon is None else input_epsilon) else dice.randint(1, labels)
        olabel = ilabel if acceptor else 0 if dice.random() < epsilon else dice.randint(1, labels)
        fst.add_arc(source, ilabel, olabel, random_weight(name, dice), target)
    fst.set_final(states - 1, random_weight(name, dice))
    if dice.random() < 0.5:
        fst.set_final(dice.randrange(states), random_weight(name, dice))
    return fst


def tables_of(model: Arpa) -> tuple[dict[tuple[int, ...], float], dict[tuple[int, ...], float]]:
    """Natural logarithms of the probabilities and of the back-off weights of all n-grams, by their word ids."""
    known, back_off = {}, {}
    for order in model.orders:
        for words, p, b in zip(order.words.tolist(), order.log_probability, order.back_off, strict=True):
            known[tuple(words)] = float(p) * math.log(10)
            back_off[tuple(words)] = float(b) * math.log(10)
    return known, back_off


def arpa_score(model: Arpa, sentence: list[int], begin: int, end: int) -> float:
    """ln p of a sentence: each n-gram if it is listed, else the back-off weight of its history and a shorter one."""
    known, back_off = tables_of(model)
    most = len(model.orders) - 1
    total, history = 0.0, (begin,)
    for word in [*sentence, end]:
        context = history[-most:] if most else ()
        while (*context, word) not in known:
            total += back_off.get(context, 0.0)
            context = context[1:]
        total += known[*context, word]
        history = (*history, word)
    return total


def backoff_acceptor(model: Arpa, begin: int, end: int, phi: int, name: str = "log64") -> Fst:
    """A state a history, an arc a listed n-gram, a phi arc to the shorter history; labels are word ids + 1."""
    known, back_off = tables_of(model)
    most = len(model.orders) - 1
    histories = [(), *(words for words in known if len(words) <= most and words[-1] != end)]
    state = {history: i for i, history in enumerate(histories)}
    fst = Fst(name)
    fst.add_states(len(histories))
    fst.start = state[(begin,)] if most else 0
    for words, p in known.items():
        history, word = words[:-1], words[-1]
        if history not in state or word == begin:
            continue
        if word == end:
            fst.set_final(state[history], -p)
            continue
        target = words[-most:] if most else ()
        while target not in state:
            target = target[1:]
        fst.add_arc(state[history], word + 1, word + 1, -p, state[target])
    for history, s in state.items():
        if history:
            shorter = history[1:]
            while shorter not in state:
                shorter = shorter[1:]
            fst.add_arc(s, phi, phi, -back_off[history], state[shorter])
    return fst


def residuals(words: set[tuple[int, ...]]) -> int:
    """How many different sets of endings the beginnings of some words have: states of the smallest acceptor."""
    beginnings = {word[:i] for word in words for i in range(len(word) + 1)}
    return len({frozenset(w[len(b) :] for w in words if w[: len(b)] == b) for b in beginnings})

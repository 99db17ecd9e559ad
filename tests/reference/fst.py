"""Weighted relations by enumeration of paths, straight from the definitions, and random machines."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from textmill.fst import Fst, Semiring, semiring

Relation = dict[tuple[tuple[int, ...], tuple[int, ...]], Any]


def paths(fst: Fst, longest: int = 30) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], Any]]:
    """Input, output and weight of every path of at most `longest` arcs."""
    algebra = fst.semiring
    zero = algebra.zero

    def follow(state: int, inputs: tuple[int, ...], outputs: tuple[int, ...], weight: Any, left: int) -> Iterator[Any]:
        final = fst.final(state)
        if final != zero:
            yield inputs, outputs, algebra.times(weight, final)
        if left:
            for arc in fst.arcs(state):
                yield from follow(
                    arc.nextstate,
                    inputs + (arc.ilabel,) * (arc.ilabel != 0),
                    outputs + (arc.olabel,) * (arc.olabel != 0),
                    algebra.times(weight, arc.weight),
                    left - 1,
                )

    if fst.start >= 0:
        yield from follow(fst.start, (), (), algebra.one, longest)


def relation(fst: Fst, longest: int = 30) -> Relation:
    """The weight of every pair of strings: plus over its paths."""
    algebra = fst.semiring
    found: Relation = {}
    for inputs, outputs, weight in paths(fst, longest):
        pair = (inputs, outputs)
        found[pair] = algebra.plus(found[pair], weight) if pair in found else weight
    return {pair: weight for pair, weight in found.items() if weight != algebra.zero}


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

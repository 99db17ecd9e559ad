"""Balanced paths of push-down machines by enumeration, and random machines with parentheses."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from reference.fst import joined

from textmill.fst import Arc, Fst, PushdownFst, semiring


def balanced_paths(pushdown: PushdownFst, longest: int) -> Iterator[tuple[tuple[Arc, ...], Any]]:
    """The arcs and the final weight of every balanced path of at most `longest` arcs."""
    fst, zero = pushdown.fst, pushdown.fst.semiring.zero
    kinds = {}
    for number, (opening, closing) in enumerate(pushdown.parentheses):
        stack = pushdown.stacks[number] - 1 if pushdown.stacks else 0
        kinds[opening], kinds[closing] = (stack, number, True), (stack, number, False)
    count = max(pushdown.stacks, default=1)
    line: list[tuple[int, tuple[tuple[int, ...], ...], tuple[Arc, ...]]] = []
    if fst.start >= 0:
        line.append((fst.start, ((),) * count, ()))
    while line:
        state, stacks, arcs = line.pop()
        if fst.final(state) != zero and not any(stacks):
            yield arcs, fst.final(state)
        if len(arcs) == longest:
            continue
        for arc in fst.arcs(state):
            after = list(stacks)
            if arc.ilabel in kinds:
                stack, number, opens = kinds[arc.ilabel]
                if pushdown.restriction == ("write" if opens else "read") and any(stacks[:stack]):
                    continue
                if opens:
                    after[stack] = (*after[stack], number)
                elif after[stack][-1:] == (number,):
                    after[stack] = after[stack][:-1]
                else:
                    continue
            line.append((arc.nextstate, tuple(after), (*arcs, arc)))


def balanced_relation(pushdown: PushdownFst, longest: int, *, keep: bool = False) -> dict[Any, Any]:
    """The weight of every pair of strings: plus over its balanced paths."""
    algebra = pushdown.fst.semiring
    silent = set() if keep else {label for pair in pushdown.parentheses for label in pair}

    def pairs() -> Iterator[tuple[Any, Any]]:
        for arcs, final in balanced_paths(pushdown, longest):
            weight = algebra.one
            for arc in arcs:
                weight = algebra.times(weight, arc.weight)
            strings = [
                tuple(label for label in labels if label and label not in silent)
                for labels in ([arc.ilabel for arc in arcs], [arc.olabel for arc in arcs])
            ]
            yield tuple(strings), algebra.times(weight, final)

    return joined(algebra, pairs())


def random_pushdown(
    dice: random.Random,
    name: str = "tropical",
    *,
    states: int = 5,
    arcs: int = 9,
    acyclic: bool = True,
    stacks: int = 1,
    restriction: str = "none",
    least: int = 0,
) -> PushdownFst:
    """A machine with two or more pairs of parentheses on about half of its arcs; no path has no end if `acyclic`."""
    fst = Fst(name)
    fst.add_states(states)
    fst.start = 0
    pairs = [(11 + 2 * i, 12 + 2 * i) for i in range(max(2, stacks))]
    algebra = semiring(name)
    for _ in range(arcs):
        source, target = dice.randrange(states), dice.randrange(states)
        if acyclic:
            source, target = sorted((source, target))
            if source == target:
                continue
        if dice.random() < 0.6:
            ilabel = olabel = dice.choice(dice.choice(pairs))
        else:
            ilabel, olabel = dice.randrange(3), dice.randrange(3)
        weight = dice.randint(least, 6) / 2 if name != "boolean" else None
        fst.add_arc(source, ilabel, olabel, weight, target)
    for state in range(states):
        if dice.random() < 0.4 or state == states - 1:
            fst.set_final(state, dice.randint(0, 4) / 2 if name != "boolean" else algebra.one)
    numbers = [1 + i % stacks for i in range(len(pairs))] if stacks > 1 else []
    return PushdownFst(fst, pairs, numbers, restriction)

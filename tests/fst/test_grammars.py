"""Grammars of machines that call one another: order, circles, tidying up; what they mean does not change."""

from __future__ import annotations

import random

import pytest
from reference.fst import random_fst, relation, same

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.fst import Fst


def grammar(dice: random.Random, cyclic: bool = False) -> dict[int, Fst]:
    """Five machines with labels 11 to 15; each may call those behind it, or any."""
    machines = {}
    for label in range(11, 16):
        others = list(range(11, 16)) if cyclic else list(range(label + 1, 16))
        fst = random_fst(dice, arcs=5, states=4, labels=3)

        def call(source: int, arc: wfst.Arc, others: list[int] = others) -> wfst.Arc:
            return arc._replace(olabel=dice.choice(others)) if others and dice.random() < 0.3 else arc

        machines[label] = wfst.map_arcs(fst, call)
    return machines


def edges(machines: dict[int, Fst]) -> dict[int, set[int]]:
    return {label: {arc.olabel for _, arc in fst.iter_arcs()} & machines.keys() for label, fst in machines.items()}


def reached(machines: dict[int, Fst]) -> dict[int, set[int]]:
    """Labels reached by one call or more."""
    direct = edges(machines)
    found = {label: set(row) for label, row in direct.items()}
    for _ in machines:
        for label in machines:
            found[label] = found[label].union(*(found[other] for other in found[label]))
    return found


def test_calls_and_circles_are_found() -> None:
    dice = random.Random(1)
    for _ in range(150):
        machines = grammar(dice, cyclic=True)
        assert {label: set(row) for label, row in wfst.calls(machines).items()} == edges(machines)
        reach = reached(machines)
        circles = {label for label in machines if label in reach[label]}
        cycle = wfst.call_cycle(machines)
        assert bool(cycle) == bool(circles)
        assert all(set(cycle) <= reach[label] for label in cycle)
        needed = {11} | reach[11]
        if circles & needed:
            assert set(wfst.call_cycle(machines, 11)) <= needed
            with pytest.raises(DataError, match="in a circle"):
                wfst.call_order(machines, 11)
        else:
            order = wfst.call_order(machines, 11)
            assert set(order) == needed
            assert all(order.index(other) < order.index(label) for label in order for other in edges(machines)[label])


def test_tidied_and_inlined_grammars_mean_the_same() -> None:
    dice = random.Random(2)
    for _ in range(150):
        machines = grammar(dice)
        expected = relation(wfst.replace(machines, 11))
        kept = wfst.connect_calls(machines, 11)
        assert same(relation(wfst.replace(kept, 11)), expected, kept[11].semiring)
        assert all(fst.start >= 0 for label, fst in kept.items() if label != 11)
        for options in ({"max_states": 3}, {"max_arcs": 3}, {"max_uses": 1}, {"max_uses": 99}):
            flat = wfst.inline_calls(machines, 11, **options)
            assert same(relation(wfst.replace(flat, 11)), expected, flat[11].semiring)
        assert list(flat) == [11]


def test_machines_that_call_themselves_stay() -> None:
    dice = random.Random(3)
    for _ in range(50):
        machines = grammar(dice, cyclic=True)
        reach = reached(machines)
        flat = wfst.inline_calls(machines, 11, max_uses=99)
        assert set(flat) >= {label for label in machines if label in reach[label]} | {11}
        for label, row in edges(flat).items():
            assert all(other in reach[other] or other == 11 for other in row), label


def test_a_root_that_is_not_there_is_named() -> None:
    for call in (wfst.call_order, wfst.connect_calls, wfst.inline_calls):
        with pytest.raises(DataError, match="root label 7"):
            call({5: wfst.accep("a")}, 7)

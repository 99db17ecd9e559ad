"""Composition with failure arcs, against its definition: arc for arc, in the same order."""

from __future__ import annotations

import random

import pytest

import textmill.fst as wfst
from textmill.fst import Fst, lazy

PHI = 100_000
ROUNDS = [pytest.param(60, id="60"), pytest.param(4000, id="4000", marks=pytest.mark.slow)]
Arc = tuple[int, int, float, int]


def failing(b: Fst, state: int, label: int) -> list[Arc]:
    """What is read at a state: its own arcs with the label, or those behind its phi arc at that weight."""
    arcs = [(arc.olabel, arc.weight, arc.nextstate) for arc in b.arcs(state) if arc.ilabel == label]
    if arcs:
        return [(label, olabel, weight, target) for olabel, weight, target in arcs]
    for arc in b.arcs(state):
        if arc.ilabel == PHI:
            behind = failing(b, arc.nextstate, label)
            return [(label, olabel, arc.weight + weight, target) for _, olabel, weight, target in behind]
    return []


def ending(b: Fst, state: int) -> float:
    """The final weight of a state, or of the first one behind its phi arcs that has one."""
    if b.final(state) != b.semiring.zero:
        return float(b.final(state))
    weights = [arc.weight + ending(b, arc.nextstate) for arc in b.arcs(state) if arc.ilabel == PHI]
    return weights[0] if weights else float("inf")


def composed(a: Fst, b: Fst) -> list[tuple[float, list[Arc]]]:
    """Final weight and arcs of every state; states in the order in which they are first led to."""
    numbers = {(a.start, b.start): 0}
    line = [(a.start, b.start)]
    rows = []
    for p, q in line:  # grows
        arcs = []
        for silent in (True, False):
            for x in a.arcs(p):
                if (x.olabel == 0) != silent or x.olabel == PHI:
                    continue
                targets = [(0, 0, 0.0, q)] if silent else failing(b, q, x.olabel)
                for _, olabel, weight, target in targets:
                    pair = (x.nextstate, target)
                    if pair not in numbers:
                        numbers[pair] = len(line)
                        line.append(pair)
                    arcs.append((x.ilabel, olabel, x.weight + weight, numbers[pair]))
        rows.append((float(a.final(p)) + ending(b, q), arcs))
    return rows


def rows_of(fst: Fst) -> list[tuple[float, list[Arc]]]:
    return [
        (float(fst.final(s)), [(arc.ilabel, arc.olabel, arc.weight, arc.nextstate) for arc in fst.arcs(s)])
        for s in range(fst.num_states)
    ]


def random_lattice(dice: random.Random, labels: int) -> Fst:
    """Arcs in any order, some silent, some with one label or with that of phi, some states with very many."""
    fst = Fst("tropical64")
    states = dice.choice([2, 5, 30, 90])
    fst.add_states(states)
    fst.start = 0
    for s in range(states):
        for _ in range(dice.choice([0, 1, 2, 3, 12])):
            label = dice.choice([0, PHI, *range(1, labels + 1), *range(1, labels + 1)])
            weight = dice.randint(0, 8) / 4
            fst.add_arc(s, dice.randint(0, 9), label, weight, min(s + dice.randint(1, 3), states - 1))
        if dice.random() < 0.3 or s == states - 1:
            fst.set_final(s, dice.randint(0, 4) / 4)
    return fst


def random_model(dice: random.Random, labels: int) -> Fst:
    """States that fall back on ones before them; not deterministic; some wide, as the shortest history is."""
    fst = Fst("tropical64")
    states = dice.choice([1, 2, 7, 30])
    fst.add_states(states)
    fst.start = dice.randrange(states)
    grounds = dice.choice([1, 1, 3])
    for s in range(states):
        arcs = dice.choice([0, 1, 3, 400 if s < 2 and labels > 100 else 5])
        for _ in range(arcs):
            label = dice.randint(1, labels)
            fst.add_arc(s, label, dice.randint(0, 9), dice.randint(0, 8) / 4, dice.randrange(states))
        if s >= grounds:
            fst.add_arc(s, PHI, PHI, dice.randint(0, 8) / 4, dice.randrange(s))
        if dice.random() < 0.4:
            fst.set_final(s, dice.randint(0, 4) / 4)
    return wfst.arcsort(fst)


@pytest.mark.parametrize("count", ROUNDS)
def test_phi_composition_is_its_definition_arc_for_arc(count: int) -> None:
    dice = random.Random(8)
    for _ in range(count):
        labels = dice.choice([3, 12, 300])
        lattice, model = random_lattice(dice, labels), random_model(dice, labels)
        expected = composed(lattice, model)
        whole = wfst.compose(lattice, model, phi=PHI, connect=False)
        assert rows_of(whole) == expected
        left = wfst.compose(wfst.invert(model), wfst.invert(lattice), phi=PHI, special="left")
        assert rows_of(wfst.invert(left)) == rows_of(wfst.connect(whole))
        on_demand = lazy.compose(lattice, model, right=lazy.Matcher(phi=PHI)).expand()
        assert rows_of(on_demand) == expected


def test_a_state_with_very_many_arcs_is_looked_up_in_the_same_way() -> None:
    dice = random.Random(3)
    lattice = Fst("tropical64")
    lattice.add_states(3)
    lattice.start = 0
    lattice.set_final(2)
    for s in range(2):
        for label in dice.sample(range(1, 9001), 5000):  # more than a row that is kept, in any order
            lattice.add_arc(s, label, label, 0.5, s + 1)
    model = Fst("tropical64")
    model.add_states(3)
    model.start = 2
    for label in range(1, 9001, 2):
        model.add_arc(0, label, label, 1.0, dice.choice([1, 2]))
    for s in (1, 2):
        model.add_arc(s, 7 + s, 7 + s, 0.25, 0)
        model.add_arc(s, PHI, PHI, 2.0, 0)
    model.set_final(0)
    model = wfst.arcsort(model)
    assert rows_of(wfst.compose(lattice, model, phi=PHI, connect=False)) == composed(lattice, model)

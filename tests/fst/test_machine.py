"""Machines: building, changing, iterating, views, copies, properties."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from reference.fst import random_fst

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.fst import Arc, Fst


def test_edits_in_any_order_give_what_a_plain_list_gives() -> None:
    """The stretches of the arc array grow, move and are compacted; a list of lists is the witness."""
    dice = random.Random(2)
    for _ in range(30):
        fst, arcs, finals = Fst(), [], []  # type: ignore[var-annotated]
        for _ in range(400):
            match dice.randrange(12):
                case 0:
                    fst.add_state()
                    arcs.append([])
                    finals.append(float("inf"))
                case 1 if arcs:
                    state = dice.randrange(len(arcs))
                    keep = dice.randint(0, len(arcs[state]))
                    fst.delete_arcs(state, keep=keep)
                    del arcs[state][keep:]
                case 2 if arcs and dice.random() < 0.2:
                    gone = set(dice.sample(range(len(arcs)), dice.randint(1, len(arcs))))
                    fst.delete_states(sorted(gone))
                    number = {old: new for new, old in enumerate(s for s in range(len(arcs)) if s not in gone)}
                    arcs = [
                        [arc._replace(nextstate=number[arc.nextstate]) for arc in row if arc.nextstate in number]
                        for state, row in enumerate(arcs)
                        if state in number
                    ]
                    finals = [final for state, final in enumerate(finals) if state in number]
                case 3 if arcs:
                    state = dice.randrange(len(arcs))
                    finals[state] = float(dice.randint(0, 5))
                    fst.set_final(state, finals[state])
                case 4 if arcs:
                    fst = fst.copy()
                case _ if arcs:
                    state = dice.randrange(len(arcs))
                    arc = Arc(
                        dice.randint(0, 3), dice.randint(0, 3), float(dice.randint(0, 9)), dice.randrange(len(arcs))
                    )
                    fst.add_arc(state, *arc)
                    arcs[state].append(arc)
        assert [fst.arcs(state) for state in range(fst.num_states)] == arcs
        assert [fst.final(state) for state in range(fst.num_states)] == finals
        assert fst.num_arcs == sum(map(len, arcs))
        counts = [fst._native.counts(state)[1:] for state in range(fst.num_states)]
        assert counts == [(sum(a.ilabel == 0 for a in row), sum(a.olabel == 0 for a in row)) for row in arcs]


def test_copies_are_independent() -> None:
    fst = random_fst(random.Random(1))
    before = wfst.print_text(fst)
    other = fst.copy()
    other.add_arc(0, 1, 1, None, 0)
    assert wfst.print_text(fst) == before
    assert other.num_arcs == fst.num_arcs + 1


def test_views_show_the_machine_as_it_was() -> None:
    fst = wfst.compile_text("0 1 1 2 .5\n0 1 3 4 1.5\n1\n")
    view = fst.arc_array(0)
    assert view["weight"].tolist() == [0.5, 1.5]
    assert view.dtype.itemsize == 16
    with pytest.raises(ValueError, match="read-only"):
        view["ilabel"][0] = 9
    fst.delete_arcs(0)
    assert view["olabel"].tolist() == [2, 4]
    assert fst.num_arcs == 0


@pytest.mark.parametrize("name", ["tropical", "log64", "real", "boolean", "minmax", "signed_log"])
def test_arrays_rebuild_the_machine(name: str) -> None:
    fst = random_fst(random.Random(3), name, states=9, arcs=30, cyclic=True)
    offsets, arcs, finals = fst.arrays()
    sources = np.repeat(np.arange(fst.num_states), np.diff(offsets))
    final_states = [state for state in range(fst.num_states) if fst.is_final(state)]
    made = Fst.from_arrays(
        name,
        start=fst.start,
        sources=sources,
        ilabels=arcs["ilabel"],
        olabels=arcs["olabel"],
        weights=arcs["weight"],
        nextstates=arcs["nextstate"],
        final_states=final_states,
        final_weights=finals[final_states],
        states=fst.num_states,
    )
    assert wfst.equal(made, fst, delta=0.0)


def test_changing_a_machine_while_it_is_iterated_is_an_error() -> None:
    fst = wfst.accep("abc")
    states, arcs = fst.states(), fst.iter_arcs()
    next(states)
    next(arcs)
    fst.set_final(0)
    for iterator in (states, arcs):
        with pytest.raises(DataError, match="iterate over a copy"):
            next(iterator)
    for state in fst.copy().states():
        fst.set_final(state)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda fst: fst.add_arc(9, 1, 1, None, 0), "state 9 is not one of the 2 states"),
        (lambda fst: fst.add_arc(0, 1, 1, None, 2), "state 2 is not one of the 2 states"),
        (lambda fst: fst.add_arc(0, -1, 1, None, 0), "label -1"),
        (lambda fst: fst.add_arc(0, 1, 1 << 31, None, 0), "label 2147483648"),
        (lambda fst: fst.add_arc(0, 1, 1, float("nan"), 0), "is not a weight"),
        (lambda fst: fst.add_arc(0, 1, 1, "heavy", 0), "is not a weight"),
        (lambda fst: fst.set_final(5), "state 5"),
        (lambda fst: setattr(fst, "start", 7), "state 7"),
        (lambda fst: fst.set_arc(0, 3, (1, 1, None, 0)), "there is no arc 3"),
        (lambda fst: fst.properties("pretty"), "no property is called 'pretty'"),
        (lambda fst: fst.delete_states([4]), "state 4"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call: Any, words: str) -> None:
    fst = Fst()
    fst.add_states(2)
    with pytest.raises(DataError, match=words):
        call(fst)


def test_properties_are_true() -> None:
    """Against definitions looked up arc by arc, on random machines."""
    dice = random.Random(5)
    for _ in range(200):
        fst = random_fst(dice, cyclic=dice.random() < 0.5, acceptor=dice.random() < 0.5)
        rows = [fst.arcs(state) for state in range(fst.num_states)]
        reach = [{state} for state in range(fst.num_states)]
        for _ in rows:
            for state, row in enumerate(rows):
                reach[state] = reach[state].union(*(reach[arc.nextstate] for arc in row))
        cycles = [state for state, row in enumerate(rows) if any(state in reach[arc.nextstate] for arc in row)]
        finals = {state for state in range(fst.num_states) if fst.is_final(state)}
        found = fst.properties()
        every = [arc for row in rows for arc in row]
        assert found["acceptor"] == all(arc.ilabel == arc.olabel for arc in every)
        assert found["input_deterministic"] == all(len({a.ilabel for a in row}) == len(row) for row in rows)
        assert found["output_deterministic"] == all(len({a.olabel for a in row}) == len(row) for row in rows)
        assert found["epsilons"] == any(arc.ilabel == arc.olabel == 0 for arc in every)
        assert found["input_epsilons"] == any(arc.ilabel == 0 for arc in every)
        assert found["input_sorted"] == all(sorted(row, key=lambda a: a.ilabel) == row for row in rows)
        assert found["cyclic"] == bool(cycles)
        assert found["initial_cyclic"] == (fst.start in cycles)
        assert found["top_sorted"] == all(arc.nextstate > s for s, row in enumerate(rows) for arc in row)
        assert found["accessible"] == (reach[fst.start] == set(range(fst.num_states)))
        assert found["coaccessible"] == all(reach[state] & finals for state in range(fst.num_states))
        weights = [arc.weight for arc in every] + [fst.final(state) for state in finals]
        assert found["weighted"] == any(weight != 0.0 for weight in weights)


def test_memory_of_an_arc_is_sixteen_bytes() -> None:
    count = 100_000
    states = np.arange(count, dtype=np.int32)
    fst = Fst.from_arrays(
        "tropical",
        start=0,
        sources=states.repeat(10),
        ilabels=np.ones(10 * count),
        olabels=np.ones(10 * count),
        nextstates=states.repeat(10),
        final_states=[0],
    )
    assert fst.nbytes <= 16 * fst.num_arcs + 24 * fst.num_states


def test_symbol_tables_that_contradict_are_refused() -> None:
    a = wfst.compile_text("0 1 x\n1\n", acceptor=True, input_symbols=wfst.SymbolTable(["<eps>", "x"]))
    b = wfst.compile_text("0 1 y\n1\n", acceptor=True, input_symbols=wfst.SymbolTable(["<eps>", "y"]))
    for operation in (wfst.union, wfst.concat, wfst.compose, wfst.intersect, wfst.difference):
        with pytest.raises(DataError, match="relabel"):
            operation(a, b)
    with pytest.raises(DataError, match="different semirings"):
        wfst.union(wfst.accep("a"), wfst.accep("a", semiring_name="log64"))


def test_isomorphism_is_found_though_states_differ_only_far_away() -> None:
    """Two arcs with one label lead into chains that differ at their ends, by length or by a weight."""
    for lengths, weights in (((20, 21), (0.0, 0.0)), ((20, 20), (0.0, 0.5))):
        machines = []
        for order in ((0, 1), (1, 0)):
            fst = Fst()
            fst.start = fst.add_state()
            for chain in order:
                state = fst.start
                for _ in range(lengths[chain]):
                    target = fst.add_state()
                    fst.add_arc(state, 1, 1, None, target)
                    state = target
                fst.set_final(state, weights[chain])
            machines.append(fst)
        assert wfst.isomorphic(*machines)
        changed = machines[1].copy()
        changed.set_final(changed.num_states - 1, 0.25)
        assert not wfst.isomorphic(machines[0], changed)

"""What a machine is, by walks over its arcs."""

from __future__ import annotations

import random

import pytest
from reference.fst import random_fst

from textmill import fst as wfst
from textmill.errors import DataError


def reached(arcs: set[tuple[int, int]], begin: set[int]) -> set[int]:
    """States that arcs lead to from some others."""
    found, size = set(begin), -1
    while size != len(found):
        size = len(found)
        found |= {target for source, target in arcs if source in found}
    return found


@pytest.mark.parametrize("name", ["tropical", "log64", "boolean", "signed_log", "product(tropical,log64)"])
@pytest.mark.parametrize("arc_filter", wfst.ARC_FILTERS)
def test_access_and_components_are_those_of_the_graph(name: str, arc_filter: str) -> None:
    for seed in range(20):
        machine = random_fst(random.Random(seed), name, cyclic=True)
        passes = {
            "any": lambda arc: True,
            "epsilon": lambda arc: arc.ilabel == arc.olabel == 0,
            "iepsilon": lambda arc: arc.ilabel == 0,
            "oepsilon": lambda arc: arc.olabel == 0,
        }[arc_filter]
        arcs = {(source, arc.nextstate) for source, arc in machine.iter_arcs() if passes(arc)}
        back = {(target, source) for source, target in arcs}
        states = set(machine.states())
        finals = {state for state in states if machine.is_final(state)}
        start = {machine.start} - {-1}
        facts = wfst.info(machine, arc_filter=arc_filter)
        assert facts["final states"] == len(finals)
        assert facts["accessible states"] == len(reached(arcs, start))
        assert facts["coaccessible states"] == len(reached(back, finals))
        assert facts["connected states"] == len(reached(arcs, start) & reached(back, finals))
        assert facts["connected components"] == len({frozenset(reached(arcs | back, {s})) for s in states})
        assert facts["strongly connected components"] == len(
            {frozenset(reached(arcs, {s}) & reached(back, {s})) for s in states}
        )


def test_label_multiplicity_counts_arcs_that_share_a_label() -> None:
    facts = wfst.info(wfst.compile_text("0 1 1 1\n0 0 1 0\n0 1 1 1 3\n0 2 1 3\n1 2 1 1\n3 4 1 1\n1\n2\n"))
    assert facts["input label multiplicity"] == 3.0
    assert facts["output label multiplicity"] == pytest.approx(8 / 6)


def test_an_empty_machine_has_nothing() -> None:
    facts = wfst.info(wfst.Fst())
    assert facts["start"] == -1
    assert facts["connected components"] == facts["accessible states"] == facts["arcs"] == 0


def test_without_a_test_only_what_is_known_is_told() -> None:
    machine = wfst.compile_text("0 1 1 1\n1\n")
    assert set(wfst.PROPERTIES) <= set(wfst.info(machine))
    fresh = wfst.compile_text("0 1 1 1\n1\n")
    assert set(wfst.info(fresh, test=False)) & set(wfst.PROPERTIES) < set(wfst.PROPERTIES)


def test_filters_are_checked() -> None:
    with pytest.raises(DataError, match="arc_filter is one of any"):
        wfst.info(wfst.Fst(), arc_filter="weights")


def test_relabeling_asks_only_for_symbols_that_occur() -> None:
    old, new = wfst.SymbolTable(["<eps>", "a", "b"]), wfst.SymbolTable(["<epsilon>", "x", "a"])
    machine = wfst.compile_text("0 1 a\n1\n", acceptor=True, input_symbols=old)
    assert wfst.relabel_symbols(machine, input_symbols=new).arcs(0)[0].ilabel == 2
    machine = wfst.compile_text("0 1 b\n1\n", acceptor=True, input_symbols=old)
    with pytest.raises(DataError, match="'b' is not in the table"):
        wfst.relabel_symbols(machine, input_symbols=new)
    assert wfst.relabel_symbols(machine, input_symbols=new, unknown="x").arcs(0)[0].ilabel == 1

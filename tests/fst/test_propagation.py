"""What results know of themselves without being looked at is true, and it is more than nothing."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from reference.fst import random_fst

import textmill.fst as wfst
from textmill.fst import Fst

OPERATIONS: dict[str, tuple[Callable[[Fst, Fst], Fst], tuple[str, ...]]] = {
    "union": (wfst.union, ("epsilons", "input_epsilons")),
    "concat": (wfst.concat, ()),
    "closure": (lambda a, b: wfst.closure(a), ()),
    "plus": (lambda a, b: wfst.closure(a, star=False), ()),
    "reverse": (lambda a, b: wfst.reverse(a), ("acceptor", "weighted", "cyclic")),
    "reverse_short": (lambda a, b: wfst.reverse(a, require_superinitial=False), ()),
    "invert": (lambda a, b: wfst.invert(a), tuple(wfst.PROPERTIES)),
    "project": (lambda a, b: wfst.project(a), tuple(wfst.PROPERTIES)),
    "project_output": (lambda a, b: wfst.project(a, "output"), tuple(wfst.PROPERTIES)),
    "relabel": (lambda a, b: wfst.relabel(a, input_pairs={1: 0, 2: 7}), ("weighted", "cyclic", "accessible", "string")),
    "arcsort": (lambda a, b: wfst.arcsort(a), ("input_sorted", "cyclic", "weighted")),
    "arcsort_output": (lambda a, b: wfst.arcsort(a, "olabel"), ("output_sorted",)),
    "statesort": (lambda a, b: wfst.statesort(a, range(a.num_states)[::-1]), ("weighted", "cyclic", "input_sorted")),
    "connect": (lambda a, b: wfst.connect(a), ("accessible", "coaccessible")),
    "compose": (wfst.compose, ("accessible", "coaccessible")),
    "compose_all": (lambda a, b: wfst.compose(a, b, connect=False), ("accessible",)),
    "rmepsilon": (lambda a, b: wfst.rmepsilon(a), ("epsilons",)),
    "determinize": (
        lambda a, b: wfst.determinize(wfst.rmepsilon(wfst.project(a))),
        ("acceptor", "input_deterministic", "input_sorted"),
    ),
    "minimize": (
        lambda a, b: wfst.minimize(wfst.determinize(wfst.rmepsilon(wfst.project(a)))),
        ("accessible", "coaccessible"),
    ),
    "rmweight": (lambda a, b: wfst.arcmap(a, "rmweight"), ("weighted", "acceptor", "cyclic")),
    "times": (lambda a, b: wfst.arcmap(a, "times", weight=float("inf")), ("acceptor", "cyclic")),
    "push": (lambda a, b: wfst.push(a), ()),
    "prune": (lambda a, b: wfst.prune(a, weight=1.0), ()),
    "encode": (lambda a, b: wfst.encode(a, labels=True, weights=True)[0], ()),
    "superfinal": (lambda a, b: wfst.arcmap(a, "superfinal"), ()),
    "synchronize": (lambda a, b: wfst.synchronize(a) if not a.has("cyclic") else a, ()),
    "epsnormalize": (lambda a, b: wfst.epsnormalize(a) if not a.has("cyclic") else a, ()),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_known_properties_are_those_found_by_looking(name: str) -> None:
    operation, wanted = OPERATIONS[name]
    dice = random.Random(1)
    for case in range(150):
        pair = []
        for _ in range(2):
            fst = random_fst(
                dice,
                cyclic=dice.random() < 0.4 and name != "determinize" and name != "minimize",
                acceptor=dice.random() < 0.5,
                epsilon=dice.choice([0.0, 0.2]),
            )
            if dice.random() < 0.3:
                fst = wfst.arcmap(fst, "rmweight")
            if dice.random() < 0.1:
                fst = Fst()
            fst.properties()  # everything is known of the arguments
            pair.append(fst)
        made = operation(*pair)
        known = made.properties(test=False)
        fresh = made.copy()
        fresh.add_state()
        fresh.delete_states([fresh.num_states - 1])  # a change: everything is forgotten
        assert known == {key: value for key, value in fresh.properties().items() if key in known}, f"case {case}"
        if made.start >= 0:
            assert set(wanted) <= known.keys()


def test_nothing_is_computed_unless_it_is_asked_for() -> None:
    fst = wfst.compile_text("0 1 1 1\n1\n")
    assert fst.properties(test=False) == {}
    assert fst.properties("acceptor") == {"acceptor": True}
    assert "acceptor" in fst.properties(test=False)
    fst.add_arc(0, 1, 2, None, 1)
    assert fst.properties(test=False) == {}
    assert not fst.has("acceptor")

"""Walks and reachability against the plainest definitions, on random machines."""

from __future__ import annotations

import random
from collections import deque

import pytest
from reference.fst import random_fst

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.fst import Fst

CASES = 150


def machines(seed: int, **options: bool) -> list[Fst]:
    dice = random.Random(seed)
    return [random_fst(dice, states=7, arcs=14, cyclic=dice.random() < 0.5, **options) for _ in range(CASES)]


def closure(fst: Fst, follows: object = None) -> list[set[int]]:
    """States reached from each state, by repeated union."""
    reach = [{state} for state in range(fst.num_states)]
    for _ in range(fst.num_states):
        for state in range(fst.num_states):
            for arc in fst.arcs(state):
                if follows is None or follows(arc):  # type: ignore[operator]
                    reach[state] |= reach[arc.nextstate]
    return reach


def test_depth_first_events_are_those_of_the_recursive_definition() -> None:
    for fst in machines(1):
        expected: list[tuple[str, int, int, int]] = []
        colour = dict.fromkeys(range(fst.num_states), "new")

        def search(
            state: int,
            fst: Fst = fst,
            colour: dict[int, str] = colour,
            expected: list[tuple[str, int, int, int]] = expected,
        ) -> None:
            colour[state] = "open"
            expected.append(("discover", state, -1, -1))
            for position, arc in enumerate(fst.arcs(state)):
                kind = {"new": "tree", "open": "back", "done": "cross"}[colour[arc.nextstate]]
                expected.append((kind, state, position, arc.nextstate))
                if kind == "tree":
                    search(arc.nextstate)
            colour[state] = "done"
            expected.append(("finish", state, -1, -1))

        search(fst.start)
        assert [tuple(step) for step in wfst.depth_first(fst, accessible_only=True)] == expected
        for state in range(fst.num_states):
            if colour[state] == "new":
                search(state)
        assert [tuple(step) for step in wfst.depth_first(fst)] == expected


def test_queues_take_states_in_their_order() -> None:
    for fst in machines(2):
        seen, line = {fst.start}, deque([fst.start])
        order = []
        while line:
            state = line.popleft()
            order.append(state)
            for arc in fst.arcs(state):
                if arc.nextstate not in seen:
                    seen.add(arc.nextstate)
                    line.append(arc.nextstate)
        assert [step.state for step in wfst.visit(fst) if step.event == "discover"] == order
        distance = wfst.shortest_distance(fst)
        found = [step.state for step in wfst.visit(fst, "shortest") if step.event == "discover"]
        assert sorted(found) == sorted(order)
        assert [distance[state] for state in found] == sorted(distance[state] for state in found)
        if not fst.has("cyclic"):
            place = {
                state: i for i, state in enumerate(s.state for s in wfst.visit(fst, "top") if s.event == "discover")
            }
            arcs = [(state, arc) for state in place for arc in fst.arcs(state)]
            assert all(place[state] < place[arc.nextstate] for state, arc in arcs)
        else:
            with pytest.raises(DataError, match="without cycles"):
                list(wfst.visit(fst, "top"))
        for queue in ("lifo", "state", "auto"):
            events = [step.event for step in wfst.visit(fst, queue)]
            assert events.count("discover") == events.count("finish") == len(order)
            assert events.count("tree") == len(order) - 1


def test_components_are_states_that_reach_one_another() -> None:
    for fst in machines(3):
        reach = closure(fst)
        component = wfst.strongly_connected(fst).tolist()
        for state in range(fst.num_states):
            for other in range(fst.num_states):
                assert (component[state] == component[other]) == (other in reach[state] and state in reach[other])
                assert not (other in reach[state] and component[other] < component[state])
        finals = {state for state in range(fst.num_states) if fst.is_final(state)}
        assert wfst.accessible(fst).tolist() == [state in reach[fst.start] for state in range(fst.num_states)]
        assert wfst.coaccessible(fst).tolist() == [bool(row & finals) for row in reach]
        sets = wfst.StateReachability(fst)
        for state in range(fst.num_states):
            assert set(sets.states(state).tolist()) == reach[state]
            assert sets.reaches_final(state) == bool(reach[state] & finals)
            assert all(sets.reaches(state, other) == (other in reach[state]) for other in range(fst.num_states))


@pytest.mark.parametrize("side", ["input", "output"])
def test_labels_are_those_of_arcs_behind_epsilons(side: str) -> None:
    field = "ilabel" if side == "input" else "olabel"
    for fst in machines(4, epsilon=0.5):  # type: ignore[arg-type]
        reach = closure(fst, lambda arc: getattr(arc, field) == 0)
        sets = wfst.LabelReachability(fst, side)
        for state in range(fst.num_states):
            labels = {getattr(arc, field) for other in reach[state] for arc in fst.arcs(other)} - {0}
            assert sets.labels(state).tolist() == sorted(labels)
            assert all(sets.reaches(state, label) == (label in labels) for label in range(6))
            assert sets.reaches_final(state) == any(fst.is_final(other) for other in reach[state])


def test_a_part_of_a_machine_is_copied() -> None:
    for fst in machines(5):
        order = [step.state for step in wfst.visit(fst) if step.event == "discover"]
        for count in (0, 1, 3, 99):
            kept = sorted(order[:count])
            part = wfst.partial_copy(fst, count)
            assert part.num_states == len(kept)
            number = {state: i for i, state in enumerate(kept)}
            expected = [
                (number[state], arc._replace(nextstate=number[arc.nextstate]))
                for state in kept
                for arc in fst.arcs(state)
                if arc.nextstate in number
            ]
            assert list(part.iter_arcs()) == expected


def test_filters_and_faults() -> None:
    fst = wfst.compile_text("0 1 0 0\n0 2 5 5\n1 2 0 5\n2\n")
    reached = {
        name: [step.state for step in wfst.visit(fst, arc_filter=name) if step.event == "discover"]
        for name in ("any", "epsilon", "input_epsilon", "output_epsilon")
    }
    assert reached == {"any": [0, 1, 2], "epsilon": [0, 1], "input_epsilon": [0, 1, 2], "output_epsilon": [0, 1]}
    for call, words in (
        (lambda: wfst.visit(fst, "best"), "no queue is called"),
        (lambda: wfst.depth_first(fst, arc_filter="red"), "no filter of arcs"),
        (lambda: wfst.StateReachability(fst).reaches(0, 9), "state 9"),
        (lambda: wfst.LabelReachability(fst, "middle"), "'input' or the 'output'"),
        (lambda: wfst.visit(wfst.convert(fst, "log64"), "shortest"), "path property"),
    ):
        with pytest.raises(DataError, match=words):
            call()
    empty = Fst()
    assert list(wfst.depth_first(empty)) == []
    assert list(wfst.visit(empty)) == []


def test_a_long_chain_needs_no_recursion() -> None:
    chain = wfst.accep("a" * 100_000)
    assert sum(1 for _ in wfst.depth_first(chain)) == 300_002
    assert wfst.StateReachability(chain).reaches(0, 100_000)

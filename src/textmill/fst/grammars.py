"""Grammars of machines that call one another, before `replace` writes them out: who calls whom, and how to tidy up.

    machines   label -> machine; an arc that writes the label of another machine calls it

A machine that calls itself, directly or through others, has no finite form; `call_cycle` names one. Machines that are
called once, or are small, can be written out where they are called (`inline_calls`), which makes the grammar flatter
and leaves its language as it is. All cost O(arcs) but writing out, which costs its result.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from textmill.errors import DataError
from textmill.fst.machine import Fst
from textmill.fst.rational import connect
from textmill.fst.transform import map_arcs, replace
from textmill.fst.traversal import depth_first, strongly_connected

__all__ = ["call_cycle", "call_order", "calls", "connect_calls", "inline_calls"]


def calls(machines: Mapping[int, Fst]) -> dict[int, dict[int, int]]:
    """Which machines each machine calls, and by how many arcs.

    >>> from textmill.fst.formats import compile_text
    >>> calls({5: compile_text("0 1 9 9\\n0 1 9 9\\n1"), 9: compile_text("0 1 1 1\\n1")})
    {5: {9: 2}, 9: {}}
    """
    by_label = {}
    for label, fst in machines.items():
        labels, counts = np.unique(fst.arrays()[1]["olabel"], return_counts=True)
        pairs = zip(labels.tolist(), counts.tolist(), strict=True)
        by_label[label] = {called: count for called, count in pairs if called in machines}
    return by_label


def call_cycle(machines: Mapping[int, Fst], root: int | None = None) -> list[int]:
    """Labels of machines that call one another in a circle, and so have no finite form; none if there is no circle.

    Only those that `root` calls, if it is given.

    >>> from textmill.fst.formats import compile_text
    >>> call_cycle({5: compile_text("0 1 9 9\\n1"), 9: compile_text("0 1 5 5\\n1")})
    [5, 9]
    """
    labels, graph = _graph(machines, root)
    component = strongly_connected(graph)
    for step in depth_first(graph, accessible_only=root is not None):
        if step.event == "back":
            return [labels[state] for state in np.flatnonzero(component == component[step.state]).tolist()]
    return []


def call_order(machines: Mapping[int, Fst], root: int) -> list[int]:
    """The machines that `root` needs, each behind all that it calls, `root` last; a DataError names a circle.

    >>> from textmill.fst.formats import compile_text
    >>> call_order({5: compile_text("0 1 9 9\\n1"), 9: compile_text("0 1 1 1\\n1"), 7: compile_text("0")}, 5)
    [9, 5]
    """
    cycle = call_cycle(machines, root)
    if cycle:
        raise DataError(f"the machines {cycle} call one another in a circle, so there is no order")
    labels, graph = _graph(machines, root)
    walk = depth_first(graph, accessible_only=True)
    return [labels[step.state] for step in walk if step.event == "finish"]


def connect_calls(machines: Mapping[int, Fst], root: int) -> dict[int, Fst]:
    """Without machines that `root` does not need, states that lead nowhere, and calls of machines that have no path.

    >>> from textmill.fst.formats import compile_text
    >>> rule = compile_text("0 1 9 9\\n0 1 8 8\\n1")
    >>> kept = connect_calls({5: rule, 9: compile_text("0 1 1 1\\n1"), 8: compile_text("0 1 1 1"), 7: rule}, 5)
    >>> sorted(kept), kept[5].num_arcs
    ([5, 9], 1)
    """
    connected = {label: connect(fst) for label, fst in machines.items()}
    while empty := {label for label, fst in connected.items() if fst.start < 0 and label != root}:
        for label in empty:
            del connected[label]
        for label, called in calls({**connected, **{label: machines[label] for label in empty}}).items():
            if label in connected and empty & called.keys():
                connected[label] = _without(connected[label], empty)
    labels, graph = _graph(connected, root)
    needed = [labels[step.state] for step in depth_first(graph, accessible_only=True) if step.event == "discover"]
    return {label: connected[label] for label in machines if label in needed}


def inline_calls(
    machines: Mapping[int, Fst],
    root: int,
    *,
    max_states: int | None = None,
    max_arcs: int | None = None,
    max_uses: int | None = None,
    call_arc_labeling: str = "input",
) -> dict[int, Fst]:
    """Write out, where they are called, machines with at most the given number of states, arcs or calls.

    Machines that call themselves stay. The labeling is that of `replace`.

    >>> from textmill.fst.formats import compile_text
    >>> grammar = {5: compile_text("0 1 9 9\\n1"), 9: compile_text("0 1 1 1\\n1")}
    >>> sorted(inline_calls(grammar, 5, max_uses=1))
    [5]
    """
    if root not in machines:
        raise DataError(f"the root label {root} has no machine")
    labels, graph = _graph(machines, None)
    component = strongly_connected(graph)
    uses = dict.fromkeys(machines, 0)
    calls_of = calls(machines)
    for called in calls_of.values():
        for label, count in called.items():
            uses[label] += count
    members = np.bincount(component)
    chosen = {
        label
        for state, label in enumerate(labels)
        if label != root
        and members[component[state]] == 1
        and label not in calls_of[label]
        and (
            (max_states is not None and machines[label].num_states <= max_states)
            or (max_arcs is not None and machines[label].num_arcs <= max_arcs)
            or (max_uses is not None and uses[label] <= max_uses)
        )
    }
    used = set(machines).union(*(np.unique(fst.arrays()[1]["olabel"]).tolist() for fst in machines.values()))
    here = next(label for label in itertools.count(1) if label not in used)  # a machine may go on calling itself
    inlined: dict[int, Fst] = {}
    for state in np.argsort(-component, kind="stable").tolist():  # those that are called first
        label = labels[state]
        inside = {called: inlined[called] for called in calls_of[label] if called in chosen}
        written = {here: machines[label], **inside}
        inlined[label] = replace(written, here, call_arc_labeling=call_arc_labeling) if inside else machines[label]
    return {label: inlined[label] for label in machines if label not in chosen}


def _without(fst: Fst, labels: set[int]) -> Fst:
    return connect(map_arcs(fst, lambda source, arc: None if arc.olabel in labels else arc))


def _graph(machines: Mapping[int, Fst], root: int | None) -> tuple[list[int], Fst]:
    """The labels in order, `root` first, and an acceptor with one state per machine and one arc per call."""
    if root is not None and root not in machines:
        raise DataError(f"the root label {root} has no machine")
    labels = sorted(machines, key=lambda label: label != root)
    number = {label: state for state, label in enumerate(labels)}
    graph = Fst("boolean")
    graph.add_states(len(labels))
    if labels:
        graph.start = 0
    for label, called in calls(machines).items():
        for other in called:
            graph.add_arc(number[label], other, other, None, number[other])
    return labels, graph

"""What a transducer does too much of: several outputs for one input, or outputs without end.

    ambiguous_input   an input with two outputs: pairs of states that the same input reaches are walked with the output
                      that one of them is ahead of the other; a pair with two different leads, or an end with a lead,
                      shows that the machine is not functional
    endless_input     an input with endless outputs: a cycle that reads nothing and writes something

Both answer with a short input, or None. Cost: O(pairs x arcs) and O(states + arcs). Reference: Beal, Carton, Prieur &
Sakarovitch (2003), Squaring transducers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from textmill.errors import DataError
from textmill.fst.machine import Fst
from textmill.fst.optimization import rmepsilon
from textmill.fst.strings import text_of

__all__ = ["ambiguous_input", "endless_input"]

_MOST_PAIRS = 1 << 20

Pair = tuple[int, int]
Lead = tuple[tuple[int, ...], tuple[int, ...]]  # what the first has written beyond the second, or the other way round


def ambiguous_input(fst: Fst, token_type: str = "utf8") -> str | None:
    """An input that has two outputs; None if every input has one at most.

    >>> from textmill.fst.strings import string_map
    >>> ambiguous_input(string_map([("a", "x"), ("b", "y"), ("a", "z")]))
    'a'
    >>> ambiguous_input(string_map([("a", "x"), ("b", "y")])) is None
    True
    """
    machine = rmepsilon(fst)
    if machine.start < 0:
        return None
    first = (machine.start, machine.start)
    arcs, before = _pairs(machine, first)
    useful = _backwards(before, [pair for pair in arcs if _both_final(machine, pair)])
    leads: dict[Pair, Lead] = {first: ((), ())}
    came: dict[Pair, tuple[Pair, int]] = {}
    queue = deque([first])
    while queue:
        pair = queue.popleft()
        lead = leads[pair]
        if _both_final(machine, pair) and lead != ((), ()):
            return text_of(_path(came, pair), token_type)
        for label, left, right, target in arcs[pair]:
            if target not in useful:
                continue
            ahead = _lead(lead, left, right)
            reached = target in leads
            if ahead is not None and not reached:
                leads[target], came[target] = ahead, (pair, label)
                queue.append(target)
            elif ahead is None or leads[target] != ahead:
                labels = [*_path(came, pair), *([label] if label else []), *_rest(arcs, machine, target)]
                return text_of(labels, token_type)
    return None


def endless_input(fst: Fst, token_type: str = "utf8") -> str | None:
    """An input for which the machine can write without end; None if there is none.

    >>> from textmill.fst.rational import closure
    >>> from textmill.fst.strings import cross
    >>> endless_input("a" + closure(cross("", "b")))
    'a'
    """
    from textmill.fst.rational import connect
    from textmill.fst.transform import map_arcs
    from textmill.fst.traversal import strongly_connected

    machine = connect(fst)
    if machine.start < 0 or not machine.has("input_epsilons") or not machine.has("cyclic"):
        return None
    silent = map_arcs(machine, lambda _, arc: arc if arc.ilabel == 0 else None)
    component = list(strongly_connected(silent))
    for state, arc in silent.iter_arcs():
        if arc.olabel and component[state] == component[arc.nextstate]:
            return text_of([*_shortest(machine, machine.start, state), *_to_end(machine, state)], token_type)
    return None


def _both_final(machine: Fst, pair: Pair) -> bool:
    return machine.is_final(pair[0]) and machine.is_final(pair[1])


def _pairs(machine: Fst, first: Pair) -> tuple[dict[Pair, list[tuple[int, int, int, Pair]]], dict[Pair, list[Pair]]]:
    """Pairs of states that one input reaches: label, both outputs and target of their steps; and what is before."""
    by_label: list[dict[int, list[tuple[int, int]]]] = []
    for state in range(machine.num_states):
        table: dict[int, list[tuple[int, int]]] = {}
        for arc in machine.arcs(state):
            table.setdefault(arc.ilabel, []).append((arc.olabel, arc.nextstate))
        by_label.append(table)

    def steps(pair: Pair) -> Iterator[tuple[int, int, int, Pair]]:
        p, q = by_label[pair[0]], by_label[pair[1]]
        for output, target in p.get(0, ()):
            yield 0, output, 0, (target, pair[1])
        for output, target in q.get(0, ()):
            yield 0, 0, output, (pair[0], target)
        for label in p.keys() & q.keys() - {0}:
            for left, one in p[label]:
                for right, other in q[label]:
                    yield label, left, right, (one, other)

    arcs: dict[Pair, list[tuple[int, int, int, Pair]]] = {}
    before: dict[Pair, list[Pair]] = {first: []}
    queue = deque([first])
    while queue:
        pair = queue.popleft()
        arcs[pair] = list(steps(pair))
        for *_, target in arcs[pair]:
            if target not in before:
                before[target] = []
                queue.append(target)
            before[target].append(pair)
        if len(before) > _MOST_PAIRS:
            raise DataError(f"more than {_MOST_PAIRS:,} pairs of states; whether the rule is functional is not decided")
    return arcs, before


def _backwards(before: dict[Pair, list[Pair]], ends: list[Pair]) -> set[Pair]:
    reached, stack = set(ends), list(ends)
    while stack:
        for pair in before[stack.pop()]:
            if pair not in reached:
                reached.add(pair)
                stack.append(pair)
    return reached


def _lead(lead: Lead, left: int, right: int) -> Lead | None:
    """The lead after both have written; None if what they wrote differs."""
    one = lead[0] + ((left,) if left else ())
    other = lead[1] + ((right,) if right else ())
    size = min(len(one), len(other))
    return (one[size:], other[size:]) if one[:size] == other[:size] else None


def _path(came: dict[Pair, tuple[Pair, int]], pair: Pair) -> list[int]:
    labels: list[int] = []
    while pair in came:
        pair, label = came[pair]
        if label:
            labels.append(label)
    return labels[::-1]


def _rest(arcs: dict[Pair, list[tuple[int, int, int, Pair]]], machine: Fst, pair: Pair) -> list[int]:
    """The shortest input from a pair to an end of both."""
    came: dict[Pair, tuple[Pair, int]] = {}
    seen, queue = {pair}, deque([pair])
    while queue:
        here = queue.popleft()
        if _both_final(machine, here):
            return _path(came, here)
        for label, _, _, target in arcs[here]:
            if target not in seen:
                seen.add(target)
                came[target] = (here, label)
                queue.append(target)
    return []


def _shortest(machine: Fst, start: int, goal: int | None) -> list[int]:
    """The input on a path with the fewest arcs to a state, or to a final one."""
    came: dict[int, tuple[int, int]] = {}
    seen, queue = {start}, deque([start])
    while queue:
        state = queue.popleft()
        if state == goal or (goal is None and machine.is_final(state)):
            labels: list[int] = []
            while state != start:
                state, label = came[state]
                if label:
                    labels.append(label)
            return labels[::-1]
        for arc in machine.arcs(state):
            if arc.nextstate not in seen:
                seen.add(arc.nextstate)
                came[arc.nextstate] = (state, arc.ilabel)
                queue.append(arc.nextstate)
    return []


def _to_end(machine: Fst, state: int) -> list[int]:
    return _shortest(machine, state, None)

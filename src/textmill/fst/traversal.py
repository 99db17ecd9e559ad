"""Walks over the states of a machine, and what can be reached from where.

    depth_first          events of a depth-first search, state after state and arc after arc
    visit                the same for states that wait in a queue: breadth first, best first, in topological order, ...
    strongly_connected   components: states that reach one another
    StateReachability    which states can be reached from a state?
    LabelReachability    which labels can be read (or written) next, behind any number of epsilons?

A walk is done by the native core in O(states + arcs) and comes back as an iterator; stop when you have seen enough.
Sets of what can be reached are kept as few intervals of numbers, in the order of the search, so that a question costs
a bisection. Reference: Tarjan (1972); Allauzen, Riley & Schalkwyk (2009), A generalized composition algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.machine import Fst
from textmill.model import check_range

__all__ = [
    "LabelReachability",
    "StateReachability",
    "Visit",
    "accessible",
    "coaccessible",
    "depth_first",
    "partial_copy",
    "strongly_connected",
    "visit",
]

_EVENTS = ("discover", "tree", "back", "cross", "finish")


class Visit(NamedTuple):
    """One step of a walk.

    `event`: "discover" (the state is met), "tree" (an arc to a state not met before), "back" (to one on the path, or
    waiting in the queue), "cross" (to one that is done), "finish" (the state is done). `arc` is the position of the arc
    among those of the state and `nextstate` where it leads, -1 in events that are not about an arc.
    """

    event: str
    state: int
    arc: int
    nextstate: int


def depth_first(fst: Fst, *, arc_filter: str = "any", accessible_only: bool = False) -> Iterator[Visit]:
    """The events of a depth-first search from the start, then from states that were not met unless `accessible_only`.

    `arc_filter`: follow "any" arc, or only "epsilon", "input_epsilon" or "output_epsilon" arcs.

    >>> from textmill.fst.formats import compile_text
    >>> [(step.event, step.state) for step in depth_first(compile_text("0 1 1 1\\n1 0 2 2\\n1"))]
    [('discover', 0), ('tree', 0), ('discover', 1), ('back', 1), ('finish', 1), ('finish', 0)]
    """
    return _steps(native.depth_first(fst._native, arc_filter, accessible_only))


def visit(fst: Fst, queue_type: str = "fifo", *, arc_filter: str = "any") -> Iterator[Visit]:
    """The events of a walk from the start, by a queue: "fifo", "lifo", "shortest", "state", "top" or "auto".

    "shortest" takes the states nearest to the start first (path semirings), "auto" goes by components in topological
    order.

    >>> from textmill.fst.formats import compile_text
    >>> fst = compile_text("0 1 1 1 5\\n0 2 1 1 1\\n1\\n2")
    >>> [step.state for step in visit(fst, "shortest") if step.event == "discover"]
    [0, 2, 1]
    """
    return _steps(native.walk_by_queue(fst._native, queue_type, arc_filter))


def strongly_connected(fst: Fst) -> NDArray[np.int32]:
    """The component of each state; components are numbered in topological order.

    >>> from textmill.fst.formats import compile_text
    >>> strongly_connected(compile_text("0 1 1 1\\n1 0 1 1\\n1 2 1 1\\n2")).tolist()
    [0, 0, 1]
    """
    component: NDArray[np.int32] = native.components(fst._native)[0]
    return component


def accessible(fst: Fst) -> NDArray[np.bool_]:
    """Is each state reached from the start?

    >>> from textmill.fst.formats import compile_text
    >>> accessible(compile_text("0 1 1 1\\n2 1 1 1\\n1")).tolist()
    [True, True, False]
    """
    reached: NDArray[np.bool_] = native.components(fst._native)[1].astype(bool)
    return reached


def coaccessible(fst: Fst) -> NDArray[np.bool_]:
    """Does each state reach a final state?

    >>> from textmill.fst.formats import compile_text
    >>> coaccessible(compile_text("0 1 1 1\\n0 2 1 1\\n1")).tolist()
    [True, True, False]
    """
    reaches: NDArray[np.bool_] = native.components(fst._native)[2].astype(bool)
    return reaches


def partial_copy(fst: Fst, n_states: int, queue_type: str = "fifo") -> Fst:
    """The machine of the first `n_states` states that `visit` meets and the arcs between them; states keep their order.

    >>> from textmill.fst.strings import accep
    >>> partial_copy(accep("abcdef"), 3).num_arcs
    2
    """
    check_range("n_states", n_states, at_least=0)
    events, states, _, _ = native.walk_by_queue(fst._native, queue_type, "any")
    first_states = states[events == 0][:n_states]
    machine = fst._like(fst._native.copy())
    machine.delete_states(np.setdiff1d(np.arange(fst.num_states), first_states).tolist())
    return machine


class StateReachability:
    """Which states can be reached from a state, over any number of arcs, itself included.

    >>> from textmill.fst.formats import compile_text
    >>> reach = StateReachability(compile_text("0 1 1 1\\n1 2 1 1\\n2"))
    >>> reach.reaches(0, 2), reach.reaches(2, 0), reach.states(1).tolist(), reach.reaches_final(0)
    (True, False, [1, 2], True)
    """

    __slots__ = ("_sets",)

    def __init__(self, fst: Fst) -> None:
        self._sets = _Sets(*native.reachable_states(fst._native))

    def reaches(self, state: int, other: int) -> bool:
        """Does a path lead from one state to the other?

        >>> from textmill.fst.strings import accep
        >>> StateReachability(accep("ab")).reaches(0, 2)
        True
        """
        return self._sets.holds(state, self._sets.of(other))

    def reaches_final(self, state: int) -> bool:
        """Does a path lead from the state to a final one?

        >>> from textmill.fst.strings import accep
        >>> StateReachability(accep("ab")).reaches_final(0)
        True
        """
        return bool(self._sets.ends[self._sets.of(state)])

    def states(self, state: int) -> NDArray[np.int64]:
        """All states that are reached from one.

        >>> from textmill.fst.strings import accep
        >>> StateReachability(accep("ab")).states(1).tolist()
        [1, 2]
        """
        return np.flatnonzero(np.isin(self._sets.component, self._sets.numbers(state)))


class LabelReachability:
    """Which labels can be read next from a state, behind any number of arcs that read nothing; "output": written.

    >>> from textmill.fst.formats import compile_text
    >>> reach = LabelReachability(compile_text("0 1 0 5\\n1 2 7 5\\n0 2 8 5\\n2"))
    >>> reach.labels(0).tolist(), reach.reaches(1, 8), reach.reaches_final(1)
    ([7, 8], False, False)
    """

    __slots__ = ("_labels", "_number", "_sets")

    def __init__(self, fst: Fst, side: str = "input") -> None:
        if side not in ("input", "output"):
            raise DataError(f"labels are those of the 'input' or the 'output', not {side!r}")
        component, begin, first, last, labels, ends = native.reachable_labels(fst._native, side == "output")
        self._sets = _Sets(component, begin, first, last, labels, ends)
        self._labels = labels
        self._number = {label: number for number, label in enumerate(labels.tolist())}

    def labels(self, state: int) -> NDArray[np.int32]:
        """All labels that can come next, sorted.

        >>> from textmill.fst.strings import accep
        >>> LabelReachability(accep("ab")).labels(0).tolist()
        [97]
        """
        numbers: NDArray[np.int32] = np.sort(self._labels[self._sets.numbers(state)])
        return numbers

    def reaches(self, state: int, label: int) -> bool:
        """Can the label come next?

        >>> from textmill.fst.strings import accep
        >>> LabelReachability(accep("ab")).reaches(0, 97)
        True
        """
        number = self._number.get(label)
        return self._sets.holds(state, -1 if number is None else number)

    def reaches_final(self, state: int) -> bool:
        """Can a path end here without reading (writing) anything more?

        >>> from textmill.fst.strings import accep
        >>> LabelReachability(accep("ab")).reaches_final(2)
        True
        """
        return bool(self._sets.ends[self._sets.of(state)])


class _Sets:
    """Sets of numbers, one a component, as sorted intervals from `first` to `last`."""

    __slots__ = ("begin", "component", "ends", "first", "last")

    def __init__(
        self,
        component: NDArray[np.int32],
        begin: NDArray[np.int64],
        first: NDArray[np.int32],
        last: NDArray[np.int32],
        labels: NDArray[np.int32],
        ends: NDArray[np.uint8],
    ) -> None:
        self.component, self.begin, self.first, self.last, self.ends = component, begin, first, last, ends

    def of(self, state: int) -> int:
        """The component of a state."""
        if not 0 <= state < len(self.component):
            raise DataError(f"state {state} is not one of the {len(self.component)} states of the machine")
        return int(self.component[state])

    def holds(self, state: int, number: int) -> bool:
        """Is the number in the set of the state?"""
        component = self.of(state)
        begin, end = int(self.begin[component]), int(self.begin[component + 1])
        at = begin + int(np.searchsorted(self.first[begin:end], number, side="right")) - 1
        return at >= begin and bool(number <= self.last[at])

    def numbers(self, state: int) -> NDArray[np.int64]:
        """All numbers in the set of the state."""
        component = self.of(state)
        places = range(int(self.begin[component]), int(self.begin[component + 1]))
        ranges = [np.arange(self.first[i], self.last[i] + 1, dtype=np.int64) for i in places]
        return np.concatenate(ranges) if ranges else np.empty(0, dtype=np.int64)


def _steps(walk: tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]) -> Iterator[Visit]:
    for begin in range(0, len(walk[0]), 1 << 16):  # Python objects for a stretch at a time
        columns = (column[begin : begin + (1 << 16)].tolist() for column in walk)
        for event, state, arc, nextstate in zip(*columns, strict=True):
            yield Visit(_EVENTS[event], state, arc, nextstate)

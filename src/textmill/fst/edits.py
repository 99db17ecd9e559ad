"""Edit transducers: what may be inserted, deleted, substituted and exchanged, at which cost.

    flower      one state, (V + 1)^2 - 1 arcs: every pair of symbols, and each symbol with nothing
    bounded     a copy of the flower for each number of edits, so that there are at most n
    factored    two machines of 4 V arcs that meet in <sub>, <ins> and <del>:  flower = left o right

x o E o y has the edits between two strings as paths, the best of them an alignment; with a lexicon for y, the nearest
words (which `nearest` searches without building it). Reference: Mohri (2003), Edit-distance of weighted automata.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textmill.errors import DataError
from textmill.fst.composition import compose
from textmill.fst.grammar import alphabet_of, promote
from textmill.fst.machine import EPSILON, Fst
from textmill.fst.paths import shortest_distance, shortest_path
from textmill.fst.rational import arcsort
from textmill.fst.transform import arcmap
from textmill.model import check_range

__all__ = ["best_alignment", "edit_distance", "edit_factors", "edit_transducer", "oracle_error"]

_SUBSTITUTED, _INSERTED, _DELETED = 0x7FFFFE00, 0x7FFFFE01, 0x7FFFFE02
_MOST_ARCS = 1 << 24


def edit_transducer(
    alphabet: str | Iterable[int] | Fst,
    *,
    insert: float = 1.0,
    delete: float = 1.0,
    substitute: float = 1.0,
    swap: float | None = None,
    max_edits: int | None = None,
) -> Fst:
    """The flower over an alphabet, a text, labels or a machine; with `swap` two neighbors may be exchanged as well.

    With `max_edits` there are at most that many edits.

    >>> edit_transducer("abc").num_arcs
    15
    """
    labels = _labels(alphabet)
    levels = 1 if max_edits is None else max_edits + 1
    if max_edits is not None:
        check_range("max_edits", max_edits, at_least=0)
    size = (len(labels) + 1) ** 2 * levels * (2 if swap is not None else 1)
    if size > _MOST_ARCS:
        raise DataError(f"a flower over {len(labels)} symbols has {size:,} arcs; take edit_factors, or nearest")
    machine = Fst()
    machine.add_states(levels)
    machine.start = 0
    for level in range(levels):
        machine.set_final(level)
        after = level if max_edits is None else level + 1
        for x in labels:
            machine.add_arc(level, x, x, None, level)
            if after == levels:
                continue
            machine.add_arc(level, x, EPSILON, delete, after)
            machine.add_arc(level, EPSILON, x, insert, after)
            for y in labels:
                if x == y:
                    continue
                machine.add_arc(level, x, y, substitute, after)
                if swap is not None:
                    middle = machine.add_state()
                    machine.add_arc(level, x, y, swap, middle)
                    machine.add_arc(middle, y, x, None, after)
    return machine


def edit_factors(
    alphabet: str | Iterable[int] | Fst, *, insert: float = 1.0, delete: float = 1.0, substitute: float = 1.0
) -> tuple[Fst, Fst]:
    """Two machines whose composition is the flower, with 3 V + 1 and 3 V + 1 arcs instead of (V + 1)^2 - 1.

    Half of each cost is paid on either side.

    >>> left, right = edit_factors("abc")
    >>> left.num_arcs, right.num_arcs
    (10, 10)
    """
    labels = _labels(alphabet)
    machines = []
    for written in (False, True):  # the left factor reads symbols and writes marks, the right one reads marks
        machine = Fst()
        machine.start = machine.add_state()
        machine.set_final(0)
        for x in labels:
            machine.add_arc(0, x, x, None, 0)
            for mark, cost in (
                (_SUBSTITUTED, substitute),
                (_INSERTED if written else _DELETED, insert if written else delete),
            ):
                ilabel, olabel = (mark, x) if written else (x, mark)
                machine.add_arc(0, ilabel, olabel, cost / 2, 0)
        if written:
            machine.add_arc(0, _DELETED, EPSILON, delete / 2, 0)
        else:
            machine.add_arc(0, EPSILON, _INSERTED, insert / 2, 0)
        machines.append(machine)
    return arcsort(machines[0], "olabel"), arcsort(machines[1])


def edit_distance(left: Fst | str, right: Fst | str, edits: Fst | None = None) -> float:
    """The least cost of edits between the strings of two machines, each edit 1 unless a transducer says otherwise.

    >>> edit_distance("kitten", "sitting")
    3.0
    """
    machine = _composed(promote(left), promote(right), edits)
    if machine.start < 0:
        return float("inf")
    return float(shortest_distance(machine, reverse=True)[machine.start])


def best_alignment(left: Fst | str, right: Fst | str, edits: Fst | None = None) -> list[tuple[str, str]]:
    """The pairs of symbols of the best path between two strings of code points; "" stands for nothing.

    >>> best_alignment("ab", "b")
    [('a', ''), ('b', 'b')]
    """
    path = shortest_path(_composed(promote(left), promote(right), edits))
    if path.start < 0:
        raise DataError("the edits do not lead from the one string to the other")
    return _pairs(path)


def oracle_error(lattice: Fst, reference: Fst | str) -> tuple[float, list[tuple[int, int]]]:
    """How far the best path of a lattice is from a reference: edits, and the pairs of labels; 0 stands for nothing.

    Weights are left out; labels are compared, so that both must have one table of symbols. The two halves of the edit
    transducer are used, which are small for any vocabulary.

    >>> from textmill.fst.rational import union
    >>> oracle_error(union(promote("cat"), promote("cap")), "cups")[0]
    2.0
    """
    wanted = promote(reference)
    plain, goal = (arcmap(machine, "rmweight") for machine in (lattice, wanted))
    labels = sorted({*alphabet_of(plain), *alphabet_of(goal)})
    left, right = edit_factors(labels)
    near = compose(arcsort(compose(plain, left), "olabel"), arcsort(compose(right, goal)))
    path = shortest_path(near)
    if path.start < 0:
        raise DataError("the lattice or the reference has no path")
    pairs, state, cost = [], path.start, 0.0
    while arcs := path.arcs(state):
        cost += float(arcs[0].weight)
        if arcs[0].ilabel or arcs[0].olabel:
            pairs.append((arcs[0].ilabel, arcs[0].olabel))
        state = arcs[0].nextstate
    return cost + float(path.final(state)), pairs


def _pairs(path: Fst) -> list[tuple[str, str]]:
    pairs = []
    state = path.start
    while arcs := path.arcs(state):
        arc = arcs[0]
        if arc.ilabel or arc.olabel:
            pairs.append((chr(arc.ilabel) if arc.ilabel else "", chr(arc.olabel) if arc.olabel else ""))
        state = arc.nextstate
    return pairs


def _composed(left: Fst, right: Fst, edits: Fst | None) -> Fst:
    if edits is None:
        edits = edit_transducer(sorted({*alphabet_of(left), *alphabet_of(right)}))
    return compose(compose(left, arcsort(edits)), arcsort(right))


def _labels(alphabet: str | Iterable[int] | Fst) -> Sequence[int]:
    if isinstance(alphabet, str):
        return alphabet_of(promote(alphabet))
    if isinstance(alphabet, Fst):
        return alphabet_of(alphabet)
    labels = sorted({int(label) for label in alphabet})
    if labels and not 0 < labels[0] <= labels[-1] < _SUBSTITUTED:
        raise DataError(f"labels of an alphabet are from 1 to {_SUBSTITUTED - 1:,}")
    return labels

"""Distances, best paths, pruning, pushing.

    distance from the start   d(t) = [t is start] plus over arcs (s, w, t) of d(s) times w
    distance to the end       d(s) = final(s) plus over arcs (s, w, t) of w times d(t)

Sums over machines without cycles are exact and take one pass; cyclic components are solved by Dijkstra's algorithm,
by elimination with the star of the semiring, or by Mohri's queue. Cycles that make paths better for ever (negative
cycles) or whose mass is one or more are a DataError. Best paths and pruning need the path property (tropical,
boolean, minmax, ...); ties go to the arc that comes first. Reference: Mohri (2002); Mohri & Riley (2002), An
efficient algorithm for the n-best-strings problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.machine import Fst
from textmill.fst.semirings import Weight
from textmill.model import check_range

__all__ = ["prune", "push", "reweight", "shortest_distance", "shortest_path", "total_weight"]

_CONVERGED = 1e-15


def shortest_distance(
    fst: Fst, *, reverse: bool = False, delta: float = _CONVERGED, queue_type: str = "auto"
) -> NDArray[Any] | list[Weight]:
    """The weight of all paths from the start to each state, or with `reverse` from each state to the end.

    An array for semirings of numbers, else a list. `delta` says when the sum over a large cyclic part has converged.
    `queue_type`: "auto" plans by strongly connected components; "fifo", "lifo", "shortest", "state" and "top" use one
    such queue for the whole machine.

    >>> from textmill.fst.formats import compile_text
    >>> shortest_distance(compile_text("0 1 1 1 .5\\n1 2 1 1 1\\n2")).tolist()
    [0.0, 0.5, 1.5]
    """
    distances = native.distances(fst._native, reverse, delta, queue_type)
    return distances.view(fst.semiring.dtype) if isinstance(distances, np.ndarray) else list(distances)


def total_weight(fst: Fst) -> Weight:
    """The weight of all paths of a machine.

    >>> from textmill.fst.formats import compile_text
    >>> total_weight(compile_text("0 1 1 1 .25\\n0 1 2 2 .5\\n1", semiring_name="real"))
    0.75
    """
    if fst.start < 0:
        return fst.semiring.zero
    weight = shortest_distance(fst, reverse=True)[fst.start]
    return weight.item() if isinstance(weight, np.generic) else weight


def shortest_path(
    fst: Fst, k: int = 1, *, unique: bool = False, weight: Weight | None = None, queue_type: str = "auto"
) -> Fst:
    """The k best paths, as a machine whose start has a way out for each, best first.

    With `unique`, which needs an acceptor, the best path of each of the k best strings. `weight`: only paths not
    worse than this times the best. `queue_type` as in `shortest_distance`.

    >>> from textmill.fst.strings import string_map, strings
    >>> [y for _, y, _ in strings(shortest_path(string_map([("a", "x", 2.0), ("a", "y", 1.0)])))]
    ['y']
    """
    check_range("k", k, at_least=1)
    return fst._like(native.best_paths(fst._native, k, unique, weight, queue_type))


def prune(fst: Fst, *, weight: Weight | None = None, max_states: int | None = None) -> Fst:
    """Without states and arcs that are only on paths worse than `weight` times the best; at most `max_states` states.

    >>> from textmill.fst.strings import string_map
    >>> prune(string_map([("a", "x", 2.0), ("a", "y", 1.0)]), weight=0.5).num_arcs
    1
    """
    if weight is None and max_states is None:
        raise DataError("prune needs weight= or max_states=")
    if max_states is not None:
        check_range("max_states", max_states, at_least=0)
    return fst._like(native.prune(fst._native, weight, max_states))


def reweight(fst: Fst, potentials: Sequence[Weight], *, to: str = "initial") -> Fst:
    """Move weights along arcs by a potential for each state; paths keep their weights.

    >>> from textmill.fst.formats import compile_text
    >>> reweight(compile_text("0 1 1 1 3\\n1 2"), [5.0, 2.0]).arcs(0)[0].weight
    5.0
    """
    values = [value.item() if isinstance(value, np.generic) else value for value in potentials]
    return fst._like(native.reweight(fst._native, values, _to_final(to)))


def push(
    fst: Fst,
    *,
    weights: bool = True,
    labels: bool = False,
    to: str = "initial",
    remove_total_weight: bool = False,
    remove_common_affix: bool = False,
    delta: float = _CONVERGED,
) -> Fst:
    """Move weights, and output labels with `labels`, as far as they go towards the start or the "final" states.

    After pushing to the start in the log semiring the arcs and the final weight of every state but the start sum to
    one.

    >>> from textmill.fst.formats import compile_text
    >>> push(compile_text("0 1 1 1 1\\n1 2")).arcs(0)[0].weight
    3.0
    """
    machine = native.push(
        fst._native,
        weights=weights,
        labels=labels,
        to_final=_to_final(to),
        remove_total=remove_total_weight,
        remove_affix=remove_common_affix,
        delta=delta,
    )
    return fst._like(machine)


def _to_final(to: str) -> bool:
    if to not in ("initial", "final"):
        raise DataError(f"weights are moved to 'initial' or 'final', not {to!r}")
    return to == "final"

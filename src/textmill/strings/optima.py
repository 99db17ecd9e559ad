"""All best alignments of two strings, where an alignment is chosen among many: ties are seen, not broken.

    D[i][j] = max over moves into (i, j) of D[k][h] + gain         the recurrence of the measure
    G[i][j] = union over the moves that reach D[i][j] of { g + edges : g in G[k][h] }

The moves of ML are a match, a gap on either side, which costs nothing, and a transposition; those of the edit measures
have their costs as negative gains. Bags, Soft-TFIDF and Monge-Elkan have one graph by definition, and greedy matching
one by its order; for assignments and unrestricted Damerau only one of the best is given.

Cost: O(n m) cells, and the number of graphs that are returned times their length.
Reference: Moreau, Yvon & Cappé (2008), section 3.2, footnote on optimal graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill.model import check_range
from textmill.strings.alignment import Alignment, Edge

if TYPE_CHECKING:
    from textmill.strings.measure import Fitted

__all__ = ["Recurrence", "best_alignments", "edits", "in_order"]

Place: TypeAlias = tuple[int, int]
Link: TypeAlias = tuple[int, int, float]  # left, right, weight
Move: TypeAlias = tuple[Place, float, tuple[Link, ...]]  # where it comes from, its gain, its edges
Moves: TypeAlias = Callable[[int, int], Iterator[Move]]
Graph: TypeAlias = frozenset[Link]

Floats: TypeAlias = NDArray[np.floating[Any]]

_SAME = 1e-9  # sums of weights that differ by less are equal


class Recurrence(NamedTuple):
    """The similarities of the features of two strings, and the moves into each cell of a table over them."""

    similarities: Floats
    moves: Moves


def best_alignments(fitted: Fitted, a: str, b: str, *, limit: int = 1000) -> list[Alignment]:
    """Return all alignments of two strings that have the best score, at most `limit`, the one of `align` first.

    >>> from textmill.strings import parse_measure
    >>> ml = parse_measure("ml(words, weights='uniform')").fit()
    >>> [[(edge.left, edge.right) for edge in found.edges] for found in best_alignments(ml, "A B", "B A")]
    [[(1, 0)], [(0, 1)]]
    """
    check_range("limit", limit, at_least=1, whole=True)
    first = fitted.align(a, b)
    x, y = first.left_features, first.right_features
    recurrence = fitted.recurrence(first)
    if recurrence is None:
        return [first]
    alignments = [first]
    chosen = {(edge.left, edge.right) for edge in first.edges}
    for graph in _graphs(len(x), len(y), recurrence.moves, limit + 1):
        if {(i, j) for i, j, _ in graph} != chosen and len(alignments) < limit:
            edges = (
                Edge(i, j, weight, float(recurrence.similarities[i, j]), _nested(fitted, x[i], y[j]))
                for i, j, weight in sorted(graph)
            )
            alignments.append(replace(first, edges=tuple(edges)))
    return alignments


def _nested(fitted: Fitted, x: str, y: str) -> Alignment | None:
    return None if fitted.sub is None else fitted.sub.explain(x, y)


def in_order(similarities: Floats, w: Floats, gap: int) -> Recurrence:
    """The recurrence of ML: gaps cost nothing, matches and transpositions gain their weights w."""

    def moves(i: int, j: int) -> Iterator[Move]:
        if i:
            yield (i - 1, j), 0.0, ()
        if j:
            yield (i, j - 1), 0.0, ()
        if i and j and w[i - 1, j - 1] > 0:
            weight = float(w[i - 1, j - 1])
            yield (i - 1, j - 1), weight, ((i - 1, j - 1, weight),)
        for p in range(min(gap, i - 2) + 1):
            for q in range(min(gap, j - 2) + 1):
                k, h = i - 2 - p, j - 2 - q
                one, other = float(w[k, j - 1]), float(w[i - 1, h])
                if one > 0 and other > 0:
                    yield (k, h), one + other, ((k, j - 1, one), (i - 1, h, other))

    return Recurrence(similarities, moves)


def edits(sims: Floats, gap: float, *, swaps: bool) -> Recurrence:
    """The recurrence of the edit measures: gaps, pairs and swaps at their costs."""

    def moves(i: int, j: int) -> Iterator[Move]:
        if i:
            yield (i - 1, j), -gap, ()
        if j:
            yield (i, j - 1), -gap, ()
        if i and j:
            same = float(sims[i - 1, j - 1])
            yield (i - 1, j - 1), same - 1.0, ((i - 1, j - 1, same),)
        if swaps and i > 1 and j > 1 and sims[i - 1, j - 2] == sims[i - 2, j - 1] == 1.0 and sims[i - 1, j - 1] < 1.0:
            yield (i - 2, j - 2), -1.0, ((i - 2, j - 1, 0.5), (i - 1, j - 2, 0.5))

    return Recurrence(sims, moves)


def _graphs(n: int, m: int, moves: Moves, limit: int) -> list[Graph]:
    """The distinct sets of edges of all best paths, at most `limit`, in the order of their edges."""
    d = np.zeros((n + 1, m + 1))
    for i in range(n + 1):
        for j in range(m + 1):
            d[i, j] = max((d[place] + gain for place, gain, _ in moves(i, j)), default=0.0)
    graphs: dict[Place, list[Graph]] = {(0, 0): [frozenset()]}
    for i, j in _best_places(n, m, d, moves):
        here: dict[Graph, None] = {}
        for place, gain, edges in moves(i, j):
            if abs(d[place] + gain - d[i, j]) <= _SAME:
                here.update(dict.fromkeys(graph.union(edges) for graph in graphs[place]))
        graphs[i, j] = sorted(here, key=sorted)[:limit]
    return graphs[n, m]


def _best_places(n: int, m: int, d: Floats, moves: Moves) -> list[Place]:
    """The cells on best paths but for the first, each behind those that it comes from."""
    waiting, seen = [(n, m)], {(n, m)}
    while waiting:
        i, j = waiting.pop()
        for place, gain, _ in moves(i, j):
            if place not in seen and abs(d[place] + gain - d[i, j]) <= _SAME:
                seen.add(place)
                waiting.append(place)
    return sorted(seen - {(0, 0)})

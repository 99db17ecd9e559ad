"""Sums and best structures of and/or graphs, node by node in logarithms.

    inside    phi_c = exp(score_c) prod_{d in daughters(c)} phi_d        phi_d = sum_{c in alternatives(d)} phi_c
    outside   psi_root = 1;   psi_c = sum_{d with alternative c} psi_d
              psi_d = sum_{c with daughter d} psi_c exp(score_c) prod of the other daughters' phi
    Z = phi_root,   P(c) = phi_c psi_c / Z,   best: the same with lists of the k best for sums

Cost: nodes and edges, for the k best times k log k. Reference: Miyao & Tsujii (2002).
"""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from textmill.arrays import Floats, Ids, Ints

__all__ = ["Graph", "best_structures", "inside_outside", "topological"]


class Graph(NamedTuple):
    """Disjunctive nodes d with alternatives, conjunctive nodes c with daughters, both as offsets into a list."""

    alternatives: Ints  # [D + 1]
    conjunctive: Ids  # [alternatives[D]]
    daughters: Ints  # [C + 1]
    disjunctive: Ids  # [daughters[C]]
    root: int

    def lists(self) -> tuple[list[list[int]], list[list[int]]]:
        """The alternatives of each disjunctive node, and the daughters of each conjunctive node."""
        ors = [self.conjunctive[a:b].tolist() for a, b in pairwise(self.alternatives.tolist())]
        ands = [self.disjunctive[a:b].tolist() for a, b in pairwise(self.daughters.tolist())]
        return ors, ands


def topological(graph: Graph) -> list[int]:
    """Return the disjunctive nodes that the root reaches, daughters first; empty if there is a cycle.

    >>> zero, one = np.array([0, 1]), np.array([0, 0])
    >>> topological(Graph(zero, np.array([0]), one, np.array([], int), 0))
    [0]
    """
    _check(graph)
    ors, ands = graph.lists()
    below = [[d for c in some for d in ands[c]] for some in ors]
    order: list[int] = []
    state = [0] * len(ors)  # 0 new, 1 open, 2 done
    stack = [(graph.root, 0)]
    state[graph.root] = 1
    while stack:
        node, at = stack.pop()
        if at == len(below[node]):
            state[node] = 2
            order.append(node)
            continue
        stack.append((node, at + 1))
        daughter = below[node][at]
        if state[daughter] == 1:
            return []
        if state[daughter] == 0:
            state[daughter] = 1
            stack.append((daughter, 0))
    return order


def inside_outside(graph: Graph, scores: Floats) -> tuple[float, Floats, Floats]:
    """Return log Z, and the log-probabilities of conjunctive and of disjunctive nodes.

    >>> graph = Graph(np.array([0, 2]), np.array([0, 1]), np.array([0, 0, 0]), np.array([], int), 0)
    >>> log_z, ands, ors = inside_outside(graph, np.log([1.0, 3.0]))
    >>> np.exp(ands).round(2).tolist(), round(float(np.exp(log_z)), 9)
    ([0.25, 0.75], 4.0)
    """
    order = topological(graph)
    if not order:
        raise ValueError("the forest has a cycle")
    ors, ands = graph.lists()
    inside = np.full(len(ors), -np.inf)
    whole = np.full(len(ands), -np.inf)
    for d in order:
        for c in ors[d]:
            whole[c] = scores[c] + sum(inside[below] for below in ands[c])
            inside[d] = np.logaddexp(inside[d], whole[c])
    log_z = float(inside[graph.root])
    above, outside = np.full(len(ands), -np.inf), np.full(len(ors), -np.inf)
    outside[graph.root] = 0.0
    done = set()
    waiting = [0] * len(ands)  # alternatives of reached nodes that have not given their share yet
    for d in order:
        for c in ors[d]:
            waiting[c] += 1
    for d in reversed(order):
        for c in ors[d]:
            above[c] = np.logaddexp(above[c], outside[d])
            waiting[c] -= 1
            if waiting[c] or c in done:
                continue
            done.add(c)
            for place, below in enumerate(ands[c]):
                others = sum(inside[one] for at, one in enumerate(ands[c]) if at != place)
                outside[below] = np.logaddexp(outside[below], above[c] + scores[c] + others)
    with np.errstate(invalid="ignore"):
        chances = np.where(np.isneginf(whole) | np.isneginf(above), -np.inf, whole + above - log_z)
        reached = np.where(np.isneginf(inside) | np.isneginf(outside), -np.inf, inside + outside - log_z)
    return log_z, chances, reached


def best_structures(graph: Graph, scores: Floats, k: int) -> list[tuple[float, list[int]]]:
    """Return the k best structures as scores and conjunctive nodes, from the root down, as often as they are used.

    >>> graph = Graph(np.array([0, 2]), np.array([0, 1]), np.array([0, 0, 0]), np.array([], int), 0)
    >>> best_structures(graph, np.array([1.0, 3.0]), 2)
    [(3.0, [1]), (1.0, [0])]
    """
    order = topological(graph)
    if not order:
        raise ValueError("the forest has a cycle")
    ors, ands = graph.lists()
    best: dict[int, list[tuple[float, list[int]]]] = {}
    for d in order:
        found = []
        for c in ors[d]:
            partial = [(float(scores[c]), [c])] if scores[c] > -np.inf else []
            for below in ands[c]:
                pairs = ((one + other, own + nodes) for one, own in partial for other, nodes in best[below])
                partial = heapq.nlargest(k, pairs, key=lambda item: item[0])
            found += partial
        best[d] = heapq.nlargest(k, found, key=lambda item: item[0])
    return best[graph.root]


def _check(graph: Graph) -> None:
    ors, ands = len(graph.alternatives) - 1, len(graph.daughters) - 1
    for name, offsets, size in (
        ("alternatives", graph.alternatives, len(graph.conjunctive)),
        ("daughters", graph.daughters, len(graph.disjunctive)),
    ):
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != size or (np.diff(offsets) < 0).any():
            raise ValueError(f"{name} must rise from 0 to {size}")
    if not 0 <= graph.root < ors:
        raise ValueError(f"the root {graph.root} is no disjunctive node")
    for kind, nodes, count in (("conjunctive", graph.conjunctive, ands), ("disjunctive", graph.disjunctive, ors)):
        if len(nodes) and not 0 <= nodes.min() <= nodes.max() < count:
            raise ValueError(f"a {kind} node is not there")

"""Where the parts of a layered drawing of a graph stand.

    1. layers      cycles are opened, edges are shortest in all (layers.py)
    2. chains      an edge over several layers becomes a chain of one node a layer; its label is one of them, so
                   that room is kept for it: states stand in even layers, labels in odd ones
    3. order       nodes of a layer by the mean place of their neighbors, swept forth and back, then neighbors
                   exchanged while lines cross less often                                          O(E log E) a sweep
    4. places      chains straight, nodes over the middle of their neighbors, in four ways of which the mean of the
                   two middle ones is taken                                                        O(V + E)

Boxes have an extent along the layers' axis, and two across it, before and after the line that goes through them. The
result is the same on every run. References: Gansner, Koutsofios, North & Vo (1993), A technique for drawing directed
graphs; Brandes & Köpf (2001), Fast and simple horizontal coordinate assignment.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from textmill.errors import DataError
from textmill.fst.layers import layers_of, turned_edges

__all__ = ["Box", "Drawing", "Pass", "crossings", "layered"]

_GAP_ALONG, _GAP_ACROSS, _STEEPNESS, _WIDEST_GAP = 20.0, 10.0, 0.25, 90.0
_SWEEPS, _ROUNDS, _EFFORT, _MOST = 24, 6, 20_000, 8_000  # fewer sweeps for larger graphs, no drawing beyond _MOST nodes


class Box(NamedTuple):
    """The room that something needs: along the layers' axis, and on both sides of the line through it."""

    along: float
    before: float
    after: float


class Pass(NamedTuple):
    """Where an edge goes straight through a layer: from, to, at."""

    begin: float
    end: float
    across: float


class Drawing(NamedTuple):
    """Where everything stands: middles of nodes (along, across), passes of edges from source to target."""

    nodes: list[tuple[float, float]]
    routes: list[list[Pass]]
    labels: list[tuple[float, float]]
    length: float
    breadth: float
    turned: list[bool]


def layered(boxes: Sequence[Box], edges: Sequence[tuple[int, int]], labels: Sequence[Box], *, root: int = 0) -> Drawing:
    """Lay out nodes with boxes and edges with labels; the root stands first, no edge is a loop.

    >>> drawing = layered([Box(20, 10, 10)] * 2, [(0, 1)], [Box(30, 16, 4)])
    >>> [across for _, across in drawing.nodes]
    [16.0, 16.0]
    """
    if not boxes:
        return Drawing([], [], [], 0.0, 0.0, [])
    turned = turned_edges(len(boxes), edges, root)
    forward = [(v, u) if back else (u, v) for (u, v), back in zip(edges, turned, strict=True)]
    layer = layers_of(len(boxes), forward, root)
    if sum(2 * (layer[v] - layer[u]) for u, v in forward) > _MOST:
        raise DataError(
            f"{len(boxes)} states and {len(edges)} lines between them are too tangled to be drawn; write DOT"
        )
    graph = _Chains(boxes, forward, labels, layer)
    graph.order(root)
    across = _places(graph)
    middle, length = _along(graph, across)
    routes = []
    for (u, v), chain, back in zip(forward, graph.chains, turned, strict=True):
        passes = [
            Pass(
                middle[graph.rank[b]] - graph.reach(b, a, across),
                middle[graph.rank[b]] + graph.reach(b, c, across),
                across[b],
            )
            for a, b, c in zip([u, *chain], chain, [*chain[1:], v], strict=False)
        ]
        routes.append([Pass(end, begin, at) for begin, end, at in reversed(passes)] if back else passes)
    breadth = max(across[v] + graph.boxes[v].after for v in range(len(across)))
    return Drawing(
        [(middle[graph.rank[v]], across[v]) for v in range(len(boxes))],
        routes,
        [(middle[graph.rank[v]], across[v]) for v in graph.label_nodes],
        length,
        breadth,
        turned,
    )


class _Chains:
    """The graph with every edge as a chain of nodes, one a rank."""

    def __init__(
        self, boxes: Sequence[Box], edges: Sequence[tuple[int, int]], labels: Sequence[Box], layer: Sequence[int]
    ) -> None:
        self.boxes = list(boxes)
        self.real = len(boxes)
        self.rank = [2 * depth for depth in layer]
        self.chains: list[list[int]] = []
        self.label_nodes: list[int] = []
        self.up: list[list[int]] = [[] for _ in boxes]
        self.down: list[list[int]] = [[] for _ in boxes]
        line = Box(0.0, 3.0, 3.0)
        for (u, v), label in zip(edges, labels, strict=True):
            named = self.rank[u] + 2 * ((layer[v] - layer[u]) // 2) + 1
            if named > self.rank[v]:
                named -= 2
            chain = []
            last = u
            for rank in range(self.rank[u] + 1, self.rank[v]):
                node = len(self.boxes)
                self.boxes.append(label if rank == named else line)
                if rank == named:
                    self.label_nodes.append(node)
                self.rank.append(rank)
                self.up.append([last])
                self.down.append([])
                self.down[last].append(node)
                chain.append(node)
                last = node
            self.down[last].append(v)
            self.up[v].append(last)
            self.chains.append(chain)
        self.layers: list[list[int]] = [[] for _ in range(max(self.rank) + 1)]

    def order(self, root: int) -> None:
        """Sort the nodes of every layer so that few lines cross."""
        place = [-1] * len(self.boxes)
        for first in (root, *range(self.real)):  # as met from the root, depth first: a good beginning
            stack = [first]
            while stack:
                v = stack.pop()
                if place[v] >= 0:
                    continue
                place[v] = len(self.layers[self.rank[v]])
                self.layers[self.rank[v]].append(v)
                stack.extend(reversed([*self.down[v], *self.up[v]]))
        best, fewest = [row[:] for row in self.layers], self.crossings()
        for sweep in range(min(_SWEEPS, 2 + _EFFORT // len(self.boxes))):
            if fewest == 0:
                break
            ahead = sweep % 2 == 0
            near = self.up if ahead else self.down
            for row in self.layers if ahead else reversed(self.layers):
                self._by_mean(row, near, place, reverse_ties=sweep % 4 >= 2)
            self._exchange(place)
            now = self.crossings()
            if now < fewest:
                best, fewest = [row[:] for row in self.layers], now
        self.layers = best
        self.place = [0] * len(self.boxes)
        for row in self.layers:
            for i, v in enumerate(row):
                self.place[v] = i

    @staticmethod
    def _by_mean(row: list[int], near: list[list[int]], place: list[int], *, reverse_ties: bool) -> None:
        """Sort by the mean place of the neighbors; nodes without any stay where they are."""
        held = [v if not near[v] else -1 for v in row]
        moving = [v for v in row if near[v]]
        tie = -1 if reverse_ties else 1
        moving.sort(key=lambda v: (sum(place[u] for u in near[v]) / len(near[v]), tie * place[v]))
        rest = iter(moving)
        row[:] = [v if v >= 0 else next(rest) for v in held]
        for i, v in enumerate(row):
            place[v] = i

    def _exchange(self, place: list[int]) -> None:
        """Exchange neighbors in a layer while that removes crossings."""
        for _ in range(_ROUNDS):
            better = False
            for row in self.layers:
                for i in range(len(row) - 1):
                    v, w = row[i], row[i + 1]
                    if self._gain(v, w, place) > 0:
                        row[i], row[i + 1] = w, v
                        place[v], place[w] = i + 1, i
                        better = True
            if not better:
                break

    def _gain(self, v: int, w: int, place: list[int]) -> int:
        """How many crossings fewer there are if w comes before v instead of after it."""
        gain = 0
        for near in (self.up, self.down):
            for a in near[v]:
                here = place[a]
                for b in near[w]:
                    there = place[b]
                    gain += (here > there) - (here < there)
        return gain

    def reach(self, v: int, other: int, across: Sequence[float]) -> float:
        """How far from the middle of its layer the line at v stays straight on its way to or from another node.

        It passes its own label, and boxes of the layer that stand in the way.
        """
        low, high = sorted((across[v], across[other]))
        widest = self.boxes[v].along
        for w in self.layers[self.rank[v]]:
            if w != v and across[w] - self.boxes[w].before < high and across[w] + self.boxes[w].after > low:
                widest = max(widest, self.boxes[w].along)
        return widest / 2

    def crossings(self) -> int:
        """How many lines cross."""
        place = {v: i for row in self.layers for i, v in enumerate(row)}
        return sum(crossings([(place[v], place[w]) for v in row for w in self.down[v]]) for row in self.layers)


def crossings(lines: Sequence[tuple[int, int]]) -> int:
    """How many of the lines between two layers cross, each given by its places in both.

    >>> crossings([(0, 1), (1, 0), (1, 2)])
    1
    """
    passed: list[int] = []
    count = 0
    for _, group in itertools.groupby(sorted(lines), key=lambda line: line[0]):
        ends = [end for _, end in group]
        count += sum(len(passed) - bisect_left(passed, end + 1) for end in ends)
        for end in ends:
            insort(passed, end)
    return count


def _places(graph: _Chains) -> list[float]:
    """Coordinates across the layers (Brandes & Köpf)."""
    conflicts = set(_conflicts(graph))
    places: list[list[float]] = []
    for upward, mirrored in itertools.product((True, False), (False, True)):
        layers = [row[::-1] if mirrored else row[:] for row in (graph.layers if upward else graph.layers[::-1])]
        near = graph.up if upward else graph.down
        sides = [(box.after, box.before) if mirrored else (box.before, box.after) for box in graph.boxes]
        across = _compacted(layers, _aligned(layers, near, conflicts), sides)
        places.append([-x for x in across] if mirrored else across)
    widths = [max(across) - min(across) for across in places]
    narrowest = places[widths.index(min(widths))]
    for i, across in enumerate(places):  # those aligned at the low end by their low end, the others by their high end
        end = max if i % 2 else min
        shift = end(narrowest) - end(across)
        places[i] = [x + shift for x in across]
    result = []
    for values in zip(*places, strict=True):
        _, low, high, _ = sorted(values)
        result.append((low + high) / 2)
    first = min(x - graph.boxes[v].before for v, x in enumerate(result))
    return [round(x - first, 3) for x in result]


def _conflicts(graph: _Chains) -> Iterator[tuple[int, int]]:
    """Lines that cross an inner line of a chain: the chain goes first when nodes are aligned."""
    place, real = graph.place, graph.real
    for row, following in itertools.pairwise(graph.layers):
        ends: list[list[int]] = [[place[w] for w in graph.down[v] if v >= real and w >= real] for v in row]
        highest = [-1, *itertools.accumulate((max(end, default=-1) for end in ends), max)]
        most = len(following)
        lowest = [most, *itertools.accumulate((min(end, default=most) for end in reversed(ends)), min)][::-1]
        for i, v in enumerate(row):
            for w in graph.down[v]:
                if (v < real or w < real) and (highest[i] > place[w] or lowest[i + 1] < place[w]):
                    yield v, w


def _aligned(
    layers: Sequence[Sequence[int]], near: Sequence[Sequence[int]], conflicts: set[tuple[int, int]]
) -> list[int]:
    """The first node of the block of each node: nodes aligned with a middle neighbor in the layer before."""
    count = sum(map(len, layers))
    top = list(range(count))
    last = list(range(count))  # the last node of a block that begins here
    place = {v: i for row in layers for i, v in enumerate(row)}
    for row in layers[1:]:
        free = -1
        for v in row:
            neighbors = sorted(near[v], key=place.__getitem__)
            middle = (len(neighbors) - 1) / 2
            for m in sorted({int(middle), int(middle + 0.5)} if neighbors else ()):
                u = neighbors[m]
                if last[top[v]] != v or top[v] != v:
                    continue
                if place[u] > free and (u, v) not in conflicts and (v, u) not in conflicts and last[top[u]] == u:
                    top[v] = top[u]
                    last[top[u]] = v
                    free = place[u]
    return top


def _compacted(
    layers: Sequence[Sequence[int]], top: Sequence[int], sides: Sequence[tuple[float, float]]
) -> list[float]:
    """Blocks as far to the low end as they go, then each as near to its followers as it can be."""
    gaps: dict[int, dict[int, float]] = {v: {} for v in set(top)}
    entered = dict.fromkeys(gaps, 0)
    for row in layers:
        for v, w in itertools.pairwise(row):
            need = sides[v][1] + sides[w][0] + _GAP_ACROSS
            a, b = top[v], top[w]
            if b not in gaps[a]:
                entered[b] += 1
            gaps[a][b] = max(gaps[a].get(b, 0.0), need)
    at = dict.fromkeys(gaps, 0.0)
    order = sorted(v for v, many in entered.items() if not many)
    for v in order:
        for w, need in gaps[v].items():
            at[w] = max(at[w], at[v] + need)
            entered[w] -= 1
            if not entered[w]:
                order.append(w)
    for v in reversed(order):
        if gaps[v]:
            at[v] = max(at[v], min(at[w] - need for w, need in gaps[v].items()))
    return [at[block] for block in top]


def _along(graph: _Chains, across: Sequence[float]) -> tuple[list[float], float]:
    """The middle of each rank, and where the last one ends: boxes have room, no line is too steep."""
    middle = []
    at = 0.0
    for rank, row in enumerate(graph.layers):
        if rank:
            steepest = max((abs(across[v] - across[u]) for v in row for u in graph.up[v]), default=0.0)
            at += min(_GAP_ALONG + _STEEPNESS * steepest, _WIDEST_GAP)
        width = max((graph.boxes[v].along for v in row), default=0.0)
        middle.append(at + width / 2)
        at += width
    return middle, at

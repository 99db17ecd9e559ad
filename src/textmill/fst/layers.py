"""In which layer the nodes of a graph stand.

    cycles    edges that lead back in a depth-first search from the root are turned round       O(V + E)
    layers    layer(v) > layer(u) for every edge (u, v), and the sum over edges of layer(v) - layer(u) is least

The sum is the objective of a linear program whose bases are spanning trees of edges between neighboring layers: the
network simplex exchanges an edge of the tree for another until no exchange helps, O(V + E) a step. What the sum gains
when an edge of the tree is made longer is the number of edges out of one side of the tree minus those into it, so a
single pass over the tree finds it for all. Reference: Gansner, Koutsofios, North & Vo (1993).
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["layers_of", "turned_edges"]


def turned_edges(count: int, edges: Sequence[tuple[int, int]], root: int) -> list[bool]:
    """Which edges have to be turned round, so that no cycle is left and no edge enters the root.

    >>> turned_edges(3, [(0, 1), (1, 2), (2, 1)], 0)
    [False, False, True]
    """
    leaving: list[list[int]] = [[] for _ in range(count)]
    for e, (u, _) in enumerate(edges):
        leaving[u].append(e)
    turned = [v == root for _, v in edges]
    new, open_, done = 0, 1, 2
    state = [new] * count
    for first in (root, *range(count)):
        if state[first] != new:
            continue
        state[first] = open_
        stack = [(first, iter(leaving[first]))]
        while stack:
            u, rest = stack[-1]
            for e in rest:
                v = edges[e][1]
                if state[v] == open_:
                    turned[e] = True
                elif state[v] == new:
                    state[v] = open_
                    stack.append((v, iter(leaving[v])))
                    break
            else:
                state[u] = done
                stack.pop()
    return turned


def layers_of(count: int, edges: Sequence[tuple[int, int]], root: int) -> list[int]:
    """Layers of the nodes of a graph without cycles that make its edges shortest in all; the root is in layer 0.

    >>> layers_of(4, [(0, 1), (1, 2), (0, 3), (3, 2)], 0)
    [0, 1, 2, 1]
    """
    entered = {v for _, v in edges}
    links = [(u, v, 1) for u, v in edges]
    links += [(root, v, 0) for v in range(count) if v != root and v not in entered]
    layer = [0] * count
    waiting = [0] * count
    leaving: list[list[int]] = [[] for _ in range(count)]
    for u, v, _ in links:
        waiting[v] += 1
        leaving[u].append(v)
    queue = [root]
    for u in queue:  # longest paths
        for v in leaving[u]:
            layer[v] = max(layer[v], layer[u] + 1)
            waiting[v] -= 1
            if not waiting[v]:
                queue.append(v)
    surplus = [0] * count
    for u, v, weight in links:
        surplus[u] += weight
        surplus[v] -= weight
    tree = _tight_tree(count, links, layer)
    turn = 0
    for _ in range(8 * count + 100):
        parent, order = _rooted(count, links, tree)
        below = surplus[:]  # edges out of the subtree minus edges into it
        for v in reversed(order):
            if parent[v] >= 0:
                below[_other(links[parent[v]], v)] += below[v]
        cut = {
            e: below[v] if links[e][0] == v else -below[v] for v in order if (e := parent[v]) >= 0
        }  # by how much the sum grows when the edge is made longer
        candidates = [e for e in tree if cut[e] < 0]
        if not candidates:
            break
        leaves = next((e for e in candidates if e >= turn), candidates[0])
        turn = leaves + 1
        child = links[leaves][0] if parent[links[leaves][0]] == leaves else links[leaves][1]
        inside = _subtree(child, order, parent, links)
        head = inside if links[leaves][1] in inside else set(range(count)) - inside
        entering = [e for e, (u, v, _) in enumerate(links) if u in head and v not in head]
        enters = min(entering, key=lambda e: layer[links[e][1]] - layer[links[e][0]])
        slack = layer[links[enters][1]] - layer[links[enters][0]] - 1
        for v in head:
            layer[v] += slack
        tree = sorted({*tree, enters} - {leaves})
    first = layer[root]
    return [depth - first for depth in layer]


def _other(link: tuple[int, int, int], node: int) -> int:
    return link[1] if link[0] == node else link[0]


def _tight_tree(count: int, links: Sequence[tuple[int, int, int]], layer: list[int]) -> list[int]:
    """Edges that span the graph and lead from a layer to the next; layers are moved until there are such."""
    inside = {0}
    tree: list[int] = []
    while len(inside) < count:
        crossing = [e for e, (u, v, _) in enumerate(links) if (u in inside) != (v in inside)]
        best = min(crossing, key=lambda e: layer[links[e][1]] - layer[links[e][0]])
        u, v, _ = links[best]
        slack = layer[v] - layer[u] - 1
        for node in inside:
            layer[node] += slack if u in inside else -slack
        tree.append(best)
        inside.update((u, v))
    return sorted(tree)


def _rooted(count: int, links: Sequence[tuple[int, int, int]], tree: Sequence[int]) -> tuple[list[int], list[int]]:
    """The tree edge above each node (-1 for the first), and the nodes from the first down."""
    near: list[list[int]] = [[] for _ in range(count)]
    for e in tree:
        near[links[e][0]].append(e)
        near[links[e][1]].append(e)
    parent = [-1] * count
    order = [0]
    for v in order:
        for e in near[v]:
            if e != parent[v]:
                child = _other(links[e], v)
                parent[child] = e
                order.append(child)
    return parent, order


def _subtree(top: int, order: Sequence[int], parent: Sequence[int], links: Sequence[tuple[int, int, int]]) -> set[int]:
    inside = {top}
    for v in order:
        if parent[v] >= 0 and v != top and _other(links[parent[v]], v) in inside:
            inside.add(v)
    return inside

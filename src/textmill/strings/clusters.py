"""From pairs that match to groups of names, and one name for each group.

    connected      a group is what pairs at or above the threshold join, directly or through others
    correlation    groups C that make  sum over pairs in C of (score - threshold)  large

Connected components follow chains: a like b, b like c, ... joins a with z. Correlation clustering (Bansal, Blum &
Chawla 2004) counts what speaks against: two names of a group without a matching pair, score 0, cost it `threshold`.
Here groups are merged greedily, the pair of groups with the largest gain first, as long as the gain is above 0, and
then single names move to the group where they gain most, until none does; both only raise the sum. Each connected
component is clustered by itself, which loses nothing: joining two components only costs.

Cost: connected O(pairs); correlation O(pairs log pairs) for each component, times the few rounds of moves.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import check_choice, check_range
from textmill.numeric import csgraph, sparse
from textmill.strings.pairs import Pairs

__all__ = ["canonical_names", "cluster_pairs"]

_ROUNDS = 20  # of moves; two or three are usual


def cluster_pairs(pairs: Pairs, names: int, *, threshold: float = 0.0, method: str = "connected") -> NDArray[np.int64]:
    """Return the group of each of `names` names, numbered by their first members.

    `pairs` have no meaning beyond their scores; those below the threshold join nothing. method="correlation" weighs
    each pair by its score less the threshold, so the threshold must be above 0 there.

    >>> chain = Pairs.of([(0, 1, 0.9), (1, 2, 0.7), (2, 3, 0.9)])
    >>> cluster_pairs(chain, 5, threshold=0.6).tolist()
    [0, 0, 0, 0, 1]
    >>> cluster_pairs(chain, 5, threshold=0.6, method="correlation").tolist()
    [0, 0, 1, 1, 2]
    """
    check_choice("method", method, ["connected", "correlation"])
    check_range("threshold", threshold, at_least=0.0, at_most=1.0)
    if method == "correlation" and threshold == 0.0:
        raise DataError(
            "correlation clustering needs a threshold above 0, which is what a missing pair costs; pass one"
        )
    left, right, score = pairs
    if len(left) and (min(left.min(), right.min()) < 0 or max(left.max(), right.max()) >= names):
        raise DataError(
            f"pairs must lie among {names} names, got {int(max(left.max(), right.max()))}; pass their number"
        )
    matching = (score >= threshold) & (left != right)
    left, right, score = left[matching], right[matching], score[matching]
    graph = sparse.coo_matrix((np.ones(len(left)), (left, right)), shape=(names, names))
    _, groups = csgraph.connected_components(graph, directed=False)
    if method == "correlation":
        groups = _split(groups, left, right, score - threshold, threshold)
    _, first, numbers = np.unique(groups, return_index=True, return_inverse=True)
    ranks: NDArray[np.int64] = np.argsort(np.argsort(first, kind="stable"), kind="stable")[numbers].astype(np.int64)
    return ranks


def canonical_names(
    names: Sequence[str], groups: NDArray[np.integer[Any]], pairs: Pairs, counts: Sequence[int] | None = None
) -> list[int]:
    """Return the position of the name that stands for each group.

    It is the name with the largest sum of scores to the other names, weighted by how often these occur; its own count
    is one of a score of 1. Ties: the longer name, then the first.

    >>> names = ["J. Smith", "John Smith", "Jon Smith", "Ann Lee"]
    >>> pairs = Pairs.of([(0, 1, 0.7), (0, 2, 0.7), (1, 2, 0.9)])
    >>> canonical_names(names, np.array([0, 0, 0, 1]), pairs)
    [1, 3]
    """
    weight = np.ones(len(names)) if counts is None else np.asarray(counts, np.float64)
    if not len(weight) == len(groups) == len(names):
        raise DataError(f"{len(names)} names, {len(groups)} groups, {len(weight)} counts; pass one of each a name")
    support = weight.copy()
    inside = groups[pairs.left] == groups[pairs.right]
    left, right, score = pairs.left[inside], pairs.right[inside], pairs.score[inside]
    np.add.at(support, left, score * weight[right])
    np.add.at(support, right, score * weight[left])
    lengths = np.fromiter(map(len, names), np.int64, len(names))
    order = np.lexsort((np.arange(len(names)), -lengths, -np.round(support, 12), groups))
    _, first = np.unique(groups[order], return_index=True)
    return [int(position) for position in order[first]]


def _split(
    groups: NDArray[Any], left: NDArray[Any], right: NDArray[Any], gains: NDArray[Any], penalty: float
) -> NDArray[np.int64]:
    """Correlation clusters inside connected components."""
    result = groups.astype(np.int64)
    order = np.argsort(groups[left], kind="stable") if len(left) else np.zeros(0, np.int64)
    component = groups[left][order] if len(left) else order
    following = int(result.max()) + 1 if len(result) else 0
    for edges in np.split(order, np.flatnonzero(np.diff(component)) + 1):
        if len(edges) < 2:
            continue
        members = np.unique(np.r_[left[edges], right[edges]])
        if len(edges) == len(members) * (len(members) - 1) // 2:
            continue  # all of them match
        i, j = np.searchsorted(members, left[edges]), np.searchsorted(members, right[edges])
        inner = _move(_merge(len(members), i, j, gains[edges], penalty), i, j, gains[edges], penalty)
        result[members] = following + inner
        following += len(members)
    return result


def _merge(
    size: int, left: NDArray[Any], right: NDArray[Any], gains: NDArray[Any], penalty: float
) -> NDArray[np.int64]:
    """Merge the two groups that gain most, until none gains.

    A pair of groups gains what its matching pairs gain, less `penalty` for every other pair of names: that is the sum
    of (gain + penalty) over matching pairs, less `penalty` times the product of the sizes.
    """
    linked: list[dict[int, float]] = [defaultdict(float) for _ in range(size)]
    for i, j, gain in zip(left.tolist(), right.tolist(), gains.tolist(), strict=True):
        linked[i][j] += gain + penalty
        linked[j][i] += gain + penalty
    sizes = [1] * size
    versions = [0] * size
    owner = np.arange(size)

    def gain_of(a: int, b: int) -> float:
        return linked[a][b] - penalty * sizes[a] * sizes[b]

    heap = [(-gain_of(a, b), a, b, 0, 0) for a in range(size) for b in linked[a] if a < b]
    heapq.heapify(heap)
    while heap and heap[0][0] < 0:
        _, a, b, was_a, was_b = heapq.heappop(heap)
        if versions[a] != was_a or versions[b] != was_b:
            continue
        owner[owner == b] = a
        sizes[a] += sizes[b]
        versions[a] += 1
        versions[b] = -1
        for other, total in linked[b].items():
            del linked[other][b]
            if other != a:
                linked[a][other] += total
                linked[other][a] = linked[a][other]
        linked[b].clear()
        for other in linked[a]:
            low, high = min(a, other), max(a, other)
            heapq.heappush(heap, (-gain_of(low, high), low, high, versions[low], versions[high]))
    return owner.astype(np.int64)


def _move(
    groups: NDArray[np.int64], left: NDArray[Any], right: NDArray[Any], gains: NDArray[Any], penalty: float
) -> NDArray[np.int64]:
    """Move single names to the group, or to one of their own, where they gain most."""
    size = len(groups)
    linked: list[list[tuple[int, float]]] = [[] for _ in range(size)]
    for i, j, gain in zip(left.tolist(), right.tolist(), gains.tolist(), strict=True):
        linked[i].append((j, gain + penalty))
        linked[j].append((i, gain + penalty))
    group = groups.tolist()
    sizes = np.bincount(groups, minlength=size).tolist()
    for _ in range(_ROUNDS):
        moved = False
        for i in range(size):
            here = group[i]
            sums: dict[int, float] = defaultdict(float)
            for j, value in linked[i]:
                sums[group[j]] += value
            worth = {g: total - penalty * (sizes[g] - (g == here)) for g, total in sums.items()}
            stay = worth.get(here, -penalty * (sizes[here] - 1))
            best = max(worth, key=lambda g: (worth[g], -g), default=here)
            if worth.get(best, 0.0) < 0.0 and stay < -1e-12:
                best = sizes.index(0)  # alone
                worth[best] = 0.0
            if best != here and worth[best] > stay + 1e-12:
                sizes[here] -= 1
                sizes[best] += 1
                group[i] = best
                moved = True
        if not moved:
            break
    return np.array(group, np.int64)

"""Pairs of two lists in which every name is matched at most once.

    greedy    pairs by falling score, each taken if both of its names are still free
    optimal   the pairs of the largest total score: maximize the sum of s_ij over matchings

Both work on the pairs that a join found, never on a matrix of all names. An optimal matching is a shortest path problem
on the sparse graph of these pairs, in which every left name may also stay alone:

    minimize sum of c_ij over matchings of all left names,     c_ij = 2 - s_ij,  c_i,alone = 2

A greedy matching has at least half of the optimal sum, and is what a person going down the list would do.

Cost: n log n for n pairs; optimal at worst names times n. Memory: a few numbers per pair. Reference: Jonker & Volgenant
(1987), A shortest augmenting path algorithm for dense and sparse linear assignment problems.
"""

from __future__ import annotations

import numpy as np

from textmill.model import check_choice
from textmill.numeric import sparse
from textmill.strings.pairs import Pairs, best_pairs

__all__ = ["MATCHINGS", "one_to_one"]

MATCHINGS = ("greedy", "optimal")


def one_to_one(pairs: Pairs, *, method: str = "greedy") -> Pairs:
    """Return the pairs in which no left and no right name comes twice; `method` is "greedy" or "optimal".

    >>> pairs = Pairs.of([(0, 0, 0.9), (0, 1, 0.8), (1, 0, 0.8)])
    >>> one_to_one(pairs).score.tolist(), one_to_one(pairs, method="optimal").score.tolist()
    ([0.9], [0.8, 0.8])
    """
    check_choice("method", method, MATCHINGS)
    keep = _greedy(pairs) if method == "greedy" else _optimal(pairs)
    return best_pairs(pairs.where(np.array(keep, np.int64)), 0)


def _greedy(pairs: Pairs) -> list[int]:
    """Positions of pairs by falling score, then left, then right name, whose names are both free."""
    order = np.lexsort((pairs.right, pairs.left, -pairs.score))
    taken: tuple[set[int], set[int]] = (set(), set())
    keep = []
    for at, i, j in zip(order.tolist(), pairs.left[order].tolist(), pairs.right[order].tolist(), strict=True):
        if i not in taken[0] and j not in taken[1]:
            taken[0].add(i)
            taken[1].add(j)
            keep.append(at)
    return keep


def _optimal(pairs: Pairs) -> list[int]:
    """Positions of the pairs of largest total score."""
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    if not len(pairs.score):
        return []
    left, i = np.unique(pairs.left, return_inverse=True)
    right, j = np.unique(pairs.right, return_inverse=True)
    alone = np.arange(len(left))
    costs = np.concatenate([2.0 - pairs.score, np.full(len(left), 2.0)])
    rows, columns = np.concatenate([i, alone]), np.concatenate([j, len(right) + alone])
    shape = (len(left), len(right) + len(left))
    _, partner = min_weight_full_bipartite_matching(sparse.csr_matrix((costs, (rows, columns)), shape))
    return np.flatnonzero(partner[i] == j).tolist()

"""Which words of two strings are matched, from the weight that each match would add: the graphs of the second level.

    closest              for each left word the nearest right one above theta         Monge-Elkan, Soft-TFIDF
    heaviest_in_order    no crossing but transpositions, the largest sum              ML
    heaviest             one-to-one in any order, the largest sum                     assignment
    largest_first        one-to-one, the heaviest match first, above theta            greedy

These explain one pair; native/strings scores many, with the same choices.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from textmill.strings.measure import Floats

__all__ = ["Matches", "closest", "heaviest", "heaviest_in_order", "largest_first"]

Matches: TypeAlias = list[tuple[int, int]]


def closest(x: list[str], y: list[str], sims: Floats, theta: float) -> Matches:
    """For each left word its closest right word above theta, at every place where it stands.

    Of several, the equal word is taken before others, then the first.
    """
    matches: Matches = []
    for i, word in enumerate(x):
        if not y:
            break
        j = max(range(len(y)), key=lambda k: (sims[i, k], y[k] == word, -k))
        if sims[i, j] > theta:
            matches += [(i, k) for k in range(len(y)) if y[k] == y[j]]
    return matches


def heaviest_in_order(w: Floats, gap: int) -> Matches:
    """The heaviest alignment in order, with transpositions of up to `gap` elements inside (-1: none)."""
    n, m = w.shape
    d = np.zeros((n + 1, m + 1))
    came: dict[tuple[int, int], tuple[int, int]] = {}
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best, place = d[i - 1, j - 1] + w[i - 1, j - 1], (i - 1, j - 1)
            for p in range(min(gap, i - 2) + 1):
                for q in range(min(gap, j - 2) + 1):
                    k, h = i - 2 - p, j - 2 - q
                    swapped = d[k, h] + w[k, j - 1] + w[i - 1, h]
                    if swapped > best:
                        best, place = swapped, (k, h)
            for k, h in ((i - 1, j), (i, j - 1)):
                if d[k, h] >= best:
                    best, place = d[k, h], (k, h)
            d[i, j], came[i, j] = best, place
    matches = []
    i, j = n, m
    while i and j:
        k, h = came[i, j]
        if (k, h) == (i - 1, j - 1):
            matches.append((k, h))
        elif k < i and h < j:
            matches += [(i - 1, h), (k, j - 1)]
        i, j = k, h
    return sorted((i, j) for i, j in matches if w[i, j] > 0)


def heaviest(weights: Floats) -> Matches:
    """The one-to-one matching with the largest sum."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(weights, maximize=True)
    return [(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if weights[i, j] > 0]


def largest_first(sims: Floats, weights: Floats, theta: float) -> Matches:
    """One-to-one edges by falling weight, ties by position."""
    edges = sorted((-weights[i, j], i, j) for i, j in zip(*np.nonzero(sims > theta), strict=True))
    left: set[int] = set()
    right: set[int] = set()
    matches = []
    for weight, i, j in edges:
        if weight < 0 and i not in left and j not in right:
            left.add(i)
            right.add(j)
            matches.append((int(i), int(j)))
    return sorted(matches)

"""P_k, WindowDiff and boundary matching, straight from their definitions."""

from __future__ import annotations

import itertools


def windows(boundaries, units, k, unit):
    """Number of boundaries in each window, by looking at every boundary for every window."""
    # between unit i and unit i + k lie the boundaries i, ..., i + k - 1; units i, ..., i + k - 1 carry the same marks
    last = units - k if unit == "gap" else units - k + 1
    return [sum(1 for b in boundaries if i <= b < i + k) for i in range(1, last + 1)]


def naive_pk(reference, hypothesis, units, k, unit="gap"):
    pairs = zip(windows(reference, units, k, unit), windows(hypothesis, units, k, unit), strict=True)
    return sum((r == 0) != (h == 0) for r, h in pairs)


def naive_window_diff(reference, hypothesis, units, k, unit="gap"):
    pairs = zip(windows(reference, units, k, unit), windows(hypothesis, units, k, unit), strict=True)
    return sum(r != h for r, h in pairs)


def largest_matching(gold, found, tolerance):
    """Try all ways to pair gold boundaries with found ones."""
    if len(gold) > len(found):
        gold, found = found, gold
    best = 0
    for order in itertools.permutations(found, len(gold)):
        best = max(best, sum(abs(g - f) <= tolerance for g, f in zip(gold, order, strict=True)))
    return best

"""Error rates at every threshold, counted item by item in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise


def operating_points(scores, gold):
    """(FA, FR, hits, false alarms) at every cut between distinct scores, from accepting nothing to everything."""
    cuts = [*sorted(set(scores), reverse=True)]
    positives, negatives = sum(gold), len(gold) - sum(gold)
    points = [(Fraction(0), Fraction(1), 0, 0)]
    for cut in cuts:
        hits = sum(1 for s, g in zip(scores, gold, strict=True) if s >= cut and g)
        false_alarms = sum(1 for s, g in zip(scores, gold, strict=True) if s >= cut and not g)
        points.append((Fraction(false_alarms, negatives), Fraction(positives - hits, positives), hits, false_alarms))
    return points


def equal_error_rate(scores, gold):
    """Walk along straight lines between operating points until FA meets FR."""
    points = operating_points(scores, gold)
    for (fa0, fr0, *_), (fa1, fr1, *_) in pairwise(points):
        if fa0 <= fr0 and fa1 >= fr1:
            share = (fr0 - fa0) / ((fr0 - fa0) + (fa1 - fr1))
            return fa0 + share * (fa1 - fa0)
    raise AssertionError("the curve runs from (0, 1) to (1, 0) and must cross")


def pairs_won(scores, gold):
    """Share of (positive, negative) pairs in the right order, ties half: the area under the ROC curve."""
    wins = Fraction(0)
    positives = [s for s, g in zip(scores, gold, strict=True) if g]
    negatives = [s for s, g in zip(scores, gold, strict=True) if not g]
    for p in positives:
        for n in negatives:
            wins += 1 if p > n else Fraction(1, 2) if p == n else 0
    return wins / (len(positives) * len(negatives))

"""Whether words come back across a boundary less often than they do as far apart inside of a segment.

Inside of one text, too, words come in bursts: the further apart two sentences are, the less they have in common. So two
halves of a text always differ, and a difference alone is no boundary. What tells one is that words stop at once: pairs
of units on its two sides have less in common than pairs inside of segments that are equally far apart.

With S_d the words that units at distance d have in common, and E_d the pairs of their tokens, a pair of tokens is the
same word at rate lambda_d inside of segments, and at rate rho lambda_d with a boundary between them. The best lambda_d
leave for a cut the evidence against no cut

    G = sum_d S_d log(E_d / (E_d,inside + rho E_d,across)) - S_across log(1 / rho)

Texts that have nothing to do with each other have rho of about 0.1 to 0.2; at boundaries found inside of one text it is
0.4 and more, and G is about 0 or below. Topics that return count like others: only units near each other are compared.

    evidence    G for rho = 0.1
    expected    words that neighboring segments would have in common if there were no boundary between them
    shared      words that they have in common

Cost: O(tokens * 32) for the words in common, O(units * 32) for each cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats, Ids, Ints

__all__ = ["Evidence", "evidence"]

_APART = 0.1  # rho
_SMOOTHING = 0.04  # of the mean number of pairs, added to each distance


@dataclass(frozen=True, slots=True)
class Evidence:
    """Of each cut: its number of boundaries, the evidence for it, the words that should be and are on both sides."""

    boundaries: Ints
    gain: Floats
    expected: Floats
    shared: Floats

    @property
    def strength(self) -> Floats:
        """Evidence in proportion to what as many boundaries by chance vary: by the root of their number."""
        strength: Floats = np.maximum(self.gain, 0.0) / np.sqrt(np.maximum(1, self.boundaries))
        return strength


def evidence(ids: Ids, offsets: Ints, vocabulary: int, cuts: list[Ints]) -> Evidence:
    """Evidence for each of these cuts of a text; a cut lists the units before which it cuts.

    >>> ids, offsets = np.array([0, 1] * 4 + [2, 3] * 4, np.int32), np.arange(0, 17, 2)
    >>> found = evidence(ids, offsets, 4, [np.array([], int), np.array([4]), np.array([2])])
    >>> found.gain.round(1).tolist()
    [-0.0, 2.7, -4.0]
    """
    first = np.cumsum([0, *map(len, cuts)]).astype(np.int64)
    joined = np.concatenate([np.zeros(0, np.int64), *cuts]).astype(np.int32)
    table = native.recurrences(ids, offsets, vocabulary, joined, first).reshape(len(cuts), -1, 6)
    common, pairs, common_across, pairs_across, common_next, pairs_next = np.moveaxis(table, 2, 0)
    total = common + common_across
    there = total > 0
    share = np.where(there, (pairs + _APART * pairs_across) / np.maximum(1.0, pairs + pairs_across), 1.0)
    gain = -(total * np.log(np.maximum(share, 1e-300))).sum(axis=1) + common_across.sum(axis=1) * np.log(_APART)
    usual = total.sum(axis=1) / np.maximum(1e-9, (pairs + pairs_across).sum(axis=1))
    extra = _SMOOTHING * pairs.mean(axis=1, keepdims=True)
    rates = (common + usual[:, None] * extra) / np.maximum(1e-9, pairs + extra)
    expected = (rates * pairs_next).sum(axis=1)
    return Evidence(np.diff(first), gain, expected, common_next.sum(axis=1))

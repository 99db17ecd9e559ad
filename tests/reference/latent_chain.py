"""A chain of hidden states by enumeration: every hidden path, its weight and its labels, as defined."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict


class EnumeratedChain:
    """All hidden paths of one short sequence.

    unary [T][H], pair [T][H][H] and triple [T][H][H][H] are scores; owner [H] is the label of a state.
    """

    def __init__(self, unary, pair, triple, owner):
        self.owner = list(owner)
        length, states = len(unary), len(owner)
        self.weight = {}
        for path in itertools.product(range(states), repeat=length):
            score = sum(unary[t][h] for t, h in enumerate(path))
            score += sum(pair[t][path[t - 1]][path[t]] for t in range(1, length))
            if triple is not None:
                score += sum(triple[t][path[t - 2]][path[t - 1]][path[t]] for t in range(2, length))
            self.weight[path] = math.exp(score)
        self.z = math.fsum(self.weight.values())
        masses = defaultdict(list)
        for path, weight in self.weight.items():
            masses[tuple(self.owner[h] for h in path)].append(weight)
        self.labelings = {labels: math.fsum(weights) / self.z for labels, weights in masses.items()}

    def best_hidden(self):
        return max(self.weight, key=self.weight.__getitem__)

    def ranked_hidden(self):
        return sorted(((weight / self.z, path) for path, weight in self.weight.items()), key=lambda item: -item[0])

    def ranked_labelings(self):
        return sorted(((p, labels) for labels, p in self.labelings.items()), key=lambda item: -item[0])

    def state_marginals(self, length):
        sums = [[0.0] * len(self.owner) for _ in range(length)]
        for path, weight in self.weight.items():
            for t, h in enumerate(path):
                sums[t][h] += weight / self.z
        return sums

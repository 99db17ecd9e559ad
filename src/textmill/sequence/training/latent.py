"""The objective of a chain of hidden states: labels are known, states are summed over.

    O(theta) = sum_i w_i [log Z(x^i) - log Z(x^i, y^i)] + l2 / 2 ||theta||^2    + l1 ||theta||_1, the optimizer's part

The first sum is over all hidden paths, the second over those through the states of the labels y^i; where a label is
not known all states count. Native code forms the difference of the two sets of marginals first and goes through the
features once. Two classes, since states may be scored in pairs or in threes:

    LatentObjective        order 1: the paths of `ChainObjective`, partitions, clusters and working sets as there
    SecondOrderObjective   order 2: trigram tests stand behind the bigram tests in `Encoded.bigram`, their features
                           behind those of the layout, (test, h'', h', h) -> layout.size + ((test H + h'') H + h') H + h

The objective is not convex: where training ends depends on where it begins (hidden_states.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from textmill._native import sequence as native
from textmill.arrays import Floats, Ids, Ints
from textmill.sequence.encoding import Encoded
from textmill.sequence.features import FeatureLayout
from textmill.sequence.training import objective as chains
from textmill.sequence.training.objective import ChainObjective, Part, frequencies, slices

__all__ = ["LatentObjective", "SecondOrderObjective"]


class LatentObjective(ChainObjective):
    """Value and gradient for labels whose states are `owner` [states], the number of the label of each state.

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(3), np.zeros(2, np.int32), None, 1)
    >>> data = Encoded(np.array([0, 2]), tests, tests, np.array([0, 1], np.int32))
    >>> objective = LatentObjective(FeatureLayout(4, 1, 1), data, np.array([0, 0, 1, 1], np.int32))
    >>> value, gradient = objective(np.zeros(20))
    >>> round(value, 6), gradient[:4].tolist()
    (1.386294, [0.0, 0.0, 0.0, 0.0])
    """

    def __init__(self, layout: FeatureLayout, data: Encoded, owner: Ids, **terms: Any) -> None:
        self.owner: Ids = owner
        super().__init__(layout, data, **terms)

    def signature(self) -> dict[str, Any]:
        """What tells one problem from another, for checkpoints."""
        return {**super().signature(), "owner": self.owner.tolist()}

    @cached_property
    def _addresses(self) -> list[Any]:
        tokens = max(1, chains.PART_CELLS // self.layout.labels)
        return [(self.layout, part, self.owner) for part in slices(self.data, tokens)]

    @property
    def _load(self) -> Callable[..., Part]:
        return _LatentPart


class SecondOrderObjective(LatentObjective):
    """The same for order 2; `data.bigram` holds bigram tests and behind them trigram tests.

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(3), np.zeros(2, np.int32), None, 1)
    >>> arcs = Active(np.arange(3), np.zeros(2, np.int32), None, 2)
    >>> data = Encoded(np.array([0, 2]), tests, arcs, np.array([0, 1], np.int32))
    >>> objective = SecondOrderObjective(FeatureLayout(2, 1, 1), data, np.array([0, 1], np.int32))
    >>> objective.size, round(objective(np.zeros(14))[0], 6)
    (14, 1.386294)
    """

    @property
    def trigrams(self) -> int:
        """Number of trigram tests."""
        return self.data.bigram.size - self.layout.bigrams

    @property
    def size(self) -> int:
        """Number of features, those of trigram tests included."""
        return self.layout.size + self.trigrams * self.layout.labels**3

    def _supported(self, features: Ints) -> None:
        """Nothing: the evaluation is dense, and gradients are taken from it."""

    def spread(self, features: Ints, weights: Floats) -> Floats:
        """Weights of these features among those the objective looks at, zeros elsewhere."""
        if self.features is not None:
            return super().spread(features, weights)
        full = np.zeros(self.size)
        full[features] = weights
        return full

    def scales(self) -> Floats:
        """Square roots of the second derivatives to be expected, for the features that the objective looks at."""
        states, bigrams = self.layout.labels, self.layout.bigrams
        test, arc = self._frequency[: self.layout.unigrams], self._frequency[self.layout.unigrams :]
        pair, triple = arc[:bigrams], arc[bigrams:] / states
        frequency = np.concatenate([np.repeat(test, states), np.repeat(pair, states**2), np.repeat(triple, states**3)])
        return np.sqrt((frequency if self.features is None else frequency[self.features]) + self.l2)

    def into(self, theta: Floats, gradient: Floats) -> float:
        """Fill the gradient at theta and return the value."""
        features = self.features
        if features is None:
            return super().into(theta, gradient)
        full = np.zeros(self.size)
        full[features] = theta
        slopes = np.empty_like(full)
        self.features = None
        try:
            value = super().into(full, slopes)
        finally:
            self.features = features
        gradient[:] = slopes[features]
        return value

    def violations(self, theta: Floats, threshold: float) -> tuple[float, Floats, Ints, Floats]:
        """Value and gradient on the features looked at, and the others whose gradient exceeds the threshold."""
        return self._whole_violations(theta, threshold)

    @property
    def _load(self) -> Callable[..., Part]:
        return _SecondOrderPart

    @cached_property
    def _frequency(self) -> Floats:
        return frequencies(self.layout, self.data)


class _LatentPart(Part):
    """A partition where it is evaluated."""

    def __init__(self, address: Any) -> None:
        layout, data, owner = self.address = address
        offsets, unigram, bigram = layout.data(data)
        self.forced = None
        self.problem = native.make_problem(
            layout.labels,
            offsets,
            tuple(unigram),
            tuple(bigram),
            observed=None,
            forced=None,
            weights=data.weights,
            owner=owner,
            clamped=data.labels,
        )

    def __reduce__(self) -> Any:
        return type(self), (self.address,)


class _SecondOrderPart(Part):
    """A partition of order 2."""

    def __init__(self, address: Any) -> None:
        layout, data, owner = self.address = address
        self.second = native.make_second_order(
            int(owner[-1]) + 1,
            owner,
            data.offsets,
            tuple(data.unigram),
            tuple(data.bigram),
            layout.bigrams,
            data.labels,
            data.weights,
        )

    def __reduce__(self) -> Any:
        return type(self), (self.address,)

    def evaluate(self, theta: Floats, support: native.Support | None, gradient: Floats, threads: int) -> float:
        return float(self.second.evaluate(theta, gradient, threads))

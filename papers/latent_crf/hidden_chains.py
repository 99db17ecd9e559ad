"""Labeled sequences from a hidden chain whose states are known: data for models that must find states by themselves.

    h_0 ~ pi,  h_t ~ A[h_{t-1}],  word_t ~ E[h_t];          published are the words and lab(h_t), the owner of the state

Rows of A and E are drawn from Dirichlet distributions with a small parameter, so that each state has few successors and
words of its own; a share of the words is common to all states, or labels would be told apart by words alone.
Sequence i depends on the seed and on i alone (Philox), whatever is drawn before it. Cost: O(log) a token.
Reference: Rabiner (1989).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from textmill.arrays import Floats
from textmill.errors import DataError

__all__ = ["HiddenChain", "LabeledChains"]


class LabeledChains(NamedTuple):
    """Sequences of words, their labels, and the states behind them, which a model does not see."""

    X: list[list[str]]
    y: list[list[str]]
    states: list[list[str]]


class HiddenChain:
    """A random hidden Markov model that publishes the labels of its states.

    Parameters:
        states: Number of states of every label.
        vocabulary: Number of different words.
        concentration: Parameter of the Dirichlet distributions; the smaller, the fewer successors and words of a state.
        shared: Share of the words of a state that it has in common with all others, 0 to 1.
        random_state: Seed.

    >>> X, y, states = HiddenChain({"A": 2, "B": 1}, vocabulary=5, random_state=0).sample(1, length=4)
    >>> X, y, states
    ([['w4', 'w4', 'w3', 'w4']], [['B', 'B', 'B', 'B']], [['B/1', 'B/1', 'B/1', 'B/1']])
    """

    def __init__(
        self,
        states: Mapping[str, int],
        *,
        vocabulary: int = 100,
        concentration: float = 0.3,
        shared: float = 0.5,
        random_state: int = 0,
    ) -> None:
        if not states or any(count < 1 for count in states.values()):
            raise DataError("states must give every label at least one state, such as {'A': 2, 'B': 1}")
        if vocabulary < 1:
            raise DataError(f"vocabulary must be at least 1, got {vocabulary}")
        if not concentration > 0 or not 0 <= shared <= 1:
            raise DataError("concentration must be above 0 and shared from 0 to 1")
        self.names = [f"{label}/{i}" for label, count in states.items() for i in range(1, count + 1)]
        self.labels = [label for label, count in states.items() for _ in range(count)]
        self.random_state = random_state
        random = self._random(0, 0)
        total = len(self.names)
        common = random.dirichlet(np.ones(vocabulary))
        own = random.dirichlet(np.full(vocabulary, concentration), total)
        self.begin: Floats = random.dirichlet(np.ones(total))
        self.transitions: Floats = random.dirichlet(np.full(total, concentration), total)
        self.emissions: Floats = shared * common + (1 - shared) * own

    def sample(self, sequences: int, length: int = 20, *, first: int = 0) -> LabeledChains:
        """Sequences number `first` and on, each of this length."""
        cumulated = [np.cumsum(part, axis=-1) for part in (self.begin, self.transitions, self.emissions)]
        begin, step, emit = (part / part[..., -1:] for part in cumulated)
        drawn: tuple[list[list[str]], list[list[str]], list[list[str]]] = ([], [], [])
        for number in range(first, first + sequences):
            uniform = self._random(1, number).random((length, 2))
            path: list[int] = []
            words: list[str] = []
            for t in range(length):
                row = begin if t == 0 else step[path[-1]]
                path.append(int(np.searchsorted(row, uniform[t, 0], side="right")))
                words.append(f"w{int(np.searchsorted(emit[path[-1]], uniform[t, 1], side='right'))}")
            drawn[0].append(words)
            drawn[1].append([self.labels[h] for h in path])
            drawn[2].append([self.names[h] for h in path])
        return LabeledChains(*drawn)

    def _random(self, purpose: int, number: int) -> np.random.Generator:
        return np.random.Generator(
            np.random.Philox(key=np.array([self.random_state, purpose], np.uint64), counter=[0, 0, 0, number])
        )

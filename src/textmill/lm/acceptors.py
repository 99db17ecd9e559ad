"""Which outputs are allowed: deterministic automata over symbols, for the search of pair models."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["OutputAcceptor"]


class OutputAcceptor(NamedTuple):
    """A deterministic automaton over output symbols: `steps` (state, symbol) to state, from state 0; final states.

    A symbol without a step is refused; symbols that `free` holds may stand anywhere and change nothing.

    >>> OutputAcceptor({(0, "a"): 1, (1, "b"): 0}, frozenset({0})).allows("abab")
    True
    """

    steps: dict[tuple[int, str], int]
    final: frozenset[int]
    free: frozenset[str] = frozenset()

    def allows(self, output: Iterable[str]) -> bool:
        """Whether an output is accepted.

        >>> OutputAcceptor({(0, "a"): 1}, frozenset({1})).allows(["a", "a"])
        False
        """
        state: int | None = 0
        for symbol in output:
            if symbol in self.free:
                continue
            state = self.steps.get((0 if state is None else state, symbol))
            if state is None:
                return False
        return state in self.final

    def backward(self) -> OutputAcceptor:
        """The automaton of the same outputs, read from the right.

        >>> OutputAcceptor({(0, "a"): 1, (1, "b"): 2}, frozenset({2})).backward().allows("ba")
        True
        """
        into: dict[tuple[int, str], set[int]] = {}
        for (state, symbol), after in self.steps.items():
            into.setdefault((after, symbol), set()).add(state)
        alphabet = sorted({symbol for _, symbol in self.steps})
        first = self.final
        numbers: dict[frozenset[int], int] = {first: 0}
        waiting = [first]
        steps: dict[tuple[int, str], int] = {}
        while waiting:
            states = waiting.pop()
            for symbol in alphabet:
                reached = frozenset(itertools.chain.from_iterable(into.get((s, symbol), ()) for s in states))
                if not reached:
                    continue
                if reached not in numbers:
                    numbers[reached] = len(numbers)
                    waiting.append(reached)
                steps[numbers[states], symbol] = numbers[reached]
        return OutputAcceptor(steps, frozenset(n for states, n in numbers.items() if 0 in states), self.free)

    def table(self, symbols: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """What the search takes: the state after each state and symbol, -1 for none, and which states are final.

        >>> OutputAcceptor({(0, "a"): 1}, frozenset({1})).table(["a", "b"])[0].tolist()
        [[1, -1], [-1, -1]]
        """
        states = 1 + max([0, *(s for s, _ in self.steps), *self.steps.values(), *self.final])
        after = np.full((states, len(symbols)), -1, dtype=np.int32)
        for column, symbol in enumerate(symbols):
            if symbol in self.free:
                after[:, column] = np.arange(states)
                continue
            for state in range(states):
                after[state, column] = self.steps.get((state, symbol), -1)
        accept = np.zeros(states, dtype=np.uint8)
        accept[list(self.final)] = 1
        return after, accept

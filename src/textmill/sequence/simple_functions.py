"""Scores computed by a small automaton that reads truth and answer in parallel, and their exact expectations.

A simple function has few distinct values: a state summarizes what of the truth y has been read beside the answer z.

    value        k = start(); for i: k = transition(k, z, i, y_i); value(k, z)                        (algorithm 3)
    expectation  masses of states in place of one state: M = {start: 1}; for i, every state k of M sends its mass
                 times P(y_i = 0) and P(y_i = 1) to its two successors; then sum value times mass         (algorithm 4)

Labels are independent, or a Markov chain (`MarkovLabels`): then states are pairs of a state here and one there. With
`beam` only the most probable states are expanded, and for scores between 0 and 1 the expectation lies between the value
and value + lost.

| function | states | expectation by adding up positions |
|---|---|---|
| `CountFunction` (F, Jaccard, precision, recall, specificity, any utility over counts) | hits, truths: n^2 | |
| `ZeroOne` | still right, or not | |
| `Hamming` | mismatches: n | `expected_hamming` |
| `WindowFunction("pk", k)` | distance to the last boundary up to k, windows: k n | `expected_window_rate` |
| `WindowFunction("windowdiff", k)` | last k labels, windows: 2^k n | `expected_window_rate` |

Windows are k positions, n - k + 1 of them, as in metrics.segmentation for gaps. Written out in Python, for short
sequences and for functions of your own; F has fast methods in expected_utility.py. Reference: Jansche (2007).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.metrics import FWeight, RatioUtility, Utility
from textmill.model import check_choice, check_range
from textmill.sequence.label_models import MarkovLabels, label_model

__all__ = [
    "CountFunction",
    "Expectation",
    "Hamming",
    "SimpleFunction",
    "WindowFunction",
    "ZeroOne",
    "evaluate_function",
    "expectation",
    "expectations",
    "expected_hamming",
    "expected_window_rate",
    "window_disagreements",
]


class SimpleFunction(Protocol):
    """A score by an automaton; states are anything that can be a key. Values may be arrays: several scores at once."""

    def start(self) -> Hashable:
        """State before the first position."""

    def transition(self, state: Any, z: Sequence[int], i: int, y: int) -> Hashable:
        """State after position i, whose true label is y."""

    def value(self, state: Any, z: Sequence[int]) -> Any:
        """Score of a state after the last position."""


class Expectation(NamedTuple):
    """Expected value, the mass of states left out by a beam, and the number of states over all positions."""

    value: Any
    lost: float
    states: int


@dataclass(frozen=True)
class CountFunction:
    """Any utility over hits, misses, false alarms and rejections; several give an array of values.

    >>> evaluate_function(CountFunction.f(beta=1.0), [1, 1, 0], [1, 0, 0])
    0.6666666666666666
    """

    utilities: Utility | tuple[Utility, ...]

    @classmethod
    def f(cls, beta: float = 1.0, *, b: float | None = None) -> CountFunction:
        """F_beta, 1 where there is nothing to find and nothing claimed; b is the square of beta."""
        return cls(RatioUtility.f(FWeight.from_beta(beta) if b is None else FWeight.from_b(b)))

    def start(self) -> tuple[int, int]:
        """Return no hits and no truths."""
        return 0, 0

    def transition(self, state: tuple[int, int], z: Sequence[int], i: int, y: int) -> tuple[int, int]:
        """Count a truth, and a hit if it is claimed."""
        return (state[0] + (y and z[i]), state[1] + 1) if y else state

    def value(self, state: tuple[int, int], z: Sequence[int]) -> Any:
        """Return the utility of the counts."""
        (hits, truths), claimed = state, sum(z)
        counts = hits, truths - hits, claimed - hits, len(z) - claimed - truths + hits
        if isinstance(self.utilities, tuple):
            return np.array([float(utility.value(counts)) for utility in self.utilities])
        return float(self.utilities.value(counts))


class ZeroOne:
    """1 when every label is right, else 0."""

    def start(self) -> bool:
        """Return that all is right so far."""
        return True

    def transition(self, state: bool, z: Sequence[int], i: int, y: int) -> bool:
        """Stay right as long as labels agree."""
        return state and y == z[i]

    def value(self, state: bool, z: Sequence[int]) -> float:
        """Return 1 or 0."""
        return float(state)


class Hamming:
    """Number of wrong labels."""

    def start(self) -> int:
        """Return no mismatch."""
        return 0

    def transition(self, state: int, z: Sequence[int], i: int, y: int) -> int:
        """Count a mismatch."""
        return state + (y != z[i])

    def value(self, state: int, z: Sequence[int]) -> float:
        """Return the number of mismatches."""
        return float(state)


@dataclass(frozen=True)
class WindowFunction:
    """Share of windows of k positions in which boundaries (labels 1) of truth and answer disagree; less is better.

    `measure` is "pk" (some against none) or "windowdiff" (different numbers).

    >>> evaluate_function(WindowFunction("pk", 2), [1, 0, 1, 0, 0], [0, 1, 0, 0, 0])
    0.25
    """

    measure: str
    k: int

    def __post_init__(self) -> None:
        check_choice("measure", self.measure, ("pk", "windowdiff"))
        check_range("k", self.k, at_least=1, whole=True)

    def start(self) -> tuple[int, int]:
        """Return no boundary so far, and no disagreement."""
        return (self.k if self.measure == "pk" else 0), 0

    def transition(self, state: tuple[int, int], z: Sequence[int], i: int, y: int) -> tuple[int, int]:
        """Move the window by one position."""
        memory, wrong = state
        own = sum(z[max(0, i + 1 - self.k) : i + 1])
        if self.measure == "pk":
            memory = 0 if y else min(self.k, memory + 1)
            differ = (memory < self.k) != (own > 0)
        else:
            memory = (2 * memory + y) % 2**self.k
            differ = memory.bit_count() != own
        return memory, wrong + (differ and i + 1 >= self.k)

    def value(self, state: tuple[int, int], z: Sequence[int]) -> float:
        """Return the share of windows that disagree."""
        return state[1] / _windows(len(z), self.k)


def evaluate_function(function: SimpleFunction, z: Sequence[int], y: Sequence[int]) -> Any:
    """The score of an answer z against the truth y (algorithm 3).

    >>> evaluate_function(Hamming(), [1, 0, 1], [1, 1, 0])
    2.0
    """
    if len(z) != len(y):
        raise DataError(f"z has {len(z)} labels but y {len(y)}; pass sequences of one length")
    state = function.start()
    for i, label in enumerate(y):
        state = function.transition(state, z, i, label)
    return function.value(state, z)


def expectation(
    function: SimpleFunction, z: Sequence[int], labels: ArrayLike | MarkovLabels, *, beam: int | None = None
) -> Expectation:
    """The expected score of an answer z (algorithm 4); `labels` are probabilities or a Markov chain.

    >>> round(expectation(CountFunction.f(), [1, 1, 0], [0.4, 0.4, 0.3]).value, 12)
    0.4464
    """
    return next(expectations(function, [z], labels, beam=beam))


def expectations(
    function: SimpleFunction,
    answers: Iterable[Sequence[int]],
    labels: ArrayLike | MarkovLabels,
    *,
    beam: int | None = None,
) -> Iterator[Expectation]:
    """The expected scores of answers one after the other; what the last one shares with the next is not swept again.

    Masses of states before the first position that differs are kept: the candidates of a decoder, which differ in one
    position each, cost half as much on average. `states` counts what was swept.

    >>> [round(e.value, 4) for e in expectations(CountFunction.f(), [[1, 0, 0], [1, 1, 0]], [0.4, 0.4, 0.3])]
    [0.3147, 0.4464]
    """
    if beam is not None:
        check_range("beam", beam, at_least=1, whole=True)
    model = label_model(labels)
    before: list[int] = []
    sweep: list[tuple[dict[tuple[Any, int], float], float]] = [({(function.start(), -1): 1.0}, 0.0)]
    for answer in answers:
        z = [int(label) for label in answer]
        if len(z) != model.length:
            raise DataError(f"z has {len(z)} labels but there are {model.length} positions; pass one per position")
        same = next((i for i, (old, new) in enumerate(zip(before, z, strict=False)) if old != new), len(before))
        del sweep[same + 1 :]
        before = z
        states = 1 if same == 0 else 0
        for i in range(same, model.length):
            masses, lost = sweep[-1]
            sweep.append(_expanded(function, model, z, i, masses, lost, beam))
            states += len(sweep[-1][0])
        masses, lost = sweep[-1]
        total = sum(np.asarray(function.value(state, z)) * mass for (state, _), mass in masses.items())
        yield Expectation(float(total) if np.ndim(total) == 0 else total, lost, states)


def _expanded(
    function: SimpleFunction,
    model: MarkovLabels,
    z: Sequence[int],
    i: int,
    masses: dict[tuple[Any, int], float],
    lost: float,
    beam: int | None,
) -> tuple[dict[tuple[Any, int], float], float]:
    """Masses of states after position i, and the mass left out so far."""
    independent, positive = model.independent, [int(one) for one in model.positive]
    if beam is not None and len(masses) > beam:
        ranked = sorted(masses.items(), key=lambda item: (-item[1], repr(item[0])))
        lost += sum(mass for _, mass in ranked[beam:])
        masses = dict(ranked[:beam])
    following: dict[tuple[Any, int], float] = {}
    for (state, before), mass in masses.items():
        if independent is not None:
            chances = [1.0 - float(independent[i]), float(independent[i])]
        else:
            chances = (model.initial if i == 0 else model.steps[i - 1, before]).tolist()
        successors = [function.transition(state, z, i, y) for y in (0, 1)]
        for now, chance in enumerate(chances):
            key = successors[positive[now]], (0 if independent is not None else now)
            following[key] = following.get(key, 0.0) + mass * chance
    return following, lost


def expected_hamming(z: Sequence[int], labels: ArrayLike | MarkovLabels) -> float:
    """Expected number of wrong labels, position by position.

    >>> expected_hamming([1, 0, 1], [0.9, 0.2, 0.5])
    0.8
    """
    marginals, claimed = label_model(labels).positives(), np.asarray(z)
    return float(np.where(claimed == 1, 1.0 - marginals, marginals).sum())


def expected_window_rate(measure: str, k: int, z: Sequence[int], labels: ArrayLike | MarkovLabels) -> float:
    """Expected P_k or WindowDiff, window by window: O(n k) for P_k, O(n k^2) for WindowDiff, times states squared.

    >>> round(expected_window_rate("pk", 2, [1, 0, 1, 0, 0], [0.5, 0.1, 0.7, 0.2, 0.9]), 12)
    0.47
    """
    chances = window_disagreements(measure, k, z, labels)
    return float(chances.mean())


def window_disagreements(measure: str, k: int, z: Sequence[int], labels: ArrayLike | MarkovLabels) -> Floats:
    """Probability that a window disagrees, for each window.

    >>> window_disagreements("pk", 2, [1, 0, 1, 0, 0], [0.5, 0.1, 0.7, 0.2, 0.9]).round(12).tolist()
    [0.45, 0.27, 0.24, 0.92]
    """
    WindowFunction(measure, k)
    model = label_model(labels)
    windows = _windows(model.length, k)
    own = np.lib.stride_tricks.sliding_window_view(np.asarray(z), k).sum(axis=1)
    most = 0 if measure == "pk" else k
    counts = np.zeros((windows, model.states, most + 1))  # mass by state and number of boundaries so far
    _count(counts, model.marginals()[:windows], model.positive)
    for step in range(1, k):
        moves = model.steps[step - 1 : step - 1 + windows]
        following = np.zeros_like(counts)
        moved = np.einsum("wxc,wxy->wyc", counts, moves)
        following[:, ~model.positive] = moved[:, ~model.positive]
        following[:, model.positive, 1:] = moved[:, model.positive, :-1]
        counts = following
    if measure == "pk":
        none = counts[:, :, 0].sum(axis=1)
        return np.asarray(np.where(own > 0, none, 1.0 - none))
    return np.asarray(1.0 - counts.sum(axis=1)[np.arange(windows), own])


def _count(counts: Floats, mass: Floats, positive: Any) -> None:
    counts[:, ~positive, 0] = mass[:, ~positive]
    if counts.shape[2] > 1:
        counts[:, positive, 1] = mass[:, positive]


def _windows(positions: int, k: int) -> int:
    if k > positions:
        raise DataError(f"k {k} does not fit {positions} positions; choose it between 1 and {positions}")
    return positions - k + 1

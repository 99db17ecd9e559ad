"""Expected F straight from its definition: all truths, all answers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np


def f(z: Sequence[int], y: Sequence[int], b: Any) -> Any:
    """F_b of an answer against the truth; numbers of any kind, 0/0 = 1."""
    below = sum(z) + b * sum(y)
    return (b + 1) * sum(i * j for i, j in zip(z, y, strict=True)) / below if below else 1


def truths(p: Sequence[Any]) -> Iterable[tuple[tuple[int, ...], Any]]:
    """Every truth with its probability, labels independent."""
    for y in itertools.product((0, 1), repeat=len(p)):
        chance = 1
        for one, label in zip(p, y, strict=True):
            chance = chance * (one if label else 1 - one)
        yield y, chance


def expected(score: Callable[..., Any], z: Sequence[int], joint: Iterable[tuple[tuple[int, ...], Any]]) -> Any:
    """The sum over all truths."""
    return sum(score(z, y) * chance for y, chance in joint)


def cubic_curve(p: Any, b: float) -> Any:
    """E_0 ... E_n of falling p in NumPy: for every m the sum over the distributions of hits and of the others."""
    n = len(p)
    before, behind = [np.ones(1)], [np.ones(1)]
    for one in p:
        before.append(np.convolve(before[-1], [1 - one, one]))
    for one in p[::-1]:
        behind.append(np.convolve(behind[-1], [1 - one, one]))
    curve = np.empty(n + 1)
    curve[0] = np.prod(1 - p)
    for m in range(1, n + 1):
        hits, rest = np.arange(m + 1)[:, None], np.arange(n - m + 1)
        curve[m] = before[m] @ ((b + 1) * hits / (m + b * (hits + rest))) @ behind[n - m]
    return curve

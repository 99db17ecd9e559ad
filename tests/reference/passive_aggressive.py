"""Passive-aggressive rounds straight from their definition, with any kernel of two sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence


def rounds(
    examples: Sequence[Collection[int]],
    labels: Sequence[int],
    kernel: Callable[[set[int], set[int]], float],
    *,
    method: str = "pa1",
    cost: float = 50.0,
) -> tuple[list[float], list[float], Callable[[Collection[int]], float]]:
    """Margins before each round, tau of each, and the model at the end."""
    active: list[tuple[float, set[int]]] = []

    def margin(x: Collection[int]) -> float:
        return math.fsum(a * kernel(set(x), z) for a, z in active)

    margins, taus = [], []
    for x, y in zip(examples, labels, strict=True):
        f = margin(x)
        loss, square = max(0.0, 1.0 - y * f), kernel(set(x), set(x))
        tau = 0.0
        if loss > 0.0 and square > 0.0:
            tau = {
                "pa": loss / square,
                "pa1": min(cost, loss / square),
                "pa2": loss / (square + 0.5 / cost),
            }[method]
            active.append((tau * y, set(x)))
        margins.append(f)
        taus.append(tau)
    return margins, taus, margin

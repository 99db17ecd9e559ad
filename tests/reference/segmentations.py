"""Segmentations straight from their definition: all of them, one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

Segmentation = tuple[tuple[int, int, int], ...]  # (first token, one past the last, label), label 0 for O


def segmentations(n: int, labels: int, allowed: Callable[[int, int], bool]) -> Iterator[Segmentation]:
    """Every way to cut n tokens into O tokens and labeled candidates; labels count O."""

    def go(at: int) -> Iterator[Segmentation]:
        if at == n:
            yield ()
            return
        for rest in go(at + 1):
            yield ((at, at + 1, 0), *rest)
        for end in range(at + 1, n + 1):
            if allowed(at, end):
                for rest in go(end):
                    for label in range(1, labels):
                        yield ((at, end, label), *rest)

    yield from go(0)


def states(segmentation: Segmentation, history: str) -> list[int]:
    """What every segment follows."""
    q, before = 0, []
    for _, _, label in segmentation:
        before.append(q)
        q = 0 if history == "none" else label if history == "label" or label else q
    return before


def score(segmentation: Segmentation, history: str, segment, transition) -> float:
    """Sum of segment(first, end, label) and transition(state, label, first)."""
    return sum(
        segment(t, u, y) + transition(q, y, t)
        for (t, u, y), q in zip(segmentation, states(segmentation, history), strict=True)
    )


def log_sum(values: list[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))

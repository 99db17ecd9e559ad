"""All alignments of two strings by enumeration, and what follows from them by definition."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from textmill.fst import Link


def alignments(
    x: Any,
    y: Any,
    *,
    max_input: int = 1,
    max_output: int = 1,
    deletions: bool = True,
    insertions: bool = True,
    many_to_many: bool = False,
    max_insertions_per_gap: int | None = None,
) -> Iterator[tuple[Link, ...]]:
    """Every sequence of links that spells x and y."""
    steps = [(a, b) for a in range(1, max_input + 1) for b in range(1, max_output + 1) if many_to_many or 1 in (a, b)]
    steps += [(1, 0)] * deletions + [(0, 1)] * insertions

    def follow(i: int, j: int, run: int) -> Iterator[tuple[Link, ...]]:
        if i == len(x) and j == len(y):
            yield ()
        for a, b in steps:
            inserted = run + 1 if a == 0 else 0
            if i + a > len(x) or j + b > len(y):
                continue
            if max_insertions_per_gap is not None and inserted > max_insertions_per_gap:
                continue
            link = (tuple(x[i : i + a]), tuple(y[j : j + b]))
            for rest in follow(i + a, j + b, inserted):
                yield (link, *rest)

    return follow(0, 0, 0)


def weight(alignment: tuple[Link, ...], probability: Mapping[Link, float]) -> float:
    """The product of the probabilities of links."""
    return math.prod(probability.get(link, 0.0) for link in alignment)


def total(x: Any, y: Any, probability: Mapping[Link, float], **limits: Any) -> float:
    """The sum over all alignments."""
    return math.fsum(weight(found, probability) for found in alignments(x, y, **limits))


def expected_counts(x: Any, y: Any, probability: Mapping[Link, float], **limits: Any) -> Counter[Link]:
    """How often each link is expected in an alignment of x and y."""
    counts: Counter[Link] = Counter()
    whole = total(x, y, probability, **limits)
    for found in alignments(x, y, **limits):
        for link in found:
            counts[link] += weight(found, probability) / whole
    return counts


def rank(alignment: tuple[Link, ...], ties: tuple[str, ...], max_output: int) -> list[tuple[int, int, int]]:
    """What an alignment is compared by when another is as good: kinds of links, then shorter links, from the left."""
    kinds = ["insertion" if not u else "deletion" if not v else "substitution" for u, v in alignment]
    return [(ties.index(kind), len(u), len(v)) for kind, (u, v) in zip(kinds, alignment, strict=True)]


def ranked(x: Any, y: Any, probability: Mapping[Link, float], ties: tuple[str, ...], **limits: Any) -> list[Any]:
    """All alignments that have a probability, best first, equal ones by `rank`."""
    found = [a for a in alignments(x, y, **limits) if weight(a, probability) > 0]

    def key(alignment: tuple[Link, ...]) -> tuple[float, Any]:
        cost = math.fsum(-math.log(probability[link]) for link in alignment)
        return round(cost, 9), rank(alignment, ties, limits.get("max_output", 1))

    return sorted(found, key=key)

"""Measures of two dense vectors straight from the definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = Sequence[float]


def minkowski(x: Vector, y: Vector, p: float) -> float:
    differences = [abs(a - b) for a, b in zip(x, y, strict=True)]
    if p == math.inf:
        return max(differences, default=0.0)
    return math.fsum(d**p for d in differences) ** (1 / p)


def cosine(x: Vector, y: Vector) -> float:
    lengths = math.hypot(*x) * math.hypot(*y)
    return math.fsum(a * b for a, b in zip(x, y, strict=True)) / lengths if lengths else 0.0


def hellinger(x: Vector, y: Vector) -> float:
    return math.sqrt(0.5 * math.fsum((math.sqrt(a) - math.sqrt(b)) ** 2 for a, b in zip(x, y, strict=True)))


def kl(x: Vector, y: Vector) -> float:
    if any(b == 0 < a for a, b in zip(x, y, strict=True)):
        return math.inf
    return math.fsum(a * math.log(a / b) for a, b in zip(x, y, strict=True) if a > 0)


def js(x: Vector, y: Vector) -> float:
    middle = [(a + b) / 2 for a, b in zip(x, y, strict=True)]
    return (kl(x, middle) + kl(y, middle)) / 2


def jaccard(x: Vector, y: Vector) -> float:
    left, right = ({i for i, value in enumerate(vector) if value != 0} for vector in (x, y))
    return len(left & right) / len(left | right) if left | right else 1.0


MEASURES = {
    "manhattan": lambda x, y: minkowski(x, y, 1),
    "euclidean": lambda x, y: minkowski(x, y, 2),
    "chebyshev": lambda x, y: minkowski(x, y, math.inf),
    "cosine": cosine,
    "hellinger": hellinger,
    "kl": kl,
    "js": js,
    "jaccard": jaccard,
}

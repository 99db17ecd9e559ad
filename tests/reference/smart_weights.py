"""SMART weights straight from the definitions, cell by cell on dense rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def idf(n: int, d: int, kind: str, base: float, negative: str) -> float:
    """Inverse document frequency of a term in d of n documents."""
    if d == 0:
        return 0.0
    if kind == "smooth":
        return math.log((1 + n) / (1 + d), base) + 1
    value = math.log(n / (1 + d) if kind == "n/(1+d)" else n / d, base)
    return max(0.0, value) if negative == "clip" else value


def weights(
    train: NDArray[Any],
    rows: NDArray[Any],
    scheme: str,
    *,
    kind: str = "n/(1+d)",
    base: float = math.e,
    negative: str = "clip",
) -> NDArray[np.float64]:
    """Weights of dense rows by the frequencies of dense training rows."""
    local, global_, norm = scheme
    idfs = [idf(len(train), int(d), kind, base, negative) for d in np.count_nonzero(train, axis=0)]
    out = np.zeros(rows.shape)
    for i, row in enumerate(rows):
        for t, a in enumerate(row):
            if a == 0:
                continue
            w = {"n": a, "b": 1.0, "a": 0.5 + 0.5 * a / max(row), "l": math.log(1 + a, base)}[local]
            if global_ == "t":
                w = w * idfs[t]
            out[i, t] = w
        length = math.sqrt(sum(w * w for w in out[i]))
        if norm == "c" and length > 0:
            out[i] /= length
    return out

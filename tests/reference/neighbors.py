"""Nearest neighbors from the definition: all scores in double precision, sorted; ties by position."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def scores(measure: str, X: Floats, q: Floats) -> Floats:
    """Cosines or distances of all rows to q."""
    if measure == "cosine":
        lengths = np.linalg.norm(X, axis=1) * np.linalg.norm(q)
        return np.divide(X @ q, lengths, out=np.zeros(len(X)), where=lengths > 0)
    if measure == "hellinger":
        return np.sqrt(0.5 * ((np.sqrt(X) - np.sqrt(q)) ** 2).sum(axis=1))
    return np.linalg.norm(X - q, axis=1)


def nearest(measure: str, X: Floats, q: Floats, k: int) -> tuple[NDArray[np.intp], Floats]:
    """The k nearest rows and their scores."""
    found = scores(measure, X, q)
    order = np.lexsort((np.arange(len(X)), -found if measure == "cosine" else found))[:k]
    return order, found[order]

"""Merge algorithm 3.2 of Rehurek (2011) as printed, with its numerical trap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def printed_merge(U1: Floats, s1: Floats, U2: Floats, s2: Floats, k: int, decay: float = 1.0) -> tuple[Floats, Floats]:
    """U, s of [decay A1, A2], cut to k."""
    Z = U1.T @ U2
    U, R = np.linalg.qr(U2 - U1 @ Z)
    small = np.block([[np.diag(decay * s1), Z * s2], [np.zeros((len(s2), len(s1))), R * s2]])
    K, s, _ = np.linalg.svd(small)
    k = min(k, len(s))
    return U1 @ K[: len(s1), :k] + U @ K[len(s1) :, :k], s[:k]

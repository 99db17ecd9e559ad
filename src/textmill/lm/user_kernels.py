"""Passive-aggressive rounds with a kernel written in Python: kernel(X, Z), the values between the rows of two matrices.

The kernel is called twice for each batch of rows, with all active rows and with the batch itself, so that its cost is
that of matrices and not of calls; the rounds of a batch then go one by one over these values. The result is that of
`PassiveAggressive` with a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.numeric import sparse

__all__ = ["UserRounds", "kernel_values"]

_BATCH = 256


def kernel_values(kernel: Callable[..., Any], X: Any, Z: Any) -> Floats:
    """Call a kernel, and check what comes back.

    >>> kernel_values(lambda X, Z: X @ Z.T, np.eye(2), np.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    values = kernel(X, Z)
    values = np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
    if values.shape != (X.shape[0], Z.shape[0]):
        raise DataError(
            f"the kernel gave an array of shape {values.shape} for {X.shape[0]} and {Z.shape[0]} rows; it must have a "
            "value for each pair"
        )
    if not np.isfinite(values).all():
        raise DataError("the kernel gave a value that is not finite; scale the rows or change the kernel")
    return values


class UserRounds:
    """Active rows and their coefficients: `rows` CSR, a = sum of tau y, b = sum of t tau y."""

    def __init__(self, kernel: Callable[..., Any], tau: Callable[[float, float], float], columns: int) -> None:
        self.kernel, self.tau = kernel, tau
        self.rows = sparse.csr_matrix((0, columns))
        self.a, self.b = np.zeros(0), np.zeros(0)
        self.rounds = 0

    def learn(self, X: Any, labels: Any, slots: Any) -> tuple[Floats, Floats]:
        """Go through rows in order; margins before each round and tau. slots as in native/lm/kernel.h."""
        margins, taus = np.zeros(X.shape[0]), np.zeros(X.shape[0])
        for begin in range(0, X.shape[0], _BATCH):
            some = slice(begin, min(begin + _BATCH, X.shape[0]))
            batch = X[some]
            values = self.margins(batch)
            among = kernel_values(self.kernel, batch, batch)
            for i in range(batch.shape[0]):
                row, y = begin + i, float(labels[begin + i])
                self.rounds += 1
                margins[row] = values[i]
                loss = 1.0 - y * values[i]
                if loss <= 0.0 or among[i, i] <= 0.0:
                    continue
                taus[row] = self.tau(loss, among[i, i])
                values += taus[row] * y * among[:, i]
                if slots[row] < 0:
                    slots[row] = len(self.a)
                    self.a, self.b = np.append(self.a, 0.0), np.append(self.b, 0.0)
                    self.rows = sparse.vstack([self.rows, batch[[i]]], format="csr")
                self.a[slots[row]] += taus[row] * y
                self.b[slots[row]] += taus[row] * y * self.rounds
        return margins, taus

    def margins(self, X: Any, *, averaged: bool = False) -> Floats:
        """Margins of rows."""
        if not len(self.a):
            return np.zeros(X.shape[0])
        coefficients = self.a
        if averaged:
            coefficients = (self.a * (self.rounds + 1) - self.b) / self.rounds
        return kernel_values(self.kernel, X, self.rows) @ coefficients

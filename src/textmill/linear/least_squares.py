"""Least squares over sparse rows, of minimum norm where the rows leave the weights open.

    minimize  sum_i (w.x_i + b - y_i)^2,  among the minima the one of least |w|

The intercept is free: rows and values are centered on their means, which is done in the matrix of dot products

    H K H a = y - mean(y),   H = 1 - 11'/n,   w = X'a,   b = mean(y) - w.mean(x)

with no more than `memory` bytes for K; with more rows than that LSQR iterates on the centered rows, which are never
made. Cost: n^3 / 3, or one visit of every entry per iteration. Reference: Paige & Saunders (1982) for LSQR.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from textmill._native import base
from textmill.arrays import Floats
from textmill.corpus import array_like, csr_arrays
from textmill.errors import DataError
from textmill.linear.kernels import KernelRows, make_kernel
from textmill.linear.svr import check_targets
from textmill.model import Model, Regressor, check_fitted, check_range, effective_jobs
from textmill.numeric import linalg, sparse

__all__ = ["LeastSquares", "solve_centered"]

_SMALL = 1e-10  # eigenvalues below this share of the largest count as zero


class LeastSquares(Regressor, Model):
    """Linear regression by least squares, of minimum norm.

    Parameters:
        l2: Penalty of l2 / 2 |w|^2 beside half of the squares; 0 for plain least squares.
        tolerance: Relative accuracy of LSQR, for many rows.
        max_iter: Iterations of LSQR at most.
        memory: Bytes for the matrix of dot products; above it, with more than 2,000 rows by default, LSQR is used.
        n_jobs: Threads; None for all cores.

    Attributes:
        coef_: Weights, (m,).
        intercept_: Intercept.
        n_iter_: Iterations of LSQR, 1 where it was not needed.

    >>> model = LeastSquares().fit([[1.0], [2.0], [3.0]], [1, 2, 8])
    >>> model.coef_.round(4).tolist(), round(model.intercept_, 4)
    ([3.5], -3.3333)
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"coef_": "feature"}
    state: ClassVar[dict[str, Any]] = {"intercept_": float, "n_iter_": int}

    coef_: Floats
    intercept_: float
    n_iter_: int

    def __init__(
        self,
        *,
        l2: float = 0.0,
        tolerance: float = 1e-8,
        max_iter: int = 2_000,
        memory: int = 1 << 25,
        n_jobs: int | None = None,
    ) -> None:
        self.l2 = l2
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows and their values."""
        check_range("l2", self.l2, at_least=0)
        check_range("tolerance", self.tolerance, above=0)
        rows = KernelRows(array_like(X), n_jobs=self.n_jobs)
        target = check_targets(rows.X, y)
        n = len(target)
        means = np.asarray(rows.X.mean(axis=0), dtype=np.float64).ravel()
        centered = target - target.mean()
        if n * n * 8 <= self.memory:
            dual = solve_centered(rows.gram(make_kernel("linear")), centered, float(self.l2))
            weights, self.n_iter_ = np.asarray(rows.X.T @ dual).ravel() - means * dual.sum(), 1
        else:
            weights, self.n_iter_ = self._iterated(rows.X, means, centered)
        self.coef_ = weights.astype(np.float64)
        self.intercept_ = float(target.mean() - weights @ means)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the value of each row."""
        check_fitted(self)
        rows = KernelRows(array_like(X)).X
        if rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {rows.shape[1]} features, but LeastSquares is expecting {self.n_features_in_} features as "
                "input; pass rows over the same columns"
            )
        out = np.empty(rows.shape[0])
        base.csr_vector(
            *csr_arrays(rows, np.float64),
            rows.shape[1],
            np.ascontiguousarray(self.coef_),
            out,
            effective_jobs(self.n_jobs),
        )
        return out + self.intercept_

    @property
    def n_features_in_(self) -> int:
        """The number of columns, as scikit-learn asks for it."""
        check_fitted(self)
        return len(self.coef_)

    def _iterated(self, X: Any, means: Floats, centered: Floats) -> tuple[Floats, int]:
        operator = sparse.linalg.LinearOperator(
            X.shape,
            matvec=lambda w: X @ w.ravel() - means @ w.ravel(),
            rmatvec=lambda a: X.T @ a.ravel() - means * a.sum(),
            dtype=np.float64,
        )
        weights, _, iterations, *_ = sparse.linalg.lsqr(
            operator,
            centered,
            damp=np.sqrt(self.l2),
            atol=self.tolerance,
            btol=self.tolerance,
            iter_lim=self.max_iter,
        )
        return weights, int(iterations)


def solve_centered(matrix: Floats, values: Floats, l2: float = 0.0) -> Floats:
    """The a of least norm with (H K H + l2) a = y for values y that add up to zero; it adds up to zero itself.

    >>> solve_centered(np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([-0.5, 0.5])).tolist()
    [-1.0, 1.0]
    """
    n = len(values)
    means = matrix.mean(axis=0)
    inner = matrix - means - means[:, None] + means.mean() + 1.0 / n  # 11'/n takes the place of the direction H removes
    inner[np.diag_indices(n)] += l2
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        try:
            factor = linalg.cho_factor(inner, lower=True, check_finite=False)
            diagonal = np.abs(np.diag(factor[0]))
            if diagonal.min() > 1e-4 * diagonal.max():
                solution: Floats = linalg.cho_solve(factor, values, check_finite=False)
                return np.asarray(solution - solution.mean())
        except np.linalg.LinAlgError:
            pass
        spectrum, vectors = linalg.eigh(inner, check_finite=False)
        inverse = np.where(spectrum > _SMALL * spectrum.max(), 1.0 / np.where(spectrum > 0, spectrum, 1.0), 0.0)
        solution = vectors @ (inverse * (vectors.T @ values))
    return np.asarray(solution - solution.mean())

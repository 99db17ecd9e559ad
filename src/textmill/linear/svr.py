"""Support vector regression: a function that leaves small errors alone and is as flat as it can be.

    minimize  1/2 |w|^2 + cost sum_i s_i max(0, |f(x_i) - y_i| - tube)          f(x) = w.x + b, or with a kernel

| rows | algorithm |
|---|---|
| up to `memory` as a matrix of kernel values | sequential minimal optimization over that matrix (kernels.py) |
| more | the same with rows of the matrix made when needed |
| linear kernel, more than 4,000 rows, or chunks | dual coordinate descent on w (tube_descent.py) |

The intercept b is free of penalty in all three. `s_i` is the weight of a row. Memory of the descent: 12 bytes for each
entry of X, or of the largest chunk, 8 for each column, 40 for each row.

References: Vapnik (1995); Fan, Chen & Lin (2005); Ho & Lin (2012).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from textmill._native import linear as native
from textmill.arrays import Floats
from textmill.corpus import array_like
from textmill.errors import DataError, warn_caller
from textmill.linear.classifier import checked_weights, require_rows
from textmill.linear.kernels import MAX_STEPS, KernelModel, KernelRows, solve_problems
from textmill.linear.tube_descent import CheckedChunks, descend
from textmill.model import Regressor, check_choice, check_range
from textmill.numeric import sparse

__all__ = ["SupportVectorRegression", "check_targets"]

_MANY_ROWS = 4000  # from which a linear kernel is trained by descent on the weights


class SupportVectorRegression(Regressor, KernelModel):
    """Regression with a tube: errors up to `tube` cost nothing, larger ones in proportion.

    Parameters:
        kernel: "linear", "polynomial" or "rbf"; see `make_kernel`.
        degree: Of the polynomial kernel.
        gamma: Factor of the dot product, or of the squared distance.
        coef0: Summand of the polynomial kernel.
        cost: Price of an error beyond the tube, C of LIBSVM.
        tube: Half of the width of the tube.
        method: "smo", "descent" (linear kernel only) or "auto", by the number of rows.
        tolerance: Largest violation of the optimality conditions; of "descent" the duality gap relative to the
            objective.
        max_iter: Steps of "smo", passes of "descent" at most; None for as many as it takes, of "descent" 1000.
        memory: Bytes for the matrix of kernel values.
        random_state: Seed of the order of rows in "descent".
        n_jobs: Threads; None for all cores. The model is the same for any number.

    Attributes:
        coef_: Weights of a linear kernel, (1, m), else None.
        dual_: Variables of the support vectors, (1, s), of other kernels.
        intercept_: Intercept, (1,).
        objective_: Value of the primal problem.
        gap_: Its distance from the dual problem, a bound on the distance from the optimum.
        n_iter_: Steps or passes.
        converged_: Whether the tolerance was reached.

    >>> model = SupportVectorRegression(cost=100.0, tolerance=1e-9).fit([[1.0], [2.0], [3.0]], [1, 2, 8])
    >>> model.predict([[1.0], [2.0], [3.0]]).round(4).tolist(), model.intercept_.round(4).tolist()
    ([0.9, 4.4, 7.9], [-2.6])
    """

    format_version: ClassVar[int] = 1
    state: ClassVar[dict[str, Any]] = {"objective_": float, "gap_": float}

    objective_: float
    gap_: float

    def __init__(
        self,
        *,
        kernel: str = "linear",
        degree: int = 2,
        gamma: float = 1.0,
        coef0: float = 1.0,
        cost: float = 100.0,
        tube: float = 0.1,
        method: str = "auto",
        tolerance: float = 1e-3,
        max_iter: int | None = None,
        memory: int = 1 << 29,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cost = cost
        self.tube = tube
        self.method = method
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows and their values; `sample_weight` multiplies the cost of a row.

        With y None, X is an iterable of chunks (X, y) that is read again in every pass, for a linear kernel: one chunk
        at a time is in memory.

        >>> chunks = [([[1.0], [2.0]], [1, 2]), ([[3.0]], [8])]
        >>> SupportVectorRegression(tolerance=1e-6).fit(chunks).predict([[1.0], [3.0]]).round(2).tolist()
        [0.9, 7.9]
        """
        self._check()
        if y is None and isinstance(X, Iterable) and not hasattr(X, "shape"):
            return self._fit_chunks(X, sample_weight)
        rows = KernelRows(array_like(X), n_jobs=self.n_jobs)
        target = check_targets(rows.X, y)
        costs = float(self.cost) * checked_weights(sample_weight, len(target))
        linear_descent = self.kernel == "linear" and len(target) > _MANY_ROWS and (costs == self.cost).all()
        method = ("descent" if linear_descent else "smo") if self.method == "auto" else self.method
        if method == "descent":
            if not (costs == self.cost).all():
                raise DataError("method='descent' takes no sample_weight; leave it out, or use method='smo'")
            return self._descend([(rows.X, target)], rows.X.shape[1])
        n = len(target)
        if n * n * 8 <= self.memory:
            matrix = rows.gram(self._kernel())
            limit = MAX_STEPS if self.max_iter is None else self.max_iter
            every = np.arange(n, dtype=np.int32)
            solved = solve_problems(
                matrix, [every], [target], [(-costs, costs)], tube=self.tube, tolerance=self.tolerance, max_iter=limit
            )
            dual, intercept = solved.dual, float(solved.intercepts[0])
            fitted = np.einsum("ij,j->i", matrix, dual) + intercept
            self._note(int(solved.steps[0]), float(solved.violations[0]), self.tolerance, limit)
        else:
            dual, intercept, fitted = self._solve_cached(rows, target, costs)
        self._keep(rows.X, dual[None], np.array([intercept]))
        square = float(dual @ (fitted - intercept))
        self._certify(target, costs, dual, fitted, square, square)
        return self

    def _fit_chunks(self, X: Any, sample_weight: ArrayLike | None) -> Self:
        if self.kernel != "linear" or self.method == "smo" or sample_weight is not None:
            raise DataError("chunks are for kernel='linear' by descent without sample_weight; else pass X and y")
        chunks = CheckedChunks(X)
        first, _ = next(iter(chunks))
        return self._descend(chunks, int(first.shape[1]))

    def predict(self, X: Any) -> Floats:
        """Return the value of each row."""
        return np.ascontiguousarray(self.decision_values(X)[:, 0])

    def _check(self) -> None:
        self._kernel()
        check_choice("method", self.method, ("auto", "smo", "descent"))
        check_range("cost", self.cost, above=0)
        check_range("tube", self.tube, at_least=0)
        check_range("tolerance", self.tolerance, above=0)
        check_range("memory", self.memory, at_least=0, whole=True)
        if self.max_iter is not None:
            check_range("max_iter", self.max_iter, at_least=1, whole=True)
        if self.method == "descent" and self.kernel != "linear":
            raise DataError(f"method='descent' is for kernel='linear', not for {self.kernel!r}; use method='smo'")

    def _solve_cached(self, rows: KernelRows, target: Floats, costs: Floats) -> tuple[Floats, float, Floats]:
        n = len(target)
        dual, slope = np.zeros(n), -target
        limit = MAX_STEPS if self.max_iter is None else self.max_iter
        held = max(2, int(self.memory) // (8 * n))
        kernel = self._kernel()
        intercept, _, violation, steps = native.solve_cached(
            *rows.arrays,
            rows.design,
            kernel,
            target,
            -costs,
            costs,
            self.tube,
            self.tolerance,
            limit,
            held,
            dual,
            slope,
        )
        self._note(steps, violation, self.tolerance, limit)
        return dual, float(intercept), slope + target + intercept

    def _descend(self, chunks: Iterable[tuple[Any, Floats]], columns: int) -> Self:
        w, intercept = descend(self, chunks)
        self._keep(sparse.csr_matrix((0, columns)), np.zeros((1, 0)), np.array([intercept]))
        self.coef_ = w[None]
        return self

    def _certify(
        self,
        target: Floats,
        costs: Floats,
        dual: Floats,
        fitted: Floats,
        square: float,
        dual_square: float,
    ) -> None:
        """Primal value, and its distance from the dual one; squares are those of w, and of the w of the dual point."""
        loss = float(costs @ np.maximum(np.abs(fitted - target) - self.tube, 0.0))
        value = float(dual @ target) - self.tube * float(np.abs(dual).sum()) - 0.5 * dual_square
        self.objective_ = 0.5 * square + loss
        self.gap_ = max(self.objective_ - value, 0.0)


def check_targets(rows: Any, y: Any) -> Floats:
    """The values of rows as numbers, or what is wrong with them.

    >>> check_targets(np.zeros((2, 1)), [1, 2.5]).tolist()
    [1.0, 2.5]
    """
    if y is None:
        raise DataError("requires y to be passed, but the target y is None; pass one number per row")
    require_rows(rows)
    values = np.asarray(y)
    if values.dtype.kind == "c":
        raise DataError("Complex data not supported: y holds complex numbers; pass real ones")
    try:
        target = values.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError("y holds values that are no numbers; pass one number per row") from None
    if target.ndim == 2 and target.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warn_caller("A column-vector y was passed when a 1d array was expected; y is flattened", DataConversionWarning)
        target = target.ravel()
    if target.shape != (rows.shape[0],):
        raise DataError(
            f"X has {rows.shape[0]} rows but y has the shape {target.shape}: inconsistent; pass one per row"
        )
    if not np.isfinite(target).all():
        row = int(np.argmin(np.isfinite(target)))
        kind = "NaN" if np.isnan(target[row]) else "infinity"
        raise DataError(f"Input y contains {kind}, in row {row}; remove the row or give it a value")
    return np.ascontiguousarray(target)

"""Kernels between sparse rows, and the support vector problems that are solved with them.

    linear       K(x, z) = x.z
    polynomial   K(x, z) = (gamma x.z + coef0) ** degree
    rbf          K(x, z) = exp(-gamma |x - z|^2)

One problem covers regression and two classes, with a signed variable b_i per row:

    minimize  1/2 b'Kb - y'b + tube |b|_1      lower <= b <= upper,  sum b = 0,      f(x) = sum_i b_i K(x_i, x) + b_0

The matrix K of up to `memory` bytes is made at once and shared by all problems over its rows (pairs of classes, folds);
beyond that its rows are made when they are needed and the last ones kept. Cost: native/linear/kernel.h and smo.h.

References: Fan, Chen & Lin (2005), Working set selection using second order information; Okanohara & Tsujii (2005),
Assigning polarity scores to reviews using machine learning techniques.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from textmill._native import linear as native
from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import array_like, check_bags, csr_arrays
from textmill.errors import DataError, ModelFileError, warn_caller
from textmill.linear.logistic import NotConverged
from textmill.model import Model, check_choice, check_fitted, check_range, effective_jobs

__all__ = ["KERNELS", "KernelModel", "KernelRows", "Solved", "make_kernel", "solve_problems"]

KERNELS = ("linear", "polynomial", "rbf")
MAX_STEPS = 100_000_000
_NO_WEIGHTS = np.empty(0)


def make_kernel(name: str, *, degree: int = 2, gamma: float = 1.0, coef0: float = 1.0, unit: bool = False) -> Any:
    """Return the native kernel: "linear", "polynomial" or "rbf".

    `degree` and `coef0` are degree and summand of the polynomial kernel, `gamma` the factor of its dot product, or of
    the squared distance of rbf; `unit` divides rows by their length first.

    >>> rows = KernelRows([[1.0, 0.0], [2.0, 1.0]])
    >>> rows.gram(make_kernel("polynomial")).tolist()
    [[4.0, 9.0], [9.0, 36.0]]
    """
    check_choice("kernel", name, KERNELS)
    check_range("degree", degree, at_least=1, at_most=100, whole=True)
    check_range("gamma", gamma, above=0)
    check_range("coef0", coef0, at_least=0)
    return native.Kernel(name, int(degree), float(gamma), float(coef0), unit)


class KernelRows:
    """Sparse rows in the two forms that kernels need: by row and by column."""

    def __init__(self, X: Any, *, n_jobs: int | None = None) -> None:
        self.X = check_bags(X, negative=True)
        self.arrays = csr_arrays(self.X, np.float64)
        self.threads = effective_jobs(n_jobs)

    @cached_property
    def design(self) -> Any:
        """The rows by column."""
        return native.Design(self.X.shape[1], *self.arrays, self.threads)

    def gram(self, kernel: Any, weights: Floats | None = None, out: Floats | None = None) -> Floats:
        """The kernel between all rows, (n, n); `weights` >= 0 of columns multiply into the dots."""
        n = self.X.shape[0]
        matrix = np.empty((n, n)) if out is None else out
        native.gram(
            *self.arrays, self.design, _NO_WEIGHTS if weights is None else weights, kernel, matrix, self.threads
        )
        return matrix


@dataclass(frozen=True)
class Solved:
    """Solutions of problems over rows of one matrix, one after the other in `dual`."""

    dual: Floats
    intercepts: Floats
    objectives: Floats
    violations: Floats
    steps: Ints


def solve_problems(
    matrix: Floats,
    listed: Sequence[Ids],
    targets: Sequence[Floats],
    bounds: Sequence[tuple[Floats, Floats]],
    *,
    tube: float,
    tolerance: float,
    max_iter: int = MAX_STEPS,
    n_jobs: int | None = None,
) -> Solved:
    """Solve one problem for each list of rows of the matrix, in parallel; the result is the same for any threads.

    >>> matrix = np.array([[0.0, 0.0], [0.0, 1.0]])
    >>> rows = np.array([0, 1], np.int32)
    >>> bounds = (np.full(2, -100.0), np.full(2, 100.0))
    >>> solved = solve_problems(matrix, [rows], [np.array([0.0, 1.0])], [bounds], tube=0.1, tolerance=1e-9)
    >>> solved.dual.round(6).tolist(), solved.intercepts.round(6).tolist()
    ([-0.8, 0.8], [0.1])
    """
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in listed])]).astype(np.int64)
    rows = np.concatenate(listed).astype(np.int32)
    lower = np.concatenate([low for low, _ in bounds])
    upper = np.concatenate([high for _, high in bounds])
    dual = np.empty(len(rows))
    figures = native.solve_listed(
        np.ascontiguousarray(matrix),
        offsets,
        rows,
        np.concatenate(targets).astype(np.float64),
        lower,
        upper,
        tube,
        tolerance,
        max_iter,
        dual,
        effective_jobs(n_jobs),
    )
    return Solved(dual, *figures)


class KernelModel(Model):
    """What models of support vectors share: kernel, rows of support, sums of kernel values.

    For a linear kernel the weights `coef_` take the place of the rows, and `dual_` has no columns.
    """

    layout: ClassVar[Mapping[str, str]] = {
        "coef_": "output feature: float64 | None",
        "dual_": "output support",
        "intercept_": "output",
        "support_offsets_": "support+1: int64",
        "support_columns_": "entry: int32",
        "support_values_": "entry",
    }
    offsets: ClassVar[dict[str, str]] = {"support_offsets_": "entry"}
    state: ClassVar[dict[str, Any]] = {"n_features_in_": int, "n_iter_": int, "converged_": bool}

    kernel: str
    degree: int
    gamma: float
    coef0: float
    n_jobs: int | None
    coef_: Floats | None
    dual_: Floats
    intercept_: Floats
    support_offsets_: Ints
    support_columns_: Ids
    support_values_: Floats
    n_features_in_: int
    n_iter_: int
    converged_: bool

    def check_values(self) -> None:
        """Columns of the support must exist."""
        columns = self.support_columns_
        if columns.size and (columns.min() < 0 or columns.max() >= self.n_features_in_):
            raise ModelFileError(f"a support vector has a column outside of {self.n_features_in_}", reason="damaged")
        if self.coef_ is not None and self.coef_.shape[1] != self.n_features_in_:
            raise ModelFileError(
                f"coef_ has {self.coef_.shape[1]} columns for {self.n_features_in_} features", reason="damaged"
            )

    @property
    def n_support_(self) -> int:
        """Number of support vectors that are kept."""
        check_fitted(self)
        return int(self.dual_.shape[1])

    def decision_values(self, X: Any) -> Floats:
        """Return the values of all outputs, (rows, outputs).

        >>> from textmill.linear import SupportVectorRegression
        >>> SupportVectorRegression().fit([[0.0], [1.0]], [0, 1]).decision_values([[0.5]]).round(4).tolist()
        [[0.5]]
        """
        check_fitted(self)
        rows = self._checked_rows(X)
        if self.coef_ is not None:
            return np.asarray(rows @ self.coef_.T) + self.intercept_
        out = np.empty((rows.shape[0], len(self.dual_)))
        design, squares = self._support()
        native.kernel_sums(
            *csr_arrays(rows, np.float64),
            design,
            squares,
            self._kernel(),
            np.ascontiguousarray(self.dual_),
            out,
            effective_jobs(self.n_jobs),
        )
        return np.add(out, self.intercept_, out=out)

    def _kernel(self) -> Any:
        return make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)

    def _support(self) -> tuple[Any, Floats]:
        """The support by column and the squared lengths of its rows; made once for a fit."""
        cached = vars(self).get("_supported")
        if cached is None or cached[0] is not self.support_values_:
            arrays = self.support_offsets_, self.support_columns_, self.support_values_
            design = native.Design(self.n_features_in_, *map(np.ascontiguousarray, arrays), effective_jobs(self.n_jobs))
            counts = np.diff(self.support_offsets_)
            owners = np.repeat(np.arange(len(counts)), counts)
            squares: Floats = np.bincount(owners, self.support_values_**2, len(counts)).astype(np.float64)
            cached = self._supported = (self.support_values_, design, squares)
        return cached[1], cached[2]

    def _checked_rows(self, X: Any) -> Any:
        rows = check_bags(array_like(X), negative=True)
        if rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input; pass rows over the same columns"
            )
        return rows

    def _keep(self, rows: Any, dual: Floats, intercepts: Floats) -> None:
        """Keep a solution, dual (outputs, rows of training): as weights, or with the rows that support it."""
        self.n_features_in_ = int(rows.shape[1])
        self.intercept_ = np.array(intercepts, dtype=np.float64)
        support = np.flatnonzero((dual != 0).any(axis=0))
        if self.kernel == "linear":
            self.coef_ = np.ascontiguousarray(np.asarray((rows.T @ dual.T).T, dtype=np.float64))
            support = support[:0]
        else:
            self.coef_ = None
        self.dual_ = np.ascontiguousarray(dual[:, support])
        self.support_offsets_, self.support_columns_, values = csr_arrays(rows[support], np.float64)
        self.support_values_ = np.array(values)

    def _note(self, steps: int, violation: float, tolerance: float, max_iter: int) -> None:
        self.n_iter_, self.converged_ = int(steps), bool(violation <= tolerance)
        if not self.converged_ and steps >= max_iter:
            warn_caller(f"training ended by max_iter={max_iter}; raise max_iter or tolerance", NotConverged)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_supported"}

"""A penalised logistic regression as numbers: rows, labels, weights, objective, optimality.

    F(w, b) = sum_i s_i loss_i + l1 sum_jc |w_jc| + l2 / 2 sum_jc w_jc^2         s_i: weight of row i; a sum, no mean
    loss_i  = log sum_c exp(z_ic) - z_{i y_i},   z_ic = w_c . x_i + b_c

Two classes have one vector w for the second of them: z_i = w . x_i + b, loss_i = log(1 + exp(z_i)) - y_i z_i. Of two
vectors only the difference d counts, and min |w_0| + |w_1| for a given d is |d|.

Dual. With residuals r_ic = s_i ([y_i = c] - p_ic), v = X^T r and any factor a in [0, 1]:

    D = sum_i s_i H(p'_i) - sum_jc max(0, a |v_jc| - l1)^2 / (2 l2)               p'_i = (1 - a) [y_i] + a p_i

is at most min F, where H is the entropy, as long as a |v| <= l1 where l2 = 0; so F - D bounds how far w is from the
optimum. A free intercept asks for sum_i r_ic = 0, which one Newton iteration in b restores.

Cost: one product with X for a margin, one with X^T for a slope. Reference: Koh, Kim & Boyd (2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from textmill._native import base
from textmill._native import linear as native
from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import csr_arrays

__all__ = ["Certificate", "Optimality", "Penalty", "Problem"]

_NONE = np.empty(0)
_NO_ROWS = np.empty((0, 0))
_FEW_ENTRIES = 100_000  # for which waking a second thread costs more than it brings


@dataclass(frozen=True, slots=True)
class Penalty:
    """l1 and l2 of the objective.

    >>> Penalty(0.5, 2.0).value(np.array([1.0, -2.0]))
    6.5
    """

    l1: float
    l2: float

    def value(self, weights: Floats) -> float:
        """l1 |w| + l2 / 2 |w|^2."""
        flat = weights.ravel()  # base.dot: BLAS would wake its threads for each of these short sums
        return self.l1 * float(np.abs(flat).sum()) + self.l2 / 2 * float(base.dot(flat, flat))


@dataclass(frozen=True, slots=True)
class Certificate:
    """How far a model is from the optimum of its training data: F is at most `gap` above the minimum.

    `violation` is the largest violation of the optimality conditions, `slope` the largest |X^T r|, `active` the number
    of weights that are not zero.

    >>> print(Certificate(objective=10.0, dual=9.99, violation=0.01, slope=1.01, active=3))
    objective 10, at most 0.01 (0.1%) above the minimum; worst violation 0.01; 3 weights are not zero
    """

    objective: float
    dual: float
    violation: float
    slope: float
    active: int

    @property
    def gap(self) -> float:
        """Objective minus dual value."""
        return self.objective - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the objective."""
        return self.gap / max(abs(self.objective), 1e-300)

    def __str__(self) -> str:
        return (
            f"objective {self.objective:.9g}, at most {self.gap:.2g} ({self.relative_gap:.2g}) above the minimum; "
            f"worst violation {self.violation:.2g}; {self.active} weights are not zero"
        ).replace(f"({self.relative_gap:.2g})", f"({100 * self.relative_gap:.2g}%)")


@dataclass(frozen=True, slots=True)
class Optimality:
    """What a certificate is made of, but for the dual value: loss, objective, largest slope, violation.

    `excess` is the sum of squares of slopes above l1, `active` the number of weights that are not zero, and `factor`
    that of the dual variables.
    """

    loss: float
    objective: float
    highest: float
    violation: float
    excess: float
    active: int
    factor: float


class Problem:
    """Rows with labels and weights, in memory.

    `margins` is 1 for two classes, else the number of classes; weights are margins x columns, intercepts (margins,).
    """

    def __init__(
        self,
        X: Any,
        labels: Ids,
        classes: int,
        weights: Floats,
        *,
        intercept: bool,
        threads: int,
        arrays: tuple[Ints, Ids, Floats] | None = None,
    ) -> None:
        self.offsets, self.indices, self.values = csr_arrays(X, np.float64) if arrays is None else arrays
        self.rows, self.columns = X.shape
        self.labels, self.classes, self.weights = labels, classes, weights
        self.margins = 1 if classes == 2 else classes
        self.intercept = intercept
        self.threads = threads if len(self.values) >= _FEW_ENTRIES else 1

    @cached_property
    def design(self) -> Any:
        """The rows by column, made when first asked for."""
        return native.Design(self.columns, self.offsets, self.indices, self.values, self.threads)

    @cached_property
    def passes(self) -> Any:
        """The rows as they are, checked, for passes that give sums by column."""
        return native.Rows(self.columns, self.offsets, self.indices, self.values, self.threads)

    def margin(self, coef: Floats, intercept: Floats) -> Floats:
        """z, margins x rows."""
        out = np.empty((self.margins, self.rows))
        for c in range(self.margins):
            base.csr_vector(self.offsets, self.indices, self.values, self.columns, coef[c], out[c], self.threads)
        return np.add(out, intercept[:, None], out=out)

    def loss(self, margin: Floats, residual: Floats | None = None, curvature: Floats | None = None) -> float:
        """The sum of losses; fills residuals, margins x rows, and of two classes the curvatures of the rows."""
        if self.margins == 1:
            first = _NONE if residual is None else residual[0]
            bend = _NONE if curvature is None else curvature
            return float(native.binary_loss(margin[0], self.labels, self.weights, first, bend, self.threads))
        return float(
            native.softmax_loss(
                margin, self.labels, self.weights, _NO_ROWS if residual is None else residual, self.threads
            )
        )

    def slopes(self, residual: Floats) -> Floats:
        """- X^T r, margins x columns: the slope of the loss."""
        out = np.empty((self.margins, self.columns))
        if self.columns:
            for c in range(self.margins):
                native.column_sums(self.design, _NO_IDS, residual[c], _NONE, out[c], _NONE, self.threads)
        return out

    def entropy(self, residual: Floats, factor: float) -> float:
        """sum_i s_i H(p'_i), p'_i between the label and the model's distribution."""
        weights = self.weights
        if self.margins == 1:
            return float(native.binary_entropy(residual[0], weights, factor, self.threads))
        share = np.divide(factor * np.abs(residual), weights, out=np.zeros_like(residual), where=weights > 0)
        rows = np.arange(self.rows)
        share[self.labels, rows] = 1 - share[self.labels, rows]
        return float(base.dot(weights, _surprise(share).sum(axis=0)))

    def certificate(self, coef: Floats, intercept: Floats, penalty: Penalty) -> Certificate:
        """The certificate of a model, with the intercept moved to its optimum first when it is free."""
        residual = np.empty((self.margins, self.rows))
        margin = self.margin(coef, intercept)
        loss = self.loss(margin, residual)
        if self.intercept:
            self.settle_intercept(margin, residual, np.array(intercept))
            loss = self.loss(margin, residual)
        return self.certify(loss, residual, self.slopes(residual), coef, penalty)

    def certify(self, loss: float, residual: Floats, slopes: Floats, coef: Floats, penalty: Penalty) -> Certificate:
        """The certificate at residuals and slopes that are there already."""
        return self.certified(self.optimality(loss, slopes, coef, penalty), residual, penalty)

    def optimality(self, loss: float, slopes: Floats, coef: Floats, penalty: Penalty) -> Optimality:
        """Objective and optimality conditions at slopes that are there already."""
        l1, l2 = penalty.l1, penalty.l2
        highest, violation, excess, norm, square, active = native.optimality(
            slopes.ravel(), coef.ravel(), l1, l2, self.threads
        )
        factor = l1 / highest if l2 == 0 and highest > l1 else 1.0
        return Optimality(loss, loss + l1 * norm + l2 / 2 * square, highest, violation, excess, active, factor)

    def certified(self, state: Optimality, residual: Floats, penalty: Penalty) -> Certificate:
        """The certificate, with the dual value at the residuals."""
        if penalty.l1 == penalty.l2 == 0 and state.highest > 0:
            dual = -np.inf
        else:
            dual = self.entropy(residual, state.factor)
            if penalty.l2 > 0:
                dual -= state.excess / (2 * penalty.l2)
        return Certificate(state.objective, float(dual), state.violation, state.highest, state.active)

    def may_be_optimal(self, state: Optimality, margin: Floats, residual: Floats, tolerance: float) -> bool:
        """Whether the gap may be within the tolerance, without logarithms: False is certain.

        The entropy of factor a is concave in a, at a = 1 it is loss + z . r and its slope z . r, so it is at most
        loss + a z . r. That is of two classes; of more the answer is True.
        """
        if self.margins > 1:
            return True
        highest_dual = state.loss + state.factor * base.dot(margin[0], residual[0])
        return bool(state.objective - highest_dual <= (tolerance + 1e-12) * abs(state.objective))

    def settle_intercept(self, margin: Floats, residual: Floats, intercept: Floats) -> None:
        """Move the intercepts, and the margins with them, until the residuals of every class add up to zero."""
        total = float(self.weights.sum())
        for _ in range(50):
            sums = residual.sum(axis=1)
            if np.abs(sums).max() <= 1e-13 * total:
                return
            share = np.abs(residual) / np.where(self.weights > 0, self.weights, 1.0)
            bend = (self.weights * share * (1 - share)).sum(axis=1)
            step = np.clip(sums / np.maximum(bend, 1e-9 * total), -4.0, 4.0) / (1 if self.margins == 1 else 2)
            intercept += step
            margin += step[:, None]
            self.loss(margin, residual)


def _surprise(p: Floats) -> Floats:
    """- p log p, 0 at 0."""
    return -np.asarray(p) * np.log(np.where(p > 0, p, 1.0))


_NO_IDS = np.empty(0, np.int32)

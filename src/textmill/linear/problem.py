"""A penalized logistic regression as numbers: rows, labels, weights, objective, optimality.

    F(w, b) = sum_i s_i loss_i + l1 sum_jc |w_jc| + l2 / 2 sum_jc w_jc^2         s_i: weight of row i; a sum, no mean
    loss_i  = log sum_c exp(z_ic) - z_{i y_i},   z_ic = w_c . x_i + b_c

Two classes have one vector w for the second of them: z_i = w . x_i + b, loss_i = log(1 + exp(z_i)) - y_i z_i. Of two
vectors only the difference d counts, and min |w_0| + |w_1| for a given d is |d|.

Dual. Let q be distributions over the classes, one per row, r_ic = s_i ([y_i = c] - q_ic), v = X^T r, H the entropy, and

    D(q) = sum_i s_i H(q_i) - sum_jc max(0, |v_jc| - l1)^2 / (2 l2)

Then D(q) <= min F for every q with |v_jc| <= l1 where l2 = 0, and sum_i r_ic = 0 for each class that has a free
intercept. Proof: log sum_c exp(z_c) >= z . q + H(q) for every z and q, since the difference is a divergence. So

    F(w, b) >= sum_i s_i (H(q_i) + z_i . (q_i - [y_i])) + penalty = sum_i s_i H(q_i) - w . v - b . sum_i r_i + penalty

The term in b is 0 by the constraint, and would be unbounded below without it: residuals that do not add up to zero
prove nothing. Over w the rest is least where it says D. (Two classes have half as many v: those of the other class are
the same with the other sign, and w stands for the difference.)

A feasible q at any point, from the p of the model:

1. One moves b to its minimum for the given w, a few steps of Newton in as many variables as there are classes. The
   sums of the residuals are then nearly 0.
2. A class c with e_c = sum_i s_i p_ic - n_c > 0 is predicted too often (n_c: the weight of its rows). Its own rows give
   s_i e_c / n_c of their mass to the classes that are predicted too seldom, each its share: all sums become 0.
3. q = (1 - a) [y] + a p with 0 <= a <= 1 / (1 + max_c e_c / n_c) keeps the sums at 0 and makes q >= 0, as a row of
   class c keeps at least 1 - a - a e_c / n_c >= 0 for its own class. Without L2, a <= l1 / max |v| as well.

H is concave, so D is concave in a, and with L2 the best a is looked for. a = 0 gives D = 0, which F never falls below.

Cost: one product with X for a margin, one with X^T for a slope; a certificate one more, if there is an intercept.
References: Koh, Kim & Boyd (2007); Ndiaye, Fercoq, Gramfort & Salmon (2017), Gap safe screening rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from textmill._native import base
from textmill._native import linear as native
from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import csr_arrays

__all__ = ["Balancing", "Certificate", "Optimality", "Penalty", "Problem", "balance_rates"]

_NONE = np.empty(0)
_ROWS = 8192  # of a block
_NO_ROWS = np.empty((0, 0))
_SHARES = (1.0, 0.97, 0.9, 0.8, 0.6, 0.4, 0.2)  # of the largest factor of the residuals that are tried
_SETTLED = 1e-9  # share of the residuals to which they add up with settled intercepts
_SETTLING = 30  # Newton steps of the intercepts at most
_HALVINGS = 30  # of each
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

    def slopes(self, residual: Floats, *, out: Floats | None = None, scratch: Floats | None = None) -> Floats:
        """- X^T r, margins x columns: the slope of the loss; `scratch` has the size of the residuals."""
        out = np.empty((self.margins, self.columns)) if out is None else out
        if self.columns and "design" not in vars(self) and len(self.values):  # not worth a copy of X by column
            sums = np.empty((self.columns, self.margins))
            rows = np.empty(residual.T.shape) if scratch is None else scratch.reshape(residual.T.shape)
            np.copyto(rows, residual.T)
            base.csr_transposed_dense(self.offsets, self.indices, self.values, self.columns, rows, sums, self.threads)
            np.negative(sums.T, out=out)
        elif self.columns:
            for c in range(self.margins):
                native.column_sums(self.design, _NO_IDS, residual[c], _NONE, out[c], _NONE, self.threads)
        return out

    def entropy(self, residual: Floats, factor: float) -> float:
        """sum_i s_i H(p'_i), p'_i between the label and the model's distribution."""
        weights = self.weights
        if self.margins == 1:
            return float(native.binary_entropy(residual[0], weights, factor, self.threads))
        total = 0.0
        for block, share in self._shares(residual, factor):
            total += float(weights[block] @ _surprise(share).sum(axis=0))
        return total

    def _shares(self, residual: Floats, factor: float = 1.0) -> Iterator[tuple[slice, Floats]]:
        """The distributions of some thousand rows at a time, classes x rows."""
        for begin in range(0, self.rows, _ROWS):
            block = slice(begin, min(begin + _ROWS, self.rows))
            weights = self.weights[block]
            share = factor * np.abs(residual[:, block]) / np.where(weights > 0, weights, 1.0)
            at = self.labels[block], np.arange(share.shape[1])
            share[at] = 1 - share[at]
            yield block, share

    def certificate(self, coef: Floats, intercept: Floats, penalty: Penalty) -> Certificate:
        """The certificate of a model."""
        residual = np.empty((self.margins, self.rows))
        margin = self.margin(coef, intercept)
        loss = self.loss(margin, residual)
        return self.certify(loss, margin, residual, self.slopes(residual), coef, penalty)

    def certify(
        self,
        loss: float,
        margin: Floats,
        residual: Floats,
        slopes: Floats,
        coef: Floats,
        penalty: Penalty,
        own: bool = False,
    ) -> Certificate:
        """The certificate at margins, residuals and slopes that are there already."""
        state = self.optimality(loss, slopes, coef, penalty)
        return self.certified(state, margin, residual, slopes, coef, penalty, own=own)

    def certified(
        self,
        state: Optimality,
        margin: Floats,
        residual: Floats,
        slopes: Floats,
        coef: Floats,
        penalty: Penalty,
        left_out: Any = None,
        own: bool = False,
    ) -> Certificate:
        """The certificate, given how far the conditions of optimality are from being met; columns may be left out.

        Margins, residuals and slopes may be changed if they are its `own`.
        """
        violation, most = state.violation, 1.0
        if self.intercept:
            violation = max(violation, float(np.abs(residual.sum(axis=1)).max()))
            if not own:
                margin, residual = margin.copy(), residual.copy()
            residual, most = self.feasible(margin, residual)
            slopes = self.slopes(residual, out=slopes if own else None, scratch=margin)
            if left_out is not None:
                slopes[:, left_out] = 0.0
        dual = self.dual(residual, slopes, coef, penalty, most)
        return Certificate(state.objective, dual, violation, state.highest, state.active)

    def dual(self, residual: Floats, slopes: Floats, coef: Floats, penalty: Penalty, most: float) -> float:
        """D at a times the residuals, which add up to zero if they must; a is `most` at most."""
        l1, l2 = penalty.l1, penalty.l2
        highest = float(base.largest_magnitude(slopes.ravel())) if slopes.size else 0.0
        if l2 > 0:
            return self._best_dual(residual, slopes, coef, penalty, most)
        if l1 == 0 and highest > 0:
            return -math.inf
        return self.entropy(residual, min(most, l1 / highest) if highest > 0 else most)

    def _best_dual(self, residual: Floats, slopes: Floats, coef: Floats, penalty: Penalty, most: float) -> float:
        """The largest of some values of D, which is concave in a: from `most` on as long as it rises."""
        best = -math.inf
        for share in _SHARES if most > 0 else ():
            factor = most * share
            excess = factor**2 * float(self._sums(slopes, coef, penalty.l1 / factor, penalty.l2)[2])
            dual = self.entropy(residual, factor) - excess / (2 * penalty.l2)
            if dual <= best:
                break
            best = dual
        return max(best, 0.0)

    def feasible(self, margin: Floats, residual: Floats) -> tuple[Floats, float]:
        """Residuals that add up to zero for every class, near those of the margins, and the largest factor of them.

        Margins and residuals are changed.
        """
        self.settle_intercept(margin, residual, np.zeros(self.margins))
        limit = 1.0
        for _ in range(2):  # the second time rounding only
            balancing = balance_rates(residual.sum(axis=1), self.class_totals)
            balancing.apply(residual, self.labels, self.weights)
            limit *= balancing.limit
        return residual, limit

    @cached_property
    def class_totals(self) -> Floats:
        """What the rows of each class weigh."""
        return np.bincount(self.labels, self.weights, self.classes).astype(np.float64)

    def _sums(self, slopes: Floats, coef: Floats, l1: float, l2: float) -> Any:
        """Highest slope, violation, excess, norm, square and number of weights that are not zero."""
        return native.optimality(slopes.ravel(), coef.ravel(), l1, l2, self.threads)

    def optimality(self, loss: float, slopes: Floats, coef: Floats, penalty: Penalty) -> Optimality:
        """Objective and optimality conditions at slopes that are there already."""
        l1, l2 = penalty.l1, penalty.l2
        highest, violation, excess, norm, square, active = self._sums(slopes, coef, l1, l2)
        factor = l1 / highest if l2 == 0 and highest > l1 else 1.0
        return Optimality(loss, loss + l1 * norm + l2 / 2 * square, highest, violation, excess, active, factor)

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
        """Move the intercepts, and the margins with them, until the residuals of every class add up to nearly zero.

        Newton's method with halved steps; the loss falls with every step.
        """
        total, loss = float(self.weights.sum()), math.nan
        enough = _SETTLED * sum(float(np.abs(row).sum()) for row in residual) + 1e-15 * total
        for _ in range(_SETTLING):
            sums = residual.sum(axis=1)
            if np.abs(sums).max() <= enough:
                return
            loss = self.loss(margin) if math.isnan(loss) else loss
            if self.margins == 1:
                share = np.abs(residual) / np.where(self.weights > 0, self.weights, 1.0)
                step = sums / max(float((self.weights * share * (1 - share)).sum()), 1e-300)
            else:
                bend = np.zeros((self.margins, self.margins))
                for block, share in self._shares(residual):
                    heavy = self.weights[block] * share
                    bend += np.diag(heavy.sum(axis=1)) - heavy @ share.T
                size = max(float(bend.trace()), 1e-300)  # the last term holds the mean
                step = np.linalg.solve(bend + size * (1e-12 * np.eye(self.margins) + 1.0 / self.margins), sums)
            step = np.clip(step, -4.0, 4.0)
            for _ in range(_HALVINGS):
                margin += step[:, None]
                after = self.loss(margin, residual)
                if after < loss:
                    break
                margin -= step[:, None]
                step = step / 2
            else:
                self.loss(margin, residual)
                return
            intercept += step
            loss = after


@dataclass(frozen=True, slots=True)
class Balancing:
    """How residuals become feasible: what share of its weight a row of a class gives, and who takes which part of that.

    `limit` is the largest factor that residuals may then have.
    """

    rates: Floats
    takers: Floats
    limit: float

    def apply(self, residual: Floats, labels: Ids, weights: Floats) -> None:
        """Change residuals, margins x rows."""
        if not self.rates.any():
            return
        moved = weights * self.rates[labels]
        if len(residual) == 1:
            residual[0] += np.where(labels == 1, moved, -moved)
            return
        residual[labels, np.arange(len(labels))] += moved
        for row, share in zip(residual, self.takers, strict=True):
            if share:
                row -= share * moved


def balance_rates(sums: Floats, totals: Floats) -> Balancing:
    """What makes residuals that add up to `sums` add up to zero; `totals` are the weights of the classes.

    >>> print(balance_rates(np.array([-0.25]), np.array([2.0, 1.0])))
    Balancing(rates=array([0.  , 0.25]), takers=array([1., 0.]), limit=0.8)
    """
    excess = np.append(sums, -sums) if len(sums) == 1 else -sums  # predicted too often, class by class
    surplus, shortage = np.maximum(excess, 0.0), np.maximum(-excess, 0.0)
    rates = np.divide(surplus, totals, out=np.zeros_like(surplus), where=totals > 0)
    if not surplus.any() or not shortage.any():
        return Balancing(np.zeros_like(rates), shortage, 1.0)
    limit = 0.0 if ((surplus > 0) & (totals <= 0)).any() else 1.0 / (1.0 + float(rates.max()))  # no row of it can give
    return Balancing(rates, shortage / shortage.sum(), limit)


def _surprise(p: Floats) -> Floats:
    """- p log p, 0 at 0."""
    return -np.asarray(p) * np.log(np.where(p > 0, p, 1.0))


_NO_IDS = np.empty(0, np.int32)

"""Minimize a penalized logistic loss: proximal Newton with a working set where there is an L1 penalty, else Newton.

With l1 > 0, by coordinate descent on working sets (native/linear/descent.h):

    until the duality gap, or the last decrease, is small:
        slopes of all columns; working set W = weights that are not zero, and columns with |slope| > l1; at first only
        columns with a share of the largest slope, so that few of those that end at zero are visited
        for each class: minimize the quadratic model over its part of W; halve the step until F falls

Without, for two classes, no intercept and more columns than rows, by dual coordinate descent (native/linear/dual.h) as
long as that converges fast; else by Newton steps whose systems are solved by conjugate gradients, of two classes on
passes over the rows with a line search (native/linear/newton.h), of more within a trust region (Lin, Weng & Keerthi
2008), scaled by the diagonal; towards a small penalty they go by way of larger ones.

All end when the gap is at most `tolerance` times the objective. The gap is a bound, and of proximal Newton it is often
a hundred times the distance, because one slope above l1 shrinks the whole dual point; so an iteration that gains less
than a tenth of the tolerance makes the next ones solve their quadratic models more exactly. Without `proof` it is the
last. Cost: a sweep is a visit of every entry of the working set, a look at all columns or a product with the Hessian
one or two of every entry of X.
References: Yuan, Ho & Lin (2012); Yu, Huang & Lin (2011); Johnson & Guestrin (2015) for working sets; Hsia, Chiang &
Lin (2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from textmill._native import base
from textmill._native import linear as native
from textmill.arrays import Floats, Ids
from textmill.linear.problem import Certificate, Penalty, Problem
from textmill.linear.trust_region import minimize_in_region
from textmill.numeric import special

__all__ = ["Solution", "minimize"]

_NONE = np.empty(0)
_ARMIJO = 0.01  # share of the predicted decrease that a step must give
_TRIALS = 40  # halvings of a step
_SWEEPS = 100  # of coordinate descent on one quadratic model
_ACCURACY = 0.3  # share of its violations to which a quadratic model is solved
_FIRST = 0.15  # share of the largest slope that a column of the first working set has
_SETTLED = 0.1  # an iteration that gains less than this share of the tolerance asks for exacter ones, or is the last
_EXACTER = 0.1  # share of the accuracy so far,
_FINEST = 1e-7  # down to this
_STILL = 8  # iterations in a row that gain no more than rounding, and mend no violation, end a run
_ROUNDING = 1e-15  # of the objective
_EXACT = 1.1e-14  # up to this tolerance a run without proof goes on while violations are mended,
_FEW = 3  # and so many iterations more
_ENOUGH = 1e-4  # a sweep that gains less than this share of the tolerance is the last on its quadratic model
_PASSES = 50  # of dual coordinate descent
_SLOW = 0.67  # a pass that leaves more than this share of the gap is the last
_CAUTION = 2.0  # of a dual pass, whose two lanes do not see each other
_CONFIDENT = 18.0  # margin that dual variables stand for at first
_WEAK = 0.01  # penalties below this share of the mean squared length of a row are hard to begin with from zero:
_CONTINUED = (30.0, 3.0)  # several classes then have so many times that first,
_ROUGH = 0.1  # with this tolerance
_CG = 0.3  # residual of conjugate gradients, relative to the gradient
_PRODUCTS = 500  # of conjugate gradients for one step
_DAMPED = 0.1  # share of the diagonal that scales them: all of it slows text down, none badly scaled columns


@dataclass(slots=True)
class Solution:
    """Where a run ended: weights, intercepts, certificate, the objective after each iteration, why it ended.

    Coordinate descent leaves margins, residuals and loss there too, and begins with the margins that it is given.
    """

    coef: Floats
    intercept: Floats
    certificate: Certificate | None = None
    trace: list[float] = field(default_factory=list)
    reason: str = "iterations"
    margin: Floats | None = None
    residual: Floats | None = None
    loss: float = math.nan

    @property
    def converged(self) -> bool:
        """The tolerance was reached, or where no proof was asked for there is next to nothing left to gain."""
        return self.reason in ("gap", "gradient", "decrease")


Watch = Callable[[int, Certificate], object]


def minimize(
    problem: Problem,
    penalty: Penalty,
    start: Solution | None = None,
    *,
    tolerance: float,
    max_iter: int,
    candidates: Ids | None = None,
    watch: Watch | None = None,
    proof: bool = True,
) -> Solution:
    """The weights of least objective, from those of `start` on; `candidates` are the columns that may have weights.

    Margins of `start` are taken over, and change. `watch` is called after every iteration with its number and
    certificate; without it the dual value is worked out only where the gap may be small enough to end. Without `proof`
    proximal Newton ends when little is left to gain.
    """
    if start is None:
        start = Solution(np.zeros((problem.margins, problem.columns)), np.zeros(problem.margins))
    run = Solution(start.coef.copy(), start.intercept.copy())
    run.margin = start.margin
    plain = problem.margins == 1 and not problem.intercept and penalty.l1 == 0 and penalty.l2 > 0
    wide = problem.columns > problem.rows  # then there are fewer dual variables than weights
    if (
        plain
        and wide
        and candidates is None
        and not run.coef.any()
        and max_iter
        and _dual(problem, penalty, run, tolerance)
    ):
        return run
    if problem.margins == 1 and penalty.l1 == 0 and penalty.l2 > 0 and candidates is None:
        _binary_newton(problem, penalty, run, tolerance, max_iter, watch)
        return run
    if penalty.l1 > 0 or candidates is not None:
        _descend(problem, penalty, run, tolerance, max_iter, candidates, watch, proof)
        return run
    if penalty.l2 > 0 and max_iter and not run.coef.any():
        scale = base.dot(problem.values, problem.values) / max(problem.rows, 1)
        for factor in _CONTINUED if penalty.l2 < _WEAK * scale else ():
            rough = Solution(run.coef, run.intercept)
            minimize_in_region(
                problem, Penalty(0.0, factor * penalty.l2), rough, max(_ROUGH, tolerance), max_iter, None
            )
            run.coef, run.intercept = rough.coef, rough.intercept
    minimize_in_region(problem, penalty, run, tolerance, max_iter, watch)
    run.coef, run.intercept = np.ascontiguousarray(run.coef), run.intercept.copy()
    return run


def _descend(
    problem: Problem,
    penalty: Penalty,
    run: Solution,
    tolerance: float,
    max_iter: int,
    candidates: Ids | None,
    watch: Watch | None,
    proof: bool,
) -> None:
    """Proximal Newton steps on working sets."""
    margin = problem.margin(run.coef, run.intercept) if run.margin is None else run.margin
    residual = np.empty_like(margin)
    curvature, scratch = np.empty(problem.rows), np.empty((2, problem.rows))
    run.margin, run.residual = margin, residual
    run.loss = problem.loss(margin, residual, curvature)
    if problem.intercept:
        problem.settle_intercept(margin, residual, run.intercept)
        run.loss = problem.loss(margin, residual, curvature)
    accuracy, still, least = _ACCURACY, 0, math.inf
    for iteration in range(max_iter + 1):
        slopes = problem.slopes(residual)
        if candidates is not None:
            left_out = np.ones(problem.columns, np.bool_)
            left_out[candidates] = False
            slopes[:, left_out] = 0.0
        state = problem.optimality(run.loss, slopes, run.coef, penalty)
        run.trace.append(state.objective)
        gain = run.trace[-2] - state.objective if iteration else math.inf
        little = gain <= max(_SETTLED * tolerance, 1e-15) * abs(state.objective)
        better = state.violation < 0.9 * least or gain > _ROUNDING * abs(state.objective)
        still, least = 0 if better else still + 1, min(least, state.violation)
        is_over = tolerance > _EXACT or still >= _FEW
        last = iteration == max_iter or (little and not proof and is_over) or (still >= _STILL and accuracy <= _FINEST)
        if last or watch is not None or problem.may_be_optimal(state, margin, residual, tolerance):
            run.certificate = now = problem.certified(
                state, margin, residual, slopes, run.coef, penalty, left_out if candidates is not None else None
            )
            if watch is not None:
                watch(iteration, now)
            if now.relative_gap <= tolerance:
                run.reason = "gap"
                return
            if last:
                run.reason = "iterations" if iteration == max_iter else "precision" if proof else "decrease"
                return
        if little:
            accuracy = max(_EXACTER * accuracy, _FINEST)
        highest = state.highest
        if penalty.l2 > 0:
            slopes += penalty.l2 * run.coef
            highest = base.largest_magnitude(slopes.ravel())
        floor = penalty.l1 if iteration else max(penalty.l1, _FIRST * highest)
        enough = _ENOUGH * (accuracy / _ACCURACY) ** 2 * tolerance * abs(state.objective)
        for c, row in enumerate(slopes):
            listed = native.working_set(row, run.coef[c], floor, problem.threads)
            run.loss = _class_step(
                problem, penalty, run, c, listed, row, margin, residual, curvature, scratch, run.loss, accuracy, enough,
                iteration,
            )  # fmt: skip


def _class_step(
    problem: Problem,
    penalty: Penalty,
    run: Solution,
    c: int,
    listed: Ids,
    slopes: Floats,
    margin: Floats,
    residual: Floats,
    curvature: Floats,
    scratch: Floats,
    loss: float,
    accuracy: float,
    enough: float,
    seed: int,
) -> float:
    """One Newton step for the weights of a class in its working set; returns the loss after it.

    Residuals and, of two classes, curvatures are those of the margins, before and after; scratch is 2 x rows.
    """
    threads = problem.threads
    if problem.margins > 1:
        share = np.abs(residual[c]) / np.where(problem.weights > 0, problem.weights, 1.0)
        curvature = np.maximum(problem.weights * share * (1 - share), 1e-12)
    weight = run.coef[c, listed]
    slope, bend = slopes[listed], np.empty(len(listed))
    if len(listed):
        stale = problem.margins > 1 and c > 0  # an earlier class has moved the residuals
        native.column_sums(problem.design, listed, residual[c], curvature, slope if stale else _NONE, bend, threads)
        if stale:
            slope += penalty.l2 * weight
    free = -float(residual[c].sum()) if problem.intercept else 0.0
    if not len(listed) and free == 0.0:
        return loss
    step, (change, begin) = np.empty(len(listed)), scratch
    _, shift = native.descend(
        problem.design, listed, weight, slope, bend, curvature, penalty.l1, penalty.l2, problem.intercept, free,
        _SWEEPS, accuracy, enough, seed, step, change, threads,
    )  # fmt: skip
    change /= curvature
    predicted = (
        base.dot(slope, step) + free * shift + penalty.l1 * float(np.abs(weight + step).sum() - np.abs(weight).sum())
    )
    before = loss + penalty.value(weight)
    size = 1.0
    begin[:] = margin[c]
    for _ in range(_TRIALS):
        np.multiply(change, size, out=margin[c])
        margin[c] += begin
        moved = weight + size * step
        after = problem.loss(margin, residual, curvature if problem.margins == 1 else None)
        if after + penalty.value(moved) - before <= _ARMIJO * size * predicted + _ROUNDING * abs(before):
            run.coef[c, listed] = moved
            run.intercept[c] += size * shift
            return after
        size /= 2
    margin[c] = begin
    return problem.loss(margin, residual, curvature if problem.margins == 1 else None)


def _dual(problem: Problem, penalty: Penalty, run: Solution, tolerance: float) -> bool:
    """Dual coordinate descent for two classes without intercept, as long as every pass closes the gap by a third.

    Returns whether the tolerance was reached; if not, the weights are a good beginning for Newton.
    """
    offsets, indices, values, threads = problem.offsets, problem.indices, problem.values, problem.threads
    weights, l2, rows, m = problem.weights, penalty.l2, problem.rows, problem.columns
    square, margin, residual = np.empty(rows), np.empty((1, rows)), np.empty((1, rows))
    problem.passes.squares(square, threads)
    implied, ones = np.full((1, rows), _CONFIDENT), np.ones(rows, np.int32)  # the dual variables stand for its labels
    dual, w = weights * special.expit(-_CONFIDENT), np.zeros(m)
    signed = np.where(problem.labels == 1, dual, -dual) / l2
    base.csr_transposed_vector(offsets, indices, values, m, signed, w, threads)
    before, gap, objective = math.inf, math.inf, 0.0
    for number in range(_PASSES):
        problem.passes.dual_pass(problem.labels, weights, square, l2, _CAUTION, number, dual, implied[0], w, threads)
        base.csr_vector(offsets, indices, values, m, w, margin[0], threads)
        run.trace.append(objective := problem.loss(margin) + penalty.value(w))
        entropy = native.binary_loss(implied[0], ones, weights, _NONE, _NONE, threads) + base.dot(implied[0], dual)
        gap = objective - (entropy - l2 / 2 * base.dot(w, w))
        if gap <= tolerance * objective or (number > 1 and gap > _SLOW * before):
            break
        before = gap
    run.coef[0] = w
    if gap > tolerance * objective:
        run.trace.clear()
        return False
    slope = np.empty(m)
    problem.loss(margin, residual)
    problem.passes.sums(residual[0], _NONE, slope, _NONE, threads)
    run.certificate = Certificate(
        objective,
        objective - gap,
        base.largest_magnitude(l2 * w - slope),
        base.largest_magnitude(slope),
        int(np.count_nonzero(w)),
    )
    run.reason = "gap"
    return True


def _binary_newton(
    problem: Problem, penalty: Penalty, run: Solution, tolerance: float, max_iter: int, watch: Watch | None
) -> None:
    """Newton steps for two classes with a line search."""
    threads, l2, m = problem.threads, penalty.l2, problem.columns
    size = m + int(problem.intercept)
    theta = np.concatenate([run.coef[0], run.intercept[:1]])[:size]
    margin, curvature = problem.margin(run.coef, run.intercept), np.empty(problem.rows)
    residual, begin, change = np.empty_like(margin), np.empty_like(margin), np.empty(problem.rows)
    gradient, diagonal, step = np.empty(size), np.empty(size), np.empty(size)
    slope, total = np.empty(m), float(problem.weights.sum())
    loss, square = problem.loss(margin, residual, curvature), np.empty(m)
    problem.passes.sums(_NONE, problem.weights, _NONE, square, threads)
    for iteration in range(max_iter + 1):
        weights = theta[:m]
        problem.passes.sums(residual[0], _NONE, slope, _NONE, threads)
        objective = loss + l2 / 2 * base.dot(weights, weights)
        run.trace.append(objective)
        np.multiply(weights, l2, out=gradient[:m])
        gradient[:m] -= slope
        about = base.dot(gradient[:m], gradient[:m]) / (2 * l2)  # the gap, but for the intercept
        if iteration == max_iter or watch is not None or about <= 2 * tolerance * objective:
            now = run.certificate = problem.certify(loss, margin, residual, -slope[None], weights[None], penalty)
            if watch is not None:
                watch(iteration, now)
            if now.relative_gap <= tolerance:
                run.reason = "gap"
                break
        if iteration == max_iter:
            break
        np.multiply(square, _DAMPED * curvature.sum() / total, out=diagonal[:m])
        diagonal[:m] += l2
        if problem.intercept:
            gradient[m], diagonal[m] = -residual[0].sum(), curvature.sum()
        _, downhill = problem.passes.newton_step(
            gradient, diagonal, curvature, l2, problem.intercept, _CG, _PRODUCTS, step, change, threads
        )
        begin[:] = margin
        across, along = base.dot(weights, step[:m]), base.dot(step[:m], step[:m])
        length = 1.0
        for _ in range(_TRIALS):
            np.multiply(change, length, out=margin[0])
            margin += begin
            loss = problem.loss(margin, residual, curvature)
            grown = loss - objective + l2 / 2 * (base.dot(weights, weights) + length * (2 * across + length * along))
            if grown <= _ARMIJO * length * downhill:
                theta += length * step
                break
            length /= 2
        else:
            margin[0] = begin
            loss = problem.loss(margin, residual, curvature)
            run.reason = "precision"
            run.certificate = problem.certify(loss, margin, residual, -slope[None], weights[None], penalty)
            break
    run.coef[0], run.intercept[:] = theta[:m], theta[m:] if problem.intercept else 0.0

"""Newton steps in a trust region for a logistic loss without an L1 penalty: several classes, or no penalty at all.

    solve H s = -g by conjugate gradients, scaled by l2 + m_c sum_i s_i x_ij^2, until |left| <= 0.3 |g| or |s| = radius
    H = X^T D X + l2 I,    D z_i = s_i p_i (z_i - p_i . z_i) by row,    m_c the mean of p_c (1 - p_c)

Vectors hold the weights of all classes for a column together, so that an entry of X is read once for all of them. Two
arrays of rows x classes are held, residuals and what is multiplied; probabilities come from the residuals, some
thousand rows at a time. Cost: a product with H reads X twice. Reference: Lin, Weng & Keerthi (2008).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from textmill._native import base
from textmill._native import linear as native
from textmill.arrays import Floats
from textmill.linear.problem import Certificate, Penalty, Problem

if TYPE_CHECKING:
    from textmill.linear.solvers import Solution, Watch

__all__ = ["minimize_in_region"]

_NONE = np.empty(0)
_ROWS = 8192  # of a block
_CG = 0.3  # residual of conjugate gradients, relative to the gradient
_PRODUCTS = 500  # of conjugate gradients for one step
_ROUNDING = 1e-15  # of the objective


def minimize_in_region(
    problem: Problem, penalty: Penalty, run: Solution, tolerance: float, max_iter: int, watch: Watch | None
) -> None:
    """Step until the gap, or without a penalty the gradient, is small enough; `run` is where that begins and ends."""
    hessian = _Hessian(problem, penalty)
    theta = hessian.as_vector(run.coef, run.intercept)
    loss = hessian.move_to(theta)
    first, radius = None, 0.0
    for iteration in range(max_iter + 1):
        gradient = hessian.gradient(theta)
        run.coef, run.intercept = hessian.parts(theta)
        objective = loss + hessian.ridge(theta)
        run.trace.append(objective)
        norm = math.sqrt(base.dot(gradient, gradient))
        first = norm if first is None else first
        if penalty.l2 == 0 and norm <= tolerance * first:
            run.reason = "gradient"
            return
        weights = gradient[: hessian.size]
        about = base.dot(weights, weights) / (2 * penalty.l2) if penalty.l2 > 0 else 0.0  # the gap, but for intercepts
        if iteration == max_iter or watch is not None or about <= tolerance * objective:
            now = run.certificate = hessian.certificate(loss, gradient, theta)
            if watch is not None:
                watch(iteration, now)
            if now.relative_gap <= tolerance:
                run.reason = "gap"
                return
            if iteration == max_iter:
                return
            loss = hessian.move_to(theta)
        hessian.scale()
        length = math.sqrt(base.dot(theta, theta))
        radius = radius or max(norm, length)  # what a good start is as long as, too
        while True:
            step, predicted, edge = hessian.solve(gradient, radius)
            theta += step
            after = hessian.move_to(theta)
            actual = after + hessian.ridge(theta) - objective
            stride = math.sqrt(base.dot(step, step))
            ratio = actual / predicted if predicted < 0 else -1.0
            if actual <= 1e-4 * predicted and predicted < 0:
                loss = after
                radius = max(radius, 2 * stride) if ratio > 0.75 and edge else radius if ratio > 0.25 else stride / 2
                break
            theta -= step
            loss = hessian.move_to(theta)
            if abs(predicted) <= _ROUNDING * abs(objective) or stride <= _ROUNDING * length:
                run.reason = "precision"
                run.coef, run.intercept = hessian.parts(theta)
                run.certificate = hessian.certificate(loss, gradient, theta)
                return
            radius = stride / 4


class _Hessian:
    """Products with the Hessian over all weights and free intercepts at a point, and its systems."""

    def __init__(self, problem: Problem, penalty: Penalty) -> None:
        self.problem, self.penalty = problem, penalty
        self.size = problem.margins * problem.columns
        self.residual, self.z = (np.empty((problem.rows, problem.margins)) for _ in range(2))
        self.heavy = np.where(problem.weights > 0, problem.weights, 1.0)
        self.square = np.empty(problem.columns)
        if problem.columns:
            problem.passes.sums(_NONE, problem.weights, _NONE, self.square, problem.threads)
        self.bend: Floats = _NONE  # sum_i s_i p_ic (1 - p_ic)

    def as_vector(self, coef: Floats, intercept: Floats) -> Floats:
        """Weights, margins x columns, and free intercepts as one vector."""
        return np.concatenate([coef.T.ravel(), intercept if self.problem.intercept else _NONE])

    def parts(self, theta: Floats) -> tuple[Floats, Floats]:
        """The weights, margins x columns, and the intercepts, of such a vector, which they share."""
        margins = self.problem.margins
        intercept = theta[self.size :] if self.problem.intercept else np.zeros(margins)
        return theta[: self.size].reshape(-1, margins).T, intercept

    def ridge(self, theta: Floats) -> float:
        """The penalty."""
        weights = theta[: self.size]
        return self.penalty.l2 / 2 * float(base.dot(weights, weights))

    def multiply(self, theta: Floats) -> None:
        """z, rows x margins, of such a vector."""
        p = self.problem
        weights = theta[: self.size].reshape(-1, p.margins)
        base.csr_dense(p.offsets, p.indices, p.values, p.columns, weights, self.z, p.threads)
        if p.intercept:
            self.z += theta[self.size :]

    def blocks(self) -> Iterator[slice]:
        """Some thousand rows at a time."""
        for begin in range(0, self.problem.rows, _ROWS):
            yield slice(begin, min(begin + _ROWS, self.problem.rows))

    def move_to(self, theta: Floats) -> float:
        """Residuals of a point; returns its loss."""
        p, loss = self.problem, 0.0
        self.multiply(theta)
        for block in self.blocks():
            margin = np.ascontiguousarray(self.z[block].T)
            residual = np.empty_like(margin)
            labels, weights = p.labels[block], p.weights[block]
            if p.margins == 1:
                loss += native.binary_loss(margin[0], labels, weights, residual[0], _NONE, 1)
            else:
                loss += native.softmax_loss(margin, labels, weights, residual, p.threads)
            self.residual[block] = residual.T
        return float(loss)

    def gradient(self, theta: Floats) -> Floats:
        """The gradient at the residuals."""
        out = np.empty_like(theta)
        self.transposed(self.residual, out)
        np.negative(out, out=out)
        out[: self.size] += self.penalty.l2 * theta[: self.size]
        return out

    def transposed(self, z: Floats, out: Floats) -> None:
        """X^T z, and the sums of z."""
        p = self.problem
        sums = out[: self.size].reshape(-1, p.margins)
        base.csr_transposed_dense(p.offsets, p.indices, p.values, p.columns, z, sums, p.threads)
        if p.intercept:
            z.sum(axis=0, out=out[self.size :])

    def share(self, block: slice) -> Floats:
        """The distributions of some rows; of two classes p (1 - p)."""
        share: Floats = np.abs(self.residual[block]) / self.heavy[block, None]
        if self.problem.margins == 1:
            share *= 1 - share
            return share
        at = np.arange(len(share)), self.problem.labels[block]
        share[at] = 1 - share[at]
        return share

    def scale(self) -> None:
        """Take the mean curvature of every class."""
        self.bend = np.zeros(self.problem.margins)
        for block in self.blocks():
            share = self.share(block)
            curves = share if self.problem.margins == 1 else share * (1 - share)
            self.bend += self.problem.weights[block] @ curves

    def product(self, v: Floats, out: Floats) -> None:
        """H v."""
        p = self.problem
        self.multiply(v)
        for block in self.blocks():
            z, share = self.z[block], self.share(block)
            if p.margins > 1:
                z -= np.einsum("ic,ic->i", share, z)[:, None]
            z *= share
            z *= p.weights[block, None]
        self.transposed(self.z, out)
        out[: self.size] += self.penalty.l2 * v[: self.size]

    def precondition(self, v: Floats, out: Floats) -> None:
        """Divide by about the diagonal of H, part by part."""
        margins, total = self.problem.margins, max(float(self.problem.weights.sum()), 1e-300)
        rows, into = v[: self.size].reshape(-1, margins), out[: self.size].reshape(-1, margins)
        for begin in range(0, len(rows), _ROWS):
            part = slice(begin, begin + _ROWS)
            diagonal = self.square[part, None] * (self.bend / total) + self.penalty.l2
            np.divide(rows[part], np.maximum(diagonal, 1e-12), out=into[part])
        if self.problem.intercept:
            np.divide(v[self.size :], np.maximum(self.bend, 1e-12), out=out[self.size :])

    def solve(self, gradient: Floats, radius: float) -> tuple[Floats, float, bool]:
        """Conjugate gradients; returns s, g . s + s . H s / 2, and whether s lies on the edge of the region."""
        s, left = np.zeros_like(gradient), -gradient
        direction, scaled = np.empty_like(s), np.empty_like(s)
        self.precondition(left, direction)
        square = base.dot(left, direction)
        aim = _CG * _CG * square
        edge = False
        for _ in range(max(5, min(len(gradient), _PRODUCTS))):
            if square <= aim:
                break
            self.product(direction, scaled)
            bend = base.dot(direction, scaled)
            if bend <= 0.0:
                break
            size = square / bend
            a, b, c = base.dot(direction, direction), base.dot(s, direction), base.dot(s, s)
            edge = c + 2 * size * b + size * size * a > radius * radius
            if edge:
                size = (math.sqrt(max(b * b - a * (c - radius * radius), 0.0)) - b) / a
            scaled *= size
            left -= scaled
            np.multiply(direction, size, out=scaled)
            s += scaled
            if edge:
                break
            self.precondition(left, scaled)
            after = base.dot(left, scaled)
            direction *= after / square
            direction += scaled
            square = after
        return s, 0.5 * (base.dot(gradient, s) - base.dot(left, s)), edge  # H s = -g - left

    def certificate(self, loss: float, gradient: Floats, theta: Floats) -> Certificate:
        """How far the point may be from the minimum; the residuals are used up, and `move_to` makes them again."""
        coef, _ = self.parts(theta)
        coef = np.ascontiguousarray(coef)
        slopes = np.ascontiguousarray(self.parts(gradient)[0]) - self.penalty.l2 * coef
        residual = np.ascontiguousarray(self.residual.T)
        self.residual = _NONE  # room for what follows
        margin = np.empty((0, 0))
        if self.problem.intercept:
            self.multiply(theta)
            margin = np.ascontiguousarray(self.z.T)
            self.z = _NONE
        now = self.problem.certify(loss, margin, residual, slopes, coef, self.penalty, own=True)
        del margin, residual
        self.residual, self.z = (np.empty((self.problem.rows, self.problem.margins)) for _ in range(2))
        return now

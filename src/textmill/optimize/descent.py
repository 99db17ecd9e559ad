"""The loop that every method of this package shares: move, record, learn, ask whether to stop.

    start:  evaluate theta_0
    repeat: theta_{t+1} = a better point than theta_t (the method's work); record it; the method learns from the move
    until a stopping rule holds, the callback says so, no better point is found, or Ctrl-C

`Point` holds the vectors theta and gradient, in place for the whole run, and the way back to the last whole iterate.
A record in its list is what makes an iterate whole: an interrupt at any moment finds either the old one complete or
the new one. Vectors of the size of theta: these two, those the method keeps, and the gradient the objective returns;
an objective that has a method `into(theta, gradient)`, which fills the gradient and returns the value, spares the last.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from textmill._native import base as native
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.optimize.convergence import ConvergenceReport, Iteration, Reason, Solution, Stopping
from textmill.optimize.linesearch import LineStep
from textmill.optimize.penalty import penalty_vector
from textmill.optimize.vector import blocks, dot

__all__ = ["Callback", "Line", "Method", "Objective", "Point", "descend"]

Objective = Callable[[Floats], tuple[float, Floats]]
Callback = Callable[[Iteration], bool | None]


class Point:
    """Where a run stands: theta, the value and gradient there, and the last whole iterate to go back to.

    >>> point = Point(lambda theta: (float(theta @ theta), 2 * theta), [1.0, 2.0])
    >>> point.value, point.gradient.tolist()
    (5.0, [2.0, 4.0])
    """

    def __init__(self, objective: Objective, start: ArrayLike, l1: ArrayLike = 0.0) -> None:
        self.theta = _start_vector(start)
        self.gradient = np.empty_like(self.theta)
        self.value = math.nan
        self.l1 = penalty_vector(l1, len(self.theta))
        self.penalty = np.atleast_1d(np.ascontiguousarray(l1, dtype=np.float64))  # the same; a number stays one entry
        self.evaluations = 0
        self.records: list[Iteration] = []
        self.began = perf_counter()
        self._objective = objective
        self._penalized = bool(np.any(l1))
        self._view = self.theta.view()
        self._view.flags.writeable = False
        self._saved: tuple[Floats, Floats, float, int] | None = None
        if not self.evaluate():
            raise DataError("value or gradient is not finite at the start; begin inside the domain", source="objective")

    def evaluate(self) -> bool:
        """Ask the objective at theta; False (and an infinite value) when the answer, or theta itself, is not finite."""
        self.value = math.inf
        with np.errstate(over="ignore", invalid="ignore"):
            if not math.isfinite(dot(self.theta, self.theta)):
                return False
        self.evaluations += 1
        into = getattr(self._objective, "into", None)
        answer = self._objective(self._view) if into is None else (into(self._view, self.gradient), self.gradient)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise DataError(f"returned {type(answer).__name__}; return the tuple (value, gradient)", source="objective")
        value, gradient = answer
        if not isinstance(value, Real):
            raise DataError(f"value is of type {type(value).__name__}; return a float", source="objective")
        if not isinstance(gradient, np.ndarray) or gradient.dtype != np.float64:
            kind = gradient.dtype if isinstance(gradient, np.ndarray) else type(gradient).__name__
            raise DataError(f"gradient is of type {kind}; return a float64 array", source="objective")
        if gradient.shape != self.theta.shape:
            message = f"gradient has shape {gradient.shape}, theta {self.theta.shape}; return one slope a coordinate"
            raise DataError(message, source="objective")
        if gradient is not self.gradient:
            np.copyto(self.gradient, gradient)
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(value) + self._penalty()
            if not (math.isfinite(total) and math.isfinite(dot(self.gradient, self.gradient))):
                return False
        self.value = total
        return True

    def pseudo_gradient(self, out: Floats) -> Floats:
        """Fill `out` with the pseudo-gradient at theta."""
        native.pseudo_gradient(self.theta, self.gradient, self.penalty, out)
        return out

    def save(self, theta: Floats, gradient: Floats) -> None:
        """Copy the whole iterate into the caller's arrays; `restore` takes it back from there."""
        np.copyto(theta, self.theta)
        np.copyto(gradient, self.gradient)
        self._saved = (theta, gradient, self.value, len(self.records))

    def restore(self) -> None:
        """Return to the saved iterate, unless the one after it has been recorded."""
        if self._saved is not None and self._saved[3] == len(self.records):
            theta, gradient, self.value, _ = self._saved
            np.copyto(self.theta, theta)
            np.copyto(self.gradient, gradient)

    def record(self, step: float, residual: Floats) -> Iteration:
        """Make the current point a whole iterate."""
        done = Iteration(
            number=len(self.records),
            value=self.value,
            gradient_norm=math.sqrt(dot(residual, residual)),
            violation=native.largest_magnitude(residual),
            theta_norm=math.sqrt(dot(self.theta, self.theta)),
            active=int(np.count_nonzero(self.theta)),
            step=step,
            evaluations=self.evaluations,
            seconds=perf_counter() - self.began,
            theta=self._view,
        )
        self.records.append(done)
        return done

    def _penalty(self) -> float:
        return native.weighted_norm(self.theta, self.penalty) if self._penalized else 0.0


class Line:
    """The objective on theta + a d, for the line searches; trying a step moves the point there.

    >>> point = Point(lambda theta: (float(theta @ theta), 2 * theta), [1.0, 2.0])
    >>> line = Line(point, point.theta.copy(), np.array([-1.0, -2.0]))
    >>> line(0.5), point.theta.tolist()
    ((1.25, -5.0), [0.5, 1.0])
    """

    def __init__(self, point: Point, origin: Floats, direction: Floats) -> None:
        self.point, self.origin, self.direction = point, origin, direction
        self.size = 0.0

    def __call__(self, size: float) -> tuple[float, float]:
        """Value and slope at a = size."""
        theta = self.point.theta
        self.size = size
        with np.errstate(over="ignore", invalid="ignore"):
            np.multiply(self.direction, size, out=theta)
            np.add(theta, self.origin, out=theta)
        if not self.point.evaluate():
            return math.inf, math.nan
        return self.point.value, dot(self.point.gradient, self.direction)

    def settle(self, step: LineStep) -> bool:
        """Leave the point at the step that was chosen; False when there is none, and the point is where it began."""
        if step.size == 0:
            self.point.restore()
        elif step.size != self.size:  # gradients of earlier trials are not kept: evaluating again is rare, memory dear
            self(step.size)
        return step.size > 0


class Method(Protocol):
    """What a method of minimization does in the loop."""

    name: str

    def residual(self) -> Floats:
        """The gradient, or pseudo-gradient, at the current point: zero at an optimum. Called before every `advance`."""

    def advance(self) -> float | None:
        """Save the point, move it to a better one and return the step; None when there is none to be found."""

    def learn(self) -> None:
        """Draw conclusions from the move just recorded."""


def descend(point: Point, method: Method, stopping: Stopping, callback: Callback | None) -> Solution:
    """Run a method from a point until a rule stops it."""
    values = [point.value]
    reason = stopping.reason(values, point.record(0.0, method.residual()))
    try:
        while reason is None:
            step = method.advance()
            if step is None:
                reason = "line_search"
                break
            if not math.isfinite(point.value):  # a method that does not look at what it was told
                point.restore()
                reason = "diverged"
                break
            done = point.record(step, method.residual())
            method.learn()
            values.append(done.value)
            asked = callback is not None and callback(done)
            reason = stopping.reason(values, done)
            if asked and reason in (None, "iterations"):  # who runs the rounds must see that the last was to end it all
                reason = "stopped"
    except KeyboardInterrupt:
        point.restore()
        reason = "interrupted"
    return Solution(point.theta, point.value, point.gradient, _report(point, method.name, reason))


def _report(point: Point, method: str, reason: Reason) -> ConvergenceReport:
    records = point.records
    return ConvergenceReport(
        method=method,
        reason=reason,
        evaluations=point.evaluations,
        wall_time=perf_counter() - point.began,
        size=len(point.theta),
        values=tuple(done.value for done in records),
        gradient_norms=tuple(done.gradient_norm for done in records),
        violations=tuple(done.violation for done in records),
        active=tuple(done.active for done in records),
        seconds=tuple(done.seconds for done in records),
        steps=tuple(done.step for done in records[1:]),
    )


def _start_vector(start: ArrayLike) -> Floats:
    try:
        if np.iscomplexobj(start):  # the conversion would only warn
            raise TypeError
        theta = np.array(start, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise DataError("is no vector of real numbers; pass a one-dimensional array", source="start") from None
    if theta.ndim != 1:
        raise DataError(f"has {theta.ndim} dimensions; pass a one-dimensional array", source="start")
    for part in blocks(len(theta)):
        bad = np.flatnonzero(~np.isfinite(theta[part]))
        if len(bad):
            where = part.start + int(bad[0])
            raise DataError(f"entry {where} is {theta[where]}; pass finite numbers", source="start")
    return theta

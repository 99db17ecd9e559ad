"""L-BFGS: quasi-Newton minimization of a smooth function from the last few moves.

    d = -H g,   H from the newest m pairs  s = theta_{t+1} - theta_t,  y = g_{t+1} - g_t  by the two-loop recursion:
        for newest to oldest:  a_i = s_i.q / s_i.y_i;   q <- q - a_i y_i
        q <- (s.y / y.(y / D)) q / D                                                   with the newest pair
        for oldest to newest:  b = y_i.q / s_i.y_i;     q <- q + (a_i - b) s_i
    theta_{t+1} = theta_t + a d,   a by a strong Wolfe line search, so that s.y > 0

D is a guess at the diagonal of the Hessian, up to a common factor; 1 without one. Where the scales of coordinates
differ by orders of magnitude a rough guess saves most of the iterations, and a damped one (its square root) is safer
than an exact one, which is exact at one point only.

A pair with s.y <= 1e-12 |s| |y| is skipped: it would break the positive definiteness of H. With m of at least the
number of iterations this is BFGS (small problems only). A coordinate is frozen by an objective that always returns 0
as its slope. Cost: 4 m n multiplications an iteration beside the objective; 2 m + 5 vectors of length n, and the
objective's own gradient. Reference: Nocedal (1980); Liu & Nocedal (1989); Nocedal & Wright (2006), algorithm 7.4.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from textmill._native import base as native
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.optimize.convergence import Solution, Stopping
from textmill.optimize.descent import Callback, Line, Objective, Point, descend
from textmill.optimize.linesearch import strong_wolfe
from textmill.optimize.vector import add_scaled, add_scaled_dot, dot

__all__ = ["History", "fitting_history", "minimize_lbfgs"]

CURVATURE = 1e-12  # least cosine between s and y for a pair to be kept


class History:
    """The last `memory` pairs (s, y), and the product with the inverse Hessian they stand for.

    Memory is taken once, for one pair more than are kept: the spare holds the old point while a new one is sought.
    A run that is given a history goes on with it, so `pairs` and `add` are enough to save and restore a run.
    `diagonal` is D of the module, one number > 0 per coordinate.

    >>> history = History(2, memory=3)
    >>> history.add(np.array([1.0, 0.0]), np.array([4.0, 0.0])), history.add(np.array([0.0, 1.0]), np.zeros(2))
    (True, False)
    >>> q = np.array([8.0, 4.0])
    >>> history.apply(q)
    >>> q.tolist()
    [2.0, 1.0]
    """

    def __init__(self, size: int, *, memory: int, diagonal: Floats | None = None) -> None:
        if memory < 1:
            raise DataError(f"memory={memory!r} keeps no pair; pass at least 1")
        self.diagonal = None if diagonal is None else _positive(diagonal, size)
        self.memory = memory
        self.size = size
        self._s = np.empty((memory + 1, size))
        self._y = np.empty((memory + 1, size))
        self._curvature = [0.0] * (memory + 1)  # s.y of each row
        self._scale = 1.0  # s.y / y.(y / D) of the newest pair
        self._count = 0
        self._spare = 0  # row that holds no pair

    def __len__(self) -> int:
        return self._count

    def spare(self) -> tuple[Floats, Floats]:
        """Two vectors, for the theta and the gradient that a move begins with."""
        return self._s[self._spare], self._y[self._spare]

    def close(self, theta: Floats, gradient: Floats) -> bool:
        """Turn the spare vectors into the pair of the move that ended here; False when it was skipped."""
        s, y = self.spare()
        np.subtract(theta, s, out=s)
        np.subtract(gradient, y, out=y)
        return self._keep()

    def add(self, s: Floats, y: Floats) -> bool:
        """Add a pair; False when it was skipped because its curvature is too small."""
        for spare, new in zip(self.spare(), (s, y), strict=True):
            np.copyto(spare, new)
        return self._keep()

    def pairs(self) -> tuple[Floats, Floats]:
        """Copies of all s and all y, one per row, oldest first."""
        rows = self._rows()
        return self._s[rows], self._y[rows]

    def clear(self) -> None:
        """Forget all pairs."""
        self._count = 0

    def apply(self, q: Floats) -> None:
        """Replace q by H q (two-loop recursion); by q / D when there are no pairs."""
        rows = self._rows()
        if not rows:
            if self.diagonal is not None:
                np.divide(q, self.diagonal, out=q)
            return
        s, y, curvature = self._s, self._y, self._curvature
        oldest, newest = rows[0], rows[-1]
        a: dict[int, float] = {}
        with np.errstate(over="ignore", invalid="ignore"):  # the caller looks at the slope before using q
            product = dot(s[newest], q)
            for row, older in pairwise(reversed(rows)):
                a[row] = product / curvature[row]
                product = add_scaled_dot(q, -a[row], y[row], s[older])
            a[oldest] = product / curvature[oldest]
            add_scaled(q, -a[oldest], y[oldest])
            np.multiply(q, self._scale, out=q)
            if self.diagonal is not None:
                np.divide(q, self.diagonal, out=q)
            product = dot(y[oldest], q)
            for row, newer in pairwise(rows):
                product = add_scaled_dot(q, a[row] - product / curvature[row], s[row], y[newer])
            add_scaled(q, a[newest] - product / curvature[newest], s[newest])

    def _keep(self) -> bool:
        s, y = self.spare()
        product, length = dot(s, y), dot(y, y)
        scaled = length if self.diagonal is None else native.divided_square(y, self.diagonal)
        scale = product / scaled if scaled > 0 else math.inf
        if not (CURVATURE * math.sqrt(dot(s, s)) * math.sqrt(length) < product and scale < math.inf):
            return False
        self._curvature[self._spare] = product
        self._scale = scale
        self._spare = (self._spare + 1) % (self.memory + 1)
        self._count = min(self._count + 1, self.memory)
        return True

    def _rows(self) -> list[int]:
        """Rows that hold pairs, oldest first."""
        return [(self._spare - age) % (self.memory + 1) for age in range(self._count, 0, -1)]


def _positive(diagonal: Floats, size: int) -> Floats:
    diagonal = np.ascontiguousarray(diagonal, dtype=np.float64)
    if diagonal.shape != (size,):
        raise DataError(f"has shape {diagonal.shape}; pass a vector of {size} entries", source="diagonal")
    if not ((diagonal > 0) & (diagonal < math.inf)).all():
        raise DataError("has entries that are not positive or not finite; pass curvatures > 0", source="diagonal")
    return diagonal


def fitting_history(history: History | None, point: Point, memory: int, diagonal: Floats | None) -> History:
    """The caller's history, checked, or a new one."""
    if history is None:
        return History(len(point.theta), memory=memory, diagonal=diagonal)
    if diagonal is not None:
        raise DataError(
            "stands beside a history; give it to the history: History(..., diagonal=...)", source="diagonal"
        )
    if history.size != len(point.theta):
        raise DataError(f"is for {history.size} coordinates but theta has {len(point.theta)}", source="history")
    return history


def minimize_lbfgs(
    objective: Objective,
    start: ArrayLike,
    *,
    memory: int = 10,
    stopping: Stopping | None = None,
    callback: Callback | None = None,
    trials: int = 40,
    history: History | None = None,
    diagonal: Floats | None = None,
) -> Solution:
    """Minimize a smooth function; `objective(theta)` returns its value and its gradient (float64).

    `memory` is the number of pairs, `trials` the limit of evaluations in one line search. `callback` sees every
    iteration and stops the run by returning True. A `history` is used and filled (then `memory` does not count):
    starting again at the last theta with the pairs of that moment continues a run exactly. `diagonal` is a guess at
    the second derivatives, D of the module: one number > 0 per coordinate, right up to a common factor. The theta
    handed to the objective is read-only and reused. Ctrl-C returns the last whole iterate (see `Solution`); before the
    start has been evaluated it is raised as usual.

    >>> solution = minimize_lbfgs(lambda t: (float(((t - 3) ** 2).sum()), 2 * (t - 3)), [0.0, 10.0])
    >>> solution.theta.round(6).tolist(), solution.report.reason
    ([3.0, 3.0], 'gradient')
    """
    point = Point(objective, start)
    method = _LBFGS(point, fitting_history(history, point, memory, diagonal), trials)
    return descend(point, method, stopping or Stopping(), callback)


class _LBFGS:
    name = "lbfgs"

    def __init__(self, point: Point, history: History, trials: int) -> None:
        self.point, self.history, self.trials = point, history, trials
        self.direction = np.empty_like(point.theta)

    def residual(self) -> Floats:
        return self.point.gradient

    def advance(self) -> float | None:
        point, history, direction = self.point, self.history, self.direction
        origin, gradient = history.spare()
        point.save(origin, gradient)
        while True:
            np.negative(gradient, out=direction)
            history.apply(direction)
            slope = dot(gradient, direction)
            if -math.inf < slope < 0:
                first = 1.0 if len(history) else min(1.0, 1 / math.sqrt(-slope))
                line = Line(point, origin, direction)
                step = strong_wolfe(line, point.value, slope, step=first, trials=self.trials)
                if line.settle(step):
                    return step.size
            if not len(history):
                return None
            history.clear()  # the pairs mislead: once more along the gradient

    def learn(self) -> None:
        self.history.close(self.point.theta, self.point.gradient)

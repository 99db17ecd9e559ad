"""Nonlinear conjugate gradient: little memory, a smooth function.

    d_0 = -g_0;   theta_{t+1} = theta_t + a d_t,  a by a strong Wolfe line search with c2 = 0.1
    d_{t+1} = -g_{t+1} + beta d_t
    beta = g_{t+1}.g_{t+1} / g_t.g_t                          Fletcher & Reeves (1964)
    beta = max(0, g_{t+1}.(g_{t+1} - g_t) / g_t.g_t)          Polak & Ribiere (1969), with Powell's restart

Starts again at -g after n iterations, when successive gradients are far from orthogonal (|g_{t+1}.g_t| >= 0.2
g_{t+1}.g_{t+1}, Powell 1977; this keeps Fletcher-Reeves from stalling), when d is no descent and when the line search
failed its conditions. Cost: 3 dot products an iteration beside the objective; 5 vectors of length n, and the
objective's own gradient. Reference: Nocedal & Wright, Numerical Optimization (2006), algorithm 5.4.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.optimize.convergence import Solution, Stopping
from textmill.optimize.descent import Callback, Line, Objective, Point, descend
from textmill.optimize.linesearch import strong_wolfe
from textmill.optimize.vector import dot

__all__ = ["minimize_cg"]

ORTHOGONAL = 0.2  # share of the gradient along the last one from which the directions start again


def minimize_cg(
    objective: Objective,
    start: ArrayLike,
    *,
    beta: Literal["fletcher-reeves", "polak-ribiere"] = "fletcher-reeves",
    stopping: Stopping | None = None,
    callback: Callback | None = None,
    trials: int = 40,
) -> Solution:
    """Minimise a smooth function by conjugate directions; the parameters are those of `minimize_lbfgs`.

    >>> solution = minimize_cg(lambda t: (float(((t - 3) ** 2).sum()), 2 * (t - 3)), [0.0, 10.0], beta="polak-ribiere")
    >>> solution.theta.round(6).tolist(), solution.report.reason
    ([3.0, 3.0], 'gradient')
    """
    if beta not in ("fletcher-reeves", "polak-ribiere"):
        raise DataError(f"beta={beta!r} is unknown; pass 'fletcher-reeves' or 'polak-ribiere'")
    point = Point(objective, start)
    return descend(point, _ConjugateGradient(point, beta, trials), stopping or Stopping(), callback)


class _ConjugateGradient:
    def __init__(self, point: Point, beta: str, trials: int) -> None:
        self.name = f"cg-{beta}"
        self.point, self.beta, self.trials = point, beta, trials
        self.old_theta, self.old_gradient = np.empty_like(point.theta), np.empty_like(point.theta)
        self.direction = np.empty_like(point.theta)
        self.slope = 0.0  # g.d
        self.square = dot(point.gradient, point.gradient)  # g.g
        self.turns = 0  # directions since the last start along the gradient
        self.size, self.satisfied = 0.0, True  # of the last step
        self.next_size = self._cautious_size()
        self._restart()

    def residual(self) -> Floats:
        return self.point.gradient

    def advance(self) -> float | None:
        point = self.point
        point.save(self.old_theta, self.old_gradient)
        while True:
            if -math.inf < self.slope < 0:
                line = Line(point, self.old_theta, self.direction)
                step = strong_wolfe(line, point.value, self.slope, step=self.next_size, c2=0.1, trials=self.trials)
                if line.settle(step):
                    self.size, self.satisfied = step.size, step.satisfied
                    return step.size
            if self.turns == 0:
                return None
            self._restart()
            self.next_size = self._cautious_size()

    def learn(self) -> None:
        gradient, before = self.point.gradient, self.square
        self.square = dot(gradient, gradient)
        overlap = dot(gradient, self.old_gradient)
        self.turns += 1
        steep, size = self.slope, self.size
        if self.turns >= len(gradient) or abs(overlap) >= ORTHOGONAL * self.square or not self.satisfied:
            self._restart()
        else:
            if self.beta == "fletcher-reeves":
                beta = self.square / before
            else:
                beta = max(0.0, (self.square - overlap) / before)
            np.multiply(self.direction, beta, out=self.direction)
            np.subtract(self.direction, gradient, out=self.direction)
            self.slope = dot(gradient, self.direction)
            if not self.slope < 0:
                self._restart()
        if self.slope < 0:  # the same first-order change as last time
            size *= steep / self.slope
        self.next_size = size if 0 < size < math.inf else self._cautious_size()

    def _restart(self) -> None:
        np.negative(self.point.gradient, out=self.direction)
        self.slope = -self.square
        self.turns = 0

    def _cautious_size(self) -> float:
        """At most 1, and along the gradient at most a move of length 1."""
        return 1 / math.sqrt(max(1.0, self.square))

"""RPROP: every coordinate has its own step, and only the sign of the gradient counts.

With g the gradient, or the pseudo-gradient under an L1 penalty, for each coordinate i:

    e_i <- min(1.2 e_i, longest)  where g_i has kept its sign;   e_i <- max(0.5 e_i, shortest)  where it has changed it
    "-":  theta_i <- theta_i - sign(g_i) e_i
    "+":  the same, but where the sign has changed the last move is taken back and the next sign is not compared

Under an L1 penalty an entry that would change its sign becomes 0. Values need not fall in every iteration; the last
iterate is returned. Where the objective is not finite all steps are halved and tried again. Cost: one evaluation an
iteration; 6 vectors of length n ("+" 7), and the objective's own gradient.
References: Riedmiller & Braun (1993); Igel & Huesken (2000) for "+" and "-".
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.optimize.convergence import Solution, Stopping
from textmill.optimize.descent import Callback, Objective, Point, descend
from textmill.optimize.vector import blocks

__all__ = ["minimize_rprop"]

GROW, SHRINK = 1.2, 0.5


def minimize_rprop(
    objective: Objective,
    start: ArrayLike,
    *,
    variant: Literal["+", "-"] = "+",
    l1: ArrayLike = 0.0,
    first: float = 0.1,
    shortest: float = 1e-8,
    longest: float = 50.0,
    stopping: Stopping | None = None,
    callback: Callback | None = None,
    trials: int = 40,
) -> Solution:
    """Minimise objective + sum l1 |theta| with sign-based steps; `l1` and what it changes are as in `minimize_owlqn`.

    `first` is the initial step of every coordinate, `shortest` and `longest` its bounds, `trials` how often the steps
    are halved where the objective is not finite. The other parameters are those of `minimize_lbfgs`.

    >>> solution = minimize_rprop(lambda t: (float(((t - 3) ** 2).sum()) / 2, t - 3), [0.0, 10.0], l1=[1.0, 5.0])
    >>> solution.theta.round(4).tolist()
    [2.0, 0.0]
    """
    if variant not in ("+", "-"):
        raise DataError(f"variant={variant!r} is unknown; pass '+' or '-'")
    if not 0 < shortest <= first <= longest:
        raise DataError(f"rprop needs 0 < shortest <= first <= longest, got {shortest=}, {first=}, {longest=}")
    point = Point(objective, start, l1=l1)
    method = _RPROP(point, variant, first, shortest, longest, trials)
    return descend(point, method, stopping or Stopping(), callback)


class _RPROP:
    def __init__(self, point: Point, variant: str, first: float, shortest: float, longest: float, trials: int) -> None:
        self.name = f"rprop{variant}"
        self.point, self.shortest, self.longest, self.trials = point, shortest, longest, trials
        self.old_theta, self.old_gradient = np.empty_like(point.theta), np.empty_like(point.theta)
        self.pseudo = np.empty_like(point.theta)
        self.steps = np.full_like(point.theta, first)
        self.sign = np.zeros(len(point.theta), dtype=np.int8)  # of the last gradient, 0 where it is not compared
        self.last_move = np.zeros_like(point.theta) if variant == "+" else None

    def residual(self) -> Floats:
        return self.point.pseudo_gradient(out=self.pseudo)

    def advance(self) -> float | None:
        point, old = self.point, self.old_theta
        point.save(old, self.old_gradient)
        for part in blocks(len(old)):
            self._move(part)
        scale = 1.0
        for _ in range(self.trials):
            if point.evaluate():
                if self.last_move is not None:
                    np.subtract(point.theta, old, out=self.last_move)
                return scale
            scale *= SHRINK
            np.multiply(self.steps, SHRINK, out=self.steps)
            for part in blocks(len(old)):
                point.theta[part] = old[part] + SHRINK * (point.theta[part] - old[part])
        point.restore()
        return None

    def learn(self) -> None:
        """Nothing is learned from a move before the gradient after it has been compared, in the next one."""

    def _move(self, part: slice) -> None:
        """Adapt the steps of a block to the signs and move it."""
        old, step, weight = self.old_theta[part], self.steps[part], self.point.l1[part]
        sign = np.sign(self.pseudo[part]).astype(np.int8)
        same_sign = sign * self.sign[part]
        np.multiply(step, np.where(same_sign > 0, GROW, np.where(same_sign < 0, SHRINK, 1.0)), out=step)
        np.clip(step, self.shortest, self.longest, out=step)
        new = old - sign * step
        if self.last_move is not None:
            new = np.where(same_sign < 0, old - self.last_move[part], new)
            sign[same_sign < 0] = 0
        new[(new * old < 0) & (weight > 0)] = 0.0
        self.point.theta[part] = new
        self.sign[part] = sign

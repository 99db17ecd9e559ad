"""When a minimization stops, and what it says about itself.

A run over iterates theta_0, theta_1, ... with values f_t and (pseudo-)gradients g_t ends with one of these reasons:

    gradient      ||g_t|| / max(1, ||theta_t||) <= gradient_tolerance,  or  max_i |g_ti| <= violation_tolerance
    value         high - low <= tolerance * max(|high|, |low|), the highest and lowest of f_{t-window} ... f_t
    unbounded     ||theta_t|| >= max_norm: the infimum lies at infinity (separable data), which is no failure
    iterations    t = max_iter
    line_search   no better point could be found; near the optimum the sign that rounding is all that is left
    diverged      the value is no finite number; the last whole iterate where it was is returned
    stopped       the callback returned True
    interrupted   Ctrl-C; the last whole iterate is returned

With an L1 penalty g is the pseudo-gradient, and `violation_tolerance` bounds the violation of the optimality
conditions. Each rule has its own tolerance, since they have different units. `Plateau` is the rule for early stopping,
by figures on held-out data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from textmill.arrays import Floats
from textmill.errors import DataError

__all__ = ["REASONS", "ConvergenceReport", "Iteration", "Plateau", "Reason", "Solution", "Stopping"]

Reason = Literal["gradient", "value", "unbounded", "iterations", "line_search", "diverged", "stopped", "interrupted"]

REASONS: dict[Reason, str] = {  # in words, for fitted models and commands
    "gradient": "converged: the gradient is small",
    "value": "converged: the objective no longer changes",
    "unbounded": "the objective has no minimum",
    "iterations": "iteration limit",
    "line_search": "no better point found",
    "diverged": "diverged: the objective is not finite",
    "stopped": "early stopping: the error on held-out data no longer changes",
    "interrupted": "interrupted",
}


@dataclass(frozen=True, slots=True)
class Iteration:
    """One finished iteration, as the callback sees it.

    `gradient_norm` and `violation` are the 2-norm and the largest entry of the (pseudo-)gradient, `active` counts
    non-zero entries of theta, `step` is the length factor the line search chose. `theta` is a read-only view of the
    iterate and changes with the next one: copy it to keep it.
    """

    number: int
    value: float
    gradient_norm: float
    violation: float
    theta_norm: float
    active: int
    step: float
    evaluations: int
    seconds: float
    theta: Floats = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Stopping:
    """The rules that end a run; each tolerance is one of the letters in this module's table, 0 demands equality.

    >>> Stopping(tolerance=1e-3, window=2).settled([8.0, 4.0, 3.999, 3.998])
    True
    """

    gradient_tolerance: float = 1e-5
    violation_tolerance: float = 0.0
    tolerance: float = 1e-9
    window: int = 10
    max_iter: int = 1000
    max_norm: float = math.inf

    def __post_init__(self) -> None:
        for name in ("gradient_tolerance", "violation_tolerance", "tolerance"):
            if not getattr(self, name) >= 0:
                raise DataError(f"stopping rule {name}={getattr(self, name)!r} is no tolerance; pass a number >= 0")
        if self.window < 1:
            raise DataError(f"stopping rule window={self.window!r} is too short; pass at least 1 iteration")
        if self.max_iter < 0:
            raise DataError(f"stopping rule max_iter={self.max_iter!r} is negative; pass 0 or more")
        if not self.max_norm > 0:
            raise DataError(f"stopping rule max_norm={self.max_norm!r} stops every run; pass a number > 0")

    def settled(self, values: Sequence[float]) -> bool:
        """The value has hardly changed over the window, rising or falling; also for solvers that know no gradient."""
        if len(values) <= self.window:
            return False
        recent = values[-1 - self.window :]
        if not all(map(math.isfinite, recent)):
            return False
        low, high = min(recent), max(recent)
        return high - low <= self.tolerance * max(abs(low), abs(high))

    def reason(self, values: Sequence[float], now: Iteration) -> Reason | None:
        """Why the run ends at this iterate; None when it goes on. `values` holds one value an iterate, from the start.

        >>> import numpy as np
        >>> start = Iteration(0, 3.5, 1e-7, 1e-7, 2.0, 2, 0.0, 1, 0.0, np.ones(2))
        >>> Stopping().reason([3.5], start)
        'gradient'
        """
        if not math.isfinite(now.value):
            return "diverged"
        small = now.gradient_norm <= self.gradient_tolerance * max(1.0, now.theta_norm)
        if small or now.violation <= self.violation_tolerance:
            return "gradient"
        if self.settled(values):
            return "value"
        if now.theta_norm >= self.max_norm:
            return "unbounded"
        return "iterations" if now.number >= self.max_iter else None


@dataclass(frozen=True, slots=True)
class Plateau:
    """Early stopping on held-out data: stop when the last `window` figures differ by less than `tolerance`.

    The figure may be anything that levels off, an error rate in percent (0.02 points over 5 iterations is usual) or a
    perplexity; with `relative` the tolerance is a share of the lowest of them. For a figure that should be `falling`,
    stop when each of the last `window` - 1 is lower than all before it by no more than the tolerance, or rises.

    >>> rule = Plateau(window=3, tolerance=0.02)
    >>> rule.settled([9.0, 8.5, 8.42, 8.41]), rule.settled([9.0, 8.5, 8.42, 8.41, 8.415])
    (False, True)
    >>> Plateau(window=2, tolerance=0.01, relative=True).settled([812.0, 805.0])
    True
    >>> Plateau(window=3, tolerance=0.01, relative=True, falling=True).settled([900.0, 805.0, 830.0, 870.0])
    True
    """

    window: int = 5
    tolerance: float = 0.02
    relative: bool = False
    falling: bool = False

    def __post_init__(self) -> None:
        if self.window < 2:
            raise DataError(f"plateau window={self.window!r} compares nothing; pass at least 2")
        if not (self.tolerance > 0 or (self.falling and self.tolerance == 0)):
            raise DataError(f"plateau tolerance={self.tolerance!r} never stops; pass a number > 0")

    def settled(self, figures: Sequence[float]) -> bool:
        """Is it time to stop, after these figures from the start on?"""
        if len(figures) < self.window:
            return False
        if self.falling:
            return all(figures[i] >= self._wanted(min(figures[:i])) for i in range(1 - self.window, 0))
        low, high = min(figures[-self.window :]), max(figures[-self.window :])
        return high - low < self.tolerance * (abs(low) if self.relative else 1.0)

    def _wanted(self, lowest: float) -> float:
        """What a falling figure must stay below to be better than the lowest before it."""
        return lowest * (1.0 - self.tolerance) if self.relative else lowest - self.tolerance


@dataclass(frozen=True, slots=True)
class ConvergenceReport:
    """What happened in a run.

    `values`, `gradient_norms`, `violations`, `active` and `seconds` (since the beginning) have one entry an iterate
    from the start on, so one more than there were iterations; `steps` has one per iteration. `wall_time` and
    `evaluations` count the whole run with the trials of a line search that was given up.

    >>> print(ConvergenceReport("lbfgs", "gradient", 25, 0.0312, 22, (9.5, 2.25), (3.0, 1e-6), (2.0, 9e-7), (0, 20),
    ...                         (0.001, 0.03), (1.0,)))
    lbfgs: gradient after 1 iteration, 25 evaluations, 0.031 s; value 2.25, gradient norm 1e-06, 20 of 22 active
    """

    method: str
    reason: Reason
    evaluations: int
    wall_time: float
    size: int
    values: tuple[float, ...]
    gradient_norms: tuple[float, ...]
    violations: tuple[float, ...]
    active: tuple[int, ...]
    seconds: tuple[float, ...]
    steps: tuple[float, ...]

    @property
    def iterations(self) -> int:
        """Number of whole iterations."""
        return len(self.steps)

    @property
    def converged(self) -> bool:
        """A tolerance was met: the reason is gradient or value."""
        return self.reason in ("gradient", "value")

    @property
    def interrupted(self) -> bool:
        """Ctrl-C ended the run."""
        return self.reason == "interrupted"

    def __str__(self) -> str:
        return (
            f"{self.method}: {self.reason} after {self.iterations} iteration{'' if self.iterations == 1 else 's'}, "
            f"{self.evaluations} evaluations, {self.wall_time:.2g} s; value {self.values[-1]:.9g}, gradient norm "
            f"{self.gradient_norms[-1]:.3g}, {self.active[-1]} of {self.size} active"
        )


@dataclass(frozen=True, slots=True)
class Solution:
    """Where a run ended: theta, the value there (with the L1 penalty), the gradient of the smooth part, the report.

    After Ctrl-C the run returns like any other, with `report.interrupted` true, so that the caller can keep theta
    and then decide whether to raise KeyboardInterrupt again.
    """

    theta: Floats
    value: float
    gradient: Floats
    report: ConvergenceReport

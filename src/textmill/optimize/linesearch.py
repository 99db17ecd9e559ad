"""Line searches: how far to go along a direction of descent.

On phi(a) = f(theta + a d), with phi'(0) < 0 and 0 < c1 < c2 < 1:

    sufficient decrease (Armijo)    phi(a) <= phi(0) + c1 a phi'(0)
    strong curvature (Wolfe)        |phi'(a)| <= c2 |phi'(0)|

`armijo` halves a until the first holds; `strong_wolfe` brackets and then narrows an interval that holds points with
both, by cubic interpolation. A value or slope that is not finite means that a is too long. The step returned is
always one that was tried and has a lower value than a = 0; size 0 says that none was found. A search ends early
when the change it looks for drops below the rounding of phi(0). Cost: the evaluations of phi, 1 or 2 as a rule.
Reference: Nocedal & Wright, Numerical Optimization (2006), algorithms 3.1, 3.5, 3.6 and equation 3.59.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

from textmill.errors import DataError

__all__ = ["LineStep", "armijo", "strong_wolfe"]

EPSILON = sys.float_info.epsilon


@dataclass(frozen=True, slots=True)
class LineStep:
    """A step: its size, phi there, its slope there (for `armijo` the predicted change), the number of trials.

    `satisfied` says that the conditions of the search hold; a step that only lowers the value has it False.
    """

    size: float
    value: float
    slope: float
    trials: int
    satisfied: bool


def armijo(
    phi: Callable[[float], tuple[float, float]],
    value: float,
    *,
    step: float = 1.0,
    c1: float = 1e-4,
    shrink: float = 0.5,
    trials: int = 40,
) -> LineStep:
    """Backtrack from `step` until the decrease is at least c1 times the predicted one.

    `phi(a)` returns the value and the change that the linear model predicts for a: a * slope on a straight line,
    pg . (theta(a) - theta) on a projected one. `value` is phi(0).

    >>> armijo(lambda a: ((a - 0.3) ** 2, -0.6 * a), 0.09).size
    0.5
    """
    if not (0 < c1 < 1 and 0 < shrink < 1 and step > 0 and trials >= 1):
        raise DataError(
            f"armijo needs 0 < c1, shrink < 1, step > 0 and a trial, got {c1=}, {shrink=}, {step=}, {trials=}"
        )
    size = step
    for trial in range(1, trials + 1):
        reached, predicted = phi(size)
        if predicted < 0 and reached < value and reached <= value + c1 * predicted:
            return LineStep(size, reached, predicted, trial, True)
        if abs(predicted) <= EPSILON * abs(value):
            break
        size *= shrink
    return LineStep(0.0, value, 0.0, trial, False)


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a bracket: a, phi(a), phi'(a)."""

    size: float
    value: float
    slope: float


def strong_wolfe(
    phi: Callable[[float], tuple[float, float]],
    value: float,
    slope: float,
    *,
    step: float = 1.0,
    c1: float = 1e-4,
    c2: float = 0.9,
    trials: int = 40,
) -> LineStep:
    """Find a step with sufficient decrease and small slope, trying `step` first.

    `phi(a)` returns value and slope at a; `value` and `slope` are those at 0. When the trials run out the best step
    with sufficient decrease is returned, if there is one.

    >>> step = strong_wolfe(lambda a: ((a - 3.0) ** 2, 2 * (a - 3.0)), 9.0, -6.0, c2=0.1)
    >>> step.size, step.satisfied
    (3.0, True)
    """
    if not (0 < c1 < c2 < 1 and step > 0 and trials >= 1):
        raise DataError(
            f"strong_wolfe needs 0 < c1 < c2 < 1, step > 0 and a trial, got {c1=}, {c2=}, {step=}, {trials=}"
        )
    if not slope < 0:
        raise DataError(f"strong_wolfe needs a direction of descent, but the slope at 0 is {slope!r}")
    low = _End(0.0, value, slope)  # lowest value so far, with sufficient decrease
    high: _End | None = None  # other end of the bracket; None while only too short steps were seen
    widths = (math.inf, math.inf)  # of the bracket, two and one trials ago
    size = step
    for trial in range(1, trials + 1):
        end = _End(size, *phi(size))
        if not (math.isfinite(end.value) and math.isfinite(end.slope)):
            high = _End(size, math.inf, math.nan)
        elif end.value > value + c1 * size * slope or end.value >= low.value:
            high = end
        elif abs(end.slope) <= -c2 * slope:
            return LineStep(end.size, end.value, end.slope, trial, True)
        elif high is None and end.slope < 0:
            size, low = _extrapolate(low, end), end
            continue
        else:
            if high is None or end.slope * (high.size - low.size) >= 0:
                high = low
            low = end
        width = abs(high.size - low.size)
        if width <= EPSILON * max(high.size, low.size) or width * abs(low.slope) <= EPSILON * abs(value):
            break
        size = _middle(low, high) if width > 0.66 * widths[0] else _interpolate(low, high)
        widths = (widths[1], width)
    return LineStep(low.size, low.value, low.slope, trial, False)


def _extrapolate(before: _End, end: _End) -> float:
    """A step that goes 1.1 to 9 times the last stride further, to where the cubic through both ends has its minimum."""
    stride = end.size - before.size
    bottom = _cubic(before, end, default=math.inf)
    if bottom <= end.size:  # the slope is getting steeper: there is no minimum ahead
        bottom = math.inf
    return min(max(bottom, end.size + 1.1 * stride), end.size + 9 * stride)


def _interpolate(low: _End, high: _End) -> float:
    """A step inside the bracket, by the cubic through both ends, a tenth of the width away from either."""
    if math.isinf(high.value):
        return _middle(low, high)
    margin = 0.1 * (high.size - low.size)
    first, last = sorted((low.size + margin, high.size - margin))
    return min(max(_cubic(low, high, default=_middle(low, high)), first), last)


def _middle(low: _End, high: _End) -> float:
    return low.size + 0.5 * (high.size - low.size)


def _cubic(one: _End, two: _End, default: float) -> float:
    """Minimum of the cubic with the values and slopes of both ends; the default when it has none."""
    width = two.size - one.size
    d1 = one.slope + two.slope - 3 * (two.value - one.value) / width
    square = d1 * d1 - one.slope * two.slope
    if not 0 <= square < math.inf:
        return default
    d2 = math.copysign(math.sqrt(square), width)
    bottom = two.slope - one.slope + 2 * d2
    return two.size - width * (two.slope + d2 - d1) / bottom if bottom != 0 else default

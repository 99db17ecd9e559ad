"""Is the gradient right? Derivatives by differences, and a comparison with those an objective returns.

    df/dtheta_i ~ (8 (f(+h) - f(-h)) - (f(+2h) - f(-2h))) / 12 h
    f(kh) = f(theta with k h added to theta_i),   h = e^(1/5) max(1, |theta_i|)

Central differences of fourth order: the error is of order h^4 from the formula and e |f| / h from rounding (e the
machine epsilon), about 1e-12 for values near 1. Cost: four evaluations a coordinate.
Reference: Abramowitz & Stegun (1964), table 25.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.optimize.descent import Objective, Point

__all__ = ["GradientCheck", "check_gradient", "numerical_gradient"]

EPSILON = float(np.finfo(np.float64).eps)
STEP = EPSILON**0.2
NOISE = 100 * EPSILON / STEP  # what rounding may do to a difference quotient, with room for sums of many terms


@dataclass(frozen=True, slots=True)
class GradientCheck:
    """Agreement of an objective's gradient with differences of its values.

    `max_error` is the largest relative error, beyond what rounding of the values explains, and `coordinate` where it
    is, with both slopes there.

    >>> print(GradientCheck(max_error=2e-11, coordinate=3, analytic=0.5, numerical=0.5, checked=10))
    worst relative error 2e-11 of 10 slopes, at coordinate 3: 0.5 returned, 0.5 by differences
    """

    max_error: float
    coordinate: int
    analytic: float
    numerical: float
    checked: int

    def __str__(self) -> str:
        return (
            f"worst relative error {self.max_error:.3g} of {self.checked} slopes, at coordinate {self.coordinate}: "
            f"{self.analytic:.10g} returned, {self.numerical:.10g} by differences"
        )


def numerical_gradient(objective: Objective, theta: ArrayLike, coordinates: Sequence[int] | None = None) -> Floats:
    """Slopes of the objective at theta by differences of its values, for all coordinates or those given.

    >>> numerical_gradient(lambda t: (float(np.exp(t).sum()), np.exp(t)), [0.0, 1.0]).round(9).tolist()
    [1.0, 2.718281828]
    """
    return _differences(Point(objective, theta), coordinates)[1]


def check_gradient(objective: Objective, theta: ArrayLike, coordinates: Sequence[int] | None = None) -> GradientCheck:
    """Compare the gradient an objective returns with differences of its values.

    >>> check_gradient(lambda t: (float((t**3).sum()), 3 * t**2), [1.0, -2.0]).max_error < 1e-9
    True
    >>> check_gradient(lambda t: (float((t**3).sum()), 2 * t**2), [1.0, -2.0]).max_error > 0.3
    True
    """
    point = Point(objective, theta)
    returned, value = point.gradient.copy(), point.value
    chosen, numerical = _differences(point, coordinates)
    analytic = returned[chosen]
    finite = np.isfinite(numerical)
    noise = NOISE * max(1.0, abs(value))
    error = np.full(len(chosen), np.inf)  # where the differences left the domain
    a, b = analytic[finite], numerical[finite]
    error[finite] = np.maximum(np.abs(a - b) - noise, 0.0) / np.maximum(np.maximum(np.abs(a), np.abs(b)), noise)
    if len(error) == 0:
        return GradientCheck(0.0, -1, 0.0, 0.0, 0)
    worst = int(np.argmax(error))
    return GradientCheck(
        float(error[worst]), int(chosen[worst]), float(analytic[worst]), float(numerical[worst]), len(error)
    )


def _differences(point: Point, coordinates: Sequence[int] | None) -> tuple[NDArray[np.intp], Floats]:
    theta = point.theta
    chosen = np.arange(len(theta)) if coordinates is None else np.asarray(coordinates, dtype=np.intp)
    if len(chosen) and not (chosen.min() >= 0 and chosen.max() < len(theta)):
        raise DataError(f"are outside the {len(theta)} entries of theta", source="coordinates")
    slopes = np.empty(len(chosen))
    for position, i in enumerate(chosen):
        center = theta[i]
        step = (center + STEP * max(1.0, abs(center))) - center  # exactly representable beside theta_i
        values = []
        for offset in (2, 1, -1, -2):
            theta[i] = center + offset * step
            point.evaluate()
            values.append(point.value)
        theta[i] = center
        slopes[position] = (8 * (values[1] - values[2]) - (values[0] - values[3])) / (12 * step)
    return chosen, slopes

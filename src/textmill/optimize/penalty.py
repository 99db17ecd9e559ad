"""The L1 penalty: soft threshold, coordinate update, pseudo-gradient and optimality.

Minimize F(theta) = L(theta) + sum_i l1_i |theta_i| with L smooth and g = grad L; l1_i = 0 leaves a coordinate free.

    s(z, t)  = z - t if z > t;  z + t if z < -t;  0 otherwise                            soft threshold
    theta_i <- s(h_i theta_i - g_i, l1) / (h_i + l2)                                     minimum of the quadratic model
                                                                                         with slope g_i, curvature h_i
    pg_i     = g_i + l1_i sign(theta_i) if theta_i != 0, else s(g_i, l1_i)               pseudo-gradient

-pg is the direction of steepest descent of F, and theta is optimal (Karush-Kuhn-Tucker) when pg = 0: |pg_i| says by
how much coordinate i violates its condition, |g_i| <= l1_i at zero and g_i = -l1_i sign(theta_i) elsewhere. Every
function is one pass over its arrays. References: Andrew & Gao (2007); Sokolovska, Lavergne, Cappe & Yvon (2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.optimize.vector import blocks

__all__ = ["KKTReport", "coordinate_update", "kkt_violation", "penalty_vector", "pseudo_gradient", "soft_threshold"]


def soft_threshold(z: ArrayLike, threshold: ArrayLike) -> Floats:
    """Move every entry of z towards 0 by the threshold (>= 0), and no further than 0.

    >>> soft_threshold([1.2, 0.5, -0.3, -2.0], 0.5).tolist()
    [0.7, 0.0, 0.0, -1.5]
    """
    z = np.asarray(z, dtype=np.float64)
    return np.asarray(z - np.clip(z, np.negative(threshold), threshold))


def coordinate_update(
    theta: ArrayLike, gradient: ArrayLike, curvature: ArrayLike, l1: ArrayLike, l2: ArrayLike = 0.0
) -> Floats:
    """Where a coordinate goes that minimizes its quadratic model under l1 |theta| + l2 / 2 theta^2.

    `gradient` and `curvature` (> 0) are the first and second derivative of the loss alone. Works elementwise.

    >>> float(coordinate_update(0.3, -1.1, 0.8, l1=0.5, l2=1e-5).round(7))
    1.0499869
    """
    theta, curvature = np.asarray(theta, dtype=np.float64), np.asarray(curvature, dtype=np.float64)
    return np.asarray(soft_threshold(curvature * theta - np.asarray(gradient), l1) / (curvature + np.asarray(l2)))


def penalty_vector(l1: ArrayLike, size: int) -> Floats:
    """One L1 weight a coordinate, from a number or a vector; a number takes no memory.

    >>> penalty_vector(0.5, 3).tolist()
    [0.5, 0.5, 0.5]
    """
    try:
        weights = np.asarray(l1, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"is {l1!r}; pass a number or one number a coordinate", source="l1") from None
    if weights.shape not in ((), (size,)):
        raise DataError(f"has shape {weights.shape}; pass a number or a vector of {size} entries", source="l1")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise DataError("has entries that are negative or not finite; pass weights >= 0", source="l1")
    return np.broadcast_to(weights, (size,))


def pseudo_gradient(theta: Floats, gradient: Floats, l1: ArrayLike) -> Floats:
    """Pseudo-gradient of L + l1 |theta|; `gradient` is that of the smooth part L.

    >>> pseudo_gradient(np.array([1.0, 0.0, 0.0]), np.array([0.2, 0.3, -0.9]), 0.5).tolist()
    [0.7, 0.0, -0.4]
    """
    return np.where(theta != 0, gradient + np.asarray(l1) * np.sign(theta), soft_threshold(gradient, l1))


@dataclass(frozen=True, slots=True)
class KKTReport:
    """How far a point is from optimal under an L1 penalty.

    `maximum` is the largest violation and `worst` its coordinate (-1 when there are none), `violations` counts
    those above `tolerance`, `active` the non-zero coordinates, `sign_errors` the penalized active coordinates whose
    gradient pushes them to zero together with the penalty (at an optimum the two balance).

    >>> print(KKTReport(maximum=2e-7, worst=3, violations=0, active=9, sign_errors=0, size=22, tolerance=1e-6))
    optimal within 1e-06: worst violation 2e-07 at coordinate 3, 0 above, 0 sign errors, 9 of 22 active
    """

    maximum: float
    worst: int
    violations: int
    active: int
    sign_errors: int
    size: int
    tolerance: float

    @property
    def optimal(self) -> bool:
        """No violation is above the tolerance."""
        return self.violations == 0

    def __str__(self) -> str:
        return (
            f"{'optimal' if self.optimal else 'not optimal'} within {self.tolerance:g}: worst violation "
            f"{self.maximum:.3g} at coordinate {self.worst}, {self.violations} above, {self.sign_errors} sign errors, "
            f"{self.active} of {self.size} active"
        )


def kkt_violation(
    theta: Floats, gradient: Floats, l1: ArrayLike, l2: float = 0.0, *, tolerance: float = 1e-6
) -> KKTReport:
    """Check the optimality conditions of loss + l1 |theta| + l2 / 2 theta^2 at theta.

    `gradient` is that of the loss; leave l2 at 0 when it already holds the term l2 * theta.

    >>> kkt_violation(np.array([0.5, 0.0]), np.array([-1.0, 0.7]), 1.0).optimal
    True
    """
    if theta.ndim != 1 or theta.shape != gradient.shape:
        raise DataError(f"theta has shape {theta.shape} but the gradient {gradient.shape}; pass two equal vectors")
    weights = penalty_vector(l1, len(theta))
    maximum, worst, violations, sign_errors = 0.0, -1, 0, 0
    for part in blocks(len(theta)):
        slope = gradient[part] + l2 * theta[part]
        violation = np.abs(pseudo_gradient(theta[part], slope, weights[part]))
        highest = int(np.argmax(violation))
        if worst < 0 or not violation[highest] <= maximum:  # a NaN is the worst of all
            maximum, worst = float(violation[highest]), part.start + highest
        violations += int(np.count_nonzero(~(violation <= tolerance)))
        sign_errors += int(np.count_nonzero((slope * theta[part] > 0) & (weights[part] > 0)))
    return KKTReport(
        maximum=maximum,
        worst=worst,
        violations=violations,
        active=int(np.count_nonzero(theta)),
        sign_errors=sign_errors,
        size=len(theta),
        tolerance=tolerance,
    )

"""Minimize a function of many parameters, given as `objective(theta) -> (value, gradient)`.

| method | for |
|---|---|
| `minimize_lbfgs` | smooth functions; the usual choice |
| `minimize_owlqn` | a smooth function plus an L1 penalty, with exact zeros |
| `minimize_cg` | smooth functions when memory is short: 5 vectors against 25 |
| `minimize_rprop` | either, by the signs of the gradient alone |

The minimizers take the same `Stopping` rules, call back once per iteration, survive points where the objective is not
finite, keep the last whole iterate at Ctrl-C, and return a `Solution` with a `ConvergenceReport`. They work in place,
in double precision, and give the same bytes for any number of threads. `fit_sigmoid` and `fit_logistic` fit a logistic
curve to a score, or to a few columns, by Newton's method.
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.optimize.conjugate import minimize_cg
    from textmill.optimize.convergence import (
        REASONS,
        ConvergenceReport,
        Iteration,
        Plateau,
        Reason,
        Solution,
        Stopping,
    )
    from textmill.optimize.descent import Callback, Objective
    from textmill.optimize.gradient import GradientCheck, check_gradient, numerical_gradient
    from textmill.optimize.lbfgs import History, minimize_lbfgs
    from textmill.optimize.linesearch import LineStep, armijo, strong_wolfe
    from textmill.optimize.owlqn import minimize_owlqn
    from textmill.optimize.penalty import KKTReport, coordinate_update, kkt_violation, pseudo_gradient, soft_threshold
    from textmill.optimize.rprop import minimize_rprop
    from textmill.optimize.sigmoid import Sigmoid, fit_logistic, fit_sigmoid, sigmoid
    from textmill.optimize.vector import add_scaled, dot

__all__ = [
    "REASONS",
    "Callback",
    "ConvergenceReport",
    "GradientCheck",
    "History",
    "Iteration",
    "KKTReport",
    "LineStep",
    "Objective",
    "Plateau",
    "Reason",
    "Sigmoid",
    "Solution",
    "Stopping",
    "add_scaled",
    "armijo",
    "check_gradient",
    "coordinate_update",
    "dot",
    "fit_logistic",
    "fit_sigmoid",
    "kkt_violation",
    "minimize_cg",
    "minimize_lbfgs",
    "minimize_owlqn",
    "minimize_rprop",
    "numerical_gradient",
    "pseudo_gradient",
    "sigmoid",
    "soft_threshold",
    "strong_wolfe",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "vector": "add_scaled dot",
        "conjugate": "minimize_cg",
        "convergence": "REASONS ConvergenceReport Iteration Plateau Reason Solution Stopping",
        "descent": "Callback Objective",
        "gradient": "GradientCheck check_gradient numerical_gradient",
        "lbfgs": "History minimize_lbfgs",
        "linesearch": "LineStep armijo strong_wolfe",
        "owlqn": "minimize_owlqn",
        "penalty": "KKTReport coordinate_update kkt_violation pseudo_gradient soft_threshold",
        "rprop": "minimize_rprop",
        "sigmoid": "Sigmoid fit_logistic fit_sigmoid sigmoid",
    },
)

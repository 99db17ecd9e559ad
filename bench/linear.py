"""Logistic regression against LIBLINEAR and scikit-learn's saga: time to an objective within 1e-4 of the best.

TEXTMILL_DATA=... python -m bench linear [--repeats 3] [--quick] [--only TEXT]

For every set of bench/_linear_sets.py and for an L1 and an L2 penalty of 1, without intercept:

    SET, L1 | L2              processor seconds on one thread, ours and LIBLINEAR's; each side has the loosest tolerance
                              of 0.1, 0.01 ... with which it ends within 1e-4 of the best objective. L1 is LIBLINEAR's
                              solver 6, L2 the faster of its solvers 0 (trust region) and 7 (dual). Our time has the
                              turning of rows into columns in it, LIBLINEAR's not the making of its problem.
    SET, L1 | L2, saga        the same against scikit-learn's saga, which gets 300 passes at most; where it does not get
                              that far the row shows how far it came
    SET, L1 | L2, 2 threads   processor seconds of the busier of two threads, and of one; the weights are the same.
                              The sets are small, so there is one more: 20 News eight times over, penalty 8
"""

from __future__ import annotations

import time
import warnings
from functools import cache, partial
from typing import Any

import numpy as np
from liblinear.liblinearutil import problem as liblinear_problem
from liblinear.liblinearutil import train as liblinear_train
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import LogisticRegression as Theirs

from bench._linear_sets import NAMES, binary_set
from bench.harness import Job, Options
from textmill.linear.problem import Penalty, Problem
from textmill.linear.solvers import Solution, minimize

PACKAGES = ["liblinear-official", "scikit-learn"]
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
NEAR = 1e-4


def jobs(options: Options) -> list[Job]:
    made = []
    for name in NAMES:
        for kind in ("L1", "L2"):
            made += _jobs(options, name, kind)
    made += [
        Job(
            f"20 News eightfold, {kind}, 2 threads",
            partial(_eightfold, options, kind, 2),
            partial(_eightfold, options, kind, 1),
            "one thread",
            partial(_same_weights, options, kind),
            figure="busiest",
            bar=1.6,
            claim=f"{kind}, two threads",
            prepare=lambda kind=kind: (_eight(options), _tolerance(options, "20 News", kind)),
        )
        for kind in ("L1", "L2")
    ]
    return made


def _jobs(options: Options, name: str, kind: str) -> list[Job]:
    ours = lambda: _ours(options, name, kind, _tolerance(options, name, kind))  # noqa: E731
    tolerance = partial(_tolerance, options, name, kind)  # found once: the search is not timed
    return [
        Job(
            f"{name}, {kind}",
            ours,
            lambda: _liblinear(options, name, kind, *_peer(options, name, kind)),
            "LIBLINEAR",
            lambda: _distances(options, name, kind),
            figure="processor",
            bar=1.0,
            claim=f"{kind}, one thread",
            prepare=lambda: (tolerance(), _peer(options, name, kind)),
        ),
        Job(
            f"{name}, {kind}, saga",
            ours,
            partial(_saga, options, name, kind),
            "scikit-learn saga",
            lambda: f"saga {_above(options, name, kind, _saga(options, name, kind)):.1e} above the best",
            figure="processor",
            bar=5.0,
            claim=f"{kind}, one thread",
            prepare=tolerance,
        ),
        Job(
            f"{name}, {kind}, 2 threads",
            lambda: _ours(options, name, kind, _tolerance(options, name, kind), 2),
            ours,
            "one thread",
            figure="busiest",
            bar=1.6,
            claim=f"{kind}, two threads",
            prepare=tolerance,
        ),
    ]


def _penalty(kind: str) -> Penalty:
    return Penalty(1.0, 0.0) if kind == "L1" else Penalty(0.0, 1.0)


def _ours(options: Options, name: str, kind: str, tolerance: float, threads: int = 1) -> Solution:
    X, y = binary_set(options, name)
    problem = Problem(X, y.astype(np.int32), 2, np.ones(len(y)), intercept=False, threads=threads)
    return minimize(problem, _penalty(kind), tolerance=tolerance, max_iter=300)


@cache
def _eight(options: Options) -> tuple[Any, Any]:
    X, y = binary_set(options, "20 News")
    return csr_matrix(vstack([X] * 8)), np.tile(y, 8).astype(np.int32)


def _eightfold(options: Options, kind: str, threads: int) -> Solution:
    X, y = _eight(options)
    problem = Problem(X, y, 2, np.ones(len(y)), intercept=False, threads=threads)
    l1, l2 = (8.0, 0.0) if kind == "L1" else (0.0, 8.0)
    return minimize(problem, Penalty(l1, l2), tolerance=_tolerance(options, "20 News", kind), max_iter=300)


def _same_weights(options: Options, kind: str) -> str:
    one, two = (_eightfold(options, kind, threads).coef for threads in (1, 2))
    return f"{_eight(options)[0].nnz} entries; same weights: {np.array_equal(one, two)}"


@cache
def _problem(options: Options, name: str) -> Any:
    X, y = binary_set(options, name)
    return liblinear_problem(np.where(y == 1, 1.0, -1.0), X)


def _liblinear(options: Options, name: str, kind: str, solver: int, tolerance: float) -> Any:
    model = liblinear_train(_problem(options, name), f"-s {solver} -c 1 -e {tolerance} -q")
    weights = np.array(model.w[: binary_set(options, name)[0].shape[1]])
    return weights if model.label[0] == 1 else -weights


def _saga(options: Options, name: str, kind: str) -> Any:
    X, y = binary_set(options, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ratio = 1.0 if kind == "L1" else 0.0
        settings = {"solver": "saga", "tol": 1e-3, "max_iter": 300, "fit_intercept": False, "random_state": 0}
        return Theirs(C=1.0, l1_ratio=ratio, **settings).fit(X, y).coef_[0]


def _objective(options: Options, name: str, kind: str, weights: Any) -> float:
    X, y = binary_set(options, name)
    z = X @ weights
    return float(np.logaddexp(0, np.where(y == 1, -z, z)).sum()) + _penalty(kind).value(weights)


@cache
def _best(options: Options, name: str, kind: str) -> float:
    return _objective(options, name, kind, _ours(options, name, kind, 1e-8).coef[0])


def _above(options: Options, name: str, kind: str, weights: Any) -> float:
    """By which share an objective is above the best one."""
    return _objective(options, name, kind, weights) / _best(options, name, kind) - 1


@cache
def _tolerance(options: Options, name: str, kind: str) -> float:
    for tolerance in TOLERANCES:
        if _above(options, name, kind, _ours(options, name, kind, tolerance).coef[0]) <= NEAR:
            return tolerance
    raise SystemExit(f"{name}, {kind}: no tolerance comes near the best objective")


@cache
def _peer(options: Options, name: str, kind: str) -> tuple[int, float]:
    """The fastest solver of LIBLINEAR, with the loosest tolerance that comes near the best objective."""
    found = []
    for solver in (6,) if kind == "L1" else (0, 7):
        for tolerance in TOLERANCES:
            work = partial(_liblinear, options, name, kind, solver, tolerance)
            if _above(options, name, kind, work()) <= NEAR:
                found.append((min(_seconds(work) for _ in range(2)), solver, tolerance))
                break
    return min(found)[1:]


def _seconds(work: Any) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _distances(options: Options, name: str, kind: str) -> str:
    tolerance, (solver, theirs) = _tolerance(options, name, kind), _peer(options, name, kind)
    ours_above = _above(options, name, kind, _ours(options, name, kind, tolerance).coef[0])
    theirs_above = _above(options, name, kind, _liblinear(options, name, kind, solver, theirs))
    return f"solver {solver}; above the best: ours {ours_above:.1e}, peer {theirs_above:.1e}"

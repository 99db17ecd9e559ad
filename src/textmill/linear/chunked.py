"""Logistic regression over chunks, in one process or on a cluster: the same model for any number of workers.

    loss and slope of a chunk c at (w, b)     a pure function, run where the chunk is
    F = sum_c loss_c + penalties              added pairwise in an order fixed by the number of chunks (cluster)

The sum goes to OWL-QN with an L1 penalty, to L-BFGS without. Chunks are kept where they were read, when there is a
cluster; in one process they are read again in every evaluation, so that only one is in memory at a time.

Cost: one visit of every entry per evaluation, one vector of weights to each worker and one back.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.cluster import Cluster, connect
from textmill.corpus import check_bags, is_one_shot
from textmill.errors import DataError, warn_caller
from textmill.linear.classifier import classes_of, labels_of, row_weights
from textmill.linear.logistic import LogisticRegression, NotConverged
from textmill.linear.problem import Penalty, Problem
from textmill.model import check_fitted, effective_jobs
from textmill.optimize import Solution, Stopping, minimize_lbfgs, minimize_owlqn

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["fit_chunks"]

_ROWS = 4096  # of a chunk that a matrix is cut into

Chunk = tuple[Any, ...]  # X, y and perhaps sample_weight


def fit_chunks(
    model: LogisticRegression,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    start: LogisticRegression | None = None,
    cluster: str | Client | None = None,
) -> Any:
    """Fit the model to chunks, or to a matrix that is cut into them; returns the model.

    >>> chunks = [(np.array([[1.0, 0.0]]), ["a"]), (np.array([[0.0, 1.0]]), ["b"])]
    >>> fit_chunks(LogisticRegression(), chunks, None, None).predict([[2.0, 0.0]]).tolist()
    ['a']
    """
    if isinstance(model.class_weight, str):
        raise DataError("class_weight='balanced' needs all labels at once; pass a mapping from label to weight")
    chunks: Iterable[Chunk]
    if y is not None:
        rows = model._begin(X, y)
        labels = np.asarray(y)
        weights = np.ones(rows.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        labels_of(labels, rows.shape[0], model.classes_)
        row_weights(weights, np.zeros(rows.shape[0], np.int32), model.classes_, None)
        cuts = [*range(0, rows.shape[0], _ROWS), rows.shape[0]]
        chunks = [(rows[a:b], labels[a:b], weights[a:b]) for a, b in pairwise(cuts)]
        columns = rows.shape[1]
    else:
        chunks = X
        columns = _survey(model, chunks)
    with connect(cluster) as workers:
        places = workers.keep(_as_is, chunks) if cluster is not None else chunks
        threads = effective_jobs(workers.worker_jobs(model.n_jobs))
        objective = _Sum(workers, places, model.classes_, columns, model, threads)
        solution = objective.minimized(start)
    _finish(model, objective, solution)
    return model


class _Sum:
    """The objective over all chunks, a function of weights and intercepts in one vector."""

    def __init__(
        self,
        workers: Cluster,
        chunks: Iterable[Any],
        classes: NDArray[Any],
        columns: int,
        model: LogisticRegression,
        threads: int,
    ) -> None:
        self.workers, self.chunks, self.classes, self.columns, self.model = workers, chunks, classes, columns, model
        self.margins = 1 if len(classes) == 2 else len(classes)
        self.settings = (classes, columns, model.class_weight, bool(model.intercept), threads)

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        coef, intercept = self.parts(theta)
        state = self.workers.broadcast((coef, intercept, self.settings))
        loss, slope = self.workers.map_reduce(_loss_and_slope, self.chunks, _add, state)
        l2 = float(self.model.l2)
        gradient = np.concatenate([(slope[:, :-1] + l2 * coef).ravel(), slope[:, -1] if self.model.intercept else []])
        return float(loss) + Penalty(0.0, l2).value(coef), gradient

    def parts(self, theta: Floats) -> tuple[Floats, Floats]:
        """Weights and intercepts."""
        size = self.margins * self.columns
        intercept = theta[size:] if self.model.intercept else np.zeros(self.margins)
        return theta[:size].reshape(self.margins, -1).copy(), intercept.copy()

    def minimized(self, start: LogisticRegression | None) -> Solution:
        """Run the optimiser."""
        size = self.margins * self.columns
        theta = np.zeros(size + (self.margins if self.model.intercept else 0))
        if start is not None:
            check_fitted(start)
            if start.coef_.shape != (self.margins, self.columns):
                raise DataError("start has other classes or columns than the data; pass a model of the same ones")
            theta[:size] = start.coef_.ravel()
            theta[size:] = start.intercept_ if self.model.intercept else []
        tolerance = float(self.model.tolerance)
        stopping = Stopping(gradient_tolerance=tolerance, tolerance=tolerance * 1e-3, max_iter=int(self.model.max_iter))
        if self.model.l1 > 0:
            penalty = np.full(len(theta), float(self.model.l1))
            penalty[size:] = 0.0
            return minimize_owlqn(self, theta, l1=penalty, stopping=stopping)
        return minimize_lbfgs(self, theta, stopping=stopping)


def _loss_and_slope(chunk: Chunk, state: Any) -> tuple[float, Floats]:
    """Loss of a chunk, and its slope with one more column for the intercepts; pure, so it runs on any worker."""
    coef, intercept, (classes, columns, class_weight, free, threads) = state
    rows = check_bags(chunk[0], negative=True)
    if rows.shape[1] != columns:
        raise DataError(f"a chunk has {rows.shape[1]} columns, the first had {columns}; give all of them the same")
    labels = labels_of(chunk[1], rows.shape[0], classes)
    weights = row_weights(chunk[2] if len(chunk) > 2 else None, labels, classes, class_weight)
    problem = Problem(rows, labels, len(classes), weights, intercept=free, threads=threads)
    residual = np.empty((problem.margins, problem.rows))
    loss = problem.loss(problem.margin(coef, intercept), residual)
    return loss, np.column_stack([problem.slopes(residual), -residual.sum(axis=1)])


def _add(left: tuple[float, Floats], right: tuple[float, Floats]) -> tuple[float, Floats]:
    return left[0] + right[0], left[1] + right[1]


def _as_is(chunk: Chunk) -> Chunk:
    return chunk


def _survey(model: LogisticRegression, chunks: Any) -> int:
    """A first pass over the chunks for labels and columns."""
    if not isinstance(chunks, Iterable) or hasattr(chunks, "shape"):
        raise DataError("requires y to be passed, but the target y is None; pass y, or chunks of (X, y)")
    if is_one_shot(chunks):
        raise DataError("chunks are read once per iteration, but a generator can be read once; pass a list or a reader")
    labels: list[Any] = []
    columns = 0
    for chunk in chunks:
        if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
            raise DataError("a chunk must be (X, y) or (X, y, sample_weight); requires y to be passed with X otherwise")
        labels.append(np.unique(np.asarray(chunk[1])))
        columns = columns or check_bags(chunk[0], negative=True).shape[1]
    if not labels:
        raise DataError("there are no chunks; pass at least one (X, y)")
    model.classes_, model.vectorizer_ = classes_of(np.concatenate(labels)), None
    return columns


def _finish(model: LogisticRegression, objective: _Sum, solution: Solution) -> None:
    model.coef_, model.intercept_ = objective.parts(solution.theta)
    report = solution.report
    model.objective_, model.gap_, model.trace_ = float(solution.value), None, list(report.values)
    model.n_iter_, model.converged_ = report.iterations, report.reason != "iterations"
    model.stop_reason_ = "decrease" if model.converged_ else "iterations"
    model.stream_, model.received_, model.shrunk_ = [], None, None
    if report.interrupted:
        raise KeyboardInterrupt
    if not model.converged_:
        warn_caller(f"training ended by max_iter={model.max_iter}; raise max_iter or tolerance", NotConverged)

"""Logistic regression over chunks, in one process or on a cluster: the same model for any number of workers.

    loss and slope of a chunk c at (w, b)     a pure function, run where the chunk is
    F = sum_c loss_c + penalties              added pairwise in an order fixed by the number of chunks (cluster)

The sum goes to OWL-QN with an L1 penalty, to L-BFGS without. Chunks are kept where they were read, when there is a
cluster; in one process they are read again in every evaluation, so that only one is in memory at a time.

At the end a few more passes give the duality gap; as long as it is above the tolerance, the optimizer goes on from
there with a tolerance of its own of a tenth. The dual point is that of problem.py: sums of residuals and class totals
are those of all chunks, and every chunk then balances its own rows by them.

Chunks may hold texts or mappings, when the model has a vectorizer; a cluster turns them into rows once, one process in
every evaluation.

Cost: one visit of every entry per evaluation, one vector of weights to each worker and one back.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.cluster import Cluster, connect
from textmill.corpus import check_bags, is_one_shot
from textmill.errors import DataError
from textmill.linear.classifier import classes_of, is_matrix, labels_of, row_weights
from textmill.linear.logistic import LogisticRegression, warn_unproved
from textmill.linear.problem import Balancing, Certificate, Penalty, Problem, balance_rates
from textmill.model import check_fitted, effective_jobs
from textmill.optimize import Solution, Stopping, minimize_lbfgs, minimize_owlqn

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["fit_chunks"]

_ROWS = 4096  # of a chunk that a matrix is cut into

_SETTLING = 20  # Newton steps of the intercepts, before the gap is worked out
_SETTLED = 1e-9  # share of the weight of the rows up to which their residuals then add up
_ROUNDS = 6  # of the optimizer, each with a tenth of the tolerance

Chunk = tuple[Any, ...]  # X, y and perhaps sample_weight
Settings = tuple[NDArray[Any], int, Any, bool, int]  # classes, columns, class weights, free intercept, threads
Sums = tuple[float, Floats, Floats]  # loss; slopes; curvatures of the intercepts and the weight of all rows


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
    chunks: Iterable[Chunk]
    class_weight = model.class_weight
    if y is not None:
        rows = model._begin(X, y)
        labels = np.asarray(y)
        weights = np.ones(rows.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        labels_of(labels, rows.shape[0], model.classes_)
        row_weights(weights, np.zeros(rows.shape[0], np.int32), model.classes_, None)
        counts = _counts(labels, weights, model.classes_)
        cuts = [*range(0, rows.shape[0], _ROWS), rows.shape[0]]
        chunks = [(rows[a:b], labels[a:b], weights[a:b]) for a, b in pairwise(cuts)]
        columns = rows.shape[1]
    else:
        chunks = X
        columns, counts = _survey(model, chunks)
    if class_weight == "balanced":
        class_weight = dict(
            zip(model.classes_.tolist(), counts.sum() / (len(counts) * np.where(counts > 0, counts, 1.0)), strict=True)
        )
    vectorizer = model.vectorizer_ if y is None else None
    with connect(cluster) as workers:
        places = workers.keep(partial(_to_rows, vectorizer), chunks) if cluster is not None else chunks
        threads = effective_jobs(workers.worker_jobs(model.n_jobs))
        settings = (model.classes_, columns, class_weight, bool(model.intercept), threads)
        objective = _Sum(workers, places, model, settings, None if cluster is not None else vectorizer)
        rounds, certificate = objective.proved(start)
    _finish(model, objective, rounds, certificate)
    return model


class _Sum:
    """The objective over all chunks, a function of weights and intercepts in one vector."""

    def __init__(
        self,
        workers: Cluster,
        chunks: Iterable[Any],
        model: LogisticRegression,
        settings: Settings,
        vectorizer: Any,
    ) -> None:
        self.workers, self.chunks, self.model, self.settings = workers, chunks, model, settings
        self.vectorizer = vectorizer  # of chunks that hold texts
        self.columns = settings[1]
        self.margins = 1 if len(settings[0]) == 2 else len(settings[0])

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        coef, intercept = self.parts(theta)
        loss, slope, _ = self._summed(coef, intercept)
        l2 = float(self.model.l2)
        gradient = np.concatenate([(slope[:, :-1] + l2 * coef).ravel(), slope[:, -1] if self.model.intercept else []])
        return float(loss) + Penalty(0.0, l2).value(coef), gradient

    def certificate(self, theta: Floats) -> Certificate | None:
        """How far the weights are from the optimum; the intercepts are moved to theirs first, by Newton steps."""
        l1, l2 = float(self.model.l1), float(self.model.l2)
        if l1 == 0 and l2 == 0:
            return None
        coef, intercept = self.parts(theta)
        loss, slope, bend = self._summed(coef, intercept)
        objective = loss + Penalty(l1, l2).value(coef)
        whole = slope[:, :-1] + l2 * coef
        violation = np.where(coef != 0, np.abs(whole + l1 * np.sign(coef)), np.maximum(np.abs(whole) - l1, 0.0))
        most = float(np.abs(slope[:, :-1]).max(initial=0.0))
        total, totals = bend[self.margins], bend[self.margins + 1 :]
        balancing, limit = None, 1.0
        if self.model.intercept:
            for _ in range(_SETTLING):
                sums = slope[:, -1]
                if np.abs(sums).max() <= _SETTLED * total:
                    break
                curves = np.maximum(bend[: self.margins], 1e-9 * total)
                intercept = intercept - np.clip(sums / curves, -4.0, 4.0) / (1 if self.margins == 1 else 2)
                loss, slope, bend = self._summed(coef, intercept)
            balancing = balance_rates(-slope[:, -1], totals)
            limit = balancing.limit
        state = partial(self._summed, coef, intercept, balancing)
        entropy, slope, _ = state(factor=limit)
        slopes = slope[:, :-1]
        highest = float(np.abs(slopes).max(initial=0.0))
        if l2 > 0:
            excess = np.maximum(limit * np.abs(slopes) - l1, 0.0)
            dual = max(entropy - float((excess**2).sum()) / (2 * l2), 0.0)
        else:
            dual = entropy if limit * highest <= l1 else state(factor=l1 / highest)[0]
        return Certificate(
            float(objective), float(dual), float(violation.max(initial=0.0)), most, int(np.count_nonzero(coef))
        )

    def proved(self, start: LogisticRegression | None) -> tuple[list[Solution], Certificate | None]:
        """Optimize until the gap is within the tolerance, or nothing moves any more."""
        theta, share = self._first(start), 1.0
        rounds: list[Solution] = []
        while True:
            left = int(self.model.max_iter) - sum(one.report.iterations for one in rounds)
            solution = self.minimized(theta, share, left)
            rounds.append(solution)
            certificate = self.certificate(solution.theta)
            still = solution.report.iterations == 0 and len(rounds) > 1
            if (
                certificate is None
                or certificate.relative_gap <= self.model.tolerance
                or solution.report.interrupted
                or solution.report.reason == "iterations"
                or still
                or len(rounds) == _ROUNDS
            ):
                return rounds, certificate
            theta, share = solution.theta, share / 10

    def _summed(
        self, coef: Floats, intercept: Floats, balancing: Balancing | None = None, factor: float | None = None
    ) -> Sums:
        """Loss, slopes and curvatures of the intercepts over all chunks; with a factor the entropy for the loss."""
        state = self.workers.broadcast((coef, intercept, self.settings, self.vectorizer, balancing, factor))
        sums: Sums = self.workers.map_reduce(_loss_and_slope, self.chunks, _add, state)
        return sums

    def parts(self, theta: Floats) -> tuple[Floats, Floats]:
        """Weights and intercepts."""
        size = self.margins * self.columns
        intercept = theta[size:] if self.model.intercept else np.zeros(self.margins)
        return theta[:size].reshape(self.margins, -1).copy(), intercept.copy()

    def _first(self, start: LogisticRegression | None) -> Floats:
        """Where to begin."""
        size = self.margins * self.columns
        theta = np.zeros(size + (self.margins if self.model.intercept else 0))
        if start is not None:
            check_fitted(start)
            if start.coef_.shape != (self.margins, self.columns):
                raise DataError("start has other classes or columns than the data; pass a model of the same ones")
            theta[:size] = start.coef_.ravel()
            theta[size:] = start.intercept_ if self.model.intercept else []
        return theta

    def minimized(self, theta: Floats, share: float, max_iter: int) -> Solution:
        """Run the optimizer, to this share of the tolerance."""
        size, tolerance = self.margins * self.columns, share * float(self.model.tolerance)
        stopping = Stopping(gradient_tolerance=tolerance, tolerance=tolerance * 1e-3, max_iter=max_iter)
        if self.model.l1 > 0:
            penalty = np.full(len(theta), float(self.model.l1))
            penalty[size:] = 0.0
            return minimize_owlqn(self, theta, l1=penalty, stopping=stopping)
        return minimize_lbfgs(self, theta, stopping=stopping)


def _loss_and_slope(chunk: Chunk, state: Any) -> Sums:
    """Loss of a chunk, its slope with one more column for the intercepts, their curvatures, total and class weights.

    Pure, so it runs on any worker. With a factor the entropy is in the place of the loss, at balanced residuals.
    """
    coef, intercept, (classes, columns, class_weight, free, threads), vectorizer, balancing, factor = state
    chunk = _to_rows(vectorizer, chunk)
    rows = check_bags(chunk[0], negative=True)
    if rows.shape[1] != columns:
        raise DataError(f"a chunk has {rows.shape[1]} columns, the first had {columns}; give all of them the same")
    labels = labels_of(chunk[1], rows.shape[0], classes)
    weights = row_weights(chunk[2] if len(chunk) > 2 else None, labels, classes, class_weight)
    problem = Problem(rows, labels, len(classes), weights, intercept=free, threads=threads)
    residual = np.empty((problem.margins, problem.rows))
    loss = problem.loss(problem.margin(coef, intercept), residual)
    share = np.abs(residual) / np.where(weights > 0, weights, 1.0)
    bend = np.concatenate([(weights * share * (1 - share)).sum(axis=1), [weights.sum()], problem.class_totals])
    if balancing is not None:
        balancing.apply(residual, labels, weights)
    if factor is not None:
        loss = problem.entropy(residual, factor)
    return loss, np.column_stack([problem.slopes(residual), -residual.sum(axis=1)]), bend


def _add(left: Sums, right: Sums) -> Sums:
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


def _to_rows(vectorizer: Any, chunk: Chunk) -> Chunk:
    """The chunk with rows in the place of texts or mappings."""
    return chunk if vectorizer is None or is_matrix(chunk[0]) else (vectorizer.transform(chunk[0]), *chunk[1:])


def _survey(model: LogisticRegression, chunks: Any) -> tuple[int, Floats]:
    """A first pass over the chunks for labels, their weights and columns; texts also teach the vectorizer."""
    if not isinstance(chunks, Iterable) or hasattr(chunks, "shape"):
        raise DataError("requires y to be passed, but the target y is None; pass y, or chunks of (X, y)")
    if is_one_shot(chunks):
        raise DataError("chunks are read once per iteration, but a generator can be read once; pass a list or a reader")
    labels: list[Any] = []
    weights: list[Floats] = []
    model.vectorizer_ = None
    for chunk in chunks:
        if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
            raise DataError("a chunk must be (X, y) or (X, y, sample_weight); requires y to be passed with X otherwise")
        if not labels:
            columns = _first_columns(model, chunks, chunk[0])
        labels.append(np.asarray(chunk[1]))
        weights.append(np.ones(len(chunk[1])) if len(chunk) < 3 else np.asarray(chunk[2], np.float64))
    if not labels:
        raise DataError("there are no chunks; pass at least one (X, y)")
    model.classes_ = classes_of(np.concatenate([np.unique(part) for part in labels]))
    counts = np.zeros(len(model.classes_))
    for part, weight in zip(labels, weights, strict=True):
        counts += _counts(part, weight, model.classes_)
    return columns, counts


def _counts(labels: NDArray[Any], weights: Floats, classes: NDArray[Any]) -> Floats:
    """The weight of the rows of each class."""
    return np.bincount(np.searchsorted(classes, labels), weights, len(classes)).astype(np.float64)


def _first_columns(model: LogisticRegression, chunks: Iterable[Chunk], first: Any) -> int:
    """The number of columns; where the chunks hold texts, that of the vectorizer, fitted to all of them if need be."""
    if is_matrix(first):
        return int(check_bags(first, negative=True).shape[1])
    vectorizer = model.vectorizer
    if vectorizer is None:
        return int(check_bags(first, negative=True).shape[1])
    if not vectorizer.__sklearn_is_fitted__():
        vectorizer = type(vectorizer)(**vectorizer.get_params(deep=False))
        vectorizer.fit([text for chunk in chunks for text in chunk[0]])
    model.vectorizer_ = vectorizer
    return len(vectorizer.get_feature_names_out())


def _finish(
    model: LogisticRegression, objective: _Sum, rounds: list[Solution], certificate: Certificate | None
) -> None:
    solution = rounds[-1]
    model.coef_, model.intercept_ = objective.parts(solution.theta)
    report = solution.report
    model.objective_, model.trace_ = float(solution.value), [float(one) for run in rounds for one in run.report.values]
    model.gap_ = None if certificate is None else max(0.0, certificate.gap)
    proved = certificate is not None and certificate.relative_gap <= model.tolerance
    model.n_iter_ = sum(run.report.iterations for run in rounds)
    model.converged_ = proved or (certificate is None and report.reason != "iterations")
    model.stop_reason_ = (
        "gap"
        if proved
        else "iterations"
        if report.reason == "iterations"
        else ("gradient" if certificate is None else "precision")
    )
    model.stream_, model.received_, model.shrunk_ = [], None, None
    if report.interrupted:
        raise KeyboardInterrupt
    if not model.converged_:
        warn_unproved(model)

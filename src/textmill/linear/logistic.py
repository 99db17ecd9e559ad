"""Logistic regression with L1, L2 or both penalties: exact, certified, in memory, in chunks, on a cluster, in streams.

    minimize  sum_i s_i loss_i + l1 |w| + l2 / 2 |w|^2        two classes: loss = log(1 + exp(z)) - y z,  z = w . x + b
                                                              K classes:   loss = log sum_c exp(z_c) - z_y

The loss is a sum, so the penalties do not scale with the number of rows: l2 = 1 / C and l1 = 1 / C of LIBLINEAR. The
intercept b is free of penalty. `fit` minimizes to a duality gap of `tolerance`; `path` does so for a falling L1
penalty, each model begun with the last; `partial_fit` takes a stream once, by stochastic gradient.

| data | algorithm |
|---|---|
| a matrix, or texts | coordinate descent on working sets with L1, trust-region Newton without (solvers.py) |
| chunks, or `cluster=` | OWL-QN or L-BFGS over sums of chunks (chunked.py): the same model for any number of workers |
| a stream, `partial_fit` | stochastic gradient with cumulative L1 (native/linear/online.h) |

Cost: a few dozen visits of every entry. References: Yuan, Ho & Lin (2012); Lin, Weng & Keerthi (2008); Tibshirani et
al. (2012) for the strong rule; Tsuruoka, Tsujii & Ananiadou (2009).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from textmill._native import linear as native
from textmill.arrays import Floats
from textmill.corpus import NamedFeatures, csr_arrays
from textmill.errors import DataError, warn_caller
from textmill.linear.classifier import LinearClassifier, labels_of, row_weights
from textmill.linear.problem import Certificate, Penalty, Problem
from textmill.linear.solvers import Solution, minimize
from textmill.model import check_fitted, check_range, effective_jobs
from textmill.vectors import TextVectorizer

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["LogisticRegression", "NotConverged", "warn_unproved"]


class NotConverged(UserWarning):
    """Training ended before the duality gap was as small as `tolerance` asks for."""


class LogisticRegression(LinearClassifier):
    """A linear classifier with probabilities.

    Parameters:
        l1: L1 penalty, which sets weights to exactly zero; 0 for none.
        l2: L2 penalty; 0 for none. Both together are an elastic net.
        intercept: Whether each class has an intercept, free of penalty.
        class_weight: Weights of classes, a mapping from label to number, or "balanced" for n / (K n_c); None for 1.
        vectorizer: With it the model takes texts (`TextVectorizer`) or mappings from names to numbers
            (`NamedFeatures`); an unfitted one is copied and fitted by `fit`. None: only matrices are taken.
        tolerance: Duality gap, relative to the objective, that ends the training; without a penalty the share of the
            first slope that is left.
        max_iter: Iterations at most.
        learning_decay: Exponent of the rate of `partial_fit`, (learning_offset + t) ** -learning_decay.
        learning_offset: Offset of that rate.
        n_jobs: Threads; None for all cores. The model is the same for any number.

    Attributes:
        classes_: Labels, sorted, (K,).
        coef_: Weights, (1, m) for two classes (those of the second), else (K, m).
        intercept_: Intercepts, (1,) or (K,).
        vectorizer_: Fitted vectorizer, or None.
        objective_: Value of what was minimized.
        gap_: Bound on how far it is from the minimum, None after streams and without a penalty.
        n_iter_: Iterations, of a stream rows.
        converged_: Whether the tolerance was reached.
        stop_reason_: Why training ended: gap, gradient, precision, iterations or stream.
        trace_: Objective after each iteration.

    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0], [0.0, 3.0]])
    >>> model = LogisticRegression(l1=0.1, l2=0.0).fit(X, ["mill", "mill", "sea", "sea"])
    >>> model.predict([[1, 0], [0, 2]]).tolist(), int((model.coef_ != 0).sum())
    (['mill', 'sea'], 2)
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "received_": "output feature: float64 | None",
        "shrunk_": "feature: float64 | None",
    }
    state: ClassVar[dict[str, Any]] = {
        "objective_": float | None,
        "gap_": float | None,
        "n_iter_": int,
        "converged_": bool,
        "stop_reason_": str,
        "stream_": list,
    }

    objective_: float | None
    gap_: float | None
    n_iter_: int
    converged_: bool
    stop_reason_: str
    stream_: list[float]
    received_: Floats | None
    shrunk_: Floats | None
    trace_: list[float]

    def __init__(
        self,
        *,
        l1: float = 0.0,
        l2: float = 1.0,
        intercept: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        vectorizer: TextVectorizer | NamedFeatures | None = None,
        tolerance: float = 1e-4,
        max_iter: int = 1000,
        learning_decay: float = 0.5,
        learning_offset: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.l1 = l1
        self.l2 = l2
        self.intercept = intercept
        self.class_weight = class_weight
        self.vectorizer = vectorizer
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        start: LogisticRegression | None = None,
        cluster: str | Client | None = None,
    ) -> Self:
        """Learn from rows and labels.

        X is a matrix, documents or mappings for the vectorizer, or chunks: an iterable that can be read again of pairs
        (X, y) or triples (X, y, sample_weight), then y is None and no more than a chunk is in memory. `start` is a
        fitted model of the same columns to begin with. `cluster`, the address of a Dask scheduler or a client, lets its
        workers sum over the chunks; a matrix is cut into chunks for it.
        """
        self._check_parameters()
        if y is None or cluster is not None:
            from textmill.linear.chunked import fit_chunks

            fit_chunks(self, X, y, sample_weight, start=start, cluster=cluster)
            return self
        problem = self._problem(X, y, sample_weight)
        penalty = Penalty(float(self.l1), float(self.l2))
        self._take(minimize(problem, penalty, self._started(start, problem), **self._limits()))
        return self

    def path(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        steps: int = 10,
        ratio: float = 0.01,
        screen: bool = True,
    ) -> Iterator[LogisticRegression]:
        """Models along a path of L1 penalties, each begun where the last ended.

        The penalties fall from the smallest that leaves all weights at zero to `ratio` of it. With `screen`, columns
        are left out that the strong rule expects to stay at zero, |slope| < 2 l1 - (l1 of the last); each is looked at
        again when the others have converged, and taken in if the rule was wrong, so the models are those without it.

        >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0], [0.0, 3.0]])
        >>> [int((model.coef_ != 0).sum()) for model in LogisticRegression(l2=0).path(X, [0, 0, 1, 1], steps=3)]
        [0, 2, 2]
        """
        check_range("steps", steps, at_least=2, whole=True)
        check_range("ratio", ratio, above=0, below=1)
        self._check_parameters(l1=1.0)
        problem = self._problem(X, y, sample_weight)
        highest, run = _first_penalty(problem)
        before = highest
        for l1 in np.geomspace(highest, ratio * highest, steps):
            penalty = Penalty(float(l1), float(self.l2))
            run = (
                _screened(problem, penalty, before, run, self._limits())
                if screen
                else minimize(problem, penalty, run, **self._limits())
            )
            before = float(l1)
            model = type(self)(**{**self.get_params(deep=False), "l1": float(l1)})
            model.classes_, model.vectorizer_ = self.classes_, self.vectorizer_
            model._take(run)
            yield model

    def l1_max(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The smallest L1 penalty at which all weights are zero: the largest slope there.

        >>> LogisticRegression().l1_max(np.array([[1.0], [1.0], [0.0], [0.0]]), [1, 1, 0, 0])
        1.0
        """
        self._check_parameters()
        model = type(self)(**self.get_params(deep=False))  # another one: this may be fitted to other labels
        return _first_penalty(model._problem(X, y, sample_weight))[0]

    def certificate(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Certificate:
        """How far the weights are from the optimum on these rows: duality gap and violation of the conditions.

        >>> X, y = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0], [0.0, 3.0]]), [0, 0, 1, 1]
        >>> LogisticRegression(tolerance=1e-9).fit(X, y).certificate(X, y).relative_gap < 1e-8
        True
        """
        check_fitted(self)
        rows = self._rows(X)
        labels = labels_of(y, rows.shape[0], self.classes_)
        weights = row_weights(sample_weight, labels, self.classes_, self.class_weight)
        threads = effective_jobs(self.n_jobs)
        problem = Problem(rows, labels, len(self.classes_), weights, intercept=self.intercept, threads=threads)
        return problem.certificate(self.coef_, self.intercept_, Penalty(float(self.l1), float(self.l2)))

    def partial_fit(
        self, X: Any, y: Any, classes: Sequence[Any] | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Take one chunk of a stream, each row once, by stochastic gradient with a cumulative L1 penalty.

        `classes` are all labels of the stream; the first call needs them unless its rows have them all. Where a stream
        is cut into chunks makes next to no difference.
        """
        self._check_parameters()
        check_range("learning_decay", self.learning_decay, at_least=0, at_most=1)
        check_range("learning_offset", self.learning_offset, at_least=0)
        begun = self.__sklearn_is_fitted__() and self.received_ is not None
        if not begun:
            self._begin(X, y, classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise DataError(f"classes {sorted(set(classes))} are not those of the first call, {self.classes_.tolist()}")
        rows = self._rows(X, fitted=begun)
        labels = labels_of(y, rows.shape[0], self.classes_)
        weights = row_weights(sample_weight, labels, self.classes_, self.class_weight)
        if not begun:
            margins = 1 if len(self.classes_) == 2 else len(self.classes_)
            self.coef_, self.intercept_ = np.zeros((margins, rows.shape[1])), np.zeros(margins)
            self.received_, self.shrunk_ = np.zeros_like(self.coef_), np.zeros(rows.shape[1])
            self.stream_ = [0.0, 0.0, 0.0]
        self.make_writable()
        _, *self.stream_ = native.learn_rows(
            *csr_arrays(rows, np.float64), labels, weights, float(self.learning_offset), float(self.learning_decay),
            float(self.l1), float(self.l2), self.intercept, self.coef_, self.received_, self.shrunk_, self.intercept_,
            *self.stream_,
        )  # fmt: skip
        self.objective_, self.gap_, self.trace_ = None, None, []
        self.n_iter_, self.converged_, self.stop_reason_ = int(self.stream_[0]), False, "stream"
        return self

    def _check_parameters(self, l1: float | None = None) -> None:
        check_range("l1", self.l1 if l1 is None else l1, at_least=0, below=np.inf)
        check_range("l2", self.l2, at_least=0, below=np.inf)
        check_range("tolerance", self.tolerance, at_least=0)
        check_range("max_iter", self.max_iter, at_least=0, whole=True)

    def _limits(self) -> dict[str, Any]:
        return {"tolerance": float(self.tolerance), "max_iter": int(self.max_iter)}

    def _problem(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Problem:
        """The training data, once labels and vectorizer are learned from them."""
        rows = self._begin(X, y)
        labels = labels_of(y, rows.shape[0], self.classes_)
        weights = row_weights(sample_weight, labels, self.classes_, self.class_weight)
        threads = effective_jobs(self.n_jobs)
        return Problem(rows, labels, len(self.classes_), weights, intercept=self.intercept, threads=threads)

    def _started(self, start: LogisticRegression | None, problem: Problem) -> Solution | None:
        """The weights to begin with."""
        if start is None:
            return None
        check_fitted(start)
        if not np.array_equal(start.classes_, self.classes_) or start.coef_.shape[1] != problem.columns:
            raise DataError("start has other classes or columns than the data; pass a model of the same ones")
        return Solution(np.array(start.coef_), np.array(start.intercept_))

    def _take(self, run: Solution) -> None:
        """Become the model that a run found."""
        self.coef_, self.intercept_ = run.coef, run.intercept
        certificate = run.certificate
        self.objective_ = certificate.objective if certificate else run.trace[-1]
        self.gap_ = max(0.0, certificate.gap) if certificate and np.isfinite(certificate.gap) else None
        self.n_iter_, self.converged_, self.stop_reason_ = len(run.trace) - 1, run.converged, run.reason
        self.trace_ = run.trace
        self.stream_, self.received_, self.shrunk_ = [], None, None
        if not run.converged:
            warn_unproved(self)


def warn_unproved(model: LogisticRegression) -> None:
    """Say that training ended before its gap was small enough."""
    share = "" if model.gap_ is None or not model.objective_ else f" ({100 * model.gap_ / model.objective_:.2g}%)"
    gap = "" if model.gap_ is None else f" with the objective at most {model.gap_:.3g}{share} above the minimum"
    limit = f"max_iter={model.max_iter}" if model.stop_reason_ == "iterations" else "the precision of its numbers"
    remedy = "raise max_iter, " if model.stop_reason_ == "iterations" else "raise "
    warn_caller(f"training ended by {limit}{gap}; {remedy}tolerance or the penalty", NotConverged)


def _first_penalty(problem: Problem) -> tuple[float, Solution]:
    """The smallest penalty that leaves all weights at zero, and that model: intercepts alone."""
    run = Solution(np.zeros((problem.margins, problem.columns)), np.zeros(problem.margins))
    margin, residual = problem.margin(run.coef, run.intercept), np.empty((problem.margins, problem.rows))
    problem.loss(margin, residual)
    if problem.intercept:
        problem.settle_intercept(margin, residual, run.intercept)
    return float(np.abs(problem.slopes(residual)).max(initial=0.0)), run


def _screened(problem: Problem, penalty: Penalty, before: float, run: Solution, limits: dict[str, Any]) -> Solution:
    """Minimize over the columns that the strong rule leaves, until no other one violates its condition."""
    margin, residual = problem.margin(run.coef, run.intercept), np.empty((problem.margins, problem.rows))
    problem.loss(margin, residual)
    slopes = np.abs(problem.slopes(residual)).max(axis=0, initial=0.0)
    chosen = (slopes >= 2 * penalty.l1 - before) | (run.coef != 0).any(axis=0)
    while True:
        run = minimize(problem, penalty, run, candidates=np.flatnonzero(chosen).astype(np.int32), **limits)
        problem.loss(problem.margin(run.coef, run.intercept), residual)
        slopes = np.abs(problem.slopes(residual)).max(axis=0, initial=0.0)
        wrong = (slopes > penalty.l1) & ~chosen
        if not wrong.any():
            run.certificate = certificate = problem.certificate(run.coef, run.intercept, penalty)
            if certificate.relative_gap > limits["tolerance"] and run.reason == "gap":  # columns left out, just below
                return minimize(problem, penalty, run, **limits)
            return run
        chosen |= wrong

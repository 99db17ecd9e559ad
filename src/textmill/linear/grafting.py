"""Logistic regression over all products of two, three or d features, without listing them: grafting.

    phi_k(x) = x_j1 x_j2 ... x_jd          for every combination k of at most `degree` features that occur together
    minimize  sum_i s_i loss_i + l1 sum_k |w_k| + l2 / 2 sum_k w_k^2

    optimize the original features; H = those
    repeat:
        v_k = gradient of the likelihood, for every combination; those outside H with |v_k| > l1 violate optimality
        none: stop, the optimum over all combinations is reached
        H = H + violators (all of them, or the `batch` largest);  optimize over H, begun with the last weights.
        The first time those with |v_k| > 0.9 l1 join too: many of them violate once the others have weights

At the end |v_k| <= l1 for every combination outside H: those are the optimality conditions of the whole convex problem,
so the order of grafting does not matter. An L2 penalty beside a small L1 penalty gives many combinations small weights,
as a polynomial kernel does, where L1 alone picks few of those that say the same. The search
(native/linear/combinations.h) skips what bounds rule out; two independent ones give the same. With more than two
classes a combination is grafted for all classes at once.

Cost: a search visits the rows of combinations whose one-sided gradient exceeds l1, an optimization those of H.
Reference: Okanohara & Tsujii (2009), Learning combination features with L1 regularization.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from textmill._native import base
from textmill._native import linear as native
from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import NamedFeatures, check_bags, csr_arrays
from textmill.errors import DataError, ModelFileError, warn_caller
from textmill.linear.classifier import LinearClassifier, Weights, labels_of, row_weights
from textmill.linear.logistic import NotConverged
from textmill.linear.problem import Certificate, Penalty, Problem
from textmill.linear.solvers import Solution, minimize
from textmill.model import check_choice, check_fitted, check_range, effective_jobs
from textmill.vectors import TextVectorizer

__all__ = ["CombinationLogistic", "find_violators"]

_BY_COLUMNS = ("auto", "vertical")  # searches that read the rows by column
_METHODS = (*_BY_COLUMNS, "examples", "erasing")

_SLACK = 1e-5  # a gradient must exceed l1 by this share: the solver's own tolerance lies below
_ROUNDS = 1000
_MOST_SLACK = 1e-3
_NEAR = 0.9  # share of l1 that the gradients of the first round have: those near it violate optimality soon after
_FIRST = 1e-3  # tolerance of the first optimization; it falls by ten with each round
_GAP = 5e-5  # relative duality gap over all combinations that is asked for at the end
_FINEST = 1e-13
_MOST_GROWTH = 500.0  # logarithm of what values above 1 make of a feature in a combination
_NO_ARRAYS = np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0)


class CombinationLogistic(LinearClassifier):
    """A sparse logistic regression over combinations of features.

    Parameters:
        l1: L1 penalty of every weight, > 0; the loss is a sum over rows.
        l2: L2 penalty of every weight beside it.
        degree: Features in a combination at most; 1 for original features only.
        intercept: "penalized", as another feature that is always there; "free" of penalty; or "none".
        batch: Combinations grafted in one round at most, those of the largest gradients; None for all violators.
        method: Search for violators: "vertical", "examples" (Algorithm 2 of the paper), "erasing" (the same with less
            memory and a second pass), or "auto".
        class_weight: As for `LogisticRegression`.
        vectorizer: As for `LogisticRegression`.
        tolerance: Duality gap, relative to the objective, to which each round is optimized; an iteration that gains
            less than a tenth of it ends a round too. At the end the gap over all combinations is at most this, or 5e-5
            if that is more; if it is not, training warns.
        max_iter: Iterations of each optimization at most.
        n_jobs: Threads; the model is the same for any number.

    Attributes:
        classes_: Labels, sorted, (K,).
        combinations_: Features of each combination, rising, -1 behind the last, (A, degree).
        coef_: Weights, (1, A) for two classes, else (K, A).
        intercept_: Intercepts.
        n_features_: Columns of X.
        objective_, gap_: Objective, and how far it is at most from the minimum over all combinations.
        searches_: For each round a mapping: violators, grafted, visited, stored, objective.
        vectorizer_, n_iter_ (rounds), converged_, stop_reason_.

    >>> X, y = np.array([[0, 0], [1, 0], [0, 1], [1, 1]] * 10, dtype=float), [0, 1, 1, 0] * 10
    >>> model = CombinationLogistic(l1=1.0, degree=2, intercept="none").fit(X, y)
    >>> model.strongest(1).features, round(model.objective_, 4)
    (['0 & 1'], 20.1904)
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"combinations_": "feature degree: int32"}
    state: ClassVar[dict[str, Any]] = {
        "objective_": float,
        "gap_": float,
        "n_features_": int,
        "n_iter_": int,
        "converged_": bool,
        "stop_reason_": str,
        "searches_": list,
    }

    combinations_: Ids
    objective_: float
    gap_: float
    n_features_: int
    n_iter_: int
    converged_: bool
    stop_reason_: str
    searches_: list[dict[str, float]]

    def __init__(
        self,
        *,
        l1: float = 1.0,
        l2: float = 0.0,
        degree: int = 2,
        intercept: str = "penalized",
        batch: int | None = None,
        method: str = "auto",
        class_weight: Mapping[Any, float] | str | None = None,
        vectorizer: TextVectorizer | NamedFeatures | None = None,
        tolerance: float = 1e-7,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None:
        self.l1 = l1
        self.l2 = l2
        self.degree = degree
        self.intercept = intercept
        self.batch = batch
        self.method = method
        self.class_weight = class_weight
        self.vectorizer = vectorizer
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    @property
    def n_features_in_(self) -> int:
        """The number of columns, as scikit-learn asks for it."""
        check_fitted(self)
        return self.n_features_

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows and labels: original features first, then combinations until none violates optimality."""
        check_range("l1", self.l1, above=0, below=np.inf)
        self._grafting(X, y, sample_weight, float(self.l1)).run(self)
        return self

    def path(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        steps: int = 10,
        ratio: float = 0.01,
        values: Sequence[float] | None = None,
    ) -> Iterator[CombinationLogistic]:
        """Models along a path of L1 penalties, each begun with the weights and combinations of the last.

        The penalties are `values`, from the largest on, or `steps` of them from `l1_max` to `ratio` of it.

        >>> X, y = np.array([[0, 0], [1, 0], [0, 1], [1, 1]] * 10, dtype=float), [0, 1, 1, 0] * 10
        >>> model = CombinationLogistic(intercept="none")
        >>> [m.counts_by_degree() for m in model.path(X, y, values=[6.0, 4.0, 1.0])]
        [[0, 0], [0, 1], [2, 1]]
        """
        check_range("steps", steps, at_least=2, whole=True)
        check_range("ratio", ratio, above=0, below=1)
        if values is None:
            highest = self.l1_max(X, y, sample_weight)
            values = np.geomspace(highest, ratio * highest, steps).tolist()
        for l1 in values:
            check_range("values", l1, above=0, below=np.inf)
        grafting = self._grafting(X, y, sample_weight, min(map(float, values), default=1.0))
        run: Solution | None = None
        for l1 in sorted(map(float, values), reverse=True):
            model = type(self)(**{**self.get_params(deep=False), "l1": l1})
            model.classes_, model.vectorizer_, model.n_features_ = self.classes_, self.vectorizer_, self.n_features_
            grafting.penalty = Penalty(l1, float(self.l2))
            run = grafting.run(model, run)
            yield model

    def l1_max(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The smallest L1 penalty at which all weights are zero: the largest gradient of any combination there.

        >>> X, y = np.array([[0, 0], [1, 0], [0, 1], [1, 1]] * 10, dtype=float), [0, 1, 1, 0] * 10
        >>> CombinationLogistic(intercept="none").l1_max(X, y)
        5.0
        """
        model = type(self)(**self.get_params(deep=False))  # another one: this may be fitted to other labels
        return model._grafting(X, y, sample_weight, 0.0).highest_slope()

    def _grafting(self, X: Any, y: Any, sample_weight: ArrayLike | None, lowest: float) -> _Grafting:
        """The training data, once parameters are checked and labels and vectorizer are learned."""
        check_range("l2", self.l2, at_least=0, below=np.inf)
        check_range("degree", self.degree, at_least=1, at_most=16, whole=True)
        check_choice("intercept", self.intercept, ("penalized", "free", "none"))
        check_choice("method", self.method, _METHODS)
        check_range("tolerance", self.tolerance, at_least=0)
        check_range("max_iter", self.max_iter, at_least=0, whole=True)
        if self.batch is not None:
            check_range("batch", self.batch, at_least=1, whole=True)
        rows = self._begin(X, y)
        labels = labels_of(y, rows.shape[0], self.classes_)
        weights = row_weights(sample_weight, labels, self.classes_, self.class_weight)
        self.n_features_ = int(rows.shape[1])
        return _Grafting(self, rows, labels, weights, lowest)

    def strongest(self, k: int = 20) -> Weights:
        """Return the weights of largest size, of each class k, with the names of the features joined by " & "."""
        return super().strongest(k)

    def feature_names(self) -> list[str]:
        """Names of the combinations: those of their features, or numbers of columns, joined by " & "."""
        names = super().feature_names()
        return [
            " & ".join(str(j) if names is None else names[j] for j in row if j >= 0)
            for row in self.combinations_.tolist()
        ]

    def counts_by_degree(self) -> list[int]:
        """Return how many combinations of 1, 2, ... features the model has.

        >>> X, y = np.array([[0, 0], [1, 0], [0, 1], [1, 1]] * 10, dtype=float), [0, 1, 1, 0] * 10
        >>> CombinationLogistic(l1=1.0, intercept="none").fit(X, y).counts_by_degree()
        [2, 1]
        """
        check_fitted(self)
        sizes = (self.combinations_ >= 0).sum(axis=1)
        return [int((sizes == size).sum()) for size in range(1, self.combinations_.shape[1] + 1)]

    def conjunctions(self) -> native.Conjunctions:
        """The weights as native code scores rows by them."""
        check_fitted(self)
        return native.Conjunctions(self.combinations_, np.ascontiguousarray(self.coef_), self.n_features_)

    def check_values(self) -> None:
        """Check that every combination names columns of the model, in rising order."""
        parts = self.combinations_
        later = parts[:, 1:]
        right = (parts[:, 0] >= 0) & (parts < self.n_features_).all(axis=1)
        if not (right & ((later == -1) | ((later > parts[:, :-1]) & (parts[:, :-1] >= 0))).all(axis=1)).all():
            raise ModelFileError("'combinations_' has features that are out of range or not in order", reason="damaged")

    def _margins(self, rows: Any) -> Floats:
        """Margins x rows: only combinations of the model are looked at, along a tree of their features."""
        score = np.zeros((rows.shape[0], len(self.coef_)))
        native.score_rows(*csr_arrays(rows, np.float64), self.conjunctions(), score, effective_jobs(self.n_jobs))
        return np.ascontiguousarray(score.T) + self.intercept_[:, None]


class _Grafting:
    """One fit: rows, the combinations grafted so far, and the problem over their columns.

    Columns are those of X that matter, `useful`, then one of ones for a penalized intercept, then the combinations in
    the order of grafting. A residual lies between 0 and the weight of its row, on the side of its label, so the
    gradient of a feature is never above its sum of x over the rows of one label. Where that is at most `lowest`, the
    least penalty, the feature never has a weight, nor has a combination with it: rare features are left out, exactly.
    """

    def __init__(self, model: CombinationLogistic, rows: Any, labels: Ids, weights: Floats, lowest: float) -> None:
        self.method, self.batch, self.max_iter = model.method, model.batch, int(model.max_iter)
        self.degree, self.tolerance = int(model.degree), float(model.tolerance)
        self.bias = model.intercept == "penalized"
        self.penalty = Penalty(lowest, float(model.l2))
        self.slack = min(max(_SLACK, self.tolerance), _MOST_SLACK)
        self.jobs = effective_jobs(model.n_jobs)  # of the search, which may be long for few rows
        self.arrays, self.columns = csr_arrays(rows, np.float64), int(rows.shape[1])
        self.negative = bool(rows.nnz) and float(self.arrays[2].min()) < 0
        classes, free = len(model.classes_), model.intercept == "free"
        self.useful = self._possible(labels, classes, weights, lowest)
        self.problem = _Grown(
            rows, labels, classes, weights, intercept=free, threads=self.jobs, arrays=self.arrays, useful=self.useful
        )
        if self.method in _BY_COLUMNS:
            self.arrays = _NO_ARRAYS  # all is in the columns
        if self.bias:
            self.problem.add_ones()
        self.combinations = np.empty((0, self.degree), np.int32)
        self.grafted = self._keys(self.combinations)  # sorted
        self.residual = np.empty((self.problem.margins, self.problem.rows))

    def _possible(self, labels: Ids, classes: int, weights: Floats, lowest: float) -> Ids:
        """The features that may have a weight, or be in a combination that has one."""
        offsets, indices, values = self.arrays
        if lowest <= 0:
            return np.arange(self.columns, dtype=np.int32)
        sizes = np.abs(values) if self.negative else values
        growth = (self.degree - 1) * math.log(max(1.0, float(sizes.max(initial=0.0))))
        if growth > _MOST_GROWTH:
            return np.arange(self.columns, dtype=np.int32)
        bound, one = np.empty(self.columns), np.empty(self.columns)
        base.csr_transposed_vector(offsets, indices, sizes, self.columns, weights, bound, self.jobs)
        if classes == 2 and not self.negative:
            second = weights * (labels == 1)
            base.csr_transposed_vector(offsets, indices, sizes, self.columns, second, one, self.jobs)
            np.maximum(one, bound - one, out=bound)
        return np.flatnonzero(bound * (1 + 1e-9) > lowest * math.exp(-growth)).astype(np.int32)

    def highest_slope(self) -> float:
        """The largest gradient of a combination when all weights are zero."""
        problem = self.problem
        margin, intercept = np.zeros((problem.margins, problem.rows)), np.zeros(problem.margins)
        problem.loss(margin, self.residual)
        if problem.intercept:
            problem.settle_intercept(margin, self.residual, intercept)
        highest = float(np.abs(problem.slopes(self.residual)).max(initial=0.0))
        return max(highest, float(np.abs(self._search(highest)[1]).max(initial=0.0)))

    def run(self, model: CombinationLogistic, start: Solution | None = None) -> Solution:
        """Graft until no combination violates optimality; the model then has what was learned."""
        model.searches_ = []
        tolerance = max(_FIRST, self.tolerance)
        run = self._optimized(None if start is None else self._grown(start), tolerance)
        while True:
            near, gradient, visited, stored = self._violators(run)
            size = np.abs(gradient)
            count = int((size > self.penalty.l1 * (1 + self.slack)).sum())
            certificate = self._certificate(run, size)
            entry: dict[str, float] = {"violators": count, "visited": visited, "stored": stored}
            entry |= {"grafted": len(near), "objective": float(certificate.objective)}
            proved = certificate.relative_gap <= max(_GAP, self.tolerance)
            if not count and (tolerance > self.tolerance or not proved) and tolerance > _FINEST:
                tolerance = tolerance / 100 if tolerance <= self.tolerance else max(self.tolerance, tolerance / 100)
                run = self._optimized(run, tolerance)  # near enough for the search, not yet for the proof
                continue
            if not count or len(model.searches_) >= _ROUNDS:
                entry["grafted"] = 0
                model.searches_.append(entry)
                self._finish(model, run, certificate, count)
                return run
            if self.batch is not None and len(near) > self.batch:
                near = near[np.sort(np.argsort(-size, kind="stable")[: self.batch])]
                entry["grafted"] = len(near)
            model.searches_.append(entry)
            self._graft(near)
            run = self._grown(run)
            tolerance = max(self.tolerance, tolerance / 10)
            run = self._optimized(run, tolerance)

    def _optimized(self, start: Solution | None, tolerance: float) -> Solution:
        """The optimum over the combinations grafted so far."""
        self.residual = np.empty((0, 0))  # what the last one had is not needed any more
        return minimize(self.problem, self.penalty, start, tolerance=tolerance, max_iter=self.max_iter, proof=False)

    def _grown(self, run: Solution) -> Solution:
        """A solution with zero weights for the columns that came later."""
        coef = np.zeros((len(run.coef), self.problem.columns))
        coef[:, : run.coef.shape[1]] = run.coef
        return Solution(coef, run.intercept, margin=run.margin)

    def _violators(self, run: Solution) -> tuple[Ids, Floats, int, int]:
        """Combinations outside the model whose gradient exceeds the penalty, for any class; at first, or nearly so."""
        assert run.residual is not None
        assert run.margin is not None
        self.residual, self.most = run.residual, 1.0
        if self.problem.intercept:
            self.residual, self.most = self.problem.feasible(run.margin.copy(), run.residual.copy())
        near = _NEAR if self.batch is None and not len(self.grafted) else 1 + self.slack
        return self._search(self.penalty.l1 * near)

    def _search(self, threshold: float) -> tuple[Ids, Floats, int, int]:
        """Combinations outside the model with a gradient above the threshold at the residuals, for any class."""
        if self.degree == 1:
            return np.empty((0, 1), np.int32), np.empty(0), 0, 0
        parts = [self._violators_of(row, threshold) for row in self.residual]
        visits = sum(part[2] for part in parts), sum(part[3] for part in parts)
        if len(parts) == 1:  # already sorted, each once
            features, gradient = parts[0][:2]
        else:  # of every combination the class with the largest gradient
            features, gradient = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
            order = np.argsort(-np.abs(gradient), kind="stable")
            keys = self._keys(features[order])
            by_key = np.argsort(keys, kind="stable")
            first = np.ones(len(order), np.bool_)
            first[1:] = keys[by_key[1:]] != keys[by_key[:-1]]
            order = order[by_key[first]]
            features, gradient = features[order], gradient[order]
        new = ~self._is_grafted(features)
        return features[new], gradient[new], *visits

    def _violators_of(self, residual: Floats, threshold: float) -> tuple[Ids, Floats, int, int]:
        """Combinations of useful features with a gradient above the threshold, for one class."""
        if self.method in _BY_COLUMNS:
            answer = native.search_vertical(
                self.problem.design, len(self.useful), residual, threshold, self.degree, self.negative, self.jobs
            )
        else:
            as_given = np.empty_like(residual)
            as_given[self.problem.order] = residual
            answer = native.search_examples(
                *self.arrays, self.columns, as_given, threshold, self.degree, self.negative, self.method == "erasing"
            )
            there = answer[0] >= 0
            answer[0][there] = np.searchsorted(self.useful, answer[0][there])
        features, gradient, visited, stored = answer
        return features.reshape(-1, self.degree), gradient, visited, stored

    def _keys(self, combinations: Ids) -> Any:
        """Each combination as one value that sorts: a number, or where those do not suffice its bytes."""
        every = len(self.useful) + 1
        if every**self.degree < 1 << 63:
            keys = np.zeros(len(combinations), np.int64)
            for column in combinations.T:
                keys = keys * every + column + 1
            return keys
        names = (combinations + 1).astype(">i4")  # as bytes they sort like numbers
        return np.ascontiguousarray(names).view(f"V{4 * self.degree}").ravel()

    def _is_grafted(self, combinations: Ids) -> Any:
        """Which of them, sorted, are grafted already."""
        keys = self._keys(combinations)
        at = np.searchsorted(self.grafted, keys)
        mask = np.zeros(len(keys), np.bool_)
        inside = at < len(self.grafted)
        mask[inside] = self.grafted[at[inside]] == keys[inside]
        return mask

    def _graft(self, combinations: Ids) -> None:
        """Add the columns of combinations."""
        self.problem.graft(combinations)
        self.combinations = np.concatenate([self.combinations, combinations])
        self.grafted = np.sort(np.concatenate([self.grafted, self._keys(combinations)]))

    def _certificate(self, run: Solution, sizes: Floats) -> Certificate:
        """The certificate over the whole space, `sizes` being the gradients that were found outside the model."""
        inside = run.certificate
        assert inside is not None
        l1, l2 = self.penalty.l1, self.penalty.l2
        unseen = l1 * (1 + self.slack) if self.degree > 1 else 0.0  # what the search does not look for
        slopes = self.problem.slopes(self.residual).ravel()
        own = float(base.largest_magnitude(slopes)) if len(slopes) else 0.0
        highest = max(own, float(sizes.max(initial=0.0)), unseen)
        if l2 > 0:  # then |v| may exceed l1; of several classes a search tells the largest
            factor = min(self.most, 1 / (1 + self.slack) if self.degree > 1 else 1.0)
            excess = native.optimality(factor * slopes, run.coef.ravel(), l1, l2, self.problem.threads)[2]
            excess += self.problem.margins * float((np.maximum(factor * sizes - l1, 0.0) ** 2).sum())
            dual = self.problem.entropy(self.residual, factor) - excess / (2 * l2)
        else:
            factor = min(self.most, l1 / highest) if highest > 0 else self.most
            dual = self.problem.entropy(self.residual, factor)
        dual = max(dual, 0.0)
        return Certificate(inside.objective, dual, inside.violation, highest, inside.active)

    def _finish(self, model: CombinationLogistic, run: Solution, certificate: Certificate, violators: int) -> None:
        """Give the model what was learned; combinations of weight zero are left out."""
        originals = len(self.useful)
        coef, intercept = run.coef, run.intercept.copy()
        if self.bias:
            intercept = coef[:, originals].copy()
            coef = np.delete(coef, originals, axis=1)
        active = np.flatnonzero((coef != 0).any(axis=0))
        features = np.full((len(active), self.degree), -1, np.int32)
        single = active < originals
        features[single, 0] = active[single]
        features[~single] = self.combinations[active[~single] - originals]
        model.combinations_ = np.where(features < 0, -1, self.useful[features]).astype(np.int32)
        model.coef_, model.intercept_ = np.ascontiguousarray(coef[:, active]), intercept
        model.objective_, model.gap_ = certificate.objective, max(0.0, certificate.gap)
        model.n_iter_ = len(model.searches_)
        model.converged_ = certificate.relative_gap <= max(_GAP, self.tolerance) and not violators
        model.stop_reason_ = "gap" if model.converged_ else "precision" if run.converged else "iterations"
        if not model.converged_:
            rounding = model.stop_reason_ == "precision"
            limit = "the precision of its numbers" if rounding else f"max_iter={self.max_iter}"
            warn_caller(
                f"training ended by {limit} with the objective at most {model.gap_:.3g} above the minimum over all "
                "combinations; raise max_iter, tolerance or the penalty",
                NotConverged,
            )


class _Grown(Problem):
    """A problem over columns that become more; margins come from the columns that have weights.

    Rows come by their commonest column, `order`, and labels and weights with them.
    """

    def __init__(
        self,
        X: Any,
        labels: Ids,
        classes: int,
        weights: Floats,
        *,
        intercept: bool,
        threads: int,
        arrays: tuple[Ints, Ids, Floats],
        useful: Ids,
    ) -> None:
        self.order = native.rows_by_commonest_column(X.shape[1], *arrays[:2])
        labels, weights = labels[self.order], weights[self.order]
        super().__init__(X, labels, classes, weights, intercept=intercept, threads=threads, arrays=arrays)
        number = np.full(self.columns, -1, np.int32)
        number[useful] = np.arange(len(useful), dtype=np.int32)
        self.design = native.Design(self.columns, *arrays, self.threads, number, self.order)
        self.columns = len(useful)
        self.offsets, self.indices, self.values = _NO_ARRAYS

    def add_ones(self) -> None:
        self.design.add_ones()
        self.columns += 1

    def graft(self, combinations: Ids) -> None:
        self.design.graft(combinations, self.threads)
        self.columns += len(combinations)

    def margin(self, coef: Floats, intercept: Floats) -> Floats:
        out = np.empty((self.margins, self.rows))
        for c in range(self.margins):
            listed = np.flatnonzero(coef[c]).astype(np.int32)
            native.column_product(self.design, listed, coef[c, listed], out[c])
        return np.add(out, intercept[:, None], out=out)


def find_violators(
    X: Any, residual: Floats, threshold: float, degree: int, *, method: str = "auto", n_jobs: int | None = None
) -> tuple[Ids, Floats, int, int]:
    """All combinations of 2 to `degree` columns with |sum_i r_i phi(x_i)| > threshold.

    Returns their features (count, degree), -1 behind the last, their gradients, how many combinations were visited and
    how many candidates entered. Values outside [0, 1] are allowed; the bounds take the largest of each column.

    >>> from scipy.sparse import csr_matrix
    >>> X = csr_matrix(np.array([[1, 1, 1], [1, 1, 0]], dtype=float))
    >>> features, gradient, _, _ = find_violators(X, np.array([0.75, 0.5]), 1.0, 2)
    >>> features.tolist(), gradient.tolist()
    ([[0, 1]], [1.25])
    """
    rows = check_bags(X, negative=True)
    check_choice("method", method, _METHODS)
    if len(residual) != rows.shape[0]:
        raise DataError(f"X has {rows.shape[0]} rows but there are {len(residual)} residuals; pass one per row")
    arrays, columns, jobs = csr_arrays(rows, np.float64), rows.shape[1], effective_jobs(n_jobs)
    negative = bool(rows.nnz) and float(arrays[2].min()) < 0
    residual = np.ascontiguousarray(residual, np.float64)
    if method in _BY_COLUMNS:
        design = native.Design(columns, *arrays, jobs)
        answer = native.search_vertical(design, columns, residual, float(threshold), degree, negative, jobs)
    else:
        erasing = method == "erasing"
        answer = native.search_examples(*arrays, columns, residual, float(threshold), degree, negative, erasing)
    features, gradient, visited, stored = answer
    return features.reshape(-1, degree), gradient, visited, stored

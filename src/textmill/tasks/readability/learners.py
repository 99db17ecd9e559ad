"""Learners of levels over rows of features.

| kind | what it learns |
|---|---|
| logistic | p(level) by multinomial logistic regression with an L2 penalty |
| ordinal | p(level > g) for each g by logistic regression; p(level = g) by differences, clipped at 0 |
| svm | a support vector machine for each pair of levels, and a vote; p(level) by logistic regression on margins |
| ordinal-svm | p(level > g) for each g from a linear support vector machine, in the same way |
| regression | least squares to the number of the level, rounded and clipped |
| majority | the most frequent level |

Columns are centered and divided by their deviation in training; a missing value is the mean of training, a column
without any value is left out. C and gamma of `svm` are chosen on grids by cross-validation over groups of the training
rows, if they are not given, and so is the L2 penalty, by the likelihood of the rows that are held out; the strongest is
tried first, until two in a row bring nothing.

References: Frank & Hall (2001), A simple approach to ordinal classification; Platt (1999).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.linear import LeastSquares, LogisticRegression, PairwiseSVM
from textmill.model import Estimator, Model, check_choice, check_fitted
from textmill.optimize import sigmoid
from textmill.selection import deal_groups

__all__ = ["KINDS", "LevelLearner"]

KINDS = ("logistic", "ordinal", "svm", "ordinal-svm", "regression", "majority")
PENALTIES = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.01)  # the strongest first
_WORSE = 2  # penalties in a row without a gain that end the search
COSTS, GAMMAS = (0.1, 1.0, 10.0, 100.0), (0.1, 1.0)  # gamma times the number of columns
_INNER = 5  # folds of choices


class LevelLearner(Estimator, Model):
    """Learn levels, 0 to L - 1, from rows.

    Parameters:
        kind: logistic, ordinal, svm, ordinal-svm, regression or majority.
        l2: L2 penalty of logistic and ordinal; None chooses it by cross-validation.
        kernel: Kernel of svm: "rbf" or "linear".
        cost: Price of an error of svm and ordinal-svm; None chooses it by cross-validation.
        gamma: Factor of the squared distance in rbf, times the number of columns; None chooses it by cross-validation.
        random_state: Seed of folds.
        n_jobs: Threads; None for all cores.

    Attributes:
        mean_, scale_: Mean and deviation of each column in training; NaN for one without values.
        coef_, intercept_: Weights, a row for each level (logistic, svm over margins), threshold or the regression.
        svm_: The machines of svm, else None.
        l2_, cost_, gamma_: What was given or chosen.

    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> LevelLearner().fit(X, [0, 0, 0, 1, 1, 1]).predict(X).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "mean_": "column",
        "scale_": "column",
        "coef_": "output weight",
        "intercept_": "output",
        "prior_": "level",
    }
    state: ClassVar[dict[str, Any]] = {"l2_": float, "cost_": float, "gamma_": float}
    parts: ClassVar[dict[str, str]] = {"svm_": "linear.PairwiseSVM"}

    mean_: Floats
    scale_: Floats
    coef_: Floats
    intercept_: Floats
    prior_: Floats
    l2_: float
    cost_: float
    gamma_: float
    svm_: PairwiseSVM | None

    def __init__(
        self,
        *,
        kind: str = "logistic",
        l2: float | None = None,
        kernel: str = "rbf",
        cost: float | None = None,
        gamma: float | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.kind = kind
        self.l2 = l2
        self.kernel = kernel
        self.cost = cost
        self.gamma = gamma
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, groups: Sequence[Any] | None = None) -> Self:
        """Learn from rows and levels; rows of one group stay together in folds of choices."""
        check_choice("kind", self.kind, KINDS)
        check_choice("kernel", self.kernel, ("rbf", "linear"))
        rows, level = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.int64)
        if len(rows) != len(level) or not len(rows):
            raise DataError(f"there are {len(rows)} rows but {len(level)} levels; pass one for each row")
        counts = np.bincount(level)
        if (counts > 0).sum() < 2:
            raise DataError("all texts have the same level; pass texts of at least two")
        there = ~np.isnan(rows).all(axis=0)
        self.mean_ = np.full(rows.shape[1], np.nan)
        self.mean_[there] = np.nanmean(rows[:, there], axis=0)
        self.scale_ = np.ones(rows.shape[1])
        self.scale_[there] = np.nanstd(rows[:, there], axis=0)
        self.scale_[self.scale_ < 1e-12] = 1.0
        self.prior_ = counts / counts.sum()
        if not there.any() and self.kind != "majority":
            raise DataError("no feature has a value in any text; annotate the texts, or choose other features")
        Z = self._rows(rows)
        own = list(range(len(rows))) if groups is None else list(groups)
        self.svm_, self.l2_, self.cost_, self.gamma_ = None, 0.0, 0.0, 0.0
        self.coef_, self.intercept_ = np.zeros((1, Z.shape[1])), np.zeros(1)
        if self.kind in ("logistic", "ordinal"):
            self.l2_ = self._chosen_l2(Z, level, own) if self.l2 is None else float(self.l2)
            self.coef_, self.intercept_ = self._weights(Z, level, self.l2_)
        elif self.kind == "regression":
            least = LeastSquares(n_jobs=self.n_jobs).fit(Z, level.astype(np.float64))
            self.coef_, self.intercept_ = least.coef_[None, :], np.array([least.intercept_])
        elif self.kind != "majority":
            self._fit_machines(Z, level, own)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each level, (rows, L); of regression and majority 1 for the answer."""
        check_fitted(self)
        Z = self._rows(np.asarray(X, dtype=np.float64))
        levels = len(self.prior_)
        if self.kind in ("regression", "majority"):
            answer = self._nearest(Z) if self.kind == "regression" else np.full(len(Z), int(self.prior_.argmax()))
            return np.asarray(np.eye(levels)[answer])
        if self.svm_ is not None:
            Z = self.svm_.decision_values(Z)
        margins = Z @ self.coef_.T + self.intercept_
        if self.kind in ("logistic", "svm"):
            odds = np.exp(margins - margins.max(axis=1, keepdims=True))
            return np.asarray(odds / odds.sum(axis=1, keepdims=True))
        above = np.hstack([np.ones((len(Z), 1)), sigmoid(margins), np.zeros((len(Z), 1))])
        shares = np.maximum(-np.diff(above, axis=1), 0.0)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> Ints:
        """Return the level of each row."""
        check_fitted(self)
        Z = np.asarray(X, dtype=np.float64)
        if self.svm_ is not None:
            return np.asarray(self.svm_.predict(self._rows(Z)), dtype=np.int64)
        return np.asarray(self.predict_proba(Z).argmax(axis=1))

    def expected(self, X: Any) -> Floats:
        """Return the mean of the levels by their probabilities, of regression its value."""
        check_fitted(self)
        if self.kind == "regression":
            Z = self._rows(np.asarray(X, dtype=np.float64))
            return np.asarray(np.clip(Z @ self.coef_[0] + self.intercept_[0], 0, len(self.prior_) - 1))
        return np.asarray(self.predict_proba(X) @ np.arange(len(self.prior_)))

    def shares(self, X: Any) -> Floats:
        """Return what each column adds to the expected level of each row, of a linear kind; (rows, columns).

        Weights of levels are taken as their covariance with the level, at the probabilities of the row.
        """
        check_fitted(self)
        if self.kind in ("svm", "majority"):
            raise DataError(
                f"a learner of kind {self.kind!r} has no weights; train one of logistic, ordinal, regression"
            )
        Z = self._rows(np.asarray(X, dtype=np.float64))
        used = np.flatnonzero(~np.isnan(self.mean_))
        out = np.zeros((len(Z), len(self.mean_)))
        if self.kind == "regression":
            out[:, used] = Z * self.coef_[0]
            return out
        if self.kind == "logistic":
            p = self.predict_proba(X)
            number = np.arange(p.shape[1])
            slope = p * (number - (p @ number)[:, None])  # of the expected level by each margin
        else:
            margins = Z @ self.coef_.T + self.intercept_
            above = sigmoid(margins)
            slope = above * (1 - above)
        out[:, used] = Z * (slope @ self.coef_)
        return out

    def _rows(self, X: Floats) -> Floats:
        if X.ndim != 2 or X.shape[1] != len(self.mean_):
            raise DataError(f"rows have {X.shape[-1]} columns, the learner was trained on {len(self.mean_)}")
        used = ~np.isnan(self.mean_)
        Z = (X[:, used] - self.mean_[used]) / self.scale_[used]
        return np.asarray(np.where(np.isnan(Z), 0.0, Z))

    def _nearest(self, Z: Floats) -> Ints:
        value = Z @ self.coef_[0] + self.intercept_[0]
        return np.asarray(np.clip(np.rint(value), 0, len(self.prior_) - 1), dtype=np.int64)

    def _logistic(self, X: Floats, y: Any, l2: float) -> tuple[Floats, Floats]:
        """Weights and intercepts, a row for each class, or one row for the second of two."""
        model = LogisticRegression(l2=l2, n_jobs=self.n_jobs).fit(X, y)
        return np.array(model.coef_), np.array(model.intercept_)

    def _weights(self, Z: Floats, level: Ints, l2: float) -> tuple[Floats, Floats]:
        levels = len(self.prior_)
        if self.kind == "ordinal":
            fitted = [self._threshold(Z, level > g, l2) for g in range(levels - 1)]
            return np.vstack([coef for coef, _ in fitted]), np.concatenate([own for _, own in fitted])
        present = np.unique(level)
        coef, intercept = self._logistic(Z, level, l2)
        if len(present) == 2:
            coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.concatenate([[0.0], intercept])
        full, base = np.zeros((levels, Z.shape[1])), np.full(levels, -1e3)  # a level without rows
        full[present], base[present] = coef, intercept
        return full, base

    def _threshold(self, Z: Floats, above: Any, l2: float) -> tuple[Floats, Floats]:
        if above.all() or not above.any():
            return np.zeros((1, Z.shape[1])), np.array([500.0 if above.all() else -500.0])
        return self._logistic(Z, above.astype(np.int64), l2)

    def _parts(self, level: Ints, groups: list[Any]) -> Iterator[tuple[Any, Any]]:
        """Training and held-out rows of inner folds; folds without all levels in training are left out."""
        folds = min(_INNER, len(set(groups)))
        if folds < 2:
            return
        fold = deal_groups(groups, folds, random_state=self.random_state)
        for k in range(folds):
            if len(np.unique(level[fold != k])) == len(np.unique(level)):
                yield fold != k, fold == k

    def _chosen_l2(self, Z: Floats, level: Ints, groups: list[Any]) -> float:
        """The penalty with the highest likelihood of rows that were held out; without folds 1."""
        parts = list(self._parts(level, groups))
        best, chosen, worse = -np.inf, 1.0, 0
        for l2 in PENALTIES if parts else ():
            score = 0.0
            for inside, outside in parts:
                one = LevelLearner(**{**self.get_params(deep=False), "l2": l2}).fit(Z[inside], level[inside])
                p = one.predict_proba(Z[outside])[np.arange(int(outside.sum())), level[outside]]
                score += float(np.log(np.maximum(p, 1e-12)).sum())
            if score > best:
                best, chosen, worse = score, l2, 0
            elif (worse := worse + 1) == _WORSE:
                break
        return chosen

    def _machine(self, cost: float, gamma: float, columns: int) -> PairwiseSVM:
        kernel = "linear" if self.kind == "ordinal-svm" else self.kernel
        return PairwiseSVM(kernel=kernel, cost=cost, gamma=gamma / columns, n_jobs=self.n_jobs)

    def _fit_machines(self, Z: Floats, level: Ints, groups: list[Any]) -> None:
        parts = list(self._parts(level, groups))
        linear = self.kind == "ordinal-svm" or self.kernel == "linear"
        gammas = (1.0,) if linear else GAMMAS if self.gamma is None else (float(self.gamma),)
        grid = list(product(COSTS if self.cost is None else (float(self.cost),), gammas))
        scores = np.zeros(len(grid))
        for at, (cost, gamma) in enumerate(grid if len(grid) > 1 else ()):
            for inside, outside in parts:
                fitted = self._machine(cost, gamma, Z.shape[1]).fit(Z[inside], level[inside])
                scores[at] += (fitted.predict(Z[outside]) == level[outside]).sum()
        self.cost_, self.gamma_ = grid[int(scores.argmax())]
        targets = [level] if self.kind == "svm" else [(level > g).astype(np.int64) for g in range(len(self.prior_) - 1)]
        coefs, intercepts = [], []
        for target in targets:
            if len(np.unique(target)) < 2:
                raise DataError("a level between others has no texts; pass texts of every level")
            machine = self._machine(self.cost_, self.gamma_, Z.shape[1]).fit(Z, target)
            margins, right = self._held_out_margins(Z, target, parts)
            coef, intercept = self._logistic(margins, right, 1.0)
            if self.kind == "svm":
                self.svm_ = machine
                if len(coef) == 1:
                    coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.concatenate([[0.0], intercept])
                self.coef_, self.intercept_ = coef, intercept
            else:
                weights: Any = machine.coef_
                coefs.append(coef[0, 0] * weights[0])
                intercepts.append(coef[0, 0] * float(machine.intercept_[0]) + intercept[0])
        if self.kind == "ordinal-svm":
            self.coef_, self.intercept_ = np.vstack(coefs), np.array(intercepts)

    def _held_out_margins(self, Z: Floats, target: Ints, parts: list[tuple[Any, Any]]) -> tuple[Floats, Ints]:
        rows, labels = [], []
        for inside, outside in parts:
            if len(np.unique(target[inside])) == len(np.unique(target)):
                machine = self._machine(self.cost_, self.gamma_, Z.shape[1]).fit(Z[inside], target[inside])
                rows.append(machine.decision_values(Z[outside]))
                labels.append(target[outside])
        if not rows or len(np.unique(np.concatenate(labels))) < len(np.unique(target)):
            machine = self._machine(self.cost_, self.gamma_, Z.shape[1]).fit(Z, target)
            return machine.decision_values(Z), target
        return np.vstack(rows), np.concatenate(labels)

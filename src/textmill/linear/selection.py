"""The penalty of a logistic regression, with combinations of features or without, by cross-validation or on dev data.

Rows are dealt into folds, class by class, in a seeded order. For every fold a model is trained on the others for each
penalty, from the largest to the smallest, each begun with the last, and scored on the fold:

    score(l) = mean over rows of log p(y | x)          or the share of right labels

With development data of the caller there is one fold, those data. `tuned_logistic` chooses an L2 penalty by both, and
whether there is an intercept, with the one-standard-error rule of Breiman et al. (1984) on rows that only one of two
models labels rightly; of many rows a part is left out, and 20,000 are looked at.

Cost: folds x penalties trainings, most of them short. References: Stone (1974); Breiman et al. (1984).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError
from textmill.linear.classifier import classes_of, labels_of, row_weights
from textmill.linear.grafting import CombinationLogistic
from textmill.linear.logistic import LogisticRegression, NotConverged
from textmill.model import check_choice, check_range
from textmill.model.estimators import constructor_parameters
from textmill.progress import track
from textmill.tables import Table

__all__ = ["PenaltyScores", "choose_penalty", "tuned_logistic"]

_RIDGES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # for rows of length 1
_MIDDLE = 7  # of them where the search begins, and where there are too few rows to leave any out
_CLEARLY = 1.5  # standard errors by which the other choice of intercept must have more right labels
_LEANING = 1e-9  # share of the log prior that is enough to break ties
_ALIKE = 1e-6  # relative difference of the squared lengths of rows that have one length
_FOLDS = ((500, 5), (2000, 3))  # folds for so many rows at most; of more rows a quarter is left out once
_MOST_ROWS = 20_000  # that a penalty is chosen by,
_MOST_MARGINS = 200_000  # of all classes together
_ROUGH = 1e-2  # tolerance of the models that are compared


class PenaltyScores(Table):
    """Scores of penalties: mean over the folds and its standard error; `best` is the penalty of the best mean.

    `sparsest` is the largest penalty whose mean is within one standard error of the best.
    """

    def __init__(self, penalties: Floats, scores: Floats) -> None:
        self.penalties, self.scores = penalties, scores
        self.means = scores.mean(axis=0)
        several = len(scores) > 1  # of one set of development data there is no error to speak of
        self.errors = scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if several else np.zeros(scores.shape[1])

    @property
    def best(self) -> float:
        """The penalty with the best mean score."""
        return float(self.penalties[int(np.argmax(self.means))])

    @property
    def sparsest(self) -> float:
        """The largest penalty that is not worse than the best by more than a standard error."""
        top = int(np.argmax(self.means))
        return float(self.penalties[self.means >= self.means[top] - self.errors[top]].max())

    def columns(self) -> dict[str, Any]:
        """Return penalty, score and standard error."""
        return {"penalty": self.penalties, "score": self.means, "error": self.errors}


def choose_penalty(
    model: LogisticRegression | CombinationLogistic,
    X: Any,
    y: Any,
    *,
    X_dev: Any = None,
    y_dev: Any = None,
    penalty: str = "l1",
    values: Sequence[float] | None = None,
    n_folds: int = 5,
    score: str | Callable[[Any, Any, Ids], float] = "likelihood",
    random_state: int = 0,
) -> PenaltyScores:
    """Score values of a penalty, "l1" or "l2", by cross-validation; the model itself is not changed.

    With `X_dev` and `y_dev` the models are trained on all of X and scored on those. `values` are 10 from the largest
    that matters (`l1_max`) to a hundredth of it when they are not given, or for l2 from 100 to 0.01. `score` is
    "likelihood", "accuracy", or a function of a model, rows and their labels as numbers of sorted classes.

    >>> X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]] * 5)
    >>> choose_penalty(LogisticRegression(), X, [1, 1, 0, 0] * 5, penalty="l2", values=[100.0, 0.1], n_folds=4).best
    0.1
    """
    check_choice("penalty", penalty, ("l1", "l2"))
    if isinstance(score, str):
        check_choice("score", score, ("likelihood", "accuracy"))
    check_range("n_folds", n_folds, at_least=2, whole=True)
    fresh = type(model)(**{name: getattr(model, name) for name in constructor_parameters(type(model))})
    rows = fresh._begin(X, y)
    classes = classes_of(y)
    labels = labels_of(y, rows.shape[0], classes)
    if values is None:
        highest = fresh.l1_max(rows, labels) if penalty == "l1" else 100.0
        values = np.geomspace(highest, highest * (1e-2 if penalty == "l1" else 1e-4), 10).tolist()
    grid = np.sort(np.asarray(values, dtype=np.float64))[::-1]
    plain = type(model)(**{**fresh.get_params(deep=False), "vectorizer": None})
    if X_dev is not None:
        dev = fresh._rows(X_dev, fitted=False)
        if dev.shape[1] != rows.shape[1]:
            raise DataError(f"X_dev has {dev.shape[1]} columns, X has {rows.shape[1]}; give both the same")
        parts = [(rows, labels, dev, labels_of(y_dev, dev.shape[0], classes))]
    else:
        folds = _folds(labels, n_folds, random_state)
        parts = [(rows[folds != k], labels[folds != k], rows[folds == k], labels[folds == k]) for k in range(n_folds)]
    scores = np.empty((len(parts), len(grid)))
    for fold, (X_in, y_in, X_out, y_out) in enumerate(track(parts, "folds")):
        for k, fitted in enumerate(_along(plain, X_in, y_in, penalty, grid)):
            if callable(score):
                scores[fold, k] = score(fitted, X_out, y_out)
            elif score == "accuracy":
                scores[fold, k] = fitted.score(X_out, y_out)
            else:
                scores[fold, k] = fitted.predict_log_proba(X_out)[np.arange(len(y_out)), y_out].mean()
    return PenaltyScores(grid, scores)


def tuned_logistic(model: LogisticRegression, X: Any, y: Any, *, random_state: int = 0) -> LogisticRegression:
    """Return a copy of the model, fitted with the L2 penalty that predicts left-out rows best.

    Of the penalties with as many right labels as the best, but for one standard error, that of the best likelihood is
    taken. They are 10 to 0.001, times the power of ten that is nearest to the mean squared length of a row. Where rows
    have one length, as weighted texts do, the model has no intercept, and else it has one, unless clearly more labels
    (by 1.5 standard errors) are right the other way: a free intercept lets rare classes go. Without one, rows that have
    no known features get the commonest label. Rows count as `class_weight` says.

    >>> X, y = np.array([[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]] * 5), list("aabb") * 5
    >>> tuned_logistic(LogisticRegression(), X, y).score(X, y)
    1.0
    """
    fresh = type(model)(**{name: getattr(model, name) for name in constructor_parameters(type(model))})
    rows = fresh._begin(X, y)
    labels = labels_of(y, rows.shape[0], fresh.classes_)
    trials = _Trials(fresh, rows, labels, random_state)
    unit, one_length = _lengths(rows)
    penalties = [float(f"{unit * l2:g}") for l2 in _RIDGES]
    best, intercept = penalties[_MIDDLE], bool(fresh.intercept)
    if trials.folds:
        intercept = intercept and not one_length
        chosen = _chosen(trials.path(penalties, intercept))
        if fresh.intercept:
            other = trials.outcome(chosen.l2, not intercept)
            if other.gain(chosen) > _CLEARLY * other.error(chosen):
                intercept, chosen = not intercept, _chosen(trials.path(penalties, not intercept))
        best = chosen.l2
    parameters = {**fresh.get_params(deep=False), "l2": best, "intercept": intercept, "vectorizer": fresh.vectorizer_}
    fitted = _leaning(type(model)(**parameters).fit(rows, y), np.bincount(labels))
    fitted.vectorizer = model.vectorizer
    return fitted


def _leaning(model: LogisticRegression, counts: Any) -> LogisticRegression:
    """The model, which where it has no intercept gives rows without known features the commonest label."""
    if not model.intercept:
        share = _LEANING * np.log(counts / counts.sum())
        model.intercept_ = share[1:] - share[:1] if len(counts) == 2 else share
    return model


def _lengths(rows: Any) -> tuple[float, bool]:
    """The power of ten nearest to the mean squared length of a row, and whether all rows have one length."""
    square = np.asarray(csr_matrix(rows).multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    square = square[square > 0]
    if not len(square):
        return 1.0, True
    low, high = np.log10(np.finfo(float).tiny) / 2, np.log10(np.finfo(float).max) / 2
    unit = 10.0 ** float(np.clip(np.round(np.log10(square.mean())), low, high))
    return unit, bool(square.max() <= square.min() * (1 + _ALIKE))


@dataclass(slots=True)
class _Outcome:
    """How models of one penalty predict left-out rows: what the rows with the right label weigh, and likelihood."""

    l2: float
    right: Floats
    likelihood: float

    def gain(self, other: _Outcome) -> float:
        """By how much more rows have the right label here."""
        return float((self.right - other.right).sum())

    def error(self, other: _Outcome) -> float:
        """The standard error of that: only rows count of which one model is right."""
        return float(np.sqrt(((self.right - other.right) ** 2).sum()))


def _chosen(path: Sequence[_Outcome]) -> _Outcome:
    """The outcome of best likelihood of those that have the most right labels but for a standard error."""
    top = max(path, key=lambda outcome: (float(outcome.right.sum()), outcome.likelihood))
    near = [outcome for outcome in path if outcome.gain(top) >= -outcome.error(top)]
    return max(near, key=lambda outcome: outcome.likelihood)


class _Trials:
    """Models on parts of the rows, each begun with that of the last penalty, and how they predict the others."""

    def __init__(self, model: LogisticRegression, rows: Any, labels: Ids, seed: int) -> None:
        most = max(_MOST_MARGINS // len(model.classes_), 1000)
        order = np.random.default_rng(seed).permutation(len(labels))[: min(most, _MOST_ROWS)]
        rows, labels = rows[order], labels[order]
        weights = row_weights(None, labels, model.classes_, model.class_weight)
        count = next((folds for most, folds in _FOLDS if len(labels) <= most), 4)
        place = np.empty(len(labels), np.int64)
        for c in range(len(model.classes_)):  # class by class, so that every fold has its share
            members = np.flatnonzero(labels == c)
            place[members] = np.arange(len(members)) % count
        self.folds = [
            (rows[place != k], labels[place != k], rows[place == k], labels[place == k], weights[place == k])
            for k in range(count if count != 4 else 1)
            if len(np.unique(labels[place != k])) > 1 and (place == k).any()
        ]
        parameters = {**model.get_params(deep=False), "vectorizer": None, "tolerance": _ROUGH}
        self.kind, self.parameters = type(model), parameters
        self.last: list[LogisticRegression | None] = [None] * len(self.folds)

    def path(self, penalties: Sequence[float], intercept: bool) -> list[_Outcome]:
        """Outcomes from the middle on, downwards and upwards, until labels and likelihood both get worse."""
        middle = self.outcome(penalties[_MIDDLE], intercept)
        outcomes, begin = [middle], self.last.copy()
        for part in (penalties[_MIDDLE + 1 :], penalties[:_MIDDLE][::-1]):
            self.last, before = begin.copy(), middle
            for l2 in part:
                outcomes.append(now := self.outcome(l2, intercept))
                if now.gain(before) < 0 and now.likelihood < before.likelihood:
                    break
                before = now
        return outcomes

    def outcome(self, l2: float, intercept: bool) -> _Outcome:
        """Train on each part, and predict what it leaves out; rows of classes that it lacks have no likelihood."""
        right, likelihood = [], 0.0
        for k, (X, y, X_out, y_out, weights) in enumerate(self.folds):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotConverged)
                model = self.kind(**{**self.parameters, "l2": l2, "intercept": intercept})
                model = _leaning(model.fit(X, y, start=self.last[k]), np.unique(y, return_counts=True)[1])
                self.last[k] = model
            log_p = model.predict_log_proba(X_out)
            right.append(weights * (model.classes_[log_p.argmax(axis=1)] == y_out))
            at = np.minimum(np.searchsorted(model.classes_, y_out), len(model.classes_) - 1)
            seen = model.classes_[at] == y_out
            likelihood += float((weights * log_p[np.arange(len(at)), at])[seen].sum())
        return _Outcome(l2, np.concatenate(right), likelihood)


def _along(
    model: LogisticRegression | CombinationLogistic, X: Any, y: Any, penalty: str, grid: Floats
) -> Iterator[LogisticRegression | CombinationLogistic]:
    """Models for falling penalties, each begun with the last."""
    if isinstance(model, CombinationLogistic):
        if penalty == "l1":
            yield from model.path(X, y, values=grid.tolist())
        else:
            yield from (type(model)(**{**model.get_params(deep=False), "l2": float(l2)}).fit(X, y) for l2 in grid)
        return
    start: LogisticRegression | None = None
    for value in grid:
        start = type(model)(**{**model.get_params(deep=False), penalty: float(value)}).fit(X, y, start=start)
        yield start


def _folds(labels: Any, n_folds: int, seed: int) -> Ints:
    """The fold of each row, every class spread evenly."""
    order = np.random.default_rng(seed).permutation(len(labels))
    folds = np.empty(len(labels), np.int64)
    for c in np.unique(labels):
        members = order[labels[order] == c]
        if len(members) < n_folds:
            raise DataError(f"a class has {len(members)} rows for {n_folds} folds; pass fewer folds or more rows")
        folds[members] = np.arange(len(members)) % n_folds
    return folds

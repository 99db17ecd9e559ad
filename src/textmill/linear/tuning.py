"""A logistic regression for data of which nothing is known: penalty, intercept and weights of classes by left-out rows.

Rows are dealt into parts, class by class; of many rows one part is left out once, and at most 20,000 are looked at. For
each L2 penalty of a path, from its middle outwards, a model is trained on the others and predicts what was left out
(without the words that only those rows have, as new texts are):

    right(m)      = which rows have the right label               likelihood(m) = sum of log p(y | x)
    error(m, n)   = sqrt(rows of which only one model is right)    the standard error of their difference

Of the penalties with as many right labels as the best, but for one error, that of the best likelihood is taken. Two
more choices follow, each made the other way only where clearly more labels are right: whether there is an intercept,
and whether rows weigh as much as their class is rare, n / (K n_c). Where all rows have one length, as weighted texts
have, the begin is without the one and with the other: a word that only a rare class has is seldom in the other rows,
so a weight on those few costs nothing, and an intercept lets rare classes go. Elsewhere classes overlap, and it is the
other way round.

At the end all weights get one factor, that of the best likelihood of left-out rows: no label changes, and probabilities
mean what they say where a large penalty finds the labels best.

With an L2 penalty alone the columns that occur in one row only may be turned within the space that they span, which
leaves one column of them for each row: half of the words of a text collection. The optimum is the same.

Cost: about six trainings, most of them rough. References: Stone (1974); Breiman et al. (1984), the one-standard-error
rule; King & Zeng (2001), Logistic regression in rare events data.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from textmill.arrays import Floats, Ids
from textmill.linear.classifier import labels_of, row_weights
from textmill.linear.logistic import LogisticRegression, NotConverged
from textmill.model.estimators import constructor_parameters
from textmill.numeric import special

__all__ = ["tuned_logistic"]

_RIDGES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # for rows of length 1
_SMALLER = (1e-4, 1e-5, 1e-6, 1e-7)  # where columns may be measured in units of their own
_MIDDLE = 7  # of them where the search begins, and where there are too few rows to leave any out
_CLEARLY = 1.5  # standard errors by which the other choice must have more right labels
_DOUBT = 1.0  # of a log likelihood that is no reason for penalties near zero, as where rows can be separated
_LEANING = 1e-9  # share of the log prior that is enough to break ties
_ALIKE = 1e-6  # relative difference of the squared lengths of rows that have one length
_EVEN = 1.25  # rows of the largest class for one of the smallest up to which weights of classes make no difference
_FOLDS = ((500, 5), (2000, 3))  # folds for so many rows at most; of more rows a quarter is left out once
_MOST_ROWS = 20_000  # that a penalty is chosen by,
_MOST_MARGINS = 200_000  # of all classes together
_FIRMER = 10.0  # times the penalty with which classes are told from the rest to begin with
_WIDEST = 4.0  # logarithm of the largest factor of margins
_ROUGH = 1e-3  # tolerance of the models that are compared


def tuned_logistic(model: LogisticRegression, X: Any, y: Any, *, random_state: int = 0) -> LogisticRegression:
    """Return a copy of the model, fitted with the L2 penalty that predicts left-out rows best.

    Of the penalties with as many right labels as the best, but for one standard error, that of the best likelihood is
    taken. They are 10 to 0.001, times the power of ten that is nearest to the mean squared length of a row. Where rows
    have one length, as weighted texts do, the model has no intercept and balanced classes, and else the other way
    round, unless clearly more labels (by 1.5 standard errors) are right with another choice. Without an intercept rows
    that have no known features get the commonest label. With a `class_weight` of the model that one is kept, and rows
    count as it says. Weights are those of the optimum, `objective_` and `gap_` say how near, times the factor with
    which left-out rows are likeliest; it changes no label.

    >>> X, y = np.array([[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]] * 5), list("aabb") * 5
    >>> tuned_logistic(LogisticRegression(), X, y).score(X, y)
    1.0
    """
    fresh = type(model)(**{name: getattr(model, name) for name in constructor_parameters(type(model))})
    rows = csr_matrix(fresh._begin(X, y))
    labels = labels_of(y, rows.shape[0], fresh.classes_)
    counts = np.bincount(labels)
    unit, one_length = _lengths(rows)
    penalties = [float(f"{unit * l2:g}") for l2 in (_RIDGES if one_length else _RIDGES + _SMALLER)]
    weighed = fresh.class_weight is None and counts.max() > _EVEN * counts.min()
    trials = _Trials(fresh, rows, labels, one_length, random_state)
    setting, stretch = _Setting(penalties[_MIDDLE], bool(fresh.intercept), balanced=False), 1.0
    if trials.folds:
        begin = replace(setting, intercept=setting.intercept and not one_length, balanced=weighed and one_length)
        chosen = trials.best(penalties, begin)
        for other in (
            *([replace(chosen.setting, balanced=not chosen.setting.balanced)] if weighed else []),
            *([replace(chosen.setting, intercept=not chosen.setting.intercept)] if fresh.intercept else []),
        ):
            trial = trials.outcome(replace(other, l2=chosen.setting.l2))
            if trial.gain(chosen) > _CLEARLY * trial.error(chosen):
                chosen = trials.best(penalties, trial.setting)
        setting, stretch = chosen.setting, chosen.stretch
    joined = _Joined(rows)
    final = setting.model(fresh, vectorizer=None)
    fitted = final.fit(joined.rows, y, start=_begun(final, joined.rows, labels, fresh.classes_))
    fitted.coef_, fitted.intercept_ = stretch * joined.spread(fitted.coef_), stretch * fitted.intercept_
    fitted.vectorizer, fitted.vectorizer_ = model.vectorizer, fresh.vectorizer_
    return _leaning(fitted, counts)


def _leaning(model: LogisticRegression, counts: Any) -> LogisticRegression:
    """The model, which where it has no intercept gives rows without known features the commonest label."""
    if not model.intercept:
        share = _LEANING * np.log(counts / counts.sum())
        model.intercept_ = share[1:] - share[:1] if len(counts) == 2 else share
    return model


def _begun(model: LogisticRegression, rows: csr_matrix, labels: Any, classes: Any) -> LogisticRegression | None:
    """What a model of many classes may begin with: each class against the rest, which is quick, less their mean.

    Weights that are the same for all classes say nothing, and have a penalty. None where this is no gain.
    """
    if len(classes) < 3 or model.intercept or rows.shape[1] <= rows.shape[0]:
        return None
    parameters = {**model.get_params(deep=False), "l2": _FIRMER * model.l2, "tolerance": _ROUGH}
    if model.class_weight is not None:
        parameters["class_weight"] = "balanced"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        apart = [type(model)(**parameters).fit(rows, labels == c) for c in range(len(classes))]
    coef = np.concatenate([one.coef_ for one in apart])
    begun = apart[0]
    begun.classes_, begun.coef_, begun.intercept_ = classes, coef - coef.mean(axis=0), np.zeros(len(classes))
    return begun


def _lengths(rows: Any) -> tuple[float, bool]:
    """The power of ten nearest to the mean squared length of a row, and whether all rows have one length."""
    square = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    square = square[square > 0]
    if not len(square):
        return 1.0, True
    low, high = np.log10(np.finfo(float).tiny) / 2, np.log10(np.finfo(float).max) / 2
    unit = 10.0 ** float(np.clip(np.round(np.log10(square.mean())), low, high))
    return unit, bool(square.max() <= square.min() * (1 + _ALIKE))


class _Joined:
    """Rows with one column for all that occur in that row only: in the direction of the row, as long as they were.

    The others keep their order and come first; columns without entries go.
    """

    def __init__(self, X: csr_matrix) -> None:
        n, m = X.shape
        seen = np.bincount(X.indices, minlength=m)
        common = np.flatnonzero(seen > 1)
        lone = seen[X.indices] == 1
        owner = np.repeat(np.arange(n), np.diff(X.indptr))
        largest = np.zeros(n)  # so that squares neither vanish nor overflow
        np.maximum.at(largest, owner[lone], np.abs(X.data[lone]))
        scaled = X.data[lone] / np.where(largest > 0, largest, 1.0)[owner[lone]]
        length = np.sqrt(np.bincount(owner[lone], scaled * scaled, minlength=n))
        joint = np.flatnonzero(length > 0)
        place = np.full(n, -1)
        place[joint] = len(common) + np.arange(len(joint))
        self.columns, self.common = m, common
        usable = place[owner[lone]] >= 0
        self.alone, self.column = X.indices[lone][usable], place[owner[lone]][usable]
        self.share = scaled[usable] / length[owner[lone]][usable]  # of its length in each column
        rank = np.full(m, -1)
        rank[common] = np.arange(len(common))
        several = ~lone
        self.rows = csr_matrix(
            (
                np.concatenate([X.data[several], (length * largest)[joint]]),
                (np.concatenate([owner[several], joint]), np.concatenate([rank[X.indices[several]], place[joint]])),
            ),
            shape=(n, len(common) + len(joint)),
            dtype=np.float64,
        )

    def spread(self, coef: Floats) -> Floats:
        """Weights of the columns of X from weights of these."""
        full = np.zeros((len(coef), self.columns))
        full[:, self.common] = coef[:, : len(self.common)]
        full[:, self.alone] = coef[:, self.column] * self.share
        return full


def _as_unseen(rows: csr_matrix, others: csr_matrix) -> csr_matrix:
    """Rows as they would be if only the columns of the others were known: of the same length without the rest."""
    shared = np.bincount(others.indices, minlength=others.shape[1]) > 0
    rest = csr_matrix(rows.multiply(shared[None, :].astype(np.float64)))
    before, after = (np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()) for X in (rows, rest))
    rest.data *= np.repeat(np.divide(before, after, out=np.ones_like(before), where=after > 0), np.diff(rest.indptr))
    return rest


@dataclass(frozen=True, slots=True)
class _Setting:
    """What is chosen."""

    l2: float
    intercept: bool
    balanced: bool

    def model(self, like: LogisticRegression, **options: Any) -> LogisticRegression:
        """A model with these and the other parameters of another one."""
        parameters = {**like.get_params(deep=False), "l2": self.l2, "intercept": self.intercept, **options}
        return type(like)(**(parameters | ({"class_weight": "balanced"} if self.balanced else {})))


@dataclass(slots=True)
class _Outcome:
    """How models of one setting predict left-out rows: what the rows with the right label weigh, and likelihood.

    `stretch` is the factor of the margins with which that likelihood is reached.
    """

    setting: _Setting
    right: Floats
    likelihood: float
    stretch: float

    def gain(self, other: _Outcome) -> float:
        """By how much more rows have the right label here."""
        return float((self.right - other.right).sum())

    def error(self, other: _Outcome) -> float:
        """The standard error of that: only rows count of which one model is right."""
        return float(np.sqrt(((self.right - other.right) ** 2).sum()))


class _Trials:
    """Models on parts of the rows, each begun with that of the last setting, and how they predict the others."""

    def __init__(self, model: LogisticRegression, rows: csr_matrix, labels: Ids, one_length: bool, seed: int) -> None:
        most = max(_MOST_MARGINS // len(model.classes_), 1000)
        order = np.random.default_rng(seed).permutation(len(labels))[: min(most, _MOST_ROWS)]
        rows, labels = rows[order], labels[order]
        weights = row_weights(None, labels, model.classes_, model.class_weight)
        count = next((folds for most, folds in _FOLDS if len(labels) <= most), 4)
        place = np.empty(len(labels), np.int64)
        for c in range(len(model.classes_)):  # class by class, so that every fold has its share
            members = np.flatnonzero(labels == c)
            place[members] = np.arange(len(members)) % count
        self.folds = []
        for k in range(count if count != 4 else 1):
            inside, out = rows[place != k], rows[place == k]
            if len(np.unique(labels[place != k])) > 1 and out.shape[0]:
                out = _as_unseen(out, inside) if one_length else out
                self.folds.append((_Joined(inside), labels[place != k], out, labels[place == k], weights[place == k]))
        self.model, self.doubt = model, 0.0 if one_length else _DOUBT
        self.last: list[LogisticRegression | None] = [None] * len(self.folds)

    def best(self, penalties: Sequence[float], setting: _Setting) -> _Outcome:
        """The largest penalty of the best likelihood, of those that have the most right labels but for an error."""
        path = self.path(penalties, setting)
        top = max(path, key=lambda outcome: (float(outcome.right.sum()), outcome.likelihood))
        near = [outcome for outcome in path if outcome.gain(top) >= -outcome.error(top)]
        least = max(outcome.likelihood for outcome in near) - self.doubt
        return max((outcome for outcome in near if outcome.likelihood >= least), key=lambda one: one.setting.l2)

    def path(self, penalties: Sequence[float], setting: _Setting) -> list[_Outcome]:
        """Outcomes from the middle on, downwards and upwards, until labels and likelihood both get worse."""
        middle = self.outcome(replace(setting, l2=penalties[_MIDDLE]))
        outcomes, begin = [middle], self.last.copy()
        for part in (penalties[_MIDDLE + 1 :], penalties[:_MIDDLE][::-1]):
            self.last, before = begin.copy(), middle
            for l2 in part:
                outcomes.append(now := self.outcome(replace(setting, l2=l2)))
                if now.gain(before) < 0 and now.likelihood < before.likelihood:
                    break
                before = now
        return outcomes

    def outcome(self, setting: _Setting) -> _Outcome:
        """Train on each part, and predict what it leaves out; rows of classes that it lacks have no likelihood."""
        right, parts = [], []
        for k, (part, y, X_out, y_out, weights) in enumerate(self.folds):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotConverged)
                model = setting.model(self.model, vectorizer=None, tolerance=_ROUGH)
                classes, counts = np.unique(y, return_counts=True)
                start = self.last[k] or _begun(model, part.rows, np.searchsorted(classes, y), classes)
                self.last[k] = model = _leaning(model.fit(part.rows, y, start=start), counts)
            full = copy.copy(model)
            full.coef_ = part.spread(model.coef_)
            margins = full.decision_function(X_out)
            margins = np.column_stack([np.zeros(len(y_out)), margins]) if len(classes) == 2 else margins
            right.append(weights * (classes[margins.argmax(axis=1)] == y_out))
            seen = np.isin(y_out, classes)
            parts.append((margins[seen], np.searchsorted(classes, y_out[seen]), weights[seen]))
        return _Outcome(setting, np.concatenate(right), *_stretched(parts))


def _stretched(parts: Sequence[tuple[Floats, Any, Floats]]) -> tuple[float, float]:
    """The best likelihood of margins, labels and weights of rows when all margins have one factor, and that factor.

    Far from 1 it costs as much as a row or two, so that few rows that are all right do not ask for any size.
    """
    from scipy.optimize import minimize_scalar

    def loss(exponent: float) -> float:
        total = exponent * exponent / 2
        for margins, labels, weights in parts:
            log_p = special.log_softmax(np.exp(exponent) * margins, axis=1)
            total -= float((weights * log_p[np.arange(len(labels)), labels]).sum())
        return total

    run = minimize_scalar(loss, bounds=(-_WIDEST, _WIDEST), method="bounded", options={"xatol": 1e-3})
    return -float(run.fun), float(np.exp(run.x))

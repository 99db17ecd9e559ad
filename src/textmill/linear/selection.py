"""The penalty of a logistic regression, with combinations of features or without, by cross-validation or on dev data.

Rows are dealt into folds, class by class, in a seeded order. For every fold a model is trained on the others for each
penalty, from the largest to the smallest, each begun with the last, and scored on the fold:

    score(l) = mean over rows of log p(y | x)          or the share of right labels

With development data of the caller there is one fold, those data. Where nothing is known of the data,
`tuned_logistic` (tuning.py) chooses more than a penalty.

Cost: folds x penalties trainings, most of them short. References: Stone (1974); Breiman et al. (1984).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from textmill.arrays import Floats, Ids
from textmill.errors import DataError
from textmill.linear.classifier import classes_of, labels_of
from textmill.linear.grafting import CombinationLogistic
from textmill.linear.logistic import LogisticRegression
from textmill.model import check_choice, check_range
from textmill.model.estimators import constructor_parameters
from textmill.progress import track
from textmill.selection import deal_folds, splits
from textmill.tables import Table

__all__ = ["PenaltyScores", "choose_penalty"]


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
        fewest = int(np.bincount(labels).min())
        if fewest < n_folds:
            raise DataError(f"a class has {fewest} rows for {n_folds} folds; pass fewer folds or more rows")
        folds = deal_folds(labels, n_folds, random_state=random_state)
        parts = [(rows[a], labels[a], rows[b], labels[b]) for a, b in splits(folds)]
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

"""The penalty of a logistic regression by cross-validation.

Rows are dealt into folds, class by class, in a seeded order. For every fold a model is trained on the others for each
penalty, from the largest to the smallest, each begun with the last, and scored on the fold:

    score(l) = mean over rows of log p(y | x)          or the share of right labels

Cost: folds x penalties trainings, most of them short. Reference: Stone (1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.linear.classifier import classes_of, labels_of
from textmill.linear.logistic import LogisticRegression
from textmill.model import check_choice, check_range
from textmill.model.estimators import constructor_parameters
from textmill.progress import track
from textmill.tables import Table

__all__ = ["PenaltyScores", "choose_penalty"]


class PenaltyScores(Table):
    """Scores of penalties: mean over the folds and its standard error; `best` is the penalty of the best mean.

    `sparsest` is the largest penalty whose mean is within one standard error of the best.
    """

    def __init__(self, penalties: Floats, scores: Floats) -> None:
        self.penalties, self.scores = penalties, scores
        self.means = scores.mean(axis=0)
        self.errors = scores.std(axis=0, ddof=1) / np.sqrt(len(scores))

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
    model: LogisticRegression,
    X: Any,
    y: Any,
    *,
    penalty: str = "l1",
    values: Sequence[float] | None = None,
    n_folds: int = 5,
    score: str = "likelihood",
    random_state: int = 0,
) -> PenaltyScores:
    """Score values of a penalty, "l1" or "l2", by cross-validation; the model itself is not changed.

    `values` are 10 from the largest that matters (`l1_max`) to a hundredth of it when they are not given, or for l2
    from 100 to 0.01. `score` is "likelihood" or "accuracy".

    >>> X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]] * 5)
    >>> choose_penalty(LogisticRegression(), X, [1, 1, 0, 0] * 5, penalty="l2", values=[100.0, 0.1], n_folds=4).best
    0.1
    """
    check_choice("penalty", penalty, ("l1", "l2"))
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
    folds = _folds(labels, n_folds, random_state)
    scores = np.empty((n_folds, len(grid)))
    for fold in track(range(n_folds), "folds"):
        inside = folds != fold
        start: LogisticRegression | None = None
        for k, value in enumerate(grid):
            start = type(model)(**{**fresh.get_params(deep=False), penalty: float(value), "vectorizer": None}).fit(
                rows[inside], labels[inside], start=start
            )
            if score == "accuracy":
                scores[fold, k] = start.score(rows[~inside], labels[~inside])
            else:
                log_p = start.predict_log_proba(rows[~inside])
                scores[fold, k] = log_p[np.arange(len(log_p)), labels[~inside]].mean()
    return PenaltyScores(grid, scores)


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

"""Operating points of a classifier: thresholds legitimate and not, precision against recall, methods side by side.

    tuned threshold    the best for a utility on development rows; what may be compared with
    oracle threshold   chosen on the evaluation rows so that the hits equal those of another classifier: no classifier
                       knows these labels, and what beats it has better weights, not a better threshold
    curve              hits, misses, false alarms and rejections at every threshold; some of them as a table
    cascade            stages one after the other, each trained on what those before it let through: high recall first,
                       then high precision

Cost: one sort of the scores. Reference: Jansche (2005), table 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.linear.classifier import LinearClassifier
from textmill.linear.expected_f import UtilityLogistic
from textmill.metrics import BinaryCounts, FWeight, OperatingPoint, RatioUtility, ScoreCounts, Utility, named_utility
from textmill.model import check_range
from textmill.tables import Table

__all__ = [
    "Cascade",
    "MethodTable",
    "OperatingCurve",
    "label_margins",
    "oracle_threshold",
    "tuned_threshold",
]


def tuned_threshold(scores: ArrayLike, gold: ArrayLike, utility: str | Utility = "f1") -> OperatingPoint:
    """The threshold of greatest utility on development rows, with the utility and the counts there.

    >>> tuned_threshold([9.0, 8.0, 7.0, 1.0], [1, 0, 1, 0]).threshold
    4.0
    """
    return ScoreCounts.from_scores(scores, gold).best(named_utility(utility) if isinstance(utility, str) else utility)


def oracle_threshold(scores: ArrayLike, gold: ArrayLike, hits: int, utility: str | Utility = "f1") -> OperatingPoint:
    """An oracle: the highest threshold with as many hits on the evaluation rows as another classifier has.

    >>> oracle_threshold([9.0, 8.0, 7.0, 1.0], [1, 0, 1, 0], hits=2).counts.false_alarms
    1
    """
    counts = ScoreCounts.from_scores(scores, gold)
    table = counts.table
    check_range("hits", hits, at_least=0, at_most=int(table[-1, 0]), whole=True)
    place = int(np.argmax(table[:, 0] >= hits))
    measure = named_utility(utility) if isinstance(utility, str) else utility
    return OperatingPoint(
        float(counts.thresholds[place]), float(measure.value(table[place])), BinaryCounts(*table[place].tolist())
    )


def label_margins(
    model: LinearClassifier, X: Any, y: Any, positive: Any = None
) -> tuple[Floats, NDArray[np.bool_], Any]:
    """Margins of rows for one label, which of the rows have it, and the label.

    Without `positive` the label is that which a model for a utility was trained to find, else the rarer of two in y.

    >>> from textmill.linear import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["no", "no", "yes"])
    >>> margins, gold, label = label_margins(model, [[0.0], [2.0]], ["no", "yes"])
    >>> bool(margins[1] > margins[0]), gold.tolist(), label
    (True, [False, True], 'yes')
    """
    classes = model.classes_.tolist()
    labels = [label if label in classes else str(label) for label in y]
    if positive is None:
        positive = getattr(model, "positive_", None)
    if positive is None:
        if len(classes) > 2:
            raise DataError(f"the model has {len(classes)} labels; name the one to be found: positive={classes[0]!r}")
        positive = classes[0] if 2 * labels.count(classes[0]) < len(labels) else classes[1]
    place = next((k for k, name in enumerate(classes) if name == positive or str(name) == str(positive)), None)
    if place is None:
        raise DataError(f"positive={positive!r} is no label of the model; it has {classes}")
    margins = model.decision_function(X)
    own = margins[:, place] if margins.ndim == 2 else margins if place == 1 else -margins
    return np.ascontiguousarray(own), np.array([label == classes[place] for label in labels]), classes[place]


class OperatingCurve(Table):
    """Recall, precision and a utility at thresholds, from the one that claims nothing to the one that claims all.

    `best` is the row of greatest utility. At most `n_points` rows are kept, spread evenly over recall, the best among
    them.

    >>> curve = OperatingCurve([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0])
    >>> curve.best, float(curve.thresholds[curve.best].round(6))
    (3, 0.4)
    """

    def __init__(
        self, scores: ArrayLike, gold: ArrayLike, utility: str | Utility = "f1", *, n_points: int | None = None
    ) -> None:
        counts = ScoreCounts.from_scores(scores, gold)
        precision, recall = counts.precision_recall()
        table = counts.table
        values = (named_utility(utility) if isinstance(utility, str) else utility).value(table)
        rows = np.arange(len(table))
        best = int(np.argmax(values))
        if n_points is not None and len(rows) > n_points:
            check_range("n_points", n_points, at_least=2, whole=True)
            rows = np.union1d(np.searchsorted(recall, np.linspace(0.0, 1.0, n_points - 1)), [best])
        self.thresholds: Floats = counts.thresholds[rows]
        self.recall: Floats = recall[rows]
        self.precision: Floats = precision[rows]
        self.values: Floats = values[rows]
        self.counts: Ints = table[rows]
        self.best = int(np.flatnonzero(rows == best)[0])

    def columns(self) -> dict[str, Any]:
        """Return threshold, recall, precision, value and the number of rows claimed."""
        return {
            "threshold": self.thresholds,
            "recall": self.recall,
            "precision": self.precision,
            "value": self.values,
            "claimed": self.counts[:, 0] + self.counts[:, 2],
        }


class MethodTable(Table):
    """Methods side by side: recall and precision as fractions, F at weights of recall.

    >>> print(MethodTable({"likelihood": BinaryCounts(24, 75, 9, 300), "F": BinaryCounts(85, 14, 126, 183)}))
    MethodTable, 2 rows
    method      recall  precision   F 0.5  F 0.75
    likelihood  24/99   24/33      0.3636  0.2909
    F           85/99   85/211     0.5484  0.6693
    """

    def __init__(self, methods: Mapping[str, BinaryCounts], recall_weights: Sequence[float] = (0.5, 0.75)) -> None:
        if not methods:
            raise DataError("there is no method; pass counts by name")
        self.methods = dict(methods)
        self.recall_weights = tuple(recall_weights)

    def columns(self) -> dict[str, Any]:
        """Return method, recall, precision and F at each weight."""
        counts = self.methods.values()
        columns: dict[str, Any] = {
            "method": list(self.methods),
            "recall": [f"{one.hits}/{one.hits + one.misses}" for one in counts],
            "precision": [f"{one.hits}/{one.hits + one.false_alarms}" for one in counts],
        }
        for weight in self.recall_weights:
            f = RatioUtility.f(FWeight.from_recall(weight))
            columns[f"F {weight:g}"] = [round(float(f.value(one.vector)), 4) for one in counts]
        return columns


class Cascade:
    """Classifiers in stages: a row is positive when every stage says so, and a stage sees what the last let through.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(600) < 0.1
    >>> X = rng.normal(size=(600, 2)) + 1.5 * y[:, None]
    >>> stages = [UtilityLogistic(utility="f4", n_jobs=1), UtilityLogistic(utility="f1", n_jobs=1)]
    >>> cascade = Cascade(stages).fit(X, y)
    >>> bool((cascade.predict(X) <= cascade.stages_[0].predict(X)).all())
    True
    """

    def __init__(self, stages: Sequence[UtilityLogistic]) -> None:
        if not stages:
            raise DataError("a cascade needs at least one stage")
        self.stages = stages

    def fit(self, X: Any, y: Any) -> Self:
        """Train the stages; a stage whose rows are all of one class is left out, with those behind it."""
        rows, labels = np.arange(len(y)), np.asarray(y)
        X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        self.stages_: list[UtilityLogistic] = []
        for stage in self.stages:
            if len(np.unique(labels[rows])) < 2:
                break
            fitted = type(stage)(**stage.get_params(deep=False)).fit(X[rows], labels[rows])
            if fitted.positive_ is None:
                raise DataError(f"a cascade needs two classes, y has {len(fitted.classes_)}")
            self.stages_.append(fitted)
            rows = rows[fitted.predict(X[rows]) == fitted.positive_]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of rows."""
        X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        first = self.stages_[0]
        negative = first.classes_[first.classes_ != first.positive_][0]
        labels = np.full(X.shape[0], negative, dtype=first.classes_.dtype)
        rows = np.arange(X.shape[0])
        for stage in self.stages_:
            rows = rows[stage.predict(X[rows]) == stage.positive_] if len(rows) else rows
        labels[rows] = first.positive_
        return labels

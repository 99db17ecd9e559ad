"""Phase 2: classifiers of whole phrases, trained on rows of features, and their scores of rows they did not see.

A classifier is naive Bayes by counts (None), or anything with fit and predict_proba for sparse rows. Scores are
logarithms of what it says of each class, up to a constant.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ids, Ints
from textmill.linear import CategoricalBayes
from textmill.numeric import sparse
from textmill.tasks.entities.candidates import rows_between
from textmill.tasks.entities.phrases import PhraseFeatures, PhraseRows

__all__ = ["LabeledRows", "PhraseClassifiers"]

_LEAST = 1e-20  # probability whose logarithm is taken
_UNSEEN = -50.0  # score of a class that a classifier has never seen


class LabeledRows(NamedTuple):
    """Rows of phrases, the number of the class of each, and the classes in the order of these numbers."""

    rows: PhraseRows
    label: Ids
    names: list[str]


class PhraseClassifiers:
    """Trains classifiers on the features of phrases, and asks them."""

    def __init__(self, features: PhraseFeatures, smoothing: float | None, n_jobs: int | None) -> None:
        self.features, self.smoothing, self.n_jobs = features, smoothing, n_jobs

    def bayes(self, classes: NDArray[Any], counts: Floats, rows: Floats) -> CategoricalBayes:
        """Naive Bayes with these counts."""
        features = self.features.templates(), self.features.template_of_, self.features.values_
        return CategoricalBayes.from_counts(
            classes, features, counts, rows, smoothing=self.smoothing, n_jobs=self.n_jobs
        )

    def train(self, classifier: Any, data: LabeledRows) -> Any:
        """A classifier of the rows; None counts."""
        if classifier is not None:
            return copy.deepcopy(classifier).fit(self.matrix(data.rows), np.array(data.names)[data.label])
        classes = np.array(sorted(data.names))
        place = np.searchsorted(classes, np.array(data.names))[data.label]
        counts = self._counts(data.rows, place, len(classes))
        return self.bayes(classes, counts, np.bincount(place, minlength=len(classes)).astype(np.float64))

    def scores(self, model: Any, rows: PhraseRows, classes: Sequence[str]) -> Floats:
        """Scores of all classes, [rows, classes]."""
        if isinstance(model, CategoricalBayes):
            model.n_jobs = self.n_jobs
            return model.decision_rows(rows.offsets, rows.ids)
        scores = np.full((len(rows.offsets) - 1, len(classes)), _UNSEEN)
        if len(scores):
            probability = np.maximum(model.predict_proba(self.matrix(rows)), _LEAST)
            scores[:, np.searchsorted(list(classes), model.classes_)] = np.log(probability)
        return scores

    def held_out(self, model: Any, classifier: Any, data: LabeledRows, bounds: Ints) -> Floats:
        """Scores of every row without the rows of its stretch [bounds[i], bounds[i + 1]).

        `model` is what was trained on all rows: counts are subtracted from it, other classifiers trained anew.
        """
        classes = sorted(data.names)
        place = np.searchsorted(classes, np.array(data.names))[data.label]
        matrix = None if classifier is None else self.matrix(data.rows)
        parts = []
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            inner = rows_between(data.rows, first, last)
            if classifier is None:
                counts = model.counts_ - self._counts(inner, place[first:last], len(classes))
                size = model.rows_ - np.bincount(place[first:last], minlength=len(classes))
                rest = self.bayes(model.classes_, counts, size)
            else:
                others = np.r_[0:first, last : len(place)]
                labels = np.array(classes)[place[others]]
                rest = copy.deepcopy(classifier).fit(matrix[others], labels)  # type: ignore[index]
            parts.append(self.scores(rest, inner, classes))
        return np.concatenate(parts)

    def matrix(self, rows: PhraseRows) -> Any:
        """The rows as a sparse matrix."""
        size = len(rows.offsets) - 1, len(self.features.values_)
        matrix = sparse.csr_matrix((np.ones(len(rows.ids)), rows.ids, rows.offsets), size)
        matrix.sum_duplicates()
        return matrix

    def _counts(self, rows: PhraseRows, label: Ints, classes: int) -> Floats:
        size = len(self.features.values_)
        of_feature = np.repeat(label, np.diff(rows.offsets)) * size + rows.ids
        return np.bincount(of_feature, minlength=classes * size).reshape(classes, size).astype(np.float64)

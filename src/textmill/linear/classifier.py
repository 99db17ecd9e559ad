"""What linear classifiers share: rows from whatever they are given, labels as numbers, margins as probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill._native import base
from textmill.arrays import Floats, Ids
from textmill.corpus import NamedFeatures, array_like, check_bags, csr_arrays
from textmill.errors import DataError
from textmill.model import (
    Classifier,
    Model,
    check_fitted,
    checked_weights,
    effective_jobs,
    label_array,
    labels_of,
    require_rows,
)
from textmill.numeric import sparse, special
from textmill.tables import Table
from textmill.vectors import TextVectorizer

__all__ = [
    "LinearClassifier",
    "Weights",
    "checked_weights",
    "classes_of",
    "is_matrix",
    "labels_of",
    "require_rows",
    "row_weights",
]


class Weights(Table):
    """The strongest weights of a model, a row each: class, feature and weight."""

    def __init__(self, labels: list[Any], features: list[str], weights: list[float]) -> None:
        self.labels, self.features, self.weights = labels, features, weights

    def columns(self) -> dict[str, list[Any]]:
        """Return label, feature and weight."""
        return {"label": self.labels, "feature": self.features, "weight": self.weights}


class LinearClassifier(Classifier, Model):
    """Base of classifiers with one weight per feature and class; `vectorizer` and `n_jobs` are parameters of each."""

    layout: ClassVar[dict[str, str]] = {"coef_": "output feature", "intercept_": "output"}
    parts: ClassVar[dict[str, str]] = {
        "vectorizer": "vectors.TextVectorizer | corpus.NamedFeatures",
        "vectorizer_": "vectors.TextVectorizer | corpus.NamedFeatures",
    }

    vectorizer: TextVectorizer | NamedFeatures | None = None
    n_jobs: int | None = None
    classes_: NDArray[Any]
    coef_: Floats
    intercept_: Floats
    vectorizer_: TextVectorizer | NamedFeatures | None

    @property
    def n_features_in_(self) -> int:
        """The number of columns, as scikit-learn asks for it."""
        check_fitted(self)
        return int(self.coef_.shape[1])

    def decision_function(self, X: Any) -> Floats:
        """Return margins: one number per row for two classes, above 0 for the second, else one per class.

        >>> from textmill.linear import LogisticRegression
        >>> model = LogisticRegression().fit(np.array([[1.0], [3.0]]), [0, 1])
        >>> (model.decision_function([[0.0], [9.0]]) > 0).tolist()
        [False, True]
        """
        check_fitted(self)
        margins = self._margins(self._rows(X))
        return margins[0] if len(margins) == 1 else np.ascontiguousarray(margins.T)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, one row each."""
        margins = self.decision_function(X)
        if margins.ndim == 1:
            positive = special.expit(margins)
            return np.column_stack([special.expit(-margins), positive])
        rows: Floats = special.softmax(margins, axis=1)
        return rows

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the probabilities."""
        margins = self.decision_function(X)
        if margins.ndim == 1:
            return np.column_stack([special.log_expit(-margins), special.log_expit(margins)])
        rows: Floats = special.log_softmax(margins, axis=1)
        return rows

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each row."""
        margins = self.decision_function(X)
        best = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def strongest(self, k: int = 20) -> Weights:
        """Return the weights of largest size, of each class k: features by name where the model has a vectorizer.

        >>> from textmill.linear import LogisticRegression
        >>> LogisticRegression(l1=0.1, l2=0).fit(np.array([[1.0, 0.0], [0.0, 1.0]]), ["a", "b"]).strongest(1).features
        ['0']
        """
        check_fitted(self)
        names = self.feature_names()
        labels, features, weights = [], [], []
        for c, row in enumerate(self.coef_):
            best = np.argsort(-np.abs(row), kind="stable")[:k]
            for j in best[row[best] != 0]:
                own = c if len(self.coef_) > 1 else int(row[j] > 0)
                labels.append(self.classes_[own].item() if hasattr(self.classes_[own], "item") else self.classes_[own])
                features.append(str(j) if names is None else names[int(j)])
                weights.append(float(row[j] if len(self.coef_) > 1 else abs(row[j])))
        return Weights(labels, features, weights)

    def feature_names(self) -> list[str] | None:
        """Names of the columns, where a vectorizer knows them."""
        check_fitted(self)
        if self.vectorizer_ is None:
            return None
        return [str(name) for name in self.vectorizer_.get_feature_names_out()]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = self.vectorizer is not None
        return tags

    def _begin(self, X: Any, y: Any, classes: Any = None) -> Any:
        """Start a fit: learn the labels, if they are not given, and the vectorizer, if need be; returns the rows."""
        vectorizer = self.vectorizer
        if vectorizer is not None and not vectorizer.__sklearn_is_fitted__() and not is_matrix(X):
            vectorizer = type(vectorizer)(**vectorizer.get_params(deep=False))
            X = list(X.texts()) if hasattr(X, "texts") else list(array_like(X))
            vectorizer.fit(X)
        fitted = vectorizer is not None and vectorizer.__sklearn_is_fitted__()
        self.vectorizer_ = vectorizer if fitted else None
        rows = self._rows(X, fitted=False)
        require_rows(rows)
        if len(label_array(y)) != rows.shape[0]:
            raise DataError(f"X has {rows.shape[0]} rows but y has {len(y)} labels: inconsistent; pass one per row")
        self.classes_ = classes_of(y if classes is None else classes)
        return rows

    def _rows(self, X: Any, *, fitted: bool = True) -> Any:
        """X as sparse rows over the columns of the model."""
        X = array_like(X)
        if is_matrix(X):
            rows = check_bags(X, negative=True)
        elif self.vectorizer_ is None:
            raise DataError("X holds no numbers, and this model has no vectorizer; pass vectorizer=, or a matrix")
        else:
            documents = X.texts() if hasattr(X, "texts") else X
            rows = check_bags(self.vectorizer_.transform(documents), negative=True)
        if fitted and rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input; pass rows over the same columns"
            )
        return rows

    def _margins(self, rows: Any) -> Floats:
        """Margins x rows."""
        out = np.empty((len(self.coef_), rows.shape[0]))
        offsets, indices, values = csr_arrays(rows, np.float64)
        for c, weights in enumerate(self.coef_):
            base.csr_vector(offsets, indices, values, rows.shape[1], weights, out[c], effective_jobs(self.n_jobs))
        return out + self.intercept_[:, None]


def classes_of(y: Any) -> NDArray[Any]:
    """The labels in sorted order, at least two.

    >>> classes_of(["b", "a", "b"]).tolist()
    ['a', 'b']
    """
    labels = label_array(y)
    classes: NDArray[Any] = np.unique(labels)
    if len(classes) < 2:
        raise DataError(f"y has only one class, {classes.tolist()}; a classifier needs at least 2 classes")
    return classes


def row_weights(
    sample_weight: ArrayLike | None, labels: Ids, classes: NDArray[Any], class_weight: Mapping[Any, float] | str | None
) -> Floats:
    """The weight of each row: its own times that of its class.

    >>> row_weights(None, np.array([0, 0, 1], np.int32), np.array([0, 1]), "balanced").tolist()
    [0.75, 0.75, 1.5]
    """
    weights = checked_weights(sample_weight, len(labels))
    if class_weight is None:
        return weights
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise DataError(f"class_weight must be 'balanced', a mapping or None, got {class_weight!r}")
        counts = np.bincount(labels, weights=weights, minlength=len(classes))
        of_class = weights.sum() / (len(classes) * np.where(counts > 0, counts, 1.0))
    else:
        of_class = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
        if not (np.isfinite(of_class) & (of_class >= 0)).all():
            raise DataError(f"class_weight must hold finite numbers >= 0, got {dict(class_weight)!r}")
    return np.asarray(weights * of_class[labels])


def is_matrix(X: Any) -> bool:
    """Whether X holds numbers in rows and columns, not texts or mappings."""
    return sparse.issparse(X) or (hasattr(X, "shape") and len(X.shape) != 1) or isinstance(X, np.ndarray)

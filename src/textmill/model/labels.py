"""Labels and weights of rows as classifiers take them, checked once and with scikit-learn's words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.arrays import Floats, Ids
from textmill.errors import DataError, warn_caller

__all__ = ["checked_weights", "label_array", "labels_of", "require_rows"]


def label_array(y: Any) -> NDArray[Any]:
    """Return y as one axis of labels that can be told apart.

    >>> label_array(["b", "a"]).tolist()
    ['b', 'a']
    """
    if y is None:
        raise DataError("requires y to be passed, but the target y is None; pass one label per row")
    mixed = isinstance(y, list | tuple) and len({isinstance(label, str) for label in y}) > 1
    labels = np.asarray(y, dtype=object) if mixed else np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warn_caller("A column-vector y was passed when a 1d array was expected; y is flattened", DataConversionWarning)
        labels = labels.ravel()
    if labels.ndim != 1:
        raise DataError(f"y must have one label per row, got an array of shape {labels.shape}")
    if labels.dtype.kind == "c":
        raise DataError("Complex data not supported: y holds complex numbers; pass labels")
    if labels.dtype.kind == "f" and labels.size:
        if not np.isfinite(labels).all():
            fault = labels[~np.isfinite(labels)][0]
            raise DataError(f"Input y contains {'NaN' if np.isnan(fault) else 'infinity'}; pass labels")
        if (labels != np.floor(labels)).any():
            raise DataError("Unknown label type: continuous numbers are no labels; pass classes, or round them")
    if labels.dtype.kind == "O":
        texts = [isinstance(label, str) for label in labels.tolist()]
        if len(set(texts)) > 1:
            first = texts.index(not texts[0])
            raise DataError(f"y mixes texts and numbers, first in row {first}; make the labels all of one type")
    return labels


def labels_of(y: Any, rows: int, classes: NDArray[Any]) -> Ids:
    """Return labels as numbers of classes, one per row.

    >>> labels_of(["b", "a"], 2, np.array(["a", "b"])).tolist()
    [1, 0]
    """
    labels = label_array(y)
    if len(labels) != rows:
        raise DataError(f"X has {rows} rows but y has {len(labels)} labels: inconsistent numbers; pass one per row")
    places = np.searchsorted(classes, labels)
    unknown = classes[np.minimum(places, len(classes) - 1)] != labels
    if unknown.any():
        row = int(np.argmax(unknown))
        raise DataError(
            f"y has the label {labels.tolist()[row]!r} in row {row}, which is not one of {classes.tolist()}"
        )
    return places.astype(np.int32)


def require_rows(rows: Any) -> None:
    """Raise an error, in scikit-learn's words, where there are no rows or no columns.

    >>> require_rows(np.zeros((2, 1)))
    """
    for size, what in zip(rows.shape, ("sample", "feature"), strict=True):
        if not size:
            raise DataError(f"X is empty: 0 {what}(s) (shape={rows.shape}) while a minimum of 1 is required; pass rows")


def checked_weights(sample_weight: ArrayLike | None, rows: int) -> Floats:
    """Return weights of rows, one number >= 0 each and not all zero; all one where none are given.

    >>> checked_weights(None, 2).tolist()
    [1.0, 1.0]
    """
    if sample_weight is None:
        return np.ones(rows)
    weights = np.array(sample_weight, dtype=np.float64)
    if weights.shape != (rows,):
        raise DataError(f"sample_weight has shape {weights.shape}; pass one number per row, {rows} in all")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        row = int(np.argmin(np.isfinite(weights) & (weights >= 0)))
        raise DataError(f"sample_weight has {weights[row]} in row {row}; pass finite numbers >= 0")
    if not weights.any():
        raise DataError("sample_weight is zero for every row; give at least one row of each class a weight")
    return weights

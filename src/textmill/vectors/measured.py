"""How a measure becomes a search by products or distances, and a key a figure again.

    cosine       rows divided by their lengths       key x.q            cos = key, clipped to -1 .. 1
    euclidean    rows as they are                    key -|x - q|^2     d = sqrt(-key)
    hellinger    square roots of probabilities       key -|x - q|^2     H = sqrt(-key / 2)

A cosine is larger for nearer vectors, the two distances are smaller. A vector of zeros has no direction: among rows its
cosines are 0, as a query it has no answer. Stored numbers are float32, keys double.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.corpus import check_bags
from textmill.errors import DataError
from textmill.numeric import SparseRows, is_sparse, sparse

__all__ = ["INDEX_MEASURES", "keys_of", "kind_of", "prepare_rows", "prepared", "scores_of"]

INDEX_MEASURES = ("cosine", "euclidean", "hellinger")

_LONGEST = 1e18  # beyond, squares leave float32
_BLOCK = 1 << 14  # rows that are prepared together


def kind_of(measure: str) -> str:
    """Return the kind of search: "product" or "distance".

    >>> kind_of("cosine"), kind_of("hellinger")
    ('product', 'distance')
    """
    return "product" if measure == "cosine" else "distance"


def scores_of(measure: str, keys: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosines or distances that keys stand for.

    >>> scores_of("hellinger", np.array([-0.5])).tolist()
    [0.5]
    """
    if measure == "cosine":
        return np.clip(keys, -1.0, 1.0)
    return np.sqrt(-keys) if measure == "euclidean" else np.minimum(np.sqrt(-keys / 2), 1.0)


def keys_of(measure: str, score: float) -> float:
    """Return the least key of a vector that is at least so near.

    >>> keys_of("cosine", 0.9), keys_of("euclidean", 2.0)
    (0.9, -4.0)
    """
    if measure == "cosine":
        return score
    return -(score**2) if measure == "euclidean" else -2 * score**2


def prepared(measure: str, X: Any, name: str) -> tuple[Any, NDArray[np.bool_]]:
    """Return the rows ready for an index, float32 and dense or CSR, and which of them hold only zeros.

    >>> rows, empty = prepared("cosine", [[3.0, 4.0], [0.0, 0.0]], "X")
    >>> rows.tolist(), empty.tolist()
    ([[0.6000000238418579, 0.800000011920929], [0.0, 0.0]], [False, True])
    """
    X = _matrix(X, name)
    if is_sparse(X):
        rows, empty = _prepared(measure, X.astype(np.float64), name, 0)
        rows = rows.astype(np.float32)
        if isinstance(rows, SparseRows):
            return rows.without_zeros(), empty
        rows.eliminate_zeros()
        return rows, empty
    out, empty = np.empty(X.shape, np.float32), np.zeros(len(X), np.bool_)
    for first in range(0, len(X), _BLOCK):  # the float64 of a million rows would take three times the room
        block = slice(first, first + _BLOCK)
        out[block], empty[block] = _prepared(measure, X[block].astype(np.float64), name, first)
    return out, empty


def prepare_rows(measure: str, X: Any, name: str = "X") -> Any:
    """Return vectors as `Index.nearest` takes them: float32, dense or CSR, of the form that the measure compares.

    >>> prepare_rows("cosine", [[3.0, 4.0]]).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    return prepared(measure, X, name)[0]


def _matrix(X: Any, name: str) -> Any:
    """X as a CSR matrix of finite numbers or an array of rows, whose numbers are still to be looked at."""
    if is_sparse(X):
        X = X if isinstance(X, SparseRows) else check_bags(X, name=name, negative=True)
    else:
        try:
            X = np.asarray(X)
        except ValueError:
            raise DataError(f"{name} has rows of different lengths; pass one value a column in every row") from None
        if X.dtype.kind == "O":
            X = check_bags(X, name=name, negative=True).toarray()
        if X.ndim != 2 or X.dtype.kind not in "buif":
            check_bags(X, name=name, negative=True)  # which knows what to say
    if X.shape[1] == 0:
        raise DataError(
            f"{name} has no columns: 0 feature(s) (shape={X.shape}) while a minimum of 1 is required; "
            "pass vectors of at least one number"
        )
    return X


def _prepared(measure: str, X: Any, name: str, first: int) -> tuple[Any, NDArray[np.bool_]]:
    """Rows from row `first` on, in float64."""
    values = X.data if is_sparse(X) else X
    if not np.isfinite(values).all():
        X = X.toarray() if isinstance(X, SparseRows) else X
        row, column = np.argwhere(~np.isfinite(X))[0]
        fault = "NaN" if np.isnan(X[row, column]) else X[row, column]
        raise DataError(f"{name} holds {fault} in row {first + row}, column {column}; remove it or set it to 0")
    if measure == "hellinger":
        X = _square_roots(X, name, first)
    largest = _per_row(X, np.maximum, np.abs(X.data if is_sparse(X) else X))
    empty = largest == 0
    if largest.max(initial=0.0) > _LONGEST:
        row = int(largest.argmax())
        raise DataError(f"row {first + row} of {name} holds {largest[row]:g}, too large for float32; scale it down")
    if measure == "cosine":
        scaled = _divided(X, np.where(empty, 1.0, largest))  # so that no square overflows or vanishes
        squares = (scaled.data if is_sparse(scaled) else scaled) ** 2
        X = _divided(scaled, np.where(empty, 1.0, np.sqrt(_per_row(X, np.add, squares))))
    return X, empty


def _square_roots(X: Any, name: str, first: int) -> Any:
    """Square roots of probabilities; a row of zeros stays one."""
    values = X.data if is_sparse(X) else X
    if values.size and values.min() < 0:
        raise DataError(f"{name} holds {values.min():g}; the Hellinger distance compares probabilities, none below 0")
    X = X.csr() if isinstance(X, SparseRows) else X
    sums = np.asarray(X.sum(axis=1)).ravel()
    wrong = (np.abs(sums - 1) > 1e-5) & (sums != 0)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"row {first + row} of {name} sums to {sums[row]:g}, not to 1; pass probabilities, or use cosine"
        )
    return np.sqrt(X)


def _per_row(X: Any, reduce: np.ufunc, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """One figure per row of `values`, which stand where those of X stand, not below 0."""
    if not is_sparse(X):
        return np.asarray(reduce.reduce(values, axis=1, initial=0.0))
    out = np.zeros(X.shape[0])
    filled = np.flatnonzero(np.diff(X.indptr))
    if len(filled):
        out[filled] = reduce.reduceat(values, X.indptr[filled])
    return out


def _divided(X: Any, by: NDArray[np.float64]) -> Any:
    if not is_sparse(X):
        return X / by[:, np.newaxis]
    data = X.data / np.repeat(by, np.diff(X.indptr))
    if isinstance(X, SparseRows):
        return X.with_data(data)
    return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)

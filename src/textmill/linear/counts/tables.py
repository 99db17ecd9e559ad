"""Tables of counts as the fits take them: rows are texts, columns are words, each row with its length.

Checks say in which row what is wrong: counts that are negative, fractional or missing, exposures that are no lengths,
counts above their exposure. Cost: one visit of every entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats, Masks
from textmill.corpus import check_bags
from textmill.errors import DataError
from textmill.numeric import sparse

__all__ = [
    "check_columns",
    "check_count_rows",
    "check_counts",
    "check_exposure",
    "column_of",
    "counts_and_weights",
    "row_of_entries",
]


def check_counts(X: Any) -> Any:
    """X as sparse rows of whole numbers >= 0.

    >>> check_counts([[1, 0], [0, 2.5]])
    Traceback (most recent call last):
    textmill.errors.DataError: X holds 2.5 in row 1, column 1; counts are whole numbers: pass counts, not weights
    """
    X = check_bags(X)
    if X.dtype.kind == "f":
        fractional = X.data != np.floor(X.data)
        if fractional.any():
            _refuse(X, fractional, "counts are whole numbers: pass counts, not weights")
    return X


def check_count_rows(X: Any, source: str, *, first_column: int = 1) -> None:
    """Refuse rows that were read from a file unless they hold whole numbers >= 0; names the row, from 1.

    >>> check_count_rows(sparse.csr_matrix([[1, 0], [0, 2.5]]), "a.svmlight")
    Traceback (most recent call last):
    textmill.errors.DataError: a.svmlight: row 2 holds 2.5 in column 2, which is no count; write a whole number >= 0
    """
    wrong = ~((X.data >= 0) & (X.data == np.floor(X.data)))
    if wrong.any():
        place = int(np.argmax(wrong))
        row, column = int(row_of_entries(X)[place]) + 1, int(X.indices[place]) + first_column
        raise DataError(
            f"row {row} holds {X.data[place]:g} in column {column}, which is no count; write a whole number >= 0",
            source=source,
        )


def check_columns(X: Any, exposure: ArrayLike | None) -> None:
    """Refuse to take the sums of rows for lengths where they would be the counts themselves.

    >>> check_columns(check_counts([[1], [0]]), None)
    Traceback (most recent call last):
    textmill.errors.DataError: X has one word, whose counts say nothing about the lengths of texts; pass exposure=
    """
    if exposure is None and X.shape[1] == 1:
        raise DataError("X has one word, whose counts say nothing about the lengths of texts; pass exposure=")


def check_exposure(X: Any, exposure: ArrayLike | None, *, bounded: bool) -> Floats:
    """The lengths of the texts, those of the rows of X if none are given; none below a count if `bounded`.

    >>> check_exposure(check_counts([[1, 2], [0, 0]]), None, bounded=True).tolist()
    [3.0, 0.0]
    """
    rows = X.shape[0]
    if exposure is None:
        return np.asarray(X.sum(axis=1), np.float64).ravel()
    lengths = np.array(exposure, np.float64)
    if lengths.shape != (rows,):
        raise DataError(f"exposure has shape {lengths.shape}; pass one length per row, {rows} in all")
    wrong = ~(np.isfinite(lengths) & (lengths >= 0))
    if bounded:
        wrong |= lengths != np.floor(lengths)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"exposure is {lengths[row]} in row {row}; pass lengths, whole numbers >= 0")
    of_entries = lengths[row_of_entries(X)]
    if bounded and (X.data > of_entries).any():
        _refuse(X, X.data > of_entries, "that is more than the exposure of the row: count all tokens of the text")
    if ((of_entries == 0) & (X.data > 0)).any():
        _refuse(X, (of_entries == 0) & (X.data > 0), "but the exposure of the row is 0; pass its length")
    return lengths


def row_of_entries(X: Any) -> Any:
    """The row of every stored entry."""
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))


def counts_and_weights(
    counts: ArrayLike | Mapping[int, float], sample_weight: ArrayLike | None
) -> tuple[Floats, Floats]:
    """Counts with the weight of each, of a histogram {count: how often} too.

    >>> [array.tolist() for array in counts_and_weights({0: 5, 2: 1}, None)]
    [[0.0, 2.0], [5.0, 1.0]]
    """
    if isinstance(counts, Mapping):
        if sample_weight is not None:
            raise DataError("a histogram has its weights already; leave sample_weight out")
        x = np.array(list(counts), np.float64)
        weights = np.array(list(counts.values()), np.float64)
    else:
        x = np.asarray(counts, np.float64)
        weights = np.ones(x.shape) if sample_weight is None else np.array(sample_weight, np.float64)
    if x.ndim != 1 or not len(x):
        raise DataError(f"counts must be a list of numbers, at least one, got an array of shape {x.shape}")
    if weights.shape != x.shape:
        raise DataError(f"sample_weight has shape {weights.shape}; pass one number per count, {len(x)} in all")
    wrong = ~(np.isfinite(x) & (x >= 0) & (x == np.floor(x)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"count {x[row]} in row {row} is no count; pass whole numbers >= 0")
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"weight {weights[row]} in row {row} must be a finite number >= 0")
    return x, weights


def column_of(counts: Floats) -> Any:
    """Counts as a table of one column.

    >>> column_of(np.array([0.0, 3.0])).shape
    (2, 1)
    """
    return sparse.csr_matrix(counts[:, None])


def _refuse(X: Any, wrong: Masks, remedy: str) -> None:
    place = int(np.argmax(wrong))
    row, column = int(row_of_entries(X)[place]), int(X.indices[place])
    raise DataError(f"X holds {X.data[place]} in row {row}, column {column}; {remedy}")

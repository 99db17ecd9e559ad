"""Rows of values and numbers, as a tree reads them.

A column holds values (texts: letters, words, tags), which a tree compares one by one, or numbers, which it compares
with a threshold. Rows come as lists, tuples, mappings, NumPy arrays or data frames; a column of numbers is numeric
unless it is named in `categorical`. Values become codes, positions in the sorted list of the values that training saw;
-1 stands for every other value.

`EncodedRows` holds rows that are codes already: columns of values first, then columns of numbers. Cost: one visit of
every cell, a sort of every column of values.
"""

from __future__ import annotations

import numbers as abstract
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ids
from textmill.errors import DataError
from textmill.numeric import is_sparse

__all__ = ["Column", "EncodedRows", "encode_columns", "learn_columns"]


@dataclass(frozen=True)
class EncodedRows:
    """Rows as codes of values and numbers.

    `codes` is (rows, columns of values), `numbers` (rows, columns of numbers), `values` the values of each column in
    the order of their codes, `names` the names of all columns, those of values first.

    >>> EncodedRows(np.array([[0], [1]], np.int32), values=[["a", "b"]]).numbers.shape
    (2, 0)
    """

    codes: Ids
    numbers: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    values: Sequence[Sequence[str]] = ()
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.numbers.size == 0 and self.numbers.shape[1] == 0:
            object.__setattr__(self, "numbers", np.zeros((len(self.codes), 0)))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.codes), self.codes.shape[1] + self.numbers.shape[1]


@dataclass(frozen=True)
class Column:
    """What training saw in a column: its name, and its values in sorted order, or None for numbers."""

    name: str
    values: tuple[str, ...] | None


def learn_columns(X: Any, categorical: Sequence[Any] | str | None) -> tuple[list[Column], EncodedRows]:
    """Decide which columns hold values and which numbers, and encode the rows.

    >>> columns, rows = learn_columns([["a", 3], ["b", 4.5]], None)
    >>> columns[0].values, columns[1].values, rows.codes.tolist(), rows.numbers.tolist()
    (('a', 'b'), None, [[0], [1]], [[3.0], [4.5]])
    """
    if isinstance(X, EncodedRows):
        count = X.codes.shape[1]
        if len(X.values) != count:
            raise DataError(
                f"there are {count} columns of codes and lists of values for {len(X.values)}; pass one each"
            )
        names = list(X.names) or [str(i) for i in range(X.shape[1])]
        columns = [Column(names[i], tuple(X.values[i])) for i in range(count)]
        return columns + [Column(name, None) for name in names[count:]], X
    names, cells = _columns(X)
    chosen = _chosen(categorical, names)
    columns, codes, floats = [], [], []
    for i, (name, column) in enumerate(zip(names, cells, strict=True)):
        if chosen[i] or (chosen[i] is None and not _is_numeric(name, column)):
            texts = _texts(name, column)
            values, places = np.unique(texts, return_inverse=True)
            columns.append(Column(name, tuple(values.tolist())))
            codes.append(places.astype(np.int32))
        else:
            columns.append(Column(name, None))
            floats.append(_floats(name, column))
    return columns, _joined(len(cells[0]) if cells else 0, codes, floats)


def encode_columns(X: Any, columns: Sequence[Column]) -> EncodedRows:
    """Encode rows over the columns that training saw; values it did not see are -1.

    >>> columns, _ = learn_columns([["a", 3], ["b", 4.5]], None)
    >>> encode_columns([["c", 1]], columns).codes.tolist()
    [[-1]]
    """
    if isinstance(X, EncodedRows):
        valued = sum(column.values is not None for column in columns)
        if X.codes.shape[1] != valued or X.shape[1] != len(columns):
            raise DataError(
                f"rows have {X.codes.shape[1]} columns of codes and {X.numbers.shape[1]} of numbers, but the tree has "
                f"{valued} and {len(columns) - valued}"
            )
        return X
    names, cells = _columns(X)
    if len(names) != len(columns):
        raise DataError(
            f"X has {len(names)} features, but CategoricalTree is expecting {len(columns)} features as input; "
            "pass rows over the same columns"
        )
    if names != [column.name for column in columns] and set(names) == {column.name for column in columns}:
        cells = [cells[names.index(column.name)] for column in columns]  # mappings and frames in another order
    codes, floats = [], []
    for column, values in zip(columns, cells, strict=True):
        if column.values is None:
            floats.append(_floats(column.name, values))
            continue
        texts = _texts(column.name, values)
        seen = np.array(column.values, dtype=texts.dtype if texts.dtype.kind == "O" else None)
        places = np.searchsorted(seen, texts) if len(seen) else np.zeros(len(texts), np.intp)
        places = np.minimum(places, max(len(seen) - 1, 0))
        codes.append(np.where(seen[places] == texts, places, -1).astype(np.int32) if len(seen) else places - 1)
    return _joined(len(cells[0]) if cells else 0, codes, floats)


def _joined(rows: int, codes: list[Any], floats: list[Floats]) -> EncodedRows:
    return EncodedRows(
        np.ascontiguousarray(np.stack(codes, axis=1) if codes else np.zeros((rows, 0)), np.int32),
        np.ascontiguousarray(np.stack(floats, axis=1) if floats else np.zeros((rows, 0))),
    )


def _columns(X: Any) -> tuple[list[str], list[NDArray[Any]]]:
    """Names and cells of all columns."""
    if is_sparse(X):
        raise DataError("sparse rows are not for trees; pass dense rows (X.toarray()) or a list of values")
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        cells = [X.iloc[:, i].to_numpy() for i in range(X.shape[1])]
        _require_shape((X.shape[0], X.shape[1]))
        return [str(name) for name in X.columns], cells
    if hasattr(X, "__array__"):
        X = np.asarray(X)
    elif not hasattr(X, "shape"):
        X = list(X)
        if X and isinstance(X[0], Mapping):
            return _from_mappings(X)
    if isinstance(X, list) and X and all(isinstance(row, Sequence) and not isinstance(row, str) for row in X):
        widths = {len(row) for row in X}
        if len(widths) > 1:
            place = next(i for i, row in enumerate(X) if len(row) != len(X[0]))
            raise DataError(f"row {place} has {len(X[place])} cells but row 0 has {len(X[0])}; make them equal")
        matrix = np.empty((len(X), widths.pop()), dtype=object)
        for i, row in enumerate(X):
            matrix[i] = row
    else:
        matrix = np.asarray(X)
    if matrix.ndim != 2:
        raise DataError(
            f"X has {matrix.ndim} dimension(s); Reshape your data: a row for each case, a column for each attribute"
        )
    _require_shape(matrix.shape)
    if matrix.dtype.kind == "c":
        raise DataError("Complex data not supported: X holds complex numbers; pass real ones")
    return [str(i) for i in range(matrix.shape[1])], [matrix[:, i] for i in range(matrix.shape[1])]


def _require_shape(shape: tuple[int, ...]) -> None:
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if not size:
            raise DataError(f"X is empty: 0 {what}(s) (shape={shape}) while a minimum of 1 is required; pass rows")


def _from_mappings(rows: list[Mapping[str, Any]]) -> tuple[list[str], list[NDArray[Any]]]:
    names = list(rows[0])
    for i, row in enumerate(rows):
        if row.keys() != rows[0].keys():
            raise DataError(f"row {i} has the fields {sorted(row)} but row 0 has {sorted(names)}; make them equal")
    cells = []
    for name in names:
        column = np.empty(len(rows), dtype=object)
        column[:] = [row[name] for row in rows]
        cells.append(column)
    return [str(name) for name in names], cells


def _chosen(categorical: Sequence[Any] | str | None, names: list[str]) -> list[bool | None]:
    """Which columns are said to hold values; None where their cells decide."""
    if categorical is None:
        return [None] * len(names)
    if categorical == "all":
        return [True] * len(names)
    if isinstance(categorical, str):
        raise DataError(f"categorical must be 'all', None, or names or numbers of columns, got {categorical!r}")
    chosen: list[bool | None] = [None] * len(names)
    for item in categorical:
        if str(item) not in names and not (isinstance(item, int) and 0 <= item < len(names)):
            raise DataError(f"categorical names the column {item!r}, but there are only {names}")
        chosen[names.index(str(item)) if str(item) in names else int(item)] = True
    return chosen


def _is_numeric(name: str, column: NDArray[Any]) -> bool:
    if column.dtype.kind in "biuf":
        return True
    if column.dtype.kind != "O":
        return False
    kinds = [isinstance(cell, abstract.Real | np.bool_) for cell in column.tolist()]
    if any(kinds) and not all(kinds):
        row = kinds.index(not kinds[0])
        raise DataError(
            f"column {name} mixes texts and numbers, first in row {row}; make its cells all of one kind, or name it in "
            "categorical="
        )
    return bool(kinds) and kinds[0]


def _texts(name: str, column: NDArray[Any]) -> NDArray[Any]:
    """Cells as texts; whole floats lose their .0, so that 1 and 1.0 are one value."""
    if column.dtype.kind == "U":
        return column
    texts: list[str] = []
    for row, cell in enumerate(column.tolist()):
        if isinstance(cell, str):
            texts.append(cell)
        elif cell is None or cell != cell:
            raise DataError(f"column {name} has no value in row {row}; give missing values a name of their own")
        elif isinstance(cell, float) and cell.is_integer():
            texts.append(str(int(cell)))
        elif isinstance(cell, abstract.Real | np.bool_):
            texts.append(str(cell))
        else:
            raise DataError(f"column {name} has {cell!r} in row {row}; argument must be a string or a number")
    array = np.array(texts, dtype=object)
    return array if any(text.endswith("\0") for text in texts) or not texts else array.astype(str)


def _floats(name: str, column: NDArray[Any]) -> Floats:
    if column.dtype.kind == "c":
        raise DataError("Complex data not supported: X holds complex numbers; pass real ones")
    try:
        values = column.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"column {name} held numbers in training and holds something else now; argument must be a number"
        ) from None
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        kind = "NaN" if np.isnan(values[row]) else "infinity"
        raise DataError(f"Input X contains {kind}, in row {row}, column {name}; leave the row out or give it a number")
    return values

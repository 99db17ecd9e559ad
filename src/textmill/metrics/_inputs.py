"""Checks that every metric makes of its input, and labels as numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.arrays import Floats, Ints
from textmill.errors import DataError

__all__ = ["check_lengths", "choice", "codes", "numbers", "sorted_labels", "truths"]


def check_lengths(first: str, first_length: int, second: str, second_length: int) -> None:
    """Refuse two lists that should be parallel and are not, or that are empty."""
    if first_length != second_length:
        raise DataError(f"{first} has {first_length} items but {second} has {second_length}; pass one for each item")
    if first_length == 0:
        raise DataError(f"{first} is empty; a figure needs at least one item")


def choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a word that is not one of the allowed ones."""
    if value not in allowed:
        options = ", ".join(repr(option) for option in allowed)
        raise DataError(f"{name}={value!r} is not known; choose one of {options}")


def numbers(name: str, values: ArrayLike, dimensions: int = 1) -> Floats:
    """Convert to finite float64 of the wanted rank."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not an array of numbers ({error}); pass numbers in rows of equal length") from None
    if array.ndim != dimensions:
        raise DataError(f"{name} has {array.ndim} dimensions but {dimensions} are needed; reshape it")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise DataError(f"{name} holds {array.flat[bad[0]]} at item {bad[0]}; remove or replace what is not finite")
    return array


def truths(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    """Convert booleans, or zeros and ones, to a boolean vector."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(f"{name} has {array.ndim} dimensions but 1 is needed; pass one truth value for each item")
    if array.dtype != np.bool_ and array.size:
        valid = array.dtype.kind in "iuf" and bool(np.all((array == 0) | (array == 1)))
        if not valid:
            raise DataError(f"{name} must hold true and false (or 1 and 0); compare labels first: {name} == 'spam'")
    return array.astype(np.bool_)


def sorted_labels(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Sort distinct labels; labels that do not compare are sorted by type and text."""
    distinct = set(labels)
    try:
        return tuple(sorted(distinct))  # type: ignore[type-var]
    except TypeError:
        return tuple(sorted(distinct, key=lambda label: (type(label).__name__, repr(label))))


def codes(
    gold: Iterable[Hashable], predicted: Iterable[Hashable], labels: Iterable[Hashable] | None
) -> tuple[tuple[Hashable, ...], Ints, Ints]:
    """Number the labels of two parallel lists; without `labels`, in sorted order."""
    sides = [_plain(gold), _plain(predicted)]
    names = sorted_labels(chain(*sides)) if labels is None else tuple(_plain(labels))
    index = {label: code for code, label in enumerate(names)}
    if len(index) != len(names):
        raise DataError("labels names a label twice; name each once")
    numbered = []
    for side, values in zip(("gold", "predicted"), sides, strict=True):
        try:
            numbered.append(np.fromiter(map(index.__getitem__, values), np.int64, len(values)))
        except KeyError as error:
            place = values.index(error.args[0])
            raise DataError(f"{side} item {place} is {error.args[0]!r}, which labels does not name; add it") from None
    return names, numbered[0], numbered[1]


def _plain(values: Iterable[Hashable]) -> list[Hashable]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)

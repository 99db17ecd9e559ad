"""What the charts are given, checked: numbers, names, points. Each fault is one line that names its series."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.readable import one_line

__all__ = ["Pairs", "Points", "as_points", "check_lengths", "cut", "finite", "has_place", "numbers"]

Pairs = Mapping[str, tuple[ArrayLike, ArrayLike]]

LONGEST = 40  # characters of a name in a figure
_PLACES = {"linear": (-1e200, 1e200), "log": (1e-200, 1e200), "probit": (1e-12, 1 - 1e-12)}  # more is lost in rounding


class Points(NamedTuple):
    """A series; a point that has no place on the axes is NaN, NaN."""

    name: str
    x: Floats
    y: Floats


def as_points(series: Pairs, x_scale: str, y_scale: str) -> list[Points]:
    """The series of a mapping, checked.

    >>> as_points({"Zipf": ([1, 0, 2], [9, 8, 4])}, "log", "log")
    [Points(name='Zipf', x=array([ 1., nan,  2.]), y=array([ 9., nan,  4.]))]
    """
    if not series:
        raise DataError("there is nothing to draw; pass at least one series, a name with its x and y values")
    points = []
    for name, pair in series.items():
        try:
            given_x, given_y = pair
        except (TypeError, ValueError):
            raise DataError(f"series '{cut(name)}' is not a pair; pass its x values and its y values") from None
        x, y = numbers(f"x of '{cut(name)}'", given_x), numbers(f"y of '{cut(name)}'", given_y)
        check_lengths(f"x values of '{cut(name)}'", len(x), "y values", len(y))
        placed = has_place(x_scale, x) & has_place(y_scale, y)
        if not placed.any():
            raise DataError(
                f"series '{cut(name)}' has no point with a place on {x_scale} x and {y_scale} y axes; pass others"
            )
        points.append(Points(cut(name), np.where(placed, x, np.nan), np.where(placed, y, np.nan)))
    return points


def has_place(scale: str, values: Floats) -> NDArray[np.bool_]:
    """Which values lie inside an axis of this scale."""
    if scale not in _PLACES:
        raise DataError(f"scale '{one_line(scale)}' is not known; pass one of {', '.join(_PLACES)}")
    low, high = _PLACES[scale]
    placed: NDArray[np.bool_] = (low < values) & (values < high)  # neither NaN nor infinite
    return placed


def numbers(what: str, values: ArrayLike, *, dimensions: int = 1) -> Floats:
    """An array of floats, not empty.

    >>> numbers("x of 'loss'", ["high"])
    Traceback (most recent call last):
    textmill.errors.DataError: x of 'loss' holds something that is no number; pass numbers only
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} holds something that is no number; pass numbers only") from None
    if array.ndim != dimensions:
        raise DataError(f"{what} has {array.ndim} dimensions; pass an array of {dimensions}")
    if not array.size:
        raise DataError(f"{what} is empty; pass at least one value")
    return array


def finite(what: str, values: ArrayLike, *, missing: bool = False, dimensions: int = 1) -> Floats:
    """The same, without infinity; NaN only if values may be `missing`, and not all of them."""
    array = numbers(what, values, dimensions=dimensions)
    if not (has_place("linear", array) | (np.isnan(array) & missing)).all():
        raise DataError(f"{what} holds NaN or infinity, which cannot be drawn; remove or replace it")
    if np.isnan(array).all():
        raise DataError(f"{what} holds nothing but NaN; pass at least one value")
    return array


def check_lengths(what: str, length: int, other: str, expected: int) -> None:
    """Two lengths that must be equal."""
    if length != expected:
        raise DataError(f"there are {length} {what} and {expected} {other}; pass as many of both")


def cut(text: object) -> str:
    """A name for a tick, a legend or a point: clean, and not too long.

    >>> cut("Minutes of the meeting of the Philosophical Society")
    'Minutes of the meeting of the Philosoph…'
    """
    line = one_line(text)
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"

"""What the arrays of a model look like, declared once and checked whenever a file is written or read.

A class says for every array its named axes and, after a colon, its type:

    layout = {
        "weights_": "class term",              # float64 when nothing is said
        "columns_": "entry: int32",
        "rows_": "class+1: int64",             # one more than there are classes
        "terms_": "term: str",                 # a StringTable
        "bias_": "class: float64 | None",      # None is not stored
        "arcs_.target": "arc: int32",          # one field of the record arcs_
    }
    indices = {"columns_": "term"}             # 0 <= value < number of terms
    offsets = {"rows_": "entry"}               # 0 = first <= ... <= last = number of entries

Axes of one name have one extent. Shapes and types cost O(number of arrays) to check; indices and offsets cost a visit
of every value, in parallel, and are checked once, before the first kernel that follows them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.errors import ModelFileError
from textmill.model.estimators import effective_jobs

__all__ = [
    "CHUNK",
    "DTYPES",
    "Field",
    "check_flags",
    "check_indices",
    "check_offsets",
    "check_shapes",
    "parse_layout",
    "stored_fields",
]

# the types an array in a file can have: safetensors' name and ours
DTYPES = {
    "BOOL": "bool",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
}
CHUNK = 1 << 22  # entries looked at together: no large temporaries, and threads have something to share


@dataclass(frozen=True, slots=True)
class Field:
    """One line of a layout: named axes, allowed types, and whether None may stand for the array."""

    axes: tuple[str, ...]
    types: frozenset[str]
    optional: bool = False


def parse_layout(layout: Mapping[str, str]) -> dict[str, Field]:
    """Read the lines of a layout; a mistake in one is a TypeError, for the author of the class.

    >>> parse_layout({"bias_": "class: float64 | None"})
    {'bias_': Field(axes=('class',), types=frozenset({'float64'}), optional=True)}
    """
    fields = {}
    for name, line in layout.items():
        axes, colon, words = line.partition(":")
        types = {word.strip() for word in words.split("|")} if colon else {"float64"}
        field = Field(tuple(axes.split()), frozenset(types - {"None"}), "None" in types)
        unknown = field.types - {*DTYPES.values(), "str", "label"}
        if unknown or not field.types:
            raise TypeError(f"layout of '{name}': '{line}' has no known type after the colon")
        if field.types & {"str", "label"} and (len(field.axes) != 1 or len(field.types) != 1):
            raise TypeError(f"layout of '{name}': '{line}' needs exactly one axis and no other type")
        fields[name] = field
    return fields


def stored_fields(fields: Mapping[str, Field], names: Container[str]) -> dict[str, Field]:
    """Fields as a file holds them: strings become NAME.bytes and NAME.offsets, labels those or numbers.

    `names` are the arrays that are there, which tells the two kinds of labels apart.

    >>> sorted(stored_fields(parse_layout({"terms_": "term: str"}), ()))
    ['terms_.bytes', 'terms_.offsets']
    """
    stored = {}
    for name, field in fields.items():
        as_strings = f"{name}.bytes" in names or f"{name}.offsets" in names
        if "str" in field.types or ("label" in field.types and as_strings):
            optional = field.optional and not as_strings  # both or none
            stored[f"{name}.bytes"] = Field((f"{name} byte",), frozenset({"uint8"}), optional)
            stored[f"{name}.offsets"] = Field((f"{field.axes[0]}+1",), frozenset({"int64"}), optional)
        elif "label" in field.types:
            stored[name] = Field(field.axes, frozenset(DTYPES.values()), field.optional)
        else:
            stored[name] = field
    return stored


def check_shapes(arrays: Mapping[str, NDArray[Any]], fields: Mapping[str, Field]) -> dict[str, int]:
    """Check that every array is there with its axes and type, and return the extent of every axis.

    >>> sizes = check_shapes({"terms": np.ones((3, 2))}, parse_layout({"terms": "term topic"}))
    >>> sizes["term"], sizes["topic"]
    (3, 2)
    >>> arrays = {"terms": np.ones((3, 2)), "strength": np.ones(4)}
    >>> check_shapes(arrays, parse_layout({"terms": "term topic", "strength": "topic"}))
    Traceback (most recent call last):
    textmill.errors.ModelFileError: 'strength' has 4 along topic, but 'terms' asks for 2
    """
    sizes: dict[str, int] = {}
    owners: dict[str, str] = {}
    for name, field in fields.items():
        array = arrays.get(name)
        if array is None:
            if not field.optional:
                raise ModelFileError(f"array '{name}' with axes ({' '.join(field.axes)}) is missing", reason="damaged")
            continue
        if array.ndim != len(field.axes):
            raise ModelFileError(
                f"array '{name}' has {array.ndim} axes but needs ({' '.join(field.axes)})", reason="damaged"
            )
        if array.dtype.name not in field.types:
            raise ModelFileError(
                f"array '{name}' is {array.dtype.name} but must be {' or '.join(sorted(field.types))}", reason="damaged"
            )
        for axis, extent in zip(field.axes, array.shape, strict=True):
            base = axis.removesuffix("+1")
            extra = 1 if axis != base else 0
            owner = owners.setdefault(base, name)
            if extent - extra != sizes.setdefault(base, max(0, extent - extra)):
                wanted = sizes[base] + extra
                raise ModelFileError(
                    f"'{name}' has {extent} along {axis}, but '{owner}' asks for {wanted}", reason="damaged"
                )
    return sizes


def check_indices(name: str, array: NDArray[Any], extent: int) -> None:
    """Check that every value is an index below `extent`.

    >>> check_indices("columns_", np.array([0, 4, 2]), 4)
    Traceback (most recent call last):
    textmill.errors.ModelFileError: 'columns_' holds 4 at position 1, but only 0 to 3 are valid
    """
    at = _first(array, lambda part: (part < 0) | (part >= extent))
    if at is not None:
        allowed = f"only 0 to {extent - 1} are valid" if extent else "there is nothing to point at"
        raise ModelFileError(f"'{name}' holds {array.flat[at]} at position {at}, but {allowed}", reason="damaged")


def check_offsets(name: str, array: NDArray[Any], extent: int) -> None:
    """Check that the values rise, never falling, from 0 to `extent`.

    >>> check_offsets("rows_", np.array([0, 2, 1, 4]), 4)
    Traceback (most recent call last):
    textmill.errors.ModelFileError: 'rows_' falls from 2 to 1 after position 1
    """
    if array[0] != 0 or array[-1] != extent:
        raise ModelFileError(
            f"'{name}' runs from {array[0]} to {array[-1]} but must run from 0 to {extent}", reason="damaged"
        )
    at = _first(array, lambda part: part[1:] < part[:-1], overlap=1)
    if at is not None:
        raise ModelFileError(
            f"'{name}' falls from {array[at]} to {array[at + 1]} after position {at}", reason="damaged"
        )


def check_flags(name: str, array: NDArray[np.bool_]) -> None:
    """Check that every byte of a Boolean array is 0 or 1: anything else is undefined behavior for a kernel.

    >>> check_flags("seen_", np.array([True, False]))
    """
    at = _first(array.view(np.uint8), lambda part: part > 1)
    if at is not None:
        raise ModelFileError(f"'{name}' has a byte that is neither 0 nor 1 at position {at}", reason="damaged")


def _first(array: NDArray[Any], wrong: Callable[[NDArray[Any]], NDArray[np.bool_]], overlap: int = 0) -> int | None:
    """Position of the first wrong value of the flattened array, None when all are right."""
    flat = array.reshape(-1)

    def look(start: int) -> int | None:
        mask = wrong(flat[start : start + CHUNK + overlap])
        return start + int(mask.argmax()) if mask.any() else None

    starts = range(0, flat.size, CHUNK)
    if len(starts) <= 1:
        faults = list(map(look, starts))
    else:
        with ThreadPoolExecutor(effective_jobs(None)) as pool:  # NumPy lets go of the interpreter in these loops
            faults = list(pool.map(look, starts))
    return next((at for at in faults if at is not None), None)

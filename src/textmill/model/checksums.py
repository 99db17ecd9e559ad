"""Checksums of a model file: what is read is what was written.

    header    CRC-32 of the canonical JSON of the description and of the type and shape of every array
    arrays    CRC-32 of the bytes of each array, as the file holds them

CRC-32 is the one of gzip and PNG, eight hexadecimal digits. It finds every flipped bit, every damage within 32
neighboring bits, and all but one in 2^32 of any other; it guards against disks and networks, not against forgers.
Where the arrays lie is not in it: they lie in a row without gaps, so one in the wrong place has the wrong checksum.

Cost: O(header) when a file is opened. The arrays take a visit of every byte, arrays in parallel: zlib lets go of the
interpreter.
Reference: RFC 1952, section 8.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.errors import ModelFileError
from textmill.model.estimators import effective_jobs
from textmill.model.parameters import DAMAGED, canonical

__all__ = ["array_checksums", "check_arrays", "check_header", "header_checksum"]

_DIGITS = re.compile("[0-9a-f]{8}")
_LARGE = 1 << 20  # bytes in all, from which threads are worth starting


def array_checksums(arrays: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Checksum of each array, by its name.

    >>> array_checksums({"digits": np.frombuffer(b"123456789", np.uint8)})
    {'digits': 'cbf43926'}
    """
    if sum(array.nbytes for array in arrays.values()) < _LARGE:
        return {name: _array_checksum(array) for name, array in arrays.items()}
    with ThreadPoolExecutor(effective_jobs(None)) as pool:
        return dict(zip(arrays, pool.map(_array_checksum, arrays.values()), strict=True))


def header_checksum(description: Mapping[str, Any], types: Mapping[str, tuple[str, tuple[int, ...]]]) -> str:
    """Checksum of a description and of the type and shape of each array.

    >>> header_checksum({"class": "topics.LDA"}, {"alpha_": ("float64", (3,))})
    'd24c95da'
    """
    return _hexadecimal(zlib.crc32(canonical({"arrays": types, "description": description}).encode()))


def check_header(
    description: dict[str, Any], types: Mapping[str, tuple[str, tuple[int, ...]]]
) -> dict[str, str] | None:
    """Take the checksums out of a description once that of the header is right; None for a file that has none.

    >>> check_header({"class": "topics.LDA"}, {}) is None
    True
    """
    checksums = description.get("crc32")
    if "crc32" not in description:
        return None
    if (
        not isinstance(checksums, dict)
        or checksums.keys() != {"arrays", "header"}
        or not isinstance(checksums["arrays"], dict)
        or checksums["arrays"].keys() != types.keys()
        or not all(isinstance(digits, str) and _DIGITS.fullmatch(digits) for digits in checksums["arrays"].values())
    ):
        raise ModelFileError(f"the checksums are not those of its arrays; {DAMAGED}", reason="damaged")
    header = checksums.pop("header")
    try:
        same = header == header_checksum(description, types)
    except RecursionError:
        raise ModelFileError(f"the description is nested too deeply; {DAMAGED}", reason="damaged") from None
    if not same:
        raise ModelFileError(f"the header is not what was saved: its checksum differs; {DAMAGED}", reason="damaged")
    del description["crc32"]
    arrays: dict[str, str] = checksums["arrays"]
    return arrays


def check_arrays(arrays: Mapping[str, NDArray[Any]], checksums: Mapping[str, str]) -> None:
    """Check every byte of the arrays; O(bytes).

    >>> check_arrays({"digits": np.frombuffer(b"123456780", np.uint8)}, {"digits": "cbf43926"})
    Traceback (most recent call last):
    textmill.errors.ModelFileError: array 'digits' is not what was saved: its checksum differs; the file is damaged: ...
    """
    for name, checksum in array_checksums(arrays).items():
        if checksum != checksums[name]:
            raise ModelFileError(
                f"array '{name}' is not what was saved: its checksum differs; {DAMAGED}", reason="damaged"
            )


def _array_checksum(array: NDArray[Any]) -> str:
    """Checksum of one array in C order, its bytes as a file has them: little-endian."""
    stored = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    return _hexadecimal(zlib.crc32(stored.reshape(-1).view(np.uint8).data))


def _hexadecimal(checksum: int) -> str:
    return f"{checksum:08x}"

"""The line of text that makes a figure comparable: its name, its choices, the version that computed it.

    pk|k:6|unit:gap|textmill:1.2.0

Counts carry their conventions (the part before the version) as a string. Counts without conventions are empty sums
and add to anything; counts of different conventions do not add.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata

from textmill.errors import DataError

__all__ = ["conventions", "merged", "signature"]


def conventions(name: str, **choices: object) -> str:
    """Join a figure's name and choices.

    >>> conventions("pk", k=6, unit="gap")
    'pk|k:6|unit:gap'
    """
    return "|".join([name, *(f"{key}:{value}" for key, value in choices.items())])


def signature(name: str, **choices: object) -> str:
    """Name every choice that moves a figure, and the version, in one line to print beside it.

    >>> signature("f", beta=2).startswith("f|beta:2|textmill:")
    True
    """
    return "|".join([conventions(name, **choices), f"textmill:{_version()}"])


def merged(first: str, second: str) -> str:
    """Return the conventions of a sum.

    >>> merged("", "pk|k:6")
    'pk|k:6'
    """
    if first and second and first != second:
        raise DataError(f"counts of '{first}' and of '{second}' do not add; compute both with the same choices")
    return first or second


@cache
def _version() -> str:
    try:
        return metadata.version("textmill")
    except metadata.PackageNotFoundError:
        return "0+unknown"

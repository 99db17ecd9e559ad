"""Where random numbers begin: what scikit-learn takes as `random_state`, as a seed for our own generators.

Kernels draw numbers by seed and item, so that threads and machines do not matter (native/base/random.h). A generator of
NumPy is therefore asked for one seed: each fit with the same generator begins elsewhere, the same sequence of fits
gives the same models. A model file does not hold the state of a generator; a loaded model has `random_state=None`.
"""

from __future__ import annotations

import numbers
from typing import Any, TypeAlias

import numpy as np

from textmill.errors import DataError

__all__ = ["RandomState", "is_generator", "seed_of"]

RandomState: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"

_SEEDS = 2**63  # one more than the largest seed that is drawn


def seed_of(random_state: Any, unset: int | None = None) -> int:
    """The seed that `random_state` names; `unset` stands for None, and None there for a seed that is drawn.

    `random_state` is a whole number, a `numpy.random.Generator` or a `numpy.random.RandomState`.

    >>> seed_of(7), seed_of(None, 0), seed_of(np.random.default_rng(1)) == seed_of(np.random.default_rng(1))
    (7, 0, True)
    >>> seed_of("seven")
    Traceback (most recent call last):
    textmill.errors.DataError: random_state must be a whole number of at least 0, a generator of NumPy or None, ...
    """
    if random_state is None and unset is not None:
        return unset
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_SEEDS, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(_SEEDS, dtype=np.uint64))
    whole = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if whole and random_state >= 0:
        return int(random_state)
    raise DataError(
        f"random_state must be a whole number of at least 0, a generator of NumPy or None, got {random_state!r}"
    )


def is_generator(value: object) -> bool:
    """Is it a generator of random numbers, whose state a model file does not hold?

    >>> is_generator(np.random.default_rng(0)), is_generator(0)
    (True, False)
    """
    return isinstance(value, np.random.Generator | np.random.RandomState)

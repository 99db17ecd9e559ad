"""From counts to probabilities: the choice of `smoothing=`, its settings, and what was done where counts have holes.

    name                   words after a context                        shorter contexts
    modified-kneser-ney    a - D(a), three discounts for each order     number of different words before an n-gram
    kneser-ney             a - D, one discount for each order           the same
    absolute               c - D, one discount for each order           counts
    witten-bell            c / (c(h) + types(h))                        counts
    jelinek-mercer         (1 - g) c / c(h), g by the size of c(h)      counts
    katz                   d_c c / c(h), counts up to katz_limit        counts; only for words not seen after h
    good-turing            c* / c(h), c* of simple Good-Turing          counts; only for words not seen after h

The first five interpolate with the shorter context, the last two back off to it. native/lm/smoothing.h has the formulas
and references. Cost: two visits of each n-gram.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import lm as native
from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.model import check_choice, check_range

__all__ = ["SMOOTHINGS", "Rules", "Smoothed", "smooth"]

SMOOTHINGS = (  # in the order of native/lm/smoothing.h
    "modified-kneser-ney",
    "kneser-ney",
    "katz",
    "good-turing",
    "witten-bell",
    "absolute",
    "jelinek-mercer",
)
_CLASSES = {"modified-kneser-ney": 3, "kneser-ney": 1, "absolute": 1, "katz": 8, "good-turing": 8, "witten-bell": 0}
_SIZES = 64  # of contexts, for Jelinek-Mercer
_LARGEST_LIMIT = 7

Tree = tuple[Ints, NDArray[np.int32], NDArray[np.int32], Ints]  # levels, last words, first children, counts


class Rules(NamedTuple):
    """The parameters of a model that smoothing goes by, checked, with a value for each order."""

    smoothing: str
    min_counts: tuple[int, ...]
    katz_limit: tuple[int, ...]

    @classmethod
    def of(cls, order: int, smoothing: str, min_counts: int | Sequence[int], katz_limit: int | Sequence[int]) -> Rules:
        """Check the parameters; a number holds for all orders, the last of a list for all longer n-grams."""
        check_choice("smoothing", smoothing, list(SMOOTHINGS))
        least = _by_order("min_counts", min_counts, order, at_least=1)
        if list(least) != sorted(least):
            raise DataError(f"min_counts must not fall from order to order, got {min_counts!r}")
        return cls(smoothing, least, _by_order("katz_limit", katz_limit, order, at_least=0, at_most=_LARGEST_LIMIT))

    @property
    def native(self) -> dict[str, object]:
        """The same as arguments of a kernel."""
        return {
            "method": SMOOTHINGS.index(self.smoothing),
            "min_count": np.array(self.min_counts, dtype=np.int64),
            "limit": np.array(self.katz_limit, dtype=np.int32),
        }

    @property
    def continues(self) -> bool:
        """Whether shorter n-grams count the different words before them."""
        return self.smoothing in ("modified-kneser-ney", "kneser-ney")


class Smoothed(NamedTuple):
    """Discounts (or chances of a new word) by order, and a line for each order where counts of counts have holes."""

    discounts: Floats
    fall_backs: list[str]


def smooth(
    rules: Rules,
    tree: Tree,
    suffixes: NDArray[np.int32],
    probability: Floats,
    back_off: Floats,
    scratch: Ints,
    *,
    begin: int,
    threads: int,
) -> Smoothed:
    """Fill in log10 probabilities and back-off weights; `scratch` has a place for each node if `rules.continues`."""
    levels, last_words, children, counts = tree
    arguments = (levels, last_words, children, suffixes, counts, scratch, probability, back_off)
    discounts, fresh, fell_back = native.smooth(*arguments, **rules.native, begin=begin, threads=threads)
    order = len(rules.min_counts)
    if rules.smoothing == "jelinek-mercer":
        return Smoothed(fresh.reshape(order, _SIZES), [])
    table = discounts.reshape(order, -1)
    shown = table[:, : _CLASSES[rules.smoothing]].copy()
    names = {n: ", ".join(f"{d:g}" for d in dict.fromkeys(shown[n - 1].tolist())) for n in range(1, order + 1)}
    remark = "order {}: too little text to estimate the smoothing; every count is discounted by a fixed {}"
    if rules.smoothing == "modified-kneser-ney":
        remark = "order {}: too little text to estimate the smoothing; counts are discounted by a fixed {}"
    return Smoothed(shown, [remark.format(n, names[n]) for n in range(1, order + 1) if fell_back[n - 1]])


def _by_order(
    name: str, value: int | Sequence[int], order: int, *, at_least: int, at_most: int | None = None
) -> tuple[int, ...]:
    values = [value] if isinstance(value, int) else list(value)
    if not values or len(values) > order:
        raise DataError(f"{name} must be a number, or one for each of at most {order} orders, got {value!r}")
    for number in values:
        check_range(name, number, at_least=at_least, at_most=at_most, whole=True)
    return tuple(values + values[-1:] * (order - len(values)))

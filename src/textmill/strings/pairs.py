"""Pairs of names, and what all ways to find them have in common.

A join holds a collection and finds pairs `among` its names and `across` to others: by scoring, by an index of words
whose similarities are known (both in joins.py), or by an index of vectors (cosine_join.py). Names in which nothing
weighs (no word, or only words that all names have) equal the very same string, with the score 1, and no other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.tables import Column, Picked, Table

if TYPE_CHECKING:
    from textmill.strings.measure import Encoded, Fitted, FittedSequences

__all__ = ["IndexedJoin", "NameJoin", "Pairs", "best_pairs"]


class _PairArrays(NamedTuple):
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    score: NDArray[np.float64]


class Pairs(Table, _PairArrays):
    """Pairs of names by position, with their scores: by left name, then falling score, then right name.

    Those of a `Matcher` know their names, and show them; `by_score` sorts.

    >>> Pairs.of([(0, 2, 0.9), (1, 2, 0.7)]).right.tolist()
    [2, 2]
    >>> Pairs.of([(0, 1, 0.75)]).named(["Ann Smith", "Anne Smith"])
    Pairs, 1 row
    score  left_name  right_name  left  right
     0.75  Ann Smith  Anne Smith     0      1
    """

    _lists: tuple[Column, Column] | None = None

    def named(self, left: Column, right: Column | None = None) -> Pairs:
        """The same pairs, which know the names of the left and, if it is another one, of the right list."""
        pairs = Pairs(*self)
        pairs._lists = (left, left if right is None else right)
        return pairs

    def by_score(self) -> Pairs:
        """The same pairs, the best first.

        >>> Pairs.of([(0, 2, 0.7), (1, 2, 0.9)]).by_score().left.tolist()
        [1, 0]
        """
        return self.where(np.argsort(-self.score, kind="stable"))

    def columns(self) -> dict[str, Column]:
        """Return scores, names if they are known, and positions."""
        names: dict[str, Column] = {}
        if self._lists is not None:
            for side, places, texts in zip(("left", "right"), self[:2], self._lists, strict=True):
                names[f"{side}_name"] = Picked(texts, places)
        return {"score": self.score, **names, "left": self.left, "right": self.right}

    @classmethod
    def of(cls, rows: list[tuple[int, int, float]]) -> Pairs:
        """Pairs from a list of rows."""
        left, right, score = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(np.array(left, np.int32), np.array(right, np.int32), np.array(score, np.float64))

    @classmethod
    def concatenate(cls, blocks: Iterable[Pairs]) -> Pairs:
        """All blocks as one.

        >>> len(Pairs.concatenate([Pairs.of([(0, 1, 1.0)]), Pairs.of([])]).score)
        1
        """
        parts = [cls.of([]), *blocks]
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def where(self, keep: NDArray[Any]) -> Pairs:
        """The pairs that a mask, or positions, choose.

        >>> Pairs.of([(0, 2, 0.9), (1, 2, 0.7)]).where(np.array([1])).left.tolist()
        [1]
        """
        chosen = Pairs(self.left[keep], self.right[keep], self.score[keep])
        chosen._lists = self._lists
        return chosen


def best_pairs(pairs: Pairs, k: int) -> Pairs:
    """Pairs in order, of each left name only the k best unless k is 0.

    >>> best_pairs(Pairs.of([(1, 2, 0.7), (0, 2, 0.8), (0, 1, 0.9)]), 1).right.tolist()
    [1, 2]
    """
    order = np.lexsort((pairs.right, -pairs.score, pairs.left))
    left = pairs.left[order]
    if k and len(left):
        starts = np.r_[0, np.flatnonzero(np.diff(left)) + 1]
        rank = np.arange(len(left)) - np.repeat(starts, np.diff(np.r_[starts, len(left)]))
        order = order[rank < k]
    return pairs.where(order)


class NameJoin:
    """A collection of names that can be joined with itself and with others. Base of all ways to do it."""

    def __init__(self, fitted: Fitted, names: list[str]) -> None:
        self.fitted = fitted
        self.names = names

    def among(self, begin: int, end: int, threshold: float, k: int, n_jobs: int) -> Pairs:
        """Pairs of names begin to end - 1 with others of the collection; with k = 0 each pair once, left < right."""
        raise NotImplementedError

    def across(self, others: list[str], threshold: float, k: int, n_jobs: int) -> Pairs:
        """Pairs of other names, on the left, with those of the collection."""
        raise NotImplementedError

    def add(self, names: list[str], n_jobs: int) -> None:
        """Take more names into the collection."""
        raise NotImplementedError


class IndexedJoin(NameJoin):
    """Names found by a native index of their features. Base of joins of words and of vectors.

    Attributes: sequences, the fitted measure; encoded, the features of the names.
    """

    _building = threading.Lock()  # of an index, or of numbers for new features

    def __init__(self, fitted: FittedSequences, names: list[str]) -> None:
        super().__init__(fitted, names)
        self.sequences = fitted
        self.encoded = fitted.encode(names)

    def index(self, n_jobs: int) -> Any:
        """The native index, made when it is first needed: on a worker from the arrays that were sent."""
        with self._building:
            if "_native" not in self.__dict__:
                self._native = self.make_index(n_jobs)
                self._weightless = self._native.squares() == 0.0
        return self._native

    def make_index(self, n_jobs: int) -> Any:
        """Build the native index."""
        raise NotImplementedError

    def encode(self, others: list[str]) -> Encoded:
        """The features of other names; new ones get numbers."""
        with self._building:
            return self.sequences.encode(others)

    def add(self, names: list[str], n_jobs: int) -> None:
        """Take more names."""
        offsets, ids = self.encode(names)
        first, before = self.encoded
        self.encoded = (np.concatenate([first, first[-1] + offsets[1:]]), np.concatenate([before, ids]))
        self.names = [*self.names, *names]
        self.__dict__.pop("_native", None)

    def equal_among(self, begin: int, end: int, k: int) -> list[tuple[int, int, float]]:
        """Pairs of names begin to end - 1 that weigh nothing; the index must have been made."""
        places = self._same()
        return [
            (i, j, 1.0)
            for i in range(begin, end if places else begin)
            if self._weightless[i]
            for j in places.get(self.names[i], ())
            if (j > i or (k and j != i))
        ]

    def equal_across(self, others: list[str]) -> list[tuple[int, int, float]]:
        """Pairs of other names with the same names here that weigh nothing; the index must have been made."""
        places = self._same()
        return [(i, j, 1.0) for i, name in enumerate(others if places else ()) for j in places.get(name, ())]

    def _same(self) -> dict[str, list[int]]:
        """Where names stand that weigh nothing."""
        groups: dict[str, list[int]] = {}
        for i in np.flatnonzero(self._weightless):
            groups.setdefault(self.names[i], []).append(int(i))
        return groups

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_native", "_weightless")}

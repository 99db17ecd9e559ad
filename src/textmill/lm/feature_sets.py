"""Examples as sets of features: what kernels of sets take.

A feature is a 64-bit key, an example its set of keys in ascending order; examples lie behind each other, example i from
offsets[i] to offsets[i + 1]. Rows of a matrix are such sets too: the numbers of the columns that are not 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Ints

__all__ = ["FeatureSets"]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSets:
    """Examples, each a set of 64-bit keys: `offsets` (examples + 1,) int64, `keys` (entries,) uint64.

    >>> sets = FeatureSets.of([{1, 2}, {1}])
    >>> len(sets), sets.keys.tolist(), sets.take([1]).keys.tolist()
    (2, [1, 2, 1], [1])
    """

    offsets: Ints
    keys: NDArray[np.uint64]

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> FeatureSets:
        """Return sets of whole numbers as examples.

        >>> FeatureSets.of([{3, 1}]).keys.tolist()
        [1, 3]
        """
        rows = [sorted(set(features)) for features in sets]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return cls(offsets, np.array([key for row in rows for key in row], dtype=np.uint64))

    @classmethod
    def joined(cls, parts: Iterable[FeatureSets]) -> FeatureSets:
        """Return the examples of several, one behind the other.

        >>> len(FeatureSets.joined([FeatureSets.of([{1}]), FeatureSets.of([{2}])]))
        2
        """
        several = list(parts)
        sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(part.offsets) for part in several)])
        keys = np.concatenate([np.zeros(0, np.uint64), *(part.keys for part in several)])
        return cls(np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), keys)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sizes(self) -> Ints:
        """Return the number of features of each example."""
        return np.diff(self.offsets)

    def take(self, rows: Iterable[int] | NDArray[np.integer]) -> FeatureSets:
        """Return the examples at these places, in this order."""
        chosen = np.asarray(rows, dtype=np.int64)
        sizes = self.sizes()[chosen]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][chosen] - offsets[:-1], sizes)
        return FeatureSets(offsets, self.keys[places])

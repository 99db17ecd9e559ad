"""Sentences as ids of words: what samplers give and features are made of."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from textmill.arrays import Ids, Ints

__all__ = ["Encoded"]


class Encoded(NamedTuple):
    """Sentence i is ids[offsets[i]:offsets[i + 1]]; the id of an unknown word is 0.

    >>> some = Encoded(np.array([0, 2, 3]), np.array([5, 6, 7], dtype=np.int32))
    >>> some.take([1]).ids.tolist(), some.lengths().tolist()
    ([7], [2, 1])
    """

    offsets: Ints
    ids: Ids

    @property
    def size(self) -> int:
        """Number of sentences."""
        return len(self.offsets) - 1

    def lengths(self) -> Ints:
        """Return the number of words of each sentence."""
        return np.diff(self.offsets)

    def take(self, rows: Iterable[int] | Ints) -> Encoded:
        """Return the sentences at these places, in this order."""
        chosen = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths()[chosen]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][chosen] - offsets[:-1], lengths)
        return Encoded(offsets, self.ids[places])

    def keys(self) -> list[bytes]:
        """Return each sentence as bytes, to find repetitions by.

        >>> len(set(Encoded(np.array([0, 1, 2]), np.array([5, 5], dtype=np.int32)).keys()))
        1
        """
        data = np.ascontiguousarray(self.ids).tobytes()
        return [data[4 * begin : 4 * end] for begin, end in pairwise(self.offsets.tolist())]

    @classmethod
    def joined(cls, parts: Iterable[Encoded]) -> Encoded:
        """Return the sentences of several, one behind the other.

        >>> Encoded.joined([]).size
        0
        """
        several = list(parts)
        lengths = np.concatenate([np.zeros(0, np.int64), *(part.lengths() for part in several)])
        ids = np.concatenate([np.zeros(0, np.int32), *(part.ids for part in several)])
        return cls(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), ids)

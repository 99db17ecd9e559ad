"""Sentences as ids of words: what samplers give and features are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Ids, Ints

__all__ = ["Encoded", "SeenSentences"]


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

    def unknown(self) -> Ints:
        """Return the number of unknown words of each sentence.

        >>> Encoded(np.array([0, 2, 3]), np.array([0, 6, 7], dtype=np.int32)).unknown().tolist()
        [1, 0]
        """
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.ids == 0)])
        return np.asarray(before[self.offsets[1:]] - before[self.offsets[:-1]])

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

    def digests(self) -> NDArray[np.uint64]:
        """Return a number for each sentence, the same for the same words.

        >>> Encoded(np.array([0, 1]), np.array([5], dtype=np.int32)).digests().shape
        (1,)
        """
        return np.frombuffer(b"".join(map(_digest, self.keys())), dtype="<u8").astype(np.uint64)

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


class SeenSentences:
    """Sentences of which some are known by their digests and others by their keys.

    >>> some = Encoded(np.array([0, 1, 2]), np.array([5, 6], dtype=np.int32))
    >>> seen = SeenSentences(some.take([0]).digests(), set())
    >>> [key in seen for key in some.keys()]
    [True, False]
    """

    def __init__(self, digests: NDArray[np.uint64], others: Container[Any]) -> None:
        self._digests = {number.to_bytes(8, "little") for number in digests.tolist()}
        self._others = others

    def __contains__(self, key: object) -> bool:
        return key in self._others or (isinstance(key, bytes) and _digest(key) in self._digests)


def _digest(key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=8).digest()

"""Classes that are split in two, again and again: each has a code of bits, and codes that begin alike are related.

All types begin in one class with the code "". A round splits each class, or only the largest if there would be too
many: its types, by frequency, go to the two halves in turn, whose codes get a 0 and a 1. The halves are neighbors in
the numbering, a group, within which types are then exchanged.

Cost: O(types) a round. Reference: Okanohara & Tsujii (2007).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from textmill.arrays import Ids, Ints
from textmill.errors import DataError

__all__ = ["Split", "split_classes"]


class Split(NamedTuple):
    """Class of each type (0 the boundary), first class of each group and the end, code of each class."""

    class_of: Ids
    groups: Ids
    codes: list[str]

    @property
    def n_classes(self) -> int:
        """Number of classes beside that of the boundary."""
        return len(self.codes) - 1

    @classmethod
    def start(cls, counts: Ints, boundary: int) -> Split:
        """All types in one class."""
        class_of = np.ones(len(counts), dtype=np.int32)
        class_of[boundary] = 0
        return cls(class_of, np.array([1, 2], dtype=np.int32), ["", ""])


def split_classes(split: Split, counts: Ints, n_classes: int) -> Split:
    """Split every class in two, or as many of the largest as are missing to `n_classes`.

    >>> counts = np.array([0, 9, 0, 5, 4, 3, 2])
    >>> split = split_classes(Split.start(counts, 1), counts, 3)
    >>> split.class_of.tolist(), split.codes
    ([1, 0, 2, 1, 2, 1, 2], ['', '0', '1'])
    >>> split_classes(split, counts, 3).codes
    ['', '00', '01', '1']
    """
    size = np.bincount(split.class_of, weights=counts, minlength=split.n_classes + 1)
    occurring = np.bincount(split.class_of[counts > 0], minlength=split.n_classes + 1)
    possible = [c for c in range(1, split.n_classes + 1) if occurring[c] > 1]
    possible.sort(key=lambda c: (-size[c], c))
    chosen = set(possible[: n_classes - split.n_classes])
    if not chosen:
        raise DataError(
            f"the text has too few different words for {n_classes} classes; pass more text or ask for fewer classes"
        )
    codes, groups, renamed = [""], [1], np.zeros(split.n_classes + 1, dtype=np.int32)
    for c in range(1, split.n_classes + 1):
        renamed[c] = len(codes)
        codes += [split.codes[c] + "0", split.codes[c] + "1"] if c in chosen else [split.codes[c]]
        groups.append(len(codes))
    class_of = renamed[split.class_of]
    by_count = np.argsort(-counts, kind="stable")
    for c in chosen:
        members = by_count[split.class_of[by_count] == c]
        class_of[members[1::2]] += 1
    return Split(class_of.astype(np.int32), np.array(groups, dtype=np.int32), codes)

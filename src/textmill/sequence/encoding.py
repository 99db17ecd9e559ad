"""Sequences as arrays of test ids: what every model of this package reads.

An observation test is a string such as `u:w=the`, true or false at a position. A test may carry unigram weights
(one per label), bigram weights (one per pair of labels) or both; the tests of each sort are numbered on their own:

    unigram tests 0 .. U-1      weights mu[u, y]
    bigram tests  0 .. B-1      weights lambda[b, y', y]     the plain pair of labels is an ordinary bigram test

A data set of S sequences and T tokens holds, per token, the ids of the tests that are true there, one token after the
other without gaps. A test that occurs twice at a position (two patterns made the same string) counts twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError

__all__ = ["Active", "Encoded", "label_ids"]


class Active(NamedTuple):
    """The tests that are true at each token: those of token t are `ids[indptr[t]:indptr[t + 1]]`.

    `values` are the real-valued weights of the features, None where all are one. `size` is the number of tests.

    >>> Active(np.array([0, 1, 3]), np.array([0, 0, 2], np.int32), None, 3).size
    3
    """

    indptr: NDArray[np.int64]  # [T + 1]
    ids: NDArray[np.int32]  # [indptr[T]], each in 0 .. size - 1
    values: NDArray[np.float32] | None  # as ids
    size: int


@dataclass(frozen=True, slots=True)
class Encoded:
    """Sequences ready for training or decoding.

    >>> once = Active(np.arange(4), np.zeros(3, np.int32), None, 1)
    >>> data = Encoded(np.array([0, 2, 3]), once, once)
    >>> data.sequences, data.tokens
    (2, 3)
    """

    offsets: NDArray[np.int64]  # [S + 1] tokens of sequence s are offsets[s] .. offsets[s + 1] - 1
    unigram: Active
    bigram: Active
    labels: NDArray[np.int32] | None = None  # [T], -1 for a label that is not known
    weights: NDArray[np.float64] | None = None  # [S] how much each sequence counts

    @property
    def sequences(self) -> int:
        """Number of sequences, S."""
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        """Number of tokens, T."""
        return int(self.offsets[-1])

    def with_labels(self, labels: NDArray[np.int32]) -> Encoded:
        """The same sequences with these labels."""
        return replace(self, labels=labels)


def label_ids(
    y: Sequence[Sequence[str | None]], offsets: NDArray[np.int64], classes: NDArray[Any]
) -> NDArray[np.int32]:
    """The numbers of the labels among `classes`, one token after the other; -1 for None and for what is no class.

    >>> label_ids([["A", "B"], [None]], np.array([0, 2, 3]), np.array(["A", "B"])).tolist()
    [0, 1, -1]
    """
    if len(y) != len(offsets) - 1:
        raise DataError(f"there are {len(offsets) - 1} sequences but {len(y)} sequences of labels")
    lengths = np.fromiter(map(len, y), np.int64, len(y))
    wrong = np.flatnonzero(lengths != np.diff(offsets))
    if wrong.size:
        at = int(wrong[0])
        tokens = int(offsets[at + 1] - offsets[at])
        raise DataError(f"sequence {at + 1} has {tokens} tokens but {lengths[at]} labels; give one label per token")
    number = defaultdict(lambda: -1, {label: i for i, label in enumerate(classes.tolist())})
    return np.fromiter(map(number.__getitem__, chain.from_iterable(y)), np.int32, int(offsets[-1]))

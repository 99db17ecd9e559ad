"""How much of an update is new: the learning schedule of online variational Bayes.

    chi <- (1 - rho) (N / n1) chi + rho (N / n2) chi_new         chi stands for n1 documents, chi_new for n2, then for N

    rho_t = (offset + t)^-decay             t: updates done; offset 1 and decay 0.5 are the schedule of the paper
    rho   = 1 - 0.5^(n2 / half_life)        a stream that changes: half_life documents later it weighs half

rho = n2 / (n1 + n2), N = n1 + n2 is plain addition; decay 1 is close to that. N is the number of documents where it is
known (given, or counted in the first pass), and for an endless stream the number seen; of a forgetting model it is
half_life / ln 2, with which every document enters with weight 1.

The random start counts as old model (of the N documents, at least START_CHUNKS chunks): with the offset 10 it fades out
over many updates, which acts like annealing, while rho_0 = 1 would freeze the topics of the first chunk.
Reference: Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, algorithms 4.2 and 4.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

__all__ = ["START_CHUNKS", "Schedule", "blended"]

START_CHUNKS = 10  # that the random start stands for, at least, while the number of documents is not known


@dataclass(frozen=True)
class Schedule:
    """Weights of old and new statistics, update by update."""

    learning_offset: float = 10.0
    learning_decay: float = 0.5
    half_life: float | None = None

    def rho(self, updates: int, documents: int) -> float:
        """The weight of an update by a number of documents, after a number of updates.

        >>> [round(Schedule(learning_offset=1).rho(t, 1000), 6) for t in range(5)]
        [1.0, 0.707107, 0.57735, 0.5, 0.447214]
        >>> Schedule(half_life=1000).rho(7, 1000)
        0.5
        """
        if self.half_life is not None:
            return 1.0 - math.pow(0.5, documents / self.half_life)
        return math.pow(self.learning_offset + updates, -self.learning_decay)

    def size(self, seen: int, chunk_size: int, documents: float | None) -> float:
        """N, after `seen` documents, in a corpus of a number of documents, or None where that is not known.

        >>> Schedule().size(300, 100, None), Schedule().size(5000, 100, None), Schedule().size(300, 100, 700)
        (1000.0, 5000.0, 700.0)
        """
        if self.half_life is not None:
            return self.half_life / math.log(2)
        return float(documents) if documents is not None else float(max(seen, START_CHUNKS * chunk_size))


def blended(old: NDArray[Any], n1: float, new: NDArray[Any], n2: float, rho: float) -> NDArray[Any]:
    """Algorithm 4.2: statistics of n1 documents and of n2, blended to stand for n1 + n2; those of none count nothing.

    >>> import numpy as np
    >>> blended(np.array([[2.0, 0.0], [0.0, 4.0]]), 2, np.array([[1.0, 1.0], [0.0, 0.0]]), 1, rho=0.5).tolist()
    [[3.0, 1.5], [0.0, 3.0]]
    """
    if not n1 or not n2:
        return new if not n1 else old
    total = n1 + n2
    both: NDArray[Any] = (1 - rho) * (total / n1) * old + rho * (total / n2) * new
    return both

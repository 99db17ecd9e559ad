"""Several ranked lists as one, by ranks alone.

    score(d) = sum over lists with d of 1 / (60 + rank of d)          rank of the first: 1

Scores of different methods need not be comparable; a document that several put near the top comes first. Ties are
broken by the order in which documents first appear.
Reference: Cormack, Clarke & Buettcher (2009), Reciprocal rank fusion outperforms Condorcet and individual rank learning
methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["fuse_ranks"]

_OFFSET = 60  # of the paper: how much the first ranks stand out


def fuse_ranks(lists: Iterable[Sequence[str]]) -> list[tuple[str, float]]:
    """Return the members of ranked lists with their fused scores, best first.

    >>> [name for name, score in fuse_ranks([["a", "b", "c"], ["b", "c", "d"]])]
    ['b', 'c', 'a', 'd']
    """
    scores: dict[str, float] = {}
    for members in lists:
        for rank, name in enumerate(members, 1):
            scores[name] = scores.get(name, 0.0) + 1.0 / (_OFFSET + rank)
    return sorted(scores.items(), key=lambda item: -item[1])

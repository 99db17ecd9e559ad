"""Which pairs are worth a label: the best ones of several measures together.

    pool(k) = union over measures of their k best pairs

Nearly all pairs of a collection are negative, so labels are given to what at least one measure finds likely, and the
rest counts as negative. A pair that every measure overlooks is lost this way: choose measures of different kinds, and
add by hand what nothing orthographic can find, such as acronyms.

Cost: all pairs once for each measure; memory k pairs each. Reference: Moreau, Yvon & Cappé (2008), section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from textmill.errors import DataError
from textmill.model import check_range
from textmill.strings import DEFAULT_STEPS, Normalize
from textmill.strings.language import parse_measure
from textmill.strings.measure import Measure
from textmill.tasks.names.collection import NameList
from textmill.tasks.names.evaluation import scored_blocks
from textmill.tasks.names.gold import Gold

__all__ = ["PooledPair", "pool_pairs"]


@dataclass(frozen=True, slots=True)
class PooledPair:
    """A pair by the places of its names, its best score, and its rank (from 1) by each measure that proposes it."""

    left: int
    right: int
    score: float
    ranks: dict[str, int]


def pool_pairs(
    names: NameList,
    measures: Iterable[str | Measure],
    *,
    k: int = 100,
    other: NameList | None = None,
    gold: Gold | None = None,
    normalize: Normalize = DEFAULT_STEPS,
    n_jobs: int | None = None,
) -> list[PooledPair]:
    """The union of the best pairs of each measure, those of the best ranks first; labeled ones are left out.

    >>> names = NameList.of(["Ann Smith", "Anne Smith", "Tom Jones", "Jones Tom"])
    >>> for pair in pool_pairs(names, ["levenshtein", "cosine(words)"], k=1):
    ...     print(names.names[pair.left], names.names[pair.right], pair.ranks, sep=", ")
    Tom Jones, Jones Tom, {'cosine(words)': 1}
    Ann Smith, Anne Smith, {'levenshtein': 1}
    """
    check_range("k", k, at_least=1, whole=True)
    right = names if other is None else other
    chosen = [parse_measure(measure) if isinstance(measure, str) else measure for measure in measures]
    if not chosen:
        raise DataError("there is no measure to pool; pass several of different kinds")
    names, other = names.normalized(normalize), None if other is None else other.normalized(normalize)
    relations = None if names.relations is None or len(set(names.relations)) != 2 else np.array(names.relations)
    done = np.zeros((0, 2), dtype=np.int64)
    if gold is not None:
        done = np.stack(gold.places(names, other)[:2], axis=-1)
    pooled: dict[tuple[int, int], PooledPair] = {}
    for measure in chosen:
        ranked = np.zeros((0, 3))
        fitted = measure.fit([*names, *(other or ())])
        for start, block in scored_blocks(fitted, names.names, None if other is None else other.names, n_jobs=n_jobs):
            wanted = block > max(0.0, float(ranked[-1, 0])) if len(ranked) == k else block > 0.0
            if other is None:
                wanted &= np.arange(block.shape[1]) > np.arange(start, start + len(block))[:, None]
            if relations is not None:
                wanted &= relations[start : start + len(block), None] != relations
            mine = done[(done[:, 0] >= start) & (done[:, 0] < start + len(block))]
            wanted[mine[:, 0] - start, mine[:, 1]] = False
            i, j = np.nonzero(wanted)
            scores = block[i, j]
            if len(scores) > k:  # what cannot be among the best any more
                least = np.partition(scores, -k)[-k]
                i, j, scores = i[scores >= least], j[scores >= least], scores[scores >= least]
            ranked = np.concatenate([ranked, np.stack([scores, i + start, j], axis=-1)])
            ranked = ranked[np.lexsort((ranked[:, 2], ranked[:, 1], -ranked[:, 0]))][:k]
        for rank, (score, *pair) in enumerate(ranked.tolist(), 1):
            place = (int(pair[0]), int(pair[1]))
            before = pooled.get(place)
            ranks = {**(before.ranks if before else {}), str(measure): rank}
            pooled[place] = PooledPair(*place, max(score, before.score if before else 0.0), ranks)
    if len(right) and not pooled:
        raise DataError("no measure gives a pair a score above 0; take other measures")
    return sorted(pooled.values(), key=lambda pair: (min(pair.ranks.values()), -pair.score, pair.left, pair.right))

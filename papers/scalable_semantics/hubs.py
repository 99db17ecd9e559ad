"""Hubs: documents that are in everybody's list of neighbors, and lists without them.

    N_k(x)      number of lists of k neighbors that hold x; its mean is k
    skewness    E (N_k - k)^3 / sd^3: near 0 without hubs, large with them
    corrected   2 s(x, y) - r(x) - r(y), r: mean score of the k nearest of a document   (CSLS)

The correction takes from each score what is usual around its two documents, so a document that is near everything is no
longer near in particular. It chooses among the members of longer lists (five times k).

References: Radovanovic, Nanopoulos & Ivanovic (2010), Hubs in space; Conneau et al. (2018), Word translation without
parallel data, for cross-domain similarity local scaling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.tables import Rows
from textmill.tasks.similarity.neighbors import NeighborTable

if TYPE_CHECKING:
    from textmill.tasks.similarity.collection import Collection

__all__ = ["Hub", "HubReport", "correct_hubs", "find_hubs"]

_DEPTH = 5  # times k: length of the lists that a corrected one is chosen from


class Hub(NamedTuple):
    """A document and the number of lists that it is in."""

    id: str
    lists: int
    title: str


class HubReport(NamedTuple):
    """Skewness of the numbers of lists, share of documents in no list, the largest hubs, and the corrected skewness."""

    method: str
    k: int
    skewness: float
    orphans: float
    hubs: Rows[Hub]
    corrected_skewness: float
    corrected_orphans: float


def find_hubs(
    collection: Collection, *, method: str | None = None, k: int = 10, most: int = 10, n_jobs: int | None = None
) -> HubReport:
    """Return how uneven the lists of neighbors are, before and after correction."""
    table = NeighborTable.build(collection, method=method, k=_DEPTH * k, n_jobs=n_jobs)
    plain = _counts(table.numbers_, table.neighbors_[:, :k])
    members, _ = correct_hubs(table, k)
    corrected = _counts(table.numbers_, members)
    order = np.argsort(-plain, kind="stable")[:most]
    hubs = []
    for row in order:
        place = collection.snapshot.by_number(int(table.numbers_[row]))
        documents = place.part.documents
        hubs.append(Hub(documents.ids_[place.row], int(plain[row]), documents.titles_[place.row]))
    return HubReport(
        table.method_,
        k,
        _skewness(plain),
        float(np.mean(plain == 0)),
        Rows(hubs, Hub),
        _skewness(corrected),
        float(np.mean(corrected == 0)),
    )


def correct_hubs(table: NeighborTable, k: int) -> tuple[Ints, Floats]:
    """Return the k neighbors of each document of a table and their corrected scores, (n, k), best first.

    Members are chosen among those of the lists of the table, which should be longer than k.
    """
    scores = table.scores()
    there = ~np.isnan(scores[:, :k])
    usual = np.where(there, scores[:, :k], 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    rows = np.searchsorted(table.numbers_, np.maximum(table.neighbors_, 0))
    corrected = 2 * scores - usual[:, None] - usual[np.minimum(rows, len(usual) - 1)]
    corrected = np.where(table.neighbors_ >= 0, corrected, -np.inf)
    order = np.argsort(-corrected, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(table.neighbors_, order, axis=1), np.take_along_axis(corrected, order, axis=1)


def _counts(numbers: Ints, members: Ints) -> Ints:
    inside = members[members >= 0]
    return np.bincount(np.searchsorted(numbers, inside), minlength=len(numbers))


def _skewness(counts: Ints) -> float:
    deviations = counts - counts.mean()
    spread = float(np.sqrt(np.mean(deviations**2)))
    return float(np.mean(deviations**3)) / spread**3 if spread else 0.0

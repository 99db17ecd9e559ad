"""Figures of ranked answers: MRR, MAP, NDCG, precision, recall and success at k, R-precision.

Relevance is an array (queries, ranks), the best-ranked answer first: 0 for irrelevant (pad short lists with 0), 1 or a
grade above 0 for relevant. With g_i the grade of the answer at rank i, v_i = [g_i > 0], P@k = sum_{i<=k} v_i / k, and r
the number of relevant answers that exist for the query:

    RR   = 1 / rank of the first relevant answer, 0 if there is none
    AP   = (1/r) sum_k v_k P@k                      R@k = sum_{i<=k} v_i / r         R-precision = P@r
    DCG  = sum_{i<=k} gain(g_i) / log2(1 + i)       gain(g) = g (linear) or 2^g - 1 (exponential)
    NDCG = DCG / DCG of the best possible order

MRR, MAP and the rest are means over queries, so their sums add. A query without any relevant answer counts as 0. Ranks
made by `ranked` are by falling score, equal scores in the order given. References: Manning, Raghavan & Schuetze,
Introduction to Information Retrieval (2008), chapter 8; Jarvelin & Kekalainen (2002); Burges et al. (2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.metrics._inputs import check_lengths, choice, numbers
from textmill.metrics.conventions import conventions, merged, signature

__all__ = [
    "RankingCounts",
    "average_precision",
    "mean_precision",
    "ndcg",
    "precision_at",
    "r_precision",
    "ranked",
    "recall_at",
    "reciprocal_rank",
]


@dataclass(frozen=True, slots=True)
class RankingCounts:
    """Sums over queries of their figures. Counts of the same k and gain add.

    >>> counts = RankingCounts.from_relevance([[0, 1, 0], [1, 1, 0]], k=2)
    >>> counts.mrr, counts.precision, counts.map
    (0.75, 0.75, 0.75)
    """

    queries: int = 0
    reciprocal_ranks: float = 0.0
    average_precisions: float = 0.0
    gains: float = 0.0
    precisions: float = 0.0
    recalls: float = 0.0
    r_precisions: float = 0.0
    successes: int = 0
    conventions: str = ""

    @classmethod
    def from_relevance(
        cls, relevance: ArrayLike, *, k: int, relevant: ArrayLike | None = None, gain: str = "linear"
    ) -> RankingCounts:
        """Sum the figures of every query.

        `k` cuts precision, recall, success and NDCG. `relevant` is the number of relevant answers that exist for each
        query, if more than the list holds; NDCG takes the list itself, fully sorted, as the best order.
        """
        grades = _grades(relevance)
        return cls(
            len(grades),
            float(reciprocal_rank(grades).sum()),
            float(average_precision(grades, relevant).sum()),
            float(ndcg(grades, k, gain=gain).sum()),
            float(precision_at(grades, k).sum()),
            float(recall_at(grades, k, relevant).sum()),
            float(r_precision(grades, relevant).sum()),
            int(np.count_nonzero(precision_at(grades, k))),
            conventions("ranking", k=k, gain=gain, ties="order"),
        )

    def __add__(self, other: RankingCounts) -> RankingCounts:
        return RankingCounts(
            self.queries + other.queries,
            self.reciprocal_ranks + other.reciprocal_ranks,
            self.average_precisions + other.average_precisions,
            self.gains + other.gains,
            self.precisions + other.precisions,
            self.recalls + other.recalls,
            self.r_precisions + other.r_precisions,
            self.successes + other.successes,
            merged(self.conventions, other.conventions),
        )

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank."""
        return self._mean(self.reciprocal_ranks)

    @property
    def map(self) -> float:
        """Mean average precision."""
        return self._mean(self.average_precisions)

    @property
    def ndcg(self) -> float:
        """Mean NDCG at k."""
        return self._mean(self.gains)

    @property
    def precision(self) -> float:
        """Mean precision at k."""
        return self._mean(self.precisions)

    @property
    def recall(self) -> float:
        """Mean recall at k."""
        return self._mean(self.recalls)

    @property
    def r_precision(self) -> float:
        """Mean R-precision."""
        return self._mean(self.r_precisions)

    @property
    def success(self) -> float:
        """Share of queries with a relevant answer among the first k."""
        return self._mean(self.successes)

    @property
    def signature(self) -> str:
        """k, gain, tie rule and version, to print beside the figures."""
        return signature(self.conventions)

    def _mean(self, total: float) -> float:
        if not self.queries:
            raise DataError("there is no query; add counts of at least one")
        return total / self.queries


def ranked(scores: ArrayLike, relevance: ArrayLike) -> Floats:
    """Put each query's relevance in the order of falling score; equal scores stay in the order given.

    >>> ranked([[0.1, 0.9, 0.9]], [[1, 0, 2]]).tolist()
    [[0.0, 2.0, 1.0]]
    """
    values, grades = numbers("scores", scores, 2), _grades(relevance)
    if values.shape != grades.shape:
        raise DataError(f"scores are {values.shape} but relevance is {grades.shape}; pass one score for each grade")
    return np.take_along_axis(grades, np.argsort(-values, axis=1, kind="stable"), axis=1)


def reciprocal_rank(relevance: ArrayLike) -> Floats:
    """RR of each query.

    >>> reciprocal_rank([[0, 0, 1, 1], [0, 0, 0, 0]]).round(4).tolist()
    [0.3333, 0.0]
    """
    relevant = _grades(relevance) > 0
    return np.where(relevant.any(axis=1), 1.0 / (relevant.argmax(axis=1) + 1.0), 0.0)


def average_precision(relevance: ArrayLike, relevant: ArrayLike | None = None) -> Floats:
    """AP of each query.

    >>> average_precision([[1, 0, 1]], relevant=[4]).round(4).tolist()
    [0.4167]
    """
    hits = _grades(relevance) > 0
    total = _existing(hits.sum(axis=1), relevant)
    return np.asarray((_precisions(hits) * hits).sum(axis=1) / np.maximum(1, total))


def mean_precision(relevance: ArrayLike, depth: ArrayLike) -> Floats:
    """Mean of P@1 .. P@n, the MAP of the name transcription shared tasks; n may differ between queries.

    Unlike AP it counts every rank, also those of wrong answers and those beyond the end of the list.

    >>> mean_precision([[1, 0, 1], [0, 1, 1], [1, 0, 0]], depth=[2, 2, 10]).round(6).tolist()
    [0.75, 0.25, 0.292897]
    """
    hits = _grades(relevance) > 0
    depths = numbers("depth", depth).astype(np.int64)
    check_lengths("depth", len(depths), "relevance", len(hits))
    if depths.min() < 1:
        raise DataError("depth holds a number under 1; take the mean over at least one rank")
    wider = np.zeros((len(hits), max(int(depths.max()), hits.shape[1])), np.bool_)
    wider[:, : hits.shape[1]] = hits
    sums = np.cumsum(_precisions(wider), axis=1)
    return sums[np.arange(len(sums)), depths - 1] / depths


def precision_at(relevance: ArrayLike, k: int) -> Floats:
    """P@k of each query; a list shorter than k is filled up with wrong answers.

    >>> precision_at([[1, 0, 1]], 2).tolist()
    [0.5]
    """
    return _among(relevance, k) / k


def recall_at(relevance: ArrayLike, k: int, relevant: ArrayLike | None = None) -> Floats:
    """R@k of each query.

    >>> recall_at([[1, 0, 1]], 2).tolist()
    [0.5]
    """
    total = _existing((_grades(relevance) > 0).sum(axis=1), relevant)
    return _among(relevance, k) / np.maximum(1, total)


def r_precision(relevance: ArrayLike, relevant: ArrayLike | None = None) -> Floats:
    """Precision at the number of relevant answers that exist.

    >>> r_precision([[1, 0, 1]]).tolist()
    [0.5]
    """
    hits = _grades(relevance) > 0
    total = _existing(hits.sum(axis=1), relevant)
    early = hits & (np.arange(hits.shape[1]) < total[:, None])
    return np.asarray(early.sum(axis=1) / np.maximum(1, total))


def ndcg(relevance: ArrayLike, k: int, *, ideal: ArrayLike | None = None, gain: str = "linear") -> Floats:
    """NDCG at k of each query.

    `ideal` holds the grades of all answers that exist, in any order; by default those of the list.

    >>> ndcg([[0, 2, 1]], 3).round(4).tolist()
    [0.6697]
    """
    _positive(k)
    grades = _grades(relevance)
    every = grades if ideal is None else _grades(ideal)
    check_lengths("ideal", len(every), "relevance", len(grades))
    best = _dcg(-np.sort(-every, axis=1), k, gain)
    reached = _dcg(grades, k, gain)
    if np.any(reached > best * (1.0 + 1e-12)):
        raise DataError("ideal holds less gain than the list itself; pass the grades of all answers that exist")
    return np.divide(reached, best, out=np.zeros(len(best)), where=best > 0.0)


def _dcg(grades: Floats, k: int, gain: str) -> Floats:
    choice("gain", gain, ("linear", "exponential"))
    cut = grades[:, :k]
    gains = cut if gain == "linear" else np.exp2(cut) - 1.0
    return np.asarray(gains @ (1.0 / np.log2(np.arange(2.0, cut.shape[1] + 2.0))))


def _precisions(hits: NDArray[np.bool_]) -> Floats:
    """P@1, P@2, ... of each query."""
    return np.cumsum(hits, axis=1) / np.arange(1.0, hits.shape[1] + 1.0)


def _among(relevance: ArrayLike, k: int) -> Ints:
    """Number of relevant answers among the first k."""
    _positive(k)
    return np.asarray((_grades(relevance)[:, :k] > 0).sum(axis=1), np.int64)


def _existing(hits: Ints, relevant: ArrayLike | None) -> Ints:
    if relevant is None:
        return hits
    total = numbers("relevant", relevant).astype(np.int64)
    check_lengths("relevant", len(total), "relevance", len(hits))
    if np.any(total < hits):
        place = int(np.argmax(total < hits))
        raise DataError(
            f"query {place} finds {hits[place]} relevant answers but relevant says {total[place]}; count all"
        )
    return total


def _positive(k: int) -> None:
    if k < 1:
        raise DataError(f"k is {k}; look at 1 answer at least")


def _grades(relevance: ArrayLike) -> Floats:
    grades = numbers("relevance", relevance, 2)
    if not grades.size:
        raise DataError("relevance is empty; pass at least one query with one rank")
    if grades.min() < 0:
        raise DataError(f"relevance holds {grades.min():g}; grades are at least 0")
    return grades

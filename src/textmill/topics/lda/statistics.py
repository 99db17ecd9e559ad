"""What Dirichlet allocation has learned: expected counts of words in topics, the priors, and what they come from.

    chi (V, k)         expected counts of terms in topics, stored by term
    lambda = eta + chi                      E beta_tw = lambda_tw / sum_w lambda_tw
    chi <- (1 - rho) (N / n1) chi + rho (N / n2) chi_new       blending: chi stands for n1 documents, then for N

Engines (learning.py, sampling.py) take statistics and return statistics; the model (model.py) holds them and answers
questions by them. They grow with the vocabulary, fade, blend, join with those of another corpus, and are saved. Memory:
one table of terms x topics, which an update changes in place.
Reference: Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, algorithm 4.2.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import topics as native
from textmill.arrays import Floats
from textmill.errors import DataError, ModelFileError
from textmill.model import Model
from textmill.topics.lda.schedule import blended
from textmill.topics.lda.variational import Partial, Topics

__all__ = ["Statistics"]


class Statistics(Model):
    """Expected counts of words in topics with their priors.

    Parameters:
        alpha: Prior of topics in documents, (k,).
        dtype: Type of the counts, "float32" or "float64".
        weighting: How counts of documents are weighed, "idf", "pmi" or None.

    Attributes:
        term_topics: Expected counts chi by term, (V, k); none before the first documents.
        topic_counts: Their sums, (k,).
        alpha: Prior of topics in documents, (k,).
        eta: Prior of words in topics by term, with 1 or V rows and 1 or k columns.
        term_weights: Weights of terms, with a weighting, else None.
        weighting: How counts of documents are weighed.
        documents: Number of documents with a word that were read (counted once).
        words: Number of occurrences in them.
        updates: Number of updates (variational) or sweeps (sampled).
        size: Number of documents that the counts stand for.

    >>> statistics = Statistics(np.full(2, 0.5), dtype="float64")
    >>> statistics.begin(3, np.full((1, 1), 0.5), seed=0)
    >>> statistics.term_topics.shape, statistics.topics().sum(axis=0).round(6).tolist()
    ((3, 2), [1.0, 1.0])
    """

    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "term_topics": "term topic: float32 | float64",
        "topic_counts": "topic",
        "alpha": "topic",
        "eta": "eta_term eta_topic",
        "term_weights": "weighed_term: float64 | None",
    }
    state: ClassVar[dict[str, Any]] = {
        "weighting": str | None,
        "documents": int,
        "words": float,
        "updates": int,
        "size": float,
    }

    def __init__(self, alpha: Floats, *, dtype: str = "float32", weighting: str | None = None) -> None:
        k = len(alpha)
        self.term_topics: NDArray[Any] = np.zeros((0, k), dtype=dtype)
        self.topic_counts: Floats = np.zeros(k)
        self.alpha = alpha
        self.eta: Floats = np.ones((1, 1))
        self.term_weights: Floats | None = None
        self.weighting = weighting
        self.documents, self.words, self.updates, self.size = 0, 0.0, 0, 1.0

    @classmethod
    def of_counts(cls, counts: NDArray[Any], *, alpha: Floats, eta: Floats, documents: int = 0) -> Statistics:
        """Return the statistics of counts by term (V, k), with eta by term.

        >>> Statistics.of_counts(np.eye(2), alpha=np.ones(2), eta=np.ones((1, 1)), documents=3).size
        3.0
        """
        statistics = cls(alpha, dtype=counts.dtype.name)
        statistics.eta = eta
        statistics.documents, statistics.words = documents, float(counts.sum())
        statistics.size = float(max(documents, 1))
        return statistics.with_counts(counts, alpha, 1)

    @property
    def n_topics(self) -> int:
        """The number of topics."""
        return len(self.alpha)

    @property
    def n_terms(self) -> int:
        """The number of terms; 0 before the first documents."""
        return len(self.term_topics)

    def begin(self, terms: int, eta: Floats, *, seed: int, threads: int = 1) -> None:
        """Draw the random start over a number of terms, with eta by term."""
        if not terms:
            raise DataError("X has no terms; pass at least one document with a word")
        self.eta = eta
        self.term_topics = np.empty((terms, self.n_topics), dtype=self.term_topics.dtype)
        native.random_start(seed=seed, first=0, rows=self.term_topics, threads=threads)
        self.topic_counts = self.term_topics.sum(axis=0, dtype=np.float64)

    def grow(self, terms: int) -> None:
        """Add rows of zeros for new terms; their eta, where terms have their own, is the mean of the others.

        >>> statistics = Statistics.of_counts(np.eye(2), alpha=np.ones(2), eta=np.array([[1.0], [3.0]]))
        >>> statistics.grow(3)
        >>> statistics.term_topics.tolist(), statistics.eta.ravel().tolist()
        ([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [1.0, 3.0, 2.0])
        """
        if terms > self.n_terms:
            wide = self.expected().widened(terms)
            self.term_topics, self.eta = wide.statistics, wide.eta

    def blend(
        self, part: Partial, *, rho: float, size: float, noise: Floats | None = None, seed: int = 0, threads: int = 1
    ) -> None:
        """Take in the sums of some documents with the weight rho, after which the counts stand for `size` documents.

        `noise` (k,) is what is drawn in the place of what fades: a little of a random start.

        >>> statistics = Statistics.of_counts(np.full((2, 1), 4.0), alpha=np.ones(1), eta=np.ones((1, 1)), documents=2)
        >>> part = Partial(np.array([1], np.int32), np.full((1, 1), 3.0), 1, 3.0, np.zeros(1), 0.0)
        >>> statistics.blend(part, rho=0.5, size=2.0)
        >>> statistics.term_topics.ravel().tolist(), statistics.updates
        ([2.0, 5.0], 2)
        """
        self.grow(int(part.words[-1]) + 1)
        native.blend(
            statistics=self.term_topics,
            keep=(1.0 - rho) * size / self.size,
            words=part.words,
            rows=part.rows,
            add=rho * size / part.documents,
            noise=np.zeros(0) if noise is None else noise,
            seed=seed,
            sums=self.topic_counts,
            threads=threads,
        )
        self.size = size
        self.updates += 1

    def joined(self, other: Statistics, order: NDArray[np.intp], rho: float) -> Statistics:
        """Return new statistics of both corpora, (1 - rho) of these and rho of the others, whose topics have an order.

        Both are stretched to the documents of both; rho = n2 / (n1 + n2) adds their counts.

        >>> one, other = (Statistics.of_counts(np.eye(2) * n, alpha=np.ones(2), eta=np.ones((1, 1)), documents=n)
        ...               for n in (1, 3))
        >>> one.joined(other, np.array([1, 0]), 0.75).term_topics.tolist()
        [[1.0, 3.0], [3.0, 1.0]]
        """
        if self.n_topics != other.n_topics:
            raise DataError(f"one model has {self.n_topics} topics, the other {other.n_topics}; train alike")
        terms = max(self.n_terms, other.n_terms)
        mine, theirs = (statistics.expected().widened(terms) for statistics in (self, other))
        both = blended(mine.statistics, self.size, theirs.statistics[:, order], other.size, rho)
        counts = np.ascontiguousarray(both, dtype=self.term_topics.dtype)
        joined = self.with_counts(counts, self.alpha, self.updates + other.updates)
        joined.topic_counts = both.sum(axis=0, dtype=np.float64)
        joined.eta = mine.eta
        joined.documents, joined.words = self.documents + other.documents, self.words + other.words
        joined.size = self.size + other.size
        return joined

    def with_counts(self, counts: NDArray[Any], alpha: Floats, updates: int) -> Statistics:
        """Return the same with other counts by term (V, k) and another alpha."""
        changed = Statistics(alpha, dtype=counts.dtype.name, weighting=self.weighting)
        changed.term_topics, changed.topic_counts = counts, counts.sum(axis=0, dtype=np.float64)
        changed.eta, changed.term_weights = self.eta, self.term_weights
        changed.documents, changed.words, changed.size = self.documents, self.words, self.size
        changed.updates = updates
        return changed

    def expected(self, *, max_iter: int = 50, tolerance: float = 1e-3, watched: bool = False) -> Topics:
        """Return what an E step needs, with its limits."""
        eta = np.ascontiguousarray(self.eta)
        totals = self.topic_counts + eta.sum(axis=0) * (self.n_terms if len(eta) == 1 else 1)
        counts = np.ascontiguousarray(self.term_topics)
        return Topics(counts, eta, totals, self.alpha, max_iter, tolerance, watched, self.term_weights, self.weighting)

    def topics(self, terms: Any = slice(None)) -> Floats:
        """Return E beta of some terms, or all of them, by term (V, k)."""
        expected = self.expected()
        eta = expected.eta if len(expected.eta) == 1 else expected.eta[terms]
        shares: Floats = (expected.statistics[terms].astype(np.float64) + eta) / expected.totals
        return shares

    def check_values(self) -> None:
        """Check what the layout cannot say of statistics from a file."""
        for name in ("term_topics", "topic_counts", "alpha", "eta"):
            values = getattr(self, name)
            if not np.isfinite(values).all() or values.min(initial=0) < 0:
                raise ModelFileError(f"'{name}' must be finite and not negative", reason="damaged")
        if not (self.alpha > 0).all() or not (self.eta > 0).all():
            raise ModelFileError("alpha and eta must be above 0", reason="damaged")
        if self.eta.shape[0] not in (1, self.n_terms) or self.eta.shape[1] not in (1, self.n_topics):
            raise ModelFileError(
                f"eta has the shape {self.eta.shape}, which fits no {self.n_terms} x {self.n_topics}", reason="damaged"
            )
        if self.documents < 0 or self.updates < 0 or not self.size > 0:
            raise ModelFileError("counts of documents and updates are out of range", reason="damaged")

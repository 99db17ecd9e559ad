"""Probabilistic latent semantic analysis: words and documents meet through topics.

    P(w, d) = sum_z P(z) P(d|z) P(w|z) = P(d) sum_z P(z|d) P(w|z)           maximum likelihood on the counts n_dw, by EM

    E   P(z|d,w) ~ (P(z|d) P(w|z))^temper           M   P(w|z) ~ smoothing + sum_d n_dw P(z|d,w)
                                                        P(z|d) ~ sum_w n_dw P(z|d,w)

The posterior is never stored: its sums are products on the non-zeros (em.py). At a fixed point W = P(w|z),
H = n_d P(z|d) is one of non-negative factorization with the Kullback-Leibler loss, and the losses are equal. New
documents are folded in: EM for P(z|d) with P(w|z) fixed. Against overfitting: a temper below 1, `smoothing`, or
documents held out, with whose likelihood EM stops in time or, with `cooling`, lowers the temper before it does
(tempered EM). A stream is learned chunk by chunk (`chunk_size`, `partial_fit`), by online EM, in memory that does not
depend on its length.

Cost: O(non-zeros x topics) a step. Reference: Hofmann (2001), Unsupervised learning by probabilistic latent semantic
analysis.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from textmill.arrays import Floats
from textmill.cluster import Cluster
from textmill.errors import DataError, ModelFileError
from textmill.model import RandomState, check_fitted, check_range, effective_jobs, seed_of
from textmill.numeric import sparse
from textmill.topics.factors.em import Mixtures, blend, expected_counts, fold_in, learn
from textmill.topics.factors.nonnegative import NonNegativeModel
from textmill.topics.factors.rows import Rows
from textmill.topics.factors.starts import start_factors
from textmill.topics.model import align_topics
from textmill.vectors import TextVectorizer

__all__ = ["PLSA"]


_PATIENCE = 2  # steps without a better held-out likelihood


class PLSA(NonNegativeModel):
    """Learn topics as distributions of words, documents as mixtures of topics.

    Parameters:
        n_topics: Number of topics, k.
        temper: Exponent of the posterior, above 0 and at most 1.
        held_out: Share of the documents that only decide when to stop.
        cooling: Factor by which held-out documents lower the temper; None to stop instead.
        smoothing: Number added to the expected counts of terms.
        max_iter: Largest number of iterations of EM (None: 100); online, number of passes over the documents (None: 1).
        tolerance: Relative gain of the likelihood at which EM ends.
        accelerate: Whether the steps of EM are extrapolated.
        init: "random" or "nndsvd".
        chunk_size: Number of documents of a step of online EM; None to hold all documents and learn from all at once.
        decay: Factor of what was learned before a chunk (online).
        vectorizer: `TextVectorizer` for documents that are texts; its counts should be unweighted
            (`Weighting(scheme="nnn")`).
        random_state: Seed of the random numbers.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        components_: Topics P(w|z), (k, m).
        topic_counts_: Number of words expected of each topic, (k,).
        trace_: Log-likelihood before each step; online, that of each chunk.
        n_iter_: Number of iterations; online, of passes.
        converged_: Whether the tolerance was reached, or held-out documents were predicted no better.
        documents_: Number of documents.
        temper_: Temper at the end.
        vectorizer_: Fitted vectorizer, if documents were texts.

    >>> X = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> plsa = PLSA(n_topics=2, random_state=0).fit(X)
    >>> np.sort(plsa.components_.round(3), axis=0).tolist()
    [[0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.625, 0.375]]
    >>> np.sort(plsa.transform(np.array([[5, 5, 5, 5]]))).round(3).tolist()
    [[0.5, 0.5]]
    """

    takes: ClassVar[str] = "counts"
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {"topic_counts_": "topic", "trace_": "step"}
    state: ClassVar[dict[str, type]] = {"temper_": float}
    at_once: ClassVar[tuple[str, ...]] = ("tolerance", "accelerate")
    usual_max_iter: ClassVar[int] = 100

    topic_counts_: Floats
    temper_: float

    def __init__(
        self,
        *,
        n_topics: int = 50,
        temper: float = 1.0,
        held_out: float = 0.0,
        cooling: float | None = None,
        smoothing: float = 0.0,
        max_iter: int | None = None,
        tolerance: float = 1e-5,
        accelerate: bool = True,
        init: str = "random",
        chunk_size: int | None = None,
        decay: float = 0.9,
        vectorizer: TextVectorizer | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.temper = temper
        self.held_out = held_out
        self.cooling = cooling
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.accelerate = accelerate
        self.init = init
        self.chunk_size = chunk_size
        self.decay = decay
        self.vectorizer = vectorizer
        self.random_state = random_state
        self.n_jobs = n_jobs

    def transform(self, X: Any) -> Floats:
        """Return the mixtures P(z|d) of documents, one row each; a document without known words is uniform."""
        parts = [self.mixtures(part).theta for part in self.rows_of(X)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.components_)))

    def mixtures(self, X: Any) -> Mixtures:
        """Fold in bags and return mixtures with likelihood, gap and iterations."""
        check_fitted(self)
        return fold_in(X, self._phi(), temper=self.temper_, n_jobs=self.n_jobs)

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-likelihood (nats) of the known words of documents that are folded in.

        >>> round(PLSA(n_topics=1, random_state=0).fit(np.array([[1, 1]])).score(np.array([[3, 5]])), 4)
        -0.6931
        """
        total, words = 0.0, 0.0
        for part in self.rows_of(X):
            folded = fold_in(part, self._phi(), n_jobs=self.n_jobs)
            total += float(folded.log_likelihood.sum())
            words += float(part.dot(self._phi().sum(axis=1) > 0).sum())
        if not words:
            raise DataError("nothing to score: X has no words; pass at least one document with a known word")
        return total / words

    def merge(self, other: PLSA) -> PLSA:
        """Return the model of both corpora: topics are paired by their words, and their expected counts added.

        >>> plsa = PLSA(n_topics=1, random_state=0)
        >>> plsa.fit(np.array([[1, 1]])).merge(PLSA(n_topics=1).fit(np.array([[4, 2]]))).components_.tolist()
        [[0.625, 0.375]]
        """
        order, mine, theirs = align_topics(self, other)
        merged = PLSA(**self.get_params(deep=False))
        counts = mine * self.topic_counts_[:, None] + theirs[order] * other.topic_counts_[order, None]
        merged.vectorizer_ = self.vectorizer_
        merged.documents_, merged.temper_ = self.documents_ + other.documents_, self.temper_
        merged.trace_, merged.n_iter_, merged.converged_ = np.zeros(0), 0, False
        merged._keep(counts.T)
        return merged

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        for values in (self.components_, self.topic_counts_):
            if not np.isfinite(values).all() or values.min(initial=0) < 0:
                raise ModelFileError("probabilities must be finite and not negative", reason="damaged")
        if not 0 < self.temper_ <= 1 or self.documents_ < 0:
            raise ModelFileError("temper and number of documents are out of range", reason="damaged")

    @staticmethod
    def _steps(trace: Floats) -> int:
        return max(0, len(trace) - 1)  # the first is that of the start

    def objective(self) -> str:
        """Return what the figures of `trace_` are, in words."""
        return "log-likelihood"

    def strengths(self) -> Floats:
        """Return a figure for each topic that is printed with it."""
        return self.topic_counts_ / max(float(self.topic_counts_.sum()), 1e-300)

    def _check(self) -> None:
        super()._check()
        check_range("temper", self.temper, above=0, at_most=1)
        check_range("held_out", self.held_out, at_least=0, below=1)
        if self.cooling is not None:
            check_range("cooling", self.cooling, above=0, below=1)
            if not self.held_out:
                raise DataError("cooling needs documents to watch; pass held_out=0.1 too")
        check_range("smoothing", self.smoothing, at_least=0)
        if self.chunk_size is not None and self.held_out:
            raise DataError("held_out belongs to learning from all at once; leave out chunk_size, or held_out")

    def _fit_all(self, X: Rows) -> None:
        learned, watch = X, None
        self.temper_ = float(self.temper)
        if self.held_out:
            learned, watch = self._watched(X.matrix())
        theta, phi = start_factors(learned, self.n_topics, self.init, seed_of(self.random_state), self.n_jobs)
        theta, phi, trace, self.converged_ = learn(
            learned,
            theta,
            phi,
            max_iter=self.max_iter or self.usual_max_iter,
            tolerance=self.tolerance,
            temper=self.temper,
            smoothing=self.smoothing,
            accelerate=self.accelerate,
            n_jobs=self.n_jobs,
            watch=watch,
        )
        if watch is not None and watch.best is not None:
            phi, self.temper_ = watch.best
            theta = fold_in(learned.matrix(), phi, temper=self.temper_, n_jobs=self.n_jobs).theta
        self.components_ = np.ascontiguousarray(phi.T)
        self.topic_counts_ = learned.lengths @ theta
        self.trace_, self.n_iter_ = np.array(trace), len(trace) - 1
        self.documents_ = X.shape[0]

    def _rows(self, X: Any, workers: Cluster | None) -> Rows:
        if workers is not None and self.held_out:
            raise DataError("held_out documents are watched on one machine; leave out held_out or cluster")
        return super()._rows(X, workers)

    def _watched(self, X: sparse.csr_matrix) -> tuple[Rows, _Watch]:
        """The documents to learn from, and the watch over the others."""
        random = np.random.default_rng(seed_of(self.random_state))
        held = random.permutation(X.shape[0]) < round(self.held_out * X.shape[0])
        if held.all() or not held.any():
            raise DataError(
                f"held_out={self.held_out} of {X.shape[0]} documents leaves none on one side; hold out more"
            )
        return Rows(X[~held], self.n_jobs), _Watch(X[held], random, self.cooling, self.n_jobs)

    def _forget_all(self) -> None:
        super()._forget_all()
        self.temper_ = float(self.temper)

    def _add(self, X: sparse.csr_matrix, W: Floats, *, begun: bool) -> float:
        counted = W * self.topic_counts_ if begun else np.zeros_like(W)
        options = {"decay": self.decay, "smoothing": self.smoothing, "temper": self.temper_}
        _, counts, chunk = blend(X, W, counted, threads=effective_jobs(self.n_jobs), **options)
        self._keep(counts)
        return float(chunk.log_likelihood.sum())

    def _keep(self, counts: Floats) -> None:
        """Become the model of expected counts (V, k)."""
        self.topic_counts_ = counts.sum(axis=0)
        smoothed = counts + self.smoothing
        self.components_ = np.ascontiguousarray((smoothed / np.maximum(smoothed.sum(axis=0), 1e-300)).T)

    def _phi(self) -> Floats:
        """The topics by term, as the kernels want them; made once."""
        cached = vars(self).get("_by_term")
        if cached is None or cached[0] is not self.components_:
            cached = self._by_term = (self.components_, np.ascontiguousarray(self.components_.T))
        phi: Floats = cached[1]
        return phi

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_by_term"}


class _Watch:
    """Held-out documents: half of their words are folded in, the likelihood of the other half says how EM does."""

    def __init__(
        self, X: sparse.csr_matrix, random: np.random.Generator, cooling: float | None, n_jobs: int | None
    ) -> None:
        seen = X.astype(np.float64)
        whole = np.floor(seen.data)
        seen.data = random.binomial(whole.astype(np.int64), 0.5) + (seen.data - whole)
        self.seen, self.rest = seen, sparse.csr_matrix(X - seen)
        self.cooling, self.n_jobs = cooling, n_jobs
        self.best: tuple[Floats, float] | None = None
        self.best_score = -np.inf
        self.waited = 0
        self.cooled_at = -np.inf

    def __call__(self, phi: Floats, temper: float) -> float | None:
        """The temper to go on with, None to stop."""
        theta = fold_in(self.seen, phi, temper=temper, tolerance=1e-4, max_iter=50, n_jobs=self.n_jobs).theta
        score = float(expected_counts(self.rest, theta, phi, threads=effective_jobs(self.n_jobs))[2].sum())
        if score > self.best_score:
            self.best, self.best_score, self.waited = (phi, temper), score, 0
            return temper
        self.waited += 1
        if self.waited < _PATIENCE:
            return temper
        if self.cooling is None or self.best_score <= self.cooled_at:
            return None
        self.cooled_at, self.waited = self.best_score, 0
        return temper * self.cooling

"""Multinomial mixture: every document has one topic, learned by EM.

    P(d)      = sum_t theta_t prod_w phi_tw^n_dw
    P(t | d)  = theta_t prod_w phi_tw^n_dw / P(d)                         E
    theta_t   ~ alpha + sum_d P(t | d),  phi_tw ~ eta + sum_d n_dw P(t | d)   M

theta is one distribution for the whole corpus. EM begins with an M step on posteriors drawn from Dirichlet(1, ..., 1),
one of each document by its number, and never lowers sum_d log P(d) + alpha sum_t log theta_t + eta sum_tw log phi_tw.
Products over hundreds of words underflow, so all is done with logarithms. The posterior of a document of ordinary
length is almost always one topic alone: its entropy is near 0.

Cost: O(non-zeros x topics) per pass; a stream is read once per step, and nothing of its length is held.
Reference: Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and unlabeled documents using EM.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from textmill._native import base as native
from textmill.arrays import Floats
from textmill.corpus import csr_arrays
from textmill.errors import DataError, ModelFileError
from textmill.model import RandomState, Saved, check_fitted, check_range, effective_jobs, is_generator, seed_of
from textmill.numeric import sparse
from textmill.progress import interruptible, start
from textmill.topics.inference import entropy
from textmill.topics.model import MOST_TOPICS, TopicModel, align_topics
from textmill.vectors import TextVectorizer

__all__ = ["MultinomialMixture"]


_ROWS = 4096  # documents of a chunk


class MultinomialMixture(TopicModel):
    """Learn topics of which each document has one.

    Parameters:
        n_topics: Number of topics, k.
        alpha: Number added to the expected counts of topics, above 0.
        eta: Number added to the expected counts of terms in a topic, above 0.
        max_iter: Largest number of iterations of EM.
        tolerance: Relative gain of the objective at which EM ends.
        vectorizer: `TextVectorizer` for documents that are texts; its counts should be unweighted (scheme "nnn").
        random_state: Seed of the random numbers.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        components_: Topics phi, (k, m).
        weights_: Shares theta of the topics, (k,).
        document_counts_: Number of documents expected of each topic, (k,).
        word_counts_: Number of words expected of each topic, (k,).
        trace_: Penalized log-likelihood before each step.
        n_iter_: Number of iterations.
        converged_: Whether the tolerance was reached.
        documents_: Number of documents.
        vectorizer_: Fitted vectorizer, if documents were texts.

    >>> X = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> mixture = MultinomialMixture(n_topics=2, random_state=0).fit(X)
    >>> np.sort(mixture.transform(np.array([[5, 5, 0, 0]]))).round(3).tolist()
    [[0.0, 1.0]]
    """

    takes: ClassVar[str] = "counts"
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {
        "weights_": "topic",
        "document_counts_": "topic",
        "word_counts_": "topic",
        "trace_": "step",
    }
    state: ClassVar[dict[str, type]] = {"documents_": int, "n_iter_": int, "converged_": bool}

    weights_: Floats
    document_counts_: Floats
    word_counts_: Floats
    trace_: Floats
    documents_: int
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        *,
        n_topics: int = 50,
        alpha: float = 1.0,
        eta: float = 0.1,
        max_iter: int = 100,
        tolerance: float = 1e-6,
        vectorizer: TextVectorizer | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.alpha = alpha
        self.eta = eta
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.vectorizer = vectorizer
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: object = None) -> MultinomialMixture:
        """Learn from a matrix, or from a stream that can be read again."""
        self._check()
        self._start(X)
        chunks = self._chunks(X, _ROWS, negative=False)
        chunks.require_passes(self.max_iter + 1, "the mixture")
        self._begin(chunks)
        self.documents_ = chunks.documents
        trace: list[float] = []
        self.converged_ = False
        with start("EM", total=self.max_iter, unit="steps") as bar, interruptible(range(self.max_iter)) as loop:
            for _ in loop:
                logs = self._logs()
                expected = _Expected(self.n_topics)
                for part in chunks:
                    expected.add(part, *self._posteriors(part, logs), threads=effective_jobs(self.n_jobs))
                penalty = self.alpha * np.log(self.weights_).sum() + self.eta * logs.sum()
                trace.append(expected.likelihood + float(penalty))
                bar.advance(log_likelihood=trace[-1])
                self._keep(expected)
                if len(trace) > 1 and trace[-1] - trace[-2] <= self.tolerance * abs(trace[-1]):
                    self.converged_ = True
                    break
        self.trace_, self.n_iter_ = np.array(trace), len(trace)
        return self

    def partial_fit(self, X: Any, y: object = None) -> MultinomialMixture:
        """Learn from further documents: what is expected of them is added; new columns are new terms.

        >>> mixture = MultinomialMixture(n_topics=1, eta=1).partial_fit(np.array([[1, 1]]))
        >>> mixture.partial_fit(np.array([[2, 0, 0]])).components_.round(3).tolist()
        [[0.571, 0.286, 0.143]]
        """
        self._check()
        if not self.__sklearn_is_fitted__():
            self._start(X)
            self._begin(self._chunks(X, _ROWS, negative=False))
            self.documents_ = round(float(self.document_counts_.sum()))
            self.trace_, self.n_iter_, self.converged_ = np.zeros(0), 0, False
            return self
        self._make_changeable()
        for part in self._chunks(X, _ROWS, negative=False):
            self._grow(part.shape[1])
            part.resize(part.shape[0], self.components_.shape[1])
            expected = _Expected(len(self.components_))
            expected.words = np.maximum(self.components_.T * self._sizes() - self.eta, 0)
            expected.documents += self.document_counts_
            expected.add(part, *self._posteriors(part, self._logs()), threads=effective_jobs(self.n_jobs))
            self._keep(expected)
            self.documents_ += part.shape[0]
        return self

    def transform(self, X: Any) -> Floats:
        """Return the posteriors P(t | d) of documents, one row each; a document without known words has theta."""
        parts = [posteriors for posteriors, _, _ in self._scored(X)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.components_)))

    def entropy(self, X: Any) -> Floats:
        """Return the entropy of each posterior in bits; NaN for a document without known words.

        >>> mixture = MultinomialMixture(n_topics=2, random_state=0).fit(np.array([[9, 0], [0, 9]]))
        >>> mixture.entropy(np.array([[9, 0], [1, 1], [0, 0]])).round(3).tolist()
        [0.0, 1.0, nan]
        """
        parts = [np.where(words > 0, entropy(posteriors), np.nan) for posteriors, _, words in self._scored(X)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def log_likelihood(self, X: Any) -> Floats:
        """Return log P(d) (nats) of each document, of its known words; 0 if it has none.

        >>> MultinomialMixture(n_topics=1).fit(np.array([[1, 1]])).log_likelihood(np.array([[1, 1], [0, 0]])).round(4)
        array([-1.3863,  0.    ])
        """
        parts = [likelihood for _, likelihood, _ in self._scored(X)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-likelihood (nats) of a known word.

        >>> round(MultinomialMixture(n_topics=1).fit(np.array([[1, 1]])).score(np.array([[3, 5]])), 4)
        -0.6931
        """
        total = words = 0.0
        for _, likelihood, lengths in self._scored(X):
            total += float(likelihood.sum())
            words += float(lengths.sum())
        if not words:
            raise DataError("nothing to score: X has no words; pass at least one document with a known word")
        return total / words

    def merge(self, other: MultinomialMixture) -> MultinomialMixture:
        """Return the model of both corpora: topics are paired by their words, and their expected counts added.

        >>> mixture = MultinomialMixture(n_topics=1, eta=0.5).fit(np.array([[1, 1]]))
        >>> mixture.merge(MultinomialMixture(n_topics=1, eta=0.5).fit(np.array([[4, 2]]))).components_.round(3).tolist()
        [[0.611, 0.389]]
        """
        order, _, _ = align_topics(self, other)
        expected = _Expected(len(order))
        columns = max(self.components_.shape[1], other.components_.shape[1])
        expected.words = np.zeros((columns, len(order)))
        for model, topics in ((self, np.arange(len(order))), (other, order)):
            counts = np.maximum(model.components_.T * model._sizes() - model.eta, 0)[:, topics]
            expected.words[: len(counts)] += counts
            expected.documents = expected.documents + model.document_counts_[topics]
        merged = MultinomialMixture(**self.get_params(deep=False))
        merged.vectorizer_, merged.documents_ = self.vectorizer_, self.documents_ + other.documents_
        merged.trace_, merged.n_iter_, merged.converged_ = np.zeros(0), 0, False
        merged._keep(expected)
        return merged

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        if not all(np.isfinite(v).all() and v.min(initial=1) > 0 for v in (self.components_, self.weights_)):
            raise ModelFileError("probabilities must be finite and above 0", reason="damaged")
        counts = (self.document_counts_, self.word_counts_)
        if not all(np.isfinite(v).all() and v.min(initial=0) >= 0 for v in counts) or self.documents_ < 0:
            raise ModelFileError("counts must be finite and not negative", reason="damaged")

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Format 1 called max_iter iterations, and did not say how training ended."""
        most = saved.parameters["max_iter"] = saved.parameters.pop("iterations")
        saved.format = 2
        if saved.fitted:
            trace = saved.arrays["trace_"] = saved.arrays.pop("objectives_")
            saved.state |= {"n_iter_": len(trace), "converged_": 0 < len(trace) < most}
        return saved

    def objective(self) -> str:
        """Return what the figures of `trace_` are, in words."""
        return "penalized log-likelihood"

    def strengths(self) -> Floats:
        """Return a figure for each topic that is printed with it."""
        return self.weights_

    def _check(self) -> None:
        check_range("n_topics", self.n_topics, at_least=1, at_most=MOST_TOPICS, whole=True)
        if not is_generator(self.random_state):  # which would be drawn from
            seed_of(self.random_state)
        check_range("alpha", self.alpha, above=0, below=np.inf)
        check_range("eta", self.eta, above=0, below=np.inf)
        check_range("max_iter", self.max_iter, at_least=1, whole=True)
        check_range("tolerance", self.tolerance, at_least=0)

    def _begin(self, chunks: Any) -> None:
        """An M step on random posteriors: squares of two normal numbers are exponential, their shares Dirichlet(1)."""
        seed, threads, first = seed_of(self.random_state), effective_jobs(self.n_jobs), 0
        expected = _Expected(self.n_topics)
        for part in chunks:
            drawn = np.empty((part.shape[0], 2 * self.n_topics))
            native.random_normal(seed=seed, out=drawn, threads=threads, first=first)
            weights = drawn[:, ::2] ** 2 + drawn[:, 1::2] ** 2
            weights /= weights.sum(axis=1, keepdims=True)
            expected.add(part, weights, np.zeros(part.shape[0]), threads=threads)
            first += part.shape[0]
        if not expected.words.sum():
            raise DataError("X has no documents with a word, so there is nothing to learn; pass at least one")
        self._keep(expected)

    def _keep(self, expected: _Expected) -> None:
        """The M step."""
        self.document_counts_, self.word_counts_ = expected.documents, expected.words.sum(axis=0)
        weights = self.alpha + expected.documents
        self.weights_ = weights / weights.sum()
        words = expected.words.T + self.eta
        self.components_ = np.ascontiguousarray(words / words.sum(axis=1, keepdims=True))

    def _grow(self, columns: int) -> None:
        """Take further terms, not seen so far; all topics keep their counts."""
        new = columns - self.components_.shape[1]
        if new > 0:
            before = self._sizes()
            after = before + self.eta * new
            fresh = np.broadcast_to((self.eta / after)[:, None], (len(after), new))
            self.components_ = np.hstack([self.components_ * (before / after)[:, None], fresh])

    def _sizes(self) -> Floats:
        """What the rows of components_ were divided by."""
        sizes: Floats = self.word_counts_ + self.eta * self.components_.shape[1]
        return sizes

    def _logs(self) -> Floats:
        """log phi by term (m, k), as the kernels want it."""
        logs: Floats = np.log(np.ascontiguousarray(self.components_.T))
        return logs

    def _posteriors(self, X: sparse.csr_matrix, logs: Floats) -> tuple[Floats, Floats]:
        """The E step: P(t | d) and log P(d)."""
        threads, topics = effective_jobs(self.n_jobs), len(self.components_)
        joint, evidence = np.empty((X.shape[0], topics)), np.empty(X.shape[0])
        native.csr_dense(
            *csr_arrays(X, np.float64), columns=X.shape[1], dense=logs[: X.shape[1]], out=joint, threads=threads
        )
        joint += np.log(self.weights_)
        native.logsumexp_rows(joint, evidence, threads)
        joint -= evidence[:, None]
        native.exp(joint, joint, threads)
        return joint, evidence

    def _scored(self, X: Any) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Posteriors, log-likelihoods and lengths of the documents of each chunk."""
        check_fitted(self)
        logs = self._logs()
        for part in self.rows_of(X):
            lengths = np.asarray(part.sum(axis=1), dtype=np.float64).ravel()
            posteriors, likelihood = self._posteriors(part, logs)
            likelihood[lengths == 0] = 0.0
            yield posteriors, likelihood, lengths


class _Expected:
    """What an E step gives: expected documents (k,), expected words (V, k), and the log-likelihood."""

    def __init__(self, topics: int) -> None:
        self.documents = np.zeros(topics)
        self.words = np.zeros((0, topics))
        self.likelihood = 0.0

    def add(self, X: sparse.csr_matrix, posteriors: Floats, likelihood: Floats, *, threads: int) -> None:
        """Add the documents of a chunk."""
        words = np.empty((X.shape[1], posteriors.shape[1]))
        native.csr_transposed_dense(
            *csr_arrays(X, np.float64), columns=X.shape[1], dense=posteriors, out=words, threads=threads
        )
        words[: len(self.words)] += self.words
        self.words = words
        self.documents = self.documents + posteriors.sum(axis=0)
        self.likelihood += float(likelihood.sum())

"""Variational Bayes for Dirichlet allocation: the E step on a chunk, sums of chunks, blending, and the bound.

    q(theta_d) = Dirichlet(gamma_d)      q(beta_t) = Dirichlet(lambda_t)      lambda = eta + chi
    E log theta_dt = psi(gamma_dt) - psi(sum_t gamma_dt)       E log beta_tw = psi(lambda_tw) - psi(sum_w lambda_tw)

    phi_dwt ~ exp(E log theta_dt + E log beta_tw)
    gamma_dt = alpha_t + sum_w n_dw phi_dwt                    chi_tw = sum_d n_dw phi_dwt

The bound L <= log P(words), with phi at its optimum, has three parts:

    words       sum_dw n_dw log sum_t exp(E log theta_dt + E log beta_tw)
    documents   sum_d [ lnG(sum alpha) - sum_t lnG(alpha_t) + sum_t (alpha_t - gamma_dt) E log theta_dt
                        + sum_t lnG(gamma_dt) - lnG(sum_t gamma_dt) ]
    topics      the same over words, with eta and lambda, for each topic

Topics are stored by term, chi (V, k); of a chunk only the rows of its own words are made and sent. A sum of chunks is
made in pairs whose order depends on the number of chunks only, so one machine and many give the same bytes.

Cost: O(non-zeros x living topics) an iteration (native/topics/variational.h). References: Blei, Ng & Jordan (2003),
Latent Dirichlet allocation; Hoffman, Blei & Bach (2010), Online learning for latent Dirichlet allocation; Rehurek
(2011), Scalability of Semantic Analysis in Natural Language Processing, algorithms 4.1 and 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import base as native_base
from textmill._native import topics as native
from textmill.arrays import Floats
from textmill.corpus import csr_arrays
from textmill.errors import warn_caller
from textmill.model import effective_jobs
from textmill.numeric import sparse
from textmill.topics.chunks import Chunks, KeptChunk, take_rows
from textmill.topics.lda.weighting import weighed

__all__ = [
    "Bound",
    "Inferred",
    "Partial",
    "Topics",
    "add_partials",
    "digamma",
    "document_parts",
    "expect",
    "infer",
    "log_beta",
    "mixtures",
    "partial_of_job",
    "partial_of_kept",
    "topics_part",
    "word_topics",
]


_ROWS = 8192  # terms looked at together where all of them are


@dataclass(frozen=True)
class Bound:
    """The bound of a corpus in nats and its parts, with the number of words it is about; bounds of documents add.

    >>> Bound(-20.0, -3.0, -1.0, words=12.0).total
    -24.0
    """

    words_part: float
    documents_part: float
    topics_part: float
    words: float

    @property
    def total(self) -> float:
        """The bound L."""
        return self.words_part + self.documents_part + self.topics_part

    @property
    def per_word(self) -> float:
        """L by the number of words."""
        return self.total / max(self.words, 1e-300)


@dataclass(frozen=True)
class Topics:
    """What an E step needs: chi by term, eta (1 or V rows, 1 or k columns), sums of lambda, alpha, when to stop.

    `watched` asks chunks for their part of the bound and the sum of E log theta, which cost time.
    """

    statistics: NDArray[Any]
    eta: Floats
    totals: Floats
    alpha: Floats
    max_iter: int = 50
    tolerance: float = 1e-3
    watched: bool = False
    weights: Floats | None = None  # of terms, and how they are used (weighting.py)
    weighting: str | None = None

    def weighed(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """The counts as this model takes them."""
        if self.weights is None or self.weighting is None:
            return X
        return weighed(X, self.weights, self.weighting)

    def widened(self, terms: int) -> Topics:
        """The same with rows of zeros for terms that it does not have."""
        more = terms - len(self.statistics)
        if more <= 0:
            return self
        rows = np.concatenate([self.statistics, np.zeros((more, len(self.alpha)), self.statistics.dtype)])
        eta = np.concatenate([self.eta, np.repeat(self.eta.mean(axis=0, keepdims=True), more, axis=0)])
        return replace(self, statistics=rows, eta=self.eta if len(self.eta) == 1 else eta)


@dataclass(frozen=True)
class Inferred:
    """An E step on documents: gamma (n, k), iterations and the words' part of the bound of each."""

    gamma: NDArray[Any]
    steps: NDArray[np.int32]
    likelihood: Floats
    words: NDArray[np.int32]
    statistics: NDArray[Any]


@dataclass(frozen=True)
class Partial:
    """What a chunk adds to a model: chi of its words, counts, sum of E log theta, and its part of the bound."""

    words: NDArray[np.int32]
    rows: NDArray[Any]
    documents: int
    tokens: float
    log_theta: Floats
    bound: float


def infer(
    X: sparse.csr_matrix,
    topics: Topics,
    *,
    collect: bool = False,
    start: NDArray[Any] | None = None,
    n_jobs: int | None = None,
) -> Inferred:
    """One E step: gamma from a start (1 everywhere), and statistics of the chunk's words if they are to be collected.

    >>> chi, half = np.array([[8.5, 0.5], [0.5, 8.5]]), np.full((1, 1), 0.5)
    >>> topics = Topics(chi, half, np.full(2, 10.0), np.full(2, 0.5))
    >>> infer(sparse.csr_matrix([[2.0, 1.0]]), topics).gamma.round(2).tolist()
    [[2.56, 1.44]]
    """
    topics = topics.widened(X.shape[1])
    k, dtype = len(topics.alpha), topics.statistics.dtype
    gamma = np.ones((X.shape[0], k), dtype) if start is None else np.array(start, dtype=dtype, order="C")
    steps, likelihood = np.empty(X.shape[0], np.int32), np.empty(X.shape[0])
    words, statistics = native.expect_topics(
        *csr_arrays(X, np.float64),
        statistics=topics.statistics,
        eta=topics.eta,
        psi_totals=digamma(topics.totals),
        alpha=topics.alpha,
        iterations=topics.max_iter,
        tolerance=topics.tolerance,
        collect=collect,
        gamma=gamma,
        steps=steps,
        likelihood=likelihood,
        threads=effective_jobs(n_jobs),
    )
    return Inferred(gamma, steps, likelihood, words, statistics.reshape(-1, k))


def mixtures(X: sparse.csr_matrix, topics: Topics, n_jobs: int | None = None) -> Floats:
    """E theta of documents, one row each.

    >>> chi, half = np.array([[8.5, 0.5], [0.5, 8.5]]), np.full((1, 1), 0.5)
    >>> topics = Topics(chi, half, np.full(2, 10.0), np.full(2, 0.5))
    >>> mixtures(sparse.csr_matrix([[2.0, 1.0]]), topics).round(2).tolist()
    [[0.64, 0.36]]
    """
    gamma = infer(X, topics, n_jobs=n_jobs).gamma.astype(np.float64)
    shares: Floats = gamma / gamma.sum(axis=1, keepdims=True)
    return shares


def expect(X: sparse.csr_matrix, topics: Topics, n_jobs: int | None = None) -> Partial:
    """What a chunk adds to the model. Documents without a word are not counted.

    >>> chi, half = np.array([[8.5, 0.5], [0.5, 8.5]]), np.full((1, 1), 0.5)
    >>> topics = Topics(chi, half, np.full(2, 10.0), np.full(2, 0.5))
    >>> part = expect(sparse.csr_matrix([[2.0, 1.0], [0.0, 0.0]]), topics)
    >>> part.documents, part.rows.round(2).tolist()
    (1, [[1.94, 0.06], [0.12, 0.88]])
    """
    inferred = infer(X, topics, collect=True, n_jobs=n_jobs)
    filled = np.diff(X.indptr) > 0
    log_theta, bound = np.zeros(len(topics.alpha)), np.nan
    if topics.watched:
        parts = document_parts(inferred.gamma[filled], topics.alpha)
        log_theta, bound = parts[0].sum(axis=0), float(inferred.likelihood[filled].sum() + parts[1].sum())
    return Partial(inferred.words, inferred.statistics, int(filled.sum()), float(X.data.sum()), log_theta, bound)


def partial_of_job(job: Chunks, topics: Topics, n_jobs: int | None) -> Partial:
    """What the chunks of a job add, as a step for a worker.

    >>> topics = Topics(np.ones((2, 1)), np.full((1, 1), 0.5), np.full(1, 3.0), np.full(1, 1.0))
    >>> partial_of_job(Chunks(np.array([[2, 1]]), 1), topics, 1).rows.tolist()
    [[2.0], [1.0]]
    """
    total: Partial | None = None
    for X in job:
        if (X.data % 1).any():
            warn_caller("X holds fractions, but LDA is a model of counts; pass unweighed bags, or weighting='idf'")
        part = expect(topics.weighed(X), topics, n_jobs)
        total = part if total is None else add_partials(total, part)
    return total if total is not None else expect(sparse.csr_matrix((0, len(topics.statistics))), topics)


def partial_of_kept(chunk: KeptChunk, topics: Topics, n_jobs: int | None) -> Partial:
    """What a chunk adds that is kept where the step runs.

    >>> topics = Topics(np.ones((2, 1)), np.full((1, 1), 0.5), np.full(1, 3.0), np.full(1, 1.0))
    >>> partial_of_kept(((sparse.csr_matrix([[2.0, 1.0], [0.0, 4.0]]),), 0, 1), topics, 1).rows.tolist()
    [[2.0], [1.0]]
    """
    return partial_of_job(Chunks(take_rows(chunk)), topics, n_jobs)


def add_partials(a: Partial, b: Partial) -> Partial:
    """Add what two chunks bring.

    >>> one, other = (Partial(np.array([w], np.int32), np.ones((1, 1)), 1, 1.0, np.zeros(1), -1.0) for w in (3, 5))
    >>> add_partials(one, other).words.tolist(), add_partials(one, one).rows.tolist()
    ([3, 5], [[2.0]])
    """
    words = np.union1d(a.words, b.words)
    rows = np.zeros((len(words), a.rows.shape[1]), a.rows.dtype)
    rows[np.searchsorted(words, a.words)] = a.rows
    rows[np.searchsorted(words, b.words)] += b.rows
    return Partial(
        words, rows, a.documents + b.documents, a.tokens + b.tokens, a.log_theta + b.log_theta, a.bound + b.bound
    )


def document_parts(gamma: NDArray[Any], alpha: Floats) -> tuple[Floats, Floats]:
    """E log theta (n, k) of documents, and their documents' part of the bound (n,).

    >>> log_theta, _ = document_parts(np.array([[3.5, 0.5]]), np.full(2, 0.5))
    >>> log_theta.round(6).tolist()
    [[-0.152961, -3.219628]]
    """
    gamma = gamma.astype(np.float64)
    log_theta = digamma(gamma) - digamma(gamma.sum(axis=1))[:, None]
    return log_theta, _dirichlet_gains(alpha, gamma, log_theta)


def topics_part(topics: Topics) -> float:
    """The topics' part of the bound.

    >>> topics = Topics(np.zeros((2, 1)), np.full((1, 1), 0.5), np.full(1, 1.0), np.ones(1))
    >>> abs(topics_part(topics)) < 1e-12
    True
    """
    from scipy.special import gammaln

    V, k = topics.statistics.shape
    psi_totals = digamma(topics.totals)
    total = -float(gammaln(topics.totals).sum())
    prior_sums = np.zeros(k)
    for first in range(0, V, _ROWS):
        chi = topics.statistics[first : first + _ROWS].astype(np.float64)
        eta = np.broadcast_to(topics.eta if len(topics.eta) == 1 else topics.eta[first : first + _ROWS], chi.shape)
        weight = chi + eta
        total += float((gammaln(weight) - gammaln(eta) - chi * (digamma(weight) - psi_totals)).sum())
        prior_sums += eta.sum(axis=0)
    return total + float(gammaln(prior_sums).sum())


def log_beta(topics: Topics) -> float:
    """The sum of E log beta over topics and terms.

    >>> topics = Topics(np.ones((2, 1)), np.full((1, 1), 1.0), np.full(1, 4.0), np.ones(1))
    >>> round(log_beta(topics), 4)
    -1.6667
    """
    psi_totals = digamma(topics.totals)
    total = 0.0
    for first in range(0, len(topics.statistics), _ROWS):
        eta = topics.eta if len(topics.eta) == 1 else topics.eta[first : first + _ROWS]
        total += float((digamma(topics.statistics[first : first + _ROWS] + eta) - psi_totals).sum())
    return total


def word_topics(X: sparse.csr_matrix, topics: Topics, gamma: NDArray[Any]) -> Floats:
    """phi of each entry of X, (entries, k), for the gamma of its document; rows sum to 1.

    >>> chi, half = np.array([[8.5, 0.5], [0.5, 8.5]]), np.full((1, 1), 0.5)
    >>> topics = Topics(chi, half, np.full(2, 10.0), np.full(2, 0.5))
    >>> word_topics(sparse.csr_matrix([[2.0, 1.0]]), topics, np.array([[2.563553, 1.436447]]))[:, 0].round(6).tolist()
    [0.970008, 0.123538]
    """
    gamma = gamma.astype(np.float64)
    log_theta = digamma(gamma) - digamma(gamma.sum(axis=1))[:, None]
    eta = topics.eta if len(topics.eta) == 1 else topics.eta[X.indices]
    logs = digamma(topics.statistics[X.indices] + eta) - digamma(topics.totals)
    logs += log_theta[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))]
    phi: Floats = np.exp(logs - logs.max(axis=1, initial=-np.inf, keepdims=True))
    phi /= phi.sum(axis=1, keepdims=True)
    return phi


def digamma(values: Floats) -> Floats:
    """psi of positive numbers.

    >>> digamma(np.array([1.0])).round(6).tolist()
    [-0.577216]
    """
    out = np.array(values, dtype=np.float64, order="C")
    native_base.digamma(out, out, 1)
    return out


def _dirichlet_gains(prior: Floats, posterior: Floats, expected: Floats) -> Floats:
    """E log p(x | prior) - E log q(x) of each row x ~ q = Dirichlet(posterior), with expected = E log x."""
    from scipy.special import gammaln

    gains: Floats = (
        gammaln(prior.sum())
        - gammaln(prior).sum()
        + ((prior - posterior) * expected).sum(axis=1)
        + gammaln(posterior).sum(axis=1)
        - gammaln(posterior.sum(axis=1))
    )
    return gains

"""The mixtures of new documents when the topics are fixed, by any method behind one call.

    L(theta)  = sum_w n_w log p_w,   p_w = sum_t theta_t phi_wt,   g_t = dL / dtheta_t = sum_w n_w phi_wt / p_w

    em             argmax L by the fixed point theta_t <- theta_t g_t / n, extrapolated (em.py)
    smoothed-em    argmax L + alpha sum_t log theta_t: theta_t <- (alpha_t + theta_t g_t) / (n + sum alpha)
    eg             argmax L by exponentiated gradient, log theta_t <- log theta_t + rate g_t / n - constant, with a rate
                   of each document's own
    variational    E theta under the Dirichlet distribution nearest to the posterior of theta (variational.py, topics
                   known for certain); `log_likelihood` is then the bound on log P(d)
    gibbs          mean of theta over topics of the words that are drawn again and again (gibbs.py); `log_likelihood` is
                   L of that mean
    monte-carlo    log P(d) = log 1/M sum_m exp L(theta_m), theta_m ~ Dirichlet(alpha); theta is the mean of the theta_m
                   weighed by exp L, and the error of both grows with the length of the document

L is concave: em and eg reach the same global maximum, and `gap` = max_t g_t / n - 1 bounds how far below it, per word,
a mixture is. They stop when the gap is below the tolerance, every document by itself; it is reported for every method.

KL(p || q) = sum_t p_t log(p_t / q_t) needs q_t > 0 where p_t > 0. The maximum of L has topics that are exactly 0, so of
KL(inferred || other) and KL(other || inferred) only the first is finite when `other` was smoothed.

Cost of em and eg: O(words x topics) a step; of monte-carlo O(terms x topics x samples) once and O(words x samples).
References: Misra, Cappe & Yvon (2008), Using LDA to detect semantically incoherent documents; Heidel et al. (2007),
Language model adaptation using latent Dirichlet allocation and an efficient topic inference algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import base as native_base
from textmill._native import topics as native
from textmill.arrays import Floats
from textmill.corpus import check_bags, csr_arrays
from textmill.errors import DataError
from textmill.model import RandomState, check_choice, check_range, effective_jobs, seed_of
from textmill.numeric import sparse
from textmill.topics.factors.em import Mixtures, check_problem, fold_in
from textmill.topics.lda.gibbs import gibbs_mixtures
from textmill.topics.lda.variational import Topics, document_parts, infer

__all__ = [
    "divergences",
    "entropy",
    "exponentiated_gradient",
    "infer_topics",
    "monte_carlo",
    "query_likelihood",
]


_SAMPLES = 64  # of theta that are held at a time
_ROWS = 1024  # documents whose words' probabilities are held at a time
_CERTAIN = 1e25  # words that a topic was learned from, for its distribution to be that of its words


def infer_topics(
    X: Any,
    phi: Any,
    *,
    method: str = "em",
    alpha: float | NDArray[Any] | None = None,
    tolerance: float = 1e-6,
    max_iter: int | None = None,
    trace: bool = False,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Mixtures:
    """Return the mixtures of documents (bags) for fixed topics (terms x topics) by one of the methods above.

    `alpha` is 1/k by default; em and eg do not use it. `tolerance` bounds the gap (variational: the mean change of the
    expected counts), `max_iter` the steps of a document, 1000 by default (monte-carlo: samples; gibbs: sweeps, 100 by
    default). `trace` asks em, smoothed-em and eg for what they maximized at each step. `random_state` is that of gibbs
    and monte-carlo: the same documents get the same mixtures.

    >>> phi = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> infer_topics([[3, 1]], phi).theta.round(4).tolist()
    [[0.7857, 0.2143]]
    >>> infer_topics([[3, 1]], phi, method="smoothed-em", alpha=0.1).theta.round(4).tolist()
    [[0.7575, 0.2425]]
    >>> infer_topics([[3, 1]], phi, method="eg").theta.round(3).tolist()
    [[0.786, 0.214]]
    """
    check_choice("method", method, list(_METHODS))
    topics = np.shape(phi)[1] if np.ndim(phi) == 2 else 1
    prior = np.broadcast_to(np.asarray(1.0 / max(topics, 1) if alpha is None else alpha, dtype=np.float64), (topics,))
    if not np.isfinite(prior).all() or (topics and prior.min() <= 0):
        raise DataError(f"alpha must be finite and above 0, one number or one per topic, got {alpha!r}")
    if trace and method not in ("em", "smoothed-em", "eg"):
        raise DataError(f"method {method!r} has no trace; leave trace out")
    steps = (100 if method == "gibbs" else 1000) if max_iter is None else max_iter
    return _METHODS[method](X, phi, prior, tolerance, steps, trace, random_state, n_jobs)


def exponentiated_gradient(
    X: Any,
    phi: Any,
    *,
    rate: float = 1.0,
    tolerance: float = 1e-6,
    max_iter: int = 1000,
    start: Any = None,
    trace: bool = False,
    n_jobs: int | None = None,
) -> Mixtures:
    """Return the mixtures of documents by exponentiated gradient; the arguments are those of `fold_in`.

    `rate` is that of the first step of each document; it is halved when a step fails, and follows the curvature when it
    does not.

    >>> phi = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> exponentiated_gradient([[3, 1]], phi, rate=0.4, max_iter=2).theta.round(6).tolist()
    [[0.556326, 0.443674]]
    """
    X, phi, theta = check_problem(X, phi, start)
    check_range("rate", rate, above=0, below=np.inf)
    check_range("tolerance", tolerance, above=0)
    check_range("max_iter", max_iter, at_least=1, below=2**31, whole=True)
    n = X.shape[0]
    likelihood, gap, steps = np.empty(n), np.empty(n), np.empty(n, dtype=np.int32)
    points = np.full((n, max_iter if trace else 0), np.nan)
    native.exponentiate(
        *csr_arrays(X, np.float64),
        phi=phi,
        rate=rate,
        tolerance=tolerance,
        iterations=max_iter,
        theta=theta,
        likelihood=likelihood,
        gap=gap,
        steps=steps,
        trace=points,
        threads=effective_jobs(n_jobs),
    )
    return Mixtures(theta, likelihood, gap, steps, points if trace else None)


def monte_carlo(
    X: Any,
    phi: Any,
    *,
    alpha: float | NDArray[Any] = 1.0,
    samples: int = 1000,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Mixtures:
    """Return the log evidence log P(d) of documents and their mean mixtures, by sampling mixtures from the prior.

    `log_likelihood` is the log evidence here. All documents share the samples, which depend on `random_state` alone.

    >>> phi = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> round(float(monte_carlo([[3, 1]], phi, samples=100_000).log_likelihood[0]), 2)
    -2.73
    """
    X, phi, _ = check_problem(X, phi)
    check_range("samples", samples, at_least=1, whole=True)
    n, k = X.shape[0], phi.shape[1]
    threads, arrays = effective_jobs(n_jobs), csr_arrays(X, np.float64)
    weights = np.ascontiguousarray(np.broadcast_to(np.asarray(alpha, dtype=np.float64), (k,)))
    if not np.isfinite(weights).all() or weights.min() <= 0:
        raise DataError(f"alpha must be finite and above 0, got {alpha!r}")
    drawn = np.empty((samples, k))
    native_base.random_dirichlet(seed_of(random_state), weights, drawn, threads)
    unknown = ~(phi > 0).any(axis=1)
    most, total, mean = np.full(n, -np.inf), np.zeros(n), np.zeros((n, k))
    for first in range(0, samples, _SAMPLES):
        some = drawn[first : first + _SAMPLES]
        logs = np.asarray(phi @ some.T, dtype=np.float64)
        logs[unknown] = 1.0
        with np.errstate(divide="ignore"):
            np.log(logs, out=logs)
        likelihood = np.empty((n, len(some)))
        native_base.csr_dense(*arrays, X.shape[1], logs, likelihood, threads)
        top = np.maximum(most, likelihood.max(axis=1))
        shift = np.where(np.isfinite(top), top, 0.0)
        keep = np.exp(np.where(np.isfinite(most), most, -np.inf) - shift)
        likelihood -= shift[:, None]
        native_base.exp(likelihood, likelihood, threads)
        total = total * keep + likelihood.sum(axis=1)
        mean = mean * keep[:, None] + likelihood @ some
        most = top
    possible = (total > 0) & (_known_lengths(X, phi) > 0)
    theta = np.where(possible[:, None], mean / np.where(possible, total, 1.0)[:, None], weights / weights.sum())
    theta /= theta.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        evidence = np.where(total > 0, most + np.log(total / samples), -np.inf)
    return Mixtures(theta, evidence, _measured(X, phi, theta, threads)[1], np.full(n, samples, dtype=np.int32))


def divergences(P: Any, Q: Any, measure: str = "kl") -> Floats:
    """Return how far each row of P is from the same row of Q, in nats; rows are mixtures.

    "kl" is KL(P || Q), infinite where Q has 0 and P has not; "symmetric" KL(P || Q) + KL(Q || P); "js" the divergence
    of Jensen and Shannon. For all pairs of rows, and other measures, see `textmill.vectors.pairwise`.

    >>> divergences([[0.5, 0.5], [1.0, 0.0]], [[0.25, 0.75], [0.5, 0.5]]).round(4).tolist()
    [0.1438, 0.6931]
    >>> divergences([[0.5, 0.5]], [[1.0, 0.0]]).tolist()
    [inf]
    """
    check_choice("measure", measure, ["kl", "symmetric", "js"])
    rows = [np.atleast_2d(np.asarray(values, dtype=np.float64)) for values in (P, Q)]
    if rows[0].shape != rows[1].shape:
        raise DataError(f"P has the shape {rows[0].shape} but Q {rows[1].shape}; pass a row of Q for each row of P")
    for name, values in zip("PQ", rows, strict=True):
        if not (np.isfinite(values).all() and (values >= 0).all() and np.allclose(values.sum(axis=1), 1, atol=1e-6)):
            raise DataError(f"the rows of {name} must be mixtures: numbers of at least 0 that sum to 1")
    p, q = rows
    if measure == "js":
        middle = (p + q) / 2
        return (_kl(p, middle) + _kl(q, middle)) / 2
    return _kl(p, q) if measure == "kl" else _kl(p, q) + _kl(q, p)


def entropy(theta: Any, *, base: float = 2.0) -> Floats:
    """Return the entropy -sum_t theta_t log theta_t of each row, with 0 log 0 = 0; in bits by default.

    With the number of topics as `base` it is between 0 and 1.

    >>> entropy([[0.5, 0.5], [1.0, 0.0]]).tolist()
    [1.0, 0.0]
    """
    check_range("base", base, above=1, below=np.inf)
    rows = np.atleast_2d(np.asarray(theta, dtype=np.float64))
    nats = np.abs((rows * np.log(np.where(rows > 0, rows, 1.0))).sum(axis=1))
    entropies: Floats = nats / np.log(base)
    return entropies


def query_likelihood(queries: Any, theta: Any, phi: Any) -> Floats:
    """Return log P(query | document) = sum_w q_w log sum_t theta_dt phi_wt, queries (bags) x documents.

    Words of a query that no topic has are left out; -inf where a document gives a word no probability.

    >>> phi = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> query_likelihood([[1, 0], [0, 2]], [[1.0, 0.0], [0.5, 0.5]], phi).round(4).tolist()
    [[-0.1054, -0.5978], [-4.6052, -1.597]]
    """
    queries = check_bags(queries)
    phi, theta = np.asarray(phi, dtype=np.float64), np.asarray(theta, dtype=np.float64)
    if phi.ndim != 2 or theta.ndim != 2 or phi.shape != (queries.shape[1], theta.shape[1]):
        raise DataError(
            f"queries {queries.shape}, theta {theta.shape} and phi {phi.shape} do not fit; "
            "pass queries x terms, documents x topics and terms x topics"
        )
    words = np.unique(queries.indices)
    words = words[phi[words].any(axis=1)]
    asked = queries[:, words].astype(np.float64)
    scores = np.empty((queries.shape[0], len(theta)))
    for first in range(0, len(theta), _ROWS):
        with np.errstate(divide="ignore"):
            logs = np.log(phi[words] @ theta[first : first + _ROWS].T)
        scores[:, first : first + _ROWS] = asked @ logs if len(words) else 0.0
    return scores


def _variational(X: Any, phi: Any, alpha: Floats, tolerance: float, max_iter: int, n_jobs: int | None) -> Mixtures:
    X, phi, _ = check_problem(X, phi)
    check_range("tolerance", tolerance, at_least=0)
    check_range("max_iter", max_iter, at_least=1, below=2**31, whole=True)
    lost = ~(phi > 0).any(axis=1)[X.indices]
    if lost.any():
        X = X.copy()
        X.data[lost] = 0
        X.eliminate_zeros()
    totals, prior = np.full(phi.shape[1], _CERTAIN), np.ascontiguousarray(alpha)
    topics = Topics(phi.astype(np.float64) * _CERTAIN, np.zeros((1, 1)), totals, prior, max_iter, tolerance)
    inferred = infer(X, topics, n_jobs=n_jobs)
    theta: Floats = inferred.gamma / inferred.gamma.sum(axis=1, keepdims=True)
    bound = inferred.likelihood + document_parts(inferred.gamma, prior)[1]
    return Mixtures(theta, bound, _measured(X, phi, theta, effective_jobs(n_jobs))[1], inferred.steps)


def _gibbs(X: Any, phi: Any, alpha: Floats, max_iter: int, random_state: RandomState, n_jobs: int | None) -> Mixtures:
    X, phi, _ = check_problem(X, phi)
    theta = gibbs_mixtures(X, phi, alpha=alpha, max_iter=max_iter, random_state=random_state, n_jobs=n_jobs)
    likelihood, gap = _measured(X, phi, theta, effective_jobs(n_jobs))
    return Mixtures(theta, likelihood, gap, np.full(len(theta), max_iter, dtype=np.int32))


def _kl(p: Floats, q: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(p > 0, p * np.log(p / q), 0.0)
    sums: Floats = np.maximum(parts.sum(axis=1), 0.0)
    return sums


def _measured(X: sparse.csr_matrix, phi: NDArray[Any], theta: Floats, threads: int) -> tuple[Floats, Floats]:
    """L and max_t g_t / n - 1 of mixtures found by any means; both 0 for a document without known words."""
    offsets, terms, counts = csr_arrays(X, np.float64)
    ratio, gradient, likelihood = np.empty(len(terms)), np.empty_like(theta), np.empty(len(theta))
    native.expect(
        offsets=offsets,
        terms=terms,
        counts=counts,
        phi=phi,
        theta=theta,
        ratio=ratio,
        gradient=gradient,
        likelihood=likelihood,
        threads=threads,
    )
    length = _known_lengths(X, phi)
    gap = np.where(length > 0, gradient.max(axis=1, initial=0) / np.maximum(length, 1e-300) - 1.0, 0.0)
    return likelihood, gap


def _known_lengths(X: sparse.csr_matrix, phi: NDArray[Any]) -> Floats:
    """How many words of each document some topic has."""
    return np.asarray(X.dot((phi > 0).any(axis=1).astype(np.float64)))


_Method = Callable[[Any, Any, Floats, float, int, bool, RandomState, int | None], Mixtures]

_METHODS: dict[str, _Method] = {
    "em": lambda X, phi, alpha, tolerance, max_iter, trace, seed, n_jobs: fold_in(
        X, phi, tolerance=tolerance, max_iter=max_iter, trace=trace, n_jobs=n_jobs
    ),
    "smoothed-em": lambda X, phi, alpha, tolerance, max_iter, trace, seed, n_jobs: fold_in(
        X, phi, prior=alpha, tolerance=tolerance, max_iter=max_iter, trace=trace, n_jobs=n_jobs
    ),
    "eg": lambda X, phi, alpha, tolerance, max_iter, trace, seed, n_jobs: exponentiated_gradient(
        X, phi, tolerance=tolerance, max_iter=max_iter, trace=trace, n_jobs=n_jobs
    ),
    "variational": lambda X, phi, alpha, tolerance, max_iter, trace, seed, n_jobs: _variational(
        X, phi, alpha, tolerance, max_iter, n_jobs
    ),
    "gibbs": lambda X, phi, alpha, tolerance, max_iter, trace, seed, n_jobs: _gibbs(
        X, phi, alpha, max_iter, seed, n_jobs
    ),
    "monte-carlo": lambda X, phi, alpha, tolerance, max_iter, trace, seed, n_jobs: monte_carlo(
        X, phi, alpha=alpha, samples=max_iter, random_state=seed, n_jobs=n_jobs
    ),
}

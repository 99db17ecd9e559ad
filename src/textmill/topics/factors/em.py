"""Documents as mixtures of topics: inferred for fixed topics, and learned together with them, both by EM.

    p_dw = sum_t theta_dt phi_wt          theta_d: mixture of document d, phi_.t: words of topic t; both sum to 1
    L    = sum_dw n_dw log p_dw + sum_dt prior_t log theta_dt

    theta_dt <- (prior_t + theta_dt sum_w n_dw phi_wt / p_dw) / (n_d + sum prior)       folding in: phi stays
    phi_wt   <- phi_wt sum_d n_dw theta_dt / p_dw, then divided by its sum              learning: both change

L never falls. For fixed topics it is concave, and `gap` bounds how far below its maximum a document is, per word (see
native/topics/mixture.h). Steps are extrapolated (SQUAREM); a point at which L is lower is thrown away, so L never falls
then either. phi is terms x topics here, the transpose of `components_`: the numbers of a word lie together in memory.

With `temper` b < 1 the posterior of a topic is proportional to (theta_dt phi_wt)^b, which flattens it; what rises is
then (1/b) sum n_dw log sum_t (theta_dt phi_wt)^b.

Cost: a visit of an entry is O(k), one or two of them a step. Memory: nothing of size entries x topics is ever made.
References: Hofmann (2001), Unsupervised learning by probabilistic latent semantic analysis; Varadhan & Roland (2008),
Simple and globally convergent methods for accelerating the convergence of any EM algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import base as native_base
from textmill._native import topics as native
from textmill.arrays import Floats
from textmill.cluster import tree_reduce
from textmill.corpus import check_bags, csr_arrays
from textmill.errors import DataError
from textmill.model import check_range, effective_jobs
from textmill.numeric import sparse
from textmill.progress import interruptible, start
from textmill.topics.factors.rows import Part, Rows

__all__ = ["Mixtures", "blend", "check_problem", "expected", "expected_counts", "fold_in", "learn"]


_SHRINK = 0.1  # of a number that an extrapolation would make negative
_NEW = 0.01  # of a uniform probability, for words that no topic has when they are first met
_STEP_GROWTH = 4.0  # of the longest extrapolation that is tried


@dataclass(frozen=True, slots=True)
class Mixtures:
    """Mixtures of documents, one entry each: theta (n, k), log_likelihood, gap, n_iter.

    trace (n, iterations), if asked for, holds what was maximized at each point that was kept, NaN after the last.
    """

    theta: Floats
    log_likelihood: Floats
    gap: Floats
    n_iter: NDArray[np.int32]
    trace: Floats | None = None


def fold_in(
    X: Any,
    phi: Any,
    *,
    prior: float | NDArray[Any] = 0.0,
    temper: float = 1.0,
    tolerance: float = 1e-6,
    max_iter: int = 1000,
    accelerate: bool = True,
    start: Any = None,
    trace: bool = False,
    n_jobs: int | None = None,
) -> Mixtures:
    """Return the mixtures of documents (bags) for fixed topics (terms x topics, float64 or float32).

    `prior` is added to the expected count of each topic; `tolerance` bounds the gap, `max_iter` the gradients of a
    document; `start` (n, k), of positive rows, is uniform by default. Words that no topic has are left out; a document
    without others gets the prior, or a uniform mixture.

    >>> phi = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> fold_in([[3, 1]], phi).theta.round(4).tolist()
    [[0.7857, 0.2143]]
    >>> fold_in([[3, 1]], phi, max_iter=2, accelerate=False).theta.round(4).tolist()
    [[0.6414, 0.3586]]
    """
    X, phi, theta = check_problem(X, phi, start)
    check_range("temper", temper, above=0, at_most=1)
    check_range("tolerance", tolerance, above=0)
    check_range("max_iter", max_iter, at_least=1, below=2**31, whole=True)
    n, k = theta.shape
    priors = np.ascontiguousarray(np.broadcast_to(np.asarray(prior, dtype=np.float64), (k,)))
    if not np.isfinite(priors).all() or priors.min() < 0:
        raise DataError(f"prior must be finite and not negative, got {prior!r}")
    likelihood, gap, steps = np.empty(n), np.empty(n), np.empty(n, dtype=np.int32)
    points = np.full((n, max_iter if trace else 0), np.nan)
    native.fold_in(
        *csr_arrays(X, np.float64),
        phi=phi if temper == 1 else phi**temper,
        prior=priors,
        temper=temper,
        tolerance=tolerance,
        iterations=max_iter,
        accelerate=accelerate,
        theta=theta,
        likelihood=likelihood,
        gap=gap,
        steps=steps,
        trace=points,
        threads=effective_jobs(n_jobs),
    )
    return Mixtures(theta, likelihood, gap, steps, points if trace else None)


def check_problem(X: Any, phi: Any, start: Any = None) -> tuple[sparse.csr_matrix, NDArray[Any], Floats]:
    """Check bags, topics (terms x topics) and a start, and return them in the types of the kernels.

    >>> check_problem([[3, 1]], [[0.9, 0.2], [0.1, 0.8]])[2].tolist()
    [[0.5, 0.5]]
    """
    X = check_bags(X)
    phi = np.ascontiguousarray(phi, dtype=np.float32 if np.asarray(phi).dtype == np.float32 else np.float64)
    if phi.ndim != 2 or phi.shape[0] != X.shape[1] or not phi.shape[1]:
        raise DataError(f"X has {X.shape[1]} columns, so phi must be {X.shape[1]} x topics, got the shape {phi.shape}")
    if not np.isfinite(phi).all() or phi.min(initial=0) < 0:
        raise DataError("phi must hold finite numbers that are not negative; pass one distribution a topic")
    n, k = X.shape[0], phi.shape[1]
    theta = np.full((n, k), 1.0 / k) if start is None else np.array(start, dtype=np.float64, order="C")
    if theta.shape != (n, k) or not (theta.sum(axis=1) > 0).all():
        raise DataError(f"start must be {n} x {k} with a positive sum in every row, got the shape {theta.shape}")
    theta /= theta.sum(axis=1, keepdims=True)
    return X, phi, theta


def expected_counts(
    X: sparse.csr_matrix, theta: Floats, phi: Floats, *, threads: int = 1
) -> tuple[Floats, Floats, Floats]:
    """One E step: expected counts by document (n, k) and by term (V, k), and the log-likelihood of each document.

    theta and phi are any numbers >= 0; entries whose probability is 0 are left out.

    >>> phi = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> by_document, by_term, _ = expected_counts(check_bags([[3, 1]]), np.array([[0.5, 0.5]]), phi)
    >>> by_document.round(4).tolist(), by_term.sum(axis=0).round(4).tolist()
    ([[2.5657, 1.4343]], [2.5657, 1.4343])
    """
    offsets, terms, counts = csr_arrays(X, np.float64)
    ratio, gradient, likelihood = np.empty(len(terms)), np.empty_like(theta), np.empty(X.shape[0])
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
    gradient *= theta
    by_term = np.empty((X.shape[1], theta.shape[1]))
    native_base.csr_transposed_dense(
        offsets, terms, ratio, columns=X.shape[1], dense=theta, out=by_term, threads=threads
    )
    by_term *= phi
    return gradient, by_term, likelihood


def expected(rows: Rows, theta: Floats, phi: Floats) -> tuple[Floats, Floats, Floats]:
    """`expected_counts` of rows in parts: each makes its own step, and the counts by term are added.

    >>> rows, phi = Rows(check_bags([[3, 1], [3, 1]])), np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> [part.sum().round(6) for part in expected(rows, np.full((2, 2), 0.5), phi)[:2]]
    [np.float64(8.0), np.float64(8.0)]
    """
    parts = list(rows.each(_expect, theta, state=(phi,)))
    if len(parts) == 1:
        return parts[0]
    by_document, by_term, likelihood = zip(*parts, strict=True)
    return np.concatenate(by_document), tree_reduce(add, by_term), np.concatenate(likelihood)


def _expect(part: Part, theta: Floats, threads: int, phi: Floats) -> tuple[Floats, Floats, Floats]:
    return expected_counts(part.X, np.ascontiguousarray(theta), phi, threads=threads)


def learn(
    X: sparse.csr_matrix | Rows,
    theta: Floats,
    phi: Floats,
    *,
    max_iter: int,
    tolerance: float = 0.0,
    temper: float = 1.0,
    smoothing: float = 0.0,
    accelerate: bool = True,
    n_jobs: int | None = None,
    watch: Callable[[Floats, float], float | None] | None = None,
) -> tuple[Floats, Floats, list[float], bool]:
    """Learn mixtures and topics of documents, here or on a cluster, by EM from a start.

    Returns both, L before the first step and after each, and whether EM ended by itself.

    Ends when a step raises L by less than `tolerance` times |L|. `smoothing` is added to every expected count of a
    term in a topic. After each step `watch(phi, temper)` may return another `temper` to go on with, or None to stop.

    >>> X, phi = check_bags([[3, 1], [0, 2]]), np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> theta, phi, trace, converged = learn(X, np.full((2, 2), 0.5), phi, max_iter=50)
    >>> bool(np.all(np.diff(trace) > -1e-12)), phi.sum(axis=0).round(6).tolist()
    (True, [1.0, 1.0])
    """
    rows = X if isinstance(X, Rows) else Rows(X, n_jobs)
    length = rows.lengths

    def step(point: _Point) -> _Point:
        theta, phi = (point.theta, point.phi) if temper == 1 else (point.theta**temper, point.phi**temper)
        by_document, by_term, likelihood = expected(rows, theta, phi)
        point.likelihood = float(likelihood.sum()) / temper
        if smoothing:
            point.likelihood += smoothing * float(np.log(np.maximum(point.phi, 1e-300)).sum())
            by_term += smoothing
        return _Point(_shares(by_document, length[:, None], point.theta), _shares(by_term, None, point.phi))

    here = _Point(theta, phi)
    after = step(here)
    trace = [here.likelihood]
    longest, converged = 1.0, False
    with start("EM", total=max_iter, unit="steps") as bar, interruptible(range(max_iter)) as loop:
        for _ in loop:
            second = step(after)
            there, beyond = after, second
            if accelerate:
                far, reach = _extrapolate(here, after, second, longest)
                if far is not None:
                    next_far = step(far)
                    if far.likelihood >= after.likelihood:
                        there, beyond = far, next_far
                        longest *= _STEP_GROWTH if reach >= longest else 1.0
                    else:
                        longest = max(1.0, longest / _STEP_GROWTH)
                else:
                    longest *= _STEP_GROWTH
            gain = there.likelihood - here.likelihood
            here, after = there, beyond
            trace.append(here.likelihood)
            bar.advance(log_likelihood=here.likelihood)
            if watch is not None:
                wanted = watch(here.phi, temper)
                if wanted is None:
                    converged = True
                    break
                if wanted != temper:
                    temper = wanted
                    after = step(here)
                    continue
            if gain <= tolerance * abs(here.likelihood):
                converged = True
                break
    return after.theta, after.phi, trace, converged


def blend(
    X: sparse.csr_matrix, phi: Floats, by_term: Floats, *, decay: float, smoothing: float, temper: float, threads: int
) -> tuple[Floats, Floats, Mixtures]:
    """One step of online EM: fold a chunk in, add what is expected of its words to `decay` times that of before.

    Returns the topics and the expected counts (both V x k) and the mixtures of the chunk. Reference: Cappe & Moulines
    (2009), On-line expectation-maximization algorithm for latent data models.

    >>> phi = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> _, counts, _ = blend(check_bags([[3, 1]]), phi, np.zeros((2, 2)), decay=1, smoothing=0, temper=1, threads=1)
    >>> counts.sum(axis=1).round(4).tolist()
    [3.0, 1.0]
    """
    unseen = phi.sum(axis=1) == 0  # a word without any probability would be left out for ever
    if unseen.any():
        phi = np.where(unseen[:, None], _NEW / len(phi), phi)
    mixtures = fold_in(X, phi, temper=temper, tolerance=1e-4, max_iter=100, n_jobs=threads)
    theta = mixtures.theta if temper == 1 else mixtures.theta**temper
    _, new, _ = expected_counts(X, theta, phi if temper == 1 else phi**temper, threads=threads)
    counts = decay * by_term + new
    return _shares(counts + smoothing, None, phi), counts, mixtures


@dataclass(slots=True)
class _Point:
    theta: Floats
    phi: Floats
    likelihood: float = -np.inf


def _extrapolate(here: _Point, after: _Point, second: _Point, longest: float) -> tuple[_Point | None, float]:
    """SQUAREM S3: here + 2 a r + a^2 v, r the first step, v the second less the first, a = |r| / |v| <= longest."""
    first = (after.theta - here.theta, after.phi - here.phi)
    turn = (second.theta - after.theta - first[0], second.phi - after.phi - first[1])
    # not BLAS, whose threads cost more than so short a sum
    size, curvature = (sum(float(np.square(part).sum()) for part in parts) for parts in (first, turn))
    reach = min(np.sqrt(size / curvature), longest) if curvature > 0 else longest
    if reach <= 1.0:
        return None, reach  # no further than the second step
    factors = []
    for x, r, v, last in zip((here.theta, here.phi), first, turn, (second.theta, second.phi), strict=True):
        value = x + 2 * reach * r + reach**2 * v
        factors.append(np.where(value > 0, value, _SHRINK * last))
    factors[0] /= factors[0].sum(axis=1, keepdims=True)
    factors[1] /= factors[1].sum(axis=0, keepdims=True)
    return _Point(factors[0], factors[1]), reach


def _shares(counts: Floats, totals: Floats | None, otherwise: Floats) -> Floats:
    """Counts divided by their totals (None: the sums of columns); where there are none, what was there before."""
    sums = counts.sum(axis=0, keepdims=True) if totals is None else counts.sum(axis=1, keepdims=True)
    safe = np.where(sums > 0, sums, 1.0)
    return np.where(sums > 0, counts / safe, otherwise)

"""Where the non-negative models start.

    nndsvd    X ~ U S V^T; of each pair of singular vectors the positive or the negative parts, whichever weigh more,
              are one topic; zeros become a little above zero, because updates that multiply cannot leave zero
    random    Dirichlet(1) rows of documents, terms in proportion to their frequency times a gamma(1) number

Reference: Boutsidis & Gallopoulos (2008), SVD based initialization: a head start for nonnegative matrix factorization.
"""

from __future__ import annotations

import numpy as np

from textmill._native import base as native
from textmill.arrays import Floats
from textmill.model import check_choice, effective_jobs
from textmill.numeric import sparse
from textmill.topics.factors.krylov import block_krylov
from textmill.topics.factors.rows import Rows

__all__ = ["start_factors"]


_LITTLE = 0.01  # of the mean, for the zeros of nndsvd
_OVERSAMPLING, _POWERS = 10, 2  # of the singular vectors, which are only a start
_ZERO = 1e-9  # of the largest entry: what is smaller may be rounding, whose sign is chance


def start_factors(
    X: sparse.csr_matrix | Rows, topics: int, init: str, seed: int, n_jobs: int | None = None
) -> tuple[Floats, Floats]:
    """Distributions to start from: theta (n, k) with rows, phi (V, k) with columns that sum to 1, all above 0.

    >>> theta, phi = start_factors(sparse.csr_matrix(np.eye(3)), 2, "random", 0)
    >>> theta.shape, phi.sum(axis=0).round(6).tolist()
    ((3, 2), [1.0, 1.0])
    """
    check_choice("init", init, ["random", "nndsvd"])
    rows = X if isinstance(X, Rows) else Rows(X, n_jobs)
    n, m = rows.shape
    if init == "nndsvd":
        theta, phi = _nndsvd(rows, topics, seed)
    else:
        threads = effective_jobs(n_jobs)
        theta, phi = np.empty((n, topics)), np.empty((m, topics))
        native.random_gamma(seed, 1.0, theta, threads)
        native.random_gamma((seed + 1) % 2**63, 1.0, phi, threads)
        phi *= (rows.frequencies + rows.frequencies.sum() / m / 100)[:, None]
    theta += 1e-12
    phi += 1e-12 / m
    return theta / theta.sum(axis=1, keepdims=True), phi / phi.sum(axis=0)


def _nndsvd(X: Rows, topics: int, seed: int) -> tuple[Floats, Floats]:
    if min(X.shape) < 2:
        return np.ones((X.shape[0], topics)), np.ones((X.shape[1], topics))
    operator = X.operator()
    Vt, S = block_krylov(operator, min(topics, *X.shape), _OVERSAMPLING, _POWERS, seed)
    U = operator.times(Vt.T) / S
    theta, phi = np.zeros((X.shape[0], topics)), np.zeros((X.shape[1], topics))
    for t in range(len(S)):
        best = max(
            ((np.maximum(sign * U[:, t], 0), np.maximum(sign * Vt[t], 0)) for sign in (1, -1)),
            key=lambda pair: np.linalg.norm(pair[0]) * np.linalg.norm(pair[1]),
        )
        for factor, part in ((theta, best[0]), (phi, best[1])):
            factor[:, t] = np.sqrt(S[t]) * np.where(part > _ZERO * part.max(), part, 0.0)
    random = np.random.default_rng(seed)
    for factor in (theta, phi):  # topics beyond the rank are all little
        little = _LITTLE * max(float(factor.mean()), 1e-12)
        factor += little * random.uniform(0.5, 1.5, factor.shape) * (factor == 0)
    return theta, phi

"""How well a topic model predicts documents that it has not seen.

    completion    the words of a document are split at random; its mixture is inferred from one half, and the other half
                  scored:   perplexity = exp(- sum n_dw log sum_t E theta_dt E beta_tw / sum n_dw)

Completion needs no bound and treats all topic models alike, so it is what compares schedules, methods and toolkits.
Cost: one inference and one visit of each entry. Reference: Wallach, Murray, Salakhutdinov & Mimno (2009), Evaluation
methods for topic models.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from textmill._native import topics as native
from textmill.arrays import Floats
from textmill.corpus import csr_arrays
from textmill.model import effective_jobs
from textmill.numeric import sparse

__all__ = ["completion", "log_likelihood", "split_words"]


def split_words(X: sparse.csr_matrix, random_state: int = 0) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Two matrices that add up to X: each occurrence goes to one of them at random, a fraction of one to the first.

    >>> X = sparse.csr_matrix(np.array([[4, 0, 7]]))
    >>> seen, rest = split_words(X)
    >>> (seen + rest).toarray().tolist()
    [[4.0, 0.0, 7.0]]
    """
    seen, rest = X.astype(np.float64), X.astype(np.float64)
    whole = np.floor(seen.data)
    rest.data = np.random.default_rng(random_state).binomial(whole.astype(np.int64), 0.5).astype(np.float64)
    seen.data = seen.data - rest.data
    for part in (seen, rest):
        part.eliminate_zeros()
    return seen, rest


def log_likelihood(
    X: sparse.csr_matrix, theta: Floats, phi: Callable[[NDArray[np.int32]], Floats], n_jobs: int | None = None
) -> Floats:
    """sum_w n_dw log sum_t theta_dt phi_wt of each document; phi(words) gives the rows of the words that X has.

    >>> topics = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> np.exp(log_likelihood(sparse.csr_matrix([[0.0, 1.0]]), np.array([[0.5, 0.5]]), topics.__getitem__)).round(3)
    array([0.45])
    """
    words, local = np.unique(X.indices, return_inverse=True)
    rows = np.ascontiguousarray(phi(words.astype(np.int32)), dtype=np.float64)
    n, k = theta.shape
    likelihood = np.zeros(n)
    if len(words):
        offsets, _, counts = csr_arrays(X, np.float64)
        native.expect(
            offsets=offsets,
            terms=local.astype(np.int32).reshape(-1),
            counts=counts,
            phi=rows,
            theta=np.ascontiguousarray(theta),
            ratio=np.empty(X.nnz),
            gradient=np.empty((n, k)),
            likelihood=likelihood,
            threads=effective_jobs(n_jobs),
        )
    return likelihood


def completion(
    X: sparse.csr_matrix,
    mixtures: Callable[[sparse.csr_matrix], Floats],
    phi: Callable[[NDArray[np.int32]], Floats],
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> tuple[float, float]:
    """The log-likelihood of one half of the words of X, mixtures(other half) given, and the number of those words.

    >>> X, even = sparse.csr_matrix(np.array([[6, 8], [9, 5]])), np.full((2, 1), 0.5)
    >>> total, words = completion(X, lambda seen: np.ones((seen.shape[0], 1)), even.__getitem__)
    >>> round(total / words, 6)
    -0.693147
    """
    seen, rest = split_words(X, random_state)
    total = log_likelihood(rest, mixtures(seen), phi, n_jobs).sum()
    return float(total), float(rest.data.sum())

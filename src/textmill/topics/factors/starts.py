"""What the non-negative models share: where they start, how two of them are paired, what they read.

    nndsvd    X ~ U S V^T; of each pair of singular vectors the positive or the negative parts, whichever weigh more,
              are one topic; zeros become a little above zero, because updates that multiply cannot leave zero
    random    Dirichlet(1) rows of documents, terms in proportion to their frequency times a gamma(1) number

Reference: Boutsidis & Gallopoulos (2008), SVD based initialization: a head start for nonnegative matrix factorization.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import base as native
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.model import check_choice, check_fitted, effective_jobs
from textmill.numeric import sparse
from textmill.topics.factors.krylov import block_krylov
from textmill.topics.factors.rows import Rows
from textmill.topics.model import TopicModel

__all__ = ["aligned", "check_model", "known", "start_factors"]


_ROWS = 4096  # documents that are transformed together
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


def known(model: TopicModel, X: Any, *, negative: bool = False) -> Iterator[sparse.csr_matrix]:
    """The chunks of an input for a fitted model, over its terms.

    >>> class Toy(TopicModel):
    ...     vectorizer = vectorizer_ = None
    >>> toy = Toy()
    >>> toy.components_ = np.eye(3)
    >>> [part.shape for part in known(toy, np.ones((1, 3)))]
    [(1, 3)]
    """
    check_fitted(model)
    yield from model._chunks(X, _ROWS, negative=negative).over(model.components_.shape[1], type(model).__name__)


def check_model(model: TopicModel) -> None:
    """A model from a file becomes one that may be changed."""
    if model.__sklearn_is_fitted__():
        check_fitted(model)
        model.make_writable()


def aligned(one: TopicModel, other: TopicModel) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Pair the topics of two models so that the cosines of their rows sum to the most.

    Returns the order of the other's topics, and both components with as many columns; terms must be the same.

    >>> from textmill.topics import NMF
    >>> one, other = (NMF(n_topics=2, random_state=0).fit(np.diag(scale)) for scale in ([3.0, 2.0], [2.0, 3.0]))
    >>> aligned(one, other)[0].tolist()
    [1, 0]
    """
    from scipy.optimize import linear_sum_assignment

    check_fitted(one)
    check_fitted(other)
    if type(one) is not type(other):
        raise DataError(f"cannot merge {type(one).__name__} with {type(other).__name__}; pass models of one kind")
    if len(one.components_) != len(other.components_):
        raise DataError(f"one model has {len(one.components_)} topics, the other {len(other.components_)}; train alike")
    terms = [None if model.vectorizer_ is None else model.vectorizer_.terms_.to_list() for model in (one, other)]
    if terms[0] != terms[1]:
        raise DataError("the models have different vocabularies; train both with one vectorizer")
    columns = max(one.components_.shape[1], other.components_.shape[1])
    both = [np.pad(m.components_, ((0, 0), (0, columns - m.components_.shape[1]))) for m in (one, other)]
    unit: list[Any] = [rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300) for rows in both]
    order = linear_sum_assignment(-unit[0] @ unit[1].T)[1]
    return order, both[0], both[1]

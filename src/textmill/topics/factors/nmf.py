"""Non-negative matrix factorization: documents as sums of topics, nothing ever subtracted.

    X ~ H W^T, H (n, k) >= 0, W (V, k) >= 0          X: documents x terms, sparse, never made dense

    euclidean   sum (x - r)^2                        R = H W^T; its sum of squares needs k x k matrices only
    kl          sum x log(x / r) - x + r             x / r is needed on non-zeros only

method="multiplicative" is Lee and Seung's: H <- H * (X W) / (H W^T W), and H <- H * ((X/R) W) / (column sums of W) for
kl, then W likewise. method="fast" descends on one coordinate at a time for the Euclidean loss (accelerated HALS,
native/topics/factors.h), and for kl takes extrapolated EM steps, since the kl factors with W = P(w|z), H = n_d P(z|d)
are those of probabilistic latent semantic analysis (em.py). Both never raise the loss.

Streams are learned chunk by chunk (`chunk_size`, `partial_fit`): H of the chunk with W fixed, then W from sums that
remember all chunks, the older the less: sum H^T H and sum X^T H (Euclidean), expected counts (kl). Memory: O(V k).
The scale of a topic is arbitrary: rows of `components_` sum to 1, the weights of documents carry the rest.

Cost: O(non-zeros x k) an iteration, and O((n + V) k^2) for the Euclidean loss. References: Lee & Seung (2001),
Algorithms for non-negative matrix factorization; Gillis & Glineur (2012), Accelerated multiplicative updates and
hierarchical ALS algorithms; Mairal, Bach, Ponce & Sapiro (2010), Online learning for matrix factorization.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import Any, ClassVar

import numpy as np

from textmill._native import topics as native
from textmill.arrays import Floats
from textmill.cluster import tree_reduce
from textmill.errors import DataError, ModelFileError
from textmill.model import RandomState, check_choice, check_range, effective_jobs, seed_of
from textmill.numeric import sparse
from textmill.progress import interruptible, start
from textmill.topics.decomposition import product, transposed_product
from textmill.topics.factors.em import blend, expected, fold_in, learn
from textmill.topics.factors.nonnegative import NonNegativeModel
from textmill.topics.factors.rows import Part, Rows
from textmill.topics.factors.starts import start_factors
from textmill.topics.model import align_topics
from textmill.vectors import TextVectorizer

__all__ = ["NMF", "factorize"]


_SWEEPS = 6  # of coordinate descent for one pair of products
_STALLED = 0.1  # a row ends its sweeps when one moves it by less than this share of the first
_EXACT = (200, 1e-6)  # sweeps and share when documents are transformed
_ONLINE = (30, 0.01)  # and when they are a chunk of a stream
_TINY = 1e-12


class NMF(NonNegativeModel):
    """Factorize documents x terms into non-negative topics.

    Parameters:
        n_topics: Number of topics, k.
        loss: "euclidean" or "kl".
        method: "fast" or "multiplicative".
        max_iter: Largest number of iterations (None: 200); online, number of passes over the documents (None: 1).
        tolerance: Share of the first loss that an iteration must remove for training to go on.
        init: "nndsvd" or "random".
        restarts: Number of random starts, of which the best is kept.
        chunk_size: Number of documents of an online step; None to hold all documents and learn from all at once.
        decay: Factor of what was learned before a chunk (online).
        vectorizer: `TextVectorizer` for documents that are texts.
        random_state: Seed of the random numbers.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        components_: Topics, (k, m); each row sums to 1.
        weights_: Total weight of each topic, (k,).
        trace_: Loss after each iteration; online, the loss of each chunk.
        n_iter_: Number of iterations; online, of passes.
        converged_: Whether the tolerance was reached.
        documents_: Number of documents.
        gram_: What is remembered of documents under the Euclidean loss, (k, k); else None.
        cross_: What is remembered of documents under the Euclidean loss, (k, m); else None.
        vectorizer_: Fitted vectorizer, if documents were texts.

    >>> X = np.array([[2, 2, 0, 0], [4, 4, 0, 0], [0, 0, 3, 1]])
    >>> nmf = NMF(n_topics=2, random_state=0).fit(X)
    >>> nmf.components_.round(3).tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.75, 0.25]]
    >>> nmf.transform(X).round(3).tolist()
    [[4.0, 0.0], [8.0, 0.0], [0.0, 4.0]]
    """

    takes: ClassVar[str] = "counts"
    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {
        "weights_": "topic",
        "trace_": "step",
        "gram_": "topic topic: float64 | None",
        "cross_": "topic term: float64 | None",
    }
    at_once: ClassVar[tuple[str, ...]] = ("tolerance", "method")
    usual_max_iter: ClassVar[int] = 200

    weights_: Floats
    gram_: Floats | None
    cross_: Floats | None

    def __init__(
        self,
        *,
        n_topics: int = 50,
        loss: str = "euclidean",
        method: str = "fast",
        max_iter: int | None = None,
        tolerance: float = 1e-5,
        init: str = "nndsvd",
        restarts: int = 1,
        chunk_size: int | None = None,
        decay: float = 0.9,
        vectorizer: TextVectorizer | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.loss = loss
        self.method = method
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.init = init
        self.restarts = restarts
        self.chunk_size = chunk_size
        self.decay = decay
        self.vectorizer = vectorizer
        self.random_state = random_state
        self.n_jobs = n_jobs

    def transform(self, X: Any) -> Floats:
        """Return the weights of topics in documents, one row each: the best for these topics."""
        parts = [_weights(part.astype(np.float64), self._by_term(), self.loss, self.n_jobs) for part in self.rows_of(X)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.components_)))

    def merge(self, other: NMF) -> NMF:
        """Return the model of both corpora: topics are paired by their terms, and what is remembered added.

        >>> nmf = NMF(n_topics=1, random_state=0)
        >>> nmf.fit(np.array([[1, 1]])).merge(NMF(n_topics=1).fit(np.array([[4, 4]]))).components_.tolist()
        [[0.5, 0.5]]
        """
        order, mine, theirs = align_topics(self, other)
        if self.loss != other.loss:
            raise DataError(f"one model has loss={self.loss!r}, the other {other.loss!r}; train both alike")
        merged = NMF(**self.get_params(deep=False))
        merged.vectorizer_ = self.vectorizer_
        merged.trace_, merged.n_iter_, merged.converged_ = np.zeros(0), 0, False
        merged.documents_ = self.documents_ + other.documents_
        weights = self.weights_ + other.weights_[order]
        W = (mine * self.weights_[:, None] + theirs[order] * other.weights_[order, None]).T
        if self.loss == "kl":
            merged._keep(W, weights, None, None)
            return merged
        gram = self.gram_ + other.gram_[np.ix_(order, order)]  # type: ignore[index, operator]
        cross = np.zeros_like(mine.T)
        for part, rows in ((self.cross_, slice(None)), (other.cross_, order)):
            cross[: part.shape[1]] += part[rows].T  # type: ignore[index, union-attr]
        W = np.ascontiguousarray(W / np.maximum(weights, _TINY))
        sweeps, tolerance = _EXACT
        native.descend(gram, cross, sweeps=sweeps, tolerance=tolerance, h=W, threads=effective_jobs(self.n_jobs))
        merged._keep(W, weights, gram, cross)
        return merged

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        for values in (self.components_, self.weights_, self.gram_, self.cross_):
            if values is not None and (not np.isfinite(values).all() or values.min(initial=0) < 0):
                raise ModelFileError("factors must be finite and not negative", reason="damaged")

    def objective(self) -> str:
        """Return what the figures of `trace_` are, in words."""
        return "loss"

    def strengths(self) -> Floats:
        """Return a figure for each topic that is printed with it."""
        return self.weights_ / max(float(self.weights_.sum()), 1e-300)

    def _check(self) -> None:
        super()._check()
        check_choice("loss", self.loss, ["euclidean", "kl"])
        check_choice("method", self.method, ["fast", "multiplicative"])
        check_choice("init", self.init, ["nndsvd", "random"])
        check_range("restarts", self.restarts, at_least=1, whole=True)
        if self.restarts > 1 and (self.init != "random" or self.chunk_size is not None):
            raise DataError("restarts belong to init='random' without chunk_size: other starts would all be the same")

    def _fit_all(self, X: Rows) -> None:
        seed = seed_of(self.random_state)
        factors: tuple[Floats, Floats, list[float], bool] | None = None
        for restart in range(self.restarts):
            theta, phi = start_factors(X, self.n_topics, self.init, seed + 2 * restart, self.n_jobs)
            candidate = factorize(
                X,
                theta * X.lengths[:, None],
                phi,
                loss=self.loss,
                method=self.method,
                max_iter=self.max_iter or self.usual_max_iter,
                tolerance=self.tolerance,
                n_jobs=self.n_jobs,
            )
            if factors is None or candidate[2][-1] < factors[2][-1]:
                factors = candidate
        assert factors is not None
        H, W, losses, self.converged_ = factors
        scale = W.sum(axis=0)
        H, W = H * scale, W / np.where(scale > 0, scale, 1.0)
        self.trace_, self.n_iter_, self.documents_ = np.array(losses), len(losses), X.shape[0]
        if self.loss == "kl":
            self._keep(W, H.sum(axis=0), None, None)
        else:
            self._keep(W, H.sum(axis=0), H.T @ H, X.operator().transposed_times(H))

    def _add(self, X: sparse.csr_matrix, W: Floats, *, begun: bool) -> float:
        k, threads = self.n_topics, effective_jobs(self.n_jobs)
        weights = self.weights_ if begun else np.zeros(k)
        if self.loss == "kl":
            counts = W * weights
            W, _, chunk = blend(X, W, counts, decay=self.decay, smoothing=0.0, temper=1.0, threads=threads)
            length = np.asarray(X.sum(axis=1)).ravel()
            self._keep(W, self.decay * weights + length @ chunk.theta, None, None)
            return _kl_constant(X) - float(chunk.log_likelihood.sum())
        gram, cross = np.zeros((k, k)), np.zeros_like(W)
        if begun and self.gram_ is not None and self.cross_ is not None:
            gram = self.gram_
            cross[: self.cross_.shape[1]] = self.cross_.T
        H = _solve(X, W, _ONLINE, self.n_jobs)
        loss = _euclidean(X, H, W, self.n_jobs)
        gram = self.decay * gram + H.T @ H
        cross = self.decay * cross + transposed_product(X, H, threads)
        native.descend(gram, cross, sweeps=_SWEEPS, tolerance=_STALLED, h=W, threads=threads)
        self._keep(W, self.decay * weights + H.sum(axis=0), gram, cross)
        return loss

    def _keep(self, W: Floats, weights: Floats, gram: Floats | None, cross: Floats | None) -> None:
        """Become the model of topics (V, k), scaled so that each sums to 1."""
        scale = W.sum(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        self.components_ = np.ascontiguousarray((W / scale).T)
        self.weights_ = weights if gram is None else weights * scale
        self.gram_ = None if gram is None else gram * scale * scale[:, None]
        self.cross_ = None if cross is None else np.ascontiguousarray((cross * scale).T)

    def _by_term(self) -> Floats:
        return np.ascontiguousarray(self.components_.T)


def factorize(
    X: sparse.csr_matrix | Rows,
    H: Floats,
    W: Floats,
    *,
    loss: str,
    method: str,
    max_iter: int,
    tolerance: float,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, list[float], bool]:
    """Improve H (n, k) and W (V, k), in this order in each iteration.

    Returns both, the loss after each iteration, and whether the tolerance was reached.

    >>> X = sparse.csr_matrix([[2.0, 0.0], [0.0, 4.0]])
    >>> settings = {"loss": "euclidean", "method": "fast", "max_iter": 9, "tolerance": 0.0}
    >>> H, W, losses, converged = factorize(X, np.eye(2) + 1, np.eye(2), **settings)
    >>> round(losses[-1], 9)
    0.0
    """
    rows = X if isinstance(X, Rows) else Rows(X, n_jobs)
    constant = sum(rows.each(_kl_part if loss == "kl" else _squares))  # what the loss owes to X alone
    if loss == "kl" and method == "fast":
        length = rows.lengths[rows.lengths > 0]
        constant -= float((length * np.log(length)).sum())
        theta = H / H.sum(axis=1, keepdims=True)
        theta, phi, trace, converged = learn(rows, theta, W / W.sum(axis=0), max_iter=max_iter, tolerance=tolerance)
        return theta * rows.lengths[:, None], phi, [constant - likelihood for likelihood in trace], converged
    step = _kl_step if loss == "kl" else _coordinate_step if method == "fast" else _euclidean_step
    losses: list[float] = []
    threads, converged = effective_jobs(n_jobs), False
    with start("NMF", total=max_iter, unit="iterations") as bar, interruptible(range(max_iter)) as loop:
        for _ in loop:
            H, W, value = step(rows, H, W, threads)
            losses.append(max(0.0, constant + value) if loss == "euclidean" else constant + value)
            bar.advance(loss=losses[-1])
            if len(losses) > 1 and losses[-2] - losses[-1] <= tolerance * losses[0]:
                converged = True
                break
    return H, W, losses, converged


def _coordinate_step(rows: Rows, H: Floats, W: Floats, threads: int) -> tuple[Floats, Floats, float]:
    """Accelerated HALS: several sweeps over H, then over W; returns the loss less |X|^2."""
    H, gram, cross = _products(rows, _descend, H, W)
    W = W.copy()
    native.descend(gram, cross, sweeps=_SWEEPS, tolerance=_STALLED, h=W, threads=threads)
    return H, W, _from_products(gram, cross, W)


def _euclidean_step(rows: Rows, H: Floats, W: Floats, threads: int) -> tuple[Floats, Floats, float]:
    H, gram, cross = _products(rows, _multiply, H, W)
    W = W * cross / (W @ gram + _TINY)
    return H, W, _from_products(gram, cross, W)


def _products(rows: Rows, update: Callable[..., Any], H: Floats, W: Floats) -> tuple[Floats, Floats, Floats]:
    """Improve H for fixed W; with it H^T H and X^T H, sums over rows."""
    products = list(rows.each(update, H, state=(W, W.T @ W)))
    parts, grams, crosses = zip(*products, strict=True)
    return np.concatenate(parts), tree_reduce(add, grams), tree_reduce(add, crosses)


def _descend(part: Part, H: Floats, threads: int, W: Floats, gram: Floats) -> tuple[Floats, Floats, Floats]:
    H = H.copy()
    native.descend(gram, product(part.X, W, threads), sweeps=_SWEEPS, tolerance=_STALLED, h=H, threads=threads)
    return H, H.T @ H, product(part.Xt, H, threads)


def _multiply(part: Part, H: Floats, threads: int, W: Floats, gram: Floats) -> tuple[Floats, Floats, Floats]:
    H = H * product(part.X, W, threads) / (H @ gram + _TINY)
    return H, H.T @ H, product(part.Xt, H, threads)


def _kl_step(rows: Rows, H: Floats, W: Floats, threads: int) -> tuple[Floats, Floats, float]:
    """Multiplicative updates; returns the loss less what X alone adds."""
    H = expected(rows, H, W)[0] / np.maximum(W.sum(axis=0), _TINY)
    W = expected(rows, H, W)[1] / np.maximum(H.sum(axis=0), _TINY)
    likelihood = float(expected(rows, H, W)[2].sum())
    return H, W, float(H.sum(axis=0) @ W.sum(axis=0)) - likelihood - float(rows.lengths.sum())


def _squares(part: Part, threads: int) -> float:
    return float(np.vdot(part.X.data, part.X.data))


def _kl_part(part: Part, threads: int) -> float:
    """sum x log x."""
    x = part.X.data[part.X.data > 0]
    return float((x * np.log(x)).sum())


def _solve(X: sparse.csr_matrix, W: Floats, effort: tuple[int, float], n_jobs: int | None) -> Floats:
    """The Euclidean H for fixed W, from zero."""
    H = np.zeros((X.shape[0], W.shape[1]))
    threads = effective_jobs(n_jobs)
    sweeps, tolerance = effort
    native.descend(W.T @ W, product(X, W, threads), sweeps=sweeps, tolerance=tolerance, h=H, threads=threads)
    return H


def _weights(X: sparse.csr_matrix, W: Floats, loss: str, n_jobs: int | None) -> Floats:
    """The best H for fixed W whose columns sum to 1; under kl the weights of a row sum to its known words."""
    if loss == "euclidean":
        return _solve(X, W, _EXACT, n_jobs)
    seen = (W.sum(axis=1, keepdims=True) > 0).astype(np.float64)
    length = product(X, seen, effective_jobs(n_jobs))
    return fold_in(X, W, n_jobs=n_jobs).theta * length


def _euclidean(X: sparse.csr_matrix, H: Floats, W: Floats, n_jobs: int | None) -> float:
    fit = _from_products(H.T @ H, transposed_product(X, H, effective_jobs(n_jobs)), W)
    return max(0.0, float(np.vdot(X.data, X.data)) + fit)


def _from_products(gram: Floats, cross: Floats, W: Floats) -> float:
    """|X - H W^T|^2 - |X|^2 = <H^T H, W^T W> - 2 <X^T H, W>."""
    return float(np.vdot(gram, W.T @ W)) - 2 * float(np.vdot(cross, W))


def _kl_constant(X: sparse.csr_matrix) -> float:
    """The loss less the negative log-likelihood of mixtures scaled by the lengths of the rows."""
    length = np.asarray(X.sum(axis=1)).ravel()
    length = length[length > 0]
    return _kl_part(Part(X), 1) - float((length * np.log(length)).sum())

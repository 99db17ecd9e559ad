"""Principal components of sparse documents, centered without ever being made dense.

    C = (X - 1 mu^T)^T (X - 1 mu^T) / (n - 1) = Q diag(lambda) Q^T          X: documents x terms, mu: means of terms

    (X - 1 mu^T) D   = X D - 1 (mu^T D)                (X - 1 mu^T)^T D = X^T D - mu (1^T D)

Products with the centered matrix are products with the sparse one and a correction of rank one, so neither it (n x m)
nor C (m x m) is formed. The components are the right singular vectors, lambda = s^2 / (n - 1).

    lanczos     singular vectors to machine precision; a pass over a stream for each of O(k) products
    krylov      block Krylov from a Gaussian start, power_iterations + 2 passes (3 when there are none)
    one_pass    a model and a chunk become a model: the singular vectors of
                [ S1 Q1^T ; X2 - 1 mu2^T ; sqrt(n1 n2 / (n1 + n2)) (mu1 - mu2)^T ]
                whose rows have, but for what was truncated, the scatter of all documents. Models merge likewise.

Means and total variance are sums over documents and exact for any chunks, so explained_variance_ratio_ is a share of
the true total. Signs: the largest entry of a component is positive.

References: Ross, Lim, Lin & Yang (2008), Incremental learning for robust visual tracking; Musco & Musco (2015),
Randomized block Krylov methods for stronger and faster approximate singular value decomposition.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from textmill.arrays import Floats
from textmill.cluster import connect
from textmill.corpus import widened
from textmill.errors import DataError, ModelFileError
from textmill.model import (
    RandomState,
    Saved,
    check_choice,
    check_fitted,
    check_owners,
    check_range,
    effective_jobs,
    seed_of,
)
from textmill.numeric import sparse
from textmill.progress import track
from textmill.topics.decomposition import Projection, with_signs
from textmill.topics.factors.krylov import block_krylov, significant
from textmill.topics.factors.rows import PART, Part, Rows
from textmill.topics.model import TopicModel
from textmill.topics.operators import Operator, as_operator
from textmill.vectors import TextVectorizer

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["PCA"]


_OWNERS = {"power_iterations": ("krylov",)}
_CHUNK = 1000
_CHUNK_POWERS = 2  # a chunk is in memory, so its passes are free


# Not attributes: to transform leaves a model as it was.
_centers: WeakKeyDictionary[PCA, tuple[Floats, Floats, Floats]] = WeakKeyDictionary()


class PCA(TopicModel):
    """Project documents on the directions in which they vary most.

    Parameters:
        n_topics: Number of components.
        method: "lanczos", "krylov" or "one_pass"; "auto" for lanczos when X is a matrix, and one_pass for streams.
        power_iterations: Number of power iterations (krylov).
        oversampling: Number of additional directions that are kept on the way (krylov, one_pass).
        chunk_size: Number of documents of a step (one_pass).
        whiten: Whether projections are divided by their standard deviation.
        vectorizer: `TextVectorizer` for documents that are texts.
        random_state: Seed of the random numbers.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        components_: Orthonormal rows, (k, m); fewer than asked for when the documents vary in fewer directions.
        singular_values_: Singular values of the centered documents, (k,).
        explained_variance_: Variance along each component, (k,).
        explained_variance_ratio_: Share of each component in the total variance, (k,).
        mean_: Mean of the documents, (m,).
        total_variance_: Sum of the variances of all columns.
        reserve_: Directions beyond k that one_pass and `partial_fit` keep for further documents.
        reserve_values_: Their singular values.
        documents_: Number of documents.
        vectorizer_: Fitted vectorizer, if documents were texts.

    >>> X = np.array([[2.0, 0, 1], [4, 0, 1], [6, 0, 1], [8, 3, 1]])
    >>> pca = PCA(n_topics=2).fit(X)
    >>> pca.mean_.tolist(), pca.explained_variance_.round(4).tolist(), pca.explained_variance_ratio_.round(3).tolist()
    ([5.0, 0.75, 1.0], [8.1835, 0.7332], [0.918, 0.082])
    >>> pca.transform(X)[0].round(4).tolist()
    [-3.0157, 0.6843]
    """

    format_version: ClassVar[int] = 3
    layout: ClassVar[dict[str, str]] = {
        "singular_values_": "topic",
        "mean_": "term",
        "reserve_": "extra term",
        "reserve_values_": "extra",
    }
    state: ClassVar[dict[str, type]] = {"documents_": int, "total_variance_": float}

    singular_values_: Floats
    mean_: Floats
    reserve_: Floats
    reserve_values_: Floats
    documents_: int
    total_variance_: float

    def __init__(
        self,
        *,
        n_topics: int = 100,
        method: str = "auto",
        power_iterations: int = 2,
        oversampling: int = 20,
        chunk_size: int | None = None,
        whiten: bool = False,
        vectorizer: TextVectorizer | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.method = method
        self.power_iterations = power_iterations
        self.oversampling = oversampling
        self.chunk_size = chunk_size
        self.whiten = whiten
        self.vectorizer = vectorizer
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: object = None, *, cluster: str | Client | None = None) -> PCA:
        """Find the components of a matrix or a stream; one_pass reads a stream once, the others again and again.

        A Dask `cluster` can hold the documents and multiply them, for lanczos and krylov (which "auto" then means); the
        model is the same but for rounding.
        """
        self._check()
        self._start(X)
        if cluster is not None:
            self._fit_spread(X, cluster)
            self._warn_of_fewer()
            return self
        chunks = self._chunks(X, self.chunk_size or _CHUNK)
        usual = "lanczos" if hasattr(X, "shape") else "one_pass"
        method = usual if self.method == "auto" else self.method
        check_owners(self, "method", _OWNERS, method)
        if method == "one_pass":
            self._forget_all()
            for part in track(chunks, "learning", unit="chunks"):
                self._add(part)
            self._check_documents()
            self._warn_of_fewer()
            return self
        chunks.require_passes(3, "PCA")
        self._forget_all()
        for part in chunks:
            self._count(part)
        self._check_documents()
        source = chunks if chunks.matrix is None else chunks.matrix
        operator = as_operator(source, shape=(self.documents_, len(self.mean_)), n_jobs=self.n_jobs)
        self._decompose(operator, method)
        self._warn_of_fewer()
        return self

    def _fit_spread(self, X: Any, cluster: str | Client) -> None:
        if self.method == "one_pass":
            raise DataError("one_pass adds chunk to chunk on one machine; pass method='krylov' or leave out cluster")
        method = "lanczos" if self.method == "lanczos" else "krylov"
        check_owners(self, "method", _OWNERS, method)
        with connect(cluster) as workers:
            rows = Rows.spread(self._chunks(X, PART), workers, self.n_jobs)
            self._forget_all()
            for moments in rows.each(_part_moments):
                self._moments(*moments)
            self._check_documents()
            self._decompose(rows.operator(), method)

    def _decompose(self, operator: Operator, method: str) -> None:
        """Find the components of all documents, whose mean is known."""
        centered = _centered(operator, self.mean_)
        rank = min(self.n_topics, min(centered.shape))
        seed = seed_of(self.random_state)
        if method == "krylov":
            self._take(*block_krylov(centered, rank, self.oversampling, self.power_iterations, seed))
        else:
            self._take(*_lanczos(centered, rank, seed))
        self._drop_reserve()

    def partial_fit(self, X: Any, y: object = None) -> PCA:
        """Add documents, chunk by chunk; new columns are new terms, which earlier documents did not have.

        >>> pca = PCA(n_topics=1).partial_fit(np.eye(2)).partial_fit(np.array([[3, 1, 1]]))
        >>> pca.documents_, pca.mean_.round(4).tolist()
        (3, [1.3333, 0.6667, 0.3333])
        """
        self._check()
        if not self.__sklearn_is_fitted__():
            self._start(X)
            self._forget_all()
        self._make_changeable()
        for part in self._chunks(X, self.chunk_size or _CHUNK):
            self._add(part)
        self._check_documents()
        return self

    def merge(self, other: PCA) -> PCA:
        """Return the model of both corpora; exact when no model was truncated.

        >>> X = np.array([[2.0, 0], [4, 1], [6, 3], [9, 0], [1, 1], [2, 2]])
        >>> merged = PCA(n_topics=2).fit(X[:3]).merge(PCA(n_topics=2).fit(X[3:]))
        >>> np.allclose(merged.explained_variance_, PCA(n_topics=2).fit(X).explained_variance_)
        True
        """
        for model in (self, other):
            check_fitted(model)
        terms = [None if model.vectorizer_ is None else model.vectorizer_.terms_.to_list() for model in (self, other)]
        if terms[0] != terms[1]:
            raise DataError("the models have different vocabularies; train both with one vectorizer")
        merged = PCA(**self.get_params(deep=False))
        merged.vectorizer_ = self.vectorizer_
        merged._forget_all()
        columns = max(len(self.mean_), len(other.mean_))
        for model in (self, other):
            grown = columns - len(model.mean_)
            rows = np.pad(model._scaled(), ((0, 0), (0, grown)))
            merged._absorb(_dense_operator(rows), model.documents_, np.pad(model.mean_, (0, grown)), model._scatter())
        merged._drop_reserve()
        return merged

    def transform(self, X: Any) -> Floats:
        """Return the projections of documents, less the mean, one row each."""
        check_fitted(self)
        projection = Projection(self.components_)
        center = self._center()
        parts = [projection(part, effective_jobs(self.n_jobs)) - center for part in self.rows_of(X, negative=True)]
        if not parts:
            return np.zeros((0, len(self.components_)))
        projections = np.concatenate(parts)
        return projections / np.sqrt(np.maximum(self.explained_variance_, 1e-300)) if self.whiten else projections

    def _center(self) -> Floats:
        """The projection of the mean, made once for a model: a question costs its own words."""
        components, mean, center = _centers.get(self, (None, None, np.zeros(0)))
        if components is not self.components_ or mean is not self.mean_:
            center = self.components_ @ self.mean_
            _centers[self] = self.components_, self.mean_, center
        return center

    def inverse_transform(self, projections: Any) -> Floats:
        """Return the dense rows that have these projections, in the space of the components.

        >>> X = np.array([[2.0, 0], [4, 1], [6, 3]])
        >>> pca = PCA(n_topics=2).fit(X)
        >>> bool(np.allclose(pca.inverse_transform(pca.transform(X)), X))
        True
        """
        weights = self._weights(projections)
        weights = weights * np.sqrt(self.explained_variance_) if self.whiten else weights
        return weights @ self.components_ + self.mean_

    @property
    def explained_variance_(self) -> Floats:
        """The variance along each component."""
        return self.singular_values_**2 / max(1, self.documents_ - 1)

    @property
    def explained_variance_ratio_(self) -> Floats:
        """Its share of the variance of all terms."""
        return self.explained_variance_ / self.total_variance_ if self.total_variance_ > 0 else self.singular_values_

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        singular_values = np.concatenate([self.singular_values_, self.reserve_values_])
        values = (self.components_, self.reserve_, singular_values, self.mean_)
        if not all(np.isfinite(part).all() for part in values) or singular_values.min(initial=0) < 0:
            raise ModelFileError("components must be finite, singular values not negative", reason="damaged")
        if self.documents_ < 1 or not self.total_variance_ >= 0:
            raise ModelFileError("the number of documents or the variance is out of range", reason="damaged")

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Format 1 had no reserve; what is beyond n_topics becomes one. Format 2 called the method algorithm."""
        saved.parameters["method"] = saved.parameters.pop("algorithm")
        if saved.format == 2 or not saved.fitted:
            saved.format = 3
            return saved
        k = saved.parameters["n_topics"]
        components, values = saved.arrays["components_"], saved.arrays["singular_values_"]
        saved.arrays |= {"components_": components[:k], "singular_values_": values[:k]}
        saved.arrays |= {"reserve_": components[k:], "reserve_values_": values[k:]}
        saved.format = 3
        return saved

    def strengths(self) -> Floats:
        """Return a figure for each topic that is printed with it."""
        return self.explained_variance_ratio_

    def _check(self) -> None:
        check_range("n_topics", self.n_topics, at_least=1, whole=True)
        check_choice("method", self.method, ["auto", "lanczos", "krylov", "one_pass"])
        check_range("power_iterations", self.power_iterations, at_least=0, whole=True)
        check_range("oversampling", self.oversampling, at_least=0, whole=True)
        if self.chunk_size is not None:
            check_range("chunk_size", self.chunk_size, at_least=1, whole=True)

    def _check_documents(self) -> None:
        if not self.documents_ or not len(self.mean_):
            raise DataError("X has no documents or no terms; pass at least one document with a word")

    def _forget_all(self) -> None:
        self.documents_, self.total_variance_ = 0, 0.0
        self.mean_ = np.zeros(0)
        self._take(np.zeros((0, 0)), np.zeros(0))

    def _scatter(self) -> float:
        """sum |x - mu|^2 over all documents so far."""
        return self.total_variance_ * max(1, self.documents_ - 1)

    def _count(self, X: sparse.csr_matrix) -> tuple[Floats, Floats]:
        """Add a chunk to number, mean and variance; returns the old mean, and that of the chunk."""
        n, mean, scatter = _moments_of(X)
        return self._moments(n, mean, scatter), mean

    def _moments(self, n: int, mean: Floats, scatter: float) -> Floats:
        before = np.pad(self.mean_, (0, max(0, len(mean) - len(self.mean_))))
        mean = np.pad(mean, (0, max(0, len(before) - len(mean))))
        total = self.documents_ + n
        shift = mean - before
        both = self._scatter() + scatter + float(shift @ shift) * self.documents_ * n / max(1, total)
        self.mean_ = before + shift * (n / max(1, total))
        self.documents_ = total
        self.total_variance_ = both / max(1, total - 1)
        return before

    def _add(self, X: sparse.csr_matrix) -> None:
        if not X.shape[0]:
            return
        X = _float(X)
        if X.shape[1] < len(self.mean_):
            X = widened(X, len(self.mean_))
        before = self.documents_
        old, mean = self._count(X)
        self._merge_rows(_centered(as_operator(X, n_jobs=self.n_jobs), mean), before, X.shape[0], old, mean)

    def _absorb(self, rows: Operator, n: int, mean: Floats, scatter: float) -> None:
        """Add a model: rows that have its scatter."""
        before = self.documents_
        old = self._moments(n, mean, scatter)
        self._merge_rows(rows, before, n, old, mean)

    def _merge_rows(self, rows: Operator, n1: int, n2: int, mean1: Floats, mean2: Floats) -> None:
        grown = rows.shape[1] - self.components_.shape[1]
        held = np.pad(self._scaled(), ((0, 0), (0, max(0, grown))))
        shift = np.sqrt(n1 * n2 / (n1 + n2)) * (mean1 - mean2)
        stack = _stacked([_dense_operator(np.vstack([held, shift[None]])), rows]) if n1 else rows
        wanted = min(self.n_topics + self.oversampling, min(stack.shape))
        self._take(*block_krylov(stack, wanted, self.oversampling, _CHUNK_POWERS, seed_of(self.random_state, 0)))

    def _take(self, components: Floats, singular_values: Floats) -> None:
        """Become the model of these directions: the first n_topics are the components, the others a reserve."""
        rows, k = with_signs(components.T).T, self.n_topics
        self.components_, self.reserve_ = np.ascontiguousarray(rows[:k]), np.ascontiguousarray(rows[k:])
        self.singular_values_, self.reserve_values_ = singular_values[:k].copy(), singular_values[k:].copy()

    def _scaled(self) -> Floats:
        """All directions that are kept, times their singular values: rows with the scatter of the documents."""
        values = np.concatenate([self.singular_values_, self.reserve_values_])
        rows: Floats = np.vstack([self.components_, self.reserve_]) * values[:, None]
        return rows

    def _drop_reserve(self) -> None:
        self.reserve_, self.reserve_values_ = np.zeros((0, len(self.mean_))), np.zeros(0)


def _moments_of(X: sparse.csr_matrix) -> tuple[int, Floats, float]:
    """The number of rows, their mean, and sum |x - mean|^2."""
    X = _float(X)
    mean = np.asarray(X.mean(axis=0)).ravel() if X.shape[0] else np.zeros(X.shape[1])
    # without the difference of two large numbers: non-zeros, and zeros by their number
    entries = np.bincount(X.indices, minlength=X.shape[1])
    scatter = float(((X.data - mean[X.indices]) ** 2).sum() + ((X.shape[0] - entries) * mean**2).sum())
    return X.shape[0], mean, scatter


def _part_moments(part: Part, threads: int) -> tuple[int, Floats, float]:
    return _moments_of(part.X)


def _float(X: sparse.csr_matrix) -> sparse.csr_matrix:
    return X if X.dtype in (np.float64, np.float32, np.int32) else X.astype(np.float64)


def _centered(X: Operator, mean: Floats) -> Operator:
    return Operator(
        X.shape,
        lambda D: X.times(D) - mean @ D,
        lambda D: X.transposed_times(D) - np.outer(mean, D.sum(axis=0)),
    )


def _dense_operator(rows: Floats) -> Operator:
    return Operator(rows.shape, lambda D: rows @ D, lambda D: rows.T @ D)


def _stacked(parts: list[Operator]) -> Operator:
    """Matrices below each other."""
    ends = np.cumsum([part.shape[0] for part in parts])

    def transposed_times(D: Floats) -> Floats:
        pieces = np.split(D, ends[:-1])
        return reduce(np.add, [part.transposed_times(piece) for part, piece in zip(parts, pieces, strict=True)])

    times: Callable[[Floats], Floats] = lambda D: np.concatenate([part.times(D) for part in parts])  # noqa: E731
    return Operator((int(ends[-1]), parts[0].shape[1]), times, transposed_times)


def _lanczos(X: Operator, rank: int, seed: int) -> tuple[Floats, Floats]:
    """Right singular vectors (as rows) and values by ARPACK; small matrices by a dense decomposition."""
    from scipy.sparse.linalg import LinearOperator, svds

    small = min(X.shape)
    if rank >= small // 2 or small <= 64:
        return block_krylov(X, small, 0, 1, seed)  # its block spans everything: exact
    start = np.random.default_rng(seed).normal(size=small)
    both = {"matvec": X.times, "matmat": X.times, "rmatvec": X.transposed_times, "rmatmat": X.transposed_times}
    _, S, Vt = svds(LinearOperator(X.shape, dtype=np.float64, **both), k=rank, v0=start, tol=0)
    order = np.argsort(-S)
    return significant(Vt[order], S[order], X.shape)

"""Latent Semantic Analysis: the largest singular values and left singular vectors of a stream of documents.

    A ~ U S V^T      A: terms x documents (our X transposed); topics are the k leading columns of U

Algorithms, with C = A A^T and k + l factors kept on the way (l: oversampling):

    one_pass    P1: an exact decomposition of each chunk, merged into the model          1 pass, any stream
    hybrid      P12: the same with a stochastic decomposition of each chunk              1 pass, any stream
    refined     hybrid, then Rayleigh-Ritz on its basis: eigenvectors of U^T C U         2 passes, + 1 per power step
    two_pass    P2: Y = C^q A O with a random O; eigenvectors of Q^T C Q, Q = orth(Y)    2 + q passes

Memory is O(m (k + l)) and one chunk, whatever the number of documents. All of them underestimate singular values,
never overestimate. Which is best: `refined` when the corpus can be read again, `hybrid` when it cannot.

Reference: Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from textmill.arrays import Floats
from textmill.cluster import Cluster, Traffic, connect
from textmill.errors import DataError, ModelFileError
from textmill.model import (
    RandomState,
    Saved,
    check_choice,
    check_fitted,
    check_owners,
    check_range,
    effective_jobs,
    is_generator,
    seed_of,
)
from textmill.numeric import linalg
from textmill.topics.chunks import Chunks
from textmill.topics.decomposition import EPS, Decomposition, Projection, blas_threads, cut, orthonormal, with_signs
from textmill.topics.lsa.basecase import CHUNK_METHODS, ChunkMethod
from textmill.topics.lsa.merging import merge
from textmill.topics.lsa.passes import Plan, Sum, add_sums, node, power, ritz, sketch
from textmill.topics.model import TopicModel
from textmill.vectors import TextVectorizer

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["LSA"]

R = TypeVar("R")

METHODS = ("auto", "one_pass", "two_pass", "hybrid", "refined")
_OWNERS = {
    "power_iterations": ("two_pass", "refined"),
    "krylov": ("two_pass",),
    "chunk_method": ("one_pass", "hybrid", "refined"),
}
CHUNKS_PER_JOB = 16  # that a worker of a cluster makes one model of


class LSA(TopicModel):
    """Latent Semantic Analysis of streams of any length.

    There are fewer than k factors where the data have a lower rank.

    Parameters:
        n_topics: Number of topics, k.
        vectorizer: `TextVectorizer` for documents that are texts.
        method: "one_pass", "hybrid", "refined" or "two_pass" (see the module), or "auto": refined, or hybrid for a
            stream that can be read once.
        chunk_size: Number of documents that are decomposed at a time, best many times k.
        oversampling: Number of additional factors that are kept on the way, l; None for as many as topics.
        power_iterations: Exponent q of two_pass (None: 2), or number of power steps of refined (None: 0).
        krylov: Whether two_pass keeps the blocks of all power iterations as its basis.
        chunk_method: How a chunk is decomposed: "lanczos", "stochastic", "gram", "dense" or a function (see
            basecase.py); None for that of the method.
        decay: Factor of the old singular values at each merge; 1: nothing is forgotten.
        half_life: Instead of a decay, the number of documents after which an old one weighs half.
        chunks_per_job: Number of chunks that are merged in a row before the results are merged in pairs; None for 16 on
            a cluster, and for all of them in one process.
        random_state: Seed of the random numbers; None for 0.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        components_: Topics U^T, (k, m); the entry of largest magnitude of each row is positive.
        singular_values_: Singular values, (k,).
        reserve_: Further factors that are kept for updates, l of them.
        reserve_values_: Their singular values.
        documents_: Number of documents.
        energy_: Squared Frobenius norm of A.
        bound_: Sum over all cuts of the largest squared singular value that was removed; None where it is not known.
        upper_: Squares above which no true singular value is, (k,).

    >>> titles = ["graph of trees", "graph minors", "graph minors survey", "user response time", "response time"]
    >>> model = LSA(n_topics=2, vectorizer=TextVectorizer()).fit(titles)
    >>> [[term for term, weight in topic] for topic in model.topics(n_words=2)]
    [['response', 'time'], ['minors', 'survey']]
    >>> model.transform(["time", "no such word"]).round(2).tolist()
    [[0.64, 0.0], [0.0, 0.0]]
    """

    format_version: ClassVar[int] = 2
    layout: ClassVar[dict[str, str]] = {
        "components_": "topic term",
        "singular_values_": "topic",
        "upper_": "topic",
        "reserve_": "extra term",
        "reserve_values_": "extra",
    }
    state: ClassVar[dict[str, Any]] = {"documents_": int, "energy_": float, "bound_": float | None}

    singular_values_: Floats
    upper_: Floats
    reserve_: Floats
    reserve_values_: Floats
    documents_: int
    energy_: float
    bound_: float | None

    def __init__(
        self,
        *,
        n_topics: int = 100,
        vectorizer: TextVectorizer | None = None,
        method: str = "auto",
        chunk_size: int = 20_000,
        oversampling: int | None = None,
        power_iterations: int | None = None,
        krylov: bool = False,
        chunk_method: ChunkMethod | None = None,
        decay: float = 1.0,
        half_life: float | None = None,
        chunks_per_job: int | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.vectorizer = vectorizer
        self.method = method
        self.chunk_size = chunk_size
        self.oversampling = oversampling
        self.power_iterations = power_iterations
        self.krylov = krylov
        self.chunk_method = chunk_method
        self.decay = decay
        self.half_life = half_life
        self.chunks_per_job = chunks_per_job
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def of(cls, decomposition: Decomposition, *, vectorizer: TextVectorizer | None = None, **parameters: Any) -> LSA:
        """Return the model of a decomposition that was made elsewhere, with a fitted vectorizer if it is for texts.

        >>> LSA.of(Decomposition(np.eye(2), np.array([3.0, 2.0]), 2, 13.0), n_topics=1).singular_values_.tolist()
        [3.0]
        """
        model = cls(**parameters)
        model.vectorizer_ = vectorizer
        return model._take(decomposition)

    def fit(
        self, X: Any, y: object = None, *, cluster: str | Client | None = None, traffic: Traffic | None = None
    ) -> LSA:
        """Decompose a matrix, a stream of matrices, or documents if there is a vectorizer.

        `cluster`, the address of a Dask scheduler or a client, lets its workers do the passes; `traffic` counts what
        travels.
        """
        self._check()
        self._start(X)
        chunks = self._chunks(X, self.chunk_size)
        method = self.method if self.method != "auto" else "hybrid" if chunks.one_shot else "refined"
        check_owners(self, "method", _OWNERS, method)
        steps = self.power_iterations
        if steps is None:
            steps = 2 if method == "two_pass" else 0
        if method in ("two_pass", "refined"):
            chunks.require_passes(2 + steps, f"LSA(method={method!r})")
            if self._forgets():
                raise DataError(f"{method} weighs all documents alike; decay and half_life need 'one_pass' or 'hybrid'")
        with connect(cluster, traffic=traffic) as workers:
            run = _Run(
                workers, chunks, self._per_job(cluster), self._rank(), effective_jobs(workers.worker_jobs(self.n_jobs))
            )
            if method == "two_pass":
                decomposition = run.two_pass(steps, self.krylov, self._seed())
            else:
                decomposition = run.one_pass(
                    self._plan("lanczos" if method == "one_pass" else "stochastic", run.threads)
                )
                if method == "refined" and decomposition.rank:
                    decomposition = run.refined(decomposition, steps)
        self._take(decomposition)
        self._warn_of_fewer()
        return self

    def partial_fit(self, X: Any, y: object = None) -> LSA:
        """Add documents as one chunk: one decomposition and one merge."""
        return self._add(X, None)

    def add_documents(self, X: Any) -> LSA:
        """Add a stream of documents, `chunk_size` at a time; columns may have been added to their vocabulary.

        >>> model = LSA(n_topics=1).fit(np.eye(2))
        >>> model.add_documents([np.array([[0, 2, 0]]), np.array([[0, 0, 3]])]).singular_values_.tolist()
        [3.0]
        """
        return self._add(X, self.chunk_size)

    def merge(self, other: LSA) -> LSA:
        """Return the model of the documents of both; neither forgets, neither is changed.

        >>> one, other = (LSA(n_topics=2).fit(np.diag(values)) for values in ([3.0, 12.0], [4.0, 5.0]))
        >>> one.merge(other).singular_values_.round(6).tolist()
        [13.0, 5.0]
        """
        check_fitted(self)
        check_fitted(other)
        mine, theirs = (None if m.vectorizer_ is None else m.vectorizer_.terms_.to_list() for m in (self, other))
        if mine is not None and theirs is not None and mine != theirs:
            raise DataError("the models have different terms; train both with one fitted vectorizer")
        merged = LSA(**self.get_params(deep=False))
        merged.vectorizer_ = self.vectorizer_
        with blas_threads(effective_jobs(self.n_jobs)):
            return merged._take(merge(self._decomposition(), other._decomposition(), self._rank()))

    def transform(self, X: Any, *, scaled: bool = False) -> Floats:
        """Return the documents in topic space, one row each: X U, or X U S^-1 if `scaled`.

        For the documents of training the scaled ones are the rows of V.
        """
        check_fitted(self)
        parts = list(self.project(X, scaled=scaled))
        return np.vstack([np.zeros((0, len(self.components_))), *parts])

    def inverse_transform(self, weights: Any, *, scaled: bool = False) -> Floats:
        """Return the dense rows of term weights that documents with these topics have: Z U^T, or Z S U^T if `scaled`.

        >>> model = LSA(n_topics=2).fit(np.array([[3.0, 0.0], [0.0, 2.0]]))
        >>> model.inverse_transform(model.transform([[1, 4]])).round(6).tolist()
        [[1.0, 4.0]]
        """
        rows = self._weights(weights)
        return (rows * self.singular_values_ if scaled else rows) @ self.components_

    def project(self, X: Any, *, scaled: bool = False) -> Iterator[Floats]:
        """Give the rows of `transform` chunk by chunk, for streams of any length."""
        check_fitted(self)
        projection = Projection(self.components_, self.singular_values_ if scaled else None)
        threads = effective_jobs(self.n_jobs)
        for chunk in self._chunks(X, self.chunk_size).over(self.components_.shape[1], type(self).__name__):
            yield projection(chunk, threads)

    def rows(self, documents: Iterable[Any]) -> Floats:
        """Return what `transform` does of a few texts, for small jobs: a question costs its own words and little else.

        >>> texts = ["to be", "or not", "to do"]
        >>> model = LSA(n_topics=2, vectorizer=TextVectorizer(), random_state=0).fit(texts)
        >>> bool((model.rows(["not to be"]) == model.transform(["not to be"])).all())
        True
        """
        check_fitted(self)
        if self.vectorizer_ is None:
            return self.transform(documents)
        return Projection(self.components_)(self.vectorizer_.rows(documents), 1)

    def intervals(self) -> Floats:
        """Return for each factor the interval that holds the true singular value, (k, 2); inf where none is known.

        >>> LSA(n_topics=1, method="one_pass", oversampling=0).fit(np.diag([2.0, 1.0])).intervals().round(3).tolist()
        [[2.0, 2.236]]
        """
        check_fitted(self)
        return np.column_stack([self.singular_values_, np.sqrt(self.upper_)])

    def check_values(self) -> None:
        """Check what the layout cannot say of a model from a file."""
        s = np.concatenate([self.singular_values_, self.reserve_values_])
        if not (np.isfinite(s).all() and (s > 0).all() and (np.diff(s) <= 1e-9 * s[:-1]).all()):
            raise ModelFileError("the singular values are not finite, positive and falling", reason="damaged")
        if not (np.isfinite(self.components_).all() and np.isfinite(self.reserve_).all()):
            raise ModelFileError("a singular vector holds NaN or infinity", reason="damaged")

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Format 1 called the method algorithm, and that of chunks solver."""
        saved.parameters["method"] = saved.parameters.pop("algorithm")
        saved.parameters["chunk_method"] = saved.parameters.pop("solver")
        saved.format = 2
        return saved

    def strengths(self) -> Floats:
        """Return a figure for each topic that is printed with it."""
        return self.singular_values_

    def _check(self) -> None:
        check_range("n_topics", self.n_topics, at_least=1, whole=True)
        check_choice("method", self.method, METHODS)
        check_range("chunk_size", self.chunk_size, at_least=1, whole=True)
        if self.oversampling is not None:
            check_range("oversampling", self.oversampling, at_least=0, whole=True)
        if self.power_iterations is not None:
            check_range("power_iterations", self.power_iterations, at_least=0, whole=True)
        if self.chunk_method is not None and not callable(self.chunk_method):
            check_choice("chunk_method", self.chunk_method, CHUNK_METHODS)
        check_range("decay", self.decay, at_least=0, at_most=1)
        if self.half_life is not None:
            check_range("half_life", self.half_life, above=0)
            if self.decay != 1:
                raise DataError("half_life takes the place of decay; leave one of them out")
        if self.chunks_per_job is not None:
            check_range("chunks_per_job", self.chunks_per_job, at_least=1, whole=True)
        if not is_generator(self.random_state):  # which would be asked for a seed in vain
            self._seed()

    def _seed(self) -> int:
        return seed_of(self.random_state, 0)

    def _rank(self) -> int:
        return self.n_topics + (self.n_topics if self.oversampling is None else self.oversampling)

    def _forgets(self) -> bool:
        return self.decay != 1 or self.half_life is not None

    def _per_job(self, cluster: object) -> int | None:
        return CHUNKS_PER_JOB if self.chunks_per_job is None and cluster is not None else self.chunks_per_job

    def _plan(self, chunk_method: str, threads: int) -> Plan:
        return Plan(
            rank=self._rank(),
            method=self.chunk_method or chunk_method,
            decay=self.decay,
            half_life=self.half_life,
            random_state=self._seed(),
            n_jobs=threads,
        )

    def _add(self, X: Any, size: int | None) -> LSA:
        """Merge further chunks; all of X as one where no size is given."""
        self._check()
        fitted = self.__sklearn_is_fitted__()
        if fitted:
            check_fitted(self)
        else:
            self._start(X)
        chunks = self._chunks(X, 1 << 62 if size is None else size)
        chunk_method = "lanczos" if self.method == "one_pass" else "stochastic"
        before = self._decomposition() if fitted else None
        decomposition = node(chunks, self._plan(chunk_method, effective_jobs(self.n_jobs)), before)
        return self._take(decomposition)

    def _take(self, decomposition: Decomposition) -> LSA:
        """Become the model of a decomposition."""
        if not decomposition.documents:
            raise DataError("there are no documents to decompose; pass at least one")
        if not decomposition.rank:
            raise DataError("X has only zeros, so there is nothing to learn; check the vocabulary and the weighting")
        k = self.n_topics
        squares = decomposition.s[:k] ** 2
        self._whole = decomposition
        self.components_, self.reserve_ = decomposition.U[:, :k].T, decomposition.U[:, k:].T
        self.singular_values_, self.reserve_values_ = decomposition.s[:k], decomposition.s[k:]
        self.documents_, self.energy_ = decomposition.documents, decomposition.energy
        self.bound_ = None if np.isnan(decomposition.bound) else decomposition.bound
        upper = np.full(len(squares), np.inf) if decomposition.upper is None else decomposition.upper[:k]
        if self.bound_ is not None:
            upper = squares + min(self.bound_, decomposition.discarded)
        self.upper_ = np.maximum(squares, upper)
        return self

    def _decomposition(self) -> Decomposition:
        """All factors that are kept; those of one from a file are put together when they are first needed."""
        if not hasattr(self, "_whole"):
            U = np.ascontiguousarray(np.vstack([self.components_, self.reserve_]).T)
            s = np.concatenate([self.singular_values_, self.reserve_values_])
            bound = np.nan if self.bound_ is None else self.bound_
            self._whole = Decomposition(U, s, self.documents_, self.energy_, bound)
        return self._whole


class _Run:
    """The passes of one fit over the jobs of a corpus, in this process or on a cluster."""

    def __init__(self, workers: Cluster, chunks: Chunks, per_job: int | None, rank: int, threads: int) -> None:
        self.workers = workers
        self.chunks = chunks
        self.per_job = per_job
        self.rank = rank
        self.threads = threads

    def one_pass(self, plan: Plan) -> Decomposition:
        """Algorithm 3.4: a model of each job, merged in pairs without decay."""
        decomposition: Decomposition = self._reduce(_node_of_job, partial(merge, rank=self.rank), plan)
        return decomposition

    def refined(self, first: Decomposition, steps: int) -> Decomposition:
        """Power steps on the basis of a one-pass model, and Rayleigh-Ritz."""
        Q = first.U
        for _ in range(steps):
            Q = orthonormal(self._sum(_power_of_job, self.workers.broadcast(Q), self.threads).value)
        decomposition = self._ritz(Q, first.documents)
        ceiling = np.full(decomposition.rank, first.bound)
        ceiling[: first.rank] += first.s[: decomposition.rank] ** 2
        return replace(decomposition, upper=np.minimum(ceiling, decomposition.s**2 + decomposition.discarded))

    def two_pass(self, steps: int, krylov: bool, seed: int) -> Decomposition:
        """Algorithm 3.5, orthonormalized after every product."""
        sketched = self._sum(_sketch_of_job, self.rank, seed, self.threads)
        width = min(self.rank, sketched.documents, len(sketched.value))
        if not width or not sketched.energy:
            return Decomposition(np.zeros((len(sketched.value), 0)), np.zeros(0), sketched.documents)
        Q = basis = orthonormal(np.ascontiguousarray(sketched.value[:, :width]))
        for _ in range(steps):
            Y = self._sum(_power_of_job, self.workers.broadcast(Q), self.threads).value
            if not krylov:
                Q = basis = orthonormal(Y)
                continue
            for _ in range(2):
                Y -= basis @ (basis.T @ Y)
            Q = orthonormal(Y)
            basis = orthonormal(np.hstack([basis, Q]))
        decomposition = self._ritz(basis, sketched.documents)
        return replace(decomposition, upper=decomposition.s**2 + decomposition.discarded)

    def _ritz(self, Q: Floats, documents: int) -> Decomposition:
        """Eigenvectors of Q^T C Q; its singular values are squared, so those below 1.5e-8 s_1 are not seen."""
        total = self._sum(_ritz_of_job, self.workers.broadcast(Q), self.threads)
        if total.documents != documents:
            raise DataError(
                f"the corpus had {documents} documents in one pass and {total.documents} in another; "
                "it must not change while it is read"
            )
        with blas_threads(1):
            squares, K = linalg.eigh(total.value, check_finite=False)
        s = np.sqrt(np.maximum(squares[::-1], 0.0))
        s[s < np.sqrt(EPS) * s[0]] = 0.0
        r = cut(s, self.rank, len(Q))
        with blas_threads(self.threads):
            U = Q @ K[:, ::-1][:, :r]
        return Decomposition(with_signs(U), s[:r], documents, total.energy, np.nan)

    def _sum(self, step: Callable[..., Sum], *state: object) -> Sum:
        return self._reduce(step, add_sums, *state)

    def _reduce(self, step: Callable[..., R], add: Callable[[R, R], R], *state: object) -> R:
        if self.per_job is None:
            return self.workers.map_reduce(step, [(self.chunks, 0)], add, *state)
        rows = self.per_job * (self.chunks.size or 1)
        return self.workers.map_reduce(step, zip(self.chunks.jobs(self.per_job), count(0, rows)), add, *state)


def _node_of_job(job: tuple[Chunks, int], plan: Plan) -> Decomposition:
    return node(job[0], plan)


def _sketch_of_job(job: tuple[Chunks, int], width: int, seed: int, threads: int) -> Sum:
    return sketch(job[0], job[1], width, seed, threads)


def _power_of_job(job: tuple[Chunks, int], Q: Floats, threads: int) -> Sum:
    return power(job[0], Q, threads)


def _ritz_of_job(job: tuple[Chunks, int], Q: Floats, threads: int) -> Sum:
    return ritz(job[0], Q, threads)

"""How the non-negative models learn: from all documents at once, or from a stream chunk by chunk.

    fit, chunk_size=None     the documents are held, and iterations go over all of them
    fit, chunk_size=c        online: `max_iter` passes over the stream, a step after every c documents
    partial_fit              online: further documents, whose new columns are new terms

Online, the topics (V, k) of before meet a chunk with as many columns: terms not seen before are rows of zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from textmill.arrays import Floats
from textmill.cluster import Cluster, connect
from textmill.corpus import widened
from textmill.errors import DataError
from textmill.model import RandomState, Saved, check_range, given_parameters, is_generator, seed_of
from textmill.numeric import sparse
from textmill.progress import track
from textmill.topics.chunks import gathered
from textmill.topics.factors.rows import PART, Rows
from textmill.topics.factors.starts import start_factors
from textmill.topics.model import MOST_TOPICS, TopicModel

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["NonNegativeModel"]


_CHUNK = 1000  # documents of a step of partial_fit


class NonNegativeModel(TopicModel):
    """Base of `NMF` and `PLSA`.

    A subclass has the parameters n_topics, init, max_iter, tolerance, chunk_size, decay, random_state and n_jobs,
    learns all at once (`_fit_all`) or a chunk (`_add`), and names in `at_once` the parameters that only learning from
    all at once reads, in `usual_max_iter` the largest number of iterations of that.

    Attributes: documents_, n_iter_, converged_, trace_.
    """

    state: ClassVar[dict[str, type]] = {"documents_": int, "n_iter_": int, "converged_": bool}
    at_once: ClassVar[tuple[str, ...]]
    usual_max_iter: ClassVar[int]

    init: str
    max_iter: int | None
    tolerance: float
    chunk_size: int | None
    decay: float
    random_state: RandomState
    n_jobs: int | None
    documents_: int
    n_iter_: int
    converged_: bool
    trace_: Floats

    def fit(self, X: Any, y: object = None, *, cluster: str | Client | None = None) -> Self:
        """Learn from a matrix or a stream, all at once or, with `chunk_size`, chunk by chunk.

        All at once, a Dask `cluster` can hold the documents and do the work; the model is the same but for rounding.

        >>> from textmill.topics import NMF
        >>> NMF(n_topics=1, random_state=0).fit(np.array([[3, 1]])).components_.tolist()
        [[0.75, 0.25]]
        """
        self._check()
        self._check_swallowed()
        if cluster is not None and self.chunk_size is not None:
            raise DataError("chunks are learned one after the other, on one machine; leave out chunk_size or cluster")
        self._start(X)
        if self.chunk_size is None:
            with connect(cluster) as workers:
                self._fit_all(self._rows(X, None if cluster is None else workers))
            return self
        chunks = self._chunks(X, self.chunk_size, negative=False)
        passes = self.max_iter or 1
        chunks.require_passes(passes, type(self).__name__)
        self._forget_all()
        for _ in range(passes):
            for part in track(chunks, "learning", unit="chunks"):
                self._learn(part)
        if not hasattr(self, "components_"):
            raise DataError("X has no documents with a word; pass at least one")
        self.documents_, self.n_iter_ = chunks.documents, passes  # documents of one pass
        return self

    def _rows(self, X: Any, workers: Cluster | None) -> Rows:
        """All documents, here or on the workers."""
        if workers is None:
            rows = Rows(gathered(self._chunks(X, negative=False)).astype(np.float64), self.n_jobs)
        else:
            rows = Rows.spread(self._chunks(X, PART, negative=False), workers, self.n_jobs)
        if not rows.shape[0] or not rows.shape[1]:
            raise DataError("X has no documents or no terms; pass at least one document with a word")
        if not rows.lengths.any():
            raise DataError("X has only zeros, so there is nothing to learn; check the vocabulary and the weighting")
        return rows

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Learn from further documents, chunk by chunk; new columns are new terms.

        >>> from textmill.topics import PLSA
        >>> plsa = PLSA(n_topics=1, random_state=0).partial_fit(np.array([[1, 1]])).partial_fit(np.array([[2, 0, 0]]))
        >>> plsa.documents_, plsa.components_.shape
        (2, (1, 3))
        """
        self._check()
        if not self.__sklearn_is_fitted__():
            self._start(X)
            self._forget_all()
        self._make_changeable()
        for part in self._chunks(X, self.chunk_size or _CHUNK, negative=False):
            self._learn(part)
        return self

    def _learn(self, X: sparse.csr_matrix) -> None:
        """One online step."""
        begun = hasattr(self, "components_")
        self.documents_ += X.shape[0]
        if not begun and not X.count_nonzero():
            return  # nothing to start from
        X = X.astype(np.float64)
        if begun:
            terms = max(X.shape[1], self.components_.shape[1])
            W = np.ascontiguousarray(np.pad(self.components_.T, ((0, terms - self.components_.shape[1]), (0, 0))))
            X = widened(X, terms)
        else:
            W = start_factors(X, self.n_topics, self.init, seed_of(self.random_state), self.n_jobs)[1]
            self.trace_ = np.zeros(0)
        self.trace_ = np.append(self.trace_, self._add(X, W, begun=begun))

    def _check(self) -> None:
        """Check the parameters that all of them have."""
        check_range("n_topics", self.n_topics, at_least=1, at_most=MOST_TOPICS, whole=True)
        if not is_generator(self.random_state):  # which would be drawn from
            seed_of(self.random_state)
        if self.max_iter is not None:
            check_range("max_iter", self.max_iter, at_least=1, whole=True)
        check_range("tolerance", self.tolerance, at_least=0)
        check_range("decay", self.decay, at_least=0, at_most=1)
        if self.chunk_size is not None:
            check_range("chunk_size", self.chunk_size, at_least=1, whole=True)

    def _check_swallowed(self) -> None:
        """Refuse parameters that `fit` would not read; partial_fit may follow, so what that reads may be set."""
        for name, value in given_parameters(self).items():
            if self.chunk_size is not None and name in self.at_once:
                raise DataError(f"{name}={value!r} belongs to learning from all at once; leave out it or chunk_size")

    def _forget_all(self) -> None:
        """Become a model without documents."""
        for name in (*self.layout, "components_"):
            vars(self).pop(name, None)
        self.documents_, self.n_iter_, self.converged_ = 0, 0, False

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """Format 1 had other names: iterations and passes, forget, solver; it did not say how training ended."""
        old = saved.parameters
        iterations, passes = old.pop("iterations"), old.pop("passes")
        online = old["chunk_size"] is not None
        most = passes if online else iterations
        old["max_iter"] = None if most == (1 if online else cls.usual_max_iter) else most
        old["decay"] = old.pop("forget")
        if "solver" in old:
            old["method"] = old.pop("solver")
        saved.format = 2
        if saved.fitted:
            trace = saved.arrays.pop("losses_" if "losses_" in saved.arrays else "likelihoods_")
            saved.arrays["trace_"] = trace
            steps = passes if online else cls._steps(trace)
            saved.state |= {"n_iter_": steps, "converged_": not online and steps < iterations}
        return saved

    @staticmethod
    def _steps(trace: Floats) -> int:
        """How many iterations a trace is of."""
        return len(trace)

    def _fit_all(self, X: Rows) -> None:
        """Learn from all documents, which are not all zero."""
        raise NotImplementedError

    def _add(self, X: sparse.csr_matrix, W: Floats, *, begun: bool) -> float:
        """Learn from a chunk; W (V, k) are the topics of before, or those to start from. Returns its figure."""
        raise NotImplementedError

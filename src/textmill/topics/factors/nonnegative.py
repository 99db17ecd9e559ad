"""How the non-negative models learn: from all documents at once, or from a stream chunk by chunk.

    fit, chunk_size=None     the documents are held, and iterations go over all of them
    fit, chunk_size=c        online: `passes` over the stream, a step after every c documents
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
from textmill.model import RandomState, check_range, seed_of
from textmill.model.estimators import given_parameters
from textmill.numeric import sparse
from textmill.progress import track
from textmill.topics.factors.rows import PART, Rows, gathered
from textmill.topics.factors.starts import check_model, start_factors
from textmill.topics.model import MOST_TOPICS, TopicModel

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["NonNegativeModel"]


_CHUNK = 1000  # documents of a step of partial_fit


class NonNegativeModel(TopicModel):
    """Base of `NMF` and `PLSA`.

    A subclass has the parameters n_topics, init, iterations, tolerance, chunk_size, passes, forget, random_state and
    n_jobs, learns all at once (`_fit_all`) or a chunk (`_add`), and names in `trace` the attribute of figures a step,
    in `at_once` the parameters that only learning from all at once reads.

    Attributes: documents_.
    """

    trace: ClassVar[str]
    at_once: ClassVar[tuple[str, ...]]

    init: str
    iterations: int
    tolerance: float
    chunk_size: int | None
    passes: int
    forget: float
    random_state: RandomState
    n_jobs: int | None
    documents_: int

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
            raise DataError("chunks are learnt one after the other, on one machine; leave out chunk_size or cluster")
        self._start(X)
        if self.chunk_size is None:
            with connect(cluster) as workers:
                self._fit_all(self._rows(X, None if cluster is None else workers))
            return self
        chunks = self._chunks(X, self.chunk_size, negative=False)
        chunks.require_passes(self.passes, type(self).__name__)
        self._forget_all()
        for _ in range(self.passes):
            for part in track(chunks, "learning", unit="chunks"):
                self._learn(part)
        if not hasattr(self, "components_"):
            raise DataError("X has no documents with a word; pass at least one")
        self.documents_ = chunks.documents  # of one pass
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
        check_model(self)
        for part in self._chunks(X, self.chunk_size or _CHUNK, negative=False):
            self._learn(part)
        return self

    def _learn(self, X: sparse.csr_matrix) -> None:
        """One online step."""
        known = hasattr(self, "components_")
        self.documents_ += X.shape[0]
        if not known and not X.count_nonzero():
            return  # nothing to start from
        X = X.astype(np.float64)
        if known:
            terms = max(X.shape[1], self.components_.shape[1])
            W = np.ascontiguousarray(np.pad(self.components_.T, ((0, terms - self.components_.shape[1]), (0, 0))))
            X = widened(X, terms)
        else:
            W = start_factors(X, self.n_topics, self.init, seed_of(self.random_state), self.n_jobs)[1]
            setattr(self, self.trace, np.zeros(0))
        figure = self._add(X, W, known=known)
        setattr(self, self.trace, np.append(getattr(self, self.trace), figure))

    def _check(self) -> None:
        """Check the parameters that all of them have."""
        check_range("n_topics", self.n_topics, at_least=1, at_most=MOST_TOPICS, whole=True)
        check_range("iterations", self.iterations, at_least=1, whole=True)
        check_range("tolerance", self.tolerance, at_least=0)
        check_range("passes", self.passes, at_least=1, whole=True)
        check_range("forget", self.forget, at_least=0, at_most=1)
        if self.chunk_size is not None:
            check_range("chunk_size", self.chunk_size, at_least=1, whole=True)

    def _check_swallowed(self) -> None:
        """Refuse parameters that `fit` would not read; partial_fit may follow, so what that reads may be set."""
        for name, value in given_parameters(self).items():
            if self.chunk_size is None and name == "passes":
                raise DataError(
                    f"passes={value!r} belongs to learning chunk by chunk; pass chunk_size too, or leave it out"
                )
            if self.chunk_size is not None and name in self.at_once:
                raise DataError(f"{name}={value!r} belongs to learning from all at once; leave out it or chunk_size")

    def _forget_all(self) -> None:
        """Become a model without documents."""
        for name in (*self.layout, "components_"):
            vars(self).pop(name, None)
        self.documents_ = 0

    def _fit_all(self, X: Rows) -> None:
        """Learn from all documents, which are not all zero."""
        raise NotImplementedError

    def _add(self, X: sparse.csr_matrix, W: Floats, *, known: bool) -> float:
        """Learn from a chunk; W (V, k) are the topics of before, or those to start from. Returns its figure."""
        raise NotImplementedError

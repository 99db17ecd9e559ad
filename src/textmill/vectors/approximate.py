"""Approximate nearest neighbors with a recall that is measured, not promised.

A graph of near vectors (HNSW) is walked greedily instead of reading all vectors: queries cost about log n, and
sometimes miss a neighbor. The graph is that of the `usearch` library; candidates are re-scored by the exact keys of
the index it was made of, so scores are exact and only members may be missing. At `fit` a sample of the stored vectors
is answered both ways, and

    recall_ = |approximate answer, exact answer| / |exact answer|           mean over the sample, k = 10

The graph lives in memory and is made anew from the saved index: its library's files cannot be checked before they are
believed. With more than one thread its shape, and so which neighbors are missed, may differ from run to run.
Reference: Malkov & Yashunin (2018), Efficient and robust approximate nearest neighbor search using HNSW graphs.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import Estimator, RandomState, check_fitted, check_range, effective_jobs, seed_of
from textmill.vectors.index import Answers, Index
from textmill.vectors.measured import scores_of
from textmill.vectors.scan import DenseRows

__all__ = ["ApproximateIndex"]

_SPARE = 4  # candidates for each neighbor that is wanted
_K = 10  # neighbors by which the recall is measured


class ApproximateIndex(Estimator):
    """Search an `Index` of dense vectors by a graph.

    Parameters:
        connectivity: Number of edges of a vector.
        expansion: Number of vectors that a search keeps in view: more is slower and misses less.
        sample: Number of stored vectors by which the recall is measured.
        random_state: Seed of the random numbers.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        index_: The exact index.
        recall_: Share of the exact answer that is found.

    >>> index = Index().fit(np.random.default_rng(0).normal(size=(200, 8)))
    >>> fast = ApproximateIndex(n_jobs=1).fit(index)
    >>> fast.recall_ > 0.95, fast.query(index.engine_.take([7]), k=1)[0].ids.tolist()
    (True, [7])
    """

    takes: ClassVar[str] = "sequences"  # an Index

    def __init__(
        self,
        *,
        connectivity: int = 16,
        expansion: int = 128,
        sample: int = 200,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.connectivity = connectivity
        self.expansion = expansion
        self.sample = sample
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, index: Index, y: object = None) -> ApproximateIndex:
        """Make the graph of an index and measure its recall."""
        for name in ("connectivity", "expansion", "sample"):
            check_range(name, getattr(self, name), at_least=1, whole=True)
        check_fitted(index)
        if not isinstance(index.engine_, DenseRows) or not len(index):
            raise DataError("a graph needs dense vectors, at least one; sparse ones are searched by their postings")
        index.compact()
        self._graph = self._new_graph(index)
        self.index_ = index
        chosen = np.random.default_rng(seed_of(self.random_state)).permutation(len(index))[: self.sample]
        Q = index.engine_.take(np.sort(chosen))
        exact = index._search(Q, np.zeros(len(Q), np.bool_), _K, -np.inf, None)
        approximate = self._search(Q, _K)
        hits = [len(np.intersect1d(a.ids, b.ids)) / len(a.ids) for a, b in zip(exact, approximate, strict=True)]
        self.recall_ = float(np.mean(hits))
        return self

    def query(self, Q: Any, *, k: int = 10) -> Answers:
        """Return about the k nearest vectors of each row of Q."""
        check_range("k", k, at_least=1, whole=True)
        check_fitted(self)
        rows, empty = self.index_._rows(Q, "Q")
        if self.index_.measure != "euclidean" and empty.any():
            return self.index_.query(Q, k=k)  # which knows what to say
        return self._search(rows, k)

    def _new_graph(self, index: Index) -> Any:
        try:
            from usearch.index import Index as Graph
        except ImportError as error:
            raise DataError("ApproximateIndex needs usearch; install it with: pip install 'textmill[ann]'") from error
        engine = index.engine_
        graph = Graph(
            ndim=index.columns_,
            metric="ip" if engine.kind_ == "product" else "l2sq",
            dtype="f32",
            connectivity=self.connectivity,
            expansion_add=self.expansion,
            expansion_search=self.expansion,
        )
        graph.add(np.arange(len(engine)), np.asarray(engine.vectors_), threads=effective_jobs(self.n_jobs))
        return graph

    def _search(self, Q: Any, k: int) -> Answers:
        index, engine = self.index_, self.index_.engine_
        size = min(len(engine), _SPARE * k)
        matches = self._graph.search(Q, size, threads=effective_jobs(self.n_jobs))
        ids: list[NDArray[np.int64]] = []
        keys: list[NDArray[np.float64]] = []
        candidates = np.asarray(matches.keys, dtype=np.int64).reshape(len(Q), -1)
        counts = np.atleast_1d(getattr(matches, "counts", candidates.shape[1]))
        for query, some, count in zip(Q, candidates, np.broadcast_to(counts, len(Q)), strict=True):
            rows = np.sort(some[:count])
            exact = engine.keys(query, rows)
            order = np.lexsort((rows, -exact))[:k]
            ids.append(index.ids_[rows[order]])
            keys.append(exact[order])
        return Answers(
            np.cumsum([0, *map(len, ids)]),
            np.concatenate(ids),
            scores_of(index.measure, np.concatenate(keys)),
            (None,) * len(Q),
            size * len(Q),
            len(Q) * len(engine),
        )

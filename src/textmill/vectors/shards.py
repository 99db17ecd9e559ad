"""One index in many files, searched on one machine or on the workers of a Dask cluster.

    answer(q) = the k best of the answers of all shards to q             ties by id, as in one index

Each shard is an `Index` file with ids of its own range. A shard is an address: a worker that opens it maps it and keeps
it; when the worker dies, another opens it again. Merging is exact because every shard computes the same exact keys, so
any number of shards gives the answer of one index. Traffic of a query: the queries to each shard, k ids and scores
back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from textmill.cluster import Cluster, Kept, Traffic, connect
from textmill.errors import DataError
from textmill.model import check_range, load
from textmill.vectors.index import Answers, Index

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["ShardedIndex", "merge_answers", "open_shards", "write_shards"]


def write_shards(index: Index, chunks: Iterable[Any], folder: str | os.PathLike[str]) -> list[Path]:
    """Write one shard for each chunk of vectors, with the parameters of `index`; returns the files.

    Ids run on from shard to shard. Only one chunk is held at a time.

    >>> X = np.random.default_rng(0).normal(size=(10, 4))
    >>> [path.name for path in write_shards(Index(), [X[:5], X[5:]], "shards")]
    ['shard-00000.mill', 'shard-00001.mill']
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    start = 0
    for chunk in chunks:
        rows = chunk.shape[0] if hasattr(chunk, "shape") else len(chunk)
        shard = Index(**index.get_params()).fit(chunk, ids=np.arange(start, start + rows))
        start += rows
        paths.append(place / f"shard-{len(paths):05d}.mill")
        shard.save(paths[-1])
    return paths


@contextmanager
def open_shards(
    paths: Sequence[str | os.PathLike[str]],
    *,
    cluster: str | Client | None = None,
    traffic: Traffic | None = None,
) -> Iterator[ShardedIndex]:
    """Open index files as one index, here or on the workers of a cluster, where they must be found under these paths.

    >>> X = np.random.default_rng(0).normal(size=(10, 4))
    >>> with open_shards(write_shards(Index(), [X[:5], X[5:]], "shards")) as shards:
    ...     shards.query(X[7:8], k=1)[0].ids.tolist()
    [7]
    """
    if not paths:
        raise DataError("there are no shards to open; pass the files that write_shards made")
    with connect(cluster, traffic=traffic) as where:
        yield ShardedIndex(where, where.keep(_open, [os.fspath(path) for path in paths], where.worker_jobs(None)))


class ShardedIndex:
    """Several indexes that answer as one; `open_shards` makes it."""

    def __init__(self, cluster: Cluster, shards: list[Kept[Index]]) -> None:
        self._cluster = cluster
        self._shards = shards

    def query(self, Q: Any, *, k: int = 10) -> Answers:
        """Return the k nearest vectors of each row of Q, over all shards."""
        check_range("k", k, at_least=1, whole=True)
        return merge_answers(list(self._cluster.map(_query, self._shards, self._cluster.broadcast(Q), k)), k)

    def within(self, Q: Any, *, threshold: float) -> Answers:
        """Return all vectors at least so near, over all shards; see `Index.within`."""
        return merge_answers(
            list(self._cluster.map(_within, self._shards, self._cluster.broadcast(Q), threshold)), None
        )


def merge_answers(parts: Sequence[tuple[Answers, str]], k: int | None) -> Answers:
    """The k best of several answers to the same queries, None for all; each with the measure of its index.

    >>> one = Index().fit([[1.0, 0.0]]), Index().fit([[0.0, 1.0]], ids=[1])
    >>> merge_answers([(index.query([[1.0, 2.0]]), "cosine") for index in one], 1)[0].ids.tolist()
    [1]
    """
    measures = {measure for _, measure in parts}
    if len(measures) > 1:
        raise DataError(f"the shards compare by {' and '.join(sorted(measures))}; make them with one measure")
    sign = -1.0 if "cosine" in measures else 1.0
    ids, scores, sizes, reasons = [], [], [0], []
    for i in range(len(parts[0][0])):
        neighbors = [answers[i] for answers, _ in parts]
        together, figures = (np.concatenate([getattr(one, name) for one in neighbors]) for name in ("ids", "scores"))
        order = np.lexsort((together, sign * figures))[:k]
        ids.append(together[order])
        scores.append(figures[order])
        sizes.append(len(order))
        reasons.append(None if len(order) else neighbors[0].reason)
    return Answers(
        np.cumsum(sizes),
        np.concatenate(ids) if ids else np.zeros(0, np.int64),
        np.concatenate(scores) if scores else np.zeros(0),
        tuple(reasons),
        sum(answers.read for answers, _ in parts),
        sum(answers.searched for answers, _ in parts),
    )


def _open(path: str, n_jobs: int | None) -> Index:
    index = load(path, expect=Index)
    return index if n_jobs is None else index.set_params(n_jobs=n_jobs)


def _query(index: Index, Q: Any, k: int) -> tuple[Answers, str]:
    return index.query(Q, k=k), index.measure


def _within(index: Index, Q: Any, threshold: float) -> tuple[Answers, str]:
    return index.within(Q, threshold=threshold), index.measure

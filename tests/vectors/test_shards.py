"""shards.py: one index in many files answers as one, here and on worker processes, one of which is killed."""

from __future__ import annotations

import os
import pickle
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from textmill.cluster import Traffic
from textmill.errors import DataError
from textmill.vectors import Index, open_shards, write_shards


def points(rows: int, seed: int) -> Any:
    X = np.random.default_rng(seed).integers(-2, 3, (rows, 6)).astype(float)
    X[rows // 2 :: 7] = X[0]  # ties across shards
    X[:, 0] += 0.5
    return X


@pytest.mark.parametrize("shards", [1, 3, 7])
@pytest.mark.parametrize(("method", "measure"), [("scan", "cosine"), ("va", "euclidean"), ("inverted", "cosine")])
def test_shards_answer_like_one_index(shards: int, method: str, measure: str, tmp_path: Path) -> None:
    X, Q = points(200, 1), points(9, 2)
    if method == "inverted":
        X = sparse.csr_matrix(X)
    whole = Index(method=method, measure=measure).fit(X)
    bounds = np.linspace(0, 200, shards + 1).astype(int)
    chunks = (X[a:b] for a, b in pairwise(bounds))
    paths = write_shards(Index(method=method, measure=measure), chunks, tmp_path)
    assert len(paths) == shards
    near = 0.7 if measure == "cosine" else 2.0
    with open_shards(paths) as index:
        for mine, theirs in [
            (index.query(Q, k=12), whole.query(Q, k=12)),
            (index.within(Q, threshold=near), whole.within(Q, threshold=near)),
        ]:
            assert np.array_equal(mine.ids, theirs.ids)
            assert np.array_equal(mine.scores, theirs.scores)
            assert np.array_equal(mine.offsets, theirs.offsets)


def test_shards_of_two_measures_and_no_shards_are_refused(tmp_path: Path) -> None:
    paths = write_shards(Index(), [points(5, 0)], tmp_path / "a")
    paths += write_shards(Index(measure="euclidean"), [points(5, 0)], tmp_path / "b")
    with open_shards(paths) as index, pytest.raises(DataError, match="compare by cosine and euclidean"):
        index.query(points(1, 1))
    with pytest.raises(DataError, match="there are no shards to open"), open_shards([]):
        pass


def test_an_index_travels_between_processes() -> None:
    for X in (points(50, 1), sparse.csr_matrix(points(50, 1))):
        index = Index().fit(X)
        before = index.query(points(3, 2))
        after = pickle.loads(pickle.dumps(index)).query(points(3, 2))  # noqa: S301
        assert np.array_equal(before.ids, after.ids)


def test_shards_on_workers_answer_the_same_after_one_of_them_was_killed(client: Any, tmp_path: Path) -> None:
    X, Q = points(400, 1), points(5, 2)
    expected = Index().fit(X).query(Q, k=8)
    paths = write_shards(Index(), [X[i : i + 80] for i in range(0, 400, 80)], tmp_path)
    traffic = Traffic()
    with open_shards(paths, cluster=client, traffic=traffic) as index:
        assert np.array_equal(index.query(Q, k=8).ids, expected.ids)
        pids = client.run(os.getpid)
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        for _ in range(3):
            found = index.query(Q, k=8)
            assert np.array_equal(found.ids, expected.ids)
            assert np.array_equal(found.scores, expected.scores)
    assert 0 < traffic.bytes < X.nbytes * 10  # queries and answers, and shards only where they had to move

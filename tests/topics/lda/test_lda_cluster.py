"""LDA on real worker processes: the same bytes for any number of workers, one killed in the middle of a pass."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from textmill.cluster import Traffic
from textmill.corpus import TopicStream
from textmill.errors import DataError
from textmill.topics import LDA, make_model

STREAM = TopicStream(1600, vocabulary=300, topics=6, alpha=0.1, eta=0.05, length=40, chunk_size=100, seed=3)
SETTINGS: dict[str, Any] = {
    "n_topics": 6,
    "chunk_size": 100,
    "update_every": 4,
    "max_iter": 2,
    "random_state": 0,
    "n_jobs": 1,
}


def same(one: LDA, other: LDA) -> bool:
    return bool((one.term_topics_ == other.term_topics_).all()) and one.updates_ == other.updates_


class DiesOnce:
    """A stream that brings the worker that reads it down, once, at a chunk in the middle of the second update."""

    def __init__(self, folder: Path, start: int) -> None:
        self.folder = folder
        self.start = start

    def __iter__(self) -> Iterator[Any]:
        mark = self.folder / "died"
        if self.start == 600 and not mark.exists():
            import distributed

            try:
                distributed.get_worker()
            except ValueError:
                pass  # in this process
            else:
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        yield STREAM.bags(self.start, self.start + 100)


@pytest.mark.parametrize("method", ["online", "batch"])
def test_workers_give_the_bytes_of_one_process(client: Any, method: str) -> None:
    here = make_model("lda", method=method, **SETTINGS).fit(STREAM)
    there = make_model("lda", method=method, **SETTINGS).fit(STREAM, cluster=client)
    assert same(here, there)
    assert there.documents_ == 1600
    assert there.updates_ == (8 if method == "online" else 2)


def test_matrices_streams_and_further_documents_can_be_sent(client: Any) -> None:
    chunks = list(STREAM)
    settings = SETTINGS | {"max_iter": 1, "total_docs": 1600}
    here = make_model("lda", **settings).fit(STREAM)
    for sent in (iter(chunks), chunks, STREAM.bags(0, 1600)):
        assert same(make_model("lda", **settings).fit(sent, cluster=client), here)
    more = [
        make_model("lda", **SETTINGS).fit(STREAM).partial_fit(STREAM.bags(0, 500), cluster=cluster)
        for cluster in (None, client)
    ]
    assert same(*more)
    with pytest.raises(DataError, match="runs on one machine"):
        LDA(method="gibbs").fit(STREAM, cluster=client)


def test_a_killed_worker_changes_nothing(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from textmill.topics.chunks import Chunks

    def jobs(self: Chunks, chunks: int, *, exact: bool = False) -> Iterator[Chunks]:
        for start in range(0, 1600, 100):
            yield Chunks(DiesOnce(tmp_path, start), 100)

    expected = make_model("lda", **SETTINGS).fit(STREAM)
    monkeypatch.setattr(Chunks, "jobs", jobs)
    model = make_model("lda", **SETTINGS).fit(STREAM, cluster=client)
    assert (tmp_path / "died").exists()
    assert same(model, expected)


def test_only_topics_and_rows_of_words_travel(client: Any) -> None:
    traffic = Traffic()
    make_model("lda", **SETTINGS | {"max_iter": 1}).fit(STREAM, cluster=client, traffic=traffic)
    topics = 300 * 6 * 4  # bytes of the statistics
    updates = 4
    # each update: topics to two workers, at most 4 partial sums between them and 1 to this process, small things
    assert traffic.bytes <= updates * 7 * (topics + 8_000)
    fewer = Traffic()
    make_model("lda", **SETTINGS | {"max_iter": 1, "update_every": 16}).fit(STREAM, cluster=client, traffic=fewer)
    assert fewer.messages < traffic.messages  # kappa trades messages against updates


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_bytes(cluster_of: Callable[[int], AbstractContextManager[Any]]) -> None:
    expected = make_model("lda", **SETTINGS).fit(STREAM)
    for workers in (1, 2, 4):  # kappa = 4, 2, 1 chunks a worker and update
        with cluster_of(workers) as client:
            assert same(make_model("lda", **SETTINGS).fit(STREAM, cluster=client), expected)

"""LDA on real worker processes: the same bytes for any number of workers, one killed in the middle of a pass."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from textmill.cluster import Traffic
from textmill.corpus import TopicStream, Vocabulary, read_documents
from textmill.errors import DataError
from textmill.topics import LDA, make_model
from textmill.vectors import TextVectorizer, Weighting

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
        yield STREAM.chunk(self.start, self.start + 100)


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
    for sent in (iter(chunks), chunks, STREAM.chunk(0, 1600)):
        assert same(make_model("lda", **settings).fit(sent, cluster=client), here)
    more = [
        make_model("lda", **SETTINGS).fit(STREAM).partial_fit(STREAM.chunk(0, 500), cluster=cluster)
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


class Noted:
    """A tokenizer at blanks that leaves the number of its process each time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, text: str) -> list[str]:
        with (self.folder / "pids").open("a") as file:
            file.write(f"{os.getpid()}\n")
        return text.split()


def test_bags_are_made_once_and_kept_by_the_workers_that_made_them(client: Any, tmp_path: Path) -> None:
    rows = [json.dumps({"text": words}) + "\n" * (1 + (n % 7 == 0)) for n, words in enumerate(sentences(230))]
    (tmp_path / "texts.jsonl").write_text("".join(rows))  # empty lines are no documents, so pieces of lines are shorter
    documents = read_documents(tmp_path / "texts.jsonl")
    vocabulary = Vocabulary(tokenizer=Noted(tmp_path))
    counts = TextVectorizer(vocabulary=vocabulary, weighting=Weighting(scheme="nnn")).fit(documents)
    settings = SETTINGS | {"vectorizer": counts, "chunk_size": 25, "max_iter": 3}
    here = make_model("lda", **settings).fit(documents)
    (tmp_path / "pids").unlink()
    there = make_model("lda", **settings).fit(documents, cluster=client)
    made_by = (tmp_path / "pids").read_text().split()
    assert len(made_by) == 230
    assert str(os.getpid()) not in made_by
    assert there.documents_ == here.documents_ == 230
    assert same(here, there)


def sentences(count: int) -> list[str]:
    return [" ".join(f"w{(number * place * 7) % 50}" for place in range(1, 9)) for number in range(count)]


def test_documents_do_not_travel_in_every_pass(client: Any) -> None:
    long = TopicStream(1600, vocabulary=300, topics=6, alpha=0.5, eta=0.5, length=400, chunk_size=100, seed=3)
    matrix, traffic = long.chunk(0, 1600), Traffic()
    make_model("lda", **SETTINGS | {"method": "batch", "max_iter": 8}).fit(matrix, cluster=client, traffic=traffic)
    documents = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    topics = 300 * 6 * 4  # bytes of the statistics
    # once to a worker, with numbers of twice the size, and at most once to the other one; and for a pass topics to two
    # workers, at most 16 partial sums between them and 1 to this process, small things
    assert documents < traffic.bytes <= 4.5 * documents + 8 * 19 * (topics + 8_000) < 8 * 2 * documents


def test_an_update_of_one_chunk_is_made_in_this_process(client: Any) -> None:
    traffic, settings = Traffic(), SETTINGS | {"update_every": 1, "max_iter": 1}
    with pytest.warns(UserWarning, match="every update is one chunk, which workers cannot share"):
        there = make_model("lda", **settings).fit(STREAM, cluster=client, traffic=traffic)
    assert traffic.messages == 0
    assert same(make_model("lda", **settings).fit(STREAM), there)


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

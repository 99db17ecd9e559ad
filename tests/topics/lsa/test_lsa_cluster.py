"""LSA on real worker processes: the same model as in one process, a worker killed, traffic counted."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill.cluster import Traffic
from textmill.corpus import TopicStream
from textmill.topics import LSA
from textmill.topics.lsa.basecase import base_case

STREAM = TopicStream(1920, vocabulary=400, topics=15, length=40, chunk_size=64, seed=3)
SETTINGS: dict[str, Any] = {"n_topics": 8, "oversampling": 8, "chunk_size": 64, "chunks_per_job": 5, "n_jobs": 1}


class DiesOnce:
    """A solver that brings its worker down the first time it meets a certain chunk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, X: Any, rank: int) -> Any:
        with (self.folder / "chunks").open("ab", buffering=0) as file:
            file.write(b".")
            number = file.tell()  # of this call among those of all workers
        if number == 9:
            (self.folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        made = base_case(X, rank, "dense")
        return made.U, made.s


@pytest.mark.parametrize("method", ["one_pass", "hybrid", "refined", "two_pass"])
def test_workers_give_the_model_of_one_process(client: Any, method: str) -> None:
    here = LSA(method=method, **SETTINGS).fit(STREAM)
    there = LSA(method=method, **SETTINGS).fit(STREAM, cluster=client)
    assert there.documents_ == 1920
    assert there.singular_values_.tobytes() == here.singular_values_.tobytes()
    assert there.components_.tobytes() == here.components_.tobytes()


def test_matrices_and_streams_can_be_sent_to_workers(client: Any) -> None:
    chunks = list(STREAM)
    here = LSA(method="hybrid", **SETTINGS).fit(STREAM)
    for sent in (iter(chunks), chunks):
        there = LSA(method="hybrid", **SETTINGS).fit(sent, cluster=client)
        assert there.singular_values_ == pytest.approx(here.singular_values_, rel=1e-10)


def test_a_killed_worker_changes_nothing(client: Any, tmp_path: Path) -> None:
    expected = LSA(method="one_pass", chunk_method="dense", **SETTINGS).fit(STREAM)
    model = LSA(method="one_pass", **SETTINGS).set_params(chunk_method=DiesOnce(tmp_path)).fit(STREAM, cluster=client)
    assert (tmp_path / "died").exists()
    assert model.documents_ == expected.documents_
    assert model.singular_values_ == pytest.approx(expected.singular_values_, rel=1e-10)


def test_models_travel_and_documents_do_not(client: Any) -> None:
    models = 400 * 16 * 8  # bytes: terms x factors
    traffic = Traffic()
    LSA(method="one_pass", **SETTINGS).fit(STREAM, cluster=client, traffic=traffic)
    assert traffic.bytes <= 6 * (models + 8_000)  # each model of 6 jobs at most once, addresses and plans beside it
    assert traffic.bytes >= models  # the result came here
    two = Traffic()
    LSA(method="one_pass", **SETTINGS | {"chunks_per_job": 15}).fit(STREAM, cluster=client, traffic=two)
    assert two.bytes <= 2 * (models + 8_000)  # p = 2 workers, p jobs: p models


def test_messages_are_for_models_and_not_for_chunks(client: Any) -> None:
    for jobs, chunks in ((2, 24), (2, 96), (8, 96)):
        settings = SETTINGS | {"chunk_size": 1920 // chunks, "chunks_per_job": chunks // jobs}
        delayed = Traffic(delay=0.02)
        LSA(method="one_pass", **settings).fit(STREAM, cluster=client, traffic=delayed)
        # for each job an address and a plan, at most one model to another worker; and the result
        assert jobs < delayed.messages <= 3 * jobs + 1


@pytest.mark.slow
def test_any_number_of_workers_gives_similar_documents(
    cluster_of: Callable[[int], AbstractContextManager[Any]],
) -> None:
    from textmill.vectors import pairwise_matrix

    made = []
    for workers in (1, 2, 4):
        with cluster_of(workers) as client:  # as many jobs as workers: p models
            settings = SETTINGS | {"chunks_per_job": -(-30 // workers)}
            model = LSA(method="one_pass", **settings).fit(STREAM, cluster=client)
        made.append(pairwise_matrix(model.transform(STREAM.chunk(0, 300)), measure="cosine"))
    for other in made[1:]:
        assert np.sqrt(np.mean((other - made[0]) ** 2)) < 0.005


def test_jobs_of_any_size_give_similar_documents(client: Any) -> None:
    from textmill.vectors import pairwise_matrix

    documents = STREAM.chunk(0, 300)
    made = []
    for per_job in (2, 8, 30):
        model = LSA(method="one_pass", **SETTINGS | {"chunks_per_job": per_job}).fit(STREAM, cluster=client)
        made.append(pairwise_matrix(model.transform(documents), measure="cosine"))
    for other in made[1:]:
        assert np.sqrt(np.mean((other - made[0]) ** 2)) < 0.005

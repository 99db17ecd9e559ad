"""PCA, NMF and PLSA on real worker processes: the model of one process, a worker killed on the way."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from textmill.cluster import Traffic, connect
from textmill.corpus import TopicStream
from textmill.errors import DataError
from textmill.topics import NMF, PCA, PLSA
from textmill.topics.chunks import Chunks
from textmill.topics.factors.rows import Part, Rows

STREAM = TopicStream(900, vocabulary=300, topics=6, length=40, chunk_size=64, seed=3)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pca", "nonnegative"):
        monkeypatch.setattr(f"textmill.topics.factors.{module}.PART", 300)  # three of them


MODELS: dict[str, Any] = {
    "pca krylov": PCA(n_topics=6, method="krylov", random_state=1),
    "pca lanczos": PCA(n_topics=2, method="lanczos", random_state=1),
    "nmf": NMF(n_topics=6, max_iter=4, tolerance=0, random_state=1),
    "nmf multiplicative": NMF(n_topics=6, method="multiplicative", init="random", max_iter=4, random_state=1),
    "nmf kl": NMF(n_topics=6, loss="kl", max_iter=4, tolerance=0, random_state=1),
    "nmf kl multiplicative": NMF(n_topics=6, loss="kl", method="multiplicative", max_iter=4, random_state=1),
    "plsa": PLSA(n_topics=6, max_iter=4, tolerance=0, random_state=1),
    "plsa tempered": PLSA(n_topics=6, max_iter=4, temper=0.9, smoothing=0.01, init="nndsvd", random_state=1),
}


def same(there: Any, here: Any) -> None:
    assert there.documents_ == here.documents_ == 900
    assert np.abs(there.components_ - here.components_).max() < 1e-10 * np.abs(here.components_).max()
    for name in ("weights_", "topic_counts_", "singular_values_", "losses_", "likelihoods_", "gram_", "cross_"):
        if getattr(here, name, None) is not None:
            assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_workers_give_the_model_of_one_process(client: Any, name: str) -> None:
    model = MODELS[name]
    here = type(model)(**model.get_params(deep=False)).fit(list(STREAM))
    there = type(model)(**model.get_params(deep=False)).fit(STREAM, cluster=client)
    same(there, here)


def test_matrices_and_streams_can_be_sent_to_workers(client: Any) -> None:
    X = sparse.vstack(list(STREAM), format="csr")
    settings = {"n_topics": 4, "init": "random", "max_iter": 2, "random_state": 1}
    here = NMF(**settings).fit(X)
    for sent in (X, iter(STREAM), X.toarray()):
        same(NMF(**settings).fit(sent, cluster=client), here)


class DiesOnce:
    """A step that brings its worker down at its fourth part."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, part: Part, H: Any, threads: int, weights: Any) -> Any:
        with (self.folder / "parts").open("ab", buffering=0) as file:
            file.write(b".")
            number = file.tell()  # of this call among those of all workers
        if number == 4:
            (self.folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return part.Xt @ (H * weights)


def test_a_killed_worker_changes_nothing(client: Any, tmp_path: Path) -> None:
    X = sparse.vstack(list(STREAM), format="csr").astype(np.float64)
    H, weights = np.random.default_rng(1).random((900, 3)), np.array([1.0, 2.0, 3.0])
    with connect(client) as workers:
        rows = Rows.spread(Chunks(STREAM, 150), workers)
        for _ in range(3):  # parts that died with the worker are loaded again
            found = list(rows.each(DiesOnce(tmp_path), H, state=(weights,)))
            assert np.abs(sum(found) - X.T @ (H * weights)).max() < 1e-10
    assert (tmp_path / "died").exists()
    assert len(found) == 6


def test_documents_do_not_travel_again(client: Any) -> None:
    X = sparse.vstack(list(STREAM), format="csr").astype(np.float64)
    H = np.ones((900, 1))
    for visits in (1, 3):
        traffic = Traffic()
        with connect(client, traffic=traffic) as workers:
            rows = Rows.spread(Chunks(STREAM, 150), workers)
            for _ in range(visits):
                assert np.allclose(sum(rows.each(_sums, H)), X.sum(axis=0))
        assert traffic.bytes < 40_000 + visits * (H.nbytes + 6 * 300 * 8 + 6 * 2_000)


def _sums(part: Part, H: Any, threads: int) -> Any:
    return (part.Xt @ H).ravel()


def test_columns_that_come_later_are_known_to_all_parts() -> None:
    with connect(None) as here:
        rows = Rows.spread(Chunks([np.ones((2, 1)), np.ones((2, 3))], 2), here)
        assert rows.shape == (4, 3)
        assert rows.frequencies.tolist() == [4.0, 2.0, 2.0]
        assert rows.operator().times(np.eye(3)).tolist() == [[1, 0, 0], [1, 0, 0], [1, 1, 1], [1, 1, 1]]
        assert rows.operator().transposed_times(np.ones(4)).tolist() == [4, 2, 2]


def test_what_one_machine_must_do_is_refused_on_a_cluster(client: Any) -> None:
    with pytest.raises(DataError, match="leave out chunk_size or cluster"):
        NMF(chunk_size=10).fit(STREAM, cluster=client)
    with pytest.raises(DataError, match="leave out held_out or cluster"):
        PLSA(held_out=0.1).fit(STREAM, cluster=client)
    with pytest.raises(DataError, match="pass method='krylov'"):
        PCA(method="one_pass").fit(STREAM, cluster=client)
    with pytest.raises(DataError, match="no documents"):
        PLSA().fit([], cluster=client)
    with pytest.raises(DataError, match="only zeros"):
        NMF().fit(np.zeros((3, 2)), cluster=client)

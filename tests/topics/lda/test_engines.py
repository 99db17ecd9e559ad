"""Statistics, and engines that learn them: without an LDA."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from textmill.corpus import TopicStream, read_documents
from textmill.errors import DataError
from textmill.topics import CVB0, LDA, Batch, Gibbs, Online, Statistics
from textmill.topics.chunks import Chunks
from textmill.topics.lda.engines import Engine, Task
from textmill.topics.lda.variational import Partial
from textmill.vectors import TextVectorizer, Weighting

X = TopicStream(300, vocabulary=60, topics=3, alpha=0.1, eta=0.05, length=40, seed=0).chunk(0, 300)
ENGINES: list[Engine] = [Online(chunk_size=50), Batch(chunk_size=50), Gibbs(thin=5), CVB0(thin=5)]
TASK = Task(n_topics=3, alpha=0.1, eta=0.05, max_iter=20, random_state=1, n_jobs=1)


def statistics(counts: Any, documents: int = 1, **options: Any) -> Statistics:
    counts = np.array(counts, dtype=np.float64)
    priors = {"alpha": np.ones(counts.shape[1]), "eta": np.full((1, 1), 0.5)} | options
    return Statistics.of_counts(counts, documents=documents, **priors)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_an_engine_turns_statistics_of_nothing_into_those_of_the_documents(engine: Engine) -> None:
    learned = engine.fit(TASK.empty(), Chunks(X, engine.rows(), negative=False), TASK, workers=None)
    found = learned.statistics
    assert (found.documents, found.words, learned.n_iter) == (300, X.sum(), 20)
    assert found.term_topics.shape == (60, 3)
    assert found.topic_counts == pytest.approx(found.term_topics.sum(axis=0, dtype=float), rel=1e-5)
    if engine.name != "online":  # which still holds a little of its start
        assert found.term_topics.sum(axis=1) == pytest.approx(np.asarray(X.sum(axis=0)).ravel(), rel=1e-4)
    assert found.topics().sum(axis=0) == pytest.approx(np.ones(3))
    model = LDA(n_topics=3, method=engine, alpha=0.1, eta=0.05, max_iter=20, random_state=1, n_jobs=1).fit(X)
    assert model.term_topics_.tobytes() == found.term_topics.tobytes()


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_further_documents_are_added_and_new_words_are_new_rows(engine: Engine) -> None:
    half = Chunks(X[:150, :50], engine.rows(), negative=False)
    rest = Chunks(X[150:], engine.rows(), negative=False)
    first = engine.add(TASK.empty(), half, TASK, workers=None).statistics
    assert first.term_topics.shape == (50, 3)
    both = engine.add(first, rest, TASK, workers=None).statistics
    assert both.term_topics.shape == (60, 3)
    assert (both.documents, both.words) == (300, X[:150, :50].sum() + X[150:].sum())
    assert ((both.term_topics[50:].sum(axis=1) > 0) == (np.asarray(X[150:, 50:].sum(axis=0)).ravel() > 0)).all()


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_a_watch_sees_the_statistics_as_they_grow(engine: Engine) -> None:
    class Watch:
        def __init__(self) -> None:
            self.perplexities: list[float] = []
            self.updates: list[int] = []

        def __call__(self, statistics: Statistics) -> bool:
            self.updates.append(statistics.updates)
            self.perplexities.append(float(statistics.term_topics.sum()))
            return False

    watch = Watch()
    chunks = Chunks(X, engine.rows(), negative=False)
    engine.fit(TASK.empty(), chunks, TASK, workers=None, watch=watch)
    every = {"online": range(6, 121, 6), "batch": range(1, 21)}.get(engine.name, range(5, 21, 5))
    assert watch.updates == list(every)


def test_statistics_grow_blend_and_join() -> None:
    one = statistics([[4.0, 0.0], [0.0, 2.0]], documents=2)
    one.grow(1)
    assert one.n_terms == 2
    part = Partial(np.array([2], np.int32), np.array([[1.0, 3.0]]), 1, 4.0, np.zeros(2), 0.0)
    one.blend(part, rho=0.25, size=4.0)
    assert one.term_topics.tolist() == [[6.0, 0.0], [0.0, 3.0], [1.0, 3.0]]  # 0.75 x 4/2, and 0.25 x 4/1
    assert one.topic_counts.tolist() == [7.0, 6.0]
    assert (one.size, one.updates, one.n_terms) == (4.0, 2, 3)
    other = statistics([[0.0, 8.0]], documents=4)
    joined = one.joined(other, np.array([1, 0]), 0.5)
    assert joined.term_topics.tolist() == [[14.0, 0.0], [0.0, 3.0], [1.0, 3.0]]
    assert (joined.size, joined.documents, joined.updates) == (8.0, 6, 3)
    assert one.term_topics[0].tolist() == [6.0, 0.0]  # neither is changed
    with pytest.raises(DataError, match="2 topics, the other 1"):
        one.joined(statistics([[1.0]]), np.array([0]), 0.5)


def test_topics_are_expected_under_the_prior() -> None:
    made = statistics([[3.0, 0.0], [1.0, 2.0]], eta=np.array([[0.5], [1.5]]))
    assert made.topics() == pytest.approx(np.array([[3.5 / 6, 0.5 / 4], [2.5 / 6, 3.5 / 4]]))
    assert made.topics(np.array([1])) == pytest.approx(np.array([[2.5 / 6, 3.5 / 4]]))
    assert made.expected().totals.tolist() == [6.0, 4.0]


def test_engines_refuse_what_they_cannot_learn_from() -> None:
    nothing = Chunks(csr_matrix((2, 3)), None, negative=False)
    for engine in ENGINES:
        with pytest.raises(DataError, match=r"only zeros|no documents with a word"):
            engine.fit(TASK.empty(), nothing, TASK, workers=None)
    with pytest.raises(DataError, match="half_life takes the place of learning_decay"):
        Online(half_life=9.0, learning_decay=0.7)
    with pytest.raises(DataError, match="burn_in"):
        Gibbs(burn_in=20).check(TASK)


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("chunk_size", [1, 2], [0, 1.5]),
        ("update_every", [0, 3], [-1, 0.5]),
        ("learning_offset", [1, 1.5], [0.5]),
        ("learning_decay", [0.5, 0.7, 1], [0.4, 1.5, 2]),
        ("total_docs", [1, 2], [0, 2.5]),
        ("tolerance", [0, 0.5], [-0.1]),
        ("eval_every", [0, 2], [-1, 1.5]),
        ("half_life", [0.5, 3], [0, -1]),
    ],
)
def test_parameters_are_taken_up_to_their_limits(name: str, accepted: list[Any], refused: list[Any]) -> None:
    for value in accepted:
        assert getattr(Online(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(DataError, match=name):
            Online(**{name: value})


def test_a_run_of_so_many_passes_does_not_claim_to_have_converged() -> None:
    for engine in (Online(chunk_size=50), Batch(chunk_size=50)):
        assert not engine.fit(TASK.empty(), Chunks(X, 50, negative=False), TASK).converged


def test_statistics_stay_scaled_to_the_documents_that_were_named() -> None:
    engine = Online(chunk_size=50, total_docs=6000)
    found = engine.fit(TASK.empty(), Chunks(X, 50, negative=False), TASK).statistics
    assert found.size == pytest.approx(6000)
    assert found.topic_counts.sum() == pytest.approx(20 * X.sum(), rel=0.1)


def test_a_compressed_file_is_cut_into_chunks_like_a_list(tmp_path: Path) -> None:
    texts = [f"mill{i % 7} wind{i % 5} sail{i % 3}" for i in range(120)]
    with gzip.open(tmp_path / "texts.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    vectorizer = TextVectorizer(weighting=Weighting(scheme="nnn")).fit(texts)
    models = [
        LDA(n_topics=3, method=Online(chunk_size=25), vectorizer=vectorizer, max_iter=2, random_state=0).fit(source)
        for source in (texts, read_documents(tmp_path / "texts.jsonl.gz"))
    ]
    assert models[0].term_topics_.tobytes() == models[1].term_topics_.tobytes()

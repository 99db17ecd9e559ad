"""LDA on streams: endless, changing, larger than memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from textmill.corpus import DriftingStream, TopicStream
from textmill.topics import LDA, Online, make_model

MEMORY = """
import sys
import numpy as np
from scipy.sparse import csr_matrix
from textmill.topics import LDA, Online

documents, topics, terms, length = map(int, sys.argv[1:])
random = np.random.default_rng(0)

def stream():
    for _ in range(documents // 1000):
        words = np.minimum(random.pareto(0.6, (1000, length)) * 20, terms - 1).astype(np.int32)
        yield csr_matrix((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, length)), (1000, terms))

LDA(n_topics=topics, method=Online(total_docs=documents), inner_max_iter=10, random_state=0, n_jobs=1).fit(stream())
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]))  # of this program only; ru_maxrss would count the one that started it
"""


def peak(documents: int, topics: int, terms: int, length: int) -> float:
    """Megabytes of a process that learns from a stream of this many documents."""
    sizes = [str(size) for size in (documents, topics, terms, length)]
    done = subprocess.run([sys.executable, "-c", MEMORY, *sizes], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def test_memory_does_not_depend_on_the_number_of_documents() -> None:
    few, many = peak(10_000, 20, 5000, 10), peak(60_000, 20, 5000, 10)
    assert many < 1.05 * few


@pytest.mark.slow
def test_memory_of_a_million_documents_is_that_of_a_hundred_thousand() -> None:
    few, many = peak(100_000, 20, 5000, 10), peak(1_000_000, 20, 5000, 10)
    assert many < 1.05 * few
    assert many < 4 * 20 * 5000 * 8 / 2**20 + 150  # four tables of doubles, a chunk and Python itself


def test_a_large_model_fits_in_400_megabytes() -> None:
    assert peak(3_000, 400, 100_000, 80) < 400


def test_an_endless_stationary_stream_does_not_wear_the_model_out() -> None:
    stream = TopicStream(5200, vocabulary=400, topics=8, alpha=0.1, eta=0.05, length=50, seed=1)
    corpus = stream.chunk(0, 5200)
    held = corpus[5000:]
    lda = LDA(n_topics=8, alpha=0.1, eta=0.05, method=Online(chunk_size=50), random_state=0)
    perplexities = [lda.partial_fit(corpus[i : i + 50]).perplexity(held) for i in range(0, 5000, 50)]
    assert lda.updates_ == 100
    assert np.mean(perplexities[-10:]) <= 1.01 * min(perplexities)


def test_a_forgetting_model_follows_a_stream_whose_topics_change() -> None:
    stream = DriftingStream(8400, vocabulary=400, topics=6, alpha=0.1, eta=0.05, length=50, period=4000, seed=3)
    corpus = stream.chunk(0, 8000)
    held = stream.chunk(7800, 8000)
    settings = {"n_topics": 6, "alpha": 0.1, "eta": 0.05, "chunk_size": 50, "random_state": 0}
    made = []
    for seed in range(3):
        settings["random_state"] = seed
        fresh = make_model("lda", **settings).partial_fit(corpus[4000:6000])
        forgetting = make_model("lda", half_life=400, **settings).partial_fit(corpus[:6000])
        keeping = make_model("lda", learning_decay=1.0, **settings).partial_fit(corpus[:6000])
        made.append([lda.perplexity(held) for lda in (fresh, forgetting, keeping)])
    fresh, forgetting, keeping = np.mean(made, axis=0)
    # five half-lives after the change; after one, half of the statistics are old, so the perplexity is twice as high
    assert forgetting < 1.75 * fresh
    assert forgetting < 0.8 * keeping


def test_what_was_learned_weighs_half_after_a_half_life() -> None:
    corpus = TopicStream(2000, vocabulary=100, topics=4, length=30, seed=2).chunk(0, 2000)
    old, new = corpus[:1000].toarray(), corpus[1000:].toarray()
    old[:, 50:] = new[:, :50] = 0  # no words in common
    lda = LDA(n_topics=4, method=Online(half_life=1000, chunk_size=100), random_state=0, dtype="float64").partial_fit(
        old
    )
    before, documents = lda.term_topics_.T[:, :50].sum(), lda.documents_
    lda.partial_fit(new)
    background = 4 * 50  # one per topic and word, kept up for ever
    share = 0.5 ** ((lda.documents_ - documents) / 1000)
    assert lda.term_topics_.T[:, :50].sum() - background == pytest.approx((before - background) * share, rel=0.02)


def test_what_is_forgotten_is_replaced_by_noise_in_proportion_to_the_topics() -> None:
    corpus = TopicStream(400, vocabulary=300, topics=4, length=30, seed=2).chunk(0, 400)
    unseen = np.asarray(corpus[300:].sum(axis=0)).ravel() == 0
    patterns = []
    for seed in (0, 1):
        lda = LDA(n_topics=3, method=Online(half_life=100, chunk_size=100), random_state=seed, dtype="float64")
        lda.partial_fit(corpus[:300])
        before, counts = lda.term_topics_.T.copy(), lda.topic_counts_.copy()
        lda.partial_fit(corpus[300:])
        gain = lda.term_topics_.T[:, unseen] - 0.5 * before[:, unseen]
        expected = 0.5 * counts / counts.mean()
        patterns.append(gain / expected[:, None])
        assert np.ptp(expected) > 0.02
        assert gain.mean(axis=1) == pytest.approx(expected, rel=0.02)
    assert np.abs(patterns[0] - patterns[1]).mean() > 0.01

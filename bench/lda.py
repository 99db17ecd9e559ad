"""Online variational LDA: against gensim and scikit-learn on three corpora, k = 50, chunks of 1,000, 50 inner
iterations to 0.001, alpha = eta = 0.02, one pass, one thread; perplexity of 999 test documents by completion, scored
alike.

Two threads against one is measured on 20 Newsgroups, whose documents are longer. `default schedule` gives perplexities,
the mean of three starts, against what is asked for; `peak memory` megabytes of a process with 400 topics of 100,000
words, and how it grows from 10,000 to 100,000 documents.

TEXTMILL_DATA=... python -m bench lda
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from bench._corpora import TOPICAL, texts, topical
from bench.harness import Job, Options
from textmill.corpus import Vocabulary
from textmill.topics import LDA, Online, Statistics
from textmill.topics.lda.perplexity import completion
from textmill.topics.lda.variational import mixtures

PACKAGES = ["gensim", "scikit-learn", "scipy"]
TOPICS, CHUNK = 50, 1000
PERPLEXITIES = {1: 1560, 3: 1480}  # asked for, by passes

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
print(int(status["VmHWM"].split()[0]) / 1024)  # of this program only; ru_maxrss would count the one that started it
"""


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    table = [job for name in TOPICAL for job in races(name, *topical(options, name))]
    table += thread_jobs(options)
    train, test = topical(options, "Reuters")
    table += [schedule_job(train, test, passes, asked) for passes, asked in PERPLEXITIES.items()]
    return table + memory_jobs(options)


def races(title: str, train: csr_matrix, test: csr_matrix) -> list[Job]:
    """One pass of each toolkit with equal settings."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel
    from sklearn.decomposition import LatentDirichletAllocation

    corpus = list(Sparse2Corpus(train.T))
    words = {i: str(i) for i in range(train.shape[1])}
    prior = 1.0 / TOPICS

    def ours() -> LDA:
        return LDA(n_topics=TOPICS, method=Online(chunk_size=CHUNK), max_iter=1, random_state=0, n_jobs=1).fit(train)

    def gensim() -> Any:
        with threadpool_limits(1):
            return LdaModel(
                corpus, TOPICS, id2word=words, chunksize=CHUNK, passes=1, iterations=50, gamma_threshold=1e-3,
                alpha=np.full(TOPICS, prior, np.float32), eta=prior, eval_every=None, random_state=0,
            )  # fmt: skip

    def scikit() -> Any:
        with threadpool_limits(1):
            return LatentDirichletAllocation(
                TOPICS, doc_topic_prior=prior, topic_word_prior=prior, learning_method="online", batch_size=CHUNK,
                max_iter=1, max_doc_update_iter=50, mean_change_tol=1e-3, learning_offset=10, learning_decay=0.5,
                total_samples=train.shape[0], random_state=0, n_jobs=1,
            ).fit(train)  # fmt: skip

    @cache
    def our_quality() -> float:
        return perplexity(ours().term_topics_.T + prior, test)

    def quality(peer: Any) -> str:
        theirs = peer()
        lam = theirs.state.get_lambda() if hasattr(theirs, "state") else theirs.components_
        return f"perplexity {our_quality():.0f}, peer {perplexity(lam, test):.0f}"

    return [
        Job(f"{title}: online VB, one pass", ours, gensim, "gensim LdaModel", lambda: quality(gensim),
            figure="processor", bar=5.0, claim="online LDA"),
        Job(f"{title}: online VB, one pass", ours, scikit, "scikit-learn online", lambda: quality(scikit),
            figure="processor", bar=3.0, claim="online LDA"),
    ]  # fmt: skip


def perplexity(lam: Any, test: csr_matrix) -> float:
    """Document completion with topics of any origin: their lambda (k, m), inference and scoring by one evaluator."""
    k = len(lam)
    counts = np.maximum(np.ascontiguousarray(np.asarray(lam, dtype=np.float64).T) - 1 / k, 0.0)
    judge = Statistics.of_counts(counts, alpha=np.full(k, 1 / k), eta=np.full((1, 1), 1 / k))
    total, words = completion(test, partial(mixtures, topics=judge.expected(), n_jobs=1), judge.topics)
    return float(np.exp(-total / words))


def thread_jobs(options: Options) -> list[Job]:
    """Two threads against one."""
    X = csr_matrix(Vocabulary(min_df=5, max_df=0.1).fit_transform(texts(options, "20 News")[:10_000]))

    def run(threads: int) -> LDA:
        return LDA(n_topics=100, method=Online(chunk_size=2000), max_iter=1, random_state=0, n_jobs=threads).fit(X)

    def equal() -> str:
        return "same bytes" if (run(1).term_topics_ == run(2).term_topics_).all() else "DIFFERENT"

    name = "two threads, k = 100, 20 Newsgroups"
    return [Job(name, lambda: run(2), lambda: run(1), "one thread", equal, bar=1.7)]


def schedule_job(train: csr_matrix, test: csr_matrix, passes: int, asked: float) -> Job:
    """Mean perplexity of three starts; the peer is what is asked for."""

    @cache
    def found() -> float:
        models = [
            LDA(n_topics=TOPICS, method=Online(chunk_size=CHUNK), max_iter=passes, random_state=seed).fit(train)
            for seed in range(3)
        ]
        return float(np.mean([lda.perplexity(test) for lda in models]))

    plural = "" if passes == 1 else "es"
    name = f"default schedule, {passes} pass{plural}"
    return Job(
        name,
        found,
        lambda: asked,
        "asked for",
        lambda: "held-out perplexity",
        figure="returned",
        label="perplexity",
        bar=1.0,
    )


def memory_jobs(options: Options) -> list[Job]:
    """Peak sizes of processes that learn from a generated stream."""

    @cache
    def peak(documents: int, topics: int, terms: int, length: int) -> float:
        sizes = [str(size) for size in (documents, topics, terms, length)]
        done = subprocess.run([sys.executable, "-c", MEMORY, *sizes], capture_output=True, text=True, check=True)
        return float(done.stdout)

    many = 20_000 if options.quick else 100_000
    return [
        Job(
            "peak memory, 400 x 100,000",
            lambda: peak(3000, 400, 100_000, 80),
            lambda: 400.0,
            "asked for",
            figure="returned",
            label="MB",
            bar=1.0,
        ),
        Job(
            f"peak memory, {many:,} documents",
            lambda: peak(many, 20, 5000, 10),
            lambda: 1.05 * peak(10_000, 20, 5000, 10),
            "10,000 documents + 5 %",
            figure="returned",
            label="MB",
            bar=1.0,
        ),
    ]

"""Samplers of latent Dirichlet allocation: three corpora, one thread, against tomotopy's collapsed Gibbs.

Speed is nanoseconds of the processor for a token and sweep, from the same random start, setting up included for ours
only; quality is the perplexity of document completion, both sides judged by one evaluator (mixtures by folding in one
half of the words of 999 test documents, the other half scored), with alpha learned and equal priors.

TEXTMILL_DATA=... python -m bench gibbs
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bench._corpora import TOPICAL, topical
from bench.harness import Job, Options
from textmill.topics.lda.cvb0 import collapse_variational
from textmill.topics.lda.gibbs import Sampled, gibbs_mixtures, sample_topics
from textmill.topics.lda.perplexity import split_words

PACKAGES = ["tomotopy", "scipy"]
Clock = Callable[[], float]

_MEMORY = """
import resource
import numpy as np
from scipy.sparse import csr_matrix
from textmill.topics.lda.gibbs import sample_topics

random = np.random.default_rng(0)
rows = np.repeat(np.arange(5000), 200)
terms = random.integers(0, 100_000, len(rows))
X = csr_matrix((np.ones(len(rows), np.int32), (rows, terms)), shape=(5000, 100_000))
sample_topics(X, 400, eta=0.01, max_iter=3, thin=1, dtype="float32", random_state=0, n_jobs=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    table = [job for name in TOPICAL for job in jobs_of(options, name)]
    return [
        *table,
        Job(
            "memory of 100,000 terms x 400 topics, MB",
            _memory,
            lambda: 400.0,
            "the limit",
            figure="returned",
            label="MiB",
        ),
    ]


def jobs_of(options: Options, name: str) -> list[Job]:
    """The comparisons on one corpus."""
    import tomotopy

    warnings.filterwarnings("ignore", module="tomotopy")
    train, test = topical(options, name, limit=4000)
    tokens = int(train.sum())
    seen, rest = split_words(test)
    rows = np.repeat(np.arange(rest.shape[0]), np.diff(rest.indptr))

    def model(topics: int) -> Any:
        made = tomotopy.LDAModel(k=topics, alpha=1 / topics, eta=1 / topics, seed=1)
        for d in range(train.shape[0]):
            row = slice(train.indptr[d], train.indptr[d + 1])
            made.add_doc([str(word) for word in np.repeat(train.indices[row], train.data[row])])
        made.train(0)  # prepares
        return made

    def peer(topics: int, sweeps: int) -> Callable[[], float]:
        def run() -> float:
            made = model(topics)
            start = time.process_time()
            made.train(sweeps, workers=1)
            return (time.process_time() - start) / sweeps / tokens * 1e9

        return run

    def ours(
        method: Callable[..., Sampled], topics: int, sweeps: int, clock: Clock = time.process_time, **settings: Any
    ) -> Callable[[], float]:
        def run() -> float:
            start = clock()
            method(train, topics, max_iter=sweeps, random_state=1, **{"n_jobs": 1, "learn_alpha": True, **settings})
            return (clock() - start) / sweeps / tokens * 1e9

        return run

    def same_bytes() -> str:
        one, two = (sample_topics(train, 200, max_iter=5, random_state=1, n_jobs=threads) for threads in (1, 2))
        return "same bytes" if (one.counts == two.counts).all() else "DIFFERENT"

    def perplexity(phi: Any, alpha: Any) -> float:
        theta = gibbs_mixtures(seen, phi, alpha=alpha, max_iter=60, random_state=0)
        p = np.einsum("ek,ek->e", theta[rows], phi[rest.indices])
        return float(np.exp(-(rest.data @ np.log(p)) / rest.data.sum()))

    def our_perplexity(method: Callable[..., Sampled], topics: int, sweeps: int) -> float:
        found = method(train, topics, max_iter=sweeps, learn_alpha=True, random_state=1)
        return perplexity(
            (found.counts + 1 / topics) / (found.counts.sum(axis=0) + train.shape[1] / topics), found.alpha
        )

    def peer_perplexity(topics: int, sweeps: int) -> float:
        made = model(topics)
        made.train(sweeps, workers=1)
        phi = np.full((train.shape[1], topics), 1e-12)
        words = [int(word) for word in made.used_vocabs]
        phi[words] = np.array([made.get_topic_word_dist(t) for t in range(topics)]).T
        return perplexity(phi, np.array(made.alpha))

    def quality(method: Callable[..., Sampled], topics: int, *sweeps: int) -> Callable[[], str]:
        def judge() -> str:
            lines = []
            for many in sweeps:
                both = our_perplexity(method, topics, many), peer_perplexity(topics, many)
                lines.append(f"perplexity after {many} sweeps {both[0]:.0f}, peer {both[1]:.0f}")
            return "; ".join(lines)

        return judge

    fixed = sample_topics(train, 50, max_iter=20, random_state=1)
    phi = (fixed.counts + 0.02) / (fixed.counts.sum(axis=0) + 0.02 * train.shape[1])
    judge = model(50)
    judge.train(20, workers=1)
    news = []
    for d in range(seen.shape[0]):
        row = slice(seen.indptr[d], seen.indptr[d + 1])
        words = [str(word) for word in np.repeat(seen.indices[row], seen.data[row].astype(int))]
        if words:
            news.append(judge.make_doc(words))

    short = 5 if options.quick else 50
    runs = (10,) if options.quick else (150, 300) if name == "Reuters" else (150,)
    table = [
        Job(f"{name}: Gibbs, 50 topics", ours(sample_topics, 50, short), peer(50, short), "tomotopy",
            quality(sample_topics, 50, *runs), figure="returned", label="ns", bar=1.5, claim="a sweep, 50 topics"),
        Job(f"{name}: Gibbs, 200 topics", ours(sample_topics, 200, short), peer(200, short), "tomotopy",
            quality(sample_topics, 200, runs[0]), figure="returned", label="ns", bar=2.0,
            claim="a sweep, 200 topics"),
        Job(f"{name}: folding in, 100 sweeps",
            lambda: gibbs_mixtures(seen, phi, alpha=0.02, max_iter=100, random_state=0, n_jobs=1),
            lambda: judge.infer(news, iterations=100, workers=1), "tomotopy", claim="folding in"),
    ]  # fmt: skip
    if name != "Reuters":
        return table
    return [
        *table,
        Job("uncollapsed Gibbs, 50 topics", ours(sample_topics, 50, short, collapsed=False), peer(50, short),
            "tomotopy", figure="returned", label="ns"),
        Job("CVB0, 50 topics", ours(collapse_variational, 50, short), peer(50, short), "tomotopy",
            quality(collapse_variational, 50, *runs), figure="returned", label="ns"),
        Job("Gibbs, 200 topics, 2 threads", ours(sample_topics, 200, short, time.perf_counter, n_jobs=2),
            ours(sample_topics, 200, short, time.perf_counter), "one thread", same_bytes, figure="returned",
            label="ns"),
    ]  # fmt: skip


def _memory() -> float:
    return float(subprocess.run([sys.executable, "-c", _MEMORY], capture_output=True, text=True, check=True).stdout)

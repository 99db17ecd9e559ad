"""Streamed LSA: textmill against gensim and scikit-learn on Reuters-21578 and 20 Newsgroups, k = 100, one thread.

TEXTMILL_DATA=... python -m bench lsa

Rows in units other than seconds hold accuracies (mean relative error of the singular values, in parts per thousand, and
root mean squared error of document similarities, times ten thousand) beside the figures published for the same
settings: ratio >= 0.91 means not worse than published + 10 %. The last rows are peak memory, and two workers.
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import cache
from typing import Any

import numpy as np

from bench.harness import Job, Options
from textmill.corpus import TopicStream, preset, read_documents
from textmill.topics import LSA
from textmill.topics.accuracy import relative_errors, similarity_rmse
from textmill.topics.merging import merge, merge_qr
from textmill.topics.passes import Plan, node
from textmill.vectors import TextVectorizer

PACKAGES = ["gensim", "scikit-learn", "scipy", "distributed"]
K = 100

# algorithm, chunk size, l, q: mean relative error and similarity RMSE published for Reuters
PUBLISHED: list[tuple[str, dict[str, Any], float, float]] = [
    ("P1 c=100", {"algorithm": "one_pass", "chunk_size": 100, "oversampling": 0}, 0.061, 0.0375),
    ("P1 c=200", {"algorithm": "one_pass", "chunk_size": 200, "oversampling": 0}, 0.113, 0.0379),
    ("P1 c=500", {"algorithm": "one_pass", "chunk_size": 500, "oversampling": 0}, 0.127, 0.0342),
    ("P1 c=1000", {"algorithm": "one_pass", "chunk_size": 1000, "oversampling": 0}, 0.117, 0.0326),
    ("P1 c=2500", {"algorithm": "one_pass", "chunk_size": 2500, "oversampling": 0}, 0.081, 0.0272),
    ("P1 c=5000", {"algorithm": "one_pass", "chunk_size": 5000, "oversampling": 0}, 0.047, 0.0242),
    ("P1 c=1000 l=100", {"algorithm": "one_pass", "chunk_size": 1000, "oversampling": 100}, 0.045, 0.0171),
    ("P1 c=1000 l=200", {"algorithm": "one_pass", "chunk_size": 1000, "oversampling": 200}, 0.025, 0.0124),
    ("P12 c=1000", {"algorithm": "hybrid", "chunk_size": 1000, "oversampling": 0}, 0.127, 0.0335),
    ("P12 c=5000", {"algorithm": "hybrid", "chunk_size": 5000, "oversampling": 0}, 0.059, 0.0272),
    ("P12 c=1000 l=100", {"algorithm": "hybrid", "chunk_size": 1000, "oversampling": 100}, 0.048, 0.0173),
    ("P2 l=0 q=0", {"algorithm": "two_pass", "oversampling": 0, "power_iterations": 0}, 0.41, 0.101),
    ("P2 l=100 q=0", {"algorithm": "two_pass", "oversampling": 100, "power_iterations": 0}, 0.31, 0.083),
    ("P2 l=0 q=1", {"algorithm": "two_pass", "oversampling": 0, "power_iterations": 1}, 0.107, 0.058),
    ("P2 l=100 q=1", {"algorithm": "two_pass", "oversampling": 100, "power_iterations": 1}, 0.042, 0.039),
    ("P2 l=0 q=3", {"algorithm": "two_pass", "oversampling": 0, "power_iterations": 3}, 0.024, 0.038),
    ("P2 l=100 q=3", {"algorithm": "two_pass", "oversampling": 100, "power_iterations": 3}, 0.0025, 0.0127),
    ("refined c=1000 l=100", {"chunk_size": 1000, "oversampling": 100}, 0.0043, 0.0105),
    ("refined c=1000 l=100 q=1", {"chunk_size": 1000, "oversampling": 100, "power_iterations": 1}, 0.0006, 0.0055),
]


class Corpus:
    """A weighted matrix, its true factors, and 1,000 of its documents."""

    def __init__(self, path: Any, documents: int | None) -> None:
        vectorizer = TextVectorizer(vocabulary=preset("reuters"))
        self.X = vectorizer.fit_transform(read_documents(path))[:documents]
        self.truth = LSA(n_topics=K, algorithm="one_pass", oversampling=0, chunk_size=10**6, n_jobs=1).fit(self.X)
        rows = np.random.default_rng(0).choice(self.X.shape[0], min(1000, self.X.shape[0]), replace=False)
        self.some = self.X[rows]
        self.true_vectors = self.truth.transform(self.some)
        self.accuracy = cache(self._accuracy)

    def fit(self, **settings: Any) -> LSA:
        return LSA(n_topics=K, n_jobs=1, **settings).fit(self.X)

    def errors(self, values: Any, basis: Any) -> tuple[float, float]:
        mean = float(relative_errors(values, self.truth.singular_values_).mean())
        return mean, similarity_rmse(self.some @ basis, self.true_vectors)

    def _accuracy(self, name: str) -> tuple[float, float]:
        model = self.fit(**next(settings for row, settings, *_ in PUBLISHED if row == name))
        return self.errors(model.singular_values_, model.components_.T)


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LsiModel
    from sklearn.decomposition import TruncatedSVD

    few = 1500 if options.quick else None
    reuters = Corpus(options.data / "reuters" / "reuters21578.jsonl.gz", few)
    news = Corpus(options.data / "newsgroups" / "20news.jsonl.gz", few)
    made: list[Job] = []

    def said(errors: tuple[float, float]) -> str:
        return f"mean r {errors[0]:.4f}, RMSE {errors[1]:.4f}"

    for title, corpus in (("Reuters", reuters), ("20 Newsgroups", news)):
        bags = list(Sparse2Corpus(corpus.X, documents_columns=False))
        names = {i: str(i) for i in range(corpus.X.shape[1])}
        for size in (1000, 5000):
            hybrid = {"algorithm": "hybrid", "chunk_size": size, "oversampling": 0}

            def lsi(bags: Any = bags, names: Any = names, size: int = size) -> Any:
                return LsiModel(bags, num_topics=K, id2word=names, chunksize=size)

            def both(corpus: Corpus = corpus, hybrid: Any = hybrid, lsi: Any = lsi) -> str:
                ours, theirs = corpus.fit(**hybrid), lsi().projection
                return (
                    f"{said(corpus.errors(ours.singular_values_, ours.components_.T))}; "
                    f"gensim {said(corpus.errors(theirs.s, theirs.u))}"
                )

            made.append(
                Job(f"{title}: hybrid, chunks of {size}", lambda c=corpus, h=hybrid: c.fit(**h), lsi,
                    "gensim LsiModel one-pass", both, bar=3.0)
            )  # fmt: skip
        for q in (1, 3):
            two = {"algorithm": "two_pass", "oversampling": 100, "power_iterations": q, "chunk_size": 10**6}

            def svd(corpus: Corpus = corpus, q: int = q) -> Any:
                return TruncatedSVD(K, n_iter=q, n_oversamples=100, random_state=0).fit(corpus.X)

            def quality(corpus: Corpus = corpus, two: Any = two, svd: Any = svd) -> str:
                ours, theirs = corpus.fit(**two), svd()
                return (
                    f"{said(corpus.errors(ours.singular_values_, ours.components_.T))}; "
                    f"scikit-learn {said(corpus.errors(theirs.singular_values_, theirs.components_.T))}"
                )

            made.append(
                Job(f"{title}: two_pass, l=100 q={q}", lambda c=corpus, t=two: c.fit(**t), svd,
                    "scikit-learn TruncatedSVD", quality, bar=1.0)
            )  # fmt: skip
        made += accuracy_jobs(title, corpus)
    chunks = [reuters.X[i : i + K // 2] for i in range(0, min(2500, reuters.X.shape[0]), K // 2)]
    made.append(
        Job("merge 3.2 against 3.1, c = k/2", lambda: node(chunks, Plan(K, merge=merge)),
            lambda: node(chunks, Plan(K, merge=merge_qr)), "textmill, algorithm 3.1", bar=2.0)
    )  # fmt: skip
    documents = (2_000, 6_000) if options.quick else (100_000, 1_000_000)
    made.append(
        Job("peak memory, m=50,000 k=200", lambda: peak(documents[1]), lambda: peak(documents[0]),
            f"{documents[0]:,} documents, ours {documents[1]:,}", limit, unit="MB", bar=0.95)
    )  # fmt: skip
    made.append(
        Job("two workers, 24 jobs each", lambda: on_workers(2), lambda: on_workers(1), "one worker", unit=" s", bar=1.7)
    )
    return made


def accuracy_jobs(title: str, corpus: Corpus) -> list[Job]:
    """The published accuracies; those of 20 Newsgroups stand beside the ones of Reuters without a bar."""
    made = []
    for name, _, mean, rmse in PUBLISHED:
        bar = 0.91 if title == "Reuters" else None
        for figure, (unit, scale, published) in enumerate((("r", 1e3, mean), ("e", 1e4, rmse))):

            def ours(name: str = name, figure: int = figure, scale: float = scale) -> float:
                return corpus.accuracy(name)[figure] * scale

            def theirs(published: float = published, scale: float = scale) -> float:
                return published * scale

            made.append(Job(f"{title}: {name}", ours, theirs, "published for Reuters", unit=unit, bar=bar))
    return made


CHILD = """
import sys
from textmill.corpus import ZipfStream
from textmill.topics import LSA
stream = ZipfStream(int(sys.argv[1]), vocabulary=50_000, length=60, chunk=2048, seed=1)
LSA(n_topics=200, oversampling=0, algorithm="hybrid", chunk_size=10_000).fit(iter(stream))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@cache
def peak(documents: int) -> float:
    """Peak resident memory, in MB, of a process that decomposes that many generated documents."""
    result = subprocess.run([sys.executable, "-c", CHILD, str(documents)], capture_output=True, text=True, check=True)
    return int(result.stdout) / 1024


def limit() -> str:
    return f"bound 3.5 m (k + l) 8 bytes = {3.5 * 50_000 * 200 * 8 / 2**20:.0f} MB, plus chunk, samples and interpreter"


def on_workers(workers: int) -> float:
    """Seconds of a one-pass fit on worker processes of one thread each."""
    from distributed import Client, LocalCluster

    stream = TopicStream(24_000, vocabulary=20_000, topics=100, length=100, chunk=500, seed=1)
    model = LSA(n_topics=100, oversampling=0, algorithm="hybrid", chunk_size=500, chunks_per_job=1, n_jobs=1)
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local,
        Client(local, set_as_default=False) as client,
    ):
        client.run(lambda: __import__("textmill.topics"))
        began = time.perf_counter()
        model.fit(stream, cluster=client)
        return time.perf_counter() - began

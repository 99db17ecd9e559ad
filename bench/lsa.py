"""Streamed LSA: textmill against gensim and scikit-learn on four corpora, k = 100, one thread.

TEXTMILL_DATA=... python -m bench lsa

Rows in units other than seconds hold accuracies: mean relative error of the singular values, in parts per thousand,
and root mean squared error of document similarities, times ten thousand. Beside them stands the figure published
for the same settings on Reuters plus 10 %, or what is asked of `refined`; a ratio of 1 or more keeps to it. Each is
worked out once, however many repeats are asked for, as are the last rows: peak memory, and two workers against one.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from bench._corpora import texts
from bench._lsa_accuracy import relative_errors, similarity_rmse
from bench._lsa_baselines import frequent_directions, zms
from bench.harness import Job, Options
from papers._shared.presets import preset
from textmill.corpus import ZipfStream
from textmill.topics import LSA
from textmill.topics.decomposition import blas_threads
from textmill.topics.lsa.merging import merge, merge_qr
from textmill.topics.lsa.passes import Plan, node
from textmill.vectors import TextVectorizer

PACKAGES = ["gensim", "scikit-learn", "scipy", "distributed"]
K = 100

ONE: dict[str, Any] = {"method": "one_pass", "chunk_size": 1000, "oversampling": 0}
HYBRID: dict[str, Any] = ONE | {"method": "hybrid"}
TWO: dict[str, Any] = {"method": "two_pass", "chunk_size": 10**6}
REFINED: dict[str, Any] = {"method": "refined", "chunk_size": 1000, "oversampling": 100}

# what is run, its settings (`order` is that of the documents), and the mean error and RMSE that it may have
ACCURACY: list[tuple[str, dict[str, Any], float, float]] = [
    ("P1 c=100", ONE | {"chunk_size": 100}, 0.061 * 1.1, 0.0375 * 1.1),
    ("P1 c=200", ONE | {"chunk_size": 200}, 0.113 * 1.1, 0.0379 * 1.1),
    ("P1 c=500", ONE | {"chunk_size": 500}, 0.127 * 1.1, 0.0342 * 1.1),
    ("P1 c=1000", ONE, 0.117 * 1.1, 0.0326 * 1.1),
    ("P1 c=2500", ONE | {"chunk_size": 2500}, 0.081 * 1.1, 0.0272 * 1.1),
    ("P1 c=5000", ONE | {"chunk_size": 5000}, 0.047 * 1.1, 0.0242 * 1.1),
    ("P1 c=1000 l=100", ONE | {"oversampling": 100}, 0.045 * 1.1, 0.0171 * 1.1),
    ("P1 c=1000 l=200", ONE | {"oversampling": 200}, 0.025 * 1.1, 0.0124 * 1.1),
    ("P12 c=1000", HYBRID, 0.127 * 1.1, 0.0335 * 1.1),
    ("P12 c=5000", HYBRID | {"chunk_size": 5000}, 0.059 * 1.1, 0.0272 * 1.1),
    ("P12 c=1000 l=100", HYBRID | {"oversampling": 100}, 0.048 * 1.1, 0.0173 * 1.1),
    ("ZMS c=100", {"zms": 100}, 0.061 * 1.1, 0.0375 * 1.1),
    ("ZMS c=1000", {"zms": 1000}, 0.041 * 1.1, 0.0338 * 1.1),
    ("Frequent Directions, 200 rows", {"directions": 1000}, 0.45 * 1.1, 0.0465 * 1.1),
    ("P2 l=0 q=0", TWO | {"oversampling": 0, "power_iterations": 0}, 0.41 * 1.1, 0.101 * 1.1),
    ("P2 l=100 q=0", TWO | {"oversampling": 100, "power_iterations": 0}, 0.31 * 1.1, 0.083 * 1.1),
    ("P2 l=0 q=1", TWO | {"oversampling": 0, "power_iterations": 1}, 0.107 * 1.1, 0.058 * 1.1),
    ("P2 l=100 q=1", TWO | {"oversampling": 100, "power_iterations": 1}, 0.042 * 1.1, 0.039 * 1.1),
    ("P2 l=0 q=3", TWO | {"oversampling": 0, "power_iterations": 3}, 0.024 * 1.1, 0.038 * 1.1),
    ("P2 l=100 q=3", TWO | {"oversampling": 100, "power_iterations": 3}, 0.0025 * 1.1, 0.0127 * 1.1),
    ("P1 shuffled", ONE | {"order": "shuffled"}, 0.117 * 1.1, 0.0321 * 1.1),
    ("P1 reversed", ONE | {"order": "reversed"}, 0.133 * 1.1, 0.0373 * 1.1),
    ("P1 sorted by topic", ONE | {"order": "sorted"}, 0.087 * 1.1, 0.0353 * 1.1),
    ("P1 l=100 shuffled", ONE | {"oversampling": 100, "order": "shuffled"}, 0.044 * 1.1, 0.0194 * 1.1),
    ("P1 l=100 sorted", ONE | {"oversampling": 100, "order": "sorted"}, 0.044 * 1.1, 0.0187 * 1.1),
    ("tree of merges", ONE | {"chunks_per_job": 1}, 0.135 * 1.1, 0.0336 * 1.1),
    ("tree of merges, sorted", ONE | {"chunks_per_job": 1, "order": "sorted"}, 0.095 * 1.1, 0.0304 * 1.1),
    ("refined l=0", REFINED | {"oversampling": 0, "chunk_method": "lanczos"}, 0.024 * 1.1, 0.0326 * 1.1),
    ("refined l=100", REFINED, 0.0035 * 1.1, 0.0105),
    ("refined l=100 q=1", REFINED | {"power_iterations": 1}, 0.0005 * 1.1, 0.0055),
]
KEY_ROWS = ("P1 c=1000", "P1 c=1000 l=100", "P12 c=5000", "P2 l=100 q=1", "P2 l=100 q=3", "refined l=100",
            "refined l=100 q=1")  # fmt: skip


class Corpus:
    """A weighted matrix, its true factors, and 1,000 of its documents."""

    def __init__(self, documents: list[str]) -> None:
        self.X = TextVectorizer(vocabulary=preset("reuters")).fit_transform(documents)
        self.truth = self.fit(method="one_pass", oversampling=0, chunk_size=10**6)
        random = np.random.default_rng(0)
        self.some = self.X[random.choice(self.X.shape[0], min(1000, self.X.shape[0]), replace=False)]
        self.true_vectors = self.truth.transform(self.some)
        self.orders = {
            "shuffled": random.permutation(self.X.shape[0]),
            "reversed": np.arange(self.X.shape[0])[::-1],
            "sorted": np.argsort(np.abs(self.truth.transform(self.X)).argmax(axis=1), kind="stable"),
        }
        self.accuracy = cache(self._accuracy)

    def fit(self, order: str | None = None, **settings: Any) -> LSA:
        return LSA(n_topics=K, n_jobs=1, **settings).fit(self.X if order is None else self.X[self.orders[order]])

    def errors(self, values: Any, basis: Any) -> tuple[float, float]:
        mean = float(relative_errors(values, self.truth.singular_values_).mean())
        return mean, similarity_rmse(self.some @ basis, self.true_vectors)

    def _accuracy(self, name: str) -> tuple[float, float]:
        settings = next(settings for row, settings, *_ in ACCURACY if row == name)
        if "zms" in settings or "directions" in settings:
            (kind, size), *_ = settings.items()
            parts = (self.X[i : i + size] for i in range(0, self.X.shape[0], size))
            with blas_threads(1):
                made = zms(parts, K) if kind == "zms" else frequent_directions(parts, 2 * K)
            return self.errors(made.s[:K], made.U[:, :K])
        model = self.fit(**settings)
        return self.errors(model.singular_values_, model.components_.T)


class Race:
    """Two fits of one corpus on one thread each; the last models are kept, to say how accurate they are."""

    def __init__(self, corpus: Corpus, ours: Callable[[], LSA], peer: Callable[[], tuple[Any, Any]], name: str) -> None:
        self.corpus = corpus
        self.fits: dict[str, Callable[[], Any]] = {"ours": ours, "peer": peer}
        self.name = name
        self.made: dict[str, Any] = {}

    def run(self, side: str) -> None:
        with blas_threads(1):
            self.made[side] = self.fits[side]()

    def quality(self) -> str:
        model = self.made["ours"]
        ours = self.corpus.errors(model.singular_values_, model.components_.T)
        peer = self.corpus.errors(*self.made["peer"])
        return "mean r {:.4f}, RMSE {:.4f}; ".format(*ours) + f"{self.name} {peer[0]:.4f}, {peer[1]:.4f}"


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    reuters, news, reviews, sentences = (
        Corpus(texts(options, name)) for name in ("Reuters", "20 News", "Reviews", "Sentences")
    )
    table = [
        *races("Reuters", reuters, sizes=(1000, 5000), powers=(1, 3)),
        *races("20 News", news, sizes=(5000,), powers=(1,)),
        *races("Reviews", reviews, sizes=(1000,), powers=(1,)),
        *races("Sentences", sentences, sizes=(5000,), powers=(1,)),
        *accuracies("Reuters", reuters, [name for name, *_ in ACCURACY], bar=1.0),
        *accuracies("20 News", news, KEY_ROWS, bar=None),
    ]
    chunks = [reuters.X[i : i + K // 2] for i in range(0, min(2500, reuters.X.shape[0]), K // 2)]
    table.append(
        Job("merge 3.2 against 3.1, c = k/2", lambda: node(chunks, Plan(K, merge=merge)),
            lambda: node(chunks, Plan(K, merge=merge_qr)), "textmill, method 3.1", bar=2.0)
    )  # fmt: skip
    few_documents, documents = (60_000, 120_000) if options.quick else (100_000, 1_000_000)
    table += [
        Job(f"peak memory, {documents:,} documents", lambda: peak(documents)[0], lambda: peak(few_documents)[0],
            f"{few_documents:,} documents", lambda: "m = 50,000, k = 200", figure="returned", label="MB", bar=0.95),
        Job("the same without interpreter", lambda: peak(documents)[1], lambda: LIMIT,
            "3.5 m k 8 bytes + chunk", figure="returned", label="MB", bar=1.0),
    ]  # fmt: skip
    size = 4 if options.quick else 40
    table.append(
        Job("two workers, 20 jobs each", lambda: workers(size)[1], lambda: workers(size)[0], "one worker",
            lambda: "medians of 3 alternating runs", figure="returned", bar=1.7)
    )  # fmt: skip
    return table


def races(title: str, corpus: Corpus, sizes: tuple[int, ...], powers: tuple[int, ...]) -> list[Job]:
    """Speed and accuracy beside gensim and scikit-learn."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LsiModel
    from sklearn.decomposition import TruncatedSVD

    bags = list(Sparse2Corpus(corpus.X, documents_columns=False))
    names = {i: str(i) for i in range(corpus.X.shape[1])}

    def lsi(size: int, **settings: Any) -> tuple[Any, Any]:
        model = LsiModel(bags, num_topics=K, id2word=names, chunksize=size, random_seed=0, **settings).projection
        return model.s, model.u

    def svd(q: int) -> tuple[Any, Any]:
        model = TruncatedSVD(K, n_iter=q, n_oversamples=100, random_state=0).fit(corpus.X)
        return model.singular_values_, model.components_.T

    def race(name: str, settings: dict[str, Any], peer: Callable[[], Any], peer_name: str, bar: float | None) -> Job:
        both = Race(corpus, lambda: corpus.fit(**settings), peer, peer_name.split()[0])
        return Job(
            f"{title}: {name}", lambda: both.run("ours"), lambda: both.run("peer"), peer_name, both.quality,
            figure="processor", bar=bar, claim="LSA" if bar else "",
        )  # fmt: skip

    made = [
        race(f"hybrid, chunks of {c}", HYBRID | {"chunk_size": c}, lambda c=c: lsi(c), "gensim LsiModel one-pass", 3.0)  # type: ignore[misc]
        for c in sizes
    ]
    made += [
        race(f"two_pass, l=100 q={q}", TWO | {"oversampling": 100, "power_iterations": q}, lambda q=q: svd(q),  # type: ignore[misc]
             "scikit-learn TruncatedSVD", 1.0)
        for q in powers
    ]  # fmt: skip
    two = TWO | {"oversampling": 100, "power_iterations": 2}
    made.append(
        race("two_pass, l=100 q=2", two, lambda: lsi(20_000, onepass=False), "gensim LsiModel two passes", None)
    )
    return made


def accuracies(title: str, corpus: Corpus, names: Any, bar: float | None) -> list[Job]:
    """Two rows for each setting."""
    made = []
    for name, _, mean, rmse in (row for row in ACCURACY if row[0] in names):
        for figure, (label, scale, limit) in enumerate((("mean r, 1e-3", 1e3, mean), ("RMSE, 1e-4", 1e4, rmse))):

            def ours(name: str = name, figure: int = figure, scale: float = scale) -> float:
                return max(1e-6, corpus.accuracy(name)[figure]) * scale

            def asked(limit: float = limit, scale: float = scale) -> float:
                return limit * scale

            made.append(
                Job(f"{title}: {name}", ours, asked, "asked for Reuters", figure="returned", label=label, bar=bar)
            )
    return made


CHILD = """
import sys
from textmill.corpus import ZipfStream
from textmill.topics import LSA
def memory(what):
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith(what))) / 1024
def fit(documents, terms, factors, chunk):
    stream = ZipfStream(documents, vocabulary=terms, length=10, chunk_size=2048, seed=1)
    LSA(n_topics=factors, oversampling=0, method="hybrid", chunk_size=chunk, n_jobs=1).fit(iter(stream))
fit(2000, 500, 10, 500)  # loads what is loaded late
before = memory("VmRSS")
fit(int(sys.argv[1]), 50_000, 200, 20_000)
print(memory("VmHWM"), memory("VmHWM") - before)
"""
LIMIT = (3.5 * 50_000 * 200 * 8 + 20_000 * 10 * 8) / 2**20


@cache
def peak(documents: int) -> tuple[float, float]:
    """Peak resident MB of a process that decomposes that many generated documents, whole and above the interpreter."""
    result = subprocess.run([sys.executable, "-c", CHILD, str(documents)], capture_output=True, text=True, check=True)
    whole, above = result.stdout.split()
    return float(whole), float(above)


@cache
def workers(jobs: int) -> tuple[float, float]:
    """Median seconds of a one-pass fit by one worker process and by two, of one thread each."""
    from distributed import Client, LocalCluster

    chunk, per_job = 2000, 3
    model = LSA(n_topics=K, oversampling=0, method="hybrid", chunk_size=chunk, chunks_per_job=per_job, n_jobs=1)

    def seconds(client: Client, jobs: int) -> float:
        stream = ZipfStream(jobs * per_job * chunk, vocabulary=10_000, length=50, chunk_size=chunk, seed=1)
        began = time.perf_counter()
        model.fit(stream, cluster=client)
        return time.perf_counter() - began

    figures: dict[int, list[float]] = {1: [], 2: []}
    for run in range(3):
        for count in (1, 2) if run % 2 == 0 else (2, 1):
            with (
                LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local,
                Client(local, set_as_default=False) as client,
            ):
                seconds(client, 2 * count)  # what is loaded and compiled late
                figures[count].append(seconds(client, jobs))
    return statistics.median(figures[1]), statistics.median(figures[2])

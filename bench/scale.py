"""Vocabularies at scale: spilling to disk, constant memory, two workers.

    TEXTMILL_DATA=... python -m bench scale

memory  peak resident memory of counting, weighting and writing out a generated stream, in a process of its own: that of
        ten times as many documents is to be within 10 % (ratio at least 0.91)
spill   counting 20 Newsgroups with a limit far below its vocabulary, against no limit: at most three times the time
dask    the vocabulary of 20 Newsgroups, twenty times, by two workers against one
"""

from __future__ import annotations

import atexit
import gzip
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.harness import Job, Options
from textmill.corpus import Vocabulary, read_documents

PACKAGES = ["distributed", "scipy"]

STREAM = """
import sys, tempfile
from textmill.corpus import Chain, Vocabulary, write_bags
from textmill.corpus.synthetic import ZipfStream
from textmill.vectors import Weighting
texts = ZipfStream(int(sys.argv[1]), vocabulary=20_000, length=40, seed=1).tokens()
vocabulary = Vocabulary().fit(texts)
weighting = Weighting.of(vocabulary)
with tempfile.TemporaryDirectory() as folder:
    write_bags(f"{folder}/stream.mm", Chain(vocabulary.bags(texts), weighting.transform))
# not getrusage: its peak begins with that of the process that started this one
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024)
"""


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    source = options.data / "newsgroups" / "20news.jsonl.gz"
    texts = list(read_documents(source).texts())[: 500 if options.quick else None]
    small = 2_000 if options.quick else 100_000

    def peak(documents: int) -> float:
        done = subprocess.run(
            [sys.executable, "-c", STREAM, str(documents)], check=True, capture_output=True, text=True
        )
        return float(done.stdout)

    def spilled() -> Vocabulary:
        return Vocabulary(memory="2MB").fit(texts)

    def equal() -> str:
        limited, plain = spilled(), Vocabulary().fit(texts)
        same = limited.terms_ == plain.terms_ and (limited.collection_frequency_ == plain.collection_frequency_).all()
        return f"{len(plain)} terms, {'identical' if same else 'DIFFERENT'} counts"

    copies = _copies(source, 1 if options.quick else 20)

    def on_workers(workers: int) -> float:
        return _seconds_on_a_cluster(copies, workers)

    def plain_and_clustered() -> str:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            there = Vocabulary().fit(read_documents(copies), cluster=client)
        return f"equal to one process: {there.terms_ == Vocabulary().fit(read_documents(copies)).terms_}"

    return [
        Job("memory, MiB: 10 times the documents", lambda: peak(10 * small), lambda: peak(small), f"{small} documents",
            figure="returned", label="MiB", bar=0.91),
        Job("spill beyond 2 MB", spilled, lambda: Vocabulary().fit(texts), "no limit", equal, bar=0.33),
        Job("20 News x 20, two workers, seconds", lambda: on_workers(2), lambda: on_workers(1), "one worker",
            plain_and_clustered, figure="returned", bar=1.6),
    ]  # fmt: skip


def _copies(source: Path, times: int) -> str:
    """A file with copies of the corpus."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name, "copies.jsonl")
    content = gzip.decompress(source.read_bytes())
    with path.open("wb") as out:
        for _ in range(times):
            out.write(content)
    return str(path)


def _seconds_on_a_cluster(path: str, workers: int) -> float:
    """How long a new Dask cluster counts, once its workers have started and have textmill loaded."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        Vocabulary().fit(["warm", "up"] * 25_000, cluster=client)
        start = time.perf_counter()
        Vocabulary().fit(read_documents(path), cluster=client)
        return time.perf_counter() - start

"""Language models: textmill, kenlm and MITLM on Brown.

Scoring: every fifth sentence by a trigram model of the others, from one ARPA file, against kenlm from Python; from
lists of tokens (kenlm joins them first) and from ids. Training: counting, modified Kneser-Ney and an ARPA file from a
file of lines, against `estimate-ngram` of MITLM, which the phonetisaurus package brings along. Drawing text, counting
within memory, 8 bits and pruning have no peer here: the peer's column is what is asked for. On two threads the figure
is the time by the clock, which means little where other people use the cores.

    TEXTMILL_DATA=... python -m bench lm
"""

from __future__ import annotations

import importlib.util
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench import _corpora
from bench.harness import Job, Options
from textmill.corpus import Sentences, Tokenizer
from textmill.lm import NGramModel, prune, quantize, to_arpa

PACKAGES = ["kenlm", "phonetisaurus"]
SHARES = (1.0, 0.5, 0.25, 0.125)
STREAM = """
import os, threading, time
from textmill.corpus import ZipfStream
from textmill.lm import NGramModel

peak = 0

def own():
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1000

def watch():
    global peak
    while True:
        peak = max(peak, own())
        time.sleep(0.02)

threading.Thread(target=watch, daemon=True).start()
stream = ZipfStream({documents}, length=500, vocabulary=200_000, seed=1)
model = NGramModel(order=3, memory="512MB").fit(stream.tokens())
print(peak, len(model.last_words_) - 1, time.process_time())
"""


def jobs(options: Options) -> list[Job]:
    """All comparisons."""

    @cache
    def brown() -> tuple[list[list[str]], list[list[str]]]:
        cut = Tokenizer()
        sentences = [cut(sentence) for sentence in Sentences(_corpora.texts(options, "Brown"))]
        return [s for i, s in enumerate(sentences) if i % 5], sentences[::5]

    @cache
    def model(smoothing: str = "modified-kneser-ney") -> NGramModel:
        return NGramModel(order=3, smoothing=smoothing, n_jobs=1).fit(brown()[0])

    @cache
    def peer() -> Any:
        import kenlm

        with tempfile.TemporaryDirectory() as folder:
            to_arpa(model(), f"{folder}/model.arpa")
            return kenlm.Model(f"{folder}/model.arpa")

    @cache
    def ids() -> tuple[Any, Any]:
        table = {word: i for i, word in enumerate(model().words_)}
        offsets = np.cumsum([0, *map(len, brown()[1])])
        return offsets, np.array([table.get(word, 0) for s in brown()[1] for word in s], dtype=np.int32)

    def by_kenlm() -> float:
        score = peer().score
        return sum(score(" ".join(sentence)) for sentence in brown()[1])

    def by_lists(threads: int) -> float:
        return float(model().set_params(n_jobs=threads).scores(brown()[1]).log_probability.sum())

    def by_ids() -> float:
        return float(model().set_params(n_jobs=1).scores_of_ids(*ids()).log_probability.sum())

    def both() -> str:
        return f"log10 p {by_lists(1):.1f}, {by_ids():.1f} by ids, peer {by_kenlm():.1f}"

    def ready() -> None:
        by_lists(1), ids(), peer()

    @cache
    def lines() -> str:
        path = Path(tempfile.mkdtemp(prefix="textmill-bench-")) / "brown.txt"
        path.write_text("".join(" ".join(sentence) + "\n" for sentence in brown()[0]), encoding="utf-8")
        return str(path)

    def train(order: int, threads: int) -> float:
        before = time.process_time()
        with open(lines(), encoding="utf-8") as file:
            to_arpa(NGramModel(order=order, n_jobs=threads).fit(file), f"{lines()}.arpa")
        return time.process_time() - before

    def by_mitlm(order: int) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        program, environment = _mitlm()
        command = [program, "-order", str(order), "-text", lines(), "-write-lm", f"{lines()}.peer"]
        subprocess.run(command, check=True, capture_output=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def draw() -> float:
        before = time.process_time()
        sentences = model().set_params(n_jobs=1).sample(20_000, random_state=1)
        return (time.process_time() - before) / sum(map(len, sentences)) * 1e6

    @cache
    def stream() -> tuple[float, int, float]:
        script = STREAM.format(documents=1_000 if options.quick else 100_000)
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
            result = subprocess.run(
                [sys.executable, "-c", script],
                check=True,
                capture_output=True,
                text=True,
                env=os.environ | {"TMPDIR": folder},
            )
        peak, ngrams, seconds = result.stdout.split()
        return float(peak), int(ngrams), float(seconds)

    @cache
    def coded() -> tuple[float, float]:
        with tempfile.TemporaryDirectory() as folder:
            small = quantize(model(), bits=8)
            for name, one in (("whole", model()), ("small", small)):
                one.save(f"{folder}/{name}.mill")
            sizes = [os.path.getsize(f"{folder}/{name}.mill") for name in ("small", "whole")]
        return 100 * sizes[0] / sizes[1], small.perplexity(brown()[1]) / model().perplexity(brown()[1]) - 1

    def halved() -> float:
        whole = model("katz")
        return 100 * (prune(whole, keep=0.5).perplexity(brown()[1]) / whole.perplexity(brown()[1]) - 1)

    def table() -> str:
        rows = []
        for smoothing in ("katz", "modified-kneser-ney"):
            for method in ("entropy", "weighted-difference"):
                shown = [prune(model(smoothing), keep=keep, method=method).perplexity(brown()[1]) for keep in SHARES]
                rows.append(f"{smoothing} by {method} " + ", ".join(f"{p:.1f}" for p in shown))
        return "perplexity at 1, 1/2, 1/4, 1/8: " + "; ".join(rows)

    return [
        Job("score token lists, 1 thread", lambda: by_lists(1), by_kenlm, "kenlm, from Python", both, "processor",
            bar=1.0, prepare=ready),
        Job("score token lists, 2 threads", lambda: by_lists(2), by_kenlm, "kenlm, from Python", both, "clock",
            bar=1.7, prepare=ready),
        Job("score ids, 1 thread", by_ids, by_kenlm, "kenlm, from Python", both, "processor", bar=2.0, prepare=ready),
        *(Job(f"train order {order} and write ARPA, 1 thread", lambda n=order: train(n, 1), lambda n=order: by_mitlm(n),
              "MITLM estimate-ngram", figure="returned", bar=bar, prepare=lines)
          for order, bar in ((3, 1.5), (5, 2.0))),
        *(Job(f"train order {order}, 2 threads", lambda n=order: train(n, 2), lambda n=order: train(n, 1), "1 thread",
              figure="clock", bar=1.6, prepare=lines)
          for order in (3, 5)),
        Job("draw a million words, 1 thread", draw, lambda: 1.0, "asked", figure="returned", bar=1.0, prepare=draw),
        Job("8 bits: % of the file", lambda: coded()[0], lambda: 40.0, "asked",
            lambda: f"perplexity {coded()[1]:+.3%}", "returned", "%", 1.0),
        Job("Katz pruned to a half: % more perplexity", halved, lambda: 5.0, "asked", table, "returned", "%", 1.0),
        Job("count 5e7 tokens within 512 MB: own memory", lambda: stream()[0], lambda: 640.0, "asked",
            lambda: f"{stream()[1]} n-grams, {stream()[2]:.0f} s of processor time", "returned", "M", 1.0),
    ]  # fmt: skip


def _mitlm() -> tuple[str, dict[str, str]]:
    """The program, and the environment in which it finds its libraries."""
    spec = importlib.util.find_spec("phonetisaurus")
    if spec is None or spec.origin is None:
        raise SystemExit("this bench needs MITLM: pip install phonetisaurus")
    folder = Path(spec.origin).parent
    libraries = {"LD_LIBRARY_PATH": str(folder / "lib" / platform.machine())}
    return str(folder / "bin" / platform.machine() / "estimate-ngram"), os.environ | libraries

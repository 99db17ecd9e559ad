"""Semi-Markov CRFs on JNLPBA: against CRFsuite, our own chain, and the packed form of the paper.

TEXTMILL_DATA=... python -m bench segments [--quick] [--only TEXT]

CRFsuite has tags and the token tests that `CRF` has by default, as attributes. One pass is objective and gradient at
random weights. Labeling goes from columns to tags, features included on both sides; CRFsuite's are made in Python, as
its users make them. Memory is that of a process of its own. `bench/_segment_quality.py` has the quality of systems.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness import Job, Options
from textmill.sequence import (
    CRF,
    SemiMarkovCRF,
    default_patterns,
    read_labeled,
)

PACKAGES = ["python-crfsuite"]


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    warnings.simplefilter("ignore")
    size = 1000 if options.quick else 4000
    train = functools.cache(lambda: part(options.data, "train", size))
    test = functools.cache(lambda: part(options.data, "test", size))
    filtered = functools.cache(lambda: objective(train(), filter="bayes"))
    chain = functools.cache(lambda: chain_objective(train()))
    found = [
        Job("a pass, factored, filtered", lambda: one_pass(filtered(), 1), lambda: one_pass(chain(), 1),
            "textmill CRF, same token tests", figure="returned", bar=1 / 3),
        Job("passes, two threads", lambda: passes(filtered(), 2), lambda: passes(filtered(), 1), "one thread",
            lambda: "same bytes", figure="busiest", bar=1.6, prepare=lambda: passes(filtered(), 2)),
        Job("recursions, factored, all candidates", lambda: recursion(options, size, False),
            lambda: recursion(options, size, True), "packed", figure="returned", bar=2.5),
        Job("labeling, tokens from columns to tags", lambda: labeling(train(), test()),
            lambda: crfsuite_labeling(train(), test()), "CRFsuite", figure="returned", bar=2.0),
    ]  # fmt: skip
    if not options.quick:
        found += [
            Job("memory of training, filtered", lambda: memory(options, "bayes"), lambda: 1500.0, "asked for",
                figure="returned", label="MB", bar=1.0),
            Job("memory of training, all candidates", lambda: memory(options, "none"), lambda: 4000.0, "asked for",
                figure="returned", label="MB", bar=1.0),
        ]  # fmt: skip
    return found


def part(data: Path, name: str, size: int | None) -> tuple[list[Any], list[list[str]]]:
    """Sentences of a part of JNLPBA."""
    read = read_labeled(data / "jnlpba" / f"{name}.iob2", document="###MEDLINE:")
    return read.X[:size], read.y[:size]


def objective(pair: tuple[list[Any], list[list[str]]], *, packed: bool = False, **settings: Any) -> Any:
    """The objective of a segment tagger with the token tests of the chain, and weights after some iterations."""
    model = SemiMarkovCRF(**{"max_iter": 0, "n_jobs": 1, **settings})
    made = model.objective(*pair, packed=packed)
    made.theta = np.random.default_rng(0).normal(0, 0.1, made.size)
    return made


def chain_objective(pair: tuple[list[Any], list[list[str]]]) -> Any:
    """The objective of our chain."""
    model = CRF(patterns=default_patterns(1), algorithm="lbfgs", n_jobs=1, max_iter=0, compact=False)
    model.fit(*pair)
    data = model.encoder_.encode(pair[0])
    made: Any = model.objective(model._labeled(data, pair[1], None))
    made.theta = np.random.default_rng(0).normal(0, 0.1, model._layout().size)
    return made


def one_pass(made: Any, threads: int) -> float:
    """Processor seconds of an evaluation with gradient."""
    passes(made, threads, times=1)
    begin = time.process_time()
    passes(made, threads, times=1)
    return time.process_time() - begin


def passes(made: Any, threads: int, times: int = 5) -> None:
    """Some evaluations with gradients."""
    made.n_jobs = threads
    gradient = np.zeros_like(made.theta)
    for _ in range(times):
        made.into(made.theta, gradient)


@functools.cache
def bare(data: Path, size: int, packed: bool) -> Any:
    return objective(part(data, "train", size), packed=packed, patterns=["s:%length", "p"], filter=None)


def recursion(options: Options, size: int, packed: bool) -> float:
    """Seconds of the recursions: of a value without gradient, less those of the scores of segments, which both need."""
    made = bare(options.data, size, packed)

    def least(work: Any) -> float:
        times = []
        for _ in range(5):
            begin = time.process_time()
            work()
            times.append(time.process_time() - begin)
        return min(times)

    whole = least(lambda: made.problem.evaluate(made.theta, None, packed, 1))
    return whole - least(lambda: made.problem.scores(made.theta, 1))


@functools.cache
def trained(key: int) -> SemiMarkovCRF:
    return SemiMarkovCRF(max_iter=10, n_jobs=1).fit(*_PAIRS[key])


_PAIRS: dict[int, Any] = {}


def labeling(train: Any, test: Any) -> float:
    """Seconds for the test sentences."""
    _PAIRS[0] = train
    model = trained(0)
    begin = time.process_time()
    model.predict(test[0])
    return time.process_time() - begin


def features(words: list[str]) -> list[list[str]]:
    """Attributes like the default patterns, as users of CRFsuite make them."""
    lower = [word.lower() for word in words]
    padded = ["<2", "<1", *lower, ">1", ">2"]
    shapes = [
        "".join("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in w) for w in words
    ]
    sides = ["<", *shapes, ">"]
    rows = []
    for t, word in enumerate(words):
        row = [f"w={word}"] + [f"w{i}={padded[t + 2 + i]}" for i in range(-2, 3)]
        row += [f"b={padded[t + 1]}/{padded[t + 2]}", f"c={padded[t + 2]}/{padded[t + 3]}"]
        row += [f"p{n}={word[:n]}" for n in range(1, 5)] + [f"s{n}={word[-n:]}" for n in range(1, 5)]
        row += [f"e-={padded[t + 1][-3:]}", f"e+={padded[t + 3][-3:]}"]
        row += [f"h{i}={sides[t + 1 + i]}" for i in range(-1, 2)]
        row += [
            f"hb={sides[t]}/{sides[t + 1]}",
            f"hc={sides[t + 1]}/{sides[t + 2]}",
            f"ht={'/'.join(sides[t : t + 3])}",
        ]
        rows.append(row)
    return rows


@functools.cache
def crfsuite_tagger(key: int) -> Any:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False, params={"max_iterations": 10})
    for words, tags in zip(*_PAIRS[key], strict=True):
        trainer.append(features(list(words.columns[0])), tags)
    path = Path(tempfile.mkdtemp()) / "peer.crfsuite"
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def crfsuite_labeling(train: Any, test: Any) -> float:
    """Seconds of CRFsuite for the test sentences, attributes included."""
    _PAIRS[0] = train
    tagger = crfsuite_tagger(0)
    begin = time.process_time()
    for sentence in test[0]:
        tagger.tag(features(list(sentence.columns[0])))
    return time.process_time() - begin


def memory(options: Options, kind: str) -> float:
    """Largest resident memory of a training run on the whole corpus, a few iterations, in MB."""
    code = (
        "import sys, resource, warnings; warnings.simplefilter('ignore')\n"
        "from pathlib import Path\n"
        "from bench.segments import part\n"
        "from textmill.sequence import SemiMarkovCRF\n"
        "X, y = part(Path(sys.argv[1]), 'train', None)\n"
        "SemiMarkovCRF(filter=None if sys.argv[2] == 'none' else 'bayes', patterns='table3', max_iter=3).fit(X, y)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(options.data), kind], capture_output=True, text=True, check=True
    )
    return float(done.stdout)

"""Labeling raw columns with a trained CRF: textmill, Wapiti and CRFsuite on six problems, one thread.

TEXTMILL_DATA=... python -m bench labeling [--quick]

Every tool is trained briefly on half of the sequences of a problem (bench/_crf_problems.py) and labels the other half.
Textmill and Wapiti begin with columns and make the tests of the same patterns themselves; CRFsuite has no patterns, so
it is given the tests ready made, outside the clock: its time is that of labeling alone. Times are of the processor.
Quality is the share of tokens labeled right; training differs in its length, so it says only that the models are real.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench._crf_peers import Tags, crfsuite_model, wapiti
from bench._crf_problems import Problem, attributes, problem
from bench.harness import Job, Options
from textmill.sequence import CRF, Encoder

PACKAGES = ["libwapiti", "python-crfsuite"]
SETS = ("jnlpba-protein", "conll2000-np", "conll2002", "pos-ud", "conll2000", "nettalk")
ITERATIONS = 20


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    return [job for name in SETS for job in _Labeling(name, options).jobs()]


class _Labeling:
    """One problem: half of it to learn from, half to label; tools are trained when first asked for."""

    def __init__(self, name: str, options: Options) -> None:
        self.name, self.options = name, options

    def jobs(self) -> list[Job]:
        sides: list[tuple[str, Callable[[], Callable[[], Tags]], float | None]] = [
            ("Wapiti", lambda: self.by_wapiti, 3.0),
            ("CRFsuite", lambda: self.by_crfsuite, None),
        ]
        return [
            Job(self.name, lambda: self.ours(), functools.partial(_call, side), peer,
                functools.partial(self.quality, side), figure="processor", bar=bar, claim="labeling",
                prepare=functools.partial(self.train, side))
            for peer, side, bar in sides
        ]  # fmt: skip

    def train(self, side: Callable[[], Any]) -> None:
        """Have the models before the clock runs."""
        _ = self.ours, side()

    @functools.cached_property
    def halves(self) -> tuple[Problem, Problem]:
        whole = problem(self.name, self.options.data, quick=self.options.quick)
        learn, label = (Problem(self.name, whole.X[i::2], whole.y[i::2], whole.patterns) for i in (0, 1))
        return learn, label

    @functools.cached_property
    def ours(self) -> Callable[[], Tags]:
        learn, label = self.halves
        model = CRF(patterns=learn.patterns, max_iter=ITERATIONS, n_jobs=1).fit(learn.X, learn.y)
        return lambda: model.predict(label.X)

    @functools.cached_property
    def by_wapiti(self) -> Callable[[], Tags]:
        learn, label = self.halves
        model, _, _ = wapiti(learn.patterns or [], learn.X, learn.y, algo="sgd-l1", maxiter=3, nthread=2)
        lines = ["\n".join(" ".join(row) for row in sentence) for sentence in label.X]
        return lambda: [model.label_sequence(text).decode().split("\n") for text in lines]

    @functools.cached_property
    def by_crfsuite(self) -> Callable[[], Tags]:
        import pycrfsuite

        learn, label = self.halves
        encoder = Encoder(patterns=[p for p in learn.patterns or [] if p.startswith("u")], n_jobs=1).fit(learn.X)
        tagger = pycrfsuite.Tagger()
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model")
            crfsuite_model(path, attributes(encoder, learn.X), learn.y, ITERATIONS)
            tagger.open(path)
        tests = list(attributes(encoder, label.X))
        return lambda: [tagger.tag(sentence) for sentence in tests]

    def quality(self, side: Callable[[], Callable[[], Tags]]) -> str:
        gold = self.halves[1].y
        ours, theirs = _right(gold, self.ours()), _right(gold, side()())
        return f"{sum(map(len, gold))} tokens, right {ours:.1f} %, peer {theirs:.1f} %"


def _call(side: Callable[[], Callable[[], Tags]]) -> Tags:
    return side()()


def _right(gold: Tags, tags: Tags) -> float:
    pairs = [(a, b) for one, other in zip(gold, tags, strict=True) for a, b in zip(one, other, strict=False)]
    return 100 * sum(a == b for a, b in pairs) / len(pairs)

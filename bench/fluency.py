"""Judging sentences, on the Brown corpus and on made-up text; learners, samplers and classes beside peers.

Protocol: documents are shared out, 15 % for the vocabulary (words that occur twice), 50 % for the trigram model and
classes, 25 % positives, 4 % development, 6 % test; negatives are fresh in each pass and in the test; means of 3 seeds.
"all" takes all test sentences, "matched" pairs of equal length, with as many unknown words and nearly the same
probability. "one pass" is the published learner, one pass of PA-I without averaging, over n-grams up to 2 of 100
classes; "two passes" are averaged; "soft" is PA-II with its default cost; "default" has n-grams up to 2 of 50 classes,
and 200 fine ones, two soft passes.

Rows of quality are errors in per cent, lower is better, and the peer is a bar, a linear judge or other features. The
published set-up (sentences shared out, Witten-Bell, vocabulary of the sampled text) and learning curves are the
appendix, at its end text of half a million sentences. Rows of speed are processor seconds of one thread.

TEXTMILL_DATA=... python -m bench fluency
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import tarfile
import time
from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from bench.harness import Job, Options
from papers.discriminative_lm.learning_curve import learning_curve
from textmill.lm import ExpandedKernel, FeatureSets, PassiveAggressive, WordClasses
from textmill.tasks.fluency import (
    CorpusSplit,
    FluencyEvaluation,
    FluencyModel,
    SentenceDocument,
    evaluate_fluency,
    read_sentences,
    sample_documents,
    split_corpus,
)

PACKAGES = ["scikit-learn", "brown-clustering"]
SEEDS = (0, 1, 2)
HARD = {"rule": "pa1", "cost": 50.0}
ONE_PASS = {"max_iter": 1, "averaged": False, **HARD}
HUNDRED = {"features": "class:2", "n_classes": 100}
JUDGES: dict[str, dict[str, Any]] = {
    "linear, one pass": {"kernel": "linear", **HUNDRED, **ONE_PASS},
    "quadratic, one pass": {"degree": 2, **HUNDRED, **ONE_PASS},
    "cubic, one pass": {"degree": 3, **HUNDRED, **ONE_PASS},
    "linear, two passes": {"kernel": "linear", **HUNDRED, **HARD},
    "quadratic, two passes": {**HUNDRED, **HARD},
    "quadratic, soft": HUNDRED,
    "linear": {"kernel": "linear"},
    "linear, hard": {"kernel": "linear", **HARD},
    "default": {},
    "rbf": {"kernel": "rbf"},
    "words": {"features": "word:3"},
    "leaking": {"vocabulary": "lm"},
    "chunks": {"max_length": 4, "features": "class:2"},
    "no chunks": {"features": "class:2"},
}
PUBLISHED = {"vocabulary": "lm", "smoothing": "witten-bell", "split": "sentence", **ONE_PASS}
SHARES = {"vocabulary": 0.0, "lm": 36_000.0, "train": 12_000.0, "dev": 1_500.0, "test": 1_500.0}
SPEED = (
    "one cubic pass of training by the index",
    "margins by the index",
    "margins by slices, cubic",
    "sentences from Python, index, microseconds",
    "sentences from Python, default judge, microseconds",
    "a million sampled words, seconds",
    "linear PA-I, one pass",
    "classes of 300 words, 20 classes",
)
_appendix: list[Callable[[], str]] = []


class Setting:
    """The corpus, its splits and judges, made when they are first asked for."""

    def __init__(self, options: Options) -> None:
        self.seeds = SEEDS[:1] if options.quick else SEEDS
        self.documents = brown(options)[:: 10 if options.quick else 1]
        self.quick = options.quick

    def model(self, judge: str = "default", **settings: Any) -> FluencyModel:
        """One of the judges, not trained; with fewer classes if it is to be quick."""
        chosen = {**JUDGES.get(judge, {}), **settings}
        return FluencyModel(**(chosen | {"n_classes": 15} if self.quick else chosen))

    @cache  # noqa: B019
    def split(self, seed: int) -> Any:
        return split_corpus(self.documents, random_state=seed)

    @cache  # noqa: B019
    def published(self, seed: int) -> Any:
        total = sum(SHARES.values())
        shares = {part: share / total for part, share in SHARES.items()}
        return split_corpus(self.documents, shares=shares, method="sentence", random_state=seed)

    @cache  # noqa: B019
    def results(self, name: str, seed: int) -> tuple[FluencyEvaluation, FluencyEvaluation]:
        """All and matched negatives."""
        parts = self.split(seed)
        model = self.model(name, random_state=seed).fit(parts)
        whole, pairs = (
            evaluate_fluency(model, parts.test, matched=matched, random_state=seed) for matched in (False, True)
        )
        return whole, pairs

    def errors(self, name: str, matched: bool) -> float:
        return 100 * float(np.mean([1 - self.results(name, seed)[matched].accuracy for seed in self.seeds]))

    def least_errors(self, names: tuple[str, ...], matched: bool) -> float:
        return min(self.errors(name, matched) for name in names)

    def leak(self, name: str, judge: str, matched: bool) -> float:
        found = [
            leak.accuracy
            for seed in self.seeds
            for leak in self.results(judge, seed)[matched].leaks
            if leak.name == name
        ]
        return 100 * float(np.mean(found))

    def features(self, name: str) -> int:
        return round(float(np.mean([self.results(name, seed)[0].n_features for seed in self.seeds])))

    @cached_property
    def learner(self) -> tuple[FluencyModel, FeatureSets, FeatureSets, np.ndarray[Any, Any]]:
        """A judge of one cubic pass, sets of test sentences, and the sets and labels it was trained on."""
        parts = self.split(0)
        model = self.model("cubic, one pass", n_jobs=1).fit(parts)
        train, test = model.encode(parts.sentences("train")), model.encode(parts.sentences("test"))
        sets = FeatureSets.joined([model.sets(train), model.sets(model.draw(train.size, number=7))])
        labels = np.repeat([1, -1], train.size)
        order = np.random.default_rng(0).permutation(len(labels))
        return model, model.sets(test), sets.take(order), labels[order]


def brown(options: Options) -> list[SentenceDocument]:
    """The 500 texts with their sentences."""
    found = []
    with tarfile.open(options.data / "brown" / "brown.tar.gz") as archive:
        for member in sorted(archive.getmembers(), key=lambda one: one.name):
            name = os.path.basename(member.name)
            if re.fullmatch(r"c[a-r]\d\d", name):
                stream = archive.extractfile(member)
                assert stream is not None
                rows = [line.split() for line in stream.read().decode("latin-1").split("\n") if line.strip()]
                found.append(SentenceDocument(name, [[word.rsplit("/", 1)[0] for word in row] for row in rows]))
    return found


def jobs(options: Options) -> list[Job]:
    """All rows."""
    setting = Setting(options)
    rows = [*quality(setting), *synthetic(options)]
    if any(options.wants(name) for name in SPEED):  # which takes models of its own
        rows += speed(setting, options)
    parts = {
        "published set-up": published_table,
        "learning curve": curve_table,
        "larger text, curve": larger_curve,
        "larger text, half a million sentences": larger_pass,
    }
    _appendix[:] = [partial(make, setting, options) for name, make in parts.items() if options.wants(name)]
    return rows


def appendix() -> str:
    return "\n\n".join(make() for make in _appendix)


def figure(
    name: str, ours: Callable[[], float], peer: Callable[[], float], peer_name: str, quality: Any, bar: Any = None
) -> Job:
    return Job(name, ours, peer, peer_name, quality, figure="returned", label="%", bar=bar)


def gained(own: Callable[[], float], linear: Callable[[], float]) -> str:
    return f"accuracy {100 - own():.1f}, {linear() - own():.1f} points above linear, 5 asked"


AGAINST = {  # judges, and the linear ones with the same features, of which the best counts
    "quadratic, one pass": ("linear, one pass",),
    "quadratic, two passes": ("linear, two passes",),
    "quadratic, soft": ("linear, two passes",),
    "default": ("linear", "linear, hard"),
    "rbf": ("linear", "linear, hard"),
}


def quality(setting: Setting) -> list[Job]:
    """Errors of judges on Brown, in both protocols."""
    rows = []
    for matched, bar in ((False, 30.0), (True, 32.0)):
        side = "matched" if matched else "all"
        for kernel, linear in AGAINST.items():
            own = partial(setting.errors, kernel, matched)
            other = partial(setting.least_errors, linear, matched)
            gain = partial(gained, own, other)
            rows.append(figure(f"Brown, {side}: {kernel}", own, lambda b=bar: b, "bar", gain, 1.0))
            rows.append(figure(f"Brown, {side}: {kernel}", own, other, "linear judge", gain))
        rows.append(
            figure(f"Brown, {side}: cubic, one pass", lambda m=matched: setting.errors("cubic, one pass", m),
                   lambda b=bar: b, "bar",
                   lambda m=matched: f"accuracy {100 - setting.errors('cubic, one pass', m):.1f}", 1.0)
        )  # fmt: skip
    rows.append(
        figure("Brown, all: classes against words", lambda: setting.errors("default", False),
               lambda: setting.errors("words", False), "word n-grams up to 3",
               lambda: f"{setting.features('default')} features, peer {setting.features('words')}", 1.0)
    )  # fmt: skip
    rows.append(
        figure("Brown, all: words against chunks of up to 4", lambda: setting.errors("no chunks", False),
               lambda: setting.errors("chunks", False), "chunks",
               lambda: f"{setting.features('chunks')} features of chunks")
    )  # fmt: skip
    rows.append(
        figure("leak: unknown words alone", lambda: setting.leak("unknown words", "default", False),
               lambda: setting.leak("unknown words", "leaking", False), "vocabulary of the LM text",
               lambda: f"accuracy; 54 allowed. The judge with leak: {100 - setting.errors('leaking', False):.1f}")
    )  # fmt: skip
    rows.append(
        figure("leak: unknown words alone, matched", lambda: setting.leak("unknown words", "default", True),
               lambda: setting.leak("unknown words", "default", False), "not matched", lambda: "accuracy; 54 allowed")
    )  # fmt: skip
    rows.append(
        figure("leak: LM score alone, matched", lambda: setting.leak("LM score", "default", True),
               lambda: setting.leak("LM score", "default", False), "not matched", lambda: "accuracy; 47 to 53 asked")
    )  # fmt: skip
    return rows


def synthetic(options: Options) -> list[Job]:
    """Text whose only defects are conjunctions of distant words."""
    parts = split_corpus(sample_documents(120 if options.quick else 400))

    @cache
    def errors(kernel: str, features: str) -> float:
        model = FluencyModel(features=features, kernel=kernel, degree=3).fit(parts)
        return 100 * (1 - evaluate_fluency(model, parts.test).accuracy)

    return [
        figure("distant words: cubic kernel of words", lambda: max(errors("polynomial", "word:1"), 0.01),
               lambda: 10.0, "bar",
               lambda: f"linear judge of trigrams: {errors('linear', 'word:3'):.1f} % errors, at least 35 asked", 1.0)
    ]  # fmt: skip


def speed(setting: Setting, options: Options) -> list[Job]:
    """Processor seconds of one thread."""
    model, test, train, labels = setting.learner
    some = test.take(range(min(300, len(test))))
    learner = model.learner_
    expanded = ExpandedKernel(learner)
    sentences = setting.split(0).sentences("test")
    fast = setting.model(n_jobs=1).fit(setting.split(0))
    fast.decision_function(sentences[:10])
    lm = model.lm_
    lm.sample_ids(10)
    count = 2_000 if options.quick else 40_000
    text = setting.split(0).sentences("lm")[: 300 if options.quick else 2_000]

    def clock(work: Callable[[], Any]) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    def sampled() -> float:
        seconds = clock(lambda: lm.sample_ids(count, longest=200, unknown=True))
        return 1e6 * seconds / len(lm.sample_ids(count, longest=200, unknown=True)[1])

    def from_python(judge: Callable[[list[list[str]]], Any]) -> float:
        return 1e6 * clock(lambda: judge(sentences)) / len(sentences)

    def indexed(rows: list[list[str]]) -> Any:
        return model.learner_.margins(model.sets(model.encode(rows)))

    from sklearn.linear_model import SGDClassifier

    X, y = matrix(train), labels

    def theirs() -> Any:
        peer = SGDClassifier(learning_rate="pa1", eta0=50.0, penalty=None, shuffle=False, max_iter=1, tol=None,
                             fit_intercept=False)  # fmt: skip
        return peer.fit(X, y)

    def ours() -> Any:
        return PassiveAggressive(shuffle=False, n_jobs=1).fit(X, y)

    def same_weights() -> str:
        return f"largest difference of weights {np.abs(ours().coef_ - theirs().coef_).max():.1e}, 1e-9 asked"

    def pass_seconds(naive: bool) -> float:
        one = PassiveAggressive(kernel="polynomial", degree=3, n_jobs=1)
        return clock(lambda: one.learn(train, labels, naive=naive))

    by_pairs = cache(lambda: pass_seconds(naive=True))  # once: it takes a minute
    posting = learner.index_bytes() / len(learner.features_)
    active = f"{learner.n_active_} active, {posting:.2f} bytes for each posting, 8 allowed"
    difference = float(np.abs(learner.margins(some) - learner.margins(some, naive=True)).max())
    exact = float(np.abs(expanded.decision_function(test) - learner.margins(test)).max())
    return [
        Job(SPEED[0], lambda: pass_seconds(naive=False), by_pairs, "pair by pair",
            lambda: f"{len(train)} sentences; the paper has 8.1 with 200,000", figure="returned", bar=5.0),
        Job(SPEED[1], lambda: learner.margins(some), lambda: learner.margins(some, naive=True),
            "pair by pair", lambda: f"{active}; largest difference {difference:.0e}", figure="processor", bar=5.0),
        Job(SPEED[2], lambda: expanded.decision_function(test), lambda: learner.margins(test),
            "index",
            lambda: f"largest difference {exact:.0e}; {expanded.bytes / 1e6:.0f} MB", figure="processor", bar=2.0),
        Job(SPEED[3], lambda: from_python(indexed), lambda: 500.0, "bar",
            lambda: "lists of words in, margins out", figure="returned", label="us", bar=1.0),
        Job(SPEED[4], lambda: from_python(fast.decision_function),
            lambda: 50.0, "bar", lambda: f"{fast.learner_.n_active_} active", figure="returned", label="us", bar=1.0),
        Job(SPEED[5], sampled, lambda: 1.0, "bar", lambda: "one thread",
            figure="returned", bar=1.0),
        Job(SPEED[6], ours, theirs, "scikit-learn SGDClassifier(pa1)", same_weights, figure="processor",
            bar=1.0),
        *exchange(text),
    ]  # fmt: skip


def exchange(text: list[list[str]], n_classes: int = 20) -> list[Job]:
    """Classes of a small text, which the peer can do within minutes, and the likelihood of both."""
    from brown_clustering import BigramCorpus, BrownClustering

    counts: dict[str, int] = {}
    for sentence in text:
        for word in sentence:
            counts[word] = counts.get(word, 0) + 1
    words = sorted(counts, key=lambda word: (-counts[word], word))[:300]
    frequent = set(words)
    reduced = [[word if word in frequent else "<rare>" for word in sentence] for sentence in text]

    @cache
    def trained() -> Any:
        with contextlib.redirect_stderr(io.StringIO()):  # its progress bar
            corpus = BigramCorpus(reduced, alpha=0.0, start_symbol="<start>", end_symbol="<end>", min_count=0)
            return BrownClustering(corpus, m=n_classes).train()

    def theirs() -> Any:
        trained.cache_clear()
        return trained()

    def ours() -> Any:
        return WordClasses(n_classes=n_classes, n_jobs=1).fit(reduced)

    def likelihoods() -> str:
        own = ours()
        number = {word: c for c, members in enumerate(trained(), 1) for word in members}
        return f"log-likelihood {own.trace_[-1]:.0f}, peer {likelihood(reduced, number):.0f}"

    return [Job(SPEED[7], ours, theirs, "brown-clustering", likelihoods,
                figure="processor")]  # fmt: skip


def likelihood(sentences: list[list[str]], number: dict[str, int]) -> float:
    """That of a class bigram model, by counting."""
    from collections import Counter
    from itertools import pairwise

    rows = [[0, *(number.get(word, 0) for word in sentence), 0] for sentence in sentences if sentence]
    pairs = Counter(pair for row in rows for pair in pairwise(row))
    classes = Counter(c for row in rows for c in row[1:])
    words = Counter(word for sentence in sentences for word in sentence) + Counter({"<end>": len(rows)})

    def h(counts: Any) -> float:
        values = np.array(list(counts.values()), dtype=float)
        return float(np.sum(values * np.log(values)))

    return h(pairs) - 2 * h(classes) + h(words)


def matrix(sets: FeatureSets) -> Any:
    """Sets as rows of 0 and 1."""
    from scipy import sparse

    _, columns = np.unique(sets.keys, return_inverse=True)
    return sparse.csr_matrix((np.ones(len(columns)), columns, sets.offsets))


def published_table(setting: Setting, options: Options) -> str:
    """The set-up of the publication, which leaks: features x kernels, means of the seeds."""
    lines = [
        "Published set-up: sentences shared out (36,000 / 12,000 / 1,500), Witten-Bell, vocabulary of the LM text, one "
        "pass; accuracy in per cent, mean of the seeds (class:3: the first).",
        "",
        "| features | distinct | linear | quadratic | cubic |",
        "|---|---|---|---|---|",
    ]
    leaks: list[float] = []
    for features in ("word:3", "class:2", "class:3"):
        seeds = setting.seeds if features != "class:3" else setting.seeds[:1]
        cells, distinct = [], 0
        for kernel in ({"kernel": "linear"}, {"degree": 2}, {"degree": 3}):
            accuracies = []
            for seed in seeds:
                parts = setting.published(seed)
                model = setting.model(
                    "published", features=features, n_classes=100, random_state=seed, **PUBLISHED, **kernel
                )
                result = evaluate_fluency(model.fit(parts), parts.test)
                accuracies.append(result.accuracy)
                distinct = max(distinct, result.n_features)
                if features == "class:2" and kernel == {"degree": 2}:
                    leaks += [leak.accuracy for leak in result.leaks if leak.name == "LM score"]
            cells.append(f"{100 * np.mean(accuracies):.1f}")
        lines.append(f"| {features} | {distinct:,} | {' | '.join(cells)} |")
    lines += ["", f"The LM score alone, low means right: {100 * np.mean(leaks):.1f} %."]
    return "\n".join(lines)


def curve_table(setting: Setting, options: Options) -> str:
    """Accuracy by the number of training sentences, default judge, first seed."""
    parts = setting.split(0)
    most = 2 * parts.counts()["train"]
    sizes = [size for size in ((200, 400, 800) if options.quick else (3_000, 6_000, 12_000, 24_000)) if size <= most]
    points = learning_curve(setting.model(), parts, sizes)
    cells = ", ".join(f"{point.sentences:,}: {100 * point.accuracy:.1f}" for point in points)
    return f"Learning curve, default judge, first seed, accuracy in per cent by sentences of a pass: {cells}."


LARGER = {"vocabulary": 0.08, "lm": 0.2, "train": 0.7, "dev": 0.01, "test": 0.01}


@cache
def larger(options: Options) -> Any:
    """Brown, Reuters and every second post of the newsgroups, some 500,000 sentences, shared out by documents."""
    texts: list[str] = []
    for name, step in (("reuters/reuters21578", 1), ("newsgroups/20news", 2)):
        with gzip.open(options.data / f"{name}.jsonl.gz", "rt", encoding="utf-8", errors="replace") as lines:
            texts += [json.loads(line)["text"] for line in list(lines)[:: step * (50 if options.quick else 1)]]
    documents = [*brown(options)[:: 50 if options.quick else 1], *read_sentences(texts)]
    return split_corpus(documents, shares=LARGER, random_state=0)


def larger_curve(setting: Setting, options: Options) -> str:
    """Accuracy by the number of training sentences beyond what Brown has."""
    parts = larger(options)
    sizes = (500, 1_000) if options.quick else (5_000, 10_000, 25_000, 50_000, 100_000)
    points = learning_curve(setting.model(), parts, sizes)
    cells = ", ".join(f"{point.sentences:,}: {100 * point.accuracy:.1f}" for point in points)
    return f"Larger text ({parts.counts()}), default judge, accuracy in per cent by sentences of a pass: {cells}."


def larger_pass(setting: Setting, options: Options) -> str:
    """One cubic pass over half a million sentences, all threads; an hour on eight cores is allowed."""
    parts, size = larger(options), 2_000 if options.quick else 250_000
    some = [SentenceDocument("train", parts.sentences("train")[:size])]
    model = setting.model("cubic, one pass")
    clock, processor = time.perf_counter(), time.process_time()
    model.fit(CorpusSplit(parts.vocabulary, parts.lm, some, parts.dev, parts.test))
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    positives = model.encode(parts.sentences("test"))
    both = [positives, model.draw(positives.size, seen=set(positives.keys()))]
    above = [float(np.mean(model.learner_.margins(model.sets(one)) > 0)) for one in both]  # by the index
    return (
        f"Larger text, {2 * size:,} sentences, cubic, one pass: {clock:.0f} s, {processor:.0f} s of processor time, "
        f"{model.learner_.n_active_:,} active, {model.learner_.index_bytes() / 1e6:.0f} MB of index, accuracy "
        f"{50 * (above[0] + 1 - above[1]):.1f} %."
    )

"""Japanese dependency parsing on KWDLC: combinations of features against kernel machines, on the same questions.

TEXTMILL_DATA=... python -m bench dependency [--repeats 3] [--quick] [--only TEXT]

    parsing, degree 1 | 2 | 3     processor seconds for all test sentences on one thread, from sentences to heads,
                                  against scikit-learn's SVC with the kernel (x.y + 1)^3 or (x.y + 1)^2, LinearSVC and
                                  an averaged perceptron (10 passes), both over single features.
                                  The peers are asked in lockstep, one question of every sentence at a time, and only
                                  the time in their `predict` counts: nothing for features, nothing for the parser.
    training, degree 1 | 2 | 3    processor seconds, once

The training sentences are those of the corpus's own list; penalties are fixed (l1 = 1, l2 = 30; C = 0.001 for the
cubic kernel, 0.01 for the quadratic, 0.1 for the linear one). `--quick` takes the first 1,500 sentences to train.
Quality: dependency accuracy of both, weights by degree, support vectors.
"""

from __future__ import annotations

import itertools
import tarfile
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC

from bench.harness import Job, Options
from textmill._native import tasks as native
from textmill.corpus import KnpSentence, read_knp
from textmill.tasks.dependency import DependencyParser, Events, encode, evaluate, extract_events
from textmill.tasks.dependency.attributes import column_table

PACKAGES = ["scikit-learn"]

_PEERS: dict[str, Callable[[], Any]] = {
    "cubic SVM": lambda: SVC(C=0.001, kernel="poly", degree=3, coef0=1.0, gamma=1.0, cache_size=2000),
    "quadratic SVM": lambda: SVC(C=0.01, kernel="poly", degree=2, coef0=1.0, gamma=1.0, cache_size=2000),
    "linear SVM": lambda: LinearSVC(C=0.1),
    "averaged perceptron": lambda: SGDClassifier(
        loss="perceptron", average=True, max_iter=10, tol=None, learning_rate="constant", eta0=1.0, random_state=0
    ),
}
_L1, _L2 = 1.0, 30.0


def jobs(options: Options) -> list[Job]:
    pairs = [(degree, peer) for peer in _PEERS for degree in (1, 2, 3) if peer == "cubic SVM" or degree == 3]
    return [
        *(
            Job(
                f"parsing, degree {degree}",
                lambda degree=degree: _ours_parses(options, degree),
                lambda peer=peer: _peer_parses(options, peer),
                peer,
                lambda degree=degree, peer=peer: _quality(options, degree, peer),
                figure="returned",
                bar=50.0 if peer == "cubic SVM" else None,
                claim="parsing",
            )
            for degree, peer in pairs
        ),
        *(
            Job(
                f"training, degree {degree}",
                lambda degree=degree: _ours(options, degree)[1],
                lambda: _peer(options, "cubic SVM")[1],
                "cubic SVM",
                lambda degree=degree: _quality(options, degree, "cubic SVM"),
                figure="returned",
            )
            for degree in (1, 2, 3)
        ),
    ]


@cache
def _sets(options: Options) -> dict[str, list[KnpSentence]]:
    """The sentences to train and to test with that can be parsed at all."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(options.data / "kwdlc" / "kwdlc.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        root = Path(folder)
        ids = {part: (root / f"id/split_for_pas/{part}.id").read_text().split() for part in ("train", "test")}
        sets = {part: _parsable(list(read_knp(root / "knp", documents=own))) for part, own in ids.items()}
    return {**sets, "train": sets["train"][:1500]} if options.quick else sets


def _parsable(sentences: list[KnpSentence]) -> list[KnpSentence]:
    fine = native.parsable(_ends(sentences), np.array([h for s in sentences for h in s.heads], np.int32))
    return [sentence for sentence, good in zip(sentences, fine, strict=True) if good]


def _ends(sentences: list[KnpSentence]) -> Any:
    return np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])]).astype(np.int64)


@cache
def _events(options: Options) -> Events:
    return extract_events(_sets(options)["train"])


@cache
def _ours(options: Options, degree: int) -> tuple[DependencyParser, float]:
    start = time.process_time()
    parser = DependencyParser(l1=_L1, l2=_L2, degree=degree, tolerance=1e-3, n_jobs=1).fit(_sets(options)["train"])
    return parser, time.process_time() - start


@cache
def _peer(options: Options, name: str) -> tuple[Any, float]:
    events = _events(options)
    start = time.process_time()
    model = _PEERS[name]().fit(events.X, events.y)
    return model, time.process_time() - start


def _ours_parses(options: Options, degree: int) -> float:
    parser, test = _ours(options, degree)[0], _sets(options)["test"]
    start = time.process_time()
    parser.predict(test)
    return time.process_time() - start


def _peer_parses(options: Options, name: str) -> float:
    return _peer_heads(options, name)[1]


@cache
def _peer_heads(options: Options, name: str) -> tuple[list[tuple[int, ...]], float]:
    """Heads by the peer, and the processor seconds spent in its `predict`: one question of each sentence at a time."""
    model, test, names = _peer(options, name)[0], _sets(options)["test"], _events(options).names
    attributes, columns = column_table(names)
    units, ends = encode(test, attributes.get), _ends(test)
    heads = np.full(int(ends[-1]), -1, np.int32)
    answered = np.zeros(len(test), np.int64)
    seconds = 0.0
    while True:
        # With the heads found so far the first questions of a sentence are those already answered; the next is new.
        offsets, ids, modifiers, asked, _ = native.events(*units, columns, len(names), heads)
        own = np.searchsorted(ends, modifiers, side="right") - 1
        counts = np.bincount(own, minlength=len(test))
        firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        waiting = np.flatnonzero(counts > answered)
        if not len(waiting):
            break
        rows = firsts[waiting] + answered[waiting]
        X = csr_matrix((np.ones(len(ids)), ids, offsets), shape=(len(offsets) - 1, len(names)))[rows]
        start = time.process_time()
        yes = model.predict(X) == 1
        seconds += time.process_time() - start
        heads[modifiers[rows[yes]]] = (asked[rows] - ends[waiting])[yes]
        answered[waiting] += 1
    for begin, end in itertools.pairwise(ends):  # whatever is left depends on the last
        open_units = np.arange(begin, end - 1)[heads[begin : end - 1] == -1]
        heads[open_units] = end - begin - 1
    return [tuple(heads[a:b].tolist()) for a, b in itertools.pairwise(ends)], seconds


def _quality(options: Options, degree: int, name: str) -> str:
    test, parser = _sets(options)["test"], _ours(options, degree)[0]
    ours = evaluate(test, parser.predict(test)).dependencies.accuracy
    theirs = evaluate(test, _peer_heads(options, name)[0]).dependencies.accuracy
    model = _peer(options, name)[0]
    size = f"{model.n_support_.sum()} support vectors" if isinstance(model, SVC) else f"{model.coef_.size} weights"
    counts = "+".join(map(str, parser.classifier_.counts_by_degree()))
    questions = len(_events(options).y)
    return f"accuracy {100 * ours:.2f} and {100 * theirs:.2f}; {counts} weights and {size}; {questions} questions"

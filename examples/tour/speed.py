"""How fast this run was: small jobs of the tour beside the same jobs by other libraries that are installed.

Ours and theirs alternate, on one thread, and are timed in CPU seconds of this process; the ratio is that of the
medians. The jobs are as small as the sample data, so they say less than the benchmarks do (`python -m bench`), but they
are of this machine and of this moment, and both sides show what they got.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from importlib import metadata, util
from typing import Any, NamedTuple

import numpy as np

from textmill.corpus import Document, Vocabulary
from textmill.strings import JaroWinkler
from textmill.tasks.names import sample_names
from textmill.vectors import Index, TextVectorizer

__all__ = ["Timing", "timings"]

_QUESTIONS = 50  # asked one after the other
_ROUNDS = 3


class Timing(NamedTuple):
    """CPU seconds of a job by us and by a peer, and what each of them got."""

    job: str
    peer: str
    ours: float
    theirs: float
    our_result: str
    their_result: str


def timings(documents: list[Document]) -> list[Timing]:
    """Time every job whose peer is installed."""
    texts = [document.text for document in documents]
    jobs = [
        ("scikit-learn", "count the words of the articles", _counting(texts)),
        ("scikit-learn", "find ten articles for one question after the other", _neighbors(texts, together=False)),
        ("scikit-learn", "find ten articles for all articles at once", _neighbors(texts, together=True)),
    ]
    if util.find_spec("rapidfuzz") is not None:
        jobs.append(("rapidfuzz", "compare all pairs of customers by Jaro-Winkler", _name_pairs()))
    return [_alternating(job, peer, *sides) for peer, job, sides in jobs]


Sides = tuple[Callable[[], str], Callable[[], str]]


def _counting(texts: list[str]) -> Sides:
    from sklearn.feature_extraction.text import CountVectorizer

    def ours() -> str:
        return f"{Vocabulary(n_jobs=1).fit_transform(texts).shape[1]} words"

    def theirs() -> str:
        return f"{CountVectorizer().fit_transform(texts).shape[1]} words"

    return ours, theirs


def _neighbors(texts: list[str], *, together: bool) -> Sides:
    """Both search the same vectors exactly, for all of them at once or for some, one after the other."""
    from sklearn.neighbors import NearestNeighbors

    X: Any = TextVectorizer(vocabulary=Vocabulary(max_df=0.2)).fit_transform(texts)
    index = Index(n_jobs=1).fit(X)
    peer = NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute", n_jobs=1).fit(X)

    questions = [X] if together else [X[[row]] for row in range(_QUESTIONS)]

    def ours() -> str:
        return f"mean cosine {np.mean([index.query(Q, k=10).scores for Q in questions]):.4f}"

    def theirs() -> str:
        return f"mean cosine {1 - np.mean([peer.kneighbors(Q)[0] for Q in questions]):.4f}"

    return ours, theirs


def _name_pairs() -> Sides:
    from rapidfuzz import process
    from rapidfuzz.distance import JaroWinkler as Peer

    names = sample_names().names
    fitted = JaroWinkler().fit(names)

    def ours() -> str:
        return f"mean {fitted.matrix(names, n_jobs=1).mean():.4f}"

    def theirs() -> str:
        scores = process.cdist(names, names, scorer=Peer.normalized_similarity, workers=1, dtype=np.float64)
        return f"mean {scores.mean():.4f}"

    return ours, theirs


def _alternating(job: str, peer: str, ours: Callable[[], str], theirs: Callable[[], str]) -> Timing:
    seconds: tuple[list[float], list[float]] = ([], [])
    results = [ours(), theirs()]  # the first call of each imports and warms up, and is not timed
    for _ in range(_ROUNDS):
        for side, work in zip(seconds, (ours, theirs), strict=True):
            before = time.process_time()
            work()
            side.append(time.process_time() - before)
    medians = [statistics.median(side) for side in seconds]
    return Timing(job, f"{peer} {metadata.version(peer)}", medians[0], medians[1], results[0], results[1])

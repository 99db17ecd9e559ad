"""Error rates by model, number of topics, length, noise and domain.

    by_kind     models x kinds of forgery; also for documents of another domain
    by_topics   models of different numbers of topics
    by_length   documents cut to their first N content words
    by_noise    a share of the content words replaced by words drawn evenly from the vocabulary

Each gives rows of equal error rates, for entropy (accepted below a threshold) and LLPW (accepted above); values above
1/2 are kept: there the score is inverted. Documents and forgeries have equal lengths, pair by pair. Thresholds found on
the same documents are optimistic; `fixed_threshold` takes one from development data.

Reference: Misra, Cappe & Yvon (2008), Using LDA to detect semantically incoherent documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill import plot
from textmill.errors import DataError
from textmill.metrics import BinaryCounts, ScoreCounts
from textmill.progress import track
from textmill.tasks.coherence.content import Content
from textmill.tasks.coherence.forgery import KINDS, Forger, choose_replacements
from textmill.tasks.coherence.scores import CoherenceScores, TopicScorer, equal_error
from textmill.topics import LDA

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "LENGTHS",
    "LEVELS",
    "TOPICS",
    "ErrorRow",
    "Scorer",
    "by_kind",
    "by_length",
    "by_noise",
    "by_topics",
    "draw_errors",
    "fixed_threshold",
    "make_sets",
]


LENGTHS = (*range(10, 101, 10), *range(125, 226, 25))  # content words


LEVELS = (*(round(0.05 * i, 2) for i in range(1, 11)), 0.6, 0.7, 0.8, 0.9, 1.0)  # shares of words replaced


TOPICS = (10, 50, 100, 200, 300, 400)


_FEW = 5  # documents of a kind below which there is no error rate


class Scorer(Protocol):
    """Whatever scores bags of words: `TopicScorer`, `MixtureScorer`, or a peer in the same clothes."""

    def score(self, X: Any) -> CoherenceScores:
        """Score documents: a matrix documents x terms."""


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """The equal error rate of one score: in which case (a model, a length, a level), against which kind."""

    case: str | float
    kind: str
    score: str
    error: float
    documents: int


def make_sets(
    forger: Forger, kinds: Sequence[str] = KINDS[:3], lengths: Sequence[int] | NDArray[np.int64] | None = None
) -> dict[str, Content]:
    """Make and read one false document of each kind for each length, by default those of the pool.

    >>> from textmill.corpus import Vocabulary
    >>> from textmill.tasks.coherence import ContentReader
    >>> pool = ["mill wheel corn. rye oats.", "comet moon. star sun.", "piano violin. drum flute."]
    >>> sets = make_sets(Forger(pool, ContentReader(Vocabulary().fit(pool))), ["sentence-salad", "markov"])
    >>> {kind: content.lengths.tolist() for kind, content in sets.items()}
    {'sentence-salad': [5, 4, 4], 'markov': [5, 4, 4]}
    """
    return {kind: forger.reader.read(forger.make(kind, lengths)) for kind in track(kinds, "forging", unit="kinds")}


def by_kind(scorers: Mapping[str, Scorer], true: Content, false: Mapping[str, Content], terms: int) -> list[ErrorRow]:
    """Error rates of models against kinds of false documents; a bag has `terms` columns.

    >>> from textmill.corpus import Vocabulary
    >>> from textmill.tasks.coherence import ContentReader, TopicScorer
    >>> reader = ContentReader(Vocabulary().fit(["a b c d"]))
    >>> true, false = reader.read(["a b a", "c d c"] * 5), reader.read(["a c b", "d c a"] * 5)
    >>> topics = TopicScorer([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    >>> [(row.score, row.error) for row in by_kind({"two": topics}, true, {"mixed": false}, 4)]
    [('entropy', 0.0), ('llpw', 0.0)]
    """
    rows = []
    for name, scorer in track(scorers.items(), "comparing", unit="models"):
        good = scorer.score(true.bags(terms))
        for kind, content in false.items():
            rows += _rows(name, kind, good, scorer.score(content.bags(terms)))
    return rows


def by_topics(
    X: Any,
    true: Content,
    false: Mapping[str, Content],
    numbers: Iterable[int] = TOPICS,
    *,
    max_iter: int = 300,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> list[ErrorRow]:
    """Error rates of models of different numbers of topics, each sampled from the bags X (alpha = 1, eta = 0.1)."""
    rows = []
    for topics in track(list(numbers), "by topics", unit="models"):
        model = LDA(
            n_topics=topics,
            method="gibbs",
            alpha=1.0,
            eta=0.1,
            max_iter=max_iter,
            random_state=random_state,
            n_jobs=n_jobs,
        ).fit(X)
        scorer = TopicScorer(model.components_, n_jobs=n_jobs)
        good = scorer.score(true.bags(X.shape[1]))
        for kind, content in false.items():
            rows += _rows(float(topics), kind, good, scorer.score(content.bags(X.shape[1])))
    return rows


def by_length(
    scorer: Scorer, true: Content, false: Mapping[str, Content], terms: int, lengths: Iterable[int] = LENGTHS
) -> list[ErrorRow]:
    """Error rates of documents cut to their first N content words, of those that have as many."""
    rows = []
    for length in track(list(lengths), "by length", unit="lengths"):
        cut = {kind: one.take(one.lengths >= length).first(length) for kind, one in [("", true), *false.items()]}
        good = scorer.score(cut.pop("").bags(terms))
        for kind, content in cut.items():
            rows += _rows(float(length), kind, good, scorer.score(content.bags(terms)))
    return rows


def by_noise(
    scorer: Scorer, true: Content, terms: int, levels: Iterable[float] = LEVELS, *, random_state: int = 0
) -> list[ErrorRow]:
    """Error rates against the same documents with a share of their words replaced, each level exactly met."""
    rows = []
    good = scorer.score(true.bags(terms))
    for level in track(list(levels), "by noise", unit="levels"):
        random = np.random.default_rng([random_state, round(1000 * level)])
        picks = choose_replacements(true.offsets, true.ids, level, terms, random)
        noisy = Content(true.offsets, np.where(picks >= 0, picks, true.ids).astype(np.int32), true.unknown)
        rows += _rows(float(level), "word-noise", good, scorer.score(noisy.bags(terms)))
    return rows


def fixed_threshold(
    development: tuple[ArrayLike, ArrayLike], test: tuple[ArrayLike, ArrayLike], *, accept: str = "below"
) -> BinaryCounts:
    """Decisions on test scores (true, false) with the threshold of equal error on development scores.

    >>> fixed_threshold(([1, 2], [3, 4]), ([1, 5], [2, 6]))
    BinaryCounts(hits=1, misses=1, false_alarms=1, rejections=1)
    """
    threshold = equal_error(*development, accept=accept).threshold
    true, false = (np.asarray(side, dtype=np.float64) for side in test)
    gold = np.repeat([True, False], [len(true), len(false)])
    return ScoreCounts.from_scores(np.concatenate([true, false]), gold, accept=accept).at(threshold)


def draw_errors(rows: Sequence[ErrorRow], *, x_label: str, title: str | None = None) -> Figure:
    """Curves of equal error rates over lengths or levels, one for each kind and score.

    >>> rows = [ErrorRow(10.0, "markov", "entropy", 0.3, 50), ErrorRow(50.0, "markov", "entropy", 0.1, 50)]
    >>> len(draw_errors(rows, x_label="content words").axes)
    1
    """
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for row in rows:
        x, y = curves.setdefault(f"{row.kind}, {row.score}", ([], []))
        x.append(float(row.case))
        y.append(100.0 * row.error)
    return plot.lines(curves, x_label=x_label, y_label="equal error rate, %", title=title)


def _rows(case: str | float, kind: str, true: CoherenceScores, false: CoherenceScores) -> list[ErrorRow]:
    """The error of entropy and of LLPW."""
    counts = [int((~np.isnan(one.entropy)).sum()) for one in (true, false)]
    if min(counts) < _FEW:
        raise DataError(f"case {case!r} against '{kind}' has {min(counts)} documents on one side; pass {_FEW} or more")
    return [
        ErrorRow(case, kind, "entropy", equal_error(true.entropy, false.entropy).figure, min(counts)),
        ErrorRow(case, kind, "llpw", equal_error(true.llpw, false.llpw, accept="above").figure, min(counts)),
    ]

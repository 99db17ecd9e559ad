"""Labelings of a chain of hidden states: the best, the n best, with certificates; hidden paths one by one.

    P(y | x) = sum over the hidden paths h with labels y of P(h | x)

    best label path      argmax_y P(y | x)                        three exact searches (native/sequence/labelpath.h)
    best hidden path     labels of argmax_h P(h | x)              Viterbi over states
    marginal path        argmax_y P(y_t = y | x) at every token   fewest wrong labels in expectation

A `Certificate` says how sure an answer is. While a search has not proved its answer the best labeling has a
probability between `probability` and `upper`. Every probability is that of whole sequences.
References: Sun, Morency, Okanohara & Tsujii (2008); Sun & Tsujii (2009).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from textmill._native import sequence as native
from textmill.arrays import Bytes, Floats, Ids, Ints
from textmill.errors import DataError
from textmill.model import check_choice, check_range, effective_jobs
from textmill.sequence.encoding import Encoded
from textmill.sequence.features import FeatureLayout

__all__ = [
    "SEARCHES",
    "Certificate",
    "HiddenScorer",
    "LabelPaths",
    "SearchLimits",
    "best_label_paths",
    "best_labels_flat",
    "hidden_paths",
    "label_log_probabilities",
    "most_probable_states",
    "state_probabilities",
]

SEARCHES = ("label", "hidden", "hidden-exact")

LEAST_EXPANSIONS, EXPANSIONS = 10_000, 50  # the limit where none is given: of a sequence, and more for each token
PATHS = 10_000  # hidden paths, where no limit is given
_TAKEN = 64  # hidden paths found at a time


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Where a search ends without a proof: `expansions` of prefixes, hidden `paths`, `seconds`, all for one sequence.

    None for expansions is 10,000 and 50 for each token of the longest sequence, None for paths 10,000, None for seconds
    no limit.

    >>> SearchLimits(paths=1).paths
    1
    """

    expansions: int | None = None
    paths: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("expansions", "paths"):
            if getattr(self, name) is not None:
                check_range(name, getattr(self, name), at_least=1, whole=True)
        if self.seconds is not None:
            check_range("seconds", self.seconds, above=0)


class Certificate(NamedTuple):
    """What a search knows of its answer."""

    exact: bool  # it is the best labeling, beyond doubt; of several, they are the best ones in their order
    probability: float  # of the answer: exact, or (search "hidden") of the hidden paths met, a lower bound
    upper: float  # no labeling is more probable than this
    runner_up: list[int] | None  # the next best labeling, if the search met it
    runner_up_bound: float  # no labeling that is not listed is more probable than this
    unexplored: float  # mass of labelings not listed or, of searches over hidden paths, of what was not met
    expansions: int  # prefixes taken from the queue
    pushes: int  # put into it
    paths: int  # hidden paths


class LabelPaths(NamedTuple):
    """Labelings of one sequence, best first, each with its probability, and the certificate."""

    paths: list[tuple[list[int], float]]
    certificate: Certificate


@dataclass(frozen=True, slots=True)
class HiddenScorer:
    """What searches need to know of a model: where its weights are, the weights, and the label of every state.

    `features` are the numbers of the weights, or None for one weight per feature. With order 2 all weights are given,
    those of `trigrams` trigram tests last.

    >>> scorer = HiddenScorer(FeatureLayout(2, 1, 1), np.zeros(6), np.array([0, 1], np.int32))
    >>> scorer.labels
    2
    """

    layout: FeatureLayout
    weights: Floats = field(repr=False)
    owner: Ids = field(repr=False)
    features: Ints | None = field(repr=False, default=None)
    order: int = 1

    @property
    def labels(self) -> int:
        """Number of labels."""
        return int(self.owner[-1]) + 1

    def at(self, data: Encoded, *, allowed: Bytes | None = None, transitions: Bytes | None = None) -> native.Hidden:
        """The model at some sequences; `allowed` [T, labels] and `transitions` [labels, labels] restrict labelings."""
        offsets, unigram, arcs = self.layout.data(data)
        owner = self.owner
        pairs = None
        if transitions is not None:
            pairs = np.ascontiguousarray(np.asarray(transitions, np.uint8)[np.ix_(owner, owner)])
        return native.make_hidden(
            self.order,
            self.labels,
            owner,
            offsets,
            tuple(unigram),
            tuple(arcs),
            self.layout.bigrams,
            self.weights,
            None if self.features is None else self.layout.support(self.features),
            allowed=None if allowed is None else np.ascontiguousarray(np.asarray(allowed, np.uint8)[:, owner]),
            transitions=pairs,
        )


def best_label_paths(
    scorer: HiddenScorer,
    data: Encoded,
    k: int = 1,
    *,
    search: str = "label",
    limits: SearchLimits | None = None,
    runner_up: bool = False,
    allowed: Bytes | None = None,
    transitions: Bytes | None = None,
    n_jobs: int | None = 1,
) -> list[LabelPaths]:
    """The k best labelings of every sequence; with `runner_up` the one after them is searched for, too.

    A sequence all of whose labelings are forbidden has no path.

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(2), np.zeros(1, np.int32), None, 1)
    >>> none = Active(np.zeros(2, np.int64), np.empty(0, np.int32), None, 0)
    >>> scorer = HiddenScorer(FeatureLayout(3, 1, 0), np.log([3.0, 2.0, 2.0]), np.array([0, 1, 1], np.int32))
    >>> answer = best_label_paths(scorer, Encoded(np.array([0, 1]), tests, none), 2)[0]
    >>> [(labels, round(p, 6)) for labels, p in answer.paths], answer.certificate.exact
    ([([1], 0.571429), ([0], 0.428571)], True)
    """
    check_choice("search", search, SEARCHES)
    check_range("k", k, at_least=1, whole=True)
    if search != "label" and k > 1:
        raise DataError(f"search='{search}' has one answer; for the k best labelings use search='label'")
    limits = limits or SearchLimits()
    asked = k + 1 if runner_up and search == "label" else k
    longest = int(np.diff(data.offsets).max(initial=0))
    expansions = limits.expansions
    if expansions is None:
        expansions = LEAST_EXPANSIONS + EXPANSIONS * longest if search == "label" else 0
    labels, counts, logs, figures, second = scorer.at(data, allowed=allowed, transitions=transitions).label_paths(
        asked,
        search,
        expansions=expansions,
        paths=0 if search == "label" else limits.paths or PATHS,
        seconds=limits.seconds or 0.0,
        masses=True,
        threads=effective_jobs(n_jobs),
    )
    answers, at, one = [], 0, 0
    rows = figures.reshape(-1, 10).tolist()
    for (begin, end), count, row in zip(pairwise(data.offsets.tolist()), counts.tolist(), rows, strict=True):
        proved, _, upper, bound, unexplored, taken, pushes, paths, _, has_second = row
        length = end - begin
        rows_here = labels[at : at + count * length].reshape(count, length).tolist()
        paths_here = list(zip(rows_here, np.exp(logs[one : one + count]).tolist(), strict=True))
        at += count * length
        one += count
        other = None
        if has_second:
            other = second[begin:end].tolist()
        elif count > k:
            other, probability = paths_here[k]
            bound = math.log(probability) if proved > k and probability > 0 else bound
            unexplored = min(1.0, unexplored + paths_here[k][1])
        elif not count:
            upper = bound = -math.inf
        certificate = Certificate(
            exact=bool(count) and proved >= min(k, count),
            probability=paths_here[0][1] if paths_here else 0.0,
            upper=math.exp(min(upper, 0.0)),
            runner_up=other,
            runner_up_bound=math.exp(min(bound, 0.0)),
            unexplored=unexplored,
            expansions=int(taken),
            pushes=int(pushes),
            paths=int(paths),
        )
        answers.append(LabelPaths(paths_here[:k], certificate))
    return answers


def best_labels_flat(
    scorer: HiddenScorer,
    data: Encoded,
    *,
    search: str = "label",
    limits: SearchLimits | None = None,
    allowed: Bytes | None = None,
    transitions: Bytes | None = None,
    n_jobs: int | None = 1,
) -> Ids:
    """The labels of the best labeling of every token, one sequence after the other; -1 where all are forbidden.

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(2), np.zeros(1, np.int32), None, 1)
    >>> none = Active(np.zeros(2, np.int64), np.empty(0, np.int32), None, 0)
    >>> scorer = HiddenScorer(FeatureLayout(3, 1, 0), np.log([3.0, 2.0, 2.0]), np.array([0, 1, 1], np.int32))
    >>> best_labels_flat(scorer, Encoded(np.array([0, 1]), tests, none)).tolist()
    [1]
    """
    check_choice("search", search, SEARCHES)
    limits = limits or SearchLimits()
    longest = int(np.diff(data.offsets).max(initial=0))
    expansions = LEAST_EXPANSIONS + EXPANSIONS * longest if search == "label" else 0
    labels, counts, *_ = scorer.at(data, allowed=allowed, transitions=transitions).label_paths(
        1,
        search,
        expansions=limits.expansions or expansions,
        paths=0 if search == "label" else limits.paths or PATHS,
        seconds=limits.seconds or 0.0,
        masses=False,
        threads=effective_jobs(n_jobs),
    )
    if counts.all():
        return np.asarray(labels, np.int32)
    out = np.full(data.tokens, -1, np.int32)
    out[np.repeat(counts > 0, np.diff(data.offsets))] = labels
    return out


def most_probable_states(
    scorer: HiddenScorer,
    data: Encoded,
    *,
    allowed: Bytes | None = None,
    transitions: Bytes | None = None,
    n_jobs: int | None = 1,
) -> tuple[Ids, Floats]:
    """The best hidden path of every sequence and its score: Viterbi over states; -1 where all are forbidden.

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(2), np.zeros(1, np.int32), None, 1)
    >>> none = Active(np.zeros(2, np.int64), np.empty(0, np.int32), None, 0)
    >>> scorer = HiddenScorer(FeatureLayout(3, 1, 0), np.log([3.0, 2.0, 2.0]), np.array([0, 1, 1], np.int32))
    >>> most_probable_states(scorer, Encoded(np.array([0, 1]), tests, none))[0].tolist()
    [0]
    """
    path, scores = np.empty(data.tokens, np.int32), np.empty(data.sequences)
    scorer.at(data, allowed=allowed, transitions=transitions).viterbi(path, scores, effective_jobs(n_jobs))
    return path, scores


def state_probabilities(
    scorer: HiddenScorer,
    data: Encoded,
    *,
    allowed: Bytes | None = None,
    transitions: Bytes | None = None,
    n_jobs: int | None = 1,
) -> tuple[Floats, Floats]:
    """Probabilities of states [T, H], and log Z of every sequence.

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(2), np.zeros(1, np.int32), None, 1)
    >>> none = Active(np.zeros(2, np.int64), np.empty(0, np.int32), None, 0)
    >>> scorer = HiddenScorer(FeatureLayout(2, 1, 0), np.log([3.0, 1.0]), np.array([0, 1], np.int32))
    >>> state_probabilities(scorer, Encoded(np.array([0, 1]), tests, none))[0].round(6).tolist()
    [[0.75, 0.25]]
    """
    probabilities, log_z = np.empty((data.tokens, len(scorer.owner))), np.empty(data.sequences)
    hidden = scorer.at(data, allowed=allowed, transitions=transitions)
    hidden.state_probabilities(probabilities, log_z, effective_jobs(n_jobs))
    return probabilities, log_z


def label_log_probabilities(scorer: HiddenScorer, data: Encoded, labels: Ids, *, n_jobs: int | None = 1) -> Floats:
    """log P(y | x) of given labels, one per sequence; a label of -1 is summed over.

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(2), np.zeros(1, np.int32), None, 1)
    >>> none = Active(np.zeros(2, np.int64), np.empty(0, np.int32), None, 0)
    >>> scorer = HiddenScorer(FeatureLayout(3, 1, 0), np.log([3.0, 2.0, 2.0]), np.array([0, 1, 1], np.int32))
    >>> data = Encoded(np.array([0, 1]), tests, none)
    >>> np.exp(label_log_probabilities(scorer, data, np.array([1], np.int32))).round(6).tolist()
    [0.571429]
    """
    hidden, threads = scorer.at(data), effective_jobs(n_jobs)
    mass, whole = np.empty(data.sequences), np.empty(data.sequences)
    hidden.label_masses(np.ascontiguousarray(labels, np.int32), mass, threads)
    hidden.label_masses(np.full(data.tokens, -1, np.int32), whole, threads)
    return mass - whole


def hidden_paths(
    scorer: HiddenScorer, data: Encoded, sequence: int = 0, *, allowed: Bytes | None = None
) -> Iterator[tuple[list[int], float]]:
    """Hidden paths of one sequence with their exact probabilities, best first, found as they are asked for.

    >>> from textmill.sequence.encoding import Active
    >>> tests = Active(np.arange(2), np.zeros(1, np.int32), None, 1)
    >>> none = Active(np.zeros(2, np.int64), np.empty(0, np.int32), None, 0)
    >>> scorer = HiddenScorer(FeatureLayout(2, 1, 0), np.log([1.0, 3.0]), np.array([0, 1], np.int32))
    >>> paths = hidden_paths(scorer, Encoded(np.array([0, 1]), tests, none))
    >>> [(states, round(p, 6)) for states, p in paths]
    [([1], 0.75), ([0], 0.25)]
    """
    if data.offsets[sequence] == data.offsets[sequence + 1]:
        yield [], 1.0
        return
    waiting = native.hidden_paths(scorer.at(data, allowed=allowed), sequence)
    while True:
        states, logs = waiting.take(_TAKEN)
        for path, log in zip(states.reshape(len(logs), -1).tolist(), logs.tolist(), strict=True):
            yield path, math.exp(log)
        if len(logs) < _TAKEN:
            return

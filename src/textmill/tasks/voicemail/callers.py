"""Where a caller says who it is: a tree for the first word, a tree for the number of words.

    s, l = argmax P(s | words of the message) P(l | s, words around s)

Both are classifications into small numbers, since callers come to the point: nearly all begin within the first seven
words. The same trees serve for whole phrases ("this is Pat Caller") and for names alone; only the spans they learn from
differ. The trees see a closed list of words, so a recognizer that garbles names leaves them little to lose.

Cost: O(height of a tree) per question. Reference: Jansche & Abney (2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats, Ids, Ints
from textmill.model import effective_jobs
from textmill.tasks.voicemail.locale import Locale
from textmill.trees import CategoricalTree, EncodedRows

__all__ = [
    "FOLDS",
    "CallerTrees",
    "best_threshold",
    "choices_of",
    "confidences",
    "length_columns",
    "length_rows",
    "start_columns",
    "start_rows",
    "with_confidence",
]

FOLDS = 3  # in which thresholds and confidences are chosen
NONE = -1  # the start of a caller who is not there
_START_WINDOW, _BEFORE, _LENGTH_WINDOW = 12, 2, 13  # as in native/tasks/voicemail.h
_CLASSES = 8  # that a node offers, and NONE
Spans = Sequence[tuple[int, int] | None]


def start_columns(locale: Locale) -> tuple[list[str], list[list[str]]]:
    """Names of the columns of the first tree, and values of those that are words."""
    words = [f"w{i}" for i in range(_START_WINDOW)]
    return [*words, "identifier", "greetings", "length"], [locale.values] * _START_WINDOW


def length_columns(locale: Locale) -> tuple[list[str], list[list[str]]]:
    """Names of the columns of the second tree, and values of those that are words."""
    words = [f"s{i - _BEFORE:+d}" for i in range(_LENGTH_WINDOW)]
    return [*words, "start", "terminator", "rest"], [locale.values] * _LENGTH_WINDOW


def start_rows(locale: Locale, texts: list[str], n_jobs: int | None) -> EncodedRows:
    """What the first tree sees of messages."""
    names, values = start_columns(locale)
    codes, numbers = np.empty((len(texts), _START_WINDOW), np.int32), np.empty((len(texts), 3))
    locale.native.start_rows(texts, codes, numbers, effective_jobs(n_jobs))
    return EncodedRows(codes, numbers, values, names)


def length_rows(locale: Locale, texts: list[str], starts: Sequence[int], n_jobs: int | None) -> EncodedRows:
    """What the second tree sees at the starts of callers."""
    names, values = length_columns(locale)
    codes, numbers = np.empty((len(texts), _LENGTH_WINDOW), np.int32), np.empty((len(texts), 3))
    locale.native.length_rows(texts, np.asarray(starts, np.int32), codes, numbers, effective_jobs(n_jobs))
    return EncodedRows(codes, numbers, values, names)


def choices_of(tree: CategoricalTree) -> native.VoicemailChoices:
    """A tree with the most probable classes of each of its nodes, smoothed as `predict_proba` does."""
    counts = tree.node_counts() + tree.smoothing / len(tree.classes_)
    shares = counts / counts.sum(axis=1, keepdims=True)
    offered = min(_CLASSES, shares.shape[1])
    order = np.argsort(-shares, axis=1, kind="stable")[:, :offered]
    offsets, numbers, probabilities = [0], [], []
    none = int(np.flatnonzero(tree.classes_ == NONE)[0]) if NONE in tree.classes_ else None
    for node, classes in enumerate(order):
        own = classes.tolist()
        if none is not None:  # known before any start is looked at
            own = [none, *(c for c in own if c != none)]
        numbers += tree.classes_[own].tolist()
        probabilities += shares[node, own].tolist()
        offsets.append(len(numbers))
    return native.VoicemailChoices(
        tree.walker(), np.array(offsets, np.int64), np.array(numbers, np.int32), np.array(probabilities)
    )


def best_threshold(probabilities: Floats, right: Any, gold: int) -> tuple[float, float]:
    """The threshold on probabilities of the greatest F, and F, when `gold` spans could be found.

    >>> best_threshold(np.array([0.9, 0.8, 0.4]), np.array([True, True, False]), 2)
    (0.6, 1.0)
    """
    if len(probabilities) == 0 or gold == 0:
        return 0.5, 0.0
    order = np.argsort(-probabilities, kind="stable")
    sums = np.cumsum(np.asarray(right)[order])
    f = 2 * sums / (np.arange(1, len(order) + 1) + gold)
    values = probabilities[order]
    f[:-1][values[1:] == values[:-1]] = -1.0  # a threshold lies between different values
    best = int(np.argmax(f))
    below = values[best + 1] if best + 1 < len(values) else 0.0
    return round(float((values[best] + below) / 2), 6), float(f[best])


@dataclass(frozen=True)
class CallerTrees:
    """The two trees of phrases, or of names, and the threshold on their probability."""

    start: CategoricalTree
    length: CategoricalTree
    threshold: float
    joint: bool

    @classmethod
    def learn(
        cls,
        locale: Locale,
        texts: list[str],
        spans: Spans,
        *,
        joint: bool,
        threshold: float | None,
        predicted_starts: bool,
        tree: CategoricalTree,
    ) -> CallerTrees:
        """Learn from messages and the spans of their callers; None for a message without one.

        Threshold and confidence of pruning that are None are those of the greatest F on messages that trees did not
        see; so are the starts at which lengths are learned, with `predicted_starts`.
        """
        trainer = _Trainer(locale, texts, spans, tree)
        chosen = [trainer.try_out(confidence, threshold, predicted_starts, joint) for confidence in confidences(tree)]
        best = max(range(len(chosen)), key=lambda i: (chosen[i].f, -i))
        trainer.tree = with_confidence(tree, confidences(tree)[best])
        everything = np.arange(len(texts))
        return cls(
            trainer.grow_start(everything),
            trainer.grow_length(everything, chosen[best].starts),
            chosen[best].threshold,
            joint,
        )

    def native(self) -> native.VoicemailCaller:
        """The trees as the native extractor wants them."""
        return native.VoicemailCaller(choices_of(self.start), choices_of(self.length), self.threshold, self.joint)


class _Trial(NamedTuple):
    """F out of fold, its threshold, and predicted starts."""

    f: float
    threshold: float
    starts: list[int] | None


class _Trainer:
    """Rows and targets, from which trees of some of the messages are grown."""

    def __init__(self, locale: Locale, texts: list[str], spans: Spans, tree: CategoricalTree) -> None:
        self.locale, self.texts, self.spans, self.tree = locale, texts, spans, tree
        self.rows = start_rows(locale, texts, tree.n_jobs)
        self.starts: Ids = np.array([NONE if span is None else span[0] for span in spans], np.int32)

    def take(self, messages: Ints) -> EncodedRows:
        """Rows of some messages."""
        rows = self.rows
        return EncodedRows(rows.codes[messages], rows.numbers[messages], rows.values, rows.names)

    def grow_start(self, messages: Ints) -> CategoricalTree:
        """The first tree."""
        return with_confidence(self.tree).fit(self.take(messages), self.starts[messages])

    def grow_length(self, messages: Ints, predicted: list[int] | None) -> CategoricalTree:
        """The second tree, at gold starts or at predicted ones that lie before the end of the caller."""
        texts, starts, lengths = [], [], []
        for i in messages.tolist():
            span = self.spans[i]
            if span is None:
                continue
            start = span[0] if predicted is None else predicted[i]
            if 0 <= start < span[1]:
                texts.append(self.texts[i])
                starts.append(start)
                lengths.append(span[1] - start)
        if not lengths:  # no caller at all: a tree that nobody asks
            texts, starts, lengths = [""], [0], [1]
        rows = length_rows(self.locale, texts, starts, self.tree.n_jobs)
        return with_confidence(self.tree).fit(rows, np.array(lengths))

    def try_out(self, confidence: float | None, threshold: float | None, predict: bool, joint: bool) -> _Trial:
        """Trees of two thirds of the messages, tried on the last third, three times."""
        self.tree = with_confidence(self.tree, confidence)
        folds = np.arange(len(self.texts)) % FOLDS
        if len(self.texts) < 2 * FOLDS:
            return _Trial(0.0, 0.5 if threshold is None else threshold, None)
        trees = [self.grow_start(np.flatnonzero(folds != fold)) for fold in range(FOLDS)]
        starts: list[int] | None = None
        if predict:
            starts = [NONE] * len(self.texts)
            for fold, first in enumerate(trees):
                own = np.flatnonzero(folds == fold)
                for i, start in zip(own.tolist(), first.predict(self.take(own)).tolist(), strict=True):
                    starts[i] = start
        probabilities: list[float] = []
        right: list[bool] = []
        for fold, start_tree in enumerate(trees):
            length = self.grow_length(np.flatnonzero(folds != fold), starts)
            caller = CallerTrees(start_tree, length, 0.0, joint).native()
            own = np.flatnonzero(folds == fold)
            texts = [self.texts[i] for i in own.tolist()]
            begin, end, p, *_ = self.locale.native.find_callers(texts, caller, effective_jobs(self.tree.n_jobs))
            for i, first, last, probability in zip(own.tolist(), begin.tolist(), end.tolist(), p.tolist(), strict=True):
                if first >= 0:
                    probabilities.append(probability)
                    right.append(self.spans[i] == (first, last))
        gold = sum(span is not None for span in self.spans)
        best, f = best_threshold(np.array(probabilities), np.array(right, bool), gold)
        return _Trial(f, best if threshold is None else threshold, starts)


def confidences(tree: CategoricalTree) -> list[float | None]:
    """Confidences of pruning to try: the one that is set, or three."""
    return [tree.confidence] if tree.confidence is not None else [0.1, 0.25, 0.03]


def with_confidence(tree: CategoricalTree, confidence: float | None = None) -> CategoricalTree:
    """A tree yet to be grown, of the same settings, with another confidence unless it is None."""
    settings = tree.get_params()
    return CategoricalTree(**settings | ({} if confidence is None else {"confidence": confidence}))

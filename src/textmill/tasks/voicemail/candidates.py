"""Which of the spoken numbers is to be called: a tree over the digits of a candidate and the words around it.

The grammar proposes three times too much. The number of digits says most (4, 7, 10 and 11 are telephone numbers, 9 a
social security number), then where the candidate stands and which words are near: call, number, reach; dollars,
o'clock, room. The number of words counts per digit, so that it says how a number is spoken and not how long it is:
3271025 may be six words. `FAMILIES` names the columns that belong together, so that one can see what each is worth.

Cost: O(height of the tree) per candidate. Reference: Jansche & Abney (2002).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from textmill.arrays import Floats, Ids
from textmill.model import check_choice, effective_jobs
from textmill.tasks.voicemail.callers import FOLDS, best_threshold, confidences, with_confidence
from textmill.tasks.voicemail.locale import Locale
from textmill.tasks.voicemail.numbers import FoundNumbers
from textmill.trees import CategoricalTree, EncodedRows

__all__ = ["FAMILIES", "candidate_columns", "candidate_rows", "learn_numbers", "number_probabilities"]

NUMBERS = ("digits", "extension digits", "words per digit", "words to the end", "share of the message", "repetitions")
FAMILIES = {
    "digits": ("digits", "extension digits"),
    "words": ("words per digit",),
    "place": ("words to the end", "share of the message"),
    "repetitions": ("repetitions",),
    "shape": ("first digit", "area or extension"),
    "words around": ("before", "after", "left", "right"),
}


def candidate_columns(locale: Locale) -> tuple[list[str], list[list[str]]]:
    """Names of the columns, and values of those that are no numbers."""
    contexts = list(locale.contexts)
    beside = [*contexts, "<other>", "<edge>"]
    yes = ["no", "yes"]
    names = ["first digit", "area or extension", "before", "after"]
    names += [f"left {word}" for word in contexts] + [f"right {word}" for word in contexts]
    values = [["0", "1", "other"], yes, beside, beside, *([yes] * (2 * len(contexts)))]
    return [*names, *NUMBERS], values


def candidate_rows(
    locale: Locale, texts: list[str], mode: str, n_jobs: int | None, without: Collection[str] = ()
) -> tuple[FoundNumbers, EncodedRows]:
    """The candidates of messages, and what the tree sees of them; columns of families `without` are blank."""
    names, values = candidate_columns(locale)
    arrays, codes, numbers = locale.native.candidate_rows(texts, mode, effective_jobs(n_jobs))
    candidates = FoundNumbers(arrays)
    codes = codes.reshape(-1, len(values))
    numbers = numbers.reshape(-1, len(NUMBERS))
    for family in without:
        check_choice("without", family, tuple(FAMILIES))
        for i, name in enumerate(names):
            if name in FAMILIES[family] or name.split()[0] in set(FAMILIES[family]) & {"left", "right"}:
                if i < len(values):
                    codes[:, i] = 0
                else:
                    numbers[:, i - len(values)] = 0.0
    return candidates, EncodedRows(codes, numbers, values, names)


def learn_numbers(
    locale: Locale,
    texts: list[str],
    spans: Sequence[Collection[tuple[int, int]]],
    *,
    mode: str,
    threshold: float | None,
    without: Collection[str],
    tree: CategoricalTree,
) -> tuple[CategoricalTree, float]:
    """A tree of candidates, and the threshold of the greatest F on messages that trees did not see."""
    candidates, rows = candidate_rows(locale, texts, mode, tree.n_jobs, without)
    message = np.repeat(np.arange(len(texts)), np.diff(candidates.offsets))
    places = zip(message.tolist(), candidates.start.tolist(), candidates.end.tolist(), strict=True)
    labels: Ids = np.array([(start, end) in spans[i] for i, start, end in places], np.int32)
    gold = sum(map(len, spans))
    if not len(labels):  # no candidate at all: a tree that says no
        blank = EncodedRows(
            np.zeros((1, len(rows.values)), np.int32), np.zeros((1, len(NUMBERS))), rows.values, rows.names
        )
        return with_confidence(tree, 0.25).fit(blank, np.zeros(1, np.int32)), 0.5
    folds = message % FOLDS
    trials = []
    for confidence in confidences(tree):
        probabilities: Floats = np.zeros(len(labels))
        for fold in range(FOLDS):
            own = folds == fold
            if own.any() and not own.all():
                grown = with_confidence(tree, confidence).fit(_take(rows, ~own), labels[~own])
                probabilities[own] = number_probabilities(grown)[grown.apply(_take(rows, own))]
        trials.append(best_threshold(probabilities, labels, gold))
    best = max(range(len(trials)), key=lambda i: (trials[i][1], -i))
    grown = with_confidence(tree, confidences(tree)[best]).fit(rows, labels)
    return grown, trials[best][0] if threshold is None else threshold


def number_probabilities(tree: CategoricalTree) -> Floats:
    """The probability at each node that a candidate is to be called."""
    counts = tree.node_counts() + tree.smoothing / len(tree.classes_)
    if 1 not in tree.classes_:
        return np.zeros(len(counts))
    return np.asarray(counts[:, int(np.flatnonzero(tree.classes_ == 1)[0])] / counts.sum(axis=1))


def _take(rows: EncodedRows, chosen: Ids) -> EncodedRows:
    return EncodedRows(rows.codes[chosen], rows.numbers[chosen], rows.values, rows.names)

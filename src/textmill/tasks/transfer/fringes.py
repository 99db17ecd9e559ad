"""What the words of a target tree should look like: n-grams of raw text, or a language model.

    p(w | h) = (n(h, w) + constant) / (n(h) + constant (V + 1))       V words and the end of a sentence

The same numbers are the prior counts of the full model, in which n-grams are drawn along with the trees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from textmill.arrays import Floats, Ids
from textmill.errors import DataError

__all__ = ["FringeCounts", "model_weights"]


class FringeCounts:
    """Counts of n-grams in raw text, with a start of the sentence before and its end behind.

    >>> counts = FringeCounts([["v", "n"], ["v", "a"]], order=2, constant=0.0)
    >>> counts.prior([(("v",), "n"), ((), "v")])[1].tolist()
    [1.0, 2.0]
    """

    def __init__(self, sentences: Iterable[Sequence[str]], *, order: int, constant: float) -> None:
        self.order, self.constant = order, constant
        self._grams: Counter[tuple[tuple[str, ...], str]] = Counter()
        self._histories: Counter[tuple[str, ...]] = Counter()
        self._words: set[str] = set()
        for number, sentence in enumerate(sentences, 1):
            if isinstance(sentence, str):
                raise DataError(f"text {number} is a string; pass lists of words or tags, such as text.split()")
            history: tuple[str, ...] = ()
            for word in [*sentence, "$"]:
                self._grams[history, word] += 1
                self._histories[history] += 1
                self._words.add(word)
                history = (*history, word)[-(order - 1) :] if order > 1 else ()
        if not self._grams:
            raise DataError("there is no raw text of the target language; pass sentences")

    def prior(self, events: Sequence[tuple[tuple[str, ...], str]]) -> tuple[Ids, Floats, Floats]:
        """Row of each event, its prior count, and the prior counts of whole rows."""
        size = len(self._words | {word for _, word in events})
        rows: dict[tuple[str, ...], int] = {}
        row = np.array([rows.setdefault(history, len(rows)) for history, _ in events], np.int32)
        alpha = np.array([self._grams[event] + self.constant for event in events], np.float64)
        total = np.array([self._histories[history] + self.constant * size for history in rows], np.float64)
        return row, alpha, total


def model_weights(model: Any, events: Sequence[tuple[tuple[str, ...], str]], order: int) -> Floats:
    """Probabilities of events by an n-gram model of `textmill.lm`."""
    by_history: dict[tuple[str, ...], Floats] = {}
    out = np.zeros(len(events))
    for at, (history, word) in enumerate(events):
        if history not in by_history:
            by_history[history] = model.distribution(history, start=len(history) < order - 1)
        out[at] = by_history[history][model.id_of("</s>" if word == "$" else word)]
    return out

"""Questions to an n-gram model: what comes next, how often was this seen, which n-grams begin so.

    next words     argmax_w p(w | h), the k best words of the smoothed distribution after h
    n-grams        the nodes of the tree below a prefix, the most frequent first

Cost: next words visit the vocabulary once; n-grams visit the nodes below the prefix once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.lm.counting import BEGIN, SPECIAL, UNKNOWN
from textmill.lm.ngram import NGramModel
from textmill.model import check_fitted, check_range
from textmill.tables import Rows

__all__ = ["NGram", "frequent_ngrams", "next_words"]


@dataclass(frozen=True, slots=True)
class NGram:
    """An n-gram of a model.

    Attributes:
        words: The words, <s> and </s> included.
        count: How often it was seen; None in a model from a file without counts.
        probability: p(last word | the words before it).
    """

    words: tuple[str, ...]
    count: int | None
    probability: float


def next_words(
    model: NGramModel, context: Sequence[str] = (), *, k: int = 10, start: bool = False
) -> Rows[tuple[str, float]]:
    """Return the k most likely words after `context` with their probabilities, the best first.

    The end of the sentence, </s>, is one of the words; the unknown word is not. With `start` the context is the
    beginning of a sentence.

    >>> model = NGramModel(order=2).fit(["the mill turns", "the mill stands still", "a mill turns"])
    >>> [word for word, _ in next_words(model, ["mill"], k=2)]
    ['turns', 'stands']
    """
    check_range("k", k, at_least=1, whole=True)
    probability = model.distribution(context, start=start)
    probability[[UNKNOWN, BEGIN]] = -1.0
    best = np.argsort(-probability, kind="stable")[: min(k, len(probability) - 2)]
    return Rows([(model.words_[int(word)], float(probability[word])) for word in best], ("word", "probability"))


def frequent_ngrams(
    model: NGramModel, prefix: Sequence[str] = (), *, k: int = 10, order: int | None = None
) -> Rows[NGram]:
    """Return the k most frequent n-grams of length `order` that begin with `prefix`, the most frequent first.

    `order` is by default one word more than the prefix, or the length of the prefix where the model has no longer
    n-grams: then the answer is the prefix itself, if it was seen. A model without counts gives the most likely ones.

    >>> model = NGramModel(order=2).fit(["the mill turns", "the mill stands still", "a mill turns"])
    >>> [(ngram.words, ngram.count) for ngram in frequent_ngrams(model, ["mill"], k=1)]
    [(('mill', 'turns'), 2)]
    """
    check_fitted(model)
    check_range("k", k, at_least=1, whole=True)
    if isinstance(prefix, str):
        raise DataError(f"prefix must be a list of words, got the text {prefix!r}; pass {prefix.split()!r}")
    highest = len(model.levels_) - 2
    if len(prefix) > highest:
        raise DataError(f"the prefix has {len(prefix)} words, but the model has n-grams of at most {highest}")
    length = min(len(prefix) + 1, highest) if order is None else order
    check_range("order", length, at_least=max(1, len(prefix)), at_most=highest, whole=True)
    begin, end = _node_range(model, prefix)
    for _ in range(length - len(prefix)):
        begin, end = int(model.children_[begin]), int(model.children_[end])
    weight = model.numbers()[0][begin:end] if model.counts_ is None else model.counts_[begin:end]
    best = begin + np.argsort(-weight, kind="stable")[:k]
    return Rows([_ngram(model, int(node), length) for node in best], NGram)


def _node_range(model: NGramModel, prefix: Sequence[str]) -> tuple[int, int]:
    """The node of a prefix as a range of one, or an empty range where it was not seen."""
    begin, end = 0, 1
    for word in prefix:
        number = SPECIAL.index(word) if word in SPECIAL else model.id_of(word)
        first, last = int(model.children_[begin]), int(model.children_[end])
        place = first + int(np.searchsorted(model.last_words_[first:last], number))
        if place == last or model.last_words_[place] != number or (number == UNKNOWN and word != SPECIAL[UNKNOWN]):
            return begin, begin
        begin, end = place, place + 1
    return begin, end


def _ngram(model: NGramModel, node: int, length: int) -> NGram:
    words: list[str] = []
    place = node
    for level in range(length, 0, -1):
        words.append(model.words_[int(model.last_words_[place])])
        parents: NDArray[np.int32] = model.children_[int(model.levels_[level - 1]) : int(model.levels_[level]) + 1]
        place = int(model.levels_[level - 1]) + int(np.searchsorted(parents, place, side="right")) - 1
    count = None if model.counts_ is None else int(model.counts_[node])
    probability = 0.0 if words[0] == SPECIAL[BEGIN] else 10.0 ** float(model.numbers()[0][node])
    return NGram(tuple(reversed(words)), count, probability)

"""Pairs from elsewhere: keep those that a transcriber would write itself, and characters that sound alike as one.

Mining: a pair (x, y) is accepted iff y is among the k best outputs of x by the model that was trained without it. How
far that can be trusted is estimated on pairs that are right: how many of them are accepted, and how many of as many
wrong ones, each word with the output of another.

Homophones: of the characters with one (frequent) reading, all are replaced by the one that the in-domain outputs use
most; a reading without an in-domain character is left as it is.

Cost: that of transcribing. Reference: Jansche & Sproat (2009), sections 3.5 and 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from textmill.errors import DataError
from textmill.model import check_range
from textmill.tasks.transcription.parts import hashable
from textmill.tasks.transcription.searching import Pairs
from textmill.tasks.transcription.transcriber import Transcriber

__all__ = ["MinedPairs", "homophone_map", "mine", "mining_estimate", "normalize_homophones"]


class MinedPairs(NamedTuple):
    """Pairs that were accepted, and the rank of each examined pair's output, 0 where it is not among the best."""

    pairs: Pairs
    ranks: list[int]


def mine(model: Transcriber, pairs: Pairs, *, k: int = 10, per_word: int | None = None) -> MinedPairs:
    """Accept the pairs whose output is among the k best of the model; at most `per_word` outputs of a word.

    >>> from textmill.tasks.transcription import Transcriber, sample_names
    >>> model = Transcriber(search=False, script="katakana").fit(*sample_names())
    >>> mine(model, Pairs(["kanata", "makita"], ["カナタ", "トヨタ"])).pairs
    Pairs(words=['kanata'], outputs=['カナタ'])
    """
    check_range("k", k, at_least=1, whole=True)
    words = list(dict.fromkeys(map(hashable, pairs.words)))
    best = model.predict_best([word if isinstance(word, str) else list(word) for word in words], k, cached=False)
    rank = {
        word: {hashable(one.output): i for i, one in enumerate(row, 1)} for word, row in zip(words, best, strict=True)
    }
    ranks = [rank[hashable(w)].get(hashable(o), 0) for w, o in zip(pairs.words, pairs.outputs, strict=True)]
    taken: dict[Any, set[Any]] = {}
    accepted = Pairs([], [])
    for i in sorted((i for i, r in enumerate(ranks) if r), key=lambda i: ranks[i]):
        outputs = taken.setdefault(hashable(pairs.words[i]), set())
        if per_word is None or len(outputs) < per_word:
            outputs.add(hashable(pairs.outputs[i]))
    done: set[tuple[Any, Any]] = set()
    for word, output in zip(pairs.words, pairs.outputs, strict=True):
        key = (hashable(word), hashable(output))
        if key[1] in taken.get(key[0], ()) and key not in done:
            done.add(key)
            accepted.words.append(word)
            accepted.outputs.append(output)
    return MinedPairs(accepted, ranks)


def mining_estimate(model: Transcriber, pairs: Pairs, *, k: int = 10) -> tuple[float, float]:
    """The shares of right pairs and of wrong ones, shifted by one word, that mining would accept.

    >>> from textmill.tasks.transcription import Transcriber, sample_names
    >>> words, outputs = sample_names()
    >>> right, wrong = mining_estimate(Transcriber(search=False).fit(words, outputs), Pairs(words[:20], outputs[:20]))
    >>> right > wrong
    True
    """
    if len(pairs.words) < 2:
        raise DataError("an estimate needs at least two pairs")
    shifted = Pairs(pairs.words, [*pairs.outputs[1:], pairs.outputs[0]])
    right, wrong = (mine(model, some, k=k).ranks for some in (pairs, shifted))
    return sum(map(bool, right)) / len(right), sum(map(bool, wrong)) / len(wrong)


def homophone_map(in_domain: Iterable[str], readings: Mapping[str, str], *, min_count: int = 1) -> dict[str, str]:
    """For each character the predominant one of the in-domain texts with the same reading, if it is another.

    `readings` has the reading of each character; one that in-domain texts use less than `min_count` times in all is
    left alone.

    >>> homophone_map(["伯德", "伯恩"], {"伯": "bo2", "博": "bo2", "德": "de2"})
    {'博': '伯'}
    """
    counts = Counter(character for text in in_domain for character in text)
    of_reading: dict[str, list[str]] = {}
    for character, reading in readings.items():
        of_reading.setdefault(reading, []).append(character)
    table: dict[str, str] = {}
    for characters in of_reading.values():
        first = max(characters, key=lambda character: counts[character])  # the first listed of equals
        if counts[first] and sum(counts[c] for c in characters) >= min_count:
            table |= {character: first for character in characters if character != first}
    return table


def normalize_homophones(texts: Sequence[str], table: Mapping[str, str]) -> list[str]:
    """Texts with characters replaced.

    >>> normalize_homophones(["博德"], {"博": "伯"})
    ['伯德']
    """
    translation = str.maketrans(dict(table))
    return [text.translate(translation) for text in texts]

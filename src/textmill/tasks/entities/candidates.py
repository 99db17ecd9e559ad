"""Candidate phrases as arrays: what both phases say of them, and of training sentences their gold labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ids
from textmill.corpus import Sentence
from textmill.errors import DataError
from textmill.sequence import Encoder
from textmill.tasks.entities.phrases import PhraseRows, Phrases
from textmill.tasks.entities.spans import TaggedSpans

__all__ = [
    "CandidateTable",
    "TrainingTable",
    "concatenate_candidates",
    "join_gold",
    "phrases_of",
    "rows_between",
    "select_phrases",
    "word_cells",
    "words_of",
]


class CandidateTable(NamedTuple):
    """Candidate phrases of sentences, their features, P(span), P(name | span) and log P(type | name)."""

    phrases: Phrases
    rows: PhraseRows
    probability: Floats
    name: Floats
    types: Floats  # [candidates, types]

    def rows_of(self, candidate: int) -> Ids:
        """Return the features of one candidate."""
        return self.rows.ids[self.rows.offsets[candidate] : self.rows.offsets[candidate + 1]]


class TrainingTable(NamedTuple):
    """Candidates and gold phrases of training sentences: 0 is the label of what is no name."""

    phrases: Phrases
    label: Ids
    probability: Floats  # 0 for gold phrases that are no candidates


def words_of(sentence: Any) -> list[str]:
    """The first column of a sentence, a list of words or of rows.

    >>> words_of(["a", "b"]), words_of([("a", "DT")]), words_of(Sentence((("a",), ("DT",))))
    (['a', 'b'], ['a'], ['a'])
    """
    if isinstance(sentence, Sentence):
        return list(sentence.column(0))
    if isinstance(sentence, list) and (not sentence or isinstance(sentence[0], str)):
        return sentence
    if isinstance(sentence, str):
        raise DataError(f"a sentence must be a list of words, not the text {sentence[:40]!r}; tokenize it first")
    return [word if isinstance(word, str) else word[0] for word in sentence]


def word_cells(words: list[list[str]], n_jobs: int | None) -> Any:
    """The words of sentences, interned."""
    return Encoder(patterns=["u:%x[0,0]"], n_jobs=n_jobs).cells(words)


def phrases_of(spans: Sequence[Sequence[tuple[int, int]]]) -> Phrases:
    """Spans of sentences, given as lists of (start, end)."""
    offsets = np.cumsum([0, *map(len, spans)]).astype(np.int64)
    flat = [pair for some in spans for pair in some]
    begin, end = (np.array([pair[i] for pair in flat], np.int32) for i in (0, 1))
    return Phrases(offsets, begin, end)


def select_phrases(phrases: Phrases, chosen: NDArray[np.bool_]) -> Phrases:
    """The phrases for which `chosen` is true."""
    running = np.concatenate([[0], np.cumsum(chosen)]).astype(np.int64)
    return Phrases(running[phrases.offsets], phrases.begin[chosen], phrases.end[chosen])


def rows_between(rows: PhraseRows, first: int, last: int) -> PhraseRows:
    """The rows first .. last - 1."""
    begin, end = int(rows.offsets[first]), int(rows.offsets[last])
    return PhraseRows(rows.offsets[first : last + 1] - begin, rows.ids[begin:end])


def concatenate_candidates(parts: list[Any]) -> Any:
    """Candidates of stretches of sentences, one after the other."""
    if not parts:
        return np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)
    starts = np.cumsum([0, *(len(part[1]) for part in parts)])
    offsets = [np.zeros(1, np.int64), *(part[0][1:] + start for part, start in zip(parts, starts, strict=False))]
    return np.concatenate(offsets), *(np.concatenate([part[i] for part in parts]) for i in (1, 2, 3))


def join_gold(candidates: Any, spans: TaggedSpans) -> TrainingTable:
    """Candidates with their gold labels, and the gold phrases that are none, sentence by sentence."""
    offsets, begin, end, probability = candidates
    sentences = len(offsets) - 1
    sides = []
    for of, a, b in ((offsets, begin, end), spans.phrases):
        sentence = np.repeat(np.arange(sentences, dtype=np.int64), np.diff(of))
        sides.append((sentence << 40) + (a.astype(np.int64) << 20) + b)
    order = np.argsort(sides[1])  # gold ones
    at = np.minimum(np.searchsorted(sides[1][order], sides[0]), max(len(order) - 1, 0))
    match = sides[1][order][at] == sides[0]
    label = np.where(match, spans.label[order][at] + 1, 0).astype(np.int32)
    missing = ~np.isin(sides[1], sides[0])
    key = np.concatenate([sides[0], sides[1][missing]])
    # as candidates are sorted: by sentence, end, then from short to long
    rank = np.lexsort((-(key >> 20 & 0xFFFFF), key & 0xFFFFF, key >> 40))
    key = key[rank]
    label = np.concatenate([label, spans.label[missing] + 1])[rank]
    probability = np.concatenate([probability, np.zeros(int(missing.sum()))])[rank]
    phrases = Phrases(
        np.searchsorted(key >> 40, np.arange(sentences + 1)).astype(np.int64),
        (key >> 20 & 0xFFFFF).astype(np.int32),
        (key & 0xFFFFF).astype(np.int32),
    )
    return TrainingTable(phrases, label.astype(np.int32), probability)

"""Candidate phrases as arrays: what both phases say of them, and of training sentences their gold labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import Sentence
from textmill.errors import DataError
from textmill.sequence import Encoder
from textmill.tasks.entities.phrases import PhraseRows, Phrases
from textmill.tasks.entities.spans import TaggedSpans

__all__ = [
    "CandidateTable",
    "Found",
    "TrainingTable",
    "concatenate_found",
    "join_chains",
    "join_gold",
    "phrases_of",
    "rows_between",
    "select_phrases",
    "word_cells",
    "words_of",
]


class Found(NamedTuple):
    """Candidates of sentences by their end, then from short to long: P(span), and P(span, type) of a second chain."""

    offsets: Ints  # [sentences + 1]
    begin: Ids
    end: Ids
    probability: Floats
    typed: Floats | None = None  # [candidates, types]

    @property
    def phrases(self) -> Phrases:
        """The spans alone."""
        return Phrases(self.offsets, self.begin, self.end)


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
    typed: Floats | None
    proposed: NDArray[np.bool_]  # whether it is a candidate


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


def concatenate_found(parts: list[Found]) -> Found:
    """Candidates of stretches of sentences, one after the other."""
    if not parts:
        none: Ids = np.empty(0, np.int32)
        return Found(np.zeros(1, np.int64), none, none, np.empty(0))
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.begin) for part in parts)])
    offsets = [np.zeros(1, np.int64), *(part.offsets[1:] + at for part, at in zip(parts, starts, strict=False))]
    typed = [part.typed for part in parts if part.typed is not None]
    return Found(
        np.concatenate(offsets),
        np.concatenate([part.begin for part in parts]),
        np.concatenate([part.end for part in parts]),
        np.concatenate([part.probability for part in parts]),
        np.concatenate(typed) if len(typed) == len(parts) else None,
    )


def join_chains(bare: Found, full: list[Found], least: float) -> Found:
    """The spans that a chain over bare tags, or one over full tags, finds as probable as `least`.

    `full` has the spans of each type. What a chain did not find has the probability 0 there.

    >>> offsets, one, two, p = np.array([0, 1]), np.array([0], np.int32), np.array([1], np.int32), np.array([0.5])
    >>> join_chains(Found(offsets, one, two, p), [Found(offsets, one, two + 1, p)], 0.1)[1:]
    (array([0, 0], dtype=int32), array([1, 2], dtype=int32), array([0.5, 0. ]), array([[0. ],
           [0.5]]))
    """
    keys = [_keys(one.phrases) for one in (bare, *full)]
    key = np.unique(np.concatenate(keys))
    values = np.zeros((len(key), 1 + len(full)))
    for column, (of, one) in enumerate(zip(keys, (bare, *full), strict=True)):
        values[np.searchsorted(key, of), column] = one.probability
    enough = (values[:, 0] >= least) | (values[:, 1:].sum(axis=1) >= least)
    key, values = key[enough], values[enough]
    rank = _rank(key)
    phrases = _phrases(key[rank], len(bare.offsets) - 1)
    return Found(*phrases, values[rank, 0], np.ascontiguousarray(values[rank, 1:]))


def join_gold(candidates: Found, spans: TaggedSpans) -> TrainingTable:
    """Candidates with their gold labels, and the gold phrases that are none, sentence by sentence."""
    sides = [_keys(candidates.phrases), _keys(spans.phrases)]
    order = np.argsort(sides[1])  # gold ones
    at = np.minimum(np.searchsorted(sides[1][order], sides[0]), max(len(order) - 1, 0))
    match = sides[1][order][at] == sides[0]
    label = np.where(match, spans.label[order][at] + 1, 0).astype(np.int32)
    missing = ~np.isin(sides[1], sides[0])
    key = np.concatenate([sides[0], sides[1][missing]])
    rank = _rank(key)
    more = int(missing.sum())
    proposed = np.concatenate([np.ones(len(sides[0]), bool), np.zeros(more, bool)])[rank]
    label = np.concatenate([label, spans.label[missing] + 1])[rank]
    probability = np.concatenate([candidates.probability, np.zeros(more)])[rank]
    typed = candidates.typed
    if typed is not None:
        typed = np.concatenate([typed, np.zeros((more, typed.shape[1]))])[rank]
    phrases = _phrases(key[rank], len(candidates.offsets) - 1)
    return TrainingTable(phrases, label.astype(np.int32), probability, typed, proposed)


def _keys(phrases: Phrases) -> Ints:
    """Sentence, begin and end of every span in one number."""
    sentence = np.repeat(np.arange(len(phrases.offsets) - 1, dtype=np.int64), np.diff(phrases.offsets))
    begin, end = phrases.begin.astype(np.int64), phrases.end.astype(np.int64)
    key: Ints = (sentence << 40) + (begin << 20) + end
    return key


def _rank(key: Ints) -> Ints:
    """The order of candidates: by sentence, end, then from short to long."""
    return np.lexsort((-(key >> 20 & 0xFFFFF), key & 0xFFFFF, key >> 40))


def _phrases(key: Ints, sentences: int) -> Phrases:
    return Phrases(
        np.searchsorted(key >> 40, np.arange(sentences + 1)).astype(np.int64),
        (key >> 20 & 0xFFFFF).astype(np.int32),
        (key & 0xFFFFF).astype(np.int32),
    )

"""Tags as arrays of spans, and back; documents as runs of sentences.

Tags are read as conlleval reads them (corpus/iob.py has the rule), whatever their scheme: a sequence that is ill-formed
in IOB2 still has spans. Everything runs over all sentences at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import entities as native
from textmill.arrays import Ids, Ints
from textmill.corpus import Sentence
from textmill.errors import DataError
from textmill.tasks.entities.phrases import Phrases

__all__ = [
    "TaggedSpans",
    "bare_labels",
    "bare_tags",
    "document_numbers",
    "document_starts",
    "read_tags",
    "tags_from_spans",
]

_TAG = re.compile(r"(?:O|([BIESLU])(?:-(.+))?)\Z", re.DOTALL)
_DATELINE = re.compile(r", \d{1,2} \w+ \( ?[A-Z]{2,}[A-Z ]*\)")  # Melbourne ( Australia ) , 25 may ( EFE ) .
_LONGEST_DATELINE = 25  # words


class TaggedSpans(NamedTuple):
    """Spans of sentences and the number of the label of each among `labels`."""

    phrases: Phrases
    label: Ids
    labels: list[str]


def read_tags(y: Sequence[Sequence[str]]) -> TaggedSpans:
    """Read the spans of tagged sentences.

    >>> spans = read_tags([["B-PER", "I-PER", "O"], ["I-LOC"]])
    >>> spans.phrases.begin.tolist(), spans.phrases.end.tolist(), [spans.labels[i] for i in spans.label]
    ([0, 0], [2, 1], ['PER', 'LOC'])
    """
    lengths = np.fromiter(map(len, y), np.int64, len(y))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tags = list(chain.from_iterable(y))
    distinct = sorted(set(tags), key=str)
    parsed = {}
    for tag in distinct:
        match = _TAG.match(tag) if isinstance(tag, str) else None
        if match is None:
            s = int(np.searchsorted(offsets, tags.index(tag), side="right"))
            fault = f"{tag!r} is not a tag; tags are O, or one of B I E S L U and a label as in 'B-PER'"
            raise DataError(f"sentence {s}, token {tags.index(tag) - int(offsets[s - 1]) + 1}: {fault}")
        parsed[tag] = (match[1] or "O", match[2] or "")
    labels = sorted({label for letter, label in parsed.values() if letter != "O"})
    codes = {}
    for tag, (letter, label) in parsed.items():
        codes[tag] = -1 if letter == "O" else labels.index(label) * 4 + (letter in "BSU") + 2 * (letter in "ELSU")
    code = np.fromiter(map(codes.__getitem__, tags), np.int32, len(tags))
    inside, label = code >= 0, code >> 2
    opens = np.empty(len(code), bool)
    if len(code):
        opens[0] = inside[0]
        changed = ~inside[:-1] | (label[1:] != label[:-1]) | (code[1:] & 1 > 0) | (code[:-1] & 2 > 0)
        opens[1:] = inside[1:] & changed
        starts = offsets[:-1][lengths > 0]
        opens[starts] = inside[starts]
    first = np.flatnonzero(opens)
    # a span ends where the next one begins, where a token is outside, and with its sentence
    stops = opens | ~inside
    stops[offsets[:-1][lengths > 0]] = True
    marks = np.append(np.flatnonzero(stops), len(code))
    end = marks[np.searchsorted(marks, first, side="right")] if len(first) else first
    sentence = np.searchsorted(offsets, first, side="right") - 1
    phrases = Phrases(
        np.searchsorted(sentence, np.arange(len(y) + 1)).astype(np.int64),
        (first - offsets[sentence]).astype(np.int32),
        (end - offsets[sentence]).astype(np.int32),
    )
    return TaggedSpans(phrases, label[first].astype(np.int32), labels)


def bare_labels(phrases: Phrases, lengths: NDArray[Any]) -> tuple[Ids, NDArray[Any]]:
    """Numbers of the tags B, I and O of all tokens, and these tags; I only where there is one.

    >>> bare_labels(read_tags([["O", "B-PER", "I-PER"]]).phrases, np.array([3]))[0].tolist()
    [2, 0, 1]
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    sentence = np.repeat(np.arange(len(lengths)), np.diff(phrases.offsets))
    first, length = offsets[sentence] + phrases.begin, phrases.end - phrases.begin
    code = np.full(int(offsets[-1]), 2, np.int32)
    inner = np.repeat(first - np.cumsum(length) + length, length) + np.arange(int(length.sum()))
    code[inner] = 1
    code[first] = 0
    present = np.bincount(code, minlength=3) > 0
    place = np.cumsum(present) - 1
    return place[code].astype(np.int32), np.array(["B", "I", "O"])[present]


def bare_tags(phrases: Phrases, lengths: NDArray[Any]) -> list[list[str]]:
    """The tags B, I and O of spans without labels.

    >>> bare_tags(read_tags([["O", "I-PER", "I-LOC"]]).phrases, np.array([3]))
    [['O', 'B', 'B']]
    """
    return tags_from_spans(phrases, np.zeros(len(phrases.begin), np.int32), [""], lengths)


def tags_from_spans(phrases: Phrases, label: Ids, labels: Sequence[str], lengths: NDArray[Any]) -> list[list[str]]:
    """The IOB2 tags of spans.

    >>> spans = read_tags([["B-PER", "I-PER", "O"], []])
    >>> tags_from_spans(spans.phrases, spans.label, spans.labels, np.array([3, 0]))
    [['B-PER', 'I-PER', 'O'], []]
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    sentence = np.repeat(np.arange(len(lengths)), np.diff(phrases.offsets))
    first, length = offsets[sentence] + phrases.begin, phrases.end - phrases.begin
    code = np.zeros(int(offsets[-1]), np.int32)
    inner = np.repeat(first - np.cumsum(length) + length, length) + np.arange(int(length.sum()))
    code[inner] = np.repeat(2 * label + 2, length)
    code[first] = 2 * label + 1
    names = ["O", *(f"{letter}-{name}" if name else letter for name in labels for letter in "BI")]
    tags: list[list[str]] = native.spelled(code, offsets, names)
    return tags


def document_starts(X: Sequence[Any], cells: Any) -> NDArray[np.bool_] | None:
    """Which sentences begin a document: those with a mark, else those that are a date-line; None without any.

    `cells` are the words of the sentences, interned.

    >>> from textmill.sequence import CountedMarkov
    >>> X = [["Mérida", ",", "25", "may", "(", "EFE", ")", "."], ["Hoy", "."]]
    >>> document_starts(X, CountedMarkov().cells(X)).tolist()
    [True, False]
    """
    if any(isinstance(sentence, Sentence) and sentence.document is not None for sentence in X):
        starts = [isinstance(sentence, Sentence) and sentence.document is not None for sentence in X]
        return np.array(starts, np.bool_)
    begins = np.zeros(len(X), np.bool_)
    offsets = cells.offsets()
    bracket = cells.find(0, "(")
    if bracket >= 0:
        has = np.searchsorted(offsets, np.flatnonzero(cells.ids(0) == bracket), side="right") - 1
        for s in np.unique(has[np.diff(offsets)[has] < _LONGEST_DATELINE]).tolist():
            begins[s] = _is_dateline(X[s])
    return begins if begins.any() else None


def _is_dateline(sentence: Any) -> bool:
    texts: Sequence[Any] = sentence.column(0) if isinstance(sentence, Sentence) else sentence
    if texts and not isinstance(texts[0], str):
        texts = [word[0] for word in texts]
    return _DATELINE.search(" ".join(texts)) is not None


def document_numbers(starts: NDArray[np.bool_]) -> Ints:
    """The number of each sentence's document, from 0.

    >>> document_numbers(np.array([False, True, False])).tolist()
    [0, 1, 1]
    """
    return np.cumsum(starts, dtype=np.int64)

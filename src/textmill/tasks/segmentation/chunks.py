"""Texts to chunks of at most n tokens, cut where the topic changes: what a retrieval system indexes.

Chunks of very different lengths are hard to compare, and a question is rarely about the last two sentences of a topic.
So a chunk of l tokens costs 1 + 3 (1 - l / n)^2, a cut the similarity of the words before it and behind it, and a cut
at a topic boundary 2 less; the cheapest row of chunks is taken. Cuts lie between sentences where there are any, a topic
boundary is left out only where a chunk would be short, and cuts given in advance are kept.

Without overlap the chunks put together are the text. With an overlap of o tokens every chunk but the first also has the
last o tokens of the one before. Documents keep their fields, and their chunks have the ids x#1, x#2, ...

Cost: that of the segmenter, and O(sentences) more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from textmill.arrays import Ints
from textmill.corpus import Document
from textmill.errors import DataError
from textmill.model import Transformer, check_range
from textmill.tasks.segmentation.automatic import TopicSegmenter
from textmill.tasks.segmentation.segmenter import Precut, fixed_places, unit_similarities
from textmill.tasks.segmentation.texts import TokenizedText, tokenized

__all__ = ["Chunk", "Chunker"]

_SHORTNESS = 3.0  # cost of a chunk without any length
_TOPIC = 2.0  # what a topic boundary is worth
_TOO_SHORT = 100.0


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a text: its string, where it begins and ends, its tokens, and the tokens shared with the last."""

    text: str
    begin: int
    end: int
    tokens: int
    overlap: int = 0


class Chunker(Transformer):
    """Cut texts into chunks of at most `max_tokens` tokens, at topic boundaries.

    Parameters:
        max_tokens: Length of a chunk at most, overlap included.
        min_tokens: Length of a chunk at least, where the text is long enough.
        overlap: Tokens that a chunk shares with the one before.
        snap: "sentence", "paragraph" or "line": where chunks begin; None for anywhere.
        segmenter: The segmenter; None for `TopicSegmenter`.
        cuts: An object with `segments(text)`, such as a `LanguageSegmenter`, where chunks are cut in any case; None
            for nothing.

    >>> text = "The mill wheel grinds grain. " * 6 + "A planet orbits its star. " * 6
    >>> [(chunk.tokens, chunk.text[:11]) for chunk in Chunker(max_tokens=40).chunks(text)]
    [(30, 'The mill wh'), (30, 'A planet or')]
    """

    def __init__(
        self,
        *,
        max_tokens: int = 256,
        min_tokens: int = 0,
        overlap: int = 0,
        snap: str | None = "sentence",
        segmenter: Any = None,
        cuts: Precut | None = None,
    ) -> None:
        self.max_tokens = max_tokens
        self.min_tokens = min_tokens
        self.overlap = overlap
        self.snap = snap
        self.segmenter = segmenter
        self.cuts = cuts

    def fit(self, X: Any = None, y: object = None) -> Chunker:
        """Do nothing: nothing is learned beforehand."""
        return self

    def chunks(self, text: str) -> list[Chunk]:
        """The chunks of one text."""
        check_range("max_tokens", self.max_tokens, at_least=1, whole=True)
        check_range("overlap", self.overlap, at_least=0, below=self.max_tokens, whole=True)
        room = self.max_tokens - self.overlap
        check_range("min_tokens", self.min_tokens, at_least=0, at_most=room, whole=True)
        segmenter = TopicSegmenter() if self.segmenter is None else self.segmenter
        source = tokenized(text, getattr(segmenter, "tokenizer", None))
        if not source.text:
            return []
        fixed = fixed_places(source, self.cuts or ())
        topics = segmenter.segment(source, snap=self.snap, cuts=source.starts[fixed].tolist()).boundaries
        breaks = source.pieces[1:-1] if self.snap is None else source.breaks(self.snap)
        edges = [0, *_cheapest(source, topics, fixed, breaks, self.min_tokens, room), len(source)]
        chunks = []
        for first, end in pairwise(edges):
            shared = min(self.overlap, first)
            begin = int(source.starts[first - shared]) if first else 0
            stop = int(source.starts[end]) if end < len(source) else len(source.text)
            chunks.append(Chunk(source.text[begin:stop], begin, stop, end - first + shared, shared))
        return chunks

    def transform(self, X: Iterable[str]) -> list[list[str]]:
        """The strings of the chunks of each text."""
        if isinstance(X, str):
            raise DataError("transform takes many texts, got one; use chunks")
        return [[chunk.text for chunk in self.chunks(text)] for text in X]

    def documents(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The chunks of documents, as documents of their own: x#1, x#2, ... with the fields of x and their place."""
        for document in documents:
            for i, chunk in enumerate(self.chunks(document.text), 1):
                fields = dict(document.fields or {}) | {"begin": chunk.begin, "end": chunk.end, "source": document.id}
                yield Document(f"{document.id}#{i}", chunk.text, fields, document.source, document.line)


def _cheapest(text: TokenizedText, topics: Ints, fixed: Ints, breaks: Ints, shortest: int, longest: int) -> list[int]:
    """Boundaries of the cheapest row of chunks: between `breaks` and topics, at every fixed cut."""
    if len(text) < 2:
        return []
    places = np.unique(np.concatenate([[0], topics, fixed, breaks, [len(text)]])).astype(np.int64)
    price = np.concatenate([[0.0], unit_similarities(text, places[1:-1]), [0.0]])
    price -= _TOPIC * np.isin(places, topics)
    parts = -(-np.diff(places) // longest)  # what is longer than a chunk is cut anywhere
    within = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    price = np.append(np.where(within == 0, np.repeat(price[:-1], parts), 1.0), 0.0)
    places = np.append(np.repeat(places[:-1], parts) + longest * within, len(text))
    earliest = np.searchsorted(places, places - longest)
    forced = np.searchsorted(places, fixed)  # a chunk may not begin before the last fixed cut in front of its end
    ends = np.arange(len(places))
    if len(forced):
        before = np.searchsorted(forced, ends) - 1
        earliest = np.where(before >= 0, np.maximum(earliest, forced[np.maximum(0, before)]), earliest)
    best, begins = np.zeros(len(places)), np.zeros(len(places), np.int64)
    for end, first in enumerate(earliest.tolist()):
        if end == 0:
            continue
        tokens = places[end] - places[first:end]
        cost = best[first:end] + _SHORTNESS * (1 - tokens / longest) ** 2
        if shortest:
            cost = cost + _TOO_SHORT * (tokens < shortest)
        i = int(np.argmin(cost))
        best[end], begins[end] = cost[i] + 1 + price[end], first + i
    boundaries, end = [], int(begins[-1])
    while end > 0:
        boundaries.append(int(places[end]))
        end = int(begins[end])
    return boundaries[::-1]

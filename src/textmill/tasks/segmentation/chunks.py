"""Texts to chunks of at most n tokens, cut where the topic changes: what a retrieval system indexes.

    topic boundaries first, then the weakest links of what is still too long, snapped to sentences where there are any;
    neighbors that are together no longer than n tokens and of one topic are joined

Without overlap the chunks put together are the text. With an overlap of o tokens every chunk but the first also has the
last o tokens of the one before. Documents keep their fields, and their chunks have the ids x#1, x#2, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.corpus import Document
from textmill.errors import DataError
from textmill.model import Transformer, check_range
from textmill.tasks.segmentation.automatic import TopicSegmenter
from textmill.tasks.segmentation.segmenter import Precut
from textmill.tasks.segmentation.texts import tokenized

__all__ = ["Chunk", "Chunker"]


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
        """Do nothing: nothing is learnt beforehand."""
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
        cut = segmenter.segment(
            source, min_tokens=self.min_tokens, max_tokens=room, snap=self.snap, cuts=self.cuts or ()
        )
        edges = np.concatenate([[0], cut.boundaries, [len(source)]])
        chunks = []
        for first, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
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

"""Documents as sequences of content words: what is left when function words and unknown words are taken out.

    text -> tokens -> content words (terms of a vocabulary), function words, unknown words

The number of content words is the length of a document; false documents are made to lengths in this measure, and
comparisons at equal length cut documents after a number of content words. Cost: one look-up per token, in C++.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native
from textmill.corpus import Cutter, Document, Vocabulary, split_sentences, text_batches, texts_of
from textmill.model import check_fitted
from textmill.numeric import sparse

__all__ = ["Content", "ContentReader", "sentences_of"]

_PARAGRAPH = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """The content words of documents: document d has the terms ids[offsets[d]:offsets[d + 1]], in their order.

    unknown (n,) counts the tokens that are neither terms nor function words.

    >>> reader = ContentReader(Vocabulary().fit(["mill wheel"]), ["the"])
    >>> content = reader.read(["the mill", "the wheel of the mill mill"])
    >>> content.lengths.tolist(), content.unknown.tolist(), content.first(2).ids.tolist()
    ([1, 3], [0, 1], [0, 1, 0])
    """

    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]
    unknown: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Content words of each document."""
        return np.diff(self.offsets)

    @property
    def documents(self) -> NDArray[np.int64]:
        """The document of each content word."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)

    def first(self, n_words: int) -> Content:
        """Cut every document after a number of content words."""
        place = np.arange(len(self.ids)) - self.offsets[:-1][self.documents]
        lengths = np.minimum(self.lengths, n_words)
        return Content(np.concatenate([[0], np.cumsum(lengths)]), self.ids[place < n_words], self.unknown)

    def take(self, documents: NDArray[np.bool_]) -> Content:
        """Keep some of the documents.

        >>> content = ContentReader(Vocabulary().fit(["a b"])).read(["a", "b b", ""])
        >>> content.take(content.lengths > 1).ids.tolist()
        [1, 1]
        """
        lengths = self.lengths[documents]
        return Content(
            np.concatenate([[0], np.cumsum(lengths)]), self.ids[documents[self.documents]], self.unknown[documents]
        )

    def bags(self, terms: int) -> sparse.csr_matrix:
        """Count the words of each document: documents x terms."""
        # copies: sum_duplicates works in place
        arrays = np.ones(len(self.ids)), self.ids.copy(), self.offsets.copy()
        X = sparse.csr_matrix(arrays, shape=(len(self.lengths), terms))
        X.sum_duplicates()
        return X


class ContentReader:
    """Finds the content words of documents.

    `vocabulary`, fitted, holds the content words and says how texts are cut; function words are those given.

    >>> reader = ContentReader(Vocabulary().fit(["mill wheel corn"]), ["the", "of"])
    >>> reader.cut("The corn of the mill.", 1)
    'the corn'
    """

    def __init__(
        self, vocabulary: Vocabulary, function_words: Iterable[str] = (), *, n_jobs: int | None = None
    ) -> None:
        check_fitted(vocabulary)
        self.vocabulary = vocabulary
        self.terms = len(vocabulary)
        self._cutter = Cutter(vocabulary.tokenizer, n_jobs)
        self._table = native.TermTable(vocabulary.terms_.bytes, vocabulary.terms_.offsets, self._cutter.threads)
        self._table.insert(list(function_words))  # numbered behind the terms

    def read(self, documents: Iterable[str | Document | Sequence[str]]) -> Content:
        """Find the content words of documents, texts or lists of tokens."""
        parts: list[Content] = []
        for batch in text_batches(_plain(documents)):
            offsets, ids = self._cutter.sequences(batch, 0, self._table, grow=False)
            owner = np.repeat(np.arange(len(batch)), np.diff(offsets))
            content = (ids >= 0) & (ids < self.terms)
            lengths = np.bincount(owner[content], minlength=len(batch))
            unknown = np.bincount(owner[ids < 0], minlength=len(batch))
            parts.append(Content(np.concatenate([[0], np.cumsum(lengths)]), ids[content], unknown))
        if len(parts) == 1:
            return parts[0]
        none = np.zeros(0, dtype=np.int64)
        return Content(
            np.concatenate([[0], np.cumsum(np.concatenate([none, *(part.lengths for part in parts)]))]),
            np.concatenate([np.zeros(0, np.int32), *(part.ids for part in parts)]),
            np.concatenate([none, *(part.unknown for part in parts)]),
        )

    def tokens(self, texts: Sequence[str]) -> list[tuple[list[str], NDArray[np.int32]]]:
        """Return for each text its tokens and their terms, -1 for those that are no content words."""
        if not texts:
            return []
        tokenizer = self._cutter.tokenizer
        if hasattr(tokenizer, "tokenize"):
            lists = list(tokenizer.tokenize(texts))
        else:
            lists = [list(tokenizer(text)) for text in texts]
        offsets, ids = self._table.sequences(lists, None, grow=False, threads=self._cutter.threads, first=0)
        ids = np.where(ids < self.terms, ids, -1)
        return list(zip(lists, np.split(ids, offsets[1:-1]), strict=True))

    def cut(self, text: str, n_words: int) -> str:
        """Cut a text after a number of content words; what is left are its tokens, parted by blanks."""
        ((tokens, terms),) = self.tokens([text])
        places = np.flatnonzero(terms >= 0)
        return " ".join(tokens if len(places) <= n_words else tokens[: places[n_words - 1] + 1] if n_words else [])


def sentences_of(text: str) -> list[str]:
    r"""Split a text into sentences; lines end none, blank lines do.

    >>> sentences_of("THE MILL\n\nIt turns\nall day. It grinds.")
    ['THE MILL', 'It turns all day.', 'It grinds.']
    """
    return [sentence for part in _PARAGRAPH.split(text) for sentence in split_sentences(" ".join(part.split()))]


def _plain(documents: Iterable[str | Document | Sequence[str]]) -> Iterable[str | Sequence[str]]:
    for document in texts_of(documents):
        yield document.text if isinstance(document, Document) else document

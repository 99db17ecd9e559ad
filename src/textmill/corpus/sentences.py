"""A stream of documents as a stream of sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from textmill.corpus.tokenize import split_sentences

__all__ = ["Sentences"]


class Sentences:
    """The sentences of documents, in order; it can be read again if the documents can.

    >>> list(Sentences(["The mill turns. The mill stands still.", "It is old."]))
    ['The mill turns.', 'The mill stands still.', 'It is old.']
    """

    def __init__(self, documents: Iterable[str], *, abbreviations: Collection[str] = ()) -> None:
        self.documents = documents
        self.abbreviations = abbreviations

    def __iter__(self) -> Iterator[str]:
        for document in self.documents:
            yield from split_sentences(document, abbreviations=self.abbreviations)

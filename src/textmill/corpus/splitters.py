"""What is a document: the whole manuscript, a paragraph, a sentence or a passage of n tokens.

    paragraphs    parted by blank lines
    sentences     those of `split_sentences`
    passages      tokens 1..n, n+1..2n, ...; with an overlap o each begins n - o tokens after the one before

Paragraphs and sentences lose the white space around them, blank ones are left out. A passage begins with its first
token and goes on to the first token that is not in it any more, the first also takes what is before: without overlap
the passages put together are the text, character by character.

Cost: one pass, O(characters); memory is one document. Reference: Unicode Standard Annex #29 (words and sentences).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from textmill.corpus.readers import Document
from textmill.corpus.tokenize import Tokenizer, split_sentences
from textmill.errors import DataError
from textmill.model import check_choice, check_range

__all__ = ["split_documents"]

_Item = TypeVar("_Item", str, Document)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")


def split_documents(
    documents: Iterable[_Item], unit: str, *, chunk_size: int | None = None, overlap: int = 0
) -> Iterable[_Item]:
    r"""Give the parts of documents, in order: `unit` is "manuscript", "paragraph", "sentence" or "passage".

    Documents are texts or `Document`s; the parts of one with the id x have the ids x#1, x#2, ... and its fields and
    place. Passages have `chunk_size` tokens and share `overlap` of them with the one before. The result is lazy, and
    can be read again and again if `documents` can.

    >>> list(split_documents(["One. Two.\n\nThree."], "paragraph"))
    ['One. Two.', 'Three.']
    >>> list(split_documents(["One. Two.\n\nThree."], "sentence"))
    ['One.', 'Two.', 'Three.']
    >>> list(split_documents(["to be or not to be"], "passage", chunk_size=4, overlap=2))
    ['to be or not ', 'or not to be']
    """
    check_choice("unit", unit, ["manuscript", "paragraph", "sentence", "passage"])
    if isinstance(documents, str):
        raise DataError("documents is one text; pass a list of texts")
    if unit != "passage" and (chunk_size is not None or overlap != 0):
        raise DataError(f"chunk_size and overlap are for unit='passage', not {unit!r}")
    if unit == "manuscript":
        return documents
    split: Callable[[str], Iterable[str]] = _paragraphs if unit == "paragraph" else split_sentences
    if unit == "passage":
        if chunk_size is None:
            raise DataError("passages need a chunk_size: their number of tokens")
        check_range("chunk_size", chunk_size, at_least=1, whole=True)
        check_range("overlap", overlap, at_least=0, below=chunk_size, whole=True)
        split = partial(_passages, size=chunk_size, step=chunk_size - overlap, spans=Tokenizer().spans)
    once = iter(documents) is documents
    return _parts(documents, split) if once else _Parts(documents, split)


class _Parts(Iterable[_Item]):
    """The parts of documents that can be read again and again."""

    def __init__(self, documents: Iterable[_Item], split: Callable[[str], Iterable[str]]) -> None:
        self._documents: Iterable[_Item] = documents
        self._split = split

    def __iter__(self) -> Iterator[_Item]:
        return _parts(self._documents, self._split)


def _parts(documents: Iterable[_Item], split: Callable[[str], Iterable[str]]) -> Iterator[_Item]:
    for document in documents:
        if isinstance(document, str):
            yield from split(document)
        elif isinstance(document, Document):
            for i, text in enumerate(split(document.text), 1):
                yield Document(f"{document.id}#{i}", text, document.fields, document.source, document.line)
        else:
            raise DataError(f"a text or a Document is needed, not a value of type {type(document).__name__}")


def _paragraphs(text: str) -> Iterator[str]:
    return (stripped for paragraph in _BLANK_LINES.split(text) if (stripped := paragraph.strip()))


def _passages(text: str, *, size: int, step: int, spans: Callable[[str], list[tuple[int, int]]]) -> Iterator[str]:
    if not text:
        return
    starts = [begin for begin, _ in spans(text)]
    for first in range(0, max(1, len(starts) - size + step), step):
        last = first + size
        yield text[starts[first] if first else 0 : starts[last] if last < len(starts) else len(text)]

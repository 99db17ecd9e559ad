"""Term lists of other tools: gensim dictionaries in text form, and plain lists with one term a line.

    gensim    the number of documents, then "id TAB term TAB document frequency" a line (Dictionary.save_as_text)
    plain     one term a line, its number being its id (UCI vocab, LDA-C vocab)

Neither holds how often a term occurs; a vocabulary read from them has the document frequencies, or 0, in that place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import numpy as np

from textmill.corpus.streams import Source, open_lines, source_name
from textmill.corpus.vocabulary import Vocabulary
from textmill.corpus.writers import writer
from textmill.errors import DataError, ModelFileError
from textmill.model import StringTable

__all__ = ["read_dictionary", "read_terms", "write_dictionary", "write_terms"]

_WHOLE = re.compile(r"\s*[0-9]{1,15}\s*")


def read_dictionary(source: Source) -> Vocabulary:
    """Read a gensim dictionary that was saved as text.

    >>> import io
    >>> vocabulary = read_dictionary(io.BytesIO(b"9\\n1\\tmill\\t4\\n0\\ttext\\t3\\n"))
    >>> vocabulary.terms_.to_list(), vocabulary.document_frequency_.tolist(), vocabulary.documents_
    (['text', 'mill'], [3, 4], 9)
    """
    name = source_name(source)
    terms: dict[int, tuple[str, int]] = {}
    documents = 0
    for number, line in open_lines(source):
        if number == 1 and _WHOLE.fullmatch(line):  # old files begin with the first term
            documents = int(line)
            continue
        parts = line.split("\t")
        if len(parts) != 3 or not _WHOLE.fullmatch(parts[0]) or not _WHOLE.fullmatch(parts[2]):
            raise DataError(
                "a line must be 'id TAB term TAB documents'; save it with save_as_text", source=name, line=number
            )
        if int(parts[0]) in terms:
            raise DataError(f"id {int(parts[0])} occurs twice", source=name, line=number)
        terms[int(parts[0])] = parts[1], int(parts[2])
    missing = next((i for i in range(len(terms)) if i not in terms), None)
    if missing is not None:
        raise DataError(f"id {missing} is missing; close the gaps with gensim's compactify()", source=name)
    ordered = [terms[i] for i in range(len(terms))]
    frequencies = [count for _, count in ordered]
    return _vocabulary((term for term, _ in ordered), frequencies, max([documents, *frequencies]), name)


def write_dictionary(path: str | os.PathLike[str], vocabulary: Vocabulary) -> None:
    """Write a vocabulary as gensim's Dictionary.load_from_text reads it."""
    rows = zip(vocabulary.terms_, range(len(vocabulary)), vocabulary.document_frequency_.tolist(), strict=True)
    with writer(path) as out:
        out.write(f"{vocabulary.documents_}\n")
        for term, number, documents in sorted(rows):
            if "\t" in term or "\n" in term:
                raise DataError(f"the term {term!r} holds a tab or a line end", source=os.fspath(path))
            out.write(f"{number}\t{term}\t{documents}\n")


def read_terms(source: Source) -> Vocabulary:
    """Read a plain list of terms; its frequencies are 0, until `fit` counts them. It learns no others.

    >>> import io
    >>> read_terms(io.BytesIO(b"text\\nmill\\n"))["mill"]
    1
    """
    terms = [line for _, line in open_lines(source)]
    vocabulary = _vocabulary(terms, [0] * len(terms), 0, source_name(source))
    return vocabulary.set_params(fixed=True)


def write_terms(path: str | os.PathLike[str], vocabulary: Vocabulary) -> None:
    """Write the terms of a vocabulary, one per line."""
    with writer(path) as out:
        for term in vocabulary.terms_:
            if "\n" in term:
                raise DataError(f"the term {term!r} holds a line end", source=os.fspath(path))
            out.write(term + "\n")


def _vocabulary(terms: Iterable[str], frequencies: list[int], documents: int, name: str) -> Vocabulary:
    vocabulary = Vocabulary()
    vocabulary.terms_ = StringTable(terms)
    vocabulary.document_frequency_ = np.array(frequencies, dtype=np.int64)
    vocabulary.collection_frequency_ = vocabulary.document_frequency_.copy()
    vocabulary.documents_ = documents
    vocabulary.tokens_ = vocabulary.nonzeros_ = int(vocabulary.document_frequency_.sum())
    vocabulary.removed_, vocabulary.stop_words_ = {}, []
    try:
        vocabulary.check_values()
    except ModelFileError as error:
        raise DataError(f"{error}; remove one of them", source=name) from None
    return vocabulary

"""Documents from bags of words, and what each source of a collection holds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from textmill.corpus import Vocabulary, open_lines, read_bags
from textmill.errors import DataError, ModelFileError
from textmill.model import StringTable, load
from textmill.tables import Rows
from textmill.tasks.similarity.articles import Article
from textmill.tasks.similarity.snapshot import Snapshot

__all__ = ["SourceStatistics", "bag_articles", "source_statistics"]


def bag_articles(
    path: str | os.PathLike[str], *, vocab: str | os.PathLike[str] | None = None, source: str | None = None
) -> Iterator[Article]:
    """Yield the documents of a file of bags (Matrix Market and its like) as lists of terms, each as often as counted.

    `vocab` names a `Vocabulary` or a file with the term of each column on a line; without one terms are t1, t2 and so
    on. Ids are the numbers of the rows, from 1; labels of SVMlight become the field "label".

    >>> from pathlib import Path
    >>> lines = ["%%MatrixMarket matrix coordinate integer general", "2 3 3", "1 1 2", "1 3 1", "2 2 1", ""]
    >>> _ = Path("tiny.mm").write_text("\\n".join(lines))
    >>> [article.text for article in bag_articles("tiny.mm")]
    [['t1', 't1', 't3'], ['t2']]
    """
    name = os.fspath(path)
    bags = read_bags(name)
    terms = _terms(vocab, bags.columns)
    row = 0
    for X, labels in bags.labeled():
        counts = X.data.astype(np.int64)
        if (counts != X.data).any():
            raise DataError("counts of words are needed, but there are other numbers; pass the counts", source=name)
        for i in range(X.shape[0]):
            row += 1
            inside = slice(X.indptr[i], X.indptr[i + 1])
            words = [
                terms[int(column)]
                for column, count in zip(X.indices[inside], counts[inside], strict=True)
                for _ in range(int(count))
            ]
            fields = {"label": _plain(labels[i])} if len(labels) else {}
            yield Article(str(row), f"document {row}", words, fields, source or name)


class SourceStatistics(NamedTuple):
    """A source: documents, tokens, terms that occur in it, cells that are not 0, and their share."""

    source: str
    documents: int
    tokens: int
    features: int
    nonzeros: int
    density: float


def source_statistics(snapshot: Snapshot, method: str | None = None) -> Rows[SourceStatistics]:
    """Return what each source of a collection holds, in the terms of a method, and all of them together.

    Tokens are those of the terms that the method knows.
    """
    chosen = snapshot.method(method)
    vocabulary = chosen.vocabulary
    if vocabulary is None:
        raise DataError(f"the method '{chosen.name}' has no terms to count; name another")
    names: list[str] = []
    figures: dict[str, list[int]] = {}
    seen: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
    for part in snapshot.parts:
        rows = np.flatnonzero(part.alive)
        for begin in range(0, len(rows), 4096):
            some = rows[begin : begin + 4096].tolist()
            bags = vocabulary.transform([part.documents.text(row) for row in some])
            for i, row in enumerate(some):
                source = part.documents.source(row)
                if source not in figures:
                    names.append(source)
                    figures[source], seen[source] = [0, 0, 0], np.zeros(len(vocabulary), np.bool_)
                inside = slice(bags.indptr[i], bags.indptr[i + 1])
                figures[source][0] += 1
                figures[source][1] += int(bags.data[inside].sum())
                figures[source][2] += int(inside.stop - inside.start)
                seen[source][bags.indices[inside]] = True
    rows_ = [_statistics(name, figures[name], seen[name]) for name in names]
    if len(names) != 1:
        total = [sum(figures[name][i] for name in names) for i in range(3)]
        everything = np.zeros(len(vocabulary), np.bool_)
        for name in names:
            everything |= seen[name]
        rows_.append(_statistics("all", total, everything))
    return Rows(rows_, SourceStatistics)


def _statistics(
    name: str, figures: Sequence[int], seen: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> SourceStatistics:
    documents, tokens, nonzeros = figures
    features = int(np.count_nonzero(seen))
    cells = documents * features
    return SourceStatistics(name, documents, tokens, features, nonzeros, nonzeros / cells if cells else 0.0)


def _terms(vocab: str | os.PathLike[str] | None, columns: int) -> Sequence[str] | StringTable:
    if vocab is None:
        return [f"t{column + 1}" for column in range(columns)]
    try:
        terms: Sequence[str] | StringTable = load(vocab, expect=Vocabulary).terms_
    except ModelFileError:
        terms = [line.rstrip("\r\n") for _, line in open_lines(vocab)]
    if len(terms) < columns:
        raise DataError(
            f"it has {len(terms)} terms for {columns} columns; name the vocabulary of these bags", source=str(vocab)
        )
    return terms


def _plain(label: object) -> object:
    return label.item() if isinstance(label, np.generic) else label

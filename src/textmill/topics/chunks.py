"""Any input of a topic model as a stream of sparse chunks of one size.

A matrix is cut into pieces; a stream of matrices is regrouped; documents, which are texts or lists of tokens, are
turned into weighted rows by a vectorizer; counts in a file or from a vocabulary are weighed if there is one. Columns
may be added on the way: each chunk has as many as any before it. Where there is a vectorizer, or a model that was
fitted, rows must have a column for each term, or they would mean other words; only a file in a format that does not
say how many columns it has is filled up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from textmill.cluster import Cluster
from textmill.corpus import (
    BagFile,
    Bags,
    Documents,
    array_like,
    check_bags,
    is_one_shot,
    rechunk,
    require_passes,
    widened,
)
from textmill.errors import DataError
from textmill.numeric import sparse
from textmill.topics.operators import Operator
from textmill.vectors import TextVectorizer, Vectors

__all__ = ["Chunks", "KeptChunk", "Ranges", "gathered", "holds_documents", "take_rows"]

# matrices, kept where they were made, and the rows of them, one below the other, that are a chunk
KeptChunk: TypeAlias = tuple[tuple[Any, ...], int, int | None]
_RANGE_ROWS = 1024  # are made at once


@runtime_checkable
class Ranges(Protocol):
    """A stream that makes any range of its rows without reading those before: a worker is sent the range alone.

    Attributes: documents, the number of rows, None for a stream without end.
    """

    documents: int | None

    def chunk(self, start: int, stop: int) -> sparse.csr_matrix:
        """Rows start to stop, the last one not among them."""


class Chunks:
    """A stream of CSR chunks of `size` rows, the last one perhaps shorter, made of whatever a model was given.

    Attributes: matrix, all rows where X is a matrix, else None; one_shot, whether it can be read only once; documents,
    rows read in the last or running pass; passes, how many were begun; terms, the number of columns, and filled, that
    of rows with an entry, when they are known beforehand, else None. Entries are finite; they may be negative only if
    `negative` says so.

    >>> stream = Chunks([check_bags([[1, 0], [2, 1]]), check_bags([[0, 0, 3]])], size=2)
    >>> [chunk.shape for chunk in stream], stream.documents, stream.one_shot
    ([(2, 2), (1, 3)], 3, False)
    >>> [chunk.toarray().round(2).tolist() for chunk in Chunks(["b a", "a"], 9, TextVectorizer().fit(["a c", "b"]))]
    [[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]
    """

    def __init__(
        self, X: Any, size: int | None = None, vectorizer: TextVectorizer | None = None, *, negative: bool = True
    ) -> None:
        if isinstance(X, Operator) or hasattr(X, "matmat"):
            raise DataError(
                "X is known only by its products, so its documents cannot be read; pass a matrix or a stream"
            )
        X = array_like(X)
        if not hasattr(X, "shape") and (isinstance(X, str | bytes | dict) or not isinstance(X, Iterable)):
            raise DataError(f"X must be a matrix or a stream of documents or matrices, got {type(X).__name__}")
        self.source = X
        self.size = size
        self.vectorizer = vectorizer
        self.negative = negative
        self.documents = 0
        self.passes = 0
        self._open_ended = isinstance(X, BagFile) and X.format in ("svmlight", "ldac")
        self.matrix = check_bags(X, negative=negative) if hasattr(X, "shape") else None
        if self.matrix is not None and vectorizer is not None:
            self._with_columns(self.matrix, len(vectorizer.terms_), "TextVectorizer")
        if self.matrix is not None and not self.matrix.shape[1]:
            raise DataError(
                f"X has no columns: 0 feature(s) (shape={self.matrix.shape}) while a minimum of 1 is required; "
                "pass documents x terms"
            )
        self.one_shot = self.matrix is None and is_one_shot(_origin(X))
        self.terms = self.matrix.shape[1] if self.matrix is not None else _columns(X)
        if vectorizer is not None:
            self.terms = len(vectorizer.terms_)
        self.filled = None if self.matrix is None else int((np.diff(self.matrix.indptr) > 0).sum())

    def __iter__(self) -> Iterator[sparse.csr_matrix]:
        self.passes += 1
        self.documents = 0
        terms = self.terms or 0
        parts: Iterable[sparse.csr_matrix] = self._widened(terms)
        for chunk in parts if self.size is None else rechunk(parts, self.size):
            self.documents += chunk.shape[0]
            yield chunk

    def over(self, terms: int, model: str = "the model") -> Iterator[sparse.csr_matrix]:
        """The chunks as rows over the terms of a fitted model, which has that name in a message."""
        return (self._with_columns(chunk, terms, model) for chunk in self)

    def jobs(self, chunks: int, *, exact: bool = False) -> Iterator[Chunks]:
        """Cut into consecutive streams of that many chunks, each for a worker.

        A matrix is sent in pieces, a stream in chunks as it is read; files of documents and
        `Ranges` are read by the worker itself. A piece of files of documents may be shorter, that of a compressed file
        longer; where that matters, `exact` has them read here.
        """
        self.passes += 1
        rows = chunks * (self.size or 1)
        if self.matrix is not None:
            for start in range(0, self.matrix.shape[0], rows):
                yield Chunks(self.matrix[start : start + rows], self.size, negative=self.negative)
        elif isinstance(self.source, Documents) and not self.one_shot and not exact:
            for piece in self.source.chunks(rows):
                yield Chunks(piece, self.size, self.vectorizer, negative=self.negative)
        elif isinstance(self.source, Ranges) and self.source.documents is not None:
            for start in range(0, self.source.documents, rows):
                part = _Range(self.source, start, min(start + rows, self.source.documents))
                yield Chunks(part, self.size, negative=self.negative)
        else:
            rest = iter(self)
            while group := list(islice(rest, chunks)):
                yield Chunks(group, self.size, negative=self.negative)

    def keep(self, workers: Cluster) -> list[KeptChunk]:
        """Read the stream once, and leave its chunks on the workers, for many passes.

        Files of documents are read by the workers in pieces, which may be shorter than a chunk; a chunk is then a range
        of rows of one piece or a few, so that chunks are the same here and there.
        """
        if not (isinstance(self.source, Documents) and not self.one_shot and self.vectorizer is not None and self.size):
            return [((part,), 0, None) for part in workers.keep(gathered, self.jobs(1, exact=True))]
        self.passes += 1
        vectorizer = workers.broadcast(self.vectorizer)
        pieces = workers.keep(_bags_of, self.source.chunks(self.size), vectorizer, self.negative)
        ends = np.cumsum([0, *workers.map(_row_count, pieces)])
        self.documents = int(ends[-1])
        chunks: list[KeptChunk] = []
        for first in range(0, self.documents, self.size):
            last = min(first + self.size, self.documents)
            one = int(np.searchsorted(ends, first, side="right")) - 1
            behind = int(np.searchsorted(ends, last))
            begin = first - int(ends[one])
            chunks.append((tuple(pieces[one:behind]), begin, begin + last - first))
        return chunks

    def require_passes(self, passes: int, what: str) -> None:
        """Refuse a stream that can be read once when more passes are needed, before anything is read."""
        require_passes(iter(()) if self.one_shot else (), passes, what)

    def _widened(self, terms: int) -> Iterator[sparse.csr_matrix]:
        """The parts with at least as many columns as any before."""
        for part in self._parts():
            terms = max(terms, part.shape[1])
            yield part if part.shape[1] == terms else widened(part, terms)

    def _with_columns(self, X: sparse.csr_matrix, terms: int, owner: str) -> sparse.csr_matrix:
        """X, which must have that many columns, or X filled up where its file does not say how many it has."""
        if X.shape[1] != terms and not (self._open_ended and X.shape[1] < terms):
            raise DataError(
                f"X has {X.shape[1]} features, but {owner} is expecting {terms} features as input; "
                "pass rows over the same vocabulary"
            )
        return X if X.shape[1] == terms else widened(X, terms)

    def _parts(self) -> Iterator[sparse.csr_matrix]:
        if self.matrix is not None:
            step = self.size or max(1, self.matrix.shape[0])
            return (self.matrix[start : start + step] for start in range(0, self.matrix.shape[0], step))
        items = iter(_texts(self.source))
        terms = None if self.vectorizer is None else len(self.vectorizer.terms_)
        if isinstance(self.source, BagFile | Bags) and self.vectorizer is not None and terms is not None:
            rows = (self._with_columns(part, terms, "TextVectorizer") for part in items)
            return iter(Vectors(self.vectorizer.weighting_, rows))
        first = next(items, None)
        if first is None:
            return iter(())
        again = chain([first], items)
        if not _is_matrix(first):
            if self.vectorizer is None:
                raise DataError(
                    f"X holds documents ({type(first).__name__}), but this model has no vectorizer; "
                    "pass vectorizer=TextVectorizer(), or a matrix"
                )
            return iter(self.vectorizer.vectors(again))
        parts = (check_bags(part, name=f"chunk {i} of X", negative=self.negative) for i, part in enumerate(again))
        return parts if terms is None else (self._with_columns(part, terms, "TextVectorizer") for part in parts)


def take_rows(chunk: KeptChunk) -> sparse.csr_matrix:
    """The rows of a chunk that was kept, as a step sees it.

    >>> take_rows(((check_bags(np.eye(2)), check_bags(2 * np.eye(2))), 1, 3)).toarray().tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """
    parts, begin, end = chunk
    X = parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")
    return X if (begin, end) in ((0, None), (0, X.shape[0])) else X[begin:end]


def gathered(chunks: Chunks) -> sparse.csr_matrix:
    """All chunks as one matrix, of as many columns as the widest.

    >>> gathered(Chunks(np.eye(3), 2)).shape
    (3, 3)
    """
    parts = list(chunks)
    columns = max((part.shape[1] for part in parts), default=0)
    for part in parts:
        part.resize(part.shape[0], columns)
    return sparse.vstack([sparse.csr_matrix((0, columns)), *parts], format="csr") if len(parts) != 1 else parts[0]


class _Range:
    """A range of the rows of a stream; small, so that a worker can be sent it."""

    def __init__(self, stream: Ranges, start: int, stop: int) -> None:
        self.stream = stream
        self.start = start
        self.stop = stop

    def __iter__(self) -> Iterator[sparse.csr_matrix]:
        for start in range(self.start, self.stop, _RANGE_ROWS):
            yield self.stream.chunk(start, min(start + _RANGE_ROWS, self.stop))


def holds_documents(X: Any) -> bool:
    """Say whether X is a stream of texts or token lists; reads the first item of a stream that can be read again.

    >>> holds_documents(["to be"]), holds_documents([["to", "be"]]), holds_documents(np.eye(2))
    (True, True, False)
    """
    X = array_like(X)
    if hasattr(X, "shape") or isinstance(X, BagFile | Bags | Vectors):
        return False
    if is_one_shot(_origin(X)):
        raise DataError(
            "the vectorizer is not fitted, so the documents are needed twice, but this stream can be read once; "
            "fit the vectorizer first or pass a list or a file reader"
        )
    first = next(iter(_texts(X)), None)
    return first is not None and not _is_matrix(first)


def _bags_of(piece: Documents, vectorizer: TextVectorizer, negative: bool) -> sparse.csr_matrix:
    return gathered(Chunks(piece, None, vectorizer, negative=negative))


def _row_count(X: sparse.csr_matrix) -> int:
    return int(X.shape[0])


def _texts(X: Any) -> Any:
    """The items of a stream; of `Documents`, their texts."""
    return X.texts() if isinstance(X, Documents) else X


def _origin(X: Any) -> Any:
    """What bags and vectors are made of: it says whether they can be read again."""
    while isinstance(X, Bags | Vectors):
        X = X.source
    return _texts(X)


def _columns(X: Any) -> int | None:
    columns = getattr(X, "columns", None)  # of a file of bags, or of a stream that knows them
    return columns if isinstance(columns, int) else None


def _is_matrix(item: Any) -> bool:
    return sparse.issparse(item) or isinstance(item, np.ndarray)

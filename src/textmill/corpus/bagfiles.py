"""Files of bags: the sparse formats of the field, read and written chunk by chunk.

    mm        Matrix Market coordinate, documents as rows, numbers from 1 (.mm, .mtx)
    svmlight  "label column:value ...", numbers from 1, or from `first_column`, labels kept (.svmlight, .svm, .libsvm)
    ldac      Blei's LDA-C, "n column:count ...", numbers from 0 (.ldac, .lda-c, .blei)
    uci       UCI bag of words, three header lines, then "document column count", numbers from 1 (.uci, docword*)
    low       GibbsLDA++, the number of documents, then one line of words a document (.low, .dat)
    mallet    MALLET, "name label word ..." one line a document (.mallet)
    npz       a matrix that scipy.sparse saved; the only one that is read whole (.npz)

Any of them may be compressed (.gz, .bz2, .xz, .zst). Formats of numbers are parsed in C++, block by block; formats of
words go through a vocabulary. Cost: one pass; memory is one block and one chunk. A plain file of numbers also gives
single documents by an index of line positions, made in one pass and kept beside the file on request.

References: Matrix Market exchange formats (NIST); SVMlight; LDA-C; UCI Bag of Words; GibbsLDA++; MALLET.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native
from textmill.corpus.bags import check_bags, csr_of, load_npz
from textmill.corpus.compression import COMPRESSIONS
from textmill.corpus.streams import open_bytes, open_lines
from textmill.corpus.vocabulary import Vocabulary
from textmill.errors import DataError
from textmill.files import replacing
from textmill.model import check_choice
from textmill.numeric import sparse

__all__ = ["COORDINATES", "FORMATS", "WORDS", "BagFile", "bag_format", "read_bags", "whole_counts"]

FORMATS = {
    ".mm": "mm",
    ".mtx": "mm",
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".ldac": "ldac",
    ".lda-c": "ldac",
    ".blei": "ldac",
    ".uci": "uci",
    ".low": "low",
    ".dat": "low",
    ".mallet": "mallet",
    ".npz": "npz",
}
COORDINATES, _PAIRS, WORDS = ("mm", "uci"), ("svmlight", "ldac"), ("low", "mallet")
_BLOCK = 1 << 22  # bytes parsed at a time
_MOST = np.iinfo(np.int32).max


class _Header(NamedTuple):
    documents: int
    columns: int
    entries: int
    counts: bool  # values are whole numbers
    lines: int  # of the header itself


class BagFile:
    """Bags in a file: an iterable of CSR chunks that can be read again, and, for plain files, a sequence of rows.

    Attributes: path, format, documents, columns, and first_column, the number that the file gives to its first column.
    Documents and columns of formats without a header are found by a first pass over the file, or given as `columns`.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "tiny.ldac").write_text("2 0:1 2:2\\n0\\n1 1:3\\n")
    ...     bags = read_bags(f"{folder}/tiny.ldac")
    ...     print(bags.documents, bags.columns, [chunk.toarray().tolist() for chunk in bags], bags[2].sum())
    3 3 [[[1, 0, 2], [0, 0, 0], [0, 3, 0]]] 3.0
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002
        columns: int | None = None,
        vocabulary: Vocabulary | None = None,
        negative: bool = False,
        first_column: int | None = None,
        chunk_size: int = 4096,
    ) -> None:
        self.path = os.fspath(path)
        self.format = bag_format(self.path, format)
        self.vocabulary = vocabulary
        self.negative = negative
        self.first_column = _first_column(self.format, first_column, self.path)
        self.chunk_size = chunk_size
        self._columns = columns
        self._documents: int | None = None
        self._index: NDArray[np.int64] | None = None
        if vocabulary is not None and columns is not None and columns != len(vocabulary):
            raise DataError(f"columns={columns} but the vocabulary has {len(vocabulary)} terms", source=self.path)

    @property
    def columns(self) -> int:
        """Number of columns of every chunk."""
        if self._columns is None:
            self._measure()
        assert self._columns is not None
        return self._columns

    @property
    def documents(self) -> int:
        """Number of documents."""
        if self._documents is None:
            self._measure()
        assert self._documents is not None
        return self._documents

    def __iter__(self) -> Iterator[sparse.csr_matrix]:
        return (X for X, _ in self.labeled())

    def labeled(self) -> Iterator[tuple[sparse.csr_matrix, NDArray[Any]]]:
        """Give chunks with the labels of their rows: numbers for svmlight, texts for mallet, none for other formats."""
        if self.format == "npz":
            X = load_npz(self.path) if not self.negative else check_bags(sparse.load_npz(self.path), negative=True)
            for start in range(0, X.shape[0], self.chunk_size):
                yield X[start : start + self.chunk_size], np.zeros(0)
        elif self.format in WORDS:
            yield from self._chunks_of_words()
        elif self.format in _PAIRS:
            yield from self._chunks_of_pairs(self.columns)
        else:
            for X in self._chunks_of_coordinates():
                yield X, np.zeros(0)

    def load(self) -> sparse.csr_matrix:
        """Return all bags as one matrix."""
        if self.format in _PAIRS and self._columns is None:  # the number of columns comes out of the same pass
            parts = [X for X, _ in self._chunks_of_pairs(_MOST)]
            self._columns = max([0, *(int(X.indices.max()) + 1 for X in parts if X.nnz)])
            self._documents = sum(X.shape[0] for X in parts)
            for X in parts:
                X.resize(X.shape[0], self._columns)
            return sparse.vstack([sparse.csr_matrix((0, self._columns)), *parts], format="csr")
        return sparse.vstack([sparse.csr_matrix((0, self.columns)), *self], format="csr")

    def __len__(self) -> int:
        return self.documents

    def __getitem__(self, document: int) -> sparse.csr_matrix:
        """Return one row, read from its place in the file."""
        index = self._positions()
        documents = len(index) - 1
        at = document + documents if document < 0 else document
        if not 0 <= at < documents:
            raise IndexError(f"document {document} of {documents}")
        with open(self.path, "rb") as file:
            file.seek(int(index[at]))
            block = file.read(int(index[at + 1] - index[at]))
        if self.format in _PAIRS:
            offsets, columns, values, _, _, fault = self._parse_pairs(block, self.columns)
            self._raise(fault, at)
            return csr_of((offsets, columns, values), self.columns)
        header = self._header()
        rows, columns, values, _, fault = self._parse_triples(block, header, -1)
        self._raise(fault, at)
        return _rows_of(rows, columns, values, at, at + 1, header, self.path)

    def save_index(self) -> str:
        """Write the positions of the documents beside the file, where the next reader finds them; returns the name."""
        index = self._positions()
        name = self.path + ".index"
        with replacing(name) as out:
            np.savez(out, index=index, stamp=self._stamp())
        return name

    def _header(self) -> _Header:
        with open_bytes(self.path) as stream:
            return _read_header(stream, self.format, self.path)

    def _measure(self) -> None:
        """Find the numbers of documents and columns: from the header, or by a pass over the file."""
        if self.format in COORDINATES:
            header = self._header()
            documents, columns = header.documents, header.columns
        elif self.format == "npz":
            documents, columns = load_npz(self.path).shape
        elif self.format in WORDS:
            vocabulary = self.vocabulary_of_words()
            documents, columns = sum(1 for _ in self._lines_of_words()), len(vocabulary)
        else:
            documents, columns = 0, 0
            for _, (offsets, ids, *_) in self._pairs(_MOST):
                documents += len(offsets) - 1
                columns = max(columns, int(ids.max()) + 1 if len(ids) else 0)
        if self._columns is not None and columns > self._columns:
            raise DataError(
                f"the file needs {columns} columns, not {self._columns}; it belongs to others", source=self.path
            )
        self._documents = documents
        self._columns = columns if self._columns is None else self._columns

    def vocabulary_of_words(self) -> Vocabulary:
        """Return the vocabulary of a file of words: the one given, or that of all its words, sorted."""
        if self.vocabulary is None:
            self.vocabulary = Vocabulary(order="sorted").fit(words for _, words in self._lines_of_words())
        return self.vocabulary

    def _lines_of_words(self) -> Iterator[tuple[str, list[str]]]:
        """Label and words of each document."""
        lines = open_lines(self.path)
        announced = None
        if self.format == "low":
            number, first = next(lines, (1, ""))
            if not first.strip().isdigit():
                raise DataError(
                    f"the first line must be the number of documents, got {first!r}", source=self.path, line=number
                )
            announced = int(first)
        documents = 0
        for number, line in lines:
            words = line.split()
            if self.format == "low":
                documents += 1
                yield "", words
            elif words:
                if len(words) < 2:
                    raise DataError("a line must begin with a name and a label", source=self.path, line=number)
                documents += 1
                yield words[1], words[2:]
        if announced is not None and announced != documents:
            raise DataError(f"the first line announces {announced} documents but {documents} follow", source=self.path)

    def _chunks_of_words(self) -> Iterator[tuple[sparse.csr_matrix, NDArray[Any]]]:
        vocabulary = self.vocabulary_of_words()
        lines = self._lines_of_words()
        while batch := list(islice(lines, self.chunk_size)):
            labels = [label for label, _ in batch] if self.format == "mallet" else []
            yield vocabulary.transform([words for _, words in batch]), np.array(labels, dtype=object)

    def _chunks_of_pairs(self, columns: int) -> Iterator[tuple[sparse.csr_matrix, NDArray[Any]]]:
        counts = self.format == "ldac"
        for _, (offsets, ids, values, labels, _, _) in self._pairs(columns):
            X = csr_of((offsets, ids, whole_counts(values, self.path) if counts else values), columns)
            for start in range(0, X.shape[0], self.chunk_size):
                yield X[start : start + self.chunk_size], labels[start : start + self.chunk_size]

    def _pairs(self, columns: int) -> Iterator[tuple[int, Any]]:
        """Parsed blocks with their byte positions."""
        with open_bytes(self.path) as stream:
            line = position = 0
            for block in _blocks(stream):
                parsed = self._parse_pairs(block, columns)
                self._raise(parsed[-1], line)
                yield position, parsed
                line += block.count(b"\n")
                position += len(block)

    def _parse_pairs(self, block: bytes, columns: int) -> Any:
        rows = {"labels": self.format == "svmlight", "base": self.first_column}
        return native.parse_pairs(block, columns=columns, negative=self.negative, **rows)

    def _parse_triples(self, block: bytes, header: _Header, previous: int) -> Any:
        limits = {"base": 1, "columns": header.columns, "rows": header.documents, "negative": self.negative}
        return native.parse_triples(block, previous=previous, **limits)

    def _triples(self) -> Iterator[tuple[int, Any]]:
        """Parsed blocks with their byte positions; checked against the header."""
        with open_bytes(self.path) as stream:
            counter = _Counting(stream)
            header = _read_header(counter, self.format, self.path)
            line, entries, previous = header.lines, 0, -1
            position = counter.position
            for block in _blocks(stream):
                parsed = self._parse_triples(block, header, previous)
                self._raise(parsed[-1], line)
                yield position, parsed
                rows = parsed[0]
                previous = int(rows[-1]) if len(rows) else previous
                entries += len(rows)
                line += block.count(b"\n")
                position += len(block)
        if entries != header.entries:
            raise DataError(
                f"the header announces {header.entries} entries but {entries} follow; was the file cut?",
                source=self.path,
            )

    def _chunks_of_coordinates(self) -> Iterator[sparse.csr_matrix]:
        self._measure()
        header = self._header()._replace(columns=self.columns)
        held: list[Any] = []  # entries of documents that may not be complete yet
        done = 0  # documents given so far
        for _, (rows, columns, values, *_) in self._triples():
            held.append((rows, columns, values))
            complete = int(rows[-1]) if len(rows) else done
            if complete - done >= self.chunk_size:
                parts = [np.concatenate(arrays) for arrays in zip(*held, strict=True)]
                whole = (complete - done) // self.chunk_size * self.chunk_size + done
                cut = int(np.searchsorted(parts[0], whole))
                for start in range(done, whole, self.chunk_size):
                    a, b = np.searchsorted(parts[0], [start, start + self.chunk_size]).tolist()
                    yield _rows_of(
                        parts[0][a:b], parts[1][a:b], parts[2][a:b], start, start + self.chunk_size, header, self.path
                    )
                held, done = [tuple(part[cut:] for part in parts)], whole
        empty = (np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0))
        parts = [np.concatenate(arrays) for arrays in zip(*(held or [empty]), strict=True)]
        while done < header.documents:
            end = min(done + self.chunk_size, header.documents)
            a, b = np.searchsorted(parts[0], [done, end]).tolist()
            yield _rows_of(parts[0][a:b], parts[1][a:b], parts[2][a:b], done, end, header, self.path)
            done = end

    def _positions(self) -> NDArray[np.int64]:
        """Where each document begins in the file, and where the last one ends."""
        if self._index is None:
            self._index = self._saved_index()
        if self._index is None:
            if self.format not in COORDINATES + _PAIRS:
                raise DataError(f"{self.format} has no index; convert it to mm, svmlight or ldac", source=self.path)
            if os.path.splitext(self.path)[1].lower() in COMPRESSIONS:
                raise DataError("a compressed file has no index; decompress it first", source=self.path)
            blocks = self._pairs(self.columns) if self.format in _PAIRS else self._triples()
            if self.format in _PAIRS:
                starts = [position + parsed[4] for position, parsed in blocks]
                end = os.path.getsize(self.path)
                self._index = np.concatenate([*starts, np.array([end])]).astype(np.int64)
            else:
                self._index = self._coordinate_index(blocks)
        return self._index

    def _coordinate_index(self, blocks: Iterator[tuple[int, Any]]) -> NDArray[np.int64]:
        index = np.full(self.documents + 1, -1, dtype=np.int64)
        previous = -1
        for position, (rows, _, _, begin, _) in blocks:
            new = np.flatnonzero(np.diff(rows, prepend=previous))
            index[rows[new]] = position + begin[new]
            previous = int(rows[-1]) if len(rows) else previous
        index[-1] = os.path.getsize(self.path)
        for at in np.flatnonzero(index < 0)[::-1]:  # a document without entries begins where the next one does
            index[at] = index[at + 1]
        return index

    def _stamp(self) -> NDArray[np.int64]:
        status = os.stat(self.path)
        return np.array([status.st_size, status.st_mtime_ns], dtype=np.int64)

    def _saved_index(self) -> NDArray[np.int64] | None:
        try:
            with np.load(self.path + ".index", allow_pickle=False) as saved:
                index, stamp = saved["index"], saved["stamp"]
        except (OSError, ValueError, KeyError):
            return None
        size = os.path.getsize(self.path)
        sound = index.dtype == np.int64 and index.ndim == 1 and len(index) and (np.diff(index) >= 0).all()
        usable = sound and index[0] >= 0 and index[-1] == size and np.array_equal(stamp, self._stamp())
        return index if usable else None  # of another file, or of this one before it changed: make it anew

    def _raise(self, fault: tuple[int, int, str] | None, line: int) -> None:
        if fault is not None:
            raise DataError(fault[2], source=self.path, line=line + fault[0] + 1, column=fault[1] + 1)


def read_bags(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    columns: int | None = None,
    vocabulary: Vocabulary | None = None,
    negative: bool = False,
    first_column: int | None = None,
    chunk_size: int = 4096,
) -> BagFile:
    """Open a file of bags; see `BagFile`.

    `format` is one of those of the module, None takes it from the suffix. `columns` fixes the number of columns of
    formats without a header. `vocabulary` numbers the words of low and mallet files; without one it is made, sorted,
    in a first pass. Negative values are refused unless `negative` is set. `first_column` is 0 for svmlight files that
    number their columns from 0. A chunk has at most `chunk_size` documents.
    """
    return BagFile(
        path,
        format=format,
        columns=columns,
        vocabulary=vocabulary,
        negative=negative,
        first_column=first_column,
        chunk_size=chunk_size,
    )


def bag_format(path: str, chosen: str | None) -> str:
    """Return the format of a file, as given or by its suffix.

    >>> bag_format("news.mm.gz", None), bag_format("docword.nips.txt", None), bag_format("news.txt", "ldac")
    ('mm', 'uci', 'ldac')
    """
    formats = sorted(set(FORMATS.values()))
    if chosen is not None:
        check_choice("format", chosen, formats)
        return chosen
    stem, suffix = os.path.splitext(path)
    if suffix.lower() in COMPRESSIONS:
        stem, suffix = os.path.splitext(stem)
    if suffix.lower() in FORMATS:
        return FORMATS[suffix.lower()]
    if os.path.basename(path).startswith("docword"):
        return "uci"
    raise DataError(f"what format is {suffix or 'this'}? pass format= one of {', '.join(formats)}", source=path)


def _first_column(kind: str, chosen: int | None, name: str) -> int:
    """The number of the first column in a file of this format."""
    usual = int(kind in ("mm", "uci", "svmlight"))
    if chosen is None or chosen == usual:
        return usual
    if kind != "svmlight" or chosen != 0:
        raise DataError(f"columns of {kind} are numbered from {usual}; leave first_column out", source=name)
    return 0


class _Counting:
    """A stream of lines that knows how far it was read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.position = 0

    def readline(self) -> bytes:
        line = self.stream.readline()
        self.position += len(line)
        return line


def _read_header(stream: Any, kind: str, name: str) -> _Header:
    """Sizes that the file announces."""
    if kind == "uci":
        sizes = []
        for number in range(1, 4):
            line = stream.readline().strip()
            if not line.isdigit():
                raise DataError(f"the first three lines must be sizes, got {line[:40]!r}", source=name, line=number)
            sizes.append(int(line))
        return _checked(_Header(sizes[0], sizes[1], sizes[2], counts=True, lines=3), name)
    first = stream.readline()
    words = first.decode("ascii", "replace").lower().split()
    if not words or not words[0].startswith("%%matrixmarket"):
        raise DataError(f"no Matrix Market file: it begins with {first[:40]!r}", source=name, line=1)
    if words[1:3] != ["matrix", "coordinate"] or words[4:5] != ["general"] or words[3] not in ("real", "integer"):
        raise DataError(
            f"'{' '.join(words[1:])}' is not read; only 'matrix coordinate real|integer general' is",
            source=name,
            line=1,
        )
    number = 2
    while (line := stream.readline()).startswith(b"%") or (line and not line.strip()):
        number += 1
    try:
        documents, columns, entries = (int(word) for word in line.split())
    except ValueError:
        raise DataError(f"three sizes must follow the header, got {line[:40]!r}", source=name, line=number) from None
    return _checked(_Header(documents, columns, entries, counts=words[3] == "integer", lines=number), name)


def _checked(header: _Header, name: str) -> _Header:
    if min(header[:3]) < 0 or header.columns > _MOST or header.documents > 1 << 40:
        raise DataError(f"the sizes {header[:3]} of the header cannot be", source=name)
    return header


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Blocks of whole lines."""
    rest = b""
    while block := stream.read(_BLOCK):
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = block[end:]
        else:
            rest += block
    if rest:
        yield rest


def _rows_of(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float64],
    first: int,
    end: int,
    header: _Header,
    name: str,
) -> sparse.csr_matrix:
    """Rows first to end - 1 of sorted triples."""
    offsets = np.searchsorted(rows, np.arange(first, end + 1)).astype(np.int64)
    data = whole_counts(values, name) if header.counts else values
    step = np.diff(columns) <= 0
    if len(step) and (step & (np.diff(rows) == 0)).any():  # columns of some document are not in order
        order = np.lexsort((columns, rows))
        rows, columns, data = rows[order], columns[order], data[order]
        twice = np.flatnonzero((np.diff(columns) == 0) & (np.diff(rows) == 0))
        if len(twice):
            row, column = int(rows[twice[0]]) + 1, int(columns[twice[0]]) + 1
            raise DataError(f"document {row} has column {column} twice", source=name)
    return csr_of((offsets, columns, data), header.columns)


def whole_counts(values: NDArray[np.float64], name: str) -> NDArray[np.int32]:
    """Return values as counts, if all of them are whole numbers.

    >>> whole_counts(np.array([2.0, 3.0]), "news.uci").tolist()
    [2, 3]
    """
    counts = values.astype(np.int32)
    if not np.array_equal(counts, values):
        wrong = values[np.flatnonzero(counts != values)[0]]
        raise DataError(
            f"{wrong:g} is no whole count below 2^31, which this format holds; use mm or svmlight", source=name
        )
    return counts

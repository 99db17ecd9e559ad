"""Bags into files, chunk by chunk, in every format that `bagfiles` reads; a file is replaced whole or not at all.

Sizes come first in some formats and are known last: lines wait in a temporary file until then. Memory is one chunk,
but for npz and low, which are written at once. Whole numbers have no decimal point, others as few digits as read back
exactly.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill._native import corpus as native
from textmill.corpus.bagfiles import COORDINATES, WORDS, BagFile, bag_format, read_bags, whole_counts
from textmill.corpus.bags import check_bags, csr_arrays, save_npz
from textmill.corpus.vocabulary import Vocabulary
from textmill.corpus.writers import binary_writer, writer
from textmill.errors import DataError
from textmill.numeric import sparse

__all__ = ["convert_bags", "write_bags"]


def write_bags(
    path: str | os.PathLike[str],
    chunks: Iterable[Any],
    *,
    format: str | None = None,  # noqa: A002
    columns: int | None = None,
    labels: ArrayLike | None = None,
    vocabulary: Vocabulary | None = None,
) -> None:
    """Write a stream of bags to a file, completely or not at all, compressed if the suffix says so.

    `chunks` is an iterable of matrices, or one matrix. `columns` is needed only for an empty stream; `labels` are
    written by svmlight and mallet (default 0); `vocabulary` is needed by low and mallet, whose files hold the words
    themselves.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bags(f"{folder}/tiny.svmlight", check_bags([[1, 0, 2], [0, 3, 0]]), labels=[1, -1])
    ...     pathlib.Path(folder, "tiny.svmlight").read_text()
    '1 1:1 3:2\\n-1 2:3\\n'
    """
    name = os.fspath(path)
    kind = bag_format(name, format)
    stream = iter([chunks]) if sparse.issparse(chunks) else iter(chunks)
    if kind == "npz":
        matrices = [check_bags(X, negative=True) for X in stream]
        save_npz(name, matrices, columns=matrices[0].shape[1] if matrices else columns or 0)
        return
    if kind in WORDS:
        if vocabulary is None:
            raise DataError(f"{kind} holds words; pass the vocabulary of the columns", source=name)
        _write_words(name, kind, stream, labels, vocabulary)
        return
    with tempfile.TemporaryFile() as body:  # the header, which comes first, is known last
        rows, entries, width, whole = 0, 0, columns, True
        for X in stream:
            X = check_bags(X, negative=True)
            if width is not None and X.shape[1] != width:
                raise DataError(f"a chunk has {X.shape[1]} columns, those before it {width}", source=name)
            width = X.shape[1]
            values = X.data.astype(np.float64)
            if kind in ("ldac", "uci"):
                whole_counts(values, name)
            whole = whole and bool((values == np.floor(values)).all())
            some = _labels_of(labels, rows, X.shape[0], name) if kind == "svmlight" else np.zeros(0)
            offsets, terms, _ = csr_arrays(X)
            form = "triples" if kind in COORDINATES else kind
            body.write(native.format_rows(form, offsets, terms, values, some, base=int(kind != "ldac"), first_row=rows))
            rows += X.shape[0]
            entries += X.nnz
        if labels is not None and len(np.asarray(labels)) != rows:
            raise DataError(f"{len(np.asarray(labels))} labels for {rows} documents", source=name)
        body.seek(0)
        sizes = (rows, width or 0, entries)
        with binary_writer(name) as out:
            if kind == "mm":
                out.write(b"%%MatrixMarket matrix coordinate real general\n" + b"%d %d %d\n" % sizes)
            elif kind == "uci":
                out.write(b"%d\n%d\n%d\n" % sizes)
            shutil.copyfileobj(body, out)


def convert_bags(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    vocabulary: Vocabulary | None = None,
    columns: int | None = None,
    negative: bool = False,
) -> BagFile:
    """Write the bags of one file to another, chunk by chunk, and return the first; labels go along if both have them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bags(f"{folder}/a.svmlight", check_bags([[1, 2]]), labels=[7])
    ...     convert_bags(f"{folder}/a.svmlight", f"{folder}/a.ldac").documents
    1
    """
    bags = read_bags(source, format=from_format, vocabulary=vocabulary, columns=columns, negative=negative)
    kind = bag_format(os.fspath(target), to_format)
    labels = None
    if kind == bags.format or {kind, bags.format} == {"svmlight", "mallet"}:
        labels_of_chunks = [more for _, more in bags.labeled()] if bags.format in ("svmlight", "mallet") else []
        labels = np.concatenate(labels_of_chunks) if labels_of_chunks else None
        if kind == "svmlight" and labels is not None and labels.dtype == object:
            labels = _numbers(labels, bags.path)
    words = bags.vocabulary_of_words() if bags.format in WORDS and vocabulary is None else vocabulary
    write_bags(target, bags, format=kind, columns=bags.columns, labels=labels, vocabulary=words)
    return bags


def _write_words(name: str, kind: str, stream: Iterator[Any], labels: ArrayLike | None, vocabulary: Vocabulary) -> None:
    words = vocabulary.terms_.to_list()
    for word in words:
        if not word or word.split() != [word]:
            raise DataError(f"the term {word!r} has blanks, which part words in this format; use mm", source=name)
    matrices = [check_bags(X) for X in stream] if kind == "low" else stream  # low begins with the number of documents
    values = None if labels is None else list(np.asarray(labels, dtype=object))
    row = 0
    with writer(name) as out:
        if kind == "low":
            out.write(f"{sum(X.shape[0] for X in matrices)}\n")
        for X in matrices:
            X = check_bags(X)
            if X.shape[1] != len(words):
                raise DataError(f"bags of {X.shape[1]} columns do not belong to {len(words)} terms", source=name)
            counts = whole_counts(X.data.astype(np.float64), name)
            for start, end in zip(X.indptr, X.indptr[1:], strict=False):
                tokens = [
                    words[t] for t, n in zip(X.indices[start:end], counts[start:end], strict=True) for _ in range(n)
                ]
                if kind == "mallet":
                    label = str(values[row]) if values is not None else "0"
                    tokens = [str(row), label or "0", *tokens]
                out.write(" ".join(tokens) + "\n")
                row += 1


def _labels_of(labels: ArrayLike | None, start: int, count: int, name: str) -> NDArray[np.float64]:
    if labels is None:
        return np.zeros(count)
    part = np.asarray(labels)[start : start + count]
    if part.dtype.kind not in "buif":
        raise DataError(f"svmlight labels are numbers, got {part[:1].tolist()}", source=name)
    if len(part) < count:
        raise DataError(f"{len(np.asarray(labels))} labels are too few", source=name)
    return part.astype(np.float64)


def _numbers(labels: NDArray[Any], name: str) -> NDArray[np.float64]:
    try:
        return labels.astype(np.float64)
    except ValueError:
        raise DataError("labels are texts; svmlight holds numbers only", source=name) from None

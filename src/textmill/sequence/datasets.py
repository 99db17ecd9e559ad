"""Labeled sequences from files, in the formats of the field.

    columns     one token a line, its columns side by side, the last one the label (CoNLL, Wapiti, CRF++), or CoNLL-U
    tests       the same without patterns: every column is itself a test and begins with u, b or * (Wapiti)
    crfsuite    the label first, then attributes with values, parted by tabs

Cost: one pass over the file; everything is held, since training goes over it many times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Ints
from textmill.corpus import Sentence, Source, open_lines, read_tagged, source_name
from textmill.errors import DataError
from textmill.model import RandomState, check_choice, check_range, seed_of
from textmill.readable import counted
from textmill.selection import keep_apart
from textmill.sequence.attributes import read_attributes

__all__ = ["DATA_FORMATS", "LabeledSequences", "check_labels", "hold_out", "read_labeled", "read_rows", "split_labels"]

DATA_FORMATS = ("columns", "tests", "crfsuite")


@dataclass(frozen=True, slots=True)
class LabeledSequences:
    """Sequences X, their labels y, and how much each counts (None: all the same).

    >>> LabeledSequences([["a"]], [["A"]], None).y
    [['A']]
    """

    X: list[Any]
    y: list[list[str]]
    weights: NDArray[np.float64] | None = None


def read_labeled(
    source: Source,
    *,
    format: str = "columns",  # noqa: A002
    document: str | None = "-DOCSTART-",
    encoding: str = "utf-8",
    label_column: str | None = None,
) -> LabeledSequences:
    """Read a labeled file (a path, `-` for standard input, or an open binary file) to train or to test with.

    `document` is how lines between documents begin in a file of columns, such as ###MEDLINE:; they are no tokens. Of
    CoNLL-U the forms of words are read, and `label_column` names the column of their labels, such as upos.

    >>> import io
    >>> data = read_labeled(io.BytesIO(b"the DT B-NP\\ndog NN I-NP\\n"))
    >>> list(data.X[0]), data.y
    ([('the', 'DT'), ('dog', 'NN')], [['B-NP', 'I-NP']])
    """
    check_choice("format", format, DATA_FORMATS)
    if label_column is not None and format != "columns":
        raise DataError("label_column names a column of CoNLL-U; leave it out, or pass format='columns'")
    if format == "crfsuite":
        read = list(read_attributes(source, encoding=encoding))
        weights = np.array([sequence.weight for sequence in read])
        data = LabeledSequences(
            [sequence.tokens for sequence in read],
            [sequence.labels for sequence in read],
            None if np.all(weights == 1) else weights,
        )
    elif format == "tests":
        data = split_labels(list(read_rows(source, encoding=encoding)))
    else:
        reading: dict[str, Any] = {"document": document, "encoding": encoding, "label_column": label_column}
        data = split_labels(list(read_tagged(source, labels=True, **reading)))
    if not data.y:
        raise DataError("there are no sequences; the file is empty", source=source_name(source))
    return data


def check_labels(data: LabeledSequences, source: Source) -> LabeledSequences:
    """The same sequences; an error if there is nothing to learn in their labels: one label, or no label twice.

    >>> check_labels(LabeledSequences([["a"]], [["A"]]), "a.txt")
    Traceback (most recent call last):
    textmill.errors.DataError: a.txt: all tokens have the label 'A', and a tagger needs two labels at least; is the \
last column the label?
    """
    counts = Counter(label for labels in data.y for label in labels)
    tokens = counts.total()
    fault = ""
    if len(counts) == 1:
        fault = f"all tokens have the label {min(counts)!r}, and a tagger needs two labels at least"
    elif len(counts) == tokens and tokens > 1:
        fault = f"no label occurs twice among {counted(tokens, 'tokens')}"
    if fault:
        raise DataError(f"{fault}; is the last column the label?", source=source_name(source))
    return data


def hold_out(
    data: LabeledSequences, held_out: float, *, random_state: RandomState = 0
) -> tuple[LabeledSequences, LabeledSequences]:
    """Keep a share of the sequences apart, drawn at random: those to train with and those to stop or tune with.

    >>> train, dev = hold_out(LabeledSequences(list("abcdefghij"), [["A"]] * 10), 0.2)
    >>> len(train.X), len(dev.X)
    (8, 2)
    """
    check_range("held_out", held_out, above=0, below=1)
    train, test = keep_apart(len(data.X), held_out, random_state=seed_of(random_state, 0))

    def part(numbers: Ints) -> LabeledSequences:
        weights = None if data.weights is None else data.weights[numbers]
        return LabeledSequences([data.X[i] for i in numbers], [data.y[i] for i in numbers], weights)

    return part(train), part(test)


def split_labels(sentences: list[Sentence] | list[list[list[str]]]) -> LabeledSequences:
    """Take the last column of sentences off, as labels.

    >>> split_labels([Sentence((("the", "dog"), ("B-NP", "I-NP")))]).y
    [['B-NP', 'I-NP']]
    """
    X: list[Any] = []
    y: list[list[str]] = []
    for sentence in sentences:
        if isinstance(sentence, Sentence):
            if len(sentence.columns) < 2:
                fault = "found one column, but the last must be the label and others come before it"
                raise DataError(fault, source=sentence.source, line=sentence.line)
            X.append(Sentence(sentence.columns[:-1], source=sentence.source, line=sentence.line))
            y.append(list(sentence.column(-1)))
        else:
            X.append([row[:-1] for row in sentence])
            y.append([row[-1] for row in sentence])
    return LabeledSequences(X, y)


def read_rows(source: Source, *, encoding: str = "utf-8") -> Iterator[list[list[str]]]:
    """Sequences of rows that may differ in their number of columns, as in files whose columns are tests.

    >>> import io
    >>> list(read_rows(io.BytesIO(b"u1 b2\\nu3\\n\\nu1\\n")))
    [[['u1', 'b2'], ['u3']], [['u1']]]
    """
    rows: list[list[str]] = []
    for _, line in open_lines(source, encoding=encoding):
        row = line.split()
        if row:
            rows.append(row)
        elif rows:
            yield rows
            rows = []
    if rows:
        yield rows

"""Patterns for those who give none: chosen by the number of columns, the same for every task and language.

    words (column 0)     the word as it is; in lower case from two before to two behind; pairs with either neighbor
                         beginnings and endings of 1 to 4 letters, endings of 3 letters of either neighbor
                         shapes of the word and its neighbors, in pairs and all three together
    other columns        values from two before to two behind, their pairs and triples, the value with the word;
                         from the fifth column on only values and pairs of the nearest
    labels               which follows which

They are meant for words, with or without parts of speech and the like beside them: parts of speech, chunks, names. The
L1 penalty of training leaves few of their tests, so many patterns cost little in the end. Letters (pronunciation,
segmentation) want longer windows and tests on pairs of labels, see docs/patterns.md. `python -m bench defaults`
compares them with sets made by hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from textmill.corpus import Sentence
from textmill.errors import DataError
from textmill.model import check_range

__all__ = ["default_patterns", "default_patterns_of", "describe_default"]

_FULL = 4  # columns with all patterns
_ATTRIBUTE = re.compile(r"[A-Za-z_+-][\w.+\-\[\]:]*=|[A-Za-z_+-][\w.+-]*:\S")  # a name and a value

_WORDS = (
    "b",
    "u:word=%x[0,0]",
    *(f"u:w{i:+d}=%X[{i},0]" for i in range(-2, 3)),
    "u:w-1,0=%X[-1,0]/%X[0,0]",
    "u:w0,1=%X[0,0]/%X[1,0]",
    *(f"u:{name}{n}=%{end}[0,0,{n}]" for n in range(1, 5) for name, end in (("begin", "prefix"), ("end", "suffix"))),
    "u:end3-1=%suffix[-1,0,3]",
    "u:end3+1=%suffix[1,0,3]",
    *(f"u:shape{i:+d}=%shape[{i},0]" for i in range(-1, 2)),
    "u:shape-1,0=%shape[-1,0]/%shape[0,0]",
    "u:shape0,1=%shape[0,0]/%shape[1,0]",
    "u:shape-1,1=%shape[-1,0]/%shape[0,0]/%shape[1,0]",
)


def default_patterns(columns: int = 1) -> list[str]:
    """The patterns for tokens with this number of columns, of which the first has the words.

    >>> default_patterns()[:4], len(default_patterns()), len(default_patterns(2))
    (['b', 'u:word=%x[0,0]', 'u:w-2=%X[-2,0]', 'u:w-1=%X[-1,0]'], 25, 38)
    """
    check_range("columns", columns, at_least=1, whole=True)
    return [*_WORDS, *(pattern for column in range(1, columns) for pattern in _of_column(column))]


def default_patterns_of(sequences: Sequence[Any]) -> list[str] | None:
    """The patterns for sequences of words or of rows; None where tokens bring attributes of their own.

    Words are texts, rows are tuples of texts or the tokens of a `Sentence`; attributes are dictionaries and lists.

    >>> len(default_patterns_of([["a", "word"]])), len(default_patterns_of([[("a", "DT"), ("word", "NN")]]))
    (25, 38)
    >>> default_patterns_of([[{"word": "a"}]])
    """
    first = next((sequence for sequence in sequences if len(sequence)), None)
    if isinstance(first, Sentence):
        return default_patterns(len(first.columns))
    token = None if first is None else next(iter(first))
    if isinstance(token, str):
        return default_patterns()
    if isinstance(token, tuple) and token and all(isinstance(value, str) for value in token):
        named = sum(_ATTRIBUTE.match(value) is not None for value in token)
        if named > 1 and 2 * named >= len(token):
            fault = f"the token {token!r} is a tuple, whose texts are read as columns, and they look like attributes"
            raise DataError(f"{fault}; pass lists for attributes, or patterns for columns")
        return default_patterns(len(token))
    return None


def describe_default(columns: int) -> str:
    """What the patterns for this number of columns look at, in one line.

    >>> describe_default(1)
    'words -2 to +2, pairs of words, beginnings and endings of 1 to 4 letters, shapes'
    """
    text = "words -2 to +2, pairs of words, beginnings and endings of 1 to 4 letters, shapes"
    if columns > 1:
        which = "column 1" if columns == 2 else f"columns 1 to {columns - 1}"
        text += f"; {which}: values, their pairs and triples, and with the word"
    return text


def _of_column(column: int) -> list[str]:
    reach = 2 if column < _FULL else 1
    name = f"u:c{column}"
    patterns = [f"{name},{i:+d}=%x[{i},{column}]" for i in range(-reach, reach + 1)]
    patterns += [f"{name},{i:+d}{i + 1:+d}=%x[{i},{column}]/%x[{i + 1},{column}]" for i in range(-reach, reach)]
    if column < _FULL:
        triple = "%x[{0},{3}]/%x[{1},{3}]/%x[{2},{3}]"
        patterns += [f"{name},{i:+d}{i + 2:+d}t=" + triple.format(i, i + 1, i + 2, column) for i in range(-2, 1)]
        patterns.append(f"{name},w=%X[0,0]/%x[0,{column}]")
    return patterns

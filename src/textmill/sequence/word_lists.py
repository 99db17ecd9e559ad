"""Tests of segments that are numbers: how like a text of a word list a segment is, and what a function says of it.

    similarity(a, b) = |A & B| / sqrt(|A| |B|)        A, B: the sets of three letters in a row, with the edges

A segment has the similarity of the nearest text of each list, from `LEAST` up, and the test "in the list" when its
normalized text is one of them. Distinct texts are compared once, by products of sparse matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from textmill.arrays import Floats, Ints
from textmill.corpus import Sentence
from textmill.errors import DataError
from textmill.numeric import sparse
from textmill.sequence.segment_patterns import normalized

__all__ = ["WordLists"]

LEAST = 0.5  # similarities below are no evidence
BATCH = 4096  # texts compared at a time


class WordLists:
    """Lists of texts by name.

    >>> lists = WordLists({"genes": ["interleukin 2"]})
    >>> [round(value, 2) for value in lists.similarity("genes", ["Interleukin 2", "interleukins", "cell"]).tolist()]
    [1.0, 0.8, 0.0]
    """

    def __init__(self, lists: Mapping[str, Sequence[str]]) -> None:
        for name, texts in lists.items():
            if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
                raise DataError(f"word list '{name}' must be a list of texts")
        self.texts = {name: [" ".join(normalized(text).split()) for text in texts] for name, texts in lists.items()}
        self._matrices: dict[str, tuple[dict[str, int], Any]] = {}

    def similarity(self, name: str, texts: Sequence[str]) -> Floats:
        """The similarity of each text to the nearest one of a list."""
        if name not in self._matrices:
            numbers: dict[str, int] = {}
            self._matrices[name] = (numbers, _profiles(self.texts[name], numbers, grow=True))
        numbers, entries = self._matrices[name]
        values = np.zeros(len(texts))
        for begin in range(0, len(texts), BATCH):
            rows = _profiles([normalized(text) for text in texts[begin : begin + BATCH]], numbers, grow=False)
            product = rows @ entries[:, : rows.shape[1]].T if entries.shape[0] else None
            if product is not None and product.nnz:
                values[begin : begin + BATCH] = product.max(axis=1).toarray().ravel()
        return np.minimum(values, 1.0)

    def rows(
        self,
        X: Sequence[Any],
        offsets: Ints,
        begins: Ints,
        lengths: Ints,
        function: Callable[..., Any] | None,
        table: Any,
        grow: bool,
    ) -> tuple[Ints, Any, Any]:
        """Tests of segments with their values; with `grow` new names are numbered."""
        sentence = (np.searchsorted(offsets, begins, side="right") - 1).tolist()
        firsts = (begins - offsets[sentence]).tolist()
        tokens = [_words(x) for x in X]
        stretches = list(zip(sentence, firsts, np.asarray(lengths).tolist(), strict=True))
        tests_of: list[dict[str, float]] = [{} for _ in stretches]
        if self.texts:
            texts = [" ".join(tokens[s][first : first + length]) for s, first, length in stretches]
            distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
            for name in self.texts:
                values = self.similarity(name, list(distinct)).tolist()
                members = set(self.texts[name])
                for tests, text in zip(tests_of, texts, strict=True):
                    value = values[distinct[text]]
                    if value >= LEAST:
                        tests[f"list:{name}"] = value
                    if normalized(text) in members:
                        tests[f"in:{name}"] = 1.0
        if function is not None:
            for tests, (s, first, length) in zip(tests_of, stretches, strict=True):
                _add_function(tests, function(X[s], first, first + length), s, first)
        if grow:
            table.add(list(dict.fromkeys(name for tests in tests_of for name in tests)))
        names = list(dict.fromkeys(name for tests in tests_of for name in tests))
        number = dict(zip(names, table.find(names).tolist(), strict=True))
        rows = [[(number[name], value) for name, value in tests.items() if number[name] >= 0] for tests in tests_of]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        ids = np.array([test for row in rows for test, _ in row], np.int32)
        values32 = np.array([value for row in rows for _, value in row], np.float32)
        return indptr, ids, values32


def _add_function(tests: dict[str, float], answer: Any, sequence: int, first: int) -> None:
    pairs = answer.items() if isinstance(answer, Mapping) else [(name, 1.0) for name in answer or ()]
    for name, value in pairs:
        number = float(value)
        if not isinstance(name, str) or not np.isfinite(np.float32(number)):
            where = f"sequence {sequence + 1}, token {first + 1}"
            raise DataError(f"{where}: the segment function gave {name!r}: {value!r}; give names and finite numbers")
        if number:
            tests[f"f:{name}"] = number


def _profiles(texts: Sequence[str], numbers: dict[str, int], *, grow: bool) -> Any:
    """Rows of three letters in a row, of length one."""
    indices: list[int] = []
    indptr, data = [0], []
    for text in texts:
        padded = f" {text} "
        grams = {padded[i : i + 3] for i in range(len(padded) - 2)}
        if grow:
            ids = [numbers.setdefault(gram, len(numbers)) for gram in sorted(grams)]
        else:
            ids = [numbers[gram] for gram in sorted(grams) if gram in numbers]
        indices += ids
        data += [1.0 / np.sqrt(max(1, len(grams)))] * len(ids)
        indptr.append(len(indices))
    return sparse.csr_matrix((data, indices, indptr), (len(texts), max(1, len(numbers))))


def _words(sequence: Any) -> list[str]:
    if isinstance(sequence, Sentence):
        return list(sequence.columns[0])
    return [token if isinstance(token, str) else token[0] for token in sequence]

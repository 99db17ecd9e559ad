"""What the search of pair models needs: numbers of symbols, words as numbers, the native model."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from textmill._native import lm as native
from textmill.arrays import Ids, Ints
from textmill.errors import DataError
from textmill.fst import Link
from textmill.lm.candidates import Symbols
from textmill.lm.ngram import NGramModel

__all__ = ["SPECIAL", "FixedNumbers", "GrowingNumbers", "PairTables", "checked_words", "encoded", "shown"]

SPECIAL = 3  # words of an n-gram model that are no pairs


class GrowingNumbers(dict[str, int]):
    """Numbers of symbols; new ones get the next."""

    def __missing__(self, symbol: str) -> int:
        self[symbol] = number = len(self)
        return number


class FixedNumbers(dict[str, int]):
    """Numbers of symbols; one for all others."""

    def __init__(self, numbers: dict[str, int], other: int) -> None:
        super().__init__(numbers)
        self.other = other

    def __missing__(self, symbol: str) -> int:
        return self.other


class PairTables(NamedTuple):
    """What the search needs: pairs, numbers of symbols, the native model."""

    links: list[Link]
    inputs: dict[str, int]
    outputs: dict[str, int]
    native: native.PairNgrams

    @classmethod
    def of(cls, ngrams: NGramModel, links: list[Link], backward: bool) -> PairTables:
        """The tables of an n-gram model whose words are these pairs, read from the right if `backward`."""
        inputs, outputs = GrowingNumbers(), GrowingNumbers()
        columns: list[Any] = []
        for side, numbers in ((0, inputs), (1, outputs)):
            begin = np.zeros(len(links) + 1, dtype=np.int64)
            np.cumsum([len(link[side]) for link in links], out=begin[1:])
            flat = [numbers[s] for link in links for s in (link[side][::-1] if backward else link[side])]
            columns += [begin, np.array(flat, dtype=np.int32)]
        words = np.arange(SPECIAL, SPECIAL + len(links), dtype=np.int32)
        searched = native.PairNgrams(ngrams.table(), *columns, words, np.zeros(len(links)), len(outputs))
        return cls(links, inputs, outputs, searched)


def checked_words(X: Iterable[Symbols]) -> list[Symbols]:
    """The words, all strings or lists of symbols."""
    if isinstance(X, str):
        raise DataError(f"X must be a list of inputs, got the text {X[:40]!r}; pass [{X[:40]!r}]")
    words: list[Symbols] = []
    for number, word in enumerate(X, 1):
        listed = isinstance(word, list | tuple) and all(isinstance(symbol, str) and symbol for symbol in word)
        if not listed and not isinstance(word, str):
            raise DataError(f"input {number} is {shown(word)!r}, not a string or a list of symbols")
        words.append(word)
    return words


def encoded(words: Sequence[Symbols], numbers: dict[str, int]) -> tuple[Ints, Ids]:
    """Where words begin, and the numbers of their symbols."""
    begin = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=begin[1:])
    flat = map(numbers.__getitem__, itertools.chain.from_iterable(words))
    return begin, np.fromiter(flat, np.int32, int(begin[-1]))


def shown(side: Any) -> str:
    """A word for a message."""
    text = side if isinstance(side, str) else " ".join(side) if isinstance(side, list | tuple) else repr(side)
    return text if len(text) <= 40 else f"{text[:37]}..."

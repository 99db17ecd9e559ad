"""Aligned words as rows of letters in windows.

A word of n letters has 2n + 1 positions: gaps at even places, letters at odd ones. The target of a position is the
phoneme that is inserted there or goes with the letter, or nothing. Its window of size k holds the k letters at its
left, its own letter (EMPTY for a gap), and the k letters at its right, EDGE beyond the ends:

    texte / t E k s t     letters  . t . e . x . t . e .
                          targets  . t . E . k s t . . .

Equal rows are joined with a count when a tree is learned. Cost: O(k) a position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from textmill.arrays import Ids, Ints
from textmill.errors import DataError
from textmill.fst import Alignment

__all__ = ["EDGE", "EMPTY", "EncodedWords", "column_names", "padded_targets", "window_codes", "windows_of"]

EMPTY, EDGE = ".", "$"


@dataclass(frozen=True)
class EncodedWords:
    """Words as codes of letters, -1 for a letter never seen: those of word w are letters[offsets[w]:offsets[w + 1]]."""

    offsets: Ints
    letters: Ids

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """Letters of each word."""
        return np.diff(self.offsets)

    @property
    def positions(self) -> Ints:
        """Where the positions of each word begin, and at last where they end."""
        return 2 * self.offsets + np.arange(len(self.offsets))

    def take(self, words: Ints) -> EncodedWords:
        """Return some of the words."""
        lengths = self.lengths[words]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.repeat(self.offsets[:-1][words] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return EncodedWords(offsets, self.letters[places])

    @staticmethod
    def encode(words: Iterable[Sequence[str]], codes: dict[str, int]) -> EncodedWords:
        """Encode words that are cut into letters.

        >>> EncodedWords.encode([["a", "b"], ["z"]], {"a": 0, "b": 1}).letters.tolist()
        [0, 1, -1]
        """
        rows = [[codes.get(letter, -1) for letter in word] for word in words]
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        flat = [code for row in rows for code in row]
        return EncodedWords(offsets, np.array(flat, dtype=np.int32))


def padded_targets(alignment: Alignment) -> list[str]:
    """Return the target of each position, "" for nothing; several insertions in one gap are joined by blanks.

    >>> from textmill.fst import parse_alignment
    >>> padded_targets(parse_alignment("t:t e:E x:k _:s t:t e:_"))
    ['', 't', '', 'E', '', 'k', 's', 't', '', '', '']
    """
    targets: list[str] = [""]
    for inputs, outputs in alignment.links:
        if len(inputs) > 1 or len(outputs) > 1:
            raise DataError(f"the link {inputs}:{outputs} joins several symbols; align one letter with one phoneme")
        if inputs:
            targets += [outputs[0] if outputs else "", ""]
        else:
            targets[-1] = f"{targets[-1]} {outputs[0]}".strip()
    return targets


def column_names(size: int) -> list[str]:
    """Return names of the columns of a window.

    >>> column_names(1)
    ['left1', 'letter', 'right1']
    """
    left = [f"left{i}" for i in range(size, 0, -1)]
    return [*left, "letter", *(f"right{i}" for i in range(1, size + 1))]


def window_codes(words: EncodedWords, size: int, edge: int, empty: int) -> Ids:
    """Return the windows of all positions as codes, (positions, 2 size + 1).

    >>> words = EncodedWords.encode(["ab"], {"a": 0, "b": 1})
    >>> window_codes(words, 1, 2, 3).tolist()
    [[2, 3, 0], [2, 0, 1], [0, 3, 1], [0, 1, 2], [1, 3, 2]]
    """
    lengths = words.lengths
    total = int(words.positions[-1])
    word = np.repeat(np.arange(len(words)), 2 * lengths + 1)
    s = np.arange(total) - words.positions[:-1][word]
    letter, gap = s // 2, s % 2 == 0
    codes = np.empty((total, 2 * size + 1), np.int32)
    padded = np.append(words.letters, edge).astype(np.int32)
    for column, away in enumerate(range(-size, size + 1)):
        at = letter + away - (gap & (away > 0))
        inside = (at >= 0) & (at < lengths[word])
        places = np.where(inside, words.offsets[:-1][word] + at, len(words.letters))
        codes[:, column] = padded[places]
        if away == 0:
            codes[gap, column] = empty
    return codes


def windows_of(letters: Sequence[str], targets: Sequence[str], context: int) -> list[tuple[tuple[str, ...], str]]:
    """Return the windows and targets of one word as text, EMPTY and EDGE for nothing and the ends.

    >>> windows_of("te", ["", "t", "", "", ""], 1)[1]
    (('$', 't', 'e'), 't')
    """
    alphabet = sorted(set(letters))
    names = [*alphabet, EDGE, EMPTY]
    words = EncodedWords.encode([letters], {letter: i for i, letter in enumerate(alphabet)})
    codes = window_codes(words, context, len(alphabet), len(alphabet) + 1)
    return [
        (tuple(names[code] for code in row), target or EMPTY)
        for row, target in zip(codes.tolist(), targets, strict=True)
    ]

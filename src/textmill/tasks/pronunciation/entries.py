"""Words and lexicon entries as they are handed in: checked, and as numbers of letters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from textmill.errors import DataError
from textmill.tasks.pronunciation.lexicon import Spelling, as_phonemes
from textmill.tasks.pronunciation.windows import EncodedWords

__all__ = ["checked_attributes", "checked_entries", "checked_words", "encode_codepoints"]


def checked_words(X: Iterable[str]) -> list[str]:
    """The words as a list of strings."""
    if isinstance(X, str):
        raise DataError(f"words are a list, not the string {X!r}; pass [{X!r}] for one word")
    words = list(X)
    for i, word in enumerate(words):
        if not isinstance(word, str):
            raise DataError(f"word {i} is {word!r}, not a string; pass words")
    return words


def checked_entries(X: Iterable[str], y: Iterable[Any] | None) -> tuple[list[str], list[tuple[str, ...]]]:
    """Words and their pronunciations, none of them empty."""
    if y is None:
        raise DataError("requires y to be passed, but the target y is None; pass a pronunciation for each word")
    words, phonemes = checked_words(X), [as_phonemes(own) for own in y]
    if len(words) != len(phonemes):
        raise DataError(f"there are {len(words)} words and {len(phonemes)} pronunciations; pass one for each word")
    if not words:
        raise DataError("there are no words to learn from; pass at least one")
    for i, (word, own) in enumerate(zip(words, phonemes, strict=True)):
        if not word:
            raise DataError(f"word {i} is empty; leave the entry out")
        if not own or not all(isinstance(phoneme, str) and phoneme for phoneme in own):
            raise DataError(f"the pronunciation of {word!r} (word {i}) is empty; leave the entry out, or say it")
    return words, phonemes


def checked_attributes(attributes: Sequence[str] | None, count: int) -> list[str] | None:
    """One attribute for each word, if there are any."""
    if attributes is None:
        return None
    tags = [str(value) for value in attributes]
    if len(tags) != count:
        raise DataError(f"there are {count} words and {len(tags)} attributes; pass one for each word")
    return tags


def encode_codepoints(words: list[str], codes: dict[str, int], spelling: Spelling) -> EncodedWords:
    """Letters of all words through one table, without a Python object for each."""
    text = "\n".join(words)
    if text.count("\n") != max(len(words) - 1, 0):  # a word with a line end
        return EncodedWords.encode((spelling.letters(word) for word in words), codes)
    text = text.casefold() if spelling.fold else text
    if spelling.form != "none" and not text.isascii():
        text = unicodedata.normalize(spelling.form, text)  # type: ignore[arg-type]
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    table = np.full(max((ord(letter) for letter in codes), default=0) + 2, -1, np.int32)
    for letter, code in codes.items():
        table[ord(letter)] = code
    ends = np.flatnonzero(points == 10)
    letters = table[np.minimum(points, len(table) - 1)]
    lengths = np.diff(np.concatenate([[-1], ends, [len(points)]])) - 1 if words else np.zeros(0, np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return EncodedWords(offsets, letters[points != 10] if words else np.zeros(0, np.int32))

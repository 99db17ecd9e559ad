"""Endings that sound as a table says, whatever the tree: the French verbs in -ent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from textmill.fst import Alignment

__all__ = ["Inflection", "ending_of", "phonemes_before"]


class Inflection(NamedTuple):
    """An ending of words of one kind, and how it sounds whatever the tree says: the French verbs in -ent."""

    attribute: str
    ending: str
    phonemes: tuple[str, ...]


def ending_of(word: str, attribute: str, inflections: Iterable[Inflection]) -> Inflection | None:
    """The first ending that fits a word and its attribute, unless it is the whole word."""
    for one in inflections:
        if attribute == one.attribute and word.endswith(one.ending) and len(word) > len(one.ending):
            return one
    return None


def phonemes_before(alignment: Alignment, letters: int) -> list[str]:
    """The phonemes of the first letters of a word, and of the gaps before and between them."""
    read, phonemes = 0, list[str]()
    for inputs, outputs in alignment.links:
        if inputs and read == letters:
            break
        read += len(inputs)
        phonemes += [phoneme for sound in outputs for phoneme in sound.split()]
    return phonemes

"""The NETtalk dictionary: words with a phoneme and a stress mark under each letter.

    aback TAB xb@k- TAB 0>1<< TAB 0          word, phonemes (- for a silent letter), marks, class

A mark is a digit under the vowel of a syllable (1 main stress, 2 secondary, 0 none), < or > elsewhere, pointing to it.
Phoneme and mark together are the labels of the joint task. In the file some marks stand beside their phoneme, so the
joint label attaches them again: a silent letter has none; a vowel has a digit, from a silent neighbor when it has none
of its own, else 0; a consonant has an arrow, > where a vowel follows in the word, else <, when it has a digit. That
changes 2,186 of the 146,934 letters and leaves 113 labels of 163.

Cost: O(letters). References: Sejnowski & Rosenberg (1987); the joint labels follow Lavergne, Cappé & Yvon (2010).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from textmill.corpus.streams import Source, open_lines, source_name
from textmill.errors import DataError

__all__ = ["NettalkWord", "read_nettalk"]

_VOWELS = frozenset("+@AEIMOUWY^aceiouxy")
_DIGITS = frozenset("012")


class NettalkWord(NamedTuple):
    """An entry: three strings of the same length.

    >>> NettalkWord("aback", "xb@k-", "0>1<<").joint()
    ['x0', 'b>', '@1', 'k<', '-']
    """

    word: str
    phonemes: str
    marks: str

    def joint(self) -> list[str]:
        """Phoneme and mark of every letter as one label; its first character is the phoneme."""
        return [
            phoneme if phoneme == "-" else phoneme + (self._digit(t) if phoneme in _VOWELS else self._arrow(t))
            for t, phoneme in enumerate(self.phonemes)
        ]

    def _digit(self, t: int) -> str:
        if self.marks[t] in _DIGITS:
            return self.marks[t]
        beside = (s for s in (t + 1, t - 1) if 0 <= s < len(self.word) and self.phonemes[s] == "-")
        return next((self.marks[s] for s in beside if self.marks[s] in _DIGITS), "0")

    def _arrow(self, t: int) -> str:
        if self.marks[t] not in _DIGITS:
            return self.marks[t]
        return "<" if _VOWELS.isdisjoint(self.phonemes[t + 1 :]) else ">"


def read_nettalk(source: Source) -> Iterator[NettalkWord]:
    """Read the dictionary (`nettalk.data` of the UCI repository), one word after the other.

    >>> import io
    >>> next(read_nettalk(io.BytesIO(b"aback\\txb@k-\\t0>1<<\\t0\\n"))).phonemes
    'xb@k-'
    """
    for number, line in open_lines(source, encoding="latin-1"):
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) < 3 or not len(fields[0]) == len(fields[1]) == len(fields[2]):
            fault = "expected word, phonemes and marks of one length, parted by tabs"
            raise DataError(fault, source=source_name(source), line=number)
        yield NettalkWord(*fields[:3])

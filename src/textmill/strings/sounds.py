"""How words sound, roughly: a code that words of like sounds share, to find names that were misheard.

Consonants go by the place where they are made, vowels are one. Cost: one pass over the letters.
"""

from __future__ import annotations

import re

__all__ = ["sound_code"]

_SPELLED = {"ph": "f", "gh": "g", "kn": "n", "wr": "r", "ck": "k", "sch": "s", "ch": "s", "sh": "s", "th": "t"}
_SOUNDS = str.maketrans("aeiouyhwbpfvcgjkqsxzdtlmnr", "........111122222222334556")


def sound_code(word: str) -> str:
    """How a word sounds, roughly: lips 1, throat and hiss 2, teeth 3, l 4, nose 5, r 6, vowels a point.

    >>> sound_code("Caller") == sound_code("collar"), sound_code("Pat") == sound_code("bed"), sound_code("five")
    (True, True, '1.1')
    """
    text = word.lower()
    text = text.removesuffix("e") if len(text) > 3 else text
    for written, sound in _SPELLED.items():
        text = text.replace(written, sound)
    text = re.sub(r"[^a-z]", "", text).translate(_SOUNDS)
    return re.sub(r"(.)\1+", r"\1", text)

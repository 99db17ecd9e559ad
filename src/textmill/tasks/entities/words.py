"""Views of a word: what is looked at when a phrase is classified, found once per distinct word.

    plain      the word without accents
    initial    its first character: upper, lower or neither
    letters    upper if any letter is a capital, else lower if any is small, else neither
    shape      runs of capitals, small letters and digits as X, x and d
    lower      the plain form in lower case
    prefix, suffix   the first and last three characters of it (suffix2: two)

Accents are combining marks after canonical decomposition (NFD); letters that `keep` names stay as they are, so that
keep="ñÑ" leaves año and ano apart. Reference: Jansche (2002).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from textmill.errors import DataError

__all__ = ["VIEWS", "describe_words", "strip_accents"]

_RUNS = re.compile(r"(.)\1+", re.DOTALL)

VIEWS = ("plain", "initial", "letters", "shape", "lower", "prefix", "suffix", "suffix2")


def strip_accents(text: str, keep: str = "") -> str:
    """Return the text without combining marks; characters in `keep` stay.

    >>> strip_accents("Peña Álvarez"), strip_accents("Peña Álvarez", keep="ñ")
    ('Pena Alvarez', 'Peña Alvarez')
    """
    if text.isascii():
        return text
    if keep:
        return "".join(one if one in keep else strip_accents(one) for one in unicodedata.normalize("NFC", text))
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(one for one in decomposed if not unicodedata.combining(one)))


def describe_words(
    views: Sequence[str], *, accents: bool = False, keep: str = "", keywords: Iterable[str] = ()
) -> Callable[[list[str]], list[tuple[str | bool | None, ...]]]:
    """Return the function that gives for words their views, and whether they are keywords.

    `accents` leaves them on. Keywords are compared without accents and case.

    >>> describe_words(["plain", "initial", "letters", "shape"], keywords=["fútbol"])(["Fútbol", "1998"])
    [('Futbol', 'upper', 'upper', 'Xx', True), ('1998', 'neither', 'neither', 'd', False)]
    """
    for view in views:
        if view not in VIEWS:
            raise DataError(f"there is no view '{view}' of a word; choose from {', '.join(VIEWS)}")
    listed = {strip_accents(word).lower() for word in keywords}

    def describe(words: list[str]) -> list[tuple[str | bool | None, ...]]:
        plain = list(words) if accents else _stripped(words, keep)
        lower: list[str] = [word.lower() for word in plain]
        columns: list[list[str]] = []
        for view in views:
            if view == "plain":
                columns.append(plain)
            elif view == "lower":
                columns.append(lower)
            elif view == "initial":
                columns.append([_case(word[:1]) for word in words])
            elif view == "letters":
                columns.append([_case(word) for word in words])
            elif view == "shape":
                columns.append([_RUNS.sub(r"\1", word.translate(_KINDS)) for word in words])
            else:
                part = {"prefix": slice(3), "suffix": slice(-3, None), "suffix2": slice(-2, None)}[view]
                columns.append([word[part] for word in lower])
        flags = [strip_accents(word) in listed for word in lower] if listed else [False] * len(words)
        return list(zip(*columns, flags, strict=True))

    return describe


def _stripped(words: list[str], keep: str) -> list[str]:
    return [word if word.isascii() else strip_accents(word, keep) for word in words]


class _Kinds(dict[int, str]):
    """Characters by kind, each found once."""

    def __missing__(self, point: int) -> str:
        one = chr(point)
        self[point] = kind = "X" if one.isupper() else "x" if one.isalpha() else "d" if one.isdigit() else one
        return kind


_KINDS = _Kinds()


def _case(text: str) -> str:
    if not text.islower() and any(one.isupper() for one in text):
        return "upper"
    return "lower" if any(one.islower() for one in text) else "neither"

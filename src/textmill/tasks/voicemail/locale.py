"""Words of a locale: how numbers are spoken and written, and the closed lists that the trees may ask for.

A locale is a TOML file (`locales/us.toml` explains itself); `us` and `gb` are shipped, and a file of your own is named
by its path. Every list is checked when it is read: a damaged one is an error that names the file and the entry.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from textmill._native import tasks as native
from textmill.errors import DataError

__all__ = ["LOCALES", "Locale", "read_locale"]

_FOLDER = Path(__file__).parent / "locales"
LOCALES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))
_GREETING, _TERMINATOR, _PLAIN = 1, 2, 4
_KINDS = ("none", "digit", "teen", "tens", "hundred", "thousand", "repeat", "area", "extension", "filler")
_SECTIONS = {
    "numbers": (
        "digits teens tens repeats hundred thousand area extension fillers plain plain_lengths",
        {"digits": 10, "teens": 10, "tens": 8},
    ),
    "formats": ("", {}),
    "callers": ("greetings words identifiers terminators first_names anonymous", {}),
    "contexts": ("for against", {}),
}
FIRST_NAME, OTHER, END, START = "<first name>", "<other>", "<end>", "<start>"
_EDGES = '.,?!;:"()[]-'


@dataclass(frozen=True)
class Locale:
    """The words of a locale, in lower case.

    >>> locale = read_locale("us")
    >>> locale.spoken["forty"], locale.spoken["double"], locale.formats["7"]
    (('tens', 40), ('repeat', 2), 'ddd-dddd')
    """

    name: str
    spoken: dict[str, tuple[str, int]]
    plain: tuple[str, ...]
    plain_lengths: tuple[int, ...]
    formats: dict[str, str]
    greetings: tuple[str, ...]
    words: tuple[str, ...]
    identifiers: tuple[str, ...]
    terminators: tuple[str, ...]
    first_names: tuple[str, ...]
    anonymous: tuple[str, ...]
    contexts_for: tuple[str, ...]
    contexts_against: tuple[str, ...]

    @property
    def contexts(self) -> tuple[str, ...]:
        """Words around numbers that the tree may ask for."""
        return (*self.contexts_for, *(word for word in self.contexts_against if word not in self.contexts_for))

    @property
    def values(self) -> list[str]:
        """What a word may be for the trees of callers."""
        return [*self.words, FIRST_NAME, OTHER, END, START]

    @cached_property
    def native(self) -> native.VoicemailWords:
        """The words as the native scanner wants them."""
        sequences = [(0, text.split()) for text in self.identifiers] + [(1, text.split()) for text in self.anonymous]
        listed: dict[str, None] = dict.fromkeys(self.spoken)
        for words in (self.plain, self.words, self.greetings, self.terminators, self.first_names, self.contexts):
            listed |= dict.fromkeys(words)
        listed |= dict.fromkeys(word for _, words in sequences for word in words)
        place = {word: i for i, word in enumerate(listed)}
        value = {word: i for i, word in enumerate(self.words)}
        context = {word: i for i, word in enumerate(self.contexts)}
        facts = np.empty((len(listed), 5), np.int32)
        for i, word in enumerate(listed):
            kind, number = self.spoken.get(word, ("none", 0))
            flags = (
                _GREETING * (word in self.greetings)
                + _TERMINATOR * (word in self.terminators)
                + _PLAIN * (word in self.plain)
            )
            named = len(self.words) if word in self.first_names else -1
            facts[i] = _KINDS.index(kind), number, flags, value.get(word, named), context.get(word, -1)
        return native.VoicemailWords(
            [_bare(word) for word in listed],
            facts,
            [(kind, [place[word] for word in words]) for kind, words in sequences],
            len(self.words) + 1,
            len(self.contexts),
            list(self.plain_lengths),
        )


def _bare(word: str) -> str:
    """A word as the scanner sees it: without marks around it."""
    return word.strip(_EDGES)


def read_locale(name: str | os.PathLike[str] | Locale) -> Locale:
    """A locale by its name (us, gb) or the path of its file.

    >>> read_locale("gb").spoken["treble"]
    ('repeat', 3)
    """
    if isinstance(name, Locale):
        return name
    return _read(os.fspath(name))


@cache
def _read(name: str) -> Locale:
    path = _FOLDER / f"{name}.toml" if name in LOCALES else Path(name)
    if not path.is_file():
        raise DataError(f"there is no locale {name!r}; take {', '.join(LOCALES)} or the path of a TOML file")
    try:
        with path.open("rb") as stream:
            data = tomllib.load(stream)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise DataError(f"not a TOML file: {fault}", source=str(path)) from None
    return _checked(data, name, str(path))


def _checked(data: dict[str, Any], name: str, source: str) -> Locale:
    for section, (keys, sizes) in _SECTIONS.items():
        table = data.get(section)
        if not isinstance(table, dict):
            raise DataError(f"the section [{section}] is missing", source=source)
        for key in keys.split():
            if key not in table:
                raise DataError(f"[{section}] has no entry {key!r}", source=source)
            wanted = sizes.get(key)
            if wanted is not None and (not isinstance(table[key], list) or len(table[key]) != wanted):
                raise DataError(f"{key} in [{section}] must be a list of {wanted} texts", source=source)
    numbers, callers, contexts = data["numbers"], data["callers"], data["contexts"]
    spoken: dict[str, tuple[str, int]] = {}

    def speak(word: Any, kind: str, number: int = 0) -> None:
        if word in spoken:
            raise DataError(f"{word!r} is a {spoken[word][0]} and a {kind}; a word has one meaning", source=source)
        spoken[word] = (kind, number)

    for key, kind, first, step in (("digits", "digit", 0, 1), ("teens", "teen", 10, 1), ("tens", "tens", 20, 10)):
        for i, entry in enumerate(_texts(numbers[key], key, source)):
            for word in entry.split():
                speak(word, kind, first + step * i)
    if not isinstance(numbers["repeats"], dict):
        raise DataError("repeats in [numbers] must be a table such as { double = 2 }", source=source)
    for word, times in numbers["repeats"].items():
        if not isinstance(times, int) or not 2 <= times <= 9:
            raise DataError(f"{word!r} in repeats must stand for 2 to 9 times, not {times!r}", source=source)
        speak(word, "repeat", times)
    for key, kind in (("hundred",) * 2, ("thousand",) * 2, ("area",) * 2, ("extension",) * 2, ("fillers", "filler")):
        for word in _words(numbers[key], key, source):
            speak(word, kind)
    plain = _words(numbers["plain"], "plain", source)
    for word in plain:
        if spoken.get(word, ("", 0))[0] != "digit":
            raise DataError(f"{word!r} in plain is no word of digits", source=source)
    lengths = numbers["plain_lengths"]
    if not isinstance(lengths, list) or not all(isinstance(n, int) and n > 0 for n in lengths):
        raise DataError("plain_lengths must be a list of whole numbers above 0", source=source)
    formats = {str(key): value for key, value in data["formats"].items()}
    for key, form in formats.items():
        if not isinstance(form, str) or (key != "extension" and (not key.isdecimal() or form.count("d") != int(key))):
            raise DataError(
                f"the format of {key!r} must be a text with a d for each digit, got {form!r}", source=source
            )
    locale = Locale(
        name,
        spoken,
        plain,
        tuple(lengths),
        {"extension": " ext. "} | formats,
        *(
            _texts(callers[key], key, source)
            if key in ("identifiers", "anonymous")
            else _words(callers[key], key, source)
            for key in ("greetings", "words", "identifiers", "terminators", "first_names", "anonymous")
        ),
        *(_words(contexts[key], key, source) for key in ("for", "against")),
    )
    if len(locale.contexts) > 64:
        raise DataError(f"[contexts] may have 64 words, has {len(locale.contexts)}", source=source)
    return locale


def _texts(entries: Any, key: str, source: str) -> tuple[str, ...]:
    if not isinstance(entries, list) or not all(isinstance(entry, str) and entry.split() for entry in entries):
        raise DataError(f"{key} must be a list of texts, none of them empty", source=source)
    texts = tuple(" ".join(entry.split()) for entry in entries)
    for text in texts:
        if text != text.lower():
            raise DataError(f"{text!r} in {key} must be in lower case", source=source)
    return texts


def _words(entries: Any, key: str, source: str) -> tuple[str, ...]:
    words = _texts(entries, key, source)
    for word in words:
        if " " in word:
            raise DataError(f"{word!r} in {key} must be one word", source=source)
    return tuple(dict.fromkeys(words))

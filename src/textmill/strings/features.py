"""What a string is compared by: characters, words, n-grams of characters, or what a function of yours returns.

    features(e) = <a_1, ..., a_n>        ordered, repeated features stay repeated

Strings are brought to Unicode normalization form C and compared by code point; case and accents are kept.

    characters            M, ü, l, l, e, r
    words                 cut at white space, punctuation stripped from both ends: "U.S. (State)" gives U.S, State
    words(split="regex")  runs of letters, digits and _: "director-general" gives director, general
    ngrams(n)             n characters in a row of ^word$; `bigrams` and `trigrams` are 2 and 3. pad=False leaves ^
                          and $ out. A string too short for one n-gram is its own only feature.

Scores depend on how names are cut into words; compare only scores of one cut.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import MISSING, dataclass, fields
from itertools import chain
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.model import check_choice, check_range

__all__ = [
    "Characters",
    "CustomFeatures",
    "Expression",
    "Features",
    "Ngrams",
    "Sounds",
    "Symbols",
    "Words",
    "checked_names",
    "offsets_of",
    "quoted",
]

Symbols: TypeAlias = tuple[NDArray[np.int64], NDArray[np.uint32]]  # offsets, numbers of features

_WORD = re.compile(r"\w+")


def checked_names(names: Iterable[str], what: str = "names") -> list[str]:
    """Return strings in normalization form C, or say which of them is none.

    >>> checked_names(["Mu\\u0308ller"])
    ['Müller']
    """
    if isinstance(names, str):
        raise DataError(f"{what} is one string, {names[:40]!r}; pass a list of strings")
    strings = list(names)
    for position, name in enumerate(strings):
        if not isinstance(name, str):
            raise DataError(f"{what} holds {name!r} at position {position}, which is no string; pass strings only")
        if not name.isascii():
            strings[position] = unicodedata.normalize("NFC", name)
    return strings


@dataclass(frozen=True)
class Expression:
    """A small object that has a text form: its name and, in brackets, what differs from the defaults."""

    name: ClassVar[str] = ""

    def arguments(self) -> Iterator[str]:
        """Yield the arguments as text, the features first unless they are characters."""
        for field in fields(self):
            content = getattr(self, field.name)
            if field.name == "features":
                if content != Characters():
                    yield str(content)
            elif field.default is MISSING or content != field.default:
                yield f"{field.name}={quoted(content)}"

    def __str__(self) -> str:
        arguments = ", ".join(self.arguments())
        return f"{self.name}({arguments})" if arguments else self.name


def quoted(value: object) -> str:
    """A value as the text form has it.

    >>> quoted("idf"), quoted(0.5), quoted(Ngrams())
    ('"idf"', '0.5', 'trigrams')
    """
    if isinstance(value, Expression):
        return str(value)
    return f'"{value}"' if isinstance(value, str) else repr(value)


@dataclass(frozen=True)
class Features(Expression):
    """How a string is cut. Base of all features."""

    def __call__(self, text: str) -> list[str]:
        """Return the features of one string in order."""
        raise NotImplementedError

    def symbols(self, strings: list[str], numbers: dict[str, int]) -> Symbols:
        """Return the features of strings as offsets and numbers; `numbers` grows by features not met before.

        >>> [part.tolist() for part in Words().symbols(["a b", "b"], {})]
        [[0, 2, 3], [0, 1, 1]]
        """
        rows = [[numbers.setdefault(feature, len(numbers)) for feature in self(text)] for text in strings]
        return offsets_of(rows), np.fromiter(chain.from_iterable(rows), np.uint32)


@dataclass(frozen=True)
class Characters(Features):
    """Single characters, by code point.

    >>> Characters()("Zoë")
    ['Z', 'o', 'ë']
    """

    name: ClassVar[str] = "characters"

    def __call__(self, text: str) -> list[str]:
        """Return the characters."""
        return list(text)

    def symbols(self, strings: list[str], numbers: dict[str, int]) -> Symbols:
        """Return the code points."""
        return offsets_of(strings), np.frombuffer("".join(strings).encode("utf-32-le", "surrogatepass"), np.uint32)


@dataclass(frozen=True)
class Words(Features):
    """Words: split="whitespace" strips punctuation from the ends of what white space parts, "regex" takes \\w+.

    >>> Words()("The Director-General, U.S.")
    ['The', 'Director-General', 'U.S']
    >>> Words(split="regex")("The Director-General, U.S.")
    ['The', 'Director', 'General', 'U', 'S']
    """

    split: str = "whitespace"
    name: ClassVar[str] = "words"

    def __post_init__(self) -> None:
        check_choice("split", self.split, ["whitespace", "regex"])

    def __call__(self, text: str) -> list[str]:
        """Return the words in order."""
        if self.split == "regex":
            return _WORD.findall(text)
        return [word for word in map(_strip, text.split()) if word]


@dataclass(frozen=True)
class Ngrams(Features):
    """Runs of n characters, of ^text$ when pad is set.

    >>> Ngrams()("Anna"), Ngrams(n=2, pad=False)("Anna"), Ngrams()("")
    (['^An', 'Ann', 'nna', 'na$'], ['An', 'nn', 'na'], [])
    """

    n: int = 3
    pad: bool = True
    name: ClassVar[str] = "ngrams"

    def __post_init__(self) -> None:
        check_range("n", self.n, at_least=1, whole=True)
        check_choice("pad", self.pad, [True, False])

    def __str__(self) -> str:
        text = {2: "bigrams", 3: "trigrams"}.get(self.n)
        arguments = [*([] if text else [str(self.n)]), *([] if self.pad else ["pad=False"])]
        return f"{text or self.name}({', '.join(arguments)})" if arguments else str(text)

    def __call__(self, text: str) -> list[str]:
        """Return the n-grams in order."""
        if not text:
            return []
        n = self.n
        if self.pad and n > 1:
            text = f"^{text}$"
        return [text[i : i + n] for i in range(len(text) - n + 1)] or [text]


@dataclass(frozen=True)
class Sounds(Features):
    """How each word sounds in English, as a code: soundex, metaphone or nysiis, by the package jellyfish.

    >>> Sounds("soundex")("Smith"), Sounds("soundex")("Smyth")
    (['S530'], ['S530'])
    """

    code: str = "soundex"
    name: ClassVar[str] = "sounds"

    def __post_init__(self) -> None:
        check_choice("code", self.code, ["soundex", "metaphone", "nysiis"])

    def __str__(self) -> str:
        return self.code

    def __call__(self, text: str) -> list[str]:
        """Return the codes of the words in order."""
        import jellyfish

        encode = getattr(jellyfish, self.code)
        return [code for code in map(encode, Words()(text)) if code]


@dataclass(frozen=True)
class CustomFeatures(Features):
    """What a function from a string to strings returns; `label` stands for it in the text form.

    >>> CustomFeatures("initials", lambda text: [word[0] for word in text.split()])("Ada Lovelace")
    ['A', 'L']
    """

    label: str
    function: Callable[[str], Iterable[str]]

    def __str__(self) -> str:
        return self.label

    def __call__(self, text: str) -> list[str]:
        """Return what the function makes of the string."""
        features = list(self.function(text))
        for feature in features:
            if not isinstance(feature, str):
                raise DataError(f"features {self.label!r} gave {feature!r} for {text[:40]!r}; return strings only")
        return features


def offsets_of(rows: Sequence[Sized]) -> NDArray[np.int64]:
    """Where each row begins when all lie one after the other, and where the last ends.

    >>> offsets_of(["ab", "", "c"]).tolist()
    [0, 2, 2, 3]
    """
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=offsets[1:])
    return offsets


def _strip(word: str) -> str:
    """Without punctuation at both ends."""
    if word.isalnum():
        return word
    start, end = 0, len(word)
    while start < end and unicodedata.category(word[start])[0] == "P":
        start += 1
    while end > start and unicodedata.category(word[end - 1])[0] == "P":
        end -= 1
    return word[start:end]

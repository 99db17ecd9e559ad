"""Names made more alike before they are compared; a `Normalizer` does nothing unless it is asked for.

    form -> transliterate -> accents -> case -> punctuation -> titles -> legal forms -> white space

Matching ignores case, accents and repeated blanks unless told otherwise (`DEFAULT_STEPS`); the names that are shown are
those that came. The measures need no knowledge of languages and types, and learn from titles what they are worth; ask
for more when the same person is to be found under "DR. MÜLLER" and "Mueller" and nothing else tells. A title or a legal
form is dropped at the start or the end of a name, and only if something remains. White space is made single in any
case. Cost: O(characters). Reference: Unicode Standard Annex #15 for the forms.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeAlias

from textmill.errors import DataError

__all__ = [
    "DEFAULT_STEPS",
    "LEGAL_FORMS",
    "STEPS",
    "TITLES",
    "Normalize",
    "Normalizer",
    "latin_letters",
    "normalizer_of",
    "places_in",
]

Normalize: TypeAlias = Callable[[str], str] | Collection[str] | None  # a function, names of steps, or nothing

STEPS = ("accents", "case", "latin", "legal-forms", "nfkc", "punctuation", "titles")
DEFAULT_STEPS = ("case", "accents")

TITLES = frozenset(
    """mr mrs ms miss mx dr prof professor sir dame lady lord rev hon judge m mme mlle herr frau fräulein señor señora
    sr sra don doña ing mgr phd md esq jr""".split()  # noqa: SIM905
)
LEGAL_FORMS = frozenset(
    """inc incorporated corp corporation co company llc llp lp ltd limited plc pty gmbh ag kg kgaa ohg mbh se sa sas
    sarl srl spa sl bv nv ab as asa oy oyj aps kft zrt sro doo ooo oao zao""".split()  # noqa: SIM905
)

_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
_WHOLE = str.maketrans({"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D"})
_WHOLE |= str.maketrans({"ł": "l", "Ł": "L", "þ": "th", "Þ": "Th", "ð": "d", "Ð": "D", "ı": "i"})


@dataclass(frozen=True, slots=True)
class Normalizer:
    """A function from names to names.

    Parameters:
        form: A Unicode normalization form, which comes first; None leaves code points alone.
        case: Whether case is folded.
        accents: Whether accents are stripped, and ß written as ss, æ as ae and so on.
        punctuation: Whether punctuation becomes white space, except hyphens, apostrophes and middle dots inside a word
            as in O'Neill; full stops are dropped.
        titles: Whether the words of `TITLES`, or of a list, are dropped at both ends.
        legal_forms: Whether the words of `LEGAL_FORMS`, or of a list, are dropped at both ends.
        transliterate: A function from text to text, called after the normalization form; None for none.

    >>> Normalizer()("  Dr.  Müller ")
    'Dr. Müller'
    >>> Normalizer(case=True, accents=True, punctuation=True, titles=True)("Dr. Jean-Luc MÜLLER")
    'jean-luc muller'
    >>> Normalizer(legal_forms=True)("Ash & Wood Ltd."), Normalizer(titles=True)("Dr.")
    ('Ash & Wood', 'Dr.')
    """

    form: str | None = None
    case: bool = False
    accents: bool = False
    punctuation: bool = False
    titles: bool | Collection[str] = False
    legal_forms: bool | Collection[str] = False
    transliterate: Callable[[str], str] | None = None

    def __post_init__(self) -> None:
        if self.form not in (None, *_FORMS):
            raise DataError(f"form must be one of {', '.join(_FORMS)} or None, not {self.form!r}")
        for name in ("titles", "legal_forms"):
            if isinstance(getattr(self, name), str):
                raise DataError(f"{name} must be True, False or a list of words, not the text {getattr(self, name)!r}")

    def __call__(self, name: str) -> str:
        """The name after all steps."""
        text = name if self.form is None else unicodedata.normalize(self.form, name)  # type: ignore[arg-type]
        if self.transliterate is not None:
            text = self.transliterate(text)
        if self.accents:
            parts = unicodedata.normalize("NFD", text.translate(_WHOLE))
            text = unicodedata.normalize("NFC", "".join(c for c in parts if unicodedata.category(c) != "Mn"))
        if self.case:
            text = text.casefold()
        if self.punctuation:
            text = _without_punctuation(text)
        words = text.split()
        for chosen, lexicon in ((self.titles, TITLES), (self.legal_forms, LEGAL_FORMS)):
            if chosen is not False:
                words = _trimmed(words, lexicon if chosen is True else {_bare(word) for word in chosen})
        return " ".join(words)


def normalizer_of(normalize: Normalize) -> Callable[[str], str] | None:
    """The function that steps (of `STEPS`) describe, None for no step or "none"; a function is itself.

    >>> normalizer_of(["case", "legal-forms"])("ASH & WOOD LTD")
    'ash & wood'
    """
    if normalize is None or callable(normalize):
        return normalize
    steps = [normalize] if isinstance(normalize, str) else list(normalize)
    if not steps or steps == ["none"]:
        return None
    for step in steps:
        if step not in STEPS:
            raise DataError(f"normalize must be of {', '.join(STEPS)}, or none alone, got {step!r}")
    return Normalizer(
        form="NFKC" if "nfkc" in steps else None,
        case="case" in steps,
        accents="accents" in steps,
        punctuation="punctuation" in steps,
        titles="titles" in steps,
        legal_forms="legal-forms" in steps,
        transliterate=latin_letters if "latin" in steps else None,
    )


def latin_letters(text: str) -> str:
    """The letters of other scripts in Latin ones, by the table of the package anyascii; Latin letters stay.

    >>> latin_letters("Гагарин, Müller")
    'Gagarin, Müller'
    """
    if text.isascii():
        return text
    from anyascii import anyascii

    letters = {
        c: anyascii(c) for c in set(text) if c.isalpha() and not unicodedata.name(c, "LATIN").startswith("LATIN")
    }
    return "".join(letters.get(c, c) for c in text)


def places_in(original: str, normalized: str) -> list[int]:
    """For each character of a normalized name the place in the original that it comes from, -1 if none is found.

    >>> places_in("Ann  MÜLLER", "ann muller")
    [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]
    """
    fold = Normalizer(case=True, accents=True)
    folded = [(part, place) for place, letter in enumerate(original) for part in (fold(letter) or letter)]
    text = "".join(part for part, _ in folded)
    places = [-1] * len(normalized)
    target = "".join(fold(letter)[:1] or letter for letter in normalized)
    for block in SequenceMatcher(None, text, target, autojunk=False).get_matching_blocks():
        for k in range(block.size):
            places[block.b + k] = folded[block.a + k][1]
    return places


def _without_punctuation(text: str) -> str:
    """Punctuation as white space, full stops as nothing; what stands inside a word stays."""
    letters = []
    for i, c in enumerate(text):
        joins = c in "-'’·" and 0 < i < len(text) - 1 and text[i - 1].isalnum() and text[i + 1].isalnum()
        if joins or unicodedata.category(c)[0] != "P":
            letters.append(c)
        elif c != ".":
            letters.append(" ")
    return "".join(letters)


def _trimmed(words: list[str], lexicon: Collection[str]) -> list[str]:
    """Without words of a lexicon at both ends, but never without all of them."""
    start, stop = 0, len(words)
    while start < stop and _bare(words[start]) in lexicon:
        start += 1
    while stop > start and _bare(words[stop - 1]) in lexicon:
        stop -= 1
    return words[start:stop] or words


def _bare(word: str) -> str:
    """A word as the lists have it: folded, without punctuation."""
    return "".join(c for c in word.casefold() if unicodedata.category(c)[0] != "P")

"""Names made more alike before they are compared; every step is off unless it is asked for.

    form -> transliterate -> accents -> case -> punctuation -> titles -> legal forms -> white space

The measures of this package need no knowledge of languages and types, and learn from accents and titles what they are
worth; normalize when the same person is to be found under "DR. MÜLLER" and "Mueller" and nothing else tells. A title or
a legal form is dropped at the start or the end of a name, and only if something remains. White space is made single in
any case. Cost: O(characters). Reference: Unicode Standard Annex #15 for the forms.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass

from textmill.errors import DataError

__all__ = ["LEGAL_FORMS", "TITLES", "Normalizer"]

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

    Parameters: form (a Unicode normalization form, None leaves code points alone); case (fold it); accents (strip them,
    and write ß as ss, æ as ae and so on); punctuation (make it white space, except between letters or digits as in
    O'Neill, and drop full stops); titles and legal_forms (drop those of `TITLES` and `LEGAL_FORMS`, or of a list);
    transliterate (any function from text to text, called first).

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
        for chosen, known in ((self.titles, TITLES), (self.legal_forms, LEGAL_FORMS)):
            if chosen is not False:
                words = _trimmed(words, known if chosen is True else {_bare(word) for word in chosen})
        return " ".join(words)


def _without_punctuation(text: str) -> str:
    """Punctuation as white space, full stops as nothing; what stands inside a word stays."""
    kept = []
    for i, c in enumerate(text):
        joins = c in "-'’·" and 0 < i < len(text) - 1 and text[i - 1].isalnum() and text[i + 1].isalnum()
        if joins or unicodedata.category(c)[0] != "P":
            kept.append(c)
        elif c != ".":
            kept.append(" ")
    return "".join(kept)


def _trimmed(words: list[str], known: Collection[str]) -> list[str]:
    """Without known words at both ends, but never without all of them."""
    start, stop = 0, len(words)
    while start < stop and _bare(words[start]) in known:
        start += 1
    while stop > start and _bare(words[stop - 1]) in known:
        stop -= 1
    return words[start:stop] or words


def _bare(word: str) -> str:
    """A word as the lists have it: folded, without punctuation."""
    return "".join(c for c in word.casefold() if unicodedata.category(c)[0] != "P")

r"""Words with their pronunciations: reading, writing, spelling, harvesting.

    word TAB phoneme phoneme ...          the form that is written; more columns are left alone
    WORD(2)  P1 P2 ...                    CMUdict: variants in brackets, ;;; and # begin comments, 0 1 2 mark stress
    word TAB p o n                        WikiPron: the same as the first
    records of JSONL, CSV, TSV, Parquet   the fields "word" and "phonemes"

A word may have several pronunciations: several lines, or (as in some test files) several columns. Letters are code
points or grapheme clusters of a Unicode normal form; "auto" is NFC, but NFD where Hangul syllables occur, whose letters
are inside. Cost: O(letters).
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import regex

from textmill.corpus import Source, open_lines, open_source, source_name, writer
from textmill.errors import DataError, warn_caller
from textmill.model import check_choice

__all__ = [
    "FORMS",
    "LEXICON_FORMATS",
    "UNITS",
    "Entry",
    "Spelling",
    "as_phonemes",
    "find_overlap",
    "group_entries",
    "read_lexicon",
    "write_lexicon",
]

LEXICON_FORMATS = ("auto", "cmudict", "tsv")
UNITS = ("codepoints", "clusters")
FORMS = ("auto", "NFC", "NFD", "NFKC", "NFKD", "none")

_COUNT = re.compile(r"[0-9]+(\.[0-9]*)?")  # a frequency
_VARIANT = re.compile(r"(.+)\((\d+)\)")
_STRESS = re.compile(r"([A-Z]+)[012]")
_HANGUL = re.compile("[\uac00-\ud7a3]")


@dataclass(frozen=True, slots=True)
class Entry:
    """A word and one of its pronunciations; `line` is where it was read.

    >>> Entry("tax", ("t", "a", "k", "s")).text()
    'tax\\tt a k s'
    """

    word: str
    phonemes: tuple[str, ...]
    line: int | None = None

    def text(self) -> str:
        """Return the line of a lexicon file."""
        return f"{self.word}\t{' '.join(self.phonemes)}"


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a word is cut into letters.

    >>> Spelling(form="NFC").letters("e\\u0301te\\u0301")
    ['é', 't', 'é']
    """

    units: str = "codepoints"
    form: str = "NFC"
    fold: bool = False

    def letters(self, word: str) -> list[str]:
        """Return the letters of a word."""
        if self.fold:
            word = word.casefold()
        if self.form != "none":
            word = unicodedata.normalize(self.form, word)  # type: ignore[arg-type]
        return regex.findall(r"\X", word) if self.units == "clusters" else list(word)

    @staticmethod
    def chosen(units: str, form: str, fold: bool, words: Iterable[str]) -> Spelling:
        """Return the spelling for these words: "auto" becomes NFD where there are Hangul syllables, else NFC.

        >>> Spelling.chosen("codepoints", "auto", False, ["각"]).form
        'NFD'
        """
        check_choice("units", units, UNITS)
        check_choice("form", form, FORMS)
        if form == "auto":
            form = "NFD" if any(_HANGUL.search(word) for word in words) else "NFC"
        return Spelling(units, form, fold)


def read_lexicon(
    source: Source,
    *,
    format: str = "auto",  # noqa: A002
    stress: bool = True,
    errors: str = "strict",
) -> Iterator[Entry]:
    """Read words and pronunciations, one after the other.

    `format` is one of `LEXICON_FORMATS`; "auto" takes lines without a tab, or with a number in brackets, for CMUdict's.
    Further columns are further pronunciations; numbers there, such as frequencies, are passed over.
    With `stress=False` the digits of CMUdict's vowels are left out. A line without a word or without phonemes is a
    DataError, or with errors="skip" left out and counted in a warning.

    >>> import io
    >>> [entry.text() for entry in read_lexicon(io.BytesIO(b";;; a\\nREAD(2)  R EH1 D\\n"), stress=False)]
    ['READ\\tR EH D']
    """
    check_choice("format", format, LEXICON_FORMATS)
    check_choice("errors", errors, ("strict", "skip"))
    name, skipped, first = source_name(source), 0, ""
    for number, line in _lexicon_lines(source):
        text = line.strip("\ufeff") if number == 1 else line
        if not text.strip() or text.startswith(";;;") or (format == "cmudict" and text.startswith("#")):
            continue
        cmudict = format == "cmudict" or (format == "auto" and "\t" not in text)
        if cmudict:
            word, _, rest = text.partition("#")[0].strip().partition(" ")
            variant = _VARIANT.fullmatch(word)
            word, columns = variant[1] if variant else word, [rest]
        else:
            word, *columns = text.split("\t")
            columns = [*columns[:1], *(column for column in columns[1:] if not _COUNT.fullmatch(column.strip()))]
        pronunciations = [tuple(column.split()) for column in columns if column.strip()]
        if cmudict or not stress:
            pronunciations = [tuple(_unstressed(p) if not stress else p for p in own) for own in pronunciations]
        if not word.strip() or not pronunciations or (len(columns) > 1 and not columns[0].strip()):
            fault = "expected a word, a tab and phonemes separated by blanks" if word.strip() else "the word is empty"
            if errors == "strict":
                raise DataError(f"{fault}; mend the line, or skip such lines", source=name, line=number)
            skipped += 1
            first = first or f"{name}:{number}: {fault}"
            continue
        for phonemes in pronunciations:
            yield Entry(word.strip(), phonemes, number)
    if skipped:
        warn_caller(f"{skipped} lines of the lexicon were left out, first {first}")


def _lexicon_lines(source: Source) -> Iterator[tuple[int, str]]:
    """The numbered lines of a lexicon, those of records in the same form."""
    with open_source(source, text_field="word") as opened:
        table = opened.looks if opened.format == "tsv" else opened.format
        if table == "txt":
            yield from open_lines(opened.stream, name=opened.name)
            return
        for document in opened.documents():
            phonemes = document.fields.get("phonemes")
            if not isinstance(phonemes, str):
                fault = "no field 'phonemes' beside 'word'; a lexicon has words, tabs and phonemes between blanks"
                raise DataError(fault, source=document.source, line=document.line)
            yield document.line or 0, f"{document.text}\t{phonemes}"


def _unstressed(phoneme: str) -> str:
    match = _STRESS.fullmatch(phoneme)
    return match[1] if match else phoneme


def write_lexicon(entries: Iterable[Entry], target: str | os.PathLike[str]) -> int:
    """Write a lexicon, a line for each entry; returns their number.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_lexicon([Entry("a", ("A",))], f"{folder}/a.tsv")
    1
    """
    count = 0
    with writer(target) as file:
        for entry in entries:
            if any(sign in entry.word for sign in "\t\n\r"):
                raise DataError(f"the word {entry.word!r} holds a tab or a line end, which a lexicon file cannot hold")
            file.write(entry.text() + "\n")
            count += 1
    return count


def group_entries(entries: Iterable[Entry]) -> dict[str, list[tuple[str, ...]]]:
    """Return the pronunciations of each word, equal ones once.

    >>> group_entries([Entry("a", ("A",)), Entry("a", ("EY",)), Entry("a", ("A",))])
    {'a': [('A',), ('EY',)]}
    """
    of_words: dict[str, list[tuple[str, ...]]] = {}
    for entry in entries:
        pronunciations = of_words.setdefault(entry.word, [])
        if entry.phonemes not in pronunciations:
            pronunciations.append(entry.phonemes)
    return of_words


def find_overlap(train: Iterable[Entry], dev: Iterable[Entry]) -> list[str]:
    """Return the words that occur in both.

    >>> find_overlap([Entry("a", ("A",))], [Entry("a", ("EY",)), Entry("b", ("B",))])
    ['a']
    """
    seen = {entry.word for entry in train}
    return sorted({entry.word for entry in dev} & seen)


def as_phonemes(pronunciation: Any) -> tuple[str, ...]:
    """A pronunciation as phonemes: a string is parted at blanks."""
    return tuple(pronunciation.split() if isinstance(pronunciation, str) else pronunciation)

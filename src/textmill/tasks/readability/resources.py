"""What is known of a language: syllables, familiar words, classes of tags; each can be replaced.

    syllables(word)  =  groups of vowels + sum of the values of the patterns that occur in ^word$,   at least 1

A word of `exceptions` has the number given there. Hyphens part a word into several, apostrophes are left out, a number
has one syllable. A word is familiar if it is in the list, or is one of the list with an ending (`endings`: ending, and
what stood in its place), also after a doubled letter (`stopped`); what has no letter is familiar. A full stop that ends
one of `abbreviations` ends no sentence.

English comes with the package: 201 patterns that `learn_syllable_rules` found in the CMU dictionary, the 2,941 words of
Dale and Chall, the endings that their rules let pass, titles, months and initials as abbreviations, and the tags of
Penn and of Universal Dependencies. Files for another language are plain text: `vowels` and a pattern with its value on
each line; words; endings; abbreviations.

Learning is greedy: of all parts of up to `longest` letters with marks at both ends, the one whose +1 or -1 makes most
words right is taken, until none gains `min_gain`. Cost: parts x rules.
Reference: Chall & Dale (1995), Readability revisited.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import tasks as native
from textmill.arrays import Ints
from textmill.corpus import Source, open_lines
from textmill.errors import DataError
from textmill.model import Estimator, Model, check_range

__all__ = [
    "CLASSES",
    "LanguageResources",
    "learn_syllable_rules",
    "read_abbreviations",
    "read_endings",
    "read_familiar_words",
    "read_syllable_rules",
]

# classes of tags, a tag of Penn or of Universal Dependencies in each; `*` stands for any ending
CLASSES: dict[str, tuple[str, ...]] = {
    "nouns": ("NN*", "NOUN", "PROPN"),
    "verbs": ("VB*", "VERB", "AUX"),
    "adjectives": ("JJ*", "ADJ"),
    "adverbs": ("RB*", "WRB", "ADV"),
    "prepositions": ("IN", "TO", "ADP"),
    "numerals": ("CD", "NUM"),
    "proper": ("NNP", "NNPS", "PROPN"),
    "pronouns": ("PRP*", "PRON"),
}
_VALUE = re.compile(r"[+-]?[0-9]+")


class LanguageResources(Estimator, Model):
    """Syllables, familiar words and classes of tags of a language; None stands for those of English.

    Parameters:
        vowels: Letters whose groups are counted.
        patterns: What a part of ^word$ adds to the number of groups.
        exceptions: Words whose number of syllables is known.
        familiar: Words that every reader knows, folded.
        endings: Endings that leave a word familiar, as pairs of an ending and what stood in its place.
        tags: Tags of each class, such as {"nouns": ["NN*", "NOUN"]}; see `CLASSES`.
        abbreviations: Words with a full stop after which a sentence goes on.

    >>> english = LanguageResources()
    >>> english.syllables(["mill", "readability", "created", "whirled"]).tolist()
    [1, 5, 3, 1]
    >>> english.is_familiar(["stopped", "babies", "perplexity", "1984"]).tolist()
    [True, True, False, True]
    """

    format_version: ClassVar[int] = 1

    def __init__(
        self,
        *,
        vowels: str | None = None,
        patterns: Mapping[str, int] | None = None,
        exceptions: Mapping[str, int] | None = None,
        familiar: Collection[str] | None = None,
        endings: Sequence[tuple[str, str]] | None = None,
        tags: Mapping[str, Sequence[str]] | None = None,
        abbreviations: Collection[str] | None = None,
    ) -> None:
        self.vowels = vowels
        self.patterns = patterns
        self.exceptions = exceptions
        self.familiar = familiar
        self.endings = endings
        self.tags = tags
        self.abbreviations = abbreviations

    def meter(self) -> Any:
        """Return the kernel that counts texts and words by these resources."""
        vowels, patterns = _english_syllables() if self.patterns is None or self.vowels is None else ("", {})
        own = patterns if self.patterns is None else {str(key): int(value) for key, value in self.patterns.items()}
        counts = {} if self.exceptions is None else {key.casefold(): int(n) for key, n in self.exceptions.items()}
        familiar = _english_words() if self.familiar is None else tuple(sorted({w.casefold() for w in self.familiar}))
        endings = _english_endings() if self.endings is None else tuple((a, b) for a, b in self.endings)
        key = (self.vowels or vowels, tuple(own.items()), tuple(counts.items()), familiar, endings)
        return _meter(*key)

    def stops(self) -> tuple[str, ...]:
        """Return the abbreviations after which no sentence ends, folded.

        >>> "mr." in LanguageResources().stops(), LanguageResources(abbreviations=["Sr."]).stops()
        (True, ('sr.',))
        """
        if self.abbreviations is None:
            return _english_abbreviations()
        return tuple(sorted({word.casefold() for word in self.abbreviations}))

    def syllables(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Return the number of syllables of each word."""
        return np.asarray(self._facts(words)[0])

    def is_familiar(self, words: Iterable[str]) -> NDArray[np.bool_]:
        """Say which words are familiar."""
        return np.asarray(self._facts(words)[3], dtype=bool)

    def _facts(self, words: Iterable[str]) -> Any:
        return self.meter().facts([word.casefold() for word in words])

    def in_class(self, name: str, tags: Iterable[str]) -> NDArray[np.bool_]:
        """Say which tags belong to a class.

        >>> LanguageResources().in_class("nouns", ["NNS", "VBD", "PROPN"]).tolist()
        [True, False, True]
        """
        classes = CLASSES if self.tags is None else self.tags
        if name not in classes:
            raise DataError(f"tags has no class {name!r}; give one for each of {', '.join(CLASSES)}")
        exact = {tag for tag in classes[name] if not tag.endswith("*")}
        begins = tuple(tag[:-1] for tag in classes[name] if tag.endswith("*"))
        return np.array([tag in exact or tag.startswith(begins) for tag in tags], dtype=bool)


@cache
def _meter(vowels: str, patterns: Any, exceptions: Any, familiar: Any, endings: Any) -> Any:
    return native.WordMeter(
        vowels,
        [key for key, _ in patterns],
        np.array([value for _, value in patterns], dtype=np.int32),
        [key for key, _ in exceptions],
        np.array([value for _, value in exceptions], dtype=np.int32),
        list(familiar),
        list(endings),
    )


def read_syllable_rules(source: Source) -> tuple[str, dict[str, int]]:
    r"""Read vowels and patterns from a file: a line `vowels aeiouy`, then a pattern and its value on each line.

    >>> import io
    >>> read_syllable_rules(io.BytesIO(b"vowels aeiou\ne$ -1\nia +1\n"))
    ('aeiou', {'e$': -1, 'ia': 1})
    """
    vowels, patterns = "", {}
    for number, line in open_lines(source):
        parts = line.split()
        if not parts or line.startswith("#"):
            continue
        if len(parts) == 2 and parts[0] == "vowels":
            vowels = parts[1]
        elif len(parts) == 2 and _VALUE.fullmatch(parts[1]):
            patterns[parts[0]] = int(parts[1])
        else:
            raise DataError(f"a pattern and its value are expected, such as 'e$ -1', got {line!r}", line=number)
    if not vowels:
        raise DataError("the rules name no vowels; add a line such as 'vowels aeiouy'")
    return vowels, patterns


def read_familiar_words(source: Source) -> list[str]:
    r"""Read a list of words, one on each line.

    >>> import io
    >>> read_familiar_words(io.BytesIO(b"Mill\nwater\n"))
    ['mill', 'water']
    """
    return [line.strip().casefold() for _, line in open_lines(source) if line.strip() and not line.startswith("#")]


def read_endings(source: Source) -> list[tuple[str, str]]:
    r"""Read endings, each with what stood in its place, if anything.

    >>> import io
    >>> read_endings(io.BytesIO(b"s\nies y\n"))
    [('s', ''), ('ies', 'y')]
    """
    endings = []
    for number, line in open_lines(source):
        parts = line.split()
        if not parts or line.startswith("#"):
            continue
        if len(parts) > 2:
            raise DataError(f"an ending and what stood in its place are expected, got {line!r}", line=number)
        endings.append((parts[0], parts[1] if len(parts) == 2 else ""))
    return endings


def read_abbreviations(source: Source) -> list[str]:
    r"""Read abbreviations, one on each line, each with its full stop.

    >>> import io
    >>> read_abbreviations(io.BytesIO(b"Mr.\nDr.\n"))
    ['mr.', 'dr.']
    """
    words = []
    for number, line in open_lines(source):
        word = line.strip().casefold()
        if not word or word.startswith("#"):
            continue
        if not word.endswith(".") or len(word.split()) > 1:
            raise DataError(f"a word with its full stop is expected, such as 'Mr.', got {line!r}", line=number)
        words.append(word)
    return words


def learn_syllable_rules(
    words: Iterable[str],
    syllables: Iterable[int],
    *,
    vowels: str = "aeiouy",
    longest: int = 6,
    min_count: int = 10,
    min_gain: int = 8,
) -> dict[str, int]:
    """Learn patterns from words whose syllables are known.

    Parts of up to `longest` letters that are in at least `min_count` words are tried; a rule must make at least
    `min_gain` words right.

    >>> words = ["mille", "stone", "wave", "tide", "idea", "via", "mill", "sea"]
    >>> learn_syllable_rules(words, [1, 1, 1, 1, 3, 2, 1, 1], min_count=1, min_gain=2)
    {'e$': -1}
    """
    check_range("longest", longest, at_least=1, whole=True)
    check_range("min_count", min_count, at_least=1, whole=True)
    check_range("min_gain", min_gain, at_least=1, whole=True)
    folded = [word.casefold().replace("'", "").replace("\u2019", "") for word in words]
    gold = np.fromiter(syllables, dtype=np.int64)
    if len(gold) != len(folded) or not folded:
        raise DataError(f"there are {len(folded)} words but {len(gold)} numbers of syllables; pass one for each word")
    empty = np.zeros(0, np.int32)
    meter = native.WordMeter(vowels, [], empty, [], empty, [], [])
    wrong = gold - meter.vowel_groups(folded)
    names, row, part, times = _parts(folded, longest, min_count)
    order = np.argsort(part, kind="stable")
    begin = np.searchsorted(part[order], np.arange(len(names) + 1))
    spread = np.diff(begin) / (len(part) + 1)  # of equal gains the part in fewer words: it says less of others
    rules: dict[str, int] = {}
    while len(names):
        best, chosen, value = 0.0, 0, 0
        for step in (1, -1):
            gains = (wrong[row] != 0).astype(np.int64) - (wrong[row] != step * times)
            by_part = np.bincount(part, gains, len(names)) - spread
            top = int(by_part.argmax())
            if by_part[top] > best:
                best, chosen, value = float(by_part[top]), top, step
        if np.ceil(best) < min_gain:
            break
        own = order[begin[chosen] : begin[chosen + 1]]
        wrong[row[own]] -= value * times[own]
        rules[names[chosen]] = rules.get(names[chosen], 0) + value
    return {name: value for name, value in sorted(rules.items()) if value}


def _parts(words: list[str], longest: int, min_count: int) -> tuple[list[str], Ints, Ints, Ints]:
    """Parts of words by name, and for each word and part in it how many times."""
    ids: dict[str, int] = {}
    row, part = [], []
    for number, word in enumerate(words):
        marked = f"^{word}$"
        for begin in range(len(marked)):
            for end in range(begin + 1, min(begin + longest, len(marked)) + 1):
                name = marked[begin:end]
                if name not in ("^", "$"):
                    row.append(number)
                    part.append(ids.setdefault(name, len(ids)))
    pairs, times = np.unique(np.array(row, dtype=np.int64) * max(1, len(ids)) + np.array(part), return_counts=True)
    rows, parts = np.divmod(pairs, max(1, len(ids)))
    enough = np.bincount(parts, minlength=len(ids)) >= min_count
    names = [name for name, keep in zip(ids, enough, strict=True) if keep]
    taken = enough[parts]
    return names, rows[taken], (np.cumsum(enough) - 1)[parts[taken]], times[taken]


@cache
def _english_syllables() -> tuple[str, dict[str, int]]:
    return read_syllable_rules(_english("syllables.txt"))


@cache
def _english_words() -> tuple[str, ...]:
    return tuple(read_familiar_words(_english("familiar.txt")))


@cache
def _english_endings() -> tuple[tuple[str, str], ...]:
    return tuple(read_endings(_english("endings.txt")))


@cache
def _english_abbreviations() -> tuple[str, ...]:
    return tuple(sorted(read_abbreviations(_english("abbreviations.txt"))))


def _english(name: str) -> str:
    return str(files("textmill.tasks.readability") / "english" / name)

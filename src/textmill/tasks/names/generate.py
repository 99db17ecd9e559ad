"""Synthetic names in clusters of variants: seeded, of any number, with the truth.

A base is a person (two or three words) or an organization (three words). Each base has 0 to 2 variants, each made by 1
or 2 operations that are drawn with these weights among those the name allows:

    55   spoil one word: change a vowel, double, delete, swap, replace or insert a letter, alike often
    15   put a title in front (persons)
    10   drop the first word (persons) or the last (organizations)
    10   swap two neighboring words
    10   reduce the first word to its initial (persons)

Same base, same cluster. Two scenarios spoil words in other ways half of the time: `transliteration` by rules (a/e,
el-/al-, c/k, single and doubled consonants, i/y/ï), `french` by losing accents or by UTF-8 read as Windows-1252.
Strings are distinct; a variant that is already there is left out.

Given names and the common words of organizations are drawn with probability ~ 1 / (rank + 3), so that a few of them are
in many names; family names and places are drawn evenly from a stock that grows with the number of bases, as
vocabularies do (Heaps' law: 6 bases^0.9, until all compositions are used). Cost: O(names), some microseconds each.

References: Moreau, Yvon & Cappé (2008) for the phenomena; Heaps (1978) for the growth.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from textmill.errors import DataError
from textmill.model import seed_of
from textmill.tasks.names.collection import NameList
from textmill.tasks.names.records import RecordList
from textmill.tasks.names.stock import STOCKS, Stock

__all__ = [
    "SCENARIOS",
    "People",
    "generate_names",
    "generate_people",
    "spoil_accents",
    "spoil_letters",
    "transliterate",
]

SCENARIOS = ("typos", "transliteration", "french")

_SHIFT = 3
_VOWELS = "aeiou"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DOUBLED = "bdfglmnprst"
_RULES = [("a", "e"), ("e", "a"), ("el-", "al-"), ("al-", "el-"), ("c", "k"), ("k", "c")]
_RULES += [("i", "y"), ("y", "i"), ("i", "ï"), ("ï", "i"), ("y", "ï"), ("ï", "y")]
_RULES += [(2 * letter, letter) for letter in _DOUBLED] + [(letter, 2 * letter) for letter in _DOUBLED]


def generate_names(
    bases: int = 950, *, scenario: str = "typos", persons: float = 0.6, random_state: int = 0
) -> NameList:
    """Give about twice as many names as bases, the variants behind their base, with types and clusters.

    `persons` is the share of bases that are persons, the others are organizations. The id of a variant is that of its
    base with a letter behind it.

    >>> names = generate_names(3, random_state=4)
    >>> for key, name, kind in zip(names.ids, names.names, names.types, strict=True):
    ...     print(key, name, kind, sep=", ")
    1, Mary Helen Hughes, person
    2, Anna Brown, person
    2a, Prof. Onna Brown, person
    2b, Anna Brewn, person
    3, Mei Walker, person
    3a, Director Mei Walkej, person
    3b, Mei Walekr, person
    """
    if scenario not in SCENARIOS:
        raise DataError(f"scenario must be one of {', '.join(SCENARIOS)}, not {scenario!r}")
    if bases < 1 or not 0 <= persons <= 1:
        raise DataError(f"bases is {bases} and persons is {persons}; pass at least 1, and a share from 0 to 1")
    random = Random(seed_of(random_state))
    stock = STOCKS["french" if scenario == "french" else "english"]
    spoil = {"typos": spoil_letters, "transliteration": transliterate, "french": spoil_accents}[scenario]
    ids: list[str] = []
    names: list[str] = []
    types: list[str] = []
    seen: set[str] = set()
    for number, (words, person) in enumerate(_bases(bases, persons, stock, scenario, random), 1):
        texts = [" ".join(words)]
        texts += [" ".join(_variant(words, person, stock.titles, spoil, random)) for _ in range(random.randrange(3))]
        fresh = [text for text in dict.fromkeys(texts) if text not in seen]
        seen.update(fresh)
        names += fresh
        ids += [f"{number}{letter}" for letter in ["", "a", "b"][: len(fresh)]]
        types += ["person" if person else "organization"] * len(fresh)
    return NameList(ids, names, types, None, [key.rstrip("ab") for key in ids])


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Made-up records of people, and the person of each record."""

    records: RecordList
    clusters: list[int]


def generate_people(
    people: int,
    *,
    duplicates: float = 0.3,
    errors: float = 0.15,
    missing: float = 0.05,
    random_state: int = 0,
) -> People:
    """Make records of people: forename, surname, street, city, postcode, born, phone and email.

    A person has a further record with the probability `duplicates`, then perhaps another one, and so on. In a further
    record each value is spoilt with the probability `errors`: a slip of the pen, an initial or a short form, a street
    without its number, a day and a month exchanged, or another value altogether, as after a move. In all records a
    value is missing with the probability `missing`. Cities are of very different sizes, and each has a few postcodes of
    its own.

    >>> made = generate_people(5, random_state=1)
    >>> made.clusters
    [0, 0, 0, 0, 1, 2, 3, 4]
    >>> made.records.shown(0)
    'James | Galbury | 10443 | 1964-12-26 | 01234 719869 | james.belerford@example.org'
    """
    random = Random(seed_of(random_state))
    stock = STOCKS["english"]
    family = list(itertools.islice(dict.fromkeys(itertools.chain(stock.family, _composed(stock))), 3000))
    places = list(dict.fromkeys(a + b for b in stock.endings for a in stock.beginnings))[:400]
    ranks = [1.0 / (rank + 2) for rank in range(max(len(family), len(stock.forenames), len(places)))]

    def draw(words: Sequence[str]) -> str:
        return random.choices(words, ranks[: len(words)])[0]

    def person() -> dict[str, str]:
        forename, surname, city = draw(stock.forenames), draw(family), draw(places)
        number = random.randint(1, 120)
        street = f"{number} {random.choice(places)} {random.choice(('Road', 'Street', 'Lane', 'Avenue'))}"
        return {
            "forename": forename,
            "surname": surname,
            "street": street,
            "city": city,
            "postcode": f"{10_000 + 40 * places.index(city) + random.randrange(4)}",
            "born": f"{random.randint(1930, 2005)}-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}",
            "phone": f"0{random.randint(1000, 1999)} {random.randint(100_000, 999_999)}",
            "email": f"{forename}.{surname}{random.choice(('', number))}@example.org".lower(),
        }

    def spoil(field: str, value: str) -> str:
        kind = random.random()
        if kind < 0.15:
            return person()[field]
        if field == "forename" and kind < 0.4:
            return value[0] + random.choice(("", "."))
        if field == "street" and kind < 0.4:
            return value.split(" ", 1)[1]
        if field == "born" and kind < 0.4:
            year, month, day = value.split("-")
            return f"{year}-{day}-{month}"
        if field in ("postcode", "phone", "born"):
            at = random.choice([i for i, c in enumerate(value) if c.isdigit()])
            return value[:at] + str(random.randrange(10)) + value[at + 1 :]
        return spoil_letters(value, random)

    columns: dict[str, list[str]] = {name: [] for name in person()}
    clusters: list[int] = []
    for number in range(people):
        record = person()
        further = False
        while True:
            clusters.append(number)
            for field, value in record.items():
                shown = spoil(field, value) if further and random.random() < errors else value
                columns[field].append("" if random.random() < missing else shown)
            further = True
            if random.random() >= duplicates:
                break
    return People(RecordList.of(columns), clusters)


def spoil_letters(word: str, random: Random) -> str:
    """Make one slip of the pen in a word.

    >>> spoil_letters("Rumyantsev", Random(1))
    'Rumyantsevv'
    """
    operation = random.randrange(6)
    at = random.randrange(len(word))
    letter = random.choice(_LETTERS)
    vowels = [i for i, c in enumerate(word) if c.lower() in _VOWELS]
    if operation == 0 and vowels:
        at = random.choice(vowels)
        other = random.choice([vowel for vowel in _VOWELS if vowel != word[at].lower()])
        return word[:at] + _cased(other, word[at]) + word[at + 1 :]
    if operation == 1:
        return word[: at + 1] + word[at].lower() + word[at + 1 :]
    if operation == 2 and len(word) > 1:
        return word[:at] + word[at + 1 :]
    if operation == 3 and len(word) > 1:
        at = min(at, len(word) - 2)
        return word[:at] + _cased(word[at + 1], word[at]) + _cased(word[at], word[at + 1]) + word[at + 2 :]
    if operation == 4:
        return word[:at] + _cased(letter, word[at]) + word[at + 1 :]
    return word[: at + 1] + letter + word[at + 1 :]


def transliterate(word: str, random: Random) -> str:
    """Write a word by another of the usual rules of transliteration; one that no rule fits is spoilt by a slip.

    >>> transliterate("Elbaradei", Random(2))
    'Elberadei'
    """
    fitting = [(old, new) for old, new in _RULES if old in word.lower()]
    if not fitting or random.random() < 0.5:
        return spoil_letters(word, random)
    old, new = random.choice(fitting)
    at = random.choice([i for i in range(len(word)) if word.lower().startswith(old, i)])
    return word[:at] + _cased(new, word[at]) + word[at + len(old) :]


def spoil_accents(word: str, random: Random) -> str:
    """Lose the accents of a word, or read its UTF-8 as Windows-1252; without accents it is spoilt by a slip.

    >>> spoil_accents("Hélène", Random(0)), spoil_accents("Hélène", Random(3))
    ('HÃ©lÃ¨ne', 'Hllène')
    """
    plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    if plain == word or random.random() < 0.5:
        return spoil_letters(word, random)
    return plain if random.random() < 0.6 else word.encode().decode("cp1252", errors="replace")


def _bases(count: int, persons: float, stock: Stock, scenario: str, random: Random) -> Iterator[tuple[list[str], bool]]:
    """Distinct bases as words, and whether they are persons."""
    size = round(6 * count**0.9)
    family = list(itertools.islice(dict.fromkeys(itertools.chain(stock.family, _composed(stock))), max(40, size)))
    places = [*stock.places, *family[len(stock.family) :]]
    seen: set[tuple[str, ...]] = set()
    repeats = 0
    while len(seen) < count:
        person = random.random() < persons
        if person:
            middle = [_drawn(stock.forenames, random)] if random.random() < 0.3 + 0.1 * repeats else []
            last = random.choice(family)
            if scenario == "transliteration" and random.random() < 0.2:
                last = "el-" + last
            words = [_drawn(stock.forenames, random), *middle, last]
        else:
            parts = {"place": random.choice(places), "field": _drawn(stock.fields, random)}
            words = stock.organization.format(**parts, body=_drawn(stock.bodies, random)).split()
            if repeats > 3:  # the short combinations are used up
                words.insert(0, _drawn(family, random))
        if tuple(words) in seen:
            repeats += 1
            continue
        repeats = 0
        seen.add(tuple(words))
        yield words, person


def _composed(stock: Stock) -> Iterator[str]:
    """Family names made of two or three parts, neighbors as different as can be."""
    beginnings, middles, endings = stock.beginnings, ["", *stock.middles], stock.endings
    total = len(beginnings) * len(middles) * len(endings)
    step = next(k for k in itertools.count(round(0.618 * total)) if math.gcd(k, total) == 1)
    for k in range(total):
        rest, ending = divmod(k * step % total, len(endings))
        beginning, middle = divmod(rest, len(middles))
        yield beginnings[beginning] + middles[middle] + endings[ending]


def _drawn(words: Sequence[str], random: Random) -> str:
    """A word with probability ~ 1 / (rank + 3), by inversion of the logarithm that sums to."""
    n = len(words)
    return words[min(n - 1, int(_SHIFT * (n / _SHIFT + 1) ** random.random() - _SHIFT))]


def _variant(
    base: list[str],
    person: bool,
    titles: Sequence[str],
    spoil: Callable[[str, Random], str],
    random: Random,
) -> list[str]:
    """The words after one or two operations."""
    words = list(base)
    for _ in range(random.choice([1, 2])):
        several, titled = len(words) > 1, words[0] in titles
        weights = {"spoil": 55, "swap": 10 * several, "drop": 10 * (several if person else len(words) > 2)}
        weights |= {"title": 15 * (person and not titled), "initial": 10 * (person and not titled)}
        (operation,) = random.choices([*weights], [*weights.values()])
        if operation == "spoil":
            at = random.randrange(len(words))
            words[at] = spoil(words[at], random)
        elif operation == "title":
            words.insert(0, random.choice(titles))
        elif operation == "drop":
            words = words[1:] if person else words[:-1]
        elif operation == "swap":
            at = random.randrange(len(words) - 1)
            words[at], words[at + 1] = words[at + 1], words[at]
        else:
            words[0] = words[0][0] + "."
    return words


def _cased(letter: str, like: str) -> str:
    return letter[0].upper() + letter[1:] if like.isupper() else letter.lower()

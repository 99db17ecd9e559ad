"""Sentences and names for made-up messages: productions of files, and people who call again and again."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

from textmill.errors import DataError

__all__ = ["People", "Person", "Productions", "read_productions"]

_FOLDER = Path(__file__).parent / "stock"
_SYMBOL = re.compile(r"<([a-z0-9 ]+)>")
_TITLES = ("Doctor", "Professor", "Mister", "Mrs")


class Productions:
    """Weighted productions of symbols, expanded at random.

    >>> productions = Productions({"greeting": [(1, "hi <friend>")]}, "greetings")
    >>> productions.expand("greeting", random.Random(0), {"friend": lambda: "Jane"})
    'hi Jane'
    """

    def __init__(self, rules: Mapping[str, list[tuple[int, str]]], source: str) -> None:
        self.texts = {symbol: [text for _, text in own] for symbol, own in rules.items()}
        self._sums = {symbol: list(accumulate(weight for weight, _ in own)) for symbol, own in rules.items()}
        self._source = source

    def __len__(self) -> int:
        return sum(map(len, self.texts.values()))

    def expand(self, symbol: str, generator: random.Random, fill: Mapping[str, Callable[[], str]]) -> str:
        """A text for a symbol; `fill` makes the texts of symbols that are no productions."""
        if symbol not in self.texts:
            raise DataError(f"there is no production of <{symbol}>", source=self._source)
        text = generator.choices(self.texts[symbol], cum_weights=self._sums[symbol])[0]
        if "<" not in text:
            return text
        return _SYMBOL.sub(
            lambda match: fill[match[1]]() if match[1] in fill else self.expand(match[1], generator, fill), text
        )


@cache
def read_productions(name: str) -> Productions:
    """Productions of one of the shipped files, background or forms."""
    path = _FOLDER / f"{name}.txt"
    rules: dict[str, list[tuple[int, str]]] = {}
    symbol = ""
    for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        text = text.strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("["):
            symbol = text.strip("[]")
            rules[symbol] = []
            continue
        if not symbol:
            raise DataError("a production before the first [symbol]", source=str(path), line=line)
        weight, _, rest = text.partition(" ")
        rules[symbol].append((int(weight), rest) if weight.isdecimal() else (1, text))
    return Productions(rules, str(path))


def _lines(name: str) -> list[str]:
    lines = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@dataclass(frozen=True)
class Person:
    """First name and surname."""

    first: str
    last: str


class People:
    """Who calls: `regular` of all calls come from `n_regulars` people, the r-th with a frequency of 1 / r.

    `part` is "known" or "new": two worlds with different surnames. Names are the commonest of the US census.

    >>> people = People("known")
    >>> caller = people.caller(random.Random(1))
    >>> caller in people.regulars or caller.last in people.surnames
    True
    """

    def __init__(
        self,
        part: str = "known",
        *,
        n_regulars: int = 600,
        regular: float = 0.85,
        surnames: Iterable[str] | None = None,
    ) -> None:
        if part not in ("known", "new"):
            raise DataError(f"callers are 'known' or 'new', not {part!r}")
        pairs = [line.split() for line in _lines("first_names")]
        self.first_names = [name for name, _ in pairs]
        self._sums = list(accumulate(int(count) for _, count in pairs))
        every = [name.capitalize() for name in (surnames if surnames is not None else _lines("surnames"))]
        self.surnames = every[::2] if part == "known" else every[1::2]
        if not self.surnames:
            raise DataError("there must be two surnames at least, for known and for new callers")
        generator = random.Random(f"people {part}")
        self.regulars = [self._anyone(generator) for _ in range(n_regulars)]
        self._frequencies = list(accumulate(1 / rank for rank in range(1, n_regulars + 1)))
        self._regular = regular

    def _anyone(self, generator: random.Random) -> Person:
        return Person(self.first_name(generator), generator.choice(self.surnames))

    def first_name(self, generator: random.Random) -> str:
        """A first name, by its frequency."""
        return generator.choices(self.first_names, cum_weights=self._sums)[0]

    def caller(self, generator: random.Random) -> Person:
        """Who calls next."""
        if self.regulars and generator.random() < self._regular:
            return generator.choices(self.regulars, cum_weights=self._frequencies)[0]
        return self._anyone(generator)

    def spoken_name(self, person: Person, generator: random.Random) -> str:
        """How a caller gives the name: mostly first name and surname, or the first name alone."""
        chance = generator.random()
        if chance < 0.40:
            return person.first
        if chance < 0.967:
            return f"{person.first} {person.last}"
        if chance < 0.978:
            return f"{person.first} {self.first_name(generator)} {person.last}"
        if chance < 0.990:
            return f"{generator.choice(_TITLES)} {person.first} {person.last}"
        length = generator.choice((4, 4, 5, 6, 7, 8))
        more = " ".join(self.first_name(generator) for _ in range(length - 2))
        return f"{person.first} {more} {person.last}"

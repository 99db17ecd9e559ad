"""Numbers as they are spoken on the telephone, found in running words and turned into digits.

    three two seven ten twenty five                   3271025
    area code two one two five five five thirteen twelve extension forty two     2125551312, extension 42

The grammar reads items (twenty five, eight hundred, double seven) from left to right, sets their digits side by side
and takes every maximal sequence, so that it misses next to nothing and proposes about three times too much; a tree or a
rule then says which are numbers to call (native/tasks/spoken_numbers.h has the grammar). `digits_baseline` is what one
would write at first: runs of zero to nine of the usual lengths.

Cost: one pass, millions of words per second. Reference: Jansche & Abney (2002).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, overload

import numpy as np

from textmill.arrays import Ints
from textmill.errors import DataError
from textmill.fst import Fst
from textmill.model import effective_jobs
from textmill.tasks.voicemail.locale import Locale, read_locale
from textmill.tasks.voicemail.messages import Message

__all__ = ["FoundNumbers", "NumberGrammar", "SpokenNumber", "format_number", "message_texts", "quantity"]


class SpokenNumber(NamedTuple):
    """Tokens `start` to `end` (not included) and the digits that they say; `cue`: with words such as area code."""

    start: int
    end: int
    digits: str
    extension: str = ""
    cue: bool = False


def message_texts(messages: Iterable[str | Message]) -> list[str]:
    """Texts as the scanner reads them: tokens with blanks between, in lower case where they are not plain ASCII.

    >>> message_texts(["Call ME", "J’ai dit"])
    ['Call ME', "j'ai dit"]
    """
    texts = []
    for number, message in enumerate(messages):
        text = message if isinstance(message, str) else message.text if isinstance(message, Message) else None
        if text is None:
            raise DataError(f"message {number} is {message!r}; pass texts or messages")
        plain = text.isascii() and text.isprintable()  # has no blanks but those that the scanner knows
        texts.append(text if plain else " ".join(text.lower().replace("\u2019", "'").split()))
    return texts


class FoundNumbers(Sequence[list[SpokenNumber]]):
    """The numbers of each message, in arrays: `offsets` says where the numbers of a message begin.

    >>> found = NumberGrammar().find_all(["call me at two thirty", "five five five one two one two"])
    >>> len(found), found[0]
    (2, [SpokenNumber(start=3, end=5, digits='230', extension='', cue=False)])
    """

    def __init__(self, arrays: tuple[Any, ...]) -> None:
        self.offsets: Ints
        self.offsets, self.start, self.end, self.n_digits, self.n_extension, self.cue, self.text = arrays

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def _columns(self) -> tuple[list[int], ...]:
        """Start, end, first digit, first digit of the extension, and end of the digits of each number."""
        sizes = np.stack([self.n_digits, self.n_extension], axis=1).ravel()
        places = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        columns = (self.start, self.end, places[:-1:2], places[1::2], places[2::2])
        return tuple(column.tolist() for column in columns)

    def one(self, number: int) -> tuple[int, int, str, str]:
        """Start, end, digits and extension of one number by its place among those of all messages."""
        start, end, first, middle, last = self._columns
        at = middle[number]
        return start[number], end[number], self.text[first[number] : at], self.text[at : last[number]]

    @cached_property
    def numbers(self) -> list[SpokenNumber]:
        """The numbers of all messages."""
        text = self.text
        return [
            SpokenNumber(start, end, text[first:middle], text[middle:last], cue)
            for start, end, first, middle, last, cue in zip(*self._columns, self.cue.astype(bool).tolist(), strict=True)
        ]

    @overload
    def __getitem__(self, message: int) -> list[SpokenNumber]: ...
    @overload
    def __getitem__(self, message: slice) -> list[list[SpokenNumber]]: ...
    def __getitem__(self, message: int | slice) -> list[SpokenNumber] | list[list[SpokenNumber]]:
        """The numbers of a message."""
        if isinstance(message, slice):
            return [self[i] for i in range(*message.indices(len(self)))]
        i = range(len(self))[message]
        return self.numbers[int(self.offsets[i]) : int(self.offsets[i + 1])]

    def __iter__(self) -> Iterator[list[SpokenNumber]]:
        numbers, ends = self.numbers, self.offsets.tolist()
        return (numbers[begin:end] for begin, end in pairwise(ends))


class NumberGrammar:
    """The number grammar of a locale.

    `skip_fillers`: pass over "uh" and "um" inside of numbers.

    >>> grammar = NumberGrammar()
    >>> grammar.find("call three two seven ten twenty five")
    [SpokenNumber(start=1, end=7, digits='3271025', extension='', cue=False)]
    >>> [n.digits for n in grammar.find("I can sell it to you for three hundred fourteen ninety nine")]
    ['3001499']
    >>> NumberGrammar("gb").find("oh one double two treble five")[0].digits
    '0122555'
    """

    def __init__(
        self,
        locale: str | os.PathLike[str] | Locale = "us",
        *,
        skip_fillers: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.locale = read_locale(locale)
        self.skip_fillers = skip_fillers
        self.n_jobs = n_jobs

    @property
    def mode(self) -> str:
        """How the native scanner is asked for these candidates."""
        return "fillers" if self.skip_fillers else "grammar"

    def find(self, text: str | Message) -> list[SpokenNumber]:
        """All candidates of a message."""
        return self.find_all([text])[0]

    def find_all(self, messages: Iterable[str | Message]) -> FoundNumbers:
        """All candidates of each message."""
        texts = message_texts(messages)
        return FoundNumbers(self.locale.native.scan(texts, self.mode, effective_jobs(self.n_jobs)))

    def digits_baseline(self, messages: Iterable[str | Message], *, every_zero: bool = False) -> FoundNumbers:
        """Runs of zero to nine that are as long as a number; with `every_zero` "oh" counts as well.

        >>> NumberGrammar().digits_baseline(["call one two three four", "call one oh three four"])[:]
        [[SpokenNumber(start=1, end=5, digits='1234', extension='', cue=False)], []]
        """
        locale = self.locale
        if every_zero:
            locale = replace(locale, plain=tuple(w for w, (kind, _) in locale.spoken.items() if kind == "digit"))
        return FoundNumbers(locale.native.scan(message_texts(messages), "plain", effective_jobs(self.n_jobs)))

    def transducer(self, tokens: Iterable[str] = ()) -> Fst:
        """The grammar as a transducer from tokens to digits; see `number_transducer`."""
        from textmill.tasks.voicemail.transducer import number_transducer

        return number_transducer(self, tokens)


def format_number(digits: str, extension: str = "", locale: str | os.PathLike[str] | Locale = "us") -> str:
    """The number as it is written; without a form for so many digits, the digits alone.

    >>> format_number("3271025"), format_number("2125551312", "42"), format_number("12345")
    ('327-1025', '(212) 555-1312 ext. 42', '12345')
    """
    formats = read_locale(locale).formats
    form = formats.get(str(len(digits)))
    written = digits if form is None else form.replace("d", "%s") % tuple(digits)
    return f"{written}{formats['extension']}{extension}" if extension else written


def quantity(words: str | Sequence[str], locale: str | os.PathLike[str] | Locale = "us") -> str | None:
    """The same words read as an amount: hundreds and thousands are added, what cannot be added is behind the point.

    None for words that are no amount.

    >>> quantity("three hundred fourteen ninety nine"), quantity("two thousand five"), quantity("five five five")
    ('314.99', '2005', None)
    """
    spoken = read_locale(locale).spoken
    tokens = words.split() if isinstance(words, str) else list(words)
    amounts: list[int] = []
    total = part = 0  # thousands that are finished, and what is below
    room = 0  # what may still be added: less than this
    for token in tokens:
        kind, number = spoken.get(token.lower(), ("none", 0))
        if kind in ("digit", "teen", "tens"):
            if not 0 < number < room:
                if room or part or total:
                    amounts.append(total + part)
                total, part = 0, 0
            part += number
            room = 10 if kind == "tens" else 1
        elif kind == "hundred" and 0 < part < 100:
            part, room = part * 100, 100
        elif kind == "thousand" and part > 0 and not total:
            total, part, room = part * 1000, 0, 1000
        else:
            return None
    amounts.append(total + part)
    if not tokens or len(amounts) > 2 or (len(amounts) == 2 and not 10 <= amounts[1] < 100):
        return None
    return str(amounts[0]) if len(amounts) == 1 else f"{amounts[0]}.{amounts[1]:02d}"

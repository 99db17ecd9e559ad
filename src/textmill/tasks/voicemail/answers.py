"""What was found in a message: the caller, numbers with their digits, and numbers to call put together.

A number is often said twice, and a recognizer or a slip of the tongue may spoil one of the two. Numbers of one message
that differ in few digits, or of which one is the end of the other, are taken for one number:

    five five five one two one two ... five five one two one two      the second lacks a digit: 5551212
    the area code is nine oh eight ... five five five one two one two   9085551212

Of several readings the one wins that most agree on, digit by digit where they are equally long, else the one of a
length that telephone numbers have; its confidence is 1 - prod (1 - p). Cost: a few comparisons per message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from textmill.metrics import edit_table
from textmill.tasks.voicemail.locale import Locale
from textmill.tasks.voicemail.messages import MarkedSpan
from textmill.tasks.voicemail.numbers import SpokenNumber, format_number

__all__ = ["CallbackNumber", "FoundNumber", "FoundSpan", "VoicemailAnswer", "merge_numbers"]


class FoundSpan(NamedTuple):
    """Tokens `start` to `end` (not included), their text, how sure it is, and why."""

    start: int
    end: int
    text: str
    confidence: float
    reasons: tuple[str, ...] = ()


class FoundNumber(NamedTuple):
    """A spoken number that is to be called: where it was said, and its digits as they were said."""

    start: int
    end: int
    digits: str
    extension: str
    confidence: float
    reasons: tuple[str, ...] = ()


class CallbackNumber(NamedTuple):
    """A number to call, put together from all places where it was said; `repaired`: none of them had it all."""

    digits: str
    extension: str
    written: str
    confidence: float
    places: tuple[tuple[int, int], ...]
    repaired: bool = False


class VoicemailAnswer(NamedTuple):
    """Who called, and which numbers to call back. `anonymous`: the caller says "it's me" and no name."""

    caller: FoundSpan | None = None
    name: FoundSpan | None = None
    anonymous: bool = False
    numbers: tuple[FoundNumber, ...] = ()
    callbacks: tuple[CallbackNumber, ...] = ()

    @property
    def spans(self) -> list[MarkedSpan]:
        """Caller, name and numbers as spans with the labels caller, name and telno."""
        spans = [
            MarkedSpan(span.start, span.end, label)
            for span, label in ((self.caller, "caller"), (self.name, "name"))
            if span is not None
        ]
        return spans + [MarkedSpan(number.start, number.end, "telno") for number in self.numbers]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: sender, numbers, spans, confidence, reasons."""
        best = self.name or self.caller
        return {
            "sender": None if best is None else best.text,
            "confidence": None if best is None else round(best.confidence, 4),
            "anonymous": self.anonymous,
            "numbers": [
                {
                    "number": one.written,
                    "digits": one.digits,
                    "extension": one.extension,
                    "confidence": round(one.confidence, 4),
                    "repaired": one.repaired,
                }
                for one in self.callbacks
            ],
            "spans": [list(span) for span in self.spans],
            "reasons": {
                label: list(answer.reasons)
                for label, answer in (
                    ("caller", self.caller),
                    ("name", self.name),
                    *((f"telno {n.start}", n) for n in self.numbers),
                )
                if answer is not None and answer.reasons
            },
        }


def merge_numbers(
    numbers: Sequence[FoundNumber],
    locale: Locale,
    *,
    others: Sequence[SpokenNumber] = (),
    tokens: Sequence[str] = (),
) -> tuple[CallbackNumber, ...]:
    """Numbers to call from those of a message; `others` are candidates that are not to be called themselves.

    >>> from textmill.tasks.voicemail import read_locale
    >>> said = [FoundNumber(0, 7, "5551212", "", 0.9), FoundNumber(9, 15, "551212", "", 0.5)]
    >>> [(number.written, round(number.confidence, 2)) for number in merge_numbers(said, read_locale("us"))]
    [('555-1212', 0.95)]
    """
    groups = [[numbers[0]]] if len(numbers) == 1 else _groups(numbers, locale)
    merged = []
    for group in groups:
        first = group[0]
        digits, extension, places = first.digits, first.extension, [(first.start, first.end)]
        missed = 1.0 - first.confidence
        if len(group) > 1:
            digits = _agreed([number.digits for number in group], locale)
            extension = next((number.extension for number in group if number.extension), "")
            places = [(number.start, number.end) for number in group]
            for number in group[1:]:
                missed *= 1.0 - number.confidence
        if others and len(digits) == 7 and (area := _area_code(first, others, tokens, locale)) is not None:
            digits = area.digits + digits
            places.insert(0, (area.start, area.end))
        repaired = all(digits != number.digits for number in group)
        written = format_number(digits, extension, locale)
        merged.append(CallbackNumber(digits, extension, written, 1.0 - missed, tuple(places), repaired))
    return tuple(merged)


def _groups(numbers: Sequence[FoundNumber], locale: Locale) -> list[list[FoundNumber]]:
    """Numbers that are readings of one number, together."""
    groups: list[list[FoundNumber]] = []
    for number in numbers:
        group = next((own for own in groups if any(_same(number, other, locale) for other in own)), None)
        if group is None:
            groups.append([number])
        else:
            group.append(number)
    for single in [group for group in groups if len(group) == 1]:  # one wrong digit, against several that agree
        majority = next((own for own in groups if len(own) > 1 and _one_wrong(single[0], own)), None)
        if majority is not None:
            majority += single
            groups.remove(single)
    return groups


def _usual(digits: str, locale: Locale) -> bool:
    return str(len(digits)) in locale.formats


def _same(one: FoundNumber, other: FoundNumber, locale: Locale) -> bool:
    """Are two numbers readings of one? Equal, one the end of the other, or a digit is missing in an unusual one."""
    if one.digits == other.digits:
        return True
    a, b = sorted((one.digits, other.digits), key=len)
    if len(a) >= 7 and b.endswith(a):
        return True
    if len(a) < 5 or len(b) - len(a) > 2 or (_usual(a, locale) and _usual(b, locale)):
        return False
    return int(edit_table([a], [b])[0, :3].sum()) <= 2


def _one_wrong(number: FoundNumber, group: list[FoundNumber]) -> bool:
    digits = group[0].digits
    return len(number.digits) == len(digits) and sum(map(str.__ne__, number.digits, digits)) == 1


def _agreed(readings: list[str], locale: Locale) -> str:
    if len(set(readings)) == 1:
        return readings[0]
    usual = [digits for digits in readings if _usual(digits, locale)] or readings
    longest = max(map(len, usual))
    same = [digits for digits in usual if len(digits) == longest]
    return "".join(Counter(column).most_common(1)[0][0] for column in zip(*same, strict=True))


def _area_code(
    number: FoundNumber, others: Sequence[SpokenNumber], tokens: Sequence[str], locale: Locale
) -> SpokenNumber | None:
    """Three digits said before a local number, behind the words for an area code."""
    if "10" not in locale.formats:
        return None
    for other in reversed(others):
        if len(other.digits) != 3 or other.end > number.start:
            continue
        before = [token.lower() for token in tokens[max(0, other.start - 4) : other.start]]
        if other.cue or any(locale.spoken.get(word, ("", 0))[0] == "area" for word in before):
            return other
    return None

"""Digits spoken aloud, for the number grammar to hear: shares no code and no word list with it."""

from __future__ import annotations

import random

ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TEENS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["-", "-", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def speak(digits: str, generator: random.Random, *, british: bool = False) -> list[str]:
    """Words for a string of digits, in a random mixture of readings that can be heard in one way only.

    A bare "twenty" must not be followed by a digit from one to nine, which would make it twenty-something.
    """
    words: list[str] = []
    at = 0
    bare_tens = False
    while at < len(digits):
        rest = digits[at:]
        choices: list[tuple[int, list[str], bool]] = []
        zero = "oh" if generator.random() < 0.4 else "zero"
        one = zero if rest[0] == "0" else ONES[int(rest[0])]
        if not (bare_tens and rest[0] != "0"):
            choices.append((1, [one], False))
            if rest[0] != "0" and rest[1:3] == "00":
                choices.append((3, [one, "hundred"], False))
            if rest[0] != "0" and rest[1:4] == "000":
                choices.append((4, [one, "thousand"], False))
        if rest[0] == "1" and len(rest) > 1:
            choices.append((2, [TEENS[int(rest[1])]], False))
            if rest[2:4] == "00":
                choices.append((4, [TEENS[int(rest[1])], "hundred"], False))
        if rest[0] in "23456789" and len(rest) > 1:
            tens = TENS[int(rest[0])]
            if rest[1] == "0":
                choices.append((2, [tens], True))
            else:
                choices.append((2, [tens, ONES[int(rest[1])]], False))
        if rest[:2] == rest[0] * 2:
            choices.append((2, ["double", one], False))
        if rest[:3] == rest[0] * 3:
            choices.append((3, ["treble" if british else "triple", one], False))
        if not choices:  # only a digit would do, and it cannot follow: begin again
            return speak(digits, generator, british=british)
        length, spoken, bare_tens = generator.choice(choices)
        words += spoken
        at += length
    return words

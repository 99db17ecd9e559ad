"""How numbers are said in made-up messages: to call, and all the others."""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["number_to_call", "readings", "speak_cardinal", "speak_digits", "speak_mixed"]

_ONES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def speak_digits(digits: str, zero: str = "zero") -> str:
    """Digit by digit.

    >>> speak_digits("105")
    'one zero five'
    """
    return " ".join(zero if digit == "0" else _ONES[int(digit)] for digit in digits)


def speak_cardinal(number: int) -> str:
    """A number below 10,000.

    >>> speak_cardinal(314), speak_cardinal(2005)
    ('three hundred fourteen', 'two thousand five')
    """
    if number < 10:
        return _ONES[number]
    if number < 20:
        return _TEENS[number - 10]
    if number < 100:
        return _TENS[number // 10] + (f" {_ONES[number % 10]}" if number % 10 else "")
    if number < 1000:
        rest = f" {speak_cardinal(number % 100)}" if number % 100 else ""
        return f"{_ONES[number // 100]} hundred{rest}"
    rest = f" {speak_cardinal(number % 1000)}" if number % 1000 else ""
    return f"{speak_cardinal(number // 1000)} thousand{rest}"


def _pair(digits: str, zero: str = "oh") -> str:
    """Two digits as one reads them in pairs: oh five, fifteen, fifty."""
    if digits[0] == "0":
        return f"{zero} {zero if digits[1] == '0' else _ONES[int(digits[1])]}"
    return speak_cardinal(int(digits))


def speak_mixed(digits: str, generator: random.Random) -> str:
    """In groups of three and four, the last group in pairs, hundreds or doubles.

    >>> speak_mixed("3271025", random.Random(1))
    'three two seven ten twenty five'
    """
    head, last = digits[:-4], digits[-4:]
    spoken = []
    if head.endswith("00") and len(head) >= 3 and head[-3] != "0":
        spoken.append(f"{speak_digits(head[:-2])} hundred".strip())
    elif head:
        spoken.append(speak_digits(head, "oh"))
    if last[2:] == "00" and last[1] != "0":
        spoken.append(f"{_pair(last[:2])} hundred")
    elif last[2] == last[3] and generator.random() < 0.4:
        spoken.append(f"{_pair(last[:2])} double {'oh' if last[3] == '0' else _ONES[int(last[3])]}")
    else:
        spoken.append(f"{_pair(last[:2])} {_pair(last[2:])}")
    return " ".join(spoken)


_LENGTHS, _LENGTH_WEIGHTS = (10, 7, 4, 5, 11), (38, 36, 16, 5, 5)


def number_to_call(generator: random.Random) -> str:
    """The digits of a number to call: 10, 7 or 4, sometimes 5 or 11."""
    length = generator.choices(_LENGTHS, _LENGTH_WEIGHTS)[0]
    first = "1" if length == 11 else generator.choice("23456789")
    digits = first + "".join(generator.choices("0123456789", k=length - 1))
    if length == 11 and generator.random() < 0.5:
        digits = "1800" + digits[4:]
    return digits


def readings(generator: random.Random) -> dict[str, Callable[[], str]]:
    """For each symbol of the productions with numbers a function that says one."""

    def digits(*lengths: int) -> str:
        length = generator.choice(lengths)
        return generator.choice("123456789") + "".join(generator.choices("0123456789", k=length - 1))

    def spoken(number: str, digitwise: float) -> str:
        if generator.random() < digitwise:
            return speak_digits(number, generator.choice(("zero", "oh")))
        return speak_mixed(number, generator)

    def time(first: int, last: int, hours: bool) -> str:
        hour = speak_cardinal(generator.randint(first, last))
        if hours and generator.random() < 0.4:
            return hour
        return f"{hour} {generator.choice(('fifteen', 'thirty', 'forty five', 'twenty', 'ten'))}"

    def year() -> str:
        number = generator.randint(1960, 2002)
        if number >= 2000:
            return speak_cardinal(number)
        return f"nineteen {_pair(str(number)[2:])}"

    def long_price() -> str:
        cents = speak_cardinal(generator.choice((25, 50, 75, 95, 99)))
        return f"{speak_cardinal(generator.choice((generator.randint(10, 99), generator.randint(101, 999))))} {cents}"

    def long_amount() -> str:
        return speak_cardinal(generator.randint(11, 99) * 100)

    def small() -> str:
        return speak_cardinal(generator.choice((generator.randint(2, 12), generator.randint(2, 12), 15, 20, 25, 30)))

    return {
        "year": year,
        "long time": lambda: time(10, 12, False),
        "short time": lambda: time(1, 9, True),
        "long price": long_price,
        "long amount": long_amount,
        "account": lambda: spoken(digits(8, 8, 9, 9, 12, 12, 6, 7, 10), 0.8),
        "order": lambda: spoken(digits(5, 5, 6, 6, 8, 8, 7), 0.7),
        "social": lambda: speak_digits(digits(9), generator.choice(("zero", "oh"))),
        "pin": lambda: spoken(digits(4), 0.4),
        "long flight": lambda: speak_mixed(digits(4), generator),
        "short flight": lambda: _hundreds(digits(3)),
        "long room": lambda: speak_mixed(digits(4), generator),
        "short room": lambda: _hundreds(digits(3)),
        "small": small,
        "area digits": lambda: speak_digits(generator.choice("23456789") + digits(2), "oh"),
    }


def _hundreds(digits: str) -> str:
    """A room: three fourteen, four oh two, five hundred."""
    return f"{_ONES[int(digits[0])]} {'hundred' if digits[1:] == '00' else _pair(digits[1:])}"

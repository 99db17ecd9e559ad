"""Numbers, money and dates as English speakers say them, in several styles: definitions, not the grammar's."""

from __future__ import annotations

import random
from collections.abc import Callable

SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SCALES = ["", "thousand", "million", "billion", "trillion"]
ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def below_hundred(number: int) -> str:
    if number < 20:
        return SMALL[number]
    return TENS[number // 10] + (f" {SMALL[number % 10]}" if number % 10 else "")


def below_thousand(number: int, joint: str = " ") -> str:
    if number < 100:
        return below_hundred(number)
    rest = number % 100
    return f"{SMALL[number // 100]} hundred" + (joint + below_hundred(rest) if rest else "")


def cardinal(number: int, joint: str = " ") -> str:
    """With `joint` " and " between hundreds and what follows them."""
    if number == 0:
        return "zero"
    groups = []
    for scale in SCALES:
        number, group = divmod(number, 1000)
        if group:
            groups.append(f"{below_thousand(group, joint)} {scale}".strip())
    return " ".join(reversed(groups))


def ordinal(number: int) -> str:
    *before, last = cardinal(number).split()
    end = ORDINALS.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last + "th")
    return " ".join([*before, end])


def suffixed(number: int) -> str:
    end = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{end}"


def year(number: int) -> str:
    if 2000 <= number < 2010:
        return cardinal(number)
    first, rest = divmod(number, 100)
    if rest == 0:
        return f"{below_hundred(first)} hundred"
    return f"{below_hundred(first)} oh {SMALL[rest]}" if rest < 10 else f"{below_hundred(first)} {below_hundred(rest)}"


STYLES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "hyphens": lambda words: " ".join(hyphened(words.split(" "))),
    "first capital": lambda words: words[0].upper() + words[1:],
    "every capital": str.title,
    "all capitals": str.upper,
    "hyphens and a capital": lambda words: STYLES["first capital"](STYLES["hyphens"](words)),
}


def hyphened(words: list[str]) -> list[str]:
    """Twenty-one in place of twenty one."""
    units = {*SMALL[1:10], *ORDINALS.values(), *(f"{word}th" for word in SMALL[4:8])}
    out: list[str] = []
    for word in words:
        if out and out[-1] in TENS and word in units:
            out[-1] += f"-{word}"
        else:
            out.append(word)
    return out


def draw(kind: str, rng: random.Random) -> tuple[str, set[str]]:
    """What is said, and the writings of it that are right."""
    size = rng.randrange(10, 10 ** rng.randint(2, 12))
    joint = rng.choice([" ", " and "])
    if kind == "cardinal":
        accepted = {f"{size:,}"} | ({str(size)} if size < 10_000 else set())
        return cardinal(size, joint), accepted
    if kind == "ordinal":
        return ordinal(size), {suffixed(size)}
    if kind == "money":
        whole, cents = rng.randrange(2, 10 ** rng.randint(1, 6)), rng.randrange(2, 100)
        between = rng.choice([" and ", " "])
        return f"{cardinal(whole)} dollars{between}{cardinal(cents)} cents", {f"${whole:,}.{cents:02}"}
    if kind == "scaled money":
        count, scale = rng.randrange(2, 1000), rng.choice(["million", "billion", "trillion"])
        full = count * {"million": 10**6, "billion": 10**9, "trillion": 10**12}[scale]
        return f"{cardinal(count)} {scale} dollars", {f"${count} {scale}", f"${full:,}"}
    if kind == "decimal":
        whole, places = rng.randrange(0, 10 ** rng.randint(1, 5)), rng.choices(range(10), k=rng.randint(1, 5))
        said = f"{cardinal(whole)} point {' '.join(SMALL[digit] for digit in places)}"
        return said, {f"{whole:,}.{''.join(map(str, places))}"}
    if kind == "percent":
        return f"{cardinal(size, joint)} percent", {f"{size:,}%"}
    if kind == "year":
        chosen = rng.randrange(1101, 2100)
        return year(chosen), {str(chosen), f"{chosen:,}"}
    if kind == "minus":
        return f"minus {cardinal(size)}", {f"-{size:,}"}
    assert kind == "date"
    month, day, chosen = rng.choice(MONTHS), rng.randrange(1, 29), rng.choice([*range(1950, 2000), *range(2001, 2030)])
    spoken = rng.choice([year(chosen), *([cardinal(chosen, rng.choice([" ", " "]))] if chosen >= 2000 else [])])
    return f"{month.lower()} {ordinal(day)} {spoken}", {f"{month} {day}, {chosen}"}


KINDS = ("cardinal", "ordinal", "money", "scaled money", "decimal", "percent", "year", "minus", "date")

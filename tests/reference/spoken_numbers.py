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
SCALES = ["", "thousand", "million", "billion", "trillion", "quadrillion"]
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


UNITS = {
    "kilometers": "km",
    "meters": "m",
    "centimeters": "cm",
    "kilograms": "kg",
    "grams": "g",
    "liters": "l",
    "milliliters": "ml",
    "miles per hour": "mph",
    "kilometers per hour": "km/h",
    "gigabytes": "GB",
    "kilowatt hours": "kWh",
    "square meters": "m²",
    "cubic centimeters": "cm³",
    "square feet": "sq ft",
    "megahertz": "MHz",
    "degrees celsius": "°C",
    "hectares": "ha",
    "ounces": "oz",
}
PARTS = {
    "thirds": 3,
    "quarters": 4,
    "fifths": 5,
    "sixths": 6,
    "eighths": 8,
    "tenths": 10,
    "sixteenths": 16,
    "twentieths": 20,
}
_LARGE = {"million": 10**6, "billion": 10**9, "trillion": 10**12}


def spoken_digits(digits: str, rng: random.Random) -> str:
    zero = rng.choice(["zero", "oh"])
    return " ".join(SMALL[int(digit)] if digit != "0" else zero for digit in digits)


def minute(number: int) -> str:
    return f"oh {SMALL[number]}" if number < 10 else below_hundred(number)


def large(rng: random.Random) -> int:
    return rng.randrange(10, 10 ** rng.randint(2, 15))


def _cardinal(rng: random.Random) -> tuple[str, set[str]]:
    size = large(rng)
    if rng.random() < 0.2:
        hundred, rest = rng.choice([n for n in range(11, 100) if n % 10]), rng.choice([0, rng.randrange(1, 100)])
        size = 100 * hundred + rest
        joint = rng.choice([" ", " and "])
        said = f"{below_hundred(hundred)} hundred" + (f"{joint}{below_hundred(rest)}" if rest else "")
        return said, {f"{size:,}", *([str(size)] if hundred < 20 else [])}  # nineteen hundred is a year, too
    said = cardinal(size, rng.choice([" ", " and "]))
    if said.startswith(("one hundred", "one thousand")) and rng.random() < 0.3:
        said = "a" + said[3:]
    accepted = {f"{size:,}"}
    accepted |= {
        f"{size // value} {word}" for word, value in _LARGE.items() if size % value == 0 and size < 1000 * value
    }
    accepted |= {str(size)} if 1100 <= size < 2100 else set()
    return said, accepted


def _ordinal(rng: random.Random) -> tuple[str, set[str]]:
    size = large(rng)
    return ordinal(size), {suffixed(size)}


def _money(rng: random.Random) -> tuple[str, set[str]]:
    whole, cents = rng.randrange(2, 10 ** rng.randint(1, 6)), rng.randrange(1, 100)
    sign, coin, part = rng.choice(
        [("$", "dollars", "cents"), ("$", "us dollars", "cents"), ("€", "euros", "cents"), ("£", "pounds", "pence")]
    )
    if cents == 1 and part == "cents":
        part = "cent"
    between = rng.choice([" and ", " "])
    return f"{cardinal(whole)} {coin}{between}{below_hundred(cents)} {part}", {f"{sign}{whole:,}.{cents:02}"}


def _whole_money(rng: random.Random) -> tuple[str, set[str]]:
    size = large(rng)
    said = cardinal(size, rng.choice([" ", " and "]))
    sign, coin = rng.choice(
        [("$", "dollars"), ("$", "american dollars"), ("€", "euros"), ("¥", "yen"), ("£", "pounds sterling")]
    )
    words = {
        f"{sign}{size // value} {word}" for word, value in _LARGE.items() if size % value == 0 and size < 1000 * value
    }
    return f"{said} {coin}", {f"{sign}{size:,}", *words}


def _scaled_money(rng: random.Random) -> tuple[str, set[str]]:
    count, scale = rng.randrange(2, 1000), rng.choice([*_LARGE])
    places = rng.choice(["", "", str(rng.randrange(1, 100))])
    said = cardinal(count) + (f" point {spoken_digits(places, rng)}" if places else "")
    written = f"{count}.{places}" if places else str(count)
    exact = {f"${count * _LARGE[scale]:,}"} if not places else set()
    return f"{said} {scale} dollars", {f"${written} {scale}", *exact}


def _decimal(rng: random.Random) -> tuple[str, set[str]]:
    whole, places = rng.randrange(0, 10 ** rng.randint(1, 5)), "".join(rng.choices("0123456789", k=rng.randint(1, 5)))
    said = f"point {spoken_digits(places, rng)}"
    if whole or rng.random() < 0.5:
        said = f"{cardinal(whole)} {said}"
    scale = rng.choice(["", "", " million", " billion"]) if whole and whole < 1000 else ""
    return said + scale, {f"{whole:,}.{places}{scale}"}


def _percent(rng: random.Random) -> tuple[str, set[str]]:
    size = rng.randrange(0, 10 ** rng.randint(1, 4))
    if rng.random() < 0.3:
        places = str(rng.randrange(1, 100))
        return f"{cardinal(size)} point {spoken_digits(places, rng)} percent", {f"{size:,}.{places}%"}
    return f"{cardinal(size, rng.choice([' ', ' and ']))} per{rng.choice(['', ' '])}cent", {f"{size:,}%"}


def spoken_year(chosen: int, rng: random.Random) -> str:
    """Nineteen eighty four, two thousand (and) ten or twenty ten, nineteen hundred (and) eighty four."""
    ways = [year(chosen)] if chosen // 100 != 20 or chosen % 100 > 9 else []
    rest = chosen % 100
    if chosen >= 2000:
        ways += [cardinal(chosen)] + ([f"two thousand and {below_hundred(rest)}"] if rest else [])
    elif rest:
        ways += [f"{below_hundred(chosen // 100)} hundred{rng.choice([' ', ' and '])}{below_hundred(rest)}"]
    return rng.choice(ways)


def _year(rng: random.Random) -> tuple[str, set[str]]:
    chosen = rng.randrange(1101, 2100)
    return spoken_year(chosen, rng), {str(chosen), f"{chosen:,}"}


def _date(rng: random.Random) -> tuple[str, set[str]]:
    month, day, chosen = rng.choice(MONTHS), rng.randrange(1, 29), rng.randrange(1701, 2030)
    name, nth, said = month.lower(), ordinal(day), spoken_year(chosen, rng)
    month_first = {f"{month} {day}, {chosen}"}
    day_first = {f"{day} {month} {chosen}"}
    return rng.choice(
        [
            (f"{name} {nth} {said}", month_first),
            (f"{name} {nth}, {said}", month_first),
            (f"{name} the {nth} {said}", month_first),
            (f"{name} {below_hundred(day)} {said}", month_first),
            (f"{name} {nth}", {f"{month} {day}"}),
            (f"the {nth} of {name} {said}", day_first),
            (f"the {nth} of {name}, {said}", day_first),
            (f"{nth} {name} {said}", day_first),
            (f"the {nth} of {name}", {f"{day} {month}"}),
            (f"{name} {said}", {f"{month} {chosen}"}),
        ]
    )


def _time(rng: random.Random) -> tuple[str, set[str]]:
    hour, minutes, seconds = rng.randrange(1, 13), rng.randrange(1, 60), rng.randrange(1, 60)
    mark, written = rng.choice([("a m", "a.m."), ("p m", "p.m."), ("a.m.", "a.m."), ("pm", "p.m.")])
    before = 12 if hour == 1 else hour - 1
    few = rng.randrange(2, 30)
    name = SMALL[hour]
    return rng.choice(
        [
            (f"{name} {minute(minutes)} {mark}", {f"{hour}:{minutes:02} {written}"}),
            (f"{name} {mark}", {f"{hour} {written}"}),
            (f"{name} o'clock", {f"{hour}:00"}),
            (f"half past {name}", {f"{hour}:30"}),
            (f"a quarter past {name}", {f"{hour}:15"}),
            (f"quarter to {name}", {f"{before}:45"}),
            (f"{below_hundred(few)} minutes past {name}", {f"{hour}:{few:02}"}),
            (f"{below_hundred(few)} minutes to {name}", {f"{before}:{60 - few:02}"}),
            (
                f"{name} hours {below_hundred(minutes)} minutes and {below_hundred(seconds)} seconds",
                {f"{hour}:{minutes:02}:{seconds:02}"},
            ),
            (f"{name} {minute(minutes)} {mark} eastern standard time", {f"{hour}:{minutes:02} {written} EST"}),
        ]
    )


def _fraction(rng: random.Random) -> tuple[str, set[str]]:
    word, below = rng.choice([*PARTS.items()])
    count = rng.randrange(2, 20)
    if rng.random() < 0.4:
        whole = rng.randrange(1, 1000)
        return f"{cardinal(whole)} and {SMALL[count]} {word}", {f"{whole} {count}/{below}"}
    return f"{SMALL[count]} {word}", {f"{count}/{below}"}


def _telephone(rng: random.Random) -> tuple[str, set[str]]:
    digits = str(rng.randrange(2, 10)) + "".join(rng.choices("0123456789", k=9))
    area, middle, last = digits[:3], digits[3:6], digits[6:]
    between = rng.choice([" ", ", "])
    ending = spoken_digits(last, rng)
    if "0" not in last and int(last[:2]) > 10 and int(last[2:]) > 10 and rng.random() < 0.3:
        ending = f"{below_hundred(int(last[:2]))} {below_hundred(int(last[2:]))}"
    local = f"{spoken_digits(middle, rng)}{between}{ending}"
    long = f"{spoken_digits(area, rng)}{between}{local}"
    return rng.choice(
        [
            (local, {f"{middle}-{last}"}),
            (long, {f"{area}-{middle}-{last}"}),
            (f"one{between}{long}", {f"1-{area}-{middle}-{last}"}),
            (f"eight hundred{between}{local}", {f"800-{middle}-{last}"}),
        ]
    )


def _measure(rng: random.Random) -> tuple[str, set[str]]:
    size = rng.randrange(2, 10 ** rng.randint(1, 7))
    said, written = cardinal(size, rng.choice([" ", " and "])), f"{size:,}"
    if rng.random() < 0.3:
        places = str(rng.randrange(1, 100))
        said, written = f"{cardinal(size)} point {spoken_digits(places, rng)}", f"{size:,}.{places}"
    word, sign = rng.choice([*UNITS.items()])
    scaled = {f"{size // 10**6} million {sign}"} if size % 10**6 == 0 else set()
    return f"{said} {word}", {f"{written} {sign}", *scaled}


def _minus(rng: random.Random) -> tuple[str, set[str]]:
    size = large(rng)
    words = {f"-{size // value} {word}" for word, value in _LARGE.items() if size % value == 0 and size < 1000 * value}
    return f"{rng.choice(['minus', 'negative'])} {cardinal(size)}", {f"-{size:,}", *words}


def _range(rng: random.Random) -> tuple[str, set[str]]:
    low = rng.randrange(1, 90)
    high = rng.randrange(max(low + 1, 10), 100)
    kind, sign = rng.choice([("", ""), (" percent", "%"), (" kilometers", " km"), (" people", " people")])
    return f"{below_hundred(low)} to {below_hundred(high)}{kind}", {f"{low} to {high}{sign}"}


def _address(rng: random.Random) -> tuple[str, set[str]]:
    octets = [rng.randrange(256) for _ in range(4)]
    said = [rng.choice([cardinal(octet), spoken_digits(str(octet), rng)]) for octet in octets]
    return " dot ".join(said), {".".join(map(str, octets))}


KINDS: dict[str, Callable[[random.Random], tuple[str, set[str]]]] = {
    "cardinal": _cardinal,
    "ordinal": _ordinal,
    "money": _money,
    "whole money": _whole_money,
    "scaled money": _scaled_money,
    "decimal": _decimal,
    "percent": _percent,
    "year": _year,
    "date": _date,
    "time": _time,
    "fraction": _fraction,
    "telephone": _telephone,
    "measure": _measure,
    "minus": _minus,
    "range": _range,
    "internet address": _address,
}


def draw(kind: str, rng: random.Random) -> tuple[str, set[str]]:
    """What is said, and the writings of it that are right."""
    return KINDS[kind](rng)

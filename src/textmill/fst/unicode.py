"""Unicode as machines: well-formed UTF-8, bytes and code points, normal forms and case at the level of bytes.

    utf8_acceptor          exactly the 1,112,064 scalar values, no overlong forms, surrogates or values above U+10FFFF
    bytes_to_code_points   UTF-8 read byte by byte, code points of some set written
    case_folding           letters to their folded form, as `str.casefold` does
    decomposition          NFD (or NFKD) of single characters
    canonical_order        marks that follow one another in the order of their combining classes
    recomposition          letters and marks that follow them to the composed letters of some set

Machines of bytes are made from the tables of Python's `unicodedata`, sharing states by `optimize`. Characters that a
map leaves alone are copied through the acceptor of UTF-8 minus the mapped ones, so they need no arcs of their own.
Reference: The Unicode Standard, chapter 3 (tables 3-6 and 3-7), annex 15.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Literal

from textmill.errors import DataError
from textmill.fst.composition import compose, difference
from textmill.fst.machine import Fst
from textmill.fst.optimization import determinize, minimize, optimize, rmepsilon
from textmill.fst.rational import arcsort, closure, union
from textmill.fst.rewriting import rewrite
from textmill.fst.strings import string_map
from textmill.model import check_choice, check_range

__all__ = [
    "bytes_to_code_points",
    "canonical_order",
    "case_folding",
    "character_map",
    "decomposition",
    "recomposition",
    "utf8_acceptor",
]

# table 3-7: first byte, second byte, number of bytes behind them
_FORMS = (
    ((0xC2, 0xDF), (0x80, 0xBF), 0),
    ((0xE0, 0xE0), (0xA0, 0xBF), 1),
    ((0xE1, 0xEC), (0x80, 0xBF), 1),
    ((0xED, 0xED), (0x80, 0x9F), 1),
    ((0xEE, 0xEF), (0x80, 0xBF), 1),
    ((0xF0, 0xF0), (0x90, 0xBF), 2),
    ((0xF1, 0xF3), (0x80, 0xBF), 2),
    ((0xF4, 0xF4), (0x80, 0x8F), 2),
)


def utf8_acceptor(*, zero: int | None = None) -> Fst:
    """The acceptor of one character in well-formed UTF-8, a label a byte.

    Label 0 is epsilon, so U+0000 has no byte of its own: it is left out, or stands under the label `zero`.

    >>> utf8_acceptor().num_states
    9
    """
    machine = Fst()
    start, end = machine.add_states(2)
    machine.start = start
    machine.set_final(end)
    tails = {0: end}
    for behind in (1, 2):
        tails[behind] = machine.add_state()
        for byte in range(0x80, 0xC0):
            machine.add_arc(tails[behind], byte, byte, None, tails[behind - 1])
    for byte in range(1, 0x80):
        machine.add_arc(start, byte, byte, None, end)
    if zero is not None:
        if zero <= 0xFF:
            raise DataError("the label of U+0000 must be above 255, where no byte is")
        machine.add_arc(start, zero, zero, None, end)
    for (first, last), (low, high), behind in _FORMS:
        middle = machine.add_state()
        for byte in range(first, last + 1):
            machine.add_arc(start, byte, byte, None, middle)
        for byte in range(low, high + 1):
            machine.add_arc(middle, byte, byte, None, tails[behind])
    return arcsort(minimize(determinize(machine)))


def bytes_to_code_points(characters: Iterable[str]) -> Fst:
    """The transducer from strings of some characters in UTF-8 to their code points.

    >>> bytes_to_code_points("aé").num_arcs
    3
    """
    pairs = [(list(character.encode()), [ord(character)]) for character in dict.fromkeys(characters)]
    machine = Fst()
    start = machine.start = machine.add_state()
    machine.set_final(start)
    for inputs, outputs in pairs:
        state = start
        for position, byte in enumerate(inputs):
            target = start if position == len(inputs) - 1 else machine.add_state()
            machine.add_arc(state, byte, outputs[0] if target == start else 0, None, target)
            state = target
    return arcsort(optimize(machine))


def character_map(mapping: dict[str, str]) -> Fst:
    """The transducer of bytes that replaces characters by strings and copies all others.

    >>> from textmill.fst.strings import apply
    >>> apply(character_map({"ß": "ss"}), ["Maß 5€"], token_type="byte")[0][0][0]
    'Mass 5€'
    """
    for character in mapping:
        if len(character) != 1 or character == "\0":
            raise DataError(f"{character!r} is not a single character other than U+0000")
    changed = {key: value for key, value in mapping.items() if key != value}
    if not changed:
        return arcsort(closure(utf8_acceptor()))
    keys = minimize(determinize(rmepsilon(string_map(list(changed), token_type="byte"))))
    others = difference(utf8_acceptor(), keys)
    return arcsort(optimize(closure(union(string_map(list(changed.items()), token_type="byte"), others))))


def case_folding() -> Fst:
    """The transducer of bytes that folds case as `str.casefold` does.

    >>> from textmill.fst.strings import apply
    >>> apply(case_folding(), ["ΣΊΣΥΦΟΣ Straße"], token_type="byte")[0][0][0]
    'σίσυφοσ strasse'
    """
    return character_map(_table(str.casefold))


def decomposition(form: str = "NFD") -> Fst:
    """The transducer of bytes that writes each character in its decomposition, NFD or NFKD.

    Marks that follow one another are not put into canonical order; `canonical_order` behind it does that.

    >>> from textmill.fst.strings import apply
    >>> apply(decomposition(), ["é"], token_type="byte")[0][0][0] == "e" + chr(0x301)
    True
    """
    check_choice("form", form, ["NFD", "NFKD"])
    kind: Literal["NFD", "NFKD"] = "NFD" if form == "NFD" else "NFKD"
    return character_map(_table(lambda character: unicodedata.normalize(kind, character)))


def canonical_order(marks: Iterable[str], *, longest: int = 4) -> Fst:
    """The transducer of bytes that puts marks that follow one another into the order of their combining classes.

    It knows the given marks and sorts up to `longest` of them in a row; marks of one class keep their order. Each of
    longest - 1 passes carries the mark of the greatest class so far behind the others, as bubble sort does.

    >>> from textmill.fst.strings import apply
    >>> below, above = chr(0x323), chr(0x301)
    >>> apply(canonical_order([below, above]), ["e" + above + below], token_type="byte")[0][0][0] == "e" + below + above
    True
    """
    check_range("longest", longest, at_least=1, at_most=12)
    distinct = list(dict.fromkeys(marks))
    for mark in distinct:
        if len(mark) != 1 or not unicodedata.combining(mark):
            raise DataError(f"{mark!r} is not a single mark with a combining class")
    if not distinct or longest == 1:
        return arcsort(closure(utf8_acceptor()))
    one_pass = _sorting_pass(distinct)
    machine = one_pass
    for _ in range(longest - 2):
        machine = arcsort(compose(machine, one_pass))
    return machine


def _sorting_pass(marks: list[str]) -> Fst:
    """One pass: states are the mark that is carried, or none; one more reads what follows a mark that was written."""
    character = utf8_acceptor()
    others = difference(character, minimize(determinize(rmepsilon(string_map(marks, token_type="byte")))))
    machine = Fst()
    idle, after, *carrying = machine.add_states(2 + len(marks))
    machine.start = idle
    machine.set_final(idle)
    machine.set_final(after)

    def path(source: int, reads: bytes, writes: bytes, target: int) -> None:
        size = max(len(reads), len(writes))
        for i in range(size):
            following = target if i == size - 1 else machine.add_state()
            read, written = (part[i] if i < len(part) else 0 for part in (reads, writes))
            machine.add_arc(source, read, written, None, following)
            source = following

    for begin in (idle, after):  # a character that is no mark
        numbers = machine.add_states(others.num_states)
        machine.add_arc(begin, 0, 0, None, numbers[others.start])
        for state in range(others.num_states):
            for arc in others.arcs(state):
                machine.add_arc(numbers[state], arc.ilabel, arc.olabel, None, numbers[arc.nextstate])
            if others.final(state) != others.semiring.zero:
                machine.add_arc(numbers[state], 0, 0, None, idle)
    for carried, state in zip(marks, carrying, strict=True):
        path(idle, carried.encode(), b"", state)
        path(state, b"", carried.encode(), after)
        for mark, other in zip(marks, carrying, strict=True):
            if unicodedata.combining(mark) < unicodedata.combining(carried):
                path(state, mark.encode(), mark.encode(), state)
            else:
                path(state, mark.encode(), carried.encode(), other)
    return arcsort(optimize(machine))


def recomposition(characters: Iterable[str]) -> Fst:
    """The transducer of bytes that composes letters and the marks behind them, as NFC does, into some characters.

    A letter with two marks is composed in two steps, which both are in the machine. Marks must stand in canonical
    order, as `decomposition` writes them for single characters.

    >>> from textmill.fst.strings import apply
    >>> apply(recomposition("éè"), ["e" + chr(0x301)], token_type="byte")[0][0][0] == "é"
    True
    """
    steps: list[dict[str, str]] = [{}, {}]
    for character in dict.fromkeys(characters):
        parts = unicodedata.decomposition(character)
        if not parts or parts.startswith("<") or unicodedata.normalize("NFC", character) != character:
            continue
        pair = "".join(chr(int(part, 16)) for part in parts.split())
        inner = unicodedata.decomposition(pair[0])
        steps[1 if inner else 0][pair] = character
        if inner:
            steps[0]["".join(chr(int(part, 16)) for part in inner.split())] = pair[0]
    rules = [
        rewrite(string_map(list(step.items()), token_type="byte"), alphabet=range(1, 256)) for step in steps if step
    ]
    if not rules:
        return arcsort(closure(utf8_acceptor()))
    return rules[0] if len(rules) == 1 else arcsort(compose(rules[0], rules[1]))


def _table(function: Callable[[str], str]) -> dict[str, str]:
    """What a function of characters changes."""
    table = {}
    for point in range(1, 0x110000):
        if not 0xD800 <= point < 0xE000:
            character = chr(point)
            image = function(character)
            if image != character:
                table[character] = image
    return table

"""Grapheme clusters, what people take for one character, as a machine over bytes.

    a boundary stands between two characters unless a rule joins them: CR LF, Hangul syllables, marks and joiners behind
    what they belong to, prefixes, pairs of regional indicators (flags), pictures joined by U+200D

Whether there is one depends on the class of the next character and on a little of what came before, so the rules are a
machine of eleven states over classes; characters are read as the bytes of UTF-8, each announced by its class. Rule GB9c
(conjuncts of Indic scripts), which Unicode 15.1 has added, is not in it.
Reference: Unicode Standard Annex 29, rules GB1 to GB13 and GB999.
"""

from __future__ import annotations

from functools import cache

from textmill.errors import DataError
from textmill.fst.composition import compose
from textmill.fst.machine import Fst
from textmill.fst.optimization import determinize, minimize, optimize, rmepsilon
from textmill.fst.rational import arcsort
from textmill.fst.strings import string_map

__all__ = ["grapheme_boundaries"]

_NAMES = ("CR", "LF", "Control", "Extend", "ZWJ", "SpacingMark", "Prepend", "Regional_Indicator")
_HANGUL = ("L", "V", "T", "LV", "LVT")
_CLASSES = (*_NAMES, *_HANGUL, "Pictographic", "Other")
_STATES = ("start", "cr", "control", "l", "v", "t", "prepend", "regional", "picture", "joined picture", "other")
_NEXT = {
    "CR": "cr",
    "LF": "control",
    "Control": "control",
    "L": "l",
    "V": "v",
    "LV": "v",
    "T": "t",
    "LVT": "t",
    "Prepend": "prepend",
    "Pictographic": "picture",
}
_FIRST_CLASS = 256  # labels of classes, above those of bytes


def grapheme_boundaries(separator: str = "\n") -> Fst:
    """The transducer of bytes that copies a text and writes a separator between its grapheme clusters.

    >>> from textmill.fst.strings import apply
    >>> apply(grapheme_boundaries("|"), ["e" + chr(0x301) + "a"], token_type="byte")[0][0][0] == "e" + chr(0x301) + "|a"
    True
    """
    if not separator:
        raise DataError("the separator is empty; give a character that stands between clusters")
    return arcsort(optimize(compose(_announced(), _rules(separator.encode()))))


def _joins(state: str, kind: str) -> bool:
    """Is there no boundary between what came and a character of this class?"""
    if state == "start" or (state == "cr" and kind == "LF"):
        return True
    if state in ("cr", "control") or kind in ("CR", "LF", "Control"):
        return False
    return (
        kind in ("Extend", "ZWJ", "SpacingMark")
        or state == "prepend"
        or (state == "l" and kind in ("L", "V", "LV", "LVT"))
        or (state == "v" and kind in ("V", "T"))
        or (state == "t" and kind == "T")
        or (state == "joined picture" and kind == "Pictographic")
        or (state == "regional" and kind == "Regional_Indicator")
    )


def _after(state: str, kind: str) -> str:
    """What the rules remember behind a character of this class."""
    if kind == "Regional_Indicator":
        return "other" if state == "regional" else "regional"
    if state == "picture" and kind in ("Extend", "ZWJ"):
        return "picture" if kind == "Extend" else "joined picture"
    return _NEXT.get(kind, "other")


def _rules(separator: bytes) -> Fst:
    """Classes become boundaries or nothing; bytes are copied."""
    machine = Fst()
    numbers = dict(zip(_STATES, machine.add_states(len(_STATES)), strict=True))
    machine.start = numbers["start"]
    for state, number in numbers.items():
        machine.set_final(number)
        for byte in range(1, 256):
            machine.add_arc(number, byte, byte, None, number)
        for label, kind in enumerate(_CLASSES, _FIRST_CLASS):
            at, written = number, b"" if _joins(state, kind) else separator
            for i, byte in enumerate(written[:-1]):
                following = machine.add_state()
                machine.add_arc(at, 0 if i else label, byte, None, following)
                at = following
            last = written[-1] if written else 0
            machine.add_arc(at, 0 if at != number else label, last, None, numbers[_after(state, kind)])
    return arcsort(machine)


@cache
def _announced() -> Fst:
    """Any characters, each with its class in front of it."""
    machine = Fst()
    start = machine.start = machine.add_state()
    machine.set_final(start)
    for label, members in enumerate(_members(), _FIRST_CLASS):
        words = minimize(determinize(rmepsilon(string_map(members, token_type="byte"))))
        numbers = machine.add_states(words.num_states)
        machine.add_arc(start, 0, label, None, numbers[words.start])
        for state in range(words.num_states):
            for arc in words.arcs(state):
                machine.add_arc(numbers[state], arc.ilabel, arc.olabel, None, numbers[arc.nextstate])
            if words.final(state) != words.semiring.zero:
                machine.add_arc(numbers[state], 0, 0, None, start)
    return arcsort(rmepsilon(machine), "olabel")


def _members() -> list[list[str]]:
    """The characters of each class, without U+0000."""
    import regex

    everything = "".join(map(chr, (*range(1, 0xD800), *range(0xE000, 0x110000))))
    patterns = [rf"\p{{Grapheme_Cluster_Break={name}}}" for name in (*_NAMES, *_HANGUL)]
    classes = [regex.findall(pattern, everything) for pattern in patterns]
    rest = set(everything).difference(*classes)
    pictures = rest.intersection(regex.findall(r"\p{Extended_Pictographic}", everything))
    return [*classes, sorted(pictures), sorted(rest - pictures)]

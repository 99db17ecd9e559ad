"""Schemes of classes with two levels: from a code to its top class, and to its sub-class in one spelling.

    msc      20D05, 20Dxx, 20.30      top 20; sub-class 20Dxx, or 20.30 for codes of 1959 to 1972
    dotted   comp.graphics            top comp; sub-class the whole
    plain    earn                     both the code itself

Codes are sorted by their top class, then historical numbers before letters. References: Mathematics Subject
Classification; Rehurek (2011), section 6.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from textmill.errors import DataError
from textmill.model import check_choice

__all__ = ["GROUP_THEORY", "ClassScheme", "codes_of", "guess_scheme"]

_MSC = re.compile(r"(\d\d)(?:([A-Z])(?:\d\d|xx|XX)?|([-.])(\d\d|XX|xx)?)?")

GROUP_THEORY = {
    "20": "Group theory and generalizations",
    "20.30": "Abelian groups (1959-1972)",
    "20.92": "Semigroups, general theory (1959-1972)",
    "20.93": "Semigroups, structure and classification (1959-1972)",
    "20Dxx": "Abstract finite groups",
    "20Exx": "Structure and classification of infinite or finite groups",
    "20Fxx": "Special aspects of infinite or finite groups",
    "20Kxx": "Abelian groups",
    "20L05": "Groupoids (small categories in which all morphisms are isomorphisms)",
    "20Lxx": "Groupoids",
    "20Mxx": "Semigroups",
    "20Nxx": "Other generalizations of groups",
    "20P05": "Probabilistic methods in group theory",
    "20Pxx": "Probabilistic methods in group theory",
}


@dataclass(frozen=True, slots=True)
class ClassScheme:
    """How codes of classes are read: "msc", "dotted" or "plain".

    >>> scheme = ClassScheme("msc")
    >>> scheme.top("20D05"), scheme.sub("20D05"), scheme.sub("20.30"), scheme.is_historical("20.30")
    ('20', '20Dxx', '20.30', True)
    >>> sorted(["20Mxx", "20.92", "05Cxx", "20Dxx"], key=scheme.key)
    ['05Cxx', '20.92', '20Dxx', '20Mxx']
    >>> ClassScheme("dotted").top("comp.graphics")
    'comp'
    """

    kind: str = "msc"

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ["msc", "dotted", "plain"])

    def top(self, code: str) -> str:
        """Return the class of the first level."""
        if self.kind == "msc":
            return self._match(code)[1]
        return code.split(".")[0] if self.kind == "dotted" else code

    def sub(self, code: str) -> str:
        """Return the class of the second level, in one spelling."""
        if self.kind != "msc":
            return code
        match = self._match(code)
        if match[2]:
            return f"{match[1]}{match[2]}xx"
        return f"{match[1]}.{match[4]}" if match[4] and match[3] == "." else match[1]

    def is_historical(self, code: str) -> bool:
        """Say whether a code is of the scheme before letters."""
        return self.kind == "msc" and self._match(code)[3] == "."

    def key(self, code: str) -> tuple[str, bool, str]:
        """Return what codes are sorted by."""
        sub = self.sub(code)
        return self.top(code), not self.is_historical(code), sub

    def describe(self, code: str) -> str:
        """Return what a class is about, where it is known; group theory is.

        >>> ClassScheme().describe("20M10")
        'Semigroups'
        """
        return GROUP_THEORY.get(code) or GROUP_THEORY.get(self.sub(code), "") if self.kind == "msc" else ""

    def _match(self, code: str) -> re.Match[str]:
        match = _MSC.fullmatch(code.strip())
        if match is None:
            raise DataError(
                f"'{code}' is no code of the scheme msc; write 20D05, 20Dxx or 20.30, or use another scheme"
            )
        return match


def codes_of(value: Any) -> list[str]:
    """Return the codes in a field: a list, or a text with blanks, commas or semicolons between them.

    >>> codes_of("20D05, 20E10"), codes_of(["earn", "acq"]), codes_of(None)
    (['20D05', '20E10'], ['earn', 'acq'], [])
    """
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [str(one) for one in value]
    return [code for code in re.split(r"[\s,;]+", str(value)) if code]


def guess_scheme(codes: Iterable[str]) -> ClassScheme:
    """Return the scheme that most codes look like.

    >>> guess_scheme(["20D05", "05C10"]).kind, guess_scheme(["comp.graphics", "sci.med"]).kind
    ('msc', 'dotted')
    """
    listed = list(codes)
    for kind, form in (("msc", _MSC), ("dotted", re.compile(r"[A-Za-z][\w-]*(\.[\w-]+)+"))):
        if listed and sum(form.fullmatch(code.strip()) is not None for code in listed) > 0.9 * len(listed):
            return ClassScheme(kind)
    return ClassScheme("plain")

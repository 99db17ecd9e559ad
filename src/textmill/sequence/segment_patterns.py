r"""Patterns of segments: what a semi-Markov model looks at in a stretch of tokens.

One pattern a line, as in patterns.py; the first character says what the tests belong to:

    s     a segment, with a weight per label                       s:end=%x[e,0]
    s2    a segment of at least two tokens; s2-4 of two to four    s2:pair=%x[e-1,0]/%x[e,0]
    u     a token of a segment, apart for its first token and for the others, as B- and I- tags are
                                                                   u:w=%x[0,0]
    p     a segment and what it follows, with a weight per pair    p:before=%x[b-1,0]

Commands are those of patterns.py, with places in the segment where they have an offset:

    b  b-1  b+1      its first token, the token before it, the second token
    e  e-1  e+1      its last token, the last but one, the token behind it
    a  r  i          a test for every token, for all but the first, for all but the first and the last
    b:e  b:e-1       all values from one place to another, parted by blanks
    @1  @-1          the first and the last token of the sentence

    %norm[place,col]      the value in lower case, runs of digits as 0, names of Greek letters as one of them
    %form[place,col]      how it is written: capitals, digits, hyphens, Greek letters, Roman numerals
    %length  %length[8]   number of tokens, up to 8+
    %repeated[col]        "true" if the string of the segment is in the sentence again; %Repeated in lower case

A segment that is O has one token and all tests of such a segment. Patterns are sorted by what they see: those that
look only at one end, or at every token alone, are computed once for a token (`Role`), the others for every segment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from textmill._native import segments as native
from textmill.errors import DataError
from textmill.model import check_choice
from textmill.sequence.defaults import default_patterns
from textmill.sequence.patterns import Command, boundaries, pieces
from textmill.sequence.regexes import function_of

__all__ = [
    "PRESETS",
    "ROLES",
    "CompiledSegments",
    "SegmentPattern",
    "normalized",
    "parse_segment_patterns",
    "segment_patterns",
    "shape_of",
    "word_form",
]

ROLES = ("first", "last", "first2", "last2", "all", "inner", "rest")  # as native/sequence/segments.h has them
PRESETS = ("table3", "rich")
GROUPS = ("tokens", "chunk", "history")

_PLACE = r"(?P<anchor>[beari]|@)?(?P<offset>[+-]?\d{1,9})?(?P<range>:e(?P<end>[+-]\d{1,9})?)?"
_COMMAND = re.compile(
    r"%(?P<name>[A-Za-z]+)(?:\[\s*(?:" + _PLACE + r"\s*,\s*)?(?P<column>\d{1,9})\s*"
    r'(?:,\s*(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<number>\d{1,9}))\s*)?\])?'
)
_KIND = re.compile(r"(?P<kind>[sup])(?P<shortest>\d{1,3})?(?P<span>-(?P<longest>\d{1,3})?)?(?=:|$|[^0-9-])")
_TEXT = {"t", "m"}
_NUMBER = {"prefix", "suffix"}
_VALUES = ("x", "t", "m", "f", "prefix", "suffix", "shape", "norm", "form")
_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi "
    "chi psi omega"
)
_GREEK_NAMES = re.compile(rf"(?<![^\W\d_])(?:{'|'.join(_GREEK.split())})(?![^\W\d_])")
_GREEK_LETTERS = re.compile("[\u0370-\u03ff]")
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"[IVX]+$")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a command looks: from the first or last token (b, e), at every token (a, r, i), a range, @."""

    anchor: str
    offset: int
    end: int | None = None  # of a range, from the last token


@dataclass(frozen=True, slots=True)
class _Part:
    """One command of a pattern."""

    command: Command
    place: _Place | None  # None: length, repetition


@dataclass(frozen=True, slots=True)
class SegmentPattern:
    """A parsed pattern of segments: literal texts and commands in their order.

    >>> pattern = parse_segment_patterns(["s2:%x[e-1,0]/%x[e,0]"])[0]
    >>> pattern.kind, pattern.role, sorted(pattern.columns)
    ('s', 'last2', [0])
    """

    text: str
    kind: str  # s or p
    shortest: int
    longest: int  # 0: no limit
    parts: tuple[str | _Part, ...]
    place: str  # for messages

    @property
    def columns(self) -> set[int]:
        """The columns it reads."""
        return {part.command.column for part in self.parts if isinstance(part, _Part) and part.command.column >= 0}

    @property
    def role(self) -> str:
        """What its tests depend on: one of ROLES, "history", or "own" for the segment as a whole."""
        places = [part.place for part in self.parts if isinstance(part, _Part)]
        anchors = {"?" if place is None or place.end is not None else place.anchor for place in places} - {"@"}
        if self.kind == "p":
            return "history"
        for letter, role in (("a", "all"), ("i", "inner"), ("r", "rest")):
            if letter in anchors:
                return role
        if self.longest or self.shortest > 2 or len(anchors) > 1 or "?" in anchors:
            return "own"
        return ("last" if anchors == {"e"} else "first") + ("2" if self.shortest == 2 else "")


def parse_segment_patterns(patterns: str | Iterable[str], *, source: str | None = None) -> list[SegmentPattern]:
    """Parse patterns of segments, given as the text of a pattern file or as a list of lines.

    >>> [pattern.role for pattern in parse_segment_patterns("u:w=%x[0,0]\\ns:%x[b-1,0]/%x[e+1,0]\\np")]
    ['first', 'rest', 'own', 'history']
    >>> parse_segment_patterns("s:%x[0,0]", source="names.txt")
    Traceback (most recent call last):
    textmill.errors.DataError: names.txt:1:3: '%x[0,0]' needs a place in the segment, such as b, e+1, a or b:e
    """
    lines = patterns.splitlines() if isinstance(patterns, str) else patterns
    parsed: list[SegmentPattern] = []
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise DataError(f"pattern {number} is {line!r}, not a text", source=source)
        text = line.partition("#")[0].strip()
        if text:
            parsed.extend(_parse(text, source, number))
    if not parsed:
        raise DataError("there are no patterns; write at least one, such as s:w=%x[a,0]", source=source)
    return parsed


def _parse(text: str, source: str | None, line: int) -> list[SegmentPattern]:
    kind = _KIND.match(text)
    if kind is None:
        raise DataError(f"pattern {text!r} must begin with s, u or p", source=source, line=line)
    shortest, longest = int(kind["shortest"] or 1), int(kind["longest"] or 0)
    if kind["shortest"] and not kind["span"]:
        longest = 0
    if kind["kind"] != "s" and (kind["shortest"] or kind["span"]):
        raise DataError(f"pattern {text!r}: only s has lengths of segments", source=source, line=line)
    if shortest < 1 or (longest and longest < shortest):
        raise DataError(f"pattern {text!r}: lengths go from 1 up, as in s2-4", source=source, line=line)
    parts: list[str | _Part] = []
    for position, match in pieces(text, _COMMAND):
        if isinstance(match, str):
            parts.append(match)
            continue
        try:
            if match is None:
                raise DataError(f"{text[position:]!r} is no command; write %x[place,column]")
            parts.append(_part(match, kind["kind"]))
        except DataError as error:
            raise DataError(error.message, source=source, line=line, column=position + 1) from None
    place = f"{text!r} ({f'{source}:' if source else 'line '}{line})"
    if kind["kind"] != "u":
        pattern = SegmentPattern(text, kind["kind"], shortest, longest, tuple(parts), place)
        _check(pattern, source, line)
        return [pattern]
    return [  # as B- and I- tags: the first token, and each of the others
        SegmentPattern(text, "s", 1, 0, (mark, *(_anchored(part, anchor) for part in parts)), place)
        for mark, anchor in (("B", "b"), ("I", "r"))
    ]


def _anchored(part: str | _Part, anchor: str) -> str | _Part:
    if isinstance(part, str) or part.place is None or part.place.anchor == "@":
        return part
    return _Part(part.command, _Place(anchor, part.place.offset))


def _check(pattern: SegmentPattern, source: str | None, line: int) -> None:
    places = [part.place for part in pattern.parts if isinstance(part, _Part)]
    anchors = {"?" if place is None or place.end is not None else place.anchor for place in places}
    if pattern.kind == "p" and anchors - {"b", "@"}:
        fault = "looks only at places from the first token on, such as b-1: what follows is not known yet"
        raise DataError(f"pattern {pattern.text!r} {fault}", source=source, line=line)
    if anchors & set("ari") and (len(anchors - {"@"}) > 1 or pattern.shortest > 1 or pattern.longest):
        fault = "has a test for every token, so all its places have the same letter and it has no lengths"
        raise DataError(f"pattern {pattern.text!r} {fault}", source=source, line=line)


def _part(match: re.Match[str], kind: str) -> _Part:
    name = match["name"].lower()
    lower = match["name"][0].isupper()
    argument = match["text"] if match["text"] is not None else match["number"]
    if name == "length":
        if match["anchor"] or match["offset"] or kind != "s":
            raise DataError("%length stands in patterns of s, alone or with a limit: %length[8]")
        limit = -1 if match["column"] is None else int(match["column"])
        return _Part(Command("length", False, limit, False, -1, None), None)
    if match["column"] is None:
        raise DataError(f"'%{match['name']}' is no command; write %x[place,column], %length or %repeated[column]")
    column = int(match["column"])
    if name == "repeated":
        if match["anchor"] or match["offset"] or kind != "s":
            raise DataError("%repeated stands in patterns of s and has only a column: %repeated[0]")
        return _Part(Command("repeated", lower, 0, False, column, None), None)
    if name not in _VALUES:
        commands = " ".join(f"%{command}" for command in _VALUES)
        raise DataError(f"there is no command %{match['name']}, only {commands} %length %repeated")
    needs = "text" if name in _TEXT else "number" if name in _NUMBER else None
    if needs is not None and match[needs] is None:
        example = f'%{name}[b,0,"^a.*"]' if needs == "text" else f"%{name}[b,0,3]"
        raise DataError(f"%{name} needs a third argument, as in {example}")
    if needs is None and name != "f" and argument is not None:
        raise DataError(f"%{name} has no third argument")
    anchor, offset = match["anchor"] or "", int(match["offset"] or 0)
    if kind == "u":
        if anchor not in ("", "@") or match["range"]:
            raise DataError(f"{match[0]!r} is a place in a segment; patterns of u count from the token, as in %x[-1,0]")
        anchor = anchor or "u"
    elif not anchor:
        raise DataError(f"{match[0]!r} needs a place in the segment, such as b, e+1, a or b:e")
    if match["range"] and anchor != "b":
        raise DataError(f"{match[0]!r}: a range goes from a place at b to one at e, as in b-1:e")
    if anchor == "@" and offset == 0:
        raise DataError("there is no position @0; @1 is the first token, @-1 the last")
    place = _Place(anchor, offset, int(match["end"] or 0) if match["range"] else None)
    return _Part(Command(name, lower, offset, anchor == "@", column, argument), place)


def segment_patterns(preset: str = "rich", columns: int = 1, *, groups: Sequence[str] = GROUPS) -> list[str]:
    """The patterns of a preset for tokens with this many columns: words, parts of speech, chunks.

    "table3" has the templates of Okanohara et al. (2006), in the groups "tokens" (words, context, affixes, spelling),
    "chunk" (whole string, last pair, length, repetition) and "history" (what comes before). "rich" adds the tests that
    chain models have by default, and more of ends and whole strings.

    >>> segment_patterns("table3", groups=["history"])
    ['p', 'p:w-1=%x[b-1,0]']
    """
    check_choice("preset", preset, PRESETS)
    for group in groups:
        check_choice("groups", group, GROUPS)
    names = ["w", "p", "c"][:columns] + [f"c{i}" for i in range(3, columns)]
    tokens, chunk = [], []
    for column, name in enumerate(names):
        tokens += [f"s:{name}B=%x[b,{column}]", f"s:{name}E=%x[e,{column}]", f"s:{name}I=%x[i,{column}]"]
        chunk.append(f"s2:{name}EE=%x[e-1,{column}]/%x[e,{column}]")
    tokens += [
        "s:w-1=%x[b-1,0]", "s:w+1=%x[e+1,0]", "s:w-2,-1=%x[b-2,0]/%x[b-1,0]", "s:w+1,+2=%x[e+1,0]/%x[e+2,0]",
        "s:w-1,+1=%x[b-1,0]/%x[e+1,0]",
        "s:p2=%prefix[b,0,2]", "s:p3=%prefix[b,0,3]",
        "s:s2=%suffix[e,0,2]", "s:s3=%suffix[e,0,3]", "s:s4=%suffix[e,0,4]",
        "s:shape=%shape[a,0]", "s:form=%form[a,0]",
    ]  # fmt: skip
    chunk += ["s:string=%norm[b:e,0]", "s:length=%length", "s:length,w=%length/%x[e,0]", "s:again=%repeated[0]"]
    history = ["p", "p:w-1=%x[b-1,0]"]
    if preset == "rich":
        same = {"s:wB=%x[b,0]", "s:w-1=%x[b-1,0]", "s:p2=%prefix[b,0,2]", "s:p3=%prefix[b,0,3]"}  # as u has them
        tokens = [pattern for pattern in tokens if pattern not in same]
        tokens += [pattern for pattern in default_patterns(columns) if pattern[0] == "u"]
        tokens += [
            "s:nA=%norm[a,0]", "s:nE=%norm[e,0]", "s:nE-1=%norm[e-1,0]",
            "s:nE+1=%norm[e,0]/%norm[e+1,0]", "s:n+1=%norm[e+1,0]", "s:s3E+1=%suffix[e+1,0,3]",
            "s:shE=%shape[e,0]", "s:shE+1=%shape[e,0]/%shape[e+1,0]", "s:fE=%form[e,0]", "s:pE3=%prefix[e,0,3]",
        ]  # fmt: skip
        chunk += [
            "s2:nEE=%norm[e-1,0]/%norm[e,0]", "s2:nBB=%norm[b,0]/%norm[b+1,0]", "s2:nBE=%norm[b,0]/%norm[e,0]",
            "s3:nEEE=%norm[e-2,0]/%norm[e-1,0]/%norm[e,0]",
            "s:shapes=%shape[b:e,0]", "s:length,s3=%length/%suffix[e,0,3]", "s2:shBsE=%shape[b,0]/%norm[e,0]",
            "s:length,n=%length[4]/%norm[e,0]", "s2:body=%norm[b:e-1,0]",
        ]  # fmt: skip
        history += ["p:n-1=%norm[b-1,0]", "p:shape=%shape[b,0]"]
    chosen = {"tokens": tokens, "chunk": chunk, "history": history}
    return [pattern for group in GROUPS if group in groups for pattern in chosen[group]]


@lru_cache(maxsize=1 << 16)
def normalized(value: str) -> str:
    """The value in lower case, runs of digits as 0, names of Greek letters and the letters themselves as one of them.

    >>> normalized("IL-12"), normalized("NF-kappa")
    ('il-0', 'nf-@')
    """
    return _GREEK_LETTERS.sub("@", _GREEK_NAMES.sub("@", _DIGITS.sub("0", value.lower())))


@lru_cache(maxsize=1 << 16)
def word_form(value: str) -> str:
    """How a word is written, as letters: capitals, digits, hyphens, Greek letters, Roman numerals.

    >>> word_form("IL-12"), word_form("II"), word_form("cells"), word_form("beta")
    ('Ad-', 'AR', 'a', 'aG')
    """
    letters = [c for c in value if c.isalpha()]
    upper = sum(c.isupper() for c in letters)
    digits = sum(c.isdigit() for c in value)
    form = ""
    if letters:
        form = "a" if not upper else "A" if upper == len(letters) else "I" if upper == 1 and value[0].isupper() else "M"
    if digits:
        form += "n" if digits == len(value) else "d"
    form += "-" if "-" in value else ""
    form += "G" if "@" in normalized(value) and "@" not in value else ""
    form += "R" if _ROMAN.match(value) else ""
    return form or "."


shape_of: Callable[[str], str] = function_of(Command("shape", False, 0, False, 0, None), "textmill", None)  # type: ignore[assignment]


_Item = tuple[str, int, int, int, str]  # what is looked for, source, offset, end, text: native/sequence/segment_tests.h


class CompiledSegments:
    """Patterns as the native core takes them: an extractor for each role, sources for all of them.

    `extractors` have all patterns of a role. Those that look at one value alone are apart in `values`, by role, column
    and offset, and the others in `rests`; "single" are those of "own" for segments of one token.
    """

    def __init__(self, patterns: Sequence[SegmentPattern], function: Callable[..., str] | None) -> None:
        self.patterns = list(patterns)
        self.columns = sorted(set().union(*(pattern.columns for pattern in patterns)) or {0})
        self.left, self.right = boundaries("textmill")
        self.functions: list[tuple[int, Callable[[str], str] | None]] = []  # [source] slot and function
        self.extractors: dict[str, Any] = {}
        self.rests: dict[str, Any] = {}
        self.values: dict[tuple[str, int, int], Any] = {}
        number: dict[tuple[str, bool, int, str | None], int] = {}
        for pattern in patterns:
            role = pattern.role
            items = [self._item(part, pattern, number, function) for part in pattern.parts]
            limits = (pattern.shortest, pattern.longest) if role == "own" else (1, 0)
            self.extractors.setdefault(role, native.SegmentExtractor()).add_pattern(*limits, items)
            if role == "history" or limits[0] > 1:
                continue
            apart = "single" if role == "own" else role
            place = self._value(items)
            if place is None:
                self.rests.setdefault(apart, native.SegmentExtractor()).add_pattern(*limits, items)
            else:
                self.values.setdefault((apart, *place), native.SegmentExtractor()).add_pattern(*limits, items)

    def _value(self, items: Sequence[_Item]) -> tuple[int, int] | None:
        """Slot and offset of the one value that these items see of a single token; None if they see more."""
        places: set[tuple[int, int]] = set()
        for find, source, offset, end, _ in items:
            if find in ("sentence", "repeated") or (find == "range" and offset != end):
                return None
            if source >= 0:
                places.add((self.functions[source][0], offset))
        return (0, 0) if not places else places.pop() if len(places) == 1 else None

    def _item(
        self,
        part: str | _Part,
        pattern: SegmentPattern,
        number: dict[tuple[str, bool, int, str | None], int],
        function: Callable[..., str] | None,
    ) -> _Item:
        if isinstance(part, str):
            return ("text", -1, 0, 0, part)
        command, place = part.command, part.place
        if command.name == "length":
            return ("length", -1, 0, max(command.offset, 0), "")
        name = "x" if command.name == "repeated" else command.name
        key = (name, command.lower, command.column, command.argument)
        if key not in number:
            number[key] = len(self.functions)
            try:
                compute = _value_function(
                    Command(name, *key[1:2], 0, False, command.column, command.argument), function
                )
            except DataError as error:
                raise DataError(f"pattern {pattern.place}: {error}") from None
            self.functions.append((self.columns.index(command.column), compute))
        source = number[key]
        if place is None:
            return ("repeated", source, 0, 0, "")
        if place.end is not None:
            return ("range", source, place.offset, place.end, "")
        if place.anchor == "@":
            return ("sentence", source, place.offset, 0, "")
        return ("last" if place.anchor == "e" and pattern.role == "own" else "first", source, place.offset, 0, "")

    def missing(self, width: int) -> tuple[SegmentPattern, int] | None:
        """A pattern and a column that it reads though tokens have fewer; None if there is none."""
        pairs = ((pattern, column) for pattern in self.patterns for column in sorted(pattern.columns))
        return next(((pattern, column) for pattern, column in pairs if column >= width), None)

    def sources(self, cells: Any) -> Any:
        """Every function applied to the distinct values of its column, and to the boundaries."""
        distinct = {slot: cells.distinct(slot) for slot, function in self.functions if function is not None}
        names = [*self.left, *self.right]
        strings = [
            (slot, names, True) if function is None else (slot, [*map(function, distinct[slot]), *names], False)
            for slot, function in self.functions
        ]
        return native.SegmentSources(cells, strings, len(self.left), len(self.right))


def _value_function(command: Command, function: Callable[..., str] | None) -> Callable[[str], str] | None:
    if command.name in ("norm", "form"):
        return normalized if command.name == "norm" else word_form
    return function_of(command, "textmill", function)

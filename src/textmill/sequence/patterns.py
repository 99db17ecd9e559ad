r"""The pattern language: which observation tests a model makes at each token.

One pattern a line; its first character says what the tests have weights for, and the rest is text with commands:

    u, U    a weight per label (unigram)                 u:w=%x[0,0]
    b, B    a weight per pair of labels (bigram)         b
    *       both                                         *:p=%x[-1,1]/%x[0,1]

    %x[off,col]        the column `col` of the token at `off` from here (counted from 0; 0,0: this token's first column)
    %t[off,col,"re"]   "true" if the regular expression is found in it, else "false"
    %m[off,col,"re"]   what the regular expression matches first, nothing if it does not
    %X %T %M           the same in lower case
    [@1,col] [@-1,col] the first and the last token of the sequence

Beyond the sequence stand `_x-1` to `_x-4` and then `_x-#` on the left, `_x+1` ... `_x+#` on the right. Equal strings
are one test, whatever pattern made them, so give each pattern a name of its own. `#` begins a comment.

Our extensions: %prefix[off,col,n] and %suffix[off,col,n], up to n characters; %shape[off,col], runs of capitals, small
letters and digits as X, x and d; %f[off,col] and %f[off,col,"argument"], a Python function.

Three syntaxes: "textmill", with Unicode-aware regular expressions; "wapiti", with that tool's own (see regexes.py);
"crf++", its templates: `U` and `B` lines, %x only, boundaries `_B-1`, `_B+1`, comments only on lines of their own.

References: Lavergne, Cappé & Yvon (2010); the manuals of Wapiti 1.5 and CRF++ 0.58.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from textmill.errors import DataError
from textmill.model import check_choice, check_range

__all__ = ["SYNTAXES", "Command", "Pattern", "boundaries", "nest_patterns", "parse_patterns", "pieces"]

SYNTAXES = ("textmill", "wapiti", "crf++")

_COMMANDS = {"textmill": ("x", "t", "m", "f", "prefix", "suffix", "shape"), "wapiti": ("x", "t", "m"), "crf++": ("x",)}
_KINDS = {"u": 1, "b": 2, "*": 3}
_COMMAND = re.compile(
    r"%(?P<name>[A-Za-z]+)\[\s*(?P<at>@?)(?P<offset>[+-]?\d{1,9})\s*,\s*(?P<column>\d{1,9})\s*"
    r'(?:,\s*(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<length>\d{1,9}))\s*)?\]'
)


@dataclass(frozen=True, slots=True)
class Command:
    """One `%...[...]` of a pattern.

    >>> parse_patterns('u:%M[-1,0,"^..."]')[0].parts[1]
    Command(name='m', lower=True, offset=-1, absolute=False, column=0, argument='^...')
    """

    name: str
    lower: bool
    offset: int
    absolute: bool
    column: int
    argument: str | None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern: literal texts and commands in their order.

    >>> pattern = parse_patterns("*:%x[0,0]")[0]
    >>> pattern.kind, pattern.parts[0], pattern.columns
    (3, '*:', {0})
    """

    text: str
    parts: tuple[str | Command, ...]
    place: str  # for messages

    @property
    def kind(self) -> int:
        """1 for unigram, 2 for bigram, 3 for both."""
        return _KINDS[self.text[0].lower()]

    @property
    def columns(self) -> set[int]:
        """The columns it reads."""
        return {part.column for part in self.parts if isinstance(part, Command)}


def parse_patterns(
    patterns: str | Iterable[str], *, syntax: str = "textmill", source: str | None = None
) -> list[Pattern]:
    """Parse patterns, given as the text of a pattern file or as a list of lines.

    >>> [pattern.text for pattern in parse_patterns("u:w=%x[0,0]  # the word\\n\\nb\\n")]
    ['u:w=%x[0,0]', 'b']
    >>> parse_patterns("u:%x[0]", source="patterns.txt")
    Traceback (most recent call last):
    textmill.errors.DataError: patterns.txt:1:3: '%x[0]' is no command; write %x[offset,column], or \
%t[offset,column,"regular expression"]
    """
    check_choice("syntax", syntax, SYNTAXES)
    lines = patterns.splitlines() if isinstance(patterns, str) else patterns
    parsed = []
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise DataError(f"pattern {number} is {line!r}, not a text", source=source)
        text = line if syntax == "crf++" else line.partition("#")[0]
        text = text.strip()
        if text and not (syntax == "crf++" and text.startswith("#")):
            parsed.append(_parse(text, syntax, source, number))
    if not parsed:
        raise DataError("there are no patterns; write at least one, such as u:w=%x[0,0]", source=source)
    return parsed


def nest_patterns(
    patterns: str | Iterable[str], every: int, *, syntax: str = "textmill", source: str | None = None
) -> tuple[list[str], list[tuple[int, list[str], list[int | None]]]]:
    """Patterns to begin with, and stages for the others, as `CRF(stages=...)` takes them.

    A pattern contains another one if it has all its commands and more, and at least its kinds of weights. The first
    patterns contain none; after `every` iterations come those that contain only these, and so on. The parent of a
    pattern is the largest one that it contains.

    >>> nest_patterns(["*", "*:1=%x[0,0]", "*:3=%x[-1,0]%x[0,0]%x[1,0]"], 10)
    (['*', '*:1=%x[0,0]'], [(10, ['*:3=%x[-1,0]%x[0,0]%x[1,0]'], [1])])
    """
    check_range("every", every, at_least=1, whole=True)
    parsed = parse_patterns(patterns, syntax=syntax, source=source)
    commands = [{part for part in pattern.parts if isinstance(part, Command)} for pattern in parsed]
    levels, parents = [0] * len(parsed), [-1] * len(parsed)
    for child in sorted(range(len(parsed)), key=lambda i: len(commands[i])):
        for other in range(len(parsed)):
            inside = commands[other] < commands[child] and parsed[other].kind & parsed[child].kind == parsed[child].kind
            if not (commands[other] and inside):
                continue
            levels[child] = max(levels[child], levels[other] + 1)
            if parents[child] < 0 or len(commands[other]) > len(commands[parents[child]]):
                parents[child] = other
    order = sorted(range(len(parsed)), key=levels.__getitem__)  # in which the patterns are numbered
    number = {pattern: i for i, pattern in enumerate(order)}
    by_level = [[i for i in order if levels[i] == level] for level in range(max(levels) + 1)]
    if len(by_level) == 1:
        fault = "no pattern contains another one, so there are no stages; write patterns such as %x[0,0] and"
        raise DataError(f"{fault} %x[-1,0]%x[0,0]", source=source)
    first, *later = ([parsed[i].text for i in level] for level in by_level)
    links: list[list[int | None]] = [[number[parents[i]] for i in level] for level in by_level[1:]]
    return first, [(every * k, texts, own) for k, (texts, own) in enumerate(zip(later, links, strict=True), 1)]


def boundaries(syntax: str) -> tuple[list[str], list[str]]:
    """Names of the positions before and behind a sequence, nearest first; the last stands for all farther ones.

    >>> boundaries("wapiti")[0]
    ['_x-1', '_x-2', '_x-3', '_x-4', '_x-#']
    """
    if syntax == "crf++":
        return [f"_B-{i}" for i in range(1, 9)], [f"_B+{i}" for i in range(1, 9)]
    return [f"_x-{i}" for i in (1, 2, 3, 4, "#")], [f"_x+{i}" for i in (1, 2, 3, 4, "#")]


def pieces(text: str, command: re.Pattern[str]) -> Iterator[tuple[int, str | re.Match[str] | None]]:
    """Literal texts and commands of a pattern, each with its place; last None where no command follows a %.

    >>> [(at, piece if isinstance(piece, str) else piece[0]) for at, piece in pieces("u:%x-", re.compile("%x"))]
    [(0, 'u:'), (2, '%x'), (4, '-')]
    """
    position = 0
    while position < len(text):
        if text[position] == "%":
            match = command.match(text, position)
            yield position, match
            if match is None:
                return
            position = match.end()
        else:
            end = text.find("%", position)
            end = len(text) if end < 0 else end
            yield position, text[position:end]
            position = end


def _parse(text: str, syntax: str, source: str | None, line: int) -> Pattern:
    if syntax == "wapiti":
        text = text[0].lower() + text[1:]
    if text[0].lower() not in (_KINDS if syntax != "crf++" else "ub"):
        kinds = "U or B" if syntax == "crf++" else "u, b or *"
        raise DataError(f"pattern {text!r} must begin with {kinds}", source=source, line=line)
    parts: list[str | Command] = []
    for position, match in pieces(text, _COMMAND):
        if isinstance(match, str):
            parts.append(match)
            continue
        if match is None:
            end = text.find("]", position) + 1
            fault = f"{text[position : end or len(text)]!r} is no command; write %x[offset,column]"
            fault += "" if syntax == "crf++" else ', or %t[offset,column,"regular expression"]'
            raise DataError(fault, source=source, line=line, column=position + 1)
        try:
            parts.append(_command(match, syntax))
        except DataError as error:
            raise DataError(error.message, source=source, line=line, column=position + 1) from None
    return Pattern(text, tuple(parts), f"{text!r} ({f'{source}:' if source else 'line '}{line})")


def _command(match: re.Match[str], syntax: str) -> Command:
    name = match["name"].lower()
    if name not in _COMMANDS[syntax]:
        commands = " ".join(f"%{command}" for command in _COMMANDS[syntax])
        raise DataError(f"there is no command %{match['name']} in the syntax '{syntax}', only {commands}")
    argument = match["text"] if match["text"] is not None else match["length"]
    needs = {"t": "text", "m": "text", "prefix": "length", "suffix": "length"}.get(name)
    if needs is not None and match[needs] is None:
        example = f'%{name}[0,0,"^a.*"]' if needs == "text" else f"%{name}[0,0,3]"
        raise DataError(f"%{name} needs a third argument, as in {example}")
    if needs is None and name != "f" and argument is not None:
        raise DataError(f"%{name} has no third argument")
    offset, absolute = int(match["offset"]), bool(match["at"])
    if absolute and offset == 0:
        raise DataError("there is no position @0; @1 is the first token, @-1 the last")
    return Command(name, match["name"][0].isupper(), offset, absolute, int(match["column"]), argument)

r"""Thrax grammars, read as ours: the common kind is translated statement by statement, the rest is named.

    export X = Optimize[("a" : "b" <2>) @ y];      export X = optimize(("a":"b" <2>) @ y)
    func F[x, y] { return x y; }                   def F(x, y) = x y
    CDRewrite[tau, left, right, sigma*]            tau / left _ right, with [BOS] and [EOS] as ^ and $
    CDRewrite[..., 'rtl', 'opt']                   right_to_left, optional
    import 'other.grm' as o;  o.X  o.F[x]          import "other.grm" as o  o.X  o.F(x)
    StringFile['words.tsv']                        lines("words.tsv")
    "a[tag][65]"                                   "a" `tag` "A"

Translated functions: CDRewrite, Cross product (:), Concat, Union, Compose, Difference, Invert, Project, Reverse,
Optimize, Determinize, Minimize, RmEpsilon, ArcSort, Connect, StringFile, and the operators. Not translated, and
refused with their place: PdtCompose, MPdtCompose, LoadFst, LoadFstFromFar, SymbolTable, Expand, Rewrite,
Assert..., LenientlyCompose, Replace. What a Thrax grammar calls a byte is a byte here: `tokens byte`.

Reference: Roark, Sproat, Allauzen, Riley, Sorensen & Tai (2012), The OpenGrm open-source finite-state grammar software
libraries.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from textmill.errors import DataError
from textmill.fst.grammar_compiler import Grammar, _load, read_grammar
from textmill.fst.symbols import SymbolTable
from textmill.model import check_range

__all__ = ["open_grammar", "read_thrax", "translate_thrax"]

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<space>\s+)|"(?P<string>(?:[^"\\]|\\.)*)"(?:\.(?P<parse>byte|utf8))?"""
    r"""|'(?P<path>(?:[^'\\]|\\.)*)'|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)"""
    r"""|<(?P<weight>[^<>]*)>|\{(?P<count>\s*\d+\s*(?:,\s*\d*\s*)?)\}|(?P<mark>[=;:@|()\[\],*+?\-{}])""",
    re.DOTALL,
)
_LEVELS = ":|@-"  # operators, loosest first
_SAME = {"Optimize": "optimize", "Invert": "invert", "Reverse": "reverse"}
_IDENTITY = ("Determinize", "Minimize", "RmEpsilon", "ArcSort", "Connect")
_JOINED = {"Concat": " ", "Union": " | ", "Compose": " @ ", "Difference": " - "}


def open_grammar(path: str | os.PathLike[str], *, max_states: int = 1 << 20) -> Grammar:
    """A grammar from a file: of Thrax if its name ends in .grm, else ours.

    >>> _ = Path("a.grm").write_text('export A = "x" : "y";')
    >>> open_grammar("a.grm").apply("A", ["x"])
    [[('y', 0.0)]]
    """
    if os.fspath(path).endswith(".grm"):
        return read_thrax(path, max_states=max_states)
    return read_grammar(path, max_states=max_states)


def read_thrax(path: str | os.PathLike[str], *, max_states: int = 1 << 20) -> Grammar:
    """The grammar of a Thrax file; what cannot be translated is a DataError that names it and its place.

    >>> _ = Path("b.grm").write_text('export A = ("x" : "y")*;')
    >>> read_thrax("b.grm").exports
    ['A']
    """
    check_range("max_states", max_states, at_least=1)
    return _read(Path(path), max_states, (), SymbolTable(["<eps>"]))


def _read(path: Path, max_states: int, above: tuple[Path, ...], generated: SymbolTable) -> Grammar:
    text = path.read_bytes().decode("utf-8-sig", "replace")
    lines = translate_thrax(text, source=os.fspath(path))
    return _load(lines, os.fspath(path), path.parent, max_states, (*above, path.resolve()), generated, opener=_read)


def translate_thrax(text: str, source: str = "grammar.grm") -> str:
    """A Thrax grammar in our language; line n of the result is line n of the text as far as statements allow.

    >>> print(translate_thrax('export A = "x" : "y" <1>;'))
    tokens byte
    export A = ("x" : "y") <1>
    """
    return _Translator(text, source).file()


def _is_compound(part: str) -> bool:
    """Does an expression need parentheses beside an operator?"""
    return re.fullmatch(r"""[\w.]+|"[^"]*"|`[^`]*`""", part) is None


class _Translator:
    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.tokens: list[tuple[str, str, int, int]] = []  # kind, value, line, column
        at, line, start = 0, 1, 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise DataError(
                    f"{text[at]!r} is nothing that Thrax has", source=source, line=line, column=at - start + 1
                )
            kind = match.lastgroup or ""
            if match.group("string") is not None:
                kind = "string"
            if kind not in ("comment", "space"):
                self.tokens.append((kind, match.group(kind), line, at - start + 1))
            line += match[0].count("\n")
            if "\n" in match[0]:
                start = at + match[0].rindex("\n") + 1
            at = match.end()
        self.at = 0

    def fault(self, message: str) -> DataError:
        if self.at < len(self.tokens):
            _, _, line, column = self.tokens[self.at]
        else:
            line, column = (self.tokens[-1][2], self.tokens[-1][3]) if self.tokens else (1, 1)
        return DataError(message, source=self.source, line=line, column=column)

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at][:2] if self.at < len(self.tokens) else ("end", "")

    def mark(self, value: str) -> bool:
        if self.peek() == ("mark", value):
            self.at += 1
            return True
        return False

    def need(self, value: str) -> None:
        if not self.mark(value):
            raise self.fault(f"{value!r} is expected here")

    def name(self) -> str:
        kind, value = self.peek()
        if kind != "name":
            raise self.fault("a name is expected here")
        self.at += 1
        return value

    def file(self) -> str:
        lines = ["tokens byte"]
        while self.at < len(self.tokens):
            lines.append(self.statement())
        return "\n".join(lines) + ("" if lines[1:] else "\n")

    def statement(self) -> str:
        first = self.name()
        if first == "import":
            kind, path = self.peek()
            if kind not in ("path", "string"):
                raise self.fault("the name of a file in quotes is expected here")
            self.at += 1
            if self.name() != "as":
                self.at -= 1
                raise self.fault("'as' is expected here")
            line = f'import "{path}" as {self.name()}'
        elif first == "func":
            name = self.name()
            self.need("[")
            parameters = [self.name()]
            while self.mark(","):
                parameters.append(self.name())
            self.need("]")
            self.need("{")
            local = list[tuple[str, str]]()
            while (word := self.name()) != "return":
                self.need("=")
                local.append((word, self.expression()))
                self.need(";")
            body = self.expression()
            self.need(";")
            self.need("}")
            for word, value in reversed(local):
                body = f"({value})".join(re.split(rf"\b{word}\b", body))
            self.mark(";")
            return f"def {name}({', '.join(parameters)}) = {body}"
        else:
            export = first == "export"
            name = self.name() if export else first
            self.need("=")
            line = f"{'export ' if export else ''}{name} = {self.expression()}"
        self.need(";")
        return line

    def expression(self) -> str:
        """Binding in Thrax, loosest first: <weight>, :, |, @, -, sequence."""
        text = self.level(0)
        while self.peek()[0] == "weight":
            text = f"({text}) <{self.peek()[1].strip()}>"
            self.at += 1
        return text

    def level(self, loosest: int) -> str:
        if loosest == len(_LEVELS):
            parts = [self.item()]
            while self.peek()[0] in ("string", "name") or self.peek() == ("mark", "("):
                parts.append(self.item())
            return " ".join(parts)
        operator = _LEVELS[loosest]
        parts = [self.level(loosest + 1)]
        while self.mark(operator):
            parts.append(self.level(loosest + 1))
        if len(parts) == 1:
            return parts[0]
        return f" {operator} ".join(f"({part})" if _is_compound(part) else part for part in parts)

    def item(self) -> str:
        kind, value = self.peek()
        self.at += 1
        if kind == "string":
            text = self.string(value)
        elif kind == "mark" and value == "(":
            text = f"({self.expression()})"
            self.need(")")
        elif kind == "name" and self.peek() == ("mark", "["):
            text = self.call(value)
        elif kind == "name":
            text = value
        else:
            self.at -= 1
            raise self.fault("a string, a name or '(' is expected here")
        while True:
            kind, value = self.peek()
            if kind == "mark" and value in "*+?":
                text += value
            elif kind == "count":
                text += "{" + value.strip() + "}"
            else:
                return text
            self.at += 1

    def string(self, value: str) -> str:
        """A string with [generated] symbols and escapes."""
        pieces: list[str] = []
        for match in re.finditer(r"\\(.)|\[([^\[\]]*)\]|([^\[\\]+)", value, re.DOTALL):
            escaped, inside, plain = match.groups()
            if inside is not None:
                for word in inside.split():
                    if word in ("BOS", "EOS"):
                        pieces.append("^" if word == "BOS" else "$")
                    elif re.fullmatch(r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*", word):
                        code = int(word, 16 if word[:2].lower() == "0x" else 8 if word[0] == "0" else 10)
                        if not 0 < code < 128:
                            self.at -= 1
                            raise self.fault(f"the label [{word}] is no character of ASCII; write the character itself")
                        pieces.append(f'"\\x{code:02x}"')
                    else:
                        pieces.append(f"`{word}`")
            else:
                letter = plain if escaped is None else {"n": "\n", "t": "\t", "r": "\r"}.get(escaped, escaped)
                inner = letter.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
                pieces.append(f'"{inner}"')
        joined = " ".join(pieces).replace('" "', "")
        if len(pieces) == 1:
            return joined
        return f"({joined})" if pieces else '""'

    def call(self, name: str) -> str:
        place = self.at - 1
        self.need("[")
        arguments: list[str] = []
        while not self.mark("]"):
            kind, value = self.peek()
            if kind == "path":
                self.at += 1
                arguments.append(f"'{value}'")
            else:
                arguments.append(self.expression())
            if not self.mark(","):
                self.need("]")
                break
        if name == "CDRewrite":
            return self.rewrite(arguments, place)
        if name == "StringFile" and arguments:
            return f"lines({arguments[0]})"
        if name == "Project" and len(arguments) == 2:
            return f"{arguments[1].strip(chr(39))}({arguments[0]})"
        if name in _SAME and len(arguments) == 1:
            return f"{_SAME[name]}({arguments[0]})"
        if name in _IDENTITY and arguments:
            return f"({arguments[0]})"
        if name in _JOINED and len(arguments) >= 2:
            return "(" + _JOINED[name].join(f"({argument})" for argument in arguments[:2]) + ")"
        if name[:1].isupper() and name in _REFUSED:
            self.at = place
            raise self.fault(f"{name} cannot be translated; write this rule without it")
        return f"{name}({', '.join(arguments)})"

    def rewrite(self, arguments: list[str], place: int) -> str:
        if len(arguments) < 4:
            self.at = place
            raise self.fault("CDRewrite has a transducer, two contexts and an alphabet")
        words = [argument.strip("'\"") for argument in arguments[4:]]
        modes = {"ltr": "", "rtl": " right_to_left", "sim": " simultaneous", "obl": "", "opt": " optional"}
        for word in words:
            if word not in modes:
                self.at = place
                raise self.fault(f"CDRewrite has no mode {word!r}")
        left, right = ("" if argument == '""' else f"({argument})" for argument in arguments[1:3])
        return f"(({arguments[0]}) / {left} _ {right}{''.join(modes[word] for word in words)})"


_REFUSED = frozenset(
    (
        *("PdtCompose", "MPdtCompose", "LoadFst", "LoadFstFromFar", "SymbolTable", "Expand", "Rewrite", "Replace"),
        *("AssertEqual", "AssertNull", "AssertEmpty", "LenientlyCompose", "Closure", "ShortestPath"),
    )
)

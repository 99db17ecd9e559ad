r"""Thrax grammars: the common kind is read as rules of ours, statement by statement; the rest is named with its place.

    export X = Optimize[("a" : "b" <2>) @ y];      export X = optimize(("a":"b" <2>) @ y)
    func F[x, y] { return x y; }                   def F(x, y) = x y
    CDRewrite[tau, left, right, sigma*]            tau / left _ right over the symbols of sigma; [BOS], [EOS] as ^ and $
    CDRewrite[..., 'rtl', 'opt']                   right_to_left, optional
    import 'other.grm' as o;  o.X  o.F[x]          import "other.grm" as o  o.X  o.F(x)
    StringFile['words.tsv']                        lines("words.tsv")
    "a[tag][65][200]"                              "a" `tag` "A", and the byte 200
    AssertEqual["a" @ X, "b"]                      a test: the best outputs of both sides are the same

Known functions: CDRewrite, Cross product (:), Concat, Union, Compose, Difference, Invert, Project, Reverse, Optimize,
Determinize, Minimize, RmEpsilon, ArcSort, Connect, StringFile, AssertEqual, AssertEmpty, AssertNull, and the operators.
Unknown, and refused with their place: PdtCompose, MPdtCompose, LoadFst, LoadFstFromFar, SymbolTable, Expand, Rewrite,
LenientlyCompose, Replace. What a Thrax grammar calls a byte is a byte here: `tokens byte`.

Files are looked for in `folder`, if one is given, then beside the file that names them, then in the working folder.

Reference: Roark, Sproat, Allauzen, Riley, Sorensen & Tai (2012), The OpenGrm open-source finite-state grammar software
libraries.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from textmill.errors import DataError
from textmill.fst.grammar_compiler import Grammar, _load, read_grammar
from textmill.fst.grammar_syntax import Case, Definition, GrammarText, Import, Node
from textmill.fst.symbols import SymbolTable
from textmill.model import check_range

__all__ = ["open_grammar", "read_thrax"]

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<space>\s+)|"(?P<string>(?:[^"\\]|\\.)*)"(?:\.(?P<parse>byte|utf8))?"""
    r"""|'(?P<path>(?:[^'\\]|\\.)*)'|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)"""
    r"""|<(?P<weight>[^<>]*)>|\{(?P<count>\s*\d+\s*(?:,\s*\d*\s*)?)\}|(?P<mark>[=;:@|()\[\],*+?\-{}])""",
    re.DOTALL,
)
_PIECE = re.compile(r"\\(.)|\[((?:[^\[\]\\]|\\.)*)\]|([^\[\\]+)", re.DOTALL)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*")
_LEVELS = {":": "cross", "|": "union", "@": "compose", "-": "difference"}  # operators, loosest first
_SAME = {"Optimize": "optimize", "Invert": "invert", "Reverse": "reverse"}
_IDENTITY = ("Determinize", "Minimize", "RmEpsilon", "ArcSort", "Connect")
_JOINED = {"Concat": "concat", "Union": "union", "Compose": "compose", "Difference": "difference"}
_REPEATS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_MODES = {"ltr": "left-to-right", "rtl": "right-to-left", "sim": "simultaneous", "obl": "", "opt": "optional"}
_ASSERTIONS = ("AssertEqual", "AssertEmpty", "AssertNull")
_REFUSED = frozenset(
    (
        *("PdtCompose", "MPdtCompose", "LoadFst", "LoadFstFromFar", "SymbolTable", "Expand", "Rewrite", "Replace"),
        *("LenientlyCompose", "Closure", "ShortestPath"),
    )
)


def open_grammar(
    path: str | os.PathLike[str], *, folder: str | os.PathLike[str] | None = None, max_states: int = 1 << 20
) -> Grammar:
    """A grammar from a file: of Thrax if its name ends in .grm, else ours; `folder` is as in `read_thrax`.

    >>> _ = Path("a.grm").write_text('export A = "x" : "y";')
    >>> open_grammar("a.grm").apply("A", ["x"])
    [[('y', 0.0)]]
    """
    if os.fspath(path).endswith(".grm"):
        return read_thrax(path, folder=folder, max_states=max_states)
    if folder is not None:
        raise DataError("folder is for grammars of Thrax; ours name files from their own folder", source=str(path))
    return read_grammar(path, max_states=max_states)


def read_thrax(
    path: str | os.PathLike[str], *, folder: str | os.PathLike[str] | None = None, max_states: int = 1 << 20
) -> Grammar:
    """The grammar of a Thrax file; what cannot be read is a DataError that names it and its place.

    Files that it names are looked for in `folder`, beside the file, and in the working folder.

    >>> _ = Path("b.grm").write_text('export A = ("x" : "y")*;')
    >>> read_thrax("b.grm").exports
    ['A']
    """
    check_range("max_states", max_states, at_least=1)
    first = () if folder is None else (Path(folder),)

    def read(path: Path, max_states: int, above: tuple[Path, ...], generated: SymbolTable) -> Grammar:
        content = path.read_bytes()
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as fault:
            line = content.count(b"\n", 0, fault.start) + 1
            raise DataError(f"the file is not UTF-8 at byte {fault.start}", source=os.fspath(path), line=line) from None
        folders = (*first, path.parent, Path())
        parsed = _Reader(text, os.fspath(path)).file()
        return _load(parsed, folders, max_states, (*above, path.resolve()), generated, opener=read)

    return read(Path(path), max_states, (), SymbolTable(["<eps>"]))


class _Reader:
    """The tokens of a file, and a cursor; makes trees of the grammar language with the places of the file."""

    def __init__(self, text: str, source: str) -> None:
        self.grammar = GrammarText(source, token_type="byte")
        self.source = source
        self.paths: dict[str, str] = {}  # variables that hold the name of a file
        self.tokens: list[tuple[str, str, int, int]] = []  # kind, value, line, column
        at, line, start = 0, 1, 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise DataError(
                    f"{text[at]!r} is nothing that Thrax has", source=source, line=line, column=at - start + 1
                )
            kind = match.lastgroup or ""
            place = (line, at - start + 1)
            if match.group("string") is not None:
                kind = "string"
                if match.group("parse") == "utf8" and not match.group("string").isascii():
                    fault = "a string of code points (.utf8) cannot stand among bytes; leave out .utf8"
                    raise DataError(fault, source=source, line=place[0], column=place[1])
            if kind not in ("comment", "space"):
                self.tokens.append((kind, match.group(kind), *place))
            line += match[0].count("\n")
            if "\n" in match[0]:
                start = at + match[0].rindex("\n") + 1
            at = match.end()
        self.at = 0

    def fault(self, message: str) -> DataError:
        line, column = self.place()
        return DataError(message, source=self.source, line=line, column=column)

    def place(self) -> tuple[int, int]:
        if not self.tokens:
            return (1, 1)
        return self.tokens[min(self.at, len(self.tokens) - 1)][2:]

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

    def file(self) -> GrammarText:
        while self.at < len(self.tokens):
            self.statement()
        return self.grammar

    def statement(self) -> None:
        place = self.place()
        first = self.name()
        if first == "import":
            kind, path = self.peek()
            if kind not in ("path", "string"):
                raise self.fault("the name of a file in quotes is expected here")
            place = self.place()
            self.at += 1
            if self.name() != "as":
                self.at -= 1
                raise self.fault("'as' is expected here")
            self.grammar.imports.append(Import(path, self.name(), *place))
        elif first == "func":
            self.function()
            self.mark(";")
            return
        else:
            export = first == "export"
            place = self.place() if export else place
            name = self.name() if export else first
            self.need("=")
            if self.peek()[0] == "path":
                self.paths[name] = self.peek()[1]
                self.at += 1
            else:
                self.define(name, self.assertion(name) or self.expression(), place, export=export)
        self.need(";")

    def define(
        self, name: str, body: Node, place: tuple[int, int], parameters: tuple[str, ...] = (), *, export: bool = False
    ) -> None:
        rules = self.grammar.definitions
        if name in rules:
            raise DataError(
                f"{name!r} was defined in line {rules[name].line} already",
                source=self.source,
                line=place[0],
                column=place[1],
            )
        rules[name] = Definition(name, body, *place, parameters, export)

    def function(self) -> None:
        place = self.place()
        name = self.name()
        self.need("[")
        parameters = [self.name()]
        while self.mark(","):
            parameters.append(self.name())
        self.need("]")
        self.need("{")
        local: dict[str, Node] = {}
        while (word := self.name()) != "return":
            self.need("=")
            local[word] = _with_values(self.expression(), local)
            self.need(";")
        body = _with_values(self.expression(), local)
        self.need(";")
        self.need("}")
        self.define(name, body, place, tuple(parameters))

    def assertion(self, name: str) -> Node | None:
        """An assertion is a test of its rule, which is what the assertion is about."""
        kind, word = self.peek()
        if kind != "name" or word not in _ASSERTIONS:
            return None
        place = self.place()
        self.at += 1
        self.need("[")
        left = self.expression()
        right = None if word == "AssertNull" else Node("string", *place, (), "")
        if word == "AssertEqual":
            self.need(",")
            right = self.expression()
        self.need("]")
        self.grammar.cases.append(Case(name, "", (), *place, sides=(left, right)))
        return left

    def expression(self) -> Node:
        """Binding in Thrax, loosest first: <weight>, :, |, @, -, sequence."""
        node = self.level(0)
        while self.peek()[0] == "weight":
            try:
                node = Node("weight", node.line, node.column, (node,), float(self.peek()[1]))
            except ValueError:
                raise self.fault("a cost is a number between < and >") from None
            self.at += 1
        return node

    def level(self, loosest: int) -> Node:
        if loosest == len(_LEVELS):
            first = self.item()
            parts = [first]
            while self.peek()[0] in ("string", "name") or self.peek() == ("mark", "("):
                parts.append(self.item())
            return first if len(parts) == 1 else Node("concat", first.line, first.column, tuple(parts))
        operator = [*_LEVELS][loosest]
        parts = [self.level(loosest + 1)]
        while self.mark(operator):
            parts.append(self.level(loosest + 1))
        return _joined(_LEVELS[operator], parts)

    def item(self) -> Node:
        kind, value = self.peek()
        place = self.place()
        self.at += 1
        if kind == "string":
            node = self.string(value, place)
        elif kind == "mark" and value == "(":
            node = self.expression()
            self.need(")")
        elif kind == "name" and self.peek() == ("mark", "["):
            node = self.call(value)
        elif kind == "name":
            node = Node("name", *place, (), value)
        else:
            self.at -= 1
            raise self.fault("a string, a name or '(' is expected here")
        while True:
            kind, value = self.peek()
            if kind == "mark" and value in _REPEATS:
                times: tuple[int, int | None] = _REPEATS[value]
            elif kind == "count":
                least, comma, most = (part.strip() for part in value.partition(","))
                times = (int(least), int(most) if most else None if comma else int(least))
            else:
                return node
            node = Node("repeat", node.line, node.column, (node,), times)
            self.at += 1

    def string(self, value: str, place: tuple[int, int]) -> Node:
        """A string with [generated] symbols, [numbers] of bytes and escapes."""
        pieces: list[tuple[str, object]] = []

        def add(text: str) -> None:
            self.grammar.symbols.update(text)
            if pieces and pieces[-1][0] == "string":
                text = f"{pieces.pop()[1]}{text}"
            pieces.append(("string", text))

        for match in _PIECE.finditer(value):
            escaped, inside, plain = match.groups()
            if inside is None:
                add(plain if escaped is None else {"n": "\n", "t": "\t", "r": "\r"}.get(escaped, escaped))
                continue
            for word in inside.split():
                if word in ("BOS", "EOS"):
                    pieces.append(("start" if word == "BOS" else "end", None))
                elif _NUMBER.fullmatch(word):
                    code = int(word, 16 if word[:2].lower() == "0x" else 8 if word[0] == "0" else 10)
                    if not 0 < code < 256:
                        self.at -= 1
                        raise self.fault(f"the label [{word}] is no byte; bytes are 1 to 255")
                    if code < 128:
                        add(chr(code))
                    else:
                        self.grammar.bytes.add(code)
                        pieces.append(("byte", code))
                else:
                    pieces.append(("symbol", re.sub(r"\\(.)", r"\1", word)))
        nodes = [Node(kind, *place, (), text) for kind, text in pieces] or [Node("string", *place, (), "")]
        return _joined("concat", nodes)

    def call(self, name: str) -> Node:
        at = self.at - 1
        place = self.tokens[at][2:]
        self.need("[")
        arguments: list[Node] = []
        while not self.mark("]"):
            kind, value = self.peek()
            if kind == "path" or (kind == "name" and value in self.paths):
                arguments.append(Node("path", *self.place(), (), self.paths.get(value, value)))
                self.at += 1
            else:
                arguments.append(self.expression())
            if not self.mark(","):
                self.need("]")
                break
        behind, self.at = self.at, at  # faults are of the name
        node = self.function_of(name, arguments, place)
        self.at = behind
        return node

    def function_of(self, name: str, arguments: list[Node], place: tuple[int, int]) -> Node:
        if name in _REFUSED or name in _ASSERTIONS:
            remedy = "write it as a statement of its own" if name in _ASSERTIONS else "write this rule without it"
            raise self.fault(f"{name} cannot be translated here; {remedy}")
        words = {"CDRewrite": 4, "StringFile": 0, "Project": 1}.get(name, len(arguments))
        for argument in arguments[:words]:
            if argument.kind == "path":
                raise self.fault(f"{name} takes machines, and '{argument.value}' is a word in single quotes")
        if name == "CDRewrite":
            return self.rewrite(arguments, place)
        if name == "StringFile" and arguments and arguments[0].kind in ("path", "string"):
            return Node("call", *place, (replace(arguments[0], kind="string"),), "lines")
        if name == "Project" and len(arguments) == 2:
            return Node("call", *place, (arguments[0],), str(arguments[1].value))
        if name in _SAME and len(arguments) == 1:
            return Node("call", *place, tuple(arguments), _SAME[name])
        if name in _IDENTITY and arguments:
            return arguments[0]
        if name in _JOINED and len(arguments) >= 2:
            return _joined(_JOINED[name], arguments[:2])
        return Node("call", *place, tuple(arguments), name)

    def rewrite(self, arguments: list[Node], place: tuple[int, int]) -> Node:
        if len(arguments) < 4:
            raise self.fault("CDRewrite has a transducer, two contexts and an alphabet")
        words = [str(argument.value) for argument in arguments[4:]]
        for word in words:
            if word not in _MODES:
                raise self.fault(f"CDRewrite has no mode {word!r}")
        modes = [_MODES[word] for word in words]
        direction = next((mode for mode in modes if "-" in mode or mode == "simultaneous"), "left-to-right")
        return Node("rewrite_over", *place, tuple(arguments[:4]), (direction, "optional" in modes))


def _joined(kind: str, parts: list[Node]) -> Node:
    """One node for parts with an operator between them; those of two parts are nested from the left."""
    if kind in ("union", "compose", "concat"):
        first = parts[0]
        return first if len(parts) == 1 else Node(kind, first.line, first.column, tuple(parts))
    node = parts[0]
    for part in parts[1:]:
        node = Node(kind, node.line, node.column, (node, part))
    return node


def _with_values(node: Node, values: Mapping[str, Node]) -> Node:
    """The tree with the values of local names in their places."""
    if node.kind == "name" and node.value in values:
        return values[str(node.value)]
    return replace(node, parts=tuple(_with_values(part, values) for part in node.parts)) if node.parts else node

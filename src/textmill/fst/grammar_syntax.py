r"""The grammar language, from text to trees; every node knows its line and column.

    # a comment                                     statements begin in the first column, their other lines are indented
    import "numbers.grammar" as numbers             rules of another file: numbers.cardinal
    tokens byte                                     labels are bytes; utf8, the default: code points
    alphabet [ -~] | "£€"                           all symbols; default: printable ASCII and every symbol of the file
    set vowel = [aeiou]                             one symbol of several
    plural = "s" | "x":"en" <2>                     a rule: alternatives, x becomes en, at a cost of 2
    def quoted(x) = "'" x "'"                       a rule with parameters
    export word = noun plural? @ spelling           compiled into the result; functional export ...: one output at most
    spelling = "ys" -> "ies" / [^aeiou] _ $         a rewrite rule: what becomes what / between what _ and what
    test word                                       cases of a rule
      "city" -> "city"
      "xys"  -> nothing

    a @ b   a, then b on what a writes        a | b    either              a - b   a without b       a & b   both
    a b     one after the other               a:b      a becomes b         ~a      all but a         .       any symbol
    a* a+ a? a{2} a{2,5} a{2,}  repeated      a <1.5>  at a cost           "..."   a string          [a-z] [^a-z]
    name    name(a, b)    file.name           `tag`    a symbol of its own, which is no text         ( ... )
    a -> b / left _ right [optional] [right_to_left | simultaneous]        ^ and $ are the ends of the string
    t / left _ right                          the same for a transducer t that says what becomes what

Binding, loosest first: |   @   -> /   - &   sequence   :   * + ? {} <>   ~. Strings have the escapes \" \' \\ \n \t \r
\xHH \u{HHHH}. Cost: O(text). Reference: Roark et al. (2012), the Thrax compiler, for rules as statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from textmill.errors import DataError

__all__ = ["Case", "Definition", "GrammarText", "Import", "Node", "parse_grammar"]

_DEEPEST = 60  # parentheses and calls within one another
_LONGEST = 1 << 24  # characters of a file
_MODES = ("optional", "left_to_right", "right_to_left", "simultaneous")
_WORDS = {"import", "as", "tokens", "alphabet", "set", "def", "export", "functional", "test", "nothing", *_MODES}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "[": "[", "]": "]", "-": "-", "^": "^"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?")
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_PUNCTUATION = re.compile(r"->|[@|&:*+?.~()/^$,=\-]")


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression: its kind, its place, its parts and what else it says."""

    kind: str
    line: int
    column: int
    parts: tuple[Node, ...] = ()
    value: object = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A named rule; parameters make it a function."""

    name: str
    body: Node
    line: int
    column: int
    parameters: tuple[str, ...] = ()
    export: bool = False
    functional: bool = False
    is_set: bool = False


@dataclass(frozen=True, slots=True)
class Import:
    """Another file under a name."""

    path: str
    name: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Case:
    """A test: rule, input, and the outputs it must have: one alone is the best, several are all, none is none.

    A test with `sides` has no input: the best outputs of both expressions must be the same, those of None are none.
    """

    rule: str
    text: str
    outputs: tuple[str, ...]
    line: int
    column: int
    sides: tuple[Node, Node | None] | None = None


@dataclass(slots=True)
class GrammarText:
    """A file, parsed."""

    source: str
    imports: list[Import] = field(default_factory=list)
    definitions: dict[str, Definition] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    alphabet: Node | None = None
    token_type: str = "utf8"
    symbols: set[str] = field(default_factory=set)  # all characters in strings and sets
    bytes: set[int] = field(default_factory=set)  # labels above 127 that were given by their numbers


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # string, set, name, number, weight, count, symbol, or the punctuation itself
    value: object
    line: int
    column: int


def parse_grammar(text: str, source: str = "grammar") -> GrammarText:
    """Parse a file; a DataError names the line and column of the first mistake.

    >>> grammar = parse_grammar('export greeting = "hello" | "hi" <1>')
    >>> grammar.definitions["greeting"].body.kind
    'union'
    >>> parse_grammar('a = "x" |')
    Traceback (most recent call last):
    textmill.errors.DataError: grammar:1:10: something is missing here: a string, a set, a name or '('
    """
    if len(text) > _LONGEST:
        raise DataError(f"the grammar has more than {_LONGEST:,} characters", source=source)
    grammar = GrammarText(source)
    for first, lines in _statements(text, source):
        _Statement(grammar, first, lines).read()
    return grammar


def _statements(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """First line number and lines of each statement; comments and blank lines stay as empty ones."""
    lines = text.replace("\r\n", "\n").split("\n")
    start, block = 0, list[str]()
    for number, line in enumerate(lines, 1):
        blank = not line.strip() or line.lstrip().startswith("#")
        if not blank and not line[0].isspace():
            if block:
                yield start, block
            start, block = number, []
        elif not blank and not block:
            column = len(line) - len(line.lstrip()) + 1
            raise DataError(
                "an indented line continues a statement, but none stands above; begin it in the first column",
                source=source,
                line=number,
                column=column,
            )
        if block or not blank:
            block.append("" if blank else line)
    if block:
        yield start, block


class _Statement:
    """The tokens of one statement, and a cursor."""

    def __init__(self, grammar: GrammarText, first: int, lines: list[str]) -> None:
        self.grammar = grammar
        self.tokens = list(_tokens(grammar, first, lines))
        self.at = 0
        self.depth = 0
        last = max((i for i, line in enumerate(lines) if line), default=0)
        self.end = (first + last, len(lines[last]) + 1)

    # ---- the cursor

    def fault(self, message: str, token: _Token | None = None) -> DataError:
        token = token or self.peek()
        line, column = (token.line, token.column) if token else self.end
        return DataError(message, source=self.grammar.source, line=line, column=column)

    def peek(self) -> _Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def is_next(self, *kinds: str) -> bool:
        token = self.peek()
        return token is not None and token.kind in kinds

    def take(self, kind: str, what: str) -> _Token:
        token = self.peek()
        if token is None or token.kind != kind:
            raise self.fault(f"{what} is expected here")
        self.at += 1
        return token

    def word(self, *words: str) -> bool:
        """Take one of the reserved words if it stands here."""
        token = self.peek()
        if token is not None and token.kind == "name" and token.value in words:
            self.at += 1
            return True
        return False

    def name(self, what: str) -> _Token:
        token = self.take("name", what)
        if token.value in _WORDS or token.value == "_":
            raise self.fault(f"{token.value!r} is a word of the language; choose another name", token)
        if "." in str(token.value):
            raise self.fault(f"a name of your own has no '.': {token.value!r}", token)
        return token

    # ---- statements

    def read(self) -> None:
        first = self.peek()
        assert first is not None
        grammar = self.grammar
        if self.word("import"):
            path = self.take("string", "the name of a file in quotes")
            if not self.word("as"):
                raise self.fault("'as' and a name for the file are expected here")
            name = self.name("a name for the file")
            if any(other.name == name.value for other in grammar.imports):
                raise self.fault(f"another import is called {name.value!r}", name)
            grammar.imports.append(Import(str(path.value), str(name.value), path.line, path.column))
        elif self.word("tokens"):
            token = self.take("name", "'byte' or 'utf8'")
            if token.value not in ("byte", "utf8"):
                raise self.fault("tokens are 'byte' or 'utf8'", token)
            grammar.token_type = str(token.value)
        elif self.word("alphabet"):
            if grammar.alphabet is not None:
                raise self.fault("the alphabet was given above", first)
            grammar.alphabet = self.expression()
        elif self.word("test"):
            self.cases()
        else:
            self.definition()
        if self.peek() is not None:
            raise self.fault("the statement should end here; is an operator missing, or a line not indented?")

    def definition(self) -> None:
        export = functional = is_set = function = False
        while True:
            if self.word("export"):
                export = True
            elif self.word("functional"):
                functional = True
            elif self.word("set"):
                is_set = True
            elif self.word("def"):
                function = True
            else:
                break
        name = self.name("a rule 'name = ...', or one of import, alphabet, tokens, set, def, export, functional, test")
        parameters: list[str] = []
        if function:
            self.take("(", "'(' and the parameters")
            while not self.is_next(")"):
                parameter = self.name("the name of a parameter")
                if parameter.value in parameters:
                    raise self.fault(f"two parameters are called {parameter.value!r}", parameter)
                parameters.append(str(parameter.value))
                if not self.is_next(")"):
                    self.take(",", "',' or ')'")
            self.take(")", "')'")
        if name.value in self.grammar.definitions:
            above = self.grammar.definitions[str(name.value)]
            raise self.fault(f"{name.value!r} was defined in line {above.line} already", name)
        self.take("=", "'='")
        body = self.expression()
        self.grammar.definitions[str(name.value)] = Definition(
            str(name.value),
            body,
            name.line,
            name.column,
            tuple(parameters),
            export and not function,
            functional,
            is_set,
        )

    def cases(self) -> None:
        rule = self.take("name", "the name of a rule")
        if self.peek() is None:
            raise self.fault('a test has cases below it, indented: "input" -> "output"')
        while self.peek() is not None:
            text = self.take("string", 'a case, "input" -> "output",')
            self.take("->", "'->'")
            outputs: list[str] = []
            if not self.word("nothing"):
                outputs.append(str(self.take("string", "an output in quotes, or 'nothing',").value))
                while self.is_next("|"):
                    self.at += 1
                    outputs.append(str(self.take("string", "an output in quotes").value))
            self.grammar.cases.append(
                Case(str(rule.value), str(text.value), tuple(outputs), text.line, text.column),
            )

    # ---- expressions, loosest binding first

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fault(f"expressions lie within one another more than {_DEEPEST} deep; name some of them")
        node = self.union()
        self.depth -= 1
        return node

    def series(self, kind: str, part: object, *operators: str) -> Node:
        """Parts joined by one operator; a chain of several is one node for union and composition."""
        assert callable(part)
        first: Node = part()
        parts = [first]
        while self.is_next(*operators):
            self.at += 1
            parts.append(part())
        return first if len(parts) == 1 else Node(kind, first.line, first.column, tuple(parts))

    def rewrite(self) -> Node:
        target = self.difference()
        replacement = None
        if self.is_next("->"):
            self.at += 1
            replacement = self.difference()
        left = right = None
        if self.is_next("/"):
            self.at += 1
            left = self.difference() if self.starts_primary() else None
            if not self.word("_"):
                raise self.fault("'_' is expected here, the place of what is rewritten: / left _ right")
            right = self.difference() if self.starts_primary() else None
        elif replacement is None:
            return target
        modes = set[str]()
        while self.is_next("name") and str(self.tokens[self.at].value) in _MODES:
            modes.add(str(self.tokens[self.at].value))
            self.at += 1
        if len(modes - {"optional"}) > 1:
            raise self.fault("a rule has one direction: left_to_right, right_to_left or simultaneous")
        empty = Node("string", target.line, target.column, (), "")
        parts = (target, left or empty, right or empty) + ((replacement,) if replacement else ())
        direction = next(iter(modes - {"optional"}), "left_to_right").replace("_", "-")
        return Node("rewrite", target.line, target.column, parts, (direction, "optional" in modes))

    def union(self) -> Node:
        return self.series("union", lambda: self.series("compose", self.rewrite, "@"), "|")

    def difference(self) -> Node:
        node = self.sequence()
        while self.is_next("-", "&"):
            kind = "difference" if self.tokens[self.at].kind == "-" else "intersection"
            self.at += 1
            node = Node(kind, node.line, node.column, (node, self.sequence()))
        return node

    def starts_primary(self) -> bool:
        token = self.peek()
        if token is None:
            return False
        if token.kind == "name":
            return token.value != "_" and token.value not in _WORDS
        return token.kind in ("string", "set", "symbol", ".", "(", "~", "^", "$")

    def sequence(self) -> Node:
        first = self.cross()
        parts = [first]
        while self.starts_primary():
            parts.append(self.cross())
        return first if len(parts) == 1 else Node("concat", first.line, first.column, tuple(parts))

    def cross(self) -> Node:
        node = self.postfix()
        if self.is_next(":"):
            self.at += 1
            node = Node("cross", node.line, node.column, (node, self.postfix()))
            while self.is_next("weight"):  # the cost of a pair
                node = Node("weight", node.line, node.column, (node,), self.tokens[self.at].value)
                self.at += 1
        return node

    def postfix(self) -> Node:
        node = self.primary()
        while (token := self.peek()) is not None and token.kind in ("*", "+", "?", "count", "weight"):
            self.at += 1
            if token.kind == "weight":
                node = Node("weight", node.line, node.column, (node,), token.value)
            else:
                times = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(token.kind, token.value)
                node = Node("repeat", node.line, node.column, (node,), times)
        return node

    def primary(self) -> Node:
        token = self.peek()
        if token is None or not self.starts_primary():
            raise self.fault("something is missing here: a string, a set, a name or '('")
        self.at += 1
        place = (token.line, token.column)
        if token.kind in ("string", "set", "symbol"):
            return Node(token.kind, *place, (), token.value)
        if token.kind in (".", "^", "$"):
            return Node({".": "any", "^": "start", "$": "end"}[token.kind], *place)
        if token.kind == "~":
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self.fault(f"expressions lie within one another more than {_DEEPEST} deep; name some of them")
            node = Node("complement", *place, (self.postfix(),))
            self.depth -= 1
            return node
        if token.kind == "(":
            node = self.expression()
            self.take(")", f"')' for the '(' of line {token.line}, column {token.column},")
            return node
        behind = self.peek()
        end = token.column + len(str(token.value))
        if behind is None or behind.kind != "(" or (behind.line, behind.column) != (token.line, end):
            return Node("name", *place, (), token.value)  # with a blank before '(', it is the next of a sequence
        self.at += 1
        arguments: list[Node] = []
        while not self.is_next(")"):
            arguments.append(self.expression())
            if not self.is_next(")"):
                self.take(",", "',' or ')'")
        self.at += 1
        return Node("call", *place, tuple(arguments), token.value)


def _tokens(grammar: GrammarText, first: int, lines: list[str]) -> Iterator[_Token]:
    source = grammar.source
    for offset, line in enumerate(lines):
        number, at = first + offset, 0

        def fault(message: str, column: int, number: int = number) -> DataError:
            return DataError(message, source=source, line=number, column=column + 1)

        while at < len(line):
            letter = line[at]
            if letter.isspace():
                at += 1
            elif letter == "#":
                break
            elif letter in "\"'":
                value, end = _string(line, at, fault)
                grammar.symbols.update(value)
                yield _Token("string", value, number, at + 1)
                at = end
            elif letter == "[":
                members, negated, end = _set(line, at, fault)
                grammar.symbols.update(members)
                yield _Token("set", (members, negated), number, at + 1)
                at = end
            elif letter == "`":
                end = line.find("`", at + 1)
                name = line[at + 1 : end]
                if end < 0 or not name or not re.fullmatch(r"[^\s`\[\]\\]+", name):
                    raise fault("a symbol of its own is a name between ` and ` on one line", at)
                yield _Token("symbol", name, number, at + 1)
                at = end + 1
            elif letter == "{":
                end = line.find("}", at)
                match = re.fullmatch(r"\s*(\d{1,9})\s*(,\s*(\d{1,9})?\s*)?", line[at + 1 : end]) if end > 0 else None
                if match is None:
                    raise fault("a number of repetitions is {2}, {2,5} or {2,}", at)
                least = int(match[1])
                most = least if match[2] is None else None if match[3] is None else int(match[3])
                if most is not None and most < least:
                    raise fault(f"at least {least} times and at most {most} is impossible", at)
                yield _Token("count", (least, most), number, at + 1)
                at = end + 1
            elif letter == "<":
                end = line.find(">", at)
                text = line[at + 1 : end].strip() if end > 0 else ""
                if not _NUMBER.fullmatch(text):
                    raise fault("a cost is a number between < and >", at)
                weight = float(text)
                if abs(weight) > 1e9:
                    raise fault("a cost is at most 1e9", at)
                yield _Token("weight", weight, number, at + 1)
                at = end + 1
            elif match := _NAME.match(line, at):
                yield _Token("name", match[0], number, at + 1)
                at = match.end()
            elif match := _PUNCTUATION.match(line, at):
                yield _Token(match[0], None, number, at + 1)
                at = match.end()
            else:
                raise fault(f"{letter!r} means nothing here; strings stand in quotes", at)


def _escape(line: str, at: int, fault: object) -> tuple[str, int]:
    """The character of the escape that begins at a backslash, and where it ends."""
    assert callable(fault)
    match = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,6})\}|(.))").match(line, at)
    if match is None:
        raise fault("a backslash needs a character behind it", at)
    if match[3] is not None:
        if match[3] not in _ESCAPES:
            raise fault(f"'\\{match[3]}' is no escape; write \\\\ for a backslash", at)
        return _ESCAPES[match[3]], match.end()
    value = int(match[1] or match[2], 16)
    if value == 0 or value > 0x10FFFF or 0xD800 <= value < 0xE000:
        raise fault(f"U+{value:04X} is no character of a string", at)
    return chr(value), match.end()


def _string(line: str, at: int, fault: object) -> tuple[str, int]:
    assert callable(fault)
    quote, letters, i = line[at], list[str](), at + 1
    while i < len(line) and line[i] != quote:
        if line[i] == "\\":
            letter, i = _escape(line, i, fault)
        else:
            letter, i = line[i], i + 1
            if letter == "\0" or 0xD800 <= ord(letter) < 0xE000:
                raise fault(f"U+{ord(letter):04X} is no character of a string", i - 1)
        letters.append(letter)
    if i >= len(line):
        raise fault(f"the string has no closing {quote} on this line", at)
    return "".join(letters), i + 1


def _set(line: str, at: int, fault: object) -> tuple[tuple[str, ...], bool, int]:
    """Members of [...], whether it is [^...], and where it ends."""
    assert callable(fault)
    i = at + 1
    negated = i < len(line) and line[i] == "^"
    i += negated
    items: list[tuple[str, bool]] = []  # a letter, and whether it was written plainly
    while i < len(line) and line[i] != "]":
        if line[i] == "\\":
            letter, i = _escape(line, i, fault)
            items.append((letter, False))
        else:
            if line[i] == "\0" or 0xD800 <= ord(line[i]) < 0xE000:
                raise fault(f"U+{ord(line[i]):04X} is no character of a set", i)
            items.append((line[i], True))
            i += 1
    if i >= len(line):
        raise fault("the set has no closing ] on this line", at)
    members: dict[str, None] = {}
    k = 0
    while k < len(items):
        letter = items[k][0]
        if k + 2 < len(items) and items[k + 1] == ("-", True):
            last = items[k + 2][0]
            if last < letter:
                raise fault(f"the range {letter}-{last} runs backwards", at)
            if ord(last) - ord(letter) > 20_000:
                raise fault(f"the range {letter}-{last} has more than 20,000 symbols", at)
            members.update((chr(point), None) for point in range(ord(letter), ord(last) + 1))
            k += 3
        else:
            members[letter] = None
            k += 1
    letters = tuple(point for point in members if not 0xD800 <= ord(point) < 0xE000)
    if not letters and not negated:
        raise fault("the set is empty", at)
    return letters, negated, i + 1

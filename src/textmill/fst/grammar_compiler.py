"""The grammar language, from trees to machines.

    read_grammar(file)  ->  Grammar: machines of its rules, made when they are asked for, each once, and optimized

Names are looked up when a rule is compiled, so their order in the file does not matter; a rule that needs itself is an
error that names the circle, as is a file that imports itself. Every machine on the way has a limit of states
(`max_states`), so that a grammar with a slip ends with an error that names the place. The compiled rules are checked:
one that writes without end for some input, or is declared `functional` and has two outputs for one, is an error that
shows an input.
"""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from textmill.errors import DataError
from textmill.fst.ambiguity import ambiguous_input, endless_input
from textmill.fst.brackets import GENERATED
from textmill.fst.composition import compose, intersect
from textmill.fst.encoding import decode, encode
from textmill.fst.grammar import END, START, Reading, _reading, add_weight, one_of, plain, power, promote, string_file
from textmill.fst.grammar_syntax import Case, Definition, GrammarText, Node, parse_grammar
from textmill.fst.machine import Fst
from textmill.fst.optimization import determinize, minimize, rmepsilon
from textmill.fst.rational import arcsort, closure, concat, invert, project, reverse, union
from textmill.fst.rewriting import boundary, rewrite
from textmill.fst.strings import apply, cross, string_map
from textmill.fst.symbols import SymbolTable
from textmill.model import check_range

__all__ = ["FUNCTIONS", "Grammar", "compile_grammar", "read_grammar"]

_PRINTABLE = "\t\n" + "".join(map(chr, range(32, 127)))
_MOST_REPETITIONS = 10_000
_WORTH_WHILE = 1 << 16  # states that a machine may grow to when it is made deterministic to be smaller
_MOST_ARCS = 1 << 21  # of a machine with cycles while it is determinized
FUNCTIONS: Mapping[str, str] = {
    "delete": "delete(x): x becomes nothing",
    "input": "input(x): what x reads",
    "insert": "insert(x): nothing becomes x",
    "invert": "invert(x): x the other way round",
    "join": "join(x, y): one or more x with y between them",
    "lines": 'lines("file"): strings of a file, an input, an output and a weight in columns parted by tabs',
    "optimize": "optimize(x): a smaller machine that does the same",
    "output": "output(x): what x writes",
    "reverse": "reverse(x): all strings backwards",
}


class Grammar:
    """Rules by their names, as machines.

    >>> grammar = compile_grammar('''
    ... digit = "1":"one" | "2":"two"
    ... export digits = digit ("":" " digit)*
    ... test digits
    ...   "12" -> "one two"
    ... ''')
    >>> grammar.apply("digits", ["21"])
    [[('two one', 0.0)]]
    """

    def __init__(
        self,
        text: GrammarText,
        imports: Mapping[str, Grammar],
        folders: Sequence[Path],
        max_states: int,
        generated: SymbolTable,
    ) -> None:
        self.text = text
        self.imports = imports
        self.max_states = max_states
        self._folders = folders
        self._machines: dict[str, Fst] = {}
        self._pending: list[str] = []
        self._generated = generated
        letters = set(_PRINTABLE) | text.symbols
        self.bytes = set(text.bytes)  # labels that are no whole character
        for other in imports.values():
            letters |= set(other.letters)
            self.bytes |= other.bytes
        self.letters: tuple[str, ...] = tuple(sorted(letters))  # all symbols there are
        self._set_letters()
        if text.alphabet is not None:
            with self._place(text.alphabet):
                machine = plain(self._expression(text.alphabet, {}))
            self.letters = tuple(sorted(self._single_letters(machine, text.alphabet)))
            self._set_letters()

    def _set_letters(self) -> None:
        labels = {label for letter in self.letters for label in self._labels(letter)} | self.bytes
        self.reading = Reading(self.text.token_type, None, None, tuple(sorted(labels)))
        self._any: Fst | None = None

    @property
    def source(self) -> str:
        """The name of the file."""
        return self.text.source

    @property
    def exports(self) -> list[str]:
        """Names of the rules that are exported; the last rule if none is."""
        names = [name for name, rule in self.text.definitions.items() if rule.export]
        plain_rules = [name for name, rule in self.text.definitions.items() if not rule.parameters]
        return names or plain_rules[-1:]

    @property
    def cases(self) -> list[Case]:
        """The tests of the file."""
        return self.text.cases

    @property
    def generated(self) -> SymbolTable:
        """Names of the symbols that are no text."""
        return self._generated

    def __getitem__(self, name: str) -> Fst:
        """The machine of a rule, optimized; compiled when it is first asked for."""
        if name not in self._machines:
            self._machines[name] = self._rule(self._definition(name, None))
        return self._machines[name]

    def machines(self) -> dict[str, Fst]:
        """The machines of the exported rules.

        >>> list(compile_grammar('export a = "x"').machines())
        ['a']
        """
        if not self.exports:
            raise DataError("the grammar has no rule", source=self.source)
        return {name: self[name] for name in self.exports}

    def apply(self, name: str, texts: Sequence[str], *, k: int = 1) -> list[list[tuple[str, float]]]:
        """The k best outputs of a rule for each of some texts.

        >>> compile_grammar('a = "x":"y" | "x":"z" <1>').apply("a", ["x"], k=2)
        [[('y', 0.0), ('z', 1.0)]]
        """
        answers: list[list[tuple[str, float]]] = apply(self[name], texts, k=k, token_type=self.text.token_type)
        return answers

    # ---- rules

    def _definition(self, name: str, node: Node | None) -> Definition:
        rules = self.text.definitions
        if name in rules:
            return rules[name]
        near = difflib.get_close_matches(name, [*rules, *FUNCTIONS], 1)
        hint = f"; did you mean {near[0]!r}?" if near else "; define it: name = ..."
        raise self._fault(f"there is no rule {name!r}{hint}", node)

    def _rule(self, rule: Definition) -> Fst:
        if rule.parameters:
            raise self._fault(f"{rule.name!r} is a function; call it with {len(rule.parameters)} arguments", rule)
        if rule.name in self._pending:
            circle = [*self._pending[self._pending.index(rule.name) :], rule.name]
            raise self._fault(f"the rule {rule.name!r} needs itself: {' needs '.join(circle)}", rule)
        self._pending.append(rule.name)
        try:
            machine = self._small(self._expression(rule.body, {}), rule.body)
            with self._place(rule.body):
                if rule.is_set:
                    self._single_letters(machine, rule.body)
                if rule.export or rule.functional:
                    self._check(rule, machine)
        finally:
            self._pending.pop()
        return arcsort(machine)

    def _check(self, rule: Definition, machine: Fst) -> None:
        kind = self.text.token_type
        self._without_boundaries(machine, f"the rule {rule.name!r}", rule)
        if rule.export and (text := endless_input(machine, kind)) is not None:
            raise self._fault(f"the rule {rule.name!r} does not end: the input {text!r} has endless outputs", rule)
        if rule.functional and (text := ambiguous_input(machine, kind)) is not None:
            outputs = [repr(output) for output, _ in apply(machine, [text], k=2, token_type=kind)[0]]
            raise self._fault(
                f"the rule {rule.name!r} is ambiguous: the input {text!r} has the outputs {' and '.join(outputs)}", rule
            )

    def _without_boundaries(self, machine: Fst, what: str, at: Node | Definition) -> None:
        arcs = machine.arrays()[1]
        if not {START, END}.isdisjoint(arcs["ilabel"].tolist() + arcs["olabel"].tolist()):
            raise self._fault(f"^ and $ stand in contexts of rewrite rules only, not in {what}", at)

    def _single_letters(self, machine: Fst, node: Node) -> list[str]:
        """The symbols of a set; a DataError if the machine has other strings."""
        from textmill.fst.strings import strings

        kind = self.text.token_type
        if machine.has("cyclic") or not machine.has("acceptor"):
            raise self._fault('a set has single symbols only: [...], "x", and | between them', node)
        self._without_boundaries(machine, "a set", node)
        with self._place(node):
            letters = [text for text, _, _ in strings(machine, token_type=kind)]
        if wrong := [text for text in letters if len(text) != 1]:
            raise self._fault(f"a set has single symbols only, not {wrong[0]!r}", node)
        return letters

    # ---- expressions

    def expression(self, node: Node) -> Fst:
        """The machine of a part of the file, optimized.

        >>> grammar = compile_grammar('a = "x" "y"')
        >>> grammar.expression(grammar.text.definitions["a"].body).num_states
        3
        """
        return self._small(self._expression(node, {}), node)

    def _expression(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        with self._place(node), _reading(self.reading):
            machine: Fst = _COMPILERS[node.kind](self, node, names)
        if machine.num_states > self.max_states or machine.num_arcs > 16 * self.max_states:
            raise self._fault(
                f"this has more than {self.max_states:,} states; make it simpler, or raise the limit", node
            )
        return machine

    def _parts(self, node: Node, names: Mapping[str, Fst]) -> list[Fst]:
        return [self._expression(part, names) for part in node.parts]

    def _string(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        return promote(str(node.value))

    def _byte(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        return one_of([cast(int, node.value)])

    def _set(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        members, negated = cast(tuple[tuple[str, ...], bool], node.value)
        letters = [letter for letter in self.letters if letter not in set(members)] if negated else members
        return self._one_of(letters)

    def _one_of(self, letters: Sequence[str]) -> Fst:
        return string_map(list(letters), token_type=self.text.token_type) if letters else Fst()

    def _symbol(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        name = str(node.value)
        label = GENERATED + len(self._generated) if name not in self._generated else self._generated.key(name)
        self._generated.add(name, label)
        return one_of([label])

    def _anything(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        if self._any is None:
            self._any = plain(self._one_of(self.letters))
        return self._any

    def _boundary(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        return boundary(node.kind)

    def _name(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        name = str(node.value)
        if name in names:
            return names[name]
        file, _, rule = name.rpartition(".")
        if file:
            return self._imported(file, node)[1][self._imported(file, node)[1]._definition(rule, None).name]
        if name in self._machines:
            return self._machines[name]
        return self[self._definition(name, node).name]

    def _imported(self, file: str, node: Node) -> tuple[str, Grammar]:
        if file not in self.imports:
            raise self._fault(f'no import is called {file!r}; write: import "..." as {file}', node)
        return file, self.imports[file]

    def _call(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        name = str(node.value)
        file, _, inner = name.rpartition(".")
        home = self._imported(file, node)[1] if file else self
        if not file and name in FUNCTIONS and name not in self.text.definitions:
            return self._built_in(name, node, names)
        rule = home._definition(inner if file else name, node if home is self else None)
        arguments = self._parts(node, names)
        if len(arguments) != len(rule.parameters):
            raise self._fault(
                f"{name!r} takes {len(rule.parameters)} arguments and was called with {len(arguments)}", node
            )
        if rule.name in home._pending:
            raise self._fault(f"the function {name!r} calls itself", node)
        home._pending.append(rule.name)
        try:
            return home._expression(rule.body, dict(zip(rule.parameters, arguments, strict=True)))
        finally:
            home._pending.pop()

    def _built_in(self, name: str, node: Node, names: Mapping[str, Fst]) -> Fst:
        wanted = 2 if name == "join" else 1
        if len(node.parts) != wanted:
            raise self._fault(f"{FUNCTIONS[name]}; called with {len(node.parts)} arguments", node)
        if name == "lines":
            if node.parts[0].kind != "string":
                raise self._fault("lines needs the name of a file in quotes", node.parts[0])
            return string_file(_find(self._folders, str(node.parts[0].value)))
        x, *rest = self._parts(node, names)
        if name == "join":
            return concat(x, closure(concat(rest[0], x)))
        if name in ("delete", "insert"):
            self._acceptor(x, node)
            return cross(x, "") if name == "delete" else cross("", x)
        if name == "optimize":
            return self._small(x, node)
        if name in ("input", "output"):
            return project(x, name)
        return invert(x) if name == "invert" else reverse(x)

    def _union(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        pairs, others = list[tuple[str, str, float]](), list[Fst]()
        for part in node.parts:
            pair = _pair_of(part)
            if pair is None:
                others.append(self._expression(part, names))
            else:
                pairs.append(pair)
        machines = ([string_map(pairs, token_type=self.text.token_type)] if pairs else []) + others
        return self._join(union, machines, node)

    def _concat(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        return self._join(concat, self._parts(node, names), node)

    def _join(self, join: Callable[..., Fst], machines: list[Fst], node: Node) -> Fst:
        if sum(machine.num_states for machine in machines) > self.max_states:
            raise self._fault(
                f"this has more than {self.max_states:,} states; make it simpler, or raise the limit", node
            )
        return join(*machines)

    def _compose(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        first, *rest = self._parts(node, names)
        for other in rest:
            first = self._small(compose(first, arcsort(other)), node)
        return first

    def _difference(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        left, right = self._parts(node, names)
        self._acceptor(left, node.parts[0])
        self._acceptor(right, node.parts[1])
        return left - self._plain(right, node.parts[1])

    def _intersection(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        left, right = self._parts(node, names)
        self._acceptor(left, node.parts[0])
        self._acceptor(right, node.parts[1])
        return intersect(left, arcsort(right))

    def _complement(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        (inner,) = self._parts(node, names)
        self._acceptor(inner, node.parts[0])
        return closure(self._anything(node, names)) - self._plain(inner, node)

    def _cross(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        left, right = self._parts(node, names)
        self._acceptor(left, node.parts[0])
        self._acceptor(right, node.parts[1])
        pair = _pair_of(node)
        return string_map([pair], token_type=self.text.token_type) if pair is not None else cross(left, right)

    def _repeat(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        (inner,) = self._parts(node, names)
        least, most = cast(tuple[int, int | None], node.value)
        times = most if most is not None else least
        if times > _MOST_REPETITIONS or times * max(inner.num_states, 1) > self.max_states:
            raise self._fault(
                f"{times:,} repetitions of {inner.num_states} states are too many; repeat less often", node
            )
        return power(inner, (least, most))

    def _weight(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        (inner,) = self._parts(node, names)
        return add_weight(inner, cast(float, node.value))

    def _rewrite(self, node: Node, names: Mapping[str, Fst]) -> Fst:
        target, left, right, *others = self._parts(node, names)
        over = others.pop() if node.kind == "rewrite_over" else None  # a machine with the symbols there are
        for context, part in ((left, node.parts[1]), (right, node.parts[2])):
            self._acceptor(context, part)
        if others:
            self._acceptor(target, node.parts[0])
            self._acceptor(others[0], node.parts[3])
        direction, optional = cast(tuple[str, bool], node.value)
        return rewrite(
            self._small(target, node.parts[0]),
            others[0] if others else None,
            left=self._plain(left, node.parts[1]),
            right=self._plain(right, node.parts[2]),
            alphabet=over or {*self.reading.alphabet, *(key for key, _ in self._generated.items() if key)},
            direction=direction,
            optional=optional,
        )

    # ---- helpers

    def _acceptor(self, machine: Fst, node: Node) -> None:
        if not machine.has("acceptor"):
            raise self._fault("here strings must stay as they are, but this part changes them; take input(...)", node)

    def _plain(self, machine: Fst, node: Node) -> Fst:
        """The deterministic acceptor of the same strings, within the limit of states."""
        from textmill.fst.transform import arcmap

        plain_machine = rmepsilon(arcmap(machine, "rmweight"))
        return determinize(plain_machine, max_states=self._most_subsets(plain_machine))

    def _most_subsets(self, machine: Fst) -> int:
        """States that determinization may make: with cycles they can be as many as there are sets of states."""
        if not machine.has("cyclic"):
            return self.max_states
        return min(self.max_states, max(8 * machine.num_states, _MOST_ARCS // max(len(self.letters), 1), 1000))

    def _small(self, machine: Fst, node: Node) -> Fst:
        """The machine without epsilons, determinized and minimized where that is safe."""
        if machine.num_states < 2:
            return machine
        with self._place(node):
            plain_machine = rmepsilon(machine)
        most = min(self._most_subsets(plain_machine), max(8 * plain_machine.num_states, _WORTH_WHILE))
        try:
            weighted = plain_machine.has("weighted") and plain_machine.has("cyclic")
            if plain_machine.has("acceptor") and not weighted:
                return minimize(determinize(plain_machine, max_states=most))
            coded, encoder = encode(plain_machine, labels=True, weights=weighted)
            return decode(minimize(determinize(coded, max_states=most)), encoder)
        except DataError:  # it would grow
            return plain_machine

    def _labels(self, letter: str) -> list[int]:
        return list(letter.encode()) if self.text.token_type == "byte" else [ord(letter)]

    def _too_large(self, node: Node) -> DataError:
        return self._fault(f"this has more than {self.max_states:,} states; make it simpler or raise the limit", node)

    def _fault(self, message: str, at: Node | Definition | None) -> DataError:
        line, column = (at.line, at.column) if at is not None else (None, None)
        return DataError(message, source=self.source, line=line, column=column)

    @contextlib.contextmanager
    def _place(self, node: Node) -> Iterator[None]:
        """Errors of operations name the place of the expression; those that have a place keep it."""
        try:
            yield
        except DataError as fault:
            if fault.line is not None or fault.source is not None:
                raise
            raise self._fault(fault.message, node) from None
        except OSError as fault:
            name = fault.filename if fault.filename is not None else "file"
            raise self._fault(f"{name}: {fault.strerror or fault}", node) from None
        except MemoryError:
            raise self._fault("this needs more memory than there is; make it simpler", node) from None


_COMPILERS: dict[str, Callable[[Grammar, Node, Mapping[str, Fst]], Fst]] = {
    "string": Grammar._string,
    "byte": Grammar._byte,
    "set": Grammar._set,
    "symbol": Grammar._symbol,
    "any": Grammar._anything,
    "start": Grammar._boundary,
    "end": Grammar._boundary,
    "name": Grammar._name,
    "call": Grammar._call,
    "union": Grammar._union,
    "concat": Grammar._concat,
    "compose": Grammar._compose,
    "difference": Grammar._difference,
    "intersection": Grammar._intersection,
    "complement": Grammar._complement,
    "cross": Grammar._cross,
    "repeat": Grammar._repeat,
    "weight": Grammar._weight,
    "rewrite": Grammar._rewrite,
    "rewrite_over": Grammar._rewrite,
}


def _pair_of(node: Node) -> tuple[str, str, float] | None:
    """Input, output and cost of a node that is a string, or two of them, with costs; else None."""
    if node.kind == "string":
        return str(node.value), str(node.value), 0.0
    if node.kind == "cross" and all(part.kind == "string" for part in node.parts):
        return str(node.parts[0].value), str(node.parts[1].value), 0.0
    if node.kind == "weight":
        inner = _pair_of(node.parts[0])
        return None if inner is None else (inner[0], inner[1], inner[2] + cast(float, node.value))
    return None


def compile_grammar(text: str, *, source: str = "grammar", folder: str = ".", max_states: int = 1 << 20) -> Grammar:
    """Compile a grammar from a string; files that it names are looked for in `folder`.

    Rules are compiled when they are asked for; `machines` compiles those that are exported.

    >>> compile_grammar('a = "x" b').machines()
    Traceback (most recent call last):
    textmill.errors.DataError: grammar:1:9: there is no rule 'b'; define it: name = ...
    """
    check_range("max_states", max_states, at_least=1)
    return _load(parse_grammar(text, source), [Path(folder)], max_states, (), SymbolTable(["<eps>"]))


def read_grammar(path: str | os.PathLike[str], *, max_states: int = 1 << 20) -> Grammar:
    """Compile the grammar of a file.

    >>> _ = Path("greeting.grammar").write_text('export greeting = "hello" | "hi"')
    >>> read_grammar("greeting.grammar").exports
    ['greeting']
    """
    check_range("max_states", max_states, at_least=1)
    return _open(Path(path), max_states, (), SymbolTable(["<eps>"]))


def _open(path: Path, max_states: int, above: tuple[Path, ...], generated: SymbolTable) -> Grammar:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        raise DataError(f"the file is not UTF-8 at byte {fault.start}", source=os.fspath(path), line=line) from None
    parsed = parse_grammar(text, os.fspath(path))
    return _load(parsed, [path.parent], max_states, (*above, path.resolve()), generated)


def _find(folders: Sequence[Path], name: str) -> Path:
    """The first file of that name, or where it should be."""
    return next((path for folder in folders if (path := folder / name).exists()), folders[0] / name)


def _load(
    parsed: GrammarText,
    folders: Sequence[Path],
    max_states: int,
    above: tuple[Path, ...],
    generated: SymbolTable,
    opener: Callable[[Path, int, tuple[Path, ...], SymbolTable], Grammar] | None = None,
) -> Grammar:
    source = parsed.source
    imports: dict[str, Grammar] = {}
    for item in parsed.imports:
        path = _find(folders, item.path)
        if path.resolve() in above:
            circle = " imports ".join(p.name for p in (*above[above.index(path.resolve()) :], path))
            raise DataError(
                f"the import goes round in a circle: {circle}", source=source, line=item.line, column=item.column
            )
        try:
            imports[item.name] = (opener or _open)(path, max_states, above, generated)
        except OSError as fault:
            raise DataError(
                f"{path}: {fault.strerror or fault}", source=source, line=item.line, column=item.column
            ) from None
        if imports[item.name].text.token_type != parsed.token_type:
            raise DataError(
                f"{item.path} has tokens {imports[item.name].text.token_type} and this file {parsed.token_type}; "
                "say the same in both",
                source=source,
                line=item.line,
                column=item.column,
            )
    for case in parsed.cases:
        if case.rule not in parsed.definitions:
            raise DataError(
                f"there is no rule {case.rule!r} to test", source=source, line=case.line, column=case.column
            )
    return Grammar(parsed, imports, folders, max_states, generated)

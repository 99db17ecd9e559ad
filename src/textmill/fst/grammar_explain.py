"""Why a rule makes of a text what it makes of it: a tree of the rules that applied, in order.

The best output of the rule is found first; then the pair of input and output is taken apart along the expression: which
alternative it took (the cheapest that has the pair), which parts of both strings each member of a sequence made (the
best path through the machines of the members with marks between them), which string stood between two steps of a
composition. A rewrite rule is a leaf, with the places it changed. Cost: a few compositions with the text for each
step, so texts of some hundred symbols are explained at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from textmill.errors import DataError
from textmill.fst.composition import compose
from textmill.fst.grammar import one_of
from textmill.fst.grammar_compiler import Grammar
from textmill.fst.grammar_syntax import Node
from textmill.fst.machine import Fst
from textmill.fst.optimization import rmepsilon
from textmill.fst.paths import shortest_path
from textmill.fst.rational import arcsort, closure, concat, project
from textmill.fst.strings import accep, apply, labels_of, text_of

__all__ = ["Explanation", "draw_explanation", "explain"]

_MARK = 0x7FFFFF00  # the label of the border between two members of a sequence
_CHANGES = 8  # places of a rewrite rule that are named


@dataclass(frozen=True, slots=True)
class Explanation:
    """A step: what is there called or written, which input became which output at which cost, and its own steps."""

    title: str
    input: str
    output: str
    weight: float
    line: int
    column: int
    steps: tuple[Explanation, ...] = ()


def explain(grammar: Grammar, text: str, rule: str | None = None) -> Explanation | None:
    """The tree of the best output of a rule for a text, of the last exported rule by default; None without an output.

    >>> from textmill.fst.grammar_compiler import compile_grammar
    >>> grammar = compile_grammar('''
    ... digit = "1":"one" | "2":"two"
    ... export pair = digit "":" " digit
    ... ''')
    >>> print(draw_explanation(explain(grammar, "12")))
    pair              "12" -> "one two"
    ├─ digit          "1" -> "one"
    │  └─ "1":"one"   "1" -> "one"
    ├─ "":" "         "" -> " "
    └─ digit          "2" -> "two"
       └─ "2":"two"   "2" -> "two"
    """
    names = grammar.exports
    if rule is None and not names:
        raise DataError("the grammar has no rule to explain", source=grammar.source)
    name = rule if rule is not None else names[-1]
    kind = grammar.text.token_type
    best = apply(grammar[name], [text], token_type=kind)[0]
    if not best:
        return None
    output, weight = best[0]
    node = grammar._definition(name, None).body
    steps = _Explainer(grammar).steps(node, text, output)
    return Explanation(name, text, output, weight, node.line, node.column, tuple(steps))


def draw_explanation(tree: Explanation) -> str:
    """The tree as text, one line per step.

    >>> print(draw_explanation(Explanation("rule", "a", "b", 1.5, 1, 1)))
    rule   "a" -> "b" <1.5>
    """
    rows = list(_rows(tree, "", ""))
    width = max(len(left) for left, _ in rows)
    return "\n".join(f"{left:<{width}}   {right}" for left, right in rows)


def _rows(tree: Explanation, lead: str, below: str) -> Iterator[tuple[str, str]]:
    cost = f" <{tree.weight:g}>" if tree.weight else ""
    yield lead + tree.title, f"{_quoted(tree.input)} -> {_quoted(tree.output)}{cost}"
    for i, step in enumerate(tree.steps):
        last = i == len(tree.steps) - 1
        yield from _rows(step, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


class _Explainer:
    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.kind = grammar.text.token_type

    def steps(self, node: Node, text: str, output: str) -> list[Explanation]:
        """The steps of an expression that turned one string into another."""
        kind = node.kind
        if kind == "union":
            weights = [(self.weight(self.machine(part), text, output), i) for i, part in enumerate(node.parts)]
            _, best = min((weight, i) for weight, i in weights if weight is not None)
            return self.steps(node.parts[best], text, output)
        if kind == "weight":
            return self.steps(node.parts[0], text, output)
        if kind in ("concat", "repeat"):
            members = self.members(node, text, output)
            return [step for part, x, y in members for step in self.steps(part, x, y)]
        if kind == "compose":
            return self.cascade(node, text, output)
        if kind == "name" and str(node.value).count(".") == 0:
            rule = self.grammar._definition(str(node.value), node)
            return [self.step(rule.name, node, text, output, self.steps(rule.body, text, output))]
        if kind == "name":
            file, _, name = str(node.value).partition(".")
            other = self.grammar.imports[file]
            inner = _Explainer(other).steps(other._definition(name, None).body, text, output)
            return [self.step(str(node.value), node, text, output, inner)]
        if kind.startswith("rewrite") and text == output:
            return [self.step("(a rewrite rule that did not apply)", node, text, output, [])]
        if kind.startswith("rewrite"):
            return [self.step(f"a rewrite rule at {_changes(text, output)}", node, text, output, [])]
        return [self.step(_written(node), node, text, output, [])] if text or output else []

    def step(self, title: str, node: Node, text: str, output: str, steps: list[Explanation]) -> Explanation:
        weight = self.weight(self.machine(node), text, output)
        return Explanation(title, text, output, weight or 0.0, node.line, node.column, tuple(steps))

    def machine(self, node: Node) -> Fst:
        return arcsort(self.grammar.expression(node))

    def weight(self, machine: Fst, text: str, output: str) -> float | None:
        """The cost of the best path from one string to another; None without a path."""
        paths = self.best(compose(compose(self.accep(text), machine), self.accep(output)))
        return None if paths is None else paths[2]

    def accep(self, text: str) -> Fst:
        return accep(text, token_type=self.kind)

    def best(self, machine: Fst) -> tuple[list[int], list[int], float] | None:
        from textmill._native import fst as native

        best = shortest_path(rmepsilon(machine)) if machine.start >= 0 else machine
        if best.start < 0:
            return None
        inputs, outputs, weight = native.paths(best._native, 1, 0)[0]
        return list(inputs), list(outputs), float(weight)

    def members(self, node: Node, text: str, output: str) -> list[tuple[Node, str, str]]:
        """Which parts of both strings the members of a sequence made."""
        mark = one_of([_MARK])
        if node.kind == "repeat":
            parts = [node.parts[0]]
            one = concat(concat(self.machine(parts[0]), mark), accep(""))
            machine = closure(one)
        else:
            parts = list(node.parts)
            machine = accep("")
            for part in parts:
                machine = concat(machine, self.machine(part), mark)
        between = closure(mark)
        sides = []
        for string in (text, output):  # marks may stand anywhere
            padded = between
            for label in labels_of(string, self.kind):
                padded = concat(padded, one_of([label]), between)
            sides.append(arcsort(rmepsilon(padded)))
        path = self.best(compose(compose(sides[0], arcsort(machine)), sides[1]))
        if path is None:
            return []
        cut_inputs, cut_outputs = (self.cut(labels) for labels in path[:2])
        if node.kind == "repeat":
            parts = parts * len(cut_inputs)
        return list(zip(parts, cut_inputs, cut_outputs, strict=False))

    def cut(self, labels: Sequence[int]) -> list[str]:
        pieces: list[list[int]] = [[]]
        for label in labels:
            if label == _MARK:
                pieces.append([])
            else:
                pieces[-1].append(label)
        return [text_of(piece, self.kind) for piece in pieces[:-1]]

    def cascade(self, node: Node, text: str, output: str) -> list[Explanation]:
        """The steps of a composition, with the strings between them."""
        machines = [self.machine(part) for part in node.parts]
        rest = [self.accep(output)]  # what each suffix of the cascade can still read to end with the output
        for machine in reversed(machines[1:]):
            rest.append(arcsort(rmepsilon(compose(machine, rest[-1]))))
        steps: list[Explanation] = []
        for i, (part, machine) in enumerate(zip(node.parts, machines, strict=True)):
            if i == len(machines) - 1:
                steps += self.steps(part, text, output)
                break
            read = compose(self.accep(text), machine)
            path = self.best(compose(read, project(rest[len(machines) - 1 - i], "input")))
            if path is None:
                return steps
            between = text_of(path[1], self.kind)
            steps += self.steps(part, text, between)
            text = between
        return steps


def _changes(text: str, output: str) -> str:
    """The places where two strings differ: what became what, from which symbol on."""
    matcher = SequenceMatcher(None, text, output, autojunk=False)
    places = [
        f"{i + 1} ({_quoted(text[i:j])} -> {_quoted(output[k:m])})"
        for tag, i, j, k, m in matcher.get_opcodes()
        if tag != "equal"
    ]
    return ", ".join(places[:_CHANGES]) + (", ..." if len(places) > _CHANGES else "")


def _written(node: Node) -> str:
    """A short form of a part of the file."""
    if node.kind == "string":
        return _quoted(str(node.value))
    if node.kind == "cross":
        return ":".join(_written(part) for part in node.parts)
    if node.kind == "call":
        return f"{node.value}(...)"
    return {"set": "[...]", "any": ".", "symbol": f"`{node.value}`"}.get(node.kind, f"({node.kind})")

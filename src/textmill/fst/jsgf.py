r"""Grammars in the Java Speech Grammar Format, as machines over words.

    public <order> = [please] (<verb> {do}) /3/ the lights | /1/ it;      optional parts, groups, weights, tags
    <verb> = dim | turn (on | off)+ | "switch off";                       * and +; a quoted token is its words

Each public rule becomes a transducer that reads words and writes them, with tags as symbols {do} behind what they
stand at. Alternatives with weights w_i cost -ln(w_i / sum w). <NULL> is the empty string, <VOID> is never read. Rules
are called by replacement, so those that call themselves are refused, as are imports. Words have one table of symbols.
Reference: JSpeech Grammar Format, W3C note of 5 June 2000.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import NamedTuple

from textmill.errors import DataError
from textmill.fst.grammars import call_cycle
from textmill.fst.machine import Fst
from textmill.fst.optimization import optimize
from textmill.fst.rational import closure, concat, union
from textmill.fst.symbols import SymbolTable
from textmill.fst.transform import replace

__all__ = ["compile_jsgf", "read_jsgf"]

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)|<(?P<rule>[\w.$:+-]+)>|"(?P<quoted>(?:[^"\\]|\\.)*)"|\{(?P<tag>(?:[^{}\\]|\\.)*)\}"""
    r"""|/(?P<weight>\s*[\d.eE+-]+\s*)/|(?P<mark>[;=|()\[\]*+])|(?P<word>[^\s;=|()\[\]*+<>{}"/\\]+)""",
    re.DOTALL,
)
_FIRST_RULE = 0x40000000  # labels of rules, above those of words
_DEEPEST = 200


class _Token(NamedTuple):
    kind: str
    value: str
    line: int
    column: int


def read_jsgf(path: str | os.PathLike[str]) -> dict[str, Fst]:
    r"""The public rules of a file, by name.

    >>> _ = Path("lights.jsgf").write_text("#JSGF V1.0;\ngrammar lights;\npublic <lights> = lights (on | off);\n")
    >>> sorted(read_jsgf("lights.jsgf"))
    ['lights']
    """
    return compile_jsgf(Path(path).read_bytes().decode("utf-8-sig", "replace"), source=os.fspath(path))


def compile_jsgf(text: str, source: str = "grammar.jsgf") -> dict[str, Fst]:
    r"""The public rules of a grammar, by name; a fault is a DataError with its line and column.

    >>> from textmill.fst.strings import apply
    >>> rules = compile_jsgf("#JSGF V1.0; grammar a; public <a> = [please] <b> {done}; <b> = go | stop;")
    >>> apply(rules["a"], ["please stop"], token_type="symbol")
    [[('please stop {done}', 0.0)]]
    """
    return _Parser(text, source).file()


class _Parser:
    def __init__(self, text: str, source: str) -> None:
        self.source = source
        header = re.match(r"\s*#JSGF\s+V[\d.]+[^;\n]*;", text)
        if header is None:
            raise DataError("a grammar begins with a line like '#JSGF V1.0;'", source=source, line=1, column=1)
        self.tokens: list[_Token] = []
        at = header.end()
        while at < len(text):
            match = _TOKEN.match(text, at)
            line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
            if match is None:
                raise DataError(f"{text[at]!r} cannot stand here", source=source, line=line, column=column)
            if (kind := match.lastgroup or "") != "space":
                self.tokens.append(_Token(kind, match[kind], line, column))
            at = match.end()
        self.at = 0
        self.depth = 0
        self.symbols = SymbolTable(["<eps>"])
        self.numbers: dict[str, int] = {}
        self.called: dict[str, _Token] = {}

    def fault(self, message: str, token: _Token | None = None) -> DataError:
        if token is None:
            token = self.tokens[min(self.at, len(self.tokens) - 1)] if self.tokens else _Token("", "", 1, 1)
        return DataError(message, source=self.source, line=token.line, column=token.column)

    def take(self, kind: str, value: str | None = None) -> _Token | None:
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.kind == kind and value in (None, token.value):
                self.at += 1
                return token
        return None

    def need(self, kind: str, value: str | None = None) -> _Token:
        token = self.take(kind, value)
        if token is None:
            raise self.fault(f"{repr(value) if value else 'a ' + kind} is expected here")
        return token

    def file(self) -> dict[str, Fst]:
        self.need("word", "grammar")
        self.need("word")
        self.need("mark", ";")
        machines: dict[int, Fst] = {}
        public = []
        while self.at < len(self.tokens):
            if self.take("word", "import"):
                self.at -= 1
                raise self.fault("imports are not read; put the rules into one file")
            is_public = self.take("word", "public") is not None
            name = self.need("rule")
            number = self.number(name.value)
            if number in machines:
                raise self.fault(f"the rule <{name.value}> is defined twice", name)
            self.need("mark", "=")
            machines[number] = self.alternatives()
            self.need("mark", ";")
            if is_public:
                public.append(name.value)
        if not public:
            raise self.fault("no rule is public; write 'public' in front of one")
        for name_, token in self.called.items():
            if self.numbers[name_] not in machines:
                raise self.fault(f"the rule <{name_}> is not defined", token)
        return {name: self.closed(machines, name) for name in public}

    def closed(self, machines: dict[int, Fst], name: str) -> Fst:
        """The machine of a rule with the others in their places."""
        if cycle := call_cycle(machines, self.numbers[name]):
            names = {number: rule for rule, number in self.numbers.items()}
            calls = " calls ".join(f"<{names[number]}>" for number in [*cycle, cycle[0]])
            message = f"{calls}; rules that call themselves have no machine, repeat with * or +"
            raise DataError(message, source=self.source)
        machine = optimize(replace(machines, self.numbers[name], call_arc_labeling="neither"))
        machine.input_symbols = machine.output_symbols = self.symbols
        return machine

    def number(self, rule: str) -> int:
        return self.numbers.setdefault(rule, _FIRST_RULE + len(self.numbers))

    def alternatives(self) -> Fst:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fault(f"parts are nested more than {_DEEPEST} deep")
        parts, weights = [], []
        while True:
            weight = self.take("weight")
            weights.append(None if weight is None else self.weight(weight))
            parts.append(self.sequence())
            if not self.take("mark", "|"):
                break
        self.depth -= 1
        if any(weight is not None for weight in weights):
            if None in weights:
                raise self.fault("either all alternatives have a weight or none")
            total = math.fsum(weight or 0.0 for weight in weights)
            if not total:
                raise self.fault("the weights of alternatives are all 0")
            parts = [
                concat(self.arc(0, 0, math.log(total / weight)), part)
                for part, weight in zip(parts, weights, strict=True)
                if weight
            ]
        return parts[0] if len(parts) == 1 else union(*parts)

    def weight(self, token: _Token) -> float:
        try:
            value = float(token.value)
        except ValueError:
            raise self.fault(f"/{token.value}/ is not a number", token) from None
        if not (math.isfinite(value) and value >= 0):
            raise self.fault(f"/{token.value}/ is not a weight of 0 or more", token)
        return value

    def sequence(self) -> Fst:
        parts = []
        while (part := self.repeated()) is not None:
            parts.append(part)
        if not parts:
            raise self.fault("words, a rule or a group are expected here")
        return parts[0] if len(parts) == 1 else concat(*parts)

    def repeated(self) -> Fst | None:
        part = self.primary()
        if part is None:
            return None
        while mark := self.take("mark", "*") or self.take("mark", "+"):
            part = closure(part, star=mark.value == "*")
        while tag := self.take("tag"):
            part = concat(part, self.arc(0, self.label("{" + "_".join(tag.value.split()) + "}")))
        return part

    def primary(self) -> Fst | None:
        if token := self.take("word") or self.take("quoted"):
            words = [self.label(word) for word in token.value.split()]
            parts = [self.arc(word, word) for word in words] or [self.arc(0, 0)]
            return parts[0] if len(parts) == 1 else concat(*parts)
        if token := self.take("rule"):
            if token.value == "NULL":
                return self.arc(0, 0)
            if token.value == "VOID":
                return Fst()
            self.called.setdefault(token.value, token)
            number = self.number(token.value)
            return self.arc(number, number)
        for opening, closing in ("()", "[]"):
            if self.take("mark", opening):
                inner = self.alternatives()
                self.need("mark", closing)
                return inner if opening == "(" else union(inner, self.arc(0, 0))
        return None

    def label(self, word: str) -> int:
        return self.symbols.key(word) if word in self.symbols else self.symbols.add(word)

    @staticmethod
    def arc(ilabel: int, olabel: int, cost: float | None = None) -> Fst:
        machine = Fst()
        machine.add_states(2)
        machine.start = 0
        machine.set_final(1)
        machine.add_arc(0, ilabel, olabel, cost, 1)
        return machine

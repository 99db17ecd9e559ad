"""The tests that stand beside the rules of a grammar.

"12" -> "twelve"             the best output; a second one at the same cost is a failure, too
"1st" -> "first" | "one st"  all outputs, in any order
"x" -> nothing               no output
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.grammar_compiler import Grammar
from textmill.fst.grammar_syntax import Case, Node
from textmill.fst.optimization import rmepsilon
from textmill.fst.paths import shortest_path
from textmill.fst.rational import project
from textmill.fst.strings import text_of

__all__ = ["CaseResult", "run_cases"]

_MOST = 64  # outputs of a case that names all


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case, the outputs it had, and whether they are those it must have."""

    source: str
    case: Case
    outputs: tuple[str, ...]
    passed: bool

    def diff(self) -> str:
        """What was expected (-) and what came (+), below the place of the case.

        >>> print(CaseResult("a.grammar", Case("n", "12", ("twelve",), 3, 3), ("twelf",), False).diff())
        a.grammar:3:3: n: "12"
        - twelve
        + twelf
        """
        case = self.case
        about = "both sides" if case.sides else f'"{case.text}"'
        lines = [f"{self.source}:{case.line}:{case.column}: {case.rule}: {about}"]
        lines += [f"- {output}" for output in case.outputs or ("nothing",) if output not in self.outputs]
        lines += [f"+ {output}" for output in self.outputs or ("nothing",) if output not in case.outputs]
        if len(lines) == 1:
            lines.append("+ " + " | ".join(self.outputs) + "   (equally good)")
        return "\n".join(lines)


def run_cases(grammar: Grammar, *, imports: bool = True) -> Iterator[CaseResult]:
    """Run the tests of a grammar, those of the files it imports first.

    >>> from textmill.fst.grammar_compiler import compile_grammar
    >>> grammar = compile_grammar('a = "x":"y"\\ntest a\\n  "x" -> "y"\\n  "y" -> nothing')
    >>> [result.passed for result in run_cases(grammar)]
    [True, True]
    """
    if imports:
        for other in grammar.imports.values():
            yield from run_cases(other)
    by_rule: dict[str, list[Case]] = {}
    for case in grammar.cases:
        if case.sides is not None:
            outputs, expected = (_best_outputs(grammar, side) for side in case.sides)
            shown = replace(case, outputs=expected)
            yield CaseResult(grammar.source, shown, outputs, outputs == expected)
            continue
        by_rule.setdefault(case.rule, []).append(case)
    for rule, cases in by_rule.items():
        for all_outputs in (False, True):
            some = [case for case in cases if (len(case.outputs) > 1) == all_outputs]
            answers = grammar.apply(rule, [case.text for case in some], k=_MOST if all_outputs else 2)
            for case, answer in zip(some, answers, strict=True):
                outputs = tuple(output for output, _ in answer)
                if not all_outputs and len(answer) == 2 and answer[1][1] - answer[0][1] > 1e-6:
                    outputs = outputs[:1]  # the second is worse
                passed = sorted(outputs) == sorted(case.outputs) if all_outputs else outputs == case.outputs
                yield CaseResult(grammar.source, case, outputs, passed)


def _best_outputs(grammar: Grammar, node: Node | None) -> tuple[str, ...]:
    """The outputs of an expression that cost the least, sorted; none of None."""
    if node is None:
        return ()
    machine = rmepsilon(project(grammar.expression(node), "output"))
    paths = native.paths(shortest_path(machine, _MOST, unique=True)._native, _MOST, 0)
    least = min((weight for _, _, weight in paths), default=0.0)
    best = [labels for _, labels, weight in paths if weight - least <= 1e-6]
    return tuple(sorted(_text(grammar, labels) for labels in best))


def _text(grammar: Grammar, labels: Sequence[int]) -> str:
    try:
        return text_of(labels, grammar.text.token_type, generated=grammar.generated)
    except DataError:  # bytes that are no character
        return repr(list(labels))

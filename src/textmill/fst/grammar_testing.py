"""The tests that stand beside the rules of a grammar.

"12" -> "twelve"             the best output; a second one at the same cost is a failure, too
"1st" -> "first" | "one st"  all outputs, in any order
"x" -> nothing               no output
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from textmill.fst.grammar_compiler import Grammar
from textmill.fst.grammar_syntax import Case

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
        lines = [f'{self.source}:{case.line}:{case.column}: {case.rule}: "{case.text}"']
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

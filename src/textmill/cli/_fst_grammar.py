"""Verbs of `textmill fst grammar`: compile, test and explain grammars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Json
from textmill.cli._outputs import output_option

if TYPE_CHECKING:
    from textmill.fst import Fst

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Grammars: rules in a text file, as machines.")

_FAILED = 1
_Folder = Annotated[
    str | None, typer.Option(metavar="DIR", help="Where files that a grammar of Thrax names are looked for first.")
]


@app.command("compile")
def compile_file(
    source: Annotated[str, typer.Argument(metavar="FILE", help="The grammar; *.grm is read as Thrax, *.jsgf as JSGF.")],
    output: Annotated[str, output_option("Machine (.fst) of one rule, or archive (.far) of all exported rules.")],
    rule: Annotated[str, typer.Option(help="Rule of a .fst; default: the last that is exported.")] = "",
    max_states: Annotated[int, typer.Option(min=1, help="States that a machine may have on the way.")] = 1 << 20,
    folder: _Folder = None,
) -> None:
    """Compile a grammar into a machine or an archive of machines, OpenFst files both.

    Example: textmill fst grammar compile numbers.grammar -o numbers.far
    """
    from textmill.fst import write_archive, write_fst

    machines = _machines(source, rule, max_states, folder)
    if output.endswith(".far"):
        write_archive(output, dict(sorted(machines.items())))
    else:
        name = list(machines)[-1]
        machines = {name: machines[name]}
        write_fst(machines[name], output)
    for name, machine in machines.items():
        typer.echo(f"{name}: {machine.num_states} states, {machine.num_arcs} arcs", err=True)


@app.command("test")
def run_tests(
    source: Annotated[str, typer.Argument(metavar="FILE", help="The grammar.")],
    folder: _Folder = None,
    json: Json = False,
) -> None:
    """Run the tests in a grammar and in those it imports; failures are printed as diffs, and the exit code is 1.

    Example: textmill fst grammar test numbers.grammar
    """
    from textmill.fst.grammar_testing import run_cases
    from textmill.fst.thrax import open_grammar

    grammar = open_grammar(source, folder=folder)
    grammar.machines()
    results = list(run_cases(grammar))
    failures = [result for result in results if not result.passed]
    if json:
        rows = [
            {
                "source": result.source,
                "line": result.case.line,
                "rule": result.case.rule,
                "input": result.case.text,
                "expected": list(result.case.outputs),
                "outputs": list(result.outputs),
            }
            for result in failures
        ]
        typer.echo(json_line({"cases": len(results), "failures": rows}))
    else:
        for result in failures:
            typer.echo(result.diff())
        typer.echo(f"{len(results) - len(failures)} of {len(results)} cases passed")
    if failures:
        raise typer.Exit(_FAILED)


@app.command("explain")
def explain_text(
    source: Annotated[str, typer.Argument(metavar="FILE", help="The grammar.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The input to explain.")],
    rule: Annotated[str, typer.Option(help="The rule; default: the last that is exported.")] = "",
    folder: _Folder = None,
    json: Json = False,
) -> None:
    """Show which rules made the best output of a text, in order, as a tree.

    Example: textmill fst grammar explain numbers.grammar 12
    """
    from dataclasses import asdict

    from textmill.errors import DataError
    from textmill.fst.grammar_explain import draw_explanation, explain
    from textmill.fst.thrax import open_grammar

    tree = explain(open_grammar(source, folder=folder), text, rule or None)
    if tree is None:
        raise DataError(f"the grammar has no output for {text!r}", source=source)
    typer.echo(json_line(asdict(tree)) if json else draw_explanation(tree))


def _machines(source: str, rule: str, max_states: int, folder: str | None) -> dict[str, Fst]:
    """The machines of a grammar by their rules, or that of one rule."""
    from textmill.errors import DataError
    from textmill.fst import read_jsgf
    from textmill.fst.thrax import open_grammar

    if source.endswith(".jsgf"):
        rules = read_jsgf(source)
        if rule and rule not in rules:
            raise DataError(f"no public rule is called {rule!r}; there are {', '.join(rules)}", source=source)
        return {rule: rules[rule]} if rule else rules
    grammar = open_grammar(source, folder=folder, max_states=max_states)
    return {rule: grammar[rule]} if rule else grammar.machines()

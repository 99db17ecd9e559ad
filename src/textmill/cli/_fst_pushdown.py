"""Verbs of `textmill fst` for push-down transducers, with one stack (pdt...) or several (mpdt...)."""

from typing import TYPE_CHECKING, Annotated

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Program, Source, machines
from textmill.cli._json import json_page
from textmill.cli._options import Json
from textmill.cli._outputs import further_output

if TYPE_CHECKING:
    from textmill.fst import Fst, PushdownFst

app = typer.Typer(add_completion=False)

Pairs = Annotated[str, typer.Option("--pdt_parentheses", help="File with pairs of parentheses, one per line.")]
StackPairs = Annotated[
    str, typer.Option("--mpdt_parentheses", help="File with pairs of parentheses and the stack of each, one per line.")
]
Keep = Annotated[bool, typer.Option(help="Keep parentheses instead of writing epsilons.")]
Connect = Annotated[bool, typer.Option(help="Remove states that are on no complete path.")]
Filter = Annotated[str, typer.Option(help="What becomes of parentheses: paren (kept), expand or expand_paren.")]
Left = Annotated[bool, typer.Option(help="The first machine has the parentheses; otherwise the second.")]
MaxStates = Annotated[int, typer.Option(min=1, max=files.MOST, help="Most states of the result.")]
MaxDepth = Annotated[int, typer.Option(min=-1, help="Most parentheses open at the same time; -1 for any number.")]
Restriction = Annotated[
    str,
    typer.Option(help="Stacks that must be empty in front of one that is read or written: read, write or none."),
]


@app.command(cls=Program)
@machines
def pdtcompose(
    first: "Fst",
    second: "Fst",
    pdt_parentheses: Pairs = "",
    connect: Connect = True,
    compose_filter: Filter = "paren",
    left_pdt: Left = True,
) -> "Fst":
    """Compose a push-down machine with a finite one.

    Example: textmill fst pdtcompose --pdt_parentheses=pairs.txt a.pdt b.fst c.pdt
    """
    return _composed(first, second, pdt_parentheses, connect, compose_filter, left_pdt, "none")


@app.command(cls=Program)
@machines
def mpdtcompose(
    first: "Fst",
    second: "Fst",
    mpdt_parentheses: StackPairs = "",
    connect: Connect = True,
    compose_filter: Filter = "paren",
    left_mpdt: Left = True,
    restriction: Restriction = "read",
) -> "Fst":
    """Compose a machine with several stacks with a finite one.

    Example: textmill fst mpdtcompose --mpdt_parentheses=pairs.txt a.mpdt b.fst c.mpdt
    """
    return _composed(first, second, mpdt_parentheses, connect, compose_filter, left_mpdt, restriction)


@app.command(cls=Program)
@machines
def pdtexpand(
    fst: "Fst",
    pdt_parentheses: Pairs = "",
    connect: Connect = True,
    keep_parentheses: Keep = False,
    weight: Annotated[str, typer.Option(help="Leave out paths worse than the best one times this weight.")] = "",
    max_depth: MaxDepth = -1,
    max_states: MaxStates = files.MOST,
) -> "Fst":
    """Write out the balanced paths of a push-down machine as a finite machine.

    Example: textmill fst pdtexpand --pdt_parentheses=pairs.txt --weight=5 a.pdt a.fst
    """
    return _pushdown(fst, pdt_parentheses).expand(
        weight=files.weight_of(fst, weight),
        max_depth=None if max_depth < 0 else max_depth,
        keep_parentheses=keep_parentheses,
        connect=connect,
        max_states=max_states,
    )


@app.command(cls=Program)
@machines
def mpdtexpand(
    fst: "Fst",
    mpdt_parentheses: StackPairs = "",
    connect: Connect = True,
    keep_parentheses: Keep = False,
    restriction: Restriction = "read",
    max_depth: MaxDepth = -1,
    max_states: MaxStates = files.MOST,
) -> "Fst":
    """Write out the balanced paths of a machine with several stacks as a finite machine.

    Example: textmill fst mpdtexpand --mpdt_parentheses=pairs.txt a.mpdt a.fst
    """
    return _pushdown(fst, mpdt_parentheses, restriction).expand(
        max_depth=None if max_depth < 0 else max_depth,
        keep_parentheses=keep_parentheses,
        connect=connect,
        max_states=max_states,
    )


@app.command(cls=Program)
@machines
def pdtreverse(fst: "Fst", pdt_parentheses: Pairs = "") -> "Fst":
    """Reverse the paths of a push-down machine; the parentheses stay the same.

    Example: textmill fst pdtreverse --pdt_parentheses=pairs.txt a.pdt b.pdt
    """
    return _pushdown(fst, pdt_parentheses).reverse().fst


@app.command(cls=Program)
@machines
def mpdtreverse(fst: "Fst", mpdt_parentheses: StackPairs = "") -> "Fst":
    """Reverse the paths of a machine with several stacks: what could only be read then can only be written.

    Example: textmill fst mpdtreverse --mpdt_parentheses=pairs.txt a.mpdt b.mpdt
    """
    return _pushdown(fst, mpdt_parentheses).reverse().fst


@app.command(cls=Program)
@machines
def pdtshortestpath(
    fst: "Fst",
    pdt_parentheses: Pairs = "",
    nshortest: Annotated[int, typer.Option(min=1, max=files.MOST, help="Number of paths.")] = 1,
    keep_parentheses: Keep = False,
    max_states: MaxStates = files.MOST,
) -> "Fst":
    """Find the best balanced paths of a push-down machine, also where it calls itself.

    Example: textmill fst pdtshortestpath --pdt_parentheses=pairs.txt a.pdt best.fst
    """
    return _pushdown(fst, pdt_parentheses).shortest_path(
        nshortest, keep_parentheses=keep_parentheses, max_states=max_states
    )


@app.command(cls=Program)
def pdtinfo(source: Source = "", pdt_parentheses: Pairs = "", json: Json = False) -> None:
    """Describe a push-down machine: sizes, and how its parentheses are used.

    Example: textmill fst pdtinfo --pdt_parentheses=pairs.txt a.pdt
    """
    _describe(source, pdt_parentheses, json)


@app.command(cls=Program)
def mpdtinfo(source: Source = "", mpdt_parentheses: StackPairs = "", json: Json = False) -> None:
    """Describe a machine with several stacks: sizes, and how its parentheses are used.

    Example: textmill fst mpdtinfo --mpdt_parentheses=pairs.txt a.mpdt
    """
    _describe(source, mpdt_parentheses, json)


@app.command(cls=Program)
def pdtreplace(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="ROOT.FST ROOTLABEL [RULE.FST LABEL ...] [OUT.PDT]",
            help="Machines, each followed by its label, a number.",
        ),
    ],
    pdt_parentheses: Annotated[str, further_output("File for the pairs of parentheses.")],
    start_paren_labels: Annotated[
        int, typer.Option(min=0, max=files.MOST, help="First label of a parenthesis; 0 for one above all others.")
    ] = 0,
) -> None:
    """Join machines that call each other, in a circle if they like, into a push-down machine.

    Example: textmill fst pdtreplace --pdt_parentheses=pairs.txt root.fst 100 rule.fst 101 out.pdt
    """
    from textmill.fst import replace_to_pushdown, write_parentheses

    rules, root, target = files.read_rules(arguments)
    pushdown = replace_to_pushdown(rules, root, first_label=start_paren_labels or None)
    write_parentheses(pdt_parentheses, pushdown.parentheses)
    files.write_machine(pushdown.fst, target)


def _pushdown(fst: "Fst", pairs: str, restriction: str = "none") -> "PushdownFst":
    from textmill.fst import PushdownFst, read_parentheses

    if not pairs:
        raise typer.BadParameter("which labels are parentheses? Name a file of pairs: --pdt_parentheses=pairs.txt")
    return PushdownFst(fst, *read_parentheses(pairs), restriction=restriction)


def _composed(
    first: "Fst", second: "Fst", pairs: str, connect: bool, compose_filter: str, left: bool, restriction: str
) -> "Fst":
    from textmill.model import check_choice

    check_choice("compose_filter", compose_filter, ["paren", "expand", "expand_paren"])
    pushdown = _pushdown(first if left else second, pairs, restriction)
    both = pushdown.compose(second, connect=connect) if left else pushdown.compose_after(first, connect=connect)
    if compose_filter == "paren":
        return both.fst
    return both.expand(keep_parentheses=compose_filter == "expand_paren", connect=connect)


def _describe(source: str, pairs: str, json: bool) -> None:
    rows = _pushdown(files.read_machine(source), pairs).info()
    lines = "".join(f"{name:<50}{value}\n" for name, value in rows.items())
    files.write_text(json_page(rows) + "\n" if json else lines, "")

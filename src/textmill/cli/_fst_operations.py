"""Verbs of `textmill fst` that join machines and rearrange them."""

from typing import TYPE_CHECKING, Annotated

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Program, machines, settings

if TYPE_CHECKING:
    from textmill.fst import Fst

app = typer.Typer(add_completion=False)

ComposeFilter = Annotated[
    str, typer.Option(help="Filter: auto, sequence, alt_sequence, match, no_match, null or trivial.")
]
Connect = Annotated[bool, typer.Option(help="Remove states that are on no complete path.")]


@app.command(cls=Program)
@machines
def union(first: "Fst", second: "Fst") -> "Fst":
    """Accept the strings of both machines.

    Example: textmill fst union a.fst b.fst ab.fst
    """
    from textmill.fst import rational

    return rational.union(first, _beside(first, second))


@app.command(cls=Program)
@machines
def concat(first: "Fst", second: "Fst") -> "Fst":
    """Concatenate the strings of two machines.

    Example: textmill fst concat a.fst b.fst ab.fst
    """
    from textmill.fst import rational

    return rational.concat(first, _beside(first, second))


@app.command(cls=Program)
@machines
def closure(
    fst: "Fst",
    closure_plus: Annotated[bool, typer.Option(help="At least one string: the same as --closure_type=plus.")] = False,
    closure_type: Annotated[str, typer.Option(help="star, or plus for at least one string.")] = "star",
) -> "Fst":
    """Repeat the strings of a machine any number of times.

    Example: textmill fst closure --closure_plus a.fst b.fst
    """
    from textmill.fst import rational
    from textmill.model import check_choice

    check_choice("closure_type", closure_type, ["star", "plus"])
    return rational.closure(fst, star=closure_type == "star" and not closure_plus)


@app.command(cls=Program)
@machines
def reverse(
    fst: "Fst",
    require_superinitial: Annotated[
        bool, typer.Option(help="Add a new start state even where it is not needed.")
    ] = True,
) -> "Fst":
    """Reverse all strings.

    Example: textmill fst reverse a.fst b.fst
    """
    from textmill.fst import rational

    return rational.reverse(fst, require_superinitial=require_superinitial)


@app.command(cls=Program)
@machines
def invert(fst: "Fst") -> "Fst":
    """Exchange inputs and outputs.

    Example: textmill fst invert a.fst b.fst
    """
    from textmill.fst import rational

    return rational.invert(fst)


@app.command(cls=Program)
@machines
def project(
    fst: "Fst",
    project_type: Annotated[str, typer.Option(help="Side to keep: input or output.")] = "input",
    project_output: Annotated[bool, typer.Option(help="The same as --project_type=output.")] = False,
) -> "Fst":
    """Keep only the inputs of a machine, or only its outputs.

    Example: textmill fst project --project_type=output a.fst b.fst
    """
    from textmill.fst import rational

    return rational.project(fst, "output" if project_output else project_type)


@app.command(cls=Program)
@machines
def relabel(
    fst: "Fst",
    isymbols: Annotated[str, typer.Option(help="Old table of input symbols; default: that of the machine.")] = "",
    osymbols: Annotated[str, typer.Option(help="Old table of output symbols; default: that of the machine.")] = "",
    relabel_isymbols: Annotated[str, typer.Option(help="New table of input symbols.")] = "",
    relabel_osymbols: Annotated[str, typer.Option(help="New table of output symbols.")] = "",
    relabel_ipairs: Annotated[str, typer.Option(help="File with old and new input labels, as numbers.")] = "",
    relabel_opairs: Annotated[str, typer.Option(help="File with old and new output labels, as numbers.")] = "",
    unknown_isymbol: Annotated[str, typer.Option(help="Symbol in place of those that are not in the new table.")] = "",
    unknown_osymbol: Annotated[str, typer.Option(help="Symbol in place of those that are not in the new table.")] = "",
) -> "Fst":
    """Replace labels, by tables of symbols or by pairs of numbers.

    Example: textmill fst relabel --relabel_ipairs=pairs.txt a.fst b.fst
    """
    from textmill.errors import DataError
    from textmill.fst import rational

    if (relabel_isymbols or relabel_osymbols) and (relabel_ipairs or relabel_opairs):
        raise DataError("relabel by tables of symbols or by pairs of numbers, not by both")
    if relabel_isymbols or relabel_osymbols:
        machine = fst.copy()
        machine.input_symbols = files.read_symbols(isymbols) or fst.input_symbols
        machine.output_symbols = files.read_symbols(osymbols) or fst.output_symbols
        machine = rational.relabel_symbols(
            machine, input_symbols=files.read_symbols(relabel_isymbols), unknown=unknown_isymbol or None
        )
        return rational.relabel_symbols(
            machine, output_symbols=files.read_symbols(relabel_osymbols), unknown=unknown_osymbol or None
        )
    if not (relabel_ipairs or relabel_opairs):
        raise DataError("nothing to relabel by; pass --relabel_isymbols, --relabel_osymbols or files with pairs")
    return rational.relabel(
        fst,
        input_pairs=files.read_pairs(relabel_ipairs) if relabel_ipairs else (),
        output_pairs=files.read_pairs(relabel_opairs) if relabel_opairs else (),
    )


@app.command(cls=Program)
@machines
def arcsort(
    fst: "Fst", sort_type: Annotated[str, typer.Option(help="Labels to sort by: ilabel or olabel.")] = "ilabel"
) -> "Fst":
    """Sort the arcs of each state by their labels.

    Example: textmill fst arcsort --sort_type=olabel a.fst b.fst
    """
    from textmill.fst import rational

    return rational.arcsort(fst, sort_type)


@app.command(cls=Program)
@machines
def topsort(fst: "Fst") -> "Fst":
    """Renumber states so that arcs lead to higher numbers; a machine with cycles stays the same, with a warning.

    Example: textmill fst topsort a.fst b.fst
    """
    import warnings

    from textmill.fst import rational

    if fst.has("cyclic"):
        warnings.warn("the machine has cycles, so its states stay in their order", UserWarning, stacklevel=2)
        return fst
    return rational.topsort(fst)


@app.command(cls=Program)
@machines
def connect(fst: "Fst") -> "Fst":
    """Remove states that are on no path from the start to a final state.

    Example: textmill fst connect a.fst b.fst
    """
    from textmill.fst import rational

    return rational.connect(fst)


@app.command(cls=Program)
@machines
def compose(
    first: "Fst",
    second: "Fst",
    compose_filter: ComposeFilter = "auto",
    connect: Connect = True,
    look_ahead: Annotated[
        str, typer.Option(help="Make only states from which something matches: none, arc, output or input.")
    ] = "none",
    push: Annotated[str, typer.Option(help="What look-ahead pays early: none, weights, labels or both.")] = "none",
) -> "Fst":
    """Compose two machines: the outputs of the first are the inputs of the second; arcs are sorted if necessary.

    Example: textmill fst compose a.fst b.fst ab.fst
    """
    from textmill.fst import composition

    behind = _behind(first, second)
    if look_ahead == "none" and push == "none":
        return composition.compose(first, behind, compose_filter=compose_filter, connect=connect)
    from textmill.fst import lazy

    ahead = lazy.compose(first, behind, compose_filter=compose_filter, look_ahead=look_ahead, push=push, cache=0)
    return ahead.expand(connect=connect)


@app.command(cls=Program)
@machines
def intersect(first: "Fst", second: "Fst", compose_filter: ComposeFilter = "auto", connect: Connect = True) -> "Fst":
    """Intersect two acceptors.

    Example: textmill fst intersect a.fst b.fst ab.fst
    """
    from textmill.fst import composition

    return composition.intersect(first, _behind(first, second), compose_filter=compose_filter, connect=connect)


@app.command(cls=Program)
@machines
def difference(first: "Fst", second: "Fst", compose_filter: ComposeFilter = "auto", connect: Connect = True) -> "Fst":
    """Subtract from an acceptor the strings of another, which must be deterministic and unweighted.

    Example: textmill fst difference a.fst b.fst c.fst
    """
    from textmill.fst import composition

    return composition.difference(first, _behind(first, second), compose_filter=compose_filter, connect=connect)


@app.command("map", cls=Program)
@machines
def map_machine(
    fst: "Fst",
    map_type: Annotated[
        str,
        typer.Option(
            help="arc_sum, arc_unique, float_power, identity, input_epsilon, invert, output_epsilon, plus, power, "
            "quantize, rmweight, superfinal, times, to_log, to_log64 or to_standard."
        ),
    ] = "identity",
    delta: Annotated[float, typer.Option(help="Step size for --map_type=quantize.")] = 1 / 1024,
    power: Annotated[float, typer.Option(help="Exponent for --map_type=power or float_power.")] = 1.0,
    weight: Annotated[str, typer.Option(help="Weight for --map_type=plus or times.")] = "",
) -> "Fst":
    """Change the weight, the labels or the semiring of all arcs.

    Example: textmill fst map --map_type=to_log a.fst b.fst
    """
    from textmill.fst import transform

    semirings = {"to_std": "tropical", "to_standard": "tropical", "to_log": "log", "to_log64": "log64"}
    if map_type in semirings:
        return transform.convert(fst, semirings[map_type])
    operand = files.weight_of(fst, weight)
    if operand is None:
        operand = {"plus": fst.semiring.zero, "times": fst.semiring.one}.get(map_type)
    kind = "power" if map_type == "float_power" else map_type
    machine = transform.arcmap(fst, kind, weight=operand, power=power, delta=delta)
    if map_type == "input_epsilon":
        machine.input_symbols = None
    if map_type == "output_epsilon":
        machine.output_symbols = None
    return machine


@app.command(cls=Program)
def replace(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="ROOT.FST ROOTLABEL [RULE.FST LABEL ...] [OUT.FST]",
            help="Machines, each followed by its label, a number.",
        ),
    ],
    call_arc_labeling: Annotated[
        str, typer.Option(help="Sides that keep their label on call arcs: input, output, both or neither.")
    ] = "input",
    return_arc_labeling: Annotated[
        str, typer.Option(help="Sides that have the label on return arcs: input, output, both or neither.")
    ] = "neither",
    return_label: Annotated[int, typer.Option(min=0, max=files.MOST, help="Label of return arcs.")] = 0,
    epsilon_on_replace: Annotated[bool, typer.Option(help="Leave call and return arcs without labels.")] = False,
) -> None:
    """Replace arcs whose output is the label of a machine by that machine, recursively.

    Example: textmill fst replace root.fst 100 name.fst 101 number.fst 102 out.fst
    """
    from textmill.fst import transform

    rules, root, target = files.read_rules(arguments)
    call, back = ("neither", "neither") if epsilon_on_replace else (call_arc_labeling, return_arc_labeling)
    files.write_machine(
        transform.replace(rules, root, call_arc_labeling=call, return_arc_labeling=back, return_label=return_label),
        target,
    )


@app.command(cls=Program)
@machines
def synchronize(fst: "Fst") -> "Fst":
    """Synchronize: move inputs and outputs to the same arcs as early as possible.

    Example: textmill fst synchronize a.fst b.fst
    """
    from textmill.fst import transform

    return transform.synchronize(fst)


@app.command(cls=Program)
@machines
def epsnormalize(
    fst: "Fst",
    eps_norm_output: Annotated[bool, typer.Option(help="The same as --eps_norm_type=output.")] = False,
    eps_norm_type: Annotated[str, typer.Option(help="Side of the epsilons: input or output.")] = "input",
) -> "Fst":
    """Move epsilons to the end of each path.

    Example: textmill fst epsnormalize --eps_norm_type=output a.fst b.fst
    """
    from textmill.fst import transform

    return transform.epsnormalize(fst, "output" if eps_norm_output else eps_norm_type)


def _beside(first: "Fst", second: "Fst") -> "Fst":
    """The second machine; with the tables of the first where those need not agree."""
    if settings.get().compatible_symbols:
        return second
    machine = second.copy()
    machine.input_symbols, machine.output_symbols = first.input_symbols, first.output_symbols
    return machine


def _behind(first: "Fst", second: "Fst") -> "Fst":
    """The second machine; with the table of outputs of the first for its inputs where those need not agree."""
    if settings.get().compatible_symbols:
        return second
    machine = second.copy()
    machine.input_symbols = first.output_symbols
    return machine

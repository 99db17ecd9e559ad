"""Verbs of `textmill fst` between machines, text, pictures and tables of symbols."""

from typing import TYPE_CHECKING, Annotated

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Program, Source, Target, machines, settings
from textmill.cli._json import json_page
from textmill.cli._options import Json
from textmill.cli._outputs import further_output

if TYPE_CHECKING:
    from textmill.fst import Fst, SymbolTable

app = typer.Typer(add_completion=False)

ISymbols = Annotated[str, typer.Option(help="File with the table of input symbols.")]
OSymbols = Annotated[str, typer.Option(help="File with the table of output symbols.")]
SSymbols = Annotated[str, typer.Option(help="File with the table of state names.")]
FstType = Annotated[str, typer.Option(help="File type: vector, const, or a compact type such as compact_string.")]
Acceptor = Annotated[bool, typer.Option(help="Arcs have one label (an acceptor).")]
Numeric = Annotated[bool, typer.Option(help="Print labels as numbers.")]
ShowOne = Annotated[bool, typer.Option(help="Print weights that are one, too.")]


@app.command("compile", cls=Program)
def compile_machine(
    source: Annotated[str, typer.Argument(metavar="TEXT", help="Text to read; - or none for stdin.")] = "",
    target: Target = "",
    acceptor: Acceptor = False,
    arc_type: Annotated[
        str, typer.Option(help="Arc type: standard, log, log64, or the name of another semiring.")
    ] = "standard",
    fst_type: FstType = "vector",
    isymbols: ISymbols = "",
    osymbols: OSymbols = "",
    ssymbols: SSymbols = "",
    keep_isymbols: Annotated[bool, typer.Option(help="Keep the input symbols in the machine.")] = False,
    keep_osymbols: Annotated[bool, typer.Option(help="Keep the output symbols in the machine.")] = False,
    keep_state_numbering: Annotated[bool, typer.Option(help="Do not renumber the states.")] = False,
) -> None:
    """Compile a machine from text, one arc or final state per line.

    Example: textmill fst compile --isymbols=a.syms --osymbols=a.syms a.txt a.fst
    """
    from textmill.fst.formats import compile_text

    content, name = files.read_bytes(source), "standard input" if files.is_stream(source) else source
    inputs, outputs, states = map(files.read_symbols, (isymbols, osymbols, ssymbols))
    fst = compile_text(
        content,
        semiring_name=files.semiring_of(arc_type),
        acceptor=acceptor,
        input_symbols=inputs,
        output_symbols=outputs,
        state_symbols=states,
        keep_state_numbering=keep_state_numbering,
        separators=settings.get().separators,
        source=name,
    )
    fst.input_symbols = inputs if keep_isymbols else None
    fst.output_symbols = outputs if keep_osymbols else None
    files.write_machine(fst, target, fst_type)


@app.command("print", cls=Program)
@machines
def print_machine(
    fst: "Fst",
    acceptor: Acceptor = False,
    isymbols: ISymbols = "",
    osymbols: OSymbols = "",
    ssymbols: SSymbols = "",
    numeric: Numeric = False,
    show_weight_one: ShowOne = False,
    missing_symbol: Annotated[
        str, typer.Option(help="Symbol for labels that have none; default: such labels are an error.")
    ] = "",
    save_isymbols: Annotated[str, further_output("Write the input symbols of the machine to this file.")] = "",
    save_osymbols: Annotated[str, further_output("Write the output symbols of the machine to this file.")] = "",
) -> str:
    """Print a machine as text, with the symbols of its tables or of files.

    Example: textmill fst print --isymbols=a.syms --osymbols=a.syms a.fst
    """
    from textmill.fst.formats import print_text

    _save_symbols(fst, save_isymbols, save_osymbols)
    return print_text(
        fst,
        acceptor=acceptor,
        input_symbols=files.read_symbols(isymbols),
        output_symbols=files.read_symbols(osymbols),
        state_symbols=files.read_symbols(ssymbols),
        numeric=numeric,
        show_weight_one=show_weight_one,
        missing_symbol=missing_symbol,
        separator=settings.get().separators[:1],
    )


@app.command(cls=Program)
def draw(
    source: Source = "",
    target: Target = "",
    acceptor: Acceptor = False,
    isymbols: ISymbols = "",
    osymbols: OSymbols = "",
    ssymbols: SSymbols = "",
    numeric: Numeric = False,
    show_weight_one: ShowOne = False,
    title: Annotated[str, typer.Option(help="Title of the picture.")] = "",
    portrait: Annotated[bool, typer.Option(help="Portrait instead of landscape.")] = False,
    vertical: Annotated[bool, typer.Option(help="From bottom to top instead of from left to right.")] = False,
    fontsize: Annotated[int, typer.Option(help="Font size.")] = 14,
    height: Annotated[float, typer.Option(help="Height of the page.")] = 11.0,
    width: Annotated[float, typer.Option(help="Width of the page.")] = 8.5,
    nodesep: Annotated[float, typer.Option(help="Minimum distance between states, as in dot.")] = 0.25,
    ranksep: Annotated[float, typer.Option(help="Minimum distance between layers, as in dot.")] = 0.4,
    precision: Annotated[int, typer.Option(help="Number of digits of weights.")] = 5,
    float_format: Annotated[str, typer.Option(help="Number format of printf: e, f or g.")] = "g",
    svg: Annotated[bool, typer.Option(help="Draw an SVG picture, which needs no Graphviz.")] = False,
) -> None:
    """Draw a machine in the DOT language of Graphviz, or as SVG.

    Example: textmill fst draw --svg a.fst a.svg
    """
    import warnings

    from textmill.fst.draw import to_dot, to_svg

    fst = files.read_machine(source)
    shown = fst.copy()
    shown.input_symbols = files.read_symbols(isymbols) or fst.input_symbols
    shown.output_symbols = files.read_symbols(osymbols) or fst.output_symbols
    if svg:
        picture = to_svg(
            shown,
            title=title,
            acceptor=acceptor or None,
            vertical=vertical,
            precision=precision,
            float_format=float_format,
            numeric=numeric,
            show_weight_one=show_weight_one,
            state_symbols=files.read_symbols(ssymbols),
            standalone=True,
        )
        files.write_text(picture, target)
        return
    text = to_dot(
        shown,
        title=title,
        acceptor=acceptor,
        portrait=portrait,
        vertical=vertical,
        fontsize=fontsize,
        height=height,
        width=width,
        nodesep=nodesep,
        ranksep=ranksep,
        precision=precision,
        float_format=float_format,
        numeric=numeric,
        show_weight_one=show_weight_one,
        state_symbols=files.read_symbols(ssymbols),
    )
    files.write_text(text, target)
    kind = target.rpartition(".")[2].lower()
    if kind in ("svg", "png", "pdf"):
        advice = f"draw it with 'dot -T{kind} {target}'" + (", or pass --svg" if kind == "svg" else "")
        warnings.warn(f"{target} holds text in the DOT language, not a picture; {advice}", stacklevel=2)


@app.command(cls=Program)
def info(
    source: Source = "",
    arc_filter: Annotated[
        str, typer.Option(help="Arcs to follow for components and accessibility: any, epsilon, iepsilon or oepsilon.")
    ] = "any",
    info_type: Annotated[str, typer.Option(help="Amount of detail: auto, long, short or fast.")] = "auto",
    test_properties: Annotated[bool, typer.Option(help="Compute properties that are not known.")] = True,
    fst_verify: Annotated[bool, typer.Option(help="Check the machine first.")] = True,
    json: Json = False,
) -> None:
    """Describe a machine: type, symbols, sizes, components, properties.

    Example: textmill fst info --info_type=short a.fst
    """
    from textmill.cli._fst_info import facts

    rows = facts(source, arc_filter, info_type, test=test_properties, verify=fst_verify)
    if json:
        files.write_text(json_page(rows) + "\n", "")
        return
    shown = {None: "?", True: "y", False: "n"}
    lines = (
        f"{name:<50}{shown[value] if value is None or isinstance(value, bool) else _number(value)}\n"
        for name, value in rows.items()
    )
    files.write_text("".join(lines), "")


@app.command(cls=Program)
def convert(source: Source = "", target: Target = "", fst_type: FstType = "vector") -> None:
    """Convert a machine to another file type.

    Example: textmill fst convert --fst_type=const --fst_align a.fst a.const
    """
    files.write_machine(files.read_machine(source), target, fst_type)


@app.command(cls=Program)
@machines
def symbols(
    fst: "Fst",
    isymbols: Annotated[str, typer.Option(help="Give the machine this table of input symbols.")] = "",
    osymbols: Annotated[str, typer.Option(help="Give the machine this table of output symbols.")] = "",
    clear_isymbols: Annotated[bool, typer.Option(help="Remove the table of input symbols.")] = False,
    clear_osymbols: Annotated[bool, typer.Option(help="Remove the table of output symbols.")] = False,
    relabel_ipairs: Annotated[str, typer.Option(help="File with old and new keys of input symbols.")] = "",
    relabel_opairs: Annotated[str, typer.Option(help="File with old and new keys of output symbols.")] = "",
    save_isymbols: Annotated[str, further_output("Write the input symbols of the machine to this file.")] = "",
    save_osymbols: Annotated[str, further_output("Write the output symbols of the machine to this file.")] = "",
    verify: Annotated[bool, typer.Option(help="Check that every label has a symbol.")] = False,
) -> "Fst":
    """Set, save, remove or renumber the symbol tables of a machine; its arcs stay the same.

    Example: textmill fst symbols --clear_isymbols --save_osymbols=out.syms a.fst plain.fst
    """
    from textmill.fst.compare import verify as check

    _save_symbols(fst, save_isymbols, save_osymbols)
    relabeled = fst.copy()
    if isymbols:
        relabeled.input_symbols = files.read_symbols(isymbols)
    elif clear_isymbols:
        relabeled.input_symbols = None
    elif relabel_ipairs:
        relabeled.input_symbols = _with_keys(fst.input_symbols, files.read_pairs(relabel_ipairs), "input")
    if osymbols:
        relabeled.output_symbols = files.read_symbols(osymbols)
    elif clear_osymbols:
        relabeled.output_symbols = None
    elif relabel_opairs:
        relabeled.output_symbols = _with_keys(fst.output_symbols, files.read_pairs(relabel_opairs), "output")
    if verify:
        check(relabeled)
    return relabeled


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _with_keys(table: "SymbolTable | None", pairs: dict[int, int], side: str) -> "SymbolTable":
    """The same symbols with other keys."""
    from textmill.errors import DataError
    from textmill.fst.symbols import SymbolTable

    if table is None:
        raise DataError(f"the machine has no table of {side} symbols; give it one with --{side[0]}symbols")
    table_with_keys = SymbolTable(name=f"relabeled_{table.name}")
    for key, symbol in table.items():
        table_with_keys.add(symbol, pairs.get(key, key))
    return table_with_keys


def _save_symbols(fst: "Fst", inputs: str, outputs: str) -> None:
    """Write the tables of a machine where that is asked for."""
    from textmill.errors import DataError

    for side, table, name in (("input", fst.input_symbols, inputs), ("output", fst.output_symbols, outputs)):
        if name:
            if table is None:
                raise DataError(f"the machine has no table of {side} symbols to save in {name}")
            table.write(name)

"""Archives of machines (FAR): many machines in one file, each under a key."""

from __future__ import annotations

import heapq
import os
import tempfile
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Comparison, Program
from textmill.cli._json import json_page
from textmill.cli._options import Json
from textmill.cli._outputs import check_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textmill.fst import Archive, Fst, SymbolTable

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_COLUMNS = ("key", "type", "# of states", "# of arcs", "# of final states")
_Archive = Annotated[str, typer.Argument(metavar="IN.FAR", help="An archive.")]
BeginKey = Annotated[str, typer.Option(help="First key to use; default: the first of the archive.")]
EndKey = Annotated[str, typer.Option(help="Last key to use; default: the last of the archive.")]
Delta = Annotated[float, typer.Option(help="Weights that differ by less are equal.")]
EntryType = Annotated[str, typer.Option(help="line (one string per line) or file (one string per file).")]
FarType = Annotated[str, typer.Option(help="Type of the archive: default, sttable or stlist.")]
FileList = Annotated[bool, typer.Option(help="Inputs are lists of file names, one per line.")]
FilenamePrefix = Annotated[str, typer.Option(help="Prefix for every file name.")]
FilenameSuffix = Annotated[str, typer.Option(help="Suffix for every file name.")]
GenerateFilenames = Annotated[
    int, typer.Option(min=0, max=100, help="Name files by numbers with this many digits; 0: by their keys.")
]
GenerateKeys = Annotated[
    int, typer.Option(min=0, max=100, help="Use numbers with this many digits as keys; 0: file names.")
]
KeyPrefix = Annotated[str, typer.Option(help="Prefix for every key.")]
KeySuffix = Annotated[str, typer.Option(help="Suffix for every key.")]
TokenType = Annotated[str, typer.Option(help="What labels stand for: symbol, byte or utf8.")]
Archives = Annotated[list[str] | None, typer.Argument(metavar="IN.FAR...", help="Archives; none for stdin.")]


@app.command(cls=Program)
def create(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="IN.FST [IN.FST ... OUT.FAR]", help="Machines, then the archive.")
    ] = None,
    far_type: FarType = "default",
    file_list_input: FileList = False,
    generate_keys: GenerateKeys = 0,
    key_prefix: KeyPrefix = "",
    key_suffix: KeySuffix = "",
) -> None:
    """Put machines into an archive; keys are the names of their files.

    Example: textmill fst far create a.fst b.fst all.far
    """
    sources, target = _split(arguments)
    check_output(target)
    names = _listed(sources) if file_list_input else sources
    machines = {
        f"{key_prefix}{_key(name, number, generate_keys)}{key_suffix}": files.read_machine(name)
        for number, name in enumerate(names, 1)
    }
    _write(machines, len(names), target, far_type)


@app.command(cls=Program)
def extract(
    archives: Archives = None,
    filename_prefix: FilenamePrefix = "",
    filename_suffix: FilenameSuffix = "",
    generate_filenames: GenerateFilenames = 0,
    keys: Annotated[str, typer.Option(help="Keys and ranges of keys, such as a,c-f; default: all.")] = "",
    key_separator: Annotated[str, typer.Option(help="Separator between keys.")] = ",",
    range_delimiter: Annotated[str, typer.Option(help="Separator between the ends of a range.")] = "-",
) -> None:
    """Write the machines of archives to files called by their keys.

    Example: textmill fst far extract --filename_suffix=.fst all.far
    """
    wanted = [_range(part, range_delimiter) for part in keys.split(key_separator)] if keys else [("", "")]
    number = 0
    for first, last in wanted:
        for archive, key in _members(archives, first, last):
            number += 1
            name = f"{number:0{generate_filenames}d}" if generate_filenames > 0 else _file_name(key)
            files.write_machine(archive[key], f"{filename_prefix}{name}{filename_suffix}")


@app.command(cls=Program)
def info(
    archives: Archives = None,
    begin_key: BeginKey = "",
    end_key: EndKey = "",
    list_fsts: Annotated[bool, typer.Option(help="Print one line per machine.")] = False,
    json: Json = False,
) -> None:
    """Describe archives.

    Example: textmill fst far info --list_fsts all.far
    """
    rows: list[tuple[str, str, int, int, int]] = []
    kinds: list[tuple[str, str]] = []
    for archive, key in _members(archives, begin_key, end_key):
        fst, (fst_type, arc_type) = archive[key], archive.types(key)
        finals = sum(map(fst.is_final, range(fst.num_states)))
        rows.append((key, fst_type, fst.num_states, fst.num_arcs, finals))
        kinds.append((archive.far_type, arc_type))
    far_type, arc_type = kinds[0] if kinds else ("unknown", "unknown")
    totals = {
        "far type": far_type,
        "arc type": arc_type,
        "fst type": ",".join(sorted({row[1] for row in rows})),
        "# of FSTs": len(rows),
        **{f"total {name}": sum(int(row[i]) for row in rows) for i, name in enumerate(_COLUMNS) if i >= 2},
    }
    if json:
        shown = [dict(zip(_COLUMNS, row, strict=True)) for row in rows] if list_fsts else totals
        files.write_text(json_page(shown) + "\n", "")
    elif list_fsts:
        width = max([10, *(len(row[0]) + 2 for row in rows)])
        form = f"{{:<{width}}}{{:<10}}{{:>14}}{{:>12}}{{:>20}}\n"
        files.write_text("".join(form.format(*row) for row in (_COLUMNS, *rows)), "")
    else:
        files.write_text("".join(f"{name:<50}{value}\n" for name, value in totals.items()), "")


@app.command(cls=Program)
def compilestrings(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="IN.TXT [IN.TXT ... OUT.FAR]", help="Texts, then the archive.")
    ] = None,
    arc_type: Annotated[
        str, typer.Option(help="Arc type: standard, log, log64, or the name of another semiring.")
    ] = "standard",
    entry_type: EntryType = "line",
    far_type: FarType = "default",
    file_list_input: FileList = False,
    fst_type: Annotated[str, typer.Option(help="Type of the machines: vector.")] = "vector",
    generate_keys: GenerateKeys = 0,
    initial_symbols: Annotated[
        bool, typer.Option(help="With --keep_symbols: keep them only in the first machine.")
    ] = True,
    keep_symbols: Annotated[bool, typer.Option(help="Keep the symbols in the archive.")] = False,
    key_prefix: KeyPrefix = "",
    key_suffix: KeySuffix = "",
    symbols: Annotated[str, typer.Option(help="File with the table of symbols.")] = "",
    token_type: TokenType = "symbol",
    unknown_symbol: Annotated[
        str, typer.Option(help="Symbol for words that are not in the table; default: such words are an error.")
    ] = "",
) -> None:
    """Compile each line, or each file, to a machine, and put the machines into an archive.

    Example: textmill fst far compilestrings --token_type=utf8 words.txt words.far
    """
    from textmill.errors import DataError
    from textmill.model import check_choice

    check_choice("entry_type", entry_type, ["line", "file"])
    check_choice("fst_type", fst_type, ["vector"])
    table = files.read_symbols(symbols)
    sources, target = _split(arguments)
    check_output(target)
    machines: dict[str, Fst] = {}
    count = 0
    for name in _listed(sources) if file_list_input else sources:
        for place, text in _strings(name, entry_type):
            count += 1
            try:
                fst = _string_machine(text, token_type, table, unknown_symbol, files.semiring_of(arc_type))
            except DataError as fault:
                raise DataError(fault.message, source=name or "standard input", line=int(place or 1)) from None
            if keep_symbols and not (initial_symbols and count > 1):
                fst.input_symbols = fst.output_symbols = table
            key = _key(name, count, generate_keys) + (f"-{place}" if place and not generate_keys else "")
            machines[f"{key_prefix}{key}{key_suffix}"] = fst
    _write(machines, count, target, far_type)


@app.command(cls=Program)
def printstrings(
    archives: Archives = None,
    begin_key: BeginKey = "",
    end_key: EndKey = "",
    entry_type: EntryType = "line",
    filename_prefix: FilenamePrefix = "",
    filename_suffix: FilenameSuffix = "",
    generate_filenames: GenerateFilenames = 0,
    initial_symbols: Annotated[bool, typer.Option(help="Use the symbols of the first machine for all.")] = True,
    print_key: Annotated[bool, typer.Option(help="Print the key before each string.")] = False,
    print_weight: Annotated[bool, typer.Option(help="Print the weight after each string.")] = False,
    symbols: Annotated[str, typer.Option(help="File with the table of symbols.")] = "",
    token_type: TokenType = "symbol",
) -> None:
    """Print the strings of machines that hold one string each.

    Example: textmill fst far printstrings --token_type=utf8 --print_key words.far
    """
    from textmill.errors import DataError
    from textmill.model import check_choice

    check_choice("entry_type", entry_type, ["line", "file"])
    table, first = files.read_symbols(symbols), None
    lines = []
    for number, (archive, key) in enumerate(_members(archives, begin_key, end_key), 1):
        fst = archive[key]
        first = first or fst.output_symbols if initial_symbols else fst.output_symbols
        try:
            text, weight = _string(fst, token_type, table or first)
        except DataError as fault:
            raise DataError(f"machine {key!r}: {fault.message}", source=archive.path) from None
        if entry_type == "line":
            lines.append("\t".join([key] * print_key + [text] + [weight] * print_weight) + "\n")
        else:
            name = f"{number:0{generate_filenames}d}" if generate_filenames > 0 else _file_name(key)
            files.write_text(text, f"{filename_prefix}{name}{filename_suffix}")
    files.write_text("".join(lines), "")


@app.command(cls=Comparison)
def equal(
    first: _Archive, second: _Archive, begin_key: BeginKey = "", end_key: EndKey = "", delta: Delta = 1 / 1024
) -> None:
    """Exit with 0 if two archives have equal machines under the same keys, with 2 if not.

    Example: textmill fst far equal a.far b.far
    """
    from textmill.fst import compare

    _compare(first, second, begin_key, end_key, lambda a, b: compare.equal(a, b, delta=delta))


@app.command(cls=Comparison)
def isomorphic(
    first: _Archive, second: _Archive, begin_key: BeginKey = "", end_key: EndKey = "", delta: Delta = 1 / 1024
) -> None:
    """Exit with 0 if two archives have isomorphic machines under the same keys, with 2 if not.

    Example: textmill fst far isomorphic a.far b.far
    """
    from textmill.fst import compare

    _compare(first, second, begin_key, end_key, lambda a, b: compare.isomorphic(a, b, delta=delta))


def _compare(first: str, second: str, begin: str, end: str, same: Callable[[Fst, Fst], bool]) -> None:
    """Exit with 2 at the first difference, and say what it is."""
    a, b = _opened([first, second])
    for key, other in zip_longest(_keys(a, begin, end), _keys(b, begin, end)):
        if key != other:
            typer.echo(f"textmill: the archives have different keys, {key!r} and {other!r}", err=True)
            raise typer.Exit(files.DIFFERENT)
        if not same(a[key], b[key]):
            typer.echo(f"textmill: the machines under {key!r} differ", err=True)
            raise typer.Exit(files.DIFFERENT)


def _split(arguments: list[str] | None) -> tuple[list[str], str]:
    """Inputs and output of a command: the last of several arguments is the output."""
    names = arguments or [""]
    return (names[:-1], names[-1]) if len(names) > 1 else (names, "")


def _listed(sources: list[str]) -> list[str]:
    """The file names that are listed in files."""
    return [" ".join(fields) for source in sources for _, fields in files.lines(source)]


def _key(name: str, number: int, digits: int) -> str:
    """The key of a machine: the name of its file, or its number."""
    from textmill.errors import DataError

    if digits > 0:
        return f"{number:0{digits}d}"
    if files.is_stream(name):
        raise DataError("what comes from standard input has no name for a key; name a file, or pass --generate_keys=4")
    return os.path.basename(name)


def _write(machines: dict[str, Fst], count: int, target: str, far_type: str) -> None:
    """Write an archive; a list, which needs no positions, to standard output."""
    from textmill.errors import DataError
    from textmill.fst.archives import write_archive

    if len(machines) < count:
        raise DataError("two machines have the same key; pass --generate_keys=4")
    stream = files.is_stream(target)
    kind = ("stlist" if stream else "sttable") if far_type == "default" else far_type
    if not stream:
        write_archive(target, machines, far_type=kind)
        return
    files.refuse_terminal("an archive")
    with tempfile.TemporaryDirectory(prefix="textmill-") as folder:
        write_archive(os.path.join(folder, "far"), machines, far_type=kind)
        files.write_bytes(files.read_bytes(os.path.join(folder, "far")), "")


def _opened(names: list[str] | None) -> Iterator[Archive]:
    from textmill.fst.archives import Archive

    for name in names or [""]:
        with files.local_copy(name) as path:
            yield Archive(path)


def _members(names: list[str] | None, begin: str, end: str) -> Iterator[tuple[Archive, str]]:
    """The keys of archives in their order, with their archives."""
    opened = list(_opened(names))
    keys = [[(key, i) for key in _keys(archive, begin, end)] for i, archive in enumerate(opened)]
    return ((opened[i], key) for key, i in heapq.merge(*keys))


def _keys(archive: Archive, begin: str, end: str) -> list[str]:
    """The keys from one to another."""
    return [key for key in archive if begin <= key and (not end or key <= end)]


def _range(text: str, delimiter: str) -> tuple[str, str]:
    """First and last key of `a` or `a-c`."""
    from textmill.errors import DataError

    ends = text.split(delimiter) if delimiter else [text]
    if len(ends) > 2 or not all(ends):
        raise DataError(f"{text!r} is no range of keys; write it as a{delimiter}c, or choose --range_delimiter")
    return ends[0], ends[-1]


def _file_name(key: str) -> str:
    """The key as a file name, if it is one."""
    from textmill.errors import DataError

    if "/" in key or key in (".", "..") or "\0" in key:
        raise DataError(f"the key {key!r} is no file name; pass --generate_filenames=4")
    return key


def _strings(name: str, entry_type: str) -> Iterator[tuple[str, str]]:
    """The strings of a file, with their line numbers if there are several."""
    text = files.read_bytes(name).decode("utf-8", "surrogateescape")
    if entry_type == "file":
        yield "", text
        return
    rows = text.removesuffix("\n").split("\n") if text else []
    for number, row in enumerate(rows, 1):
        yield f"{number:0{len(str(len(rows)))}d}", row


def _string_machine(text: str, token_type: str, table: SymbolTable | None, unknown: str, algebra: str) -> Fst:
    """The acceptor of a string; words are numbers without a table."""
    from textmill.errors import DataError
    from textmill.fst.machine import Fst
    from textmill.fst.strings import labels_of

    if token_type == "symbol" and table is None:
        words = text.split()
        if not all(word.isdecimal() and int(word) <= files.MOST for word in words):
            raise DataError("without --symbols the words of a string are labels, as numbers")
        labels = list(map(int, words))
    elif token_type == "symbol" and unknown and table is not None:
        labels = [table.key(word if word in table else unknown) for word in text.split()]
    else:
        labels = labels_of(text, token_type, table)
    states = list(range(len(labels) + 1))
    return Fst.from_arrays(
        algebra, start=0, sources=states[:-1], ilabels=labels, olabels=labels, nextstates=states[1:],
        final_states=states[-1:],
    )  # fmt: skip


def _string(fst: Fst, token_type: str, table: SymbolTable | None) -> tuple[str, str]:
    """What the one path of a machine writes, and its weight."""
    from textmill.errors import DataError
    from textmill.fst.strings import text_of

    if not fst.has("string"):
        raise DataError("it holds more than one string; take the best with 'textmill fst shortestpath'")
    state, labels, weight = fst.start, [], fst.semiring.one
    while fst.num_arcs_of(state):
        _, label, cost, state = fst.arcs(state)[0]
        labels.append(label)
        weight = fst.semiring.times(weight, cost)
    written = [label for label in labels if label]
    weight = fst.semiring.format(fst.semiring.times(weight, fst.final(state)))
    if token_type == "symbol" and table is None:
        return " ".join(map(str, written)), weight
    return text_of(written, token_type, table), weight

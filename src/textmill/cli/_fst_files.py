"""Machines, tables and text of `textmill fst` in files and pipes; - and nothing are standard input and output."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textmill.cli._fst_program import settings

if TYPE_CHECKING:
    from textmill.fst import Fst, SymbolTable

__all__ = [
    "DIFFERENT",
    "MOST",
    "is_stream",
    "lines",
    "local_copy",
    "read_bytes",
    "read_machine",
    "read_machines",
    "read_pairs",
    "read_rules",
    "read_symbols",
    "refuse_terminal",
    "semiring_of",
    "weight_of",
    "write_bytes",
    "write_machine",
    "write_text",
]

MOST = 2**31 - 1  # the largest label, number of paths and length of one
DIFFERENT = 2  # exit status of verbs that compare
_SEMIRINGS = {"standard": "tropical", "real64": "real"}  # where the type of arcs in files differs from our name


def is_stream(name: str) -> bool:
    """Does the name mean standard input or output?"""
    return name in ("", "-")


def read_bytes(name: str) -> bytes:
    """All bytes of a file or of standard input."""
    return sys.stdin.buffer.read() if is_stream(name) else Path(name).read_bytes()


def read_machine(name: str) -> Fst:
    """A machine from a binary file or from standard input."""
    from textmill.errors import DataError
    from textmill.fst.formats import from_bytes, read_fst

    if not is_stream(name):
        return read_fst(name, map_file=settings.get().map_files)
    content = read_bytes(name)
    if not content:
        raise DataError("is empty; name a file, or pipe a binary machine into the command", source="standard input")
    return from_bytes(content, source="standard input")


def read_machines(names: Sequence[str]) -> list[Fst]:
    """Machines from files; one of them may come from standard input."""
    from textmill.errors import DataError

    if sum(map(is_stream, names)) > 1:
        raise DataError("only one of the machines can come from standard input; name a file for the others")
    return [read_machine(name) for name in names]


def write_machine(fst: Fst, name: str, fst_type: str = "vector") -> None:
    """Write a machine as a binary file or to standard output."""
    from textmill.fst.formats import to_bytes, write_fst

    align = settings.get().align
    if not is_stream(name):
        write_fst(fst, name, fst_type=fst_type, align=align)
    else:
        refuse_terminal("a binary machine")
        write_bytes(to_bytes(fst, fst_type=fst_type, align=align), name)


def refuse_terminal(what: str) -> None:
    """An error if standard output is a terminal."""
    from textmill.errors import DataError

    if sys.stdout.isatty():
        raise DataError(f"{what} is not for the terminal; name an output file, or pipe it into 'textmill fst print'")


def write_bytes(content: bytes, name: str) -> None:
    """Write bytes to a file, whole or not at all, or to standard output."""
    from textmill.files import replacing

    if is_stream(name):
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        with replacing(name) as file:
            file.write(content)


def write_text(text: str, name: str) -> None:
    """Write text; symbols that are not UTF-8 keep their bytes."""
    if is_stream(name) and not hasattr(sys.stdout, "buffer"):
        sys.stdout.write(text)
    else:
        write_bytes(text.encode("utf-8", "surrogateescape"), name)


def read_symbols(name: str) -> SymbolTable | None:
    """A table of symbols, called like its file as OpenFst does; None without a name."""
    from textmill.fst.symbols import SymbolTable

    if not name:
        return None
    separators = settings.get().separators
    table = SymbolTable.read(name, separator=None if separators == "\t " else separators)
    table.name = table.name or name
    return table


def read_pairs(name: str) -> dict[int, int]:
    """Pairs of labels from a text file: an old and a new one per line."""
    from textmill.errors import DataError

    pairs: dict[int, int] = {}
    for number, fields in lines(name):
        if len(fields) != 2 or not all(field.isdecimal() and int(field) <= MOST for field in fields):
            raise DataError("a line of label pairs has an old and a new label, such as '3 7'", source=name, line=number)
        pairs[int(fields[0])] = int(fields[1])
    return pairs


def read_rules(arguments: Sequence[str]) -> tuple[dict[int, Fst], int, str]:
    """Machines by their labels, the label of the first, and the file to write: machines with labels, then that file."""
    import typer

    from textmill.cli._outputs import check_output
    from textmill.errors import DataError

    if len(arguments) < 2:
        raise typer.BadParameter("every machine is followed by its label, as in: root.fst 100 rule.fst 101")
    target = arguments[-1] if len(arguments) % 2 else ""
    check_output(target)
    names, labels = arguments[: len(arguments) // 2 * 2 : 2], arguments[1::2]
    for label in labels:
        if not label.isdecimal() or int(label) > MOST:
            raise typer.BadParameter(f"{label!r} stands where the label of a machine, a number, is expected")
    if len(set(map(int, labels))) < len(labels):
        raise DataError("every machine has a label of its own, but two have the same")
    return dict(zip(map(int, labels), read_machines(names), strict=True)), int(labels[0]), target


def lines(name: str) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of the lines of a text file that are not empty."""
    text = read_bytes(name).decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.split()


def semiring_of(arc_type: str) -> str:
    """The name of the semiring of a type of arcs."""
    return _SEMIRINGS.get(arc_type, arc_type)


def weight_of(fst: Fst, text: str, flag: str = "weight") -> Any:
    """The weight that the value of a flag means; None without a value."""
    from textmill.errors import DataError

    if not text:
        return None
    try:
        return fst.semiring.parse(text)
    except DataError as fault:
        raise DataError(f"--{flag}={text}: {fault.message}") from None


@contextlib.contextmanager
def local_copy(name: str) -> Iterator[str]:
    """The name of a file; standard input is copied into one that lasts as long as the block."""
    import tempfile

    if not is_stream(name):
        yield name
        return
    with tempfile.NamedTemporaryFile(prefix="textmill-") as file:
        file.write(read_bytes(name))
        file.flush()
        yield file.name

"""Machines as files: OpenFst's text and its binary types vector, const and compact.

    text      source destination input output [weight]      an arc (one label for an acceptor)
              state [weight]                                a final state; the first source is the start
    binary    header, symbol tables, then states and arcs; const files that are aligned are mapped, not read

Text is parsed at one pass of the native core, and files are written in chunks, so that none lies in memory beside its
machine. A file is replaced whole or not at all. A mapped machine is open in O(header); its records are checked in
parallel before the first operation follows them. Text and vector files read and written again have the same bytes.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.files import replacing
from textmill.fst.composite import composite_from_bytes, composite_to_bytes
from textmill.fst.foreign import foreign_machine
from textmill.fst.machine import Fst
from textmill.fst.semirings import Semiring, semiring
from textmill.fst.symbols import SymbolTable

__all__ = [
    "compile_text",
    "file_types",
    "from_bytes",
    "print_text",
    "read_fst",
    "read_text",
    "to_bytes",
    "write_fst",
    "write_text",
]

_MAGIC = 2125659606


def compile_text(
    text: str | bytes,
    *,
    semiring_name: str | Semiring = "tropical",
    acceptor: bool = False,
    input_symbols: SymbolTable | None = None,
    output_symbols: SymbolTable | None = None,
    state_symbols: SymbolTable | None = None,
    keep_state_numbering: bool = False,
    separators: str = "\t ",
    source: str = "text",
) -> Fst:
    r"""The machine that a text describes. The tables are kept with it.

    Any number of `separators`, characters of one byte each, stand between two fields; with tabs alone symbols may have
    blanks in them.

    >>> compile_text("0 1 1 2 0.5\n1 3.5\n").final(1)
    3.5
    >>> compile_text("0;1;1;2\n1;3.5\n", separators=";").final(1)
    3.5
    """
    content = text.encode() if isinstance(text, str) else text
    if acceptor and output_symbols is None:
        output_symbols = input_symbols
    try:
        machine = native.read_text(
            content,
            semiring(semiring_name)._native,
            acceptor=acceptor,
            input=_table(input_symbols),
            output=_table(output_symbols),
            states=_table(state_symbols),
            keep_numbers=keep_state_numbering,
            separators=_one_byte_each(separators),
        )
    except DataError as fault:
        place, _, message = fault.message.partition(": ")
        line, _, field = place.partition(":")
        if not (line.isdigit() and field.isdigit()):
            raise
        raise DataError(message, source=source, line=int(line), column=f"field {field}") from None
    return Fst._of(machine, input_symbols, output_symbols)


def print_text(
    fst: Fst,
    *,
    acceptor: bool = False,
    input_symbols: SymbolTable | None = None,
    output_symbols: SymbolTable | None = None,
    state_symbols: SymbolTable | None = None,
    numeric: bool = False,
    show_weight_one: bool = False,
    missing_symbol: str = "",
    separator: str = "\t",
) -> str:
    r"""The text of a machine, with the symbols of its tables unless `numeric`.

    >>> print_text(compile_text("0 1 1 2 0.5\n1 3.5\n"))
    '0\t1\t1\t2\t0.5\n1\t3.5\n'
    """
    chunks = io.BytesIO()
    _print(
        fst,
        chunks.write,
        acceptor=acceptor,
        input_symbols=input_symbols,
        output_symbols=output_symbols,
        state_symbols=state_symbols,
        numeric=numeric,
        show_weight_one=show_weight_one,
        missing_symbol=missing_symbol,
        separator=separator,
    )
    return str(chunks.getbuffer(), "utf-8", "surrogateescape")


def read_text(path: str | os.PathLike[str], **options: Any) -> Fst:
    r"""Read a text file; options as in `compile_text`.

    >>> _ = Path("m.txt").write_text("0 1 1 1\n1\n"); read_text("m.txt")
    Fst('tropical', 2 states, 1 arcs)
    """
    return compile_text(Path(path).read_bytes(), source=os.fspath(path), **options)


def write_text(fst: Fst, path: str | os.PathLike[str], **options: Any) -> None:
    r"""Write a text file; options as in `print_text`.

    >>> write_text(compile_text("0 1 1 1\n1\n"), "m.txt"); Path("m.txt").read_text()
    '0\t1\t1\t1\n1\n'
    """
    with replacing(path) as file:
        _print(fst, file.write, **options)


def from_bytes(content: bytes | NDArray[np.uint8], *, source: str = "bytes") -> Fst:
    r"""The machine of a binary file.

    >>> from_bytes(to_bytes(compile_text("0 1 1 1\n1\n")))
    Fst('tropical', 2 states, 1 arcs)
    """
    buffer = np.frombuffer(content, dtype=np.uint8) if isinstance(content, bytes) else content
    return _parse(buffer, 0, source, map_arrays=False)[0]


def to_bytes(fst: Fst, *, fst_type: str = "vector", align: bool = False) -> bytes:
    r"""A machine as a binary file of OpenFst: `fst_type` "vector", "const", or one of the compact types.

    These are compact_string, compact_weighted_string, compact_acceptor, compact_unweighted_acceptor and
    compact_unweighted; const8, const16, const64, compact8_acceptor, ... have indexes of another width. Composite
    weights are written as vector, where OpenFst has a name for them (`fst.composite`).

    >>> len(to_bytes(compile_text("0 1 97 120 .5\n0 1 98 121 1.5\n1 2 99 122 2.5\n2 3.5\n")))
    150
    """
    chunks = io.BytesIO()
    _write(fst, chunks.write, fst_type, align)
    return chunks.getvalue()


def read_fst(path: str | os.PathLike[str], *, map_file: bool = True) -> Fst:
    r"""Read a binary file. Aligned const machines stay in the file if it may be mapped.

    >>> write_fst(compile_text("0 1 1 1\n1\n"), "m.fst", fst_type="const", align=True); read_fst("m.fst").is_mapped
    True
    """
    name = os.fspath(path)
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise DataError("the file is empty", source=name)
    if map_file and os.path.isfile(path):
        buffer: NDArray[np.uint8] = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    else:
        buffer = np.frombuffer(Path(path).read_bytes(), dtype=np.uint8)
    return _parse(buffer, 0, name, map_arrays=map_file)[0]


def write_fst(fst: Fst, path: str | os.PathLike[str], *, fst_type: str = "vector", align: bool = False) -> None:
    r"""Write a binary file, with the symbol tables of the machine.

    >>> write_fst(compile_text("0 1 1 1\n1\n"), "m.fst"); read_fst("m.fst").num_arcs
    1
    """
    with replacing(path) as file:
        _write(fst, file.write, fst_type, align)


def _print(
    fst: Fst,
    write: Callable[[bytes], object],
    *,
    acceptor: bool = False,
    input_symbols: SymbolTable | None = None,
    output_symbols: SymbolTable | None = None,
    state_symbols: SymbolTable | None = None,
    numeric: bool = False,
    show_weight_one: bool = False,
    missing_symbol: str = "",
    separator: str = "\t",
) -> None:
    """Hand the text of a machine to `write`, chunk by chunk."""
    native.write_text(
        fst._native,
        acceptor=acceptor,
        input=None if numeric else _table(fst.input_symbols if input_symbols is None else input_symbols),
        output=None if numeric else _table(fst.output_symbols if output_symbols is None else output_symbols),
        states=_table(state_symbols),
        show_one=show_weight_one,
        missing=missing_symbol,
        separator=_one_byte_each(separator or "\0")[:1],  # as OpenFst has it
        write=write,
    )


def _write(fst: Fst, write: Callable[[bytes], object], fst_type: str = "vector", align: bool = False) -> int:
    """Hand the binary file of a machine to `write`, chunk by chunk; how many bytes it has."""
    if fst.semiring.is_composite and fst_type == "vector":
        content = composite_to_bytes(fst)
        write(content)
        return len(content)
    tables = _table(fst.input_symbols), _table(fst.output_symbols)
    return int(native.write_binary(fst._native, fst_type, align, *tables, write))


def file_types(content: bytes | NDArray[np.uint8], offset: int = 0, *, source: str = "bytes") -> tuple[str, str]:
    r"""Type of the machine and of its arcs, from the head of a binary file.

    >>> file_types(to_bytes(compile_text("0 1 1 1\n1\n"), fst_type="const"))
    ('const', 'standard')
    """
    head = bytes(content[offset : offset + 1024])
    try:
        magic, size = struct.unpack_from("<ii", head)
        (more,) = struct.unpack_from("<i", head, 8 + size)
    except struct.error:
        magic = size = more = 0
    if magic != _MAGIC:
        raise DataError("not a binary machine: its head is another", source=source)
    fst_type, arc_type = head[8 : 8 + size], head[12 + size : 12 + size + more]
    return fst_type.decode("utf-8", "replace"), arc_type.decode("utf-8", "replace")


def _parse(buffer: NDArray[np.uint8], offset: int, source: str, *, map_arrays: bool) -> tuple[Fst, int]:
    """The machine at an offset, and where it ends."""
    try:
        machine, end, inputs, outputs = native.read_binary(buffer, offset, map_arrays)
    except DataError as fault:
        if fault.message.startswith("arcs of type"):
            return _parse_composite(buffer, offset, source)
        message = fault.message
        if offset == 0 and message.startswith("not a binary machine of OpenFst"):
            message = f"not a binary machine but {foreign_machine(buffer[:1024].tobytes())}"
        raise DataError(message, source=source) from None
    tables = [None if table is None else SymbolTable._of(table) for table in (inputs, outputs)]
    return Fst._of(machine, *tables), int(end)


def _parse_composite(buffer: NDArray[np.uint8], offset: int, source: str) -> tuple[Fst, int]:
    try:
        machine, end = composite_from_bytes(buffer[offset:].tobytes())
    except DataError as fault:
        raise DataError(fault.message, source=source) from None
    return machine, offset + end


def _one_byte_each(separators: str) -> str:
    if not separators.isascii() or "\n" in separators:
        raise DataError(f"fields cannot be separated by {separators!r}; choose ASCII characters that do not end a line")
    return separators


def _table(symbols: SymbolTable | None) -> native.SymbolTable | None:
    return None if symbols is None else symbols._native

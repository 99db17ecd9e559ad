"""Labels and weights of arcs as single labels, so that other operations can treat them as one.

    code        (input label, output label, weight) -> 1, 2, 3, ...       output label 0, weight one if not encoded
    final       of a machine whose weights are encoded: an arc with the code (-1, -1, weight) to one final state

Files are those of OpenFst:  int32 2128178506, arc type, uint8 flags (1 labels, 2 weights, 4 and 8 symbol tables of
input and output), int64 count, then int32 input label, int32 output label and weight of each code, then the tables.
O(states + arcs).
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.files import replacing
from textmill.fst.machine import Fst
from textmill.fst.semirings import Semiring, Weight, semiring
from textmill.fst.symbols import SymbolTable

__all__ = ["Encoder", "decode", "encode"]

_MAGIC = 2128178506
_LABELS, _WEIGHTS, _INPUT, _OUTPUT = 1, 2, 4, 8
_ARC_TYPES = {  # of semirings whose weights are single numbers
    "tropical": "standard",
    "tropical64": "tropical64",
    "log": "log",
    "log64": "log64",
    "real": "real64",
    "minmax": "minmax",
}


class Encoder:
    """A table of codes, made by `encode`; codes count from 1. A final weight has the labels -1.

    It keeps the symbol tables of the machine that was encoded, for `decode`.

    >>> from textmill.fst.formats import compile_text
    >>> _, encoder = encode(compile_text("0 1 5 7 .5\\n1"), labels=True)
    >>> encoder.codes()
    [(5, 7, 0.0)]
    """

    __slots__ = ("_native", "input_symbols", "output_symbols")

    def __init__(self, semiring_name: str | Semiring, *, labels: bool, weights: bool) -> None:
        if not labels and not weights:
            raise DataError("encode labels, weights or both")
        self._native = native.Encoder(semiring(semiring_name)._native, labels, weights)
        self.input_symbols: SymbolTable | None = None
        self.output_symbols: SymbolTable | None = None

    @property
    def labels(self) -> bool:
        """Are output labels encoded?"""
        return bool(self._native.flags[0])

    @property
    def weights(self) -> bool:
        """Are weights encoded?"""
        return bool(self._native.flags[1])

    def codes(self) -> Sequence[tuple[int, int, Weight]]:
        """Input label, output label and weight of each code.

        >>> Encoder("tropical", labels=True, weights=False).codes()
        []
        """
        return list(self._native.codes())

    def __len__(self) -> int:
        return len(self._native)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table as OpenFst does; for semirings without a binary form as JSON lines, with weights as text.

        >>> Encoder("tropical", labels=True, weights=False).write("codes"); len(Encoder.read("codes"))
        0
        """
        with replacing(path) as file:
            file.write(_to_bytes(self) if Semiring(self._native.semiring).name in _ARC_TYPES else _to_lines(self))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Encoder:
        """Read a table.

        >>> Encoder("log64", labels=True, weights=True).write("codes"); Encoder.read("codes").weights
        True
        """
        content = Path(path).read_bytes()
        try:
            return _from_bytes(content) if content[:4] == struct.pack("<i", _MAGIC) else _from_lines(content)
        except (IndexError, KeyError, RecursionError, TypeError, ValueError, struct.error) as fault:
            message = fault.message if isinstance(fault, DataError) else str(fault)
            raise DataError(f"not a table of codes: {message}", source=os.fspath(path)) from None

    def _add(self, codes: Iterable[tuple[int, int, Weight]]) -> None:
        """Add codes that a file holds."""
        for number, (ilabel, olabel, weight) in enumerate(codes, 1):
            if min(ilabel, olabel) < 0 and not ilabel == olabel == -1:
                raise DataError(f"code {number} has the labels {ilabel} and {olabel}")
            if self._native.add(ilabel, olabel, weight) != number:
                raise DataError(f"code {number} comes twice")


def encode(
    fst: Fst, *, labels: bool = False, weights: bool = False, encoder: Encoder | None = None
) -> tuple[Fst, Encoder]:
    """Labels, weights or both of each arc as one label; the codes are in the encoder, which may be used again.

    >>> from textmill.fst.formats import compile_text
    >>> coded, encoder = encode(compile_text("0 1 5 7 .5\\n1"), labels=True, weights=True)
    >>> coded.has("acceptor"), coded.has("weighted"), decode(coded, encoder).arcs(0)[0].olabel
    (True, False, 7)
    """
    used = Encoder(fst.semiring, labels=labels, weights=weights) if encoder is None else encoder
    machine = native.encode(fst._native, used._native)
    used.input_symbols = used.input_symbols or fst.input_symbols
    used.output_symbols = used.output_symbols or fst.output_symbols
    return Fst._of(machine, None, None), used


def decode(fst: Fst, encoder: Encoder) -> Fst:
    """What `encode` has put together, taken apart again.

    >>> from textmill.fst.formats import compile_text
    >>> coded, encoder = encode(compile_text("0 1 5 7 .5\\n1"), labels=True)
    >>> decode(coded, encoder).arcs(0)[0].ilabel
    5
    """
    return Fst._of(native.decode(fst._native, encoder._native), encoder.input_symbols, encoder.output_symbols)


def _row(algebra: Semiring) -> np.dtype[np.void]:
    """How a code lies in a file."""
    return np.dtype([("ilabel", "<i4"), ("olabel", "<i4"), ("weight", algebra.dtype)])


def _to_bytes(encoder: Encoder) -> bytes:
    algebra = Semiring(encoder._native.semiring)
    tables = [table for table in (encoder.input_symbols, encoder.output_symbols) if table is not None]
    flags = (
        encoder.labels * _LABELS
        | encoder.weights * _WEIGHTS
        | (encoder.input_symbols is not None) * _INPUT
        | (encoder.output_symbols is not None) * _OUTPUT
    )
    name = _ARC_TYPES[algebra.name].encode()
    head = struct.pack(f"<ii{len(name)}sBq", _MAGIC, len(name), name, flags, len(encoder))
    codes = np.array(encoder.codes(), dtype=_row(algebra)).tobytes()
    return b"".join([head, codes, *(table._native.to_bytes() for table in tables)])


def _from_bytes(content: bytes) -> Encoder:
    _, size = struct.unpack_from("<ii", content)
    arc_type = content[8 : 8 + max(size, 0)].decode("utf-8", "replace")
    flags, count = struct.unpack_from("<Bq", content, 8 + size)
    names = {written: name for name, written in _ARC_TYPES.items()}
    if arc_type not in names:
        raise DataError(f"arcs of type {arc_type!r} cannot be read")
    algebra = semiring(names[arc_type])
    at, row = 17 + size, _row(algebra)
    if not 0 <= count <= (len(content) - at) // row.itemsize:
        raise DataError(f"{count} codes are promised, more than there are bytes; the file is truncated or damaged")
    encoder = Encoder(algebra, labels=bool(flags & _LABELS), weights=bool(flags & _WEIGHTS))
    encoder._add(np.frombuffer(content, dtype=row, count=count, offset=at).tolist())
    at += count * row.itemsize
    for flag, side in ((_INPUT, "input_symbols"), (_OUTPUT, "output_symbols")):
        if flags & flag:
            table = SymbolTable._of(native.SymbolTable.from_bytes(content[at:]))
            at += len(table._native.to_bytes())
            setattr(encoder, side, table)
    return encoder


def _to_lines(encoder: Encoder) -> bytes:
    algebra = Semiring(encoder._native.semiring)
    head = {"semiring": algebra.name, "labels": encoder.labels, "weights": encoder.weights}
    rows = [[ilabel, olabel, algebra.format(weight)] for ilabel, olabel, weight in encoder.codes()]
    return "".join(json.dumps(row) + "\n" for row in [head, *rows]).encode()


def _from_lines(content: bytes) -> Encoder:
    head, *rows = map(json.loads, content.decode().splitlines())
    algebra = semiring(head["semiring"])
    encoder = Encoder(algebra, labels=head["labels"], weights=head["weights"])
    encoder._add((ilabel, olabel, algebra.parse(weight)) for ilabel, olabel, weight in rows)
    return encoder

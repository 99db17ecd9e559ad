"""Machines whose weights are made of others, as OpenFst's binary files of the type vector.

    semiring                 arc type                          a weight in the file
    left_string, ...         left_standard_string, ...         count, labels; zero is the one label -1
    gallic_left(A), ...      left_gallic_A, right_, restricted_, min_    string, weight
    gallic(A)                gallic_A                          count, then string and weight of each
    product(A,B)             A_X_B                             both
    lexicographic(A,B)       A_LT_B                            both
    power(A,n)               A_^n                              n weights
    expectation(A,1)         expectation_A_A                   both

A stands for standard (tropical), log, log64 and the other numbers. These files are read and written arc by arc in
Python; machines over numbers never come here. Other composite semirings have no type in OpenFst: write them as text.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Any

from textmill.errors import DataError
from textmill.fst.machine import Fst
from textmill.fst.semirings import Semiring, Weight, arguments, semiring
from textmill.fst.symbols import SymbolTable

__all__ = ["composite_from_bytes", "composite_to_bytes", "is_composite"]

_MACHINE, _SYMBOLS = 2125659606, 2125658996
_FORMATS = {"tropical": "f", "log": "f", "minmax": "f", "tropical64": "d", "log64": "d", "real": "d"}
_ARCS = {"tropical": "standard", "real": "real64"}  # others are called as their semiring
_STRINGS = {kind + "_string": kind + "_standard_string" for kind in ("left", "right", "restricted")}
_GALLIC = {
    "gallic_left": "left_gallic_",
    "gallic_right": "right_gallic_",
    "gallic_restricted": "restricted_gallic_",
    "gallic_min": "min_gallic_",
    "gallic": "gallic_",
}


def is_composite(arc_type: str) -> bool:
    """Is this the type of arcs of such a file?

    >>> is_composite("left_gallic_standard"), is_composite("standard")
    (True, False)
    """
    return _semiring_of(arc_type) is not None


def composite_to_bytes(fst: Fst) -> bytes:
    """A machine over a composite semiring as a binary file.

    >>> from textmill.fst.formats import compile_text
    >>> fst = compile_text("0 1 1 1 1,2\\n1 0.5,0", semiring_name="product(tropical,log)")
    >>> composite_from_bytes(composite_to_bytes(fst))[0].final(1)
    (0.5, 0.0)
    """
    algebra = fst.semiring
    arc_type = _arc_type(algebra.name)
    if arc_type is None:
        raise DataError(f"machines of the semiring {algebra.name} have no binary form; write them as text")
    out = bytearray(struct.pack("<i", _MACHINE) + _text("vector") + _text(arc_type))
    tables = [fst.input_symbols, fst.output_symbols]
    flags = sum(bit for bit, table in zip((1, 2), tables, strict=True) if table is not None)
    properties = fst._native.properties(0xFFFFFFFF0000, False) | 3
    out += struct.pack("<iiQqqq", 2, flags, properties, fst.start, fst.num_states, 0)
    for table in tables:
        if table is not None:
            out += table._native.to_bytes()
    for state in range(fst.num_states):
        arcs = fst.arcs(state)
        out += _packed(algebra.name, fst.final(state)) + struct.pack("<q", len(arcs))
        for arc in arcs:
            out += struct.pack("<ii", arc.ilabel, arc.olabel)
            out += _packed(algebra.name, arc.weight) + struct.pack("<i", arc.nextstate)
    return bytes(out)


def composite_from_bytes(content: bytes) -> tuple[Fst, int]:
    """The machine of such a file, and where it ends.

    >>> from textmill.fst.formats import compile_text
    >>> fst = compile_text("0 1 1 1 3_4\\n1", semiring_name="left_string")
    >>> composite_from_bytes(composite_to_bytes(fst))[0].arcs(0)[0].weight
    (3, 4)
    """
    file = _File(content)
    (magic,) = file.take("i")
    if magic != _MACHINE:
        raise DataError("not a binary machine of OpenFst: its first four bytes are others")
    kind, arc_type = file.text(), file.text()
    name = _semiring_of(arc_type)
    if name is None:
        raise DataError(f"arcs of type {arc_type!r} cannot be read; print the machine as text")
    if kind != "vector":
        raise DataError(f"machines of type {kind!r} with composite weights cannot be read; convert it to 'vector'")
    algebra = semiring(name)
    _, flags, _, start, states, _ = file.take("iiQqqq")
    tables = [file.table() if flags & bit else None for bit in (1, 2)]
    fst = Fst(algebra, input_symbols=tables[0], output_symbols=tables[1])
    if states < 0 or states > len(content) // 8:
        raise DataError(f"the header promises {states} states, more than the file has room for; it is damaged")
    fst.add_states(states)
    for state in range(states):
        final = file.weight(algebra)
        if final != algebra.zero:
            fst.set_final(state, final)
        (count,) = file.take("q")
        if count < 0 or count > len(content) // 12:
            raise DataError(f"state {state} promises {count} arcs, more than the file has room for; it is damaged")
        for _ in range(count):
            ilabel, olabel = file.take("ii")
            weight = file.weight(algebra)
            (nextstate,) = file.take("i")
            if weight != algebra.zero:  # what is impossible is left out
                fst.add_arc(state, ilabel, olabel, weight, nextstate)
    fst.start = start
    return fst, file.at


class _File:
    """Bytes that are read one after another."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def take(self, fields: str) -> tuple[Any, ...]:
        size = struct.calcsize("<" + fields)
        if self.at + size > len(self.content):
            raise DataError(f"byte {self.at}: the file ends too early; it is truncated or damaged")
        values = struct.unpack_from("<" + fields, self.content, self.at)
        self.at += size
        return values

    def text(self) -> str:
        (size,) = self.take("i")
        if not 0 <= size <= len(self.content) - self.at:
            raise DataError(f"byte {self.at - 4}: a string of {size} bytes; the file is damaged")
        self.at += size
        return self.content[self.at - size : self.at].decode("utf-8", "surrogateescape")

    def table(self) -> SymbolTable:
        begin = self.at
        (magic,) = self.take("i")
        if magic != _SYMBOLS:
            raise DataError(f"byte {begin}: not a table of symbols of OpenFst")
        symbols = SymbolTable(name=self.text())
        _, count = self.take("qq")
        if count < 0 or count > len(self.content) // 12:
            raise DataError(f"a table of symbols promises {count} symbols; the file is damaged")
        for _ in range(count):
            symbol = self.text()
            symbols.add(symbol, *self.take("q"))
        return symbols

    def weight(self, algebra: Semiring) -> Weight:
        value = self._value(algebra.name)
        algebra.format(value)  # a fault unless it is one of its weights
        return value

    def _value(self, name: str) -> Weight:
        if name in _FORMATS:
            return self.take(_FORMATS[name])[0]
        if name in _STRINGS:
            (count,) = self.take("i")
            if not 0 <= count <= len(self.content) // 4:
                raise DataError(f"byte {self.at - 4}: a string of {count} labels; the file is damaged")
            labels = self.take(f"{count}i")
            return math.inf if labels == (-1,) else labels
        kind, parts = arguments(name)
        if kind == "gallic":
            (count,) = self.take("i")
            if not 0 <= count <= len(self.content) // 4:
                raise DataError(f"byte {self.at - 4}: a set of {count} weights; the file is damaged")
            return tuple((self._value("restricted_string"), self._value(parts[0])) for _ in range(count))
        if kind in _GALLIC:
            pair = (self._value(kind.partition("_")[2].replace("min", "restricted") + "_string"), self._value(parts[0]))
            return semiring(name).zero if pair[0] == math.inf else pair
        if kind in ("power", "expectation"):
            parts = [parts[0]] * (int(parts[1]) + (kind == "expectation"))
        return tuple(self._value(part) for part in parts)


def _text(text: str) -> bytes:
    content = text.encode()
    return struct.pack("<i", len(content)) + content


def _packed(name: str, value: Weight) -> bytes:
    """A weight as it stands in a file."""
    if name in _FORMATS:
        return struct.pack("<" + _FORMATS[name], value)
    if name in _STRINGS:
        labels = (-1,) if value == math.inf else value
        return struct.pack(f"<i{len(labels)}i", len(labels), *labels)
    kind, parts = arguments(name)
    if kind == "gallic":
        pairs = [_packed("restricted_string", string) + _packed(parts[0], weight) for string, weight in value]
        return struct.pack("<i", len(value)) + b"".join(pairs)
    if kind in _GALLIC:
        return _packed("restricted_string", value[0]) + _packed(parts[0], value[1])
    if kind in ("power", "expectation"):
        parts = parts[:1] * len(value)
    return b"".join(_packed(part, component) for part, component in zip(parts, value, strict=True))


def _arc_type(name: str) -> str | None:
    """What arcs with these weights are called in OpenFst; None if they have no name."""
    if name in _STRINGS:
        return _STRINGS[name]
    kind, parts = arguments(name)
    numbers = [part for part in parts if part in _FORMATS]
    if kind in _GALLIC and len(numbers) == 1:
        return _GALLIC[kind] + _ARCS.get(parts[0], parts[0])
    if kind in ("product", "lexicographic") and len(numbers) == len(parts) == 2:
        return parts[0] + ("_X_" if kind == "product" else "_LT_") + parts[1]
    if kind == "power" and numbers:
        return f"{_ARCS.get(parts[0], parts[0])}_^{parts[1]}"
    if kind == "expectation" and numbers and parts[1] == "1":
        return f"expectation_{_ARCS.get(parts[0], parts[0])}_{parts[0]}"
    return None


def _semiring_of(arc_type: str) -> str | None:
    """The semiring of such arcs; None if they are of another kind."""
    numbers = {_ARCS.get(name, name): name for name in _FORMATS}
    for name, arcs_of_string in _STRINGS.items():
        if arc_type == arcs_of_string:
            return name
    for kind, prefix in _GALLIC.items():
        if arc_type.startswith(prefix) and arc_type.removeprefix(prefix) in numbers:
            return f"{kind}({numbers[arc_type.removeprefix(prefix)]})"
    for joint, kind in (("_X_", "product"), ("_LT_", "lexicographic")):
        first, separator, second = arc_type.partition(joint)
        if separator and first in _FORMATS and second in _FORMATS:
            return f"{kind}({first},{second})"
    power = re.fullmatch(r"(\w+)_\^([1-9][0-9]{0,3})", arc_type)
    if power and power[1] in numbers:
        return f"power({numbers[power[1]]},{power[2]})"
    for arcs, name in numbers.items():
        if arc_type == f"expectation_{arcs}_{name}":
            return f"expectation({name},1)"
    return None

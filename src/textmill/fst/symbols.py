"""Symbol tables: names of labels, in the text and binary formats of OpenFst.

    symbol <TAB> key        one pair a line; key 0 is epsilon, customarily called <eps>

A symbol has one key and a key one symbol; adding a pair that contradicts the table is an error, not a change. Look-
ups are O(1) both ways. Two tables are compatible if they hold the same pairs, whatever their names and order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.files import replacing

__all__ = ["SymbolTable"]


class SymbolTable:
    """Names of labels.

    >>> letters = SymbolTable(["<eps>", "a", "b"])
    >>> letters.key("b"), letters.symbol(1), len(letters)
    (2, 'a', 3)
    """

    __slots__ = ("_native",)

    def __init__(self, symbols: Iterable[str] = (), *, name: str = "") -> None:
        self._native = native.SymbolTable()
        self._native.name = name
        for symbol in symbols:
            self.add(symbol)

    @classmethod
    def _of(cls, table: native.SymbolTable) -> SymbolTable:
        symbols = cls.__new__(cls)
        symbols._native = table
        return symbols

    @property
    def name(self) -> str:
        """What the table is called in files."""
        return str(self._native.name)

    @name.setter
    def name(self, name: str) -> None:
        self._native.name = name

    @property
    def available_key(self) -> int:
        """The key that the next symbol gets."""
        return int(self._native.available)

    def add(self, symbol: str, key: int | None = None) -> int:
        """Add a symbol, with the next free key if none is given, and return its key.

        >>> SymbolTable(["<eps>"]).add("a", 7)
        7
        """
        if not symbol:
            raise DataError("a symbol cannot be empty")
        return int(self._native.add(symbol, key))

    def remove(self, key: int) -> None:
        """Remove a pair by its key.

        >>> table = SymbolTable(["<eps>", "a"]); table.remove(1); "a" in table
        False
        """
        if not self._native.remove(key):
            raise DataError(f"the table has no key {key} to remove")

    def key(self, symbol: str) -> int:
        """The key of a symbol; a DataError if there is none.

        >>> SymbolTable(["<eps>", "a"]).key("a")
        1
        """
        key = int(self._native.key(symbol))
        if key < 0:
            raise DataError(f"symbol {symbol!r} is not in the table{self._called()}; add it first")
        return key

    def symbol(self, key: int) -> str:
        """The symbol of a key; a DataError if there is none.

        >>> SymbolTable(["<eps>", "a"]).symbol(1)
        'a'
        """
        symbol = self._native.symbol(key)
        if symbol is None:
            raise DataError(f"key {key} is not in the table{self._called()}; add a symbol for it first")
        return str(symbol)

    def _called(self) -> str:
        return f" {self.name!r}" if self.name else ""

    def merged(self, other: SymbolTable) -> SymbolTable:
        """This table with the symbols of another; new ones get new keys.

        >>> SymbolTable(["<eps>", "a"]).merged(SymbolTable(["<eps>", "b"])).key("b")
        2
        """
        table = self.copy()
        for symbol in other:
            table._native.add(symbol, None)
        return table

    def compacted(self) -> SymbolTable:
        """The same symbols with the keys 0, 1, 2, ... in the order of their old keys.

        >>> table = SymbolTable(["<eps>"]); _ = table.add("a", 9); table.compacted().key("a")
        1
        """
        return SymbolTable((symbol for _, symbol in sorted(self.items())), name=self.name)

    def compatible(self, other: SymbolTable) -> bool:
        """Do both hold the same pairs?

        >>> SymbolTable(["<eps>"]).compatible(SymbolTable(["<eps>"], name="other"))
        True
        """
        return bool(self._native.same(other._native))

    def checksum(self) -> bytes:
        """32 bytes that depend on the symbols and their order, but not on their keys; as OpenFst computes them.

        >>> SymbolTable(["<eps>", "a"]).checksum()[:8]
        b'<eps>\\x00a\\x00'
        """
        return _folded(symbol.encode("utf-8", "surrogateescape") + b"\0" for _, symbol in self.items())

    def labeled_checksum(self) -> bytes:
        """32 bytes that depend on the symbols and their keys, but not on their order; as OpenFst computes them.

        >>> SymbolTable(["<eps>", "a"]).labeled_checksum()[:10]
        b'<eps>\\t0a\\t1'
        """
        rows = (f"{symbol}\t{key}" for key, symbol in sorted(self.items()))
        return _folded(row.encode("utf-8", "surrogateescape") for row in rows)

    def copy(self) -> SymbolTable:
        """A table that can be changed on its own.

        >>> len(SymbolTable(["<eps>"]).copy())
        1
        """
        return SymbolTable._of(native.SymbolTable(self._native))

    def items(self) -> list[tuple[int, str]]:
        """Keys and symbols, in order of insertion.

        >>> SymbolTable(["<eps>", "a"]).items()
        [(0, '<eps>'), (1, 'a')]
        """
        return list(self._native.items())

    def write(self, path: str | os.PathLike[str], *, binary: bool = False, separator: str = "\t") -> None:
        """Write as text, with `separator` between symbol and key, or as OpenFst's binary.

        >>> SymbolTable(["<eps>", "a"]).write("letters.sym"); Path("letters.sym").read_text()
        '<eps>\\t0\\na\\t1\\n'
        """
        with replacing(path) as file:
            if binary or separator == "\t":
                file.write(self._native.to_bytes() if binary else self._native.to_text())
            else:
                rows = (f"{symbol}{separator}{key}\n" for key, symbol in self.items())
                file.write("".join(rows).encode("utf-8", "surrogateescape"))

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, separator: str | None = None) -> SymbolTable:
        """Read text or binary, whichever the file is.

        Symbol and key are separated by blanks or tabs; with `separator`, by any of its characters (only), so that
        symbols may have blanks in them.

        >>> SymbolTable(["<eps>", "a"]).write("letters.sym", binary=True); SymbolTable.read("letters.sym").key("a")
        1
        """
        content = Path(path).read_bytes()
        try:
            if content[:4] == b"\xf4\xf7\xb2\x7e" or (b"\0" in content[:16]):
                return cls._of(native.SymbolTable.from_bytes(content))
            if separator is not None:
                return _separated(content, separator)
            return cls._of(native.SymbolTable.from_text(content))
        except DataError as fault:
            raise DataError(fault.message, source=os.fspath(path)) from None

    def __contains__(self, symbol: object) -> bool:
        return isinstance(symbol, str) and bool(self._native.key(symbol) >= 0)

    def __iter__(self) -> Iterator[str]:
        return (symbol for _, symbol in self.items())

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"SymbolTable({len(self)} symbols{', ' + repr(self.name) if self.name else ''})"


def _folded(pieces: Iterable[bytes]) -> bytes:
    """The pieces one after another, every 32 bytes laid over the first by exclusive or."""
    content = b"".join(pieces)
    padded = np.frombuffer(content + bytes(-len(content) % 32), dtype=np.uint8).reshape(-1, 32)
    return bytes(np.bitwise_xor.reduce(padded, axis=0, dtype=np.uint8, initial=0).tobytes())


def _separated(content: bytes, separator: str) -> SymbolTable:
    """A table from text whose fields are separated by some characters."""
    table = SymbolTable()
    cut = re.compile(f"[{re.escape(separator)}]+")
    for number, line in enumerate(content.decode("utf-8", "surrogateescape").split("\n"), 1):
        if not line.strip(separator):
            continue
        fields = cut.split(line.strip(separator))
        if len(fields) != 2 or not fields[1].strip().isdigit():
            raise DataError(f"{number}: {line!r} is not a symbol, one of {separator!r} and a number >= 0")
        try:
            table.add(fields[0], int(fields[1]))
        except DataError as fault:
            raise DataError(f"{number}: {fault.message}") from None
    return table

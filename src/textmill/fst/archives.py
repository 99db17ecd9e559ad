"""Archives of machines (FAR files) of OpenFst: many machines in one file, each under a key.

    sttable   magic 2125656924, version, then key and machine of each, at the end the positions and their number
    stlist    magic 5656924, version, then key and machine of each, an empty key at the end
    fst       a single machine; its key is the file name without folder and suffix

Archives are mapped. One machine of an `sttable` is found by bisection, O(log machines); an `stlist` is stepped through
up to its key, from state to state of the machines before it, without reading their arcs. Keys of both are sorted.
Machines are OpenFst binaries.
"""

from __future__ import annotations

import bisect
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.files import replacing
from textmill.fst.foreign import foreign_machine
from textmill.fst.formats import _parse, _write, file_types
from textmill.fst.machine import Fst

__all__ = ["Archive", "write_archive"]

_TABLE, _LIST, _MACHINE = 2125656924, 5656924, 2125659606


class Archive(Mapping[str, Fst]):
    r"""The machines of an archive by their keys; each is read when it is asked for.

    >>> from textmill.fst.formats import compile_text
    >>> write_archive("m.far", {"one": compile_text("0 1 1 1\n1\n")}); list(Archive("m.far"))
    ['one']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        if os.path.getsize(path) < 4:
            raise DataError("the file is too short for an archive", source=self.path)
        self._buffer: NDArray[np.uint8] = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
        self._members: _Table | _List | dict[str, int]
        (magic,) = struct.unpack("<i", self._buffer[:4].tobytes())
        if magic == _TABLE:
            self.far_type = "sttable"
            self._members = _Table(self._buffer, self.path)
        elif magic == _LIST:
            self.far_type = "stlist"
            self._members = _List(self._buffer, self.path)
        elif magic == _MACHINE:
            self.far_type = "fst"
            self._members = {Path(path).stem: 0}
        else:
            what = foreign_machine(self._buffer[:1024].tobytes())
            raise DataError(f"not an archive of machines (FAR) but {what}", source=self.path)

    def __getitem__(self, key: str) -> Fst:
        place = self._members[key]
        return _parse(self._buffer, place, f"{self.path}, machine {key!r}", map_arrays=True)[0]

    def types(self, key: str) -> tuple[str, str]:
        r"""Type of the machine under a key and of its arcs, without reading it.

        >>> from textmill.fst.formats import compile_text
        >>> write_archive("m.far", {"one": compile_text("0 1 1 1\n1\n")}); Archive("m.far").types("one")
        ('vector', 'standard')
        """
        return file_types(self._buffer, self._members[key], source=f"{self.path}, machine {key!r}")

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


class _Places(Mapping[str, int]):
    """Where the machines of an archive begin, by their keys."""

    def __init__(self, buffer: NDArray[np.uint8], path: str) -> None:
        self._buffer, self._path = buffer, path

    def _take(self, at: int, size: int) -> bytes:
        if at < 0 or size < 0 or at + size > len(self._buffer):
            raise DataError(f"byte {at}: the archive ends too early; it is truncated or damaged", source=self._path)
        return self._buffer[at : at + size].tobytes()

    def _key(self, at: int) -> tuple[bytes, int]:
        """The key at a position, and where its machine begins."""
        (size,) = struct.unpack("<i", self._take(at, 4))
        return self._take(at + 4, size), at + 4 + size


class _Table(_Places):
    """Of an `sttable`: the positions at its end, sorted by key, are searched by bisection."""

    def __init__(self, buffer: NDArray[np.uint8], path: str) -> None:
        super().__init__(buffer, path)
        end = len(buffer)
        (count,) = struct.unpack("<q", self._take(end - 8, 8))
        if count < 0 or count > end // 8 - 1:
            raise DataError(f"the archive promises {count} machines; it is damaged", source=path)
        self._positions = buffer[end - 8 * (count + 1) : end - 8]
        self._in_order = False  # True: known to be

    def _entry(self, i: int) -> tuple[bytes, int]:
        (position,) = struct.unpack("<q", self._positions[8 * i : 8 * i + 8].tobytes())
        return self._key(position)

    def __getitem__(self, key: str) -> int:
        wanted = key.encode("utf-8", "surrogateescape")
        at = bisect.bisect_left(range(len(self)), wanted, key=lambda i: self._entry(i)[0])
        if at < len(self):
            key_there, place = self._entry(at)
            if key_there == wanted:
                return place
        if not self._in_order:  # looked through once, before it is believed that a key is missing
            self._in_order = sum(1 for _ in self) == len(self)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        before = b""
        for i in range(len(self)):
            key, _ = self._entry(i)
            if key <= before:
                raise DataError(f"key {i + 1} of the archive is not behind the one before it", source=self._path)
            before = key
            yield key.decode("utf-8", "surrogateescape")

    def __len__(self) -> int:
        return len(self._positions) // 8


class _List(_Places):
    """Of an `stlist`: keys come one after another, machines are stepped over without being read."""

    def __init__(self, buffer: NDArray[np.uint8], path: str) -> None:
        super().__init__(buffer, path)
        self._known: dict[str, int] = {}
        self._at = 8  # where the next key is

    def _step(self) -> bool:
        """Go on by one machine; False at the end."""
        name, place = self._key(self._at)
        if not name:
            return False
        key = name.decode("utf-8", "surrogateescape")
        try:
            self._at = native.end_of_binary(self._buffer, place)
        except DataError:  # of another type, or damaged: reading it tells
            self._at = _parse(self._buffer, place, f"{self._path}, machine {key!r}", map_arrays=False)[1]
        self._known[key] = place
        return True

    def __getitem__(self, key: str) -> int:
        while key not in self._known and self._step():
            pass
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        while self._step():
            pass
        return iter(self._known)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def write_archive(
    path: str | os.PathLike[str], machines: Mapping[str, Fst] | Iterable[tuple[str, Fst]], *, far_type: str = "sttable"
) -> None:
    r"""Write an archive; keys come sorted.

    >>> from textmill.fst.formats import compile_text
    >>> fst = compile_text("0 1 1 1\n1\n")
    >>> write_archive("m.far", {"b": fst, "a": fst}, far_type="stlist"); list(Archive("m.far"))
    ['a', 'b']
    """
    if far_type not in ("sttable", "stlist"):
        raise DataError(f"archives are 'sttable' or 'stlist', not {far_type!r}")
    pairs = sorted((key.encode("utf-8", "surrogateescape"), fst) for key, fst in dict(machines).items())
    if any(not name for name, _ in pairs):
        raise DataError("a key of an archive cannot be empty")
    with replacing(path) as file:
        at = file.write(struct.pack("<ii", _TABLE if far_type == "sttable" else _LIST, 1))
        positions = []
        for name, fst in pairs:
            positions.append(at)
            at += file.write(struct.pack("<i", len(name)) + name) + _write(fst, file.write)
        if far_type == "sttable":
            count = len(positions)
            file.write(struct.pack(f"<q{count}qq", count, *positions, count))
        else:
            file.write(struct.pack("<i", 0))

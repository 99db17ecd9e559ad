"""Archives of machines (FAR files) of OpenFst: many machines in one file, each under a key.

    sttable   magic 2125656924, version, then key and machine of each, at the end the positions and their number
    stlist    magic 5656924, version, then key and machine of each, an empty key at the end
    fst       a single machine; its key is the file name without folder and suffix

An `sttable` is read at any key without reading the others. Keys of both are sorted. Machines are OpenFst binaries.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.files import replacing
from textmill.fst.formats import _parse, file_types, to_bytes
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
        (magic,) = struct.unpack("<i", self._take(0, 4))
        if magic == _TABLE:
            self.far_type = "sttable"
            self._places = self._table()
        elif magic == _LIST:
            self.far_type = "stlist"
            self._places = self._list()
        elif magic == _MACHINE:
            self.far_type = "fst"
            self._places = {Path(path).stem: 0}
        else:
            raise DataError("not an archive of machines (FAR): its first four bytes are others", source=self.path)

    def _take(self, at: int, size: int) -> bytes:
        if at < 0 or size < 0 or at + size > len(self._buffer):
            raise DataError(f"byte {at}: the archive ends too early; it is truncated or damaged", source=self.path)
        return self._buffer[at : at + size].tobytes()

    def _key(self, at: int) -> tuple[str, int]:
        """The key at a position, and where its machine begins."""
        (size,) = struct.unpack("<i", self._take(at, 4))
        return self._take(at + 4, size).decode("utf-8", "replace"), at + 4 + size

    def _table(self) -> dict[str, int]:
        end = len(self._buffer)
        (count,) = struct.unpack("<q", self._take(end - 8, 8))
        if count < 0 or count > end // 8:
            raise DataError(f"the archive promises {count} machines; it is damaged", source=self.path)
        positions = struct.unpack(f"<{count}q", self._take(end - 8 * (count + 1), 8 * count))
        return dict(self._key(position) for position in positions)

    def _list(self) -> dict[str, int]:
        places: dict[str, int] = {}
        at = 8
        while True:
            key, machine = self._key(at)
            if not key:
                return places
            places[key] = machine
            _, at = _parse(self._buffer, machine, f"{self.path}, machine {key!r}", map_arrays=False)

    def types(self, key: str) -> tuple[str, str]:
        r"""Type of the machine under a key and of its arcs, without reading it.

        >>> from textmill.fst.formats import compile_text
        >>> write_archive("m.far", {"one": compile_text("0 1 1 1\n1\n")}); Archive("m.far").types("one")
        ('vector', 'standard')
        """
        return file_types(self._buffer, self._places[key], source=f"{self.path}, machine {key!r}")

    def __getitem__(self, key: str) -> Fst:
        return _parse(self._buffer, self._places[key], f"{self.path}, machine {key!r}", map_arrays=False)[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


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
    pairs = sorted(dict(machines).items())
    if any(not key for key, _ in pairs):
        raise DataError("a key of an archive cannot be empty")
    with replacing(path) as file:
        at = file.write(struct.pack("<ii", _TABLE if far_type == "sttable" else _LIST, 1))
        positions = []
        for key, fst in pairs:
            positions.append(at)
            name = key.encode()
            at += file.write(struct.pack("<i", len(name)) + name)
            at += file.write(to_bytes(fst))
        if far_type == "sttable":
            count = len(positions)
            file.write(struct.pack(f"<q{count}qq", count, *positions, count))
        else:
            file.write(struct.pack("<i", 0))

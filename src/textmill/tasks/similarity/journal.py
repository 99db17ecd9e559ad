"""The journal of a collection: what was written since its shards were, safe at any moment.

    CHECKSUM {"do": "write", "number": 8, "id": ...}        one line a change, CRC-32 of the JSON in eight hex digits

A change counts once its line is on the disk (fsync). A process that dies in the middle of a line leaves an unfinished
end, which nobody reads and the next writer cuts off. A line that is damaged but not the last is an error: what comes
after it was confirmed to somebody. Readers remember how far they have read and read on from there.

Cost: the bytes of the change and one flush for each call of `append`.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from typing import Any

from textmill.errors import ModelFileError

__all__ = ["append_entries", "read_entries"]


def read_entries(path: str | os.PathLike[str], start: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Return the changes from byte `start` on, and where the last whole one ends.

    >>> end = append_entries("journal", [{"do": "delete", "number": 3}], 0)
    >>> read_entries("journal") == ([{"do": "delete", "number": 3}], end)
    True
    """
    entries: list[dict[str, Any]] = []
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < start:
            raise ModelFileError(
                f"{os.fspath(path)}: shorter than it was; somebody else has changed the journal", reason="damaged"
            )
        file.seek(start)
        for line in file:
            entry = _parsed(line)
            if entry is None:
                if file.read(1):
                    raise ModelFileError(
                        f"{os.fspath(path)}: the line at byte {start} is damaged, but not the last; restore a copy",
                        reason="damaged",
                    )
                break
            entries.append(entry)
            start += len(line)
    return entries, start


def append_entries(path: str | os.PathLike[str], entries: Iterable[dict[str, Any]], end: int) -> int:
    """Write changes behind byte `end`, where the last whole one ends, and return where the new ones end.

    When this returns they are on the disk. When it fails the journal is as before.
    """
    lines = b"".join(map(_line, entries))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        os.ftruncate(descriptor, end)  # what a killed writer has left
        try:
            left = memoryview(lines)
            while left:
                left = left[os.pwrite(descriptor, left, end + len(lines) - len(left)) :]
            os.fsync(descriptor)
        except OSError as fault:
            os.ftruncate(descriptor, end)
            raise OSError(fault.errno, fault.strerror, os.fspath(path)) from None
    finally:
        os.close(descriptor)
    return end + len(lines)


def _line(entry: dict[str, Any]) -> bytes:
    data = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(data), data)


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The change of a line, None if the line is not whole."""
    if line[-1:] != b"\n" or len(line) < 12 or line[:8] != b"%08x" % zlib.crc32(line[9:-1]):
        return None
    entry = json.loads(line[9:])
    return entry if isinstance(entry, dict) else None

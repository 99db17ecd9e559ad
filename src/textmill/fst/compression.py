"""Machine files in fewer bytes: what arcs have in common is written once, then LZ compressed.

    degree      arcs of each state
    ilabel      difference from the arc before, in one state
    olabel      difference from the input label: zeros in acceptors
    nextstate   difference from the greatest state met so far, or from the state itself, whichever the machine likes
    weight      its number in a table of the different weights, the most frequent first; or the weights as they are

Each column is a sequence of numbers of its own, which LZMA (LZ77 with range coding) packs far better than the records
of a file, in which they are mixed. Decompressing gives the same bytes again: what the columns do not say (head,
symbols, padding) is kept beside them, and files of other types are packed as they are. O(arcs log different weights).
"""

from __future__ import annotations

import json
import lzma
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.fst.formats import file_types, from_bytes, to_bytes
from textmill.fst.machine import Fst
from textmill.fst.semirings import semiring

__all__ = ["compress", "compress_fst", "decompress", "decompress_fst"]

_MAGIC = b"textmill-lzfst1\n"
_MOST_BYTES = 1 << 36


def compress(content: bytes, *, source: str = "bytes") -> bytes:
    r"""A binary machine file of OpenFst, packed; `decompress` gives exactly these bytes again.

    >>> from textmill.fst import compile_text, to_bytes
    >>> file = to_bytes(compile_text("".join(f"{i} {i + 1} 7 7\n" for i in range(1000)) + "1000"))
    >>> packed = compress(file)
    >>> len(packed) < len(file) / 20, decompress(packed) == file
    (True, True)
    """
    fst_type, _ = file_types(content, source=source)
    fst = from_bytes(content, source=source)
    if fst.semiring.is_composite or fst_type not in ("vector", "const"):
        return _framed({"raw": True}, [content], content)
    head: dict[str, Any] = {"semiring": fst.semiring.name, "start": fst.start, "type": fst_type}
    columns = _columns(fst, head)
    again = _machine(head, columns)
    ends = {align: _common_end(to_bytes(again, fst_type=fst_type, align=align), content) for align in (False, True)}
    head["align"] = ends[True] > ends[False]
    head["tail"] = ends[head["align"]]
    return _framed(head, [content[: len(content) - head["tail"]], *columns], content)


def decompress(packed: bytes, *, source: str = "bytes") -> bytes:
    r"""The file that `compress` was given.

    >>> from textmill.fst import compile_text, to_bytes
    >>> decompress(compress(to_bytes(compile_text("0 1 1 1\n1")))) == to_bytes(compile_text("0 1 1 1\n1"))
    True
    """
    try:
        head, parts, checksum = _unframed(packed)
        content = parts[0] if parts else b""
        if not head.get("raw"):
            body = to_bytes(_machine(head, parts[1:]), fst_type=head["type"], align=head["align"])
            content += body[len(body) - head["tail"] :]
    except (DataError, KeyError, TypeError, ValueError, IndexError, MemoryError, lzma.LZMAError, struct.error) as fault:
        if not packed.startswith(_MAGIC):
            raise DataError("not a compressed machine: its head is another", source=source) from None
        reason = fault.message if isinstance(fault, DataError) else str(fault) or type(fault).__name__
        raise DataError(f"the compressed machine is damaged: {reason}", source=source) from None
    if zlib.crc32(content) != checksum:
        raise DataError("the compressed machine is damaged: its checksum differs", source=source)
    return content


def compress_fst(fst: Fst, *, fst_type: str = "vector") -> bytes:
    r"""A machine, packed.

    >>> from textmill.fst import compile_text
    >>> decompress_fst(compress_fst(compile_text("0 1 1 1\n1")))
    Fst('tropical', 2 states, 1 arcs)
    """
    return compress(to_bytes(fst, fst_type=fst_type))


def decompress_fst(packed: bytes, *, source: str = "bytes") -> Fst:
    r"""The machine that was packed.

    >>> from textmill.fst import compile_text
    >>> decompress_fst(compress_fst(compile_text("0 1 1 1 0.5\n1"))).arcs(0)[0].weight
    0.5
    """
    return from_bytes(decompress(packed, source=source), source=source)


def _columns(fst: Fst, head: dict[str, Any]) -> list[bytes]:
    """The machine as sequences of bytes; what is needed to read them goes into the head."""
    offsets, arcs, finals = fst.arrays()
    degree = np.diff(offsets)
    state = np.repeat(np.arange(len(degree)), degree)
    ilabel, next_state = arcs["ilabel"].astype(np.int64), arcs["nextstate"].astype(np.int64)
    head["states"], head["arcs"] = len(degree), len(arcs)
    step = np.diff(ilabel, prepend=0)
    first = offsets[:-1][degree > 0]
    step[first] = ilabel[first]
    newest = np.maximum.accumulate(np.concatenate([[-1], next_state]))[:-1] if len(arcs) else next_state
    shapes = {"newest": next_state - newest, "state": next_state - state, "plain": next_state}
    packed = {name: _planes(values) for name, values in shapes.items()}
    head["next"] = min(packed, key=lambda name: len(zlib.compress(packed[name], 1)))
    columns = [_planes(degree), _planes(step), _planes(arcs["olabel"] - ilabel), packed[head["next"]]]
    for name, weights in (("weights", arcs["weight"]), ("finals", finals)):
        cells = np.ascontiguousarray(weights).view(f"u{fst.semiring.dtype.itemsize}").reshape(-1)
        table, code, count = np.unique(cells, return_inverse=True, return_counts=True)
        head[name] = len(table) if 2 * len(table) < len(cells) else 0
        if head[name]:
            order = np.argsort(-count, kind="stable")
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = np.arange(len(order))
            columns += [_cut(table[order]), _planes(rank[code])]
        else:
            columns += [_cut(cells), b""]
    return columns


def _machine(head: dict[str, Any], columns: list[bytes]) -> Fst:
    """The machine of `_columns`."""
    algebra = semiring(head["semiring"])
    states, arcs = int(head["states"]), int(head["arcs"])
    width = algebra.dtype.itemsize
    if algebra.is_composite or not 0 <= states < 2**31 or not 0 <= arcs < 2**32 or len(columns) != 8:
        raise ValueError("its sizes are impossible")
    degree = _numbers(columns[0], states)
    if degree.min(initial=0) < 0 or int(degree.sum()) != arcs:
        raise ValueError("the arcs of its states are not all arcs")
    state = np.repeat(np.arange(states), degree)
    step, other, shape = (_numbers(column, arcs) for column in columns[1:4])
    total = np.cumsum(step)
    first = np.cumsum(degree) - degree
    if arcs:
        first = np.minimum(first, arcs - 1)  # of states without arcs behind the last one
        total -= np.repeat(total[first] - step[first], degree)
    ilabel = total
    if head["next"] == "newest":
        shape = _from_newest(shape)
    elif head["next"] == "state":
        shape = shape + state
    values = []
    for name, size, table, code in (
        ("weights", arcs, columns[4], columns[5]),
        ("finals", states, columns[6], columns[7]),
    ):
        entries = int(head[name])
        cells = _joined(table, entries or size, width)
        values.append((cells[_numbers(code, size)] if entries else cells).view(algebra.dtype))
    final = np.flatnonzero(values[1].view(f"u{width}") != np.asarray(algebra.zero, algebra.dtype).view(f"u{width}"))
    return Fst.from_arrays(
        algebra,
        start=int(head["start"]),
        sources=state,
        ilabels=ilabel,
        olabels=ilabel + other,
        nextstates=shape,
        weights=values[0],
        final_states=final,
        final_weights=values[1][final],
        states=states,
    )


def _from_newest(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """States from their differences to the greatest one before: greatest grows where the difference is above 0."""
    newest = np.cumsum(np.maximum(steps, 0)) - 1
    before = np.concatenate([[-1], newest])[:-1] if len(steps) else newest
    result: NDArray[np.int64] = before + steps
    return result


def _planes(values: NDArray[np.int64]) -> bytes:
    """Numbers as bytes: the lowest byte of each, then the next of each, as many as are needed; small ones near zero."""
    folded = np.where(values >= 0, 2 * values, -2 * values - 1).astype(np.uint64)
    width = max(1, (int(folded.max(initial=0)).bit_length() + 7) // 8)
    return bytes([width]) + _cut(folded)[: width * len(values)]


def _numbers(data: bytes, count: int) -> NDArray[np.int64]:
    if not data or not 1 <= data[0] <= 8 or len(data) != 1 + data[0] * count:
        raise ValueError("a column has another length")
    cells = np.zeros((8, count), dtype=np.uint8)
    cells[: data[0]] = np.frombuffer(data, dtype=np.uint8, offset=1).reshape(data[0], count)
    folded = np.ascontiguousarray(cells.T).view("<u8").reshape(-1)
    half = (folded >> np.uint64(1)).astype(np.int64)
    return np.where(folded & np.uint64(1), -half - 1, half)


def _cut(cells: NDArray[Any]) -> bytes:
    """The first byte of each, then the second of each, and so on."""
    return np.ascontiguousarray(cells.view(np.uint8).reshape(len(cells), cells.dtype.itemsize).T).tobytes()


def _joined(data: bytes, count: int, width: int) -> NDArray[Any]:
    if len(data) != count * width:
        raise ValueError("a column has another length")
    cells = np.frombuffer(data, dtype=np.uint8).reshape(width, count)
    return np.ascontiguousarray(cells.T).view(f"u{width}").reshape(-1)


def _common_end(a: bytes, b: bytes) -> int:
    """How many bytes at the end are the same."""
    size = min(len(a), len(b))
    x, y = (np.frombuffer(content, dtype=np.uint8)[len(content) - size :] for content in (a, b))
    different = np.flatnonzero(x != y)
    return size if not different.size else size - 1 - int(different[-1])


def _framed(head: dict[str, Any], parts: list[bytes], content: bytes) -> bytes:
    """Magic, checksum of the file, then the head and each part with its length."""
    packed = [lzma.compress(part, format=lzma.FORMAT_RAW, filters=_filters(len(part))) for part in parts]
    head = {**head, "lengths": [len(part) for part in parts], "packed": [len(part) for part in packed]}
    text = json.dumps(head, sort_keys=True).encode()
    return _MAGIC + struct.pack("<II", zlib.crc32(content), len(text)) + text + b"".join(packed)


def _unframed(packed: bytes) -> tuple[dict[str, Any], list[bytes], int]:
    if not packed.startswith(_MAGIC):
        raise ValueError("its head is another")
    checksum, size = struct.unpack_from("<II", packed, len(_MAGIC))
    at = len(_MAGIC) + 8
    head = json.loads(packed[at : at + size])
    if not isinstance(head, dict):
        raise TypeError("its head is no table")
    at += size
    parts = []
    for length, taken in zip(head["lengths"], head["packed"], strict=True):
        if not 0 <= length <= _MOST_BYTES or not 0 <= taken <= len(packed) - at:
            raise ValueError("a part is cut off")
        parts.append(_unpacked(packed[at : at + taken], length))
        at += taken
    if at != len(packed):
        raise ValueError(f"{len(packed) - at} bytes follow its end")
    return head, parts, checksum


def _unpacked(data: bytes, length: int) -> bytes:
    """What was packed, and no more than it should be."""
    reader = lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=_filters(length))
    content = reader.decompress(data, max_length=length + 1)
    if len(content) != length:
        raise ValueError("a part has another length")
    return content


def _filters(length: int) -> list[dict[str, int]]:
    """LZMA with a window of the length of a part, up to 64 MB."""
    return [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": min(max(length, 1 << 12), 1 << 26)}]

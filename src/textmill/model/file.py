"""The model file: safetensors with one metadata key, written whole or not at all, believed in nothing.

    8 bytes       length of the header, little-endian
    header        JSON: "__metadata__": {"textmill": DESCRIPTION}, NAME: {"dtype", "shape", "data_offsets"}, ...
    data          the arrays, little-endian, rows first, without gaps, larger types first so that each is aligned

DESCRIPTION is canonical JSON (parameters.py) with the keys class, fitted, format, parameters, parts, state; `parts`
holds the same for models inside the model, whose arrays are named `part/NAME/...`. Beside them it has the checksums
(checksums.py) under `crc32`; files of the first release have none. Nothing in it depends on time, machine or release,
so equal models are equal files.

Writing goes to a folder `.NAME.saving-XXXX` beside the target, is flushed to disk, read back as far as the header, and
renamed over the target. A process that is killed leaves that folder, and the next save of the same target removes it
unless somebody still holds its lock. Reading checks the header, O(header), and maps the data, whose checksums are
compared when that is asked for.

Reference: the safetensors format, https://huggingface.co/docs/safetensors.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from textmill.errors import ModelFileError
from textmill.files import lock as lock_file
from textmill.model.checksums import array_checksums, check_arrays, check_header, header_checksum
from textmill.model.foreign import foreign_format
from textmill.model.layout import DTYPES
from textmill.model.parameters import DAMAGED, canonical

__all__ = ["Saved", "is_unfinished", "read", "write"]

MAX_HEADER = 10_000_000  # bytes; the format allows ten times that, and parsed JSON takes some twenty times its text
_MAX_AXES = 8
_DEEPEST = 8  # models in models
_PART_NAME = re.compile(r"[A-Za-z]\w{0,63}", re.ASCII)
_ARRAY_NAME = re.compile(r"(part/NAME/){0,8}NAME(\.NAME){0,2}".replace("NAME", _PART_NAME.pattern), re.ASCII)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SAVING, _DRAFT = ".saving-", "unfinished"
_KEYS = {"class": str, "fitted": bool, "format": int, "parameters": dict, "parts": dict, "state": dict}


@dataclass(slots=True)
class Saved:
    """A model as a file holds it: arrays by name, parameters and state encoded (parameters.py), models inside.

    `checksums`, by array, are those a file has; None for one that has none or is still to be written.
    """

    class_name: str
    format: int
    fitted: bool = True
    parameters: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    parts: dict[str, Saved | None] = field(default_factory=dict)
    checksums: dict[str, str] | None = None


def write(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write a file or leave the old one as it is.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/toy.mill", Saved("topics.LDA", 1, arrays={"topics_": np.ones((2, 3))}))
    ...     read(f"{folder}/toy.mill").arrays["topics_"].tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    target = Path(os.path.realpath(path))  # through a symbolic link, not over it
    if os.path.exists(path) and not os.path.isfile(path):  # not of the target: a pipe behind /dev/stdout has no place
        raise ModelFileError(
            "not saved: there is a folder or device of that name, or a pipe; choose another name", reason="not saved"
        )
    arrays = {name: np.asarray(array, order="C") for name, array in _flat(saved).items()}  # the library swaps bytes
    description = _description(saved) | {"crc32": {"arrays": array_checksums(arrays)}}
    header = header_checksum(description, {name: (array.dtype.name, array.shape) for name, array in arrays.items()})
    description["crc32"]["header"] = header
    text = canonical(description)
    if 2 * len(text.encode()) > MAX_HEADER:  # twice: quotes are escaped once more in the header
        raise ModelFileError(
            f"not saved: parameters and state take {len(text):,} characters, more than {MAX_HEADER // 2:,} bytes; "
            "keep long lists in arrays",
            reason="not saved",
        )
    try:
        with _scratch(target) as (folder, mode):
            draft = folder / _DRAFT
            save_file(arrays, draft, metadata={"textmill": text})
            os.chmod(draft, mode)
            _sync(draft)
            read(draft)  # what could not be read must not replace what can
            os.replace(draft, target)
        with contextlib.suppress(OSError):  # some network file systems cannot; the file itself is safe
            _sync(target.parent)
    except (OSError, SafetensorError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else str(fault)
        remedy = "make" if isinstance(fault, FileNotFoundError) else "make room in"
        raise ModelFileError(
            f"not saved: {reason}; {remedy} the folder or choose another; a file that was there is unchanged",
            reason="not saved",
        ) from None


def _description(saved: Saved) -> dict[str, Any]:
    return {
        "class": saved.class_name,
        "fitted": saved.fitted,
        "format": saved.format,
        "parameters": saved.parameters,
        "parts": {name: None if part is None else _description(part) for name, part in saved.parts.items()},
        "state": saved.state,
    }


def _flat(saved: Saved, prefix: str = "") -> dict[str, NDArray[Any]]:
    """Arrays of the model and of all models inside, by their names in the file."""
    arrays = {prefix + name: array for name, array in saved.arrays.items()}
    for name, part in saved.parts.items():
        if part is not None:
            arrays |= _flat(part, f"{prefix}part/{name}/")
    return arrays


@contextlib.contextmanager
def _scratch(target: Path) -> Iterator[tuple[Path, int]]:
    """A locked folder beside the target, gone afterwards, and the access rights the new file should have.

    A folder and not a file: the library writes through a temporary file of its own, whose name we cannot choose.
    """
    prefix = f".{target.name}{_SAVING}"
    for left in [entry for entry in target.parent.iterdir() if entry.name.startswith(prefix)]:
        with contextlib.suppress(OSError):
            left.rmdir()  # an empty one was killed before it had a lock, or had none any more
        with contextlib.suppress(OSError), open(left / "lock", "rb+") as held:
            lock_file(held.fileno())  # fails while its owner lives
            _clear(left)
    folder, lock = _locked_folder(prefix, target.parent)
    try:
        with lock:
            with contextlib.suppress(OSError):  # a file system without locks: then nobody cleans up either
                lock_file(lock.fileno(), wait=True)  # ours: others hold it for the moment of a try only
            owner = target if target.exists() else folder / "lock"  # the lock has the rights that umask gives
            yield folder, stat.S_IMODE(owner.stat().st_mode)
    finally:
        _clear(folder)


def _locked_folder(prefix: str, parent: Path) -> tuple[Path, BinaryIO]:
    """A new folder with an open file for its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with contextlib.suppress(FileNotFoundError):  # somebody took the empty folder for one that was left
            return folder, open(folder / "lock", "wb")


def _clear(folder: Path) -> None:
    """Remove a folder, the lock last: whatever moment this is killed at, the rest can be told from one in use."""
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            if entry.name != "lock":
                entry.unlink()
        (folder / "lock").unlink()
        folder.rmdir()


def is_unfinished(path: str | os.PathLike[str]) -> bool:
    """Tell whether this is what a save leaves that was killed.

    >>> is_unfinished("models/.lda.mill.saving-x81kd2_a/unfinished"), is_unfinished("lda.mill")
    (True, False)
    """
    file = Path(path).absolute()
    return file.name == _DRAFT and file.parent.name.startswith(".") and _SAVING in file.parent.name


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: str | os.PathLike[str], *, verify: bool = False) -> Saved:
    """Check the header of a file and map its arrays, read-only; O(header), no array is touched.

    With `verify` every array must have its checksum, if the file has any; O(bytes).

    >>> read("no such file")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no such file'
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise ModelFileError(
            f"is a {'folder' if stat.S_ISDIR(mode) else 'device or pipe'}; pass the file of a model", reason="foreign"
        )
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        header = _read_header(file, size)
        begin = 8 + len(header)
        entries = _parse(header, "the header")
        text = _metadata(entries)
        places = _check_places(entries, begin, size)
        try:
            whole = np.asarray(np.memmap(file, dtype=np.uint8, mode="r"))
        except OSError as fault:
            raise ModelFileError(
                f"cannot be mapped into memory ({fault.strerror}); free memory", reason="unreadable"
            ) from None
    description = _parse(text.encode(), "the description")
    if not _is_canonical(description, text):
        raise ModelFileError(f"the description is not in canonical form; {DAMAGED}", reason="damaged")
    checksums = check_header(description, {name: (dtype.name, shape) for name, (_, _, dtype, shape) in places.items()})
    arrays = {name: whole[start:end].view(dtype).reshape(shape) for name, (start, end, dtype, shape) in places.items()}
    if verify and checksums is not None:
        check_arrays(arrays, checksums)
    grouped: dict[str, dict[str, NDArray[Any]]] = {}
    for name, array in arrays.items():
        prefix, _, own_name = name.rpartition("/")
        grouped.setdefault(prefix, {})[own_name] = array
    saved = _saved(description, checksums, grouped, "")
    if grouped:
        raise ModelFileError(
            f"arrays under '{min(grouped)}' belong to no model in the file; {DAMAGED}", reason="damaged"
        )
    return saved


def _read_header(file: BinaryIO, size: int) -> bytes:
    """The bytes of the header, once there is reason to take them for one."""
    first = file.read(512)
    length = int.from_bytes(first[:8], "little")
    if size >= 8 and first[8:9] in (b"{", b"") and 2 <= length <= MAX_HEADER:
        if 8 + length > size:
            raise ModelFileError(
                f"ends after {size} bytes, inside its header; an unfinished copy: fetch it again", reason="truncated"
            )
        file.seek(8)
        header = file.read(length)
        if len(header) == length:
            return header
    raise ModelFileError(f"not a textmill model but {foreign_format(first)}", reason="foreign")


def _parse(data: bytes, what: str) -> dict[str, Any]:
    """A JSON object, every key once."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) != len(pairs):
            raise ValueError("a key stands twice")
        return fields

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    try:
        value = json.loads(data.decode(), object_pairs_hook=unique, parse_constant=refuse)
    except RecursionError:
        raise ModelFileError(f"{what} is nested too deeply; {DAMAGED}", reason="damaged") from None
    except ValueError as fault:  # UTF-8, JSON and endless numbers all end here
        reason = str(fault).splitlines()[0][:120]
        raise ModelFileError(f"{what} is not JSON in UTF-8 ({reason}); {DAMAGED}", reason="damaged") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"{what} is no JSON object; {DAMAGED}", reason="damaged")
    return value


def _metadata(entries: dict[str, Any]) -> str:
    """Take our one metadata key out of the header."""
    metadata = entries.pop("__metadata__", None)
    if not isinstance(metadata, dict) or "textmill" not in metadata:
        raise ModelFileError(
            "a safetensors file of another program (no 'textmill' in its metadata); pass a file made by save",
            reason="damaged",
        )
    text = metadata["textmill"]
    if len(metadata) != 1 or not isinstance(text, str) or _LONE_SURROGATE.search(text):
        raise ModelFileError(f"the metadata must be one text under 'textmill'; {DAMAGED}", reason="damaged")
    return text


def _is_canonical(description: dict[str, Any], text: str) -> bool:
    """Would we have written exactly this text? Then equal models are equal files, and no reader sees it otherwise."""
    try:
        return canonical(description) == text
    except (ValueError, RecursionError):  # a number so large that it became infinite; nested too deeply
        return False


Place = tuple[int, int, np.dtype[Any], tuple[int, ...]]  # first byte, byte after the last, type, shape


def _check_places(entries: dict[str, Any], begin: int, size: int) -> dict[str, Place]:
    """Where each array lies: known types, sane shapes, aligned, one after the other up to the end of the file."""
    places: dict[str, Place] = {}
    for name, entry in entries.items():
        if not _ARRAY_NAME.fullmatch(name):
            raise ModelFileError(f"array name {name[:80]!r} is none of ours; {DAMAGED}", reason="damaged")
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise ModelFileError(f"array '{name}' must have dtype, shape and data_offsets; {DAMAGED}", reason="damaged")
        code, shape, span = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(code, str) or code not in DTYPES:
            raise ModelFileError(f"array '{name}' has the unknown type {str(code)[:20]!r}; {DAMAGED}", reason="damaged")
        if not _counts(shape) or len(shape) > _MAX_AXES or not _counts(span) or len(span) != 2:
            raise ModelFileError(f"array '{name}' has an impossible shape or place; {DAMAGED}", reason="damaged")
        dtype = np.dtype(DTYPES[code]).newbyteorder("<")
        items = full = 1
        for extent in shape:
            items, full = items * extent, full * max(1, extent)  # Python's integers do not overflow, NumPy's do
        if full * dtype.itemsize >= 2**63 or span[1] - span[0] != items * dtype.itemsize:
            raise ModelFileError(f"array '{name}' does not fit its place in the file; {DAMAGED}", reason="damaged")
        start, end = begin + span[0], begin + span[1]
        if start % dtype.itemsize:
            raise ModelFileError(f"array '{name}' is not aligned; {DAMAGED}", reason="damaged")
        places[name] = (start, end, dtype, tuple(shape))
    position = begin
    for name, (start, end, _, _) in sorted(places.items(), key=lambda item: item[1][:2]):
        if start != position:
            raise ModelFileError(f"array '{name}' leaves a gap or lies over another; {DAMAGED}", reason="damaged")
        position = end
    if position > size:
        raise ModelFileError(
            f"ends after {size} of {position} bytes; an unfinished copy: fetch it again", reason="truncated"
        )
    if position < size:
        raise ModelFileError(f"has {size - position} bytes after its end; {DAMAGED}", reason="damaged")
    return places


def _counts(values: Any) -> bool:
    """Is this a list of integers from 0 to 2^63 - 1?"""
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**63 for value in values)


def _saved(
    description: Any, checksums: dict[str, str] | None, grouped: dict[str, dict[str, NDArray[Any]]], prefix: str
) -> Saved:
    """Check one level of the description and give it its arrays, which leave `grouped`, and their checksums."""
    if not isinstance(description, dict) or description.keys() != _KEYS.keys():
        raise ModelFileError(f"the description must have the keys {', '.join(_KEYS)}; {DAMAGED}", reason="damaged")
    for key, kind in _KEYS.items():
        if type(description[key]) is not kind:
            raise ModelFileError(f"'{key}' in the description must be a {kind.__name__}; {DAMAGED}", reason="damaged")
    if not 1 <= description["format"] < 2**31:
        raise ModelFileError(f"the format in the description is no version; {DAMAGED}", reason="damaged")
    if prefix.count("part/") >= _DEEPEST:
        raise ModelFileError(f"models are nested more than {_DEEPEST} deep; {DAMAGED}", reason="damaged")
    parts = {}
    for name, part in description["parts"].items():
        if not _PART_NAME.fullmatch(name):
            raise ModelFileError(f"part name {name[:80]!r} is none of ours; {DAMAGED}", reason="damaged")
        inner = f"{prefix}/part/{name}".removeprefix("/")
        parts[name] = None if part is None else _saved(part, checksums, grouped, inner)
    arrays = grouped.pop(prefix, {})
    return Saved(
        class_name=description["class"],
        format=description["format"],
        fitted=description["fitted"],
        parameters=description["parameters"],
        state=description["state"],
        arrays=arrays,
        parts=parts,
        checksums=None
        if checksums is None
        else {name: checksums[f"{prefix}/{name}".removeprefix("/")] for name in arrays},
    )

"""A model file taken apart and put together again by hand, right or wrong."""

from __future__ import annotations

import json
import zlib

TYPES = {"BOOL": "bool", "F16": "float16", "F32": "float32", "F64": "float64"}
TYPES |= {f"{sign}{bits}": f"{'u' * (sign == 'U')}int{bits}" for sign in "IU" for bits in (8, 16, 32, 64)}


def take_apart(data: bytes) -> tuple[dict, dict, bytes]:
    """Header without metadata, description, bytes of the arrays."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    description = json.loads(header.pop("__metadata__")["textmill"])
    return header, description, data[8 + length :]


def compact(value: object) -> str:
    """JSON as our files have it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def with_header(text: str | bytes, body: bytes) -> bytes:
    """A file with this text as its header, padded so that the arrays are aligned."""
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    raw += b" " * (-len(raw) % 8)
    return len(raw).to_bytes(8, "little") + raw + body


def seal(header: dict, description: object, body: bytes) -> object:
    """The description with the checksums that belong to these parts, if it had any and there can be any."""
    if not isinstance(description, dict) or not isinstance(description.get("crc32"), dict):
        return description
    try:
        arrays = {name: crc32(body[slice(*entry["data_offsets"])]) for name, entry in header.items()}
        types = {name: [TYPES.get(entry["dtype"]), entry["shape"]] for name, entry in header.items()}
    except TypeError:  # of something that is no array
        return description
    sealed = description | {"crc32": {"arrays": arrays}}
    digits = crc32(compact({"arrays": types, "description": sealed}).encode("utf-8", "surrogatepass"))
    return description | {"crc32": {"arrays": arrays, "header": digits}}


def crc32(data: bytes) -> str:
    return format(zlib.crc32(data), "08x")


def put_together(header: dict, description: object, body: bytes, *, sealed: bool = True) -> bytes:
    """A file of these parts, with the right checksums; a description that is a string is taken as it is."""
    if isinstance(description, str):
        text = description
    else:
        text = compact(seal(header, description, body) if sealed else description)
    return with_header(compact({"__metadata__": {"textmill": text}} | header), body)

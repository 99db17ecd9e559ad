"""A model file taken apart and put together again by hand, right or wrong."""

from __future__ import annotations

import json


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


def put_together(header: dict, description: object, body: bytes) -> bytes:
    """A file of these parts; a description that is a string is taken as it is."""
    text = description if isinstance(description, str) else compact(description)
    return with_header(compact({"__metadata__": {"textmill": text}} | header), body)

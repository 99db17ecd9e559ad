"""Hostile model files: valid ones changed blindly, byte by byte, or knowingly, by structure."""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Iterator

from reference.model_bytes import compact, put_together, take_apart, with_header

NUMBERS = [
    0,
    1,
    2,
    3,
    7,
    8,
    255,
    2**31 - 1,
    2**31,
    2**32,
    2**53,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    10**4000,
    -1,
    -8,
    1.0,
    1e308,
]
NAMES = [
    "toys.Words",
    "toys.Bayes",
    "toys.Line",
    "toys.Everything",
    "toys.Shy",
    "toys.DataError",
    "toys.Arcs",
    "os.System",
]
NAMES += [
    "model.Model",
    "model.Estimator",
    "model.StringTable",
    "builtins.Exception",
    "",
    ".",
    "toys.",
    "errors.DataError",
]
TYPES = [
    "F64",
    "F32",
    "F16",
    "BF16",
    "I64",
    "I32",
    "I16",
    "I8",
    "U64",
    "U32",
    "U16",
    "U8",
    "BOOL",
    "F8_E4M3",
    "C64",
    "",
]


def mutants(originals: list[bytes], count: int, seed: int) -> Iterator[bytes]:
    """`count` files made from the originals, the same for the same seed; in many the checksums are right again."""
    rng = random.Random(seed)
    kinds = [flip, overwrite, cut, insert, duplicate, edit_array, edit_arrays, edit_description, edit_text, edit_body]
    for _ in range(count):
        data = rng.choice(originals)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            try:
                data = rng.choice(kinds)(rng, data)
            except (
                ValueError,
                KeyError,
                TypeError,
                AttributeError,
                IndexError,
                RecursionError,
            ):  # no longer a file one can take apart
                data = flip(rng, data)
        if rng.random() < 0.5:
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
                data = put_together(*take_apart(data))
        yield data


def flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data or b"\0")
    for _ in range(rng.choice([1, 1, 2, 8])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def overwrite(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice([b"\0" * 8, b"\xff" * 8, rng.randbytes(8), b"{", b'"', b"]"]) + data[at + 8 :]


def cut(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.5 else data[:at] + data[at + rng.randrange(1, 64) :]


def insert(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.choice([1, 1, 8, 100])) + data[at:]


def duplicate(rng: random.Random, data: bytes) -> bytes:
    at, size = rng.randrange(len(data) + 1), rng.randrange(1, 200)
    return data[: at + size] + data[at:]


def edit_array(rng: random.Random, data: bytes) -> bytes:
    """Change what the header says of one array."""
    header, description, body = take_apart(data)
    entry = header[rng.choice(sorted(header))]
    key = rng.choice(["dtype", "shape", "shape", "data_offsets", "data_offsets"])
    if key == "dtype":
        entry[key] = rng.choice(TYPES)
    elif rng.random() < 0.2:
        entry[key] = rng.choice([None, "x", [], {}, [[]], entry[key] * 2, [None], entry[key][::-1]])
    elif entry[key]:
        at = rng.randrange(len(entry[key]))
        entry[key][at] = rng.choice([*NUMBERS, entry[key][at] + rng.choice([-8, -1, 1, 8])])
    return put_together(header, description, body)


def edit_arrays(rng: random.Random, data: bytes) -> bytes:
    """Remove, rename, swap or invent arrays."""
    header, description, body = take_apart(data)
    first, second = rng.choice(sorted(header)), rng.choice(sorted(header))
    action = rng.randrange(5)
    if action == 0:
        del header[first]
    elif action == 1:
        header[rng.choice(["x", "part/x/y", "a b", "", "__metadata__", f"{first}.bytes", f"{first}+1"])] = header.pop(
            first
        )
    elif action == 2:
        header[first], header[second] = header[second], header[first]
    elif action == 3:
        header[first + "x"] = {"dtype": "U8", "shape": [0], "data_offsets": [len(body), len(body)]}
    else:
        header[first]["data_offsets"] = list(header[second]["data_offsets"])
    return put_together(header, description, body)


def edit_description(rng: random.Random, data: bytes) -> bytes:
    """Change one value somewhere in the description."""
    header, description, body = take_apart(data)
    part = description
    while part.get("parts") and rng.random() < 0.4:
        part = rng.choice([inner for inner in part["parts"].values() if inner] or [part])
    key = rng.choice(["class", "format", "fitted", "parameters", "parameters", "state", "state", "parts", "parts"])
    if key == "class":
        part[key] = rng.choice([*NAMES, junk(rng)])
    elif isinstance(part[key], dict) and rng.random() < 0.8:
        names = [*sorted(part[key]), "x", "words", "words_", "smoothing", "n\n"]
        name = rng.choice(names)
        values = [junk(rng), None, copy.deepcopy(description), *part[key].values()]
        part[key][name] = rng.choice(values)
        if rng.random() < 0.3:
            del part[key][name]
    else:
        part[key] = rng.choice([junk(rng), *NUMBERS, True, False])
    return put_together(header, description, body)


def edit_text(rng: random.Random, data: bytes) -> bytes:
    """Change the text of the header or description, keeping the lengths right."""
    header, description, body = take_apart(data)
    inside = rng.random() < 0.5
    text = compact(description if inside else {"__metadata__": {"textmill": compact(description)}} | header)
    at = rng.randrange(len(text) + 1)
    piece = rng.choice(
        ["[" * 5000, '{"a":' * 5000, " ", "\\u0000", "\\ud800", "NaN", "9" * 5000, "1e999", '"', text[:at], ""]
    )
    text = text[:at] + piece + text[at + rng.randrange(3) :]
    return put_together(header, text, body) if inside else with_header(text, body)


def edit_body(rng: random.Random, data: bytes) -> bytes:
    """Change the values of one array."""
    header, description, body = take_apart(data)
    begin, end = (min(int(place), len(body)) for place in header[rng.choice(sorted(header))]["data_offsets"])
    changed = bytearray(body)
    for _ in range(rng.choice([1, 2, 8])):
        at = rng.randrange(begin, end)
        width = rng.choice([1, 4, 8])
        value = rng.choice([rng.randbytes(8), b"\xff" * 8, bytes(8), (2**62).to_bytes(8, "little")])[:width]
        changed[at : at + width] = value
    return put_together(header, description, bytes(changed[: len(body)]), sealed=rng.random() < 0.5)


def junk(rng: random.Random, depth: int = 0) -> object:
    """Any JSON value, some of them in the forms that files use."""
    choice = rng.randrange(12 if depth < 4 else 6)
    if choice < 6:
        return [None, True, rng.choice(NUMBERS), "", "ü\n", 0.1][choice]
    if choice < 8:
        return [junk(rng, depth + 1) for _ in range(rng.randrange(3))]
    tag = rng.choice(["tuple", "set", "frozenset", "dict", "float", "callable", "x"])
    return {
        tag: rng.choice([junk(rng, depth + 1), [junk(rng, depth + 1)], [[1, junk(rng, depth + 1)]], "nan", "os.system"])
    }

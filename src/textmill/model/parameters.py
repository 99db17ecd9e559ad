"""Parameters and small state as canonical JSON.

Equal values give equal bytes: keys and sets are sorted, there are no spaces, floats are Python's shortest exact form.
What JSON does not know is an object with one key that names it:

    (1, 2)                {"tuple":[1,2]}
    {"b", "a"}            {"set":["a","b"]}               frozenset alike
    {"a": 1}              {"dict":[["a",1]]}              sorted by key, keys of any kind
    nan, inf, -inf        {"float":"nan"}
    a function            {"callable":"module.name"}      only the name: no file of ours holds code
    Search(memory=5)      {"options":["package.Search",{"memory":5}]}      a public class of Options (options.py)

A NumPy array becomes the list of its values, and comes back as that.
Cost: one visit per value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from textmill.errors import DataError, ModelFileError, reason_of
from textmill.model.names import class_name, find_class
from textmill.model.options import Options

__all__ = ["DAMAGED", "callable_name", "canonical", "decode", "encode", "readable"]

DAMAGED = "the file is damaged: copy it again or save the model again"  # the remedy of most faults
_DEEPEST = 16  # nesting of lists in lists; far more than parameters have, far less than the interpreter bears
_LONGEST = 1024  # bits of an integer
_INFINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}


def canonical(value: Any) -> str:
    """JSON text of an encoded value, the same for equal values.

    >>> canonical({"b": 1.0, "a": ["ü"]})
    '{"a":["ü"],"b":1.0}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def encode(name: str, value: Any, depth: int = 0) -> Any:
    """Turn a value into what JSON knows; `name` is for the message when that is impossible.

    >>> encode("window", (1, float("inf")))
    {'tuple': [1, {'float': 'inf'}]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if depth > _DEEPEST:
        raise DataError(f"{name} is nested more than {_DEEPEST} deep; a model file holds only flat values")
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise DataError(f"{name} holds a lone surrogate in {value!r}, which no file can hold; remove it") from None
        return value
    if kind is int and value.bit_length() <= _LONGEST:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if kind is list:
        return [encode(name, item, depth + 1) for item in value]
    if kind is tuple:
        return {"tuple": [encode(name, item, depth + 1) for item in value]}
    if kind is set or kind is frozenset:
        return {kind.__name__: sorted((encode(name, item, depth + 1) for item in value), key=canonical)}
    if kind is dict:
        pairs = ([encode(name, key, depth + 1), encode(name, item, depth + 1)] for key, item in value.items())
        return {"dict": sorted(pairs, key=canonical)}
    if isinstance(value, Options):
        values = {field: encode(name, item, depth + 1) for field, item in value.get_params().items()}
        return {"options": [class_name(kind), values]}
    if callable(value) and depth == 0:
        owner = value if hasattr(value, "__qualname__") else kind
        module = getattr(owner, "__module__", None)  # methods of built-in types have none
        return {"callable": f"{module}.{owner.__qualname__}" if module else owner.__qualname__}
    raise DataError(
        f"{name} is {value!r}, a {kind.__module__}.{kind.__qualname__}, which a model file cannot hold; "
        "use numbers, strings, lists, tuples, sets, dicts, options, a function or a textmill model"
    )


def callable_name(value: Any) -> str | None:
    """Name of the function that an encoded value stands for, None when it is something else.

    >>> callable_name({"callable": "mine.split"})
    'mine.split'
    """
    if isinstance(value, dict) and value.keys() == {"callable"} and isinstance(value["callable"], str):
        return value["callable"]
    return None


def decode(name: str, value: Any, depth: int = 0) -> Any:
    """Undo `encode`; a callable, which cannot come back from its name, is a fault here.

    >>> decode("window", {"tuple": [1, {"float": "inf"}]})
    (1, inf)
    """
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, int) and value.bit_length() <= _LONGEST:
        return value
    if depth > _DEEPEST:
        raise ModelFileError(f"{name} is nested more than {_DEEPEST} deep; {DAMAGED}", reason="damaged")
    if isinstance(value, list):
        return [decode(name, item, depth + 1) for item in value]
    if isinstance(value, dict) and len(value) == 1:
        kind, content = next(iter(value.items()))
        if kind == "float" and isinstance(content, str) and content in _INFINITE:
            return _INFINITE[content]
        if kind == "options":
            return _options(name, content, depth)
        try:
            if kind in _CONTAINERS and isinstance(content, list):
                return _CONTAINERS[kind]([decode(name, item, depth + 1) for item in content])
            if kind == "dict" and isinstance(content, list) and all(isinstance(pair, list) for pair in content):
                return {decode(name, key, depth + 1): decode(name, item, depth + 1) for key, item in content}
        except (TypeError, ValueError):  # an element that cannot be in a set, a pair that is none
            pass
    raise ModelFileError(f"{name} has a value of no known form; {DAMAGED}", reason="damaged")


def _options(name: str, content: Any, depth: int) -> Options:
    """Options from their public name and fields."""
    if not _names_options(content):
        raise ModelFileError(f"{name} has a value of no known form; {DAMAGED}", reason="damaged")
    cls = find_class(content[0])
    if not issubclass(cls, Options):
        raise ModelFileError(
            f"{name} holds a {content[0][:80]!r}, which is no class of options; {DAMAGED}", reason="damaged"
        )
    values = {field: decode(name, item, depth + 1) for field, item in content[1].items()}
    try:
        return cls(**values)
    except (DataError, TypeError) as fault:
        raise ModelFileError(
            f"{name} has options that {content[0]} refuses ({fault}); {DAMAGED}", reason=reason_of(fault)
        ) from None


def _names_options(content: Any) -> bool:
    return isinstance(content, list) and [type(item) for item in content] == [str, dict]


def readable(value: Any) -> Any:
    """Return an encoded value as plain JSON for people: tuples and sets are lists, dicts have string keys.

    >>> readable({"tuple": [1, {"float": "inf"}]}), readable({"callable": "mine.split"})
    ([1, 'inf'], '<callable mine.split>')
    """
    name = callable_name(value)
    if isinstance(value, dict) and _names_options(value.get("options")):  # without importing its class
        return {value["options"][0]: {field: readable(item) for field, item in value["options"][1].items()}}
    return f"<callable {name}>" if name is not None else _plain(decode("a value", value))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return [_plain(item) for item in sorted(value, key=repr)]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value

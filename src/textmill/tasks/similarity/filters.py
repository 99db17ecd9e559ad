"""Which documents may be found, by their fields.

    {"language": "en"}              the field is "en", or a list that holds it
    {"code": ["20D", "20E"]}        one of several
    {"year": lambda y: y > 1990}    any condition; a document without the field is out

A command writes them as language=en, code=20D (again for more values), year>=1990, title~word.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from textmill.errors import DataError

__all__ = ["Where", "as_condition", "parse_filters"]

Where = Mapping[str, Any]

_FORM = re.compile(r"\s*([^=<>!~]+?)\s*(>=|<=|!=|=|>|<|~)\s*(.*?)\s*")
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def as_condition(wanted: Any) -> Callable[[Any], bool]:
    """Return what a value of a filter says of the value of a field.

    >>> as_condition(["20D", "20E"])(["20E", "05C"]), as_condition("en")("cs"), as_condition("en")(None)
    (True, False, False)
    """
    if callable(wanted):
        return lambda value: value is not None and any(wanted(one) for one in _each(value))
    choices = {_key(one) for one in (wanted if _is_several(wanted) else [wanted])}
    return lambda value: value is not None and any(_key(one) in choices for one in _each(value))


def parse_filters(filters: Iterable[str]) -> dict[str, Callable[[Any], bool]]:
    """Return the filter of written conditions; those of one field with `=` mean one of them, all others hold together.

    >>> where = parse_filters(["year>=1990", "language=en", "language=cs"])
    >>> where["year"](1995), where["year"]("1980"), where["language"]("cs")
    (True, False, True)
    """
    choices: dict[str, list[str]] = {}
    conditions: dict[str, list[Callable[[Any], bool]]] = {}
    for text in filters:
        match = _FORM.fullmatch(text)
        if match is None:
            raise DataError(f"'{text}' is no filter; write FIELD=VALUE, or one of != >= <= > < ~ in place of =")
        name, sign, value = match.groups()
        if sign == "=":
            choices.setdefault(name, []).append(value)
        else:
            conditions.setdefault(name, []).append(_condition(sign, value))
    for name, values in choices.items():
        conditions.setdefault(name, []).append(as_condition(values))
    return {name: _all(several) for name, several in conditions.items()}


def _condition(sign: str, wanted: str) -> Callable[[Any], bool]:
    if sign == "!=":
        return lambda value: _key(value) != _key(wanted)
    if sign == "~":
        return lambda value: wanted.casefold() in str(value).casefold()
    order = _ORDERS[sign]

    def holds(value: Any) -> bool:
        one, other = _number(value), _number(wanted)
        return order(str(value), wanted) if one is None or other is None else order(one, other)

    return holds


def _all(conditions: Collection[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    return lambda value: all(condition(value) for condition in conditions)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _key(value: Any) -> str:
    """A value as it is compared: 1990, 1990.0 and "1990" are the same."""
    number = None if isinstance(value, bool) else _number(value)
    return str(value).casefold() if number is None else repr(number)


def _each(value: Any) -> Collection[Any]:
    return value if isinstance(value, list) else [value]


def _is_several(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)

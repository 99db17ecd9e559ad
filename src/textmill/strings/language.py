"""Measures as text, both ways.

    ml(words, sub=ml(trigrams, sub=context), transpositions="extended")

A measure is a name, or a name with arguments in brackets: the features first, or the measures it is made of, then
options by name. Text is read as an expression, never run. `str(measure)` gives the shortest text that reads back as an
equal measure.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from textmill.errors import DataError
from textmill.strings import adaptive, bags, characters, combined, compatible, contexts, second_level
from textmill.strings.features import Characters, Features, Ngrams, Sounds, Words, quoted
from textmill.strings.measure import Measure

__all__ = ["FEATURES", "MEASURES", "parse_measure"]

_CLASSES: dict[str, type[Measure]] = {
    cls.name: cls
    for module in (adaptive, bags, characters, combined, compatible, contexts, second_level)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Measure) and cls.name
}
_FEATURES: dict[str, Callable[..., Features]] = {
    "bigrams": lambda **options: Ngrams(n=2, **options),
    "characters": Characters,
    "metaphone": lambda: Sounds("metaphone"),
    "ngrams": Ngrams,
    "nysiis": lambda: Sounds("nysiis"),
    "soundex": lambda: Sounds("soundex"),
    "trigrams": lambda **options: Ngrams(n=3, **options),
    "words": Words,
}
MEASURES = tuple(sorted(_CLASSES))  # names that the text form knows
FEATURES = tuple(sorted(_FEATURES))
_LONGEST = 10_000


def parse_measure(text: str, functions: Mapping[str, Measure | Features] | None = None) -> Measure:
    """Return the measure that a text describes; `functions` are measures and features of yours by their label.

    >>> parse_measure("ml(words, sub=jaro)")
    Ml(features=Words(split='whitespace'), sub=Jaro(...), ...)
    >>> parse_measure("levenstein")
    Traceback (most recent call last):
    textmill.errors.DataError: no measure is called 'levenstein'; known: assignment, auto, ...
    """
    if not isinstance(text, str):
        raise DataError(f"a measure is described by text, got {text!r}; pass for example 'ml(words, sub=jaro)'")
    if len(text) > _LONGEST:
        raise DataError(f"the text of a measure has {len(text)} characters, at most {_LONGEST} are read; shorten it")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        measure = _read(tree, text, functions or {})
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"the measure {text[:80]!r} cannot be read; write for example 'ml(words, sub=jaro)'") from None
    if not isinstance(measure, Measure):
        raise DataError(f"{text[:80]!r} describes no measure; known: {', '.join(MEASURES)}")
    return measure


def _read(tree: ast.expr, text: str, functions: Mapping[str, Measure | Features]) -> Any:
    """The value of an expression: a measure, features, or a constant."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str | int | float | bool):
        return tree.value
    call = tree if isinstance(tree, ast.Call) else ast.Call(func=tree, args=[], keywords=[])
    if not isinstance(call.func, ast.Name):
        raise DataError(f"the measure {text[:80]!r} holds {ast.unparse(tree)[:40]!r}, which is no name; write names")
    name = call.func.id
    positional = [_read(part, text, functions) for part in call.args]
    options = {str(part.arg): _read(part.value, text, functions) for part in call.keywords}
    if name in functions:
        if positional or options:
            raise DataError(f"{name!r} is a function of yours and takes no arguments; write {name}")
        return functions[name]
    if name in _FEATURES:
        return _call(name, _FEATURES[name], positional, options)
    if name not in _CLASSES:
        raise DataError(f"no measure is called {name!r}; known: {', '.join(MEASURES)}")
    cls = _CLASSES[name]
    if fields(cls) and fields(cls)[0].name == "subs":  # any number of measures
        positional = [tuple(positional)]
    _check_kinds(name, cls, positional, options)
    return _call(name, cls, positional, options)


def _call(name: str, make: Callable[..., Any], positional: list[Any], options: dict[str, Any]) -> Any:
    try:
        return make(*positional, **options)
    except TypeError as error:
        raise DataError(f"{name} has other arguments: {str(error).replace('__init__() ', '')}") from None


def _check_kinds(name: str, cls: type[Measure], positional: list[Any], options: dict[str, Any]) -> None:
    """Features where features stand, measures where measures stand."""
    arguments = dict(zip((field.name for field in fields(cls)), positional, strict=False)) | options
    for key, kind, wanted in (("features", Features, "features"), ("sub", Measure, "a measure")):
        if key in arguments and not isinstance(arguments[key], kind):
            raise DataError(f"{key} of {name} must be {wanted}, got {quoted(arguments[key])}")
    for part in arguments.get("subs", ()):
        if not isinstance(part, Measure):
            raise DataError(f"{name} is made of measures, got {quoted(part)}")
    for key, value in arguments.items():
        if key not in ("features", "sub", "subs") and isinstance(value, Measure | Features):
            raise DataError(f"{key} of {name} must be a plain value, got {quoted(value)}")

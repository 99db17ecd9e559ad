"""Errors in the words of the command line: options where the library speaks of parameters.

    encoding='latin-1'   ->  --encoding latin-1        n_topics must be at least 1   ->  --topics must be at least 1
    acceptor=True        ->  --acceptor                the field of text_field       ->  the field of --text-field

The library does not know who calls it, so its messages name parameters. Which options stand for them is read from the
command itself: a parameter has the name of the command's own, or one of `SYNONYMS`. Advice to pass a parameter that the
command has no option for is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["SYNONYMS", "in_options", "options_of"]

# parameter of the library -> names that its options have in the commands
SYNONYMS = {
    "checkpoint": ("resume",),
    "chunk_size": ("chunk",),
    "columns": ("columns",),
    "forget": ("decay",),
    "held_out": ("heldout", "held_out"),
    "k": ("folds",),
    "n_clusters": ("clusters",),
    "n_jobs": ("jobs",),
    "n_topics": ("topics",),
    "n_words": ("words",),
    "normaliser": ("normalise",),
    "random_state": ("seed",),
    "solver": ("algorithm",),
    "source_format": ("from_format",),
    "target": ("output",),
}
_ORDINALS = ("first", "second", "third")
_VALUE = r"""'[^']*'|"[^"]*"|\([^()]*\)|[\w.+-]+"""
_ASSIGNMENT = re.compile(rf"\b([a-z]\w*)=(?:({_VALUE})(?:\(\))?|(?=\s|$))")
_ADVICE = re.compile(rf"(?:[;,]\s*)?(?:or\s+)?pass ([a-z]\w*)=(?:{_VALUE})(?:\(\))?(?=\s*(?:[;,]|$))")
_MUST = re.compile(r"(^|: )([a-z]\w*)(?:\[(\d)\])?(?= must )")
_UNDERSCORED = re.compile(r"(?<![-\w./'\"])([a-z]\w*_\w*)(?![\w./'\"=(])")


def options_of(command: Any) -> dict[str, Any]:
    """The options of a command by the name of the parameter they stand for."""
    own = {
        parameter.name: parameter
        for parameter in getattr(command, "params", [])
        if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False)
    }
    others = {
        name: own[option]
        for name, options in SYNONYMS.items()
        for option in options
        if name not in own and option in own
    }
    return own | others


def in_options(message: str, options: Mapping[str, Any]) -> str:
    """The message with options in place of parameters."""
    message = _ADVICE.sub(lambda found: found[0] if found[1] in options else "", message)
    message = _ASSIGNMENT.sub(lambda found: _setting(found, options), message)
    message = _MUST.sub(lambda found: _subject(found, options), message)
    return _UNDERSCORED.sub(
        lambda found: _spelling(options[found[1]]) if found[1] in options else found[0], message
    ).lstrip("; ")


def _spelling(option: Any) -> str:
    """The option as it is typed: its long form, if it has one."""
    return str(max(option.opts, key=lambda name: name.startswith("--")))


def _setting(found: re.Match[str], options: Mapping[str, Any]) -> str:
    """`name=value` as it is typed."""
    option, value = options.get(found[1]), found[2]
    if option is None:
        return found[0]
    if value is None:
        return _spelling(option)
    if value == "True":
        return _spelling(option)
    if value in ("False", "None"):
        return option.secondary_opts[0] if option.secondary_opts else f"no {_spelling(option)}"
    value = value.strip("'\"()").replace(", ", " ")
    return f"{_spelling(option)} '{value}'" if " " in value and option.nargs == 1 else f"{_spelling(option)} {value}"


def _subject(found: re.Match[str], options: Mapping[str, Any]) -> str:
    """The parameter that a requirement is about."""
    if found[2] not in options:
        return found[0]
    part = f"the {_ORDINALS[int(found[3])]} of " if found[3] is not None else ""
    return f"{found[1]}{part}{_spelling(options[found[2]])}"

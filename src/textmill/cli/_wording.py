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
from shlex import quote
from typing import Any

__all__ = ["SYNONYMS", "in_options", "options_of"]

# parameter of the library -> names that its options have in the commands
SYNONYMS = {
    "checkpoint": ("resume",),
    "chunk_size": ("chunk",),
    "format": ("from_format", "to_format"),
    "k": ("folds",),
    "n_clusters": ("clusters",),
    "n_jobs": ("jobs",),
    "n_topics": ("topics",),
    "n_words": ("words",),
    "normalizer": ("normalize",),
    "random_state": ("seed",),
}
# advice for programs -> advice for people at a terminal
_PHRASES = {
    ", a generator of NumPy or None,": ",",
    ", or None for all cores": "; leave it out for all cores",
    "a file made by save": "a model file that textmill has written",
    "call fit, or load a fitted one": "train it first",
    "convert its ARPA file with textmill.lm instead": "pass its ARPA file instead",
    "import it with textmill.fst": "use it with 'textmill fst'",
    "load a .mill file with textmill.load": "pass a .mill file to read one of ours",
    "read it with sequence.read_wapiti": "convert it with 'textmill tag convert'",
    "read it with textmill.corpus": "use it as a file of bags, with 'textmill bags'",
    "read it with textmill.lm": "use it with 'textmill lm'",
    "read it with sequence.read_tagger": "convert it with 'textmill tag convert'",
    "train them anew with rebuild": "train them anew with 'textmill similar upsert --rebuild'",
    "unit='line' if every line is a document": "--lines if every line is a document",
    "unpack it, or read bags with textmill.corpus": "unpack it, or use it as a file of bags, with 'textmill bags'",
    "write DOT with to_dot": "leave out --svg to write DOT",
}
_ORDINALS = ("first", "second", "third")
_VALUE = r"""'[^']*'|"[^"]*"|\([^()]*\)|[\w.+-]+"""
_ASSIGNMENT = re.compile(rf"(?<![-\w])([a-z]\w*)=(?:({_VALUE})(?:\(\))?|(?=\s|$))")
_ADVICE = re.compile(rf"[;,]\s*(?:or\s+)?pass ([a-z]\w*)=(?:{_VALUE})[^;]*")
_MUST = re.compile(r"(^|: )([a-z]\w*)(?:\[(\d)\])?(?= must )")
_UNDERSCORED = re.compile(r"(?<![-\w./'\"])([a-z]\w*_\w*)(?![\w./'\"=(])")


def options_of(command: Any) -> dict[str, list[Any]]:
    """The options of a command by the name of the parameter they stand for; several may stand for one."""
    own = {
        parameter.name: [parameter]
        for parameter in getattr(command, "params", [])
        if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False)
    }
    others = {
        name: [own[option][0] for option in options if option in own]
        for name, options in SYNONYMS.items()
        if name not in own
    }
    return own | {name: options for name, options in others.items() if options}


def in_options(message: str, options: Mapping[str, list[Any]]) -> str:
    """The message with options in place of parameters."""
    for phrase, other in _PHRASES.items():
        message = message.replace(phrase, other)
    message = _ADVICE.sub(lambda match: match[0] if match[1] in options else "", message)
    message = _ASSIGNMENT.sub(lambda match: _setting(match, options), message)
    message = _MUST.sub(lambda match: _subject(match, options), message)
    return _UNDERSCORED.sub(lambda match: _spelling(options[match[1]]) if match[1] in options else match[0], message)


def _spelling(options: list[Any]) -> str:
    """Options as they are typed: in their long form, if they have one."""
    return " or ".join(max(option.opts, key=lambda name: name.startswith("--")) for option in options)


def _setting(match: re.Match[str], options: Mapping[str, list[Any]]) -> str:
    """`name=value` as it is typed."""
    if match[1] not in options:
        return match[0]
    option, spelling, value = options[match[1]][0], _spelling(options[match[1]]), match[2]
    if value is None or value == "True":
        return spelling
    if value in ("False", "None"):
        return option.secondary_opts[0] if option.secondary_opts else f"no {spelling}"
    value = value.strip("'\"()").replace(", ", " ")
    return f"{spelling} {quote(value) if option.nargs == 1 else value}"


def _subject(match: re.Match[str], options: Mapping[str, list[Any]]) -> str:
    """The parameter that a requirement is about."""
    if match[2] not in options:
        return match[0]
    part = f"the {_ORDINALS[int(match[3])]} of " if match[3] is not None else ""
    return f"{match[1]}{part}{_spelling(options[match[2]])}"

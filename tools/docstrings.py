"""Docstrings on the documentation site: examples become code, and characters that Markdown would eat stay.

>>> f(2)                  lines from >>> to a blank one are fenced
||A||_F^2; bound_         `_` and `*` outside code are escaped: plain notation has no emphasis
indented by four          is code already, but for the entries of Parameters, Attributes and the like
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^(>>> .*?)(?=\n\s*\n|\Z)", re.M | re.S)
_SECTION = re.compile(r"(Parameters|Attributes|Returns|Raises|Yields):\s*$")
_ENTRY = re.compile(r"(\s+[*\w]+(?: \([^)]*\))?: )(.*)")
_CODE = re.compile(r"(`+[^`]*`+)")


class PlainDocstrings(griffe.Extension):
    """Runs when mkdocstrings has read the docstring of an object."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Prepare one docstring for Markdown."""
        if obj.docstring and not obj.is_alias:
            obj.docstring.value = for_markdown(obj.docstring.value)


def for_markdown(text: str) -> str:
    """The docstring with fenced examples, and with `_` and `*` escaped where they are not code.

    >>> for_markdown("Energy ||A||_F^2; bound_ in `x_`.")
    'Energy ||A||\\\\_F^2; bound\\\\_ in `x_`.'
    """
    lines, fenced, in_section = [], False, False
    for line in _EXAMPLE.sub(r"```pycon\n\1\n```", text).split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        if fenced or line.startswith("```"):
            lines.append(line)
            continue
        if line and not line.startswith(" "):
            in_section = _SECTION.match(line) is not None
        indented = line.startswith("    ")
        entry = _ENTRY.match(line) if indented and in_section else None
        if line.startswith("|") or (indented and not in_section):  # a table or a formula
            lines.append(line)
        elif entry is not None and not line.startswith(" " * 8):
            lines.append(entry[1] + _escaped(entry[2]))
        else:
            lines.append(_escaped(line))
    return "\n".join(lines)


def _escaped(line: str) -> str:
    parts = _CODE.split(line)
    return "".join(part if i % 2 else re.sub(r"([_*])", r"\\\1", part) for i, part in enumerate(parts))

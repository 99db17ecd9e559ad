"""Docstring examples as code on the documentation site: lines from `>>>` to a blank one are fenced for Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^(>>> .*?)(?=\n\s*\n|\Z)", re.M | re.S)


class FencedExamples(griffe.Extension):
    """Runs when mkdocstrings has read the docstring of an object."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Fence the examples of one docstring."""
        if obj.docstring and not obj.is_alias:
            obj.docstring.value = _EXAMPLE.sub(r"```pycon\n\1\n```", obj.docstring.value)

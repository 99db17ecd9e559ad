"""Formulas of the documentation as MathML, which browsers draw themselves: no script, no font, no request.

    $$ LaTeX $$ on lines of their own is a formula of its own, $LaTeX$ one inside a line; code is left alone.

A hook of MkDocs (mkdocs.yml).
"""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

_CODE = re.compile(r"(^```.*?^```$|^(?: {4}|\t).*?$|`[^`\n]*`)", re.M | re.S)
_BLOCK = re.compile(r"\$\$\s*(.+?)\s*\$\$", re.S)
_INLINE = re.compile(r"(?<![\\$\w])\$([^\s$](?:[^$\n]*[^\s$])?)\$(?![\w$])")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with its formulas as MathML."""
    parts = _CODE.split(markdown)
    return "".join(part if i % 2 else _rendered(part) for i, part in enumerate(parts))


def _rendered(text: str) -> str:
    text = _BLOCK.sub(lambda found: convert(found[1], display="block"), text)
    return _INLINE.sub(lambda found: convert(found[1]), text)

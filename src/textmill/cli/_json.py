"""JSON that commands print: one object per line, or one indented document; null stands for NaN."""

from __future__ import annotations

from typing import Any

from textmill.readable import as_json

__all__ = ["json_line", "json_page"]


def json_line(value: Any) -> str:
    """The value on one line, without the end of the line; letters stand for themselves."""
    return as_json(value)


def json_page(value: Any, *, sort_keys: bool = False) -> str:
    """The value on several lines, for people too."""
    return as_json(value, indent=2, sort_keys=sort_keys)

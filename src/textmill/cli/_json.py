"""JSON that commands print: one object per line, or one indented document."""

from __future__ import annotations

from typing import Any

__all__ = ["json_line", "json_page"]


def json_line(value: Any) -> str:
    """The value on one line, without the end of the line; letters stand for themselves."""
    from json import dumps  # which most runs of a command do not need

    return dumps(value, ensure_ascii=False)


def json_page(value: Any, *, sort_keys: bool = False) -> str:
    """The value on several lines, for people too."""
    from json import dumps

    return dumps(value, ensure_ascii=False, indent=2, sort_keys=sort_keys)

"""Public names of model classes: how a file says what it holds, and how that becomes a class again.

`topics.LDA` is the class LDA that the package textmill.topics lists in its `__all__`. A name from a file can import
nothing but modules of textmill, and can name nothing but their public models.
"""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

from textmill.errors import DataError, ModelFileError

__all__ = ["class_name", "find_class"]

_NAME = re.compile(r"([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*)\.([A-Z][A-Za-z0-9]*)")


def class_name(cls: type) -> str:
    """Shortest public name of a class below textmill, without that word.

    >>> from textmill.model import StringTable
    >>> class_name(StringTable)
    'model.StringTable'
    """
    top, *path = cls.__module__.split(".")
    for end in range(1, len(path) + 1) if top == "textmill" else ():
        module = ".".join(path[:end])
        if _listed(sys.modules.get(f"textmill.{module}"), cls.__name__) is cls:
            return f"{module}.{cls.__name__}"
    raise DataError(
        f"{cls.__module__}.{cls.__qualname__} is no public class of textmill, so a file could not name it; "
        "save a model of textmill itself"
    )


def find_class(name: str) -> type:
    """Class of a public name.

    >>> find_class("model.StringTable")
    <class 'textmill.model.strings.StringTable'>
    >>> find_class("os.Popen")
    Traceback (most recent call last):
    textmill.errors.ModelFileError: holds a 'os.Popen', which this textmill does not have; upgrade textmill
    """
    parts = _NAME.fullmatch(name)
    cls = None
    if parts:
        try:
            cls = _listed(importlib.import_module(f"textmill.{parts[1]}"), parts[2])
        except ImportError:
            cls = None
    if not isinstance(cls, type):
        raise ModelFileError(
            f"holds a {name[:80]!r}, which this textmill does not have; upgrade textmill", reason="too new"
        )
    return cls


def _listed(module: Any, name: str) -> Any:
    """The public attribute of a module, None when it has none of that name."""
    return getattr(module, name) if name in getattr(module, "__all__", ()) else None

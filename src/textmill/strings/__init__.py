"""Names that are written differently: similarity, search, evaluation.

collection, stock, generate   names with ids, types, counts and clusters; synthetic ones
"""

from __future__ import annotations

from textmill.strings.collection import NameList, read_names
from textmill.strings.generate import generate_names

__all__ = [
    "NameList",
    "generate_names",
    "read_names",
]

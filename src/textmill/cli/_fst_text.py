"""Text of machines whose fields are separated by other characters than blanks and tabs.

Then symbols may have blanks in them, as with `--fst_field_separator=$'\\t'`. Names become numbers here, and the text
with numbers is compiled as any other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textmill.fst import SymbolTable

__all__ = ["numbered"]


def numbered(
    content: bytes,
    separators: str,
    *,
    acceptor: bool,
    states: SymbolTable | None,
    inputs: SymbolTable | None,
    outputs: SymbolTable | None,
    source: str,
) -> bytes:
    """The text with tabs between its fields and numbers for names."""
    from textmill.errors import DataError

    cut = re.compile(f"[{re.escape(separators)}]+") if separators else None
    arc = [states, states, inputs] if acceptor else [states, states, inputs, outputs]
    lines = []
    for number, line in enumerate(content.decode("utf-8", "surrogateescape").split("\n"), 1):
        fields = [field for field in cut.split(line) if field] if cut else [line] if line else []
        tables = arc if len(fields) > 2 else [states]
        for i, table in enumerate(tables[: len(fields)]):
            if table is None:
                continue
            try:
                fields[i] = str(table.key(fields[i]))
            except DataError as fault:
                raise DataError(fault.message, source=source, line=number, column=f"field {i + 1}") from None
        lines.append("\t".join(fields))
    return "\n".join(lines).encode("utf-8", "surrogateescape")

"""What is refused stands on docs/errors.md with its message, table by table."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import HEAD, PAGE, TABLES, section

PRINTED = PAGE.read_text(encoding="utf-8")


def test_the_page_has_one_section_for_each_table() -> None:
    assert PRINTED.startswith(HEAD)
    assert PRINTED.count("\n## ") == len(TABLES) > 0


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_messages_are_those_of_the_page(table: Path) -> None:
    assert section(table) in PRINTED, "write docs/errors.md anew: python tests/cli/refusals.py, and look at the change"

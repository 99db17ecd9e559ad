"""The reference of operations: its pictures are those of its code, and no operation is missing."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from textmill import fst

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "transducer-operations.md"
ELSEWHERE = {  # modules with other pages
    "align", "alignment", "ambiguity", "archives", "brackets", "compression", "draw", "edits",
    "expectations", "formats", "grammar", "grammar_compiler", "grammar_explain", "grammar_syntax",
    "grammar_testing", "graphemes", "jsgf", "learning", "lexicons", "ngrams", "patterns", "phones",
    "rewriting", "semirings", "stringpairs", "strings", "thrax", "unicode",
}  # fmt: skip


def test_the_pictures_are_those_of_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("draw_operations", ROOT / "tools" / "draw_operations.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    monkeypatch.chdir(tmp_path)
    drawn = {path: content for page in tool.PAGES for path, content in tool.pictures(tool.DOCS / page).items()}
    stored = {f"images/fst/{path.name}" for path in (ROOT / "docs/images/fst").iterdir()}
    assert stored == set(drawn)
    other = [path for path, content in drawn.items() if (ROOT / "docs" / path).read_text("utf-8") != content]
    assert not other, "run python tools/draw_operations.py"


def test_every_operation_has_a_section() -> None:
    headings = " ".join(re.findall(r"^### (.+)$", PAGE.read_text("utf-8"), re.M)).replace(",", " ").split()
    functions = {name: getattr(fst, name) for name in fst.__all__ if inspect.isfunction(getattr(fst, name))}
    operations = {name for name, made in functions.items() if made.__module__.split(".")[-1] not in ELSEWHERE}
    assert operations <= set(headings), sorted(operations - set(headings))

"""What one package takes from another is public there: listed in the `__all__` of the package, not only of a module."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src" / "textmill"
FORMATS = {"textmill.topics.exchange", "textmill.topics.formats"}  # of other tools: public modules with many names
TASKS = {f"textmill.tasks.{path.stem}" for path in (SOURCES / "tasks").iterdir()}


def home(module: str) -> str:
    """The package that a module belongs to; tasks are packages of their own, modules of the ground floor as well."""
    words = module.split(".")
    return ".".join(words[: 3 if words[1:2] == ["tasks"] else 2])


def imports() -> Iterator[tuple[str, str, str]]:
    """Place, package and name of everything that is taken from another package, also through one of its modules."""
    for path in sorted(SOURCES.rglob("*.py")):
        words = ["textmill", *path.relative_to(SOURCES).with_suffix("").parts]
        own = home(".".join(words if words[-1] != "__init__" else words[:-1]))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("textmill."):
                continue
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                place = f"{path.relative_to(SOURCES)}:{node.lineno}: {whole}"
                if home(whole if home(whole) in TASKS else str(node.module)) in (
                    own,
                    "textmill._native",
                    "textmill.cli",
                ):
                    continue
                if not is_module(whole):
                    yield place, home(str(node.module)), name.name
                for used in ast.walk(tree) if is_module(whole) else ():
                    of = used.value.id if isinstance(used, ast.Attribute) and isinstance(used.value, ast.Name) else None
                    if isinstance(used, ast.Attribute) and of == (name.asname or name.name):
                        yield f"{place}.{used.attr}", whole if whole in FORMATS else home(whole), used.attr


def is_module(name: str) -> bool:
    """Whether a dotted name is that of a file or folder of the sources, and no public name hides it."""
    path = SOURCES.parent.joinpath(*name.split("."))
    package, _, last = name.rpartition(".")
    listed = getattr(importlib.import_module(package), "__all__", [])
    return (path.is_dir() or path.with_suffix(".py").is_file()) and last not in listed


def test_packages_take_only_public_names_from_each_other() -> None:
    wrong = [place for place, package, name in imports() if name not in importlib.import_module(package).__all__]
    assert not wrong, "\n".join(["", *wrong])

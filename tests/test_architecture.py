"""The pages about the house name files that are there, and every package has its place on them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "textmill"
WALKS = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def files(text: str) -> list[str]:
    """Names of files in a page; {h,cpp} stands for both, <name> and * for any."""
    names = re.findall(r"`([\w./<>*{},]+(?:\.(?:py|h|cpp|md|toml|txt)|\.\{h,cpp\}))`", text)
    return [name for name in names if "/" in name or name[0].isupper() or name.endswith((".toml", ".md"))]


def exists(name: str) -> bool:
    """Whether a file is there, below the root, the package or one of its folders."""
    if "<" in name or "*" in name or "{" in name:
        folder = re.split(r"[<*{]", name)[0].rpartition("/")[0]
        return not folder or any((root / folder).is_dir() for root in (ROOT, SOURCES))
    return any((root / name).is_file() for root in (ROOT, SOURCES))


@pytest.mark.parametrize("walk", re.split(r"^## ", WALKS, flags=re.MULTILINE)[1:], ids=lambda walk: walk.split("\n")[0])
def test_every_station_of_a_walk_is_a_file(walk: str) -> None:
    stations = [row.rpartition("|")[0].rpartition("|")[2] for row in walk.splitlines() if row.startswith("| ")][1:]
    assert len(stations) > 5
    for station in stations:
        names = re.findall(r"`([^`]+)`", station)
        assert names, station
        assert all(exists(name) for name in names), [name for name in names if not exists(name)]


def test_files_in_the_guide_are_there() -> None:
    assert len(files(GUIDE)) > 30
    assert all(exists(name) for name in files(GUIDE)), [name for name in files(GUIDE) if not exists(name)]


def test_the_picture_of_the_house_has_every_package() -> None:
    picture = GUIDE.split("```")[1]
    packages = {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    modules = {path.stem for path in SOURCES.glob("*.py") if not path.stem.startswith("_")}
    assert [name for name in sorted(packages | modules) if not re.search(rf"\b{name}\b", picture)] == []

"""Print the tests to run before a commit: the gates, and the tests of every package with uncommitted changes.

A change of native code, of the ground floor or of a test helper brings all fast tests along.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

GATES = ["tests/test_gates.py", "tests/test_public.py"]


def changed_files() -> list[Path]:
    """Files that differ from HEAD, new ones included."""
    command = ["git", "status", "--porcelain", "--untracked-files=all", "--no-renames"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [Path(line[3:]) for line in lines]


def tests_of(path: Path) -> list[str]:
    """Test files or folders that a changed file asks for."""
    parts = path.parts
    if parts[0] == "tests" and path.suffix == ".py" and path.stem.startswith("test_"):
        return [str(path)] if path.exists() else []
    if parts[0] in ("native", "CMakeLists.txt"):
        return ["tests/native", "tests/corpus"]
    if parts[:2] == ("src", "textmill") and len(parts) > 2:
        subject = Path(parts[2]).stem
        return [str(found) for found in (Path("tests", subject), Path("tests", f"test_{subject}.py")) if found.exists()]
    if path.suffix == ".md":
        return ["tests/test_docs.py"]
    return []


if __name__ == "__main__":
    print(" ".join(dict.fromkeys([*GATES, *(test for path in changed_files() for test in tests_of(path))])))

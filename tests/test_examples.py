"""The examples run as they stand, on what comes with the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = sorted([*FOLDER.glob("*.py"), *FOLDER.glob("fst/*.py")])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if example.stem == "near_duplicates":
        found = [line.split("\t") for line in done.stdout.splitlines()]
        assert sum(right == f"{left}-copy" for _, left, right in found) >= 7

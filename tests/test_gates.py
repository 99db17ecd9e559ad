"""The gates of the project: lint, format, types, and the floors of the house."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NATIVE = sorted(str(path.relative_to(ROOT)) for end in ("cpp", "h") for path in (ROOT / "native").rglob(f"*.{end}"))
GATES = {
    "ruff finds nothing": ["ruff", "check", "--no-cache", "."],
    "the code is formatted": ["ruff", "format", "--check", "--no-cache", "."],
    "the types hold": ["mypy"],
    "imports point down": ["lint-imports", "--no-cache"],
    "the native code is formatted": ["clang-format", "--dry-run", "--Werror", *NATIVE],
}


@pytest.mark.parametrize("command", GATES.values(), ids=GATES.keys())
def test_gate(command: list[str]) -> None:
    if command[0] in ("lint-imports", "clang-format"):  # they have no module to run with -m
        run = [str(Path(sys.executable).parent / command[0]), *command[1:]]
    else:
        run = [sys.executable, "-m", *command]
    result = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]


def test_the_project_speaks_only_of_itself() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    told = []
    for name in files:
        path = ROOT / name
        if path.suffix in {".py", ".md", ".h", ".cpp", ".toml", ".yml", ".txt"} and path.name != "test_gates.py":
            text = path.read_text(encoding="utf-8")
            told += [
                f"{name}: {word}" for word in ("/work/", "TODO", "FIXME", "\n<<<<<<< ", "\n>>>>>>> ") if word in text
            ]
    assert not told


def test_the_root_holds_only_what_belongs_there() -> None:
    """An example that was run by hand leaves files behind; they are not to be committed."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    folders = {".ci", "bench", "changes", "docs", "examples", "native", "papers", "src", "tests", "tools"}
    documents = {
        ".clang-format",
        ".gitignore",
        "CHANGELOG.md",
        "CMakeLists.txt",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
    }
    documents |= {"NOTICE", "README.md", "mkdocs.yml", "pyproject.toml"}
    assert {name.split("/")[0] for name in files} - folders - documents == set()


CLOCK = re.compile(
    r"\b(perf_counter|process_time|thread_time|monotonic|timeit|getrusage|sleep)(_ns)?\(|\btime\.time(_ns)?\("
)
CLUSTER = re.compile(r"\b(LocalCluster|Scheduler|Nanny|SpecCluster)\(|dashboard_address|(?<!httpx\.)\bClient\(")


def uses(kind: re.Pattern[str], allowed: dict[str, str]) -> list[str]:
    """Lines of tests, programs that they start included, where a pattern is found that has no leave to be there."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        leave = allowed.get(str(path.relative_to(ROOT / "tests")), "\n")
        name = path.relative_to(ROOT)
        found += [
            f"{name}:{number}: {line.strip()}" for number, line in lines if kind.search(line) and leave not in line
        ]
    return found


def test_tests_look_at_no_clock_and_do_not_sleep() -> None:
    """What took a second on an idle machine takes ten beside other work: count the work, wait for what shall happen."""
    allowed = {"waiting.py": "", "test_gates.py": "", "web/test_work.py": "asyncio.sleep(0)"}
    allowed |= {"test_progress.py": "asyncio.sleep(0)"}
    assert uses(CLOCK, allowed) == [], "use `waiting.wait_until`, and assert steps, cells, calls or bytes"


def test_clusters_are_made_in_one_place_on_free_ports() -> None:
    allowed = {"conftest.py": "", "test_gates.py": "", "test_cluster.py": "Client(client.scheduler.address"}
    assert uses(CLUSTER, allowed) == [], "use the fixtures `client`, `threads` or `cluster_of`"

"""The tools of the project: which tests a change asks for."""

from __future__ import annotations

import doctest
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
TOOL = ROOT / "tools" / "changed_tests.py"
PACKAGES = sorted(
    path.name for path in (ROOT / "native").iterdir() if path.is_dir() and path.name not in ("base", "bind")
)


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, in the project's folder."""
    monkeypatch.chdir(ROOT)
    spec = importlib.util.spec_from_file_location("changed_tests", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        (
            "native/fst/compose.cpp",
            ["tests/native", "tests/fst", "tests/cli/test_fst.py", "tests/cli/test_fst_align.py"],
        ),
        ("native/sequence/chain.cpp", ["tests/native", "tests/sequence", "tests/cli/test_tag.py"]),
        ("native/bind/extract.cpp", ["tests/native", "tests/sequence", "tests/cli/test_tag.py"]),
        ("native/bind/gibbs.cpp", ["tests/native", "tests/topics", "tests/cli/test_topics.py"]),
        ("src/textmill/topics/lda/model.py", ["tests/topics", "tests/cli/test_topics.py"]),
        ("src/textmill/tasks/names/jobs.py", ["tests/tasks", "tests/cli/test_match.py"]),
        ("src/textmill/lm/ngram.py", ["tests/lm"]),
        ("src/textmill/cli/_fst_align.py", ["tests/cli/test_fst.py", "tests/cli/test_fst_programs.py"]),
        ("src/textmill/cli/_topic_tools.py", ["tests/cli/test_topics.py"]),
        ("src/textmill/cli/vocab.py", ["tests/cli/test_cli.py"]),
        ("src/textmill/cli/app.py", ["tests/cli"]),
        ("tests/fst/test_machine.py", ["tests/fst/test_machine.py"]),
        ("docs/index.md", ["tests/test_docs.py"]),
        ("tools/changed_tests.py", ["tests/test_tools.py"]),
        ("examples/anything.py", ["tests/test_examples.py"]),
    ],
)
def test_a_change_asks_for_the_tests_of_its_package_and_commands(tool: ModuleType, file: str, tests: list[str]) -> None:
    asked = tool.tests_of(file)
    assert set(tests) <= set(asked)
    assert "tests" not in asked
    assert all((ROOT / test).exists() for test in asked)


@pytest.mark.parametrize(
    "file",
    [
        *(f"src/textmill/{name}.py" for name in ("errors", "progress", "report", "files", "readable")),
        *(f"src/textmill/{name}/anything.py" for name in ("cluster", "model", "optimize", "plot")),
        "src/textmill/__init__.py",
        "src/textmill/report.html.j2",
        "native/base/parallel.h",
        "native/bind/arrays.h",
        "native/bind/module.cpp",
        "native/bind/no-longer-there.cpp",
        "tests/reference/fst.py",
        "tests/conftest.py",
        "tests/files/anything.bin",
        "pyproject.toml",
        "CMakeLists.txt",
    ],
)
def test_what_everything_stands_on_asks_for_all_tests(tool: ModuleType, file: str) -> None:
    assert "tests" in tool.tests_of(file)
    assert tool.selection(["docs/index.md", file]) == ["tests"]


@pytest.mark.parametrize("package", PACKAGES)
def test_native_code_asks_for_the_tests_of_its_package(tool: ModuleType, package: str) -> None:
    assert {"tests/native", f"tests/{tool.HOMES.get(package, package)}"} <= set(
        tool.tests_of(f"native/{package}/anything.cpp")
    )


def test_every_source_file_asks_for_tests_that_exist(tool: ModuleType) -> None:
    tracked = subprocess.run(["git", "ls-files", "src", "native"], cwd=ROOT, capture_output=True, text=True, check=True)
    for file in tracked.stdout.splitlines():
        asked = tool.tests_of(file)
        assert asked, file
        assert all((ROOT / test).exists() for test in asked), file


def test_a_test_is_named_once_and_not_beside_its_folder(tool: ModuleType) -> None:
    asked = tool.selection(
        ["tests/fst/test_machine.py", "tests/test_gates.py", "native/fst/compose.cpp", "tests/lm/gone.py"]
    )
    assert len(asked) == len(set(asked))
    assert "tests/fst" in asked
    assert "tests/fst/test_machine.py" not in asked
    assert {"tests/test_gates.py", "tests/test_public.py", "tests/lm"} <= set(asked)


def test_files_that_git_reports_are_looked_up(tmp_path: Path) -> None:
    for name in ("tests/fst/test_old.py", "tests/fst/test_kept.py", "native/fst/a.cpp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one\n")
    (tmp_path / "src/textmill/cli").mkdir(parents=True)

    def run(*command: str) -> str:
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    run("git", "init", "-q")
    run("git", "add", ".")
    run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
    assert run(sys.executable, str(TOOL)).split() == ["tests/test_gates.py", "tests/test_public.py"]
    (tmp_path / "tests/fst/test_old.py").unlink()
    (tmp_path / "tests/fst/test_kept.py").write_text("two\n")
    (tmp_path / "tests/test_käse.py").write_text("new, with a name that git would quote\n")
    asked = run(sys.executable, "-X", "utf8", str(TOOL)).strip()
    assert asked == "tests/test_gates.py tests/test_public.py tests/fst/test_kept.py tests/test_käse.py"
    (tmp_path / "native/fst/a.cpp").write_text("two\n")
    assert run(sys.executable, "-X", "utf8", str(TOOL)).split()[-2:] == ["tests/native", "tests/fst"]


@pytest.fixture
def long_run() -> ModuleType:
    spec = importlib.util.spec_from_file_location("long_run", ROOT / "tools" / "long_run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_examples_of_the_long_run_hold(long_run: ModuleType) -> None:
    examples = doctest.testmod(long_run)
    assert (examples.attempted, examples.failed) == (4, 0)


def test_a_long_run_records_every_part_and_goes_on_after_a_failure(
    long_run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "operations.md"
    page.write_text(f"before\n\n{long_run.BEGIN}\nold\n{long_run.END}\n\nafter\n")
    monkeypatch.setattr(long_run, "RECORD", tmp_path / "record.json")
    monkeypatch.setattr(long_run, "PAGE", page)
    monkeypatch.setattr(long_run, "commit", lambda: "abc123")
    parts = {
        "kills": ("300 kills", lambda short: (False, "1 failed, 3 passed in 9.1s")),
        "floors": ("lowest versions", lambda short: (True, "7 passed, 2 skipped in 1.0s")),
        "mutants": ("damaged files", lambda short: (False, "no room on the disk")),
    }
    monkeypatch.setattr(long_run, "PARTS", parts)
    assert long_run.main(["--only", "kills", "floors"]) == 1
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in lines
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")][2:]
    assert [(row[0], row[1], row[4]) for row in rows] == [
        ("300 kills", "abc123", "1 failed, 3 passed"),
        ("lowest versions", "abc123", "7 passed, 2 skipped"),
        ("damaged files", "-", "not run yet"),
    ]
    assert long_run.main(["--only", "mutants"]) == 1
    assert "| failed: no room on the disk |" in page.read_text()
    recorded = page.read_text()
    assert long_run.main(["--short", "--only", "floors"]) == 0
    assert page.read_text() == recorded


def test_the_table_of_the_long_run_is_the_one_of_its_record(long_run: ModuleType) -> None:
    record = json.loads(long_run.RECORD.read_text()) if long_run.RECORD.exists() else {}
    page = long_run.PAGE.read_text(encoding="utf-8")
    assert long_run.with_table(page, record) == page


def test_the_long_run_damages_files_in_tests_that_are_there(long_run: ModuleType) -> None:
    for file, words in long_run.MUTANTS:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def test_\w*{words}", source, re.M)
        assert "100_000" in source or "10_000" in source

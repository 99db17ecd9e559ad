"""Run everything that is too long for every day, and write what ran, on which commit, and the result.

    python tools/long_run.py                    all parts, one after the other (`make long`)
    python tools/long_run.py --short            every part in a short form, which shows that it works
    python tools/long_run.py --only kills floors

    tests       every test, with full counts of fuzz and random tests           make test-all
    sanitize    native code under the address and undefined-behavior sanitizers make sanitize
    kills       300 workers of a cluster killed at random moments
    mutants     100,000 damaged files for every loader
    floors      the lowest version that pyproject.toml allows of every dependency, and the tests of every day

The record is docs/long_run.json, one entry a part; the table in docs/operations.md is made from it. A part that fails
does not keep the others from running; the exit code says whether all of them passed. A short run writes nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from requirements import group, requirements

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "docs" / "long_run.json"
PAGE = ROOT / "docs" / "operations.md"
BEGIN, END = "<!-- long run: made by tools/long_run.py -->", "<!-- end of the long run -->"
FLOORS = ROOT / ".venv-floors"
MUTANTS = [  # files, and the words in the names of their tests that damage files
    ("tests/test_loader_mutants.py", "mutants"),
    ("tests/model/test_model_fuzz.py", "mutants"),
    ("tests/fst/test_fst_formats.py", "damaged_binaries"),
    ("tests/fst/test_fst_bad_input.py", "damaged_files"),
    ("tests/fst/test_grammar_language.py", "mutants"),
]
COUNTS = re.compile(r"(\d+) (passed|failed|skipped|errors?|deselected)")


def pytest(python: Path | str, *arguments: str) -> list[str]:
    """The command that runs tests."""
    return [str(python), "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", *arguments]


def run(command: Sequence[str], **options: Any) -> tuple[bool, str]:
    """Run a command, its output shown as it comes; whether it passed, and its last words."""
    print("+", " ".join(command), flush=True)
    last = ""
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            last = line.strip() or last
    return process.returncode == 0, last


def floor_of(requirement: str) -> str:
    """The lowest version that a requirement allows.

    >>> floor_of("scikit-learn>=1.6"), floor_of("dask[distributed]>=2024.8"), floor_of("mkdocs>=1.6,<2")
    ('scikit-learn==1.6', 'dask[distributed]==2024.8', 'mkdocs==1.6')
    >>> floor_of("uvloop>=0.21; sys_platform != 'win32'"), floor_of("ruff==0.9"), floor_of("mock")
    ("uvloop==0.21; sys_platform != 'win32'", 'ruff==0.9', 'mock')
    """
    name, mark, condition = requirement.partition(";")
    lowest = re.sub(r">=\s*([\w.]+)[^;]*", r"==\1", name).strip()
    return lowest + (f"; {condition.strip()}" if mark else "")


def floors(short: bool) -> tuple[bool, str]:
    """Install the floors in an environment of their own, build textmill there, and run the tests of every day."""
    lowest = [floor_of(requirement) for requirement in requirements()]
    if short:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed"]
        passed, words = run([*command, *lowest])
        return passed, f"{len(lowest)} floors can be installed" if passed else words
    shutil.rmtree(FLOORS, ignore_errors=True)
    python = FLOORS / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    build = ["-C", "cmake.define.TEXTMILL_TESTING=ON"]
    steps = [
        [sys.executable, "-m", "venv", str(FLOORS)],
        [*pip, *lowest],
        [*pip, *group("test"), "--constraint", str(_constraints(lowest))],
        [*pip, "scikit-build-core>=0.11", "nanobind>=2.8", "cmake", "ninja"],
        [*pip, "--no-build-isolation", "--no-deps", "-C", "build-dir=build/floors", *build, "."],
    ]
    for step in steps:
        passed, words = run(step)
        if not passed:
            return False, f"{' '.join(step[1:5])} ...: {words}"
    gates = ["--deselect", "tests/test_gates.py", "--deselect", "tests/test_build.py"]  # they are about this tree
    return run(pytest(python, "-p", "no:cacheprovider", *gates))


def _constraints(lowest: list[str]) -> Path:
    path = FLOORS / "constraints.txt"
    path.write_text("\n".join(re.sub(r"\[.*?\]", "", one) for one in lowest) + "\n", encoding="utf-8")
    return path


def tests(short: bool) -> tuple[bool, str]:
    """All tests; in short, those of one package."""
    if short:
        return run(pytest(sys.executable, "-m", "slow or not slow", "tests/metrics"))
    return run(["make", "test-all"])


def sanitize(short: bool) -> tuple[bool, str]:
    """The sanitizers; in short, what make would do."""
    return run(["make", "--dry-run", "sanitize"] if short else ["make", "sanitize"])


def kills(short: bool) -> tuple[bool, str]:
    """Workers killed at random moments; in short five of them."""
    name = f"tests/test_cluster_stalls.py::test_workers_killed_at_random_moments_change_no_byte[{5 if short else 300}]"
    return run([sys.executable, "-m", "pytest", "-q", "-m", "slow or not slow", name])


def mutants(short: bool) -> tuple[bool, str]:
    """Damaged files for every loader; in short as many as the tests of every day have."""
    files, words = [file for file, _ in MUTANTS], " or ".join(dict.fromkeys(word for _, word in MUTANTS))
    return run(pytest(sys.executable, "-m", "not slow" if short else "slow", "-k", words, *files))


PARTS: dict[str, tuple[str, Callable[[bool], tuple[bool, str]]]] = {
    "tests": ("`make test-all`", tests),
    "sanitize": ("`make sanitize`", sanitize),
    "kills": ("300 workers of a cluster killed at random moments", kills),
    "mutants": ("100,000 damaged files for every loader", mutants),
    "floors": ("the lowest version allowed of every dependency, and the tests of every day", floors),
}


def commit() -> str:
    """The commit that is checked out, marked where files differ from it."""
    command = ["git", "describe", "--always", "--abbrev=10", "--dirty"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def result_of(passed: bool, words: str) -> str:
    """What the table says of a part.

    >>> result_of(False, "3 failed, 12 passed, 2 skipped in 61.20s")
    '3 failed, 12 passed, 2 skipped'
    >>> result_of(True, "done"), result_of(False, "no room")
    ('passed', 'failed: no room')
    """
    counts = ", ".join(" ".join(found) for found in COUNTS.findall(words))
    return counts or ("passed" if passed else f"failed: {words[:120]}")


def table(record: dict[str, dict[str, str]]) -> str:
    """The record as a table of Markdown, a row for each part; parts that never ran say so."""
    rows = ["| what | commit | day | took | result |", "|---|---|---|---|---|"]
    for part, (title, _) in PARTS.items():
        one = record.get(part)
        columns = ("commit", "day", "took", "result")
        cells = ["-", "-", "-", "not run yet"] if one is None else [one[column] for column in columns]
        rows.append(f"| {title} | {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(rows)


def with_table(page: str, record: dict[str, dict[str, str]]) -> str:
    """The page with the table of the record between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(record)}\n\n{END}{after}"


def main(arguments: list[str]) -> int:
    """Run the parts and record them."""
    parser = argparse.ArgumentParser(description="Run what is too long for every day, and record it.")
    parser.add_argument("--short", action="store_true", help="a short form of every part; nothing is recorded")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    options = parser.parse_args(arguments)
    all_passed = True
    for part in options.only:
        began = time.monotonic()
        passed, words = PARTS[part][1](options.short)
        minutes = (time.monotonic() - began) / 60
        all_passed = all_passed and passed
        print(f"= {part}: {result_of(passed, words)}, {minutes:.1f} min", flush=True)
        if not options.short:  # after each part, so that an interrupt loses none
            record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
            day = datetime.now(UTC).strftime("%Y-%m-%d")
            record[part] = {
                "commit": commit(), "day": day, "took": f"{minutes:.0f} min", "result": result_of(passed, words)
            }  # fmt: skip
            RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

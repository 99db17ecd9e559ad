"""What a fresh machine needs: the requirements of the extras, and a wheel that installs without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from requirements import group, requirements  # noqa: E402

import build  # noqa: E402

PROJECT = """
[project]
dependencies = ["numpy>=1.26"]

[project.optional-dependencies]
plot = ["matplotlib>=3.8"]
all = ["textmill[plot, web]"]
web = ["fastapi; sys_platform != 'win32'", "numpy>=1.26"]

[dependency-groups]
peers = ["gensim>=4.3", "kenlm"]
"""


def test_requirements_are_those_of_the_project_and_of_all_extras(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text(PROJECT)
    assert requirements(project) == ["numpy>=1.26", "matplotlib>=3.8", "fastapi; sys_platform != 'win32'"]
    assert group("peers", project) == ["gensim>=4.3", "kenlm"]


def test_textmill_is_never_a_requirement_of_its_own_environment() -> None:
    everything = [*requirements(), *(one for name in ("test", "peers", "bench", "wheel") for one in group(name))]
    assert any(package.startswith("kenlm") for package in everything)
    assert not any(package.startswith("textmill") for package in everything)


def test_a_peer_that_cannot_be_installed_is_named_and_the_others_are_not_lost(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "stamps").mkdir()
    for stamp in ("venv", "all"):
        (tmp_path / ".venv" / "stamps" / stamp).touch()
    for name in ("native", "src/textmill"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "CMakeLists.txt").touch()
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "tools" / "requirements.py").write_text((ROOT / "tools" / "requirements.py").read_text())
    # a stand-in for Python that runs the tool, refuses one package and writes down what pip was asked for
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(
        f'#!/bin/sh\ncase "$*" in tools/*) exec {sys.executable} "$@";; esac\n'
        'echo "$@" >> asked.txt\ncase "$*" in *peers|*gensim*) exit 1;; esac\n'
    )
    python.chmod(0o755)
    os.utime(tmp_path / ".venv" / "stamps" / "all")
    made = subprocess.run(
        ["make", "--no-print-directory", "-f", str(ROOT / "Makefile"), ".venv/stamps/test"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert made.stdout == "gensim>=4.3 could not be installed: its tests are skipped\n"
    asked = [line.split()[-1] for line in (tmp_path / "asked.txt").read_text().splitlines()]
    assert asked == ["test", "peers", "gensim>=4.3", "kenlm"]


NINJA = 'print("[1/4] Building a", flush=True); print("[2/4] Building b"); print("[4/4] Linking")\n'


def run_build(tmp_path: Path, pip: str) -> subprocess.CompletedProcess[str]:
    """The build with a stand-in for pip."""
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").touch()
    (tmp_path / "pip" / "__main__.py").write_text(pip)
    command = [sys.executable, str(ROOT / "tools" / "build.py"), "-e", "."]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)


def test_a_build_counts_the_files_that_are_compiled(tmp_path: Path) -> None:
    done = run_build(tmp_path, "import sys\nassert sys.argv[-2:] == ['-e', '.']\n" + NINJA)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [f"compiling: {n} of 4 files" for n in (1, 2, 4)]


def test_a_build_that_fails_says_what_the_compiler_said(tmp_path: Path) -> None:
    done = run_build(tmp_path, "import sys\n" + NINJA + "print('fatal error: no such header'); sys.exit(3)\n")
    assert done.returncode == 3
    assert "fatal error: no such header" in done.stderr


def test_a_terminal_shows_a_bar_and_takes_it_away(capsys: pytest.CaptureFixture[str]) -> None:
    shown = build.Shown()
    shown.terminal = True
    shown.show(2, 4)
    shown.end()
    written = capsys.readouterr().err
    assert "━" * (build.WIDTH // 2) + " " * (build.WIDTH // 2) + " 2 of 4 files" in written
    assert written.endswith("\r\x1b[K")


def test_the_plan_names_what_is_still_to_be_done() -> None:
    assert "installs packages" in build.plan(["packages"])
    assert build.plan([]).startswith("textmill compiles its C++ core")


@pytest.mark.slow
def test_a_wheel_installs_without_a_compiler_and_runs_the_demo() -> None:
    made = subprocess.run(["make", "wheel"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=3000)
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
    assert "installed without a compiler" in made.stdout

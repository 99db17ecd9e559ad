"""What a fresh machine needs: the requirements of the extras, and a wheel that installs without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from requirements import requirements  # noqa: E402

import build  # noqa: E402

PROJECT = """
[project]
dependencies = ["numpy>=1.26"]

[project.optional-dependencies]
plot = ["matplotlib>=3.8"]
all = ["textmill[plot, web]", "rich"]
web = ["fastapi", "numpy>=1.26"]
"""


def test_requirements_of_an_extra_include_those_of_the_extras_it_names(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text(PROJECT)
    assert requirements([], project) == ["numpy>=1.26"]
    assert sorted(requirements(["all"], project)) == ["fastapi", "matplotlib>=3.8", "numpy>=1.26", "rich"]
    with pytest.raises(SystemExit, match="no extra named 'wbe'"):
        requirements(["wbe"], project)


def test_textmill_is_never_a_requirement_of_its_own_environment() -> None:
    everything = requirements(["all", "test", "peers", "bench", "wheel"])
    assert any(package.startswith("kenlm") for package in everything)
    assert not any(package.startswith("textmill") for package in everything)


def test_a_package_that_cannot_be_installed_is_named_and_the_others_are_not_lost(tmp_path: Path) -> None:
    for name in ("pip", "tools"):
        (tmp_path / name).mkdir()
    # a stand-in for pip that refuses one package and writes down what it was asked for
    (tmp_path / "pip" / "__init__.py").touch()
    (tmp_path / "pip" / "__main__.py").write_text(
        "import sys\nopen('asked.txt', 'a').write(' '.join(sys.argv[4:]) + '\\n')\nsys.exit('fastapi' in sys.argv)\n"
    )
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "tools" / "requirements.py").write_text((ROOT / "tools" / "requirements.py").read_text())
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "tools/requirements.py", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    optional = run("--optional", "web", "plot")
    assert optional.returncode == 0, optional.stderr
    assert optional.stdout == "fastapi could not be installed: its tests are skipped\n"
    assert "matplotlib>=3.8" in (tmp_path / "asked.txt").read_text().splitlines()
    assert run("web").returncode == 1


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

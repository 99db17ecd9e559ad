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


@pytest.mark.slow
def test_a_wheel_installs_without_a_compiler_and_runs_the_demo() -> None:
    made = subprocess.run(["make", "wheel"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=3000)
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
    assert "installed without a compiler" in made.stdout

"""Print what textmill[all] requires, or a dependency group, a line each: everything but textmill itself.

    python tools/requirements.py          for `pip install -r`
    python tools/requirements.py peers    the packages of a group, to install them one by one

Only textmill is built without isolation (the Makefile keeps its build tools). Every other package may have to be built
from source and then needs a build environment of its own, so it is installed in a step of its own.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
OWN = re.compile(r"textmill\[([\w, -]+)\]")  # our extras as parts of another


def requirements(project: Path = PROJECT) -> list[str]:
    """The requirements of the project and of the extras that its extra `all` names."""
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    extras = declared["optional-dependencies"]
    named = [name.strip() for one in extras["all"] for found in OWN.findall(one) for name in found.split(",")]
    return list(dict.fromkeys([*declared["dependencies"], *(one for name in named for one in extras[name])]))


def group(name: str, project: Path = PROJECT) -> list[str]:
    """The packages of a dependency group."""
    packages: list[str] = tomllib.loads(project.read_text(encoding="utf-8"))["dependency-groups"][name]
    return packages


if __name__ == "__main__":
    sys.stdout.write("\n".join(group(sys.argv[1]) if sys.argv[1:] else requirements()) + "\n")

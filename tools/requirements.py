"""Install what textmill needs beside itself: its requirements and those of the named extras.

    python tools/requirements.py all test          install them, each with a build environment of its own
    python tools/requirements.py --optional peers  the same, but go on without those that cannot be installed

Only textmill is built without isolation (the Makefile keeps its build tools). Every other package may have to be built
from source and then needs a build environment of its own, so it is installed here, in a step of its own.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
OWN = re.compile(r"textmill\[([\w, -]+)\]")  # one of our extras as a part of another


def requirements(extras: list[str], project: Path = PROJECT) -> list[str]:
    """The requirements of the project and of its extras, those that an extra takes from another included."""
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    wanted = list(declared["dependencies"])
    waiting, expanded = list(extras), set[str]()
    while waiting:
        extra = waiting.pop()
        if extra in expanded:
            continue
        expanded.add(extra)
        if extra not in declared["optional-dependencies"]:
            sys.exit(f"pyproject.toml has no extra named '{extra}'")
        for requirement in declared["optional-dependencies"][extra]:
            if own := OWN.fullmatch(requirement):
                waiting += [part.strip() for part in own[1].split(",")]
            else:
                wanted.append(requirement)
    return list(dict.fromkeys(wanted))


def install(packages: list[str]) -> bool:
    """Whether pip could install them."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    return subprocess.run(command, check=False).returncode == 0


def main() -> int:
    """Install everything; with --optional what can be installed, naming the rest."""
    parser = argparse.ArgumentParser(description="Install the requirements of textmill's extras.")
    parser.add_argument("extras", nargs="*")
    parser.add_argument("--optional", action="store_true", help="go on without packages that cannot be installed")
    options = parser.parse_args()
    packages = requirements(options.extras)
    if install(packages):
        return 0
    if not options.optional:
        return 1
    for package in packages:
        if not install([package]):
            print(f"{package} could not be installed: its tests are skipped", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Print the tests to run before a commit: the gates, and the tests of what has uncommitted changes.

    src/textmill/<package>         tests/<package> and the tests of the commands that use it
    native/<package>               the same, and tests/native
    native/bind/<file>             the same for the packages whose headers it includes
    src/textmill/cli/<command>     the tests of that command
    tests/<package>/<helper>       tests/<package>
    everything shared              all tests but the slow ones: ground floor, native/base, build files, test helpers

A package's users on higher floors are not asked for: their own tests and `make test` look after them.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

GATES = ["tests/test_gates.py", "tests/test_public.py"]
ALL = "tests"  # without the slow ones, which pyproject.toml leaves out
ROOT_FILES = {"pyproject.toml", "CMakeLists.txt", "tests/conftest.py"}
HOMES = {"entities": "tasks", "language": "tasks"}  # native folders of a job, and the package that has it
SHARED = ("tests/reference/", "tests/files/", "native/base/", "src/textmill/_native/")


def changed_files() -> list[str]:
    """Files that differ from HEAD, new ones included."""
    command = ["git", "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"]
    entries = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    return [entry[3:] for entry in entries if entry]


def tests_of(name: str) -> list[str]:
    """Test files or folders that a changed file asks for."""
    path = Path(name)
    parts = path.parts
    if name in ROOT_FILES or name.startswith(SHARED):
        return [ALL]
    if parts[0] == "tests":
        if path.suffix == ".py" and path.stem.startswith("test_"):
            return [name] if path.exists() else []
        return [str(path.parent)] if path.parent.exists() else []
    if parts[0] == "native":
        folders = {parts[1]} if parts[1] != "bind" else _native_packages(path)
        packages = {HOMES.get(folder, folder) for folder in folders}
        return ["tests/native", *(test for package in sorted(packages) for test in _of_package(package))]
    if parts[:3] == ("src", "textmill", "cli"):
        return _of_command(path.stem)
    if parts[:2] == ("src", "textmill"):
        return _of_package(Path(parts[2]).stem)
    if parts[0] in ("tools", "examples"):
        return [f"tests/test_{parts[0]}.py"]
    return ["tests/test_docs.py"] if path.suffix == ".md" else []


def _of_package(package: str) -> list[str]:
    """The tests of a package and of the commands that import it; all tests for the ground floor."""
    if package in _ground_floor() or not Path("tests", package).is_dir():
        return [ALL]
    users = [path.stem for path in sorted(Path("src/textmill/cli").glob("*.py")) if package in _imports(path)]
    return [f"tests/{package}", *(test for user in users for test in _of_command(user))]


def _of_command(module: str) -> list[str]:
    """The tests of a module of commands: those that begin with the first word of its name, else the general ones.

    `_fst_align` is tested by test_fst*.py, `_topic_options` by test_topics*.py; `app` and `_options` by all of them.
    """
    if module in ("__init__", "app", "_options"):
        return ["tests/cli"]
    tests = sorted(Path("tests/cli").glob(f"test_{module.lstrip('_').split('_')[0]}*.py"))
    return [str(test) for test in tests] or ["tests/cli/test_cli.py"]


def _native_packages(path: Path) -> set[str]:
    """Packages whose native headers a binding includes; the base when there is no other."""
    names = re.findall(r'#include "(\w+)/', path.read_text(encoding="utf-8")) if path.exists() else []
    return set(names) - {"base", "bind"} or {"base"}


def _imports(path: Path) -> set[str]:
    """Packages that a module imports."""
    return set(re.findall(r"\btextmill\.(\w+)", path.read_text(encoding="utf-8")))


def _ground_floor() -> set[str]:
    """Single modules beside the packages, and the packages beside them on the ground floor."""
    modules = {path.stem for path in Path("src/textmill").iterdir() if path.suffix == ".py"}
    return modules | {"cluster", "model", "optimize", "plot"}


def selection(files: Iterable[str]) -> list[str]:
    """The gates and all tests that the files ask for, each once.

    >>> selection(["docs/index.md", "pyproject.toml"])
    ['tests']
    """
    tests = list(dict.fromkeys(test for name in files for test in tests_of(name)))
    if ALL in tests:
        return [ALL]
    folders = [test for test in tests if not test.endswith(".py")]
    single = [test for test in [*GATES, *tests] if test.endswith(".py") and str(Path(test).parent) not in folders]
    return [*dict.fromkeys(single), *folders]


if __name__ == "__main__":
    print(" ".join(selection(changed_files())))

"""Try a wheel as a stranger would: install it where there is no compiler, and run the demo.

    python tools/check_wheel.py dist/textmill-*.whl

The environment is new and its PATH holds nothing but its own programs, so a build of any kind would fail. Only wheels
are installed, and [plot] beside the wheel itself, for the pictures of the demo.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

PORTABLE = "manylinux"


def main(wheel: Path) -> int:
    """0 if the wheel is tagged for other machines, installs, and runs the demo."""
    if PORTABLE not in wheel.name:
        print(f"{wheel.name} is not tagged {PORTABLE}: it would install on this machine only")
        return 1
    if extras := [name for name in zipfile.ZipFile(wheel).namelist() if "_testing" in name]:
        print(f"{wheel.name} holds {extras[0]}, which only tests use: build it with TEXTMILL_TESTING=OFF")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder, "environment", "bin")
        venv.create(programs.parent, with_pip=True)
        bare = {"PATH": str(programs), "HOME": folder}
        steps = [
            ["python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:",
             f"{wheel.resolve()}[plot]"],
            ["textmill", "--version"],
            ["textmill", "demo", "--output", str(Path(folder, "demo"))],
        ]  # fmt: skip
        for step in steps:
            program = str(programs / step[0])
            ended = subprocess.run(
                [program, *step[1:]], env=bare, cwd=folder, capture_output=True, text=True, check=False
            )
            if ended.returncode:
                print(f"{' '.join(step)} failed:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
                return 1
        report = Path(folder, "demo", "report.html")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; installed without a compiler, demo report of "
              f"{report.stat().st_size / 1e3:.0f} kB")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

"""Try a wheel as a stranger would: install it where there is no compiler, run the demo, and name a language offline.

    python tools/check_wheel.py dist/textmill-*.whl

The environment is new and its PATH holds nothing but its own programs, so a build of any kind would fail. Only wheels
are installed, and [plot] beside the wheel itself, for the pictures of the demo. Languages come with the package: they
are asked for in a process without a network, where the machine can start one (`unshare`, by root).
"""

from __future__ import annotations

import shutil
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
    if extras := [name for name in zipfile.ZipFile(wheel).namelist() if Path(name).name.startswith("_testing")]:
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
        answer, network = _language(programs / "textmill", bare, folder)
        if not answer.startswith("cs\t"):
            print(f"textmill language detect answered {answer!r} to a Czech sentence")
            return 1
        report = Path(folder, "demo", "report.html")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; installed without a compiler, demo report of "
              f"{report.stat().st_size / 1e3:.0f} kB; language detected {network} a network")  # fmt: skip
    return 0


def _language(program: Path, environment: dict[str, str], folder: str) -> tuple[str, str]:
    """What `textmill language detect` says of a Czech sentence, and whether that was with or without a network."""
    apart = [shutil.which("unshare") or "", "--net"]
    if not apart[0] or subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        apart = []
    ended = subprocess.run(
        [*apart, str(program), "language", "detect"],
        input="Dnes ráno jsme šli do lesa a hledali houby.\n",
        env=environment | {"PYTHONUTF8": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    lines = ended.stdout.splitlines()
    return lines[1] if len(lines) == 2 else ended.stdout + ended.stderr, "without" if apart else "with"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

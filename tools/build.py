"""Install textmill from this tree and show how far the compiler is: `python tools/build.py PIP-ARGUMENTS...`

`--plan [packages]` says beforehand what a fresh machine has before it. Needs nothing but Python.

pip shows what the build says only when it is asked to, and ninja counts: "[12/230] Building CXX object ...". On a
terminal the count moves a bar, elsewhere it is printed at every tenth. All that was said is printed if the build fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

COUNT = re.compile(r"\[(\d+)/(\d+)\] ")
WIDTH = 40  # characters of the bar
SECONDS = 620  # of the processor, to compile everything once on a common machine


def main(arguments: list[str]) -> int:
    """Run pip and return its exit code."""
    command = [sys.executable, "-m", "pip", "install", "--verbose", "--disable-pip-version-check", *arguments]
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    said: list[str] = []
    shown = Shown()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if found := COUNT.search(line):
                shown.show(int(found[1]), int(found[2]))
    shown.end()
    if process.returncode:
        sys.stderr.write("".join(said))
    return process.returncode


def plan(steps: list[str]) -> str:
    """What is going to happen, and about how long it takes here."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    minutes = max(1, round(SECONDS / cores / 60))
    packages = "installs packages into .venv (a few minutes), " if "packages" in steps else ""
    compiles = f"compiles its C++ core, once (about {minutes} min on {cores} cores)"
    return f"textmill sets itself up here: {packages}then {compiles}" if packages else f"textmill {compiles}"


class Shown:
    """The count as it is shown."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.start = time.monotonic()
        self.tenth = -1

    def show(self, done: int, total: int) -> None:
        """Draw the bar anew, or print a line for another tenth."""
        tenth = 10 * done // total
        if self.terminal:
            filled = WIDTH * done // total
            bar = "━" * filled + " " * (WIDTH - filled)
            seconds = int(time.monotonic() - self.start)
            sys.stderr.write(f"\rcompiling {bar} {done} of {total} files, {seconds // 60}:{seconds % 60:02}\x1b[K")
            sys.stderr.flush()
        elif tenth > self.tenth:
            print(f"compiling: {done} of {total} files", file=sys.stderr, flush=True)
        self.tenth = tenth

    def end(self) -> None:
        """Take the bar away."""
        if self.terminal and self.tenth >= 0:
            sys.stderr.write("\r\x1b[K")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--plan"]:
        print(plan(sys.argv[2:]))
    else:
        sys.exit(main(sys.argv[1:]))

"""What a person sees: every command of README and the tutorials in a terminal, Ctrl-C, closed pipes, lost output.

A page is played in a process of its own whose standard output and error are a pseudo-terminal, with bars that do not
wait a second, and a screen emulator (pyte) tells which rows are seen in the end: those that `-q` prints, and no others.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import warnings
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pyte
import pytest
from test_docs import ROOT, run_page, run_shell, run_textmill

from textmill import progress
from textmill.cli.app import main

COMMAND = re.compile(r"^(textmill|echo .* \| textmill) ", re.M)
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
    if COMMAND.search(page.read_text(encoding="utf-8"))
]
COLUMNS, ROWS = 200, 60
MARK = b"\x1e"  # before and after the name of a command in what a player writes
TABLE = re.compile(r" *(iteration +objective .*|\d+ +\S+ +\d+ +\S+ +[\d.]+s +[\d.]+s)")  # what `tag train` shows
TEXTMILL = [sys.executable, "-m", "textmill"]


# Playing: this part runs in the terminal.


def play(page: str) -> None:
    """Run the code of a page; each textmill command twice, with and without -q."""
    progress.BAR_SECONDS = progress.REPORT_SECONDS = 0.0
    progress.TICK_SECONDS = 0.02
    run_page(Path(page), play_line)


def play_line(line: str) -> None:
    """One line of a shell block; the last command of a pipe has the terminal."""
    stages, _, target = line.partition(" > ")
    *before, last = (shlex.split(stage) for stage in stages.split(" | "))
    if last[0] != "textmill":
        run_shell(line)
        return
    given: bytes | None = None
    for words in before:
        given = " ".join(words[1:]).encode() + b"\n" if words[0] == "echo" else run_textmill(words[1:], given)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:  # what the command changes must not be there the second time
        shutil.copytree(here, f"{folder}/copy", symlinks=True)
        os.chdir(f"{folder}/copy")
        perform(line, ["-q", *last[1:]], given, target)
        os.chdir(here)
    perform(line, last[1:], given, target)


def perform(line: str, arguments: list[str], given: bytes | None, target: str) -> None:
    """Run one command, its output into a file if there is a target."""
    sys.stdout.flush()
    os.write(1, MARK + json.dumps([line, arguments[0] == "-q"]).encode() + MARK)
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        if given is not None:
            patch.setattr("sys.stdin", TextIOWrapper(BytesIO(given)))
        if target:
            stack.enter_context(contextlib.redirect_stdout(stack.enter_context(open(target.strip(), "w"))))
        left = stack.enter_context(pytest.raises(SystemExit))
        main(arguments)
    assert left.value.code == 0, arguments


# Looking.


def in_terminal(command: list[str], folder: Path, rows: int = ROWS, **options: Any) -> tuple[bytes, int]:
    """All that a process writes to its terminal, and its exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, COLUMNS, 0, 0))
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "tests" / "cli")])
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": path}
    environment.pop("COLUMNS", None)
    with subprocess.Popen(command, cwd=folder, stdout=slave, stderr=slave, env=environment, **options) as process:
        os.close(slave)
        seen = b""
        with contextlib.suppress(OSError):  # the terminal is gone with its last user
            while block := os.read(master, 65536):
                seen += block
    os.close(master)
    return seen, process.returncode


def rows_of(seen: bytes, rows: int = ROWS) -> list[str]:
    """The rows that are on a screen at the end."""
    screen = pyte.HistoryScreen(COLUMNS, rows, history=10_000, ratio=0.5)
    pyte.ByteStream(screen).feed(seen)
    above = ["".join(line[x].data for x in range(COLUMNS)) for line in screen.history.top]
    assert not screen.cursor.hidden
    return [line.rstrip() for line in [*above, *screen.display] if line.strip()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_screen_shows_the_rows_that_a_quiet_run_prints(page: Path, tmp_path: Path) -> None:
    player = [sys.executable, "-c", f"import test_terminal; test_terminal.play({str(page)!r})"]
    seen, code = in_terminal(player, tmp_path)
    first, *parts = seen.split(MARK)
    assert code == 0, seen.decode()
    assert rows_of(first) == []
    runs = [(*json.loads(name), text) for name, text in zip(parts[::2], parts[1::2], strict=True)]
    assert len(runs) % 2 == 0
    bars = 0
    for (line, quiet, plain), (same, loud, text) in zip(runs[::2], runs[1::2], strict=True):
        assert (line, quiet, loud) == (same, True, False)
        bars += "━".encode() in text
        assert "━".encode() not in plain
        rows = rows_of(text)
        shown = [row for row in rows if not row.startswith("textmill: ")]  # warnings
        if " tag train " in line:
            assert any(TABLE.fullmatch(row) for row in shown)
            shown = [row for row in shown if not TABLE.fullmatch(row)]
        assert shown == rows_of(plain), line
    if page.stem in ("README", "lda", "similar-documents", "names"):
        assert bars, "there were no bars to see, so this test has seen nothing"


def test_a_screen_of_few_rows_loses_nothing(tmp_path: Path) -> None:
    code = (
        "from textmill import progress; from textmill.progress import shown, track\n"
        "progress.BAR_SECONDS, progress.TICK_SECONDS, progress.REPORT_SECONDS = 0, 0.001, 0\n"
        "import time\n"
        "with shown():\n"
        "    for number in track(range(100), 'counting'):\n"
        "        time.sleep(0.005)\n"
        "        print('row', number)\n"
    )
    seen, _ = in_terminal([sys.executable, "-c", code], tmp_path, rows=8)
    assert "━".encode() in seen
    assert rows_of(seen, rows=8) == [f"row {number}" for number in range(100)]

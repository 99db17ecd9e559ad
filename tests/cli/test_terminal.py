"""What a person sees: every command of README and the tutorials in a terminal, Ctrl-C, closed pipes, lost output.

A page is played in a process of its own whose standard output and error are a pseudo-terminal, with bars that do not
wait a second, and a screen emulator (pyte) tells which rows are seen in the end: those that `-q` prints, and no others.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import pty
import re
import shlex
import shutil
import signal
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

from textmill import load, progress
from textmill.cli.app import main
from textmill.corpus import sample_path
from textmill.sequence.training.objective import ChainObjective
from textmill.sequence.training.run import Run
from textmill.topics.lda.gibbs import Chain

COMMAND = re.compile(r"^(textmill|echo .* \| textmill) ", re.M)
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
    if COMMAND.search(page.read_text(encoding="utf-8"))
]
COLUMNS, ROWS = 200, 60
MARK = b"\x1e"  # before and after the name of a command in what a player writes
TABLE = re.compile(r" *(iteration +objective .*|\d+ +\S+ +\d+ +\S+ +[\d.]+s +[\d.]+s)")  # what `tag train` shows
SIZE = re.compile(r"[\d,]+ features; training takes at least [\d,]+ MB")
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
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests" / "cli")))
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
            shown = [row for row in shown if not TABLE.fullmatch(row) and not SIZE.fullmatch(row)]
        assert shown == rows_of(plain), line
    if page.stem in ("README", "lda"):  # whose training lasts, on any machine
        assert bars, "there were no bars to see, so this test has seen nothing"


def test_a_screen_of_few_rows_loses_nothing(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.append({str(ROOT / 'tests')!r})\n"
        "from drawing import await_bar; from textmill.progress import shown, track\n"
        "with shown():\n"
        "    for number in track(range(100), 'counting'):\n"
        "        await_bar()\n"
        "        print('row', number)\n"
    )
    seen, _ = in_terminal([sys.executable, "-c", code], tmp_path, rows=8)
    assert "━".encode() in seen
    assert rows_of(seen, rows=8) == [f"row {number}" for number in range(100)]


# Ctrl-C.


@pytest.mark.parametrize(
    "module", ["enum", "typer", "textmill.cli.topics", "textmill.cli._options", "numpy", "scipy.sparse"]
)
def test_ctrl_c_during_imports_is_quiet(module: str, tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "class Press:\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r}:\n"
        "            sys.meta_path.remove(self)\n"
        "            os.kill(os.getpid(), 2)\n"
        "sys.meta_path.insert(0, Press())\n"
        "sys.argv[0] = 'textmill'\n"
        "from textmill.__main__ import main\n"
        "main()\n"
    )
    arguments = ["topics", "train", str(sample_path()), "--topics", "3", "-o", "m.mill"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
    assert list(tmp_path.iterdir()) == []


def interrupted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int, *arguments: str) -> int:
    """The exit code of a command during which Ctrl-C is pressed, in a certain call of a method."""
    calls = itertools.count(1)
    method = getattr(owner, name)

    def pressing(*given: Any, **named: Any) -> Any:
        if next(calls) == call:
            signal.raise_signal(signal.SIGINT)
        return method(*given, **named)

    monkeypatch.setattr(owner, name, pressing)
    with warnings.catch_warnings(), pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert next(calls) > call, "nobody pressed"
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.fixture
def tagger(tmp_path: Path) -> list[str]:
    """A command that trains a tagger into a file that is there already."""
    (tmp_path / "patterns.txt").write_text("u:%x[0,0]\nu:%x[-1,0]\nb\n")
    (tmp_path / "good.mill").write_text("the old one")
    data = str(sample_path("chunks-train.txt"))
    return ["tag", "train", data, "-p", f"{tmp_path}/patterns.txt", "--max-iter", "20", "-o", f"{tmp_path}/good.mill"]


ALGORITHMS = ["owlqn", "lbfgs", "sgd_l1", "bcd", "rprop", "perceptron"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("quiet", [True, False])
def test_ctrl_c_keeps_the_whole_iterations_of_a_tagger(
    algorithm: str,
    quiet: bool,
    tagger: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [*["-q"] * quiet, *tagger, "--algorithm", algorithm, "--json"]
    assert interrupted(monkeypatch, Run, "_watch", 3, *command) == 130
    captured = capsys.readouterr()
    facts = json.loads(captured.out)
    assert (facts["iterations"], facts["stop_reason"]) == (3, "interrupted")
    assert ("training stopped by Ctrl-C after 3 iterations" in captured.err) is not quiet
    assert load(tmp_path / "good.mill").n_iter_ == 3


def test_ctrl_c_before_the_first_whole_iteration_leaves_the_old_tagger(
    tagger: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert interrupted(monkeypatch, ChainObjective, "violations", 1, *tagger) == 130
    assert (tmp_path / "good.mill").read_text() == "the old one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.mill", "patterns.txt"]
    assert capsys.readouterr().out == ""


def test_ctrl_c_ends_a_cross_validation(
    tagger: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["tag", "crossval", *tagger[2:5], "--folds", "3", "--max-iter", "5"]
    assert interrupted(monkeypatch, Run, "_watch", 3, *command) == 130
    assert capsys.readouterr().out == "", "scores of half-trained taggers are worth nothing"


def test_ctrl_c_says_how_many_sweeps_were_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.mill").write_text("the old one")
    train = ["topics", "train", str(sample_path()), "--kind", "lda", "--method", "gibbs", "--topics", "5"]
    train += ["--max-iter", "90", "-o", f"{tmp_path}/m.mill"]
    assert interrupted(monkeypatch, Chain, "sweep", 1, *train) == 130
    assert (tmp_path / "m.mill").read_text() == "the old one"
    assert interrupted(monkeypatch, Chain, "sweep", 13, *train) == 130  # the first gives tokens their topics
    assert "training stopped by Ctrl-C after 12 sweeps; the model holds the last whole one" in capsys.readouterr().err
    assert load(tmp_path / "m.mill").components_.shape[0] == 5


# Pipes and closed streams.


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which textmill is textmill."""
    line = f'textmill() {{ {shlex.join(TEXTMILL)} "$@"; }}\n{command}'
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_closed_pipe_ends_with_141(tmp_path: Path) -> None:
    done = shell("yes 'to be or not' | head -200000 | textmill tokenize - | head -1; echo ${PIPESTATUS[2]}", tmp_path)
    assert (done.stdout, done.stderr) == ("to be or not\n141\n", "")
    done = shell("textmill topics --help | true; echo ${PIPESTATUS[0]}", tmp_path)
    assert done.stdout in ("141\n", "0\n"), "0 if it was written before the reader left"
    assert done.stderr == ""


def test_closed_streams_are_errors(tmp_path: Path) -> None:
    done = shell("textmill --version >&-", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("textmill: standard output is closed")
    done = shell("textmill tokenize - <&-", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("textmill: standard input: is closed")
    done = shell("echo to be | textmill tokenize - 2>&-", tmp_path)
    assert (done.returncode, done.stdout) == (0, "to be\n")
    done = shell("echo to be | textmill tokenize - > /dev/full", tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_a_query_writes_no_log_lines(tmp_path: Path) -> None:
    done = shell(
        f"textmill similar index {shlex.quote(str(sample_path()))} -o i.mill && "
        "textmill similar query i.mill --text 'tides raised by the Moon' -k 3",
        tmp_path,
    )
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 5
    assert done.stderr == ""

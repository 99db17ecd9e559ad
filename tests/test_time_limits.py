"""A test that stops moving fails with the stack of every thread, and the run goes on or ends; never does it stand.

A test marked `data` that finds no data is skipped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import collections, itertools, threading
import conftest
import pytest

conftest.GRACE_SECONDS = 1

def test_that_waits_for_a_thread():
    threading.Thread(target=threading.Event().wait, daemon=True, name="bystander").start()
    threading.Event().wait()

def test_that_moves():
    pass

@pytest.mark.slow
def test_that_is_slow(request):
    assert request.node.get_closest_marker("timeout").args == (conftest.SLOW_SECONDS,)

@pytest.mark.data
def test_that_reads_real_data():
    import os
    assert os.environ["TEXTMILL_DATA"]

@pytest.mark.stuck
def test_that_no_signal_reaches():
    collections.deque(itertools.repeat(0), maxlen=0)
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_stuck.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder)]
    command += ["-p", "conftest", "-p", "no:cacheprovider", "-o", "timeout=5", *options]
    command += ["-o", "markers=slow\ndata\nstuck"]
    environment = {"PATH": "", "PYTHONPATH": str(ROOT / "tests")}
    return subprocess.run(
        [*command, str(folder / "test_stuck.py")],
        capture_output=True, text=True, check=False, timeout=300, env=environment,
    )  # fmt: skip


def test_a_test_that_waits_fails_with_all_stacks_and_the_others_run(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "not stuck")
    assert "1 failed, 2 passed, 1 skipped" in done.stdout
    assert "::test_that_waits_for_a_thread" in done.stdout
    assert "Timeout (>5.0s)" in done.stdout
    assert "Stack of bystander" in done.stdout
    assert "1 skipped: TEXTMILL_DATA is not set" in done.stdout


@pytest.mark.parametrize("options", [[], ["-n", "1"]])
def test_native_code_that_holds_the_interpreter_is_ended_from_outside(tmp_path: Path, options: list[str]) -> None:
    done = run(tmp_path, "-m", "stuck", *options)
    assert done.returncode == 1
    assert "in test_that_no_signal_reaches" in done.stderr  # the stack
    if options:
        assert "crashed while running" in done.stdout

"""Judgments from several processes, and disks that are full."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from textmill.web.answers import Refusal
from textmill.web.judgments import Judgments


def test_several_processes_write_at_the_same_time(tmp_path: Path) -> None:
    code = """
import sys
from textmill.web.judgments import Judgments
judgments = Judgments(sys.argv[1])
for number in range(25):
    judgments.put("names", "people", sys.argv[2], str(number), "pos")
    judgments.put("names", "people", "same", "pair", f"{sys.argv[2]}-{number}")
"""
    path = str(tmp_path / "judgments.sqlite")
    processes = [subprocess.Popen([sys.executable, "-c", code, path, str(number)]) for number in range(3)]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    stored = Judgments(path).of("names", "people")
    assert len(stored) == 3 * 25 + 1
    assert next(one.label for one in stored if one.one == "same").endswith("-24")


def test_nothing_is_made_before_the_first_judgment(tmp_path: Path) -> None:
    path = tmp_path / "judgments.sqlite"
    judgments = Judgments(str(path))
    assert judgments.of("names", "people") == []
    assert judgments.about("article", "x") == []
    assert not path.exists()
    judgments.put("article", "words", "x", "y", "yes")
    assert [one.label for one in judgments.about("article", "x")] == ["yes"]


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    """A limit on the size of files is as near to a full disk as a test can come."""
    code = """
import resource, signal, sys
from textmill.web.answers import Refusal
from textmill.web.judgments import Judgments
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
judgments = Judgments(sys.argv[1])
judgments.put("names", "people", "a", "b", "pos")
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
stored = 1
try:
    for number in range(100_000):
        judgments.put("names", "people", f"{number}" * 50, "b", "pos")
        stored += 1
except Refusal as refusal:
    print(refusal.code, stored, len(judgments.of("names", "people")))
"""
    path = str(tmp_path / "judgments.sqlite")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True, timeout=120)
    refused, stored, there = done.stdout.split()
    assert refused == "507"
    assert stored == there
    assert len(Judgments(path).of("names", "people")) == int(stored)


def test_a_writer_that_was_killed_leaves_what_was_confirmed(tmp_path: Path) -> None:
    code = """
import os, sys
from textmill.web.judgments import Judgments
judgments = Judgments(sys.argv[1])
for number in range(10_000):
    judgments.put("names", "people", str(number), "b", "pos")
    print(number, flush=True)
    if number == 20:
        os.kill(os.getpid(), 9)
"""
    path = str(tmp_path / "judgments.sqlite")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == -9
    assert len(Judgments(path).of("names", "people")) == len(done.stdout.split()) == 21


def test_a_file_that_is_locked_or_no_database_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from textmill.web import judgments as module

    monkeypatch.setattr(module, "_SECONDS", 0.1)
    path = tmp_path / "judgments.sqlite"
    judgments = Judgments(str(path))
    judgments.put("names", "people", "a", "b", "pos")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(Refusal) as refused:
        judgments.put("names", "people", "a", "c", "pos")
    assert refused.value.code == 503
    other.close()
    (tmp_path / "text.sqlite").write_text("no database at all, but some text " * 100)
    with pytest.raises(Refusal) as refused:
        Judgments(str(tmp_path / "text.sqlite")).put("names", "people", "a", "b", "pos")
    assert refused.value.code in (500, 503)
    with pytest.raises(Refusal) as refused:
        Judgments(str(tmp_path / "no folder" / "judgments.sqlite")).put("names", "people", "a", "b", "pos")
    assert refused.value.code == 503


def test_odd_ids_are_stored_as_they_are(tmp_path: Path) -> None:
    judgments = Judgments(str(tmp_path / "odd ?#%.sqlite"))
    odd = ["a'; drop table judgments; --", "\x00", "𝔘", "x" * 10_000]
    for one in odd:
        judgments.put("article", "words", one, one, "no")
    assert sorted(one.one for one in judgments.of("article", "words")) == sorted(odd)

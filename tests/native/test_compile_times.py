"""The record of compile times and the table that `python -m bench native` makes of it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parent.parent.parent
LAUNCHER = ROOT / "tools" / "compile_times.py"


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return __import__("bench._compile_times", fromlist=["table"])


def launch(folder: Path, program: str, *arguments: str) -> int:
    command = [sys.executable, str(LAUNCHER), sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=folder, check=False).returncode


def test_a_compiler_that_works_is_recorded_with_its_processor_time(tmp_path, tables, monkeypatch):
    spec = importlib.util.spec_from_file_location("compile_times", LAUNCHER)
    launcher = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(launcher)
    monkeypatch.chdir(tmp_path)
    used = {launcher.resource.RUSAGE_CHILDREN: SimpleNamespace(ru_utime=1.0, ru_stime=0.25)}
    monkeypatch.setattr(launcher.resource, "getrusage", used.__getitem__)
    assert launcher.main([sys.executable, "-c", "", "-o", "a.dir/native/fst/compose.cpp.o", "-c", "compose.cpp"]) == 0
    assert launch(tmp_path, "", "-o", "a.dir/native/lm/ngram.cpp.o") == 0
    times = tables.recorded((tmp_path / "compile_times.tsv").read_text())
    assert list(times) == ["a.dir/native/fst/compose.cpp.o", "a.dir/native/lm/ngram.cpp.o"]
    assert times["a.dir/native/fst/compose.cpp.o"] == 1.25
    assert times["a.dir/native/lm/ngram.cpp.o"] > 0


def test_a_compiler_that_fails_keeps_its_code_and_leaves_no_record(tmp_path):
    assert launch(tmp_path, "raise SystemExit(3)", "-o", "a.o") == 3
    assert not (tmp_path / "compile_times.tsv").exists()


def test_folders_and_slowest_units_add_up(tables):
    times = {
        "CMakeFiles/core.dir/native/fst/compose.cpp.o": 3.0,
        "CMakeFiles/core.dir/native/fst/paths.cpp.o": 4.5,
        "CMakeFiles/_native.dir/native/bind/fst_files.cpp.o": 2.0,
        "CMakeFiles/_native.dir/native/bind/lm.cpp.o": 1.0,
        "CMakeFiles/nanobind-static.dir/opt/nanobind/src/nb_func.cpp.o": 0.5,
        "CMakeFiles/core.dir/cmake_pch.hxx.gch": 2.5,
    }
    lines = [line.split() for line in tables.table(times, "here").splitlines()]
    assert ["native/fst", "2", "7.5"] in lines
    assert ["native/bind,", "fst*", "1", "2.0"] in lines
    assert ["native/bind", "1", "1.0"] in lines
    assert ["nanobind", "1", "0.5"] in lines
    assert ["precompiled", "headers", "1", "2.5"] in lines
    assert ["all", "6", "13.5"] in lines
    assert lines[-6][0] == "native/fst/paths.cpp"


def test_a_log_of_ninja_serves_where_there_is_no_record(tmp_path, tables):
    build = tmp_path / "wheel"
    build.mkdir()
    log = "# ninja log v5\n100\t2600\t0\tCMakeFiles/core.dir/native/lm/ngram.cpp.o\tab\n5\t9\t0\tlibcore.a\tcd\n"
    (build / ".ninja_log").write_text(log)
    shown = tables.compile_times(tmp_path)
    assert "elapsed time" in shown
    assert ["native/lm", "1", "2.5"] in [line.split() for line in shown.splitlines()]
    (build / "compile_times.tsv").write_text("1.250\tCMakeFiles/core.dir/native/lm/ngram.cpp.o\n")
    os.utime(build / "compile_times.tsv")
    assert "processor time" in tables.compile_times(tmp_path)
    assert "not known" in tables.compile_times(tmp_path / "nowhere")

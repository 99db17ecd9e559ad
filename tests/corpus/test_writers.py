from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus import writers
from textmill.corpus.compression import COMPRESSIONS
from textmill.corpus.streams import open_lines
from textmill.corpus.writers import writer
from textmill.errors import DataError

LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n")), max_size=8)


@pytest.mark.parametrize("suffix", ["", *sorted(COMPRESSIONS)])
def test_what_is_written_is_read_again(tmp_path, suffix):
    path = tmp_path / f"out.txt{suffix}"

    @settings(derandomize=True, max_examples=20)
    @given(lines=LINES, encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32-be", "gb18030"]))
    def check(lines, encoding):
        lines = [line.removeprefix("\ufeff") for line in lines]
        with writer(path, encoding=encoding) as out:
            out.writelines(f"{line}\n" for line in lines)
        assert [line for _, line in open_lines(path, encoding=encoding)] == lines
        assert os.listdir(tmp_path) == [path.name]

    check()


def test_line_ends_stay_as_written(tmp_path):
    with writer(tmp_path / "out.txt") as out:
        out.write("a\r\nb\nc\r")
    assert (tmp_path / "out.txt").read_bytes() == b"a\r\nb\nc\r"


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("interrupt", [RuntimeError, KeyboardInterrupt])
def test_after_an_error_the_old_file_is_there_and_nothing_else(tmp_path, suffix, interrupt):
    path = tmp_path / f"out.txt{suffix}"

    def write_half():
        with writer(path) as out:
            out.write("new " * 100_000)
            raise interrupt

    with pytest.raises(interrupt):
        write_half()
    assert os.listdir(tmp_path) == []
    path.write_bytes(b"old")
    with pytest.raises(interrupt):
        write_half()
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, suffix):
    path = tmp_path / f"out.txt{suffix}"
    path.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    noise = "".join(chr(33 + i * i * 7919 % 89) + str(i * 2654435761 % 2**32) for i in range(40_000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_all(path, noise)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"old"


def write_all(path, text):
    with writer(path) as out:
        out.write(text)


def test_devices_are_written_directly():
    write_all("/dev/null", "text")
    with pytest.raises(OSError, match="No space left on device"):
        write_all("/dev/full", "text" * 100_000)


@pytest.mark.parametrize(("text", "encoding", "code"), [("a\ud800", "utf-8", "U+D800"), ("€", "latin-1", "U+20AC")])
def test_a_character_that_cannot_be_written_is_named(tmp_path, text, encoding, code):
    path = tmp_path / "out.txt"

    def write():
        with writer(path, encoding=encoding) as out:
            out.write(text)

    with pytest.raises(DataError, match=rf"out\.txt: {code[:1]}\+{code[2:]} cannot be written as "):
        write()
    assert os.listdir(tmp_path) == []


def test_an_unknown_encoding_is_named_before_anything_is_opened(tmp_path):
    with pytest.raises(DataError, match="unknown encoding 'klingon'"), writer(tmp_path / "out.txt", encoding="klingon"):
        pass
    assert os.listdir(tmp_path) == []


def test_standard_output_is_written_in_order_and_stays_open():
    program = """if True:
        from textmill.corpus.writers import writer
        print("before")
        with writer("-", encoding="utf-16-le") as out:
            out.write("\\xe9\\n")
        print("after")
    """
    folder = str(Path(writers.__file__).absolute().parents[2])
    environment = {**os.environ, "PYTHONPATH": folder, "PYTHONUNBUFFERED": ""}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=60)
    assert done.stdout == b"before\n" + "é\n".encode("utf-16-le") + b"after\n", done.stderr


def test_writing_is_not_seen_before_it_is_complete(tmp_path):
    path = tmp_path / "out.txt"
    with writer(path) as out:
        out.write("text")
        out.flush()
        assert not path.exists()
    assert path.read_text() == "text"

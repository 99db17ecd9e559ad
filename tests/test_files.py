from __future__ import annotations

import errno
import fcntl
import io
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from textmill import files
from textmill.files import replacing


def write(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


def only(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def leftover(target: Path, number: int = 0) -> Path:
    """The temporary file that is used for a target when nobody else writes it."""
    with replacing(target) as file:
        name = Path(str(file.name))
    return name.with_name(name.name.replace("-0.tmp", f"-{number}.tmp"))


def test_a_new_file_has_its_content_and_the_rights_umask_gives(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write(tmp_path / "new", b"content")
    finally:
        os.umask(old)
    assert (tmp_path / "new").read_bytes() == b"content"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert only(tmp_path) == ["new"]


def test_a_replaced_file_keeps_its_rights_even_while_it_is_written(tmp_path: Path) -> None:
    target = tmp_path / "secret"
    target.write_bytes(b"old")
    target.chmod(0o600)
    with replacing(target) as file:
        file.write(b"new")
        assert stat.S_IMODE(os.stat(file.name).st_mode) == 0o600
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_nobody_sees_the_new_content_before_the_end(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with replacing(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
        assert Path(str(file.name)).read_bytes() == b"new"
        assert Path(str(file.name)).parent == tmp_path
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failed_block_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def fail_half_way() -> None:
        with replacing(target) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert target.read_bytes() == b"old"
    assert only(tmp_path) == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace", "fchmod"])
def test_a_step_that_fails_leaves_the_old_file_and_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def fail(*arguments: object) -> None:
        places = [place for place in arguments if isinstance(place, str)]
        raise OSError(errno.ENOSPC, "No space left on device", *places[:1])

    monkeypatch.setattr(files.os, step, fail)
    with pytest.raises(OSError, match="No space left") as caught:
        write(target, b"new")
    assert caught.value.filename == str(target)
    assert caught.value.filename2 is None
    assert target.read_bytes() == b"old"
    assert only(tmp_path) == ["file"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(files.os, "dup", lambda _: full)
    with pytest.raises(OSError, match="No space left") as caught:
        write(tmp_path / "file", b"new")
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(tmp_path / "file")
    assert only(tmp_path) == []


def test_errors_of_the_block_stay_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "file"):
        open(tmp_path / "source that is missing")  # noqa: SIM115
    assert caught.value.filename == str(tmp_path / "source that is missing")


def test_a_folder_that_cannot_be_flushed_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(folder: str) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(files, "_flush_folder", fail)
    write(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_file_and_folder_are_flushed_in_that_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = []
    flush, rename = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        order.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else os.fstat(descriptor).st_size)
        flush(descriptor)

    def replace(source: str, target: str) -> None:
        order.append("rename")
        rename(source, target)

    monkeypatch.setattr(files.os, "fsync", fsync)
    monkeypatch.setattr(files.os, "replace", replace)
    write(tmp_path / "file", b"12345")
    assert order == [5, "rename", "folder"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(Path("real") / "file")
    write(link, b"first")  # through a link to nothing
    write(link, b"second")
    assert link.is_symlink()
    assert (tmp_path / "real" / "file").read_bytes() == b"second"
    assert only(tmp_path / "real") == ["file"]


def test_the_longest_name_can_be_replaced(tmp_path: Path) -> None:
    name = "é" * 127  # 254 bytes
    write(tmp_path / name, b"1")
    write(tmp_path / name, b"2")
    assert only(tmp_path) == [name]


def test_names_that_are_not_utf_8_can_be_replaced(tmp_path: Path) -> None:
    target = tmp_path / os.fsdecode(b"caf\xe9")
    write(target, b"1")
    assert target.read_bytes() == b"1"


def test_the_block_may_close_the_file(tmp_path: Path) -> None:
    with replacing(tmp_path / "file") as file, io.TextIOWrapper(file, encoding="utf-8") as text:
        text.write("naïve")
    assert (tmp_path / "file").read_bytes() == b"na\xc3\xafve"


def test_a_missing_folder_is_named_by_the_path_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write(tmp_path / "missing" / "file", b"")
    assert caught.value.filename == str(tmp_path / "missing" / "file")


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError) as caught:
        write(tmp_path, b"")
    assert caught.value.filename == str(tmp_path)
    assert only(tmp_path) == []


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write(tmp_path / "pipe", b"through")
    reader.join()
    assert got == [b"through"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert only(tmp_path) == ["pipe"]


KILLED = """
import os, signal, sys
from textmill.files import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half of it")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_goes_with_the_next_save_of_the_same_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"
    (left,) = set(only(tmp_path)) - {"file"}
    assert (tmp_path / left).read_bytes() == b"half of it"
    write(tmp_path / "another", b"")
    assert left in only(tmp_path)  # not its leftover
    write(target, b"new")
    assert only(tmp_path) == ["another", "file"]
    assert target.read_bytes() == b"new"


def test_a_living_writer_is_not_disturbed_by_another_of_the_same_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    with replacing(target) as slow:
        slow.write(b"slow")
        with replacing(target) as quick:
            quick.write(b"quick")
            assert quick.name != slow.name
        assert target.read_bytes() == b"quick"
        assert os.path.exists(slow.name)
    assert target.read_bytes() == b"slow"
    assert only(tmp_path) == ["file"]


def test_a_file_taken_for_a_leftover_before_its_lock_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    calls = 0

    def rival_first(descriptor: int, how: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:  # between our creation and our lock somebody locks and removes the file
            files._remove_leftover(os.readlink(f"/proc/self/fd/{descriptor}"))
        lock(descriptor, how)

    monkeypatch.setattr(files.fcntl, "flock", rival_first)
    write(tmp_path / "file", b"new")
    assert calls > 2
    assert (tmp_path / "file").read_bytes() == b"new"
    assert only(tmp_path) == ["file"]


def test_a_file_somebody_is_about_to_remove_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = fcntl.flock
    doomed: list[str] = []

    def rival_holds_it(descriptor: int, how: int) -> None:
        if not doomed:
            doomed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
            raise BlockingIOError(errno.EWOULDBLOCK, "Resource temporarily unavailable")
        lock(descriptor, how)

    monkeypatch.setattr(files.fcntl, "flock", rival_holds_it)
    with replacing(tmp_path / "file") as file:
        file.write(b"new")
        os.unlink(doomed[0])
    assert (tmp_path / "file").read_bytes() == b"new"


def test_without_locks_files_are_still_replaced_and_nothing_of_others_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(descriptor: int, how: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    left = leftover(tmp_path / "file")
    left.write_bytes(b"perhaps in use")
    monkeypatch.setattr(files.fcntl, "flock", no_locks)
    write(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert left.read_bytes() == b"perhaps in use"


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    trap = leftover(tmp_path / "file")
    trap.symlink_to(victim)
    write(tmp_path / "file", b"new")
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / "file").read_bytes() == b"new"


def test_many_writers_of_one_file_leave_one_whole_content(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write(target, b"0" * 5000)
    stop = threading.Event()
    faults: list[object] = []

    def keep_writing(digit: bytes) -> None:
        try:
            while not stop.is_set():
                write(target, digit * 5000)
        except BaseException as fault:
            faults.append(fault)

    writers = [threading.Thread(target=keep_writing, args=(b"%d" % digit,)) for digit in range(1, 5)]
    for writer in writers:
        writer.start()
    for _ in range(300):
        content = target.read_bytes()
        assert len(content) == 5000
        assert len(set(content)) == 1
    stop.set()
    for writer in writers:
        writer.join()
    assert faults == []
    assert only(tmp_path) == ["file"]


def test_a_pipe_that_has_no_name_is_written_to_directly() -> None:
    """/dev/stdout is a link to one, where the output of a command goes to another."""
    reader, writer = os.pipe()
    with replacing(f"/dev/fd/{writer}") as file:
        file.write(b"mill")
    os.close(writer)
    with open(reader, "rb") as file:
        assert file.read() == b"mill"


def test_a_system_without_locks_and_without_fallocate_writes_files_and_scratch_arrays(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.delattr(os, "posix_fallocate")
    with files.replacing(tmp_path / "a.txt") as stream:
        stream.write(b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"new"
    array = files.scratch_array(tmp_path, (2, 3), "int32")
    array[1, 2] = 7
    assert array.sum() == 7
    with open(tmp_path / "a.txt") as stream, pytest.raises(OSError, match="no locks of files"):
        files.lock(stream.fileno())

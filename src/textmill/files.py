"""Files that are replaced whole or not at all.

    bytes -> a temporary file beside the target -> flushed to the disk -> renamed over the target -> folder flushed

A rename within a folder is atomic, so whoever opens the target sees the old content or the new, never a part, and after
an error, an interrupt or a power cut it is one of the two. The temporary file is `.textmill-HASH-NUMBER.tmp`, HASH
standing for the name of the target, NUMBER for one of several that write it at the same time; it is locked while its
owner lives. So the next to write the same target recognizes what a killed process has left, and removes it. On a file
system without locks, or a system without `fcntl`, it stays.

Cost: O(bytes), two flushes, one rename; no look through the folder. Reference: POSIX.1-2017, rename().
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import stat
import tempfile
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["check_folder", "check_target", "lock", "replacing", "scratch_array"]

_PREFIX = ".textmill-"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # these faults come without the name of the file


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that takes its name when the block ends, and vanishes if the block fails.

    It gets the access rights of the file it replaces; a symbolic link stays and what it points to is replaced. The
    block may close the file. Its `name` is where it is for the time being, for what must be checked before it counts.
    What cannot be replaced, a device or a pipe, is written to directly. Faults are `OSError`s that name `path`.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/words.txt") as file:
    ...         _ = file.write(b"one two")
    ...     os.listdir(folder), pathlib.Path(folder, "words.txt").read_text()
    (['words.txt'], 'one two')
    """
    name = os.fspath(path)
    target = os.path.realpath(name)
    try:
        old = os.stat(name).st_mode
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old):
        with open(name, "wb") as direct:
            yield direct
        return
    with _faults_name(name):
        temporary, descriptor = _create(target)
        try:
            if old is not None:
                os.fchmod(descriptor, old & 0o777)  # before the first byte: what was secret stays secret
            with open(temporary, "wb", opener=lambda *_: os.dup(descriptor)) as file:
                yield file
            os.fsync(descriptor)
            os.replace(temporary, target)
        except BaseException:
            if _is_at(temporary, descriptor):
                os.unlink(temporary)
            raise
        finally:
            os.close(descriptor)  # which also unlocks: not before the rename
    with contextlib.suppress(OSError):  # some network file systems cannot; the file itself is safe
        _flush_folder(os.path.dirname(target))


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise the `OSError` that `replacing` would meet, before the work whose result it is to hold is done.

    >>> check_target("/no such folder/words.txt")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] there is no such folder; make it or choose another: '/no such folder'
    """
    name = os.fspath(path)
    target = os.path.realpath(name)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        wrong = os.path.dirname(name) or folder
        if os.path.exists(folder):
            raise NotADirectoryError(errno.ENOTDIR, "is a file, not a folder; choose another", wrong)
        raise FileNotFoundError(errno.ENOENT, "there is no such folder; make it or choose another", wrong)
    try:
        kind = os.stat(target).st_mode
    except FileNotFoundError:
        kind = None
    if kind is not None and stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file", name)
    if kind is None or stat.S_ISREG(kind):  # a new file takes its name, so it is the folder that must take it
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "no permission to write into its folder; choose another", name)
    elif not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise an `OSError` that says why if files cannot be written into a folder, which is made if there is none.

    >>> check_folder("/dev/null/report")
    Traceback (most recent call last):
    NotADirectoryError: [Errno 20] is a file, not a folder; choose another: '/dev/null'
    """
    name = os.fspath(path)
    above = name
    while not os.path.lexists(above):
        above = os.path.dirname(above.rstrip(os.sep)) or os.curdir
    if not os.path.isdir(above):
        raise NotADirectoryError(errno.ENOTDIR, "is a file, not a folder; choose another", above)
    if not os.access(above, os.W_OK | os.X_OK):
        what = "write into this folder" if above == name else f"make this folder in {os.path.realpath(above)}"
        raise PermissionError(errno.EACCES, f"no permission to {what}; choose another", name)


def scratch_array(folder: str | os.PathLike[str], shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array in a file without a name, which goes when the array goes.

    The system moves its pages to the disk when memory is short, so work on it does not add to what a process needs. The
    room is taken at once: a full disk is an `OSError` here and not a fault while the array is written.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     array = scratch_array(folder, (2, 3), "int32")
    ...     array[1, 2] = 7
    ...     os.listdir(folder), int(array.sum())
    ([], 7)
    """
    import numpy as np  # most who write files need no arrays

    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not size:
        return np.zeros(shape, dtype)
    with _faults_name(os.fspath(folder)), tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:  # macOS, Windows: sparse, so that a full disk is noticed later
            file.truncate(size)
        return np.memmap(file, dtype, "r+", shape=shape)


def lock(descriptor: int, *, wait: bool = False) -> None:
    """Lock an open file until it is closed: a `BlockingIOError` if another process has it, unless `wait`.

    Where there are no locks it is an `OSError` of another kind.

    >>> with tempfile.TemporaryFile() as file:
    ...     lock(file.fileno())
    """
    if fcntl is None:
        raise OSError(errno.ENOLCK, "this system has no locks of files")
    fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _create(target: str) -> tuple[str, int]:
    """A new locked file beside the target, with the rights that umask gives: its path and its descriptor."""
    folder, base = os.path.split(target)
    digest = hashlib.blake2b(os.fsencode(base), digest_size=8).hexdigest()  # a name might be too long to add to
    numbers = itertools.count()
    while True:
        temporary = os.path.join(folder, f"{_PREFIX}{digest}-{next(numbers)}.tmp")
        _remove_leftover(temporary)
        try:
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:  # its owner lives
            continue
        if _lock(descriptor) and _is_at(temporary, descriptor):
            return temporary, descriptor
        os.close(descriptor)  # taken for a leftover between its creation and its lock


def _remove_leftover(temporary: str) -> None:
    """Remove a temporary file whose owner is dead; its lock died with it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(temporary, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            lock(descriptor)
            if _is_at(temporary, descriptor):  # or somebody was quicker, and this is the next file of that name
                os.unlink(temporary)
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock our own file; False if somebody else has the lock. Without locks nobody removes it, so it is as good."""
    try:
        lock(descriptor)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _is_at(path: str, descriptor: int) -> bool:
    """Is the open file still the one of that name?"""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _faults_name(name: str) -> Iterator[None]:
    """Let faults of our own steps name the file the caller knows."""
    try:
        yield
    except OSError as fault:
        if _PREFIX in str(fault.filename) or (fault.filename is None and fault.errno in _NO_ROOM):
            raise OSError(fault.errno, fault.strerror, name) from None
        raise


def _flush_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

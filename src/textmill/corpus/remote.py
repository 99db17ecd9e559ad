"""Addresses of remote files, scheme://..., opened through fsspec.

fsspec and its companions own the protocols (s3://, gs://, https://, memory://, file:// and many more). What is missing
to speak one of them is a `DataError` that names the package; a file that is not there is an `OSError`.

Cost: that of the network; files are read in blocks, never as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Any, TypeGuard
from urllib.parse import urlsplit

from textmill.errors import DataError

__all__ = ["is_remote", "open_remote", "remote_files", "remote_path"]

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # two letters or more: C:// is a drive


def is_remote(source: object) -> TypeGuard[str]:
    """Whether a source is the address of a remote file.

    >>> is_remote("s3://bucket/news.csv"), is_remote("news.csv"), is_remote("C://news.csv")
    (True, False, False)
    """
    return isinstance(source, str) and _ADDRESS.match(source) is not None


def remote_path(address: str) -> str:
    """Give the part of an address that ends with the name of the file.

    >>> remote_path("https://example.org/news.csv.gz?key=7")
    'https://example.org/news.csv.gz'
    """
    if address.lower().startswith(("http://", "https://")):
        return urlsplit(address)._replace(query="", fragment="").geturl()
    return address


def open_remote(address: str) -> IO[bytes]:
    """Open a remote file for reading.

    >>> import fsspec
    >>> fsspec.filesystem("memory").pipe("/doctest.txt", b"some text")
    >>> with open_remote("memory://doctest.txt") as stream:
    ...     stream.read()
    b'some text'
    """
    system, path = _system(address)
    try:
        stream: IO[bytes] = system.open(path, "rb")
    except OSError:
        raise
    except Exception as error:  # every protocol has its own
        raise _cannot(address, error) from error
    return stream


def remote_files(address: str) -> Iterator[str]:
    """Give the addresses of the files below a folder, an address that ends with /, sorted and without hidden ones; of a
    file, its own.

    >>> import fsspec
    >>> fsspec.filesystem("memory").pipe({"/doctest/b.txt": b"", "/doctest/a/c.txt": b""})
    >>> list(remote_files("memory://doctest/"))
    ['memory:///doctest/a/c.txt', 'memory:///doctest/b.txt']
    """
    system, path = _system(address)
    try:
        paths = system.find(path) if address.endswith("/") else [system.info(path)["name"]]
    except OSError:
        raise
    except Exception as error:
        raise _cannot(address, error) from error
    if not address.endswith("/"):
        yield address
        return
    names = [name for name in sorted(paths) if "/." not in name[len(path) :]]
    if not names:
        raise DataError("the folder holds no files (hidden ones do not count)", source=address)
    for name in names:
        yield str(system.unstrip_protocol(name))


def _system(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path there."""
    scheme = address.partition("://")[0]
    try:
        import fsspec
    except ImportError:
        fault = f"{scheme}:// needs the fsspec library: pip install 'textmill[io]'"
        raise DataError(fault, source=address) from None
    if scheme.lower() not in fsspec.available_protocols():
        raise DataError(f"fsspec does not know {scheme}://; copy the file here first", source=address)
    try:
        system, path = fsspec.core.url_to_fs(address)
    except ImportError as error:
        raise DataError(f"{scheme}:// needs another package ({error})", source=address) from None
    except Exception as error:
        raise _cannot(address, error) from error
    return system, path


def _cannot(address: str, error: Exception) -> DataError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return DataError(f"cannot be opened ({reason}); check the address and your access to it", source=address)

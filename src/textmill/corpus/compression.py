"""Compressed bytes: gzip, bzip2, xz and zstd, recognized, undone and done through the libraries that own the formats.

`COMPRESSIONS` maps a suffix to everything textmill knows of it; a new compression is one entry. Several members (gzip),
streams (bzip2, xz) or frames (zstd) in a row are one content, as their tools have it. What is wrong with the data is a
`DataError`; what is wrong with the disk stays an `OSError`.

gzip is undone by isal if it is installed, else by zlib: the same content and the same faults.

Cost: that of the library; memory does not grow with the data, however well it is compressed.
References: RFC 1952 (gzip), RFC 8878 (zstd), the .xz file format 1.2.1.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, NamedTuple, cast

from textmill.errors import DataError

__all__ = ["BLOCK", "COMPRESSIONS", "Compression", "compress", "decompress", "pieces", "recognize", "stream_of"]

BLOCK = 1 << 16  # larger ones cost more: their memory is handed back to the system each time


class Compression(NamedTuple):
    """One way to compress: how it is called, how its data begins, how it is undone and done."""

    name: str
    magic: tuple[bytes, ...]
    unpack: Callable[[IO[bytes]], Iterator[bytes]]
    pack: Callable[[IO[bytes]], IO[bytes]]


def recognize(head: bytes) -> Compression | None:
    """Tell the compression of data by its first ten bytes or more.

    >>> recognize(gzip.compress(b"some text")).name
    'gzip'
    """
    return next((kind for kind in COMPRESSIONS.values() if head.startswith(kind.magic)), None)


def decompress(stream: IO[bytes], compression: Compression, name: str) -> IO[bytes]:
    """Give the content of a compressed stream as a stream; faults in it are `DataError`s that name the source.

    >>> decompress(io.BytesIO(gzip.compress(b"some") + gzip.compress(b" text")), COMPRESSIONS[".gz"], "x").read()
    b'some text'
    """
    return stream_of(_checked(compression.unpack(stream), compression, name))


def compress(stream: IO[bytes], compression: Compression, name: str) -> IO[bytes]:
    """Give a stream that writes compressed data into `stream`, and ends it when closed; `stream` stays open.

    >>> packed = io.BytesIO()
    >>> with compress(packed, COMPRESSIONS[".bz2"], "x") as stream:
    ...     _ = stream.write(b"some text")
    >>> bz2.decompress(packed.getvalue())
    b'some text'
    """
    try:
        return compression.pack(stream)
    except ImportError as error:
        raise DataError(str(error), source=name) from None


def pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """Give what there is to read now, again and again: a slow pipe is not waited for until a block is full.

    >>> list(pieces(io.BytesIO(b"some text")))
    [b'some text']
    """
    return iter(partial(getattr(stream, "read1", stream.read), BLOCK), b"")


def stream_of(parts: Iterator[bytes]) -> IO[bytes]:
    """Give a readable binary stream made of byte strings.

    >>> stream_of(iter([b"some", b" text"])).read()
    b'some text'
    """
    return cast(IO[bytes], io.BufferedReader(_Parts(parts), BLOCK))


class _Parts(io.RawIOBase):
    """The raw side of `stream_of`."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._rest = memoryview(part)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _checked(parts: Iterator[bytes], compression: Compression, name: str) -> Iterator[bytes]:
    """The same parts; what the libraries raise becomes a DataError."""
    try:
        yield from parts
    except EOFError:
        fault = "the file ends in the middle of the compressed data; was the download finished?"
    except ImportError as error:
        fault = str(error)
    except (OSError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        fault = f"damaged {compression.name} data ({error}); fetch or make the file again"
    else:
        return
    raise DataError(fault, source=name)


class _Zstd(NamedTuple):
    """What is needed of a zstd library."""

    decompressor: Callable[[], Any]
    open_writer: Callable[[IO[bytes]], IO[bytes]]
    error: type[Exception]


def _zstd() -> _Zstd:
    """The zstd of Python 3.14, or its backport."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise ImportError("zstd data needs the library backports.zstd: pip install 'textmill[io]'") from None
    checked = {zstd.CompressionParameter.checksum_flag: 1}
    write = cast(Callable[[IO[bytes]], IO[bytes]], partial(zstd.ZstdFile, mode="wb", options=checked))
    return _Zstd(zstd.ZstdDecompressor, write, zstd.ZstdError)


def _inflater() -> tuple[Callable[[], Any], type[Exception]]:
    """What undoes one member of gzip data, and what it raises."""
    try:
        from isal import isal_zlib
    except ImportError:
        return partial(zlib.decompressobj, wbits=31), zlib.error
    return partial(isal_zlib.decompressobj, wbits=31), cast(type[Exception], isal_zlib.error)


def _unpack_gzip(stream: IO[bytes]) -> Iterator[bytes]:
    """The content of gzip members; zeros behind one are padding."""
    decompressor, wrong = _inflater()
    member: Any = None
    first = True
    for block in pieces(stream):
        data = block
        while data:
            if member is None:
                data = data if first else data.lstrip(b"\0")
                if not data:
                    break
                if not b"\x1f\x8b".startswith(data[:2]):
                    raise OSError(f"{bytes(data[:2])!r} is no beginning of gzip data")
                member = decompressor()
                first = False
            try:
                part = member.decompress(data, BLOCK)
                data = member.unused_data if member.eof else member.unconsumed_tail
                while part:
                    yield part
                    part = b"" if data or member.eof else member.decompress(b"", BLOCK)  # what is left inside
            except wrong:
                raise OSError("codes or checksum are wrong") from None
            if member.eof:
                data = data or member.unused_data
                member = None
    if member is not None:
        raise EOFError


def _unpack_zstd(stream: IO[bytes]) -> Iterator[bytes]:
    """The content of zstd frames; the library's own reader takes a cut frame for the end."""
    zstd = _zstd()
    frame: Any = None
    for data in pieces(stream):
        while data or (frame is not None and not frame.needs_input):
            frame = frame or zstd.decompressor()
            try:
                part = frame.decompress(data, BLOCK)
            except zstd.error as error:
                raise OSError(str(error)) from None  # as the bz2 module does
            if part:
                yield part
            data = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame = None
    if frame is not None:
        raise EOFError


_gzip = cast(Callable[..., IO[bytes]], gzip.GzipFile)  # which is a stream in all but its declared type

COMPRESSIONS = {
    ".bz2": Compression(
        "bzip2",
        tuple(b"BZh%d" % level + mark for level in range(1, 10) for mark in (b"1AY&SY", b"\x17rE8P\x90")),
        lambda stream: pieces(bz2.BZ2File(stream)),
        lambda stream: bz2.BZ2File(stream, "wb"),
    ),
    ".gz": Compression(
        "gzip",
        (b"\x1f\x8b",),
        _unpack_gzip,
        lambda stream: _gzip(filename="", mode="wb", fileobj=stream, mtime=0),  # same text, same bytes
    ),
    ".xz": Compression(
        "xz",
        (b"\xfd7zXZ\0",),
        lambda stream: pieces(lzma.LZMAFile(stream)),  # noqa: SIM115
        lambda stream: lzma.LZMAFile(stream, "wb"),  # noqa: SIM115
    ),
    ".zst": Compression(
        "zstd",
        (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16))),  # also skippable frames
        _unpack_zstd,
        lambda stream: _zstd().open_writer(stream),
    ),
}

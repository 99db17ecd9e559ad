"""Text into files, pipes and standard output, plain or compressed.

    text -> encoded -> compressed by suffix -> a file that is replaced whole or not at all

Cost: O(characters), and that of the compression.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import IO, TextIO

from textmill.corpus.compression import COMPRESSIONS, compress
from textmill.corpus.streams import check_encoding
from textmill.errors import DataError
from textmill.files import replacing

__all__ = ["binary_writer", "writer"]


@contextmanager
def writer(target: str | os.PathLike[str], *, encoding: str = "utf-8") -> Iterator[TextIO]:
    r"""Open a path or "-" (standard output) for writing text, compressed if the suffix says so.

    Line ends stay as they are written. A file takes its name when all of it is on the disk: after an error or an
    interrupt there is the old file, or none.

    >>> with writer("-") as out:
    ...     _ = out.write("a line\n")
    a line
    """
    check_encoding(encoding)
    name = os.fspath(target)
    with ExitStack() as stack:
        if name == "-":
            out = stack.enter_context(_standard_output(encoding))
        else:
            raw = stack.enter_context(replacing(name))
            out = stack.enter_context(_text(raw, name, encoding))
        try:
            yield out
        except UnicodeEncodeError as error:
            wrong = f"U+{ord(error.object[error.start]):04X}"
            raise DataError(
                f"{wrong} cannot be written as {error.encoding}; remove it or pass another encoding", source=name
            ) from None


@contextmanager
def binary_writer(target: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a path for writing bytes, compressed if the suffix says so; replaced whole or not at all.

    >>> import gzip, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with binary_writer(f"{folder}/bytes.gz") as out:
    ...         _ = out.write(b"some bytes")
    ...     gzip.open(f"{folder}/bytes.gz").read()
    b'some bytes'
    """
    name = os.fspath(target)
    compression = COMPRESSIONS.get(os.path.splitext(name)[1].lower())
    with replacing(name) as raw, nullcontext(raw) if compression is None else compress(raw, compression, name) as out:
        yield out


@contextmanager
def _text(raw: IO[bytes], name: str, encoding: str) -> Iterator[TextIO]:
    """A text stream on top of `raw` that ends compressed data properly; `raw` stays open."""
    compression = COMPRESSIONS.get(os.path.splitext(name)[1].lower())
    with nullcontext(raw) if compression is None else compress(raw, compression, name) as packed:
        out = io.TextIOWrapper(packed, encoding=encoding, newline="\n")
        try:
            yield out
        finally:
            out.detach()  # which flushes


@contextmanager
def _standard_output(encoding: str) -> Iterator[TextIO]:
    """Standard output in any encoding; a replacement that takes only text (a notebook's) as it is."""
    sys.stdout.flush()
    if not hasattr(sys.stdout, "buffer"):
        yield sys.stdout
        return
    with _text(sys.stdout.buffer, "-", encoding) as out:
        yield out
    sys.stdout.buffer.flush()

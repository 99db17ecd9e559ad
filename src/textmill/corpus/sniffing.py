r"""Which format a file or stream has whose name does not tell, by its beginning.

    parquet     it begins with PAR1
    jsonl       it begins with {" or {}
    review      it begins with <review>
    wikipedia   it begins with <mediawiki
    html, xml   it begins with <!doctype html or <html, with <?xml
    tsv, csv    the first line has several fields, all named and different, and one of them is that of the text
    txt         anything else that is text
    None        binary data: the beginning holds a NUL, or is that of a PDF file, an archive, an image

The first line of a plain text is taken for the header of a table only if the name of the text field stands between tabs
or commas in it, so prose is not mistaken for a table.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from textmill.corpus.compression import pieces, stream_of
from textmill.corpus.streams import Source, decoded_beginning, is_foreign, open_bytes
from textmill.corpus.tables import check_delimiter

__all__ = ["peek", "sniff_format"]

_LONGEST = 1 << 20  # bytes of a first line


@contextmanager
def peek(source: Source, *, name: str | None = None) -> Iterator[tuple[bytes, IO[bytes]]]:
    r"""Open a source and give its beginning, a whole line if there is one, and a stream that still gives everything.

    >>> import io
    >>> with peek(io.BytesIO(b"one\ntwo\n")) as (head, stream):
    ...     head, stream.read()
    (b'one\ntwo\n', b'one\ntwo\n')
    """
    with open_bytes(source, name=name) as stream:
        blocks = pieces(stream)
        head = next(blocks, b"")
        while b"\n" not in head and len(head) < _LONGEST and (more := next(blocks, b"")):
            head += more
        yield head, stream_of(itertools.chain([head], blocks))


def sniff_format(head: bytes, *, encoding: str = "utf-8", text_field: str = "text", delimiter: str = ",") -> str | None:
    r"""Return the format of something that begins with these bytes, None for binary data.

    >>> sniff_format(b'{"text": "a storm"}\n'), sniff_format(b"id\ttext\n1\tstorm\n"), sniff_format(b"A storm, text.\n")
    ('jsonl', 'tsv', 'txt')
    >>> sniff_format(b"id,body\n", text_field="body"), sniff_format(b"\x7fELF\x00\x01")
    ('csv', None)
    """
    if head.startswith(b"PAR1"):
        return "parquet"
    text = decoded_beginning(head, encoding)
    if "\0" in text or is_foreign(head):
        return None
    start = text.lstrip()
    if start.startswith(("{}", '{"')) or start.replace(" ", "").startswith('{"'):
        return "jsonl"
    if start.startswith("<mediawiki"):
        return "wikipedia"
    if start.startswith("<review>"):
        return "review"
    if start[:14].lower().startswith(("<!doctype html", "<html")):
        return "html"
    if start.startswith("<?xml"):
        return "xml"
    line = text.split("\n", 1)[0].rstrip("\r")
    if _is_header(line.split("\t"), text_field):
        return "tsv"
    check_delimiter(delimiter)
    marks = (delimiter, ";", "|")  # with another delimiter than it was told, the reader of CSV says so
    return "csv" if any(_is_header(_fields(line, mark), text_field) for mark in marks) else "txt"


def _fields(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # longer than any field may be: no header
        return []


def _is_header(fields: list[str], text_field: str) -> bool:
    return len(fields) > 1 and text_field in fields and all(fields) and len(set(fields)) == len(fields)

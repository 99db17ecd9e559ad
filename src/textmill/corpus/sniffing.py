r"""Which format a file or stream has whose name does not tell, by its beginning.

    parquet     it begins with PAR1
    jsonl       it begins with {" or {}
    review      it begins with <review>
    wikipedia   it begins with <mediawiki
    html, xml   it begins with <!doctype html or <html, with <?xml
    conllu      the first line that is no comment has ten fields between tabs, and a number in the first
    conll       every line has the same columns, two or more, and the last holds tags, as far as the beginning goes
    tsv, csv    the first line has several fields, all named and different, and one of them is that of the text
    txt         anything else that is text
    None        binary data: the beginning holds a NUL, or is that of a PDF file, an archive, an image

The first line of a plain text is taken for the header of a table only if the name of the text field stands between tabs
or commas in it, so prose is not mistaken for a table.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from textmill.corpus.compression import pieces, stream_of
from textmill.corpus.streams import Source, decoded_beginning, is_foreign, open_bytes
from textmill.corpus.tables import check_delimiter

__all__ = ["first_lines", "is_conll", "is_conllu", "peek", "sniff_format"]

_LONGEST = 1 << 20  # bytes of a first line
_SHORT = 1 << 12  # bytes of a beginning that is the whole
_LINES = 64  # at the beginning, that are looked at
_FEWEST, _MANY = 2, 8  # tokens that may show that lines are columns: with tags of chunks, with others
_CONLLU_TABS = 9
_FIRST_ID = re.compile(r"(1|0\.1|1-[2-9]\d*)\t")
_IOB = re.compile(r"O|[BIESLU]-\S+")
_TAG = re.compile(r"[A-Z][A-Z0-9$:_*+-]*|[^\w\s]+|[BIESLU]-\S+")


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
    lines = first_lines(text if len(head) < _SHORT else text.rpartition("\n")[0])  # the last line may be cut
    if is_conllu(lines):
        return "conllu"
    if is_conll(lines):
        return "conll"
    if _is_header(line.split("\t"), text_field):
        return "tsv"
    check_delimiter(delimiter)
    marks = (delimiter, ";", "|")  # with another delimiter than it was told, the reader of CSV says so
    return "csv" if any(_is_header(_fields(line, mark), text_field) for mark in marks) else "txt"


def first_lines(text: str) -> list[str]:
    r"""Return the lines at the beginning of a text that tell its format.

    >>> first_lines("a\r\nb\n")
    ['a', 'b', '']
    """
    return [line.removesuffix("\r") for line in text.split("\n", _LINES)[:_LINES]]


def is_conllu(lines: Iterable[str]) -> bool:
    r"""Say whether a text that begins with these lines is CoNLL-U.

    >>> is_conllu(["# sent_id = 1", "1\tTo\tto\tPART\t_\t_\t2\tmark\t_\t_"]), is_conllu(["# A heading", "Text."])
    (True, False)
    """
    first = next((line for line in lines if not line.startswith("#")), "")
    return first.count("\t") == _CONLLU_TABS and _FIRST_ID.match(first) is not None


def is_conll(lines: Sequence[str]) -> bool:
    r"""Say whether a text that begins with these lines has a token and its tags on every line.

    The last column tells: O and B-X, I-X or the like everywhere, or few different tags in capitals and marks.

    >>> is_conll(["The\tB-NP", "dog\tI-NP", "barks\tO"]), is_conll(["Ann Smith", "Bob Jones"])
    (True, False)
    """
    rows = [line.split() for line in lines if line.strip() and not line.startswith("-DOCSTART-")]
    if len(rows) < _FEWEST or len({len(row) for row in rows}) > 1 or len(rows[0]) < 2:
        return False
    last = [row[-1] for row in rows]
    if all(_IOB.fullmatch(tag) for tag in last):
        return True
    tags = set(last)
    return len(rows) >= _MANY and 2 * len(tags) <= len(rows) and all(_TAG.fullmatch(tag) for tag in tags)


def _fields(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # longer than any field may be: no header
        return []


def _is_header(fields: list[str], text_field: str) -> bool:
    return len(fields) > 1 and text_field in fields and all(fields) and len(set(fields)) == len(fields)

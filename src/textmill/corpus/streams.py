"""Lines of text from files, pipes and standard input, plain or compressed.

    bytes -> decompressed -> cut at line ends -> decoded -> (line number, line)

Compression is recognized by the content; a suffix that promises compression is held to it. Decoding works on whole
blocks: a block is cut at its last line end, decoded in one call and split on "\n". Only a block with a fault in it is
decoded line by line, which finds the exact line and column. "\n" and "\r\n" end a line and nothing else does: a lone
"\r", U+0085 or U+2028 is content.

Cost: O(bytes); memory is one block or the longest line, whichever is larger.
Reference: The Unicode Standard, 3.10 (encoding schemes and byte-order marks).
"""

from __future__ import annotations

import codecs
import io
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import IO, NamedTuple, TypeAlias, cast

from textmill.corpus.compression import BLOCK, COMPRESSIONS, decompress, pieces, recognize, stream_of
from textmill.corpus.remote import is_remote, open_remote
from textmill.errors import DataError, warn_caller

__all__ = [
    "BadRecords",
    "EmptyDocuments",
    "OnBadLine",
    "Part",
    "SkippedRecords",
    "Source",
    "check_encoding",
    "decode_lines",
    "decoded_beginning",
    "is_foreign",
    "open_bytes",
    "open_lines",
    "read_text",
    "source_name",
]

Source: TypeAlias = str | os.PathLike[str] | IO[bytes]
OnBadLine: TypeAlias = Callable[[DataError, str], str | None]

_HEAD = 10  # bytes that tell all formats apart
_MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-32-le": codecs.BOM_UTF32_LE,  # before UTF-16, whose mark it begins with
    "utf-32-be": codecs.BOM_UTF32_BE,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}
_KANA = re.compile("[\u3041-\u30fe]")
_EASTERN = {  # encodings of East Asia and the characters that common text in them has
    "euc_jp": re.compile("[\u3001-\u30fe\u4e00-\u9fff\uff01-\uff5e]"),
    "shift_jis": re.compile("[\u3001-\u30fe\u4e00-\u9fff\uff01-\uff5e]"),
    "gb18030": re.compile("[\u3001-\u301f\u4e00-\u9fff\uff01-\uff5e]"),
    "big5": re.compile("[\u3001-\u301f\u4e00-\u9fff\uff01-\uff5e]"),
    "euc_kr": re.compile("[\u3001-\u301f\uac00-\ud7a3]"),
}
_FOREIGN = {b"PK\x03\x04": "a zip archive", b"%PDF-": "a PDF file", b"PAR1": "a Parquet file", b"\x89PNG": "an image"}


class SkippedRecords(UserWarning):
    """Bad records were left out: `count` of them in `source`, the `first` of them for this reason.

    >>> print(SkippedRecords(2, "news.jsonl", DataError("not JSON", source="news.jsonl", line=7)))
    news.jsonl: 2 bad records skipped, the first: news.jsonl:7: not JSON
    """

    def __init__(self, count: int, source: str, first: DataError) -> None:
        super().__init__(count, source, first)  # the arguments themselves, so that it can be pickled
        self.count = count
        self.source = source
        self.first = first

    def __str__(self) -> str:
        records = "record" if self.count == 1 else "records"
        return f"{self.source}: {self.count} bad {records} skipped, the first: {self.first}"


class EmptyDocuments(UserWarning):
    """Documents without a word were read: `count` of them in `source`, the first at `first`.

    >>> print(EmptyDocuments(2, "pages", "pages/a.html", "left out: nav 1"))
    pages: 2 documents have no words, the first: pages/a.html (left out: nav 1)
    """

    def __init__(self, count: int, source: str, first: str, reason: str) -> None:
        super().__init__(count, source, first, reason)  # the arguments themselves, so that it can be pickled
        self.count = count
        self.source = source
        self.first = first
        self.reason = reason

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        if self.count == 1:
            return f"{self.first}: the document has no words{reason}"
        return f"{self.source}: {self.count:,} documents have no words, the first: {self.first}{reason}"


class BadRecords:
    """What a reader does with bad records: raise (`errors="strict"`), or count and report (`errors="skip"`).

    The reader calls it with the fault and goes on to the next record; leaving the `with` block issues one
    `SkippedRecords` warning if there were any. `count` and `first` can be asked at any time. Documents without a word
    are no bad records: they are kept, counted by `empty`, and reported by one `EmptyDocuments` warning.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"), BadRecords("skip", "a.txt") as bad:
    ...     bad(DataError("too short", source="a.txt", line=3))
    >>> bad.count, bad.first.line
    (1, 3)
    """

    def __init__(self, errors: str, source: str) -> None:
        if errors not in ("strict", "skip"):
            raise DataError(f"errors must be 'strict' or 'skip', got {errors!r}")
        self.errors = errors
        self.source = source
        self.count = 0
        self.first: DataError | None = None
        self._empty = 0
        self._first_empty = ("", "")

    def __call__(self, error: DataError, line: str = "") -> None:
        """Raise or count one fault; `line` makes the object usable as `OnBadLine`."""
        if self.errors == "strict":
            raise error
        self.count += 1
        self.first = self.first or error

    def empty(self, place: str, reason: str = "") -> None:
        """Count one document without a word; `reason` says why, if that can be told."""
        if not self._empty:
            self._first_empty = (place, reason)
        self._empty += 1

    def __enter__(self) -> BadRecords:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        stopped_early = kind is GeneratorExit
        if self.first is not None and (kind is None or stopped_early):
            warn_caller(SkippedRecords(self.count, self.source, self.first))
        if self._empty and kind is None:
            warn_caller(EmptyDocuments(self._empty, self.source, *self._first_empty))


def source_name(source: Source) -> str:
    """Name a source in messages.

    >>> source_name("a.txt"), source_name("-"), source_name(io.BytesIO())
    ('a.txt', 'stdin', 'stream')
    """
    if isinstance(source, str | os.PathLike):
        return "stdin" if source == "-" else os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "stream"


def check_encoding(encoding: str) -> str:
    """Give the usual name of an encoding; one that is unknown or not for lines is a `DataError`.

    >>> check_encoding("UTF8"), check_encoding("latin-1")
    ('utf-8', 'iso8859-1')
    """
    try:
        "\n".encode(encoding)  # refuses codecs that are not for text
    except (LookupError, UnicodeError):
        raise DataError(f"unknown encoding {encoding!r}; try 'utf-8', 'latin-1', 'cp1252' or 'utf-16'") from None
    name = codecs.lookup(encoding).name.removesuffix("-sig")
    if name == "iso2022_kr":  # it is declared once, at the start: no other line can be read without the first
        raise DataError("lines in iso2022_kr depend on each other; convert the file to UTF-8 first (iconv)")
    return name


@contextmanager
def open_bytes(source: Source, *, name: str | None = None) -> Iterator[IO[bytes]]:
    """Open a path, "-" (standard input) or a binary stream for reading, decompressed if its content is compressed.

    A path may be the address of a remote file, s3://... or any other that fsspec knows. A fault in the compressed data
    is a `DataError`. A stream that was handed in stays open.

    >>> import gzip
    >>> with open_bytes(io.BytesIO(gzip.compress(b"some text"))) as stream:
    ...     stream.read()
    b'some text'
    """
    name = name or source_name(source)
    with ExitStack() as stack:
        if not isinstance(source, str | os.PathLike):
            raw = source
        elif source == "-":
            raw = sys.stdin.buffer
        elif is_remote(source):
            raw = stack.enter_context(open_remote(source))
        else:
            raw = stack.enter_context(open(source, "rb"))
        if isinstance(raw, io.TextIOBase):
            raise DataError("this stream gives text, not bytes; open it in binary mode ('rb')", source=name)
        head, stream = _peek(raw)
        compression = recognize(head)
        promised = COMPRESSIONS.get(os.path.splitext(name)[1].lower())
        if compression is not None:
            stream = decompress(stream, compression, name)
        elif promised is not None and isinstance(source, str | os.PathLike):
            content = f"begins with {head!r}" if head else "is empty"
            raise DataError(
                f"the name promises {promised.name} data but the file {content}; rename it or fetch it again",
                source=name,
            )
        yield stream


def read_text(source: Source, *, encoding: str = "utf-8") -> str:
    r"""Return the whole text of a source, line ends as they are, without a byte-order mark.

    >>> read_text(io.BytesIO(b"to be\r\nor not"))
    'to be\r\nor not'
    """
    with open_bytes(source) as stream:
        data = b"".join(pieces(stream))
    for _ in open_lines(io.BytesIO(data), encoding=encoding, name=source_name(source)):
        pass  # a fault is an error with its place
    resolved, mark = _resolve(encoding, data)
    return data[len(mark) :].decode(resolved)


def open_lines(
    source: Source,
    *,
    encoding: str = "utf-8",
    errors: str | OnBadLine = "strict",
    name: str | None = None,
    keep_ends: bool = False,
) -> Iterator[tuple[int, str]]:
    r"""Yield (1-based line number, line without its line end) of a path, "-" (standard input) or a binary stream.

    A byte-order mark is dropped. Bytes that are not text in this encoding, and NUL, make a bad line: a `DataError` with
    its place (errors="strict"), or left out, counted and reported by one `SkippedRecords` (errors="skip"). A callable
    is called with the fault and the line (U+FFFD where it could not be decoded), and gives the line to use instead, or
    None to leave it out; so a reader with its own `BadRecords` passes that. Damaged compressed data is always an error.
    `name` stands for the source in messages. With keep_ends lines keep their line ends, and join to the text.

    >>> list(open_lines(io.BytesIO(b"one\r\n\ntwo")))
    [(1, 'one'), (2, ''), (3, 'two')]
    """
    name = name or source_name(source)
    with ExitStack() as stack:
        bad = stack.enter_context(BadRecords(errors, name)) if isinstance(errors, str) else errors
        stream = stack.enter_context(open_bytes(source, name=name))
        yield from decode_lines(pieces(stream), encoding=encoding, bad=bad, name=name, keep_ends=keep_ends)


def decode_lines(
    blocks: Iterable[bytes], *, encoding: str, bad: OnBadLine, name: str, line: int = 1, keep_ends: bool = False
) -> Iterator[tuple[int, str]]:
    r"""Yield the numbered lines of consecutive blocks of bytes, cut anywhere, the first of which begins line `line`.

    `bad` and `keep_ends` are as in `open_lines`. Line 1 may begin with a byte-order mark.

    >>> list(decode_lines([b"on", b"e\ntw", b"o"], encoding="utf-8", bad=BadRecords("strict", "x"), name="x", line=5))
    [(5, 'one'), (6, 'two')]
    """
    blocks = iter(blocks)
    first = _fetch(blocks, name, line)
    while line == 1 and _may_be_mark(first) and (more := _fetch(blocks, name, line)):
        first += more
    encoding, mark = _resolve(encoding, first if line == 1 else b"")
    newline = "\n".encode(encoding)
    blocks = _whole_lines(itertools.chain([first[len(mark) :]], blocks), newline)
    while block := _fetch(blocks, name, line):
        text = _decode(block, encoding)
        if text is not None:
            if "\r" in text and not keep_ends:  # searching one character is much faster than two
                text = text.replace("\r\n", "\n")
            lines = text.split("\n")
            last = lines.pop()  # what follows the last line end
            if keep_ends:
                lines = [one + "\n" for one in lines]
            if last:
                lines.append(last)
            del block, text  # a line may have 100 MB
            yield from enumerate(lines, line)
            line += len(lines)
            continue
        for raw in _split(block, newline):
            text = _decode(raw, encoding)
            if text is None:
                fault = _fault(raw, encoding, first[:_HEAD], name, line)
                text = bad(fault, _without_line_end(raw.decode(encoding, "replace")))
                if text is not None and keep_ends:
                    text += "\n"
            if text is not None:
                yield line, text if keep_ends else _without_line_end(text)
            line += 1


def decoded_beginning(head: bytes, encoding: str) -> str:
    """Return the first bytes of a source as text, U+FFFD for what is none, without a byte-order mark.

    >>> decoded_beginning(codecs.BOM_UTF8 + b"to be", "utf-8")
    'to be'
    """
    resolved, mark = _resolve(encoding, head)
    return head[len(mark) :].decode(resolved, "replace")


def is_foreign(head: bytes) -> bool:
    """Say whether a file that begins like this is of a known kind that is no text.

    >>> is_foreign(b"%PDF-1.7"), is_foreign(b"To be")
    (True, False)
    """
    return head.startswith(tuple(_FOREIGN))


class Part(NamedTuple):
    r"""What a reader is asked to read: a source, or the bytes from `start` to `stop` of a plain file.

    `line` is the number of the line that begins at `start`. A part of a file is an address: small, and readable by
    whoever sees the file. `delimiter` parts the fields of csv. `by_line` says that every line of plain text is a
    document unless a caller wants it otherwise, as in standard input.

    >>> list(Part(io.BytesIO(b"one\ntwo\n"), "numbers").lines(BadRecords("strict", "numbers")))
    [(1, 'one'), (2, 'two')]
    """

    source: Source
    name: str
    encoding: str = "utf-8"
    delimiter: str = ","
    start: int = 0
    stop: int | None = None
    line: int = 1
    by_line: bool = False

    def lines(self, bad: OnBadLine) -> Iterator[tuple[int, str]]:
        """Yield numbered lines as `open_lines` does."""
        if self.stop is None:
            return open_lines(self.source, encoding=self.encoding, errors=bad, name=self.name)
        blocks = _range(cast(str, self.source), self.start, self.stop)
        return decode_lines(blocks, encoding=self.encoding, bad=bad, name=self.name, line=self.line)


def _peek(stream: IO[bytes]) -> tuple[bytes, IO[bytes]]:
    """The first bytes of a stream, and a stream that still gives them."""
    if stream.seekable():
        start = stream.tell()
        head = stream.read(_HEAD)
        stream.seek(start)
        return head, stream
    rest = pieces(stream)
    head = next(rest, b"")
    magics = [magic for compression in COMPRESSIONS.values() for magic in compression.magic]
    while any(len(head) < len(magic) and magic.startswith(head) for magic in magics) and (more := next(rest, b"")):
        head += more
    return head[:_HEAD], stream_of(itertools.chain([head], rest))


def _fetch(blocks: Iterator[bytes], name: str, line: int) -> bytes:
    """The next block, b"" at the end; damaged compressed data is reported with the line that was reached."""
    try:
        return next(blocks, b"")
    except DataError as error:
        raise DataError(error.message, source=name, line=line) from None


def _range(path: str, start: int, stop: int) -> Iterator[bytes]:
    """The bytes from start to stop of a file, in blocks."""
    with open(path, "rb") as stream:
        stream.seek(start)
        while start < stop and (block := stream.read(min(BLOCK, stop - start))):
            start += len(block)
            yield block


def _may_be_mark(data: bytes) -> bool:
    """Whether more bytes could make these a byte-order mark."""
    return any(len(data) < len(mark) and mark.startswith(data) for mark in _MARKS.values())


def _resolve(encoding: str, data: bytes) -> tuple[str, bytes]:
    """The encoding with its byte order, and the byte-order mark at the start of the data."""
    asked = check_encoding(encoding)
    for name, mark in _MARKS.items():
        if name.startswith(asked) and data.startswith(mark):
            return name, mark
    return (f"{asked}-le" if asked in ("utf-16", "utf-32") else asked), b""


def _whole_lines(blocks: Iterable[bytes], newline: bytes) -> Iterator[bytes]:
    """The same bytes, cut only after line ends; the last part may lack one."""
    unit = len(newline)
    begun: list[bytes] = []  # pieces of a line whose end has not come yet
    odd = b""  # bytes of a code unit whose end has not come yet
    for block in blocks:
        block = odd + block
        size = len(block) // unit * unit
        end = block.rfind(newline, 0, size)
        while end > 0 and end % unit:
            end = block.rfind(newline, 0, end + unit - 1)
        cut = end + unit if end >= 0 else 0
        if cut:
            begun.append(block[:cut])
            yield b"".join(begun)
            begun.clear()
        begun.append(block[cut:size])
        odd = block[size:]
    begun.append(odd)
    yield b"".join(begun)


def _split(block: bytes, newline: bytes) -> Iterator[bytes]:
    """The lines of a block, each with its line end."""
    start = 0
    while start < len(block):
        end = block.find(newline, start)
        while end >= 0 and end % len(newline):
            end = block.find(newline, end + 1)
        stop = end + len(newline) if end >= 0 else len(block)
        yield block[start:stop]
        start = stop


def _decode(data: bytes, encoding: str) -> str | None:
    """The text, or None if these bytes are not text."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _without_line_end(line: str) -> str:
    return line[:-1].removesuffix("\r") if line.endswith("\n") else line


def _fault(data: bytes, encoding: str, head: bytes, name: str, line: int) -> DataError:
    """What is wrong with the bytes of a bad line, and what the user probably has to do. `head` begins the file."""
    try:
        column = data.decode(encoding).index("\0") + 1
        fault, remedy = "NUL character", "is this binary data?"
    except UnicodeDecodeError as error:
        column = len(data[: error.start].decode(encoding, "replace")) + 1
        fault, remedy = f"byte 0x{data[error.start]:02x} is not {encoding.upper()}", "is this binary data?"
        if error.end == len(data) and re.match("unexpected end|truncated|incomplete", error.reason):
            remedy = "the file ends in the middle of a character; was the copy finished?"
        elif encoding == "utf-8" and data[error.start] == 0xED and data[error.start + 1 :][:1] >= b"\xa0":
            remedy = "half a surrogate pair is no character; write the file again as UTF-8"
        elif _has_other_script(data):
            remedy = _eastern_remedy(data)
        elif _looks_like_western(data):
            guess = "cp1252" if any(0x80 <= byte < 0xA0 for byte in data) else "latin-1"
            remedy = f"the line looks like {guess}, pass encoding='{guess}'"
    packed = recognize(head)
    foreign = next((kind for magic, kind in _FOREIGN.items() if head.startswith(magic)), None)
    mark = next((kind for kind, mark in _MARKS.items() if head.startswith(mark)), "utf-8")
    if packed:
        remedy = f"this is {packed.name} data inside compressed data; decompress it once before"
    elif foreign:
        remedy = f"this is {foreign}, not text"
    elif mark not in ("utf-8", encoding):
        remedy = f"the file begins with a UTF-{mark[4:6]} byte-order mark, pass encoding='{mark[:6]}'"
    elif not encoding.startswith("utf-16") and head[:2].count(b"\0") == 1:
        order = "be" if head[:1] == b"\0" else "le"
        remedy = f"the file looks like UTF-16, pass encoding='utf-16-{order}'"
    return DataError(f"{fault}; {remedy}", source=name, line=line, column=column)


def _has_other_script(data: bytes) -> bool:
    """Whether words with bytes above 127 consist of them, as they do in all scripts but the Latin one."""
    words = [word for word in data.split() if not word.isascii()]
    return 2 * len(re.findall(rb"[\x80-\xff]", b"".join(words))) > sum(map(len, words))


def _eastern_remedy(data: bytes) -> str:
    """Which encoding a line may have whose letters are not Latin: of East Asia, if its characters are, else any."""
    decoded = {name: text for name in _EASTERN if (text := _decode(data, name)) is not None}
    shares = {name: _share_of(_EASTERN[name], text) for name, text in decoded.items()}
    if not (most := max(shares.values(), default=0.0)) > 0.5:
        return "its letters are not Latin; pass encoding=... with that of the file, such as cp1251, koi8-r or big5"
    likely = [name for name, share in shares.items() if share > 0.9 * most]
    kana = [name for name in likely if _EASTERN[name].match("\u3042") and _share_of(_KANA, decoded[name]) > 0.2]
    first, *others = kana[:1] or likely
    also = f", or if that reads badly {' or '.join(others)}" if others else ""
    return f"the line looks like {first}, pass encoding='{first}'{also}"


def _share_of(script: re.Pattern[str], text: str) -> float:
    """The share of the characters outside of ASCII that belong to a script."""
    foreign = [c for c in text if c > "\x7f"]
    return sum(map(bool, map(script.match, foreign))) / max(len(foreign), 1)


def _looks_like_western(data: bytes) -> bool:
    """Whether these bytes are printable in cp1252, which holds all that is printable in latin-1."""
    try:
        return data.decode("cp1252").replace("\t", " ").strip("\r\n").isprintable()
    except UnicodeDecodeError:
        return False

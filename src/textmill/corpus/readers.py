r"""Records and documents from files, folders and standard input.

    read_records      a table or a file of lines -> Record: fields by name, and the place source:line
    read_documents    many sources -> Document: an id, a text, the fields, the place

The formats are those of `READERS`, which maps a suffix to a function; a new format is one function and one entry. A
compression suffix behind it, or compressed content, does not matter.

    txt              plain text: a file is a document, or every line is (unit="line", standard input), empty ones too
    jsonl, ndjson, json    every line is a JSON object; blank lines are ignored
    csv, tsv         rows under a header; blank lines are ignored
    parquet          rows of columns
    review           star reviews, fields in lines of <name> and </name>
    html, htm        a page is a document, without its markup; formulas in MathML become $...$
    main-text        the same without menus, sidebars and footers
    conllu           every sentence of CoNLL-U, with its comments for fields
    xml, mathml      the same of XML; a MediaWiki dump gives its pages
    wikipedia        the pages of a MediaWiki dump, as plain text
    conll            nothing: columns of tokens and tags are no text, and an error says so

Where the name does not tell the format (standard input, files without suffix) the beginning does, see `sniffing`.

A record that cannot be used is raised as a `DataError` (errors="strict"), or left out, counted and reported by one
`SkippedRecords` warning (errors="skip"); so is a file of binary data, and one among several that cannot be opened. A
document without a word is kept and reported by an `EmptyDocuments` warning, but for lines of plain text.

Cost: one pass; memory is the longest record. References: RFC 8259 (JSON); `tables` for the others.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, NoReturn, TypeAlias, cast

import numpy as np

from textmill.corpus.columns import read_conllu_records
from textmill.corpus.compression import COMPRESSIONS, recognize
from textmill.corpus.jsonl import read_jsonl
from textmill.corpus.markup import read_html, read_main_text, read_xml
from textmill.corpus.parquet import read_parquet
from textmill.corpus.remote import is_remote, remote_files, remote_path
from textmill.corpus.reviews import read_star_reviews
from textmill.corpus.sniffing import first_lines, is_conll, is_conllu, peek, sniff_format
from textmill.corpus.streams import (
    BadRecords,
    EmptyDocuments,
    Part,
    SkippedRecords,
    Source,
    check_encoding,
    open_bytes,
    open_lines,
    source_name,
)
from textmill.corpus.tables import read_csv, read_tsv
from textmill.corpus.wikipedia import read_wikipedia
from textmill.corpus.writers import writer
from textmill.errors import DataError
from textmill.model import check_range

__all__ = [
    "READERS",
    "BadRecords",
    "Document",
    "DocumentStream",
    "Documents",
    "EmptyDocuments",
    "Opened",
    "Reader",
    "Record",
    "SkippedRecords",
    "files_of",
    "open_bytes",
    "open_lines",
    "open_source",
    "read_documents",
    "read_records",
    "suffix_of",
    "writer",
]

_Path: TypeAlias = str | os.PathLike[str]
_Fields: TypeAlias = dict[str, Any]
Reader: TypeAlias = Callable[[Part, BadRecords], Iterator[tuple[int, _Fields]]]


@dataclass(frozen=True, slots=True)
class Record:
    """Named values and where they stood: `source`, and the `line` on which the record begins.

    >>> Record({"text": "a storm"}, "news.csv", 7).place
    'news.csv:7'
    """

    fields: _Fields
    source: str
    line: int

    @property
    def place(self) -> str:
        """`source:line`, as editors understand it."""
        return f"{self.source}:{self.line}"


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its id and place; `fields` are all fields of its record, `line` is None for a whole file.

    `plain` says that it is a line or a file of plain text, without fields of its own.

    >>> Document("n7", "a storm", {"id": "n7", "text": "a storm"}, "news.csv", 7).place
    'news.csv:7'
    """

    id: str
    text: str
    fields: _Fields
    source: str
    line: int | None
    plain: bool = False

    @property
    def place(self) -> str:
        """`source:line`, or the source of a whole file."""
        return self.source if self.line is None else f"{self.source}:{self.line}"


def read_records(
    source: Source,
    *,
    format: str | Reader | None = None,  # noqa: A002
    delimiter: str = ",",
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Iterator[Record]:
    r"""Yield the records of a path, "-" (standard input) or a binary stream.

    A path may be a remote address, s3://... or any other that fsspec knows. `format` is a key of `READERS`, or a
    function such as stand there; None takes it from the suffix (news.csv.gz is csv), or else from the beginning.
    `delimiter` parts the fields of csv. A line of plain text is a record with the one field "text".

    >>> import io
    >>> for record in read_records(io.BytesIO(b'id,text\n1,"a, b"\n'), format="csv"):
    ...     print(record.place, record.fields)
    stream:2 {'id': '1', 'text': 'a, b'}
    """
    name = source_name(source)
    settings = _Settings(format, "text", None, "line", errors)
    with BadRecords(errors, name) as bad, settings.opened(Part(source, name, encoding, delimiter)) as (reader, part):
        for line, fields in settings.records(reader, part, bad):
            yield Record(fields, name, line)


def read_documents(
    sources: _Path | Iterable[_Path],
    *,
    text_field: str | None = None,
    id_field: str | None = None,
    format: str | Reader | None = None,  # noqa: A002
    unit: str | None = None,
    delimiter: str = ",",
    encoding: str = "utf-8",
    errors: str = "strict",
    spool: bool = False,
) -> Documents:
    r"""Give the documents of files, folders and "-" (standard input), in this order.

    A folder gives all its files and those of its folders, sorted by name, hidden ones left out; a remote one is an
    address that ends with /. A record's text is in `text_field` (default "text"), its id, without surrounding blanks,
    in `id_field`; by default that is a field "id" if there is one, else the place. Plain text alone has no fields to be
    named. `unit` says what is a document of plain text: a "file" (default), or a "line" (default for standard input).
    `format`, `delimiter`, `encoding` and `errors` are those of `read_records` and hold for every file. The result can
    be read again and again, except for standard input and pipes, which give a `DocumentStream`, unless `spool` copies
    them to a temporary file.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "news.jsonl")
    ...     _ = path.write_text('{"id": "n1", "text": "a storm"}\n{"id": "n2", "text": "it rains"}\n')
    ...     documents = read_documents(path)
    ...     print([document.id for document in documents], list(documents.texts()))
    ['n1', 'n2'] ['a storm', 'it rains']
    """
    names = [os.fspath(source) for source in ([sources] if isinstance(sources, str | os.PathLike) else sources)]
    if not names:
        raise DataError("no sources to read; name files, folders, or - for standard input")
    if unit not in (None, "file", "line"):
        raise ValueError(f"unit must be 'file' or 'line', not {unit!r}")
    check_encoding(encoding)
    settings = _Settings(format, text_field or "text", id_field, unit, errors, named=text_field is not None)
    parts = tuple(Part(path, name, encoding, delimiter) for source in names for path, name in files_of(source))
    parts = tuple(part._replace(by_line=True) if _is_stream(part.source) else part for part in parts)
    spooled = []
    if spool:
        spooled = [_spool(part) for part in parts if _is_stream(part.source)]
        files = iter(spooled)
        parts = tuple(part._replace(source=next(files).name) if _is_stream(part.source) else part for part in parts)
    once = [part for part in parts if _is_stream(part.source)]
    if errors == "strict":
        for part in parts:
            if part not in once and settings.reader(part) is _read_binary:  # now, not in the middle of a long run
                raise _binary_fault(part.name)
    if not once and settings.names_fields and all(settings.reader(part) in _PLAIN for part in parts):
        raise settings.no_fields(parts[0])
    documents = DocumentStream(parts, settings) if once else Documents(parts, settings)
    documents._spooled = spooled
    return documents


@dataclass(frozen=True)
class Opened:
    """An open source whose format is known: a key of `READERS`, None for binary data. See `open_source`.

    `looks` is the format by the beginning alone, which may be another one than the name tells.
    """

    format: str | None
    looks: str | None
    name: str
    stream: IO[bytes]
    text_field: str | None = None
    encoding: str = "utf-8"

    def documents(self) -> DocumentStream:
        """Its records, or its lines; once."""
        part = Part(self.stream, self.name, self.encoding, by_line=True)
        reader = _read_binary if self.format is None else READERS[self.format]
        settings = _Settings(reader, self.text_field or "text", None, "line", "strict", self.text_field is not None)
        return DocumentStream((part,), settings)


@contextmanager
def open_source(source: Source, *, text_field: str | None = None, encoding: str = "utf-8") -> Iterator[Opened]:
    r"""Open a path, "-" or a binary stream to read it as what it is: a stream that gives everything, and its format.

    The suffix of a name tells the format. What is called plain text or has no suffix is suffix by its beginning.

    >>> import io
    >>> with open_source(io.BytesIO(b'{"text": "a storm"}\n')) as opened:
    ...     print(opened.format, [document.text for document in opened.documents()])
    jsonl ['a storm']
    """
    check_encoding(encoding)
    name = source_name(source)
    with peek(source, name=name) as (head, stream):
        looks = sniff_format(head, encoding=encoding, text_field=text_field or "text")
        suffix = suffix_of(name)
        by_name = suffix in READERS and READERS[suffix] not in _PLAIN
        yield Opened(suffix if by_name else looks, looks, name, stream, text_field, encoding)


_SAY_WHAT_IS_EMPTY = (read_html, read_main_text, read_xml)  # themselves, and why
_has_word = re.compile(r"\w").search
_LOOKS = "this looks like {}, not plain text; pass format='{}', or 'txt' for it as it is"
_LOOKED_AT = 64  # lines of plain text
_JSON = re.compile(r'\{\s*"(?:[^"\\]|\\.)*"\s*:.*\}\s*$')
_SHOWN = 3  # sources in the text of documents


class Documents:
    """Documents that can be read again and again, made by `read_documents`.

    Iteration gives `Document`s. The object holds only the addresses of the documents: it is small, and pickled it can
    be read wherever the files are seen.
    """

    def __init__(self, parts: tuple[Part, ...], settings: _Settings) -> None:
        self._parts = parts
        self._settings = settings
        self._bad = self._no_bad_records()
        self._spooled: list[Any] = []  # temporary files, which go when this object goes

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_spooled": []}

    def __repr__(self) -> str:
        read_with, usual = self._settings, {"format": None, "id_field": None, "unit": None, "errors": "strict"}
        chosen = {name: getattr(read_with, name) for name in usual if getattr(read_with, name) != usual[name]}
        chosen |= {"text_field": read_with.text_field} if read_with.named else {}
        settings = ", ".join(f"{name}={value!r}" for name, value in chosen.items())
        names = self.sources
        shown = ", ".join(map(repr, names[:_SHOWN])) + (f", ... {len(names)} sources in all" if names[_SHOWN:] else "")
        return f"Documents({shown}{', ' + settings if settings else ''})"

    @property
    def plain(self) -> bool:
        """Whether plain text is among the sources, as far as can be said without reading a stream."""
        return any(_is_stream(part.source) or self._settings.reader(part) in _PLAIN for part in self._parts)

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the files, in the order of reading."""
        return tuple(part.name for part in self._parts)

    @property
    def skipped(self) -> int:
        """How many bad records the latest pass has left out so far (errors="skip")."""
        return self._bad.count

    def __iter__(self) -> Iterator[Document]:
        id_field = self._settings.id_field or "id"
        for name, line, fields, text, plain in self._rows():
            identifier = fields.get(id_field)
            if not _is_id(identifier):
                identifier = f"{name}:{line}" if line else name
            yield Document(str(identifier).strip(), text, fields, name, line or None, plain)

    def texts(self) -> Iterable[str]:
        """Give the texts alone, faster; they too can be read again and again."""
        return _Texts(self)

    def chunks(self, chunk_size: int) -> Iterator[Documents]:
        """Cut into consecutive pieces of at most `chunk_size` lines or files, each for a worker to read by itself.

        Plain files of lines (jsonl, and txt with unit="line") are cut between lines; whole files of text are counted
        together; any other file is one piece. One after the other the pieces give exactly these documents.
        """
        check_range("chunk_size", chunk_size, at_least=1, whole=True)
        for reader, parts in itertools.groupby(self._parts, self._settings.reader):
            if reader is _read_whole_text:
                while files := tuple(itertools.islice(parts, chunk_size)):
                    yield Documents(files, self._settings)
                continue
            for part in parts:
                for piece in _cut(part, chunk_size) if reader in (_read_lines, read_jsonl) else [part]:
                    yield Documents((piece,), self._settings)

    def _no_bad_records(self) -> BadRecords:
        first, more = self._parts[0].name, len(self._parts) - 1
        return BadRecords(self._settings.errors, f"{first} and {more} more" if more else first)

    def _rows(self) -> Iterator[tuple[str, int, _Fields, str, bool]]:
        """Source, line (0 for a whole file), fields and text of every usable record, and whether it is plain text."""
        self._bad = self._no_bad_records()
        with self._bad as bad:
            for part in self._parts:
                try:
                    yield from self._rows_of(part, bad)
                except OSError as error:
                    if self._settings.errors == "strict" or len(self._parts) == 1:
                        raise
                    bad(DataError(error.strerror or str(error), source=part.name))

    def _rows_of(self, part: Part, bad: BadRecords) -> Iterator[tuple[str, int, _Fields, str, bool]]:
        with self._settings.opened(part) as (reader, opened):
            plain = reader in _PLAIN
            if plain and self._settings.names_fields and len(self._parts) == 1:
                raise self._settings.no_fields(part)
            text_field = "text" if plain else self._settings.text_field
            id_field = None if plain else self._settings.id_field
            for line, fields in self._settings.records(reader, opened, bad):
                text = fields.get(text_field)
                if type(text) is not str:
                    bad(_field_fault(text_field, "text", fields, part, line))
                elif id_field is not None and not _is_id(fields.get(id_field)):
                    bad(_field_fault(id_field, "id", fields, part, line))
                else:
                    if not plain and reader not in _SAY_WHAT_IS_EMPTY and not _has_word(text):
                        bad.empty(f"{part.name}:{line}")
                    yield part.name, line, fields, text, plain


class DocumentStream(Documents):
    """Documents that can be read once, from standard input or a pipe: `iter(stream) is stream`."""

    def __init__(self, parts: tuple[Part, ...], settings: _Settings) -> None:
        super().__init__(parts, settings)
        self._documents = super().__iter__()

    def __iter__(self) -> Iterator[Document]:
        return self

    def __next__(self) -> Document:
        return next(self._documents)

    def texts(self) -> Iterator[str]:
        """Give the texts alone, once."""
        return (document.text for document in self)

    def chunks(self, chunk_size: int) -> NoReturn:
        """Refuse: nobody else can read this stream."""
        raise DataError("a stream cannot be read in pieces; save it as a file first", source=self.sources[0])


class _Texts:
    """The texts of documents, as an iterable."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def __iter__(self) -> Iterator[str]:
        return (text for _, _, _, text, _ in self._documents._rows())


@dataclass(frozen=True, slots=True)
class _Settings:
    """How `read_documents` was asked to make documents of records."""

    format: str | Reader | None
    text_field: str
    id_field: str | None
    unit: str | None
    errors: str
    named: bool = False  # the caller has named the text field

    @property
    def names_fields(self) -> bool:
        return self.named or self.id_field is not None

    def reader(self, part: Part) -> Reader:
        """The function that reads this part, which is a file."""
        reader = _named_reader(part.source, self.format)
        if reader is None:
            try:
                with peek(part.source, name=part.name) as (head, _):
                    reader = self._sniffed(head, part)
            except DataError:  # damaged compressed data: whoever reads it will say so
                reader = _read_lines
        return self._by_unit(reader, part)

    @contextmanager
    def opened(self, part: Part) -> Iterator[tuple[Reader, Part]]:
        """The function that reads this part, and the part, whose beginning may have been looked at."""
        if _named_reader(part.source, self.format) is not None or not _is_stream(part.source):
            yield self.reader(part), part
            return
        with peek(part.source, name=part.name) as (head, stream):
            yield self._by_unit(self._sniffed(head, part), part), part._replace(source=stream)

    def records(self, reader: Reader, part: Part, bad: BadRecords) -> Iterator[tuple[int, _Fields]]:
        """What a reader gives; plain text by its name alone is a bad record if it looks like another format.

        What was recognized by its beginning, as streams are, need not be looked at again.
        """
        records = reader(part, bad)
        if reader not in _PLAIN or self.format is not None or part.start or _is_stream(part.source):
            return records
        return _look_at_first(records, part.name, bad)

    def no_fields(self, part: Part) -> DataError:
        """What to say when fields of plain text are named."""
        option = "text_field" if self.named else "id_field"
        return DataError(
            f"{option} names a field, but this is plain text, which has none; leave it out, or pass format='csv' or "
            "another with fields",
            source=part.name,
        )

    def _sniffed(self, head: bytes, part: Part) -> Reader:
        kind = sniff_format(head, encoding=part.encoding, text_field=self.text_field, delimiter=part.delimiter)
        return _read_binary if kind is None else READERS[kind]

    def _by_unit(self, reader: Reader, part: Part) -> Reader:
        unit = self.unit or ("line" if part.by_line else "file")
        return _read_whole_text if reader is _read_lines and unit == "file" else reader


def files_of(source: str) -> Iterator[tuple[str, str]]:
    """Path and name of every file that a source stands for. The path is absolute: another process may need it."""
    if source == "-":
        yield "-", source_name("-")
    elif is_remote(source):
        for name in remote_files(source):
            yield name, name
    elif os.path.isdir(source):
        empty = True
        for name in _walk(source, frozenset([os.path.realpath(source)])):
            empty = False
            yield os.path.abspath(name), name
        if empty:
            raise DataError("the folder holds no files (hidden ones do not count)", source=source)
    else:
        os.stat(source)  # a missing file is noticed now
        yield os.path.abspath(source), source


def _walk(folder: str, above: frozenset[str]) -> Iterator[str]:
    """The files below a folder, sorted by name, links followed unless they lead back up."""
    with os.scandir(folder) as entries:
        visible = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    for entry in visible:
        if not entry.is_dir():
            yield entry.path
        elif (real := os.path.realpath(entry.path)) not in above:
            yield from _walk(entry.path, above | {real})


def _is_stream(source: Source) -> bool:
    """Whether this can be read only once: standard input, a pipe, an open stream."""
    if not isinstance(source, str | os.PathLike) or source == "-":
        return True
    return os.path.exists(source) and not os.path.isfile(source)


def _named_reader(source: Source, format: str | Reader | None) -> Reader | None:  # noqa: A002
    """The reader of a format, or of the suffix of a name; None if it does not tell."""
    if callable(format):
        return format
    if format is not None:
        if format not in READERS:
            raise DataError(f"format must be one of {', '.join(READERS)}, not {format!r}")
        return READERS[format]
    return READERS.get(suffix_of(source_name(source)))


def suffix_of(name: str) -> str:
    """Return the suffix that tells the format of a file of this name, without its dot and in small letters.

    >>> suffix_of("news.CSV.gz"), suffix_of("wiki.xml-p1p200"), suffix_of("notes")
    ('csv', 'xml', '')
    """
    stem, suffix = os.path.splitext(remote_path(name).lower())
    if suffix in COMPRESSIONS:
        suffix = os.path.splitext(stem)[1]
    return re.sub(r"^(\.xml)-p[0-9]+p[0-9]+.*", r"\1", suffix)[1:]  # a part of a dump: its first and its last page


def _spool(part: Part) -> IO[bytes]:
    """A temporary file with all that a stream gives."""
    spooled = tempfile.NamedTemporaryFile(prefix="textmill-")  # noqa: SIM115 - lives as long as the documents
    with open_bytes(part.source, name=part.name) as stream:
        shutil.copyfileobj(stream, spooled, 1 << 20)
    spooled.flush()
    return cast(IO[bytes], spooled)


def _cut(part: Part, size: int) -> Iterator[Part]:
    """Pieces of `size` lines of a file, if they can be found without decoding; else the whole."""
    path = cast(str, part.source)
    if is_remote(path):
        yield part
        return
    with open(path, "rb") as stream:
        packed = recognize(stream.read(16)) or os.path.splitext(path)[1].lower() in COMPRESSIONS
        if packed or "\n".encode(part.encoding) != b"\n":
            yield part
            return
        start, line = part.start, part.line
        stop = os.fstat(stream.fileno()).st_size if part.stop is None else part.stop
        stream.seek(start)
        for end in itertools.chain(_line_ends(stream, start, stop, size), [stop]):
            if start < end:
                yield part._replace(start=start, stop=end, line=line)
                start, line = end, line + size


def _line_ends(stream: IO[bytes], position: int, stop: int, size: int) -> Iterator[int]:
    """Where every `size`-th line ends, found without looking at single lines."""
    left = size
    while position < stop and (block := stream.read(min(1 << 20, stop - position))):
        count = block.count(b"\n")
        if count >= left:
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
            yield from (position + ends[left - 1 :: size] + 1).tolist()
            left += (count - left) // size * size + size
        left -= count
        position += len(block)


def _is_id(value: object) -> bool:
    return (type(value) is str and value.strip() != "") or type(value) is int


def _field_fault(field: str, role: str, fields: _Fields, part: Part, line: int) -> DataError:
    """Why a field cannot be the text or the id of a document."""
    if field in fields:
        value = fields[field]
        kind = "nothing" if value in (None, "") else f"a value of type {type(value).__name__}"
        fault = f"the field {field!r} holds {kind}, not {'a text' if role == 'text' else 'an id'}"
        return DataError(f"{fault}; name another with {role}_field", source=part.name, line=line, column=field)
    names = ", ".join(map(repr, itertools.islice(fields, 10))) + (", ..." if len(fields) > 10 else "")
    fault = f"no field {field!r}; the fields are {names or 'none'}; name the right one with {role}_field"
    if len(fields) == 1 and (wrong := re.search(r"[;\t|]", next(iter(fields)))):
        fault = f"the header is one field, {names}; pass delimiter={wrong.group()!r}"
    return DataError(fault, source=part.name, line=line)


def _binary_fault(name: str) -> DataError:
    return DataError("binary data, not text; leave the file out, pass errors='skip', or name its format", source=name)


def _read_binary(part: Part, bad: BadRecords) -> Iterator[tuple[int, _Fields]]:
    """Nothing: a file of binary data is one bad record."""
    bad(_binary_fault(part.name))
    yield from ()


def _look_at_first(records: Iterator[tuple[int, _Fields]], name: str, bad: BadRecords) -> Iterator[tuple[int, _Fields]]:
    """The same records of plain text, or one bad record if they look like another format."""
    first = list(itertools.islice(records, _LOOKED_AT))
    lines = first_lines("\n".join(fields["text"] for _, fields in first))
    if is_conllu(lines):
        bad(DataError(_LOOKS.format("CoNLL-U", "conllu"), source=name))
    elif is_conll(lines):
        bad(DataError(COLUMNS_FAULT, source=name))
    elif (filled := [line for line in lines if line.strip()]) and all(map(_JSON.match, filled[:_LOOKED_AT])):
        bad(DataError(_LOOKS.format("JSON lines", "jsonl"), source=name))
    else:
        yield from first
        del first
        yield from records


def _read_lines(part: Part, bad: BadRecords) -> Iterator[tuple[int, _Fields]]:
    """Every line a record."""
    for number, line in part.lines(bad):
        yield number, {"text": line}


def _read_whole_text(part: Part, bad: BadRecords) -> Iterator[tuple[int, _Fields]]:
    """The whole file a record, unless it is empty; a bad line makes all of it bad."""
    fault = None
    try:
        lines = [line for _, line in part.lines(BadRecords("strict", part.name))]
    except DataError as error:
        fault = error
    if fault is not None:
        bad(fault)
    elif lines:
        text = "\n".join(lines)
        if not _has_word(text):
            bad.empty(part.name)
        yield 0, {"text": text}
    else:
        bad.empty(part.name, "the file is empty")


def _refuse_columns(part: Part, bad: BadRecords) -> Iterator[tuple[int, _Fields]]:
    """Nothing: a file of columns is one bad record."""
    bad(DataError(COLUMNS_FAULT, source=part.name))
    yield from ()


COLUMNS_FAULT = (
    "columns of tokens and tags, not text; commands for tagged sentences read them; pass format='txt' if it is text "
    "all the same"
)


READERS: dict[str, Reader] = {
    "conll": _refuse_columns,
    "conllu": read_conllu_records,
    "csv": read_csv,
    "htm": read_html,
    "html": read_html,
    "json": read_jsonl,
    "jsonl": read_jsonl,
    "main-text": read_main_text,
    "mathml": read_xml,
    "ndjson": read_jsonl,
    "parquet": read_parquet,
    "review": read_star_reviews,
    "tsv": read_tsv,
    "txt": _read_lines,
    "wikipedia": read_wikipedia,
    "xhtml": read_xml,
    "xml": read_xml,
}
_PLAIN = (_read_lines, _read_whole_text)

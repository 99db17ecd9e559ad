"""Column files: one token a line, its columns side by side, a blank line after each sentence.

The format of the CoNLL shared tasks, of Wapiti and CRF++ (columns parted by blanks or tabs), and CoNLL-U (ten columns
parted by tabs, comments, multiword tokens `3-4`, empty nodes `8.1`). Rules of reading:

- The first token fixes the number of columns; any other number is an error that names the line.
- Blanks are the space and the tab. A no-break space belongs to its word.
- With `comment="#"` a line that starts so *before the first token of a sentence* is a comment and is kept with that
  sentence; inside a sentence it is a token, since `#` is a word of many corpora.
- With `document="-DOCSTART-"` (or `"###MEDLINE:"`) a line that starts so, wherever it stands, is no token but begins
  a document; it is kept with the sentence that follows, and written with a blank line after it.
- Lines end in `\\n` or `\\r\\n`, a byte-order mark is removed; files are written with `\\n` and without a mark.

Cost: a line is split once; a line seen before, as most are, costs one dictionary look-up.
References: Tjong Kim Sang & Buchholz (2000); Universal Dependencies, CoNLL-U format (version 2).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, overload

from textmill.corpus.streams import BadRecords, OnBadLine, Part, Source, open_lines, source_name
from textmill.corpus.writers import writer
from textmill.errors import DataError

__all__ = [
    "CONLLU_COLUMNS",
    "Sentence",
    "conllu_words",
    "read_columns",
    "read_conllu",
    "read_conllu_records",
    "sentences_of_columns",
    "write_columns",
]

CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")

_Row: TypeAlias = tuple[str, ...]

_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")
_UNWRITABLE = re.compile(r"[\0\r\n]|^[ \t]*$")  # what would be read otherwise than it was written, or not at all
_KNOWN_LINES = 1 << 16  # lines remembered, about 20 MB


@dataclass(frozen=True, slots=True)
class Sentence:
    """The tokens of one sentence as columns, with what stood around them in the file.

    A sentence is a sequence of its tokens, each a row of values: `sentence[0]` is the first token. `column(-1)` and
    `column("pos")` give columns.
    `comments` are whole lines, `document` is the line that began a document just before this sentence. `source` and
    `line` (of the first token; the others follow line by line) say where it came from, `lines` are the lines of the
    tokens as they stood there, if they were kept; these are not compared.

    >>> sentence = Sentence((("the", "dog"), ("DT", "NN")), names=("word", "pos"))
    >>> len(sentence), sentence[1], sentence.column("word"), sentence.column(-1)
    (2, ('dog', 'NN'), ('the', 'dog'), ('DT', 'NN'))
    """

    columns: tuple[_Row, ...]
    names: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    document: str | None = None
    source: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)
    lines: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.names and len(self.names) != len(self.columns):
            raise DataError(f"{len(self.columns)} columns but {len(self.names)} names: {', '.join(self.names)}")
        if len(set(map(len, self.columns))) > 1:
            lengths = ", ".join(str(len(column)) for column in self.columns)
            raise DataError(f"the columns of a sentence must be equally long, these have {lengths} tokens")

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def __iter__(self) -> Iterator[_Row]:
        return zip(*self.columns, strict=True)

    @overload
    def __getitem__(self, token: int) -> _Row: ...
    @overload
    def __getitem__(self, token: slice) -> list[_Row]: ...
    def __getitem__(self, token: int | slice) -> _Row | list[_Row]:
        if isinstance(token, str):
            raise DataError(f"a sentence has tokens by number; for a column use sentence.column({token!r})")
        if isinstance(token, slice):
            return list(zip(*(column[token] for column in self.columns), strict=True))
        at = range(len(self))[token]  # raises IndexError, which ends the old form of iteration
        return tuple(column[at] for column in self.columns)

    def column(self, column: int | str) -> _Row:
        """The values of one column, by name or by number; the last is -1.

        >>> Sentence((("the", "dog"), ("DT", "NN"))).column(-1)
        ('DT', 'NN')
        """
        try:
            return self.columns[self.names.index(column) if isinstance(column, str) else column]
        except (IndexError, ValueError):
            columns = f"the columns are {', '.join(self.names)}" if self.names else f"there are {len(self.columns)}"
            raise DataError(f"no column {column!r}; {columns}", source=self.source, line=self.line) from None

    def with_column(self, values: Iterable[str], name: str | None = None) -> Sentence:
        """The sentence with one more column, or with new values in the column of that name.

        >>> Sentence((("the", "dog"),)).with_column(["DT", "NN"]).columns
        (('the', 'dog'), ('DT', 'NN'))
        """
        column = tuple(values)
        if name in self.names:
            at = self.names.index(name)
            return replace(self, columns=(*self.columns[:at], column, *self.columns[at + 1 :]), lines=())
        if (name is None) == bool(self.names):
            raise DataError("name the new column exactly when the others have names", source=self.source)
        names = () if name is None else (*self.names, name)
        return replace(self, columns=(*self.columns, column), names=names, lines=())

    @property
    def metadata(self) -> dict[str, str]:
        """The comments of the form `# key = value`, as in CoNLL-U; `# newpar` gives an empty value.

        >>> Sentence((), comments=("# sent_id = w-1", "# newpar")).metadata
        {'sent_id': 'w-1', 'newpar': ''}
        """
        pairs = (comment.lstrip("#").partition("=") for comment in self.comments)
        return {key.strip(): value.strip() for key, _, value in pairs}


def read_columns(
    source: Source,
    *,
    separator: str | None = None,
    columns: Sequence[str] = (),
    comment: str | None = None,
    document: str | None = None,
    errors: str = "strict",
    encoding: str = "utf-8",
    keep_lines: bool = False,
) -> Iterable[Sentence]:
    """Stream the sentences of a column file (a path, `-` for standard input, or an open binary file).

    The sentences of a file can be read again and again, those of standard input and open files once.
    `separator=None` means any run of blanks and tabs; `columns` gives the columns names; `keep_lines` keeps the lines
    of the tokens as they are, in `Sentence.lines`. With `errors="skip"` a sentence with a fault is left out, and a
    SkippedRecords warning at the end says how many and which fault came first.

    >>> import io
    >>> text = b"-DOCSTART- -X-\\n\\nthe DT\\ndog NN\\n\\nbarks VBZ\\n"
    >>> for sentence in read_columns(io.BytesIO(text), columns=["word", "pos"], document="-DOCSTART-"):
    ...     print(sentence.document, sentence.column("word"), sentence.column("pos"))
    -DOCSTART- -X- ('the', 'dog') ('DT', 'NN')
    None ('barks',) ('VBZ',)
    """
    if isinstance(columns, str) or len(set(columns)) < len(columns):
        raise DataError(f"columns must be a list of different names, not {columns!r}")
    return _Sentences(
        source, separator, tuple(columns), comment, document, errors, encoding, keep_lines=keep_lines
    ).streamed()


def read_conllu(
    source: Source, *, words_only: bool = False, errors: str = "strict", encoding: str = "utf-8"
) -> Iterable[Sentence]:
    """Stream the sentences of a CoNLL-U file, with the columns of CONLLU_COLUMNS; as `read_columns` else.

    Checked: ten columns, none empty; words numbered from 1 without gaps; multiword tokens (`3-4`) just before their
    first word, without overlap; empty nodes (`8.1`) after their word, in order; heads `_`, 0 or another word's number.
    `words_only=True` leaves the rows of multiword tokens and empty nodes out, so that row i is word i + 1;
    otherwise `write_columns(..., separator="\\t")` gives the bytes of the file back.

    >>> import io
    >>> rows = ["# sent_id = 1", "1-2 vámonos _ _ _ _ _ _ _ _", "1 vamos ir VERB _ _ 0 root _ _",
    ...         "2 nos nosotros PRON _ _ 1 obj _ _"]
    >>> file = io.BytesIO("\\n".join([rows[0], *(row.replace(" ", "\\t") for row in rows[1:])]).encode())
    >>> for sentence in read_conllu(file, words_only=True):
    ...     print(sentence.metadata, sentence.column("form"), sentence.column("head"))
    {'sent_id': '1'} ('vamos', 'nos') ('0', '1')
    """
    finish = partial(_finish_conllu, words_only=words_only)
    return _Sentences(source, "\t", CONLLU_COLUMNS, "#", None, errors, encoding, finish).streamed()


def sentences_of_columns(
    stream: Source, *, document: str | None, encoding: str, keep_lines: bool, name: str
) -> Iterator[Sentence]:
    """Yield the sentences of an open file of columns, which is called `name` in messages.

    >>> import io
    >>> [sentence.source for sentence in sentences_of_columns(
    ...     io.BytesIO(b"the DT"), document=None, encoding="utf-8", keep_lines=False, name="a.txt")]
    ['a.txt']
    """
    return iter(_Sentences(stream, None, (), None, document, "strict", encoding, keep_lines=keep_lines, name=name))


def conllu_words(stream: Source, *, encoding: str, name: str) -> Iterator[Sentence]:
    """Yield the sentences of an open file of CoNLL-U, words only; see `sentences_of_columns`.

    >>> import io
    >>> list(conllu_words(io.BytesIO(b""), encoding="utf-8", name="a.conllu"))
    []
    """
    finish = partial(_finish_conllu, words_only=True)
    return iter(_Sentences(stream, "\t", CONLLU_COLUMNS, "#", None, "strict", encoding, finish, name=name))


def read_conllu_records(part: Part, bad: BadRecords) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield line and fields of every sentence of a CoNLL-U file: its comments `# key = value`, and its text.

    The field "id" is `sent_id`, if there is one. Where no comment has the text it is put together from the forms, with
    blanks but where `SpaceAfter=No` says that there is none.

    >>> import io
    >>> rows = ["# sent_id=w-1", "1 Look look _ _ _ 0 root _ SpaceAfter=No", "2 ! ! _ _ _ 1 punct _ _"]
    >>> data = "\n".join([rows[0], *(row.replace(" ", "\t") for row in rows[1:])]).encode()
    >>> part = Part(io.BytesIO(data), "w.conllu")
    >>> list(read_conllu_records(part, BadRecords("strict", "w.conllu")))
    [(2, {'sent_id': 'w-1', 'id': 'w-1', 'text': 'Look!'})]
    """
    finish = partial(_finish_conllu, words_only=False)
    sentences = _Sentences(
        part.source, "\t", CONLLU_COLUMNS, "#", None, bad.errors, part.encoding, finish, name=part.name
    )
    for sentence in sentences.read(bad):
        fields: dict[str, Any] = dict(sentence.metadata)
        if "sent_id" in fields:
            fields.setdefault("id", fields["sent_id"])
        fields.setdefault("text", _surface(sentence))
        yield sentence.line or 0, fields


def write_columns(
    sentences: Iterable[Sentence], target: str | os.PathLike[str], *, separator: str = " ", encoding: str = "utf-8"
) -> None:
    """Write sentences to a path or `-` (standard output); a file appears only when it is complete.

    >>> write_columns([Sentence((("the", "dog"), ("DT", "NN")), comments=("# 1",))], "-", separator="|")
    # 1
    the|DT
    dog|NN
    <BLANKLINE>
    """
    parting = "[ \t]" if separator == " " else re.escape(separator)
    in_columns = re.compile(rf"{_UNWRITABLE.pattern}|{parting}")
    with writer(target, encoding=encoding) as out:
        for sentence in sentences:
            head = [] if sentence.document is None else [sentence.document, ""]
            values = set(chain.from_iterable(sentence.columns))
            bad = [value for value in values if in_columns.search(value)]
            bad += [line for line in (*head[:1], *sentence.comments) if _UNWRITABLE.search(line)]
            if bad or not values:
                what = repr(min(bad)) if bad else "a sentence without tokens"
                fault = f"{what} cannot stand in a file of columns parted by {separator!r}; replace or remove it"
                raise DataError(fault, source=sentence.source, line=sentence.line)
            out.write("\n".join([*head, *sentence.comments, *map(separator.join, sentence), "", ""]))


class _Splitter:
    """Turns the line of a token into columns, and remembers the lines that were good."""

    def __init__(self, source: str, separator: str | None, names: tuple[str, ...]) -> None:
        self.source = source
        self.separator = separator
        self.names = names
        self.width = len(names)  # 0: the first token decides
        self.rows_by_line: dict[str, _Row] = {}

    def split(self, line: str, number: int) -> _Row:
        fields = line.replace("\t", " ").split(" ") if self.separator is None else line.split(self.separator)
        if self.separator is None and "" in fields:
            fields = [field for field in fields if field]
        self.width = self.width or len(fields)
        if len(fields) != self.width or "" in fields or "\r" in line:
            raise DataError(self._fault(line, fields), source=self.source, line=number)
        if len(self.rows_by_line) >= _KNOWN_LINES:
            self.rows_by_line.clear()
        self.rows_by_line[line] = row = tuple(map(sys.intern, fields))
        return row

    def _fault(self, line: str, fields: list[str]) -> str:
        if "\r" in line:
            return "a carriage return inside the line; end the lines of the file in \\n"
        if len(fields) == self.width:
            return f"column {fields.index('') + 1} is empty; write _ for a missing value"
        fault = f"found {len(fields)} columns, expected {self.width} "
        fault += f"({', '.join(self.names)})" if self.names else "as in the lines before; give one token per line"
        if self.separator is None and len(line.split("\t")) == self.width:
            fault += "; they look parted by tabs, pass separator='\\t'"
        elif self.separator is not None and len(line.split()) == self.width:
            fault += f"; they look parted by blanks, not by {self.separator!r}"
        return fault


class _Block(NamedTuple):
    """The lines of one sentence."""

    document: str | None
    comments: list[str]
    rows: list[_Row]
    line: int  # of the first token, else of what has no sentence


@dataclass(frozen=True, slots=True)
class _Sentences:
    """The sentences of a file, read anew by every iteration."""

    source: Source
    separator: str | None
    names: tuple[str, ...]
    comment: str | None
    document: str | None
    errors: str
    encoding: str
    finish: Callable[[Sentence], Sentence] | None = None
    keep_lines: bool = False
    name: str | None = None  # in messages; None for that of the source

    def streamed(self) -> Iterable[Sentence]:
        """Itself, or an iterator over what can be read only once."""
        if isinstance(self.source, str | os.PathLike) and self.source != "-" and os.path.isfile(self.source):
            return self
        return iter(self)

    def __iter__(self) -> Iterator[Sentence]:
        with BadRecords(self.errors, self._place()) as bad:
            yield from self.read(bad)

    def read(self, bad: BadRecords) -> Iterator[Sentence]:
        """Yield the good sentences; one bad line makes its sentence bad, since a hole would shift the labels."""
        name = self._place()
        faults: list[DataError] = []  # of this sentence

        def keep_place(error: DataError, line: str) -> str:
            if bad.errors == "strict":
                raise error
            faults.append(error)
            return line

        lines = open_lines(self.source, encoding=self.encoding, errors=keep_place, name=name)
        seen: dict[int, str] = {}  # lines by their numbers, since the sentence before
        for document, comments, rows, line in self._blocks(
            _recorded(lines, seen) if self.keep_lines else lines, keep_place
        ):
            try:
                if faults:
                    raise faults[0]
                if not rows:
                    raise DataError("a comment or document without a sentence; remove it", source=name, line=line)
                columns = tuple(zip(*rows, strict=True))
                texts = tuple(seen[line + i] for i in range(len(rows))) if self.keep_lines else ()
                sentence = Sentence(columns, self.names, tuple(comments), document, name, line, texts)
                if self.finish is not None:
                    sentence = self.finish(sentence)
            except DataError as error:
                faults.clear()
                bad(error)
            else:
                yield sentence
            seen.clear()

    def _place(self) -> str:
        return source_name(self.source) if self.name is None else self.name

    def _blocks(self, lines: Iterable[tuple[int, str]], bad_line: OnBadLine) -> Iterator[_Block]:
        """Cut numbered lines into sentences."""
        splitter = _Splitter(self._place(), self.separator, self.names)
        rows_by_line = splitter.rows_by_line
        marker: str | None = None
        comments: list[str] = []
        rows: list[_Row] = []
        first = 0
        for number, line in lines:
            if rows and (row := rows_by_line.get(line)):
                rows.append(row)
            elif self.document is not None and line.startswith(self.document):
                if rows or comments or marker is not None:
                    yield _Block(marker, comments, rows, first)
                    comments, rows = [], []
                marker, first = line, number
            elif not line.strip(" \t"):
                if rows:
                    yield _Block(marker, comments, rows, first)
                    marker, comments, rows = None, [], []
            else:
                first = first if rows else number
                if self.comment is not None and not rows and line.startswith(self.comment):
                    comments.append(line)
                    continue
                try:
                    rows.append(splitter.split(line, number))
                except DataError as error:
                    bad_line(error, line)
                    rows.append(())
        if rows or comments or marker is not None:
            yield _Block(marker, comments, rows, first)


def _recorded(lines: Iterable[tuple[int, str]], seen: dict[int, str]) -> Iterator[tuple[int, str]]:
    """The same lines, which are put into `seen`."""
    for number, line in lines:
        seen[number] = line
        yield number, line


def _surface(sentence: Sentence) -> str:
    """The text of a sentence of CoNLL-U, by its multiword tokens and the words outside of them."""
    text, covered = "", 0
    for identifier, form, misc in zip(sentence.columns[0], sentence.columns[1], sentence.columns[9], strict=True):
        if match := _RANGE.fullmatch(identifier):
            covered = int(match[2])
        elif not identifier.isdecimal() or int(identifier) <= covered:
            continue
        text += form + ("" if "SpaceAfter=No" in misc.split("|") else " ")
    return text.rstrip(" ")


def _finish_conllu(sentence: Sentence, *, words_only: bool) -> Sentence:
    """Check ids and heads; drop what is not a word if asked to."""
    ids = sentence.columns[0]
    numbers = [str(number) for number in range(sum(map(str.isdecimal, ids)) + 1)]
    heads = {"_", *numbers}
    word = 0  # the last word
    node = 0  # the last empty node after it
    covered = 0  # the last word of the last multiword token
    for at, (identifier, head) in enumerate(zip(ids, sentence.columns[6], strict=True)):
        fault = None
        if word + 1 < len(numbers) and identifier == numbers[word + 1]:
            word, node = word + 1, 0
            if head not in heads or head == identifier:
                fault = f"head {head!r} of word {word} must be _, 0 or another of the {len(numbers) - 1} words"
        elif match := _RANGE.fullmatch(identifier):
            start, end = int(match[1]), int(match[2])
            if not covered < start == word + 1 < end < len(numbers):
                fault = f"multiword token {identifier} must stand just before its words, and overlap no other"
            covered = end
        elif (match := _EMPTY_NODE.fullmatch(identifier)) and (int(match[1]), int(match[2])) == (word, node + 1):
            node += 1
        else:
            fault = f"id {identifier!r} is out of order after word {word}; words are numbered 1, 2, 3 and so on"
        if fault is None and head != "_" and not identifier.isdecimal():
            fault = f"head {head!r} of {identifier} must be _, since it is not a word"
        if fault is not None:
            line = None if sentence.line is None else sentence.line + at
            raise DataError(fault, source=sentence.source, line=line)
    if not word:
        raise DataError("a sentence without words; remove it", source=sentence.source, line=sentence.line)
    if words_only and word < len(ids):
        rows = [row for row in sentence if row[0].isdecimal()]
        return replace(sentence, columns=tuple(zip(*rows, strict=True)))
    return sentence

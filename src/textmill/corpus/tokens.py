r"""Tagged sentences from files of columns and of CoNLL-U, told apart by name or beginning; other forms are refused.

    columns     one token a line: the sentences of `read_columns`
    CoNLL-U     the forms of the words, and behind them the column that `label_column` names

JSON, tables with a header, pages and Parquet hold no tokens with tags, and an error says what to write instead; so does
running text, whose lines have different numbers of words. Cost: one pass.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack

from textmill.corpus.columns import CONLLU_COLUMNS, Sentence, conllu_words, sentences_of_columns
from textmill.corpus.readers import Opened, open_source
from textmill.corpus.streams import Source
from textmill.errors import DataError
from textmill.model import check_choice

__all__ = ["check_tagged", "read_tagged"]

_NO_COLUMNS = {
    "csv": "a table with a header",
    "html": "a page of HTML",
    "json": "JSON",
    "jsonl": "JSON",
    "ndjson": "JSON",
    "parquet": "a Parquet file",
    "review": "star reviews",
    "tsv": "a table with a header",
    "wikipedia": "XML",
    "xml": "XML",
}
_LOOKED_AT = 100  # sentences


def read_tagged(
    source: Source | Opened,
    *,
    label_column: str | None = None,
    document: str | None = "-DOCSTART-",
    encoding: str = "utf-8",
    keep_lines: bool = False,
    labels: bool = False,
) -> Iterator[Sentence]:
    r"""Stream the sentences of a file of columns or of CoNLL-U (a path, `-`, a binary stream, or what was opened).

    Of CoNLL-U come the forms of the words and the column `label_column`, such as "upos"; in a file of columns the last
    one is the label, and it takes no name. With `labels` CoNLL-U without `label_column` is an error. `document` is
    how lines between documents begin, "" or None for none; `encoding` and `keep_lines` are those of `read_columns`.

    A file .tsv may be a table or columns: it is a table if its first line names a field "text".

    >>> import io
    >>> file = b"1\tTo\tto\tPART\t_\t_\t2\tmark\t_\t_\n2\tbe\tbe\tVERB\t_\t_\t0\troot\t_\t_\n"
    >>> [sentence.columns for sentence in read_tagged(io.BytesIO(file), label_column="upos")]
    [(('To', 'be'), ('PART', 'VERB'))]
    """
    if label_column is not None:
        check_choice("label_column", label_column, [name for name in CONLLU_COLUMNS if name not in ("id", "form")])
    with ExitStack() as stack:
        opened = source if isinstance(source, Opened) else stack.enter_context(open_source(source, encoding=encoding))
        name = opened.name
        form = opened.looks if opened.format == "tsv" else opened.format  # columns between tabs are called so, too
        if form == "conllu":
            yield from _words_of_conllu(opened, label_column, labels)
            return
        if form in _NO_COLUMNS:
            fault = f"{_NO_COLUMNS[form]} is no column file; give one token per line, the word first and its tag "
            raise DataError(fault + "last, as in 'Ana B-PER', and a blank line after each sentence", source=name)
        if label_column is not None:
            fault = "label_column names a column of CoNLL-U, and this is none; make the label the last column"
            raise DataError(fault, source=name)
        yield from sentences_of_columns(
            opened.stream, document=document or None, encoding=encoding, keep_lines=keep_lines, name=name
        )


def check_tagged(sentences: Iterable[Sentence], labels: Collection[str], *, width: int = 0) -> Iterator[Sentence]:
    """The same sentences; an error if they look like running text, as far as the first of them tell.

    `width` is the number of columns that a model has learned from. One column more holds right labels, at least one of
    them in `labels`. Where it is another number, or not known (0), the same is asked of sentences that are all of a
    single token with several columns, which is what text looks like that was not cut into words.

    >>> list(check_tagged([Sentence((("one",), ("line",)))], {"NOUN"}, width=1))
    Traceback (most recent call last):
    textmill.errors.DataError: 'one line' is taken for a token with 2 columns, but 'line' is no label of the model; \
give one token per line, or label it as running text
    """
    sentences = iter(sentences)
    first = list(itertools.islice(sentences, _LOOKED_AT))
    wide = next((one for one in first if len(one.columns) > 1), None)
    if wide is not None:
        columns = len(wide.columns)
        doubtful = columns == width + 1 > 1 or (columns != width and all(len(one) == 1 for one in first))
        if doubtful and not any(tag in labels for one in first for tag in one.columns[-1]):
            text = " ".join(column[0] for column in wide.columns)
            last = _shown(wide.columns[-1][0])
            fault = f"{_shown(text)} is taken for a token with {columns} columns, but {last} is no label of the model; "
            fault += "give one token per line, or label it as running text"
            raise DataError(fault, source=wide.source, line=wide.line)
    yield from first
    del first
    yield from sentences


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _words_of_conllu(opened: Opened, label_column: str | None, labels: bool) -> Iterator[Sentence]:
    if labels and label_column is None:
        names = ", ".join(CONLLU_COLUMNS[2:])
        fault = f"CoNLL-U has several columns of labels; pass label_column='upos', or another of {names}"
        raise DataError(fault, source=opened.name)
    for sentence in conllu_words(opened.stream, name=opened.name, encoding=opened.encoding):
        words = tuple(word.replace(" ", "\u00a0") for word in sentence.column("form"))  # a blank would part columns
        columns = (words,) if label_column is None else (words, sentence.column(label_column))
        lines = tuple("\t".join(row) for row in zip(*columns, strict=True))
        yield Sentence(columns, source=opened.name, line=sentence.line, lines=lines)

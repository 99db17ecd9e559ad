"""Lines and records for commands that answer line by line: plain text stays text, records stay records.

A command of words or sentences takes plain text, one per line, and every form of records that `read_documents` knows.
Of a record the text is processed; its other fields stay as they are, and the answer is added as a field of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from textmill.cli._json import json_line

__all__ = ["check_words", "holds_records", "read_lines", "record_fields", "record_line"]

_RECORDS = ("csv", "html", "json", "jsonl", "ndjson", "parquet", "review", "wikipedia", "xml")
_LONGEST_WORD = 200  # characters of a word with blanks in it


def holds_records(opened: Any) -> bool:
    """Whether an open source holds texts with fields; columns between tabs are no table."""
    return (opened.looks if opened.format == "tsv" else opened.format) in (*_RECORDS, "tsv")


def read_lines(source: str, text_field: str | None) -> Iterator[Any]:
    """The lines of plain text, or the records of any other form, as documents."""
    from textmill.corpus import open_source

    with open_source(source, text_field=text_field) as opened:
        yield from opened.documents()


def record_line(document: Any, **answers: Any) -> str:
    """A record as a line of JSON, with the answers behind its own fields or in their place."""
    return json_line({**record_fields(document), **answers}) + "\n"


def record_fields(document: Any) -> dict[str, Any]:
    """The fields of a record, or the text of a line, as JSON has them."""
    fields: dict[str, Any] = _plain(document.fields)
    return fields


def _plain(value: Any) -> Any:
    """The value of a field as JSON has it: dates and bytes of Parquet become text."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def check_words(documents: Iterable[Any], letters: Collection[str]) -> Iterator[Any]:
    """The same documents; an error for running text in the place of a word.

    `letters` are those that the model has learned from: without a blank among them no word has one.
    """
    from textmill.errors import DataError

    blanks = " " in letters
    for document in documents:
        text = document.text.split("\t")[0].strip()
        if " " in text and (not blanks or len(text) > _LONGEST_WORD):
            shown = repr(text if len(text) <= 40 else text[:37] + "...")
            why = f"it has {len(text)} characters" if blanks else "the model has learned from words without blanks"
            fault = f"{shown} is no word: {why}; give one word per line"
            raise DataError(fault, source=document.source, line=document.line)
        yield document

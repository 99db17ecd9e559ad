"""How commands read documents and cut them into terms: the same options everywhere.

A command that takes `reading: Reading` gets the options of reading in its place, one that takes `terms: Terms` those of
terms; `with_options` puts them there, and those of any other dataclass.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from textmill.cli._options import Errors, IdField, TextField

__all__ = ["Reading", "StopWords", "Terms", "at_least_one", "describe_stop_words", "read_stop_words", "with_options"]

T = TypeVar("T")

_Format = Annotated[
    str | None,
    typer.Option(
        help="Format of the input: conllu, csv, html, jsonl, main-text (of web pages), parquet, review, tsv, txt, "
        "wikipedia, xml; default: tell."
    ),
]
_Encoding = Annotated[str, typer.Option(help="Encoding of the input.")]
_Delimiter = Annotated[
    str, typer.Option(metavar="MARK", help="What stands between the fields of CSV, such as ';' or tab.")
]
_Lines = Annotated[bool, typer.Option("--lines", help="Take every line of plain text for a document, as on stdin.")]
StopWords = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help="Words to leave out: auto (recognize function words), english, none, or a file with one word per line.",
    ),
]
_Stem = Annotated[str | None, typer.Option(help="Language of the Snowball stemmer, such as english.")]
_Digits = Annotated[
    str | None, typer.Option(help="What to do with tokens without letters: keep, drop or mask; default: keep.")
]
_Ngrams = Annotated[
    str | None, typer.Option(metavar="N-M", help="Count runs of N to M words as terms, such as 1-3; default: 1-1.")
]
_Phrases = Annotated[bool, typer.Option("--phrases", help="Join words that belong together, such as new_york.")]


@dataclass(frozen=True)
class Reading:
    """How input becomes documents."""

    format: _Format = None
    encoding: _Encoding = "utf-8"
    text_field: TextField = None
    id_field: IdField = None
    delimiter: _Delimiter = ","
    lines: _Lines = False
    errors: Errors = "strict"

    def documents(self, sources: Any, *, again: bool = False, by_line: bool = False) -> Any:
        """The documents of files, folders and standard input; `again` if they are read more than once."""
        from textmill.corpus import read_documents
        from textmill.errors import DataError

        documents = read_documents(
            sources,
            format=self.format,
            encoding=self.encoding,
            text_field=self.text_field,
            id_field=self.id_field,
            delimiter={"tab": "\t", "\\t": "\t"}.get(self.delimiter, self.delimiter),
            unit="line" if self.lines or by_line else None,
            errors=self.errors,
            spool=again,
        )
        if self.lines and not documents.plain:
            raise DataError("--lines is for plain text; these records are documents already", source=sources[0])
        return documents

    def refuse(self, reason: str) -> None:
        """An error if any option but --errors was given, because of something else that was."""
        from textmill.errors import DataError

        for field in fields(self):
            if field.name != "errors" and getattr(self, field.name) != field.default:
                raise DataError(f"--{field.name.replace('_', '-')} is for documents, but {reason}; leave it out")


@dataclass(frozen=True)
class Terms:
    """How documents become terms."""

    stop_words: StopWords = None
    stem: _Stem = None
    digits: _Digits = None
    ngrams: _Ngrams = None
    phrases: _Phrases = False

    def vocabulary(
        self, documents: Any, *, stop_words: str = "none", jobs: int | None = None, tokenizer: Any = None, **rules: Any
    ) -> Any:
        """The vocabulary, not yet fitted; phrases are learned here. `stop_words` is the default of the command."""
        from textmill.corpus import Phrases, Tokenizer, Vocabulary

        if tokenizer is None:
            tokenizer = Tokenizer(stem=self.stem, digits=self.digits or "keep")
        words = read_stop_words(self.stop_words or stop_words)
        if self.phrases:  # neither begin nor end with a word that is left out
            automatic = Vocabulary(tokenizer=tokenizer, stop_words="auto", n_jobs=jobs) if words == "auto" else None
            connectors = words if automatic is None else automatic.fit(documents).stop_words_
            tokenizer = Phrases(tokenizer=tokenizer, passes=2, connectors=connectors, n_jobs=jobs).fit(documents)
        return Vocabulary(tokenizer=tokenizer, ngrams=self._range(), stop_words=words, n_jobs=jobs, **rules)

    def refuse(self, reason: str) -> None:
        """An error if any option was given, because of something else that was."""
        from textmill.errors import DataError

        for field in fields(self):
            if getattr(self, field.name) != field.default:
                raise DataError(f"--{field.name.replace('_', '-')} chooses terms, but {reason}; leave it out")

    def _range(self) -> tuple[int, int]:
        from textmill.errors import DataError

        shortest, dash, longest = (self.ngrams or "1").partition("-")
        if not shortest.isdecimal() or (dash and not longest.isdecimal()):
            raise DataError(f"--ngrams must be a range such as 1-3, or a number, got {self.ngrams!r}")
        return int(shortest), int(longest or shortest)


def at_least_one(items: Iterable[T], what: str, sources: Iterable[str]) -> Iterator[T]:
    """The same items; an error that there are none if there are none."""
    from textmill.errors import DataError

    some = False
    for item in items:
        some = True
        yield item
    if not some:
        raise DataError(f"there are no {what}; pass at least one", source=", ".join(sources))


def read_stop_words(words: str) -> Any:
    """What `Vocabulary` wants for a value of --stop-words."""
    from textmill.corpus import FUNCTION_WORDS, open_lines
    from textmill.errors import DataError

    if words in ("auto", "none", "english"):
        return {"auto": "auto", "none": (), "english": FUNCTION_WORDS}[words]
    if not Path(words).is_file():
        raise DataError(f"--stop-words must be auto, english, none or a file with one word per line, got {words!r}")
    return [line.strip() for _, line in open_lines(words) if line.strip()]


def describe_stop_words(vocabulary: Any) -> str | None:
    """One line on the words that were recognized, the most frequent first; None if there are none."""
    from textmill.readable import counted

    words = vocabulary.stop_words_
    number = min(len(words), vocabulary.removed_.get("stop_words", {"types": 0})["types"])  # a list has more than occur
    if number == 0:
        return None
    shown = ", ".join(words[: min(number, 12)])
    return f"left out {counted(number, 'function words')}, such as {shown}; --stop-words none keeps them"


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with single options in the place of every parameter that is a dataclass of options."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        parameter.name: parameter.annotation
        for parameter in signature.parameters.values()
        if is_dataclass(parameter.annotation)
    }
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name not in groups:
            parameters.append(parameter.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD))
            continue
        options = inspect.signature(groups[parameter.name], eval_str=True).parameters.values()
        parameters += [option.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for option in options]

    def run(**arguments: Any) -> Any:
        values = {
            name: group(**{field.name: arguments.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        return command(**arguments, **values)

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run

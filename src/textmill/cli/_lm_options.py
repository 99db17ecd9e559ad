"""What the commands of `textmill lm` share: models, texts and how they are cut."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "Case",
    "LanguageModel",
    "MinCounts",
    "Order",
    "RareWords",
    "Smoothing",
    "Sources",
    "Split",
    "TokenizerName",
    "numbers_of",
    "save_model",
    "sentences_of",
    "tokenizer_of",
]

LanguageModel = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model made by `textmill lm train`, or an ARPA file.")
]
Sources = Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin.")]
Case = Annotated[str | None, typer.Option(help="Upper and lower case: fold (default) or keep.")]
TokenizerName = Annotated[
    str | None,
    typer.Option("--tokenizer", help="words (default), punctuation (its marks are words too) or whitespace."),
]
Split = Annotated[
    str | None,
    typer.Option(help="sentences, or lines (one sentence per line; default with --tokenizer whitespace)."),
]

Order = Annotated[int, typer.Option(help="Length of the longest n-gram.")]
Smoothing = Annotated[
    str,
    typer.Option(help="modified-kneser-ney, kneser-ney, katz, good-turing, witten-bell, absolute or jelinek-mercer."),
]
RareWords = Annotated[int, typer.Option(help="Treat words that occur less often as unknown.")]
MinCounts = Annotated[
    str, typer.Option(help="Drop n-grams that occur less often: a number for each order, such as 1,1,2.")
]


def tokenizer_of(name: str | None, case: str | None) -> Any:
    """The tokenizer that two options name, None if neither is given."""
    from textmill.corpus import PatternTokenizer, Tokenizer
    from textmill.model import check_choice

    if name is None and case is None:
        return None
    check_choice("tokenizer", name or "words", ["words", "punctuation", "whitespace"])
    patterns = {"punctuation": r"\w+(?:[.'\u2019-]\w+)*|[^\w\s]", "whitespace": r"\S+"}
    if name in patterns:
        return PatternTokenizer(pattern=patterns[name], case=case or "fold")
    return Tokenizer(case=case or "fold")


def sentences_of(
    documents: Iterable[Any], split: str | None, tokenizer: str | None, *, far: bool = False
) -> Iterable[Any]:
    """The sentences of documents; text that is cut at blanks is taken to have one sentence per line.

    `far`: they are read on other machines, which take documents and not texts.
    """
    from textmill.corpus import Sentences, texts_of
    from textmill.model import check_choice

    split = split or ("lines" if tokenizer == "whitespace" else "sentences")
    check_choice("split", split, ["sentences", "lines"])
    texts = documents if far else texts_of(documents)
    return texts if split == "lines" else Sentences(texts)


def save_model(model: Any, output: Path) -> None:
    """Write a model of our own format, or an ARPA file where the name ends in .arpa."""
    from textmill.lm import to_arpa

    if output.suffix == ".arpa":
        to_arpa(model, output)
    else:
        model.save(output)


def numbers_of(text: str) -> list[int]:
    """Whole numbers between commas, of --min-counts."""
    from textmill.errors import DataError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise DataError(f"--min-counts must be whole numbers such as 1,1,2, got {text!r}") from None

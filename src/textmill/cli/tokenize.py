"""Cut text into words, sentences or character n-grams."""

from __future__ import annotations

from typing import Annotated

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Jobs
from textmill.cli._outputs import output_option
from textmill.cli._reading import Reading, with_options

app = typer.Typer(add_completion=False)


@app.command()
@with_options
def tokenize(
    sources: Annotated[
        list[str] | None, typer.Argument(metavar="[INPUT]...", help="Files or folders, - for stdin.")
    ] = None,
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    unit: Annotated[str, typer.Option(help="What to cut into: word, sentence or character.")] = "word",
    case: Annotated[str, typer.Option(help="Case of letters: fold or keep.")] = "fold",
    digits: Annotated[str, typer.Option(help="What to do with tokens without letters: keep, drop or mask.")] = "keep",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Kind of compound to keep whole: numbers, dates, addresses, ...; repeat the option for more."
        ),
    ] = None,
    split: Annotated[
        list[str] | None, typer.Option(help="Kind of compound to split into its parts; repeat the option for more.")
    ] = None,
    stem: Annotated[str | None, typer.Option(help="Language of the Snowball stemmer, such as english.")] = None,
    lengths: Annotated[
        tuple[int, int], typer.Option(help="Length of the shortest and the longest character n-gram.")
    ] = (3, 3),
    *,
    reading: Reading,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON list per line instead of tokens with blanks between them.")
    ] = False,
    jobs: Jobs = None,
) -> None:
    """Print the tokens of each document, one document per line.

    Sentences have a line each; character n-grams are separated by tabs.

    Example: echo "To be, or not to be." | textmill tokenize -
    """
    from textmill.corpus import CharacterNgrams, Tokenizer, split_sentences, writer
    from textmill.model import check_choice

    check_choice("unit", unit, ["word", "sentence", "character"])
    texts = reading.documents(sources or ["-"]).texts()
    with writer(output) as out:
        if unit == "sentence":
            for text in texts:
                sentences = split_sentences(text)
                lines = [json_line(sentences)] if json else [" ".join(s.split()) for s in sentences]
                out.writelines(line + "\n" for line in lines)
            return
        words = Tokenizer(case=case, digits=digits, keep=keep or (), split=split or (), stem=stem)
        cutter = CharacterNgrams(lengths=lengths, case=case) if unit == "character" else words
        separator = "\t" if unit == "character" else " "  # n-grams hold blanks themselves
        for tokens in cutter.tokenize(texts, n_jobs=jobs):
            out.write((json_line(tokens) if json else separator.join(tokens)) + "\n")

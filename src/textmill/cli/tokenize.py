"""Cut text into words, sentences or character n-grams."""

from __future__ import annotations

from typing import Annotated

import typer

from textmill.cli._options import Errors, Jobs, TextField

app = typer.Typer()


@app.command()
def tokenize(
    sources: Annotated[
        list[str] | None, typer.Argument(metavar="[INPUT]...", help="Files or folders, - for stdin.")
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="Default: stdout.")] = "-",
    text_field: TextField = None,
    unit: Annotated[str, typer.Option(help="word, sentence or character.")] = "word",
    case: Annotated[str, typer.Option(help="fold or keep.")] = "fold",
    digits: Annotated[str, typer.Option(help="Tokens without letters: keep, drop or mask.")] = "keep",
    keep: Annotated[list[str] | None, typer.Option(help="Compounds kept whole: numbers, dates, addresses, ...")] = None,
    split: Annotated[list[str] | None, typer.Option(help="Compounds split into their parts.")] = None,
    stem: Annotated[str | None, typer.Option(help="Snowball stemmer, such as english.")] = None,
    lengths: Annotated[tuple[int, int], typer.Option(help="Shortest and longest character n-gram.")] = (3, 3),
    errors: Errors = "strict",
    json: Annotated[bool, typer.Option("--json", help="A JSON list a line instead of tokens with blanks.")] = False,
    jobs: Jobs = None,
) -> None:
    """Print the tokens of each document, one document a line (sentences: one a line; character n-grams: with tabs).

    Example: echo "To be, or not to be." | textmill tokenize -
    """
    from json import dumps

    from textmill.corpus import CharacterNgrams, Tokenizer, read_documents, split_sentences, writer
    from textmill.model import check_choice

    check_choice("unit", unit, ["word", "sentence", "character"])
    texts = read_documents(sources or ["-"], text_field=text_field, errors=errors).texts()
    with writer(output) as out:
        if unit == "sentence":
            for text in texts:
                sentences = split_sentences(text)
                lines = [dumps(sentences, ensure_ascii=False)] if json else [" ".join(s.split()) for s in sentences]
                out.writelines(line + "\n" for line in lines)
            return
        words = Tokenizer(case=case, digits=digits, keep=keep or (), split=split or (), stem=stem)
        cutter = CharacterNgrams(lengths=lengths, case=case) if unit == "character" else words
        separator = "\t" if unit == "character" else " "  # n-grams hold blanks themselves
        for tokens in cutter.tokenize(texts, n_jobs=jobs):
            out.write((dumps(tokens, ensure_ascii=False) if json else separator.join(tokens)) + "\n")

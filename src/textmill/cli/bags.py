"""Turn documents into bags of words: sparse matrices of term counts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.callback()
def bags() -> None:
    """Turn documents into bags of words: sparse matrices of term counts."""


@app.command()
def make(
    sources: Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin.")],
    vocab: Annotated[Path, typer.Option(help="Made by `textmill vocab build`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The matrix to write (.npz).")],
    text_field: Annotated[str | None, typer.Option(help="Field with the text, for JSONL and CSV.")] = None,
    errors: Annotated[str, typer.Option(help="Bad records: strict or skip.")] = "strict",
    encoding: Annotated[str, typer.Option(help="Encoding of the input.")] = "utf-8",
    jobs: Annotated[int | None, typer.Option(help="Threads; default: all cores.")] = None,
) -> None:
    """Count documents by the terms of a vocabulary; the matrix opens with scipy.sparse.load_npz.

    Example: textmill bags make news.jsonl.gz --text-field body --vocab news.mill -o news.npz
    """
    from textmill.corpus import Vocabulary, read_documents, save_npz
    from textmill.model import load

    vocabulary = load(vocab, expect=Vocabulary)
    vocabulary.set_params(n_jobs=jobs)
    bags = vocabulary.bags(read_documents(sources, text_field=text_field, errors=errors, encoding=encoding))
    save_npz(output, bags, columns=len(vocabulary))
    typer.echo(
        f"{bags.documents} documents ({bags.empty} empty), {bags.tokens} tokens in the vocabulary, {bags.unknown} not"
    )

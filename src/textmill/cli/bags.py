"""Turn documents into bags of words: sparse matrices of term counts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textmill.cli._options import Errors, Jobs, Json, TextField
from textmill.cli._outputs import output_argument, output_option

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)


@app.callback()
def bags() -> None:
    """Turn documents into bags of words: sparse matrices of term counts."""


@app.command()
def make(
    sources: Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin.")],
    vocab: Annotated[Path, typer.Option(help="Vocabulary made by `textmill vocab build`.")],
    output: Annotated[Path, output_option("The file to write; its suffix names the format.")],
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option(help="Format of the output: npz, mm, svmlight, ldac, uci, low or mallet; default: by suffix."),
    ] = None,
    text_field: TextField = None,
    errors: Errors = "strict",
    encoding: Annotated[str, typer.Option(help="Encoding of the input.")] = "utf-8",
    jobs: Jobs = None,
) -> None:
    """Count documents by the terms of a vocabulary and write them as .npz, .mm, .svmlight, .ldac, .uci, .low, .mallet.

    Example: textmill bags make news.jsonl.gz --text-field body --vocab news.mill -o news.npz
    """
    from textmill.corpus import Vocabulary, read_documents, write_bags
    from textmill.model import load
    from textmill.readable import counted

    vocabulary = load(vocab, expect=Vocabulary)
    vocabulary.set_params(n_jobs=jobs)
    bags = vocabulary.bags(read_documents(sources, text_field=text_field, errors=errors, encoding=encoding))
    write_bags(output, bags, format=format, columns=len(vocabulary), vocabulary=vocabulary)
    documents, tokens = counted(bags.documents, "documents"), counted(bags.tokens, "tokens")
    typer.echo(f"{documents} ({bags.empty} empty), {tokens} in the vocabulary, {bags.unknown} not")


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="A file of bags.")],
    output: Annotated[Path, output_argument("The file to write; its suffix names the format.")],
    from_format: Annotated[str | None, typer.Option("--from", help="Format of the input; default: by suffix.")] = None,
    to_format: Annotated[str | None, typer.Option("--to", help="Format of the output; default: by suffix.")] = None,
    vocab: Annotated[Path | None, typer.Option(help="Vocabulary, for formats that hold words.")] = None,
    columns: Annotated[int | None, typer.Option(help="Number of columns, for formats that do not state it.")] = None,
    negative: Annotated[bool, typer.Option(help="Allow negative values.")] = False,
) -> None:
    """Convert between formats of bags, chunk by chunk; labels of SVMlight and MALLET are kept.

    Example: textmill bags convert news.mm.gz news.svmlight
    """
    from textmill.corpus import Vocabulary, convert_bags
    from textmill.model import load
    from textmill.readable import counted

    vocabulary = None if vocab is None else load(vocab, expect=Vocabulary)
    bags = convert_bags(
        source,
        output,
        from_format=from_format,
        to_format=to_format,
        vocabulary=vocabulary,
        columns=columns,
        negative=negative,
    )
    typer.echo(f"{counted(bags.documents, 'documents')}, {counted(bags.columns, 'columns')}")


@app.command()
def info(
    source: Annotated[Path, typer.Argument(help="A file of bags.")],
    format: Annotated[str | None, typer.Option(help="Its format; default: by suffix.")] = None,  # noqa: A002
    negative: Annotated[bool, typer.Option(help="Allow negative values.")] = False,
    index: Annotated[
        bool, typer.Option("--index", help="Also write an index that gives access to single documents.")
    ] = False,
    json: Json = False,
) -> None:
    """Read a whole file of bags and describe it.

    Example: textmill bags info news.mm.gz
    """
    from json import dumps

    from textmill.corpus import read_bags

    bags = read_bags(source, format=format, negative=negative)
    nonzeros, empty, total = 0, 0, 0.0
    for chunk in bags:
        nonzeros += chunk.nnz
        empty += int(((chunk.indptr[1:] - chunk.indptr[:-1]) == 0).sum())
        total += float(chunk.sum())
    cells = bags.documents * bags.columns
    facts: dict[str, object] = {
        "format": bags.format,
        "documents": bags.documents,
        "empty": empty,
        "columns": bags.columns,
        "nonzeros": nonzeros,
        "density": nonzeros / cells if cells else 0.0,
        "total": total,
    }
    if index:
        facts["index"] = bags.save_index()
    typer.echo(dumps(facts, indent=2) if json else "\n".join(f"{name}: {value}" for name, value in facts.items()))

"""Turn documents into bags of words: sparse matrices of term counts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textmill.cli._json import json_page
from textmill.cli._options import Jobs, Json, Negative
from textmill.cli._outputs import further_output, output_argument, output_option
from textmill.cli._reading import Reading, Terms, with_options

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)


@app.callback()
def bags() -> None:
    """Turn documents into bags of words: sparse matrices of term counts."""


@app.command()
@with_options
def make(
    sources: Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin.")],
    output: Annotated[Path, output_option("The file to write; its suffix names the format.")],
    vocab: Annotated[
        Path | None, typer.Option(help="Vocabulary made by `textmill vocab build`; default: the terms of the input.")
    ] = None,
    save_vocab: Annotated[
        Path | None, further_output("Without --vocab: the file for the vocabulary of the input.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(help="Format of the output: npz, mm, svmlight, ldac, uci, low or mallet; default: by suffix."),
    ] = None,
    *,
    terms: Terms,
    reading: Reading,
    jobs: Jobs = None,
) -> None:
    """Count documents by the terms of a vocabulary and write them as .npz, .mm, .svmlight, .ldac, .uci, .low, .mallet.

    Example: textmill bags make news.jsonl.gz --text-field body --vocab news.mill -o news.npz
    """
    from textmill.corpus import Vocabulary, write_bags
    from textmill.errors import DataError
    from textmill.model import load
    from textmill.readable import counted

    if (vocab is None) == (save_vocab is None):
        raise DataError("pass either --vocab, the terms to count, or --save-vocab, where to write those of the input")
    documents = reading.documents(sources, again=vocab is None)
    if vocab is not None:
        terms.refuse("--vocab has them already")
        vocabulary = load(vocab, expect=Vocabulary).set_params(n_jobs=jobs)
    else:
        vocabulary = terms.vocabulary(documents, jobs=jobs).fit(documents)
        vocabulary.save(save_vocab)
    bags = vocabulary.bags(documents)
    write_bags(output, bags, format=to, columns=len(vocabulary), vocabulary=vocabulary)
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
    negative: Negative = False,
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
    negative: Negative = False,
    index: Annotated[
        bool, typer.Option("--index", help="Also write an index that gives access to single documents.")
    ] = False,
    json: Json = False,
) -> None:
    """Read a whole file of bags and describe it.

    Example: textmill bags info news.mm.gz
    """
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
    typer.echo(json_page(facts) if json else "\n".join(f"{name}: {value}" for name, value in facts.items()))

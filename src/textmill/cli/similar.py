"""Find similar documents: index them, ask with a text or a document, list near-duplicates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._options import Errors, IdField, Jobs, JsonLines, TextField

app = typer.Typer(no_args_is_help=True, help=__doc__)

_Index = Annotated[Path, typer.Argument(metavar="INDEX", help="Made by `textmill similar index`.")]
_Sources = Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin.")]


@app.command()
def index(
    sources: _Sources,
    output: Annotated[Path, typer.Option("--output", "-o", help="The index file to write.")],
    model: Annotated[
        Path | None, typer.Option(help="A model for texts, such as LSA; default: TF-IDF of the documents themselves.")
    ] = None,
    measure: Annotated[str, typer.Option(help="cosine, euclidean or hellinger.")] = "cosine",
    method: Annotated[str, typer.Option(help="auto, scan, coarse, prefix, va or inverted.")] = "auto",
    bits: Annotated[int, typer.Option(help="Bits of a cell, for --method va.")] = 8,
    text_field: TextField = None,
    id_field: IdField = None,
    errors: Errors = "strict",
    jobs: Jobs = None,
) -> None:
    """Turn documents into vectors and write them, with the model and their ids, to one file.

    Example: textmill similar index news.jsonl --model lsa.mill -o news-index.mill
    """
    from textmill.corpus import read_documents, require_passes
    from textmill.model import load
    from textmill.tasks import SimilarDocuments
    from textmill.vectors import TextVectorizer

    documents = read_documents(sources, text_field=text_field, id_field=id_field, errors=errors)
    require_passes(documents, 2 if model is None else 1, "indexing without --model")
    texts = TextVectorizer().fit(documents) if model is None else load(model)
    similar = SimilarDocuments(model=texts, measure=measure, method=method, bits=bits, n_jobs=jobs).fit(documents)
    similar.save(output)
    typer.echo(f"{len(similar)} documents, vectors of {similar.index_.columns_} numbers")


@app.command()
def query(
    indexes: Annotated[
        list[Path], typer.Argument(metavar="INDEX...", help="Made by `textmill similar index`; several answer as one.")
    ],
    text: Annotated[str | None, typer.Option(help="Ask with this text.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Ask with this document of the index.")] = None,  # noqa: A002
    file: Annotated[str | None, typer.Option(help="Ask with every document of this file, - for stdin.")] = None,
    k: Annotated[int, typer.Option("-k", help="How many documents to find.")] = 10,
    text_field: TextField = None,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler that holds the indexes.")] = None,
    json: JsonLines = False,
) -> None:
    """Print the documents nearest to a text, a document or each document of a file, with their scores.

    Example: textmill similar query news-index.mill --text "storm over the coast" -k 5
    """
    from textmill.corpus import read_documents
    from textmill.errors import DataError
    from textmill.model import load
    from textmill.tasks import SimilarDocuments, query_shards

    if [text, id, file].count(None) != 2:
        raise DataError("ask with exactly one of --text, --id and --file")
    if id is not None:
        if len(indexes) > 1 or cluster is not None:
            raise DataError("--id asks one index in this process; pass one INDEX and no --cluster")
        names, found = [id], load(indexes[0], expect=SimilarDocuments).query_ids([id], k=k)
    else:
        asked = [("query", text)] if text is not None else []
        if file is not None:
            asked = [(one.id, one.text) for one in read_documents(file, text_field=text_field)]
        names, found = (
            [name for name, _ in asked],
            query_shards(indexes, [str(t) for _, t in asked], k=k, cluster=cluster),
        )
    for name, matches in zip(names, found, strict=True):
        _show(name, matches, json, several=file is not None)


@app.command()
def add(
    index: _Index,
    sources: _Sources,
    text_field: TextField = None,
    id_field: IdField = None,
    errors: Errors = "strict",
) -> None:
    """Add documents to an index, in place.

    Example: textmill similar add news-index.mill today.jsonl
    """
    from textmill.corpus import read_documents
    from textmill.model import load
    from textmill.tasks import SimilarDocuments

    similar = load(index, expect=SimilarDocuments)
    added = similar.add(read_documents(sources, text_field=text_field, id_field=id_field, errors=errors))
    similar.save(index)
    typer.echo(f"{added} documents added, {len(similar)} in all")


@app.command()
def remove(
    index: _Index,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of the documents to remove.")],
) -> None:
    """Remove documents from an index, in place.

    Example: textmill similar remove news-index.mill n7 n12
    """
    from textmill.model import load
    from textmill.tasks import SimilarDocuments

    similar = load(index, expect=SimilarDocuments)
    similar.remove(ids)
    similar.save(index)
    typer.echo(f"{len(ids)} documents removed, {len(similar)} in all")


@app.command()
def pairs(
    index: _Index,
    threshold: Annotated[float, typer.Option(help="Least cosine, or largest distance, of a pair.")] = 0.9,
    json: JsonLines = False,
) -> None:
    """Print all pairs of documents that are at least so near, with their scores.

    Example: textmill similar pairs news-index.mill --threshold 0.95
    """
    from json import dumps

    from textmill.model import load
    from textmill.tasks import SimilarDocuments

    for left, right, score in load(index, expect=SimilarDocuments).pairs(threshold=threshold):
        if json:
            typer.echo(dumps({"left": left, "right": right, "score": score}, ensure_ascii=False))
        else:
            typer.echo(f"{score:.4f}\t{left}\t{right}")


def _show(name: str, matches: Any, json: bool, several: bool) -> None:
    """Print what one query found."""
    from json import dumps

    found = [{"id": one, "score": score} for one, score in zip(matches.ids, matches.scores.tolist(), strict=True)]
    if json:
        typer.echo(dumps({"query": name, "found": found, "reason": matches.reason}, ensure_ascii=False))
        return
    if matches.reason is not None:
        typer.echo(f"{name}: nothing found: {matches.reason}", err=True)
    for one in found:
        typer.echo((f"{name}\t" if several else "") + f"{one['score']:.4f}\t{one['id']}")

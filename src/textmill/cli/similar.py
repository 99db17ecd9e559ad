"""Find similar documents: in an index of one file, or in a collection that can be updated while it is queried."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Jobs, JsonLines, answers
from textmill.cli._outputs import check_output, output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._similar_analysis import app as analysis
from textmill.cli._similar_collections import NO_PAIR, Documents, is_collection, open_library, show_matches
from textmill.cli._similar_collections import app as collections
from textmill.cli._similar_reviewers import app as reviewing
from textmill.cli._similar_upkeep import app as upkeep
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
app.add_typer(collections)
app.add_typer(analysis)
app.add_typer(upkeep)
app.add_typer(reviewing)

_Index = Annotated[
    Path, typer.Argument(metavar="INDEX", help="Index made by `textmill similar index`, or a collection.")
]
_Changed = Annotated[
    Path,
    typer.Argument(metavar="INDEX", help="Index made by `textmill similar index`, or a collection; it is changed."),
]
_Sources = Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin.")]


@app.command(rich_help_panel="Index and query")
@with_options
def index(
    sources: _Sources,
    output: Annotated[Path, output_option("The index file to write.")],
    model: Annotated[
        Path | None,
        typer.Option(
            help="Model that turns texts into vectors, such as LSA; default: TF-IDF of the documents themselves."
        ),
    ] = None,
    measure: Annotated[str, typer.Option(help="Similarity or distance: cosine, euclidean or hellinger.")] = "cosine",
    method: Annotated[str, typer.Option(help="Kind of index: auto, scan, coarse, prefix, va or inverted.")] = "auto",
    bits: Annotated[int, typer.Option(help="Bits per cell, for --method va.")] = 8,
    *,
    reading: Reading,
    jobs: Jobs = None,
) -> None:
    """Turn documents into vectors and write them, with the model and their ids, to one file.

    Example: textmill similar index news.jsonl --model lsa.mill -o news-index.mill
    """
    from textmill.model import load
    from textmill.readable import counted
    from textmill.tasks import SimilarDocuments

    documents = reading.documents(sources, again=model is None)
    texts = None if model is None else load(model)
    similar = SimilarDocuments(model=texts, measure=measure, method=method, bits=bits, n_jobs=jobs).fit(documents)
    similar.save(output)
    typer.echo(f"{counted(len(similar), 'documents')}, vectors of {counted(similar.index_.columns_, 'numbers')}")


@app.command(rich_help_panel="Index and query")
@with_options
def query(
    indexes: Annotated[
        list[Path],
        typer.Argument(metavar="INDEX...", help="Index or collection; several indexes are searched as one."),
    ],
    text: Annotated[str | None, typer.Option(help="Search for documents like this text.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Search for documents like this one of the index.")] = None,  # noqa: A002
    file: Annotated[
        str | None, typer.Option(help="Search for documents like each one of this file; - for stdin.")
    ] = None,
    k: Annotated[int, answers("Number of documents to find.")] = 10,
    method: Annotated[
        list[str] | None, typer.Option(help="Collections: method to compare by; repeat it to fuse several.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="FILTER", help="Only documents with FIELD=VALUE; also != >= <= > < ~."),
    ] = None,
    like: Annotated[list[str] | None, typer.Option(help="Id of a document that is wanted.")] = None,
    unlike: Annotated[list[str] | None, typer.Option(help="Id of a document that is not wanted.")] = None,
    documents: Documents = None,
    *,
    reading: Reading,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers can read the indexes.")
    ] = None,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Search by a graph, which may miss some; for files of many questions.")
    ] = False,
    json: JsonLines = False,
) -> None:
    """Print the documents nearest to a text, a document or each document of a file: score, id and title or beginning.

    Example: textmill similar query news-index.mill --text "storm over the coast" -k 5
    """
    from textmill.errors import DataError
    from textmill.model import load
    from textmill.tasks import SimilarDocuments, query_shards

    if approximate and (len(indexes) > 1 or indexes[0].is_dir() or where or like or unlike or id or cluster):
        raise DataError("--approximate asks one index of `textmill similar index` for --text or --file; leave out more")
    if is_collection(indexes) or where or like or unlike or documents:
        if len(indexes) > 1 or cluster is not None:
            raise DataError("--where, --like and --unlike ask one INDEX in this process; pass one and no --cluster")
        if file is None:
            reading.refuse("none are read; they belong to --file")
        elif text is not None or id is not None:
            raise DataError("pass only one of --text, --id and --file")
        questions: list[Any] = (
            [("query", text, id)] if file is None else [(one.id, one.text, None) for one in reading.documents([file])]
        )
        show_matches(
            open_library(indexes[0], documents),
            questions,
            k=k,
            method=method,
            where=where,
            like=like,
            unlike=unlike,
            json=json,
        )
        return
    if method:
        raise DataError("--method is for collections, made by `textmill similar collect`; leave it out")
    if [text, id, file].count(None) != 2:
        raise DataError("pass exactly one of --text, --id and --file")
    if file is None:
        reading.refuse("none are read; they belong to --file")
    if id is not None:
        if len(indexes) > 1 or cluster is not None:
            raise DataError("--id searches one index in this process; pass one INDEX and no --cluster")
        names, results = [id], load(indexes[0], expect=SimilarDocuments).query_ids([id], k=k)
    else:
        asked = [("query", text)] if text is not None else []
        if file is not None:
            asked = [(one.id, one.text) for one in reading.documents([file])]
        names, texts = [name for name, _ in asked], [str(t) for _, t in asked]
        if approximate:
            results = _ask_graph(load(indexes[0], expect=SimilarDocuments), texts, k)
        else:
            results = query_shards(indexes, texts, k=k, cluster=cluster)
    columns = {"query": ""} if file is not None else {}
    table = None if json else Printed(columns | {"score": ".4f", "id": "", "title": ""})
    for name, matches in zip(names, results, strict=True):
        _show(name, matches, table)


@app.command(rich_help_panel="Index and query")
@with_options
def add(
    index: _Changed,
    sources: _Sources,
    *,
    reading: Reading,
) -> None:
    """Add documents to an index, in place; `upsert` does so with a collection.

    Example: textmill similar add news-index.mill today.jsonl
    """
    from textmill.model import load
    from textmill.readable import counted
    from textmill.tasks import SimilarDocuments

    check_output(index)

    similar = load(index, expect=SimilarDocuments)
    added = similar.add(reading.documents(sources))
    similar.save(index)
    typer.echo(f"{counted(added, 'documents')} added, {len(similar)} in all")


@app.command(rich_help_panel="Index and query")
def remove(
    index: _Changed,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of the documents to remove.")],
) -> None:
    """Remove documents from an index or a collection, in place.

    Example: textmill similar remove news-index.mill n7 n12
    """
    from textmill.model import load
    from textmill.readable import counted
    from textmill.tasks import Collection, SimilarDocuments

    if is_collection([index]):
        collection = Collection.open(index)
        removed = collection.delete(ids)
        typer.echo(f"{counted(removed, 'documents')} removed, {len(collection)} in all")
        return
    check_output(index)
    similar = load(index, expect=SimilarDocuments)
    similar.remove(ids)
    similar.save(index)
    typer.echo(f"{counted(len(ids), 'documents')} removed, {len(similar)} in all")


@app.command(rich_help_panel="Index and query")
def pairs(
    index: _Index,
    threshold: Annotated[float, typer.Option(help="Smallest cosine, or largest distance, of a pair.")] = 0.9,
    json: JsonLines = False,
) -> None:
    """Print all pairs of documents that are nearer than a threshold, with their scores, the nearest first.

    Example: textmill similar pairs news-index.mill --threshold 0.95
    """
    from textmill.model import load
    from textmill.tasks import Collection, SimilarDocuments
    from textmill.tasks.similarity import near_duplicates

    if is_collection([index]):
        table = Printed({"score": ".4f", "left": "", "right": ""}, json=json, nothing=NO_PAIR)
        for pair in near_duplicates(Collection.open(index), threshold=threshold):
            table.row(**pair._asdict())
        return
    similar = load(index, expect=SimilarDocuments)
    nearest = -1.0 if similar.measure == "cosine" else 1.0  # a cosine falls, a distance grows
    near = sorted(similar.pairs(threshold=threshold), key=lambda pair: nearest * pair[2])
    table = Printed({"score": ".4f", "left": "", "right": ""}, json=json, nothing=NO_PAIR)
    for left, right, score in near:
        table.row(left=left, right=right, score=score)


def _ask_graph(similar: Any, texts: list[str], k: int) -> Any:
    """Answers by a graph of the index; how much of the truth it finds is said beside them."""
    from textmill.vectors import ApproximateIndex

    graph = ApproximateIndex().fit(similar.index_)
    typer.echo(f"the graph finds {graph.recall_:.1%} of the nearest documents", err=True)
    return similar.query(texts, k=k, approximate=graph)


def _show(name: str, matches: Any, table: Printed | None) -> None:
    """Print what one query found: rows of a table, or a line of JSON."""
    rows = matches.to_dict()
    records = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    if table is None:
        typer.echo(json_line({"query": name, "found": records, "reason": matches.reason}))
        return
    if matches.reason is not None:
        typer.echo(f"{name}: nothing found: {matches.reason}", err=True)
    for one in records:
        table.row(query=name, **one)

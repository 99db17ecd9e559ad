"""What a collection or an index shows: neighbors, duplicates, classes, topics, figures, exports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._options import Cluster, Jobs, JsonLines, Seed, answers
from textmill.cli._outputs import further_output, output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._similar_collections import NO_PAIR, Documents, open_library
from textmill.cli._tables import Printed

__all__ = ["app"]

app = typer.Typer()

_Index = Annotated[Path, typer.Argument(metavar="INDEX", help="Collection, or index of `textmill similar index`.")]
_Method = Annotated[str | None, typer.Option(help="Method to compare by; default: the first of the collection.")]
_Report = Annotated[Path | None, further_output("A page for people to write.")]
_Field = Annotated[str, typer.Option(help="Field with the subject codes, several with blanks or commas between them.")]
_Scheme = Annotated[str | None, typer.Option(help="How codes are read: msc, dotted or plain; default: as they look.")]


@app.command(rich_help_panel="Analysis")
def neighbors(
    index: _Index,
    method: _Method = None,
    k: Annotated[int, answers("Number of neighbors of each document.")] = 10,
    checkpoint: Annotated[
        Path | None, further_output("File to write every minute, from which an interrupted run goes on.")
    ] = None,
    lists: Annotated[bool, typer.Option("--lists", help="Print the lists.")] = False,
    cluster: Cluster = None,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Find the nearest documents of every document; in a collection they are kept and answer questions by id.

    Example: textmill similar neighbors library --method lsa -k 10
    """
    from textmill.model import load
    from textmill.readable import counted
    from textmill.tasks import Collection, SimilarDocuments
    from textmill.tasks.similarity import NeighborTable, table_rows

    source: Any = Collection.open(index) if index.is_dir() else load(index, expect=SimilarDocuments)
    options = {"method": method} if index.is_dir() else {}
    table = NeighborTable.build(source, k=k, cluster=cluster, checkpoint=checkpoint, n_jobs=jobs, **options)
    if index.is_dir():
        source.keep_neighbors(table)
    if lists or json or not index.is_dir():
        printed = Printed({"id": "", "rank": "", "neighbor": "", "score": ".4f"}, json=json)
        for row in table_rows(table, source):
            printed.row(id=row.id, rank=row.rank, neighbor=row.neighbor, score=row.score)
    else:
        typer.echo(f"{counted(len(table), 'lists')} of {counted(k, 'neighbors')} by {table.method_}")


@app.command(rich_help_panel="Analysis")
def duplicates(
    index: _Index,
    threshold: Annotated[float, typer.Option(help="Smallest score of a pair.")] = 0.9,
    method: _Method = None,
    report: _Report = None,
    documents: Documents = None,
    json: JsonLines = False,
) -> None:
    """Print all pairs of documents that are nearly the same; a report has both texts side by side.

    Example: textmill similar duplicates library --threshold 0.95 --report twins.html
    """
    from textmill.tasks.similarity import near_duplicates, write_duplicates

    library = open_library(index, documents)
    pairs = near_duplicates(library, threshold=threshold, method=method)
    if report is not None:
        write_duplicates(library, pairs, report)
    printed = Printed({"score": ".4f", "left": "", "right": ""}, json=json, nothing=NO_PAIR)
    for pair in pairs:
        printed.row(**pair._asdict())


@app.command(rich_help_panel="Analysis")
def why(
    index: _Index,
    one: Annotated[str, typer.Argument(metavar="ID", help="Id of a document.")],
    other: Annotated[str, typer.Argument(metavar="ID", help="Id of another one.")],
    method: _Method = None,
    k: Annotated[int, answers("Number of terms, and of topics.")] = 10,
    documents: Documents = None,
    json: JsonLines = False,
) -> None:
    """Say why two documents are similar: shared terms, formulas and topics with their parts of the score.

    Example: textmill similar why library astronomy-01 astronomy-02
    """
    from textmill.tasks.similarity import explain_similarity

    printed = Printed({"part": ".4f", "kind": "", "name": ""}, json=json)
    for row in explain_similarity(open_library(index, documents), one, other, method=method, k=k):
        printed.row(**row._asdict())


@app.command(rich_help_panel="Analysis")
def evaluate(
    index: _Index,
    field: _Field,
    k: Annotated[int, answers("Number of neighbors that are looked at.")] = 10,
    scheme: _Scheme = None,
    documents: Documents = None,
    seed: Seed = 0,
    json: JsonLines = False,
) -> None:
    """Say how far neighbors share subject classes: precision, votes, average precision, silhouette, by every method.

    Example: textmill similar evaluate library --field subject
    """
    from textmill.tasks.similarity import ClassScheme, evaluate_classes

    chosen = None if scheme is None else ClassScheme(scheme)
    rows = evaluate_classes(open_library(index, documents), field, k=k, scheme=chosen, random_state=seed)
    forms = dict.fromkeys(("precision", "votes", "map", "silhouette", "within", "between"), ".4f")
    printed = Printed({"method": "", "level": "", "documents": ""} | forms, json=json)
    for row in rows:
        printed.row(**row._asdict())


@app.command(rich_help_panel="Analysis")
@with_options
def classify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Made with --train, or to be made.")],
    sources: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin; a collection as well.")
    ],
    train: Annotated[bool, typer.Option("--train", help="Learn the codes of the input and write the model.")] = False,
    field: Annotated[str, typer.Option(help="With --train: field with the subject codes.")] = "codes",
    kind: Annotated[str, typer.Option(help="With --train: logistic, bayes or knn.")] = "logistic",
    features: Annotated[int | None, typer.Option(help="With --train: number of features; default: all.")] = None,
    selection: Annotated[
        str, typer.Option(help="With --train: mutual_information, chi_square or document_frequency.")
    ] = "mutual_information",
    main_classes: Annotated[
        bool, typer.Option("--main-classes", help="With --train: only the first level of the codes.")
    ] = False,
    k: Annotated[int, answers("Number of codes to suggest.")] = 3,
    *,
    reading: Reading,
    json: JsonLines = False,
) -> None:
    """Suggest subject codes for texts, with the confidence in each; --train learns them from texts with codes.

    Example: textmill similar classify subjects.mill coded.jsonl --train --field msc
    """
    from textmill.model import load
    from textmill.readable import counted
    from textmill.tasks.similarity import SubjectClassifier, codes_of, guess_scheme

    if train:
        texts, codes = [], []
        for document in _documents(sources, reading):
            some = codes_of(document.fields.get(field))
            if some:
                texts.append(document.text)
                codes.append(some)
        scheme = guess_scheme([code for some in codes for code in some])
        sets = [sorted({scheme.top(code) for code in some} if main_classes else set(some)) for some in codes]
        single = all(len(some) == 1 for some in sets)
        classifier = SubjectClassifier(kind=kind, n_features=features, selection=selection)
        classifier.fit(texts, [some[0] for some in sets] if single else sets).save(model)
        typer.echo(f"{counted(len(classifier.classes_), 'codes')} from {counted(len(texts), 'texts')}")
        return
    classifier = load(model, expect=SubjectClassifier)
    printed = Printed({"id": "", "code": "", "confidence": ".4f"}, json=json)
    for document in _documents(sources, reading):
        for row in classifier.suggest(document.text, k=k):
            printed.row(id=document.id, **row._asdict())


@app.command(rich_help_panel="Analysis")
def stats(
    index: _Index,
    fields: Annotated[bool, typer.Option("--fields", help="Print the fields of the documents instead.")] = False,
    topics: Annotated[bool, typer.Option("--topics", help="Print the topics of a method instead.")] = False,
    method: _Method = None,
    documents: Documents = None,
    json: JsonLines = False,
) -> None:
    """Print what each source of a collection holds: documents, tokens, features, non-zeros, density.

    Example: textmill similar stats library
    """
    from textmill.tasks.similarity import source_statistics, topic_table

    library = open_library(index, documents)
    if fields:
        printed = Printed({"name": "", "documents": "", "values": "", "example": ""}, json=json)
        for field in library.fields():
            printed.row(**field._asdict())
    elif topics:
        printed = Printed({"topic": "", "words": "", "formulas": ".3f"}, json=json)
        for topic in topic_table(library.snapshot.method(method).model):
            printed.row(**topic._asdict())
    else:
        columns = {"source": "", "documents": "", "tokens": "", "features": "", "nonzeros": "", "density": ".6f"}
        printed = Printed(columns, json=json)
        for row in source_statistics(library.snapshot, method):
            printed.row(**row._asdict())


@app.command(rich_help_panel="Analysis")
def export(
    index: _Index,
    output: Annotated[Path, output_option("File ending in .csv or .parquet, or folder for a site of pages.")],
    to: Annotated[str | None, typer.Option(help="csv, parquet or site; default: by the name of the output.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Only this method; repeat it for more.")] = None,
    k: Annotated[int, answers("Number of neighbors of each document.")] = 10,
    documents: Documents = None,
    jobs: Jobs = None,
) -> None:
    """Write the neighbors of all documents as a table, or as static pages that need no server.

    Example: textmill similar export library -o neighbors.csv
    """
    from textmill.readable import counted
    from textmill.tasks.similarity import export_neighbors

    count = export_neighbors(open_library(index, documents), output, to=to, methods=method, k=k, n_jobs=jobs)
    typer.echo(f"{counted(count, 'rows' if output.is_file() else 'pages')} in {output}")


def _documents(sources: list[str], reading: Reading) -> Iterator[Any]:
    """Documents of files, folders and collections."""
    from textmill.errors import DataError
    from textmill.tasks import Collection

    for source in sources:
        if Path(source, "collection.json").is_file():
            yield from Collection.open(source)
        elif source.endswith(".mill"):
            raise DataError("an index holds no texts to classify; pass its documents, or a collection", source=source)
        else:
            yield from reading.documents([source])

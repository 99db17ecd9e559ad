"""What a collection or an index shows: neighbors, disagreement, duplicates, classes, topics, hubs, figures, exports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Cluster, Jobs, Json, JsonLines, Seed, answers
from textmill.cli._outputs import figure_option, further_output, output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._similar_collections import Documents, open_library
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
def compare(
    index: _Index,
    one: Annotated[str, typer.Argument(metavar="METHOD", help="A method; beside an index: another index.")],
    other: Annotated[str | None, typer.Argument(metavar="METHOD", help="Another method of a collection.")] = None,
    k: Annotated[int, answers("Length of the lists that are compared.")] = 10,
    plot: Annotated[Path | None, figure_option("Draw the differences of scores.")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Say where two methods disagree: differences of scores, overlap of lists, and the pairs that differ most.

    They are two methods of a collection, or two indexes of the same documents.

    Example: textmill similar compare library tfidf lsa
    """
    from textmill.errors import DataError
    from textmill.tasks.similarity import compare_methods, draw_differences

    if index.is_dir() == (other is None):
        raise DataError("pass a collection and two of its methods, or two indexes of the same documents")
    library = open_library(index, others=() if other is not None else [Path(one)])
    if other is None:
        one, other = library.methods
    result = compare_methods(library, one, other, k=k, random_state=seed)
    if plot is not None:
        from textmill.plot import save

        save(draw_differences(result), plot)
    figures = {name: getattr(result, name) for name in ("mean", "deviation", "overlap", "correlation")}
    if json:
        typer.echo(json_line(figures | {"worst": [row._asdict() for row in result.worst]}))
        return
    for name, value in figures.items():
        typer.echo(f"{name}\t{value:.4f}")
    printed = Printed({"left": "", "right": "", one: ".4f", other: ".4f"})
    for row in result.worst:
        printed.row(**{"left": row.left, "right": row.right, one: row.one, other: row.other})


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
    printed = Printed({"score": ".4f", "left": "", "right": ""}, json=json)
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
def heatmap(
    index: _Index,
    field: _Field,
    plot: Annotated[Path, figure_option("The picture to draw.")],
    main_class: Annotated[
        str | None, typer.Option("--class", help="Only documents of this main class; default: all.")
    ] = None,
    method: _Method = None,
    scheme: _Scheme = None,
    contrast: Annotated[float, typer.Option(help="Above 1 darkens low scores.")] = 1.0,
    box: Annotated[
        list[str] | None, typer.Option(metavar="FIRST:LAST", help="Frame sub-classes from one to another; repeat it.")
    ] = None,
    documents: Documents = None,
) -> None:
    """Draw the scores of documents sorted by their sub-classes, and print which sub-classes belong together.

    Example: textmill similar heatmap library --field subject --plot topics.svg
    """
    from textmill.plot import save
    from textmill.tasks.similarity import ClassScheme, class_map, draw_class_map, linked_classes

    chosen = None if scheme is None else ClassScheme(scheme)
    scores = class_map(open_library(index, documents), field, main_class, method=method, scheme=chosen)
    pairs = [(one.partition(":")[0], one.partition(":")[2] or one) for one in box or ()]
    save(draw_class_map(scores, contrast=contrast, boxes=pairs), plot)
    printed = Printed({"class": "", "nearest": ""})
    for name, other in linked_classes(scores).items():
        printed.row(**{"class": name, "nearest": other})


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
def intrusion(
    index: _Index,
    output: Annotated[Path, output_option("The tasks to write, a JSON object per line.")],
    method: _Method = None,
    topics: Annotated[bool, typer.Option("--topics", help="Ask for topics that do not fit a document.")] = False,
    k: Annotated[int, answers("With --topics: number of documents.")] = 20,
    answers_file: Annotated[
        Path | None, typer.Option("--answers", help="Score answers: a JSON object per line with name and choice.")
    ] = None,
    documents: Documents = None,
    seed: Seed = 0,
) -> None:
    """Write tasks in which people look for an intruder among the words of a topic, or the topics of a document.

    Example: textmill similar intrusion library --method lda -o tasks.jsonl
    """
    from textmill.corpus import read_records
    from textmill.files import replacing
    from textmill.readable import counted
    from textmill.tasks.similarity import (
        score_topic_intrusion,
        score_word_intrusion,
        topic_intrusion,
        word_intrusion,
    )

    library = open_library(index, documents)
    model = library.snapshot.method(method).model
    chosen = [(name, library.snapshot.text(name)) for name in library.ids()[:k]] if topics else []
    tasks = topic_intrusion(model, chosen, random_state=seed) if topics else word_intrusion(model, random_state=seed)
    with replacing(output) as file:
        for task in tasks:
            file.write((json_line(task._asdict()) + "\n").encode())
    if answers_file is not None:
        pairs = [(one.fields["name"], one.fields["choice"]) for one in read_records(answers_file, format="jsonl")]
        if topics:
            scores = score_topic_intrusion(model, tasks, [text for _, text in chosen], pairs)
        else:
            scores = score_word_intrusion(tasks, pairs)
        printed = Printed({"name": "", "score": ".4f"})
        for name, score in scores.items():
            printed.row(name=name, score=score)
    else:
        typer.echo(f"{counted(len(tasks), 'tasks')} in {output}")


@app.command(rich_help_panel="Analysis")
def hubs(
    index: _Index,
    method: _Method = None,
    k: Annotated[int, answers("Length of the lists of neighbors.")] = 10,
    json: Json = False,
) -> None:
    """Say which documents are in everybody's list, and how uneven lists are before and after correction.

    Example: textmill similar hubs library --method lsa
    """
    from textmill.tasks.similarity import find_hubs

    result = find_hubs(open_library(index), method=method, k=k)
    names = ("skewness", "orphans", "corrected_skewness", "corrected_orphans")
    figures = {name: getattr(result, name) for name in names}
    if json:
        typer.echo(json_line(figures | {"hubs": [row._asdict() for row in result.hubs]}))
        return
    for name, value in figures.items():
        typer.echo(f"{name}\t{value:.4f}")
    printed = Printed({"id": "", "lists": "", "title": ""})
    for row in result.hubs:
        printed.row(**row._asdict())


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

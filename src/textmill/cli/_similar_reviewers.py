"""People on the command line: who could review an article."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import JsonLines, Seed, answers
from textmill.cli._similar_collections import Documents, open_library
from textmill.cli._tables import Printed

__all__ = ["app"]

app = typer.Typer()


@app.command(rich_help_panel="Analysis")
def reviewers(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="Collection, or index of `textmill similar index`.")],
    text: Annotated[str | None, typer.Option(help="Find people for this text.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Find people for this document of the collection.")] = None,  # noqa: A002
    field: Annotated[str, typer.Option(help="Field with the names, a list or with semicolons.")] = "authors",
    method: Annotated[
        list[str] | None, typer.Option(help="Method to compare by; repeat it to fuse several; default: the first.")
    ] = None,
    k: Annotated[int, answers("Number of people to suggest.")] = 5,
    depth: Annotated[int, typer.Option(help="Number of nearest documents whose authors count.")] = 50,
    without: Annotated[
        list[str] | None, typer.Option(help="Name of somebody not to suggest, such as an author; repeat it.")
    ] = None,
    coauthors: Annotated[
        bool,
        typer.Option(
            "--coauthors", help="Suggest also people who have written with an author or with one of --without."
        ),
    ] = False,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="FILTER", help="Only documents with FIELD=VALUE; also != >= <= > < ~."),
    ] = None,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Say how often authors are suggested for their own documents.")
    ] = False,
    documents: Documents = None,
    seed: Seed = 0,
    json: JsonLines = False,
) -> None:
    """Suggest people who could review a text or a document: those whose own documents are nearest to it.

    Example: textmill similar reviewers library --id n7 --where "year>=1990" -k 3
    """
    from textmill.errors import DataError
    from textmill.tasks.similarity import evaluate_reviewers, parse_filters, suggest_reviewers

    library = open_library(index, documents)
    methods: Any = method[0] if method and len(method) == 1 else method or None
    if evaluate:
        if text is not None or id is not None or without or where:
            raise DataError("--evaluate asks for documents of the collection; pass no --text, --id, --without, --where")
        figures = evaluate_reviewers(library, field, method=methods, k=k, depth=depth, random_state=seed)._asdict()
        if json:
            typer.echo(json_line(figures))
            return
        for name, value in figures.items():
            typer.echo(f"{name}\t{value:.4f}" if isinstance(value, float) else f"{name}\t{value}")
        return
    if (text is None) == (id is None):
        raise DataError("pass exactly one of --text and --id, or --evaluate")
    rows = suggest_reviewers(
        library,
        id=id,
        text=text,
        field=field,
        method=methods,
        k=k,
        depth=depth,
        without=without or (),
        coauthors=coauthors,
        where=parse_filters(where or ()),
    )
    if not rows:
        typer.echo("nobody is suggested: no document near it has an author who may be asked", err=True)
    table = None if json else Printed({"name": "", "votes": ".4f", "articles": ""})
    for row in rows:
        if table is None:
            typer.echo(json_line(row._asdict()))
        else:
            table.row(name=row.name, votes=row.votes, articles=" ".join(row.articles[:5]))

"""What a collection needs from its keeper: smaller parts merged, changes looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textmill.cli._options import Jobs, JsonLines, Seed
from textmill.cli._outputs import further_output
from textmill.cli._similar_collections import Documents, open_library
from textmill.cli._tables import Printed

__all__ = ["app"]

app = typer.Typer()


@app.command(rich_help_panel="Collections")
def compact(
    index: Annotated[Path, typer.Argument(metavar="COLLECTION", help="The collection; it is changed.")],
) -> None:
    """Merge the small shards of a collection and give back the room of deleted documents; answers stay the same.

    Others may ask it meanwhile.

    Example: textmill similar compact library
    """
    from textmill.readable import counted
    from textmill.tasks import Collection

    library = Collection.open(index)
    before = library.count_shards()
    library.compact()
    after = counted(library.count_shards(), "shards")
    typer.echo(f"{counted(len(library), 'documents')} in {after}, {before} before")


@app.command(rich_help_panel="Collections")
def diagnose(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="Collection, or index of `textmill similar index`.")],
    method: Annotated[str | None, typer.Option(help="Method whose vectors tell of topics; default: the first.")] = None,
    by: Annotated[
        str | None, typer.Option(help="Field that orders documents, such as the year; default: as they were written.")
    ] = None,
    periods: Annotated[int, typer.Option(help="Number of equal shares of the documents.")] = 10,
    threshold: Annotated[float, typer.Option(help="Smallest score of near-duplicates.")] = 0.9,
    report: Annotated[Path | None, further_output("A page for people to write.")] = None,
    documents: Documents = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Say how a collection has changed: words, unknown words and topics by period; a report has pictures of them,
    histograms of scores, and groups of near-duplicates.

    Topics have moved where drift is well above chance, the drift of a random order.

    Example: textmill similar diagnose library --report changes.html
    """
    from textmill.tasks.similarity import diagnose as examine
    from textmill.tasks.similarity import write_diagnosis

    library = open_library(index, documents)
    diagnosis = examine(
        library, method=method, by=by, n_periods=periods, threshold=threshold, random_state=seed, n_jobs=jobs
    )
    if report is not None:
        write_diagnosis(library, diagnosis, report)
    forms = {"period": "", "documents": "", "words": "", "distinct": ""}
    printed = Printed(forms | dict.fromkeys(("unknown", "drift", "chance"), ".4f"), json=json)
    for row in diagnosis.periods:
        printed.row(**row._asdict())
    for reason in diagnosis.stale:
        typer.echo(f"{reason}; train the models anew with `textmill similar upsert --rebuild`", err=True)

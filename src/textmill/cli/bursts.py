"""Find words that come in bursts: in time where documents have dates, else from text to text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._options import Jobs, JsonLines, answers
from textmill.cli._outputs import figure_option
from textmill.cli._reading import Reading, Terms, with_options
from textmill.cli._tables import Printed

app = typer.Typer(add_completion=False, help=__doc__)

_DATED = {"term": "", "begin": "", "end": "", "weight": ".2f", "documents": "", "share": ".4f", "usual": ".4f"}
_OF_TEXTS = {"term": "", "occurrences": "", "documents": "", "repeat": ".3f", "gain": ".3f", "best": ""}


@app.command()
@with_options
def bursts(
    sources: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="Texts: plain, CSV, JSONL, Parquet, ...; - for stdin.")
    ],
    date_field: Annotated[
        str | None,
        typer.Option(help="Field that holds the date, as 2024-05-31, 2024-05 or 2024; default: date, if there is one."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Period: day, week, month or year; default: what the dates tell.")
    ] = None,
    scale: Annotated[
        float, typer.Option(help="How many times its usual share of documents a word has in a burst.")
    ] = 2.0,
    gamma: Annotated[float, typer.Option(help="Cost of entering a burst; larger: fewer and longer bursts.")] = 1.0,
    k: Annotated[int, answers("Number of bursts to show.")] = 20,
    min_count: Annotated[
        int, typer.Option(help="Leave out words that occur less often, with dates in fewer texts.")
    ] = 10,
    passages: Annotated[
        int | None, typer.Option(min=1, help="Without dates: cut texts into passages of this many words.")
    ] = None,
    plot: Annotated[
        Path | None, figure_option("Without dates: draw which words burst to this file (.png, .svg or .pdf).")
    ] = None,
    *,
    terms: Terms,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Print the words that burst, the strongest first.

    With dates: from when to when a word is in many more documents than usual, by Kleinberg's automaton of two states.
    Without: words that occur again where they have occurred once, by how much zibinom or betabinom fits better.

    Example: textmill bursts news.jsonl --date-field published --by month
    Example: textmill bursts federalist.txt --passages 200
    """
    from textmill.corpus import split_documents
    from textmill.errors import DataError
    from textmill.linear import counts_of_texts, draw_bursts, find_bursts, find_dated_bursts
    from textmill.plot import save

    documents = list(reading.documents(sources))
    if not documents:
        raise DataError("there are no documents; pass at least one", source=", ".join(sources))
    if date_field is None and passages is None and all("date" in document.fields for document in documents):
        date_field = "date"
    if date_field is None:
        if by is not None:
            raise DataError("--by is for documents with dates; name the field that holds them with --date-field")
        if passages is not None:
            documents = list(split_documents(documents, "passage", chunk_size=passages))
        texts = [document.text for document in documents]
        data = counts_of_texts(texts, vocabulary=terms.vocabulary(texts, jobs=jobs))
        of_texts = find_bursts(data.X, data.terms, exposure=data.exposure, min_count=min_count, n_jobs=jobs)
        _print(of_texts.columns(), {**dict.fromkeys(of_texts.columns(), ".6g"), **_OF_TEXTS}, k, json)
        if plot is not None:
            save(draw_bursts(of_texts, n_words=k), plot)
        return
    for option, value in (("--passages", passages), ("--plot", plot)):
        if value is not None:
            raise DataError(f"{option} is for documents without dates; leave it out")
    for document in documents:
        if document.fields.get(date_field) in (None, ""):
            names = ", ".join(map(str, document.fields)) or "none: this is plain text"
            place: dict[str, Any] = {"source": document.source, "line": document.line}
            raise DataError(f"no date in the field '{date_field}'; the fields are {names}", **place)
    texts = [document.text for document in documents]
    dates = [document.fields[date_field] for document in documents]
    vocabulary = terms.vocabulary(texts, jobs=jobs, min_df=min_count)
    X = vocabulary.fit_transform(texts)
    settings: dict[str, Any] = {"by": by, "scale": scale, "gamma": gamma, "min_documents": min_count}
    dated = find_dated_bursts(X, dates, vocabulary.terms_.to_list(), **settings)
    _print(dated.columns(), _DATED, k, json)
    if not dated.terms:
        typer.echo("no word bursts; lower --gamma or --scale, or choose another period with --by", err=True)


def _print(columns: dict[str, list[Any]], forms: dict[str, str], k: int, json: bool) -> None:
    table = Printed(forms, json=json)
    for row in list(zip(*columns.values(), strict=True))[:k]:
        table.row(**dict(zip(columns, row, strict=True)))

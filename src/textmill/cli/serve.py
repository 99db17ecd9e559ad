"""Show models, transducers, pairs of names and collections in a browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def serve(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE...]",
            help="Model files (.mill), machines (.fst, .far) and lists of pairs (.tsv, .csv, .jsonl).",
        ),
    ] = None,
    collection: Annotated[Path | None, typer.Option(help="Collection of documents, for articles.")] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen at; others than this machine need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for a free one.")] = 8765,
    token: Annotated[
        str | None,
        typer.Option(help="What clients must know; - makes one. Better in TEXTMILL_TOKEN, which nobody else sees."),
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="Name under which a proxy is reached; repeat the option for more.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Number of processes.")] = 1,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse uploads, judgments and decisions.")] = False,
    judgments: Annotated[
        Path | None, typer.Option(help="File of judgments; default: judgments.sqlite in the collection, or here.")
    ] = None,
) -> None:
    """Serve files to a browser, and as JSON to programs, until Ctrl-C or SIGTERM.

    Prints the address to open. Log lines go to stderr, one JSON object each, without texts.

    Example: textmill serve topics.mill news-index.mill --port 8765
    """
    from textmill.errors import DataError

    try:
        from textmill.web import Settings
        from textmill.web import serve as run
    except ModuleNotFoundError as missing:
        raise DataError(f"{missing.name} is not installed; pip install 'textmill[web]'") from missing

    secret = os.environ.get("TEXTMILL_TOKEN") if token is None else token
    if secret == "-":
        from secrets import token_urlsafe

        secret = token_urlsafe(24)
    settings = Settings(
        files=tuple(str(file) for file in files or ()),
        collection=None if collection is None else str(collection),
        host=host,
        port=port,
        token=secret or None,
        names=tuple(name or ()),
        workers=workers,
        read_only=read_only,
        judgments=None if judgments is None else str(judgments),
    )
    run(settings, started=lambda address: typer.echo(f"serving at {address}"))

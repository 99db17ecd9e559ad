"""Options that mean the same in every command."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Cluster", "Errors", "IdField", "Jobs", "Json", "JsonLines", "Seed", "TextField"]

Cluster = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")]
Errors = Annotated[str, typer.Option(help="What to do with bad records: strict (stop) or skip (and count them).")]
IdField = Annotated[str | None, typer.Option(help="Field that holds the id, for JSONL and CSV.")]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; default: all cores.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
Seed = Annotated[int, typer.Option(help="Seed of the random numbers.")]
TextField = Annotated[str | None, typer.Option(help="Field that holds the text, for JSONL and CSV.")]

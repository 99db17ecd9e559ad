"""Options that mean the same in every command."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Cluster", "Errors", "IdField", "Jobs", "Json", "JsonLines", "Seed", "TextField"]

Cluster = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")]
Errors = Annotated[str, typer.Option(help="Bad records: strict or skip.")]
IdField = Annotated[str | None, typer.Option(help="Field with the id, for JSONL and CSV.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; default: all cores.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonLines = Annotated[bool, typer.Option("--json", help="A JSON object a line.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
TextField = Annotated[str | None, typer.Option(help="Field with the text, for JSONL and CSV.")]

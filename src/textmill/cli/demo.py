"""Run the main jobs on the sample articles and write a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textmill.cli._outputs import folder_option

app = typer.Typer(add_completion=False)


@app.command()
def demo(
    output: Annotated[Path, folder_option("Folder for the report and the files it is about.")] = Path("demo"),
) -> None:
    """Take the tour: read, cut, count, save and score the articles that come with textmill.

    Example: textmill demo --output demo
    """
    from textmill.cli._tour import NO_CHARTS, has_charts, tour

    typer.echo(f"wrote {tour(output)}; open it in a browser")
    if not has_charts():
        typer.echo(NO_CHARTS)

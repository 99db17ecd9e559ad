"""Show three results on the sample articles, and write the files of the first examples."""

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
    """Write a report of three results (topics, duplicates, an explained text) and the files that the README uses.

    Example: textmill demo --output demo
    """
    from textmill.cli._demo import NO_CHARTS, has_charts, write_demo

    typer.echo(f"wrote {write_demo(output)}; open it in a browser")
    if not has_charts():
        typer.echo(NO_CHARTS)

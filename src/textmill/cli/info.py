"""Describe a model file, or this installation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._options import Json

app = typer.Typer(add_completion=False)


@app.command()
def info(
    file: Annotated[
        Path | None, typer.Argument(help="A model file; without one, the installation is described.")
    ] = None,
    json: Json = False,
) -> None:
    """Describe a model file from its header, or this installation: versions, instruction set, threads, BLAS.

    Example: textmill info vocabulary.mill
    """
    facts = _installation() if file is None else _file(file)
    if json:
        from json import dumps

        typer.echo(dumps(facts, ensure_ascii=False, indent=2, sort_keys=True))
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            typer.echo(f"{name}:")
            for inner, detail in value.items():
                typer.echo(f"  {inner}: {detail}")
        else:
            typer.echo(f"{name}: {value}")


def _file(path: Path) -> dict[str, Any]:
    from textmill.model import describe

    return describe(path)


def _installation() -> dict[str, Any]:
    import platform

    import numpy as np
    import scipy.linalg  # noqa: F401 (loads its BLAS, so that it is listed)
    from threadpoolctl import threadpool_info

    from textmill import __version__
    from textmill._native import base, corpus
    from textmill.model import effective_jobs

    libraries = {
        Path(library["filepath"]).name: "{internal_api} {version}, {num_threads} threads".format_map(library)
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    return {
        "textmill": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "instruction set": base.simd(),
        "threads": effective_jobs(None),
        "unicode": corpus.unicode_version,
        "blas": libraries,
    }

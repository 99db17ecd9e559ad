"""Describe a model file, or this installation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_page
from textmill.cli._options import Json

app = typer.Typer(add_completion=False)


@app.command()
def info(
    file: Annotated[
        Path | None, typer.Argument(help="A model file; without one, the installation is described.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Read the whole file and compare its checksums.")] = False,
    arrays: Annotated[bool, typer.Option("--arrays", help="List the arrays of the file as well.")] = False,
    json: Json = False,
) -> None:
    """Describe a model file, or this installation: versions, instruction set, threads, BLAS.

    Of a model: its kind, what it was trained on, its size, its labels and the options that are not the default.

    Example: textmill info vocabulary.mill --verify
    """
    if file is None and (verify or arrays):
        raise typer.BadParameter("needs a model file", param_hint="--verify" if verify else "--arrays")
    facts = _installation() if file is None else _facts(file, verify)
    if json:
        typer.echo(json_page(facts, sort_keys=True))
    elif file is None:
        _print_installation(facts)
    else:
        _print_model(file, facts, arrays)


def _facts(path: Path, verify: bool) -> dict[str, Any]:
    """All that the header says; with `verify`, what was found right is under "verified"."""
    from textmill.model import describe, load

    facts = describe(path, verify=verify)
    if verify:
        facts["verified"] = "checksums" if facts["checksums"] else "values"
    if verify and not facts["checksums"]:
        load(path, verify=True)
    return facts


def _print_model(path: Path, facts: dict[str, Any], arrays: bool) -> None:
    from textmill.model import summarize

    for line in summarize(path).lines():
        typer.echo(line)
    checksums = "with checksums" if facts["checksums"] else "without checksums, which it gets when it is saved again"
    typer.echo(f"file: {path.stat().st_size:,} bytes, {checksums}")
    verified = {"checksums": "every array has its checksum", "values": "shapes, indices and strings are sound"}
    if "verified" in facts:
        typer.echo(f"verified: {verified[facts['verified']]}")
    if arrays:
        typer.echo("arrays:")
        for name, array in _arrays(facts):
            shape = " x ".join(map(str, array["shape"])) or "one value"
            typer.echo(f"  {name}: {array['dtype']}, {shape}, {array['bytes']:,} bytes, CRC-32 {array['crc32'] or '-'}")


def _arrays(facts: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Arrays of a model and of those inside it, by their names in the file."""
    for name, array in facts["arrays"].items():
        yield prefix + name, array
    for name, part in facts["parts"].items():
        if part is not None:
            yield from _arrays(part, f"{prefix}part/{name}/")


def _print_installation(facts: dict[str, Any]) -> None:
    for name, value in facts.items():
        if isinstance(value, dict):
            typer.echo(f"{name}:")
            for inner, detail in value.items():
                typer.echo(f"  {inner}: {detail}")
        else:
            typer.echo(f"{name}: {value}")


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

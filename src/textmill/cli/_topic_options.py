"""What the verbs of `textmill topics` share: options, and how models and input are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._reading import Reading

__all__ = ["ModelFile", "Sources", "is_bags", "load_model", "read_input"]

_HELP_INPUT = "Files or folders of documents, - for stdin; or a single file of bags (.npz, .mm, .svmlight, ...)."
Sources = Annotated[list[str], typer.Argument(metavar="INPUT...", help=_HELP_INPUT)]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill topics train`.")]


def load_model(path: Path, jobs: int | None = None) -> Any:
    """A topic model of any kind."""
    from textmill.model import load
    from textmill.topics import TopicModel

    loaded: Any = load(path, expect=TopicModel)
    return loaded.set_params(n_jobs=jobs)


def is_bags(sources: list[str]) -> bool:
    """Whether the input is a file of bags, by its suffix."""
    from textmill.corpus import bag_format
    from textmill.errors import DataError

    if len(sources) != 1 or sources[0] == "-" or Path(sources[0]).is_dir():
        return False
    try:
        bag_format(sources[0], None)
    except DataError:
        return False
    return True


def read_input(sources: list[str], reading: Reading, *, again: bool = False) -> Any:
    """Bags of a file, or documents; `again` if they are read more than once."""
    from textmill.corpus import read_bags

    if is_bags(sources):
        reading.refuse("this is a file of bags")
        return read_bags(sources[0])
    return reading.documents(sources, again=again)

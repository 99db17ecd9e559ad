"""Verb of `textmill fst` that restores words from what is left of them."""

from __future__ import annotations

from typing import Annotated

import typer

from textmill.cli._fst_program import Program
from textmill.cli._outputs import output_argument

app = typer.Typer(add_completion=False)


@app.command("restore", cls=Program)
def restore_words(
    model: Annotated[str, typer.Argument(metavar="MODEL.ARPA", help="Back-off model of whole words.")],
    source: Annotated[str, typer.Argument(metavar="TEXT", help="Sentences, one per line; - or none for stdin.")] = "",
    target: Annotated[str, output_argument("File to write; - or none for stdout.", "OUT")] = "",
    reduction: Annotated[str, typer.Option(help="What the words lack: case or accents; or keypad.")] = "case",
) -> None:
    """Give sentences their case or accents back, or the words of a telephone's keys, by a language model.

    A token that no word of the model fits is copied.

    Example: echo mars is a planet | textmill fst restore model.arpa
    """
    from textmill.corpus import open_lines, read_arpa, writer
    from textmill.fst import WordRestorer
    from textmill.progress import track

    restorer = WordRestorer(read_arpa(model), reduction)
    with writer(target or "-") as out:
        for _, line in track(open_lines(source or "-"), "restoring", unit="sentences"):
            out.write(" ".join(restorer.restore(line.split())) + "\n")

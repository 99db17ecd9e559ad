"""Verb of `textmill fst` that compiles word lists."""

from __future__ import annotations

from typing import Annotated

import typer

from textmill.cli._options import Errors
from textmill.cli._outputs import output_option

app = typer.Typer(add_completion=False)


@app.command("lexicon")
def compile_words(
    words: Annotated[
        str, typer.Argument(metavar="WORDS", help="Words, one per line, numbers behind tabs; - for stdin.")
    ],
    output: Annotated[str, output_option("File for the machine.")],
    token_type: Annotated[str, typer.Option(help="What labels stand for: utf8 or byte.")] = "utf8",
    weights: Annotated[str, typer.Option(help="What the numbers are: cost, or count.")] = "cost",
    extend: Annotated[str, typer.Option(help="A lexicon made by this command, to which the words are added.")] = "",
    errors: Errors = "strict",
) -> None:
    """Compile a list of words into its minimal acceptor, sorted or not, weighted or not.

    With --extend, words are added one by one to a lexicon that is finished; of equal words the least weight counts.

    Example: textmill fst lexicon words.txt -o words.fst
    """
    from textmill.errors import DataError
    from textmill.fst import GrowingLexicon, read_fst, read_lexicon, write_fst

    machine = read_lexicon(words, token_type=token_type, weights=weights, errors=errors)
    if not machine.num_arcs:
        raise DataError("there are no words; give one per line", source=words)
    if extend:
        growing = GrowingLexicon(read_fst(extend), token_type=token_type)
        added = growing.merge(machine)
        typer.echo(f"{added} words are new", err=True)
        machine = growing.fst()
    write_fst(machine, output)
    typer.echo(f"{machine.num_states} states, {machine.num_arcs} arcs", err=True)

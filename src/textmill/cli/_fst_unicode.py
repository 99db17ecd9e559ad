"""Verb of `textmill fst` that makes machines of Unicode."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Program, Target

if TYPE_CHECKING:
    from textmill.fst import Fst

app = typer.Typer(add_completion=False)

_KINDS = ("utf8", "code_points", "fold_case", "decompose", "order_marks", "recompose", "graphemes")
_OF_CHARACTERS = ("code_points", "order_marks", "recompose")


@app.command("unicode", cls=Program)
def unicode_machine(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of {', '.join(_KINDS)}.")],
    target: Target = "",
    characters: Annotated[
        str, typer.Option(help=f"Text file with the characters that {', '.join(_OF_CHARACTERS)} shall know.")
    ] = "",
    form: Annotated[str, typer.Option(help="For decompose: NFD or NFKD.")] = "NFD",
    longest: Annotated[int, typer.Option(min=1, max=12, help="For order_marks: marks in a row.")] = 4,
    separator: Annotated[str, typer.Option(help="For graphemes: what stands between clusters.")] = "|",
) -> None:
    """Make a machine over the bytes of UTF-8: normal forms, case, clusters of characters.

    utf8 accepts one character; code_points writes the numbers of characters; fold_case and decompose change
    characters; order_marks puts the marks behind a letter into canonical order; recompose joins letters and marks;
    graphemes writes a separator between what people take for characters.

    Example: textmill fst unicode graphemes clusters.fst
    """
    from textmill import fst
    from textmill.model import check_choice

    check_choice("KIND", kind, _KINDS)
    text = _characters(kind, characters)
    makers: dict[str, Callable[[], Fst]] = {
        "utf8": fst.utf8_acceptor,
        "code_points": lambda: fst.bytes_to_code_points(sorted(set(text))),
        "fold_case": fst.case_folding,
        "decompose": lambda: fst.decomposition(form),
        "order_marks": lambda: fst.canonical_order(
            sorted(mark for mark in set(unicodedata.normalize("NFD", text)) if unicodedata.combining(mark)),
            longest=longest,
        ),
        "recompose": lambda: fst.recomposition(
            sorted(letter for letter in set(unicodedata.normalize("NFC", text)) if _is_composed(letter))
        ),
        "graphemes": lambda: fst.grapheme_boundaries(separator),
    }
    machine = makers[kind]()
    files.write_machine(machine, target)
    typer.echo(f"{machine.num_states} states, {machine.num_arcs} arcs", err=True)


def _characters(kind: str, source: str) -> str:
    """The text of the file, without the ends of lines."""
    from textmill.corpus import open_lines
    from textmill.errors import DataError

    if kind not in _OF_CHARACTERS:
        if source:
            raise DataError(f"{kind} knows all characters; leave out --characters")
        return ""
    if not source:
        raise DataError(f"{kind} needs the characters it shall know; name a text that has them: --characters=FILE")
    return "".join(line for _, line in open_lines(source))


def _is_composed(character: str) -> bool:
    """Is it a letter and a mark that NFC joins?"""
    return len(unicodedata.normalize("NFD", character)) > 1

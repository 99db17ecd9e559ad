"""Options and arguments that name files to write: checked before the first document is read.

Hours of work must not end in "no such folder". So whether a file can be written is looked at while the command line is
parsed.
"""

from __future__ import annotations

from typing import Any

import typer

__all__ = ["check_output", "figure_option", "folder_option", "further_output", "output_argument", "output_option"]


def output_option(text: str) -> Any:
    """The option --output: the file for the result."""
    return typer.Option("--output", "-o", callback=check_output, help=text)


def further_output(text: str) -> Any:
    """An option for a further file to write."""
    return typer.Option(callback=check_output, help=text)


def folder_option(text: str) -> Any:
    """The option --output of a command that writes several files: their folder."""
    return typer.Option("--output", "-o", callback=_check_folder, help=text)


def output_argument(text: str, metavar: str | None = None) -> Any:
    """An argument for a file to write."""
    return typer.Argument(metavar=metavar, callback=check_output, help=text)


def figure_option(text: str) -> Any:
    """An option for a figure to draw."""
    return typer.Option(callback=_check_figure, help=text)


def check_output(value: Any) -> Any:
    """The name of a file to write; an error if it cannot be written. `-` and nothing are standard output."""
    from textmill.files import check_target

    if value is not None and str(value) not in ("", "-"):
        check_target(value)
    return value


def _check_folder(value: Any) -> Any:
    from textmill.files import check_folder

    check_folder(value)
    return value


def _check_figure(value: Any) -> Any:
    if value is not None:
        from textmill.plot import check_figure_path

        check_figure_path(value)
    return value

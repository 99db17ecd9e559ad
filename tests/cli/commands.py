"""Commands run in this process, as tests of the command line call them."""

from __future__ import annotations

import warnings

import pytest
from typer.testing import CliRunner

from textmill.cli.app import app, main


def said(capsys: pytest.CaptureFixture[str], *arguments: object, quiet: bool = True) -> tuple[int, str, str]:
    """Exit code, output and errors of a run."""
    show = warnings.showwarning
    with warnings.catch_warnings(), pytest.raises(SystemExit) as left:
        main(["-q"] * quiet + list(map(str, arguments)))
    warnings.showwarning = show
    captured = capsys.readouterr()
    assert isinstance(left.value.code, int)
    return left.value.code, captured.out, captured.err


def lines(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    """The lines that a command prints; it ends well."""
    code, output, errors = said(capsys, *arguments)
    assert code == 0, errors
    return output.splitlines()


def failure(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command says that ends with an error in the data."""
    code, _, errors = said(capsys, *arguments)
    assert code == 1
    return errors


def output_of(*arguments: object, text: str | None = None) -> str:
    """What a command prints; it ends well."""
    result = CliRunner().invoke(app, list(map(str, arguments)), input=text, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout

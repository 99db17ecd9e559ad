"""The `textmill` command: finds the job modules beside it, loads the one that is called, turns errors into one line.

A job is a module of this package with a Typer `app`; the first line of its docstring is its line in `textmill
--help`. Jobs are imported when they are called, and import what they need inside their functions, so that help is
instant.

Exit codes: 0 done, 1 an error in the data or the files, 2 wrong usage, 130 interrupted, 141 when whoever read the
output has gone. After Ctrl-C in a training loop the model of the last whole iteration is saved, and the code is 130.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from textmill.cli._groups import LazyGroup, command_from, command_of

__all__ = ["app", "main"]

_FOLDER = Path(__file__).parent
_PANELS = {  # of the help page, and the jobs in them, the most used ones first
    "Start": ("demo", "info", "serve"),
    "Documents": (
        "topics", "similar", "classify", "language", "segment", "polarity", "readability", "coherence"
    ),
    "Names and records": ("match",),
    "Words in sentences": ("tag", "entities", "parse", "trees", "transfer", "fluency"),
    "Spelling, sound, numbers": ("correct", "normalize", "pronounce", "transcribe", "voicemail"),
    "Building blocks": ("tokenize", "vocab", "bags", "compare", "bursts", "counts", "lm", "fst"),
}  # fmt: skip
_INTERRUPTED = 130
_CLOSED_PIPE = 141  # what a shell reports of a program that SIGPIPE has ended
_interrupted: list[Warning] = []  # warnings of training loops that Ctrl-C has ended
_arguments: list[str] = []  # of the command that runs
_empty: list[str] = []  # what is said of documents without a word, unless the command fails and says why itself


class Jobs(LazyGroup):
    """A group whose commands are the modules of this folder."""

    listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all jobs, in the order of the help page."""
        return [job for jobs in _PANELS.values() for job in jobs]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a job; while help is written, only its name and first line, without an import."""
        if cmd_name not in self.list_commands(ctx):
            return None
        if self.listing:
            first_line = (_FOLDER / f"{cmd_name}.py").read_text(encoding="utf-8").split("\n", 1)[0]
            panel = next(panel for panel, jobs in _PANELS.items() if cmd_name in jobs)
            return TyperCommand(cmd_name, callback=None, help=first_line.strip('"'), rich_help_panel=panel)
        job = importlib.import_module(f"textmill.cli.{cmd_name}")
        return command_from(job.app)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help page."""
        self.listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self.listing = False


app = typer.Typer(
    cls=Jobs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from textmill import __version__

        typer.echo(f"textmill {__version__}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no warnings.")] = False,
) -> None:
    """Fast, explainable text processing on an ordinary CPU, trained on your own data."""
    from textmill import progress

    def note(message: Warning | str, *_: Any, **__: Any) -> None:
        if isinstance(message, progress.TrainingInterrupted):
            _interrupted.append(message)
        if isinstance(message, _empty_documents()):
            _empty.append(str(message))
        elif not quiet:
            typer.echo(f"textmill: {_worded(str(message))}", err=True)

    warnings.showwarning = note
    warnings.simplefilter("ignore" if quiet else "always", UserWarning)
    warnings.simplefilter("always", progress.TrainingInterrupted)
    if not quiet:
        ctx.with_resource(progress.shown())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    arguments = [_decoded(argument) for argument in (sys.argv[1:] if arguments is None else arguments)]
    _interrupted.clear()
    _empty.clear()
    _arguments[:] = arguments
    _end_tables(failed=True)  # what an earlier command in this process has left
    try:
        _check_streams()
        code = app(arguments, prog_name="textmill", standalone_mode=False)
        _end_tables(failed=False)
        sys.stdout.flush()
        for said in _empty:
            typer.echo(f"textmill: {_worded(said)}", err=True)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except SystemExit as left:
        code = _CLOSED_PIPE if isinstance(left.__context__, BrokenPipeError) else left.code  # Typer hides the pipe so
    except Exception as error:
        if "--debug" in arguments and not isinstance(error, BrokenPipeError):
            raise
        code = _report(error)
    _end_tables(failed=True)  # none is left of a command that went well
    _drop_what_cannot_be_written()
    if _interrupted and not code:  # a training loop was ended by Ctrl-C: what it had is saved
        code = _INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)


def _empty_documents() -> tuple[type[Warning], ...]:
    """The warning of documents without a word; a command that has read none has not imported it."""
    streams = sys.modules.get("textmill.corpus.streams")
    return () if streams is None else (streams.EmptyDocuments,)


def _end_tables(failed: bool) -> None:
    """Print the header of a table without rows, or leave it out after an error; a help page imports no tables."""
    tables = sys.modules.get("textmill.cli._tables")
    if tables is not None:
        if failed:
            tables.forget_headers()
        else:
            tables.print_headers(silent=bool(_empty))


def _decoded(argument: str) -> str:
    """An argument in UTF-8, which Python reads byte by byte under a locale without it; other bytes stay as they are."""
    try:
        return os.fsencode(argument).decode("utf-8") if not argument.isascii() else argument
    except UnicodeError:
        return argument


class _ClosedInput(io.RawIOBase):
    """Standard input that somebody has closed: an error when it is read."""

    def readable(self) -> bool:
        """It looks so."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Say what is wrong."""
        raise OSError(errno.EBADF, "is closed; pipe something into the command, or name a file", "standard input")


def _check_streams() -> None:
    """An error if standard output is closed: results would vanish, and the next file opened would take its place."""
    from textmill.errors import DataError

    if sys.stdout is None:
        raise DataError("standard output is closed; send it to a file, or to /dev/null if it is not wanted")
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_ClosedInput()))


def _drop_what_cannot_be_written() -> None:
    """Let nothing complain, while the process ends, about output that a full disk or a closed pipe does not take."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)


def _report(error: Exception) -> int:
    """Print an error as one line and return the exit code; errors that are our own faults are raised again."""
    from textmill.errors import ClusterError, DataError, ModelFileError

    if hasattr(error, "format_message"):  # Typer's: wrong usage
        context = getattr(error, "ctx", None)
        command = getattr(context, "command_path", "textmill")
        message = error.format_message()
        if message:  # none for a group without its verb, whose help page has been printed already
            end = " See" if message.endswith("?") else "; see"
            typer.echo(f"{command}: {message.rstrip('.')}{end} '{command} --help'", err=True)
        return 2
    if isinstance(error, BrokenPipeError):  # the reader of our output left early: not a fault
        return _CLOSED_PIPE
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename is not None else ""
        typer.echo(f"textmill: {place}{error.strerror or error}", err=True)
        return 1
    if isinstance(error, DataError | ModelFileError | ClusterError | MemoryError):
        typer.echo("textmill: " + " ".join(_worded(str(error) or "out of memory").splitlines()), err=True)
        return 1
    raise error


def _worded(message: str) -> str:
    """A message of the library in the words of the command that runs."""
    from textmill.cli._wording import in_options, options_of

    return in_options(message, options_of(command_of(typer.main.get_command(app), _arguments)))


if __name__ == "__main__":
    main()

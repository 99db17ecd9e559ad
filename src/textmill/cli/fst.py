"""Weighted finite-state transducers, with the flags of OpenFst's programs."""

from __future__ import annotations

import importlib
from typing import Any

import typer

from textmill.cli._groups import LazyGroup, command_from

_GROUPS = {"align": "_fst_align", "far": "_fst_far", "grammar": "_fst_grammar"}  # of verbs, with their modules
_VERBS = {
    verb: module
    for module, verbs in {
        "_fst_apply": "apply",
        "_fst_chain": "chain",
        "_fst_compare": "equal equivalent isomorphic",
        "_fst_learning": "counts divergence entropy learn",
        "_fst_lexicon": "lexicon",
        "_fst_formats": "compile convert draw info print symbols",
        "_fst_operations": "arcsort closure compose concat connect difference epsnormalize intersect invert map "
        "project relabel replace reverse synchronize topsort union",
        "_fst_optimize": "decode determinize disambiguate encode factor minimize rmepsilon",
        "_fst_extensions": "compress decompress edit linear ngram ngraminfo",
        "_fst_pushdown": "mpdtcompose mpdtexpand mpdtinfo mpdtreverse pdtcompose pdtexpand pdtinfo pdtreplace "
        "pdtreverse pdtshortestpath",
        "_fst_restore": "restore",
        "_fst_search": "prune push randgen reweight shortestdistance shortestpath",
        "_fst_unicode": "unicode",
    }.items()
    for verb in verbs.split()
}


class Verbs(LazyGroup):
    """A group that makes the command of a verb when it is called: making all of them takes longer than most verbs."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all verbs, in alphabetical order."""
        return sorted([*_VERBS, *_GROUPS])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a verb."""
        if cmd_name in _GROUPS:
            command = command_from(_app(_GROUPS[cmd_name]))
            command.name = cmd_name
            return command
        return command_from(_app(_VERBS[cmd_name]), cmd_name) if cmd_name in _VERBS else None


def _app(module: str) -> typer.Typer:
    app: typer.Typer = importlib.import_module(f"textmill.cli.{module}").app
    return app


app = typer.Typer(cls=Verbs, no_args_is_help=True, add_completion=False, help=__doc__)


@app.callback()
def options() -> None:
    """Weighted finite-state transducers, with the flags of OpenFst's programs.

    Machines are OpenFst binaries; without file names they come from stdin and go to stdout.

    Example: textmill fst compile a.txt | textmill fst arcsort | textmill fst print
    """

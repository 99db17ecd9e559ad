"""Weighted finite-state transducers, with the flags of OpenFst's programs."""

from __future__ import annotations

import importlib
from typing import Any

import typer
from typer.core import TyperGroup

_MODULES = ("_fst_formats", "_fst_operations", "_fst_optimize", "_fst_search", "_fst_compare", "_fst_apply")
_GROUPS = {"far": "_fst_far"}


class Verbs(TyperGroup):
    """A group that makes the command of a verb when it is called: making all of them takes longer than most verbs."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all verbs, in alphabetical order."""
        return sorted([*_registered(), *_GROUPS])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a verb."""
        if cmd_name in _GROUPS:
            command = typer.main.get_command(_app(_GROUPS[cmd_name]))
        elif cmd_name in (found := _registered()):
            single = typer.Typer(add_completion=False)
            single.registered_commands.append(found[cmd_name])
            command = typer.main.get_command(single)
        else:
            return None
        command.name = cmd_name
        return command


def _app(module: str) -> typer.Typer:
    app: typer.Typer = importlib.import_module(f"textmill.cli.{module}").app
    return app


def _registered() -> dict[str, Any]:
    """What the modules have registered for each verb."""
    found = (info for module in _MODULES for info in _app(module).registered_commands)
    return {info.name or str(getattr(info.callback, "__name__", "")): info for info in found}


app = typer.Typer(cls=Verbs, no_args_is_help=True, help=__doc__)


@app.callback()
def options() -> None:
    """Weighted finite-state transducers, with the flags of OpenFst's programs.

    Machines are OpenFst binaries; without file names they come from stdin and go to stdout.

    Example: textmill fst compile a.txt | textmill fst arcsort | textmill fst print
    """

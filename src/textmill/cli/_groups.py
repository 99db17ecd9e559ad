"""Groups of commands that are loaded when they are called, and help pages without what helps nobody.

A group knows the names of its commands without importing them, so it can list them and guess which one was meant.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from typer.core import TyperGroup

__all__ = ["LazyGroup", "command_of", "plain"]


class LazyGroup(TyperGroup):
    """A group that makes a command when it is called; subclasses have `list_commands` and `get_command`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names; an error says which one it may have meant."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as fault:
            error: Any = fault  # Typer's error of wrong usage, which has no public class
            near = get_close_matches(args[0], self.list_commands(ctx)) if args else []
            if near and hasattr(error, "format_message"):
                error.message = f"{error.format_message().rstrip('.')}. Did you mean {', '.join(map(repr, near))}?"
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, as the help page shows them."""
        return _as_shown(super().get_params(ctx))


def plain(command: Any) -> Any:
    """The command, and those in it, with plain help: arguments in capitals, and no type for flags such as --quiet."""
    parameters = command.get_params
    command.get_params = lambda ctx: _as_shown(parameters(ctx))  # which adds --help to the command's own
    for inner in getattr(command, "commands", {}).values():
        plain(inner)
    return command


def command_of(command: Any, arguments: list[str]) -> Any:
    """The innermost command that arguments call."""
    from typer import Context

    for word in arguments:
        if word.startswith("-") or not hasattr(command, "get_command"):
            continue
        inner = command.get_command(Context(command), word)
        if inner is None:
            break
        command = inner
    return command


def _as_shown(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.param_type_name == "argument" and parameter.metavar is None:
            parameter.metavar = parameter.name.upper() + ("" if parameter.nargs == 1 else "...")
    return parameters

"""Groups of commands that are loaded when they are called, and help pages without what helps nobody.

A group knows the names of its commands without importing them, so it can list them and guess which one was meant. It
makes the one that is called: Typer needs longer to read the options of a dozen verbs than most of them run.
"""

from __future__ import annotations

import inspect
from copy import copy
from functools import partial
from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["LazyGroup", "command_from", "command_of", "plain"]

_KINDS = {"str": "TEXT", "path": "PATH", "Path": "PATH", "file": "FILE", "int": "NUMBER", "float": "NUMBER"}


class LazyGroup(TyperGroup):
    """A group that makes a command when it is called; subclasses have `list_commands` and `get_command`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names; an error says which one it may have meant."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as fault:
            from difflib import get_close_matches

            error: Any = fault  # Typer's error of wrong usage, which has no public class
            near = get_close_matches(args[0], self.list_commands(ctx)) if args else []
            if near and hasattr(error, "format_message"):
                error.message = f"{error.format_message().rstrip('.')}. Did you mean {', '.join(map(repr, near))}?"
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, as the help page shows them."""
        return _as_shown(super().get_params(ctx))


class _Verbs(LazyGroup):
    """A group that makes the command of a verb when it is called."""

    verbs: dict[str, Any]

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all verbs, in the order of their definition."""
        return list(self.verbs)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a verb."""
        if cmd_name not in self.verbs:
            return None
        single = typer.Typer(add_completion=False)
        single.registered_commands.append(self.verbs[cmd_name])
        command = plain(typer.main.get_command(single))
        command.name = cmd_name
        return command


def command_from(app: typer.Typer, verb: str | None = None) -> Any:
    """The command of a Typer app, or of one of its verbs; that of several is a group of verbs yet to be made."""
    if isinstance(app.info.cls, type) and issubclass(app.info.cls, LazyGroup):
        return plain(typer.main.get_command(app))
    verbs = _verbs(app)
    if len(verbs) == 1 and app.registered_callback is None:
        return plain(typer.main.get_command(app))
    shell = copy(app)
    shell.registered_commands, shell.registered_groups = [], []
    shell.info = copy(app.info)
    shell.info.cls = _Verbs
    group: Any = typer.main.get_group(shell)
    group.verbs = verbs
    return group if verb is None else group.get_command(None, verb)


def _verbs(app: typer.Typer) -> dict[str, Any]:
    """What an app registers for each verb, with those of the apps in it."""
    registered = list(app.registered_commands)
    for group in app.registered_groups:
        registered += group.typer_instance.registered_commands if group.typer_instance is not None else []
    return {
        info.name or typer.main.get_command_name(getattr(info.callback, "__name__", "")): info for info in registered
    }


def plain(command: Any) -> Any:
    """The command, and those in it, with plain help: capitals for what the user fills in, paragraphs that flow."""
    parameters = command.get_params
    command.help = _flowing(command.help)
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


def _flowing(text: str | None) -> str | None:
    """Help whose paragraphs are broken where the terminal ends, not where the source does; each example is one."""
    if text is None:
        return None
    paragraphs = inspect.cleandoc(text).replace("\nExample: ", "\n\nExample: ").split("\n\n")
    return "\n\n".join(" ".join(part.split("\n")) for part in paragraphs)


def _as_shown(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.param_type_name == "argument":
            if parameter.metavar is None:
                parameter.metavar = parameter.name.upper() + ("" if parameter.nargs == 1 else "...")
            parameter.get_usage_pieces = partial(_usage, parameter)
            parameter.display_type_rich = lambda ctx: None  # the help says what it is
        elif parameter.metavar is None and hasattr(parameter, "display_type"):  # older versions of Typer have no such
            parameter.display_type_rich = partial(_kind, parameter)
    return parameters


def _usage(argument: Any, ctx: Any) -> list[str]:
    """An argument in the line of usage: INPUT... or [INPUT...]."""
    name = argument.metavar
    return [name if argument.required or "[" in name else f"[{name}]"]


def _kind(option: Any, ctx: Any) -> str:
    """What an option takes, without the types of Python."""
    shown: str = option.display_type(ctx)
    kinds = shown.removeprefix("<list[").removeprefix("<").rstrip("]>").removesuffix(" range").split(",")
    return " ".join(_KINDS[kind] for kind in kinds) if set(kinds) <= set(_KINDS) else shown

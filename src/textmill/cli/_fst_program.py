"""Commands that take their arguments as OpenFst's programs do.

    --flag=value   --flag value   -flag=value   --flag   --flag=true   --flag=false   --noflag

Names have underscores; dashes are taken too. Flags that all of OpenFst's programs share are read here: they become
`Settings`, or are refused with the reason. A verb is a function of the machines it reads; `machines` turns it into one
of file names, and writes what it returns.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from textmill.cli._outputs import output_argument

__all__ = ["Comparison", "Program", "Settings", "Source", "Target", "machines", "settings"]

Source = Annotated[str, typer.Argument(metavar="IN.FST", help="Machine to read; - or none for stdin.")]
Target = Annotated[str, output_argument("File to write; - or none for stdout.", "OUT.FST")]
_Needed = Annotated[str, typer.Argument(metavar="IN.FST", help="Machine to read; - for stdin.")]


@dataclass(frozen=True)
class Settings:
    """The flags that all programs share, as far as they change something."""

    align: bool = False
    map_files: bool = True
    compatible_symbols: bool = True
    separators: str = "\t "


settings: ContextVar[Settings] = ContextVar("textmill_fst_settings")  # of the command that runs

# flags of every program that change nothing here: nothing is cached, and every error ends the command
_WITHOUT_EFFECT = ("fst_default_cache_gc_limit", "tmpdir", "v")
_SWITCHES_WITHOUT_EFFECT = ("fst_default_cache_gc", "fst_verify_properties")
_REFUSED = {
    "fst_error_fatal": ("true", "an error always ends the command"),
    "fst_weight_parentheses": ("", "nested weights are written without parentheses"),
    "fst_weight_separator": (",", "the parts of a weight are separated by commas"),
    "save_relabel_ipairs": ("", "there are no look-ahead machines that relabel"),
    "save_relabel_opairs": ("", "there are no look-ahead machines that relabel"),
    "allow_negative_labels": ("false", "labels are 0 to 2,147,483,647"),
}


class _WrongUsageError(Exception):
    """An argument that has no meaning."""


class Program(TyperCommand):
    """A command whose options have OpenFst's names and forms."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for parameter in self.params:
            if parameter.param_type_name == "option":
                parameter.opts = [_underscored(name) for name in parameter.opts]
                negative = [_underscored(name) for name in parameter.secondary_opts]
                # an option that is off by default needs no negative form
                parameter.secondary_opts = negative if parameter.default else []

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        try:
            words = list(self._words(args))
        except _WrongUsageError as error:
            raise typer.BadParameter(str(error), ctx=ctx) from None
        return super().parse_args(ctx, words)

    def _words(self, arguments: list[str]) -> Iterator[str]:
        """The arguments in the one form that Typer knows, without those that all programs share."""
        options = {name: parameter for parameter in self.params for name in parameter.opts if name[:2] == "--"}
        shared, words = Settings(), iter(arguments)
        for word in words:
            if word == "--":
                yield word
                yield from words
                break
            if len(word) < 2 or word[0] != "-":
                yield word
                continue
            name, equals, value = word.lstrip("-").partition("=")
            name = name.replace("-", "_")
            if name in ("h", "help", "helpshort"):
                yield "--help"
            elif (option := options.get(f"--{name}")) is not None:
                if not getattr(option, "is_flag", False):
                    yield f"--{name}={value if equals else _next(words, name)}"
                else:
                    yield from [f"--{name}"] if _truth(name, value) else option.secondary_opts
            elif name.startswith("no") and not equals and (option := options.get(f"--{_positive(name)}")) is not None:
                yield from option.secondary_opts
            elif (changed := _shared(shared, name, equals, value, words)) is not None:
                shared = changed
            else:
                yield word
        settings.set(shared)


class Comparison(Program):
    """A program whose exit status 2 is an answer: wrong usage is 1, as every other error."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        from textmill.errors import DataError

        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            message = error.format_message() if hasattr(error, "format_message") else ""
            if not message:
                raise
            raise DataError(f"{message.rstrip('.')}; see '{ctx.command_path} --help'") from None


def machines(verb: Callable[..., Any]) -> Callable[..., None]:
    """The command of a verb: parameters annotated "Fst" become file names; the result, a machine or text, is written.

    Arguments of the verb that are required stand before the output, the others behind it.
    """
    parameters_of_verb = list(inspect.signature(verb).parameters.values())
    read = [parameter.name for parameter in parameters_of_verb if parameter.annotation == "Fst"]
    own = [parameter for parameter in parameters_of_verb if parameter.annotation != "Fst"]
    required = [parameter for parameter in own if parameter.default is parameter.empty]
    optional = [parameter for parameter in own if parameter.default is not parameter.empty]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if len(read) == 1 and not required:
        sources = [inspect.Parameter(read[0], kind, annotation=Source, default="")]
    else:
        sources = [inspect.Parameter(name, kind, annotation=_Needed) for name in read]
    writes = inspect.signature(verb).return_annotation is not None
    target = [inspect.Parameter("target", kind, annotation=Target, default="")] if writes else []

    def command(**arguments: Any) -> None:
        from textmill.cli import _fst_files as files

        names = [arguments.pop(name) for name in read]
        where = arguments.pop("target", "")
        loaded = files.read_machines(names)
        result = verb(*loaded, **arguments)
        if isinstance(result, str):
            files.write_text(result, where)
        elif result is not None:
            files.write_machine(result, where)

    parameters = [*sources, *required, *target, *optional]
    command.__name__, command.__doc__, command.__module__ = verb.__name__, verb.__doc__, verb.__module__
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _underscored(name: str) -> str:
    return "--" + name[2:].replace("-", "_") if name.startswith("--") else name


def _positive(name: str) -> str:
    """What the name of a flag that puts another off says of that."""
    return name.removeprefix("no").removeprefix("_")


def _next(words: Iterator[str], name: str) -> str:
    value = next(words, None)
    if value is None:
        raise _WrongUsageError(f"--{name} needs a value: --{name}=...")
    return value


def _truth(name: str, value: str) -> bool:
    if value.lower() not in ("", "true", "false", "1", "0"):
        raise _WrongUsageError(f"--{name} is true or false, not {value!r}")
    return value.lower() in ("", "true", "1")


def _shared(shared: Settings, name: str, equals: str, value: str, words: Iterator[str]) -> Settings | None:
    """The settings with a flag that all programs share; None if it is another flag."""
    if name in ("fst_read_mode", "fst_field_separator", *_WITHOUT_EFFECT) and not equals:
        value = _next(words, name)
    if name == "fst_align":
        return replace(shared, align=_truth(name, value))
    if name == "fst_compat_symbols":
        return replace(shared, compatible_symbols=_truth(name, value))
    if name == "fst_field_separator":
        return replace(shared, separators=value)
    if name == "fst_read_mode":
        if value not in ("read", "map"):
            raise _WrongUsageError(f"--fst_read_mode is read or map, not {value!r}")
        return replace(shared, map_files=value == "map")
    if name in _SWITCHES_WITHOUT_EFFECT:
        _truth(name, value)
    elif name in _REFUSED:
        only, reason = _REFUSED[name]
        if value.lower() != only and (equals or only != "true"):
            raise _WrongUsageError(f"--{name} cannot be changed here: {reason}")
    elif name not in _WITHOUT_EFFECT:
        return None
    return shared

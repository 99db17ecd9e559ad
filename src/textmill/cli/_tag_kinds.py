"""Kinds of taggers that `textmill tag train` makes: one row each, with the options that only they have."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, NamedTuple

import typer

__all__ = ["KINDS", "HiddenStates", "Kind", "states_of"]


class Kind(NamedTuple):
    """A kind of tagger: the algorithm it is trained with by default, and its own options."""

    algorithm: str
    options: tuple[str, ...] = ()


KINDS: dict[str, Kind] = {
    "crf": Kind("owlqn"),
    "memm": Kind("owlqn"),
    "latent": Kind("lbfgs", ("states", "order", "start", "noise", "restarts")),
    "semimarkov": Kind("lbfgs"),
}

_States = Annotated[
    str | None,
    typer.Option(metavar="NUMBERS", help="Latent: hidden states per label, such as 4 or B=4,I=2,O=1; default: 4."),
]
_Order = Annotated[int | None, typer.Option(help="Latent: 1, or 2 for tests of three states; default: 1.")]
_Start = Annotated[
    str | None, typer.Option(help="Latent: where training starts, random, crf or split; default: random.")
]
_Noise = Annotated[
    float | None, typer.Option(help="Latent: standard deviation of random start weights; default: 0.05.")
]
_Restarts = Annotated[
    int | None, typer.Option(help="Latent: number of trainings; the best on development data is kept; default: 1.")
]


@dataclass(frozen=True)
class HiddenStates:
    """Options of models with hidden states."""

    states: _States = None
    order: _Order = None
    start: _Start = None
    noise: _Noise = None
    restarts: _Restarts = None

    def parameters(self, kind: str) -> dict[str, Any]:
        """The parameters of a tagger of this kind; an option that it does not have is an error."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self)}
        parameters = {name: value for name, value in parameters.items() if value is not None}
        allowed = KINDS[kind].options if kind in KINDS else ()
        for name in parameters:
            if name not in allowed:
                kinds = ", ".join(kind for kind, row in KINDS.items() if name in row.options)
                raise typer.BadParameter(f"--{name} is not an option of --kind {kind} but of {kinds}")
        if "states" in parameters:
            parameters["states"] = states_of(parameters["states"])
        return parameters


def states_of(text: str) -> int | dict[str, int]:
    """One number of states, or one for each label."""
    from textmill.errors import DataError

    try:
        if "=" not in text:
            return int(text)
        pairs = [part.rpartition("=") for part in text.split(",")]
        return {label.strip(): int(number) for label, _, number in pairs}
    except ValueError:
        raise DataError(f"--states must be a number, or numbers such as B=4,I=2,O=1, got '{text}'") from None

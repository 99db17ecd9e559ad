"""The panel of transducers: a picture, and the best outputs for a string.

Pictures are made by `fst.to_svg`, which escapes every label, and lose the one style attribute that the security policy
of the page would refuse. A machine that is too large for a picture can still be applied.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from textmill.errors import DataError
from textmill.fst import apply, info, to_svg
from textmill.web.answers import Refusal
from textmill.web.library import Entry
from textmill.web.service import Service

__all__ = ["MachineAnswer", "Output", "Question", "transducers_router"]

_STYLE = 'style="max-width:100%;height:auto" '
_LONGEST = 2000  # characters of a string, since paths are as long
_KEYS = 1000


class MachineAnswer(BaseModel):
    """A file of machines, the facts of one of them, and its picture or why there is none."""

    name: str
    keys: list[str]
    key: str
    facts: dict[str, str]
    picture: str | None
    fault: str | None


class Question(BaseModel):
    """A string to apply a machine to; `token_type` says what labels stand for."""

    text: str
    k: int = 5
    key: str | None = None
    token_type: str = "utf8"


class Output(BaseModel):
    """An output with its weight, as the semiring writes it."""

    text: str
    weight: str


def transducers_router(service: Service) -> APIRouter:
    """The addresses of this panel."""
    router = APIRouter(prefix="/transducers", tags=["transducers"])

    @router.get("/{name}")
    async def machine(name: str, key: str | None = None, token_type: str = "utf8") -> MachineAnswer:
        """One machine of a file."""
        entry = service.library.get(name, "transducers")
        return await service.desk.run(_shown, entry, key, token_type)

    @router.post("/{name}/apply")
    async def outputs(name: str, question: Question) -> list[Output]:
        """The best outputs of a machine for a string."""
        entry = service.library.get(name, "transducers")
        service.check_text(question.text)
        if len(question.text) > _LONGEST:
            raise Refusal(422, f"the string has {len(question.text)} characters; the limit is {_LONGEST}")
        return await service.desk.run(_apply, entry, question, service.check_k(question.k))

    return router


def _machine(entry: Entry, key: str | None) -> tuple[str, Any]:
    keys = list(entry.value)
    chosen = keys[0] if key is None and keys else key
    if chosen is None or chosen not in entry.value:
        raise Refusal(404, "the file has no machine of that name")
    if chosen not in entry.machines:
        if len(entry.machines) >= _KEYS:
            entry.machines.clear()
        entry.machines[chosen] = entry.value[chosen]
    return chosen, entry.machines[chosen]


def _shown(entry: Entry, key: str | None, token_type: str) -> MachineAnswer:
    chosen, machine = _machine(entry, key)
    facts = {name: str(value) for name, value in info(machine).items()}
    picture, fault = None, None
    try:
        picture = to_svg(machine, token_type=token_type, title=chosen).replace(_STYLE, "", 1)
    except DataError as error:
        fault = error.message
    keys = list(entry.value)[:_KEYS]
    return MachineAnswer(name=entry.name, keys=keys, key=chosen, facts=facts, picture=picture, fault=fault)


def _apply(entry: Entry, question: Question, k: int) -> list[Output]:
    _, machine = _machine(entry, question.key)
    outputs = apply(machine, [question.text], k=k, token_type=question.token_type, source="the string")[0]
    return [Output(text=text, weight=machine.semiring.format(weight)) for text, weight in outputs]

"""The panel of transducers: a picture, and the best outputs for a string.

Pictures are made by `fst.to_svg`, which escapes every label, and lose the one style attribute that the security policy
of the page would refuse. A machine that is too large for a picture can still be applied. An aligner of strings is the
machine of its links, which makes of one string what it may be aligned with.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from textmill.errors import DataError
from textmill.fst import StringAligner, apply, info, to_svg
from textmill.web.answers import Refusal
from textmill.web.library import Entry
from textmill.web.service import Service

__all__ = ["MachineAnswer", "Output", "Question", "transducers_router"]

_STYLE = 'style="max-width:100%;height:auto" '
_LONGEST = 2000  # characters of a string, since paths are as long
_KEYS = 1000
_LINKS = "links"  # the machine of an aligner


class MachineAnswer(BaseModel):
    """A file of machines, the facts of one of them, what its labels stand for, and its picture or why there is none."""

    name: str
    keys: list[str]
    key: str
    token_type: str
    facts: dict[str, str]
    picture: str | None
    fault: str | None


class Question(BaseModel):
    """A string to apply a machine to; labels are symbols where the machine has tables of them, else letters."""

    text: str
    k: int = 5
    key: str | None = None
    token_type: str | None = None


class Output(BaseModel):
    """An output with its weight, as the semiring writes it."""

    text: str
    weight: str


def transducers_router(service: Service) -> APIRouter:
    """The addresses of this panel."""
    router = APIRouter(prefix="/transducers", tags=["transducers"])

    @router.get("/{name}")
    async def machine(name: str, key: str | None = None, token_type: str | None = None) -> MachineAnswer:
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


def _keys(entry: Entry) -> list[str]:
    return [_LINKS] if isinstance(entry.value, StringAligner) else list(entry.value)


def _machine(entry: Entry, key: str | None) -> tuple[str, Any]:
    keys = _keys(entry)
    chosen = keys[0] if key is None and keys else key
    if chosen is None or chosen not in keys:
        raise Refusal(404, "the file has no machine of that name")
    if chosen not in entry.machines:
        if len(entry.machines) >= _KEYS:
            entry.machines.clear()
        aligns = isinstance(entry.value, StringAligner)
        entry.machines[chosen] = entry.value.to_fst() if aligns else entry.value[chosen]
    return chosen, entry.machines[chosen]


def _token_type(machine: Any, wanted: str | None) -> str:
    """What labels stand for, unless somebody says it."""
    has_tables = machine.input_symbols is not None and machine.output_symbols is not None
    return wanted or ("symbol" if has_tables else "utf8")


def _shown(entry: Entry, key: str | None, token_type: str | None) -> MachineAnswer:
    chosen, machine = _machine(entry, key)
    token_type = _token_type(machine, token_type)
    facts = {name: str(value) for name, value in info(machine).items()}
    picture, fault = None, None
    try:
        picture = to_svg(machine, token_type=token_type, title=chosen).replace(_STYLE, "", 1)
    except DataError as error:
        fault = error.message
    return MachineAnswer(
        name=entry.name,
        keys=_keys(entry)[:_KEYS],
        key=chosen,
        token_type=token_type,
        facts=facts,
        picture=picture,
        fault=fault,
    )


def _apply(entry: Entry, question: Question, k: int) -> list[Output]:
    _, machine = _machine(entry, question.key)
    token_type = _token_type(machine, question.token_type)
    outputs = apply(machine, [question.text], k=k, token_type=token_type, source="the string")[0]
    return [Output(text=text, weight=machine.semiring.format(weight)) for text, weight in outputs]

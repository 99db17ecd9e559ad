"""The panel of models: what is in each file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from textmill.errors import ModelFileError
from textmill.model import Summary, describe, summarize
from textmill.web.answers import Refusal
from textmill.web.library import Entry
from textmill.web.service import Service

__all__ = ["ArrayFacts", "FileFacts", "ModelAnswer", "ModelFacts", "models_router"]


class FileFacts(BaseModel):
    """A file: its name in addresses, its kind, the panels that show it, and what is wrong with it."""

    name: str
    kind: str
    panels: list[str]
    bytes: int
    fault: str | None


class ModelFacts(BaseModel):
    """What a model is and was trained on, and the models inside it."""

    kind: str
    purpose: str = ""
    fitted: bool = True
    trained_on: dict[str, int] = {}
    size: dict[str, int] = {}
    labels: list[str] = []
    options: dict[str, str] = {}
    parts: dict[str, ModelFacts] = {}


class ArrayFacts(BaseModel):
    """An array of a file."""

    name: str
    dtype: str
    shape: list[int]


class ModelAnswer(FileFacts):
    """A file with what is in it."""

    facts: ModelFacts
    arrays: list[ArrayFacts] = []


def models_router(service: Service) -> APIRouter:
    """The addresses of this panel."""
    router = APIRouter(prefix="/models", tags=["models"])

    @router.get("")
    def files() -> list[FileFacts]:
        """All files that are served."""
        return [FileFacts(**_facts(entry)) for entry in service.library]

    @router.get("/{name}")
    async def file(name: str) -> ModelAnswer:
        """What is in one file."""
        entry = service.library.get(name, "models")
        return await service.desk.run(_model, entry)

    return router


def _facts(entry: Entry) -> dict[str, Any]:
    panels = [panel for panel in entry.panels if panel != "models"]
    return {
        "name": entry.name,
        "kind": entry.kind,
        "panels": panels,
        "bytes": entry.stamp.size,
        "fault": entry.fault,
    }


def _model(entry: Entry) -> ModelAnswer:
    if entry.fault is not None:
        return ModelAnswer(**_facts(entry), facts=ModelFacts(kind=entry.kind))
    if entry.kind == "pairs of names":
        return ModelAnswer(**_facts(entry), facts=ModelFacts(kind=entry.kind, size={"pairs": len(entry.value)}))
    if entry.kind == "fst.Fst":
        machines = list(entry.value)
        size = {"machines": len(machines)}
        if len(machines) == 1:
            machine = entry.value[machines[0]]
            size = {"states": machine.num_states, "arcs": machine.num_arcs}
        return ModelAnswer(**_facts(entry), facts=ModelFacts(kind=entry.kind, size=size, labels=machines[:1000]))
    try:
        header = describe(entry.path)
        summary = summarize(entry.path)
    except (ModelFileError, OSError) as fault:
        raise Refusal(503, "the file of this model cannot be read now", retry=10) from fault
    return ModelAnswer(**_facts(entry), facts=_summed(summary), arrays=list(_arrays(header)))


def _arrays(header: dict[str, Any], prefix: str = "") -> Iterator[ArrayFacts]:
    """The arrays of a model and of the models inside it."""
    for name, one in sorted(header["arrays"].items()):
        yield ArrayFacts(name=prefix + name, dtype=one["dtype"], shape=one["shape"])
    for name, part in sorted(header["parts"].items()):
        if part is not None:
            yield from _arrays(part, f"{prefix}{name}/")


def _summed(summary: Summary) -> ModelFacts:
    return ModelFacts(
        kind=summary.kind,
        purpose=summary.purpose,
        fitted=summary.fitted,
        trained_on=summary.trained_on,
        size=summary.size,
        labels=summary.labels[:1000],
        options={name: _short(value) for name, value in summary.options.items()},
        parts={name: _summed(part) for name, part in summary.parts.items()},
    )


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 200 else text[:199] + "…"

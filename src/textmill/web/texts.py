"""The panel of texts: what every model says of a pasted one."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from textmill.web.analyses import Analysis, analyses_of
from textmill.web.service import Service

__all__ = ["PastedText", "texts_router"]


class PastedText(BaseModel):
    """A text, and the names of the files that are asked; all of them if there are none."""

    text: str
    files: list[str] = []


def texts_router(service: Service) -> APIRouter:
    """The addresses of this panel."""
    router = APIRouter(prefix="/text", tags=["text"])

    @router.post("")
    async def analyze(pasted: PastedText) -> list[Analysis]:
        """What the models say of a text."""
        text = service.check_text(pasted.text)
        entries = [service.library.get(name, "text") for name in pasted.files] or service.library.of("text")
        identifier = None if pasted.files else service.identifier
        return await service.desk.run(analyses_of, text, entries, identifier)

    return router

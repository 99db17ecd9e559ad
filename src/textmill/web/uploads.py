"""Uploads into the collection: JSON lines that are written while they come.

    curl -H 'content-type: application/x-ndjson' -T articles.jsonl http://127.0.0.1:8765/api/v1/articles/upload

The event loop hands pieces to a thread that parses and writes; when the writer is behind, the client waits, so the
stream needs a few pieces of memory, whatever its size. The collection needs its own when it merges shards. One upload
at a time in each worker, one writer of a collection at all. The answer says how many documents were written, and they
are on the disk then; after a fault, those of whole chunks before it are there.
"""

from __future__ import annotations

import asyncio
import queue
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from textmill.errors import DataError
from textmill.web.answers import Refusal
from textmill.web.articles import Articles
from textmill.web.holdings import Holdings, Upload
from textmill.web.service import Service

__all__ = ["UPLOAD", "Deletion", "Written", "uploads_router"]

UPLOAD = "/api/v1/articles/upload"
_KINDS = ("application/x-ndjson", "application/jsonl")
_PAUSE = 0.01  # seconds between two tries to hand over a piece
_PIECE = 1 << 18  # bytes that are handed over together


class Written(BaseModel):
    """How many documents were written or deleted."""

    documents: int


class Deletion(BaseModel):
    """Ids of documents to delete."""

    ids: list[str]


def uploads_router(service: Service, articles: Articles) -> APIRouter:
    """The addresses that change the collection."""
    router = APIRouter(prefix="/articles", tags=["articles"])
    writer = ThreadPoolExecutor(1, thread_name_prefix="textmill-upload")
    busy = asyncio.Lock()

    async def change(function: Any, *arguments: Any) -> Written:
        """One change at a time, in a thread of its own."""
        try:
            count = await asyncio.get_running_loop().run_in_executor(writer, partial(function, *arguments))
        except DataError as fault:
            if "another process is writing" in fault.message:
                raise Refusal(503, "somebody else is writing to the collection; come again", retry=5) from None
            raise
        finally:
            articles.forget()
        service.tally.add("uploads")
        return Written(documents=count)

    @router.post(
        "/upload",
        openapi_extra={"requestBody": {"content": {kind: {"schema": {"type": "string"}} for kind in _KINDS}}},
    )
    @router.put("/upload", include_in_schema=False)
    async def upload(request: Request) -> Written:
        """Write documents: one JSON object a line, with id, title, text and any fields."""
        holdings = _holdings(service)
        if request.headers.get("content-type", "").partition(";")[0].strip() not in _KINDS:
            raise Refusal(415, f"the body must be {' or '.join(_KINDS)}: one JSON object a line")
        if busy.locked():
            raise Refusal(503, "another upload is under way; come again", retry=5)
        async with busy:
            stream = Upload()
            writing = asyncio.create_task(change(holdings.write, iter(stream)))
            await _hand_over(request, stream, writing)
            return await writing

    @router.post("/delete")
    async def delete(deletion: Deletion) -> Written:
        """Delete documents; an unknown id is refused before anything is deleted."""
        holdings = _holdings(service)
        async with busy:
            return await change(holdings.delete, deletion.ids)

    return router


def _holdings(service: Service) -> Holdings:
    service.check_writable()
    if service.holdings is None:
        raise Refusal(404, "no collection is served; start the server with --collection")
    return service.holdings


async def _hand_over(request: Request, stream: Upload, writing: asyncio.Task[Written]) -> None:
    """Give all pieces to the writer, until one of the two stops."""
    gathered: list[bytes] = []
    size = 0
    try:
        async for piece in request.stream():
            gathered.append(piece)
            size += len(piece)
            if size >= _PIECE:
                if not await _put(stream, b"".join(gathered), writing):
                    return
                gathered, size = [], 0
        if not gathered or await _put(stream, b"".join(gathered), writing):
            await _put(stream, b"", writing)
    except (ClientDisconnect, Refusal, asyncio.CancelledError):
        await _put(stream, None, writing)
        raise


async def _put(stream: Upload, piece: bytes | None, writing: asyncio.Task[Written]) -> bool:
    """Hand over one piece; False if the writer has ended."""
    while not writing.done():
        try:
            stream.put(piece)
        except queue.Full:
            await asyncio.sleep(_PAUSE)
        else:
            return True
    return False

"""The application: panels under /api/v1, pages beside them, one gate in front.

    create_app(settings)  ->  Guard( direct answers | pages | FastAPI with one router for each panel )

Nothing runs until the server has started: threads and the watch over files belong to the lifespan, so that workers can
be forked from a process that has opened everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TextIO

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from textmill import __version__
from textmill.errors import DataError, ModelFileError
from textmill.web.answers import Answer, Refusal, Scope, error_answer, json_answer
from textmill.web.articles import Articles, articles_router
from textmill.web.feedback import feedback_router
from textmill.web.guard import COOKIE, Guard, cookie_value, fault_of
from textmill.web.holdings import Holdings
from textmill.web.judgments import Judgments
from textmill.web.library import Library
from textmill.web.logs import Log
from textmill.web.models import models_router
from textmill.web.names import names_router
from textmill.web.pages import API_POLICY, VIEWS, Pages
from textmill.web.people import people_router
from textmill.web.service import Service
from textmill.web.settings import Settings
from textmill.web.tally import Tally
from textmill.web.texts import texts_router
from textmill.web.topics import topics_router
from textmill.web.transducers import transducers_router
from textmill.web.upkeep import upkeep_router
from textmill.web.uploads import UPLOAD, uploads_router
from textmill.web.work import Desk

__all__ = ["Contents", "Token", "create_app"]

_WATCH = 1.0  # seconds between two looks at the files
_DETAILS = "the request is not what this address takes"


class Contents(BaseModel):
    """What is served: names of files by panel."""

    version: str
    read_only: bool
    collection: bool
    panels: dict[str, list[str]]
    faults: dict[str, str]


class Token(BaseModel):
    """The token that was printed at the start."""

    token: str


def create_app(
    settings: Settings,
    *,
    library: Library | None = None,
    holdings: Holdings | None = None,
    tally: Tally | None = None,
    worker: int = 0,
    log: TextIO | None = None,
) -> Guard:
    """Make the application of one worker.

    Parameters:
        settings: What is served, and to whom.
        library: The files, where they are open already; None opens them.
        holdings: The collection, where it is open already; None opens it.
        tally: Counts that all workers share; None for counts of this one.
        worker: Number of the worker.
        log: Where JSON lines go; None for nowhere.

    >>> import tempfile
    >>> from textmill.vectors import TextVectorizer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     TextVectorizer().fit(["a", "b"]).save(f"{folder}/words.mill")
    ...     app = create_app(Settings((f"{folder}/words.mill",)))
    >>> type(app).__name__
    'Guard'
    """
    settings.check()
    counts = Tally(settings.workers) if tally is None else tally
    service = Service(
        settings,
        Library(settings.files) if library is None else library,
        Desk(settings.limits.queue),
        Judgments(settings.judgment_file()),
        counts.of(worker),
        Log(log, worker),
        Holdings(settings.collection) if holdings is None and settings.collection is not None else holdings,
    )
    articles = Articles(service)
    api = FastAPI(
        title="textmill",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lambda _: _lifespan(service, articles),
    )
    for router in (
        articles_router(service, articles),
        uploads_router(service, articles),
        feedback_router(service),
        upkeep_router(service),
        people_router(service),
        topics_router(service),
        texts_router(service),
        names_router(service),
        transducers_router(service),
        models_router(service),
    ):
        api.include_router(router, prefix="/api/v1")
    _add_session(api, settings)
    _add_contents(api, service, articles)
    _add_health(api, service, articles)
    _add_faults(api, service)
    return Guard(
        _Split(api, Pages()),
        settings,
        service.tally,
        service.log,
        direct=articles.direct(),
        streams=frozenset([UPLOAD]),
        policies={"/api/docs": API_POLICY},
    )


class _Split:
    """Addresses of the API to FastAPI, all others to the pages."""

    def __init__(self, api: FastAPI, pages: Pages) -> None:
        self._api = api
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        api = scope["type"] != "http" or path.startswith(("/api/v1", "/health/", "/metrics"))
        await (self._api if api else self._pages)(scope, receive, send)


@asynccontextmanager
async def _lifespan(service: Service, articles: Articles) -> AsyncIterator[None]:
    watch = asyncio.create_task(_watch(service, articles))
    service.log.event("started", files=[entry.name for entry in service.library])
    yield
    watch.cancel()
    service.desk.close()
    articles.close()
    service.log.event("ended")
    service.log.close()


async def _watch(service: Service, articles: Articles) -> None:
    """Take over files that were replaced, and write log lines that wait."""
    while True:
        await asyncio.sleep(_WATCH)
        try:
            events = await service.desk.run(service.library.refresh)
            if await service.desk.run(articles.refresh):
                articles.forget()
            for name, event in events:
                service.tally.add("takeovers", event == "taken over")
                service.log.event("file", name=name, what=event)
        except Exception as error:  # a watch that ends would leave old files for good
            service.log.event("fault", kind=type(error).__name__, route="watch")
        service.log.flush()


def _add_session(api: FastAPI, settings: Settings) -> None:
    @api.post("/api/v1/session", status_code=204, tags=["service"])
    def log_in(login: Token, request: Request, response: Response) -> None:
        """Change the token for a cookie that scripts cannot read and other sites cannot send."""
        from hmac import compare_digest

        if settings.token is None:
            return
        if not compare_digest(login.token.encode("utf-8", "replace"), settings.token.encode()):
            raise Refusal(401, "the token is wrong; open the address that was printed at the start")
        encrypted = request.headers.get("x-forwarded-proto") == "https"  # said by a proxy; a lie harms only the liar
        value = cookie_value(settings.token)
        response.set_cookie(COOKIE, value, httponly=True, samesite="strict", path="/", secure=encrypted)


def _add_contents(api: FastAPI, service: Service, articles: Articles) -> None:
    @api.get("/api/v1", tags=["service"])
    def contents() -> Contents:
        """What is served, by panel."""
        panels = {view: [entry.name for entry in service.library.of(view)] for view in VIEWS}
        panels["articles"] = articles.methods()
        faults = {entry.name: entry.fault for entry in service.library if entry.fault is not None}
        return Contents(
            version=__version__,
            read_only=service.settings.read_only,
            collection=service.holdings is not None,
            panels=panels,
            faults=faults,
        )


def _add_health(api: FastAPI, service: Service, articles: Articles) -> None:
    @api.get("/health/live", tags=["service"])
    async def live() -> dict[str, str]:
        """Whether the worker answers at all."""
        return {"status": "live"}

    @api.get("/health/ready", tags=["service"])
    async def ready() -> dict[str, str]:
        """Whether all files can be used."""
        broken = [entry.name for entry in service.library if entry.fault is not None]
        if broken:
            raise Refusal(503, f"{len(broken)} of the files cannot be used; the log has more", retry=10)
        return {"status": "ready"}

    @api.get("/metrics", tags=["service"], response_class=Response)
    def metrics() -> Response:
        """Counts for Prometheus, of all workers."""
        return Response(service.tally.page(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_faults(api: FastAPI, service: Service) -> None:
    """Every error as one line of JSON."""

    def respond(answer: Answer) -> Response:
        headers = {name.decode(): value.decode() for name, value in answer.headers}
        return Response(answer.body, status_code=answer.code, headers=headers)

    async def fault(_: Any, error: Exception) -> Response:
        return respond(error_answer(fault_of(error)))

    async def invalid(_: Any, error: Exception) -> Response:
        faults = error.errors() if isinstance(error, RequestValidationError) else []
        where = ".".join(str(part) for part in faults[0]["loc"][1:]) if faults else ""
        words = f"{_DETAILS}: {where[:80]}: {faults[0]['msg'][:200]}" if where else _DETAILS
        return respond(error_answer(Refusal(422, words)))

    async def unknown(_: Any, error: Exception) -> Response:
        code = error.status_code if isinstance(error, HTTPException) else 500
        words = {404: "there is no such address", 405: "this address does not take that method"}.get(code, _DETAILS)
        return respond(json_answer({"error": words}, code))

    for kind in (Refusal, DataError, ModelFileError, Exception):
        api.add_exception_handler(kind, fault)
    api.add_exception_handler(RequestValidationError, invalid)
    api.add_exception_handler(HTTPException, unknown)

"""The first requests, made before there is a client, in the process that workers are forked from.

    warm     every file, every panel: one small request through a whole application, which is then thrown away
    fork
    touch    a worker reads one text, so that the pages it writes to are its own before somebody waits

So whatever a request imports, opens, checks or makes once is there when workers are forked, and is shared by them: the
first request of a worker costs what the second does. What fails here is left for the client who asks for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote, urlencode

from textmill.web.analyses import analyses_of, bundled_identifier
from textmill.web.answers import Message
from textmill.web.application import create_app
from textmill.web.holdings import Holdings
from textmill.web.library import Library
from textmill.web.serving import server_of
from textmill.web.settings import Settings

__all__ = ["touch", "warm"]

_TEXT = "The mill by the river grinds corn. A storm comes in from the sea, and the boats turn back to Brno."
_THREAD_SECONDS = 10.0  # for threads of the application that is thrown away to end


def warm(settings: Settings, library: Library, holdings: Holdings | None = None) -> None:
    """Ask for everything once that clients will ask for.

    >>> import tempfile
    >>> from textmill.vectors import TextVectorizer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     TextVectorizer().fit(["a", "b"]).save(f"{folder}/words.mill")
    ...     warm(Settings((f"{folder}/words.mill",)), Library([f"{folder}/words.mill"]))
    """
    before = set(threading.enumerate())
    app = create_app(settings, library=library, holdings=holdings)
    config = server_of(app, settings).config
    config.load()  # the protocol of connections
    config.get_loop_factory()
    asyncio.run(_Client(app, settings).ask_for_all(library))
    for thread in set(threading.enumerate()) - before:  # none of them would be there after a fork
        thread.join(_THREAD_SECONDS)


def touch(library: Library) -> None:
    """Let a new worker read a text: the pages that this writes to (counts of references) become its own.

    >>> touch(Library([]))
    """
    with contextlib.suppress(Exception):  # as in `warm`
        analyses_of(_TEXT, library.of("text"), bundled_identifier())


class _Client:
    """Requests to an application in this process."""

    def __init__(self, app: Any, settings: Settings) -> None:
        self._app = app
        self._headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        if settings.token is not None:
            self._headers.append((b"authorization", b"Bearer " + settings.token.encode()))

    async def ask_for_all(self, library: Library) -> None:
        """Start the application, ask for everything once, and end it."""
        events: asyncio.Queue[Message] = asyncio.Queue()
        started = asyncio.Event()

        async def send(message: Message) -> None:
            started.set()

        life = asyncio.create_task(self._app({"type": "lifespan", "asgi": {"version": "3.0"}}, events.get, send))
        await events.put({"type": "lifespan.startup"})
        await started.wait()
        for method, address, body in _requests(library):
            await self._ask(method, address, body)
        listed = await self._ask("GET", "/api/v1/articles?count=1")
        for article in json.loads(listed or b"{}").get("articles", []):
            for panel in ("article", "articles/text", "articles/mixtures", "articles/judgments", "articles/feedback"):
                await self._ask("GET", f"/api/v1/{panel}?{urlencode({'id': article['id']})}")
        await events.put({"type": "lifespan.shutdown"})
        await life

    async def _ask(self, method: str, address: str, body: dict[str, Any] | None = None) -> bytes:
        """The body of an answer; empty if the request is refused or fails."""
        path, _, query = address.partition("?")
        content = b"" if body is None else json.dumps(body).encode()
        parts: list[bytes] = []
        codes: list[int] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                codes.append(message["status"])
            parts.append(message.get("body", b""))

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [*self._headers, (b"content-length", str(len(content)).encode())],
            "client": ("127.0.0.1", 0),
            "server": ("localhost", 80),
        }
        await self._app(scope, receive, send)
        return b"".join(parts) if codes == [200] else b""


def _requests(library: Library) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """Method, address and body of what is asked of the files."""
    for address in ("/", "/api/v1", "/api/v1/models", "/health/live", "/health/ready", "/metrics"):
        yield "GET", address, None
    yield "POST", "/api/v1/text", {"text": _TEXT}
    yield "GET", f"/api/v1/search?{urlencode({'text': _TEXT, 'k': 1})}", None
    yield "POST", "/api/v1/search", {"text": _TEXT, "k": 1}
    yield "GET", "/api/v1/articles/upkeep", None
    for panel in ("topics", "names", "transducers", "models"):
        for entry in library.of(panel):
            yield "GET", f"/api/v1/{panel}/{quote(entry.name, safe='')}", None
    for entry in library.of("transducers"):
        yield "POST", f"/api/v1/transducers/{quote(entry.name, safe='')}/apply", {"text": "a"}

"""The gate in front of everything: who may ask what, how much, and for how long.

    Host      localhost, an address, or a name that was given at the start: other names are DNS rebinding        421
    Origin    the same as Host, or none: another page must not write here, nor read                               403
    token     in a cookie (browsers) or in Authorization: Bearer (machines), compared in constant time            401
    body      Content-Length and the bytes that really come                                                       413
    queue     requests that are under way                                                                         503
    seconds   for a whole request; a client that does not send its body gets 408                                  503

One layer of plain ASGI: every header is looked at once, and an answer that is there as bytes goes out without FastAPI.
Each answer gets the headers that a browser needs to keep the page to itself: no script but our files, no frame, no
foreign address. What goes wrong inside becomes one line of JSON without a traceback; the log has its kind and place.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from textmill.errors import DataError, ModelFileError
from textmill.web.answers import Answer, Direct, Message, Receive, Refusal, Scope, Send, error_answer
from textmill.web.logs import Log
from textmill.web.settings import Settings
from textmill.web.tally import ROUTES, Tally

__all__ = ["COOKIE", "Guard", "cookie_value", "fault_of"]

COOKIE = "textmill"
_METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "DELETE"])
_SAFE = frozenset(["GET", "HEAD"])
_ROUTES = frozenset(ROUTES)
_KNOWN_HOSTS = 256  # values of Host that are remembered
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_NO_STORE = (b"cache-control", b"no-store")


class Guard:
    """The application that a server runs: checks each request, then lets `app` or a direct answer have it.

    Parameters:
        app: The application behind the gate.
        settings: Token, names and limits.
        tally: Counts of answers.
        log: Where lines go.
        direct: Answers by path that need nothing of FastAPI.
        streams: Paths whose bodies are streams, with a limit of their own.
        policies: Security policies of paths that cannot live with the usual one.
    """

    def __init__(
        self,
        app: Any,
        settings: Settings,
        tally: Tally,
        log: Log,
        *,
        direct: Mapping[str, Direct],
        streams: frozenset[str] = frozenset(),
        policies: Mapping[str, bytes] | None = None,
    ) -> None:
        self.app = app
        self.direct = direct
        self._limits = settings.limits
        self._tally = tally
        self._log = log
        self._streams = streams
        self._policies = dict(policies or {})
        self._under_way = 0
        self._names = {"localhost", settings.host.lower(), *(name.lower() for name in settings.names)}
        self._hosts: dict[bytes, bool] = {}
        self._bearer = None if settings.token is None else b"Bearer " + settings.token.encode()
        self._cookie = None if settings.token is None else cookie_value(settings.token).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            elif scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        began = perf_counter()
        path: str = scope["path"]
        route = _route(path)
        self._under_way += 1
        try:
            length = self._check(scope, route, path)
            direct = self.direct.get(path) if scope["method"] == "GET" else None
            if direct is None:
                await self._through(scope, receive, send, length, route, began)
                return
            answer = await direct(scope["query_string"])
        except Exception as error:
            answer = self._fault(error, route)
        finally:
            self._under_way -= 1
        await self._send(answer, send)
        self._note(route, scope["method"], answer.code, began, len(answer.body))

    def _check(self, scope: Scope, route: str, path: str) -> int | None:
        """Refuse what may not pass; returns the length of the body, where the client says it."""
        host = origin = cookie = bearer = length = kind = site = None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value if host is None else b""
            elif name == b"origin":
                origin = value
            elif name == b"cookie":
                cookie = value
            elif name == b"authorization":
                bearer = value
            elif name == b"content-length":
                length = value
            elif name == b"content-type":
                kind = value
            elif name == b"sec-fetch-site":
                site = value
        if not host or not (self._hosts.get(host) or self._is_ours(host)):
            raise Refusal(421, "this server does not answer under that name; use its address, or start it with --name")
        if origin is not None and origin.partition(b"://")[2] != host:
            raise Refusal(403, "requests from other pages are refused")
        method = scope["method"]
        if method not in _METHODS:
            raise Refusal(405, "only GET, HEAD, POST, PUT and DELETE are answered")
        if method not in _SAFE:
            if site == b"cross-site":
                raise Refusal(403, "requests from other pages are refused")
            if path not in self._streams and (kind is None or kind.partition(b";")[0].strip() != b"application/json"):
                raise Refusal(415, "the body must be application/json")
        if self._cookie is not None and not _is_open(route, path) and not self._is_known(cookie, bearer):
            raise Refusal(401, "the token is missing or wrong; open the address that was printed at the start")
        if self._under_way > self._limits.queue:
            raise Refusal(503, "too many requests wait; come again", retry=1)
        if length is None:
            return None
        if not length.isdigit():
            raise Refusal(400, "the length of the body is not a number")
        most = self._limits.upload if path in self._streams else self._limits.body
        if len(length) > 15 or int(length) > most:
            raise Refusal(413, f"the body is larger than {most} bytes")
        return int(length)

    def _is_ours(self, host: bytes) -> bool:
        """Whether Host names this server: by address, which no foreign name can take, or by a name of its own."""
        name = host.decode("latin-1").lower()
        name = name[1:].partition("]")[0] if name.startswith("[") and "]" in name else name.partition(":")[0]
        try:
            ours = bool(ipaddress.ip_address(name))
        except ValueError:
            ours = name in self._names
        if ours and len(self._hosts) < _KNOWN_HOSTS:
            self._hosts[host] = True
        return ours

    def _is_known(self, cookie: bytes | None, bearer: bytes | None) -> bool:
        if bearer is not None and self._bearer is not None:
            return hmac.compare_digest(bearer, self._bearer)
        for part in (cookie or b"").split(b";"):
            name, _, value = part.strip().partition(b"=")
            if name == COOKIE.encode() and self._cookie is not None:
                return hmac.compare_digest(value, self._cookie)
        return False

    async def _through(
        self, scope: Scope, receive: Receive, send: Send, length: int | None, route: str, began: float
    ) -> None:
        """Let the application answer, within its limits."""
        streams = scope["path"] in self._streams
        most = self._limits.upload if streams else self._limits.body
        exchange = _Exchange(
            receive, send, most, self._limits.seconds if streams else None, self._policies.get(scope["path"])
        )
        error: Exception | None = None
        try:
            async with asyncio.timeout(None if streams else self._limits.seconds):
                await self.app(scope, exchange.receive, exchange.send)
        except Exception as fault:
            error = fault
        refusal = exchange.refusal
        if isinstance(error, TimeoutError) and refusal is None:
            late = length != 0 and scope["method"] not in _SAFE and not exchange.whole
            refusal = Refusal(408, "the body came too slowly") if late else Refusal(503, "this took too long", retry=5)
        code, size = exchange.code, exchange.size
        if not exchange.started:
            answer = error_answer(refusal) if refusal is not None else self._fault(error or _Silence(), route)
            await self._send(answer, send)
            code, size = answer.code, len(answer.body)
        elif error is not None:
            self._fault(error, route)
            if not exchange.ended:  # too late for another answer: it stays cut, and the connection is closed
                raise ConnectionAbortedError
        self._note(route, scope["method"], code, began, size)

    async def _send(self, answer: Answer, send: Send) -> None:
        headers = [*answer.headers, (b"content-length", b"%d" % len(answer.body)), *_HEADERS, _NO_STORE]
        await send({"type": "http.response.start", "status": answer.code, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    def _note(self, route: str, method: str, code: int, began: float, size: int) -> None:
        seconds = perf_counter() - began
        self._tally.answered(route, code, seconds)
        self._log.answer(route, method, code, seconds, size)

    def _fault(self, error: Exception, route: str) -> Answer:
        refusal = fault_of(error)
        if refusal.code == 500:
            self._log.event("fault", route=route, kind=type(error).__name__, place=_place(error))
        return error_answer(refusal)


class _Silence(Exception):  # noqa: N818
    """An application that has answered nothing."""


class _Exchange:
    """One request and its answer: counts bytes in, adds headers out, keeps back the answer to what was refused."""

    def __init__(self, receive: Receive, send: Send, most: int, seconds: float | None, policy: bytes | None) -> None:
        self._receive = receive
        self._send = send
        self._most = most
        self._seconds = seconds
        self._policy = policy
        self.refusal: Refusal | None = None
        self.taken = 0
        self.whole = False
        self.started = False
        self.ended = False
        self.code = 0
        self.size = 0

    async def receive(self) -> Message:
        """The next piece of the body."""
        try:
            async with asyncio.timeout(None if self.whole else self._seconds):
                message = await self._receive()
        except TimeoutError:
            self.refusal = Refusal(408, "the body came too slowly")
            raise self.refusal from None
        if message["type"] == "http.request":
            self.taken += len(message.get("body", b""))
            self.whole = not message.get("more_body", False)
            if self.taken > self._most:
                self.refusal = Refusal(413, f"the body is larger than {self._most} bytes")
                raise self.refusal
        return message

    async def send(self, message: Message) -> None:
        """Pass on a piece of the answer."""
        if self.refusal is not None and not self.started:
            return
        if message["type"] == "http.response.start":
            self.started = True
            self.code = message["status"]
            headers = [*message["headers"], *_HEADERS]
            if self._policy is not None:
                headers[-len(_HEADERS)] = (b"content-security-policy", self._policy)
            if not any(name == b"cache-control" for name, _ in headers):
                headers.append(_NO_STORE)
            message = {**message, "headers": headers}
        else:
            self.size += len(message.get("body", b""))
            self.ended = not message.get("more_body", False)
        await self._send(message)


def cookie_value(token: str) -> str:
    """What a browser keeps instead of the token itself."""
    return hashlib.sha256(b"textmill cookie\n" + token.encode()).hexdigest()


def fault_of(error: BaseException) -> Refusal:
    """What a client is told of an error: the fault and the remedy, never a path.

    >>> fault_of(DataError("k must be at least 1", source="/srv/secret.mill")).words
    'k must be at least 1'
    >>> fault_of(KeyError("/srv/secret.mill")).words
    'something went wrong here; the log has more'
    """
    if isinstance(error, Refusal):
        return error
    if isinstance(error, TimeoutError):
        return Refusal(503, "this took too long", retry=5)
    if isinstance(error, DataError):
        return Refusal(422, error.message)
    if isinstance(error, ModelFileError):
        return Refusal(503, "the file of this model is damaged; the log has more", retry=30)
    if isinstance(error, MemoryError):
        return Refusal(503, "there is not enough memory for this now", retry=30)
    return Refusal(500, "something went wrong here; the log has more")


def _is_open(route: str, path: str) -> bool:
    """Whether a path needs no token: pages, which hold no data, the log-in, and what a supervisor asks."""
    return route == "pages" or path == "/api/v1/session" or path in ("/health/live", "/health/ready")


def _route(path: str) -> str:
    """Under which name a request is counted."""
    if path.startswith("/api/"):
        words = path.split("/", 4)
        return words[3] if len(words) > 3 and words[3] in _ROUTES else "other"
    return "health" if path.startswith(("/health/", "/metrics")) else "pages"


def _place(error: BaseException) -> str:
    """The last line of ours that an error went through."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__", ""))
        if name.startswith("textmill"):
            place = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place

"""The page, its scripts and styles, and the page of the API: all from this package, held in memory, with tags.

Every view has an address of its own (/articles, /transducers/speller?text=...), for which the same page is sent; its
script reads the address. Files carry an ETag, so a browser asks again and gets 304 without a body.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from textmill.web.answers import Answer, Receive, Scope, Send

__all__ = ["API_POLICY", "VIEWS", "Pages"]

VIEWS = ("articles", "topics", "text", "names", "transducers", "models")
# the page of the API sets styles from its script
API_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".png": b"image/png",
}
_SWAGGER = ("swagger-ui-bundle.js", "swagger-ui.css")


class Pages:
    """An ASGI application of files in memory.

    >>> Pages().answer("/models/news").headers[0]
    (b'content-type', b'text/html; charset=utf-8')
    >>> Pages().answer("/static/../settings.py").code
    404
    """

    def __init__(self) -> None:
        self._files = {f"/static/{name}": _file(name, body) for name, body in _own_files().items()}
        for name in _SWAGGER:
            self._files[f"/static/swagger/{name}"] = _file(name, _swagger(name))
        self._page = self._files["/static/index.html"]
        self._files["/api/docs"] = self._files["/static/api.html"]
        self._files["/favicon.ico"] = self._files["/static/icon.svg"]

    def answer(self, path: str, tag: bytes | None = None) -> Answer:
        """The file at a path; for views, the page."""
        file = self._files.get(path)
        if file is None:
            if path != "/" and path.split("/", 2)[1] not in VIEWS:
                return Answer(404, b"there is no such page", ((b"content-type", b"text/plain; charset=utf-8"),))
            file = self._page
        own = dict(file.headers)[b"etag"]
        return Answer(304, b"", file.headers) if tag is not None and own in tag else file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        tag = next((value for name, value in scope["headers"] if name == b"if-none-match"), None)
        answer = self.answer(scope["path"], tag)
        headers = [*answer.headers]
        if answer.code != 304:
            headers.append((b"content-length", b"%d" % len(answer.body)))
        await send({"type": "http.response.start", "status": answer.code, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else answer.body})


def _file(name: str, body: bytes) -> Answer:
    kind = _KINDS[name[name.rindex(".") :]]
    tag = b'"' + hashlib.blake2b(body, digest_size=12).hexdigest().encode() + b'"'
    return Answer(200, body, ((b"content-type", kind), (b"etag", tag), (b"cache-control", b"no-cache")))


def _own_files() -> Mapping[str, bytes]:
    files: dict[str, bytes] = {}

    def collect(folder: Any, prefix: str) -> None:
        for item in folder.iterdir():
            if item.is_dir():
                collect(item, f"{prefix}{item.name}/")
            elif any(item.name.endswith(suffix) for suffix in _KINDS):
                files[prefix + item.name] = item.read_bytes()

    collect(resources.files("textmill.web").joinpath("static"), "")
    return files


def _swagger(name: str) -> bytes:
    return resources.files("fastapi_offline").joinpath("static", name).read_bytes()

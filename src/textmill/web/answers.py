"""Answers as bytes, and the faults that become one.

    Answer(code, body, headers)      what goes over the wire
    Refusal(code, words)             raised anywhere: {"error": words}, without a path or a traceback

An answer that is asked for often is made once as bytes: what FastAPI would do to it each time (validate, convert,
encode) costs more than to find it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias

from textmill.readable import as_json

__all__ = [
    "Answer",
    "Direct",
    "Message",
    "Receive",
    "Refusal",
    "Scope",
    "Send",
    "error_answer",
    "json_answer",
    "json_bytes",
]

Scope: TypeAlias = dict[str, Any]
Message: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_JSON = (b"content-type", b"application/json")


class Answer(NamedTuple):
    """A code, a body, and headers beside those that every answer has."""

    code: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = (_JSON,)


# answers a GET by its query without FastAPI
Direct: TypeAlias = Callable[[bytes], Awaitable[Answer]]


class Refusal(Exception):  # noqa: N818
    """A request that is not answered: the code, why in words for a person, and when to come again in seconds."""

    def __init__(self, code: int, words: str, retry: int | None = None) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.retry = retry


def json_bytes(value: Any) -> bytes:
    """A value as JSON; a number that is none becomes null.

    >>> json_bytes({"score": float("nan"), "name": "Ä"}).decode()
    '{"score":null,"name":"Ä"}'
    """
    return as_json(value, separators=(",", ":")).encode("utf-8", "replace")


def json_answer(value: Any, code: int = 200) -> Answer:
    """A value as an answer."""
    return Answer(code, json_bytes(value))


def error_answer(refusal: Refusal) -> Answer:
    """What a refused client is told.

    >>> error_answer(Refusal(503, "busy", retry=1)).headers[1]
    (b'retry-after', b'1')
    """
    headers = (_JSON,) if refusal.retry is None else (_JSON, (b"retry-after", str(refusal.retry).encode()))
    if refusal.code == 401:
        headers = (*headers, (b"www-authenticate", b"Bearer"))
    return Answer(refusal.code, json_bytes({"error": refusal.words}), headers)

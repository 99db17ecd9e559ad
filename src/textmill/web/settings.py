"""What a server is told at its start, and the limits it keeps.

Everything that a request may cost has a limit here: the size of its body, the length of its text, the number of
answers, its seconds, and how many requests may wait. Files are named here and nowhere else.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field

from textmill.errors import DataError

__all__ = ["Limits", "Settings", "is_loopback"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may cost.

    Attributes:
        body: Bytes of a request (413).
        upload: Bytes of an upload into the collection (413).
        text: Characters of a text (422).
        k: Number of answers (422).
        seconds: For a whole request, and for each piece of an upload (503, or 408 when the client is late).
        queue: Requests that are under way in one worker (503).
        connections: Open connections of one worker; further ones are closed.
    """

    body: int = 1 << 20
    upload: int = 4 << 30
    text: int = 100_000
    k: int = 100
    seconds: float = 30.0
    queue: int = 1024
    connections: int = 20_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What is served, where, and to whom.

    Attributes:
        files: Model files, machines (.fst, .far) and lists of pairs (.tsv, .csv, .jsonl).
        collection: A collection of documents, or None.
        host: Address to listen at.
        port: Port; 0 for a free one.
        token: What clients must know; needed unless the address is a loopback one.
        names: Further names under which browsers reach the server, behind a proxy.
        workers: Number of processes.
        read_only: Whether uploads, judgments and decisions are refused.
        judgments: File of judgments and decisions; None for one in the collection, or in the current folder.
        limits: What one request may cost.

    >>> Settings(("news.mill",)).check().judgment_file()
    'judgments.sqlite'
    >>> Settings(("news.mill",), port=70_000).check()
    Traceback (most recent call last):
    textmill.errors.DataError: a port lies from 0 to 65535, got 70000
    """

    files: tuple[str, ...] = ()
    collection: str | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    names: tuple[str, ...] = ()
    workers: int = 1
    read_only: bool = False
    judgments: str | None = None
    limits: Limits = field(default_factory=Limits)

    def check(self) -> Settings:
        """Return the settings if a server can be made of them."""
        if not self.files and self.collection is None:
            raise DataError("there is nothing to serve; name model files or a collection")
        if self.token is not None and len(self.token) < _SHORTEST:
            raise DataError(f"the token is shorter than {_SHORTEST} characters and can be guessed; pass a longer one")
        if self.token is None and not is_loopback(self.host):
            raise DataError(
                f"the address {self.host} can be reached from other machines; pass a token, or listen at 127.0.0.1"
            )
        if not 0 <= self.port < 1 << 16:
            raise DataError(f"a port lies from 0 to 65535, got {self.port}")
        if not 1 <= self.workers <= _MOST_WORKERS:
            raise DataError(f"workers must lie from 1 to {_MOST_WORKERS}, got {self.workers}")
        return self

    def judgment_file(self) -> str:
        """Where judgments are stored."""
        if self.judgments is not None:
            return self.judgments
        folder = self.collection if self.collection is not None and os.path.isdir(self.collection) else ""
        return os.path.join(folder, "judgments.sqlite")


_SHORTEST, _MOST_WORKERS = 16, 64


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.2", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

"""HTTP with a limit for clients that hang: who connects must send the head of a request in time.

uvicorn closes a connection that is idle after an answer, but waits for ever for the first byte, or for the rest of the
headers. Here both have a limit, and so has the number of connections.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from textmill.web.settings import Limits

__all__ = ["protocol_class"]


def protocol_class(limits: Limits) -> type[HttpToolsProtocol]:
    """The protocol of a server with these limits."""

    class Impatient(HttpToolsProtocol):
        """Closes connections that send no request."""

        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                transport.close()
                return
            self._late = self.loop.call_later(limits.seconds, transport.close)

        def on_headers_complete(self) -> None:
            self._in_time()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._in_time()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self._late is None:
                self._late = self.loop.call_later(limits.seconds, self.transport.close)

        def _in_time(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

    return Impatient

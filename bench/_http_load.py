"""A client that asks as fast as it is answered: some connections, each with one request under way.

    python -m bench._http_load PORT CONNECTIONS SECONDS REQUESTS.json

Prints one line of JSON: requests a second, median and 99th percentile of the milliseconds, how many answers were not
200, and the length of the first body. Requests are whole HTTP messages, taken in turn.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any


class Asking(asyncio.Protocol):
    """One connection."""

    def __init__(self, requests: list[bytes], first: int, step: int, until: float, done: asyncio.Event) -> None:
        self._requests = requests
        self._next = first
        self._step = step
        self._until = until
        self._done = done
        self._buffer = bytearray()
        self._sent = 0.0
        self.seconds: list[float] = []
        self.bad = 0
        self.size = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._sent = time.perf_counter()
        if self._sent > self._until:
            self._transport.close()
            self._done.set()
            return
        self._transport.write(self._requests[self._next % len(self._requests)])
        self._next += self._step

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self._buffer.find(b"content-length: ", 0, head)
        end = self._buffer.find(b"\r\n", at)
        length = int(self._buffer[at + 16 : end])
        if len(self._buffer) < head + 4 + length:
            return
        self.seconds.append(time.perf_counter() - self._sent)
        self.bad += not self._buffer.startswith(b"HTTP/1.1 200")
        self.size = self.size or length
        self._buffer.clear()
        self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None:
            self.bad += 1
        self._done.set()


async def load(port: int, connections: int, seconds: float, requests: list[bytes]) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    until = time.perf_counter() + seconds
    began = time.perf_counter()
    asking = []
    for number in range(connections):
        done = asyncio.Event()
        one = Asking(requests, number, connections, until, done)
        await loop.create_connection(lambda one=one: one, "127.0.0.1", port)  # type: ignore[misc]
        asking.append((one, done))
    for _, done in asking:
        await done.wait()
    took = time.perf_counter() - began
    times = sorted(second for one, _ in asking for second in one.seconds)
    return {
        "rate": len(times) / took,
        "requests": len(times),
        "median": 1e3 * times[len(times) // 2],
        "p99": 1e3 * times[min(len(times) - 1, int(0.99 * len(times)))],
        "bad": sum(one.bad for one, _ in asking),
        "bytes": asking[0][0].size,
    }


def main() -> None:
    port, connections, seconds, path = sys.argv[1:5]
    requests = [text.encode("latin-1") for text in json.loads(Path(path).read_text())]
    try:
        import uvloop

        run = uvloop.run
    except ImportError:
        run = asyncio.run
    print(json.dumps(run(load(int(port), int(connections), float(seconds), requests))))


if __name__ == "__main__":
    main()

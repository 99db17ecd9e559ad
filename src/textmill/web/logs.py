"""Log lines as JSON: one object for each answer and each event, without texts, ids, tokens or addresses of people.

    {"at": "2026-01-05T12:00:00.123Z", "worker": 0, "event": "answer", "route": "search", "method": "POST", ...}

Lines are collected and written together a few times a second, so that a line costs no system call of its own; `close`
writes the rest.
"""

from __future__ import annotations

import json
import time
from typing import Any, TextIO

__all__ = ["Log"]

_EVERY = 0.25  # seconds between two writes
_MOST = 1000  # lines that wait for one


class Log:
    r"""A log that writes JSON lines.

    >>> import io
    >>> out = io.StringIO()
    >>> log = Log(out, worker=3)
    >>> log.event("started", port=80)
    >>> log.close()
    >>> json.loads(out.getvalue())["worker"]
    3
    """

    def __init__(self, out: TextIO | None, worker: int = 0) -> None:
        self._out = out
        self._worker = worker
        self._lines: list[str] = []
        self._next = 0.0
        self._second = (-1, "")

    def answer(self, route: str, method: str, code: int, seconds: float, size: int) -> None:
        """Note an answer; its address and its query stay out, since they may hold texts."""
        if self._out is None:
            return
        now = time.time()
        self._lines.append(
            f'{{"at": "{self._stamp(now)}", "worker": {self._worker}, "event": "answer", "route": "{route}", '
            f'"method": "{method}", "code": {code}, "ms": {1000 * seconds:.2f}, "bytes": {size}}}\n'
        )
        if now >= self._next or len(self._lines) >= _MOST:
            self.flush(now)

    def event(self, name: str, /, **facts: Any) -> None:
        """Note that something happened, at once."""
        if self._out is not None:
            now = time.time()
            facts = {"at": self._stamp(now), "worker": self._worker, "event": name, **facts}
            self._lines.append(json.dumps(facts, ensure_ascii=True) + "\n")
            self.flush(now)

    def flush(self, now: float | None = None) -> None:
        """Write what waits; a log that cannot be written stops nobody."""
        self._next = (time.time() if now is None else now) + _EVERY
        if self._out is not None and self._lines:
            lines, self._lines = "".join(self._lines), []
            try:
                self._out.write(lines)
                self._out.flush()
            except (OSError, ValueError):
                return

    def close(self) -> None:
        """Write the rest."""
        self.flush()

    def _stamp(self, now: float) -> str:
        whole = int(now)
        if self._second[0] != whole:
            self._second = whole, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
        return f"{self._second[1]}.{int(1000 * (now - whole)):03d}Z"

"""A bar at the foot of a terminal that never mixes with what is printed there.

    bytes for stdout or stderr  ->  the bar is erased  ->  the bytes  ->  the bar again, once they have ended a line

A terminal has one cursor for everybody who writes to it. So while a bar may be drawn, `sys.stdout` and `sys.stderr` are
streams that erase the bar before they pass a byte on, and the bar returns only where a line begins: what is printed
looks as if there had never been a bar. When the block ends there is none. Streams that are no terminal stay as they
are, and so does what is written past Python.

Cost: a lock and a flush per write.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import IO, Any, TextIO

__all__ = ["Bar", "is_terminal"]


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a bar can be drawn on a stream: a terminal that can move its cursor.

    >>> is_terminal(None), is_terminal(io.StringIO())
    (False, False)
    """
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


class Bar:
    """One bar on stderr while its `with` block runs; not drawn before `show`."""

    def __init__(self) -> None:
        self.visible = False
        self._lock = threading.RLock()
        self._at_line_start = True
        self._originals: dict[str, TextIO] = {}  # "stdout", "stderr" -> the stream that stood there
        self._rich: Any = None

    def __enter__(self) -> Bar:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if is_terminal(stream) and hasattr(stream, "buffer"):
                stream.flush()
                self._originals[name] = stream
                setattr(sys, name, _guarded(stream, self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self.erase()
            if self._rich is not None:
                self._rich.console.show_cursor(True)  # Ctrl-C may have come before Rich did it
            for name, stream in self._originals.items():
                getattr(sys, name).flush()
                setattr(sys, name, stream)
            self._originals.clear()

    def show(self, description: str, done: int, total: int | None, details: str) -> None:
        """Draw the bar, or draw it anew; not in the middle of a line that somebody has begun."""
        with self._lock:
            if not self._at_line_start:
                return
            if self._rich is None:
                self._rich = _rich_bar(self._originals.get("stderr", sys.stderr))
                self._rich.add_task(description, total=total, details=details)
            task = self._rich.task_ids[0]
            self._rich.update(task, description=description, completed=done, total=total, details=details)
            self._rich.start()
            self._rich.refresh()
            self.visible = True

    def erase(self) -> None:
        """Leave the screen as if there had been no bar."""
        with self._lock:
            if self.visible:
                self.visible = False
                self._rich.stop()

    def write(self, stream: IO[bytes], content: Any) -> int:
        """Write to one of the guarded streams."""
        with self._lock:
            self.erase()
            count = stream.write(content)
            stream.flush()
            if count:
                self._at_line_start = bytes(content[-1:]) == b"\n"
            return count


class _Guarded(io.BufferedIOBase):
    """The bytes of a stream, written when the bar is out of the way."""

    def __init__(self, stream: IO[bytes], bar: Bar) -> None:
        self._stream, self._bar = stream, bar

    @property
    def name(self) -> Any:
        """The name of the stream."""
        return self._stream.name

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, content: Any) -> int:
        """Write bytes."""
        return self._bar.write(self._stream, memoryview(content).cast("B"))

    def writelines(self, lines: Iterable[Any]) -> None:
        """Write all of them."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The descriptor of the stream."""
        return self._stream.fileno()

    def close(self) -> None:
        """Leave the stream open: it is only borrowed."""


def _guarded(stream: TextIO, bar: Bar) -> TextIO:
    """A text stream like `stream` that goes through the bar."""
    return io.TextIOWrapper(
        _Guarded(stream.buffer, bar),
        encoding=stream.encoding,
        errors=stream.errors,
        newline="\n",
        line_buffering=True,
    )


def _rich_bar(stream: TextIO) -> Any:
    """Rich's bar, on one line however narrow the terminal is; drawn only when it is asked to."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    def text(field: str, ratio: int | None = None) -> TextColumn:
        return TextColumn(field, markup=False, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=ratio))

    return Progress(
        text("{task.description}"),
        BarColumn(bar_width=24),
        text("{task.fields[details]}"),
        console=Console(file=stream),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )

"""Servers: one process that opens the files and keeps the workers alive, and the workers that answer.

    open files and socket, warm up  ->  fork workers  ->  wait; replace a worker that died; on SIGTERM let all finish

Workers are forked after everything is open and every kind of request was made once (`warming`), so they share the pages
of the models and of the program itself, and their first request costs what the second does. SIGTERM
or SIGINT ends a server in order: no new connections, what was begun is answered, then the workers leave. A worker
that was killed is replaced; its files are opened anew before, since a file that was cut under it may have killed it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from textmill.errors import DataError
from textmill.web.holdings import Holdings
from textmill.web.library import Library
from textmill.web.settings import Settings, is_loopback
from textmill.web.tally import Tally

__all__ = ["listen", "serve", "server_of"]

_PATIENCE = 30  # seconds for what was begun, when a server ends
_BACKLOG = 4096
_SOON = 5.0  # seconds within which a worker that dies was of no use
_GIVE_UP = 5  # workers of no use one after the other
_LARGE = 1 << 18  # bytes of a block that goes back to the system when it is freed


def serve(settings: Settings, *, started: Callable[[str], None] | None = None, log: TextIO | None = sys.stderr) -> None:
    """Serve until a signal ends it; `started` gets the address as soon as requests are taken.

    Log lines go to `log`. Must be called from the main thread, which gets the signals.
    """
    settings.check()
    _raise_file_limit()
    library = Library(settings.files)
    holdings = None if settings.collection is None else Holdings(settings.collection)
    tally = Tally(settings.workers)
    with contextlib.closing(listen(settings)) as listener:
        address = _address(settings, listener)
        _Workers(settings, library, holdings, tally, listener, log).run(lambda: started(address) if started else None)


def listen(settings: Settings) -> socket.socket:
    """A socket at the address of the settings; an error says so when somebody else has it."""
    try:
        addresses = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise DataError(f"the address {settings.host} is not known; pass another --host") from error
    family, kind, protocol, _, place = addresses[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(place)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise DataError(
            f"port {settings.port} of {settings.host} cannot be used ({error.strerror}); pass another --port"
        ) from error
    listener.setblocking(False)
    return listener


class _Workers:
    """The workers of a server, and who replaces them."""

    def __init__(
        self,
        settings: Settings,
        library: Library,
        holdings: Holdings | None,
        tally: Tally,
        listener: socket.socket,
        log: TextIO | None,
    ) -> None:
        self._settings = settings
        self._library = library
        self._holdings = holdings
        self._tally = tally
        self._listener = listener
        self._log = log
        self._pids: dict[int, tuple[int, float]] = {}
        self._ending = False
        self._failures = 0

    def run(self, started: Callable[[], None]) -> None:
        """Start all workers and stay until they have left."""
        from textmill.web.warming import warm  # imports what workers need, before they are forked

        before = {one: signal.signal(one, self._end) for one in (signal.SIGTERM, signal.SIGINT)}
        try:
            warm(self._settings, self._library, self._holdings)
            apps = [self._app(number) for number in range(self._settings.workers)]  # made once, shared after the fork
            gc.collect()
            gc.freeze()  # or the first collection of a worker would copy every page
            for number, app in enumerate(apps):
                self._start(number, app)
            started()
            self._wait()
        finally:
            self._stop_all()
            gc.unfreeze()
            for one, handler in before.items():
                signal.signal(one, handler)

    def _app(self, number: int) -> Any:
        from textmill.web.application import create_app

        shared: dict[str, Any] = {"library": self._library, "holdings": self._holdings, "tally": self._tally}
        return create_app(self._settings, **shared, worker=number, log=self._log)

    def _start(self, number: int, app: Any) -> None:
        from textmill.web.warming import touch

        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            self._pids[pid] = (number, time.monotonic())
            return
        code = 1
        try:
            for one in (signal.SIGTERM, signal.SIGINT):
                signal.signal(one, signal.SIG_DFL)
            _give_memory_back()
            touch(self._library)
            server_of(app, self._settings).run(sockets=[self._listener])
            code = 0
        except BaseException as error:
            sys.stderr.write(f"textmill: a worker ended: {type(error).__name__}\n")
        finally:
            with contextlib.suppress(Exception):
                sys.stderr.flush()
            os._exit(code)

    def _wait(self) -> None:
        while self._pids:
            try:
                pid, status = os.waitpid(-1, 0)
            except InterruptedError:
                continue
            except ChildProcessError:
                return
            number, began = self._pids.pop(pid, (None, 0.0))
            if number is None or self._ending:
                continue
            self._failures = self._failures + 1 if time.monotonic() - began < _SOON else 0
            if self._failures >= _GIVE_UP:
                raise DataError("workers end as soon as they are started; look into the log")
            if os.waitstatus_to_exitcode(status) != 0:
                self._library.refresh()
                if self._holdings is not None:
                    self._holdings.refresh()
            self._start(number, self._app(number))

    def _end(self, *_: Any) -> None:
        self._ending = True
        self._listener.close()  # workers close theirs; nobody is to wait at a door that stays shut
        for pid in list(self._pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def _stop_all(self) -> None:
        self._end()
        deadline = time.monotonic() + _PATIENCE + 5
        while self._pids and time.monotonic() < deadline:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            self._pids.pop(pid, None)
            if not pid:
                time.sleep(0.05)
        for pid in self._pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def server_of(app: Any, settings: Settings) -> Any:
    """The server of one worker, ready to run on a socket."""
    import uvicorn

    from textmill.web.protocol import protocol_class

    config = uvicorn.Config(
        app,
        http=protocol_class(settings.limits),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_PATIENCE,
        backlog=_BACKLOG,
    )
    return uvicorn.Server(config)


def _address(settings: Settings, listener: socket.socket) -> str:
    """What a person opens; the token is in the fragment, which browsers send to nobody."""
    port = listener.getsockname()[1]
    host = (
        settings.host if is_loopback(settings.host) or settings.host not in ("0.0.0.0", "::") else socket.gethostname()
    )
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{port}/" + (f"#token={settings.token}" if settings.token else "")


def _raise_file_limit() -> None:
    """As many open connections as the system allows."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _give_memory_back() -> None:
    """Let glibc return what a worker no longer needs, where it is the allocator.

    By default every thread may get an arena of its own, in which freed blocks stay, and blocks of megabytes come out of
    them once one such block was freed. Kernels allocate nothing in their loops, so two arenas are enough.
    """
    arena_max, mmap_threshold = -8, -3
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(arena_max, 2)
        mallopt(mmap_threshold, _LARGE)

"""Progress of long loops, and Ctrl-C that keeps the last whole iteration.

    rate = done / seconds          seconds left = (total - done) / rate

Models never print. They mark their loops with `track` (an iterable) or `start` (anything else), and whoever wants to
know listens: `with reporting(callback)` hands every report to a function, `with shown()` draws a bar on a terminal and
writes plain log lines (logger "textmill", level INFO) elsewhere. Listening belongs to the context (contextvars): a
loop in another thread, or in another asynchronous task, is not heard unless it was started with a copy of it.

What is shown is for jobs that last. The bar appears when the outermost loop has run for a second and leaves nothing
behind when that loop ends; there is one, however many loops run inside. A log line comes every five seconds, so a loop
that is over sooner writes none.

A listener hears of the start and the end of a loop, of every step that brings figures (`loss=0.3`), and otherwise at
most ten times a second. What it raises comes out of the loop it was told about, and it hears no more of that loop.
When nobody listens `track` gives back the bare iterator, so it costs nothing per item.

**Ctrl-C.** A training loop is written

    with interruptible(range(self.max_iter)) as iterations:
        for iteration in iterations:
            ...                                       # one whole iteration
        self.weights_ = weights                       # what the estimator keeps

The first Ctrl-C lets the running iteration finish and ends the loop; a second one raises KeyboardInterrupt at once, and
so does the first in the first iteration, when there is nothing to keep.
`fit` then returns normally, so `model = LDA().fit(X)` has its model, and the warning `TrainingInterrupted` says what
happened; a program that would rather stop turns that warning into an error. The command line saves the model and
leaves with code 130 when it has seen the warning. Cost: one flag per iteration.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Generic, NamedTuple, TypeVar

from textmill.errors import warn_caller
from textmill.readable import counted, noun
from textmill.terminal import Bar, is_terminal

__all__ = [
    "Iterations",
    "Progress",
    "Step",
    "TrainingInterrupted",
    "all_or_nothing",
    "interruptible",
    "report_interrupt",
    "reporting",
    "shown",
    "shown_by",
    "start",
    "track",
]

T = TypeVar("T")

REPORT_SECONDS = 0.1  # between reports that bring no figures
BAR_SECONDS = 1.0  # that the outermost loop must last to have a bar
TICK_SECONDS = 0.1  # between two looks at whether there is something to draw
LOG_SECONDS = 5.0  # between log lines of one loop, and before the first

_logger = logging.getLogger("textmill")
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a loop has come: what a listener is told. `str` of it is a line for people.

    `step` numbers the loop in this process, `depth` counts the loops around it that the same listener hears of.
    `figures` holds the latest value of each figure the loop has reported.

    >>> print(Progress("tagging", done=1200, total=4800, unit="sentences", seconds=2.0, figures={"loss": 0.25}))
    tagging: 1,200 of 4,800 sentences, 25 %, 600/s, 6 s left, loss 0.25
    """

    description: str
    done: int
    total: int | None = None
    unit: str = "items"
    seconds: float = 0.0
    figures: Mapping[str, float] = field(default_factory=dict)
    finished: bool = False
    depth: int = 0
    step: int = 0

    @property
    def rate(self) -> float | None:
        """Items a second so far, or None before the first.

        >>> Progress("reading", done=50, seconds=2.0).rate
        25.0
        """
        return self.done / self.seconds if self.done and self.seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """Seconds to go at this rate, or None when the total or the rate is unknown.

        >>> Progress("reading", done=50, total=200, seconds=2.0).seconds_left
        6.0
        """
        if self.total is None or self.rate is None:
            return None
        return max(self.total - self.done, 0) / self.rate

    def __str__(self) -> str:
        return f"{self.description}: {_details(self)}"


Callback = Callable[[Progress], object]


class _Audience(NamedTuple):
    """Who listens in this context, and the loops they have been told of and that still run, outermost first."""

    listeners: tuple[Callback, ...]
    steps: list[Step]
    shown: bool = False  # whether people see it


_audience: ContextVar[_Audience | None] = ContextVar("textmill_audience", default=None)


class Step:
    """A loop that reports its progress while its `with` block runs; made by `start`."""

    def __init__(self, description: str, *, total: int | None, unit: str) -> None:
        self.description = description
        self.total = total
        self.unit = unit
        self.done = 0
        self.figures: dict[str, float] = {}
        self._number = next(_numbers)
        self._depth = 0
        self._began = self._due = time.perf_counter()
        self._listeners: list[Callback] = []
        self._steps: list[Step] = []

    def __enter__(self) -> Step:
        audience = _audience.get()
        if audience is not None:
            self._listeners = list(audience.listeners)
            self._steps = audience.steps
            self._depth = len(self._steps)
            self._steps.append(self)
            self._began = time.perf_counter()
            try:
                self._tell()
            except BaseException:
                self._steps.remove(self)
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self in self._steps:
            self._steps.remove(self)
        self._tell(finished=True)

    def advance(self, items: int = 1, **figures: float) -> None:
        """Say that so many more `items` are done, and what they brought.

        >>> with reporting(lambda progress: print(progress.done, dict(progress.figures))):
        ...     with start("training", total=2, unit="iterations") as step:
        ...         step.advance(loss=0.5)
        ...         step.advance(loss=0.25)
        0 {}
        1 {'loss': 0.5}
        2 {'loss': 0.25}
        2 {'loss': 0.25}
        """
        self.done += items
        if self._listeners:
            if figures:
                self.figures.update(figures)
                self._tell()
            elif time.perf_counter() >= self._due:
                self._tell()

    def _leave(self, listener: Callback) -> None:
        self._listeners = [other for other in self._listeners if other is not listener]

    def _tell(self, *, finished: bool = False) -> None:
        if not self._listeners:
            return
        now = time.perf_counter()
        self._due = now + REPORT_SECONDS
        progress = Progress(
            self.description,
            self.done,
            self.total,
            self.unit,
            now - self._began,
            dict(self.figures),
            finished,
            self._depth,
            self._number,
        )
        for listener in self._listeners:
            try:
                listener(progress)
            except BaseException:
                self._leave(listener)
                raise


def start(description: str, *, total: int | None = None, unit: str = "items") -> Step:
    """A loop that is not an iterable: enter it, and `advance` it.

    >>> with start("reading", unit="bytes") as step:
    ...     for block in [b"text", b"mill"]:
    ...         step.advance(len(block))
    >>> step.done
    8
    """
    return Step(description, total=total, unit=unit)


def track(iterable: Iterable[T], description: str, *, total: int | None = None, unit: str = "items") -> Iterator[T]:
    """The items of `iterable`, reporting how many the loop has finished; `total` is its length if it has one.

    >>> with reporting(lambda progress: print(progress.done, progress.total, progress.finished)):
    ...     words = [word.upper() for word in track(["text", "mill"], "reading", unit="words")]
    0 2 False
    2 2 True
    """
    if _audience.get() is None:
        return iter(iterable)
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    return _tracked(iterable, start(description, total=total, unit=unit))


def _tracked(iterable: Iterable[T], step: Step) -> Iterator[T]:
    with step:
        for item in iterable:
            yield item
            step.advance()


@contextlib.contextmanager
def reporting(callback: Callback) -> Iterator[None]:
    """Hand every report of the loops in this block to `callback`.

    >>> with reporting(lambda progress: print(progress.description, progress.done)):
    ...     for word in track([], "reading"):
    ...         pass
    reading 0
    reading 0
    """
    outer = _audience.get() or _Audience((), [])
    with _listening(outer._replace(listeners=(*outer.listeners, callback)), callback):
        yield


@contextlib.contextmanager
def _listening(audience: _Audience, callback: Callback) -> Iterator[None]:
    token = _audience.set(audience)
    try:
        yield
    finally:
        _audience.reset(token)
        for step in audience.steps:
            step._leave(callback)


@contextlib.contextmanager
def shown() -> Iterator[None]:
    """Show the loops in this block that last: a bar when stderr is a terminal, log lines elsewhere.

    If nothing in the program handles log records of "textmill", the lines go to stderr.

    >>> with shown():
    ...     for word in track(["text", "mill"], "reading"):
    ...         pass
    """
    if _is_shown():
        yield
        return
    outer = _audience.get() or _Audience((), [])
    with (
        _Bars() if is_terminal(sys.stderr) else _LogLines() as display,
        _listening(outer._replace(listeners=(*outer.listeners, display), shown=True), display),
    ):
        yield


@contextlib.contextmanager
def shown_by(callback: Callback) -> Iterator[None]:
    """Let `callback` show the loops in this block in place of bars and log lines, if those are shown at all.

    >>> with shown_by(print):
    ...     for word in track(["text", "mill"], "reading"):
    ...         pass
    """
    if not _is_shown():
        yield
        return
    with _listening(_Audience((callback,), [], shown=True), callback):
        yield


def _is_shown() -> bool:
    audience = _audience.get()
    return audience is not None and audience.shown


class _LogLines:
    """Plain lines of the loops that last."""

    def __init__(self) -> None:
        self._spoke: dict[int, float] = {}  # number of a step -> its seconds at its last line

    def __enter__(self) -> _LogLines:
        self._handler: logging.Handler | None = None
        if not _logger.hasHandlers():
            self._handler = logging.StreamHandler()
            self._handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
            _logger.addHandler(self._handler)
            self._level = _logger.level
            _logger.setLevel(logging.INFO)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            _logger.removeHandler(self._handler)
            _logger.setLevel(self._level)

    def __call__(self, progress: Progress) -> None:
        last = self._spoke.get(progress.step)
        ends = last is not None and progress.finished
        if ends or progress.seconds - (last or 0.0) >= LOG_SECONDS:
            self._spoke[progress.step] = progress.seconds
            _logger.info("%s", progress)
        if progress.finished:
            self._spoke.pop(progress.step, None)


class _Bars:
    """A bar of the outermost loop, with a word on the innermost one; a thread of its own draws it when it is time."""

    def __init__(self) -> None:
        self._bar = Bar()
        self._lock = threading.Lock()
        self._loops: dict[int, tuple[Progress, float]] = {}  # by number, outermost first: last report, when it began
        self._over = threading.Event()
        self._drawer = threading.Thread(target=self._draw_in_time, name="textmill-bar", daemon=True)

    def __enter__(self) -> _Bars:
        self._bar.__enter__()
        self._drawer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._drawer.join()
        self._bar.__exit__(None, None, None)

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            if not progress.finished:
                self._loops[progress.step] = (progress, time.perf_counter() - progress.seconds)
                return
            self._loops.pop(progress.step, None)
            if not self._loops:
                self._bar.erase()

    def is_visible(self) -> bool:
        """Whether the bar is on the screen at this moment."""
        return self._bar.visible

    def _draw_in_time(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        loops = list(self._loops.values())
        if not loops or time.perf_counter() - loops[0][1] < BAR_SECONDS:
            return
        outer, inner = loops[0][0], loops[-1][0]
        details = _details(outer) if inner is outer else f"{_details(outer)}; {inner}"
        self._bar.show(outer.description, outer.done, outer.total, details)


def _details(progress: Progress) -> str:
    """Counts, share, rate, time and figures, as far as they are known and of use."""
    of = "" if progress.total is None else f" of {progress.total:,}"
    units = noun(progress.done if progress.total is None else progress.total, progress.unit)
    parts = [f"{progress.done:,}{of} {units}"]
    if progress.total and not progress.finished:
        parts.append(f"{100 * progress.done // progress.total} %")
    if progress.finished:
        parts.append(f"in {_duration(progress.seconds)}")
    if progress.rate is not None:
        parts.append(_pace(progress.rate))
    if progress.seconds_left is not None and not progress.finished:
        parts.append(f"{_duration(progress.seconds_left)} left")
    parts += [f"{name} {value:.6g}" for name, value in progress.figures.items()]
    return ", ".join(parts)


def _pace(rate: float) -> str:
    if rate < 1:
        return f"{_duration(1 / rate)} each"
    return f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.1f}/s"


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.2g} s"
    minutes, whole = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {whole} s" if minutes else f"{whole} s"
    return f"{minutes // 60} h {minutes % 60} min"


class TrainingInterrupted(UserWarning):
    """Training was stopped by Ctrl-C; the model holds the last whole iteration."""


class Iterations(Generic[T]):
    """The iterations of a training loop, until they end or Ctrl-C is pressed; made by `interruptible`.

    `interrupted` says whether it was pressed.
    """

    def __init__(
        self,
        iterations: Iterable[T],
        before: Callable[[int, FrameType | None], object] | None,
        count: Callable[[], int] | None = None,
    ) -> None:
        self.interrupted = False
        self._whole = 0
        self._count = count
        self._running = False
        self._iterator = iter(iterations)
        self._before = before  # what Ctrl-C did before this loop
        self._audience = _audience.get()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        self._whole += self._running
        self._running = False
        if not self.interrupted:
            item = next(self._iterator)
        if self.interrupted:  # perhaps while the item was being read: then its iteration must not begin
            if not self.whole():
                raise KeyboardInterrupt  # there is no whole iteration to keep
            raise StopIteration
        self._running = True
        return item

    def whole(self) -> int:
        """Iterations that have come to their end, when the loop is between two of them or over."""
        return self._whole + self._running if self._count is None else self._count()

    def _on_interrupt(self, signum: int, frame: FrameType | None) -> None:
        whole = self._whole if self._count is None else self._count()
        if self._before is not None and (self.interrupted or not whole):
            self._before(signum, frame)
            return
        self.interrupted = True
        if self._audience is not None and self._audience.shown:
            bars = (listener for listener in self._audience.listeners if isinstance(listener, _Bars))
            line_start = b"\r\x1b[K" if any(bar.is_visible() for bar in bars) else b"\n"
            # Not through sys.stderr: a handler may run in the middle of a write to it, which cannot be entered twice.
            with contextlib.suppress(OSError):
                os.write(2, line_start + b"finishing this iteration; press Ctrl-C again to stop at once\n")


@contextlib.contextmanager
def interruptible(
    iterations: Iterable[T], *, unit: str = "iterations", count: Callable[[], int] | None = None
) -> Iterator[Iterations[T]]:
    """Let Ctrl-C end a training loop after the iteration that is running; `unit` is the plural of its name.

    In the block the first Ctrl-C only sets `.interrupted`, which ends the loop before its next item; the second does
    what it did before the block: it raises KeyboardInterrupt, unless the program has its own handler. So does the first
    as long as no iteration is whole: there is nothing to keep, and nothing to wait for. When the block ends, the old
    handler is back, and after a Ctrl-C the warning `TrainingInterrupted` is issued.

    Where an iteration is a run of many sweeps that looks at `.interrupted` itself, `count` says how many were whole.

    Only the outermost loop is stopped: a loop inside it is part of its iteration and runs to its end. Outside the
    main thread, and where SIGINT is ignored, nothing is changed.

    >>> with interruptible(range(3)) as iterations:
    ...     done = [iteration for iteration in iterations]
    >>> done, iterations.interrupted
    ([0, 1, 2], False)
    """
    before = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if not callable(before) or isinstance(getattr(before, "__self__", None), Iterations):
        yield Iterations(iterations, None, count)
        return
    loop = Iterations(iterations, before, count)
    signal.signal(signal.SIGINT, loop._on_interrupt)
    try:
        yield loop
    finally:
        signal.signal(signal.SIGINT, before)
    if loop.interrupted:
        report_interrupt(loop.whole(), unit=unit)


def report_interrupt(whole: int, *, unit: str = "iterations") -> None:
    """Warn that Ctrl-C ended a training loop after `whole` iterations; without a whole one, raise KeyboardInterrupt.

    For loops that stop in another way than `interruptible`, which does it by itself.

    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     report_interrupt(1, unit="sweeps")
    >>> print(caught[0].message)
    training stopped by Ctrl-C after 1 sweep; the model holds the last whole one
    """
    if not whole:
        raise KeyboardInterrupt
    message = f"training stopped by Ctrl-C after {counted(whole, unit)}; the model holds the last whole one"
    warn_caller(message, TrainingInterrupted)


@contextlib.contextmanager
def all_or_nothing() -> Iterator[None]:
    """Let Ctrl-C in a training loop of this block raise KeyboardInterrupt: a half-trained model would be of no use.

    >>> with all_or_nothing(), interruptible(range(3)) as iterations:
    ...     done = [iteration for iteration in iterations]
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingInterrupted)
        try:
            yield
        except TrainingInterrupted:
            raise KeyboardInterrupt from None

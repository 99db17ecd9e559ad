"""Work beside the event loop: a few threads for native calls, and questions that wait searched together.

    Desk.run(function, ...)     one call in a thread; the loop goes on answering
    Together.ask(question)      while one search runs, questions gather; the next search takes all of them at once

A scan of vectors for sixteen questions costs little more than for one, since every vector is read once. A single
question does not wait for others: it is searched at once. Native calls release the GIL and have threads of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from textmill.web.answers import Refusal
from textmill.web.tally import Tally

__all__ = ["Desk", "Together"]

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 2
_TOGETHER = 64  # questions of one search


class Desk:
    """A few threads, and a limit of calls that wait for one."""

    def __init__(self, queue: int) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="textmill-web")
        self._queue = queue
        self._waiting = 0

    async def run(self, function: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        """What a function returns, computed in a thread."""
        if self._waiting >= self._queue:
            raise Refusal(503, "too many requests wait; come again", retry=1)
        self._waiting += 1
        loop = asyncio.get_running_loop()
        call = loop.run_in_executor(self._threads, partial(function, *arguments, **options))
        call.add_done_callback(self._done)  # also when nobody waits for it any more: the thread is busy until then
        return await asyncio.shield(call)

    def _done(self, call: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        if not call.cancelled():
            call.exception()  # looked at, so that nobody complains of a client that left

    def close(self) -> None:
        """Let running calls end, and drop those that wait."""
        self._threads.shutdown(wait=True, cancel_futures=True)


class Together:
    """Questions of one kind, answered together.

    Parameters:
        desk: Where searches run.
        search: Answers a list of questions under one key: `search(key, questions)`.
        queue: Number of questions that may wait.
        tally: Counts of questions and searches.
    """

    def __init__(
        self, desk: Desk, search: Callable[[Any, Sequence[Any]], Sequence[Any]], *, queue: int, tally: Tally
    ) -> None:
        self._desk = desk
        self._search = search
        self._queue = queue
        self._tally = tally
        self._waiting: dict[Hashable, list[tuple[Any, asyncio.Future[Any]]]] = {}
        self._size = 0
        self._runner: asyncio.Task[None] | None = None

    async def ask(self, key: Hashable, question: Any) -> Any:
        """The answer to one question; those with the same key may be answered by one search."""
        if self._size >= self._queue:
            raise Refusal(503, "too many questions wait; come again", retry=1)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append((question, future))
        self._size += 1
        if self._runner is None:
            self._runner = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        try:
            while self._waiting:
                key = next(iter(self._waiting))
                batch = self._waiting[key][:_TOGETHER]
                del self._waiting[key][:_TOGETHER]
                if not self._waiting[key]:
                    del self._waiting[key]
                self._size -= len(batch)
                await self._answer(key, [one for one in batch if not one[1].cancelled()])
        finally:
            self._runner = None

    async def _answer(self, key: Hashable, batch: list[tuple[Any, asyncio.Future[Any]]]) -> None:
        if not batch:
            return
        self._tally.add("questions", len(batch))
        self._tally.add("searches")
        try:
            answers = await self._desk.run(self._search, key, [question for question, _ in batch])
        except Exception as error:
            for _, future in batch:
                if not future.cancelled():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.cancelled():
                future.set_result(answer)

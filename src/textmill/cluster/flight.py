"""The tasks of one call that are under way on a Dask cluster: few at a time, watched, sent again when they are lost.

A task keeps its recipe (function, arguments, other tasks) in this process beside the future of its present attempt.
Dask makes again what was lost with a worker, but under load its scheduler and a worker can disagree about who has to:
the scheduler waits for a worker that has forgotten the task, both for ever. No state of Dask's is trusted then. Who
waits looks at the cluster from time to time, and on a stall (`limits` has the rule)

    send(task) = submit(function, send(a) for each task a among the arguments whose result is not at hand)

submits every task under way under a new key; the old ones are released. A key is never used twice, so nothing the
cluster believes of an earlier attempt can hold up a later one.

Cost: one question to the scheduler per `WATCH_SECONDS` of waiting; a recipe per task under way and per partial sum of
its group of chunks; the pickled bytes of each broadcast state.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import reprlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from textmill.cluster import limits
from textmill.cluster.interface import kept_values, tree_reduce
from textmill.cluster.traffic import Parcel, Post, deliver
from textmill.errors import ClusterError, DataError, ModelFileError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Flight", "Task", "ask", "sums_of_groups"]

R = TypeVar("R")


class Task:
    """A call on some worker: the recipe, and the future of its present attempt."""

    def __init__(self, role: str, what: str, function: Callable[..., object], arguments: Iterable[object]) -> None:
        self.role = role  # step, add or state
        self.what = what  # for messages
        self.function = function
        self.arguments: list[Any] = list(arguments)  # values, tasks, and tuples of them
        self.future: Any = None
        self.kept = False  # has a handle (`Kept`), so its result stays after those that need it are done
        self.resends = 0  # since it last finished

    @property
    def needs(self) -> list[Task]:
        """The tasks among the arguments."""
        return list(_tasks_in(tuple(self.arguments)))

    def release(self) -> None:
        """Let the cluster forget the present attempt.

        Said aloud, because Dask's own frames, in a cycle with the error of a wait that timed out, keep futures alive.
        """
        if self.future is not None:
            self.future.release()
            self.future = None


class Flight:
    """The tasks of one call; those that are not finished are canceled when the call ends early."""

    def __init__(self, client: Client, mark: str, post: Post | None) -> None:
        self.room = 0  # how many may be under way when a step is started
        self._client = client
        self._mark = mark  # of the connection, part of all its keys
        self._post = post
        self._tasks: dict[Task, None] = {}  # under way, oldest first
        # A key of our own for every task: an equal call later may find other data at the same address. Dask takes the
        # first part for the name of a group, and spreads a large group with few dependencies over all workers.
        self._name = f"{mark}-{next(_flights)}"
        self._numbers = count()
        self._steps = 0
        self._patience = limits.stall_seconds()
        self._idle = self._standing = self._queued = self._workerless = 0.0  # seconds; see _watch

    def __enter__(self) -> Flight:
        return self

    def __exit__(self, *_: object) -> None:
        # Failed ones too: the error they hold has our frames in its traceback, which would keep every task for ever.
        futures = [task.future for task in self._tasks if task.future is not None and not task.kept]
        unwanted = [future for future in futures if future.status != "finished"]
        if unwanted and self._client.status == "running":
            with contextlib.suppress(ClusterError):
                ask(self._client, self._client.cancel, unwanted)
        for task in self._tasks:  # not before: to cancel what nobody wants any more ends Dask's connection
            _release_needs(task)

    def start(self, step: Callable[..., object], chunk: object, *state: object) -> Task:
        """Run a step on a chunk, as soon as there is room."""
        if self._steps % limits.GROUP == 0:  # workers come and go
            # An add that waits for a slow step takes room too, one for each level of the tree.
            self.room = limits.TASKS_PER_THREAD * self._threads() + limits.GROUP.bit_length()
        self._steps += 1
        self._sweep()
        while len(self._tasks) >= self.room:
            self._wait()
        return self._send(Task("step", f"chunk {reprlib.repr(chunk)}", step, kept_values([chunk, *state])))

    def add(self, add: Callable[..., object], left: Task, right: Task) -> Task:
        """Add two results on a worker, before further steps are begun there."""
        return self._send(Task("add", "a sum of results", add, [left, right]))

    def broadcast(self, state: object) -> Task:
        """A task that gives the state. Its bytes are in the recipe: what the caller changes later does not matter."""
        from distributed.protocol.pickle import dumps, loads

        what = "the broadcast state"
        with _sendable(what):
            content = dumps(state if self._post is None else Parcel(state, self._post))
        return self._send(Task("state", what, loads, [content]))

    def land(self) -> None:
        """Wait until nothing is under way."""
        while self._tasks:
            self._wait()

    def result(self, task: Task) -> Any:
        """The value of a task, in this process; the cluster may forget it."""
        import asyncio

        self._sweep()
        waited = 0.0
        while True:
            while not task.future.done():
                self._tasks.setdefault(task)  # it may have finished before, and been lost with its worker
                self._wait()
            future, began = task.future, time.monotonic()
            arrival = asyncio.run_coroutine_threadsafe(self._arrival(future), self._client.loop.asyncio_loop)
            with _explained(task.what):
                while not arrival.done() and future.done():
                    concurrent.futures.wait([arrival], timeout=limits.WATCH_SECONDS)
                    if not arrival.done() and waited + time.monotonic() - began > limits.ARRIVAL_SECONDS:
                        arrival.cancel()
                        raise ClusterError(
                            f"{task.what}: the result is there, and did not arrive in {limits.ARRIVAL_SECONDS:.0f} s; "
                            "check the network, or make the chunks smaller"
                        )
                if arrival.done():
                    value = arrival.result()
                    task.release()
                    return value.open() if isinstance(value, Parcel) else value
            arrival.cancel()  # lost on the way; it is being made again
            waited += time.monotonic() - began

    async def _arrival(self, future: Any) -> Any:
        return await self._client.gather(future, asynchronous=True)

    def _send(self, task: Task) -> Task:
        """Begin an attempt, under a key of its own."""
        import dask

        function, arguments = task.function, [_sent(argument, self._post) for argument in task.arguments]
        if task.role == "state":
            arguments = task.arguments
        elif self._post is not None:
            function, arguments = deliver, [function, self._post, *arguments]
        # Dask takes large arguments for an oversight; those of a state are the point: the recipe must hold it.
        silence = {"distributed.admin.large-graph-warning-threshold": "1 TiB"} if task.role == "state" else {}
        with _sendable(task.what), dask.config.set(silence):
            task.future = self._client.submit(
                function,
                *arguments,
                key=(f"{task.role}-{self._name}", next(self._numbers)),
                retries=limits.RETRIES,
                priority=1 if task.role == "add" else 0,
            )
        self._tasks[task] = None
        return task

    def _wait(self) -> None:
        """Wait for any task to finish, or for a look at the cluster."""
        from distributed import wait

        began = time.monotonic()
        futures = [task.future for task in self._tasks]
        try:
            with self._client.as_current(), contextlib.suppress(concurrent.futures.CancelledError):  # swept below
                wait(futures, timeout=limits.WATCH_SECONDS, return_when="FIRST_COMPLETED")
        except TimeoutError:
            self._watch(time.monotonic() - began)
        self._sweep()

    def _sweep(self) -> None:
        """Forget finished tasks, and raise for the first that failed."""
        for task in list(self._tasks):
            if task not in self._tasks or (status := task.future.status) in ("pending", "lost"):
                continue
            if status != "finished":
                with _explained(task.what):
                    task.future.result(timeout=limits.ASK_SECONDS)
            del self._tasks[task]
            for need in _release_needs(task):
                self._tasks.pop(need, None)
            task.resends = 0
            self._idle = self._standing = self._queued = 0.0

    def _watch(self, seconds: float) -> None:
        """Judge the last `seconds`, in which nothing finished, by the rule of `limits`."""
        look = _Look(*ask(self._client, self._client.run_on_scheduler, _look, self._mark, limits.SILENT_SECONDS))
        self._workerless = 0.0 if look.threads else self._workerless + seconds
        if look.executing:
            self._idle = self._standing = self._queued = 0.0
        elif not look.threads:
            if self._workerless >= limits.WORKERLESS_SECONDS:
                remedy = f"start some with: dask worker {self._client.scheduler.address}"
                raise ClusterError(f"there has been no worker for {limits.WORKERLESS_SECONDS:.0f} s; {remedy}")
        elif look.queue:
            self._queued += seconds
            if self._queued >= limits.QUEUE_SECONDS:
                remedy = "start more workers, or this job again later"
                raise ClusterError(f"{self._awaited()}: {self._queued:.0f} s behind other jobs; {remedy}")
        else:
            self._idle += seconds
            self._standing += seconds
            self._end_stall()

    def _end_stall(self) -> None:
        """Send what is under way again, if it has stood still for long; give up if that has not helped."""
        attempts = max(task.resends for task in self._tasks)
        state_bytes = max((len(task.arguments[0]) for task in self._tasks if task.role == "state"), default=0)
        if self._idle < (self._patience + state_bytes / limits.SLOW_BYTES) * 2**attempts:
            return
        if attempts >= limits.RESENDS:
            raise ClusterError(
                f"{self._awaited()}: sent {attempts + 1} times, and for {self._standing:.0f} s nothing finished and no "
                "worker executed anything; look into the logs of the scheduler and the workers, or start them again"
            )
        self._idle = 0.0
        self._send_again(everything=attempts > 0)

    def _send_again(self, everything: bool) -> None:
        """A new attempt at each task under way, and at what it needs: what is not at hand, or everything."""
        again: set[Task] = set()

        def send(task: Task) -> None:
            again.add(task)
            for need in task.needs:
                if need not in again and (everything or need.future is None or need.future.status != "finished"):
                    send(need)
            task.resends += 1
            task.release()  # else the scheduler takes its worker for busy, and holds back the new attempt
            self._send(task)

        for task in list(self._tasks):
            if task not in again and not task.future.done():
                send(task)

    def _awaited(self) -> str:
        """What is waited for, in a few words."""
        names = list(dict.fromkeys(task.what for task in self._tasks))
        rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"waited for {', '.join(names[:3])}{rest}"

    def _threads(self) -> int:
        return sum(ask(self._client, self._client.nthreads).values())


def sums_of_groups(flight: Flight, add: Callable[[R, R], R], parts: Iterator[Task]) -> Iterator[R]:
    """The sum of every GROUP parts, made on the workers and brought here, in order."""
    sums: deque[Task] = deque()
    for first in parts:
        sums.append(tree_reduce(partial(flight.add, add), chain([first], islice(parts, limits.GROUP - 1))))
        while len(sums) > limits.GROUPS_AHEAD or (sums and sums[0].future.done()):
            yield flight.result(sums.popleft())
    while sums:
        yield flight.result(sums.popleft())


def ask(
    client: Client, method: Callable[..., object], *arguments: object, seconds: float | None = None, **options: object
) -> Any:
    """What a method of the client gives, in ASK_SECONDS at most (the methods themselves would wait for ever)."""
    seconds = limits.ASK_SECONDS if seconds is None else seconds
    try:
        return client.sync(method, *arguments, callback_timeout=seconds, **options)
    except TimeoutError as error:
        fault = f"the Dask cluster has not answered for {seconds:.0f} s"
        raise ClusterError(f"{fault}; look at its scheduler and workers, and start this job again") from error
    except OSError as error:
        raise ClusterError("the Dask scheduler has stopped answering; start it and then this job again") from error


class _Look(NamedTuple):
    """The cluster at one moment."""

    threads: int  # of all workers
    executing: bool  # a worker says that it executes a task of this connection
    queue: bool  # every thread is taken, or data moves between workers


def _look(mark: str, silent: float, dask_scheduler: Any = None) -> tuple[int, bool, bool]:
    """A look at the cluster, on the scheduler; workers are taken at their own word, from their last heartbeat."""
    workers = list(dask_scheduler.workers.values())
    awake = [worker for worker in workers if time.time() - worker.last_seen < silent]
    executing = any(mark in str(task.key) for worker in awake for task in worker.executing)
    taken = bool(awake) and all(len(worker.executing) >= worker.nthreads for worker in awake)
    moving = any(worker.metrics.get("transfer", {}).get("incoming_count", 0) for worker in awake)
    return sum(worker.nthreads for worker in workers), executing, taken or moving


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    """Errors of a task as the caller shall see them: our own unchanged, others with what failed."""
    import asyncio

    from distributed import KilledWorker

    try:
        yield
    except (ClusterError, DataError, ModelFileError):
        raise
    except KilledWorker as error:
        remedy = "give the workers more memory or make the chunks smaller"
        raise ClusterError(f"{what}: {error.allowed_failures + 1} workers died of it; {remedy}") from error
    except (concurrent.futures.CancelledError, asyncio.CancelledError) as error:
        raise ClusterError(f"{what} was lost: the scheduler went away or canceled it; start again") from error
    except Exception as error:
        raise ClusterError(f"{what} failed on a worker: {_one_line(error)}") from error


@contextlib.contextmanager
def _sendable(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise ClusterError(f"{what} cannot be sent to the workers: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _tasks_in(argument: object) -> Iterator[Task]:
    if isinstance(argument, Task):
        yield argument
    elif type(argument) is tuple:
        for part in argument:
            yield from _tasks_in(part)


def _sent(argument: object, post: Post | None) -> Any:
    """An argument as it is sent: tasks as their futures; with traffic, one parcel for what is not at the workers."""
    if isinstance(argument, Task):
        return argument.future
    if type(argument) is tuple and any(_tasks_in(argument)):
        return tuple(_sent(part, post) for part in argument)
    return argument if post is None else Parcel(argument, post)


def _release_needs(task: Task) -> list[Task]:
    """Let the cluster forget what only this task needed."""
    needs = [need for need in task.needs if not need.kept]
    for need in needs:
        need.release()
    return needs


_flights = count()

"""The same sum on one machine and on many: map over chunks, tree-reduce, broadcast state.

    S = add(... add(step(c_1, state), step(c_2, state)) ...)        over a stream of chunks c_1, c_2, ... of any length

An algorithm is written once against `Cluster`. `connect(None)` runs it in this process, where the native kernels use
all cores; `connect("tcp://scheduler:8786")` or `connect(client)` runs it on the workers of a Dask cluster. Who is
added to whom depends on the number of chunks only (`tree_reduce`), so every cluster gives the same bytes, whatever the
timing and whoever dies.

What the algorithm owes: `step` and `add` are pure (a result is a function of the arguments, arguments are not
changed), because a task whose result is lost with its worker runs again. A chunk is an *address* that the step can
read from any machine (file, offset, length), not the data. Results are arrays, or tuples and dictionaries of arrays,
whose size Dask can see when it chooses where to add them.

What survives a worker: everything. Each task has a recipe with the scheduler, also a broadcast state (a task that
returns its argument; scattered data would have none). Partial sums stay on the workers and are added there; the sum of
every 64 chunks comes to this process, so that the recipes of an endless stream do not pile up and a lost partial sum
costs at most 64 steps. Tasks are under way in small numbers (two for each thread of the workers), so the stream of
chunks is read only as fast as they are worked off.

Cost: n steps, n - 1 adds, log2 n partial sums alive at a time; on a cluster also one message per chunk and per add
whose two sides are on different workers, one state per worker, one result per 64 chunks.
Reference: Rehurek (2011), algorithms 3.4 and 4.3, whose models are summed this way.
"""

from __future__ import annotations

import contextlib
import pickle
import reprlib
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from textmill.errors import ClusterError, DataError, ModelFileError

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["Cluster", "Kept", "Traffic", "connect", "tree_reduce"]

R = TypeVar("R")

GROUP = 64  # chunks whose sum is made on the workers: a power of two, so that groups are whole subtrees
GROUPS_AHEAD = 2  # sums of groups that may wait on the workers for an earlier one
TASKS_PER_THREAD = 2  # one runs, one is at hand
RETRIES = 2  # of a task that raised: a file server may have stumbled
CONNECT_SECONDS = 10.0
WORKERLESS_SECONDS = 60.0  # before work without any worker is given up
WATCH_SECONDS = 2.0  # between looks at the cluster while waiting


def tree_reduce(add: Callable[[R, R], R], parts: Iterable[R]) -> R:
    """Sum pairwise. Who meets whom depends on the number of parts, not on machines or timing.

    At most log2(n) partial sums are alive, however long the stream.

    >>> tree_reduce("({}+{})".format, "abcdefg")
    '(((a+b)+(c+d))+((e+f)+g))'
    """
    stack: list[tuple[int, R]] = []
    for part in parts:
        height = 0
        while stack and stack[-1][0] == height:
            part, height = add(stack.pop()[1], part), height + 1
        stack.append((height, part))
    if not stack:
        raise DataError("there are no chunks to add up: the stream was empty; check that the input holds documents")
    return reduce(lambda right, left: add(left, right), (part for _, part in reversed(stack)))


class Kept(Generic[R]):
    """A value that stays where the work is done; `Cluster.broadcast` and `Cluster.keep` make it.

    Given to `map` and `map_reduce` as chunk or as state, it is the value that the step sees, also in a tuple.
    """

    def __init__(self, value: object, name: str) -> None:
        self._value = value  # the value in one process, its future on Dask
        self._name = name

    def __repr__(self) -> str:
        return self._name


class Cluster(ABC):
    """Where steps run; made by `connect`."""

    @abstractmethod
    def broadcast(self, state: R) -> Kept[R]:
        """Put a large `state` where the steps run, once instead of with every chunk.

        >>> with connect(None) as cluster:
        ...     base = cluster.broadcast(10)
        ...     list(cluster.map(pow, [1, 2], base))
        [1, 1024]
        """

    @abstractmethod
    def keep(self, load: Callable[..., R], addresses: Iterable[object], *state: object) -> list[Kept[R]]:
        """What `load(address, *state)` gives, kept where it was loaded: chunks for many passes, shards of an index.

        >>> with connect(None) as cluster:
        ...     words = cluster.keep(str.split, ["to be", "or not"])
        ...     list(cluster.map(len, words)), list(cluster.map(sorted, words))
        ([2, 2], [['be', 'to'], ['not', 'or']])
        """

    @abstractmethod
    def map(self, step: Callable[..., R], chunks: Iterable[object], *state: object) -> Iterator[R]:
        """What `step(chunk, *state)` gives for each chunk, in order, in this process.

        >>> with connect(None) as cluster:
        ...     list(cluster.map(len, ["text", "mill", "!"]))
        [4, 4, 1]
        """

    @abstractmethod
    def map_reduce(
        self, step: Callable[..., R], chunks: Iterable[object], add: Callable[[R, R], R], *state: object
    ) -> R:
        """The sum of `step(chunk, *state)` over all chunks, bracketed as `tree_reduce` says.

        >>> from operator import add
        >>> with connect(None) as cluster:
        ...     cluster.map_reduce(len, ["text", "mill", "!"], add)
        9
        """

    @abstractmethod
    def worker_jobs(self, n_jobs: int | None) -> int | None:
        """The `n_jobs` for native code inside a step: as given in this process, 1 on a Dask worker.

        The threads of the workers are the parallelism there: on a machine with 8 cores, `dask worker --nworkers 8
        --nthreads 1`. Results are the same for any number.

        >>> with connect(None) as cluster:
        ...     cluster.worker_jobs(4)
        4
        """


@dataclass
class Traffic:
    """What travelled on a Dask cluster, for experiments: filled in when the block of `connect` ends.

    A message is a chunk address, a state or a result that reached another process and was used there; `bytes` is the
    sum of their pickled sizes. Each waits `delay` seconds before it is used, as on a slow network. In one process
    nothing travels.

    >>> traffic = Traffic()
    >>> with connect(None, traffic=traffic) as cluster:
    ...     results = list(cluster.map(len, ["text", "mill"]))
    >>> traffic
    Traffic(delay=0.0, messages=0, bytes=0)
    """

    delay: float = 0.0
    messages: int = 0
    bytes: int = 0


@contextlib.contextmanager
def connect(cluster: str | Client | None, *, traffic: Traffic | None = None) -> Iterator[Cluster]:
    """The cluster that `cluster=` names: None (this process), a Dask scheduler's address, or a Dask client.

    A client that was passed in stays open. ClusterError if there is no scheduler, no worker, or another version of
    textmill on one of them.

    >>> with connect(None) as cluster:
    ...     cluster.map_reduce(str.upper, ["text", "mill"], "{} {}".format)
    'TEXT MILL'
    """
    if cluster is None:
        yield _Here()
        return
    with _client(cluster) as client:
        _check_workers(client)
        dask = _Dask(client, traffic)
        yield dask
        dask.count_traffic()


class _Here(Cluster):
    """This process, in the calling thread."""

    def broadcast(self, state: R) -> Kept[R]:
        return Kept(state, "state")

    def keep(self, load: Callable[..., R], addresses: Iterable[object], *state: object) -> list[Kept[R]]:
        return [Kept(load(address, *_values(state)), reprlib.repr(address)) for address in addresses]

    def map(self, step: Callable[..., R], chunks: Iterable[object], *state: object) -> Iterator[R]:
        values = _values(state)
        return (step(*_values([chunk]), *values) for chunk in chunks)

    def map_reduce(
        self, step: Callable[..., R], chunks: Iterable[object], add: Callable[[R, R], R], *state: object
    ) -> R:
        return tree_reduce(add, self.map(step, chunks, *state))

    def worker_jobs(self, n_jobs: int | None) -> int | None:
        return n_jobs


class _Dask(Cluster):
    """The workers of a Dask cluster."""

    def __init__(self, client: Client, traffic: Traffic | None) -> None:
        self._client = client
        self._traffic = traffic
        self._post = None if traffic is None else (uuid.uuid4().hex, traffic.delay)

    def _flight(self) -> _Flight:
        return _Flight(self._client, self._post)

    def broadcast(self, state: R) -> Kept[R]:
        import dask

        # Dask takes large arguments for an oversight; here they are the point: the recipe must hold the state.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}), self._flight() as flight:
            future = flight.submit("state", "the broadcast state", _same, state)
            flight.land()
        with contextlib.suppress(Exception):  # only for speed: steps would crowd on the one worker that has the state
            self._client.replicate([future])
        return Kept(future, "state")

    def keep(self, load: Callable[..., R], addresses: Iterable[object], *state: object) -> list[Kept[R]]:
        with self._flight() as flight:
            kept = [Kept[R](flight.start(load, address, *state), reprlib.repr(address)) for address in addresses]
            flight.land()
        return kept

    def map(self, step: Callable[..., R], chunks: Iterable[object], *state: object) -> Iterator[R]:
        waiting: deque[Future] = deque()
        with self._flight() as flight:
            for chunk in chunks:
                waiting.append(flight.start(step, chunk, *state))
                while len(waiting) >= flight.room:  # finished results that wait for an earlier one take room as well
                    yield flight.result(waiting.popleft())
            while waiting:
                yield flight.result(waiting.popleft())

    def map_reduce(
        self, step: Callable[..., R], chunks: Iterable[object], add: Callable[[R, R], R], *state: object
    ) -> R:
        with self._flight() as flight:
            parts = (flight.start(step, chunk, *state) for chunk in chunks)
            return tree_reduce(add, _sums_of_groups(flight, add, parts))

    def worker_jobs(self, n_jobs: int | None) -> int | None:
        return 1

    def count_traffic(self) -> None:
        if self._traffic is not None and self._post is not None:
            elsewhere = self._client.run(_collect, *self._post, on_error="ignore")  # not from workers that died
            counts = [_collect(*self._post), *elsewhere.values()]
            self._traffic.messages += sum(messages for messages, _ in counts)
            self._traffic.bytes += sum(size for _, size in counts)


def _sums_of_groups(flight: _Flight, add: Callable[[R, R], R], parts: Iterator[Future]) -> Iterator[R]:
    """The sum of every GROUP parts, made on the workers and brought here, in order."""
    sums: deque[Future] = deque()
    for first in parts:
        sums.append(tree_reduce(partial(flight.add, add), chain([first], islice(parts, GROUP - 1))))
        while len(sums) > GROUPS_AHEAD or (sums and sums[0].done()):
            yield flight.result(sums.popleft())
    while sums:
        yield flight.result(sums.popleft())


class _Flight:
    """The tasks of one call that are under way: bounded in number, watched, cancelled when the call ends early."""

    def __init__(self, client: Client, post: tuple[str, float] | None) -> None:
        self.room = 0  # how many may be under way when a step is started
        self._client = client
        self._post = post
        self._tasks: dict[Future, str] = {}  # task -> what it is, for messages
        # A key of our own for every task: an equal call later may find other data at the same address. Dask takes the
        # first part for the name of a group, and spreads a large group with few dependencies over all workers.
        self._name = uuid.uuid4().hex
        self._numbers = count()
        self._steps = 0
        self._workerless_since: float | None = None

    def __enter__(self) -> _Flight:
        return self

    def __exit__(self, *_: object) -> None:
        # Failed ones too: the error they hold has our frames in its traceback, which would keep every task for ever.
        unwanted = [task for task in self._tasks if task.status != "finished"]
        if unwanted and self._client.status == "running":
            with contextlib.suppress(OSError):
                self._client.cancel(unwanted)

    def start(self, step: Callable[..., object], chunk: object, *state: object) -> Future:
        """Run a step on a chunk, as soon as there is room."""
        if self._steps % GROUP == 0:  # workers come and go
            # An add that waits for a slow step takes room too, one for each level of the tree.
            self.room = TASKS_PER_THREAD * self._threads() + GROUP.bit_length()
        self._steps += 1
        self._sweep()
        while len(self._tasks) >= self.room:
            self._wait()
        return self.submit("step", f"chunk {reprlib.repr(chunk)}", step, chunk, *state)

    def add(self, add: Callable[..., object], left: Future, right: Future) -> Future:
        """Add two results on a worker, before further steps are begun there."""
        return self.submit("add", "a sum of results", add, left, right, priority=1)

    def submit(
        self, role: str, what: str, function: Callable[..., object], *arguments: object, priority: int = 0
    ) -> Future:
        """A task on some worker; futures and `Kept` arguments are their values there."""
        values = _values(arguments)
        if (post := self._post) is not None:
            from distributed import Future

            def packed(value: object) -> object:  # one parcel, apart from what the workers hold already
                if type(value) is tuple and any(isinstance(part, Future) for part in value):
                    return tuple(packed(part) for part in value)
                return value if isinstance(value, Future) else _Parcel(value, post)

            function, values = _deliver, [function, post, *map(packed, values)]
        key = (f"{role}-{self._name}", next(self._numbers))
        try:
            task = self._client.submit(function, *values, key=key, retries=RETRIES, priority=priority)
        except Exception as error:
            raise ClusterError(f"{what} cannot be sent to the workers: {_one_line(error)}") from error
        self._tasks[task] = what
        return task

    def land(self) -> None:
        while self._tasks:
            self._wait()

    def result(self, task: Future) -> Any:
        self._sweep()
        timeout = WORKERLESS_SECONDS
        while True:
            while not task.done():
                self._wait(task)
            with _explained("a result"):
                try:
                    value = task.result(timeout=timeout)
                except TimeoutError:  # it is very large, or was lost with its worker and is being made again
                    self._watch()
                    timeout *= 2
                else:
                    return value.open() if isinstance(value, _Parcel) else value

    def _wait(self, *others: Future) -> None:
        from distributed import wait

        try:
            with self._client.as_current(), contextlib.suppress(CancelledError):  # the sweep says of which
                wait([*others, *self._tasks], timeout=WATCH_SECONDS, return_when="FIRST_COMPLETED")
        except TimeoutError:
            self._watch()
        self._sweep()

    def _sweep(self) -> None:
        """Forget finished tasks, and raise for the first that failed."""
        for task in [task for task in self._tasks if task.done()]:
            with _explained(self._tasks[task]):
                if task.status != "finished":
                    task.result()
            del self._tasks[task]

    def _watch(self) -> None:
        """Give up when there has been no worker for long, or no scheduler."""
        now = time.monotonic()
        if self._threads():
            self._workerless_since = None
        elif self._workerless_since is None:
            self._workerless_since = now
        elif now - self._workerless_since >= WORKERLESS_SECONDS:
            remedy = f"start some with: dask worker {self._client.scheduler.address}"
            raise ClusterError(f"there has been no worker for {WORKERLESS_SECONDS:.0f} s; {remedy}")

    def _threads(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except OSError as error:
            raise ClusterError("the Dask scheduler has stopped answering; start it and then this job again") from error


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    """Errors of a task as the caller shall see them: our own unchanged, others with what failed."""
    from distributed import KilledWorker

    try:
        yield
    except (ClusterError, DataError, ModelFileError):
        raise
    except KilledWorker as error:
        remedy = "give the workers more memory or make the chunks smaller"
        raise ClusterError(f"{what}: {error.allowed_failures + 1} workers died of it; {remedy}") from error
    except CancelledError as error:
        raise ClusterError(f"{what} was lost: the scheduler went away or cancelled it; start again") from error
    except Exception as error:
        raise ClusterError(f"{what} failed on a worker: {_one_line(error)}") from error


@contextlib.contextmanager
def _client(cluster: str | Client) -> Iterator[Client]:
    """A client that is connected."""
    try:
        from distributed import Client
        from distributed.comm import get_address_host_port
    except ImportError as error:
        raise ClusterError("cluster= needs Dask; install it with: pip install 'textmill[cluster]'") from error
    if isinstance(cluster, Client):
        if cluster.asynchronous or cluster.status != "running":
            kind = "asynchronous" if cluster.asynchronous else cluster.status
            raise ClusterError(f"cluster= got a Dask client that is {kind}; pass a synchronous one that is connected")
        yield cluster
        return
    if not isinstance(cluster, str):
        raise DataError(f"cluster= takes None, a scheduler's address or a Dask client, not {type(cluster).__name__}")
    try:
        get_address_host_port(cluster)
    except ValueError as error:
        raise ClusterError(f"'{cluster}' is not the address of a Dask scheduler, such as tcp://host:8786") from error
    try:
        client = Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False)
    except OSError as error:
        remedy = "check the address, or start one with: dask scheduler"
        raise ClusterError(f"{cluster}: no Dask scheduler answers there; {remedy}") from error
    try:
        yield client
    finally:
        client.close()


def _check_workers(client: Client) -> None:
    """Refuse a cluster without workers, and one that runs another textmill."""

    def version() -> object:  # local, so that it travels by value, also to where there is no textmill
        try:
            import textmill

            return textmill.__version__
        except Exception:
            return None

    address = client.scheduler.address
    deadline = time.monotonic() + CONNECT_SECONDS
    while not client.nthreads():
        if time.monotonic() > deadline:
            raise ClusterError(f"{address} has no workers; start some with: dask worker {address}")
        time.sleep(0.05)
    here = version()
    everywhere = {address: client.run_on_scheduler(version), **client.run(version, on_error="return")}
    for place, there in everywhere.items():
        if there != here and not isinstance(there, OSError):  # that one has just died
            fault = "has no textmill" if there is None else f"runs textmill {there}"
            raise ClusterError(f"{place} {fault}; install version {here} there, as in this process")


def _values(arguments: Iterable[object]) -> list[Any]:
    """The arguments as the step sees them: kept values (their futures on Dask) in place of `Kept`."""
    return [_value(argument) for argument in arguments]


def _value(argument: object) -> Any:
    if type(argument) is tuple:
        return tuple(_value(part) for part in argument)
    return argument._value if isinstance(argument, Kept) else argument


def _same(state: R) -> R:
    return state


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


_received: dict[str, tuple[int, int]] = {}  # mark of a connection -> messages and bytes that reached this process
_received_lock = threading.Lock()


class _Parcel:
    """A value that is counted, and delayed, where it is first used after a journey."""

    def __init__(self, value: object, post: tuple[str, float], travelled: bool = False) -> None:
        self._value = value
        self._post = post  # mark of the connection, seconds of delay
        self._travelled = travelled

    def __reduce__(self) -> tuple[object, ...]:
        return _Parcel, (self._value, self._post, True)

    def __sizeof__(self) -> int:  # the scheduler must see the true size, as it does without the parcel
        from dask.sizeof import sizeof

        return int(sizeof(self._value))

    def open(self) -> Any:
        mark, delay = self._post
        with _received_lock:
            first, self._travelled = self._travelled, False
            if first:
                messages, size = _received.get(mark, (0, 0))
                _received[mark] = messages + 1, size + len(pickle.dumps(self._value, protocol=5))
        if first:
            time.sleep(delay)
        return self._value


def _deliver(function: Callable[..., object], post: tuple[str, float], *parcels: Any) -> _Parcel:
    return _Parcel(function(*map(_opened, parcels)), post)


def _opened(parcel: Any) -> Any:
    return tuple(map(_opened, parcel)) if type(parcel) is tuple else parcel.open()


def _collect(mark: str, delay: float) -> tuple[int, int]:
    return _received.pop(mark, (0, 0))

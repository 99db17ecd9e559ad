"""Where `cluster=` leads: this process, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import reprlib
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from textmill.cluster import limits
from textmill.cluster.flight import Flight, Task, ask, sums_of_groups
from textmill.cluster.interface import Cluster, Kept, kept_values, tree_reduce
from textmill.cluster.traffic import Traffic, collect
from textmill.errors import ClusterError, DataError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["connect"]

R = TypeVar("R")


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

    elsewhere = False

    def broadcast(self, state: R) -> Kept[R]:
        return Kept(state, "state")

    def keep(self, load: Callable[..., R], addresses: Iterable[object], *state: object) -> list[Kept[R]]:
        return [Kept(load(address, *kept_values(state)), reprlib.repr(address)) for address in addresses]

    def map(self, step: Callable[..., R], chunks: Iterable[object], *state: object) -> Iterator[R]:
        values = kept_values(state)
        return (step(*kept_values([chunk]), *values) for chunk in chunks)

    def map_reduce(
        self, step: Callable[..., R], chunks: Iterable[object], add: Callable[[R, R], R], *state: object
    ) -> R:
        return tree_reduce(add, self.map(step, chunks, *state))

    def worker_jobs(self, n_jobs: int | None) -> int | None:
        return n_jobs


class _Dask(Cluster):
    """The workers of a Dask cluster."""

    elsewhere = True

    def __init__(self, client: Client, traffic: Traffic | None) -> None:
        self._client = client
        self._mark = uuid.uuid4().hex
        self._traffic = traffic
        self._post = None if traffic is None else (self._mark, traffic.delay)

    def _flight(self) -> Flight:
        return Flight(self._client, self._mark, self._post)

    def broadcast(self, state: R) -> Kept[R]:
        with self._flight() as flight:
            task = flight.broadcast(state)
            flight.land()
        # Only for speed: steps would crowd on the one worker that has the state. Dask's replicate fails in many ways
        # when a worker dies at that moment.
        with contextlib.suppress(Exception):
            ask(self._client, self._client.replicate, [task.future], seconds=limits.REPLICATE_SECONDS)
        return _keep(task, "state")

    def keep(self, load: Callable[..., R], addresses: Iterable[object], *state: object) -> list[Kept[R]]:
        with self._flight() as flight:
            tasks = [(flight.start(load, address, *state), reprlib.repr(address)) for address in addresses]
            flight.land()
        return [_keep(task, name) for task, name in tasks]

    def map(self, step: Callable[..., R], chunks: Iterable[object], *state: object) -> Iterator[R]:
        waiting: deque[Task] = deque()
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
            return tree_reduce(add, sums_of_groups(flight, add, parts))

    def worker_jobs(self, n_jobs: int | None) -> int | None:
        return 1

    def count_traffic(self) -> None:
        if self._traffic is not None and self._post is not None:
            elsewhere = ask(
                self._client, self._client.run, collect, self._mark, on_error="ignore"
            )  # some may have died
            counts = [collect(self._mark), *elsewhere.values()]
            self._traffic.messages += sum(messages for messages, _ in counts)
            self._traffic.bytes += sum(size for _, size in counts)


def _keep(task: Task, name: str) -> Kept[R]:
    task.kept = True
    return Kept(task, name)


@contextlib.contextmanager
def _client(cluster: str | Client) -> Iterator[Client]:
    """A client that is connected."""
    try:
        from distributed import Client
        from distributed.comm import get_address_host_port
    except ImportError as error:
        raise ClusterError("cluster= needs Dask; install it with: pip install 'textmill[dask]'") from error
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
        client = Client(cluster, timeout=limits.CONNECT_SECONDS, set_as_default=False)
    except OSError as error:
        remedy = "check the address, or start one with: dask scheduler"
        raise ClusterError(f"{cluster}: no Dask scheduler answers there; {remedy}") from error
    try:
        yield client
    finally:
        with contextlib.suppress(TimeoutError):  # the work is done; what a dead scheduler still holds is lost anyway
            client.close(timeout=limits.ASK_SECONDS)


def _check_workers(client: Client) -> None:
    """Refuse a cluster without workers, and one that runs another textmill."""

    def version() -> object:  # local, so that it travels by value, also to where there is no textmill
        try:
            import textmill

            return textmill.__version__
        except Exception:
            return None

    address = client.scheduler.address
    deadline = time.monotonic() + limits.CONNECT_SECONDS
    while not ask(client, client.nthreads):
        if time.monotonic() > deadline:
            raise ClusterError(f"{address} has no workers; start some with: dask worker {address}")
        time.sleep(0.05)
    here = version()
    everywhere = {
        address: ask(client, client.run_on_scheduler, version),
        **ask(client, client.run, version, on_error="return"),
    }
    for place, there in everywhere.items():
        if there != here and not isinstance(there, OSError):  # that one has just died
            fault = "has no textmill" if there is None else f"runs textmill {there}"
            raise ClusterError(f"{place} {fault}; install version {here} there, as in this process")

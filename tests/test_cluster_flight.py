"""What a flight asks of Dask: seen by a client that only takes notes."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from textmill.cluster import connect, flight, limits
from textmill.cluster.flight import Flight, Task
from textmill.errors import ClusterError


class Future:
    """An attempt whose end the test decides."""

    def __init__(self, key: tuple[str, int]) -> None:
        self.key = key
        self.status = "pending"
        self.released = 0

    def done(self) -> bool:
        return self.status not in ("pending", "lost")

    def release(self) -> None:
        self.released += 1


class Notes:
    """A client that writes down what it is asked."""

    def __init__(self, threads: int = 3) -> None:
        self.status = "running"
        self.sent: list[SimpleNamespace] = []
        self.canceled: list[Future] = []
        self._threads = threads
        self.questions = 0

    def submit(self, function: object, *arguments: object, key: Any, retries: int, priority: int) -> Future:
        import dask

        future = Future(key)
        warning = dask.config.get("distributed.admin.large-graph-warning-threshold", None)
        self.sent.append(
            SimpleNamespace(
                function=function, arguments=arguments, key=key, retries=retries, priority=priority, future=future,
                warning=warning,
            )
        )  # fmt: skip
        return future

    def sync(self, method: Any, *arguments: Any, callback_timeout: float, **options: Any) -> Any:
        self.questions += 1
        return method(*arguments, **options)

    def nthreads(self) -> dict[str, int]:
        return {"a": self._threads}

    def cancel(self, futures: Iterable[Future]) -> None:
        self.canceled += futures

    @property
    def keys(self) -> list[str]:
        return [f"{sent.key[0].split('-')[0]} {sent.key[1]}" for sent in self.sent]


def open_flight(client: Notes, post: Any = None) -> Flight:
    return Flight(client, "mark", post)  # type: ignore[arg-type]


def test_each_role_is_sent_with_its_own_key_priority_and_retries() -> None:
    client = Notes()
    one = open_flight(client)
    state = one.broadcast([1, 2])
    left = one.start(operator.add, [3], state)
    right = one.start(operator.add, [4], state)
    one.add(operator.add, left, right)
    assert client.keys == ["state 0", "step 1", "step 2", "add 3"]
    assert [sent.priority for sent in client.sent] == [0, 0, 0, 1]
    assert {sent.retries for sent in client.sent} == {limits.RETRIES}
    assert client.sent[1].arguments == ([3], state.future)
    assert client.sent[3].arguments == (left.future, right.future)
    assert client.sent[0].function(*client.sent[0].arguments) == [1, 2]
    assert [sent.warning == "1 TiB" for sent in client.sent] == [True, False, False, False]


def test_flights_of_one_connection_have_names_of_their_own() -> None:
    client = Notes()
    for _ in range(2):
        open_flight(client).start(str, 1)
    first, second = (sent.key[0] for sent in client.sent)
    assert first != second
    assert first.startswith("step-mark-")
    assert second.startswith("step-mark-")


def test_with_traffic_values_travel_in_parcels_and_tasks_as_futures() -> None:
    client = Notes()
    one = open_flight(client, ("mark", 0.0))
    state = one.broadcast(7)
    step = one.start(operator.add, 5, state)
    pair = one._send(Task("step", "a pair", len, [(state, 2), (3, 4)]))
    loaded = client.sent[0].function(*client.sent[0].arguments)
    assert loaded.open() == 7
    deliver, post, chunk, future = (client.sent[1].function, *client.sent[1].arguments[1:])
    assert (deliver, post, chunk.open(), future) == (flight.deliver, ("mark", 0.0), 5, state.future)
    of_tasks, of_values = client.sent[2].arguments[2:]
    assert (type(of_tasks), of_tasks[0], of_tasks[1].open()) == (tuple, state.future, 2)
    assert of_values.open() == (3, 4)
    assert (step.needs, pair.needs) == ([state], [state])


def test_there_is_room_for_tasks_per_thread_and_for_one_add_of_each_level(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Notes(threads=3)
    one = open_flight(client)
    monkeypatch.setattr(limits, "GROUP", 4)
    waits: list[int] = []

    def wait() -> None:
        waits.append(len(one._tasks))
        for task in list(one._tasks)[:2]:
            task.future.status = "finished"
        one._sweep()

    monkeypatch.setattr(one, "_wait", wait)
    for chunk in range(11):
        one.start(str, chunk)
        assert one.room == limits.TASKS_PER_THREAD * 3 + 3
    assert waits == [9], "the tenth step waits until some of nine have finished, the eleventh finds room"
    assert client.questions == 3, "workers are counted once for each group of four"
    client._threads = 5
    one.start(str, 11)
    assert one.room == 9, "in the middle of a group nobody is asked"
    one.start(str, 12)
    assert one.room == limits.TASKS_PER_THREAD * 5 + 3


def test_landing_waits_until_nothing_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    one = open_flight(Notes())
    tasks = [one.start(str, chunk) for chunk in range(3)]

    def wait() -> None:
        next(task for task in tasks if not task.future.done()).future.status = "finished"
        one._sweep()

    monkeypatch.setattr(one, "_wait", wait)
    one.land()
    assert all(task.future.done() for task in tasks)


def test_a_call_that_ends_early_cancels_what_is_not_finished_and_nothing_that_is_kept() -> None:
    client = Notes()
    with open_flight(client) as one:
        need = one.start(str, 0)
        need.future.status = "finished"
        tasks = [one._send(Task("step", str(n), str, [need])) for n in range(4)]
        tasks[1].future.status = "finished"
        tasks[2].kept = True
        tasks[3].future = None
    assert client.canceled == [tasks[0].future]
    assert need.future is None, "what only these needed is released"


def test_nothing_is_canceled_where_the_client_is_closed_or_all_has_finished() -> None:
    closed = Notes()
    with open_flight(closed) as one:
        one.start(str, 0)
        closed.status = "closed"
    assert closed.canceled == []
    client = Notes()
    with open_flight(client) as one:
        one.start(str, 0).future.status = "finished"
        asked = client.questions
    assert client.canceled == []
    assert client.questions == asked, "there is nothing to ask for"


def test_a_second_attempt_sends_needs_before_those_that_need_them_and_each_once() -> None:
    client = Notes()
    one = open_flight(client)
    state = one.broadcast(1)
    done = one.start(str, 10, state)
    steps = [one.start(str, chunk, state) for chunk in range(2)]
    total = one.add(operator.add, steps[0], steps[1])
    done.future.status = "finished"
    old = [task.future for task in (state, *steps, total)]
    client.sent.clear()
    one._send_again(everything=False)
    assert [sent.key[0].split("-")[0] for sent in client.sent] == ["state", "step", "step", "add"]
    assert [future.released for future in old] == [1, 1, 1, 1]
    assert client.sent[3].arguments == (steps[0].future, steps[1].future)
    assert [task.resends for task in (state, *steps, total, done)] == [1, 1, 1, 1, 0]


@pytest.mark.parametrize(("everything", "roles"), [(False, ["step"]), (True, ["state", "step"])])
def test_a_need_that_is_at_hand_is_made_again_only_with_everything(everything: bool, roles: list[str]) -> None:
    client = Notes()
    one = open_flight(client)
    state = one.broadcast(1)
    state.future.status = "finished"
    one._sweep()
    one.start(str, 0, state)
    client.sent.clear()
    one._send_again(everything=everything)
    assert [sent.key[0].split("-")[0] for sent in client.sent] == roles


def test_a_need_that_was_forgotten_is_made_again() -> None:
    client = Notes()
    one = open_flight(client)
    state = one.broadcast(1)
    one.start(str, 0, state)
    state.release()
    del one._tasks[state]
    client.sent.clear()
    one._send_again(everything=False)
    assert [sent.key[0].split("-")[0] for sent in client.sent] == ["state", "step"]


def test_what_is_waited_for_is_named_three_at_most_and_each_name_once() -> None:
    one = open_flight(Notes())
    for chunk in (1, 2, 3):
        one.start(str, chunk)
    one.start(str, 3)
    assert one._awaited() == "waited for chunk 1, chunk 2, chunk 3"
    one.start(str, 4)
    assert one._awaited() == "waited for chunk 1, chunk 2, chunk 3 and 1 more"


def test_a_lost_task_is_neither_finished_nor_failed() -> None:
    one = open_flight(Notes())
    lost, failed = one.start(str, 1), one.start(str, 2)
    lost.future.status = "lost"
    one._sweep()
    assert list(one._tasks) == [lost, failed]
    failed.future.status = "error"

    def raise_error(timeout: float) -> None:
        assert timeout == limits.ASK_SECONDS
        raise ValueError("not\na number")

    failed.future.result = raise_error
    with pytest.raises(ClusterError, match="chunk 2 failed on a worker: ValueError: not a number"):
        one._sweep()


def test_sums_are_brought_in_order_and_only_two_groups_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GROUP", 2)
    client = Notes(threads=50)
    one = open_flight(client)
    brought: list[tuple[Task, int]] = []

    def result(task: Task) -> Task:
        brought.append((task, len(client.sent)))
        return task

    monkeypatch.setattr(one, "result", result)
    parts = (one.start(str, chunk) for chunk in range(9))
    sums = list(flight.sums_of_groups(one, operator.add, parts))
    assert [task.role for task in sums] == ["add", "add", "add", "add", "step"]
    sent_before = [sent for _, sent in brought]
    assert sent_before == [9, 12, 13, 13, 13], "the first sum is asked for when a third group is under way"
    assert limits.GROUPS_AHEAD == 2


def test_a_sum_that_is_ready_is_brought_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GROUP", 1)
    client = Notes(threads=50)
    one = open_flight(client)
    monkeypatch.setattr(one, "result", lambda task: len(client.sent))

    def parts() -> Any:
        for chunk in range(3):
            task = one.start(str, chunk)
            task.future.status = "finished"
            yield task

    assert list(flight.sums_of_groups(one, operator.add, parts())) == [1, 2, 3]


def test_a_connection_by_address_does_not_become_the_default_client(client: Any) -> None:
    from distributed.client import _get_global_client

    with connect(client.scheduler.address) as there:
        assert list(there.map(np.negative, [1])) == [-1]
        default = _get_global_client()
        assert default is None or default is client


def test_a_worker_that_comes_before_the_deadline_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from textmill.cluster import connection

    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(limits, "CONNECT_SECONDS", 10.0)
    monkeypatch.setattr(
        connection,
        "time",
        SimpleNamespace(monotonic=lambda: clock.now, sleep=lambda seconds: setattr(clock, "now", clock.now + 3.0)),
    )

    class Late(Notes):
        def __init__(self, comes: float) -> None:
            super().__init__()
            self.comes = comes
            self.scheduler = SimpleNamespace(address="there")

        def nthreads(self) -> dict[str, int]:
            return {"a": 1} if clock.now >= self.comes else {}

        def run_on_scheduler(self, function: Any) -> Any:
            return function()

        def run(self, function: Any, on_error: str) -> dict[str, Any]:
            return {"a": function()}

    clock.now = 100.0
    connection._check_workers(Late(comes=109.0))  # type: ignore[arg-type]
    clock.now = 100.0
    with pytest.raises(ClusterError, match="there has no workers"):
        connection._check_workers(Late(comes=200.0))  # type: ignore[arg-type]
    assert 110.0 < clock.now < 115.0


def test_a_wait_hands_its_length_to_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    import contextlib

    import distributed

    client = Notes()
    client.as_current = contextlib.nullcontext  # type: ignore[attr-defined]
    one = open_flight(client)
    task = one.start(str, 1)
    watched: list[float] = []
    monkeypatch.setattr(one, "_watch", watched.append)

    clock = SimpleNamespace(now=1000.0)

    def wait(futures: list[Future], timeout: float, return_when: str) -> None:
        assert (futures, timeout, return_when) == ([task.future], limits.WATCH_SECONDS, "FIRST_COMPLETED")
        clock.now += 2.5
        raise TimeoutError

    monkeypatch.setattr(distributed, "wait", wait)
    monkeypatch.setattr(flight, "time", SimpleNamespace(monotonic=lambda: clock.now))
    one._wait()
    assert watched == [2.5]


def test_a_result_that_is_lost_on_the_way_again_and_again_has_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio
    import concurrent.futures

    clock = SimpleNamespace(now=1000.0)
    client = Notes()
    client.loop = SimpleNamespace(asyncio_loop=None)  # type: ignore[attr-defined]
    one = open_flight(client)
    task = one.start(str, 7)
    journeys: list[Any] = []

    def travel(coroutine: Any, loop: object) -> Any:
        coroutine.close()
        journeys.append(concurrent.futures.Future())
        return journeys[-1]

    def lose(_: object, timeout: float) -> None:
        clock.now += 1.0
        task.future.status = "lost"

    def make_again() -> None:
        task.future.status = "finished"

    task.future.status = "finished"
    monkeypatch.setattr(limits, "ARRIVAL_SECONDS", 2.5)
    monkeypatch.setattr(flight, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", travel)
    monkeypatch.setattr(concurrent.futures, "wait", lose)
    monkeypatch.setattr(one, "_wait", make_again)
    with pytest.raises(ClusterError, match="chunk 7: the result is there, and did not arrive in 2 s"):
        one.result(task)
    assert len(journeys) == 3
    assert all(journey.cancelled() for journey in journeys)


def test_a_scheduler_that_is_gone_and_a_task_that_cannot_be_sent_are_told_in_words() -> None:
    def gone(*_: object, **__: object) -> None:
        raise OSError("connection refused")

    client = Notes()
    client.sync = gone  # type: ignore[assignment, method-assign]
    with pytest.raises(ClusterError, match="the Dask scheduler has stopped answering; start it"):
        flight.ask(client, client.nthreads)  # type: ignore[arg-type]
    client.submit = gone  # type: ignore[assignment, method-assign]
    with pytest.raises(ClusterError, match="a sum of results cannot be sent to the workers: OSError: connection"):
        open_flight(client).add(operator.add, Task("step", "a", str, []), Task("step", "b", str, []))

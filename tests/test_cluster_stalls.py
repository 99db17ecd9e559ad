"""No job hangs on a cluster: tasks that Dask loses are sent again, waits end, workers die at random moments."""

from __future__ import annotations

import asyncio
import operator
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from waiting import LIMIT, wait_until

from textmill.cluster import connect, flight, limits, tree_reduce
from textmill.cluster.flight import Flight
from textmill.errors import ClusterError, DataError

Floats = NDArray[np.float64]


def floats(chunk: int, state: Floats | float = 1.0) -> Floats:
    """Numbers of very different size, whose sum depends on the order of addition."""
    generator = np.random.default_rng(chunk)
    return generator.normal(size=50) * 10.0 ** generator.integers(-12, 12, size=50) * state


def counted_floats(chunk: tuple[Path, int], state: Floats, shift: Floats) -> Floats:
    """A step that leaves a byte each time it runs."""
    with (chunk[0] / "calls").open("ab", buffering=0) as file:
        file.write(b".")
    return floats(chunk[1], state) + shift


def note(folder: Path, waits: bool = False) -> int:
    """A step that leaves a line each time it begins, and may wait until it is let go."""
    with (folder / "ran").open("a") as file:
        file.write("ran\n")
    if waits:
        wait_until((folder / "go").exists)
    return 1


def expected(n: int, state: Any) -> bytes:
    return tree_reduce(operator.add, [floats(chunk, state) for chunk in range(n)]).tobytes()


# A worker that forgets tasks: the scheduler waits for it, and it waits for the scheduler.


class Forgetful:
    """Loses the first tasks of some roles on their way into a worker, as a worker does that takes them for released."""

    def __init__(self, client: Any) -> None:
        self.keys: list[tuple[str, int]] = []  # of all tasks that reached the worker
        self.losses: Counter[str] = Counter()  # role -> how many are yet to be lost
        (self.worker,) = client.cluster.workers.values()
        self._compute = self.worker.stream_handlers["compute-task"]
        self.worker.stream_handlers["compute-task"] = self.compute

    def compute(self, key: Any, **message: Any) -> None:
        role = key[0].split("-")[0]
        if type(key) is tuple:  # keys of other jobs are texts
            self.keys.append(key)
        if self.losses[role]:
            self.losses[role] -= 1
        else:
            self._compute(key=key, **message)

    def count(self, role: str) -> int:
        return sum(name.startswith(role) for name, _ in self.keys)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WATCH_SECONDS", 0.1)
    monkeypatch.setattr(limits, "STALL_SECONDS", 1.0)  # heartbeats come every half second


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float, float]]:
    """What the looks at the cluster have counted so far: seconds idle, standing still, in a queue."""
    seen: list[tuple[float, float, float]] = []
    watch = Flight._watch

    def note_look(self: Flight, seconds: float) -> None:
        seen.append((self._idle + seconds, self._standing + seconds, self._queued + seconds))
        watch(self, seconds)

    monkeypatch.setattr(Flight, "_watch", note_look)
    return seen


@pytest.fixture
def forgetful(threads: Any, quick: None) -> Forgetful:
    return Forgetful(threads)


STATE = np.linspace(0.5, 2, 50)


@pytest.mark.parametrize(("role", "times"), [("state", 1), ("step", 1), ("add", 1), ("add", 2)])
def test_a_task_that_dask_has_lost_is_sent_again_under_a_new_key(
    threads: Any, forgetful: Forgetful, role: str, times: int
) -> None:
    forgetful.losses[role] = times
    with connect(threads) as there:
        total = there.map_reduce(floats, range(8), operator.add, there.broadcast(STATE))
    assert total.tobytes() == expected(8, STATE)
    assert forgetful.losses[role] == 0
    assert len(set(forgetful.keys)) == len(forgetful.keys), "no key is used twice"


def test_lost_tasks_of_keep_and_map_are_sent_again(threads: Any, forgetful: Forgetful) -> None:
    forgetful.losses["step"] = 1
    with connect(threads) as there:
        kept = there.keep(floats, range(3))
        forgetful.losses["step"] = 1
        assert [part.tobytes() for part in there.map(np.negative, kept)] == [(-floats(n)).tobytes() for n in range(3)]
    assert forgetful.losses["step"] == 0


def test_only_what_is_not_at_hand_is_made_again_at_first_and_then_everything(
    threads: Any, forgetful: Forgetful
) -> None:
    state = STATE.copy()
    with connect(threads) as there:
        kept, broadcast = there.keep(floats, range(1)), there.broadcast(state)
        state[:] = 7.0  # what the caller does with his array later is no part of the recipe
        forgetful.keys.clear()
        forgetful.losses["step"] = 1
        (once,) = there.map(operator.mul, kept, broadcast)
        assert (forgetful.count("step"), forgetful.count("state")) == (2, 0)
        forgetful.keys.clear()
        forgetful.losses["step"] = 2
        (twice,) = there.map(operator.mul, kept, broadcast)
        assert (forgetful.count("step"), forgetful.count("state")) == (2 + 2, 1)  # the kept chunk is a step too
    assert once.tobytes() == twice.tobytes() == (floats(0) * STATE).tobytes()


def test_what_never_comes_back_is_given_up_and_named(
    threads: Any, forgetful: Forgetful, looks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STALL_SECONDS", 0.3)
    forgetful.losses["step"] = 100
    with connect(threads) as there, pytest.raises(ClusterError) as caught:
        list(there.map(floats, [11, 22, 33, 44, 55]))
    assert max(standing for _, standing, _ in looks) >= 15 * 0.3
    assert str(caught.value).startswith("waited for chunk 11, chunk 22, chunk 33 and 2 more: sent 4 times, and for ")
    assert "nothing finished and no worker executed anything; look into the logs" in str(caught.value)
    assert max(number for _, number in forgetful.keys) // 5 == limits.RESENDS, "numbers 0 to 4 were the first attempts"


def test_a_task_that_finished_may_be_lost_as_often_again(
    threads: Any, forgetful: Forgetful, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RESENDS", 2)
    with connect(threads) as there:
        broadcast = there.broadcast(STATE)
        for _ in range(limits.RESENDS + 1):
            forgetful.losses["step"] = 2  # the second time the state is sent again as well
            assert len(list(there.map(floats, [1], broadcast))) == 1
        assert forgetful.count("state") == 1 + limits.RESENDS + 1


def test_a_state_that_was_under_way_again_when_a_call_failed_can_still_be_used(
    threads: Any, forgetful: Forgetful, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STALL_SECONDS", 0.6)
    monkeypatch.setattr(limits, "RESENDS", 2)
    with connect(threads) as there:
        broadcast = there.broadcast(STATE)
        forgetful.losses.update(step=100, state=100)
        with pytest.raises(ClusterError, match="waited for chunk 1, the broadcast state: sent 3 times"):
            list(there.map(floats, [1], broadcast))
        forgetful.losses.clear()
        (part,) = there.map(floats, [1], broadcast)
    assert part.tobytes() == floats(1, STATE).tobytes()


def test_a_result_that_is_lost_after_it_was_ready_is_made_again(threads: Any, forgetful: Forgetful) -> None:
    with Flight(threads, "mark", None) as one:
        task = one.start(floats, 5)
        one.land()
        lost = threading.Event()
        threads.loop.add_callback(lambda: (threads._handle_lost_data(key=task.future.key), lost.set()))
        assert lost.wait(timeout=60)
        assert task.future.status == "lost"
        assert one.result(task).tobytes() == floats(5).tobytes()
        assert task.resends == one._idle == one._standing == one._queued == 0, "what finished begins anew"
    assert forgetful.count("step") == 2


def test_what_only_a_finished_task_needed_is_forgotten_with_it() -> None:
    released: list[str] = []

    def finished(name: str, *needs: flight.Task) -> flight.Task:
        task = flight.Task("step", name, floats, needs)
        task.future = SimpleNamespace(status="finished", release=lambda: released.append(name))
        return task

    kept, part = finished("kept"), finished("part")
    kept.kept = True
    total = finished("total", part, kept)
    one = Flight(SimpleNamespace(), "mark", None)  # type: ignore[arg-type]
    one._tasks = {total: None, part: None}  # as after a second attempt, which begins with the sum
    one._sweep()
    assert one._tasks == {}
    assert released == ["part"]
    assert (part.future, kept.future is None, total.future is None) == (None, False, False)


def test_a_large_state_gets_more_time(
    threads: Any, forgetful: Forgetful, looks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SLOW_BYTES", 100)
    forgetful.losses["state"] = 1
    with connect(threads) as there:
        there.broadcast(np.zeros(50))
    assert max(idle for idle, _, _ in looks) >= 1.0 + 400 / 100


# Work that is no stall.


def let_go_after(looks: list[Any], count: int, folder: Path) -> threading.Thread:
    """Let a step that waits go on after so many looks at the cluster, of a tenth of a second at least."""

    def wait() -> None:
        try:
            wait_until(lambda: len(looks) >= count)
        finally:
            (folder / "go").touch()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_step_that_executes_for_long_is_not_sent_again(
    threads: Any, quick: None, looks: list[Any], tmp_path: Path
) -> None:
    thread = let_go_after(looks, 40, tmp_path)
    with connect(threads) as there:
        assert list(there.map(note, [tmp_path], True)) == [1]
    thread.join()
    assert len(looks) >= 40
    assert (tmp_path / "ran").read_text() == "ran\n"


def test_a_step_behind_another_job_waits_for_its_turn(
    threads: Any, forgetful: Forgetful, looks: list[Any], tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = threads.submit(note, tmp_path / "other", True)
    thread = let_go_after(looks, 40, tmp_path / "other")
    with connect(threads) as there:
        assert list(there.map(note, [tmp_path])) == [1]
    thread.join()
    assert len(looks) >= 40
    other.result(timeout=LIMIT)
    assert forgetful.count("step") == 1


def test_a_queue_behind_other_jobs_has_an_end(
    threads: Any, quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(limits, "QUEUE_SECONDS", 0.5)
    (tmp_path / "other").mkdir()
    other = threads.submit(note, tmp_path / "other", True)
    with (
        connect(threads) as there,
        pytest.raises(ClusterError, match=r"chunk .*: \d+ s behind other jobs; start more"),
    ):
        list(there.map(note, [tmp_path]))
    (worker,) = threads.cluster.workers.values()
    wait_until(lambda: list(worker.state.tasks) == [other.key], "the worker still has what was given up")
    (tmp_path / "other" / "go").touch()
    other.result(timeout=LIMIT)
    assert not (tmp_path / "ran").exists()


class Executing:
    def __init__(self, key: object) -> None:
        self.key = key


def worker(keys: list[object], *, seen: float = 0.0, transfers: int = 0) -> Any:
    """A worker of two threads as the scheduler has it."""
    return SimpleNamespace(
        nthreads=2,
        executing={Executing(key): 1.0 for key in keys},
        silent=seen,
        metrics={"transfer": {"incoming_count": transfers}} if transfers else {},
    )


@pytest.mark.parametrize(
    ("workers", "look"),
    [
        ([], (0, False, False)),
        ([worker([])], (2, False, False)),
        ([worker([("step-ours-1", 3)]), worker([])], (4, True, False)),
        ([worker([("step-ours-1", 3)], seen=400.0)], (2, False, False)),
        ([worker([("step-other", 3)]), worker(["x", "y"])], (4, False, False)),
        ([worker([("step-other", 3), "z"]), worker(["x", "y"])], (4, False, True)),
        ([worker(["x", "y"], seen=400.0)], (2, False, False)),
        ([worker([]), worker([], transfers=1)], (4, False, True)),
        ([worker([]), worker([], transfers=1, seen=400.0)], (4, False, False)),
    ],
)
def test_the_scheduler_is_asked_what_workers_report_and_not_what_it_believes(
    workers: Any, look: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flight, "time", SimpleNamespace(time=lambda: 1e9))
    for each in workers:
        each.last_seen = 1e9 - each.silent
    scheduler = SimpleNamespace(workers=dict(enumerate(workers)))
    assert flight._look("ours", 300.0, dask_scheduler=scheduler) == look


IDLE, BUSY, QUEUE, NOBODY = (2, False, False), (2, True, False), (2, False, True), (0, False, False)


@pytest.mark.parametrize(
    ("looks", "ending"),
    [
        ([(IDLE, 19.0), (BUSY, 2.0), (IDLE, 19.0)], []),
        ([(IDLE, 19.0), (BUSY, 2.0), (IDLE, 19.0), (IDLE, 1.0)], [False]),
        ([(IDLE, 20.0), (IDLE, 39.0)], [False]),
        ([(IDLE, 20.0), (IDLE, 40.0), (IDLE, 79.0)], [False, True]),
        ([(IDLE, 20.0), (BUSY, 2.0), (IDLE, 20.0), (IDLE, 20.0)], [False, True]),
        ([(IDLE, 20.0), (IDLE, 40.0), (IDLE, 80.0), (IDLE, 159.0)], [False, True, True]),
        ([(IDLE, 20.0), (IDLE, 40.0), (IDLE, 80.0), (IDLE, 160.0)], "chunk 7: sent 4 times, and for 300 s nothing"),
        ([(IDLE, 19.0), (QUEUE, 30.0), (IDLE, 0.5)], []),
        ([(IDLE, 19.0), (QUEUE, 30.0), (IDLE, 1.0)], [False]),
        ([(QUEUE, 3599.0), (BUSY, 2.0), (QUEUE, 3599.0)], []),
        ([(QUEUE, 3599.0), (IDLE, 2.0), (QUEUE, 2.0)], "chunk 7: 3601 s behind other jobs"),
        ([(NOBODY, 59.0), (QUEUE, 2.0), (NOBODY, 59.0)], []),
        ([(NOBODY, 59.0), (NOBODY, 1.0)], "no worker for 60 s; start some with: dask worker there"),
        ([(NOBODY, 30.0), (IDLE, 10.0), (NOBODY, 30.0), (IDLE, 10.0)], [False]),
    ],
)
def test_standing_still_is_judged_by_the_rule(looks: Any, ending: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = SimpleNamespace(run_on_scheduler=None, scheduler=SimpleNamespace(address="there"))
    one = Flight(client, "mark", None)
    task = flight.Task("step", "chunk 7", floats, [7])
    one._tasks[task] = None
    sent: list[bool] = []

    def send_again(everything: bool) -> None:
        sent.append(everything)
        task.resends += 1

    monkeypatch.setattr(one, "_send_again", send_again)

    def judge() -> None:
        for look, seconds in looks:
            monkeypatch.setattr(flight, "ask", lambda *_, answer=look: answer)
            one._watch(seconds)

    if isinstance(ending, str):
        with pytest.raises(ClusterError, match=ending):
            judge()
    else:
        judge()
        assert sent == ending


# Answers that do not come.


def test_a_question_has_an_end(threads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(dask_scheduler: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(limits, "ASK_SECONDS", 0.3)
    with pytest.raises(ClusterError, match="the Dask cluster has not answered for 0 s; look at its scheduler"):
        flight.ask(threads, threads.run_on_scheduler, never)


def test_a_result_that_does_not_arrive_is_given_up(threads: Any, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(self: Flight, future: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(limits, "ARRIVAL_SECONDS", 0.5)
    monkeypatch.setattr(Flight, "_arrival", never)
    with (
        connect(threads) as there,
        pytest.raises(ClusterError, match="chunk 7: the result is there, and did not arriv"),
    ):
        list(there.map(floats, [7]))


def test_copies_of_a_state_that_do_not_arrive_hold_nothing_up(
    threads: Any, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(futures: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(limits, "REPLICATE_SECONDS", 0.3)
    monkeypatch.setattr(threads, "replicate", never)
    with connect(threads) as there:
        assert list(there.map(operator.sub, [5], there.broadcast(3))) == [2]


def test_the_patience_is_a_variable_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits.stall_seconds() == limits.STALL_SECONDS
    monkeypatch.setenv("TEXTMILL_STALL_SECONDS", "7.5")
    assert limits.stall_seconds() == 7.5
    monkeypatch.setenv("TEXTMILL_STALL_SECONDS", "0.5")
    assert limits.stall_seconds() == 0.5
    for wrong in ("", "soon", "0", "-1", "inf", "nan"):
        monkeypatch.setenv("TEXTMILL_STALL_SECONDS", wrong)
        with pytest.raises(DataError, match=f"TEXTMILL_STALL_SECONDS={wrong} is not a number of seconds above 0"):
            limits.stall_seconds()


# Workers that die at random moments.

OVERSUBSCRIPTION = 4


@pytest.fixture
def load() -> Iterator[int]:
    """Busy processes, until there are four for each processor together with what runs there already."""
    processors = len(os.sched_getaffinity(0))
    program = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): pass"  # ends with this process, however it ends
    busy = [
        subprocess.Popen([sys.executable, "-S", "-c", program, str(os.getpid())])
        for _ in range(OVERSUBSCRIPTION * processors - round(os.getloadavg()[0]))
    ]
    yield len(busy)
    for process in busy:
        process.kill()
        process.wait(timeout=60)


@pytest.mark.parametrize("kills", [5, pytest.param(300, marks=[pytest.mark.slow, pytest.mark.timeout(5400)])])
def test_workers_killed_at_random_moments_change_no_byte(
    cluster_of: Callable[[int], AbstractContextManager[Any]],
    load: int,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    kills: int,
) -> None:
    monkeypatch.setattr(limits, "STALL_SECONDS", 5.0)
    resends: list[bool] = []
    send_again = Flight._send_again

    def counted(self: Flight, everything: bool) -> None:
        resends.append(everything)
        send_again(self, everything)

    monkeypatch.setattr(Flight, "_send_again", counted)
    state, shift = np.linspace(0.5, 2, 50), np.linspace(-1, 1, 50)
    bytes_of_a_run = [
        tree_reduce(operator.add, [floats(chunk, state) + shift for chunk in range(40)]).tobytes(),
        tree_reduce(operator.add, [floats(chunk) * 0.3 + state for chunk in range(6)]).tobytes(),
    ]
    chance = random.Random(kills)
    runs = deaths = hits = 0
    with cluster_of(3) as client:
        while hits < kills:
            assert runs < 3 * kills, "too many runs ended before their kill"
            runs += 1
            over = threading.Event()
            folder = tmp_path / str(runs)
            folder.mkdir()
            moment, everyone = chance.randrange(40), chance.random() < 0.15
            victims = [chance.randrange(3)] if not everyone else [0, 1, 2]
            killed: list[int] = []

            def kill(
                over: threading.Event = over,
                calls: Path = folder / "calls",
                moment: int = moment,
                victims: list[int] = victims,
                killed: list[int] = killed,
            ) -> None:
                wait_until(lambda: over.is_set() or (calls.exists() and calls.stat().st_size > moment))
                if over.is_set():
                    return
                nannies = list(client.cluster.workers.values())
                for victim in victims:
                    if victim < len(nannies) and (pid := nannies[victim].pid):
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)

            killer = threading.Thread(target=kill, daemon=True)
            killer.start()
            with connect(client) as there:
                broadcast = there.broadcast(state)
                kept = there.keep(floats, range(6))
                chunks = [(folder, chunk) for chunk in range(40)]
                first = there.map_reduce(counted_floats, chunks, operator.add, broadcast, shift)
                second = there.map_reduce(scale, kept, operator.add, 0.3, broadcast)
            over.set()
            killer.join(timeout=LIMIT)
            assert [first.tobytes(), second.tobytes()] == bytes_of_a_run, f"run {runs}"
            hits += bool(killed)
            deaths += len(killed)
            if hits in (kills, kills // 2):
                request.config.get_terminal_writer().line(
                    f"\n{hits} kills ({deaths} workers) in {runs} runs: sent again {len(resends)} times; "
                    f"load {os.getloadavg()[0]:.0f}, {load} busy processes of it ours"
                )


def scale(chunk: Floats, factor: float, shift: Floats) -> Floats:
    return chunk * factor + shift

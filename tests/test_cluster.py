"""cluster.py: one bracketing in this process and on real worker processes, some of which are killed."""

from __future__ import annotations

import gc
import operator
import os
import pickle
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from waiting import wait_until

import textmill
from textmill.cluster import Traffic, connect, limits, traffic, tree_reduce
from textmill.errors import ClusterError, DataError

Floats = NDArray[np.float64]


# Steps, as an algorithm would write them: pure functions at module level, chunks are addresses.


def floats(chunk: int, state: Floats | float = 1.0) -> Floats:
    """Numbers of very different size, whose sum depends on the order of addition."""
    random = np.random.default_rng(chunk)
    return random.normal(size=50) * 10.0 ** random.integers(-12, 12, size=50) * state


def bracket(left: str, right: str) -> str:
    return f"({left}+{right})"


def fail(chunk: str) -> int:
    if chunk == "bad.txt":
        raise DataError("tag 'X' is unknown", source=chunk, line=7, column="tag")
    if chunk == "worse.txt":
        raise KeyError("no such\nword")
    return 1


def first_waits(chunk: tuple[Path, int]) -> int:
    """The first chunk is done when another one is."""
    folder, number = chunk
    if number:
        (folder / "other").touch()
    else:
        wait_until((folder / "other").exists)
    return number


def once(mark: Path) -> bool:
    """True for the first caller in any process."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def stumble(chunk: tuple[Path, int]) -> int:
    folder, number = chunk
    if number == 3 and once(folder / "stumbled"):
        raise OSError("the file server did not answer")
    return number


def note(chunk: tuple[Path, int], *state: Any) -> Floats:
    """The step `floats`, leaving a line for each time it ran; chunk 40 brings its worker down once."""
    folder, number = chunk
    with (folder / f"ran-{number}").open("a") as file:
        file.write("ran\n")
    if number == 40 and (folder / "fatal").exists() and once(folder / "died"):
        os.kill(os.getpid(), signal.SIGKILL)
    return floats(number, *state)


def fatal_add(left: tuple[Path, Floats], right: tuple[Path, Floats]) -> tuple[Path, Floats]:
    if once(left[0] / "died"):
        os.kill(os.getpid(), signal.SIGKILL)
    return left[0], left[1] + right[1]


def with_folder(chunk: tuple[Path, int]) -> tuple[Path, Floats]:
    return chunk[0], floats(chunk[1])


def suicide(chunk: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return chunk


def leave_a_mark(chunk: tuple[Path, int]) -> int:
    (chunk[0] / str(chunk[1])).touch()
    return 1


def wait_for_leave(chunk: tuple[Path, int]) -> int:
    """All chunks but the first wait until they may go."""
    folder, number = chunk
    if number:
        wait_until((folder / "go").exists)
    return number


def scale(chunk: Floats, factor: float, shift: Floats) -> Floats:
    return chunk * factor + shift


# The bracketing.


def specification(parts: list[str]) -> str:
    """Whole powers of two are halved; otherwise the largest power of two stands left of the rest."""
    if len(parts) == 1:
        return parts[0]
    power = 1 << (len(parts).bit_length() - 1)
    cut = power // 2 if power == len(parts) else power
    return bracket(specification(parts[:cut]), specification(parts[cut:]))


@settings(derandomize=True, deadline=None)
@given(n=st.integers(1, 70))
def test_the_bracketing_is_the_recursive_one(n: int) -> None:
    parts = [str(i) for i in range(n)]
    assert tree_reduce(bracket, iter(parts)) == specification(parts)
    with connect(None) as here:
        assert here.map_reduce(str, range(n), bracket) == specification(parts)


@settings(derandomize=True, deadline=None)
@given(n=st.integers(1, 70), group=st.sampled_from([1, 2, 4, 8, 64]))
def test_groups_that_are_powers_of_two_do_not_change_the_bracketing(n: int, group: int) -> None:
    parts = [str(i) for i in range(n)]
    groups = [tree_reduce(bracket, parts[i : i + group]) for i in range(0, n, group)]
    assert tree_reduce(bracket, groups) == specification(parts)


def test_the_group_of_the_workers_is_a_power_of_two() -> None:
    assert limits.GROUP.bit_count() == 1


def test_few_partial_sums_are_alive_however_long_the_stream() -> None:
    class Part:
        pass

    alive: weakref.WeakSet[Part] = weakref.WeakSet()
    most = 0

    def parts() -> Iterator[Part]:
        nonlocal most
        for _ in range(1000):
            part = Part()
            alive.add(part)
            most = max(most, len(alive))
            yield part

    tree_reduce(lambda left, right: right, parts())
    assert most <= 12  # log2(1000) + the two in hand


@pytest.mark.parametrize("chunks", [[], iter([])])
def test_an_empty_stream_is_a_data_error_that_says_so(chunks: Any) -> None:
    with connect(None) as here, pytest.raises(DataError, match="no chunks to add up: the stream was empty"):
        here.map_reduce(floats, chunks, operator.add)


# In this process.


def test_here_the_stream_is_read_one_chunk_at_a_time() -> None:
    events = []

    def chunks() -> Iterator[int]:
        for chunk in range(3):
            events.append(f"read {chunk}")
            yield chunk

    def step(chunk: int) -> int:
        events.append(f"step {chunk}")
        return chunk

    with connect(None) as here:
        assert here.map_reduce(step, chunks(), operator.add) == 3
    assert events == ["read 0", "step 0", "read 1", "step 1", "read 2", "step 2"]


def test_here_map_is_lazy_and_ordered() -> None:
    with connect(None) as here:
        results = here.map(str, iter(range(10**12)))
        assert [next(results) for _ in range(3)] == ["0", "1", "2"]


def test_here_kept_values_serve_as_chunks_and_as_state() -> None:
    with connect(None) as here:
        assert_kept_values_serve(here)


def test_here_an_error_of_a_step_is_not_touched() -> None:
    with connect(None) as here, pytest.raises(KeyError):
        here.map_reduce(fail, ["good.txt", "worse.txt"], operator.add)


def test_here_native_code_uses_the_jobs_it_was_given() -> None:
    with connect(None) as here:
        assert [here.worker_jobs(n) for n in (None, 1, 4)] == [None, 1, 4]


def test_importing_the_module_does_not_load_dask() -> None:
    code = (
        "import sys, textmill.cluster; sys.exit(any(n.split('.')[0] in ('dask', 'distributed') for n in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_cluster_without_dask_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install 'textmill\[dask\]'"), connect("tcp://127.0.0.1:8786"):
        pass


def assert_kept_values_serve(cluster: limits.Cluster) -> None:
    shift = np.linspace(0, 1, 50)
    kept = cluster.keep(floats, range(9), 2.0)
    assert repr(kept[3]) == "3"
    for factor in (1.0, 0.3):  # several passes over what is kept
        total = cluster.map_reduce(scale, kept, operator.add, factor, cluster.broadcast(shift))
        expected = tree_reduce(operator.add, [floats(chunk, 2.0) * factor + shift for chunk in range(9)])
        assert total.tobytes() == expected.tobytes()


# On real workers.


def pids_of(client: Any) -> list[Any]:
    """Their process ids; an error in place of one that has just died."""
    return list(client.run(os.getpid, on_error="return").values())


def kill(client: Any) -> None:
    for pid in pids_of(client):
        os.kill(pid, signal.SIGKILL)


def expected_floats(n: int, state: Any = 1.0) -> bytes:
    return tree_reduce(operator.add, [floats(chunk, state) for chunk in range(n)]).tobytes()


@pytest.mark.parametrize("n", [1, 7, 65])
def test_workers_give_the_same_bytes_as_one_process(client: Any, n: int) -> None:
    state = np.linspace(0.5, 2, 50)
    with connect(None) as here, connect(client) as there:
        one = here.map_reduce(floats, range(n), operator.add, here.broadcast(state))
        many = there.map_reduce(floats, (chunk for chunk in range(n)), operator.add, there.broadcast(state))
    assert many.tobytes() == one.tobytes() == expected_floats(n, state)


@pytest.mark.parametrize("n", [16, 21])
def test_workers_bracket_as_specified_over_several_groups(client: Any, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GROUP", 4)
    with connect(client) as there:
        assert there.map_reduce(str, range(n), bracket) == specification([str(chunk) for chunk in range(n)])


def test_the_order_of_floats_matters_so_equal_bytes_mean_equal_brackets() -> None:
    assert sum(floats(chunk) for chunk in range(65)).tobytes() != expected_floats(65)


def test_a_scheduler_address_connects_and_disconnects(client: Any) -> None:
    address = client.scheduler.address
    clients = len(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.clients)))
    with connect(address) as there:
        assert list(there.map(abs, [-1, 2])) == [1, 2]
    assert len(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.clients))) == clients
    assert client.status == "running"


def test_map_keeps_the_order_of_the_chunks(client: Any, tmp_path: Path) -> None:
    with connect(client) as there:
        assert list(there.map(first_waits, ((tmp_path, number) for number in range(30)))) == list(range(30))


def test_an_empty_stream_on_workers_is_the_same_data_error(client: Any) -> None:
    with connect(client) as there:
        assert list(there.map(floats, [])) == []
        with pytest.raises(DataError, match="the stream was empty"):
            there.map_reduce(floats, iter([]), operator.add)


def test_kept_values_serve_as_chunks_and_as_state_on_workers(client: Any) -> None:
    with connect(client) as there:
        assert_kept_values_serve(there)
        assert there.worker_jobs(8) == there.worker_jobs(None) == 1


def test_a_large_state_is_broadcast_without_a_warning(client: Any) -> None:
    with connect(client) as there:
        state = there.broadcast(np.zeros(2_000_000))
        assert list(there.map(operator.sub, there.keep(np.ones, [3, 4]), 1))[1].sum() == 0
        assert list(there.map(operator.is_not, [None] * 4, state)) == [True] * 4


def test_our_own_errors_arrive_unchanged(client: Any) -> None:
    with connect(client) as there:
        for run in (
            lambda: there.map_reduce(fail, ["good.txt", "bad.txt", "good.txt"], operator.add),
            lambda: list(there.map(fail, ["good.txt", "bad.txt"])),
            lambda: there.keep(fail, ["good.txt", "bad.txt"]),
        ):
            with pytest.raises(DataError) as caught:
                run()
            assert str(caught.value) == "bad.txt:7:tag: tag 'X' is unknown"
            assert (caught.value.source, caught.value.line) == ("bad.txt", 7)


def test_other_errors_become_a_cluster_error_with_the_chunk(client: Any) -> None:
    with connect(client) as there, pytest.raises(ClusterError) as caught:
        there.map_reduce(fail, ["good.txt"] * 9 + ["worse.txt"], operator.add)
    assert str(caught.value) == "chunk 'worse.txt' failed on a worker: KeyError: 'no such\\nword'"
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_error_of_add_is_told_apart(client: Any) -> None:
    with connect(client) as there, pytest.raises(ClusterError, match="a sum of results failed on a worker: TypeError"):
        there.map_reduce(str, range(3), operator.sub)


def test_an_error_of_the_stream_is_raised_as_it_is(client: Any) -> None:
    def chunks() -> Iterator[int]:
        yield from range(5)
        raise DataError("cut in the middle", source="corpus.gz")

    with connect(client) as there, pytest.raises(DataError, match=r"corpus\.gz: cut in the middle"):
        there.map_reduce(floats, chunks(), operator.add)


def test_what_cannot_be_sent_is_named(client: Any) -> None:
    with connect(client) as there, pytest.raises(ClusterError, match=r"chunk <generator .* cannot be sent"):
        there.map_reduce(str, [(i for i in range(3))], operator.add)


def test_a_step_that_stumbled_runs_again(client: Any, tmp_path: Path) -> None:
    with connect(client) as there:
        assert there.map_reduce(stumble, [(tmp_path, number) for number in range(6)], operator.add) == 15
    assert (tmp_path / "stumbled").exists()


def test_the_stream_is_read_only_as_fast_as_it_is_worked_off(client: Any, tmp_path: Path) -> None:
    ahead = []

    def chunks() -> Iterator[tuple[Path, int]]:
        for number in range(60):
            ahead.append(number - len(list(tmp_path.iterdir())))
            yield tmp_path, number

    bound = 2 * limits.TASKS_PER_THREAD + limits.GROUP.bit_length() + 1
    with connect(client) as there:
        assert there.map_reduce(leave_a_mark, chunks(), operator.add) == 60
        assert 2 <= max(ahead) <= bound
        ahead.clear()
        results = there.map(leave_a_mark, chunks())
        next(results)
        assert len(ahead) <= bound  # a slow reader of results holds the stream back as well
        results.close()


def assert_nothing_is_left(client: Any) -> None:
    gc.collect()
    wait_until(lambda: not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)), "tasks are left")


def test_a_map_that_is_left_early_cancels_what_is_under_way(client: Any, tmp_path: Path) -> None:
    with connect(client) as there:
        results = there.map(wait_for_leave, [(tmp_path, number) for number in range(9)])
        assert next(results) == 0
        results.close()
        assert_nothing_is_left(client)  # though steps still run
        (tmp_path / "go").touch()


def test_sums_and_states_and_errors_leave_nothing_on_the_cluster(client: Any) -> None:
    with connect(client) as there:
        there.map_reduce(floats, range(12), operator.add, there.broadcast(np.ones(50)))
        with pytest.raises(ClusterError):
            there.map_reduce(fail, ["good.txt", "worse.txt", "good.txt"], operator.add)
        assert_nothing_is_left(client)


# Workers that die.


def times_run(folder: Path) -> list[int]:
    return [len((folder / f"ran-{number}").read_text().splitlines()) for number in range(60)]


def test_a_worker_killed_in_a_step_loses_nothing(client: Any, tmp_path: Path) -> None:
    (tmp_path / "fatal").touch()
    with connect(client) as there:
        state = there.broadcast(np.linspace(0.5, 2, 50))
        total = there.map_reduce(note, ((tmp_path, number) for number in range(60)), operator.add, state)
    assert total.tobytes() == expected_floats(60, np.linspace(0.5, 2, 50))
    runs = times_run(tmp_path)
    assert runs[40] == 2
    assert sum(runs[:40]) > 40, "the partial sums on the dead worker were made again"


def test_a_worker_killed_in_an_add_loses_nothing(client: Any, tmp_path: Path) -> None:
    with connect(client) as there:
        _, total = there.map_reduce(with_folder, [(tmp_path, number) for number in range(20)], fatal_add)
    assert (tmp_path / "died").exists()
    assert total.tobytes() == expected_floats(20)


def await_results(client: Any, count: int) -> None:
    """Until the workers hold this many results of steps."""

    def results(dask_scheduler: Any) -> int:
        tasks = dask_scheduler.tasks.values()
        return sum(task.state == "memory" and str(task.key).startswith("('step-") for task in tasks)

    wait_until(lambda: client.run_on_scheduler(results) >= count, "the steps do not finish")


def test_all_workers_killed_lose_neither_states_nor_kept_chunks_nor_waiting_results(client: Any) -> None:
    state = np.linspace(0.5, 2, 50)
    with connect(client) as there:
        kept = there.keep(floats, range(9))
        broadcast = there.broadcast(state)
        results = there.map(floats, range(20))
        parts = [next(results)]
        await_results(client, 9 + 2)  # further results are ready on the workers, beside the kept chunks
        kill(client)
        total = there.map_reduce(scale, kept, operator.add, 1.0, broadcast)
        parts += results
    assert total.tobytes() == tree_reduce(operator.add, [floats(chunk) + state for chunk in range(9)]).tobytes()
    assert [part.tobytes() for part in parts] == [floats(chunk).tobytes() for chunk in range(20)]


def test_connecting_while_workers_start_again_is_no_fault(client: Any) -> None:
    kill(client)
    with connect(client) as there:
        assert there.map_reduce(str, range(5), bracket) == "(((0+1)+(2+3))+4)"


def test_a_chunk_that_kills_every_worker_is_named(client: Any) -> None:
    def allow(failures: int, dask_scheduler: Any) -> int:
        before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, failures
        return int(before)

    before = client.run_on_scheduler(allow, 0)
    try:
        with connect(client) as there, pytest.raises(ClusterError, match="chunk 13: 1 workers died of it; give"):
            there.map_reduce(suicide, [13], operator.add)
    finally:
        client.run_on_scheduler(allow, before)


# Clusters that are not there.


@pytest.mark.parametrize("address", ["", "localhost", "foo://host:8786", "tcp://host"])
def test_a_wrong_address_is_refused_at_once(client: Any, address: str) -> None:
    with pytest.raises(ClusterError, match="is not the address of a Dask scheduler, such as"), connect(address):
        pass


def test_an_address_without_a_scheduler_is_a_cluster_error(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONNECT_SECONDS", 0.3)
    with (
        pytest.raises(ClusterError, match=r"tcp://127\.0\.0\.1:1: no Dask scheduler answers"),
        connect("tcp://127.0.0.1:1"),
    ):
        pass


def test_something_else_than_a_cluster_is_a_data_error(client: Any) -> None:
    with pytest.raises(DataError, match="not int"), connect(5):  # type: ignore[arg-type]
        pass


def test_a_closed_client_is_a_cluster_error(client: Any) -> None:
    from distributed import Client

    with Client(client.scheduler.address, set_as_default=False) as closed:
        pass
    with pytest.raises(ClusterError, match="a Dask client that is closed"), connect(closed):
        pass


def test_a_scheduler_without_workers_is_a_cluster_error(threads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONNECT_SECONDS", 0.3)
    threads.cluster.scale(0)
    wait_until(lambda: not threads.nthreads())
    with pytest.raises(ClusterError, match="has no workers; start some with: dask worker inproc"), connect(threads):
        pass


def test_work_that_no_worker_is_left_for_is_given_up(threads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WORKERLESS_SECONDS", 0.3)
    monkeypatch.setattr(limits, "WATCH_SECONDS", 0.1)

    def chunks() -> Iterator[int]:
        yield 0
        threads.cluster.scale(0)
        wait_until(lambda: not threads.nthreads())
        yield 1

    with connect(threads) as there, pytest.raises(ClusterError, match="there has been no worker for 0 s; start some"):
        there.map_reduce(abs, chunks(), operator.add)


def test_a_scheduler_that_goes_away_is_a_cluster_error(threads: Any) -> None:
    def chunks() -> Iterator[int]:
        yield 0
        threads.cluster.close()
        yield 0

    with connect(threads) as there, pytest.raises(ClusterError):
        there.map_reduce(abs, chunks(), operator.add)


def test_another_version_on_the_cluster_is_refused(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textmill, "__version__", "99.0", raising=False)
    with pytest.raises(ClusterError, match=r"tcp://.* runs textmill .*; install version 99.0 there"), connect(client):
        pass


def test_a_worker_without_textmill_is_refused(client: Any) -> None:
    def hide(hidden: bool) -> None:
        if hidden:
            sys.modules["hidden textmill"] = sys.modules.pop("textmill", None)  # type: ignore[assignment]
            sys.modules["textmill"] = None  # type: ignore[assignment]
        else:
            del sys.modules["textmill"]
            if (found := sys.modules.pop("hidden textmill")) is not None:
                sys.modules["textmill"] = found

    worker = next(iter(client.nthreads()))
    client.run(hide, True, workers=[worker])
    try:
        with pytest.raises(ClusterError, match=f"{worker} has no textmill; install version"), connect(client):
            pass
    finally:
        client.run(hide, False, workers=[worker])


# Traffic.


def test_traffic_counts_what_reached_another_process(client: Any) -> None:
    state = np.linspace(0.5, 2, 10_000)
    counted = Traffic(delay=0.05)
    with connect(client, traffic=counted) as there:
        total = there.map_reduce(operator.mul, [2.0], operator.add, there.broadcast(state))
    assert total.tobytes() == (2.0 * state).tobytes()
    copies = counted.messages - 2  # beside the chunk and the result: the state, on one worker and perhaps the other
    assert copies in (1, 2)
    assert counted.bytes == sum(len(pickle.dumps(value, protocol=5)) for value in (2.0, total, *[state] * copies))


def test_a_value_is_held_back_where_it_is_first_used_after_a_journey(monkeypatch: pytest.MonkeyPatch) -> None:
    held_back: list[float] = []
    monkeypatch.setattr(traffic, "time", SimpleNamespace(sleep=held_back.append))
    sent = traffic.Parcel("text", ("mark", 0.05))
    assert sent.open() == "text"
    assert held_back == [], "it has not traveled"
    arrived = pickle.loads(pickle.dumps(sent))  # noqa: S301
    assert [arrived.open(), arrived.open()] == ["text", "text"]
    assert held_back == [0.05]
    assert traffic.collect("mark") == (1, len(pickle.dumps("text", protocol=5)))


def test_traffic_is_one_state_a_worker_and_at_most_one_result_an_add(client: Any) -> None:
    state, n = np.linspace(0.5, 2, 10_000), 20
    size = len(pickle.dumps(state, protocol=5))
    counted = Traffic()
    with connect(client, traffic=counted) as there:
        total = there.map_reduce(operator.mul, [float(i) for i in range(n)], operator.add, there.broadcast(state))
    assert total.tobytes() == tree_reduce(operator.add, [float(i) * state for i in range(n)]).tobytes()
    large = counted.messages - n  # all but the chunks
    assert 2 <= large <= 2 + n
    assert large * size <= counted.bytes <= large * size + n * 50


def test_connections_do_not_count_each_others_traffic(client: Any) -> None:
    first, second = Traffic(), Traffic()
    with connect(client, traffic=first) as one, connect(client, traffic=second) as two, connect(client) as three:
        for cluster, chunks in ((one, 5), (two, 3), (three, 4)):
            assert len(list(cluster.map(str, range(chunks)))) == chunks
    assert (first.messages, second.messages) == (10, 6)

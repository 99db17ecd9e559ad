"""The thread pool: same bits for any number of threads, exceptions, nesting, fork, signals."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from waiting import LIMIT, wait_until

from textmill import _testing

THREADS = [1, 2, 3, 8, 64]
VALUES = np.random.default_rng(7).normal(size=100_003) * 10.0 ** np.random.default_rng(8).integers(-8, 8, 100_003)


def lane_sum(values):
    """The definition: 16 lanes of neighboring items, each summed in order, added in order."""
    bounds = [len(values) * lane // 16 for lane in range(17)]
    total = 0.0
    for begin, end in itertools.pairwise(bounds):
        lane = 0.0
        for value in values[begin:end].tolist():
            lane += value
        total += lane
    return total


@pytest.mark.parametrize("threads", THREADS)
def test_a_sum_has_the_same_bits_for_any_number_of_threads(threads):
    assert _testing.sum(VALUES, threads) == lane_sum(VALUES)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17])
def test_a_sum_of_fewer_items_than_lanes_is_the_lane_sum(size):
    assert _testing.sum(VALUES[:size], 4) == lane_sum(VALUES[:size])


def test_more_threads_than_the_system_would_give_are_cut_down():
    before = thread_count()  # other tests leave threads of other libraries behind
    assert _testing.sum(VALUES, 10**9) == lane_sum(VALUES)
    _testing.raise_in_loop(5000, 10**9, np.zeros(5000, bool))
    assert thread_count() - before <= 256


def test_no_threads_are_refused():
    with pytest.raises(ValueError, match="threads must be at least 1"):
        _testing.sum(VALUES, 0)


@pytest.mark.parametrize("threads", THREADS)
def test_the_exception_of_the_smallest_item_is_raised(threads):
    for seed in range(5):
        raises = np.random.default_rng(seed).random(400) < 0.05
        with pytest.raises(ValueError, match=rf"^item {np.argmax(raises)}$"):
            _testing.raise_in_loop(400, threads, raises)


def test_the_pool_works_on_after_an_exception():
    with pytest.raises(ValueError, match="item 0"):
        _testing.raise_in_loop(100, 4, np.ones(100, bool))
    _testing.raise_in_loop(100, 4, np.zeros(100, bool))
    assert _testing.sum(VALUES, 4) == lane_sum(VALUES)


def test_nested_loops_never_run_more_bodies_than_threads():
    assert _testing.concurrency(6, 20, 3, 3) <= 3
    assert _testing.concurrency(6, 20, 1, 8) == 1
    assert _testing.concurrency(1, 20, 1, 8) == 1


def test_a_loop_of_one_item_leaves_its_threads_to_the_loop_inside():
    seen = []
    wait_until(lambda: seen.append(_testing.concurrency(1, 100, 4, 4)) or seen[-1] >= 2)
    assert max(seen) <= 4


def test_calls_from_many_python_threads_at_once_all_get_their_answer():
    expected = lane_sum(VALUES)
    answers = []

    def work():
        answers.extend(_testing.sum(VALUES, threads) for _ in range(20) for threads in (1, 2, 5))

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert answers == [expected] * 6 * 60


def test_python_runs_on_while_a_kernel_computes():
    worker = threading.Thread(target=_testing.concurrency, args=(300, 1, 1, 1))
    worker.start()
    steps = 0
    while worker.is_alive():
        steps += 1
    worker.join()
    assert steps > 10


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_computes_the_same_sum():
    expected = _testing.sum(VALUES, 4)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # end rather than hang
        os._exit(0 if _testing.sum(VALUES, 4) == expected and _testing.sum(VALUES, 8) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert _testing.sum(VALUES, 4) == expected


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_while_the_pool_is_busy_has_a_pool_of_its_own():
    worker = threading.Thread(target=_testing.concurrency, args=(600, 1, 3, 1))
    worker.start()
    children = []
    while worker.is_alive() and len(children) < 10:
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            most = 0
            while most < 2:  # or the alarm ends it
                most = _testing.concurrency(100, 1, 3, 1)
            os._exit(0 if most <= 3 else 1)
        children.append(child)
    worker.join()
    assert children
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * len(children)


def sum_with_four_threads(values):
    return _testing.sum(values, 4)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_multiprocessing_by_fork_works_after_the_pool_was_used():
    expected = _testing.sum(VALUES, 4)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(sum_with_four_threads, [VALUES] * 4).get(timeout=20) == [expected] * 4


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_no_more_threads_are_started_than_were_asked_for(threads):
    code = (
        "import os, numpy as np; from textmill import _testing\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        f"_testing.sum(np.ones(1_000_000), {threads})\n"
        "print(len(os.listdir('/proc/self/task')) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == threads - 1


def test_ctrl_c_between_kernels_is_heard_at_once():
    kernels, begun, pressed = [0], threading.Event(), []

    def interrupt():
        begun.wait(LIMIT)
        os.kill(os.getpid(), signal.SIGINT)
        pressed.append(kernels[0])

    def compute():
        for number in range(1_000_000):
            _testing.sum(VALUES, 3)
            kernels[0] = number
            if number == 20:
                begun.set()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        compute()
    thread.join()
    assert kernels[0] <= pressed[0] + 100


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_signals_do_not_go_to_the_threads_of_the_pool():
    _testing.sum(VALUES, 8)
    blocked = []
    for status in Path("/proc/self/task").glob("*/status"):
        mask = next(line for line in status.read_text().splitlines() if line.startswith("SigBlk"))
        blocked.append(bool(int(mask.split()[1], 16) >> (signal.SIGINT - 1) & 1))
    assert sum(blocked) >= 7
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def thread_count():
    return len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 0

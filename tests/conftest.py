"""Fixtures of all tests, the time each may take, and what was skipped and why."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from waiting import wait_until

settings.register_profile("fixed", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("fixed")

PEERS = {"gensim", "kenlm", "pyLDAvis", "pycrfsuite", "pynini", "pywrapfst", "rapidfuzz", "tomotopy", "wapiti"}


SLOW_SECONDS = 7200  # for a test marked slow without a limit of its own; the others have `timeout` of pyproject.toml
NO_DATA = "TEXTMILL_DATA is not set"
GRACE_SECONDS = 120  # from the moment a test is to end by its own thread to the moment the run is ended from outside

terminal = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """A run that a shell puts into the background ignores Ctrl-C, and so would the processes that tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[terminal] = os.dup(2)  # while nothing is captured yet


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are no name for a test: packed ones hold the time of packing, and every process must see the same names."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = pytest.mark.skip(reason=NO_DATA)
    for item in items:
        if item.get_closest_marker("data") and not os.environ.get("TEXTMILL_DATA"):
            item.add_marker(missing)
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test that stops moving fails with the stack of every thread, by a signal (pytest-timeout).

    A signal does not reach a thread that native code holds. Then, a little later, faulthandler prints the stacks, the
    test among them, and ends the process; pytest-xdist names the test and goes on with the others.
    """
    marker = item.get_closest_marker("timeout")
    limit = float(marker.args[0] if marker else item.config.getini("timeout"))
    faulthandler.dump_traceback_later(limit + GRACE_SECONDS, exit=True, file=item.config.stash[terminal])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data sets; the test is skipped when TEXTMILL_DATA does not name it."""
    folder = os.environ.get("TEXTMILL_DATA")
    if not folder:
        pytest.skip(NO_DATA)
    return Path(folder)


@contextmanager
def start_cluster(workers: int, *, processes: bool = True) -> Iterator[Any]:
    """A Dask cluster on this machine: worker processes, or threads of this process, which start and stop quickly.

    The only place of the tests where a cluster is made: every port is one that the system gives, and the client is not
    the default of others.
    """
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    settings = {
        # LocalCluster would not start a worker again that needs longer than this
        "distributed.deploy.lost-worker-timeout": "1 hour",
        # workers are forked from a process that has imported all they need: a killed one is soon replaced
        "distributed.worker.multiprocessing-method": "forkserver",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=workers,
            processes=processes,
            threads_per_worker=1,
            scheduler_port=0,
            dashboard_address=":0",  # None is 8787, and a warning where somebody else has that
            silence_logs=50,
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def cluster_of() -> Callable[[int], AbstractContextManager[Any]]:
    """Starts a Dask cluster of this many real worker processes of one thread each, which tests may kill."""
    return start_cluster


@pytest.fixture(scope="session")
def shared_cluster() -> Iterator[Any]:
    """The cluster behind `client`, started by the first test that asks for one."""
    with start_cluster(2) as client:
        yield client


@pytest.fixture
def client(shared_cluster: Any) -> Any:
    """A Dask cluster of two worker processes, one for all tests; whole again if an earlier test killed a worker."""

    def pids() -> list[Any]:
        return list(shared_cluster.run(os.getpid, on_error="return").values())

    wait_until(lambda: [type(pid) for pid in pids()] == [int, int], "killed workers were not started again")
    return shared_cluster


@pytest.fixture
def threads() -> Iterator[Any]:
    """A cluster of its own for one test: one worker in threads of this process, which the test may spoil."""
    with start_cluster(1, processes=False) as client:
        yield client


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """A test whose peer is not installed is skipped, wherever it imports it."""
    try:
        return (yield)
    except ModuleNotFoundError as error:
        if error.name in PEERS:
            pytest.skip(f"{error.name} is not installed")
        raise


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each reason why tests were skipped."""
    reasons = Counter(
        report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        for report in terminalreporter.stats.get("skipped", [])
    )
    for reason, tests in reasons.most_common():
        terminalreporter.write_line(f"{tests} skipped: {reason.removeprefix('Skipped: ')}")

"""Fixtures of all tests, and what was skipped and why."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("fixed")

PEERS = {"gensim", "kenlm", "pyLDAvis", "pycrfsuite", "pynini", "pywrapfst", "rapidfuzz", "tomotopy", "wapiti"}


def pytest_configure() -> None:
    """A run that a shell puts into the background ignores Ctrl-C, and so would the processes that tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data sets; the test is skipped when TEXTMILL_DATA does not name it."""
    folder = os.environ.get("TEXTMILL_DATA")
    if not folder:
        pytest.skip("TEXTMILL_DATA is not set")
    return Path(folder)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A Dask cluster of two real worker processes of one thread each, which tests may kill."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with (
        # LocalCluster would not start a worker again that needs longer than this
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        distributed.LocalCluster(
            n_workers=2, processes=True, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
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

"""Fixtures of all tests, and the count of those that had no data."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("fixed")


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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = sum("TEXTMILL_DATA" in str(report.longrepr) for report in terminalreporter.stats.get("skipped", []))
    if skipped:
        terminalreporter.write_line(f"{skipped} tests skipped: TEXTMILL_DATA is not set")

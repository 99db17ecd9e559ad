"""Fixtures of all tests, and the count of those that had no data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("fixed")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data sets; the test is skipped when TEXTMILL_DATA does not name it."""
    folder = os.environ.get("TEXTMILL_DATA")
    if not folder:
        pytest.skip("TEXTMILL_DATA is not set")
    return Path(folder)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = sum("TEXTMILL_DATA" in str(report.longrepr) for report in terminalreporter.stats.get("skipped", []))
    if skipped:
        terminalreporter.write_line(f"{skipped} tests skipped: TEXTMILL_DATA is not set")

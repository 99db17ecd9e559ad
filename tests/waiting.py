"""Waiting for what another thread or process does, for as long as a machine full of other work may take.

The only place of the tests that looks at a clock or sleeps (`test_gates.py` sees to that): a test that needs seconds to
be few, or many, fails beside other work. What costs time is asserted as work counted, and time belongs to `bench`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

__all__ = ["LIMIT", "wait_until", "wait_until_async"]

LIMIT = 120.0  # seconds, for what takes a moment on an idle machine
_PAUSE = 0.01


def wait_until(happened: Callable[[], Any], what: str = "") -> Any:
    """Ask again and again until the answer is true, and return it; the test fails if that takes too long."""
    deadline = time.monotonic() + LIMIT
    while not (answer := happened()):
        assert time.monotonic() < deadline, what or "what the test waits for does not happen"
        time.sleep(_PAUSE)
    return answer


async def wait_until_async(happened: Callable[[], Any], what: str = "") -> Any:
    """Do the same while the event loop goes on."""
    deadline = time.monotonic() + LIMIT
    while not (answer := happened()):
        assert time.monotonic() < deadline, what or "what the test waits for does not happen"
        await asyncio.sleep(_PAUSE)
    return answer

"""For programs that tests start in a terminal: bars come without delay, and `await_bar` waits until they were drawn."""

from __future__ import annotations

from waiting import wait_until

from textmill import progress

__all__ = ["await_bar"]

progress.BAR_SECONDS, progress.TICK_SECONDS, progress.REPORT_SECONDS = 0.0, 0.002, 0.0
_draw = progress._Bars._draw
_drawn = [0]


def _count(bars: progress._Bars) -> None:
    _draw(bars)
    _drawn[0] += 1


progress._Bars._draw = _count  # type: ignore[method-assign]


def await_bar() -> None:
    """Wait until the state of now was drawn, or would have been if it were time for a bar."""
    enough = _drawn[0] + 2  # one may be under way
    wait_until(lambda: _drawn[0] >= enough)

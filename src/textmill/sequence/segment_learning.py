"""The tests that a model of segments learns: those that are true of segments of the training data, O included.

A test is counted once for each segment, token or inner token that its role looks at; rare ones are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import segments as native
from textmill.arrays import Ints
from textmill.model import StringTable
from textmill.sequence.segment_data import SegmentCells, SegmentRows

__all__ = ["learn_tests"]

Extra = Callable[[Any], Callable[[Ints, Ints, bool], SegmentRows | None]]


def learn_tests(cells: SegmentCells, observed: Ints, extra: Extra, min_count: int) -> tuple[StringTable, StringTable]:
    """The tests of segments and those of histories that are true of the observed segments `min_count` times.

    `observed` has rows (first token, length, label); `extra(table)` gives the tests that Python computes.
    """
    tokens = cells.offsets[-1]
    begin = np.ones(tokens, bool)
    lengths = np.ones(tokens, np.int64)
    for i in range(1, int(observed[:, 1].max(initial=1))):
        begin[observed[observed[:, 1] > i, 0] + i] = False
    lengths[observed[:, 0]] = observed[:, 1]
    begins = np.flatnonzero(begin)
    lengths = lengths[begins]
    several = lengths > 1
    inside = np.flatnonzero(~begin)
    last = np.zeros(tokens + 1, bool)
    last[begins + lengths - 1] = True
    places = {
        "first": begins, "last": begins + lengths - 1, "first2": begins[several],
        "last2": (begins + lengths - 1)[several], "all": np.arange(tokens), "rest": inside,
        "inner": inside[~last[inside]],
    }  # fmt: skip
    table, history = native.StringNumbers(), native.StringNumbers()
    counts = np.zeros(0, np.int64)
    for role, at in places.items():
        counts = _added(counts, cells.rows(role, table, at.astype(np.int64), np.ones(len(at)), grow=True), table)
    counts = _added(counts, cells.rows("own", table, begins, lengths, grow=True), table)
    counts = _added(counts, extra(table)(begins, lengths, True), table)
    before = _added(
        np.zeros(0, np.int64), cells.rows("history", history, begins, np.ones(len(begins)), grow=True), history
    )
    tests, history_tests = (
        StringTable.from_arrays(*numbers.arrays()).take(np.flatnonzero(total >= min_count))
        for numbers, total in ((table, counts), (history, before))
    )
    return tests, history_tests


def _added(counts: NDArray[np.int64], rows: SegmentRows | None, table: Any) -> NDArray[np.int64]:
    """Counts of tests with those of the rows, for all tests that the table has by now."""
    if rows is None:
        return counts
    more = np.bincount(rows[1], minlength=len(table))
    more[: len(counts)] += counts
    return more

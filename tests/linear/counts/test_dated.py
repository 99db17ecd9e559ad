"""Bursts in time: the states of least cost against all sequences of states, periods against the calendar."""

from __future__ import annotations

import datetime
import itertools
import math

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.linear import find_dated_bursts
from textmill.linear.counts.dated import burst_states, periods_of


def cost(states: tuple[int, ...], r: list[int], d: list[int], scale: float, gamma: float) -> float:
    """What Kleinberg's definition says of a sequence of states, binomial coefficients and all."""
    usual = sum(r) / sum(d)
    shares = (usual, min(scale * usual, 0.9999))
    total, before = 0.0, 0
    for state, seen, size in zip(states, r, d, strict=True):
        p = shares[state]
        total -= math.log(math.comb(size, seen)) + seen * math.log(p) + (size - seen) * math.log(1 - p)
        total += gamma * math.log(len(r)) if state > before else 0.0
        before = state
    return total


@pytest.mark.parametrize("seed", range(40))
def test_the_states_are_those_of_least_cost_of_all_sequences(seed: int) -> None:
    draw = np.random.default_rng(seed)
    n, scale, gamma = (
        int(draw.integers(2, 10)),
        float(draw.choice([1.5, 2.0, 3.0])),
        float(draw.choice([0.0, 0.5, 1.0])),
    )
    d = draw.integers(1, 30, n).tolist()
    r = [int(draw.binomial(size, draw.choice([0.05, 0.5]))) for size in d]
    if sum(r) == 0 or sum(r) == sum(d):
        r = [1, *[0] * (n - 1)]
        d = [size + 1 for size in d]
    states, gains = burst_states(np.array(r)[:, None], np.array(d), scale=scale, gamma=gamma)
    best = min(cost(one, r, d, scale, gamma) for one in itertools.product((0, 1), repeat=n))
    mine = tuple(states.ravel().tolist())
    assert cost(mine, r, d, scale, gamma) == pytest.approx(best, abs=1e-9)
    single = [
        cost((0,) * n, r, d, scale, 0.0) - cost((0,) * t + (1,) + (0,) * (n - t - 1), r, d, scale, 0.0)
        for t in range(n)
    ]
    assert gains.ravel() == pytest.approx(single, abs=1e-9)


def test_bursts_have_periods_weights_and_shares() -> None:
    dates, rows = [], []
    for month in range(1, 13):
        for day in range(1, 11):
            dates.append(datetime.date(2023, month, day))
            rows.append([int(month in (4, 5) and day <= 8), 1, int(day == 1)])
    bursts = find_dated_bursts(rows, dates, ["flood", "the", "first"], by="month")
    assert bursts.terms == ["flood"]
    assert (bursts.begin, bursts.end, bursts.documents) == (["2023-04"], ["2023-05"], [16])
    assert bursts.share == [0.8]
    assert bursts.usual == [pytest.approx(16 / 120)]
    usual, high = 16 / 120, 32 / 120
    expected = 16 * math.log(high / usual) + 4 * math.log((1 - high) / (1 - usual))
    assert bursts.weight == [pytest.approx(expected)]
    assert find_dated_bursts(rows, dates, by="month").terms == ["0"]


def test_dates_become_periods_of_the_calendar() -> None:
    days = [datetime.date(2020, 12, 26) + datetime.timedelta(days=i) for i in range(15)]
    weeks = periods_of([str(day) for day in days], by="week")
    assert weeks == [day.strftime("%G-W%V") for day in days]
    assert periods_of(["1789", 1793, "2001-02"]) == ["1789", "1793", "2001"]
    assert periods_of([datetime.datetime(2001, 2, 3, 4), "2001-02-03 10:00"]) == ["2001-02-03"] * 2


@pytest.mark.parametrize(
    ("dates", "by", "fault"),
    [
        (["2024-13-01", "2024"], None, "the date of row 0 is '2024-13-01'; write it as"),
        (["2024", "31.5.2024"], None, "the date of row 1 is '31.5.2024'"),
        (["2024", "2025"], "month", "the date of row 0 has no month; choose a longer period"),
        (["2024-01", "2025-01"], "week", "the date of row 0 has no day"),
        (["2024", "2024"], None, "all documents are of one period"),
        (["2024"], None, "X has 2 rows but there are 1 dates"),
        (["2024", "2025"], "hour", "by must be one of"),
    ],
)
def test_wrong_dates_are_refused(dates: list[str], by: str | None, fault: str) -> None:
    with pytest.raises(DataError) as refused:
        find_dated_bursts([[1], [0]], dates, by=by, min_documents=1)
    assert fault in str(refused.value)

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.optimize import ConvergenceReport, Iteration, Plateau, Stopping

NOW = Iteration(3, 10.0, 1.0, 0.5, 2.0, 4, 1.0, 5, 0.1, np.zeros(6))
STRICT = Stopping(gradient=0, value=0, iterations=100)


@pytest.mark.parametrize(
    ("rules", "change", "reason"),
    [
        (STRICT, {}, None),
        (replace(STRICT, gradient=0.5), {}, "gradient"),  # 1.0 <= 0.5 * 2.0
        (replace(STRICT, gradient=0.49), {}, None),
        (replace(STRICT, gradient=0.9), {"theta_norm": 0.1}, None),  # a small theta does not sharpen the rule
        (replace(STRICT, gradient=1.0), {"theta_norm": 0.1}, "gradient"),
        (replace(STRICT, violation=0.5), {}, "gradient"),
        (replace(STRICT, violation=0.49), {}, None),
        (STRICT, {"gradient_norm": 0.0, "violation": 0.0}, "gradient"),
        (replace(STRICT, norm=2.0), {}, "unbounded"),
        (replace(STRICT, norm=2.1), {}, None),
        (replace(STRICT, iterations=3), {}, "iterations"),
        (replace(STRICT, iterations=4), {}, None),
        (replace(STRICT, value=0.2, window=2), {}, "value"),
        (replace(STRICT, value=0.2, window=3), {}, None),
        (replace(STRICT, value=0.1, window=2), {}, None),
    ],
)
def test_each_rule_stops_by_its_own_tolerance(rules, change, reason):
    assert rules.reason([40.0, 12.0, 11.0, 10.0], replace(NOW, **change)) == reason


def test_value_rule_is_relative_and_ignores_the_sign():
    rule = Stopping(value=1e-3, window=1)
    for scale in (1e-12, -1e-12, 1.0, -1e9):
        assert rule.settled([1.0005 * scale, scale])
        assert not rule.settled([1.002 * scale, scale])
    assert rule.settled([0.0, 0.0])
    assert not Stopping(value=1e-3, window=2).settled([1.0, 2.0, 1.0])  # it came back, it did not settle
    assert not rule.settled([1.0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"gradient": -1e-5},
        {"violation": math.nan},
        {"value": -1.0},
        {"window": 0},
        {"iterations": -1},
        {"norm": 0.0},
    ],
)
def test_senseless_rules_are_refused(wrong):
    with pytest.raises(DataError, match=next(iter(wrong))):
        Stopping(**wrong)


def test_plateau_needs_a_full_window_of_close_figures():
    error = Plateau()
    rates = [12.0, 9.0, 8.51, 8.50, 8.505, 8.51, 8.50]
    assert [error.update(rate) for rate in rates] == [False, False, False, False, False, False, True]


@pytest.mark.parametrize("wrong", [{"window": 1}, {"tolerance": 0.0}, {"tolerance": math.nan}])
def test_senseless_plateaus_are_refused(wrong):
    with pytest.raises(DataError, match=next(iter(wrong))):
        Plateau(**wrong)


def test_report_is_one_readable_line():
    report = ConvergenceReport("owlqn", "value", 7, 1.5, 10, (3.0, 2.0, 1.0), (1.0,) * 3, (1.0,) * 3, (0, 2, 5),
                               (0.0, 0.1, 0.2), (0.5, 1.0))  # fmt: skip
    assert "\n" not in str(report)
    for part in ("owlqn", "value after 2 iterations", "7 evaluations", "1.5 s", "value 1,", "5 of 10 active"):
        assert part in str(report)
    assert report.converged
    assert not report.interrupted
    assert not replace(report, reason="line_search").converged
    assert replace(report, reason="interrupted").interrupted

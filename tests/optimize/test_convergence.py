from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.optimize import ConvergenceReport, Iteration, Plateau, Stopping

NOW = Iteration(3, 10.0, 1.0, 0.5, 2.0, 4, 1.0, 5, 0.1, np.zeros(6))
STRICT = Stopping(gradient_tolerance=0, tolerance=0, max_iter=100)


@pytest.mark.parametrize(
    ("rules", "change", "reason"),
    [
        (STRICT, {}, None),
        (replace(STRICT, gradient_tolerance=0.5), {}, "gradient"),  # 1.0 <= 0.5 * 2.0
        (replace(STRICT, gradient_tolerance=0.49), {}, None),
        (replace(STRICT, gradient_tolerance=0.9), {"theta_norm": 0.1}, None),  # a small theta does not sharpen the rule
        (replace(STRICT, gradient_tolerance=1.0), {"theta_norm": 0.1}, "gradient"),
        (replace(STRICT, violation_tolerance=0.5), {}, "gradient"),
        (replace(STRICT, violation_tolerance=0.49), {}, None),
        (STRICT, {"gradient_norm": 0.0, "violation": 0.0}, "gradient"),
        (replace(STRICT, max_norm=2.0), {}, "unbounded"),
        (replace(STRICT, max_norm=2.1), {}, None),
        (replace(STRICT, max_iter=3), {}, "iterations"),
        (replace(STRICT, max_iter=4), {}, None),
        (replace(STRICT, tolerance=0.2, window=2), {}, "value"),
        (replace(STRICT, tolerance=0.2, window=3), {}, None),
        (replace(STRICT, tolerance=0.1, window=2), {}, None),
    ],
)
def test_each_rule_stops_by_its_own_tolerance(rules, change, reason):
    assert rules.reason([40.0, 12.0, 11.0, 10.0], replace(NOW, **change)) == reason


def test_value_rule_is_relative_and_ignores_the_sign():
    rule = Stopping(tolerance=1e-3, window=1)
    for scale in (1e-12, -1e-12, 1.0, -1e9):
        assert rule.settled([1.0005 * scale, scale])
        assert not rule.settled([1.002 * scale, scale])
    assert rule.settled([0.0, 0.0])
    assert not Stopping(tolerance=1e-3, window=2).settled([1.0, 2.0, 1.0])  # it came back, it did not settle
    assert not rule.settled([1.0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"gradient_tolerance": -1e-5},
        {"violation_tolerance": math.nan},
        {"tolerance": -1.0},
        {"window": 0},
        {"max_iter": -1},
        {"max_norm": 0.0},
    ],
)
def test_senseless_rules_are_refused(wrong):
    with pytest.raises(DataError, match=next(iter(wrong))):
        Stopping(**wrong)


def test_plateau_needs_a_full_window_of_close_figures():
    error = Plateau()
    rates = [12.0, 9.0, 8.51, 8.50, 8.505, 8.51, 8.50]
    assert [error.settled(rates[:n]) for n in range(1, 8)] == [False, False, False, False, False, False, True]


def test_a_relative_plateau_measures_by_its_lowest_figure():
    rule = Plateau(window=3, tolerance=0.01, relative=True)
    assert not rule.settled([900.0, 809.0, 805.0, 800.0])  # 9 of 800 are more than one percent
    assert rule.settled([900.0, 807.0, 805.0, 800.0])
    assert not Plateau(window=3, tolerance=0.01).settled([900.0, 807.0, 805.0, 800.0])


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


def test_a_figure_that_should_fall_also_stops_when_it_rises() -> None:
    rule = Plateau(window=3, tolerance=0.01, relative=True, falling=True)
    runs = [rule.settled([900.0, 800.0, 799.0, 798.0][:n]) for n in range(1, 5)]
    assert runs == [False, False, False, True]
    assert rule.settled([900.0, 800.0, 850.0, 900.0])
    assert not rule.settled([900.0, 800.0, 850.0, 780.0])
    assert not Plateau(window=3, tolerance=0.01, relative=True).settled([900.0, 800.0, 850.0, 900.0])
    assert Plateau(window=2, tolerance=0.0, falling=True).settled([5.0, 5.0])
    assert not Plateau(window=2, tolerance=0.0, falling=True).settled([5.0, 4.9])
    assert not Plateau(window=2, tolerance=1.0, falling=True).settled([5.0, 3.5])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_no_convergence(bad: float) -> None:
    rule = Stopping(tolerance=0.5, window=2)
    for values in ([5.0, 4.0, bad], [5.0, bad, 4.0], [bad, bad, bad], [4.0, bad, bad]):
        assert not rule.settled(values)
    now = Iteration(3, bad, 0.0, 0.0, 1.0, 2, 1.0, 4, 0.0, np.ones(2))
    assert rule.reason([5.0, 5.0, bad], now) == "diverged"

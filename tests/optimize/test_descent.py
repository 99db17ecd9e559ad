"""What all methods share: bad input, domains, callbacks, interrupts, histories, determinism, memory."""

from __future__ import annotations

import math
import sys
import tracemalloc
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from reference.objectives import Counted, classification, logistic, quadratic, rosenbrock
from threadpoolctl import threadpool_limits

import textmill.optimize
from textmill.errors import DataError
from textmill.optimize import Stopping, minimize_cg, minimize_lbfgs, minimize_owlqn, minimize_rprop

METHODS = {
    "lbfgs": minimize_lbfgs,
    "owlqn": partial(minimize_owlqn, l1=0.3),
    "owlqn-zeros": partial(minimize_owlqn, l1=0.3, align="zeros"),
    "cg-fr": minimize_cg,
    "cg-pr": partial(minimize_cg, beta="polak-ribiere"),
    "rprop+": partial(minimize_rprop, variant="+", l1=0.3),
    "rprop-": partial(minimize_rprop, variant="-"),
}
every_method = pytest.mark.parametrize("minimize", METHODS.values(), ids=METHODS.keys())
monotone_method = pytest.mark.parametrize("minimize", list(METHODS.values())[:5], ids=list(METHODS)[:5])
GIVEN = logistic(*classification(80, 6, seed=1), l2=0.5)


def penalty_of(minimize):
    return minimize.keywords.get("l1", 0.0) if isinstance(minimize, partial) else 0.0


@every_method
@pytest.mark.parametrize(
    "start", [math.nan, [[1.0]], [0.0, math.nan], [math.inf], "ab", [1j], np.array([1j]), None, 3.0]
)
def test_starts_that_are_no_finite_vector_are_refused(minimize, start):
    with pytest.raises(DataError, match=r"start: "):
        minimize(GIVEN, start)


@every_method
@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (1.0, "tuple"),
        ((1.0, np.zeros(2), 3), "tuple"),
        ((1.0, np.zeros(3)), "shape"),
        ((1.0, np.zeros((2, 1))), "shape"),
        ((1.0, np.zeros(2, dtype=np.float32)), "float32"),
        ((1.0, np.zeros(2, dtype=int)), "int64"),
        ((1.0, [0.0, 0.0]), "list"),
        ((1j, np.zeros(2)), "complex"),
        ((None, np.zeros(2)), "NoneType"),
        ((np.zeros(2), np.zeros(2)), "ndarray"),
        ((math.nan, np.zeros(2)), "not finite at the start"),
        ((math.inf, np.zeros(2)), "not finite at the start"),
        ((1.0, np.array([0.0, math.nan])), "not finite at the start"),
    ],
)
def test_wrong_answers_of_the_objective_are_refused_in_one_line(minimize, answer, fault):
    with pytest.raises(DataError, match=fault) as caught:
        minimize(lambda theta: answer, np.zeros(2))
    assert str(caught.value).startswith("objective: ")
    assert "\n" not in str(caught.value)


@every_method
def test_a_wrong_gradient_later_in_the_run_is_refused_too(minimize):
    counted = Counted(lambda theta: (float(theta @ theta), 2 * theta if counted.calls < 3 else np.zeros(9)))
    with pytest.raises(DataError, match="shape"):
        minimize(counted, np.full(4, 5.0), stopping=Stopping(gradient_tolerance=0))


@every_method
def test_no_coordinates_is_an_optimum(minimize):
    found = minimize(lambda theta: (2.5, np.zeros(0)), np.empty(0))
    assert (found.value, found.report.reason, found.report.iterations, len(found.theta)) == (2.5, "gradient", 0, 0)


@every_method
def test_one_coordinate(minimize):
    found = minimize(lambda t: (float(np.cosh(t[0] - 2)), np.sinh(t - 2)), [9.0], stopping=Stopping(tolerance=0))
    assert abs(found.gradient[0] + penalty_of(minimize)) < 1e-4


@every_method
def test_start_at_the_optimum_stays_there(minimize):
    found = minimize(lambda t: (float(t @ t), 2 * t), np.zeros(3))
    assert (found.report.reason, found.report.iterations, found.report.evaluations) == ("gradient", 0, 1)
    assert found.theta.tolist() == [0.0, 0.0, 0.0]


@every_method
def test_start_is_not_changed_and_integers_are_taken(minimize):
    start = np.array([3, -4])
    minimize(lambda t: (float(t @ t), 2 * t), start)
    assert start.tolist() == [3, -4]


@every_method
def test_objective_may_reuse_its_gradient_and_cannot_change_theta(minimize):
    buffer = np.empty(6)

    def reusing(theta):
        value, buffer[:] = GIVEN(theta)
        with pytest.raises(ValueError, match="read-only"):
            theta[0] = 1.0
        return value, buffer

    found = minimize(reusing, np.zeros(6))
    assert found.theta.tobytes() == minimize(GIVEN, np.zeros(6)).theta.tobytes()
    assert not np.shares_memory(found.gradient, buffer)


@monotone_method
@pytest.mark.parametrize("trials", [1, 2, 3, 40])
def test_every_iterate_is_a_point_that_was_evaluated_there(minimize, trials):
    def callback(now):
        value = rosenbrock(now.theta)[0] + penalty_of(minimize) * np.abs(now.theta).sum()
        assert now.value == pytest.approx(value, rel=1e-14)

    found = minimize(rosenbrock, np.linspace(-1, 1, 5), trials=trials, callback=callback)
    assert found.gradient.tobytes() == rosenbrock(found.theta)[1].tobytes()
    assert all(after < before for before, after in pairwise(found.report.values))


def barrier(theta):
    """-sum log(1 - t) - sum log(1 + t) + 3 sum t: finite only inside the unit cube, minimum near its lower face."""
    if (np.abs(theta) >= 1).any():
        return math.nan, np.full(len(theta), math.nan)
    return float(3 * theta.sum() - np.log1p(-theta).sum() - np.log1p(theta).sum()), 3 + 2 * theta / (1 - theta**2)


@every_method
def test_regions_without_finite_values_are_left_by_shorter_steps(minimize):
    found = minimize(barrier, np.full(4, 0.9), stopping=Stopping(gradient_tolerance=1e-6, tolerance=0))
    slope = 3 - penalty_of(minimize)  # of the linear part where theta < 0
    expected = (1 - math.sqrt(1 + slope**2)) / slope
    assert found.theta == pytest.approx(np.full(4, expected), abs=1e-5)


@every_method
def test_domain_that_is_only_the_start_ends_with_line_search(minimize):
    found = minimize(lambda t: (1.0 if (t == 2).all() else math.inf, np.ones(len(t))), np.full(3, 2.0))
    assert found.report.reason == "line_search"
    assert found.theta.tolist() == [2.0, 2.0, 2.0]
    assert (found.value, found.gradient.tolist()) == (found.report.values[0], [1.0, 1.0, 1.0])


@monotone_method
def test_function_without_a_lower_bound_stops_without_a_warning(minimize):
    found = minimize(
        lambda t: (-float(np.exp2(t).sum()) + 1, -np.log(2) * np.exp2(t)),
        np.ones(2),
        trials=10,
        stopping=Stopping(max_iter=50),
    )
    assert found.report.reason in ("line_search", "iterations")
    assert np.isfinite(found.theta).all()


@monotone_method
@pytest.mark.parametrize(
    ("objective", "start"),
    [(rosenbrock, np.linspace(-1, 1, 8)), (quadratic(1e4, 12)[0], np.ones(12)), (GIVEN, np.zeros(6))],
    ids=["rosenbrock", "quadratic", "logistic"],
)
def test_value_falls_in_every_iteration(minimize, objective, start):
    values = minimize(objective, start, stopping=Stopping(max_iter=100)).report.values
    assert len(values) > 5
    assert all(after < before for before, after in pairwise(values))


@every_method
def test_histories_agree_with_the_callback_and_the_solution(minimize):
    seen = []
    counted = Counted(GIVEN)
    found = minimize(counted, np.ones(6), callback=lambda now: seen.append((now, now.theta.copy())))
    report = found.report
    assert len(seen) == report.iterations == len(report.steps) == len(report.values) - 1
    assert len(report.gradient_norms) == len(report.violations) == len(report.active) == len(report.values)
    assert [now.number for now, _ in seen] == list(range(1, report.iterations + 1))
    assert report.values[1:] == tuple(now.value for now, _ in seen)
    assert report.gradient_norms[1:] == tuple(now.gradient_norm for now, _ in seen)
    assert report.violations[1:] == tuple(now.violation for now, _ in seen)
    assert report.steps == tuple(now.step for now, _ in seen)
    assert report.active[1:] == tuple(np.count_nonzero(theta) for _, theta in seen)
    assert [now.theta_norm for now, _ in seen] == pytest.approx([np.linalg.norm(theta) for _, theta in seen])
    assert report.evaluations == counted.calls >= seen[-1][0].evaluations
    assert report.reason == "line_search" or counted.calls == seen[-1][0].evaluations
    assert list(report.seconds) == sorted(report.seconds)
    assert report.wall_time >= report.seconds[-1]
    assert report.size == 6
    assert found.value == report.values[-1]
    assert found.theta.tobytes() == seen[-1][1].tobytes()
    assert found.gradient.tobytes() == GIVEN(found.theta)[1].tobytes()


@every_method
def test_callback_can_stop_but_not_change_theta(minimize):
    def callback(now):
        with pytest.raises(ValueError, match="read-only"):
            now.theta[0] = 1.0
        return now.number == 3

    found = minimize(GIVEN, np.ones(6), callback=callback)
    assert (found.report.reason, found.report.iterations) == ("stopped", 3)


@every_method
def test_a_callback_that_stops_at_the_last_iteration_is_heard(minimize):
    found = minimize(GIVEN, np.zeros(6), stopping=Stopping(max_iter=2), callback=lambda done: done.number == 2)
    assert (found.report.reason, found.report.iterations) == ("stopped", 2)


@every_method
def test_iteration_limit(minimize):
    strict = {"gradient_tolerance": 0.0, "tolerance": 0.0}
    assert minimize(GIVEN, np.ones(6), stopping=Stopping(max_iter=0, **strict)).report.evaluations == 1
    found = minimize(GIVEN, np.ones(6), stopping=Stopping(max_iter=4, **strict))
    assert (found.report.reason, found.report.iterations) == ("iterations", 4)


@pytest.mark.parametrize("name", [name for name, minimize in METHODS.items() if not penalty_of(minimize)])
def test_separable_data_are_reported_as_unbounded(name):
    separable = logistic(np.array([[1.0], [2.0], [-1.0]]), np.array([1.0, 1.0, -1.0]))
    found = METHODS[name](separable, np.zeros(1), stopping=Stopping(gradient_tolerance=0, tolerance=0, max_norm=8.0))
    assert found.report.reason == "unbounded"
    assert not found.report.converged


@every_method
def test_value_rule_ends_a_slow_run(minimize):
    rule = Stopping(gradient_tolerance=0, tolerance=1e-3, window=3)
    report = minimize(quadratic(1e2, 12)[0], np.ones(12), stopping=rule).report
    assert report.reason == "value"
    assert rule.settled(report.values)
    assert not rule.settled(report.values[:-1])


@every_method
def test_interrupt_in_the_objective_keeps_the_last_whole_iterate(minimize):
    whole = [(np.ones(6), 1)]
    total = minimize(
        GIVEN, np.ones(6), callback=lambda now: whole.append((now.theta.copy(), now.evaluations))
    ).report.evaluations

    def interrupted(theta):
        if counted.calls == moment:
            raise KeyboardInterrupt
        return GIVEN(theta)

    for moment in range(2, min(total, 40) + 1):
        counted = Counted(interrupted)
        found = minimize(counted, np.ones(6))
        done = sum(evaluations < moment for _, evaluations in whole) - 1
        assert found.report.interrupted
        assert found.report.iterations == done
        assert found.theta.tobytes() == whole[done][0].tobytes()
        assert found.gradient.tobytes() == GIVEN(found.theta)[1].tobytes()
        assert found.value == found.report.values[-1]


@every_method
def test_interrupt_in_the_callback_keeps_that_iterate(minimize):
    def callback(now):
        kept.append(now.theta.copy())
        if now.number == 2:
            raise KeyboardInterrupt

    kept = []
    found = minimize(GIVEN, np.ones(6), callback=callback)
    assert (found.report.reason, found.report.iterations) == ("interrupted", 2)
    assert found.theta.tobytes() == kept[-1].tobytes()


@every_method
def test_interrupt_at_any_line_leaves_theta_value_and_gradient_of_one_iterate(minimize):
    """Raise KeyboardInterrupt at every seventh line that a run executes inside its loop, wherever that is."""
    folder = str(Path(textmill.optimize.__file__).parent)
    outside = {"descend", "_report", "<genexpr>"}  # the loop's own lines lie before, in and after its protection
    lines = 0

    def run(stop_at):
        nonlocal lines
        lines = 0

        def trace(frame, event, arg):
            nonlocal lines
            if not frame.f_code.co_filename.startswith(folder) or frame.f_code.co_name in outside:
                return trace
            if event == "line":
                lines += 1
                if lines == stop_at:
                    raise KeyboardInterrupt
            return trace

        def callback(now):  # the first call marks that the loop has been entered
            sys.settrace(trace)
            for level in range(1, 3):
                sys._getframe(level).f_trace = trace

        before = sys.gettrace()
        try:
            return minimize(GIVEN, np.ones(6), callback=callback, stopping=Stopping(max_iter=4))
        finally:
            sys.settrace(before)

    run(-1)
    total = lines
    assert total > 100
    interrupts = 0
    for moment in range(1, total, 7):
        found = run(moment)
        interrupts += found.report.interrupted
        value, gradient = GIVEN(found.theta)
        assert found.gradient.tobytes() == gradient.tobytes()
        assert found.value == found.report.values[-1]
        assert found.report.violations[-1] >= 0
        assert found.value >= value - 1e-12
    assert interrupts == len(range(1, total, 7))


def test_interrupt_before_the_start_is_known_is_raised():
    def objective(theta):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minimize_lbfgs(objective, np.ones(2))


@every_method
def test_two_runs_have_the_same_bytes_for_any_number_of_threads(minimize):
    weights = np.linspace(0.5, 20, 100_000)
    target = np.sin(np.arange(100_000.0))

    def objective(theta):
        apart = theta - target
        return float(np.add.reduce(weights * apart * apart)), 2 * weights * apart

    results = set()
    for threads in (1, 2, 5, 1):
        with threadpool_limits(threads):
            found = minimize(objective, np.zeros(100_000), stopping=Stopping(max_iter=6))
        results.add((found.theta.tobytes(), found.report.values, found.report.gradient_norms))
    assert len(results) == 1


@pytest.mark.parametrize(
    ("minimize", "vectors"),
    [
        (partial(minimize_lbfgs, memory=5), 16),
        (partial(minimize_owlqn, memory=5, l1=0.1), 16),
        (minimize_cg, 6),
        (partial(minimize_rprop, variant="-"), 8),
    ],
    ids=["lbfgs", "owlqn", "cg", "rprop-"],
)
def test_memory_is_a_stated_number_of_vectors(minimize, vectors):
    size = 500_000
    scale = np.linspace(1, 3, size)
    gradient = np.empty(size)

    def objective(theta):
        np.multiply(scale, theta, out=gradient)
        return float(np.dot(gradient, theta)) / 2, gradient

    start = np.ones(size)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        minimize(objective, start, stopping=Stopping(max_iter=8, gradient_tolerance=0, tolerance=0))
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak <= (vectors - 1) * 8 * size + 3_000_000  # the objective's own gradient is the one more


def test_an_objective_may_fill_the_gradient_that_is_there():
    class Filling:
        def __call__(self, theta):
            raise AssertionError("a second vector")

        def into(self, theta, gradient):
            value, gradient[:] = rosenbrock(theta)
            return value

    found, usual = (minimize_owlqn(objective, np.zeros(4), l1=0.3) for objective in (Filling(), rosenbrock))
    assert found.theta.tolist() == usual.theta.tolist()
    assert found.gradient.tolist() == usual.gradient.tolist()

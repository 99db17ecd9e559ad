"""progress.py: who hears of a loop and when, what a terminal and a log see, and what Ctrl-C leaves."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import logging
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyte
import pytest
from waiting import LIMIT

from textmill import progress
from textmill.progress import (
    Progress,
    TrainingInterrupted,
    all_or_nothing,
    interruptible,
    report_interrupt,
    reporting,
    shown,
    start,
    track,
)


@pytest.fixture
def every_item(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "REPORT_SECONDS", 0.0)


def counts(heard: list[Progress]) -> list[tuple[str, int, int | None, bool]]:
    return [(report.description, report.done, report.total, report.finished) for report in heard]


# Listening.


def test_a_loop_reports_its_start_its_items_and_its_end(every_item: None) -> None:
    heard: list[Progress] = []
    with reporting(heard.append):
        assert list(track("ab", "reading", unit="letters")) == ["a", "b"]
    assert counts(heard) == [
        ("reading", 0, 2, False),
        ("reading", 1, 2, False),
        ("reading", 2, 2, False),
        ("reading", 2, 2, True),
    ]
    assert {report.unit for report in heard} == {"letters"}
    assert 0 <= heard[0].seconds <= heard[-1].seconds < 60
    assert len({report.step for report in heard}) == 1


def test_an_item_is_done_when_the_loop_comes_back_for_the_next(every_item: None) -> None:
    heard: list[Progress] = []
    with reporting(heard.append):
        for number, _ in enumerate(track("abc", "reading")):
            assert heard[-1].done == number


def test_the_total_is_the_length_if_there_is_one() -> None:
    heard: list[Progress] = []
    with reporting(heard.append):
        list(track((letter for letter in "ab"), "no length"))
        list(track((letter for letter in "ab"), "told", total=2))
        list(track([], "empty"))
    assert [(report.description, report.total) for report in heard if report.finished] == [
        ("no length", None),
        ("told", 2),
        ("empty", 0),
    ]


def test_fast_loops_are_not_slowed_by_reports() -> None:
    heard: list[Progress] = []
    with reporting(heard.append):
        for _ in track(range(100_000), "reading"):
            pass
    assert 2 <= len(heard) <= 2 + heard[-1].seconds / progress.REPORT_SECONDS


def test_every_step_with_figures_is_reported_with_the_latest_of_each() -> None:
    heard: list[Progress] = []
    with reporting(heard.append), start("training", total=3, unit="iterations") as step:
        step.advance(loss=3.0, active=10)
        step.advance(loss=2.0)
        step.advance()
    assert [dict(report.figures) for report in heard] == [
        {},
        {"loss": 3.0, "active": 10},
        {"loss": 2.0, "active": 10},
        {"loss": 2.0, "active": 10},
    ]
    assert heard[-1].done == 3


def test_loops_within_loops_are_told_apart(every_item: None) -> None:
    heard: list[Progress] = []
    with reporting(heard.append):
        for _ in track("ab", "outer"):
            for _ in track("xy", "inner"):
                pass
    assert {(report.description, report.depth) for report in heard} == {("outer", 0), ("inner", 1)}
    assert len({report.step for report in heard if report.description == "inner"}) == 2


def test_listeners_within_listeners_hear_what_is_inside() -> None:
    outer: list[Progress] = []
    inner: list[Progress] = []
    with reporting(outer.append):
        with reporting(inner.append):
            list(track("ab", "both"))
        list(track("ab", "one"))
    assert [report.description for report in outer if report.finished] == ["both", "one"]
    assert [report.description for report in inner if report.finished] == ["both"]


def test_a_loop_left_early_ends_where_it_was() -> None:
    heard: list[Progress] = []
    with reporting(heard.append):
        for letter in track("abc", "reading"):
            if letter == "b":
                break
        assert counts(heard)[-1] == ("reading", 1, 3, True)
        with pytest.raises(ZeroDivisionError), start("dividing", total=2) as step:
            step.advance(3 // step.done)
        assert counts(heard)[-1] == ("dividing", 0, 2, True)


def test_nothing_is_heard_after_the_listener_has_left() -> None:
    heard: list[Progress] = []
    with reporting(heard.append):
        letters = track("abc", "reading")
        next(letters)
    list(letters)
    assert counts(heard) == [("reading", 0, 3, False)]


def test_what_a_listener_raises_comes_out_of_the_loop_once(every_item: None) -> None:
    heard: list[Progress] = []
    told: list[Progress] = []

    def stop(report: Progress) -> None:
        told.append(report)
        if report.done == 2:
            raise RuntimeError("enough")

    items: list[str] = []
    with reporting(heard.append), reporting(stop):
        with pytest.raises(RuntimeError, match="enough") as caught:
            items.extend(track("abcd", "reading"))
        assert caught.value.__context__ is None
        list(track("x", "afterwards"))
    assert [report.done for report in told if report.description == "reading"] == [0, 1, 2]
    assert [report.finished for report in heard if report.description == "reading"] == [False, False, False, True]
    assert {report.depth for report in heard} == {0}, "the loop that failed is not taken for one around the next"


def test_a_listener_may_refuse_a_loop_from_the_start() -> None:
    def refuse(report: Progress) -> None:
        raise RuntimeError(report.description)

    heard: list[Progress] = []
    with reporting(heard.append):
        with reporting(refuse), pytest.raises(RuntimeError, match="first"):
            next(track("ab", "first"))
        list(track("ab", "second"))
    assert [report.depth for report in heard if report.description == "second"] == [0, 0]


def test_other_threads_are_not_heard_unless_they_get_the_context() -> None:
    heard: list[Progress] = []

    def work(name: str) -> None:
        list(track("ab", name))

    with reporting(heard.append):
        context = contextvars.copy_context()
        for thread in (
            threading.Thread(target=work, args=("alone",)),
            threading.Thread(target=context.run, args=(work, "with context")),
        ):
            thread.start()
            thread.join()
    assert {report.description for report in heard} == {"with context"}


def test_asynchronous_tasks_listen_for_themselves() -> None:
    heard: dict[str, list[str]] = {"a": [], "b": []}

    async def work(name: str) -> None:
        with reporting(lambda report: heard[name].append(report.description)):
            for _ in track(range(3), name):
                await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(work("a"), work("b"))

    asyncio.run(both())
    assert {name: set(descriptions) for name, descriptions in heard.items()} == {"a": {"a"}, "b": {"b"}}


def test_without_a_listener_a_loop_costs_nothing() -> None:
    letters = [1, 2]
    assert type(track(letters, "reading")) is type(iter(letters))

    calls: list[str] = []
    with start("training") as step:
        sys.setprofile(lambda frame, event, argument: calls.append(event))
        try:
            for _ in range(1000):
                step.advance()
        finally:
            sys.setprofile(None)
    assert step.done == 1000
    assert calls.count("call") == 1000, "each step is one call, which makes no other"
    assert calls.count("c_call") == 1, "and the end of the profile"


# Words.


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (Progress("reading", 0), "reading: 0 items"),
        (Progress("reading", 0, 0), "reading: 0 of 0 items"),
        (Progress("reading", 0, 9, "files"), "reading: 0 of 9 files, 0 %"),
        (Progress("reading", 3, 9, "files", 1.0), "reading: 3 of 9 files, 33 %, 3.0/s, 2 s left"),
        (Progress("reading", 12000, None, "words", 2.0), "reading: 12,000 words, 6,000/s"),
        (Progress("fitting", 2, 9, "rounds", 50), "fitting: 2 of 9 rounds, 22 %, 25 s each, 2 min 55 s left"),
        (Progress("fitting", 1, 9, "rounds", 1000), "fitting: 1 of 9 rounds, 11 %, 16 min 40 s each, 2 h 13 min left"),
        (
            Progress("fitting", 5, 6, "rounds", 2.5, {"loss": 1 / 3}),
            "fitting: 5 of 6 rounds, 83 %, 2.0/s, 0.5 s left, loss 0.333333",
        ),
        (Progress("fitting", 5, 5, "rounds", 2.5, finished=True), "fitting: 5 of 5 rounds, in 2.5 s, 2.0/s"),
        (Progress("reading", 7, 5, "files", 7.0), "reading: 7 of 5 files, 140 %, 1.0/s, 0 s left"),
    ],
)
def test_a_report_reads_as_a_line(report: Progress, line: str) -> None:
    assert str(report) == line


# Log lines.


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().split(",")[0] for record in caplog.records if record.name == "textmill"]


def test_a_loop_that_is_over_soon_writes_no_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "textmill"), shown():
        list(track("ab", "reading", unit="letters"))
    assert lines(caplog) == []


def test_a_loop_that_lasts_is_logged_once_however_often_it_is_shown(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = itertools.count()
    monkeypatch.setattr(progress, "LOG_SECONDS", 5.5)
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))  # each look at the clock is a second later
    with caplog.at_level(logging.INFO, "textmill"), shown(), shown():  # the second changes nothing
        for _ in track("ab", "reading", unit="letters"):
            pass
    assert lines(caplog) == ["reading: 2 of 2 letters"]
    assert {record.levelno for record in caplog.records} == {logging.INFO}


def test_lines_come_at_most_every_few_seconds(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, every_item: None
) -> None:
    now = iter(range(100))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))  # each look at the clock is a second later
    with caplog.at_level(logging.INFO, "textmill"), shown(), start("reading", total=20) as step:
        for _ in range(20):
            step.advance(loss=1.0)
    assert lines(caplog) == [f"reading: {done} of 20 items" for done in (4, 9, 14, 19, 20)]


def test_an_inner_loop_is_logged_only_if_it_lasts(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, every_item: None
) -> None:
    with caplog.at_level(logging.INFO, "textmill"), shown():
        for _ in track("ab", "outer"):
            list(track("xyz", "inner"))
        assert lines(caplog) == []
        monkeypatch.setattr(progress, "LOG_SECONDS", 0.0)
        for _ in track("a", "outer"):
            list(track("x", "inner"))
        assert "inner: 1 of 1 item" in lines(caplog)


def run(code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **options)


def test_loops_are_silent_until_shown_and_then_speak_on_stderr() -> None:
    code = """
import sys
from textmill import progress
from textmill.progress import shown, track
progress.LOG_SECONDS = 0.0
list(track("ab", "silent"))
with shown():
    list(track("ab", "heard"))
list(track("ab", "silent again"))
print("result", "rich" in sys.modules)
"""
    done = run(code)
    assert done.stdout == "result False\n"
    assert [line.split(" ", 1)[1].split(",")[0] for line in done.stderr.splitlines()] == [
        "heard: 0 of 2 items",
        "heard: 2 of 2 items",
    ]


def test_importing_the_module_loads_only_the_standard_library() -> None:
    code = "import sys, textmill.progress; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = set(run(code).stdout.split()) - {"sitecustomize", "usercustomize"}  # of the machine, as Debian has one
    assert {name for name in loaded if name not in sys.stdlib_module_names and not name.startswith("_")} == {"textmill"}


# Bars.


def on_terminal(code: str, *, stdout: int | None = None, **environment: str) -> tuple[str, str]:
    """What a program wrote to stdout (a pipe, unless given) and to stderr, which is a terminal."""
    master, slave = pty.openpty()
    helpers = {"PYTHONPATH": str(Path(__file__).parent)}
    options: dict[str, Any] = {"env": {**os.environ, **helpers, "TERM": "xterm", "COLUMNS": "120", **environment}}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=slave if stdout else subprocess.PIPE, stderr=slave, text=True, **options
    ) as process:
        os.close(slave)
        seen = b""
        while True:
            try:
                block = os.read(master, 65536)
            except OSError:  # the terminal is gone with its last user
                break
            if not block:
                break
            seen += block
        out = process.stdout.read() if process.stdout else ""
    os.close(master)
    assert process.returncode == 0, seen.decode()
    return out, seen.decode()


BARS = """
from drawing import await_bar, progress
from textmill.progress import shown, start, track
with shown():
    for _ in track(range(3), "reading [odd]", unit="files"):
        for _ in track(range(2), "inner loop"):
            await_bar()
        print("a line of output")
    with start("training", unit="iterations") as step:
        step.advance(2, loss=0.125)
        await_bar()
"""


SOON = BARS.replace("await_bar()", "pass")  # where there are no bars to wait for


def screen(seen: str) -> list[str]:
    """The lines that a person sees on a terminal at the end."""
    terminal = pyte.Screen(120, 24)
    pyte.Stream(terminal).feed(seen)
    assert not terminal.cursor.hidden
    return [line.rstrip() for line in terminal.display if line.strip()]


def test_a_terminal_sees_bars_and_a_pipe_the_output() -> None:
    out, seen = on_terminal(BARS)
    assert out == "a line of output\n" * 3
    assert "reading [odd]" in seen
    assert "1 of 3 files, 33 %" in seen
    assert "; inner loop: 1 of 2 items" in seen, "one bar, with a word on the inner loop"
    assert "2 iterations, " in seen
    assert "loss 0.125" in seen
    assert "━" in seen
    assert "a line of output" not in seen
    assert screen(seen) == [], "bars leave nothing behind"


def test_output_to_the_same_terminal_is_all_that_stays_on_it() -> None:
    _, seen = on_terminal(BARS, stdout=1)
    assert "1 of 3 files" in seen
    assert screen(seen) == ["a line of output"] * 3


def test_a_line_that_is_not_yet_whole_is_not_overwritten() -> None:
    code = BARS.replace('print("a line of output")', 'print("a line ", end="", flush=True); await_bar()')
    _, seen = on_terminal(code, stdout=1)
    assert screen(seen) == ["a line a line a line"]


def test_bytes_and_errors_go_through_the_same_gate() -> None:
    code = BARS.replace(
        'print("a line of output")',
        'import sys; sys.stdout.buffer.write(b"bytes\\n"); print("error", file=sys.stderr); assert sys.stdout.isatty()',
    )
    _, seen = on_terminal(code, stdout=1)
    assert "1 of 3 files" in seen
    assert screen(seen) == ["bytes", "error"] * 3


def test_a_job_of_less_than_a_second_has_no_bar() -> None:
    assert progress.BAR_SECONDS == 1.0
    _, seen = on_terminal(BARS.replace("with shown", "progress.BAR_SECONDS = 1000.0\nwith shown", 1))
    assert seen == ""


def test_a_narrow_terminal_has_one_line_of_bar() -> None:
    _, seen = on_terminal(BARS, COLUMNS="30")
    terminal = pyte.Screen(30, 24)
    stream, rows = pyte.Stream(terminal), set()
    for letter in seen:
        stream.feed(letter)
        rows |= {row for row, line in enumerate(terminal.display) if line.strip()}
    assert rows == {0}


def test_a_display_of_ones_own_takes_the_place_of_the_bar() -> None:
    code = SOON.replace("with shown():", "with shown(), progress.shown_by(lambda report: print('own', report.done)):")
    out, seen = on_terminal(code)
    assert "own 2" in out
    assert seen == ""
    out, seen = on_terminal(code.replace("shown(), ", ""))
    assert "own" not in out, "what is not shown is not shown by anybody"


def test_a_dumb_terminal_sees_lines() -> None:
    _, seen = on_terminal(SOON.replace("with shown", "progress.LOG_SECONDS = 0.0\nwith shown", 1), TERM="dumb")
    assert "reading [odd]: 1 of 3 files" in seen
    assert "━" not in seen


# Ctrl-C.


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_a_loop_that_nobody_interrupts_runs_to_its_end() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible(iter("abc")) as iterations:
        assert signal.getsignal(signal.SIGINT) != before
        assert list(iterations) == ["a", "b", "c"]
    assert not iterations.interrupted
    assert signal.getsignal(signal.SIGINT) == before


def loop(items: Iterable[Any], body: Callable[[Any], object]) -> list[Any]:
    """Train: the iterations that were whole."""
    whole: list[Any] = []
    with interruptible(items) as iterations:
        for item in iterations:
            body(item)
            whole.append(item)
    assert iterations.interrupted
    return whole


def test_the_first_press_lets_the_iteration_finish() -> None:
    with pytest.warns(TrainingInterrupted, match="after 2 iterations; the model holds the last whole one"):
        assert loop(range(10), lambda iteration: press() if iteration == 1 else None) == [0, 1]


def test_the_second_press_stops_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    events = []
    with pytest.raises(KeyboardInterrupt):
        loop(
            range(10),
            lambda iteration: iteration and (press(), events.append("between"), press(), events.append("after")),
        )
    assert events == ["between"]
    assert signal.getsignal(signal.SIGINT) == before


def test_a_press_in_the_last_iteration_is_reported_too() -> None:
    with pytest.warns(TrainingInterrupted, match="after 2 iterations;"):
        assert loop(range(2), lambda iteration: press() if iteration else None) == [0, 1]


def test_a_press_in_the_first_iteration_stops_at_once() -> None:
    events = []
    with pytest.raises(KeyboardInterrupt):
        loop(range(3), lambda iteration: (press(), events.append("after")))
    assert events == []


def test_a_press_while_the_next_item_is_read_does_not_begin_it() -> None:
    def items() -> Iterator[int]:
        yield 0
        press()
        yield 1

    with pytest.warns(TrainingInterrupted):
        assert loop(items(), lambda item: None) == [0]


def test_a_press_before_the_first_iteration_leaves_nothing_to_keep() -> None:
    def items() -> Iterator[int]:
        press()
        yield 0

    with pytest.raises(KeyboardInterrupt):
        loop(items(), lambda item: None)


def test_only_the_outermost_loop_is_stopped() -> None:
    inner_runs = []

    def iteration(outer: int) -> None:
        with interruptible(range(3)) as inner:
            for number in inner:
                if outer == 1 and number == 0:
                    press()
                inner_runs.append(number)
        assert not inner.interrupted

    with pytest.warns(TrainingInterrupted, match="after 2 iterations;"):
        assert loop(range(5), iteration) == [0, 1]
    assert inner_runs == [0, 1, 2] * 2


def test_an_error_in_an_iteration_is_raised_and_the_handler_restored() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError):
        loop(range(3), lambda iteration: iteration and (press(), 1 // (iteration - 1)))
    assert signal.getsignal(signal.SIGINT) == before


def test_a_program_may_turn_the_warning_into_an_error_and_loses_nothing() -> None:
    class Model:
        def fit(self) -> None:
            with interruptible(range(5)) as iterations:
                for iteration in iterations:
                    if iteration == 1:
                        press()
                    weights = iteration
                self.weights = weights

    model = Model()
    with pytest.raises(TrainingInterrupted):  # warnings are errors in this test run
        model.fit()
    assert model.weights == 1


def test_the_loops_inside_may_count_for_themselves() -> None:
    sweeps = 0

    def run(presses: int) -> None:
        nonlocal sweeps
        with interruptible(range(2), unit="sweeps", count=lambda: sweeps) as chains:
            for _ in chains:
                if not presses:
                    press()
                while sweeps < 100 and not chains.interrupted:
                    sweeps += 1
                    if sweeps == presses:
                        press()

    with pytest.warns(TrainingInterrupted, match="after 52 sweeps; the model holds"):
        run(52)
    sweeps = 0
    with pytest.raises(KeyboardInterrupt):
        run(0)


def test_an_interrupt_without_a_whole_iteration_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        report_interrupt(0)
    with pytest.warns(TrainingInterrupted, match="after 1 pass;"):
        report_interrupt(1, unit="passes")


def test_all_or_nothing_gives_up_a_training_that_was_interrupted() -> None:
    with pytest.raises(KeyboardInterrupt), all_or_nothing():
        loop(range(10), lambda iteration: press() if iteration == 1 else None)


def test_a_program_with_its_own_handler_gets_the_second_press() -> None:
    presses = []
    before = signal.signal(signal.SIGINT, lambda signum, frame: presses.append(signum))
    try:
        with pytest.warns(TrainingInterrupted):
            assert loop(range(5), lambda iteration: iteration and (press(), press())) == [0, 1]
        assert presses == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_where_interrupts_are_ignored_they_stay_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible(range(3)) as iterations:
            for _ in iterations:
                press()
        assert iterations.whole() == 3
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_nothing_is_changed() -> None:
    results = []

    def work() -> None:
        with interruptible(range(3)) as iterations:
            results.append((list(iterations), iterations.interrupted))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == [([0, 1, 2], False)]


TRAINING = """
import pathlib, sys, warnings
from textmill.progress import interruptible, shown, track
from waiting import wait_until
warnings.simplefilter("always")
lasts, path = sys.argv[1] == "for ever", pathlib.Path(sys.argv[2])
with shown(), interruptible(range(1000)) as iterations:
    for iteration in track(iterations, "training", total=1000, unit="iterations"):
        print("iteration", iteration, flush=True)
        if iteration:
            wait_until(lambda: iterations.interrupted and not lasts)
        whole = iteration
    path.write_text(f"model after iteration {whole}")
print("interrupted", iterations.interrupted)
"""


def train(length: str, path: Path) -> subprocess.Popen[str]:
    """A training whose second iteration lasts until Ctrl-C, or for ever."""
    command = [sys.executable, "-c", TRAINING, length, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_ctrl_c_in_a_real_process_keeps_the_last_whole_iteration(tmp_path: Path) -> None:
    with train("until Ctrl-C", tmp_path / "model") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while process.stdout.readline() != "iteration 1\n":
            pass
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0
    assert out == "interrupted True\n"
    assert (tmp_path / "model").read_text() == "model after iteration 1"
    assert "finishing this iteration; press Ctrl-C again to stop at once" in errors
    assert "TrainingInterrupted: training stopped by Ctrl-C after 2 iterations" in errors


def test_a_second_ctrl_c_ends_a_real_process_at_once(tmp_path: Path) -> None:
    with train("for ever", tmp_path / "model") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while process.stdout.readline() != "iteration 1\n":
            pass
        process.send_signal(signal.SIGINT)
        while "press Ctrl-C again" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == -signal.SIGINT
    assert errors.endswith("KeyboardInterrupt\n")
    assert not (tmp_path / "model").exists()

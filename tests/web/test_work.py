"""Threads beside the loop, and questions that are answered together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from waiting import LIMIT, wait_until_async

from textmill.web.answers import Refusal
from textmill.web.tally import Tally
from textmill.web.work import Desk, Together


class Search:
    """A search that waits until it may go on."""

    def __init__(self) -> None:
        self.batches: list[tuple[Any, list[Any]]] = []
        self.gate = threading.Event()

    def __call__(self, key: Any, questions: Sequence[Any]) -> list[Any]:
        self.batches.append((key, list(questions)))
        self.gate.wait(LIMIT)
        if "bad" in questions:
            raise ValueError("bad")
        return [f"{key}:{question}" for question in questions]


def together(search: Search, queue: int = 100) -> tuple[Desk, Together, Tally]:
    desk, tally = Desk(10), Tally(1)
    return desk, Together(desk, search, queue=queue, tally=tally), tally


def test_questions_that_wait_are_searched_together() -> None:
    search = Search()

    async def ask() -> list[Any]:
        desk, asked, _ = together(search)
        first = asyncio.create_task(asked.ask(10, "a"))
        await wait_until_async(lambda: search.batches)  # its search runs
        rest = [asyncio.create_task(asked.ask(k, word)) for k, word in ((10, "b"), (5, "c"), (10, "d"))]
        await asyncio.sleep(0)  # all of them have asked
        search.gate.set()
        answers = await asyncio.gather(first, *rest)
        desk.close()
        return answers

    assert asyncio.run(ask()) == ["10:a", "10:b", "5:c", "10:d"]
    assert search.batches == [(10, ["a"]), (10, ["b", "d"]), (5, ["c"])]


def test_one_question_does_not_wait_for_others() -> None:
    search = Search()
    search.gate.set()

    async def ask() -> Any:
        desk, asked, _ = together(search)
        answer = await asyncio.wait_for(asked.ask(1, "a"), 5)
        desk.close()
        return answer

    assert asyncio.run(ask()) == "1:a"


def test_a_fault_reaches_all_who_asked_and_the_next_are_answered() -> None:
    search = Search()
    search.gate.set()

    async def ask() -> None:
        desk, asked, _ = together(search)
        with pytest.raises(ValueError, match="bad"):
            await asked.ask(1, "bad")
        assert await asked.ask(1, "good") == "1:good"
        desk.close()

    asyncio.run(ask())


def test_too_many_questions_are_refused_and_who_left_is_not_searched_for() -> None:
    search = Search()

    async def ask() -> None:
        desk, asked, _ = together(search, queue=2)
        first = asyncio.create_task(asked.ask(1, "a"))
        await wait_until_async(lambda: search.batches)
        waiting = [asyncio.create_task(asked.ask(1, word)) for word in "bc"]
        await asyncio.sleep(0)
        with pytest.raises(Refusal) as refused:
            await asked.ask(1, "d")
        assert (refused.value.code, refused.value.retry) == (503, 1)
        waiting[0].cancel()
        await asyncio.sleep(0)
        search.gate.set()
        assert await first == "1:a"
        assert await waiting[1] == "1:c"
        desk.close()

    asyncio.run(ask())
    assert search.batches == [(1, ["a"]), (1, ["c"])]


def test_a_desk_takes_no_more_calls_than_its_queue() -> None:
    gate = threading.Event()

    async def work() -> None:
        desk = Desk(2)
        calls = [asyncio.create_task(desk.run(gate.wait, LIMIT)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal):
            await desk.run(gate.wait, 10)
        calls[0].cancel()  # its client left, its thread works on
        await asyncio.sleep(0)
        with pytest.raises(Refusal):
            await desk.run(gate.wait, LIMIT)
        gate.set()
        assert await calls[1]
        assert await desk.run(max, 1, 2) == 2
        desk.close()

    asyncio.run(work())


def test_counts_of_workers_add_up() -> None:
    tally = Tally(3)
    for worker in range(3):
        tally.of(worker).answered("search", 200, 0.01)
        tally.of(worker).add("questions", 4)
    tally.answered("search", 599, 100.0)
    assert tally.codes("search") == {200: 3, 0: 1}
    page = tally.page().decode()
    assert "textmill_questions_total 12.0" in page
    assert 'textmill_requests_total{code="other",route="search"} 1.0' in page
    assert 'textmill_request_seconds_bucket{le="+Inf",route="search"} 4.0' in page

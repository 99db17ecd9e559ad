"""Counts of all workers in shared memory, and their page for Prometheus.

    one row of numbers for each worker, in memory that is mapped before the workers are forked
    a worker adds to its own row; /metrics sums the rows, whichever worker is asked

So no lock and no file is needed, and a count costs one addition. A worker that is replaced goes on with its row.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["ROUTES", "Tally"]

# every request counts under one of these; addresses and ids are no labels
ROUTES = (
    "article",
    "articles",
    "search",
    "text",
    "topics",
    "names",
    "transducers",
    "models",
    "pages",
    "health",
    "other",
)
_EVENTS = ("uploads", "judgments", "questions", "searches", "takeovers")
_CODES = (200, 201, 204, 304, 400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 500, 503, 507)
_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_WIDTH = len(_BOUNDS) + 2  # with those above, and the sum of seconds


class Tally:
    """The counts of one worker, beside those of the others.

    >>> tally = Tally(2)
    >>> tally.answered("models", 200, 0.002)
    >>> tally.of(1).answered("models", 404, 0.002)
    >>> tally.total("models"), tally.codes("models")
    (2, {200: 1, 404: 1})
    """

    def __init__(self, workers: int, *, worker: int = 0, memory: Any = None) -> None:
        cells = len(ROUTES) * (len(_CODES) + 1 + _WIDTH) + len(_EVENTS)
        self._memory = mmap.mmap(-1, workers * cells * 8) if memory is None else memory
        self._all: Any = np.frombuffer(self._memory, np.float64).reshape(workers, cells)
        self._own: Any = memoryview(self._all[worker])
        self._workers = workers
        self._code = {code: place for place, code in enumerate(_CODES)}
        self._route = {route: place for place, route in enumerate(ROUTES)}

    def of(self, worker: int) -> Tally:
        """The same counts as another worker adds to them."""
        return Tally(self._workers, worker=worker, memory=self._memory)

    def answered(self, route: str, code: int, seconds: float) -> None:
        """Count an answer."""
        place = self._route[route] * (len(_CODES) + 1 + _WIDTH)
        own = self._own
        own[place + self._code.get(code, len(_CODES))] += 1.0
        place += len(_CODES) + 1
        own[place + bisect_left(_BOUNDS, seconds)] += 1.0
        own[place + _WIDTH - 1] += seconds

    def add(self, event: str, count: int = 1) -> None:
        """Count something else."""
        self._own[len(ROUTES) * (len(_CODES) + 1 + _WIDTH) + _EVENTS.index(event)] += count

    def total(self, route: str) -> int:
        """Answers of a route, of all workers."""
        return sum(self.codes(route).values())

    def codes(self, route: str) -> dict[int, int]:
        """Answers of a route by their code; 0 for codes that have no place of their own."""
        first = self._route[route] * (len(_CODES) + 1 + _WIDTH)
        counts = self._all[:, first : first + len(_CODES) + 1].sum(axis=0)
        return {code: int(count) for code, count in zip((*_CODES, 0), counts.tolist(), strict=True) if count}

    def page(self) -> bytes:
        """All counts in the format of Prometheus."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Any]:
        """The families of counts, as the library of Prometheus wants them."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        answers = CounterMetricFamily("textmill_requests", "Answers by route and code.", labels=["route", "code"])
        seconds = HistogramMetricFamily("textmill_request_seconds", "Seconds to an answer.", labels=["route"])
        sums = self._all.sum(axis=0)
        for place, route in enumerate(ROUTES):
            for code, count in self.codes(route).items():
                answers.add_metric([route, str(code or "other")], count)
            first = place * (len(_CODES) + 1 + _WIDTH) + len(_CODES) + 1
            steps = np.cumsum(sums[first : first + _WIDTH - 1]).tolist()
            bounds = [*(str(bound) for bound in _BOUNDS), "+Inf"]
            seconds.add_metric([route], list(zip(bounds, steps, strict=True)), float(sums[first + _WIDTH - 1]))
        yield answers
        yield seconds
        for place, event in enumerate(_EVENTS, len(sums) - len(_EVENTS)):
            yield CounterMetricFamily(f"textmill_{event}", f"Number of {event}.", value=float(sums[place]))

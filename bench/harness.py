"""Measure ours and a peer alternately, print one table, keep the numbers as JSON.

A subject is a module `bench/<subject>.py` with

    TITLE = "what is measured, on which data"
    PEERS = ["numpy", "scipy"]                      # distributions whose versions stand above the table
    def jobs(options: Options) -> Iterator[Job]     # a generator: each job's data is made when its turn comes

and a job is two calls that do the same work:

    yield Job("digamma", ours, peer, quality={"max ulp": worst_error})

Both sides run once unmeasured (unless one repeat is all there is), then `repeats` times: ours, peer, peer, ours, ...
The table shows medians; `ratio` is peer / ours, above 1 when ours is faster. With `amount` and `unit` the table shows
rates (tokens/s) instead of seconds. Each quality is a function of what a side returned. A peer that measures itself,
say in an interpreter of its own, returns `Timed(seconds, result)`. Nothing here asserts: tests do.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Job", "Options", "Row", "Timed", "measure", "render", "run"]

RESULTS = Path(__file__).with_name("results")


@dataclass(frozen=True)
class Options:
    jobs: int = 2  # threads
    repeats: int = 5
    quick: bool = False  # small data: does the bench still run?


@dataclass(frozen=True)
class Job:
    name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any] | None = None
    amount: int | None = None  # items done in one call
    unit: str = ""  # what an item is: "tokens"
    quality: Mapping[str, Callable[[Any], float]] = field(default_factory=dict)


class Timed(NamedTuple):
    seconds: float
    result: Any


@dataclass
class Row:
    job: str
    unit: str
    amount: int | None
    ours: list[float]  # seconds of each run
    peer: list[float]
    quality: dict[str, tuple[float, float | None]]  # ours, peer

    @property
    def ratio(self) -> float | None:
        return statistics.median(self.peer) / statistics.median(self.ours) if self.peer else None


def measure(job: Job, repeats: int) -> Row:
    """Run both sides alternately; the results of their last runs are judged."""
    sides = {"ours": job.ours} | ({"peer": job.peer} if job.peer else {})
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    results: dict[str, Any] = {}
    if repeats > 1:
        for call in sides.values():
            call()
    for repeat in range(repeats):
        for side in sides if repeat % 2 == 0 else reversed(sides):
            results.pop(side, None)
            gc.collect()
            started = time.perf_counter()
            result = sides[side]()
            elapsed = time.perf_counter() - started
            if isinstance(result, Timed):
                elapsed, result = result
            seconds[side].append(elapsed)
            results[side] = result
    quality = {
        name: (judge(results["ours"]), judge(results["peer"]) if job.peer else None)
        for name, judge in job.quality.items()
    }
    return Row(job.name, job.unit, job.amount, seconds["ours"], seconds.get("peer", []), quality)


def render(title: str, machine: str, rows: list[Row]) -> str:
    """The table as text, columns aligned."""
    names = list(dict.fromkeys(name for row in rows for name in row.quality))
    table = [["job", "ours", "peer", "ratio", *(f"{name} {side}" for name in names for side in ("ours", "peer"))]]
    for row in rows:
        name = f"{row.job}, {row.unit}/s" if row.unit else row.job
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}x"
        cells = [name, _speed(row.ours, row.amount), _speed(row.peer, row.amount), ratio]
        for quality in names:
            cells += ["-" if value is None else f"{value:.4g}" for value in row.quality.get(quality, (None, None))]
        table.append(cells)
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    lines = ["   ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) for cells in table]
    return "\n".join([title, machine, *(line.rstrip() for line in lines)])


def run(subject: str, title: str, peers: list[str], jobs: Iterable[Job], options: Options) -> None:
    """Measure every job, print the table, write the numbers to bench/results/."""
    machine = _machine(peers)
    rows = []
    for job in jobs:
        print(f"... {job.name}", flush=True)
        rows.append(measure(job, options.repeats))
        del job  # its data goes before the next is made
    small = ", small data" if options.quick else ""
    title = f"{subject}: {title}, {options.jobs} threads, {options.repeats} alternating runs{small}"
    print(render(title, machine, rows))
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{subject}-{time.strftime('%Y%m%d-%H%M%S')}.json"
    record = {"subject": subject, "title": title, "machine": machine, "options": asdict(options)}
    record["rows"] = [{**asdict(row), "ratio": row.ratio} for row in rows]
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"numbers: {path}")


def _machine(peers: list[str]) -> str:
    """Processor, load before the run, compiler, versions."""
    from textmill._native import base

    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        cpu = models[0].split(":", 1)[1].strip() if models else cpu
    versions = ", ".join(f"{name} {version(name)}" for name in ["textmill", *peers])
    load = f"load {os.getloadavg()[0]:.1f}"
    return f"{cpu}, {os.cpu_count()} cores, {load}, {base.simd()}, {base.compiler()}, {versions}"


def _speed(seconds: list[float], amount: int | None) -> str:
    if not seconds:
        return "-"
    median = statistics.median(seconds)
    if amount is not None:
        return f"{amount / median:,.0f}"
    unit, scale = next((u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)) if median >= s or u == "us")
    return f"{median / scale:.3g} {unit}"
